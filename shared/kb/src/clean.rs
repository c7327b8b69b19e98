//! Sanitises untrusted text for output: to a terminal, a line-based format or a spreadsheet cell.
//!
//! Names, identifiers, file names and mentions come from files of third parties. Terminals execute
//! some control characters, tabs and line ends start a new field or line, and spreadsheets evaluate
//! cells that look like formulas. Every writer applies one of these functions to such text.

use crate::error::{Error, Result};
use std::borrow::Cow;
use std::fmt::Write;

/// Whether a terminal or an editor interprets a character instead of displaying it.
///
/// These are the control characters (C0, DEL, C1) and the bidirectional formatting characters
/// (embeddings, overrides, isolates).
pub fn is_control(c: char) -> bool {
    c.is_control() || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Whether a character breaks a line-based format: a control character, U+2028 or U+2029.
pub fn breaks_line(c: char) -> bool {
    is_control(c) || matches!(c, '\u{2028}' | '\u{2029}')
}

/// Checks that an identifier has no character that [breaks a line](breaks_line).
///
/// Such a character could forge a line of BRAT or PubTator, or control a terminal.
///
/// # Errors
/// If it has one; the message gives the code point.
pub fn check_id(id: &str) -> Result<()> {
    match id.chars().find(|c| breaks_line(*c)) {
        Some(c) => Err(Error::input(format!(
            "expected an id without control characters, found U+{:04X} in {id:?}",
            u32::from(c)
        ))),
        None => Ok(()),
    }
}

/// Escapes text for a terminal: control characters become `\u001b`, except tabs and line ends
/// (`\n`, `\r\n`).
///
/// JSON text keeps its value: there these characters only occur in strings, where the escape means
/// the same character.
pub fn escaped(text: &str) -> Cow<'_, str> {
    let is_escaped = |c: char| is_control(c) && !matches!(c, '\n' | '\t');
    if !text.contains(is_escaped) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\r' if chars.peek() == Some(&'\n') => out.push(c),
            _ if is_escaped(c) => {
                // Writing to a String cannot fail. These characters have at most 4 hexadecimal
                // digits.
                let _ = write!(out, "\\u{:04x}", u32::from(c));
            }
            _ => out.push(c),
        }
    }
    Cow::Owned(out)
}

/// Prepares text for one field of a line: a blank replaces each character that
/// [breaks a line](breaks_line). The number of code points stays the same, so offsets stay valid.
pub fn field(text: &str) -> Cow<'_, str> {
    if text.contains(breaks_line) {
        Cow::Owned(text.replace(breaks_line, " "))
    } else {
        Cow::Borrowed(text)
    }
}

/// Prepares text for a spreadsheet cell: [`escaped`], with a leading apostrophe if a spreadsheet
/// would evaluate it as a formula. Leading whitespace and zero-width characters are skipped. A
/// number and a lone sign are no formulas.
pub fn cell(text: &str) -> Cow<'_, str> {
    let text = escaped(text);
    let is_number = text.trim().parse().is_ok_and(f64::is_finite);
    if is_number || matches!(text.trim(), "-" | "+") {
        return text;
    }
    let is_ignored = |c: char| {
        c.is_whitespace()
            || is_control(c)
            || matches!(
                c,
                '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{2060}' | '\u{feff}'
            )
    };
    let start = text.trim_start_matches(is_ignored);
    // The full-width forms start a formula in Chinese and Japanese locales.
    let is_formula = start.starts_with([
        '=', '+', '-', '@', '\u{ff0b}', '\u{ff0d}', '\u{ff1d}', '\u{ff20}',
    ]) || text.starts_with(['\t', '\r', '\n']);
    if is_formula {
        Cow::Owned(format!("'{text}"))
    } else {
        text
    }
}

/// Prepares text for an HTML page: [`escaped`], with a lone `\r` as a line end, as in browsers.
pub fn page(text: &str) -> Cow<'_, str> {
    if !text.contains('\r') {
        return escaped(text);
    }
    // `\r\n` must not become two line ends.
    let lines = text.replace("\r\n", "\n").replace('\r', "\n");
    Cow::Owned(escaped(&lines).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn escaped_replaces_control_characters_and_keeps_line_ends() {
        assert_eq!(
            escaped("no\tneed\r\nfor it: é😷\n"),
            "no\tneed\r\nfor it: é😷\n"
        );
        assert!(matches!(escaped("plain"), Cow::Borrowed(_)));
        assert_eq!(escaped("\u{1b}[31mred\u{7}"), "\\u001b[31mred\\u0007");
        assert_eq!(
            escaped("\u{7f}\u{9b}2J\u{202e}dlo\u{2069}"),
            "\\u007f\\u009b2J\\u202edlo\\u2069"
        );
        assert_eq!(escaped("harmless\rforged"), "harmless\\u000dforged");
    }

    #[test]
    fn field_is_one_line_of_the_same_length() {
        let forged = "D1\tT9\nT10\r\u{2028}\u{85}\u{1b}é";
        assert_eq!(field(forged), "D1 T9 T10    é");
        assert_eq!(field(forged).chars().count(), forged.chars().count());
    }

    #[test]
    fn cell_quotes_formulas_behind_whitespace() {
        for formula in [
            "=1+1",
            " =1",
            "\u{a0}\u{200b}@SUM(A1)",
            "+1+1",
            "-1-1",
            "-A1",
            "-inf",
            "\t=1",
            "\u{feff}=1",
            "＝1",
            "\nx",
        ] {
            assert!(cell(formula).starts_with('\''), "{formula:?}");
        }
        for plain in [
            "fever", "1-2", " a=b", "'=1", "", " ", "-1", "+3.2", "-1e-5", " -7", "-",
        ] {
            assert_eq!(cell(plain), plain);
        }
        // The control character before the formula is escaped, so the cell is no formula.
        assert_eq!(cell("\u{1b}=1"), "\\u001b=1");
    }

    #[test]
    fn page_breaks_lines_as_browsers_do() {
        assert_eq!(
            page("one\rtwo\r\nthree\u{1b}[0m"),
            "one\ntwo\nthree\\u001b[0m"
        );
    }

    proptest! {
        #[test]
        fn escaped_text_has_no_control_character_and_escaped_json_keeps_its_value(
            text in proptest::collection::vec(any::<char>(), 0..40).prop_map(String::from_iter)
        ) {
            let escaped_text = escaped(&text);
            let without_crlf = escaped_text.replace("\r\n", "\n");
            prop_assert!(!without_crlf.chars().any(|c| is_control(c) && c != '\n' && c != '\t'));
            let json = serde_json::to_string(&text).expect("encoded");
            prop_assert_eq!(serde_json::from_str::<String>(&escaped(&json)).expect("JSON"), text);
        }
    }
}
