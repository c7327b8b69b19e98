//! Lexical candidate generators, the baselines without an encoder: exact names, BM25, character
//! TF-IDF and the majority concept of a surface form. A query is a mention's surface form, without
//! its context.
//!
//! Each returns [`Ranked`].

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

/// Concepts with scores in descending order. Each concept occurs once; ties are in concept order.
pub type Ranked = Vec<(ConceptId, f32)>;
