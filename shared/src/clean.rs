//! Text of strangers on its way out: to a terminal, into a field of a line, into a cell of a spreadsheet.
//!
//! Names, identifiers, file names and mentions come from files that somebody else has written. A terminal obeys some of
//! their characters instead of showing them; a tab or a line end begins another field or line; a spreadsheet runs what
//! begins like a formula. Every output passes through one of these functions at its edge.

use crate::error::{Error, Result};
use std::borrow::Cow;
use std::fmt::Write;

/// Whether a terminal or an editor obeys a character instead of showing it: the control characters (C0, DEL and C1), and
/// those that turn the direction of the text around them (embeddings, overrides and isolates).
pub fn is_control(c: char) -> bool {
    c.is_control() || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Whether a character cannot stand in a field of a line: a control character, or a Unicode line or paragraph end.
pub fn breaks_line(c: char) -> bool {
    is_control(c) || matches!(c, '\u{2028}' | '\u{2029}')
}

/// Refuses an identifier with a character that [breaks a line](breaks_line): it would forge a line of BRAT or PubTator, or be
/// a command to a terminal.
///
/// # Errors
/// If it has one; the error names the character.
pub fn check_id(id: &str) -> Result<()> {
    match id.chars().find(|c| breaks_line(*c)) {
        Some(c) => Err(Error::input(format!(
            "expected an id without control characters, found U+{:04X} in {id:?}",
            u32::from(c)
        ))),
        None => Ok(()),
    }
}

/// Text for a terminal: control characters are written as `\u001b`. Tabs and line ends (`\n`, `\r\n`) stay.
///
/// In JSON text these characters can stand inside of strings alone, where `\u001b` means the same character: JSON stays
/// the same value.
pub fn escaped(text: &str) -> Cow<'_, str> {
    let is_obeyed = |c: char| is_control(c) && !matches!(c, '\n' | '\t');
    if !text.contains(is_obeyed) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\r' if chars.peek() == Some(&'\n') => out.push(c),
            _ if is_obeyed(c) => {
                // Writing to a String cannot fail; all of these characters have four hexadecimal digits at most.
                let _ = write!(out, "\\u{:04x}", u32::from(c));
            }
            _ => out.push(c),
        }
    }
    Cow::Owned(out)
}

/// Text for a field of a line: each character that [breaks a line](breaks_line) is a blank, so that nothing moves.
pub fn field(text: &str) -> Cow<'_, str> {
    match text.contains(breaks_line) {
        true => Cow::Owned(text.replace(breaks_line, " ")),
        false => Cow::Borrowed(text),
    }
}

/// Text for a cell of a spreadsheet: [`escaped`], and with an apostrophe before it if the cell would be run as a formula.
/// Blanks and signs without width before the formula do not hide it.
pub fn cell(text: &str) -> Cow<'_, str> {
    let text = escaped(text);
    let is_passed_over = |c: char| {
        c.is_whitespace() || is_control(c) || matches!(c, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{2060}' | '\u{feff}')
    };
    let begins = text.trim_start_matches(is_passed_over);
    // The full-width forms are signs of a formula where Chinese or Japanese is written.
    let runs = begins.starts_with(['=', '+', '-', '@', '\u{ff0b}', '\u{ff0d}', '\u{ff1d}', '\u{ff20}'])
        || text.starts_with(['\t', '\r', '\n']);
    if runs { Cow::Owned(format!("'{text}")) } else { text }
}

/// Text for a page: [`escaped`], where a lone `\r` is a line end, as browsers read it.
pub fn page(text: &str) -> Cow<'_, str> {
    if !text.contains('\r') {
        return escaped(text);
    }
    // What has its line end already is not given a second one.
    let lines = text.replace("\r\n", "\n").replace('\r', "\n");
    Cow::Owned(escaped(&lines).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn control_characters_are_shown_and_line_ends_stay() {
        assert_eq!(escaped("no\tneed\r\nfor it: é😷\n"), "no\tneed\r\nfor it: é😷\n");
        assert!(matches!(escaped("plain"), Cow::Borrowed(_)));
        assert_eq!(escaped("\u{1b}[31mred\u{7}"), "\\u001b[31mred\\u0007");
        assert_eq!(escaped("\u{7f}\u{9b}2J\u{202e}dlo\u{2069}"), "\\u007f\\u009b2J\\u202edlo\\u2069");
        assert_eq!(escaped("harmless\rforged"), "harmless\\u000dforged");
    }

    #[test]
    fn a_field_stays_in_its_line_and_keeps_its_length() {
        let forged = "D1\tT9\nT10\r\u{2028}\u{85}\u{1b}é";
        assert_eq!(field(forged), "D1 T9 T10    é");
        assert_eq!(field(forged).chars().count(), forged.chars().count());
    }

    #[test]
    fn formulas_are_no_formulas_behind_blanks_either() {
        for runs in ["=1+1", " =1", "\u{a0}\u{200b}@SUM(A1)", "+1", "-1", "\t=1", "\u{feff}=1", "＝1", "\nx"] {
            assert!(cell(runs).starts_with('\''), "{runs:?}");
        }
        for plain in ["fever", "1-2", " a=b", "'=1", "", " "] {
            assert_eq!(cell(plain), plain);
        }
        // What separates the formula from the start is shown.
        assert_eq!(cell("\u{1b}=1"), "\\u001b=1");
    }

    #[test]
    fn a_page_breaks_lines_where_a_browser_does() {
        assert_eq!(page("one\rtwo\r\nthree\u{1b}[0m"), "one\ntwo\nthree\\u001b[0m");
    }

    proptest! {
        #[test]
        fn what_is_escaped_has_no_control_character_and_is_the_same_json(
            text in proptest::collection::vec(any::<char>(), 0..40).prop_map(String::from_iter)
        ) {
            let shown = escaped(&text);
            let left: String = shown.replace("\r\n", "\n");
            prop_assert!(!left.chars().any(|c| is_control(c) && c != '\n' && c != '\t'));
            let json = serde_json::to_string(&text).expect("encoded");
            prop_assert_eq!(serde_json::from_str::<String>(&escaped(&json)).expect("JSON"), text);
        }
    }
}
