//! How a mention's vector and an entity's are compared; higher is better.

use serde::{Deserialize, Serialize};

/// The similarity s(m, e) of the papers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Score {
    /// The dot product of vectors of unit length; goes with the proxy-based loss (PEL, eq. 3).
    Cosine,
    /// The dot product of raw vectors; goes with cross-entropy (BLINK, PEL eq. 1).
    Dot,
}

/// What of two inputs is compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scorer {
    /// One vector of each (BLINK, eq. 3; T-Biencoder, eq. 4).
    #[default]
    Dual,
    /// The vectors of all tokens: Sum-of-Max (T-Biencoder, eq. 5).
    SumOfMax,
}

/// A concept with the score of its best vector.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Candidate {
    /// The concept.
    pub concept: crate::kb::ConceptId,
    /// Its similarity to the mention.
    pub score: f32,
}

impl Candidate {
    /// Best first; equal scores in concept order; not-a-number last.
    pub fn rank(&self, other: &Self) -> std::cmp::Ordering {
        let value = |score: f32| if score.is_nan() { f32::NEG_INFINITY } else { score };
        value(other.score).total_cmp(&value(self.score)).then(self.concept.cmp(&other.concept))
    }
}
