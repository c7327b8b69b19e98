//! The words of a text with their places.

use crate::Span;
use std::collections::HashMap;

/// How many words a line break counts as.
const LINE: usize = 5;

/// The occurrences of a word before a place, and after it, that are looked at, and the words that
/// begin with a prefix. So a choice takes the same time in a long text.
const NEAREST: usize = 16;
const BEGINNING: usize = 256;

/// The words of a text in lower case.
#[derive(Debug)]
pub(super) struct Words {
    /// Each word: its place, counted in words, and its bytes.
    words: Vec<Word>,
    /// The positions in `words` of each word.
    at: HashMap<String, Vec<usize>>,
    /// All words, sorted, for those that begin with something.
    sorted: Vec<String>,
}

#[derive(Debug)]
struct Word {
    text: String,
    /// Counted in words and line breaks from the beginning of the text.
    place: usize,
    span: Span,
}

impl Words {
    /// Splits a text at white space, and each part at punctuation too: "PT/INR" has the words
    /// "pt/inr", "pt" and "inr", all at one place.
    pub fn new(text: &str) -> Self {
        let mut words = Vec::new();
        let mut place = 0;
        for line in text.split_inclusive('\n') {
            let offset = line.as_ptr() as usize - text.as_ptr() as usize;
            for part in line.split_whitespace() {
                let start = offset + (part.as_ptr() as usize - line.as_ptr() as usize);
                add_words(part, start, place, &mut words);
                place += 1;
            }
            place += LINE;
        }
        let mut at: HashMap<String, Vec<usize>> = HashMap::new();
        for (position, word) in words.iter().enumerate() {
            at.entry(word.text.clone()).or_default().push(position);
        }
        let mut sorted: Vec<String> = at.keys().cloned().collect();
        sorted.sort_unstable();
        Self { words, at, sorted }
    }

    /// The distance in words of the nearest occurrence of some words in a row; `None` if there is
    /// none outside of the span, or the nearest occurrences of the first word are not followed by
    /// the others. With `is_prefix`, the last word may go on.
    pub fn distance(&self, wanted: &[String], is_prefix: bool, span: Span) -> Option<usize> {
        let place = self.place(span)?;
        let (first, rest) = wanted.split_first()?;
        let near = |position: &usize| {
            let word = &self.words[*position];
            let apart = word.span.end <= span.start || word.span.start >= span.end;
            let follows = || self.follows(word, rest, is_prefix);
            (apart && follows()).then(|| word.place.abs_diff(place))
        };
        let of = |word: &str| {
            let all = self.at.get(word).map_or(&[][..], Vec::as_slice);
            let after = all.partition_point(|position| self.words[*position].place < place);
            &all[after.saturating_sub(NEAREST)..all.len().min(after + NEAREST)]
        };
        if !(rest.is_empty() && is_prefix) {
            return of(first).iter().filter_map(near).min();
        }
        let begin = self.sorted.partition_point(|word| word < first);
        self.sorted[begin..]
            .iter()
            .take_while(|word| word.starts_with(first.as_str()))
            .take(BEGINNING)
            .flat_map(|word| of(word))
            .filter_map(near)
            .min()
    }

    /// Whether the words that follow a word are these.
    fn follows(&self, word: &Word, rest: &[String], is_prefix: bool) -> bool {
        rest.iter().enumerate().all(|(at, wanted)| {
            let last = at + 1 == rest.len();
            let place = word.place + 1 + at;
            let begin = self.words.partition_point(|word| word.place < place);
            self.words[begin..]
                .iter()
                .take_while(|word| word.place == place)
                .any(|word| match last && is_prefix {
                    true => word.text.starts_with(wanted.as_str()),
                    false => word.text == *wanted,
                })
        })
    }

    /// The place of a span.
    fn place(&self, span: Span) -> Option<usize> {
        let at = self
            .words
            .partition_point(|word| word.span.end <= span.start);
        self.words.get(at).map(|word| word.place)
    }
}

/// Adds the words of a part of a text without white space: the whole, and its parts between
/// punctuation.
fn add_words(part: &str, start: usize, place: usize, words: &mut Vec<Word>) {
    let mut add = |text: &str, from: usize| {
        if !text.is_empty() {
            words.push(Word {
                text: text.to_lowercase(),
                place,
                span: Span::new(start + from, start + from + text.len()),
            });
        }
    };
    let is_edge = |c: char| !c.is_alphanumeric() && c != '%' && c != '+';
    let whole = part.trim_matches(is_edge);
    if whole.is_empty() {
        return;
    }
    let from = whole.as_ptr() as usize - part.as_ptr() as usize;
    let is_inner = |c: char| !c.is_alphanumeric();
    if !whole.contains(is_inner) {
        add(whole, from);
        return;
    }
    for piece in whole.split(is_inner) {
        add(
            piece,
            from + (piece.as_ptr() as usize - whole.as_ptr() as usize),
        );
    }
    if whole.ends_with('%') {
        add("%", from + whole.len() - 1);
    }
    add(whole, from);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn distance(text: &str, wanted: &str, form: &str) -> Option<usize> {
        let start = text.find(form).expect("in the text");
        let span = Span::new(start, start + form.len());
        let (wanted, is_prefix) = wanted
            .strip_suffix('*')
            .map_or((wanted, false), |wanted| (wanted, true));
        let wanted: Vec<String> = wanted.split(' ').map(str::to_owned).collect();
        Words::new(text).distance(&wanted, is_prefix, span)
    }

    #[test]
    fn the_nearest_of_many_occurrences_counts() {
        let many = "inr ".repeat(100);
        let text = format!("{many} a b c PT d inr {many}");
        assert_eq!(distance(&text, "inr", "PT"), Some(2));
        assert_eq!(distance(&text, "inr a b", "PT"), Some(4));
        assert_eq!(
            distance(&format!("PT inr a {many}"), "inr a", "PT"),
            Some(1)
        );
    }

    #[test]
    fn distances_count_words_and_line_breaks() {
        assert_eq!(distance("PT 23 sec, INR 2", "inr", "PT"), Some(3));
        assert_eq!(distance("PT/INR 2.1", "inr", "PT"), Some(0));
        assert_eq!(distance("INR 2\nPT", "inr", "PT"), Some(2 + LINE));
        assert_eq!(distance("97% on RA", "%", "RA"), Some(2));
        assert_eq!(distance("c/o N/V.", "n/v", "c/o"), Some(1));
    }

    #[test]
    fn beginnings_of_words_and_words_in_a_row_are_found() {
        assert_eq!(distance("MS, baclofen", "bacl*", "MS"), Some(1));
        assert_eq!(distance("MS, baclofen", "bacl", "MS"), None);
        assert_eq!(
            distance("bladder pressures and ACS", "bladder pressure*", "ACS"),
            Some(3)
        );
        assert_eq!(
            distance("bladder and pressures, ACS", "bladder pressure*", "ACS"),
            None
        );
    }

    #[test]
    fn the_short_form_is_no_cue_of_itself() {
        assert_eq!(distance("Known MS.", "ms", "MS"), None);
        assert_eq!(distance("Known MS. MS flare", "ms", "MS"), Some(1));
    }
}
