//! Replaces `postgres` in a build without the cargo feature `stores`.

use super::{BUILD_HINT, ConnectionArgs, ExportArgs, SearchArgs, Written};
use crate::link::candidate_store::CandidateStore;
use pel_kb::ConceptId;
use pel_kb::error::{Error, Result};
use pel_linker::bundle::Bundle;

/// A store, which this build cannot open.
pub struct VectorStore(std::convert::Infallible);

impl VectorStore {
    /// Refuses: this build knows no database.
    ///
    /// # Errors
    /// Always.
    pub fn open(_: &Bundle, _: &str, _: &ConnectionArgs, _: &SearchArgs) -> Result<Self> {
        Err(no_database())
    }
}

impl CandidateStore for VectorStore {
    /// Never called.
    fn search(&mut self, _: &[f32], _: usize, _: usize) -> Result<Vec<Vec<ConceptId>>> {
        match self.0 {}
    }
}

/// Refuses: this build knows no database.
///
/// # Errors
/// Always.
pub fn export(_: &Bundle, _: &str, _: &ConnectionArgs, _: &ExportArgs) -> Result<Written> {
    Err(no_database())
}

fn no_database() -> Error {
    Error::usage(format!(
        "this build of pel connects to no database; {BUILD_HINT}"
    ))
}
