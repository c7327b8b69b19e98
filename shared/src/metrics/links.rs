//! What a threshold makes of links: how many there are, and how many of them are right.

use super::Share;
use super::nil::between;
use serde::Serialize;

/// A system's best candidate for one mention, and whether it is the right one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Answer {
    /// The best candidate's score, infinite where it is linked at any score; `None` without a candidate.
    pub score: Option<f32>,
    /// Whether the best candidate is the mention's concept.
    pub right: bool,
    /// Whether the knowledge base has the mention's concept.
    pub known: bool,
}

/// The links at a threshold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct LinkCounts {
    /// Linked to the right concept.
    pub right: usize,
    /// Linked to a wrong one, or linked though NIL.
    pub wrong: usize,
    /// Mentions whose concept the knowledge base has, linked or not.
    pub known: usize,
}

impl LinkCounts {
    /// The share of right ones among the links; `None` without a link.
    pub fn precision(self) -> Option<f64> {
        Share { hits: self.right, of: self.right + self.wrong }.value()
    }

    /// The share of the mentions that can be linked which are linked right; `None` without such a mention.
    pub fn recall(self) -> Option<f64> {
        Share { hits: self.right, of: self.known }.value()
    }
}

/// The links at a threshold: a score equal to it is linked, NaN never is.
pub fn links_at(answers: &[Answer], threshold: f32) -> LinkCounts {
    let mut counts = LinkCounts { known: answers.iter().filter(|answer| answer.known).count(), ..Default::default() };
    for answer in answers.iter().filter(|answer| answer.score.is_some_and(|score| score >= threshold)) {
        counts.right += usize::from(answer.right);
        counts.wrong += usize::from(!answer.right);
    }
    counts
}

/// The threshold with the most links among those at which at least the share `wished` of the links is right.
///
/// Thresholds with fewer links than `fewest` are not looked at: a handful of links may all be right by luck.
///
/// # Errors
/// If none reaches it: the threshold with the highest precision and its links, or nothing where nothing can be linked.
pub fn widest_at_precision(
    answers: &[Answer],
    wished: f64,
    fewest: usize,
) -> Result<(f32, LinkCounts), Option<(f32, LinkCounts)>> {
    let mut falling: Vec<(f32, bool)> =
        answers.iter().filter_map(|a| a.score.filter(|score| !score.is_nan()).map(|score| (score, a.right))).collect();
    falling.sort_unstable_by(|a, b| b.0.total_cmp(&a.0));
    let mut counts = LinkCounts { known: answers.iter().filter(|answer| answer.known).count(), ..Default::default() };
    let mut widest: Option<(f32, LinkCounts)> = None;
    let mut purest: Option<(f32, LinkCounts)> = None;
    let mut equals = falling.chunk_by(|a, b| a.0 == b.0).peekable();
    while let Some(step) = equals.next() {
        counts.right += step.iter().filter(|(_, right)| *right).count();
        counts.wrong += step.iter().filter(|(_, right)| !*right).count();
        let score = step.first().map_or(f32::INFINITY, |(score, _)| *score);
        let next = equals.peek().and_then(|next| next.first()).map(|(next, _)| *next);
        if counts.right + counts.wrong < fewest {
            continue;
        }
        // A threshold is a number, also where what is linked at any score is all.
        let here = (next.map_or(score.min(f32::MAX), |next| between(next, Some(score))), counts);
        if counts.precision() >= Some(wished) {
            widest = Some(here);
        }
        if purest.is_none_or(|(_, best)| counts.precision() > best.precision()) {
            purest = Some(here);
        }
    }
    widest.ok_or(purest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// From high to low: right, NIL, right and wrong (equal), right, and a known one without a candidate.
    fn six() -> Vec<Answer> {
        let answer = |score, right, known| Answer { score, right, known };
        vec![
            answer(Some(0.5), true, true),
            answer(Some(1.0), true, true),
            answer(Some(0.75), true, true),
            answer(None, false, true),
            answer(Some(0.875), false, false),
            answer(Some(0.75), false, true),
        ]
    }

    #[test]
    fn links_are_counted_at_a_threshold() {
        let counts = links_at(&six(), 0.75);
        assert_eq!(counts, LinkCounts { right: 2, wrong: 2, known: 5 });
        assert_eq!((counts.precision(), counts.recall()), (Some(0.5), Some(0.4)));
        assert_eq!(links_at(&six(), 2.0).precision(), None);
        assert_eq!(links_at(&[Answer { score: Some(f32::NAN), right: true, known: true }], -1.0).right, 0);
    }

    #[test]
    fn what_is_linked_at_any_score_leaves_a_threshold_that_is_a_number() {
        let answer = |score, right| Answer { score: Some(score), right, known: true };
        let answers = [answer(f32::INFINITY, true), answer(0.5, false)];
        let (threshold, counts) = widest_at_precision(&answers, 0.9, 1).expect("one is right");
        assert_eq!((threshold, counts.right, counts.wrong), (0.5f32.next_up(), 1, 0));
        assert_eq!(widest_at_precision(&answers[..1], 0.9, 1).map(|(threshold, _)| threshold), Ok(f32::MAX));
    }

    #[test]
    fn the_most_links_are_taken_that_keep_the_precision() {
        // Precision at the steps: 1/1, 1/2, 2/4, 3/5.
        let at = |wished| widest_at_precision(&six(), wished, 1).map(|(threshold, counts)| (threshold, counts.right));
        assert_eq!(at(0.6), Ok((0.5, 3)));
        assert_eq!(at(0.61), Ok((0.9375, 1)));
        assert_eq!(
            widest_at_precision(&six(), 1.1, 1),
            Err(Some((0.9375, LinkCounts { right: 1, wrong: 0, known: 5 })))
        );
        // With two links at least, the one that is right by luck does not count.
        let few = widest_at_precision(&six(), 0.61, 2);
        assert_eq!(few, Err(Some((0.5, LinkCounts { right: 3, wrong: 2, known: 5 }))));
        assert_eq!(widest_at_precision(&[], 0.5, 0), Err(None));
    }

    proptest! {
        #[test]
        fn the_counts_are_those_of_the_threshold(
            answers in proptest::collection::vec((proptest::option::of(-4i8..4), any::<bool>()), 1..40), wished in 0.0f64..1.0,
            fewest in 0usize..5,
        ) {
            let answer = |(score, right): (Option<i8>, bool)| Answer { score: score.map(|s| f32::from(s) / 3.0), right, known: true };
            let answers: Vec<Answer> = answers.into_iter().map(answer).collect();
            match widest_at_precision(&answers, wished, fewest) {
                Ok((threshold, counts)) => {
                    prop_assert_eq!(links_at(&answers, threshold), counts);
                    prop_assert!(counts.precision() >= Some(wished));
                }
                Err(best) => {
                    let holds = |(threshold, counts)| {
                        links_at(&answers, threshold) == counts && counts.precision() < Some(wished)
                    };
                    prop_assert!(best.is_none_or(holds));
                }
            }
        }
    }
}
