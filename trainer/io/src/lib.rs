//! Files, devices, the terminal and signals.

#[macro_use]
pub mod terminal;

pub mod archive;
pub mod corpus_files;
pub mod counter;
pub mod environment;
mod errors;
mod file_identity;
pub mod files;
pub mod interrupt;
pub mod json;
pub mod limits;
mod lock;
mod no_follow;
pub mod outputs;
#[cfg(feature = "parquet")]
pub mod parquet;
pub mod partial_files;
pub mod progress;
pub mod provenance;
pub mod resume;
pub mod signals;
#[cfg(any(test, feature = "testing"))]
#[doc(hidden)]
pub mod testing;
pub mod text_tables;

pub use files::text_encoding;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
