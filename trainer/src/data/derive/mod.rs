//! `pel split okb`: the out-of-knowledge-base data set of the PEL paper (section 5.1, appendix D), from a corpus whose
//! concepts have semantic types. The concepts of some types leave the knowledge base; their mentions become NIL.
//! `pel split domains`: splits that share no domain.

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

/// What stands before the concept of a held-out mention. No knowledge base has such an identifier, so the mention is NIL
/// to whoever reads the corpus, and can still be told from a natural NIL.
pub const NIL_LABEL: &str = "NIL:";

/// The concept that a mention had before it was held out; `None` for every other label.
pub fn held_out(id: &str) -> Option<&str> {
    id.strip_prefix(NIL_LABEL)
}
