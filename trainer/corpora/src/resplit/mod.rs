//! `pel split`: makes corpora with other splits.
//!
//! `okb` makes the out-of-knowledge-base data set of the PEL paper (section 5.1, appendix D):
//! concepts of some semantic types are removed from the knowledge base, and their mentions become
//! NIL. `domains` makes splits without common domains.

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
pub use statistics::{
    Lengths, Overlap, OverlapOf, SplitStatistics, Statistics, Subset, TypeStatistics,
};
pub use suggest::{Suggestion, TypeCounts, suggest};
pub use types::{SemanticType, Types};
