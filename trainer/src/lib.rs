//! The native side of PEL: files, devices, commands. Every computation on text, vectors or decisions is in `pel-shared`.

#[macro_use]
pub mod terminal;

pub mod bundles;
pub mod candidates;
pub mod commands;
pub mod compact;
pub mod corpus;
pub mod corpus_formats;
pub mod device;
pub mod environment;
pub mod evaluate;
pub mod experiment;
pub mod files;
pub mod import;
pub mod indexing;
pub mod interrupt;
pub mod kb_file;
pub mod limits;
pub mod memory;
pub mod outputs;
pub mod plots;
pub mod progress;
pub mod render;
pub mod rerank;
pub mod signals;
pub mod spans;
pub mod split;
pub mod staging;
pub mod tables;
pub mod tensors;
pub mod text_encoding;
pub mod train;
pub mod work;
pub mod writing;
