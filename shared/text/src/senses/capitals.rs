//! Words in capitals, which may be short forms.

use crate::Span;

/// The most bytes of a word in capitals that may be a short form.
const MAX_BYTES: usize = 16;

/// Words that are in capitals only if their line is: there a word says nothing by its form.
const FUNCTION_WORDS: [&str; 13] = [
    "AND", "WITH", "THE", "OF", "IN", "FOR", "WAS", "HAS", "NOT", "NO", "TO", "FROM", "IS",
];

/// The words in capitals of a text, in its order: two letters or more, with a plural "s" if there is
/// one. Words are parted by white space, slashes and marks other than "-" and "&".
pub(super) fn words(text: &str) -> impl Iterator<Item = Span> {
    let lines = text
        .split_inclusive('\n')
        .filter(|line| !is_in_capitals(line));
    lines.flat_map(move |line| {
        let offset = line.as_ptr() as usize - text.as_ptr() as usize;
        let joins = |c: char| c.is_alphanumeric() || matches!(c, '-' | '&');
        let words = line
            .split(move |c: char| !joins(c))
            .filter_map(move |word| {
                let word = word.trim_matches(['-', '&']);
                let start = offset + (word.as_ptr() as usize - line.as_ptr() as usize);
                is_capital(word).then(|| Span::new(start, start + word.len()))
            });
        words.collect::<Vec<_>>()
    })
}

/// Whether a word has two capitals or more, and no small letter but a plural "s".
fn is_capital(word: &str) -> bool {
    let stem = word.strip_suffix('s').unwrap_or(word);
    let capitals = stem.bytes().filter(u8::is_ascii_uppercase).count();
    word.len() <= MAX_BYTES && capitals >= 2 && !stem.contains(char::is_lowercase)
}

/// Whether a line is written in capitals.
fn is_in_capitals(line: &str) -> bool {
    line.split_whitespace()
        .any(|word| FUNCTION_WORDS.contains(&word))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<&str> {
        words(text)
            .map(|span| &text[span.start..span.end])
            .collect()
    }

    #[test]
    fn words_of_two_capitals_are_found_with_their_places() {
        let text =
            "s/p CABG, PVCs. INR/PT up; t-PA and AV-block, D&C\nMs. X takes vitamin B12 (CKD)";
        assert_eq!(found(text), ["CABG", "PVCs", "INR", "PT", "D&C", "CKD"]);
    }

    #[test]
    fn lines_in_capitals_have_none() {
        let text = "PATIENT IN BED, NO CP\nDenies CP and SOB on walking\nCAD, DM2, CKD, NSTEMI";
        assert_eq!(found(text), ["CP", "SOB", "CAD", "DM2", "CKD", "NSTEMI"]);
    }
}
