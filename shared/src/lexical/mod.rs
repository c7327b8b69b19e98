//! Candidates by the letters alone: the baselines without a model. A query is a mention's surface; its context is unused.
//!
//! Each answers with [`Ranked`]: best first, every concept once, equal scores in concept order.

mod bm25;
mod majority;
mod names;
mod postings;
mod spelling;
mod tfidf;

pub use bm25::{Bm25, Bm25Config};
pub use majority::MajoritySurface;
pub use names::{ExactNames, Normal};
pub use postings::Scratch;
pub use spelling::Spelling;
pub use tfidf::CharTfidf;

use crate::kb::ConceptId;

/// Concepts with their scores (higher is better), best first, every concept once, ties in concept order.
pub type Ranked = Vec<(ConceptId, f32)>;
