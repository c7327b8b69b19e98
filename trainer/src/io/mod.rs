//! Files, devices, the terminal and signals.

#[macro_use]
pub mod terminal;

pub mod archive;
pub mod bundles;
pub mod corpus_files;
pub mod counter;
pub mod device;
pub mod environment;
pub mod files;
pub mod interrupt;
pub mod json;
pub mod limits;
pub mod memory;
pub mod models;
pub mod outputs;
#[cfg(feature = "parquet")]
pub(crate) mod parquet;
pub mod pretrained;
pub mod progress;
pub mod provenance;
pub mod resume;
pub mod sentence_transformers;
pub mod signals;
pub mod tensors;
#[cfg(test)]
pub mod testing;
pub mod text_encoding;
pub mod text_tables;
pub mod token_file;
