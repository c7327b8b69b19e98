//! What the rule files of contexts and of attributes have in common: entries with commas between
//! them, and patterns with alternatives.

/// The largest number of patterns that the alternatives of one entry may stand for.
const MAX_EXPANDED: usize = 4096;
/// The largest number of words of a pattern.
const MAX_ELEMENTS: usize = 16;

/// Splits entries at commas that are neither quoted nor in brackets.
pub(crate) fn split_entries(line: &str) -> Vec<&str> {
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

/// Each start with each end. `words` counts the words of a pattern.
///
/// # Errors
/// If there would be too many patterns, or too long ones. It is checked before they are joined.
pub(crate) fn joined<T: Copy>(
    starts: &[Vec<T>],
    ends: &[Vec<T>],
    words: impl Fn(&[T]) -> usize,
) -> Result<Vec<Vec<T>>, String> {
    check_count(starts.len() * ends.len())?;
    let longest = |patterns: &[Vec<T>]| {
        let lengths = patterns.iter().map(|pattern| words(pattern));
        lengths.max().unwrap_or(0)
    };
    let length = longest(starts) + longest(ends);
    if length > MAX_ELEMENTS {
        return Err(format!(
            "expected at most {MAX_ELEMENTS} words in a pattern, found {length}"
        ));
    }
    let with_ends = |start: &Vec<T>| {
        let all = ends.iter();
        all.map(|end| start.iter().chain(end).copied().collect())
            .collect::<Vec<_>>()
    };
    Ok(starts.iter().flat_map(with_ends).collect())
}

/// Checks the number of patterns of an entry.
///
/// # Errors
/// If there are too many.
pub(crate) fn check_count(count: usize) -> Result<(), String> {
    match count <= MAX_EXPANDED {
        true => Ok(()),
        false => Err(format!(
            "expected at most {MAX_EXPANDED} alternatives in an entry"
        )),
    }
}
