//! What stands between two mentions.

use super::Related;
use std::collections::HashSet;

/// The most words between two mentions of a relation.
const MOST_WORDS: usize = 24;

/// The words and signs between two mentions, in lower case.
#[derive(Debug)]
pub(super) struct Gap(Option<Vec<Word>>);

/// What a run of attributes is in an entry of the rules: "* (".
const ATTRIBUTES: &str = "*";
/// Words before an attribute that belong to it.
const LEADS: [&str; 5] = ["for", "x", "at", "over", "every"];

#[derive(Debug)]
struct Word {
    text: String,
    /// Whether it is of an attribute of one of both mentions.
    is_attribute: bool,
}

impl Gap {
    /// The words between the first mention's end and the second one's start. There are none to
    /// read if a line ends between them, or if they are too many.
    pub(super) fn between(text: &str, first: &Related<'_>, second: &Related<'_>) -> Self {
        let (start, end) = (first.span.end, second.span.start);
        let Some(between) = text
            .get(start..end)
            .filter(|gap| !gap.contains(['\n', '\r']))
        else {
            return Self(None);
        };
        let attributes = || first.attributes.iter().chain(&second.attributes);
        let mut words = Vec::new();
        for (at, word) in pieces(between) {
            if words.len() == MOST_WORDS {
                return Self(None);
            }
            let at = start + at;
            words.push(Word {
                text: word.to_lowercase(),
                is_attribute: attributes().any(|one| one.start <= at && at < one.end),
            });
        }
        Self(Some(words))
    }

    /// The words without fillers and opening brackets at either end, and without attributes there
    /// if these are to be left out. `None` if there is nothing to read.
    pub(super) fn core(&self, fillers: &HashSet<String>, attributes: bool) -> Option<Vec<&str>> {
        let all = self.0.as_ref()?;
        let is_filler = |at: &usize| {
            let word = &all[*at];
            word.is_attribute && !attributes || fillers.contains(&word.text)
        };
        let words: Vec<&str> = all.iter().map(|word| word.text.as_str()).collect();
        let opens = |at: &usize| is_filler(at) || words[*at] == "(" || words[*at] == "[";
        let first = (0..words.len()).find(|at| !opens(at));
        let Some(first) = first else {
            return Some(Vec::new());
        };
        let last = (0..words.len()).rfind(|at| !is_filler(at))?;
        Some(words[first..=last.max(first)].to_vec())
    }

    /// The words with a "*" for each run of attributes, without fillers at either end. `None` if there
    /// is nothing to read.
    pub(super) fn marked(&self, fillers: &HashSet<String>) -> Option<Vec<&str>> {
        let all = self.0.as_ref()?;
        let mut words: Vec<&str> = Vec::new();
        for word in all {
            if !word.is_attribute {
                words.push(&word.text);
            } else {
                while words
                    .last()
                    .is_some_and(|last| LEADS.contains(last) || *last == ATTRIBUTES)
                {
                    words.pop();
                }
                words.push(ATTRIBUTES);
            }
        }
        let is_filler = |word: &&str| fillers.contains(*word);
        let first = words.iter().position(|word| !is_filler(word))?;
        let last = words.iter().rposition(|word| !is_filler(word))?;
        Some(words[first..=last].to_vec())
    }

    /// Whether an attribute stands between both mentions.
    pub(super) fn has_attributes(&self) -> bool {
        let words = self.0.iter().flatten();
        words.into_iter().any(|word| word.is_attribute)
    }
}

/// The words of a text with their places. Punctuation at the ends of a word stands by itself, so
/// that "2/2" is one word, and ", and" two.
fn pieces(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut rest = 0;
    std::iter::from_fn(move || {
        let left = text.get(rest..)?;
        let start = rest + (left.len() - left.trim_start().len());
        let left = text.get(start..).filter(|left| !left.is_empty())?;
        let word = left.split(char::is_whitespace).next().unwrap_or(left);
        let length = match word.find(char::is_alphanumeric) {
            // Signs before a word: one bracket, else all that are alike an arrow.
            Some(0) => word
                .trim_end_matches(|c: char| !c.is_alphanumeric() && c != '°')
                .len(),
            Some(signs) if word.starts_with(['(', '[', ',', ';', ':']) => signs.min(1),
            Some(signs) => signs,
            None if word.starts_with(['(', '[', ')', ']', ',', ';', ':', '.']) => 1,
            None => word.len(),
        };
        rest = start + length.max(1);
        Some((start, text.get(start..rest)?))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_parted_from_punctuation() {
        let words = |text| pieces(text).map(|(_, word)| word).collect::<Vec<_>>();
        assert_eq!(words(" (2/2 "), ["(", "2/2"]);
        assert_eq!(words(", and "), [",", "and"]);
        assert_eq!(words(": no "), [":", "no"]);
        assert_eq!(words(" -> "), ["->"]);
        assert_eq!(words("), d/t 2° to "), [")", ",", "d/t", "2°", "to"]);
        assert_eq!(words(". é"), [".", "é"]);
        assert!(words("  ").is_empty());
    }
}
