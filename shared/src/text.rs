//! Spans and mentions. A [`Span`] is in bytes on char boundaries; [`Offsets`] converts to the units of other tools.

use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// A half-open range of bytes of a text, on char boundaries of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Span {
    /// First byte.
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
}

impl Span {
    /// A span of bytes; it is checked against a text only when it is cut.
    pub fn new(start: usize, end: usize) -> Self {
        Self { start, end }
    }

    /// Length in bytes.
    pub fn len(&self) -> usize {
        self.end.saturating_sub(self.start)
    }

    /// Whether the span holds no byte.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether both spans share a byte.
    pub fn overlaps(&self, other: &Span) -> bool {
        self.start < other.end && other.start < self.end
    }

    /// The text under the span.
    ///
    /// # Errors
    /// If the span is empty, lies outside the text or splits a character.
    pub fn of<'a>(&self, text: &'a str) -> Result<&'a str> {
        let found = if self.start < self.end { text.get(self.start..self.end) } else { None };
        found.ok_or_else(|| {
            let why = if self.start >= self.end {
                "it is empty".to_owned()
            } else if self.end > text.len() {
                format!("the text has {} bytes", text.len())
            } else {
                "it splits a character".to_owned()
            };
            Error::input(format!("span {}..{} (bytes) cannot be cut: {why}", self.start, self.end))
        })
    }
}

/// A mention in its context: step 1 of the pipeline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mention<'a> {
    /// Where the mention stands.
    pub span: Span,
    /// The mention itself, or what stands for it ([`crate::abbreviations`]).
    pub text: Cow<'a, str>,
    /// Everything before it.
    pub left: &'a str,
    /// Everything after it.
    pub right: &'a str,
}

impl<'a> Mention<'a> {
    /// Cuts `text` at `span`.
    ///
    /// # Errors
    /// As [`Span::of`].
    pub fn cut(text: &'a str, span: Span) -> Result<Self> {
        let mention = Cow::Borrowed(span.of(text)?);
        Ok(Self { span, text: mention, left: &text[..span.start], right: &text[span.end..] })
    }
}

/// Converts byte positions of one text to code points (Python, BRAT, PubTator) and UTF-16 units (JavaScript), and back.
///
/// Keeps one checkpoint each [`Offsets::STRIDE`] bytes, so that a conversion looks at a bounded piece of the text.
#[derive(Debug)]
pub struct Offsets<'a> {
    text: &'a str,
    /// At checkpoint i: (byte position on a char boundary, code points before it, UTF-16 units before it).
    checkpoints: Vec<(usize, usize, usize)>,
}

impl<'a> Offsets<'a> {
    /// Bytes between checkpoints.
    pub const STRIDE: usize = 256;

    /// Reads the text once.
    pub fn new(text: &'a str) -> Self {
        let mut checkpoints = vec![(0, 0, 0)];
        let (mut code_points, mut utf16, mut next) = (0, 0, Self::STRIDE);
        for (byte, c) in text.char_indices() {
            if byte >= next {
                checkpoints.push((byte, code_points, utf16));
                next = byte + Self::STRIDE;
            }
            code_points += 1;
            utf16 += c.len_utf16();
        }
        Self { text, checkpoints }
    }

    /// Code points before a byte position; positions inside a character count as its start.
    pub fn code_point(&self, byte: usize) -> usize {
        let (_, code_points, _) = self.walk(byte);
        code_points
    }

    /// UTF-16 units before a byte position; positions inside a character count as its start.
    pub fn utf16(&self, byte: usize) -> usize {
        let (_, _, utf16) = self.walk(byte);
        utf16
    }

    /// The byte position of a code point; `None` past the end.
    pub fn byte_of_code_point(&self, code_point: usize) -> Option<usize> {
        self.seek(code_point, |checkpoint| checkpoint.1, |_| 1)
    }

    /// The byte position of a UTF-16 unit; `None` past the end or inside a surrogate pair.
    pub fn byte_of_utf16(&self, unit: usize) -> Option<usize> {
        self.seek(unit, |checkpoint| checkpoint.2, char::len_utf16)
    }

    fn walk(&self, byte: usize) -> (usize, usize, usize) {
        let at = self.checkpoints.partition_point(|checkpoint| checkpoint.0 <= byte) - 1;
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
        let at = self.checkpoints.partition_point(|checkpoint| of(checkpoint) <= unit) - 1;
        let (start, mut count) = (self.checkpoints[at].0, of(&self.checkpoints[at]));
        for (offset, c) in self.text[start..].char_indices() {
            if count >= unit {
                return (count == unit).then_some(start + offset);
            }
            count += width(c);
        }
        (count == unit).then_some(self.text.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn an_emoji_before_a_mention_moves_each_unit_differently() {
        // "😷" is 4 bytes, 1 code point, 2 UTF-16 units; "é" is 2 bytes, 1, 1.
        let text = "😷 fiévre";
        let offsets = Offsets::new(text);
        let start = text.find("fi").expect("it is there");
        assert_eq!((start, offsets.code_point(start), offsets.utf16(start)), (5, 2, 3));
        assert_eq!((text.len(), offsets.code_point(text.len()), offsets.utf16(text.len())), (12, 8, 9));
        assert_eq!(offsets.byte_of_utf16(1), None);
        assert_eq!(offsets.byte_of_code_point(99), None);
    }

    #[test]
    fn a_span_that_cannot_be_cut_says_why() {
        let say = |span: Span| span.of("é!").expect_err("it cannot be cut").to_string();
        assert!(say(Span::new(1, 3)).contains("splits a character"));
        assert!(say(Span::new(0, 9)).contains("has 3 bytes"));
        assert!(say(Span::new(2, 2)).contains("empty"));
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
