//! Evaluation metrics: recall at k, NIL detection, and bootstrap confidence intervals.
//!
//! All functions are pure. A metric keeps its counts, so that the denominator is visible.

mod bootstrap;
mod calibration;
mod links;
mod nil;
mod nil_intervals;

pub use bootstrap::{Interval, macro_with_interval, pooled_with_interval, resample};
pub use calibration::{
    BINS, Bin, Forecast, RiskPoint, area_under_risk, brier, calibration_error,
    coverage_at_precision, log_loss, reliability, risk_coverage,
};
pub use links::{Answer, LinkCounts, links_at, widest_at_precision};
pub use nil::{
    CurvePoint, NilCounts, Top, average_precision, best_f1, nil_at, nil_curve, recall_with_nil,
    thinned,
};
pub use nil_intervals::{NilIntervals, nil_intervals};

use pel_kb::ConceptId;
use pel_kb::score::Candidate;
use serde::Serialize;

/// A proportion with its counts, such as a recall.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Share {
    /// The numerator.
    pub hits: usize,
    /// The denominator.
    pub of: usize,
}

impl Share {
    /// The proportion, 0 to 1; `None` if the denominator is 0.
    pub fn value(self) -> Option<f64> {
        (self.of > 0).then(|| self.hits as f64 / self.of as f64)
    }
}

impl FromIterator<bool> for Share {
    fn from_iter<I: IntoIterator<Item = bool>>(hits: I) -> Self {
        let add = |sum: Self, hit| Self {
            hits: sum.hits + usize::from(hit),
            of: sum.of + 1,
        };
        hits.into_iter().fold(Self::default(), add)
    }
}

impl std::ops::Add for Share {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            hits: self.hits + other.hits,
            of: self.of + other.of,
        }
    }
}

impl std::ops::AddAssign for Share {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl std::iter::Sum for Share {
    fn sum<I: Iterator<Item = Self>>(shares: I) -> Self {
        shares.fold(Self::default(), |sum, share| sum + share)
    }
}

/// The macro-average: the mean of the proportions, each with the same weight. Empty ones are left
/// out; `None` if all are empty.
pub fn macro_average<'a>(shares: impl IntoIterator<Item = &'a Share>) -> Option<f64> {
    let values: Vec<f64> = shares
        .into_iter()
        .filter_map(|share| share.value())
        .collect();
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// The rank of the gold concept among the candidates, 0 for the first.
pub fn rank_of(gold: ConceptId, ranked: &[Candidate]) -> Option<usize> {
    ranked.iter().position(|found| found.concept == gold)
}

/// Recall@k: the proportion of mentions whose gold concept is among the first `k` candidates.
pub fn recall_at(ranks: impl IntoIterator<Item = Option<usize>>, k: usize) -> Share {
    ranks
        .into_iter()
        .map(|rank| rank.is_some_and(|rank| rank < k))
        .collect()
}

/// The probability that the gold concept is first if candidates with equal scores are in random
/// order. Its mean over mentions is a recall@1 that does not depend on the order of the knowledge
/// base.
///
/// `ranked` is in descending order of scores. If it is truncated among equal scores, the result is
/// too high.
pub fn chance_of_first(gold: ConceptId, ranked: &[Candidate]) -> f64 {
    let best = ranked.first().map(|found| found.score);
    let mut has_gold = false;
    let mut count = 0u32;
    for found in ranked.iter().take_while(|found| Some(found.score) == best) {
        has_gold |= found.concept == gold;
        count += 1;
    }
    if has_gold {
        1.0 / f64::from(count)
    } else {
        0.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RANKED: [Candidate; 4] = [
        Candidate::new(ConceptId(7), 0.9),
        Candidate::new(ConceptId(2), 0.9),
        Candidate::new(ConceptId(5), 0.9),
        Candidate::new(ConceptId(1), 0.2),
    ];

    #[test]
    fn recall_at_counts_ranks_below_k() {
        let ranks = [Some(0), Some(7), Some(8), None];
        assert_eq!(recall_at(ranks, 1), Share { hits: 1, of: 4 });
        assert_eq!(recall_at(ranks, 8), Share { hits: 2, of: 4 });
        assert_eq!(recall_at(ranks, 64).value(), Some(0.75));
        assert_eq!(recall_at([], 1).value(), None);
    }

    #[test]
    fn macro_average_leaves_out_empty_domains() {
        // (3/4 + 0/2) / 2 = 0.375, pooled it is 3/6.
        let shares = [
            Share { hits: 3, of: 4 },
            Share { hits: 0, of: 2 },
            Share::default(),
        ];
        assert_eq!(macro_average(&shares), Some(0.375));
        assert_eq!(shares.into_iter().sum::<Share>(), Share { hits: 3, of: 6 });
        assert_eq!(macro_average(&[Share::default()]), None);
    }

    #[test]
    fn rank_and_chance_of_the_gold_concept() {
        assert_eq!(rank_of(ConceptId(5), &RANKED), Some(2));
        assert_eq!(rank_of(ConceptId(9), &RANKED), None);
        let chance = |gold| chance_of_first(ConceptId(gold), &RANKED);
        assert_eq!(
            [chance(7), chance(5), chance(1), chance(9)],
            [1.0 / 3.0, 1.0 / 3.0, 0.0, 0.0]
        );
        assert_eq!(chance_of_first(ConceptId(7), &[]), 0.0);
    }
}
