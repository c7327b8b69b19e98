//! PEL: entity linking against a knowledge base, pure and synchronous, the same natively and in wasm.
//!
//! The rooms and who uses whom are in DESIGN.md; here they stand by name.

pub mod abbreviations;
#[cfg(feature = "autodiff")]
pub mod adversary;
pub mod bert;
pub mod biencoder;
pub mod bundle;
pub mod clean;
pub mod concepts;
pub mod container;
pub mod cpu;
pub mod detect;
pub mod encoder;
pub mod error;
pub mod import;
pub mod index;
pub mod kb;
pub mod kernels;
pub mod lexical;
pub mod linker;
pub mod loss;
pub mod metrics;
pub mod nil;
mod numbers;
pub mod ranker;
pub mod report;
pub mod score;
pub mod sum_of_max;
pub mod text;
pub mod tokens;
#[cfg(feature = "autodiff")]
pub mod transformation;
