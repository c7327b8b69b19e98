//! The syntax of OBO 1.2 and 1.4 lines: escapes, quoted texts, trailing modifiers and comments.

/// Splits a line `tag: value` and trims both; `None` without a colon.
pub fn tag_and_value(line: &str) -> Option<(&str, &str)> {
    let (tag, value) = line.split_once(':')?;
    Some((tag.trim(), value.trim()))
}

/// Resolves escape sequences.
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

/// The largest number of quotes that are tried as the closing one, which bounds the time.
const MAX_QUOTES: usize = 100;

/// The text of a line and its remainder.
#[derive(Debug, PartialEq, Eq)]
pub struct TextLine<'a> {
    /// The text without escapes.
    pub text: String,
    /// The remainder after the text.
    pub rest: &'a str,
    /// Whether quotes around the text were missing, or quotes in it were not escaped.
    pub repaired: bool,
}

/// Reads a quoted text at the start of a value; `None` without one, or if its quote is not closed.
///
/// Quotes inside the text are often not escaped. The closing quote is the first one that only
/// scope, type, references, modifiers and a comment follow. Without such a quote it is the first
/// one before a scope, references or the end of the line.
pub fn quoted_line(value: &str) -> Option<TextLine<'_>> {
    let inner = value.trim_start().strip_prefix('"')?;
    let mut fallback = None;
    let quotes = unescaped_positions(inner).filter(|(_, c)| *c == '"');
    for (count, (at, _)) in quotes.take(MAX_QUOTES).enumerate() {
        let text = inner.get(..at)?;
        let rest = inner.get(at + 1..)?;
        let line = |repaired| TextLine {
            text: unescaped(text),
            rest: rest.trim(),
            repaired,
        };
        if is_tail(rest) {
            return Some(line(count > 0));
        }
        if fallback.is_none() && starts_tail(rest) {
            fallback = Some(line(count > 0));
        }
    }
    fallback
}

/// Reads an unquoted text up to its scope, references or modifiers. `None` if it is empty or starts
/// with a quote.
pub fn unquoted_line(value: &str) -> Option<TextLine<'_>> {
    let value = value.trim();
    let scope = ["EXACT", "BROAD", "NARROW", "RELATED"]
        .into_iter()
        .filter_map(|scope| value.find(&format!(" {scope}")));
    let end = scope
        .chain(value.find(" ["))
        .chain(value.find(" {"))
        .min()
        .unwrap_or(value.len());
    let (text, rest) = value.split_at_checked(end)?;
    let text = plain(text);
    if text.is_empty() || text.starts_with(['"', '[', '{']) {
        return None;
    }
    Some(TextLine {
        text,
        rest: rest.trim(),
        repaired: true,
    })
}

/// Whether the text after a quote starts like a tail: it is empty, a scope or references.
fn starts_tail(rest: &str) -> bool {
    let trimmed = rest.trim_start();
    let word = trimmed.split([' ', '\t', '[']).next().unwrap_or_default();
    trimmed.is_empty()
        || trimmed.starts_with('[')
        || rest.len() > trimmed.len() && matches!(word, "EXACT" | "BROAD" | "NARROW" | "RELATED")
}

/// Whether the text after a quote is a complete tail: at most a scope and a type, references in
/// brackets, modifiers in braces, and a comment.
fn is_tail(rest: &str) -> bool {
    let mut left = rest.trim_start();
    if !left.is_empty() && left.len() == rest.len() && !left.starts_with(['[', '{']) {
        return false;
    }
    for _ in 0..2 {
        let end = left
            .find(|c: char| c.is_whitespace() || "[{".contains(c))
            .unwrap_or(left.len());
        let (word, after) = left.split_at(end);
        if word.is_empty() || word.contains(['"', '!', ']', '}']) {
            break;
        }
        left = after.trim_start();
    }
    for (open, close) in [('[', ']'), ('{', '}')] {
        if left.starts_with(open) {
            let Some(end) = closing(left, close) else {
                return false;
            };
            left = left.get(end..).unwrap_or_default().trim_start();
        }
    }
    left.is_empty() || left.starts_with('!')
}

/// One past the bracket that closes the one at the start. Brackets in quoted texts are ignored.
fn closing(text: &str, close: char) -> Option<usize> {
    let mut within_quotes = false;
    for (at, c) in unescaped_positions(text) {
        match c {
            '"' => within_quotes = !within_quotes,
            _ if c == close && !within_quotes => return Some(at + c.len_utf8()),
            _ => {}
        }
    }
    None
}

/// An unquoted value without `{modifiers}` and `! comment` at its end, without escapes, trimmed.
pub fn plain(value: &str) -> String {
    unescaped(bare(value)).trim().to_owned()
}

/// The identifier at the start of a value such as `DOID:4 {source="x"} ! disease` or
/// `MESH:D1 "heading"`.
pub fn identifier(value: &str) -> String {
    let value = bare(value);
    let value = match unescaped_positions(value).find(|(_, c)| *c == '"') {
        Some((quote, _)) => value.get(..quote).unwrap_or(value),
        None => value,
    };
    unescaped(value).trim().to_owned()
}

/// Removes modifiers and comments from the end. A modifier may quote text that looks like a
/// comment.
fn bare(value: &str) -> &str {
    without_modifiers(without_comment(without_modifiers(value)))
}

/// Removes a comment. Names may contain an exclamation mark, so only one between whitespace (or at
/// an end) starts a comment.
fn without_comment(value: &str) -> &str {
    let spaced = |(at, _): &(usize, char)| {
        let before = value.get(..*at).unwrap_or("");
        let after = value.get(at + 1..).unwrap_or("");
        (before.is_empty() || before.ends_with(char::is_whitespace))
            && (after.is_empty() || after.starts_with(char::is_whitespace))
    };
    match unescaped_positions(value)
        .filter(|(_, c)| *c == '!')
        .find(spaced)
    {
        Some((at, _)) => value.get(..at).unwrap_or(value).trim_end(),
        None => value,
    }
}

/// Removes modifiers at the end. Names may end with braces, so modifiers must contain `=`.
fn without_modifiers(value: &str) -> &str {
    let value = value.trim_end();
    let open = unescaped_positions(value).filter(|(_, c)| *c == '{').last();
    match open.and_then(|(at, _)| Some((value.get(..at)?, value.get(at + 1..)?))) {
        Some((before, inner))
            if value.ends_with('}') && !value.ends_with("\\}") && inner.contains('=') =>
        {
            before.trim_end()
        }
        _ => value,
    }
}

/// The unescaped characters with their byte offsets.
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
        assert_eq!(
            unescaped(r#"a\:b \"c\"\, d\\n\ne\Wf\t!"#),
            "a:b \"c\", d\\n\ne f\t!"
        );
        assert_eq!(unescaped("ends with \\"), "ends with \\");
    }

    #[test]
    fn quoted_text_ends_at_its_closing_quote() {
        let line = quoted_line(r#""5\" long, \\" EXACT [PMID:1 "x"]"#).expect("closed");
        assert_eq!(
            [line.text.as_str(), line.rest],
            ["5\" long, \\", r#"EXACT [PMID:1 "x"]"#]
        );
        assert_eq!(quoted_line(r#""never closed\""#), None);
        assert_eq!(quoted_line("bare"), None);
    }

    #[test]
    fn unescaped_quotes_do_not_end_the_text() {
        for (value, text, rest) in [
            (
                r#""3,3',3"-triyl acid" EXACT IUPAC_NAME [IUPAC:]"#,
                r#"3,3',3"-triyl acid"#,
                "EXACT IUPAC_NAME [IUPAC:]",
            ),
            (
                r#""so-called "tick" fever" EXACT []"#,
                r#"so-called "tick" fever"#,
                "EXACT []",
            ),
            (r#"""tick" fever" EXACT []"#, r#""tick" fever"#, "EXACT []"),
            (r#""fever "tick"" EXACT []"#, r#"fever "tick""#, "EXACT []"),
            (
                r#""A "b" by farmers, with headache." [DEMO:x, Y:1 "z"]"#,
                r#"A "b" by farmers, with headache."#,
                r#"[DEMO:x, Y:1 "z"]"#,
            ),
            (
                r#""size 5" [large] of it" EXACT []"#,
                r#"size 5" [large] of it"#,
                "EXACT []",
            ),
            (
                r#""a 5" b" [] {source="x"} ! said"#,
                r#"a 5" b"#,
                r#"[] {source="x"} ! said"#,
            ),
            // Irregular text after the closing quote is not part of the text.
            (r#""whole" EXACT [Z:1<new"#, "whole", "EXACT [Z:1<new"),
            (r#""whole" EXACT [] trailing"#, "whole", "EXACT [] trailing"),
            (
                r#""whole." [PMID:1 "a] b"]"#,
                "whole.",
                r#"[PMID:1 "a] b"]"#,
            ),
        ] {
            let line = quoted_line(value).expect(value);
            assert_eq!((line.text.as_str(), line.rest), (text, rest), "{value}");
        }
        assert!(!quoted_line(r#""a" EXACT []"#).expect("valid").repaired);
        assert!(
            quoted_line(r#""a "b" c" EXACT []"#)
                .expect("repaired")
                .repaired
        );
    }

    #[test]
    fn unquoted_text_ends_at_its_scope_or_references() {
        for (value, text, rest) in [
            ("tick fever [X:1]", "tick fever", "[X:1]"),
            ("tick fever EXACT []", "tick fever", "EXACT []"),
            ("tick fever", "tick fever", ""),
            (r"tick\, fever {a=b}", "tick, fever", "{a=b}"),
        ] {
            let line = unquoted_line(value).expect(value);
            assert_eq!((line.text.as_str(), line.rest), (text, rest), "{value}");
        }
        for value in ["\"lost", " ", "[X:1]"] {
            assert_eq!(unquoted_line(value), None, "{value}");
        }
    }

    #[test]
    fn comments_and_modifiers_are_removed_from_values() {
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

    #[test]
    fn time_is_linear_in_the_number_of_quotes() {
        let begin = std::time::Instant::now();
        let line = format!("\"{}", "x\" [ ".repeat(200_000));
        assert!(quoted_line(&line).is_some());
        // Reading the rest of the line for each quote would take 10^11 steps.
        assert!(begin.elapsed() < std::time::Duration::from_secs(20));
    }

    /// All texts of up to 5 of the characters with a meaning in the syntax and some others.
    fn small_texts() -> Vec<String> {
        let mut texts = vec![String::new()];
        let mut last = texts.clone();
        for _ in 0..5 {
            last = last
                .iter()
                .flat_map(|text| "\"\\n!{=} é".chars().map(move |c| format!("{text}{c}")))
                .collect();
            texts.extend_from_slice(&last);
        }
        texts
    }

    #[test]
    fn quoted_line_round_trips_all_small_texts() {
        let texts = small_texts();
        assert_eq!(
            texts.len(),
            (0..=5).map(|length| 9_usize.pow(length)).sum::<usize>()
        );
        for text in texts {
            let line = format!(
                "\"{}\" EXACT []",
                text.replace('\\', "\\\\").replace('"', "\\\"")
            );
            assert_eq!(
                quoted_line(&line),
                Some(TextLine {
                    text,
                    rest: "EXACT []",
                    repaired: false
                })
            );
        }
    }

    #[test]
    fn texts_with_unescaped_quotes_are_read_as_a_whole() {
        // Without blanks and braces, no inner quote looks like the closing one.
        for text in small_texts()
            .into_iter()
            .filter(|text| !text.contains(['\\', ' ', '{', '!']))
        {
            let line = format!("\"x{text}y\" EXACT []");
            assert_eq!(
                quoted_line(&line).map(|found| found.text),
                Some(format!("x{text}y"))
            );
        }
    }

    #[test]
    fn results_are_never_longer_than_the_line() {
        for line in small_texts() {
            assert!(
                plain(&line).len() <= line.len()
                    && identifier(&line).len() <= plain(&line).len().max(line.len())
            );
            assert!(
                quoted_line(&line)
                    .is_none_or(|found| found.text.len() + found.rest.len() + 2 <= line.len()),
                "{line}"
            );
        }
    }
}
