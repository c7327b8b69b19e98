//! The decisions of a system. Mentions with a concept in the knowledge base are linked rightly,
//! linked wrongly, or NIL. The others are NIL or linked.

use super::nil_figures::Thresholds;
use super::outcomes::{At, Outcome};
use pel_corpora::retrieve::Retriever;
use pel_corpora::split::NilOf;
use serde::Serialize;

/// The decisions of a system on the mentions of a split.
#[derive(Clone, Debug, Serialize)]
pub struct Decisions {
    /// Mentions with a lower top score are NIL. `None` links every mention that has a candidate.
    pub threshold: Option<f32>,
    /// The split whose best F1 of NIL chose the threshold, or `bundle`.
    pub chosen_on: String,
    /// Whether it is the split that is measured.
    pub oracle: bool,
    /// Mentions that are linked at any score: their best concept has their text as a name.
    pub at_any_score: usize,
    /// The mentions whose concept is in the knowledge base.
    pub with_concept: WithConcept,
    /// The others.
    pub without_concept: WithoutConcept,
}

/// Proportions of the mentions whose concept is in the knowledge base. They sum to 1.
#[derive(Clone, Debug, Serialize)]
pub struct WithConcept {
    /// Linked to that concept.
    pub right: At,
    /// Linked to another concept.
    pub wrong: At,
    /// NIL.
    pub nil: At,
}

/// Proportions of the mentions whose concept is not in the knowledge base. They sum to 1.
#[derive(Clone, Debug, Serialize)]
pub struct WithoutConcept {
    /// NIL, which is right.
    pub nil: At,
    /// Linked to some concept.
    pub linked: At,
}

impl Decisions {
    /// The decisions at each threshold for all kinds of NIL. The retriever's own decisions are
    /// included even if the split has no NIL.
    pub(super) fn all(
        retriever: &dyn Retriever,
        outcomes: &[Outcome<'_>],
        thresholds: &Thresholds,
    ) -> Vec<Self> {
        let of_all = thresholds
            .0
            .iter()
            .filter(|chosen| chosen.nil == NilOf::All);
        let mut all: Vec<Self> = of_all
            .map(|chosen| Self::new(outcomes, Some(chosen.threshold), &chosen.on, chosen.oracle))
            .collect();
        if retriever.decides()
            && all
                .iter()
                .all(|decisions| decisions.chosen_on != Thresholds::BUNDLE)
        {
            all.push(Self::new(
                outcomes,
                retriever.threshold(),
                Thresholds::BUNDLE,
                false,
            ));
        }
        all
    }

    fn new(outcomes: &[Outcome<'_>], threshold: Option<f32>, on: &str, oracle: bool) -> Self {
        let least = threshold.unwrap_or(f32::NEG_INFINITY);
        let share = |known: bool, hit: &dyn Fn(bool, bool) -> bool| {
            let of = outcomes
                .iter()
                .filter(|outcome| outcome.gold.concept.is_some() == known);
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
            at_any_score: outcomes
                .iter()
                .filter(|outcome| outcome.score == Some(f32::INFINITY))
                .count(),
            with_concept: WithConcept {
                right: share(true, &|linked, right| linked && right),
                wrong: share(true, &|linked, right| linked && !right),
                nil: share(true, &|linked, _| !linked),
            },
            without_concept: WithoutConcept {
                nil: share(false, &|linked, _| !linked),
                linked: share(false, &|linked, _| linked),
            },
        }
    }
}
