//! Spans and mentions. A [`Span`] is in bytes on char boundaries; [`Offsets`] converts to the units of other tools.

pub mod abbreviations;
pub mod detect;
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

/// The pieces of a mention in the order of the text, those that overlap or touch joined.
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

/// The pieces of a mention: its fragments, or its whole extent where it has none.
pub fn pieces<'a>(extent: &'a Span, fragments: &'a [Span]) -> &'a [Span] {
    if fragments.is_empty() { std::slice::from_ref(extent) } else { fragments }
}

/// The text of the pieces of a mention, with one blank between them: "lung injuries" of "lung and left heart injuries".
///
/// # Errors
/// As [`Span::of`], for the first piece that cannot be cut.
pub fn text_of<'a>(text: &'a str, pieces: &[Span]) -> Result<Cow<'a, str>> {
    match pieces {
        [one] => one.of(text).map(Cow::Borrowed),
        several => {
            let words = several.iter().map(|piece| piece.of(text)).collect::<Result<Vec<_>>>()?;
            Ok(Cow::Owned(words.join(" ")))
        }
    }
}

/// A mention in its context: step 1 of the pipeline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mention<'a> {
    /// Where the mention stands, from its first piece to its last.
    pub span: Span,
    /// The mention itself, or what stands for it ([`crate::text::abbreviations`]); of one in pieces, these alone.
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

    /// Cuts `text` at the pieces of a mention, which are in the order of the text. What stands between them belongs neither
    /// to the mention nor to its context.
    ///
    /// # Errors
    /// If there is no piece; as [`Span::of`].
    pub fn cut_pieces(text: &'a str, pieces: &[Span]) -> Result<Self> {
        let (Some(first), Some(last)) = (pieces.first(), pieces.last()) else {
            return Err(Error::input("a mention needs a piece of the text"));
        };
        let span = Span::new(first.start, last.end);
        Ok(Self { text: text_of(text, pieces)?, ..Self::cut(text, span)? })
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

    #[test]
    fn pieces_are_ordered_and_joined_where_they_meet() {
        let spans = |pairs: &[(usize, usize)]| pairs.iter().map(|(a, b)| Span::new(*a, *b)).collect::<Vec<_>>();
        assert_eq!(in_order(spans(&[(54, 58), (37, 41)])), spans(&[(37, 41), (54, 58)]));
        assert_eq!(in_order(spans(&[(21, 35), (27, 35), (0, 3), (3, 5)])), spans(&[(0, 5), (21, 35)]));
        assert_eq!(in_order(spans(&[(0, 9), (2, 4), (10, 11)])), spans(&[(0, 9), (10, 11)]));
    }

    #[test]
    fn a_mention_in_pieces_is_their_text() {
        let text = "Severe lung and left heart injuries.";
        let mention = Mention::cut_pieces(text, &[Span::new(7, 11), Span::new(27, 35)]).expect("it fits");
        assert_eq!((&*mention.text, mention.left, mention.right), ("lung injuries", "Severe ", "."));
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
