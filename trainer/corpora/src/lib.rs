//! Concept tables, corpora and their splits, spans and candidate lists, with imports, exports and
//! derived splits.

pub mod candidate_lists;
pub mod corpus;
pub mod domain;
pub mod export;
pub mod external_sort;
pub mod import;
pub mod import_host;
pub mod indexing;
pub mod mention_domains;
pub mod recognise;
pub mod release_files;
pub mod resplit;
pub mod retrieve;
pub mod spans;
pub mod split;
pub mod xml_encoding;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
