//! A term of an ontology, and the lines of its stanza.

use super::obo_synonyms::{Synonym, SynonymChoice, SynonymTypes};
use super::obo_syntax::{identifier, plain, quoted_line, unquoted_line};
use super::report::Report;
use pel_kb::Concept;
use std::rc::Rc;

/// The reason for skipping a synonym or definition with an unclosed quote.
pub const NOT_QUOTED: &str = "synonym or definition with an unclosed quote";
/// The note on a synonym or definition with missing or unescaped quotes, which is read as a whole.
pub const MENDED_QUOTES: &str =
    "missing or unescaped quotes in a synonym or definition (read as a whole)";
/// The note on a value of `is_obsolete` that is not a truth value.
pub const ODD_OBSOLETE: &str = "is_obsolete is neither true nor false (read as false)";

/// The header of a file, which applies to all its terms.
#[derive(Debug, Default)]
pub(super) struct Header {
    pub namespace: Option<String>,
    pub ontology: Option<String>,
    pub synonym_types: SynonymTypes,
}

/// A `[Term]` stanza.
#[derive(Debug)]
pub(super) struct Term {
    pub concept: Concept,
    /// The identifiers of the `is_a` parents, in file order.
    pub parents: Vec<String>,
    /// The term's namespace, else the default namespace of the file.
    pub namespace: Option<String>,
    /// The prefix of the identifier, else the file's ontology.
    pub source: Option<String>,
    pub obsolete: bool,
    /// The identifiers of terms that were merged into this one.
    pub alternatives: Vec<String>,
    /// The terms that replace this obsolete one.
    pub replaced_by: Vec<String>,
    pub file: Rc<str>,
    pub line: usize,
}

impl Term {
    pub fn new(file: &Rc<str>, line: usize) -> Self {
        Self {
            concept: Concept::default(),
            parents: Vec::new(),
            namespace: None,
            source: None,
            obsolete: false,
            alternatives: Vec::new(),
            replaced_by: Vec::new(),
            file: Rc::clone(file),
            line,
        }
    }

    /// The file, line, identifier and name, for a report.
    pub fn place(&self) -> String {
        let file = &self.file;
        let line = self.line;
        format!("{file}:{line} {} {}", self.concept.id, self.concept.name)
            .trim_end()
            .to_owned()
    }

    /// Reads one line of the stanza.
    pub fn read(
        &mut self,
        (tag, value): (&str, &str),
        reading: &Reading<'_>,
        report: &mut Report,
        place: &dyn Fn() -> String,
    ) {
        let concept = &mut self.concept;
        let example = || format!("{}: {value}", place());
        match tag {
            "id" if concept.id.is_empty() => concept.id = identifier(value),
            "name" if concept.name.is_empty() => concept.name = plain(value),
            "id" | "name" => report.note("repeated id or name of a term left out", example),
            "def" => match quoted_line(value).or_else(|| unquoted_line(value)) {
                Some(definition) => {
                    if definition.repaired {
                        report.note(MENDED_QUOTES, example);
                    }
                    concept.definition = Some(definition.text);
                }
                None => report.skip(NOT_QUOTED, example),
            },
            "synonym" | "exact_synonym" | "broad_synonym" | "narrow_synonym"
            | "related_synonym" => {
                let Some(synonym) = Synonym::read(tag, value, &reading.header.synonym_types) else {
                    return report.skip(NOT_QUOTED, example);
                };
                match synonym.refused(reading.choice) {
                    Some(reason) => {
                        report.note(&reason, || format!("{}: {}", place(), synonym.text))
                    }
                    None => {
                        if synonym.repaired {
                            report.note(MENDED_QUOTES, example);
                        }
                        concept.synonyms.push(synonym.text);
                    }
                }
            }
            "xref" | "xref_analog" | "xref_unk" => concept.xrefs.push(identifier(value)),
            "alt_id" => {
                let id = identifier(value);
                self.alternatives.push(id.clone());
                concept.xrefs.push(id);
            }
            "replaced_by" => self.replaced_by.push(identifier(value)),
            "is_a" => self.parents.push(identifier(value)),
            "namespace" => self.namespace = Some(plain(value)),
            "is_obsolete" => match plain(value).to_lowercase().as_str() {
                "true" | "1" | "yes" | "t" | "y" => self.obsolete = true,
                "false" | "0" | "no" | "f" | "n" | "" => {}
                _ => report.note(ODD_OBSOLETE, example),
            },
            _ => {}
        }
    }
}

/// The context in which the lines of a term are read.
pub(super) struct Reading<'a> {
    pub header: Header,
    pub choice: &'a SynonymChoice,
}
