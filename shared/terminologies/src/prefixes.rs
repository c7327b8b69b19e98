//! Prefixes of identifiers, found by the IRIs that they stand for.

use std::collections::{BTreeSet, HashMap};

/// The prefixes of a document by their IRIs. The time of a search depends on the IRI alone, not on
/// the number of prefixes.
#[derive(Debug, Default)]
pub(super) struct Prefixes {
    by_iri: HashMap<String, String>,
    /// The lengths of the IRIs in bytes.
    lengths: BTreeSet<usize>,
}

impl Prefixes {
    /// Adds a prefix. A later prefix of the same IRI takes its place.
    pub fn add(&mut self, prefix: &str, iri: &str) {
        self.lengths.insert(iri.len());
        self.by_iri.insert(iri.to_owned(), prefix.to_owned());
    }

    /// The prefixes whose IRI an IRI begins with, each with the rest of it; the longest IRI first.
    pub fn of<'a>(&'a self, iri: &'a str) -> impl Iterator<Item = (&'a str, &'a str)> {
        self.lengths
            .range(..=iri.len())
            .rev()
            .filter_map(move |length| {
                let (base, local) = iri.split_at_checked(*length)?;
                Some((self.by_iri.get(base)?.as_str(), local))
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn longest_iri_is_first_and_a_later_prefix_takes_its_place() {
        let mut prefixes = Prefixes::default();
        for (prefix, iri) in [
            ("a", "http://a/"),
            ("ab", "http://a/b_"),
            ("other", "http://other/"),
            ("latest", "http://a/"),
        ] {
            prefixes.add(prefix, iri);
        }
        let found = |iri| prefixes.of(iri).collect::<Vec<_>>();
        assert_eq!(found("http://a/b_1"), [("ab", "1"), ("latest", "b_1")]);
        assert_eq!(found("http://a/"), [("latest", "")]);
        assert_eq!(found("http://b/1"), []);
        assert_eq!(found("http://a\u{e9}/1"), []);
    }
}
