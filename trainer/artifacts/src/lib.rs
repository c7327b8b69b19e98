//! What a program writes and reads again: bundles, models, checkpoints of others, concept tables; and the device that computes.

pub mod additions;
pub mod blink;
pub mod bundles;
pub mod codes;
pub mod concept_table;
pub mod device;
pub mod kb_versions;
pub mod memory;
pub mod models;
pub mod pretrained;
pub mod redirects;
pub mod sentence_transformers;
pub mod tensors;
pub mod token_file;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
