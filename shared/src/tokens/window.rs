//! The window around a mention: balanced, the mention cut last. Pure functions on piece counts and texts.

use super::Tokens;
use crate::error::Result;

/// How many pieces of each part fit into a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// Pieces of the left context, its last ones.
    pub left: usize,
    /// Pieces of the mention, its first ones.
    pub mention: usize,
    /// Pieces of the right context, its first ones.
    pub right: usize,
}

/// Shares `room` pieces: the mention first, then the contexts evenly; what one side does not need goes to the other.
/// An odd piece goes to the left.
pub fn balance(left: usize, mention: usize, right: usize, room: usize) -> Window {
    let mention = mention.min(room);
    let rest = room - mention;
    let half = rest.div_ceil(2);
    let left_share = left.min(half.max(rest.saturating_sub(right)));
    Window { left: left_share, mention, right: right.min(rest - left_share) }
}

/// Bytes that are enough for one piece in nearly every text; a piece count that is not reached doubles the chunk.
const BYTES_A_PIECE: usize = 16;
/// Not much more than this is tokenized for one side of one window, whatever the text looks like.
const LONGEST_CHUNK: usize = 1 << 16;
/// White space is looked for so far behind a chunk. A longer word is one unknown piece, wherever it is cut; a text without white space would
/// else be read to its end for each of its mentions.
const LONGEST_WORD: usize = 1 << 12;

/// The first pieces of a text, at least `want` of them if it has so many (possibly more), and whether that was all.
///
/// WordPiece works word by word, so a chunk that ends at white space gives the pieces of the whole text.
pub fn head(tokens: &Tokens, text: &str, want: usize) -> Result<(Vec<u32>, bool)> {
    let mut chunk = want.max(1) * BYTES_A_PIECE;
    loop {
        let end = text.ceil_char_boundary(chunk.min(text.len()));
        let last = text.floor_char_boundary(end + LONGEST_WORD);
        let end = text[end..last].find(char::is_whitespace).map_or(last, |gap| end + gap);
        let pieces = tokens.pieces(&text[..end])?;
        if pieces.len() >= want || end == text.len() || chunk >= LONGEST_CHUNK {
            return Ok((pieces, end == text.len()));
        }
        chunk *= 2;
    }
}

/// The last pieces of a text, at least `want` of them if it has so many (possibly more), and whether that was all.
pub fn tail(tokens: &Tokens, text: &str, want: usize) -> Result<(Vec<u32>, bool)> {
    let mut chunk = want.max(1) * BYTES_A_PIECE;
    loop {
        let start = text.floor_char_boundary(text.len().saturating_sub(chunk));
        let first = text.ceil_char_boundary(start.saturating_sub(LONGEST_WORD));
        let start = text[first..start].rfind(char::is_whitespace).map_or(first, |at| first + at);
        let pieces = tokens.pieces(&text[start..])?;
        if pieces.len() >= want || start == 0 || chunk >= LONGEST_CHUNK {
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
    fn the_window_is_balanced_and_lends_what_a_side_does_not_need() {
        let window = |l, m, r, room| {
            let Window { left, mention, right } = balance(l, m, r, room);
            (left, mention, right)
        };
        assert_eq!(window(50, 4, 50, 24), (10, 4, 10)); // 20 left for both sides
        assert_eq!(window(50, 3, 50, 24), (11, 3, 10)); // 21: the odd one goes left
        assert_eq!(window(2, 4, 50, 24), (2, 4, 18)); // the left lends 8
        assert_eq!(window(50, 4, 0, 24), (20, 4, 0)); // the right lends 10
        assert_eq!(window(50, 30, 50, 24), (0, 24, 0)); // the mention is cut last
    }

    proptest! {
        #[test]
        fn the_window_is_full_or_holds_everything(l in 0usize..300, m in 0usize..300, r in 0usize..300, room in 0usize..300) {
            let window = balance(l, m, r, room);
            let used = window.left + window.mention + window.right;
            prop_assert_eq!(used, room.min(l + m + r));
            prop_assert!(window.left <= l && window.mention <= m && window.right <= r);
            // Context appears only beside a whole mention.
            prop_assert!(window.mention == m || window.left + window.right == 0);
            // Neither side has two more than the other unless the other side is whole.
            prop_assert!(window.left <= window.right + 1 || window.right == r);
            prop_assert!(window.right <= window.left || window.left == l);
        }

        #[test]
        fn ends_of_a_text_have_the_pieces_of_the_whole(words in prop::collection::vec("[a-z]{1,12}|[.,;()-]|é|😷", 0..400), want in 0usize..60) {
            let tokens = tiny();
            let text = words.join(" ");
            let whole = tokens.pieces(&text).expect("it is text");
            let (first, all) = head(&tokens, &text, want).expect("it is text");
            prop_assert!(first.len() >= want.min(whole.len()));
            prop_assert_eq!(&first[..], &whole[..first.len()]);
            prop_assert_eq!(all && first.len() < whole.len(), false);
            let (last, _) = tail(&tokens, &text, want).expect("it is text");
            prop_assert!(last.len() >= want.min(whole.len()));
            prop_assert_eq!(&last[..], &whole[whole.len() - last.len()..]);
        }
    }

    #[test]
    fn a_window_takes_the_same_pieces_from_a_text_of_any_length() {
        let tokens = tiny();
        // Without white space, as in a table; long words, which are one unknown piece each.
        for piece in ["fever,", "fever-", &"x".repeat(300)] {
            let short = piece.repeat(20_000 / piece.len());
            let long = piece.repeat(2_000_000 / piece.len());
            let of = |text: &str| {
                let (mut first, _) = head(&tokens, text, 64).expect("it is text");
                let (mut last, _) = tail(&tokens, text, 64).expect("it is text");
                assert!(first.len() + last.len() < 6000, "{}", first.len() + last.len());
                first.truncate(64);
                (first, last.split_off(last.len().saturating_sub(64)))
            };
            assert_eq!(of(&short), of(&long), "{:?}", &piece[..6]);
        }
    }

    #[test]
    fn a_text_without_white_space_is_read_only_in_part() {
        let tokens = tiny();
        let text = "a".repeat(10 << 20);
        let (pieces, all) = head(&tokens, &text, 64).expect("it is text");
        assert!(!all && pieces.len() <= LONGEST_CHUNK + LONGEST_WORD);
        let (_, all) = tail(&tokens, &text, 64).expect("it is text");
        assert!(!all);
    }
}
