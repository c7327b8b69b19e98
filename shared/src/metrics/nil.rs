//! NIL as a class of its own: it is found by the top score, which is low where the knowledge base has nothing that fits.
//!
//! A mention is NIL where its top score lies under the threshold, or where it has no candidate at all: the rule of
//! [`NilPolicy`](crate::nil::NilPolicy). In curves and in the average precision NIL is the positive class and its score is
//! the top score, negated; mentions with equal scores are taken in one step. A mention with an infinite score is linked whatever
//! the threshold, as one is that bears its concept's name: no point of a curve rejects it.

use super::Share;
use serde::{Deserialize, Serialize};

/// What a system's best candidate says about one mention.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Top {
    /// The best candidate's score, infinite where it is linked at any score; `None` without a candidate.
    pub score: Option<f32>,
    /// Whether the mention is NIL in truth.
    pub nil: bool,
}

impl Top {
    /// The score, below every other where there is none to compare.
    pub(super) fn value(&self) -> f32 {
        self.score.filter(|score| !score.is_nan()).unwrap_or(f32::NEG_INFINITY)
    }

    /// Whether a threshold makes the mention NIL.
    pub(super) fn rejected(&self, threshold: f32) -> bool {
        !self.score.is_some_and(|score| score >= threshold)
    }
}

/// How the mentions that were called NIL, and those that should have been, fall out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct NilCounts {
    /// NIL, and called so.
    pub found: usize,
    /// Called NIL, but the knowledge base has the concept.
    pub wrong: usize,
    /// NIL, but linked.
    pub missed: usize,
}

impl NilCounts {
    /// The share of NIL among what was called so; `None` if nothing was.
    pub fn precision(self) -> Option<f64> {
        Share { hits: self.found, of: self.found + self.wrong }.value()
    }

    /// The share of NIL that was called so; `None` without NIL.
    pub fn recall(self) -> Option<f64> {
        Share { hits: self.found, of: self.found + self.missed }.value()
    }

    /// The harmonic mean of both: 2 found / (2 found + wrong + missed).
    pub fn f1(self) -> Option<f64> {
        Share { hits: 2 * self.found, of: 2 * self.found + self.wrong + self.missed }.value()
    }
}

impl std::ops::Add for NilCounts {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self { found: self.found + other.found, wrong: self.wrong + other.wrong, missed: self.missed + other.missed }
    }
}

/// The counts at a threshold.
pub fn nil_at(tops: &[Top], threshold: f32) -> NilCounts {
    let mut counts = NilCounts::default();
    for top in tops {
        match (top.nil, top.rejected(threshold)) {
            (true, true) => counts.found += 1,
            (false, true) => counts.wrong += 1,
            (true, false) => counts.missed += 1,
            (false, false) => {}
        }
    }
    counts
}

/// The counts at every threshold that makes a difference, the lowest first.
fn sweep(tops: &[Top]) -> Vec<(f32, NilCounts)> {
    let mut rising: Vec<(f32, bool)> = tops.iter().map(|top| (top.value(), top.nil)).collect();
    rising.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
    let mut counts = NilCounts { missed: tops.iter().filter(|top| top.nil).count(), ..NilCounts::default() };
    let mut steps = Vec::new();
    // `==` and not the total order: -0 and 0 are one score.
    let mut equals = rising.chunk_by(|a, b| a.0 == b.0).peekable();
    // What is linked at any score is rejected at none.
    while let Some(step) = equals.next_if(|step| step[0].0 < f32::INFINITY) {
        let nil = step.iter().filter(|(_, nil)| *nil).count();
        counts.found += nil;
        counts.missed -= nil;
        counts.wrong += step.len() - nil;
        let score = step.first().map_or(f32::NEG_INFINITY, |(score, _)| *score);
        let next = equals.peek().and_then(|next| next.first()).map(|(next, _)| *next);
        steps.push((between(score, next), counts));
    }
    steps
}

/// A threshold that rejects `score` and links `next`: halfway, so that it holds for other mentions too.
pub(super) fn between(score: f32, next: Option<f32>) -> f32 {
    let Some(next) = next.filter(|next| *next < f32::INFINITY) else { return score.next_up() };
    let half = score / 2.0 + next / 2.0;
    if half > score && half < next { half } else { next }
}

/// The threshold with the largest F1 of NIL, and the counts there; the lowest among equals. `None` without NIL.
pub fn best_f1(tops: &[Top]) -> Option<(f32, NilCounts)> {
    let better = |best: Option<(f32, NilCounts)>, step: (f32, NilCounts)| match best {
        Some(best) if best.1.f1() >= step.1.f1() => Some(best),
        _ => Some(step),
    };
    sweep(tops).into_iter().fold(None, better).filter(|(_, counts)| counts.recall().is_some())
}

/// One point of the precision-recall curve of NIL.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct CurvePoint {
    /// Scores below this are NIL.
    pub threshold: f32,
    /// The share of NIL among what is called so.
    pub precision: f64,
    /// The share of NIL that is called so.
    pub recall: f64,
}

/// The precision-recall curve of NIL, one point for each different score, recall rising; empty without NIL.
pub fn nil_curve(tops: &[Top]) -> Vec<CurvePoint> {
    let point = |(threshold, counts): (f32, NilCounts)| {
        Some(CurvePoint { threshold, precision: counts.precision()?, recall: counts.recall()? })
    };
    sweep(tops).into_iter().filter_map(point).collect()
}

/// At most so many points of a curve, its ends among them, at nearly equal steps of recall, in four digits: for a plot.
pub fn thinned(curve: &[CurvePoint], points: usize) -> Vec<CurvePoint> {
    let (Some(first), Some(last), true) = (curve.first(), curve.last(), points > 1) else { return Vec::new() };
    let step = (last.recall - first.recall) / (points - 1) as f64;
    let round = |value: f64| (value * 1e4).round() / 1e4;
    let mut kept: Vec<CurvePoint> = Vec::new();
    for (at, point) in curve.iter().enumerate() {
        let due = first.recall + kept.len() as f64 * step;
        if kept.len() + 1 < points && point.recall >= due || at + 1 == curve.len() {
            kept.push(CurvePoint { precision: round(point.precision), recall: round(point.recall), ..*point });
        }
    }
    kept
}

/// The area under the precision-recall curve of NIL (auPR) as average precision: the sum over the curve's points of
/// precision times the gain in recall, as scikit-learn's `average_precision_score` has it. `None` without NIL.
pub fn average_precision(tops: &[Top]) -> Option<f64> {
    let curve = nil_curve(tops);
    let mut before = 0.0;
    let add =
        |sum, point: &CurvePoint| sum + point.precision * (point.recall - std::mem::replace(&mut before, point.recall));
    tops.iter().any(|top| top.nil).then(|| curve.iter().fold(0.0, add))
}

/// Recall@k over all classes, NIL being one (micro-average; the PEL paper's table 4).
///
/// Each mention comes with the rank of its right concept. A NIL mention counts if it is rejected; another one if it is
/// linked and its concept is among the first `k`. So a rejection stands alone: it has no candidates beside it.
pub fn recall_with_nil<'a>(
    mentions: impl IntoIterator<Item = (&'a Top, Option<usize>)>,
    threshold: f32,
    k: usize,
) -> Share {
    let right = |(top, rank): (&Top, Option<usize>)| match top.rejected(threshold) {
        true => top.nil,
        false => !top.nil && rank.is_some_and(|rank| rank < k),
    };
    mentions.into_iter().map(right).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde::Deserialize;

    fn tops(scores: &[(Option<f32>, bool)]) -> Vec<Top> {
        scores.iter().map(|(score, nil)| Top { score: *score, nil: *nil }).collect()
    }

    /// From low to high: NIL without a candidate, NIL, in, NIL and in (equal), in.
    fn six() -> Vec<Top> {
        let (nil, known) = (true, false);
        tops(&[
            (Some(0.5), known),
            (Some(0.25), nil),
            (Some(0.75), nil),
            (None, nil),
            (Some(1.0), known),
            (Some(0.75), known),
        ])
    }

    #[test]
    fn counts_at_a_threshold_are_those_of_the_policy() {
        assert_eq!(nil_at(&six(), 0.5), NilCounts { found: 2, wrong: 0, missed: 1 });
        assert_eq!(nil_at(&six(), 0.75), NilCounts { found: 2, wrong: 1, missed: 1 });
        assert_eq!(nil_at(&six(), f32::NEG_INFINITY), NilCounts { found: 1, wrong: 0, missed: 2 });
        assert_eq!(nil_at(&tops(&[(Some(f32::NAN), true)]), 0.0).found, 1);
        let counts = NilCounts { found: 2, wrong: 1, missed: 2 };
        assert_eq!((counts.precision(), counts.recall(), counts.f1()), (Some(2.0 / 3.0), Some(0.5), Some(4.0 / 7.0)));
        assert_eq!(NilCounts::default().f1(), None);
    }

    #[test]
    fn what_is_linked_at_any_score_is_rejected_at_none() {
        // NIL at 0.25, a concept at 0.5, and two that bear a name: one of them is NIL.
        let certain = Some(f32::INFINITY);
        let all = tops(&[(Some(0.25), true), (Some(0.5), false), (certain, true), (certain, false)]);
        let found: Vec<_> =
            nil_curve(&all).iter().map(|point| (point.threshold, point.precision, point.recall)).collect();
        assert_eq!(found, [(0.375, 1.0, 0.5), (0.5f32.next_up(), 0.5, 0.5)]);
        assert_eq!(average_precision(&all), Some(0.5));
        assert_eq!(best_f1(&all), Some((0.375, NilCounts { found: 1, wrong: 0, missed: 1 })));
        assert_eq!(nil_at(&all, f32::MAX), NilCounts { found: 1, wrong: 1, missed: 1 });
        assert_eq!((best_f1(&all[2..]), average_precision(&all[2..])), (None, Some(0.0)));
    }

    #[test]
    fn a_thinned_curve_keeps_its_ends() {
        let point = |at: u32| CurvePoint { threshold: at as f32, precision: 1.0 / 3.0, recall: f64::from(at) / 100.0 };
        let curve: Vec<CurvePoint> = (1..=100).map(point).collect();
        let thin = thinned(&curve, 10);
        let recalls: Vec<f64> = thin.iter().map(|point| point.recall).collect();
        assert_eq!(recalls, [0.01, 0.12, 0.23, 0.34, 0.45, 0.56, 0.67, 0.78, 0.89, 1.0]);
        assert_eq!(thin[3].precision, 0.3333);
        assert_eq!((thinned(&curve[..1], 10).len(), thinned(&[], 10).len()), (1, 0));
    }

    #[test]
    fn the_curve_takes_equal_scores_in_one_step() {
        let found: Vec<_> =
            nil_curve(&six()).iter().map(|point| (point.threshold, point.precision, point.recall)).collect();
        let third = 1.0 / 3.0;
        let expected = [
            (0.25, 1.0, third),
            (0.375, 1.0, 2.0 * third),
            (0.625, 2.0 * third, 2.0 * third),
            (0.875, 0.6, 1.0),
            (1.0f32.next_up(), 0.5, 1.0),
        ];
        assert_eq!(found, expected);
        // 1/3 * 1 + 1/3 * 1 + 0 + 1/3 * 0.6 + 0
        assert!((average_precision(&six()).expect("there is NIL") - 2.6 / 3.0).abs() < 1e-12);
        assert_eq!(average_precision(&tops(&[(Some(1.0), false)])), None);
    }

    #[test]
    fn the_best_threshold_is_the_lowest_of_the_best() {
        // F1 at the five thresholds: 2/4, 4/5, 4/6, 6/8, 6/9.
        assert_eq!(best_f1(&six()), Some((0.375, NilCounts { found: 2, wrong: 0, missed: 1 })));
        assert_eq!(best_f1(&tops(&[(None, true)])), Some((f32::MIN, NilCounts { found: 1, wrong: 0, missed: 0 })));
        assert_eq!(best_f1(&tops(&[(Some(0.0), false)])), None);
        assert_eq!(best_f1(&[]), None);
    }

    #[test]
    fn nil_is_a_class_among_the_others() {
        // At 0.625 the NIL mentions at none and 0.25 are right, the concept at 0.5 is lost, NIL at 0.75 is linked.
        let tops = six();
        let ranks = [Some(0), None, None, None, Some(0), Some(3)];
        let recall = |k| recall_with_nil(tops.iter().zip(ranks), 0.625, k);
        assert_eq!((recall(1), recall(4)), (Share { hits: 3, of: 6 }, Share { hits: 4, of: 6 }));
    }

    #[derive(Deserialize)]
    struct Golden {
        cases: Vec<Case>,
    }

    #[derive(Deserialize)]
    struct Case {
        scores: Vec<f32>,
        nil: Vec<bool>,
        average_precision: f64,
        precision: Vec<f64>,
        recall: Vec<f64>,
    }

    #[test]
    fn curve_and_area_are_scikit_learns() {
        let golden: Golden =
            serde_json::from_str(include_str!("../../tests/goldens/nil.json")).expect("the golden file");
        for case in golden.cases {
            let tops: Vec<Top> =
                case.scores.iter().zip(&case.nil).map(|(score, nil)| Top { score: Some(*score), nil: *nil }).collect();
            let area = average_precision(&tops).expect("there is NIL");
            assert!((area - case.average_precision).abs() < 1e-12, "{area} is not {}", case.average_precision);
            let curve = nil_curve(&tops);
            assert_eq!(curve.len(), case.precision.len());
            for (point, (precision, recall)) in curve.iter().zip(case.precision.iter().zip(&case.recall)) {
                assert!((point.precision - precision).abs() < 1e-12 && (point.recall - recall).abs() < 1e-12);
            }
        }
    }

    proptest! {
        #[test]
        fn every_step_of_the_sweep_is_what_its_threshold_does(
            tops in proptest::collection::vec((proptest::option::of(-4i8..4), any::<bool>()), 1..40)
        ) {
            let tops: Vec<Top> =
                tops.into_iter().map(|(score, nil)| Top { score: score.map(|s| f32::from(s) / 3.0), nil }).collect();
            for (threshold, counts) in sweep(&tops) {
                prop_assert_eq!(nil_at(&tops, threshold), counts);
            }
            if let Some((threshold, counts)) = best_f1(&tops) {
                prop_assert_eq!(nil_at(&tops, threshold), counts);
                prop_assert!(sweep(&tops).iter().all(|step| step.1.f1() <= counts.f1()));
            }
        }
    }
}
