//! Merging of rows with the same identifier into one concept.

use super::concepts::Concepts;
use super::report::Report;
use pel_kb::Concept;
use pel_kb::error::Result;
use std::collections::HashMap;
use std::rc::Rc;

/// The note on a row with an identifier of an earlier row: it is merged into that concept.
pub const JOINED: &str = "row with a repeated id (merged into the first)";
/// The note on a further definition of a concept.
pub const OTHER_DEFINITION: &str = "further definition of a concept left out (first one used)";

/// The concepts of one or more tables, in the order of their first rows.
#[derive(Debug, Default)]
pub struct ConceptTable {
    entries: Vec<Entry>,
    by_id: HashMap<String, usize>,
}

#[derive(Debug)]
struct Entry {
    concept: Concept,
    /// Whether a row marked its name as the preferred one.
    preferred: bool,
    file: Rc<str>,
    line: usize,
}

impl ConceptTable {
    /// Adds a row. The concept's name is the first one marked as preferred, else the first one.
    pub fn add(
        &mut self,
        concept: Concept,
        preferred: bool,
        (file, line): (&Rc<str>, usize),
        report: &mut Report,
    ) {
        let Some(entry) = self
            .by_id
            .get(&concept.id)
            .and_then(|at| self.entries.get_mut(*at))
        else {
            self.by_id.insert(concept.id.clone(), self.entries.len());
            self.entries.push(Entry {
                concept,
                preferred,
                file: Rc::clone(file),
                line,
            });
            return;
        };
        report.note(JOINED, || {
            format!("{} {} at {file}:{line}", concept.id, concept.name)
        });
        let mut name = concept.name.clone();
        if preferred && !entry.preferred {
            entry.preferred = true;
            std::mem::swap(&mut entry.concept.name, &mut name);
        }
        if join(&mut entry.concept, Concept { name, ..concept }) {
            report.note(OTHER_DEFINITION, || {
                format!("{} at {file}:{line}", entry.concept.id)
            });
        }
    }

    /// The name, file and line of the first row with an identifier.
    pub(super) fn first_row(&self, id: &str) -> Option<(&str, &str, usize)> {
        let entry = self.entries.get(*self.by_id.get(id)?)?;
        Some((entry.concept.name.as_str(), &*entry.file, entry.line))
    }

    /// Passes the concepts to `concepts`.
    ///
    /// # Errors
    /// The errors of [`Concepts::push`].
    pub fn finish(self, concepts: &mut Concepts<'_>) -> Result<()> {
        for Entry {
            concept,
            file,
            line,
            ..
        } in self.entries
        {
            let place = || format!("{file}:{line}");
            match super::concepts::tidied(concept, concepts.report, place) {
                Ok(concept) => concepts.push(concept, place)?,
                Err(reason) => concepts.report.skip(reason, place),
            }
        }
        Ok(())
    }
}

/// Merges a record into a concept; its name becomes a synonym. Returns whether it has a different
/// definition. [`tidied`](super::concepts::tidied) removes duplicates later.
pub fn join(concept: &mut Concept, other: Concept) -> bool {
    if other.name != concept.name && !other.name.is_empty() {
        if concept.name.is_empty() {
            concept.name = other.name;
        } else {
            concept.synonyms.push(other.name);
        }
    }
    concept.synonyms.extend(other.synonyms);
    concept.types.extend(other.types);
    concept.type_ids.extend(other.type_ids);
    concept.xrefs.extend(other.xrefs);
    concept.sources.extend(other.sources);
    match (&concept.definition, other.definition) {
        (None, definition) => {
            concept.definition = definition;
            false
        }
        (Some(first), Some(second)) => *first != second,
        (Some(_), None) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::import::concepts::{CONCEPTS, Defaults, REPEATED};

    fn row(id: &str, name: &str, types: &str, definition: Option<&str>) -> Concept {
        Concept {
            id: id.into(),
            name: name.into(),
            types: vec![types.into()],
            definition: definition.map(str::to_owned),
            ..Concept::default()
        }
    }

    #[test]
    fn rows_with_the_same_identifier_become_one_concept() {
        let mut table = ConceptTable::default();
        let mut report = Report::default();
        let file = Rc::<str>::from("a.csv");
        let rows = [
            (row("C1", "failure", "Sign", None), false),
            (row("C2", "tick fever", "Disease", Some("a fever")), false),
            (
                row("C1", "renal failure", "Disease", Some("no urine")),
                false,
            ),
            (row("C1", "kidney failure", "Disease", Some("other")), true),
            (row("C1", "RF", "Disease", None), true),
            (row("C1", "RF", "Disease", None), false),
        ];
        for (line, (row, preferred)) in rows.into_iter().enumerate() {
            table.add(row, preferred, (&file, line + 2), &mut report);
        }
        let mut read = Vec::new();
        let mut take = |concept| {
            read.push(concept);
            Ok(())
        };
        table
            .finish(&mut Concepts::new(
                &mut take,
                Defaults::default(),
                &mut report,
            ))
            .expect("taken");
        assert_eq!(
            read.iter()
                .map(|concept| concept.id.as_str())
                .collect::<Vec<_>>(),
            ["C1", "C2"]
        );
        // The first preferred name comes first; the others are in the order of their rows.
        assert_eq!(read[0].name, "kidney failure");
        assert_eq!(read[0].synonyms, ["renal failure", "failure", "RF"]);
        assert_eq!(read[0].types, ["Sign", "Disease"]);
        assert_eq!(read[0].definition.as_deref(), Some("no urine"));
        assert_eq!(
            [
                report.kept(CONCEPTS),
                report.noted[JOINED],
                report.noted[OTHER_DEFINITION]
            ],
            [2, 4, 1]
        );
        assert_eq!(report.noted[REPEATED], 1);
        assert_eq!(report.examples[JOINED][0], "C1 renal failure at a.csv:4");
    }
}
