//! What the detector knows of the words beside their vectors: how they are written, and which names
//! of the knowledge base they form.

use crate::tokens::Words;
use pel_kb::ConceptId;
use pel_kb::error::Result;
use pel_kb::group::Group;
use pel_text::Span;
use pel_text::detect::{DetectOptions, Dictionary, Origin};
use std::collections::HashMap;

/// The number of values of [`Features::shapes`].
pub const SHAPES: usize = 12;
/// The number of values of [`Features::marks`].
pub const MARKS: usize = 16;
/// The number of values of [`Features::matched`].
pub const MATCHES: usize = 8;

/// The mark of a word that the knowledge base does not know.
const UNKNOWN: u8 = 15;

/// The features of the words of a text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Features {
    /// How each word is written ([`SHAPES`]).
    pub shapes: Vec<u8>,
    /// The name of the knowledge base that each word is in ([`MARKS`]): 0 for none, 1 to 7 for the
    /// first word of a name by the group of its concept, 8 to 14 for the other words, 15 for an
    /// unknown term.
    pub marks: Vec<u8>,
    /// The names of the knowledge base in the text, by their first and last word: the group of
    /// their concept, from 1.
    matches: HashMap<(usize, usize), u8>,
}

/// The number of a group: 1 to 6, and 7 for none.
fn number(group: Option<Group>) -> u8 {
    group.map_or(7, |group| group as u8 + 1)
}

impl Features {
    /// The features of a text's words without a dictionary.
    pub fn of_text(text: &str, words: &Words) -> Self {
        let count = words.words.len();
        let mut end = 0;
        let shapes = words.words.iter().map(|word| {
            let first = end == 0 || text[end..word.span.start.max(end)].contains('\n');
            end = word.span.end;
            shape(&text[word.span.start..word.span.end]) + if first { SHAPES as u8 / 2 } else { 0 }
        });
        Self {
            shapes: shapes.collect(),
            marks: vec![0; count],
            matches: HashMap::new(),
        }
    }

    /// The features of a text's words with the names of a knowledge base. `group` is the group of a
    /// concept.
    ///
    /// # Errors
    /// As `group`.
    pub fn new(
        text: &str,
        words: &Words,
        dictionary: &Dictionary,
        group: impl Fn(ConceptId) -> Result<Option<Group>>,
    ) -> Result<Self> {
        let mut features = Self::of_text(text, words);
        let mut groups: HashMap<&str, u8> = HashMap::new();
        let mut group_of = |span: Span| -> Result<u8> {
            let name = &text[span.start..span.end];
            if let Some(found) = groups.get(name) {
                return Ok(*found);
            }
            let mut found = None;
            for concept in dictionary.lookup_mention(name) {
                found = found.or(group(concept)?);
            }
            groups.insert(name, number(found));
            Ok(number(found))
        };
        let options = |overlapping: bool| DetectOptions {
            unknown_terms: !overlapping,
            overlapping,
            ..DetectOptions::default()
        };
        for found in dictionary.detect(text, &options(true)) {
            if let (true, Some(place)) = (found.fragments.is_empty(), place(words, found.span)) {
                features.matches.insert(place, group_of(found.span)?);
            }
        }
        for found in dictionary.detect(text, &options(false)) {
            let Some((first, last)) = place(words, found.span) else {
                continue;
            };
            if !found.fragments.is_empty() {
                continue;
            }
            let (begin, inside) = match found.origin {
                Origin::UnknownTerm => (UNKNOWN, UNKNOWN),
                _ => {
                    let group = group_of(found.span)?;
                    (group, group + 7)
                }
            };
            features.marks[first] = begin;
            features.marks[first + 1..=last].fill(inside);
        }
        Ok(features)
    }

    /// Adds a name that the knowledge base does not have, by its first and last word. Names inside
    /// it are no longer marked.
    pub fn add_name(&mut self, (first, last): (usize, usize), group: Option<Group>) {
        let group = number(group);
        self.matches.insert((first, last), group);
        self.marks[first] = group;
        self.marks[first + 1..=last].fill(group + 7);
    }

    /// The group of the name that consists of these words, from 1; 0 if they are no name.
    pub fn matched(&self, first: usize, last: usize) -> u8 {
        self.matches.get(&(first, last)).copied().unwrap_or(0)
    }
}

/// The first and the last word of a span, if it begins and ends where words do.
pub fn place(words: &Words, span: Span) -> Option<(usize, usize)> {
    let first = words
        .words
        .partition_point(|word| word.span.start < span.start);
    let last = words.words.partition_point(|word| word.span.end < span.end);
    let begins = words.words.get(first)?.span.start == span.start;
    let ends = words.words.get(last)?.span.end == span.end;
    (begins && ends && first <= last).then_some((first, last))
}

/// How a word is written: in small letters, with a capital, in capitals, mixed, a number, a mark.
fn shape(word: &str) -> u8 {
    let letters = word.chars().filter(|c| c.is_alphabetic()).count();
    let upper = word.chars().filter(|c| c.is_uppercase()).count();
    match (letters, upper) {
        (0, _) if word.chars().any(char::is_numeric) => 4,
        (0, _) => 5,
        (_, 0) => 0,
        (1, 1) => 1,
        (all, upper) if all == upper => 2,
        (_, 1) if word.starts_with(char::is_uppercase) => 1,
        _ => 3,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tokens::Word;

    #[test]
    fn shapes_tell_capitals_numbers_and_line_starts() {
        for (word, expected) in [
            ("pain", 0),
            ("Pain", 1),
            ("PAIN", 2),
            ("mRNA", 3),
            ("12", 4),
            (",", 5),
            ("A", 1),
        ] {
            assert_eq!(shape(word), expected, "{word}");
        }
        let text = "Hx: HTN\nno DM";
        let words = Words {
            pieces: vec![0; 4],
            words: [(0, 2), (4, 7), (8, 10), (11, 13)]
                .into_iter()
                .enumerate()
                .map(|(at, (start, end))| Word {
                    span: Span::new(start, end),
                    pieces: at..at + 1,
                })
                .collect(),
        };
        let mut features = Features::of_text(text, &words);
        assert_eq!(features.shapes, [7, 2, 6, 2]);
        features.add_name((1, 2), Some(Group::Problem));
        features.add_name((3, 3), None);
        let problem = number(Some(Group::Problem));
        assert_eq!(features.marks, [0, problem, problem + 7, 7]);
        assert_eq!(
            [features.matched(1, 2), features.matched(3, 3)],
            [problem, 7]
        );
        assert_eq!(features.matched(2, 2), 0);
        assert_eq!(place(&words, Span::new(4, 10)), Some((1, 2)));
        assert_eq!(place(&words, Span::new(4, 9)), None);
        assert_eq!(place(&words, Span::new(5, 10)), None);
    }
}
