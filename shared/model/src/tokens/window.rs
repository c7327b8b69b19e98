//! The context window around a mention. Context is truncated before the mention, evenly on both
//! sides.

use super::Tokens;
use pel_kb::error::Result;

/// The number of pieces of each part in a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// Pieces of the left context, its last ones.
    pub left: usize,
    /// Pieces of the mention, its first ones.
    pub mention: usize,
    /// Pieces of the right context, its first ones.
    pub right: usize,
}

/// Distributes a budget of pieces: first to the mention, then evenly to both contexts. Pieces that
/// one side does not need go to the other; an odd piece goes to the left.
pub fn balance(left: usize, mention: usize, right: usize, budget: usize) -> Window {
    let mention = mention.min(budget);
    let rest = budget - mention;
    let half = rest.div_ceil(2);
    let left_pieces = left.min(half.max(rest.saturating_sub(right)));
    Window {
        left: left_pieces,
        mention,
        right: right.min(rest - left_pieces),
    }
}

/// The first estimate of bytes for a piece. If a chunk has too few pieces, its size is doubled.
const BYTES_PER_PIECE: usize = 16;
/// The largest chunk in bytes that is tokenized for one side of a window, long words aside.
const MAX_CHUNK: usize = 1 << 16;
/// The distance in bytes in which whitespace is searched after a chunk. A longer word is one
/// unknown piece wherever it is cut. Without this limit, text without whitespace would be read to
/// its end for each mention.
const MAX_WORD: usize = 1 << 12;

/// Tokenizes the start of a text: at least `want` pieces if the text has them, possibly more. Also
/// returns whether these are all pieces.
///
/// WordPiece splits at whitespace first, so a chunk that ends there has the pieces of the whole
/// text.
pub fn head(tokens: &Tokens, text: &str, want: usize) -> Result<(Vec<u32>, bool)> {
    let mut chunk = want.max(1) * BYTES_PER_PIECE;
    loop {
        let end = text.ceil_char_boundary(chunk.min(text.len()));
        let last = text.floor_char_boundary(end + MAX_WORD);
        let end = text[end..last]
            .find(char::is_whitespace)
            .map_or(last, |gap| end + gap);
        let pieces = tokens.pieces(&text[..end])?;
        if pieces.len() >= want || end == text.len() || chunk >= MAX_CHUNK {
            return Ok((pieces, end == text.len()));
        }
        chunk *= 2;
    }
}

/// As [`head`], for the end of a text.
pub fn tail(tokens: &Tokens, text: &str, want: usize) -> Result<(Vec<u32>, bool)> {
    let mut chunk = want.max(1) * BYTES_PER_PIECE;
    loop {
        let start = text.floor_char_boundary(text.len().saturating_sub(chunk));
        let first = text.ceil_char_boundary(start.saturating_sub(MAX_WORD));
        let start = text[first..start]
            .rfind(char::is_whitespace)
            .map_or(first, |at| first + at);
        let pieces = tokens.pieces(&text[start..])?;
        if pieces.len() >= want || start == 0 || chunk >= MAX_CHUNK {
            return Ok((pieces, start == 0));
        }
        chunk *= 2;
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::tiny;
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn balance_splits_the_context_evenly_and_reassigns_unused_pieces() {
        let window = |l, m, r, budget| {
            let Window {
                left,
                mention,
                right,
            } = balance(l, m, r, budget);
            (left, mention, right)
        };
        assert_eq!(window(50, 4, 50, 24), (10, 4, 10)); // 20 for both sides
        assert_eq!(window(50, 3, 50, 24), (11, 3, 10)); // 21: the odd piece goes left
        assert_eq!(window(2, 4, 50, 24), (2, 4, 18)); // 8 unused on the left go right
        assert_eq!(window(50, 4, 0, 24), (20, 4, 0)); // 10 unused on the right go left
        assert_eq!(window(50, 30, 50, 24), (0, 24, 0)); // the mention is truncated last
    }

    proptest! {
        #[test]
        fn window_is_full_or_holds_everything(
            l in 0usize..300,
            m in 0usize..300,
            r in 0usize..300,
            budget in 0usize..300,
        ) {
            let window = balance(l, m, r, budget);
            let used = window.left + window.mention + window.right;
            prop_assert_eq!(used, budget.min(l + m + r));
            prop_assert!(window.left <= l && window.mention <= m && window.right <= r);
            // There is context only if the mention is whole.
            prop_assert!(window.mention == m || window.left + window.right == 0);
            // One side has at most one piece more than the other, unless the other side is whole.
            prop_assert!(window.left <= window.right + 1 || window.right == r);
            prop_assert!(window.right <= window.left || window.left == l);
        }

        #[test]
        fn head_and_tail_have_the_pieces_of_the_whole_text(
            words in prop::collection::vec("[a-z]{1,12}|[.,;()-]|é|😷", 0..400),
            want in 0usize..60,
        ) {
            let tokens = tiny();
            let text = words.join(" ");
            let whole = tokens.pieces(&text).expect("it is text");
            let (first, all) = head(&tokens, &text, want).expect("it is text");
            prop_assert!(first.len() >= want.min(whole.len()));
            prop_assert_eq!(&first[..], &whole[..first.len()]);
            prop_assert!(!all || first.len() == whole.len());
            let (last, _) = tail(&tokens, &text, want).expect("it is text");
            prop_assert!(last.len() >= want.min(whole.len()));
            prop_assert_eq!(&last[..], &whole[whole.len() - last.len()..]);
        }
    }

    #[test]
    fn pieces_do_not_depend_on_the_length_of_the_text() {
        let tokens = tiny();
        // Text without whitespace, as in a table, and long words, which are one unknown piece each.
        for piece in ["fever,", "fever-", &"x".repeat(300)] {
            let short = piece.repeat(20_000 / piece.len());
            let long = piece.repeat(2_000_000 / piece.len());
            let ends = |text: &str| {
                let (mut first, _) = head(&tokens, text, 64).expect("it is text");
                let (mut last, _) = tail(&tokens, text, 64).expect("it is text");
                assert!(
                    first.len() + last.len() < 6000,
                    "{}",
                    first.len() + last.len()
                );
                first.truncate(64);
                (first, last.split_off(last.len().saturating_sub(64)))
            };
            assert_eq!(ends(&short), ends(&long), "{:?}", &piece[..6]);
        }
    }

    #[test]
    fn text_without_whitespace_is_tokenized_only_in_part() {
        let tokens = tiny();
        let text = "a".repeat(10 << 20);
        let (pieces, all) = head(&tokens, &text, 64).expect("it is text");
        assert!(!all && pieces.len() <= MAX_CHUNK + MAX_WORD);
        let (_, all) = tail(&tokens, &text, 64).expect("it is text");
        assert!(!all);
    }
}
