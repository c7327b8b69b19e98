//! Similarity functions of a bi-encoder, and ranked candidates. Higher is better.

use serde::{Deserialize, Serialize};

/// The similarity function s(m, e) between a mention's vector and an entity's vector.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Similarity {
    /// Cosine similarity, for the proxy-based loss (PEL, eq. 3).
    Cosine,
    /// Dot product of unnormalised vectors, for cross-entropy (BLINK; PEL, eq. 1).
    Dot,
}

/// Which representations of the two inputs are compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scorer {
    /// One vector each (BLINK, eq. 3; T-Biencoder, eq. 4).
    #[default]
    Dual,
    /// One vector per token, with Sum-of-Max similarity (T-Biencoder, eq. 5).
    SumOfMax,
}

/// A concept and its similarity to the mention.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Candidate {
    /// The concept.
    pub concept: crate::ConceptId,
    /// The similarity of the concept's most similar vector.
    pub score: f32,
}

impl Candidate {
    /// A candidate.
    pub const fn new(concept: crate::ConceptId, score: f32) -> Self {
        Self { concept, score }
    }

    /// Orders by descending score. Ties are in ascending concept order; NaN comes last.
    pub fn rank(&self, other: &Self) -> std::cmp::Ordering {
        let value = |score: f32| {
            if score.is_nan() {
                f32::NEG_INFINITY
            } else {
                score
            }
        };
        value(other.score)
            .total_cmp(&value(self.score))
            .then(self.concept.cmp(&other.concept))
    }
}
