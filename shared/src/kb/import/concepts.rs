//! The last step of all concept readers: normalises, checks and counts concepts.

use super::report::Report;
use crate::clean::breaks_line;
use crate::error::Result;
use crate::kb::Concept;
use std::collections::HashSet;

/// The kind of record under which a report counts concepts.
pub const CONCEPTS: &str = "concepts";
/// The note on a synonym that a concept has twice.
pub const REPEATED: &str = "repeated or blank synonym left out";
/// The reason for skipping a concept whose identifier exists already.
pub const DUPLICATE: &str = "duplicate id (first one used)";
/// The reason for skipping a concept without an identifier.
pub const NO_ID: &str = "no id";
/// The reason for skipping a concept whose identifier has a control character, such as a line end.
pub const CONTROL_IN_ID: &str = "id with a control character";
/// The reason for skipping a concept without a name.
pub const NO_NAME: &str = "no name";

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

/// Trims the texts of a concept, collapses whitespace, and removes blank and repeated values.
/// `place` is its location, for the report.
///
/// # Errors
/// The reason why it is invalid: [`NO_ID`], [`CONTROL_IN_ID`] or [`NO_NAME`].
pub fn tidied(
    mut concept: Concept,
    report: &mut Report,
    place: impl Fn() -> String,
) -> std::result::Result<Concept, &'static str> {
    concept.id = concept.id.trim().to_owned();
    concept.name = single_spaced(&concept.name);
    if concept.id.is_empty() {
        return Err(NO_ID);
    }
    // A line break could forge a line of BRAT or PubTator; an escape sequence could control a
    // terminal.
    if concept.id.contains(breaks_line) {
        return Err(CONTROL_IN_ID);
    }
    if concept.name.is_empty() {
        return Err(NO_NAME);
    }
    for list in [
        &mut concept.types,
        &mut concept.type_ids,
        &mut concept.xrefs,
        &mut concept.sources,
    ] {
        once_each(list, None, |_| {});
    }
    once_each(&mut concept.synonyms, Some(&concept.name), |name| {
        report.note(REPEATED, || {
            format!("{name:?} of {} at {}", concept.id, place())
        });
    });
    concept.definition = concept
        .definition
        .map(|definition| single_spaced(&definition))
        .filter(|definition| !definition.is_empty());
    Ok(concept)
}

/// Collapses whitespace to single spaces and trims.
pub fn single_spaced(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Collapses whitespace, and removes texts that are blank, repeated, or equal to `but`.
pub(super) fn once_each(texts: &mut Vec<String>, but: Option<&str>, mut dropped: impl FnMut(&str)) {
    let mut seen = HashSet::new();
    *texts = std::mem::take(texts)
        .into_iter()
        .map(|text| single_spaced(&text))
        .filter(|text| {
            let kept = !text.is_empty() && Some(text.as_str()) != but && seen.insert(text.clone());
            if !kept {
                dropped(text);
            }
            kept
        })
        .collect();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tidied_normalises_texts_and_requires_id_and_name() {
        let mut report = Report::default();
        let messy = Concept {
            id: " D1 ".into(),
            name: "common\n cold".into(),
            synonyms: vec![
                "cold ".into(),
                " ".into(),
                "common cold".into(),
                "cold".into(),
                "Cold".into(),
            ],
            definition: Some(" \t".into()),
            ..Concept::default()
        };
        let concept =
            tidied(messy, &mut report, || "line 7".into()).expect("it has an id and a name");
        assert_eq!(
            [concept.id.as_str(), concept.name.as_str()],
            ["D1", "common cold"]
        );
        assert_eq!(concept.synonyms, ["cold", "Cold"]);
        assert_eq!(concept.definition, None);
        assert_eq!(report.noted[REPEATED], 3);
        assert_eq!(
            report.examples[REPEATED][1],
            "\"common cold\" of D1 at line 7"
        );
        let mut reason = |id: &str, name: &str| {
            let concept = Concept {
                id: id.into(),
                name: name.into(),
                ..Concept::default()
            };
            tidied(concept, &mut report, String::new).expect_err("incomplete")
        };
        assert_eq!(reason("D1", " "), NO_NAME);
        assert_eq!(reason("", "cold"), NO_ID);
        for forged in [
            "D1\nT9\tSign 0 3\tfev",
            "D1\u{1b}[2J",
            "D\u{9b}1",
            "D\u{202e}1",
            "D\u{2028}1",
        ] {
            assert_eq!(reason(forged, "cold"), CONTROL_IN_ID, "{forged:?}");
        }
    }

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
