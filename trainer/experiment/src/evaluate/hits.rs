//! Right mentions by document.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The mentions of each document that a system gets right: the document's number in its split,
/// right mentions and all mentions.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hits(pub(super) Vec<[usize; 3]>);

impl Hits {
    /// Counts hits. Each comes with its document.
    pub fn new(hits: impl IntoIterator<Item = (usize, bool)>) -> Self {
        let mut documents: BTreeMap<usize, [usize; 2]> = BTreeMap::new();
        for (document, hit) in hits {
            let counts = documents.entry(document).or_default();
            counts[0] += usize::from(hit);
            counts[1] += 1;
        }
        let counts = documents
            .into_iter()
            .map(|(document, [hits, of])| [document, hits, of]);
        Self(counts.collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hits_are_counted_by_document() {
        let hits = Hits::new([(3, true), (1, false), (3, false), (3, true)]);
        assert_eq!(hits, Hits(vec![[1, 0, 1], [3, 2, 3]]));
    }
}
