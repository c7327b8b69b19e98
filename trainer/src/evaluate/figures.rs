//! The figures of one system on one split.

use super::{Gold, Retriever, Split};
use pel_shared::lexical::Ranked;
use pel_shared::metrics::{
    CurvePoint, Interval, NilCounts, Share, Top, average_precision, best_f1, bootstrap, chance_of_first, nil_at,
    nil_curve, rank_of, recall_at, recall_with_nil,
};
use serde::Serialize;
use std::collections::BTreeMap;

/// Where recall is measured, besides the number of candidates asked for.
const KS: [usize; 3] = [1, 8, 64];
/// Draws behind an interval.
pub(super) const RESAMPLES: usize = 1000;
/// The seed of these draws.
pub(super) const SEED: u64 = 1;
/// Points that are kept of a precision-recall curve.
const CURVE_POINTS: usize = 200;

/// All figures of one system.
#[derive(Clone, Debug, Serialize)]
pub struct Figures {
    /// Its name.
    pub system: String,
    /// What it compares with what.
    pub protocol: String,
    /// Seconds that building it took.
    pub build_seconds: f64,
    /// Seconds that ranking concepts for all mentions of the split took.
    pub search_seconds: f64,
    /// Recall over the mentions whose concept the knowledge base has: all, seen, zero-shot.
    pub recall: Vec<Recall>,
    /// NIL; `None` if the split has none, or there was nothing to choose a threshold by.
    pub nil: Option<NilFigures>,
}

/// Recall over some mentions.
#[derive(Clone, Debug, Serialize)]
pub struct Recall {
    /// `all`, `seen` or `zero-shot`.
    pub mentions: &'static str,
    /// Recall at each k.
    pub at: Vec<At>,
    /// Recall@1 if candidates with equal scores came in an order by chance instead of concept order.
    pub first_by_chance: Option<f64>,
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

/// How well NIL is told from the rest, over all mentions.
#[derive(Clone, Debug, Serialize)]
pub struct NilFigures {
    /// Top scores below this are NIL.
    pub threshold: f32,
    /// The split whose best F1 of NIL chose the threshold.
    pub chosen_on: String,
    /// Whether that is the split measured on, so that precision, recall and F1 are better than they will be elsewhere.
    pub oracle: bool,
    /// The counts at the threshold.
    pub counts: NilCounts,
    /// Precision of NIL.
    pub precision: Option<f64>,
    /// Recall of NIL.
    pub recall: Option<f64>,
    /// F1 of NIL.
    pub f1: Option<f64>,
    /// Average precision of NIL; needs no threshold.
    pub au_pr: Option<f64>,
    /// Recall over all classes, NIL being one: a rejected mention counts as NIL and has no candidates.
    pub all_classes: Vec<At>,
    /// The precision-recall curve, thinned.
    pub curve: Vec<CurvePoint>,
}

/// The threshold of NIL and where it comes from.
pub(super) struct Chosen {
    threshold: Option<f32>,
    on: String,
    oracle: bool,
}

impl Chosen {
    /// Chooses by best F1 on a split that is not measured on.
    pub fn on_another_split(split: &Split, ranked: &[Ranked]) -> Self {
        let threshold = best_f1(&tops(&split.mentions, ranked)).map(|(threshold, _)| threshold);
        Self { threshold, on: split.counts.split.clone(), oracle: false }
    }

    /// Chooses by best F1 on the very split that is measured on.
    pub fn on_the_same_split(split: &Split, ranked: &[Ranked]) -> Self {
        Self { oracle: true, ..Self::on_another_split(split, ranked) }
    }
}

fn tops(mentions: &[Gold], ranked: &[Ranked]) -> Vec<Top> {
    let top = |(gold, ranked): (&Gold, &Ranked)| Top {
        score: ranked.first().map(|(_, score)| *score),
        nil: gold.concept.is_none(),
    };
    mentions.iter().zip(ranked).map(top).collect()
}

/// A mention and what became of it.
struct Outcome<'a> {
    gold: &'a Gold,
    rank: Option<usize>,
    by_chance: f64,
}

impl<'a> Outcome<'a> {
    fn new(gold: &'a Gold, ranked: &Ranked) -> Self {
        Self {
            gold,
            rank: gold.concept.and_then(|concept| rank_of(concept, ranked)),
            by_chance: gold.concept.map_or(0.0, |concept| chance_of_first(concept, ranked)),
        }
    }
}

impl Figures {
    /// Measures the answers to the mentions of a split; `seconds` are those of building and of searching.
    pub(super) fn new(
        retriever: &dyn Retriever,
        split: &Split,
        ranked: &[Ranked],
        top: usize,
        chosen: Chosen,
        seconds: [f64; 2],
    ) -> Self {
        let mut ks: Vec<usize> = KS.into_iter().filter(|k| *k < top).collect();
        ks.push(top);
        let pairs = split.mentions.iter().zip(ranked);
        let outcomes: Vec<Outcome<'_>> = pairs.map(|(gold, ranked)| Outcome::new(gold, ranked)).collect();
        let known = || outcomes.iter().filter(|outcome| outcome.gold.concept.is_some());
        let subset = |seen| known().filter(move |outcome| outcome.gold.seen == Some(seen)).collect::<Vec<_>>();
        let recall = [("all", known().collect()), ("seen", subset(true)), ("zero-shot", subset(false))];
        let tops = tops(&split.mentions, ranked);
        let nil = chosen.threshold.filter(|_| split.counts.nil > 0).map(|threshold| {
            let counts = nil_at(&tops, threshold);
            let curve = nil_curve(&tops);
            let all_classes = |k: &usize| {
                let right = |(top, outcome): (&Top, &Outcome<'_>)| {
                    let share = recall_with_nil([(top, outcome.rank)], threshold, *k);
                    (outcome.gold.document, share.hits > 0)
                };
                At::new(*k, tops.iter().zip(&outcomes).map(right))
            };
            NilFigures {
                threshold,
                chosen_on: chosen.on,
                oracle: chosen.oracle,
                counts,
                precision: counts.precision(),
                recall: counts.recall(),
                f1: counts.f1(),
                au_pr: average_precision(&tops),
                all_classes: ks.iter().map(all_classes).collect(),
                curve: thinned(&curve),
            }
        });
        let recall = recall.into_iter().map(|(mentions, outcomes)| Recall::new(mentions, &outcomes, &ks)).collect();
        let [build_seconds, search_seconds] = seconds;
        let (system, protocol) = (retriever.name().to_owned(), retriever.protocol());
        Self { system, protocol, build_seconds, search_seconds, recall, nil }
    }
}

impl Recall {
    fn new(mentions: &'static str, outcomes: &[&Outcome<'_>], ks: &[usize]) -> Self {
        let at = |k: &usize| {
            let hit = |outcome: &&Outcome<'_>| (outcome.gold.document, recall_at([outcome.rank], *k).hits > 0);
            At::new(*k, outcomes.iter().map(hit))
        };
        let by_chance = outcomes.iter().map(|outcome| outcome.by_chance).sum::<f64>() / outcomes.len() as f64;
        let first_by_chance = (!outcomes.is_empty()).then_some(by_chance);
        Self { mentions, at: ks.iter().map(at).collect(), first_by_chance }
    }
}

impl At {
    /// Counts hits; each comes with the document that it is from.
    fn new(k: usize, hits: impl Iterator<Item = (usize, bool)>) -> Self {
        let mut documents: BTreeMap<usize, Share> = BTreeMap::new();
        for (document, hit) in hits {
            let share = documents.entry(document).or_default();
            share.hits += usize::from(hit);
            share.of += 1;
        }
        let groups: Vec<Share> = documents.into_values().collect();
        let share = Share { hits: groups.iter().map(|g| g.hits).sum(), of: groups.iter().map(|g| g.of).sum() };
        Self { k, share, recall: share.value(), interval: bootstrap(&groups, RESAMPLES, SEED) }
    }
}

/// So many points of a curve at most, evenly taken, the last one among them.
fn thinned(curve: &[CurvePoint]) -> Vec<CurvePoint> {
    let every = curve.len().div_ceil(CURVE_POINTS).max(1);
    let mut rest: Vec<CurvePoint> = curve.iter().rev().step_by(every).copied().collect();
    rest.reverse();
    rest
}
