//! Files, devices, the terminal and signals.

#[macro_use]
pub mod terminal;

pub mod archive;
pub mod blink;
pub mod bundles;
pub mod corpus_files;
pub mod counter;
pub mod device;
pub mod environment;
mod errors;
mod file_identity;
pub mod files;
pub mod interrupt;
pub mod json;
pub mod limits;
mod lock;
pub mod memory;
pub mod models;
mod no_follow;
pub mod outputs;
#[cfg(feature = "parquet")]
pub(crate) mod parquet;
mod partial_files;
pub mod pretrained;
pub mod progress;
pub mod provenance;
pub mod resume;
pub mod sentence_transformers;
pub mod signals;
pub mod tensors;
#[cfg(test)]
pub mod testing;
pub mod text_tables;
pub mod token_file;

pub use files::text_encoding;
