//! What a user sees of a system that decides: of the mentions whose concept the knowledge base has, those that are linked rightly,
//! linked wrongly and called NIL; of the others, those that are called NIL and those that are linked all the same.

use super::nil_figures::Thresholds;
use super::outcomes::{At, Outcome};
use crate::data::split::NilOf;
use crate::retrieve::Retriever;
use serde::Serialize;

/// What a system decides on the mentions of a split.
#[derive(Clone, Debug, Serialize)]
pub struct Decisions {
    /// Mentions whose top score is below this are NIL, but for those that are linked at any score; without one, all with a candidate are
    /// linked.
    pub threshold: Option<f32>,
    /// The split whose best F1 of NIL chose the threshold, or `bundle`.
    pub chosen_on: String,
    /// Whether that is the split measured on.
    pub oracle: bool,
    /// Mentions that are linked whatever the threshold: their best concept bears their name.
    pub at_any_score: usize,
    /// The mentions whose concept the knowledge base has.
    pub with_concept: WithConcept,
    /// The others.
    pub missing_domain_error: WithoutConcept,
}

/// Shares of the mentions whose concept the knowledge base has; they add up to 1.
#[derive(Clone, Debug, Serialize)]
pub struct WithConcept {
    /// Linked to that concept.
    pub right: At,
    /// Linked to another one.
    pub wrong: At,
    /// Called NIL.
    pub nil: At,
}

/// Shares of the mentions whose concept the knowledge base does not have; they add up to 1.
#[derive(Clone, Debug, Serialize)]
pub struct WithoutConcept {
    /// Called NIL, which is right.
    pub nil: At,
    /// Linked to some concept.
    pub linked: At,
}

impl Decisions {
    /// At each threshold at which a system is measured, NIL of all kinds together; at the one that the retriever brings also where the
    /// split has no NIL, and without one, if it decides so.
    pub(super) fn all(retriever: &dyn Retriever, outcomes: &[Outcome<'_>], thresholds: &Thresholds) -> Vec<Self> {
        let of_all = thresholds.0.iter().filter(|chosen| chosen.nil == NilOf::All);
        let mut all: Vec<Self> =
            of_all.map(|chosen| Self::new(outcomes, Some(chosen.threshold), &chosen.on, chosen.oracle)).collect();
        if retriever.decides() && all.iter().all(|decisions| decisions.chosen_on != Thresholds::BUNDLE) {
            all.push(Self::new(outcomes, retriever.threshold(), Thresholds::BUNDLE, false));
        }
        all
    }

    fn new(outcomes: &[Outcome<'_>], threshold: Option<f32>, on: &str, oracle: bool) -> Self {
        let least = threshold.unwrap_or(f32::NEG_INFINITY);
        let share = |known: bool, hit: &dyn Fn(bool, bool) -> bool| {
            let of = outcomes.iter().filter(|outcome| outcome.gold.concept.is_some() == known);
            At::new(
                1,
                of.map(|outcome| {
                    let linked = outcome.score.is_some_and(|score| score >= least);
                    (outcome.gold.document, hit(linked, outcome.rank == Some(0)))
                }),
            )
        };
        Self {
            threshold,
            chosen_on: on.to_owned(),
            oracle,
            at_any_score: outcomes.iter().filter(|outcome| outcome.score == Some(f32::INFINITY)).count(),
            with_concept: WithConcept {
                right: share(true, &|linked, right| linked && right),
                wrong: share(true, &|linked, right| linked && !right),
                nil: share(true, &|linked, _| !linked),
            },
            missing_domain_error: WithoutConcept {
                nil: share(false, &|linked, _| !linked),
                linked: share(false, &|linked, _| linked),
            },
        }
    }
}
