//! The windows in which a text is read.

use super::DetectorInfo;
use crate::tokens::{Cut, Encoded, Tokens, Words};
use std::ops::Range;

/// A window over the words of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Window {
    /// Its words.
    pub words: Range<usize>,
    /// The first words of mentions that are taken from this window. Where windows overlap, each
    /// takes the half that is farther from its border.
    pub own: Range<usize>,
}

/// The windows of a text: as many words as fit, with an overlap. A window begins at a word.
pub fn windows(info: &DetectorInfo, words: &Words) -> Vec<Window> {
    let budget = info.window - 2;
    let mut windows: Vec<Window> = Vec::new();
    let mut first = 0;
    while first < words.words.len() {
        let end = fill(words, first, budget);
        let own = match windows.last_mut() {
            // The middle of the words that both have.
            Some(last) => {
                let middle = first + (last.words.end - first) / 2;
                last.own.end = middle;
                middle..end
            }
            None => first..end,
        };
        windows.push(Window {
            words: first..end,
            own,
        });
        if end == words.words.len() {
            break;
        }
        // The overlap leaves room for the next word, so that each window has a new one.
        let room = budget.saturating_sub(words.words[end].pieces.len());
        first = back(words, end, info.overlap.min(room)).max(first + 1);
    }
    windows
}

/// The end of the words that fit into so many pieces from `first` on, at least one word.
fn fill(words: &Words, first: usize, budget: usize) -> usize {
    let start = words.words[first].pieces.start;
    let fits = words.words[first..].partition_point(|word| word.pieces.end - start <= budget);
    first + fits.max(1)
}

/// The first word of the last words before `end` that have at most so many pieces.
fn back(words: &Words, end: usize, pieces: usize) -> usize {
    let last = words.words[end - 1].pieces.end;
    words.words[..end].partition_point(|word| last - word.pieces.start > pieces)
}

impl Window {
    /// The tokens of the window: `[CLS]`, the pieces, `[SEP]`. A word of more pieces than fit is
    /// cut.
    pub fn encoded(&self, info: &DetectorInfo, words: &Words, tokens: &Tokens) -> Encoded {
        let start = words.words[self.words.start].pieces.start;
        let end = words.words[self.words.end - 1].pieces.end;
        let end = end.min(start + info.window - 2);
        let mut ids = Vec::with_capacity(end - start + 2);
        ids.push(tokens.cls());
        ids.extend_from_slice(&words.pieces[start..end]);
        ids.push(tokens.sep());
        Encoded::whole(ids, Cut::default())
    }

    /// The tokens of the first and the last piece of each word, counted in [`Window::encoded`].
    pub fn ends(&self, info: &DetectorInfo, words: &Words) -> Vec<[usize; 2]> {
        let start = words.words[self.words.start].pieces.start;
        let most = info.window - 2;
        words.words[self.words.clone()]
            .iter()
            .map(|word| {
                let first = (word.pieces.start - start).min(most - 1);
                let last = (word.pieces.end - 1 - start).min(most - 1);
                [first + 1, last + 1]
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::info;
    use super::*;
    use crate::tokens::Word;
    use pel_text::Span;
    use proptest::prelude::*;

    /// Words of so many pieces each.
    fn words(pieces: &[usize]) -> Words {
        let mut all = Words::default();
        for (at, count) in pieces.iter().enumerate() {
            let start = all.pieces.len();
            all.pieces.extend((0..*count).map(|piece| piece as u32));
            all.words.push(Word {
                span: Span::new(at, at + 1),
                pieces: start..start + count,
            });
        }
        all
    }

    #[test]
    fn windows_overlap_and_share_words_in_the_middle() {
        // 14 pieces fit; 4 are shared.
        let found = windows(&info(), &words(&[1; 30]));
        let shown: Vec<_> = found
            .iter()
            .map(|window| (window.words.clone(), window.own.clone()))
            .collect();
        assert_eq!(shown, [(0..14, 0..12), (10..24, 12..22), (20..30, 22..30)]);
    }

    #[test]
    fn each_window_has_a_new_word() {
        // 4 words of one piece and one of 12 do not fit into 14.
        let found = windows(&info(), &words(&[1, 1, 1, 1, 12].repeat(10)));
        assert!(found.is_sorted_by(|one, next| one.words.end < next.words.end));
        assert!(found.len() <= 20, "{}", found.len());
    }

    proptest! {
        #[test]
        fn every_word_is_owned_once_and_windows_fit(
            pieces in prop::collection::vec(1usize..40, 0..80),
        ) {
            let (info, words) = (info(), words(&pieces));
            let mut next = 0;
            for window in windows(&info, &words) {
                prop_assert_eq!(window.own.start, next);
                next = window.own.end;
                prop_assert!(
                    window.words.start <= window.own.start && window.own.end <= window.words.end
                );
                let count: usize = pieces[window.words.clone()].iter().sum();
                prop_assert!(count <= info.window - 2 || window.words.len() == 1);
                for [first, last] in window.ends(&info, &words) {
                    prop_assert!(1 <= first && first <= last && last <= info.window - 2);
                }
            }
            prop_assert_eq!(next, pieces.len());
        }
    }
}
