//! Sets of answers that hold the right one with a stated probability (split conformal prediction).
//!
//! Mentions with a concept and NIL mentions have a limit each (Mondrian conformal prediction: Vovk,
//! Gammerman and Shafer 2005, section 4.5), so the coverage does not depend on how many mentions
//! are NIL. The guarantee is for mentions like those of the calibration.

use pel_kb::ConceptId;
use pel_kb::error::{Error, Result};
use pel_kb::numbers::check_finite;
use pel_kb::score::Candidate;
use serde::{Deserialize, Serialize};

/// The coverages that a calibration computes.
pub const COVERAGES: [f32; 2] = [0.9, 0.95];

/// The limits of the sets of one coverage.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SetLimits {
    /// The share of mentions whose set holds the right answer, 0 to 1.
    pub coverage: f32,
    /// Candidates at most so far behind the first are in the set. `None` if no limit reaches the
    /// coverage: the search misses too many concepts. All candidates are in the set then.
    pub behind: Option<f32>,
    /// NIL is in the set up to this probability of the first candidate. `None` if the calibration
    /// had no NIL mention: NIL is in every set then.
    pub nil_up_to: Option<f32>,
}

/// The answers for a mention.
#[derive(Clone, Debug, PartialEq)]
pub struct AnswerSet {
    /// The coverage.
    pub coverage: f32,
    /// The concepts, best first.
    pub concepts: Vec<ConceptId>,
    /// Whether NIL is among the answers.
    pub nil: bool,
}

impl SetLimits {
    /// The limits of a coverage.
    ///
    /// `behind` holds for each mention with a concept how far its right candidate is behind the
    /// first; infinite if it is not among the candidates. `nil` holds the probability of the first
    /// candidate of each NIL mention; 0 without one.
    pub fn fit(coverage: f32, behind: &[f32], nil: &[f32]) -> Self {
        Self {
            coverage,
            behind: quantile(coverage, behind).filter(|limit| *limit < f32::MAX),
            nil_up_to: quantile(coverage, nil),
        }
    }

    /// The answers for a mention with these candidates, best first.
    pub fn answers(&self, candidates: &[Candidate], probability: f32) -> AnswerSet {
        let first = candidates.first().map_or(0.0, |first| first.score);
        let within = |candidate: &&Candidate| {
            self.behind
                .is_none_or(|limit| first - candidate.score <= limit)
        };
        AnswerSet {
            coverage: self.coverage,
            concepts: candidates
                .iter()
                .filter(within)
                .map(|candidate| candidate.concept)
                .collect(),
            nil: self.nil_up_to.is_none_or(|limit| probability <= limit),
        }
    }

    /// Checks the numbers of limits that were read.
    ///
    /// # Errors
    /// If one is not finite, or the coverage is no share. The message names the field.
    pub fn check(&self) -> Result<()> {
        let numbers = [self.behind, self.nil_up_to].into_iter().flatten();
        let numbers: Vec<f32> = numbers.chain([self.coverage]).collect();
        check_finite("`nil.sets`", &numbers)?;
        match self.coverage > 0.0 && self.coverage < 1.0 {
            true => Ok(()),
            false => Err(Error::artifact(format!(
                "`nil.sets`: expected a coverage above 0 and below 1, found {}",
                self.coverage
            ))),
        }
    }
}

/// The value that at least the share `coverage` of a further value and these are not above: the
/// ⌈(n + 1) · coverage⌉-th smallest. The largest number if n is too small for the coverage or the
/// value is infinite; `None` without a value.
fn quantile(coverage: f32, values: &[f32]) -> Option<f32> {
    let mut ascending = values.to_vec();
    ascending.sort_unstable_by(f32::total_cmp);
    // The nearest decimal of the coverage: 0.6 in f32 is above 0.6.
    let share = (f64::from(coverage) * 1e6).round() / 1e6;
    let rank = ((values.len() + 1) as f64 * share - 1e-9).ceil() as usize;
    match ascending.get(rank.saturating_sub(1)) {
        Some(value) => Some(*value),
        None => (!values.is_empty()).then_some(f32::INFINITY),
    }
    .map(|value| value.min(f32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_quantile_counts_one_more_value() {
        let values = [0.4, 0.1, 0.3, 0.2];
        // ⌈5 · 0.6⌉ = 3, ⌈5 · 0.8⌉ = 4, ⌈5 · 0.9⌉ = 5.
        assert_eq!(quantile(0.6, &values), Some(0.3));
        assert_eq!(quantile(0.8, &values), Some(0.4));
        assert_eq!(quantile(0.9, &values), Some(f32::MAX));
        assert_eq!(quantile(0.9, &[]), None);
    }

    #[test]
    fn answers_are_the_near_candidates_and_nil_if_unlikely() {
        let candidate = |id, score| Candidate::new(ConceptId(id), score);
        let candidates = [candidate(4, 0.75), candidate(2, 0.5), candidate(9, 0.25)];
        let limits = SetLimits {
            coverage: 0.9,
            behind: Some(0.25),
            nil_up_to: Some(0.5),
        };
        let answers = limits.answers(&candidates, 0.5);
        assert_eq!(answers.concepts, [ConceptId(4), ConceptId(2)]);
        assert!(answers.nil);
        assert!(!limits.answers(&candidates, 0.75).nil);
        let unlimited = SetLimits {
            behind: None,
            nil_up_to: None,
            ..limits
        };
        let answers = unlimited.answers(&candidates, 1.0);
        assert_eq!((answers.concepts.len(), answers.nil), (3, true));
        assert_eq!(limits.answers(&[], 0.0).concepts, []);
    }

    #[test]
    fn limits_cover_the_share_that_they_promise() {
        let behind: Vec<f32> = (0..99).map(|at| at as f32 / 100.0).collect();
        let fitted = SetLimits::fit(0.9, &behind, &[0.1; 9]);
        assert_eq!(fitted.behind, Some(0.89));
        assert_eq!(fitted.nil_up_to, Some(0.1));
        // One in five right concepts is not found: no limit covers 90 %.
        let missed = [0.0, 0.0, 0.0, 0.0, f32::INFINITY];
        assert_eq!(SetLimits::fit(0.9, &missed, &[]).behind, None);
        assert!(fitted.check().is_ok());
        let all = SetLimits {
            coverage: 1.0,
            ..fitted
        };
        assert!(all.check().is_err());
    }
}
