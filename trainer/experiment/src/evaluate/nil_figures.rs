//! NIL detection of a system at given thresholds.

use super::outcomes::{At, Outcome, RESAMPLES, SEED};
use pel_corpora::retrieve::Retriever;
use pel_corpora::split::{NilOf, Split};
use pel_index::metrics::{
    Answer, CurvePoint, LinkCounts, NilCounts, NilIntervals, Top, average_precision, best_f1,
    links_at, nil_at, nil_curve, nil_intervals, recall_with_nil, thinned,
};
use pel_kb::score::Candidate;
use serde::Serialize;

/// Points of a stored precision-recall curve.
const CURVE_POINTS: usize = 200;

/// The figures of NIL detection.
#[derive(Clone, Debug, Serialize)]
pub struct NilFigures {
    /// The kind of NIL mentions. All mentions with a concept are measured too.
    pub nil: NilOf,
    /// The number of mentions.
    pub mentions: usize,
    /// The proportion of NIL: the precision and auPR of a random system.
    pub base_rate: f64,
    /// Mentions with a lower top score are NIL.
    pub threshold: f32,
    /// The split whose best F1 of NIL chose the threshold, or `bundle`.
    pub chosen_on: String,
    /// Whether it is the split that is measured. Precision, recall and F1 are then optimistic.
    pub oracle: bool,
    /// Whether the threshold rejects every mention that a threshold can reject, of the split that
    /// thresholds are chosen on.
    pub rejects_all: bool,
    /// The counts at the threshold.
    pub counts: NilCounts,
    /// Precision of NIL.
    pub precision: Option<f64>,
    /// Recall of NIL.
    pub recall: Option<f64>,
    /// F1 of NIL.
    pub f1: Option<f64>,
    /// Average precision of NIL, which needs no threshold.
    pub au_pr: Option<f64>,
    /// Bootstrap intervals over documents (95 %) at this threshold.
    pub intervals: NilIntervals,
    /// The counts of links at the threshold.
    pub links: LinkCounts,
    /// The precision of links.
    pub links_right: Option<f64>,
    /// Recall over all classes, with NIL as a class: a rejected mention counts as NIL and has no
    /// candidates.
    pub all_classes: Vec<At>,
    /// Points of the precision-recall curve.
    pub curve: Vec<CurvePoint>,
}

/// A NIL threshold and its origin.
#[derive(Clone, Debug)]
pub(super) struct Chosen {
    pub nil: NilOf,
    pub threshold: f32,
    pub on: String,
    pub oracle: bool,
    /// Whether it rejects all mentions of its split that a threshold can reject.
    pub rejects_all: bool,
}

/// The thresholds of a system.
#[derive(Clone, Debug, Default)]
pub(super) struct Thresholds(pub Vec<Chosen>);

impl Thresholds {
    /// The origin of a retriever's own threshold.
    pub const BUNDLE: &str = "bundle";

    /// For each kind of NIL in `measured`: the threshold with the best F1 on `chosen_on`, and the
    /// retriever's own. `same` means that both splits are the same.
    pub fn new(
        retriever: &dyn Retriever,
        measured: &Split,
        chosen_on: &Split,
        ranked: &[Vec<Candidate>],
        same: bool,
    ) -> Self {
        let outcomes = Outcome::all(chosen_on, ranked);
        let mut all = Vec::new();
        for nil in kinds(measured) {
            let tops = tops(&outcomes, nil);
            if let Some((threshold, _)) = best_f1(&tops) {
                let (on, rejects_all) = (
                    chosen_on.counts.split.clone(),
                    rejects_all(&tops, threshold),
                );
                all.push(Chosen {
                    nil,
                    threshold,
                    on,
                    oracle: same,
                    rejects_all,
                });
            }
            if let Some(threshold) = retriever.threshold() {
                all.push(Chosen {
                    nil,
                    threshold,
                    on: Self::BUNDLE.into(),
                    oracle: false,
                    rejects_all: rejects_all(&tops, threshold),
                });
            }
        }
        Self(all)
    }
}

/// Whether a threshold rejects all mentions that are not linked at any score.
pub(super) fn rejects_all(tops: &[Top], threshold: f32) -> bool {
    let judged = || {
        tops.iter()
            .filter_map(|top| top.score)
            .filter(|score| *score < f32::INFINITY)
    };
    judged().next().is_some() && judged().all(|score| score < threshold)
}

/// The kinds of NIL in a split: all, and each kind if there are held-out mentions.
fn kinds(split: &Split) -> Vec<NilOf> {
    let kinds = if split.counts.held_out > 0 {
        &[NilOf::All, NilOf::HeldOut, NilOf::Natural][..]
    } else {
        &[NilOf::All]
    };
    kinds
        .iter()
        .copied()
        .filter(|nil| split.has_nil(*nil))
        .collect()
}

/// The top scores of the mentions with a concept and of one kind of NIL.
pub(super) fn tops(outcomes: &[Outcome<'_>], nil: NilOf) -> Vec<Top> {
    outcomes
        .iter()
        .filter(|outcome| nil.takes(outcome.gold))
        .map(top)
        .collect()
}

fn top(outcome: &Outcome<'_>) -> Top {
    Top {
        score: outcome.score,
        nil: outcome.gold.concept.is_none(),
    }
}

/// The same mentions as right or wrong answers.
pub(super) fn answers(outcomes: &[Outcome<'_>], nil: NilOf) -> Vec<Answer> {
    let answer = |outcome: &Outcome<'_>| Answer {
        score: outcome.score,
        right: outcome.rank == Some(0),
        known: outcome.gold.concept.is_some(),
    };
    outcomes
        .iter()
        .filter(|outcome| nil.takes(outcome.gold))
        .map(answer)
        .collect()
}

impl NilFigures {
    pub(super) fn all(
        outcomes: &[Outcome<'_>],
        thresholds: &Thresholds,
        ks: &[usize],
    ) -> Vec<Self> {
        thresholds
            .0
            .iter()
            .map(|chosen| Self::new(outcomes, chosen, ks))
            .collect()
    }

    pub(super) fn new(outcomes: &[Outcome<'_>], chosen: &Chosen, ks: &[usize]) -> Self {
        let Chosen {
            nil,
            threshold,
            on,
            oracle,
            rejects_all,
        } = chosen.clone();
        let looked_at: Vec<(usize, Option<usize>, Top)> = outcomes
            .iter()
            .filter(|outcome| nil.takes(outcome.gold))
            .map(|outcome| (outcome.gold.document, outcome.rank, top(outcome)))
            .collect();
        let tops: Vec<Top> = looked_at.iter().map(|(_, _, top)| *top).collect();
        let placed: Vec<(usize, Top)> = looked_at
            .iter()
            .map(|(document, _, top)| (*document, *top))
            .collect();
        let counts = nil_at(&tops, threshold);
        let links = links_at(&answers(outcomes, nil), threshold);
        let right = |k: usize| {
            let right = move |(document, rank, top): &(usize, Option<usize>, Top)| {
                (
                    *document,
                    recall_with_nil([(top, *rank)], threshold, k).hits > 0,
                )
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
