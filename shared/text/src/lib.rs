//! Text spans and mentions. A [`Span`] counts bytes; [`Offsets`] converts to code points and
//! UTF-16.

pub mod abbreviations;
pub mod allergens;
pub mod attributes;
pub mod code_systems;
pub mod context;
pub mod contrasts;
pub mod detect;
pub mod language;
pub mod markup;
pub mod modifiers;
pub mod relations;
mod rule_lines;
pub mod senses;
pub mod substances;
pub mod variants;
pub mod wordings;

use pel_kb::error::{Error, Result};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// A half-open byte range of a text, on character boundaries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Span {
    /// The first byte.
    pub start: usize,
    /// The byte after the last one.
    pub end: usize,
}

impl Span {
    /// Creates a span. It is checked when it is applied to a text.
    pub fn new(start: usize, end: usize) -> Self {
        Self { start, end }
    }

    /// The length in bytes.
    pub fn len(&self) -> usize {
        self.end.saturating_sub(self.start)
    }

    /// Whether the span has no byte.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether both spans share a byte.
    pub fn overlaps(&self, other: &Span) -> bool {
        self.start < other.end && other.start < self.end
    }

    /// The text of the span.
    ///
    /// # Errors
    /// If the span is empty, outside the text, or not on character boundaries.
    pub fn of<'a>(&self, text: &'a str) -> Result<&'a str> {
        let found = if self.start < self.end {
            text.get(self.start..self.end)
        } else {
            None
        };
        found.ok_or_else(|| {
            let why = if self.start >= self.end {
                "it is empty".to_owned()
            } else if self.end > text.len() {
                format!("the text has {} bytes", text.len())
            } else {
                "it splits a character".to_owned()
            };
            Error::input(format!(
                "span {}..{} (bytes) cannot be cut: {why}",
                self.start, self.end
            ))
        })
    }
}

/// Sorts the fragments of a mention and merges those that overlap or touch.
pub fn in_order(mut pieces: Vec<Span>) -> Vec<Span> {
    pieces.sort_unstable();
    let mut joined: Vec<Span> = Vec::with_capacity(pieces.len());
    for piece in pieces {
        match joined.last_mut() {
            Some(last) if piece.start <= last.end => last.end = last.end.max(piece.end),
            _ => joined.push(piece),
        }
    }
    joined
}

/// The fragments of a mention, or its whole span if it has none.
pub fn pieces<'a>(extent: &'a Span, fragments: &'a [Span]) -> &'a [Span] {
    if fragments.is_empty() {
        std::slice::from_ref(extent)
    } else {
        fragments
    }
}

/// Joins the fragments of a mention with blanks, e.g. "lung injuries" of "lung and left heart
/// injuries".
///
/// # Errors
/// As [`Span::of`], for the first invalid fragment.
pub fn text_of<'a>(text: &'a str, pieces: &[Span]) -> Result<Cow<'a, str>> {
    match pieces {
        [one] => one.of(text).map(Cow::Borrowed),
        several => {
            let words = several
                .iter()
                .map(|piece| piece.of(text))
                .collect::<Result<Vec<_>>>()?;
            Ok(Cow::Owned(words.join(" ")))
        }
    }
}

/// A mention with its context.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mention<'a> {
    /// The span from the first fragment to the last.
    pub span: Span,
    /// The mention's text, with abbreviations expanded if requested
    /// ([`crate::abbreviations`]). Of a discontinuous mention, only its fragments.
    pub text: Cow<'a, str>,
    /// The text before the mention.
    pub left: &'a str,
    /// The text after the mention.
    pub right: &'a str,
}

impl<'a> Mention<'a> {
    /// Cuts a text into a mention and its context.
    ///
    /// # Errors
    /// As [`Span::of`].
    pub fn cut(text: &'a str, span: Span) -> Result<Self> {
        let mention = Cow::Borrowed(span.of(text)?);
        Ok(Self {
            span,
            text: mention,
            left: &text[..span.start],
            right: &text[span.end..],
        })
    }

    /// Cuts a text at the fragments of a mention, which must be in ascending order. The text
    /// between fragments belongs neither to the mention nor to its context.
    ///
    /// # Errors
    /// If there is no fragment, or as [`Span::of`].
    pub fn cut_pieces(text: &'a str, pieces: &[Span]) -> Result<Self> {
        let (Some(first), Some(last)) = (pieces.first(), pieces.last()) else {
            return Err(Error::input(
                "expected a mention with at least one fragment, found none",
            ));
        };
        let span = Span::new(first.start, last.end);
        Ok(Self {
            text: text_of(text, pieces)?,
            ..Self::cut(text, span)?
        })
    }

    /// The mention with at most this number of words of context on each side. Words are separated
    /// by white space.
    #[must_use]
    pub fn with_context(&self, words: usize) -> Self {
        let is_gap = |(_, c): &(usize, char)| c.is_whitespace();
        let mut gaps_before = self.left.char_indices().rev().filter(is_gap);
        let mut gaps_after = self.right.char_indices().filter(is_gap);
        let start = gaps_before.nth(words).map_or(0, |(at, _)| at);
        let end = gaps_after.nth(words).map_or(self.right.len(), |(at, _)| at);
        Self {
            span: self.span,
            text: self.text.clone(),
            left: &self.left[start..],
            right: &self.right[..end],
        }
    }
}

/// Converts byte offsets of a text to code points (Python, BRAT, PubTator) and UTF-16 code units
/// (JavaScript), and back.
///
/// A checkpoint every [`Offsets::STRIDE`] bytes bounds the text that a conversion reads.
#[derive(Debug)]
pub struct Offsets<'a> {
    text: &'a str,
    /// Byte offset on a character boundary, code points before it, UTF-16 code units before it.
    checkpoints: Vec<(usize, usize, usize)>,
}

impl<'a> Offsets<'a> {
    /// The bytes between checkpoints.
    pub const STRIDE: usize = 256;

    /// Computes the checkpoints of a text.
    pub fn new(text: &'a str) -> Self {
        let mut checkpoints = vec![(0, 0, 0)];
        let mut utf16 = 0;
        let mut next = Self::STRIDE;
        for (code_points, (byte, c)) in text.char_indices().enumerate() {
            if byte >= next {
                checkpoints.push((byte, code_points, utf16));
                next = byte + Self::STRIDE;
            }
            utf16 += c.len_utf16();
        }
        Self { text, checkpoints }
    }

    /// The code points before a byte offset. An offset inside a character counts as its start.
    pub fn code_point(&self, byte: usize) -> usize {
        let (_, code_points, _) = self.position(byte);
        code_points
    }

    /// The UTF-16 code units before a byte offset. An offset inside a character counts as its
    /// start.
    pub fn utf16(&self, byte: usize) -> usize {
        let (_, _, utf16) = self.position(byte);
        utf16
    }

    /// The byte offset of a code point; `None` past the end.
    pub fn byte_of_code_point(&self, code_point: usize) -> Option<usize> {
        self.seek(code_point, |checkpoint| checkpoint.1, |_| 1)
    }

    /// The byte offset of a UTF-16 code unit; `None` past the end or inside a surrogate pair.
    pub fn byte_of_utf16(&self, unit: usize) -> Option<usize> {
        self.seek(unit, |checkpoint| checkpoint.2, char::len_utf16)
    }

    /// The start of the character at a byte offset, and the code points and UTF-16 units before it.
    fn position(&self, byte: usize) -> (usize, usize, usize) {
        let at = self
            .checkpoints
            .partition_point(|checkpoint| checkpoint.0 <= byte)
            - 1;
        let (start, mut code_points, mut utf16) = self.checkpoints[at];
        for (offset, c) in self.text[start..].char_indices() {
            if start + offset + c.len_utf8() > byte {
                return (start + offset, code_points, utf16);
            }
            code_points += 1;
            utf16 += c.len_utf16();
        }
        (self.text.len(), code_points, utf16)
    }

    fn seek(
        &self,
        unit: usize,
        of: impl Fn(&(usize, usize, usize)) -> usize,
        width: impl Fn(char) -> usize,
    ) -> Option<usize> {
        let at = self
            .checkpoints
            .partition_point(|checkpoint| of(checkpoint) <= unit)
            - 1;
        let start = self.checkpoints[at].0;
        let mut count = of(&self.checkpoints[at]);
        for (offset, c) in self.text[start..].char_indices() {
            if count >= unit {
                return (count == unit).then_some(start + offset);
            }
            count += width(c);
        }
        (count == unit).then_some(self.text.len())
    }
}

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn units_of_text_after_an_emoji_differ() {
        // "😷" is 4 bytes, 1 code point, 2 UTF-16 units; "é" is 2 bytes, 1, 1.
        let text = "😷 fiévre";
        let offsets = Offsets::new(text);
        let start = text.find("fi").expect("the text has it");
        assert_eq!(
            [start, offsets.code_point(start), offsets.utf16(start)],
            [5, 2, 3]
        );
        assert_eq!(
            [
                text.len(),
                offsets.code_point(text.len()),
                offsets.utf16(text.len())
            ],
            [12, 8, 9]
        );
        assert_eq!(offsets.byte_of_utf16(1), None);
        assert_eq!(offsets.byte_of_code_point(99), None);
    }

    #[test]
    fn context_has_whole_words() {
        let text = "He  has a\tsevere, dry cough.\nNo fever";
        let start = text.find("dry").expect("the text has it");
        let mention = Mention::cut(text, Span::new(start, start + 9)).expect("a valid span");
        let sides = |words| {
            let short = mention.with_context(words);
            (short.left, short.right)
        };
        assert_eq!(sides(0), (" ", "."));
        assert_eq!(sides(1), ("\tsevere, ", ".\nNo"));
        assert_eq!(sides(2), (" a\tsevere, ", ".\nNo fever"));
        assert_eq!(sides(9), ("He  has a\tsevere, ", ".\nNo fever"));
    }

    #[test]
    fn invalid_span_is_an_error_with_a_reason() {
        let error = |span: Span| span.of("é!").expect_err("the span is invalid").to_string();
        assert!(error(Span::new(1, 3)).contains("splits a character"));
        assert!(error(Span::new(0, 9)).contains("has 3 bytes"));
        assert!(error(Span::new(2, 2)).contains("empty"));
    }

    #[test]
    fn in_order_sorts_fragments_and_merges_touching_ones() {
        let spans = |pairs: &[(usize, usize)]| {
            pairs
                .iter()
                .map(|(a, b)| Span::new(*a, *b))
                .collect::<Vec<_>>()
        };
        assert_eq!(
            in_order(spans(&[(54, 58), (37, 41)])),
            spans(&[(37, 41), (54, 58)])
        );
        assert_eq!(
            in_order(spans(&[(21, 35), (27, 35), (0, 3), (3, 5)])),
            spans(&[(0, 5), (21, 35)])
        );
        assert_eq!(
            in_order(spans(&[(0, 9), (2, 4), (10, 11)])),
            spans(&[(0, 9), (10, 11)])
        );
    }

    #[test]
    fn discontinuous_mention_is_the_text_of_its_fragments() {
        let text = "Severe lung and left heart injuries.";
        let mention =
            Mention::cut_pieces(text, &[Span::new(7, 11), Span::new(27, 35)]).expect("it fits");
        assert_eq!(mention.text, "lung injuries");
        assert_eq!([mention.left, mention.right], ["Severe ", "."]);
        assert_eq!(mention.span, Span::new(7, 35));
        assert!(Mention::cut_pieces(text, &[Span::new(7, 11), Span::new(27, 99)]).is_err());
        assert!(Mention::cut_pieces(text, &[]).is_err());
    }

    proptest! {
        #[test]
        fn conversions_round_trip(text in "\\PC{0,400}|[a-z😷é\n]{500,900}") {
            let offsets = Offsets::new(&text);
            for (code_point, (byte, _)) in text.char_indices().enumerate() {
                prop_assert_eq!(offsets.code_point(byte), code_point);
                prop_assert_eq!(offsets.byte_of_code_point(code_point), Some(byte));
                let utf16 = text[..byte].encode_utf16().count();
                prop_assert_eq!(offsets.utf16(byte), utf16);
                prop_assert_eq!(offsets.byte_of_utf16(utf16), Some(byte));
            }
            prop_assert_eq!(offsets.byte_of_code_point(text.chars().count()), Some(text.len()));
        }
    }
}
