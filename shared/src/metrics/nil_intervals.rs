//! How far the figures of NIL could have come out otherwise: a bootstrap over documents.

use super::bootstrap::{Interval, resample};
use super::nil::{NilCounts, Top, nil_at};
use serde::Serialize;
use std::collections::BTreeMap;

/// 95 % intervals of the figures of NIL; `None` where a figure has no value.
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

/// Draws documents with their mentions, with replacement, as [`bootstrap`](super::bootstrap()) does.
///
/// Each mention comes with a number that its document has and no other. The threshold stays as it is: the intervals say
/// nothing of how it was chosen.
pub fn nil_intervals(mentions: &[(usize, Top)], threshold: f32, resamples: usize, seed: u64) -> NilIntervals {
    let mut places: BTreeMap<usize, Vec<Top>> = BTreeMap::new();
    for (document, top) in mentions {
        places.entry(*document).or_default().push(*top);
    }
    let counts: Vec<NilCounts> = places.values().map(|tops| nil_at(tops, threshold)).collect();
    let of_counts = |figure: fn(NilCounts) -> Option<f64>| {
        resample(counts.len(), resamples, seed, |drawn| {
            let drawn = drawn.iter().filter_map(|document| counts.get(*document));
            figure(drawn.fold(NilCounts::default(), |sum, counts| sum + *counts))
        })
    };
    // Sorted once; a draw then only weighs what is in order already.
    let numbered = places.values().enumerate();
    let mut rising: Vec<(f32, usize, bool)> =
        numbered.flat_map(|(at, tops)| tops.iter().map(move |top| (top.value(), at, top.nil))).collect();
    rising.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
    let mut weights = vec![0usize; counts.len()];
    let au_pr = resample(counts.len(), resamples, seed, |drawn| {
        weights.fill(0);
        drawn.iter().for_each(|document| weights[*document] += 1);
        weighted_average_precision(&rising, &weights)
    });
    NilIntervals {
        precision: of_counts(NilCounts::precision),
        recall: of_counts(NilCounts::recall),
        f1: of_counts(NilCounts::f1),
        au_pr,
    }
}

/// As [`average_precision`](super::average_precision), each mention as often as its document's weight says.
fn weighted_average_precision(rising: &[(f32, usize, bool)], weights: &[usize]) -> Option<f64> {
    let all: usize = rising.iter().map(|(_, document, nil)| if *nil { weights[*document] } else { 0 }).sum();
    let (mut found, mut called, mut sum) = (0usize, 0usize, 0.0);
    // What is linked at any score is never called NIL.
    let judged = rising.partition_point(|(score, ..)| *score < f32::INFINITY);
    for equals in rising[..judged].chunk_by(|a, b| a.0 == b.0) {
        let before = found;
        for (_, document, nil) in equals {
            called += weights[*document];
            found += if *nil { weights[*document] } else { 0 };
        }
        if found > before {
            sum += found as f64 / called as f64 * (found - before) as f64;
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
        Top { score: Some(score), nil }
    }

    #[test]
    fn documents_that_are_alike_leave_no_doubt() {
        // At 0.5 each document has one NIL found, one missed, one concept called NIL: 1/2 all over.
        let one = [top(0.1, true), top(0.2, false), top(0.8, true), top(0.9, false)];
        let mentions: Vec<_> = (0..5).flat_map(|document| one.map(|top| (document, top))).collect();
        let found = nil_intervals(&mentions, 0.5, 100, 1);
        let sure = |value: f64| Some(Interval { low: value, high: value });
        assert_eq!((found.precision, found.recall, found.f1), (sure(0.5), sure(0.5), sure(0.5)));
        // 1/2 * 1 + 1/2 * 2/3
        let au_pr = found.au_pr.expect("there is NIL");
        assert!((au_pr.low - 5.0 / 6.0).abs() < 1e-12 && (au_pr.high - 5.0 / 6.0).abs() < 1e-12, "{au_pr:?}");
    }

    /// Mentions of a document that are all alike.
    fn alike(document: usize, count: usize, top: Top) -> Vec<(usize, Top)> {
        vec![(document, top); count]
    }

    #[test]
    fn documents_are_drawn_with_all_their_mentions() {
        // Fifty mentions found in one document, fifty missed in another. The draws: twice the first (recall 1), each once (1/2), twice the
        // second (0). Mentions that were drawn one by one would leave recall near 1/2.
        let mentions = [alike(7, 50, top(0.1, true)), alike(3, 50, top(0.9, true))].concat();
        let found = nil_intervals(&mentions, 0.5, 200, 1);
        assert_eq!(found.recall, Some(Interval { low: 0.0, high: 1.0 }));
        assert_eq!(found.f1, Some(Interval { low: 0.0, high: 1.0 }));
        // A draw without anything called NIL has no precision.
        assert_eq!(found.precision, Some(Interval { low: 1.0, high: 1.0 }));
        let nothing = nil_intervals(&[(0, top(0.9, false))], 0.5, 50, 1);
        assert_eq!((nothing.recall, nothing.au_pr, nothing.f1), (None, None, None));
        assert_eq!(nil_intervals(&[], 0.5, 50, 1).precision, None);
    }

    #[test]
    fn the_average_precision_is_that_of_the_documents_drawn() {
        // A concept with the lowest score in one document, NIL above it in the other. The draws: twice the NIL (1), each once (1/2), twice
        // the concept (no NIL, no value).
        let found = nil_intervals(&[(0, top(0.1, false)), (1, top(0.2, true))], 0.5, 200, 1);
        assert_eq!(found.au_pr, Some(Interval { low: 0.5, high: 1.0 }));
        // Twice the first document and once the second: 2 of 4 called are NIL at 0.1, 3 of 6 at 0.3; each weighs its share of NIL.
        let rising = [(0.1, 0, true), (0.1, 0, false), (0.3, 1, true), (0.3, 1, false)];
        let by_hand = 2.0 / 4.0 * (2.0 / 3.0) + 3.0 / 6.0 * (1.0 / 3.0);
        assert_eq!(weighted_average_precision(&rising, &[2, 1]), Some(by_hand));
        // Without the first document's NIL there is one step, of 1 of 2; without any document there is no value.
        assert_eq!(weighted_average_precision(&rising, &[0, 1]), Some(0.5));
        assert_eq!(weighted_average_precision(&rising, &[0, 0]), None);
        // Weights tell: a concept before the NIL counts as often as its document.
        let uneven = [(0.1, 0, false), (0.2, 1, true)];
        assert_eq!(weighted_average_precision(&uneven, &[1, 1]), Some(1.0 / 2.0));
        assert_eq!(weighted_average_precision(&uneven, &[3, 1]), Some(1.0 / 4.0));
        assert_eq!(weighted_average_precision(&uneven, &[1, 3]), Some(3.0 / 4.0));
    }

    #[test]
    fn the_number_of_draws_and_the_seed_are_used() {
        let mentions: Vec<_> = (0..12).map(|at| (at, top(at as f32 / 12.0, at % 3 == 0))).collect();
        let of = |resamples, seed| nil_intervals(&mentions, 0.5, resamples, seed);
        assert_eq!(of(40, 1), of(40, 1));
        assert!((2..20).any(|seed| of(40, seed) != of(40, 1)));
        // One draw leaves no room between the ends.
        let one = of(1, 1).au_pr.expect("there is NIL");
        assert_eq!(one.low, one.high);
    }

    proptest! {
        #[test]
        fn with_equal_weights_it_is_the_average_precision(
            tops in proptest::collection::vec((-4i8..4, any::<bool>()), 1..40), weight in 1usize..4
        ) {
            let tops: Vec<Top> = tops.into_iter().map(|(score, nil)| top(f32::from(score), nil)).collect();
            let mut rising: Vec<_> = tops.iter().enumerate().map(|(at, top)| (top.value(), at, top.nil)).collect();
            rising.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
            let found = weighted_average_precision(&rising, &vec![weight; tops.len()]);
            match (found, average_precision(&tops)) {
                (Some(found), Some(expected)) => prop_assert!((found - expected).abs() < 1e-12),
                (found, expected) => prop_assert_eq!(found, expected),
            }
        }
    }
}
