//! The lines of rule files: comments, and values with their phrases.

/// A line without its comment, which starts with '#' at the margin or after a blank.
pub(super) fn without_comment(line: &str) -> &str {
    let mut quoted = false;
    let mut blank = true;
    for (at, c) in line.char_indices() {
        match c {
            '"' => quoted = !quoted,
            '#' if blank && !quoted => return &line[..at],
            _ => {}
        }
        blank = c.is_whitespace();
    }
    line
}

/// The value and the phrases of an entry of words: "oral: po, by mouth".
pub(super) fn split_value(line: &str) -> Option<(&str, &str)> {
    let mut quoted = false;
    for (at, c) in line.char_indices() {
        match c {
            '"' => quoted = !quoted,
            ':' if !quoted => return Some((line[..at].trim(), &line[at + 1..])),
            _ => {}
        }
    }
    None
}
