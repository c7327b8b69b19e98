//! Characters of codes and of glyph names.
//!
//! `glyphs.tsv` has the names of the Adobe Glyph List (BSD-3-Clause) for letters, marks and signs of
//! clinical texts; `encodings.tsv` has where the standard and the symbol encoding differ from ASCII.

use encoding_rs::{Encoding, MACINTOSH, WINDOWS_1252};
use std::sync::LazyLock;

/// Names of glyphs in order, with their characters.
static GLYPHS: LazyLock<Vec<(&str, char)>> = LazyLock::new(|| {
    let lines = include_str!("glyphs.tsv").lines();
    let glyph = |line: &'static str| {
        let (name, code) = line.split_once('\t')?;
        Some((name, character(code)?))
    };
    let mut all: Vec<_> = lines.filter_map(glyph).collect();
    all.sort_unstable();
    all
});

/// The codes of the standard and of the symbol encoding that are not ASCII.
static CODES: LazyLock<Vec<(&str, u8, char)>> = LazyLock::new(|| {
    let lines = include_str!("encodings.tsv").lines();
    let code = |line: &'static str| {
        let mut cells = line.split('\t');
        let (name, code) = (cells.next()?, cells.next()?);
        let code = u8::from_str_radix(code, 16).ok()?;
        Some((name, code, character(cells.next()?)?))
    };
    let mut all: Vec<_> = lines.filter_map(code).collect();
    all.sort_unstable();
    all
});

fn character(code: &str) -> Option<char> {
    char::from_u32(u32::from_str_radix(code, 16).ok()?)
}

/// How a font without names of glyphs encodes its characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Base {
    Standard,
    WinAnsi,
    MacRoman,
    Symbol,
}

impl Base {
    /// The encoding of this name.
    pub fn of_name(name: &str) -> Option<Self> {
        Some(match name {
            "StandardEncoding" => Self::Standard,
            "WinAnsiEncoding" => Self::WinAnsi,
            "MacRomanEncoding" => Self::MacRoman,
            _ => return None,
        })
    }

    /// The character of a code.
    pub fn character(self, code: u8) -> Option<char> {
        match self {
            Self::WinAnsi => match code {
                // Codes that Windows does not use are bullets in PDF.
                0x7f | 0x81 | 0x8d | 0x8f | 0x90 | 0x9d => Some('•'),
                0xad => Some('-'),
                code => of_encoding(WINDOWS_1252, code),
            },
            Self::MacRoman => of_encoding(MACINTOSH, code),
            Self::Standard => listed("standard", code),
            Self::Symbol => listed("symbol", code),
        }
    }
}

fn of_encoding(encoding: &'static Encoding, code: u8) -> Option<char> {
    let bytes = [code];
    let (text, wrong) = encoding.decode_without_bom_handling(&bytes);
    text.chars().next().filter(|c| !wrong && !c.is_control())
}

fn listed(name: &str, code: u8) -> Option<char> {
    let at = CODES.partition_point(|known| (known.0, known.1) < (name, code));
    match CODES.get(at) {
        Some((known, own, c)) if (*known, *own) == (name, code) => Some(*c),
        _ => (0x20..0x7f).contains(&code).then_some(char::from(code)),
    }
}

/// The characters of a glyph by its name: `eacute`, `f_i`, `uni00E9`, `u1F637`, `a.alt`.
pub(super) fn of_glyph(name: &str) -> Option<String> {
    let name = name.split('.').next().filter(|name| !name.is_empty())?;
    let parts = name.split('_').map(of_part);
    parts.collect()
}

fn of_part(name: &str) -> Option<String> {
    let mut letters = name.chars();
    if let (Some(letter), None) = (letters.next(), letters.next()) {
        return Some(letter.to_string());
    }
    if let Ok(at) = GLYPHS.binary_search_by_key(&name, |(known, _)| *known) {
        return Some(GLYPHS[at].1.to_string());
    }
    let digits = name.strip_prefix("uni").filter(|rest| rest.len() % 4 == 0);
    if let Some(digits) = digits.filter(|digits| !digits.is_empty()) {
        let units: Option<Vec<u16>> = (0..digits.len())
            .step_by(4)
            .map(|at| u16::from_str_radix(digits.get(at..at + 4)?, 16).ok())
            .collect();
        return String::from_utf16(&units?).ok();
    }
    let digits = name.strip_prefix('u')?;
    let is_code = (4..=6).contains(&digits.len());
    is_code.then(|| character(digits))?.map(String::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn glyphs_have_characters_by_their_names() {
        for (name, expected) in [
            ("eacute", Some("é")),
            ("A", Some("A")),
            ("seven", Some("7")),
            ("fi", Some("ﬁ")),
            ("f_f_i", Some("ffi")),
            ("uni00E9", Some("é")),
            ("u1F637", Some("😷")),
            ("mu.alt", Some("µ")),
            ("alpha", Some("α")),
            ("g123", None),
            (".notdef", None),
        ] {
            assert_eq!(of_glyph(name).as_deref(), expected, "{name}");
        }
    }

    #[test]
    fn codes_have_characters_by_their_encoding() {
        for (base, code, expected) in [
            (Base::WinAnsi, 0x92, Some('’')),
            (Base::WinAnsi, 0x7f, Some('•')),
            (Base::WinAnsi, b'A', Some('A')),
            (Base::Standard, 0x27, Some('’')),
            (Base::Standard, 0xae, Some('ﬁ')),
            (Base::Standard, 0x80, None),
            (Base::MacRoman, 0x8e, Some('é')),
            (Base::Symbol, 0x61, Some('α')),
            (Base::Symbol, 0xb7, Some('•')),
        ] {
            assert_eq!(base.character(code), expected, "{base:?} {code}");
        }
    }
}
