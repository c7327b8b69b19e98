//! NIL detection as binary classification by the best score.
//!
//! A mention is predicted NIL if its best score is below the threshold or it has no candidate, as
//! in [`NilPolicy`](pel_model::nil::NilPolicy). NIL is the positive class of curves and of the average
//! precision; the negated best score is its score. Tied mentions form one step. An infinite score
//! is linked at every threshold, as for an exact match with a name: no point of a curve rejects it.

use super::Share;
use serde::{Deserialize, Serialize};

/// The best score of one mention, with its gold class.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Top {
    /// The best score; infinite if the mention is linked at any threshold, `None` without a
    /// candidate.
    pub score: Option<f32>,
    /// Whether the gold label is NIL.
    pub nil: bool,
}

impl Top {
    /// The score; negative infinity if it is missing or NaN.
    pub(super) fn value(&self) -> f32 {
        self.score
            .filter(|score| !score.is_nan())
            .unwrap_or(f32::NEG_INFINITY)
    }

    /// Whether the mention is predicted NIL at a threshold.
    pub(super) fn rejected(&self, threshold: f32) -> bool {
        !self.score.is_some_and(|score| score >= threshold)
    }
}

/// The confusion counts of NIL detection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct NilCounts {
    /// True positives: NIL, predicted NIL.
    pub found: usize,
    /// False positives: the knowledge base has the concept, predicted NIL.
    pub wrong: usize,
    /// False negatives: NIL, but linked.
    pub missed: usize,
}

impl NilCounts {
    /// The proportion of NIL predictions that are right; `None` without one.
    pub fn precision(self) -> Option<f64> {
        Share {
            hits: self.found,
            of: self.found + self.wrong,
        }
        .value()
    }

    /// The proportion of NIL mentions that are predicted NIL; `None` without one.
    pub fn recall(self) -> Option<f64> {
        Share {
            hits: self.found,
            of: self.found + self.missed,
        }
        .value()
    }

    /// F1, the harmonic mean of precision and recall; `None` if there is neither a NIL mention nor
    /// a NIL prediction.
    pub fn f1(self) -> Option<f64> {
        Share {
            hits: 2 * self.found,
            of: 2 * self.found + self.wrong + self.missed,
        }
        .value()
    }
}

impl std::ops::Add for NilCounts {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            found: self.found + other.found,
            wrong: self.wrong + other.wrong,
            missed: self.missed + other.missed,
        }
    }
}

/// The confusion counts at a threshold.
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

/// The counts at each distinct threshold, in ascending order.
fn sweep(tops: &[Top]) -> Vec<(f32, NilCounts)> {
    let mut ascending: Vec<(f32, bool)> = tops.iter().map(|top| (top.value(), top.nil)).collect();
    ascending.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
    let mut counts = NilCounts {
        missed: tops.iter().filter(|top| top.nil).count(),
        ..NilCounts::default()
    };
    let mut steps = Vec::new();
    // `==` rather than the total order: -0 and 0 are equal scores.
    let mut ties = ascending.chunk_by(|a, b| a.0 == b.0).peekable();
    // No threshold rejects an infinite score.
    while let Some(step) = ties.next_if(|step| step[0].0 < f32::INFINITY) {
        let nil = step.iter().filter(|(_, nil)| *nil).count();
        counts.found += nil;
        counts.missed -= nil;
        counts.wrong += step.len() - nil;
        let score = step.first().map_or(f32::NEG_INFINITY, |(score, _)| *score);
        let next = ties
            .peek()
            .and_then(|next| next.first())
            .map(|(next, _)| *next);
        steps.push((between(score, next), counts));
    }
    steps
}

/// A threshold that rejects `score` and links `next`: the midpoint, which generalises to new data.
pub(super) fn between(score: f32, next: Option<f32>) -> f32 {
    let Some(next) = next.filter(|next| *next < f32::INFINITY) else {
        return score.next_up();
    };
    let half = score / 2.0 + next / 2.0;
    if half > score && half < next {
        half
    } else {
        next
    }
}

/// The threshold with the highest F1 of NIL, and its counts. Ties take the lowest threshold. `None`
/// without a NIL mention.
pub fn best_f1(tops: &[Top]) -> Option<(f32, NilCounts)> {
    let better = |best: Option<(f32, NilCounts)>, step: (f32, NilCounts)| match best {
        Some(best) if best.1.f1() >= step.1.f1() => Some(best),
        _ => Some(step),
    };
    sweep(tops)
        .into_iter()
        .fold(None, better)
        .filter(|(_, counts)| counts.recall().is_some())
}

/// A point of the precision-recall curve of NIL.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct CurvePoint {
    /// Mentions with a lower score are predicted NIL.
    pub threshold: f32,
    /// The precision of NIL.
    pub precision: f64,
    /// The recall of NIL.
    pub recall: f64,
}

/// The precision-recall curve of NIL in ascending order of recall, one point for each distinct
/// score. Empty without a NIL mention.
pub fn nil_curve(tops: &[Top]) -> Vec<CurvePoint> {
    let point = |(threshold, counts): (f32, NilCounts)| {
        Some(CurvePoint {
            threshold,
            precision: counts.precision()?,
            recall: counts.recall()?,
        })
    };
    sweep(tops).into_iter().filter_map(point).collect()
}

/// Reduces a curve to at most `points` points for a plot. The first and last stay; the others are
/// at about equal steps of recall. Values are rounded to 4 digits.
pub fn thinned(curve: &[CurvePoint], points: usize) -> Vec<CurvePoint> {
    let (Some(first), Some(last)) = (curve.first(), curve.last()) else {
        return Vec::new();
    };
    if points < 2 {
        return Vec::new();
    }
    let step = (last.recall - first.recall) / (points - 1) as f64;
    let round = |value: f64| (value * 1e4).round() / 1e4;
    let mut kept: Vec<CurvePoint> = Vec::new();
    for (at, point) in curve.iter().enumerate() {
        let due = first.recall + kept.len() as f64 * step;
        if kept.len() + 1 < points && point.recall >= due || at + 1 == curve.len() {
            kept.push(CurvePoint {
                precision: round(point.precision),
                recall: round(point.recall),
                ..*point
            });
        }
    }
    kept
}

/// The area under the precision-recall curve (auPR) of NIL, as average precision: the sum over the
/// points of precision times the gain in recall, as in scikit-learn's `average_precision_score`.
/// `None` without a NIL mention.
pub fn average_precision(tops: &[Top]) -> Option<f64> {
    let curve = nil_curve(tops);
    let mut previous_recall = 0.0;
    let mut sum = 0.0;
    for point in &curve {
        sum += point.precision * (point.recall - previous_recall);
        previous_recall = point.recall;
    }
    tops.iter().any(|top| top.nil).then_some(sum)
}

/// Recall@k with NIL as a class of its own (micro-average; PEL, table 4).
///
/// Each mention comes with the rank of its gold concept. A NIL mention is a hit if it is rejected.
/// Another mention is a hit if it is linked and its gold concept is among the first `k`.
pub fn recall_with_nil<'a>(
    mentions: impl IntoIterator<Item = (&'a Top, Option<usize>)>,
    threshold: f32,
    k: usize,
) -> Share {
    let is_hit = |(top, rank): (&Top, Option<usize>)| {
        if top.rejected(threshold) {
            top.nil
        } else {
            !top.nil && rank.is_some_and(|rank| rank < k)
        }
    };
    mentions.into_iter().map(is_hit).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde::Deserialize;

    fn tops(scores: &[(Option<f32>, bool)]) -> Vec<Top> {
        scores
            .iter()
            .map(|(score, nil)| Top {
                score: *score,
                nil: *nil,
            })
            .collect()
    }

    /// In ascending order: NIL without a candidate, NIL, known, NIL and known (a tie), known.
    fn six() -> Vec<Top> {
        let nil = true;
        let known = false;
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
    fn nil_at_rejects_scores_below_the_threshold() {
        assert_eq!(
            nil_at(&six(), 0.5),
            NilCounts {
                found: 2,
                wrong: 0,
                missed: 1
            }
        );
        assert_eq!(
            nil_at(&six(), 0.75),
            NilCounts {
                found: 2,
                wrong: 1,
                missed: 1
            }
        );
        assert_eq!(
            nil_at(&six(), f32::NEG_INFINITY),
            NilCounts {
                found: 1,
                wrong: 0,
                missed: 2
            }
        );
        assert_eq!(nil_at(&tops(&[(Some(f32::NAN), true)]), 0.0).found, 1);
        let counts = NilCounts {
            found: 2,
            wrong: 1,
            missed: 2,
        };
        assert_eq!(counts.precision(), Some(2.0 / 3.0));
        assert_eq!(counts.recall(), Some(0.5));
        assert_eq!(counts.f1(), Some(4.0 / 7.0));
        assert_eq!(NilCounts::default().f1(), None);
    }

    #[test]
    fn infinite_scores_are_never_rejected() {
        // NIL at 0.25, a concept at 0.5, and two with an infinite score, one of them NIL.
        let infinite = Some(f32::INFINITY);
        let all = tops(&[
            (Some(0.25), true),
            (Some(0.5), false),
            (infinite, true),
            (infinite, false),
        ]);
        let found: Vec<_> = nil_curve(&all)
            .iter()
            .map(|point| (point.threshold, point.precision, point.recall))
            .collect();
        assert_eq!(found, [(0.375, 1.0, 0.5), (0.5f32.next_up(), 0.5, 0.5)]);
        assert_eq!(average_precision(&all), Some(0.5));
        assert_eq!(
            best_f1(&all),
            Some((
                0.375,
                NilCounts {
                    found: 1,
                    wrong: 0,
                    missed: 1
                }
            ))
        );
        assert_eq!(
            nil_at(&all, f32::MAX),
            NilCounts {
                found: 1,
                wrong: 1,
                missed: 1
            }
        );
        assert_eq!(best_f1(&all[2..]), None);
        assert_eq!(average_precision(&all[2..]), Some(0.0));
    }

    #[test]
    fn thinned_curve_keeps_its_ends() {
        let point = |at: u32| CurvePoint {
            threshold: at as f32,
            precision: 1.0 / 3.0,
            recall: f64::from(at) / 100.0,
        };
        let curve: Vec<CurvePoint> = (1..=100).map(point).collect();
        let thin = thinned(&curve, 10);
        let recalls: Vec<f64> = thin.iter().map(|point| point.recall).collect();
        assert_eq!(
            recalls,
            [0.01, 0.12, 0.23, 0.34, 0.45, 0.56, 0.67, 0.78, 0.89, 1.0]
        );
        assert_eq!(thin[3].precision, 0.3333);
        assert_eq!(thinned(&curve[..1], 10).len(), 1);
        assert!(thinned(&[], 10).is_empty());
    }

    #[test]
    fn tied_scores_are_one_point_of_the_curve() {
        let found: Vec<_> = nil_curve(&six())
            .iter()
            .map(|point| (point.threshold, point.precision, point.recall))
            .collect();
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
        assert!(
            (average_precision(&six()).expect("there is a NIL mention") - 2.6 / 3.0).abs() < 1e-12
        );
        assert_eq!(average_precision(&tops(&[(Some(1.0), false)])), None);
    }

    #[test]
    fn best_f1_takes_the_lowest_of_tied_thresholds() {
        // F1 at the five thresholds: 2/4, 4/5, 4/6, 6/8, 6/9.
        assert_eq!(
            best_f1(&six()),
            Some((
                0.375,
                NilCounts {
                    found: 2,
                    wrong: 0,
                    missed: 1
                }
            ))
        );
        assert_eq!(
            best_f1(&tops(&[(None, true)])),
            Some((
                f32::MIN,
                NilCounts {
                    found: 1,
                    wrong: 0,
                    missed: 0
                }
            ))
        );
        assert_eq!(best_f1(&tops(&[(Some(0.0), false)])), None);
        assert_eq!(best_f1(&[]), None);
    }

    #[test]
    fn recall_with_nil_counts_rejected_nil_mentions_and_linked_concepts() {
        // At 0.625: the NIL mentions without a score and at 0.25 are hits, the concept at 0.5 is
        // rejected, the NIL mention at 0.75 is linked.
        let tops = six();
        let ranks = [Some(0), None, None, None, Some(0), Some(3)];
        let recall = |k| recall_with_nil(tops.iter().zip(ranks), 0.625, k);
        assert_eq!(recall(1), Share { hits: 3, of: 6 });
        assert_eq!(recall(4), Share { hits: 4, of: 6 });
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
    fn curve_and_average_precision_equal_scikit_learn() {
        let golden: Golden = serde_json::from_str(include_str!("../../../tests/goldens/nil.json"))
            .expect("the golden file");
        for case in golden.cases {
            let tops: Vec<Top> = case
                .scores
                .iter()
                .zip(&case.nil)
                .map(|(score, nil)| Top {
                    score: Some(*score),
                    nil: *nil,
                })
                .collect();
            let area = average_precision(&tops).expect("there is a NIL mention");
            assert!(
                (area - case.average_precision).abs() < 1e-12,
                "{area} is not {}",
                case.average_precision
            );
            let curve = nil_curve(&tops);
            assert_eq!(curve.len(), case.precision.len());
            for (point, (precision, recall)) in
                curve.iter().zip(case.precision.iter().zip(&case.recall))
            {
                assert!(
                    (point.precision - precision).abs() < 1e-12
                        && (point.recall - recall).abs() < 1e-12
                );
            }
        }
    }

    proptest! {
        #[test]
        fn sweep_counts_equal_nil_at_its_thresholds(
            tops in proptest::collection::vec((proptest::option::of(-4i8..4), any::<bool>()), 1..40)
        ) {
            let tops: Vec<Top> = tops
                .into_iter()
                .map(|(score, nil)| Top {
                    score: score.map(|s| f32::from(s) / 3.0),
                    nil,
                })
                .collect();
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
