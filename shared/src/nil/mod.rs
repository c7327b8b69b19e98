//! NIL: the knowledge base has no concept for a mention. An answer, not an absence.

mod lift;
mod logistic;

pub use lift::{Lift, Signs};

use crate::error::{Error, Result};
use crate::metrics::CurvePoint;
use crate::numbers::check_finite;
use crate::score::Candidate;
use serde::{Deserialize, Serialize};

/// When a mention is linked; it travels in the bundle beside the encoder that it was calibrated for.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct NilPolicy {
    /// The lowest top score that is linked, on the index's own scale; without one, every mention with a candidate is.
    pub threshold: Option<f32>,
    /// What is added to the top score before it is compared; without it, as in the papers, the score stands alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lift: Option<Lift>,
    /// What the threshold was chosen on, in words.
    pub calibrated_on: Option<String>,
    /// Precision and recall of NIL there by threshold, thinned, recall rising; empty if it was not chosen so.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub curve: Vec<CurvePoint>,
}

/// What becomes of a mention.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Decision {
    /// The mention means this concept.
    Linked {
        /// The best candidate.
        best: Candidate,
    },
    /// The knowledge base has no concept for the mention.
    Nil {
        /// Why.
        reason: NilReason,
        /// The best rejected candidate.
        best: Option<Candidate>,
    },
}

/// Why a mention is NIL.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NilReason {
    /// The best score lies under the policy's threshold.
    BelowThreshold,
    /// The index returned nothing.
    NoCandidate,
    /// Nothing was left of the mention after normalising.
    EmptyMention,
    /// A reader has said so.
    Reader,
}

impl NilReason {
    /// The reason as a reader would say it.
    pub fn words(self) -> &'static str {
        match self {
            Self::BelowThreshold => "best score below the threshold",
            Self::NoCandidate => "no candidate",
            Self::EmptyMention => "nothing left after normalising",
            Self::Reader => "a reader's decision",
        }
    }
}

impl NilPolicy {
    /// Checks the numbers of a policy that was read: JSON has larger ones than fit.
    ///
    /// # Errors
    /// If one is infinite; its field is named.
    pub fn check(&self) -> Result<()> {
        if let Some(threshold) = self.threshold {
            check_finite("`nil.threshold`", &[threshold])?;
        }
        if let Some(Lift { margin, brief, overlap, named, direction, base }) = &self.lift {
            check_finite("`nil.lift`", &[*margin, *brief, *overlap, *named, *base])?;
            check_finite("`nil.lift.direction`", direction)?;
        }
        let point = |CurvePoint { threshold, precision, recall }: &CurvePoint| {
            threshold.is_finite() && precision.is_finite() && recall.is_finite()
        };
        match self.curve.iter().position(|found| !point(found)) {
            None => Ok(()),
            Some(at) => {
                Err(Error::artifact(format!("`nil.curve`: expected finite numbers in the point {at}, found others")))
            }
        }
    }

    /// Decides on candidates that are sorted best first, where `lift` is added to the best score. A sum equal to the threshold is
    /// linked.
    pub fn decide(&self, candidates: &[Candidate], lift: f32) -> Decision {
        let threshold = self.threshold.unwrap_or(f32::NEG_INFINITY);
        match candidates.first().copied() {
            None => Decision::Nil { reason: NilReason::NoCandidate, best: None },
            Some(best) if best.score + lift >= threshold => Decision::Linked { best },
            Some(best) => Decision::Nil { reason: NilReason::BelowThreshold, best: Some(best) },
        }
    }

    /// As [`NilPolicy::decide`], but the best candidate is linked at any score if the mention is one of its names (`named`): a
    /// threshold tells unknown words from known ones, and this one is known.
    pub fn decide_named(&self, candidates: &[Candidate], lift: f32, named: bool) -> Decision {
        match candidates.first().copied() {
            Some(best) if named => Decision::Linked { best },
            _ => self.decide(candidates, lift),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kb::ConceptId;

    #[test]
    fn a_mention_is_linked_from_the_threshold_on() {
        let policy = NilPolicy { threshold: Some(0.5), ..NilPolicy::default() };
        let candidate = |score| Candidate { concept: ConceptId(3), score };
        assert_eq!(policy.decide(&[candidate(0.5)], 0.0), Decision::Linked { best: candidate(0.5) });
        let nil = Decision::Nil { reason: NilReason::BelowThreshold, best: Some(candidate(0.49)) };
        assert_eq!(policy.decide(&[candidate(0.49)], 0.0), nil);
        assert_eq!(policy.decide(&[], 0.0), Decision::Nil { reason: NilReason::NoCandidate, best: None });
        assert!(matches!(policy.decide(&[candidate(f32::NAN)], 0.0), Decision::Nil { .. }));
        assert!(matches!(NilPolicy::default().decide(&[candidate(-9.0)], 0.0), Decision::Linked { .. }));
        assert_eq!(policy.decide(&[candidate(0.375)], 0.125), Decision::Linked { best: candidate(0.375) });
        assert!(matches!(policy.decide(&[candidate(0.5)], -0.125), Decision::Nil { .. }));
        assert_eq!(policy.decide_named(&[candidate(0.1)], 0.0, true), Decision::Linked { best: candidate(0.1) });
        assert!(matches!(policy.decide_named(&[candidate(0.1)], 0.0, false), Decision::Nil { .. }));
    }
}
