//! What became of each mention, and the share of mentions that were right.

use crate::data::split::{Gold, Split};
use pel_shared::lexical::Ranked;
use pel_shared::metrics::{Interval, Share, bootstrap, chance_of_first, rank_of};
use serde::Serialize;
use std::collections::BTreeMap;

/// Draws behind an interval.
pub(super) const RESAMPLES: usize = 1000;
/// The seed of these draws.
pub(super) const SEED: u64 = 1;

/// A mention and what became of it.
pub(super) struct Outcome<'a> {
    pub gold: &'a Gold,
    /// The place of the right concept among the candidates, 0 for the first.
    pub rank: Option<usize>,
    /// The best candidate's score, infinite where it is linked at any.
    pub score: Option<f32>,
    /// The chance that the right concept comes first if candidates of equal scores come in any order.
    pub by_chance: Option<f64>,
}

impl<'a> Outcome<'a> {
    pub fn new(gold: &'a Gold, ranked: &Ranked) -> Self {
        Self {
            gold,
            rank: gold.concept.and_then(|concept| rank_of(concept, ranked)),
            score: ranked.first().map(|(_, score)| *score),
            by_chance: Some(gold.concept.map_or(0.0, |concept| chance_of_first(concept, ranked))),
        }
    }

    /// The outcomes of the mentions of a split.
    pub fn all(split: &'a Split, ranked: &[Ranked]) -> Vec<Self> {
        split.mentions.iter().zip(ranked).map(|(gold, ranked)| Self::new(gold, ranked)).collect()
    }

    /// Whether the right concept is among the first k.
    pub fn within(&self, k: usize) -> bool {
        self.rank.is_some_and(|rank| rank < k)
    }
}

/// Recall at one k.
#[derive(Clone, Debug, Serialize)]
pub struct At {
    /// How many candidates may be looked at.
    pub k: usize,
    /// The counts.
    #[serde(flatten)]
    pub share: Share,
    /// Their quotient.
    pub recall: Option<f64>,
    /// The bootstrap interval over documents (95 %).
    pub interval: Option<Interval>,
}

impl At {
    /// Counts hits; each comes with the document that it is from.
    pub(super) fn new(k: usize, hits: impl Iterator<Item = (usize, bool)>) -> Self {
        let mut documents: BTreeMap<usize, Share> = BTreeMap::new();
        for (document, hit) in hits {
            let share = documents.entry(document).or_default();
            *share = *share + Share { hits: usize::from(hit), of: 1 };
        }
        let groups: Vec<Share> = documents.into_values().collect();
        let share: Share = groups.iter().copied().sum();
        Self { k, share, recall: share.value(), interval: bootstrap(&groups, RESAMPLES, SEED) }
    }
}
