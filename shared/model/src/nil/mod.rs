//! NIL prediction: whether the knowledge base has no concept for a mention.

mod logistic;
mod probability;
mod sets;

pub use probability::{Evidence, Feature, Labelled, NameModel, ProbabilityModel, SHORT_BELOW};
pub use sets::{AnswerSet, COVERAGES, SetLimits};

use pel_index::metrics::CurvePoint;
use pel_kb::error::{Error, Result};
use pel_kb::numbers::check_finite;
use pel_kb::score::Candidate;
use serde::{Deserialize, Serialize};

/// The rule that links a mention or rejects it as NIL. A bundle stores it with the encoder that it
/// was calibrated for.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NilPolicy {
    /// The lowest value that is linked: the probability of the best candidate with a probability
    /// model, otherwise its score, in units of the index's similarity. `None` links every mention
    /// that has a candidate.
    pub threshold: Option<f32>,
    /// The model of the probability that the best candidate is right.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub probability: Option<ProbabilityModel>,
    /// The limits of sets of answers, one for each coverage. Empty without a probability model.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sets: Vec<SetLimits>,
    /// The data that the threshold was calibrated on.
    pub calibrated_on: Option<String>,
    /// The precision-recall curve of NIL on that data, thinned, in ascending order of recall. Empty
    /// if the threshold was not calibrated.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub curve: Vec<CurvePoint>,
}

/// The decision on one mention.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Decision {
    /// The mention is linked to this concept.
    Linked {
        /// The best candidate, which is the answer.
        best: Candidate,
    },
    /// The knowledge base has no concept for the mention.
    Nil {
        /// Why the mention was rejected.
        reason: NilReason,
        /// The best candidate, which was rejected; `None` without a candidate.
        best: Option<Candidate>,
    },
}

/// Why a mention is NIL.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum NilReason {
    /// The best score is below the policy's threshold.
    BelowThreshold,
    /// The index returned no candidate.
    NoCandidate,
    /// The probability is below the threshold, most of all because another candidate or concept of
    /// the same name is as likely.
    Ambiguous,
    /// The probability is below the threshold, most of all because the types or sources of the best
    /// candidate are not those of the text's other concepts.
    TypeClash,
    /// The probability is below the threshold, most of all because the mention is unlike the names
    /// of its best candidate.
    UnlikeAnyName,
    /// The mention is empty after normalisation.
    EmptyMention,
    /// The user marked the mention as NIL.
    Reader,
}

impl NilReason {
    /// A description for users.
    pub fn words(self) -> &'static str {
        match self {
            Self::BelowThreshold => "best score below the threshold",
            Self::NoCandidate => "no candidate",
            Self::Ambiguous => "ambiguous between candidates",
            Self::TypeClash => "the best candidate is unlike the text's other concepts",
            Self::UnlikeAnyName => "unlike any name",
            Self::EmptyMention => "empty mention after normalisation",
            Self::Reader => "marked as NIL by the user",
        }
    }
}

impl NilPolicy {
    /// Checks that the numbers of a policy that was read are finite: JSON allows numbers beyond
    /// `f32`.
    ///
    /// # Errors
    /// If a number is not finite. The message names its field.
    pub fn check(&self) -> Result<()> {
        if let Some(threshold) = self.threshold {
            check_finite("`nil.threshold`", &[threshold])?;
        }
        if let Some(probability) = &self.probability {
            probability.check()?;
        }
        for limits in &self.sets {
            limits.check()?;
        }
        let point = |CurvePoint {
                         threshold,
                         precision,
                         recall,
                     }: &CurvePoint| {
            threshold.is_finite() && precision.is_finite() && recall.is_finite()
        };
        if let Some(at) = self.curve.iter().position(|found| !point(found)) {
            return Err(Error::artifact(format!(
                "`nil.curve`: expected finite numbers, found others in the point at position {at}"
            )));
        }
        Ok(())
    }

    /// Decides on candidates in descending order of scores. A score equal to the threshold is
    /// linked.
    pub fn decide(&self, candidates: &[Candidate]) -> Decision {
        let best = candidates.first().copied();
        let value = best.map_or(f32::NEG_INFINITY, |best| best.score);
        self.decide_by(best, value, NilReason::BelowThreshold)
    }

    /// Links the best candidate if a value, such as its probability, reaches the threshold.
    /// Otherwise the mention is NIL for a reason.
    pub fn decide_by(&self, best: Option<Candidate>, value: f32, reason: NilReason) -> Decision {
        let threshold = self.threshold.unwrap_or(f32::NEG_INFINITY);
        match best {
            None => Decision::Nil {
                reason: NilReason::NoCandidate,
                best: None,
            },
            Some(best) if value >= threshold => Decision::Linked { best },
            Some(_) => Decision::Nil { reason, best },
        }
    }

    /// As [`NilPolicy::decide`], but links the best candidate at any score if `exact_match` is
    /// true: the mention is one of its names. The threshold is for mentions without such a match.
    pub fn decide_named(&self, candidates: &[Candidate], exact_match: bool) -> Decision {
        match candidates.first().copied() {
            Some(best) if exact_match => Decision::Linked { best },
            _ => self.decide(candidates),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pel_kb::ConceptId;

    #[test]
    fn scores_from_the_threshold_up_are_linked_and_exact_matches_always() {
        let policy = NilPolicy {
            threshold: Some(0.5),
            ..NilPolicy::default()
        };
        let candidate = |score| Candidate {
            concept: ConceptId(3),
            score,
        };
        assert_eq!(
            policy.decide(&[candidate(0.5)]),
            Decision::Linked {
                best: candidate(0.5)
            }
        );
        let nil = Decision::Nil {
            reason: NilReason::BelowThreshold,
            best: Some(candidate(0.49)),
        };
        assert_eq!(policy.decide(&[candidate(0.49)]), nil);
        assert_eq!(
            policy.decide(&[]),
            Decision::Nil {
                reason: NilReason::NoCandidate,
                best: None
            }
        );
        assert!(matches!(
            policy.decide(&[candidate(f32::NAN)]),
            Decision::Nil { .. }
        ));
        assert!(matches!(
            NilPolicy::default().decide(&[candidate(-9.0)]),
            Decision::Linked { .. }
        ));
        assert_eq!(
            policy.decide_named(&[candidate(0.1)], true),
            Decision::Linked {
                best: candidate(0.1)
            }
        );
        assert!(matches!(
            policy.decide_named(&[candidate(0.1)], false),
            Decision::Nil { .. }
        ));
    }
}
