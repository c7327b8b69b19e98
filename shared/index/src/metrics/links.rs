//! Precision and recall of links as a function of the threshold.

use super::Share;
use super::nil::between;
use serde::Serialize;

/// The best candidate of one mention, with its correctness.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Answer {
    /// The best score; infinite if the mention is linked at any threshold, `None` without a
    /// candidate.
    pub score: Option<f32>,
    /// Whether the best candidate is the gold concept.
    pub right: bool,
    /// Whether the gold concept is in the knowledge base.
    pub known: bool,
}

/// The counts of links at a threshold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct LinkCounts {
    /// Links to the gold concept.
    pub right: usize,
    /// Links to another concept, NIL mentions included.
    pub wrong: usize,
    /// Mentions whose gold concept is in the knowledge base, linked or not.
    pub known: usize,
}

impl LinkCounts {
    /// The proportion of links that are right; `None` without a link.
    pub fn precision(self) -> Option<f64> {
        Share {
            hits: self.right,
            of: self.right + self.wrong,
        }
        .value()
    }

    /// The proportion of mentions with a gold concept in the knowledge base that are linked to it;
    /// `None` without such a mention.
    pub fn recall(self) -> Option<f64> {
        Share {
            hits: self.right,
            of: self.known,
        }
        .value()
    }
}

/// Counts the links at a threshold. A score equal to it is linked; NaN is not.
pub fn links_at(answers: &[Answer], threshold: f32) -> LinkCounts {
    let mut counts = LinkCounts {
        known: answers.iter().filter(|answer| answer.known).count(),
        ..Default::default()
    };
    for answer in answers
        .iter()
        .filter(|answer| answer.score.is_some_and(|score| score >= threshold))
    {
        counts.right += usize::from(answer.right);
        counts.wrong += usize::from(!answer.right);
    }
    counts
}

/// The lowest threshold, and so the most links, at which precision is at least `wished`.
///
/// Thresholds with fewer than `fewest` links are not considered: their precision is unreliable.
///
/// # Errors
/// If no threshold has that precision: the threshold of the highest precision and its counts, or
/// `None` if no threshold has `fewest` links.
pub fn widest_at_precision(
    answers: &[Answer],
    wished: f64,
    fewest: usize,
) -> Result<(f32, LinkCounts), Option<(f32, LinkCounts)>> {
    let scored = answers.iter().filter_map(|answer| {
        let score = answer.score.filter(|score| !score.is_nan())?;
        Some((score, answer.right))
    });
    let mut descending: Vec<(f32, bool)> = scored.collect();
    descending.sort_unstable_by(|a, b| b.0.total_cmp(&a.0));
    let mut counts = LinkCounts {
        known: answers.iter().filter(|answer| answer.known).count(),
        ..Default::default()
    };
    let mut widest: Option<(f32, LinkCounts)> = None;
    let mut most_precise: Option<(f32, LinkCounts)> = None;
    let mut ties = descending.chunk_by(|a, b| a.0 == b.0).peekable();
    while let Some(step) = ties.next() {
        counts.right += step.iter().filter(|(_, right)| *right).count();
        counts.wrong += step.iter().filter(|(_, right)| !*right).count();
        let score = step.first().map_or(f32::INFINITY, |(score, _)| *score);
        let next = ties
            .peek()
            .and_then(|next| next.first())
            .map(|(next, _)| *next);
        if counts.right + counts.wrong < fewest {
            continue;
        }
        // The threshold is finite even if all links have an infinite score.
        let threshold = next.map_or(score.min(f32::MAX), |next| between(next, Some(score)));
        if counts.precision() >= Some(wished) {
            widest = Some((threshold, counts));
        }
        if most_precise.is_none_or(|(_, best)| counts.precision() > best.precision()) {
            most_precise = Some((threshold, counts));
        }
    }
    widest.ok_or(most_precise)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// In descending order: right, NIL, right and wrong (a tie), right, no candidate.
    fn six() -> Vec<Answer> {
        let answer = |score, right, known| Answer {
            score,
            right,
            known,
        };
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
    fn links_at_counts_scores_from_the_threshold_up() {
        let counts = links_at(&six(), 0.75);
        assert_eq!(
            counts,
            LinkCounts {
                right: 2,
                wrong: 2,
                known: 5
            }
        );
        assert_eq!(
            (counts.precision(), counts.recall()),
            (Some(0.5), Some(0.4))
        );
        assert_eq!(links_at(&six(), 2.0).precision(), None);
        assert_eq!(
            links_at(
                &[Answer {
                    score: Some(f32::NAN),
                    right: true,
                    known: true
                }],
                -1.0
            )
            .right,
            0
        );
    }

    #[test]
    fn threshold_is_finite_if_scores_are_infinite() {
        let answer = |score, right| Answer {
            score: Some(score),
            right,
            known: true,
        };
        let answers = [answer(f32::INFINITY, true), answer(0.5, false)];
        let (threshold, counts) = widest_at_precision(&answers, 0.9, 1).expect("one is right");
        assert_eq!(
            (threshold, counts.right, counts.wrong),
            (0.5f32.next_up(), 1, 0)
        );
        assert_eq!(
            widest_at_precision(&answers[..1], 0.9, 1).map(|(threshold, _)| threshold),
            Ok(f32::MAX)
        );
    }

    #[test]
    fn widest_at_precision_takes_the_most_links() {
        // Precision at the steps: 1/1, 1/2, 2/4, 3/5.
        let at = |wished| {
            widest_at_precision(&six(), wished, 1)
                .map(|(threshold, counts)| (threshold, counts.right))
        };
        assert_eq!(at(0.6), Ok((0.5, 3)));
        assert_eq!(at(0.61), Ok((0.9375, 1)));
        assert_eq!(
            widest_at_precision(&six(), 1.1, 1),
            Err(Some((
                0.9375,
                LinkCounts {
                    right: 1,
                    wrong: 0,
                    known: 5
                }
            )))
        );
        // With at least 2 links, the single right one is not enough.
        let few = widest_at_precision(&six(), 0.61, 2);
        assert_eq!(
            few,
            Err(Some((
                0.5,
                LinkCounts {
                    right: 3,
                    wrong: 2,
                    known: 5
                }
            )))
        );
        assert_eq!(widest_at_precision(&[], 0.5, 0), Err(None));
    }

    proptest! {
        #[test]
        fn counts_are_those_at_the_returned_threshold(
            answers in proptest::collection::vec((proptest::option::of(-4i8..4), any::<bool>()), 1..40),
            wished in 0.0f64..1.0,
            fewest in 0usize..5,
        ) {
            let answer = |(score, right): (Option<i8>, bool)| Answer {
                score: score.map(|s| f32::from(s) / 3.0),
                right,
                known: true,
            };
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
