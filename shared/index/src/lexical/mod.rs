//! Lexical candidate generators, the baselines without an encoder: exact names, BM25, character
//! TF-IDF and the majority concept of a surface form. A query is a mention's surface form, without
//! its context.
//!
//! Each returns candidates in descending order of scores. A concept occurs once; ties are in
//! concept order.

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
