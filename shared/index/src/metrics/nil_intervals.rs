//! Bootstrap confidence intervals of NIL detection, with documents as groups.

use super::bootstrap::{Interval, resample};
use super::nil::{NilCounts, Top, nil_at};
use serde::Serialize;
use std::collections::BTreeMap;

/// 95 % intervals of the NIL metrics; `None` if a metric has no value.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct NilIntervals {
    /// Of precision.
    pub precision: Option<Interval>,
    /// Of recall.
    pub recall: Option<Interval>,
    /// Of F1.
    pub f1: Option<Interval>,
    /// Of the average precision.
    pub au_pr: Option<Interval>,
}

/// Computes the intervals by resampling documents, as
/// [`pooled_with_interval`](super::pooled_with_interval) does.
///
/// Each mention comes with the number of its document. The threshold is fixed: the intervals do not
/// include the variance of its calibration.
pub fn nil_intervals(
    mentions: &[(usize, Top)],
    threshold: f32,
    resamples: usize,
    seed: u64,
) -> NilIntervals {
    let mut documents: BTreeMap<usize, Vec<Top>> = BTreeMap::new();
    for (document, top) in mentions {
        documents.entry(*document).or_default().push(*top);
    }
    let counts: Vec<NilCounts> = documents
        .values()
        .map(|tops| nil_at(tops, threshold))
        .collect();
    let interval = |metric: fn(NilCounts) -> Option<f64>| {
        resample(counts.len(), resamples, seed, |sampled| {
            let sampled = sampled.iter().filter_map(|document| counts.get(*document));
            metric(sampled.fold(NilCounts::default(), |sum, counts| sum + *counts))
        })
    };
    // The scores are sorted once; a sample only changes the documents' weights.
    let numbered = documents.values().enumerate();
    let mut ascending: Vec<(f32, usize, bool)> = numbered
        .flat_map(|(at, tops)| tops.iter().map(move |top| (top.value(), at, top.nil)))
        .collect();
    ascending.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
    let mut weights = vec![0usize; counts.len()];
    let au_pr = resample(counts.len(), resamples, seed, |sampled| {
        weights.fill(0);
        sampled.iter().for_each(|document| weights[*document] += 1);
        weighted_average_precision(&ascending, &weights)
    });
    NilIntervals {
        precision: interval(NilCounts::precision),
        recall: interval(NilCounts::recall),
        f1: interval(NilCounts::f1),
        au_pr,
    }
}

/// [`average_precision`](super::average_precision) with a weight for each document.
///
/// `ascending` has the score, document and NIL label of each mention, in ascending order of scores.
fn weighted_average_precision(ascending: &[(f32, usize, bool)], weights: &[usize]) -> Option<f64> {
    let all: usize = ascending
        .iter()
        .map(|(_, document, nil)| if *nil { weights[*document] } else { 0 })
        .sum();
    let mut found = 0usize;
    let mut predicted = 0usize;
    let mut sum = 0.0;
    // No threshold rejects an infinite score.
    let finite = ascending.partition_point(|(score, ..)| *score < f32::INFINITY);
    for ties in ascending[..finite].chunk_by(|a, b| a.0 == b.0) {
        let found_before = found;
        for (_, document, nil) in ties {
            predicted += weights[*document];
            found += if *nil { weights[*document] } else { 0 };
        }
        if found > found_before {
            sum += found as f64 / predicted as f64 * (found - found_before) as f64;
        }
    }
    (all > 0).then(|| sum / all as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::average_precision;
    use proptest::prelude::*;

    fn top(score: f32, nil: bool) -> Top {
        Top {
            score: Some(score),
            nil,
        }
    }

    #[test]
    fn identical_documents_have_intervals_of_width_zero() {
        // At 0.5 each document has 1 true positive, 1 false negative and 1 false positive.
        let one = [
            top(0.1, true),
            top(0.2, false),
            top(0.8, true),
            top(0.9, false),
        ];
        let mentions: Vec<_> = (0..5)
            .flat_map(|document| one.map(|top| (document, top)))
            .collect();
        let found = nil_intervals(&mentions, 0.5, 100, 1);
        let constant = |value: f64| {
            Some(Interval {
                low: value,
                high: value,
            })
        };
        assert_eq!(
            [found.precision, found.recall, found.f1],
            [constant(0.5); 3]
        );
        // 1/2 * 1 + 1/2 * 2/3
        let au_pr = found.au_pr.expect("there is a NIL mention");
        assert!(
            (au_pr.low - 5.0 / 6.0).abs() < 1e-12 && (au_pr.high - 5.0 / 6.0).abs() < 1e-12,
            "{au_pr:?}"
        );
    }

    /// A document of `count` equal mentions.
    fn equal_mentions(document: usize, count: usize, top: Top) -> Vec<(usize, Top)> {
        vec![(document, top); count]
    }

    #[test]
    fn documents_are_sampled_with_all_their_mentions() {
        // 50 mentions are found in one document and 50 missed in the other. A sample has the first
        // twice (recall 1), each once (1/2) or the second twice (0). Sampling single mentions would
        // leave recall near 1/2.
        let mentions = [
            equal_mentions(7, 50, top(0.1, true)),
            equal_mentions(3, 50, top(0.9, true)),
        ]
        .concat();
        let found = nil_intervals(&mentions, 0.5, 200, 1);
        assert_eq!(
            found.recall,
            Some(Interval {
                low: 0.0,
                high: 1.0
            })
        );
        assert_eq!(
            found.f1,
            Some(Interval {
                low: 0.0,
                high: 1.0
            })
        );
        // A sample without a NIL prediction has no precision.
        assert_eq!(
            found.precision,
            Some(Interval {
                low: 1.0,
                high: 1.0
            })
        );
        let nothing = nil_intervals(&[(0, top(0.9, false))], 0.5, 50, 1);
        assert_eq!(
            (nothing.recall, nothing.au_pr, nothing.f1),
            (None, None, None)
        );
        assert_eq!(nil_intervals(&[], 0.5, 50, 1).precision, None);
    }

    #[test]
    fn average_precision_weighs_documents_by_their_number_in_the_sample() {
        // One document has a concept with the lowest score, the other NIL above it. A sample has
        // the NIL twice (1), each once (1/2), or the concept twice (no NIL, no value).
        let found = nil_intervals(&[(0, top(0.1, false)), (1, top(0.2, true))], 0.5, 200, 1);
        assert_eq!(
            found.au_pr,
            Some(Interval {
                low: 0.5,
                high: 1.0
            })
        );
        // The first document twice, the second once: precision is 2/4 at 0.1 and 3/6 at 0.3, and
        // the gain in recall is 2/3 and 1/3.
        let ascending = [
            (0.1, 0, true),
            (0.1, 0, false),
            (0.3, 1, true),
            (0.3, 1, false),
        ];
        let by_hand = 2.0 / 4.0 * (2.0 / 3.0) + 3.0 / 6.0 * (1.0 / 3.0);
        assert_eq!(
            weighted_average_precision(&ascending, &[2, 1]),
            Some(by_hand)
        );
        // Without the first document, 1 of 2 predictions is right. Without documents there is no
        // value.
        assert_eq!(weighted_average_precision(&ascending, &[0, 1]), Some(0.5));
        assert_eq!(weighted_average_precision(&ascending, &[0, 0]), None);
        // A concept below the NIL counts as often as its document.
        let uneven = [(0.1, 0, false), (0.2, 1, true)];
        assert_eq!(
            weighted_average_precision(&uneven, &[1, 1]),
            Some(1.0 / 2.0)
        );
        assert_eq!(
            weighted_average_precision(&uneven, &[3, 1]),
            Some(1.0 / 4.0)
        );
        assert_eq!(
            weighted_average_precision(&uneven, &[1, 3]),
            Some(3.0 / 4.0)
        );
    }

    #[test]
    fn intervals_depend_on_the_number_of_samples_and_the_seed() {
        let mentions: Vec<_> = (0..12)
            .map(|at| (at, top(at as f32 / 12.0, at % 3 == 0)))
            .collect();
        let of = |resamples, seed| nil_intervals(&mentions, 0.5, resamples, seed);
        assert_eq!(of(40, 1), of(40, 1));
        assert!((2..20).any(|seed| of(40, seed) != of(40, 1)));
        // With 1 sample both ends are equal.
        let one = of(1, 1).au_pr.expect("there is a NIL mention");
        assert_eq!(one.low, one.high);
    }

    proptest! {
        #[test]
        fn equal_weights_give_the_unweighted_average_precision(
            tops in proptest::collection::vec((-4i8..4, any::<bool>()), 1..40), weight in 1usize..4
        ) {
            let tops: Vec<Top> = tops
                .into_iter()
                .map(|(score, nil)| top(f32::from(score), nil))
                .collect();
            let mut ascending: Vec<_> = tops
                .iter()
                .enumerate()
                .map(|(at, top)| (top.value(), at, top.nil))
                .collect();
            ascending.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
            let found = weighted_average_precision(&ascending, &vec![weight; tops.len()]);
            match (found, average_precision(&tops)) {
                (Some(found), Some(expected)) => prop_assert!((found - expected).abs() < 1e-12),
                (found, expected) => prop_assert_eq!(found, expected),
            }
        }
    }
}
