//! Concepts that a search outside the bundle proposes.

use pel_kb::ConceptId;

/// The concepts that a search elsewhere found for each sequence, for example in a database of the
/// bundle's vectors. Only the concepts come from outside: the bundle computes every score, so
/// thresholds hold.
#[derive(Clone, Debug, Default)]
pub struct Proposals {
    /// `[sequences]`: concepts in any order. Equal ones count once; one without a row is ignored.
    pub concepts: Vec<Vec<ConceptId>>,
    /// The types that candidates must have one of, also those named like a mention. Empty: any.
    pub types: Vec<String>,
}
