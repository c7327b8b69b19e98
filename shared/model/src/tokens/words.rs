//! The words of a text with their word pieces and places.

use super::Tokens;
use pel_kb::error::{Error, Result};
use pel_text::Span;
use std::ops::Range;

/// The largest chunk in bytes that is tokenized at once, so that memory is bounded by it. A longer
/// text is split at whitespace.
const CHUNK: usize = 1 << 16;

/// A word: a run of letters and digits, or one punctuation mark.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Word {
    /// Its place in the text.
    pub span: Span,
    /// Its pieces in [`Words::pieces`], at least one.
    pub pieces: Range<usize>,
}

/// The words of a text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Words {
    /// The ids of all word pieces, without special tokens.
    pub pieces: Vec<u32>,
    /// The words, in order, without overlap.
    pub words: Vec<Word>,
}

impl Tokens {
    /// Splits a text into words and their word pieces, without special tokens.
    ///
    /// # Errors
    /// If the tokenizer fails.
    pub fn words(&self, text: &str) -> Result<Words> {
        let mut all = Words::default();
        let mut start = 0;
        while start < text.len() {
            let end = chunk_end(text, start);
            self.add_words(text, start..end, &mut all)?;
            start = end;
        }
        Ok(all)
    }

    fn add_words(&self, text: &str, chunk: Range<usize>, all: &mut Words) -> Result<()> {
        let first = chunk.start;
        let encoding = self
            .tokenizer
            .encode(&text[chunk], false)
            .map_err(|cause| Error::input("a text cannot be tokenized").caused_by(cause))?;
        let mut before = None;
        for ((id, (start, end)), word) in encoding
            .get_ids()
            .iter()
            .zip(encoding.get_offsets())
            .zip(encoding.get_word_ids())
        {
            // A normaliser may give offsets inside a character.
            let span = Span::new(
                text.floor_char_boundary(first + start),
                text.ceil_char_boundary((first + end).min(text.len())),
            );
            let place = all.pieces.len();
            all.pieces.push(*id);
            match all.words.last_mut() {
                Some(last) if word.is_some() && before == *word => {
                    last.span.end = last.span.end.max(span.end);
                    last.pieces.end = place + 1;
                }
                last => {
                    // Two words share a character if one character was normalised to several.
                    let from = last.map_or(0, |last| last.span.end);
                    let start = span.start.max(from);
                    all.words.push(Word {
                        span: Span::new(start, span.end.max(start)),
                        pieces: place..place + 1,
                    });
                }
            }
            before = *word;
        }
        Ok(())
    }
}

/// The end of the chunk that begins at `start`: after the last whitespace within [`CHUNK`] bytes.
fn chunk_end(text: &str, start: usize) -> usize {
    if text.len() - start <= CHUNK {
        return text.len();
    }
    let end = text.floor_char_boundary(start + CHUNK);
    text[start..end]
        .char_indices()
        .rev()
        .find(|(_, c)| c.is_whitespace())
        .map_or(end, |(at, c)| start + at + c.len_utf8())
}

#[cfg(test)]
mod tests {
    use super::super::tests::tiny;
    use proptest::prelude::*;

    fn words(text: &str) -> Vec<&str> {
        let found = tiny().words(text).expect("it is text");
        found
            .words
            .iter()
            .map(|word| &text[word.span.start..word.span.end])
            .collect()
    }

    #[test]
    fn punctuation_marks_are_words() {
        assert_eq!(
            words("Chest-pain, 2 d."),
            ["Chest", "-", "pain", ",", "2", "d", "."]
        );
    }

    #[test]
    fn words_have_all_pieces_of_the_text() {
        let (tokens, text) = (tiny(), "unremarkable heart failure (é) 😷");
        let found = tokens.words(text).expect("it is text");
        assert_eq!(found.pieces, tokens.pieces(text).expect("it is text"));
        let covered: Vec<usize> = found.words.iter().flat_map(|w| w.pieces.clone()).collect();
        assert_eq!(covered, (0..found.pieces.len()).collect::<Vec<_>>());
    }

    #[test]
    fn long_text_is_split_at_whitespace() {
        let text = "heart failure ".repeat(20_000);
        let found = tiny().words(&text).expect("it is text");
        assert_eq!(found.words.len(), 40_000);
        assert!(
            found.words.iter().all(|word| {
                ["heart", "failure"].contains(&&text[word.span.start..word.span.end])
            })
        );
    }

    proptest! {
        #[test]
        fn words_are_in_order_and_on_character_boundaries(
            text in "(\\PC|[a-z]{1,9} |\u{301}|ﬁ|½|\\s){0,60}",
        ) {
            let found = tiny().words(&text).expect("it is text");
            let mut end = 0;
            for word in &found.words {
                prop_assert!(text.get(word.span.start..word.span.end).is_some());
                prop_assert!(word.span.start >= end && word.span.end <= text.len());
                prop_assert!(!word.pieces.is_empty());
                end = word.span.end;
            }
        }
    }
}
