//! The small print of OBO 1.2 and 1.4 lines: escapes, quoted texts, trailing modifiers and comments.

/// Splits a line `tag: value` and trims both; `None` if there is no colon.
pub fn tag_and_value(line: &str) -> Option<(&str, &str)> {
    let (tag, value) = line.split_once(':')?;
    Some((tag.trim(), value.trim()))
}

/// Resolves the escapes of a value.
pub fn unescaped(value: &str) -> String {
    let mut text = String::with_capacity(value.len());
    let mut chars = value.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next() {
                Some('n') => text.push('\n'),
                Some('t') => text.push('\t'),
                Some('W') => text.push(' '),
                Some(other) => text.push(other),
                None => text.push('\\'),
            },
            other => text.push(other),
        }
    }
    text
}

/// The text of a value that starts with a quoted one, unescaped, and what follows the closing quote; `None` if it does
/// not start with a quote or the quote is not closed.
pub fn quoted(value: &str) -> Option<(String, &str)> {
    let inner = value.trim_start().strip_prefix('"')?;
    let end = unescaped_positions(inner).find(|(_, c)| *c == '"')?.0;
    Some((unescaped(inner.get(..end)?), inner.get(end + 1..)?.trim()))
}

/// An unquoted value without its trailing `{modifiers}` and `! comment`, unescaped and trimmed.
pub fn plain(value: &str) -> String {
    unescaped(bare(value)).trim().to_owned()
}

/// The identifier at the front of a value such as `DOID:4 {source="x"} ! disease` or `MESH:D1 "heading"`.
pub fn identifier(value: &str) -> String {
    let value = bare(value);
    let value = match unescaped_positions(value).find(|(_, c)| *c == '"') {
        Some((quote, _)) => value.get(..quote).unwrap_or(value),
        None => value,
    };
    unescaped(value).trim().to_owned()
}

/// Cuts what may follow a value. Modifiers are cut first, too, because they may quote what looks like a comment.
fn bare(value: &str) -> &str {
    without_modifiers(without_comment(without_modifiers(value)))
}

/// Cuts a comment. Names may hold a bare exclamation mark, so only one with white space on both sides (or the end of
/// the line behind it) starts a comment.
fn without_comment(value: &str) -> &str {
    let spaced = |(at, _): &(usize, char)| {
        let (before, after) = (value.get(..*at).unwrap_or(""), value.get(at + 1..).unwrap_or(""));
        (before.is_empty() || before.ends_with(char::is_whitespace))
            && (after.is_empty() || after.starts_with(char::is_whitespace))
    };
    match unescaped_positions(value).filter(|(_, c)| *c == '!').find(spaced) {
        Some((at, _)) => value.get(..at).unwrap_or(value).trim_end(),
        None => value,
    }
}

/// Cuts trailing modifiers. Names may end in braces, so they must hold a `key=value`.
fn without_modifiers(value: &str) -> &str {
    let value = value.trim_end();
    let open = unescaped_positions(value).filter(|(_, c)| *c == '{').last();
    match open.and_then(|(at, _)| Some((value.get(..at)?, value.get(at + 1..)?))) {
        Some((before, inner)) if value.ends_with('}') && !value.ends_with("\\}") && inner.contains('=') => {
            before.trim_end()
        }
        _ => value,
    }
}

/// The characters that no backslash stands before, with their byte positions.
fn unescaped_positions(value: &str) -> impl Iterator<Item = (usize, char)> {
    let mut escaped = false;
    value.char_indices().filter(move |(_, c)| {
        let free = !escaped;
        escaped = free && *c == '\\';
        free && *c != '\\'
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_are_resolved() {
        assert_eq!(unescaped(r#"a\:b \"c\"\, d\\n\ne\Wf\t!"#), "a:b \"c\", d\\n\ne f\t!");
        assert_eq!(unescaped("ends with \\"), "ends with \\");
    }

    #[test]
    fn a_quoted_text_ends_at_its_own_quote() {
        let (text, rest) = quoted(r#""5\" long, \\" EXACT [PMID:1 "x"]"#).expect("closed");
        assert_eq!((text.as_str(), rest), ("5\" long, \\", r#"EXACT [PMID:1 "x"]"#));
        assert_eq!(quoted(r#""never closed\""#), None);
        assert_eq!(quoted("bare"), None);
    }

    #[test]
    fn comments_and_modifiers_go_and_names_stay() {
        assert_eq!(plain(r#"fever {source="x", y="}"} ! as of 2016"#), "fever");
        assert_eq!(plain(r#"fever {note="a ! b"}"#), "fever");
        assert_eq!(plain("Kung! disease"), "Kung! disease");
        assert_eq!(plain(r"what \! not"), "what ! not");
        assert_eq!(plain("poly{ethylene}"), "poly{ethylene}");
        assert_eq!(identifier(r#"DOID:4 {source="x"} ! disease"#), "DOID:4");
        assert_eq!(identifier(r#"MESH:D1 "heading ! of" {a="b"}"#), "MESH:D1");
        assert_eq!(identifier(r"url:http\://a.b/c"), "url:http://a.b/c");
        assert_eq!(tag_and_value("xref: MESH:D1 "), Some(("xref", "MESH:D1")));
        assert_eq!(tag_and_value("no colon"), None);
    }

    /// Every text of up to five characters over those that matter to the syntax, and some that do not.
    fn small_texts() -> Vec<String> {
        let mut texts = vec![String::new()];
        let mut last = texts.clone();
        for _ in 0..5 {
            last = last.iter().flat_map(|text| "\"\\n!{=} é".chars().map(move |c| format!("{text}{c}"))).collect();
            texts.extend_from_slice(&last);
        }
        texts
    }

    #[test]
    fn quoting_round_trips_for_every_small_text() {
        let texts = small_texts();
        assert_eq!(texts.len(), (0..=5).map(|length| 9_usize.pow(length)).sum::<usize>());
        for text in texts {
            let line = format!("\"{}\" EXACT []", text.replace('\\', "\\\\").replace('"', "\\\""));
            assert_eq!(quoted(&line), Some((text, "EXACT []")));
        }
    }

    #[test]
    fn cutting_never_adds() {
        for line in small_texts() {
            assert!(plain(&line).len() <= line.len() && identifier(&line).len() <= plain(&line).len().max(line.len()));
            assert!(quoted(&line).is_none_or(|(text, rest)| text.len() + rest.len() + 2 <= line.len()), "{line}");
        }
    }
}
