//! The ranks of the right concepts, and the figures of BLINK's tables.

use crate::evaluate::At;
use crate::evaluate::hits::Hits;
use pel_corpora::domain::{DomainOf, domain_of};
use pel_corpora::split::Split;
use pel_index::metrics::{Interval, macro_with_interval, pooled_with_interval, rank_of};
use pel_kb::KnowledgeBase;
use pel_kb::score::Candidate;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A proportion with its interval.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Value {
    /// k.
    pub k: usize,
    /// The proportion.
    pub value: Option<f64>,
    /// Its bootstrap interval over documents (95 %): lower and upper end.
    pub interval: Option<[f64; 2]>,
}

impl Value {
    /// The value of a recall.
    pub fn of(at: &At) -> Self {
        Self::new(at.k, at.recall, at.interval)
    }

    fn new(k: usize, value: Option<f64>, interval: Option<Interval>) -> Self {
        Self {
            k,
            value,
            interval: interval.map(|interval| [interval.low, interval.high]),
        }
    }
}

/// Bootstrap samples behind an interval.
const RESAMPLES: usize = 1000;
/// The seed of these samples.
const SEED: u64 = 0;

/// The rank of each mention's right concept, with the mention's document and domain.
#[derive(Clone, Debug, Default)]
pub struct Ranks {
    of: Vec<(usize, usize, Option<usize>)>,
    domains: usize,
}

/// A rank is within the first k.
fn within(rank: Option<usize>, k: usize) -> bool {
    rank.is_some_and(|rank| rank < k)
}

impl Ranks {
    /// The ranks among the candidates of a split's mentions. A mention without a concept counts as
    /// missed.
    pub fn new(split: &Split, ranked: &[Vec<Candidate>], kb: &KnowledgeBase, by: DomainOf) -> Self {
        let mut domains: BTreeMap<&str, usize> = BTreeMap::new();
        let of = split.mentions.iter().zip(ranked).map(|(gold, ranked)| {
            let (concept, next) = (gold.concept.and_then(|id| kb.get(id)), domains.len());
            let domain = concept.map_or("", |concept| domain_of(concept, by));
            let domain = *domains.entry(domain).or_insert(next);
            (
                gold.document,
                domain,
                gold.concept.and_then(|id| rank_of(id, ranked)),
            )
        });
        let of = of.collect();
        Self {
            of,
            domains: domains.len(),
        }
    }

    /// Recall@k; at 1 it is the (unnormalised) accuracy.
    pub fn recall(&self, k: usize) -> Value {
        Self::pooled(k, self.found(k))
    }

    /// Normalised accuracy: over the mentions whose concept is among the first k, which a ranker
    /// has reordered.
    pub fn normalised(&self, k: usize) -> Value {
        Self::pooled(k, self.first_of_found(k))
    }

    /// Recall@k, averaged over domains.
    pub fn by_domain(&self, k: usize) -> Value {
        self.macro_average(k, self.found(k))
    }

    /// [`Ranks::normalised`], averaged over domains.
    pub fn normalised_by_domain(&self, k: usize) -> Value {
        self.macro_average(k, self.first_of_found(k))
    }

    /// The hits of each document at k.
    pub fn hits(&self, k: usize) -> Hits {
        Hits::new(self.found(k).map(|(document, _, hit)| (document, hit)))
    }

    /// The hits of [`Ranks::normalised`] of each document.
    pub fn normalised_hits(&self, k: usize) -> Hits {
        let hits = self.first_of_found(k);
        Hits::new(hits.map(|(document, _, hit)| (document, hit)))
    }

    /// For each mention whether its concept is among the first k, with document and domain.
    fn found(&self, k: usize) -> impl Iterator<Item = (usize, usize, bool)> {
        self.of
            .iter()
            .map(move |(document, domain, rank)| (*document, *domain, within(*rank, k)))
    }

    /// For each mention whose concept is among the first k whether it is first, with document and
    /// domain.
    fn first_of_found(&self, k: usize) -> impl Iterator<Item = (usize, usize, bool)> {
        let found = self.of.iter().filter(move |(_, _, rank)| within(*rank, k));
        found.map(|(document, domain, rank)| (*document, *domain, within(*rank, 1)))
    }

    fn pooled(k: usize, hits: impl Iterator<Item = (usize, usize, bool)>) -> Value {
        let (share, interval) = pooled_with_interval(
            hits.map(|(document, _, hit)| (document, hit)),
            RESAMPLES,
            SEED,
        );
        Value::new(k, share.value(), interval)
    }

    fn macro_average(&self, k: usize, hits: impl Iterator<Item = (usize, usize, bool)>) -> Value {
        let (value, interval) = macro_with_interval(hits, self.domains, RESAMPLES, SEED);
        Value::new(k, value, interval)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn proportions_equal_hand_counts() {
        // Two documents, two domains; the second domain has one mention, which is found.
        let of = vec![
            (0, 0, Some(0)),
            (0, 0, Some(3)),
            (1, 0, None),
            (1, 1, Some(0)),
        ];
        let ranks = Ranks { of, domains: 2 };
        let value = |value: Value| value.value.expect("there are mentions");
        assert_eq!(
            (value(ranks.recall(1)), value(ranks.recall(4))),
            (0.5, 0.75)
        );
        // Three are among the first four; two of them are first.
        assert!((value(ranks.normalised(4)) - 2.0 / 3.0).abs() < 1e-12);
        // A third of the first domain, all of the second.
        assert!((value(ranks.by_domain(1)) - (1.0 / 3.0 + 1.0) / 2.0).abs() < 1e-12);
        // Without the missed mention a half of the first domain, all of the second.
        assert!((value(ranks.normalised_by_domain(4)) - (0.5 + 1.0) / 2.0).abs() < 1e-12);
        assert_eq!(Ranks::default().recall(1).value, None);
    }
}
