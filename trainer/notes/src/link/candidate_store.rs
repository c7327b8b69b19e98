//! Where candidates are searched instead of in the bundle.

use pel_kb::ConceptId;
use pel_kb::error::Result;
use std::sync::Mutex;

/// The vectors of a bundle in another place, open for searches.
pub trait CandidateStore: Send {
    /// The concepts of the best rows of each query: at least `wanted` of them where there are as
    /// many, those of the best rows.
    ///
    /// # Shapes
    /// queries `[n, dim]` of the bundle's dimension -> n lists
    ///
    /// # Errors
    /// If the store fails.
    fn search(&mut self, queries: &[f32], wanted: usize, dim: usize)
    -> Result<Vec<Vec<ConceptId>>>;
}

/// A store that is searched by one batch of mentions at a time.
pub struct SharedStore {
    /// The open store.
    pub store: Mutex<Box<dyn CandidateStore>>,
    /// The types that concepts must have one of; any if empty.
    pub types: Vec<String>,
}
