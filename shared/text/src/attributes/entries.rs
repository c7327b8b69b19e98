//! The lines of rule files: comments, values, and entries with commas between them.

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

/// Splits entries at commas that are neither quoted nor in brackets.
pub(super) fn split_entries(line: &str) -> Vec<&str> {
    let mut entries = Vec::new();
    let (mut depth, mut quoted, mut start) = (0usize, false, 0);
    for (at, c) in line.char_indices() {
        match c {
            '"' => quoted = !quoted,
            '(' | '[' | '{' if !quoted => depth += 1,
            ')' | ']' | '}' if !quoted => depth = depth.saturating_sub(1),
            ',' if !quoted && depth == 0 => {
                entries.push(line[start..at].trim());
                start = at + 1;
            }
            _ => {}
        }
    }
    entries.push(line[start..].trim());
    entries.retain(|entry| !entry.is_empty());
    entries
}
