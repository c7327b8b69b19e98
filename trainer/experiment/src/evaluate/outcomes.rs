//! The outcome of each mention, and the proportion of right mentions.

use super::hits::Hits;
use pel_corpora::split::{Gold, Split};
use pel_index::metrics::{Interval, Share, chance_of_first, pooled_with_interval, rank_of};
use pel_kb::score::Candidate;
use serde::Serialize;

/// Bootstrap samples behind an interval.
pub(super) const RESAMPLES: usize = 1000;
/// The seed of these samples.
pub(super) const SEED: u64 = 1;

/// A mention with the rank of its concept and the score of its best candidate.
pub(super) struct Outcome<'a> {
    pub gold: &'a Gold,
    /// The rank of the right concept among the candidates, 0 for the first.
    pub rank: Option<usize>,
    /// The best candidate's score; infinite if it is linked at any score.
    pub score: Option<f32>,
    /// The probability that the right concept is first if candidates with equal scores are in
    /// random order.
    pub by_chance: Option<f64>,
}

impl<'a> Outcome<'a> {
    pub fn new(gold: &'a Gold, ranked: &[Candidate]) -> Self {
        Self {
            gold,
            rank: gold.concept.and_then(|concept| rank_of(concept, ranked)),
            score: ranked.first().map(|best| best.score),
            by_chance: Some(
                gold.concept
                    .map_or(0.0, |concept| chance_of_first(concept, ranked)),
            ),
        }
    }

    /// The outcomes of the mentions of a split.
    pub fn all(split: &'a Split, ranked: &[Vec<Candidate>]) -> Vec<Self> {
        split
            .mentions
            .iter()
            .zip(ranked)
            .map(|(gold, ranked)| Self::new(gold, ranked))
            .collect()
    }

    /// Whether the right concept is among the first k.
    pub fn within(&self, k: usize) -> bool {
        self.rank.is_some_and(|rank| rank < k)
    }
}

/// Recall at one k.
#[derive(Clone, Debug, Serialize)]
pub struct At {
    /// k.
    pub k: usize,
    /// The counts.
    #[serde(flatten)]
    pub share: Share,
    /// The recall, 0 to 1.
    pub recall: Option<f64>,
    /// The bootstrap interval over documents (95 %).
    pub interval: Option<Interval>,
    /// The hits of each document.
    #[serde(skip)]
    pub documents: Hits,
}

impl At {
    /// The recall over hits. Each hit comes with its document.
    pub(super) fn new(k: usize, hits: impl Iterator<Item = (usize, bool)>) -> Self {
        let hits: Vec<(usize, bool)> = hits.collect();
        let (share, interval) = pooled_with_interval(hits.iter().copied(), RESAMPLES, SEED);
        Self {
            k,
            share,
            recall: share.value(),
            interval,
            documents: Hits::new(hits),
        }
    }
}
