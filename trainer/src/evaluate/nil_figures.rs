//! How well a system tells NIL from the rest, at thresholds that were chosen elsewhere.

use super::outcomes::{At, Outcome, RESAMPLES, SEED};
use crate::data::split::{NilOf, Split};
use crate::retrieve::Retriever;
use pel_shared::lexical::Ranked;
use pel_shared::metrics::{
    Answer, CurvePoint, LinkCounts, NilCounts, NilIntervals, Top, average_precision, best_f1, links_at, nil_at,
    nil_curve, nil_intervals, recall_with_nil, thinned,
};
use serde::Serialize;

/// Points that are kept of a precision-recall curve.
const CURVE_POINTS: usize = 200;

/// How well NIL is told from the rest.
#[derive(Clone, Debug, Serialize)]
pub struct NilFigures {
    /// Which NIL mentions are looked at, beside all mentions that can be linked.
    pub nil: NilOf,
    /// How many mentions that makes.
    pub mentions: usize,
    /// The share of NIL among them: what precision and auPR are without any skill.
    pub base_rate: f64,
    /// Top scores below this are NIL.
    pub threshold: f32,
    /// The split whose best F1 of NIL chose the threshold, or `bundle`.
    pub chosen_on: String,
    /// Whether that is the split measured on, so that precision, recall and F1 are better than they will be elsewhere.
    pub oracle: bool,
    /// Whether the threshold, where a split chose it, rejects everything there that a threshold can reject.
    pub rejects_all: bool,
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
    /// Bootstrap intervals over documents (95 %), the threshold given.
    pub intervals: NilIntervals,
    /// What the threshold makes of links.
    pub links: LinkCounts,
    /// The share of links that are right.
    pub links_right: Option<f64>,
    /// Recall over all classes, NIL being one: a rejected mention counts as NIL and has no candidates.
    pub all_classes: Vec<At>,
    /// The precision-recall curve, thinned.
    pub curve: Vec<CurvePoint>,
}

/// The threshold of NIL and where it comes from.
#[derive(Clone, Debug)]
pub(super) struct Chosen {
    pub nil: NilOf,
    pub threshold: f32,
    pub on: String,
    pub oracle: bool,
    /// Whether it rejects, where it was chosen, all that a threshold can.
    pub rejects_all: bool,
}

/// Every threshold that a system is measured at.
#[derive(Clone, Debug, Default)]
pub(super) struct Thresholds(pub Vec<Chosen>);

impl Thresholds {
    /// What a threshold that the retriever brings was chosen on, for all we know.
    pub const BUNDLE: &str = "bundle";

    /// For each kind of NIL that `measured` has: the threshold with the best F1 on `chosen_on`, and the one that the
    /// retriever brings. `same` says that both splits are one.
    pub fn new(retriever: &dyn Retriever, measured: &Split, chosen_on: &Split, ranked: &[Ranked], same: bool) -> Self {
        let outcomes = Outcome::all(chosen_on, ranked);
        let mut all = Vec::new();
        for nil in kinds(measured) {
            let tops = tops(&outcomes, nil);
            if let Some((threshold, _)) = best_f1(&tops) {
                let (on, rejects_all) = (chosen_on.counts.split.clone(), rejects_all(&tops, threshold));
                all.push(Chosen { nil, threshold, on, oracle: same, rejects_all });
            }
            if let Some(threshold) = retriever.threshold() {
                all.push(Chosen { nil, threshold, on: Self::BUNDLE.into(), oracle: false, rejects_all: false });
            }
        }
        Self(all)
    }
}

/// Whether a threshold rejects all that have a score, but for those that are linked at any.
pub(super) fn rejects_all(tops: &[Top], threshold: f32) -> bool {
    let judged = || tops.iter().filter_map(|top| top.score).filter(|score| *score < f32::INFINITY);
    judged().next().is_some() && judged().all(|score| score < threshold)
}

/// The kinds of NIL that are told apart on a split: all, and each alone if there are held-out mentions.
fn kinds(split: &Split) -> Vec<NilOf> {
    let kinds =
        if split.counts.held_out > 0 { &[NilOf::All, NilOf::HeldOut, NilOf::Natural][..] } else { &[NilOf::All] };
    kinds.iter().copied().filter(|nil| split.has_nil(*nil)).collect()
}

/// What the best candidates say of the mentions that can be linked and those of one kind of NIL.
pub(super) fn tops(outcomes: &[Outcome<'_>], nil: NilOf) -> Vec<Top> {
    outcomes.iter().filter(|outcome| nil.takes(outcome.gold)).map(top).collect()
}

fn top(outcome: &Outcome<'_>) -> Top {
    Top { score: outcome.score, nil: outcome.gold.concept.is_none() }
}

/// The same as answers that are right or wrong.
pub(super) fn answers(outcomes: &[Outcome<'_>], nil: NilOf) -> Vec<Answer> {
    let answer = |outcome: &Outcome<'_>| Answer {
        score: outcome.score,
        right: outcome.rank == Some(0),
        known: outcome.gold.concept.is_some(),
    };
    outcomes.iter().filter(|outcome| nil.takes(outcome.gold)).map(answer).collect()
}

impl NilFigures {
    pub(super) fn all(outcomes: &[Outcome<'_>], thresholds: &Thresholds, ks: &[usize]) -> Vec<Self> {
        thresholds.0.iter().map(|chosen| Self::new(outcomes, chosen, ks)).collect()
    }

    pub(super) fn new(outcomes: &[Outcome<'_>], chosen: &Chosen, ks: &[usize]) -> Self {
        let Chosen { nil, threshold, on, oracle, rejects_all } = chosen.clone();
        let looked_at: Vec<(usize, Option<usize>, Top)> = outcomes
            .iter()
            .filter(|outcome| nil.takes(outcome.gold))
            .map(|outcome| (outcome.gold.document, outcome.rank, top(outcome)))
            .collect();
        let tops: Vec<Top> = looked_at.iter().map(|(_, _, top)| *top).collect();
        let placed: Vec<(usize, Top)> = looked_at.iter().map(|(document, _, top)| (*document, *top)).collect();
        let counts = nil_at(&tops, threshold);
        let links = links_at(&answers(outcomes, nil), threshold);
        let right = |k: usize| {
            let right = move |(document, rank, top): &(usize, Option<usize>, Top)| {
                (*document, recall_with_nil([(top, *rank)], threshold, k).hits > 0)
            };
            looked_at.iter().map(right)
        };
        Self {
            nil,
            mentions: tops.len(),
            base_rate: tops.iter().filter(|top| top.nil).count() as f64 / tops.len().max(1) as f64,
            threshold,
            chosen_on: on,
            oracle,
            rejects_all,
            counts,
            precision: counts.precision(),
            recall: counts.recall(),
            f1: counts.f1(),
            au_pr: average_precision(&tops),
            intervals: nil_intervals(&placed, threshold, RESAMPLES, SEED),
            links,
            links_right: links.precision(),
            all_classes: ks.iter().map(|k| At::new(*k, right(*k))).collect(),
            curve: thinned(&nil_curve(&tops), CURVE_POINTS),
        }
    }
}
