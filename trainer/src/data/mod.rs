//! What is read before anything is encoded: concept tables, corpora and their splits, spans, candidate lists; their imports,
//! exports, and what is derived from them.

pub mod candidate_lists;
pub mod concept_table;
pub mod corpus;
pub mod domain;
pub mod export;
pub mod import;
pub mod mention_domains;
pub mod resplit;
pub mod spans;
pub mod split;
