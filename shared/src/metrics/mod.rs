//! What the answers to annotated mentions are worth: recall of concepts, detection of NIL, and how sure the figures are.
//!
//! Pure functions over ranks and scores. A figure keeps its counts, so that a reader sees what it is a share of.

mod bootstrap;
mod links;
mod nil;
mod nil_intervals;

pub use bootstrap::{Interval, bootstrap, bootstrap_macro, resample};
pub use links::{Answer, LinkCounts, links_at, widest_at_precision};
pub use nil::{CurvePoint, NilCounts, Top, average_precision, best_f1, nil_at, nil_curve, recall_with_nil, thinned};
pub use nil_intervals::{NilIntervals, nil_intervals};

use crate::kb::ConceptId;
use serde::Serialize;

/// So many of so many.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Share {
    /// How many were right.
    pub hits: usize,
    /// How many there were.
    pub of: usize,
}

impl Share {
    /// Between 0 and 1; `None` of nothing.
    pub fn value(self) -> Option<f64> {
        (self.of > 0).then(|| self.hits as f64 / self.of as f64)
    }
}

impl FromIterator<bool> for Share {
    fn from_iter<I: IntoIterator<Item = bool>>(hits: I) -> Self {
        let add = |sum: Self, hit| Self { hits: sum.hits + usize::from(hit), of: sum.of + 1 };
        hits.into_iter().fold(Self::default(), add)
    }
}

impl std::ops::Add for Share {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self { hits: self.hits + other.hits, of: self.of + other.of }
    }
}

impl std::iter::Sum for Share {
    fn sum<I: Iterator<Item = Self>>(shares: I) -> Self {
        shares.fold(Self::default(), |sum, share| sum + share)
    }
}

/// The mean of the shares' values: every domain counts once, however many mentions it has. Empty shares are left out;
/// `None` if all are.
pub fn macro_average<'a>(shares: impl IntoIterator<Item = &'a Share>) -> Option<f64> {
    let values: Vec<f64> = shares.into_iter().filter_map(|share| share.value()).collect();
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// The place of the right concept among the candidates, 0 for the first.
pub fn rank_of(gold: ConceptId, ranked: &[(ConceptId, f32)]) -> Option<usize> {
    ranked.iter().position(|(concept, _)| *concept == gold)
}

/// Recall@k: the share of mentions whose right concept is among the first `k` candidates.
pub fn recall_at(ranks: impl IntoIterator<Item = Option<usize>>, k: usize) -> Share {
    ranks.into_iter().map(|rank| rank.is_some_and(|rank| rank < k)).collect()
}

/// The chance that the right concept is the first one, were candidates with equal scores in an order by chance.
///
/// Averaged over mentions it is a recall@1 that owes nothing to the order of the knowledge base. `ranked` is sorted by
/// score; where it was cut among equals, the chance comes out too high.
pub fn chance_of_first(gold: ConceptId, ranked: &[(ConceptId, f32)]) -> f64 {
    let first = ranked.first().map(|(_, score)| *score);
    let equals = ranked.iter().take_while(|(_, score)| Some(*score) == first);
    let (met, count) = equals.fold((false, 0u32), |(met, count), (concept, _)| (met || *concept == gold, count + 1));
    if met { 1.0 / f64::from(count) } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RANKED: [(ConceptId, f32); 4] =
        [(ConceptId(7), 0.9), (ConceptId(2), 0.9), (ConceptId(5), 0.9), (ConceptId(1), 0.2)];

    #[test]
    fn recall_counts_ranks_below_k() {
        let ranks = [Some(0), Some(7), Some(8), None];
        assert_eq!(recall_at(ranks, 1), Share { hits: 1, of: 4 });
        assert_eq!(recall_at(ranks, 8), Share { hits: 2, of: 4 });
        assert_eq!(recall_at(ranks, 64).value(), Some(0.75));
        assert_eq!(recall_at([], 1).value(), None);
    }

    #[test]
    fn the_macro_average_is_over_domains_that_have_a_mention() {
        // (3/4 + 0/2) / 2 = 0.375, pooled it is 3/6.
        let shares = [Share { hits: 3, of: 4 }, Share { hits: 0, of: 2 }, Share::default()];
        assert_eq!(macro_average(&shares), Some(0.375));
        assert_eq!(shares.into_iter().sum::<Share>(), Share { hits: 3, of: 6 });
        assert_eq!(macro_average(&[Share::default()]), None);
    }

    #[test]
    fn the_place_and_the_chance_of_the_right_concept() {
        assert_eq!((rank_of(ConceptId(5), &RANKED), rank_of(ConceptId(9), &RANKED)), (Some(2), None));
        let chance = |gold| chance_of_first(ConceptId(gold), &RANKED);
        assert_eq!((chance(7), chance(5), chance(1), chance(9)), (1.0 / 3.0, 1.0 / 3.0, 0.0, 0.0));
        assert_eq!(chance_of_first(ConceptId(7), &[]), 0.0);
    }
}
