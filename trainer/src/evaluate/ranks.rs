//! Where the right concepts stand among candidates, and the figures of BLINK's tables that follow from it.

use crate::data::domain::DomainOf;
use crate::data::domain::domain_of;
use crate::data::split::Split;
use crate::evaluate::At;
use pel_shared::kb::KnowledgeBase;
use pel_shared::lexical::Ranked;
use pel_shared::metrics::Interval;
use pel_shared::metrics::{Share, bootstrap, bootstrap_macro, macro_average, rank_of};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A share with its interval.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Value {
    /// How many candidates may be looked at.
    pub k: usize,
    /// The share.
    pub value: Option<f64>,
    /// Its bootstrap interval over documents (95 %): lower and upper end.
    pub interval: Option<[f64; 2]>,
}

impl Value {
    /// The figure of one k.
    pub fn new(at: &At) -> Self {
        let ends = |interval: Interval| [interval.low, interval.high];
        Self { k: at.k, value: at.recall, interval: at.interval.map(ends) }
    }
}

/// Draws of a bootstrap, and their seed.
const DRAWS: (usize, u64) = (1000, 0);

/// The place of the right concept of each mention, with its document and its domain.
#[derive(Clone, Debug, Default)]
pub struct Ranks {
    of: Vec<(usize, usize, Option<usize>)>,
    domains: usize,
}

impl Ranks {
    /// Of the candidates of each mention of a split; one without a concept is missed.
    pub fn new(split: &Split, ranked: &[Ranked], kb: &KnowledgeBase, by: DomainOf) -> Self {
        let mut domains: BTreeMap<&str, usize> = BTreeMap::new();
        let of = split.mentions.iter().zip(ranked).map(|(gold, ranked)| {
            let (concept, next) = (gold.concept.and_then(|id| kb.get(id)), domains.len());
            let domain = concept.map_or("", |concept| domain_of(concept, by));
            let domain = *domains.entry(domain).or_insert(next);
            (gold.document, domain, gold.concept.and_then(|id| rank_of(id, ranked)))
        });
        let of = of.collect();
        Self { of, domains: domains.len() }
    }

    /// Recall at k; at 1 it is the (unnormalised) accuracy.
    pub fn recall(&self, k: usize) -> Value {
        self.share(k, |_| true, |rank| rank.is_some_and(|rank| rank < k))
    }

    /// Normalised accuracy: that of the mentions whose concept was among the first k, of which `self` is another order.
    pub fn normalised(&self, k: usize) -> Value {
        self.share(k, |rank| rank.is_some_and(|rank| rank < k), |rank| rank == Some(0))
    }

    /// Recall at k, averaged over domains.
    pub fn by_domain(&self, k: usize) -> Value {
        self.macro_share(k, |_| true, |rank| rank.is_some_and(|rank| rank < k))
    }

    /// [`Ranks::normalised`], averaged over domains.
    pub fn normalised_by_domain(&self, k: usize) -> Value {
        self.macro_share(k, |rank| rank.is_some_and(|rank| rank < k), |rank| rank == Some(0))
    }

    fn macro_share(
        &self,
        k: usize,
        counts: impl Fn(Option<usize>) -> bool,
        hit: impl Fn(Option<usize>) -> bool,
    ) -> Value {
        let mut documents: BTreeMap<usize, BTreeMap<usize, Share>> = BTreeMap::new();
        let mut all = vec![Share::default(); self.domains];
        for (document, domain, rank) in self.of.iter().filter(|(_, _, rank)| counts(*rank)) {
            let hit = Share::from_iter([hit(*rank)]);
            all[*domain] = all[*domain] + hit;
            let share = documents.entry(*document).or_default().entry(*domain).or_default();
            *share = *share + hit;
        }
        let documents: Vec<Vec<(usize, Share)>> =
            documents.into_values().map(|shares| shares.into_iter().collect()).collect();
        let interval = bootstrap_macro(&documents, self.domains, DRAWS.0, DRAWS.1);
        Value { k, value: macro_average(&all), interval: interval.map(|interval| [interval.low, interval.high]) }
    }

    fn share(&self, k: usize, counts: impl Fn(Option<usize>) -> bool, hit: impl Fn(Option<usize>) -> bool) -> Value {
        let mut documents: BTreeMap<usize, Share> = BTreeMap::new();
        for (document, _, rank) in self.of.iter().filter(|(_, _, rank)| counts(*rank)) {
            let share = documents.entry(*document).or_default();
            *share = *share + Share::from_iter([hit(*rank)]);
        }
        let groups: Vec<Share> = documents.into_values().collect();
        let interval = bootstrap(&groups, DRAWS.0, DRAWS.1).map(|interval| [interval.low, interval.high]);
        Value { k, value: groups.into_iter().sum::<Share>().value(), interval }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_those_counted_by_hand() {
        // Two documents, two domains; the second domain has one mention, which is found.
        let of = vec![(0, 0, Some(0)), (0, 0, Some(3)), (1, 0, None), (1, 1, Some(0))];
        let ranks = Ranks { of, domains: 2 };
        let value = |value: Value| value.value.expect("there are mentions");
        assert_eq!((value(ranks.recall(1)), value(ranks.recall(4))), (0.5, 0.75));
        // Three are among the first four; two of them are first.
        assert!((value(ranks.normalised(4)) - 2.0 / 3.0).abs() < 1e-12);
        // A third of the first domain, all of the second.
        assert!((value(ranks.by_domain(1)) - (1.0 / 3.0 + 1.0) / 2.0).abs() < 1e-12);
        // Without the missed mention a half of the first domain, all of the second.
        assert!((value(ranks.normalised_by_domain(4)) - (0.5 + 1.0) / 2.0).abs() < 1e-12);
        assert_eq!(Ranks::default().recall(1).value, None);
    }
}
