//! Escapes of HL7 v2 as the characters that they stand for.

use super::segment::Delimiters;
use crate::decode::lenient;

/// The longest escape in bytes.
const LONGEST: usize = 200;
/// The most lines or spaces that one escape stands for.
const MOST: usize = 20;

/// A text with its escapes read. Unknown escapes of one's own (`\Z..\`) are left out, what is no
/// escape stays as it is.
pub(super) fn unescaped(text: &str, delimiters: &Delimiters) -> String {
    let mark = delimiters.escape;
    let mut read = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(mark) {
        read.push_str(&rest[..at]);
        let behind = &rest[at + mark.len_utf8()..];
        let head = &behind[..behind.floor_char_boundary(LONGEST)];
        let found = head
            .find(mark)
            .and_then(|end| Some((end, becomes(&head[..end], delimiters)?)));
        match found {
            Some((end, becomes)) => {
                read.push_str(&becomes);
                rest = &behind[end + mark.len_utf8()..];
            }
            None => {
                read.push(mark);
                rest = behind;
            }
        }
    }
    read.push_str(rest);
    read
}

/// What an escape stands for; `None` if it is none.
fn becomes(inside: &str, delimiters: &Delimiters) -> Option<String> {
    let one = |c: char| Some(c.to_string());
    match inside {
        "F" => return one(delimiters.field),
        "S" => return one(delimiters.component),
        "T" => return one(delimiters.sub),
        "R" => return one(delimiters.repetition),
        "E" => return one(delimiters.escape),
        "P" => return one('#'),
        "H" | "N" => return Some(String::new()),
        _ => {}
    }
    if let Some(command) = inside.strip_prefix('.') {
        return formatting(command);
    }
    let first = inside.chars().next()?;
    let code = &inside[first.len_utf8()..];
    match first {
        'X' => hexadecimal(code),
        'C' | 'M' if !code.is_empty() && code.bytes().all(|byte| byte.is_ascii_hexdigit()) => {
            Some(String::new())
        }
        'Z' if code.bytes().all(|byte| byte.is_ascii_alphanumeric()) => Some(String::new()),
        _ => None,
    }
}

/// Formatting commands: `.br`, `.sp2`, `.sk4`.
fn formatting(command: &str) -> Option<String> {
    let (name, count) = command.split_at_checked(2)?;
    let count = count.trim().trim_start_matches(['+', '-']);
    let number = match count {
        "" => 1,
        count => count.parse::<usize>().ok()?.clamp(1, MOST),
    };
    Some(match &*name.to_ascii_lowercase() {
        "br" | "ce" => "\n".to_owned(),
        "sp" => "\n".repeat(number),
        "sk" => " ".repeat(number),
        "in" | "ti" | "fi" | "nf" => String::new(),
        _ => return None,
    })
}

/// The characters of bytes in hexadecimal digits: `0D0A`.
fn hexadecimal(digits: &str) -> Option<String> {
    if digits.is_empty() || digits.len() % 2 == 1 {
        return None;
    }
    let bytes: Option<Vec<u8>> = (0..digits.len())
        .step_by(2)
        .map(|at| u8::from_str_radix(digits.get(at..at + 2)?, 16).ok())
        .collect();
    let bytes = bytes?;
    Some(
        lenient(&bytes, None)
            .replace("\r\n", "\n")
            .replace('\r', "\n"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_become_characters_and_other_text_stays() {
        for (text, expected) in [
            ("a\\F\\b\\S\\c\\T\\d\\R\\e\\E\\f", "a|b^c&d~e\\f"),
            (
                "a\\.br\\b\\.sp2\\c\\.sp+1\\d\\.in4\\e\\.sk3\\f",
                "a\nb\n\nc\nde   f",
            ),
            ("\\H\\bold\\N\\", "bold"),
            ("a\\X0D0A\\b\\XE9\\\\XC3A9\\", "a\nbéé"),
            ("\\ZLOCAL\\x\\C2842\\y", "xy"),
            ("C:\\temp\\new", "C:\\temp\\new"),
            ("\\", "\\"),
            ("\\.xx\\", "\\.xx\\"),
        ] {
            assert_eq!(unescaped(text, &Delimiters::default()), expected, "{text}");
        }
    }
}
