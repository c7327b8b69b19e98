//! Concept tables, corpora and their splits, spans and candidate lists, with imports, exports and
//! derived splits.

pub mod additions;
pub mod candidate_lists;
pub mod concept_table;
pub mod corpus;
pub mod domain;
pub mod export;
mod external_sort;
pub mod import;
pub mod import_host;
pub mod kb_versions;
pub mod mention_domains;
pub mod recognise;
pub mod redirects;
pub mod release_files;
pub mod resplit;
pub mod spans;
pub mod split;
pub mod terminologies;
pub(crate) mod xml_encoding;
