//! Makes data sets with other splits from a corpus, for `pel split`.
//!
//! `okb`: the out-of-knowledge-base data set of the PEL paper (section 5.1, appendix D), from a corpus whose
//! concepts have semantic types. The concepts of some types leave the knowledge base; their mentions become NIL.
//! `domains`: splits that share no domain.

mod domains;
mod material;
mod okb;
mod report;
mod statistics;
mod suggest;
#[cfg(test)]
mod tests;
mod types;

pub use domains::{HELD_OUT, Worlds, WorldsReport, by_domain};
pub use material::{Material, SplitMentions};
pub use okb::{Okb, OkbReport, hold_out};
pub use statistics::{Lengths, Overlap, OverlapOf, SplitStatistics, Statistics, Subset, TypeStatistics};
pub use suggest::{Suggestion, TypeCounts, suggest};
pub use types::{SemanticType, Types};
