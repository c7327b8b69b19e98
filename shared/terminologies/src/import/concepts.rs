//! The last step of all concept readers: normalises, checks and counts concepts.

pub use pel_kb::tidy::{CONTROL_IN_ID, NO_ID, NO_NAME, REPEATED, single_spaced, tidied};

use super::report::Report;
use crate::parents::Parents;
use pel_kb::Concept;
use pel_kb::error::Result;
use std::collections::HashSet;

/// The kind of record under which a report counts concepts.
pub const CONCEPTS: &str = "concepts";
/// The reason for skipping a concept whose identifier exists already.
pub const DUPLICATE: &str = "duplicate id (first one used)";

/// Default values for concepts.
#[derive(Clone, Debug, Default)]
pub struct Defaults {
    /// The source vocabulary.
    pub source: Option<String>,
    /// The semantic type.
    pub kind: Option<String>,
}

/// Receives a concept.
pub type Take<'a> = dyn FnMut(Concept) -> Result<()> + 'a;

/// Identifiers by the first 128 bits of their BLAKE3 hash. A terminology has millions, and a hash
/// takes a third of the memory of a text. Two identifiers with the same bits are not found by
/// chance or by effort.
#[derive(Clone, Debug, Default)]
pub struct Ids(HashSet<u128>);

impl Ids {
    fn hash(id: &str) -> u128 {
        let hash = blake3::hash(id.as_bytes());
        let (first, _) = hash.as_bytes().split_at(16);
        first
            .iter()
            .fold(0, |bits, byte| bits << 8 | u128::from(*byte))
    }

    /// Adds an identifier; `false` if it is there.
    pub fn insert(&mut self, id: &str) -> bool {
        self.0.insert(Self::hash(id))
    }

    /// Removes an identifier.
    pub fn remove(&mut self, id: &str) {
        self.0.remove(&Self::hash(id));
    }

    /// Whether an identifier is there.
    #[must_use]
    pub fn contains(&self, id: &str) -> bool {
        self.0.contains(&Self::hash(id))
    }
}

/// Checks, completes and counts concepts, and passes them to a receiver.
pub struct Concepts<'a> {
    take: &'a mut Take<'a>,
    seen: Ids,
    /// The values for concepts without their own.
    pub defaults: Defaults,
    /// The parents of concepts.
    pub parents: Parents,
    /// The report.
    pub report: &'a mut Report,
}

impl<'a> Concepts<'a> {
    /// `take` receives each concept.
    pub fn new(take: &'a mut Take<'a>, defaults: Defaults, report: &'a mut Report) -> Self {
        Self {
            take,
            seen: Ids::default(),
            defaults,
            parents: Parents::default(),
            report,
        }
    }

    /// Passes a tidied concept on, or skips it if its identifier exists already. `place` is its
    /// location, for the report.
    ///
    /// # Errors
    /// The errors of the receiver.
    pub fn push(&mut self, mut concept: Concept, place: impl FnOnce() -> String) -> Result<()> {
        if !self.seen.insert(&concept.id) {
            self.report
                .skip(DUPLICATE, || format!("{} at {}", concept.id, place()));
            return Ok(());
        }
        if concept.sources.is_empty()
            && let Some(source) = &self.defaults.source
        {
            concept.sources.push(source.clone());
        }
        if concept.types.is_empty()
            && let Some(kind) = &self.defaults.kind
        {
            concept.types.push(kind.clone());
        }
        self.report.keep(CONCEPTS, 1);
        self.report.keep("synonyms", concept.synonyms.len());
        self.report
            .keep("definitions", usize::from(concept.definition.is_some()));
        (self.take)(concept)
    }

    /// Whether a concept with this identifier has been passed on.
    #[must_use]
    pub fn contains(&self, id: &str) -> bool {
        self.seen.contains(id)
    }

    /// The identifiers of the concepts that have been passed on.
    #[must_use]
    pub fn into_ids(self) -> Ids {
        self.seen
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn duplicates_are_skipped_and_defaults_complete_concepts() {
        let mut read = Vec::new();
        let mut report = Report::default();
        let mut take = |concept: Concept| {
            read.push(concept);
            Ok(())
        };
        let defaults = Defaults {
            source: Some("LOCAL".into()),
            kind: Some("Disease".into()),
        };
        let mut concepts = Concepts::new(&mut take, defaults, &mut report);
        for (id, name, types) in [
            ("1", "fever", vec![]),
            ("2", "cough", vec!["Sign".to_owned()]),
            ("1", "chill", vec![]),
        ] {
            let concept = Concept {
                id: id.into(),
                name: name.into(),
                types,
                ..Concept::default()
            };
            concepts
                .push(concept, || format!("line of {name}"))
                .expect("taken");
        }
        assert_eq!(
            read.iter()
                .map(|concept| concept.name.as_str())
                .collect::<Vec<_>>(),
            ["fever", "cough"]
        );
        assert_eq!(
            [&read[0].types[0], &read[1].types[0], &read[1].sources[0]],
            ["Disease", "Sign", "LOCAL"]
        );
        assert_eq!([report.kept(CONCEPTS), report.skipped(DUPLICATE)], [2, 1]);
        assert_eq!(report.examples[DUPLICATE], ["1 at line of chill"]);
    }
}
