//! PEL: entity linking against a knowledge base, pure and synchronous, the same natively and in wasm.
//!
//! The rooms and who uses whom are in DESIGN.md; here they stand by name.

pub mod bundle;
pub mod clean;
pub mod container;
pub mod digest;
pub mod error;
pub mod index;
pub mod kb;
pub mod kernels;
pub mod lexical;
pub mod linker;
pub mod losses;
pub mod metrics;
pub mod model;
pub mod nil;
pub mod numbers;
pub mod output;
pub mod score;
pub mod text;
pub mod tokens;
