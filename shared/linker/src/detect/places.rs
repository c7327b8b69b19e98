//! Places of names in a text.

use pel_text::Span;
use pel_text::detect::{Detected, Origin};

/// Whether a mention is a name in one piece.
pub(crate) fn is_whole_name(found: &Detected) -> bool {
    found.origin == Origin::Name && found.fragments.is_empty()
}

/// For each span, the largest end of it and those before it.
pub(crate) fn highest_ends<'s>(spans: impl Iterator<Item = &'s Span>) -> Vec<usize> {
    let mut highest = 0;
    spans
        .map(|span| {
            highest = highest.max(span.end);
            highest
        })
        .collect()
}

/// Whether a name is a few capitals, which texts use without saying what they stand for.
pub(crate) fn is_acronym(text: &str, name: &Span) -> bool {
    let name = text.get(name.start..name.end).unwrap_or_default();
    (2..=5).contains(&name.len()) && name.bytes().all(|b| b.is_ascii_uppercase())
}

/// Whether a span is the first part of a number: "M54" of the code "M54.50", or "HD" of "HD#3", the
/// third day in hospital.
pub(crate) fn is_in_number(text: &str, span: &Span) -> bool {
    let is_digit = |c: char| c.is_ascii_digit();
    let (before, after) = text.split_at_checked(span.end).unwrap_or_default();
    let goes_on = |mark: char| {
        let rest = after.strip_prefix(mark);
        rest.is_some_and(|rest| rest.starts_with(is_digit))
    };
    goes_on('.') && before.ends_with(is_digit) || goes_on('#')
}

/// Whether a number stands behind a name: "serum potassium 5.9", "ferritin: 22".
pub(crate) fn has_number(text: &str, name: &Span) -> bool {
    let after = text.get(name.end..).unwrap_or_default();
    let after = after.trim_start_matches([' ', '\t', ':', '=', '<', '>']);
    after.starts_with(|c: char| c.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_of_a_code_is_in_a_number() {
        let text = "M54.50 low back pain, interleukin 6. 3 days, HD#3";
        let is_in_number = |words: &str| {
            let start = text.find(words).expect("there");
            is_in_number(text, &Span::new(start, start + words.len()))
        };
        assert!(is_in_number("M54") && is_in_number("HD"));
        assert!(!is_in_number("M54.50") && !is_in_number("interleukin 6") && !is_in_number("3"));
    }

    #[test]
    fn a_number_behind_a_name_is_its_result() {
        let has = |text: &str, words: &str| {
            let start = text.find(words).expect("there");
            has_number(text, &Span::new(start, start + words.len()))
        };
        assert!(has("Serum potassium 5.9 today", "Serum potassium"));
        assert!(has("Ferritin: 22", "Ferritin") && has("Ferritin <10", "Ferritin"));
        assert!(!has("Ferritin low", "Ferritin") && !has("Ferritin", "Ferritin"));
        assert!(!has("Ferritin, 3 days", "Ferritin"));
    }
}
