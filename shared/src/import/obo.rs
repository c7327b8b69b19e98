//! OBO 1.2 and 1.4 ontologies: each `[Term]` stanza becomes a concept.

use super::Input;
use super::concepts::{Concepts, tidied};
use super::obo_syntax::{identifier, plain, quoted, tag_and_value};
use super::obo_types::types_of;
use super::report::Report;
use crate::error::{Error, Result};
use crate::kb::Concept;
use std::rc::Rc;

/// The reason for skipping a term that its authors have withdrawn.
pub const OBSOLETE: &str = "obsolete term";
/// The reason for skipping a line without a tag.
pub const NO_TAG: &str = "line without a colon inside a stanza";
/// The reason for skipping a synonym or definition whose quotes are missing or not closed.
pub const NOT_QUOTED: &str = "synonym or definition without its quotes";

/// How closely a synonym means its term, in the words of OBO.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// It means the same.
    Exact,
    /// It means more.
    Broad,
    /// It means less.
    Narrow,
    /// It means something near.
    Related,
}

impl Scope {
    /// Reads what follows the quoted text of a `synonym` line. OBO's default for a missing scope is `RELATED`.
    fn of(rest: &str) -> Self {
        match rest.split_whitespace().next() {
            Some("EXACT") => Self::Exact,
            Some("BROAD") => Self::Broad,
            Some("NARROW") => Self::Narrow,
            _ => Self::Related,
        }
    }

    /// The reason under which synonyms of this scope are noted when they are not wanted.
    pub fn left_out(self) -> &'static str {
        match self {
            Self::Exact => "EXACT synonym left out",
            Self::Broad => "BROAD synonym left out",
            Self::Narrow => "NARROW synonym left out",
            Self::Related => "RELATED synonym left out",
        }
    }
}

/// What the head of a file says about all its terms.
#[derive(Debug, Default)]
struct Header {
    namespace: Option<String>,
    ontology: Option<String>,
}

/// One `[Term]` stanza.
#[derive(Debug)]
pub(super) struct Term {
    pub concept: Concept,
    /// The `is_a` parents, in the order of the file.
    pub parents: Vec<String>,
    /// The term's own namespace, else the file's.
    pub namespace: Option<String>,
    /// The prefix of the id, else the name of the file's ontology.
    source: Option<String>,
    obsolete: bool,
    file: Rc<str>,
    line: usize,
}

impl Term {
    fn new(file: &Rc<str>, line: usize) -> Self {
        let (concept, file) = (Concept::default(), Rc::clone(file));
        Self { concept, parents: Vec::new(), namespace: None, source: None, obsolete: false, file, line }
    }

    fn place(&self) -> String {
        let (file, line) = (&self.file, self.line);
        format!("{file}:{line} {} {}", self.concept.id, self.concept.name).trim_end().to_owned()
    }

    /// Takes in one line of the stanza.
    fn read(&mut self, tag: &str, value: &str, scopes: &[Scope], report: &mut Report, place: impl Fn() -> String) {
        let concept = &mut self.concept;
        match tag {
            "id" if concept.id.is_empty() => concept.id = identifier(value),
            "name" if concept.name.is_empty() => concept.name = plain(value),
            "id" | "name" => report.note("a term's second id or name left out", || format!("{}: {value}", place())),
            "def" => match quoted(value) {
                Some((definition, _)) => concept.definition = Some(definition),
                None => report.skip(NOT_QUOTED, || format!("{}: {value}", place())),
            },
            "synonym" | "exact_synonym" | "broad_synonym" | "narrow_synonym" | "related_synonym" => match quoted(value)
            {
                Some((synonym, rest)) => {
                    let scope = match tag {
                        "exact_synonym" => Scope::Exact,
                        "broad_synonym" => Scope::Broad,
                        "narrow_synonym" => Scope::Narrow,
                        "related_synonym" => Scope::Related,
                        _ => Scope::of(rest),
                    };
                    if scopes.contains(&scope) {
                        concept.synonyms.push(synonym);
                    } else {
                        report.note(scope.left_out(), || format!("{}: {synonym}", place()));
                    }
                }
                None => report.skip(NOT_QUOTED, || format!("{}: {value}", place())),
            },
            // An alternative id is the same concept under the number of a term that was merged into it.
            "xref" | "xref_analog" | "xref_unk" | "alt_id" => concept.xrefs.push(identifier(value)),
            "is_a" => self.parents.push(identifier(value)),
            "namespace" => self.namespace = Some(plain(value)),
            "is_obsolete" => self.obsolete = plain(value) == "true",
            _ => {}
        }
    }
}

/// The terms of one or more files, whose types are known when all are read.
#[derive(Debug, Default)]
pub struct Ontology {
    terms: Vec<Term>,
}

impl Ontology {
    /// Reads one file's terms behind those of the files before it.
    ///
    /// # Errors
    /// If the file cannot be read, is not UTF-8, or has no `[Term]` stanza.
    pub fn read(&mut self, input: Input<'_>, scopes: &[Scope], report: &mut Report) -> Result<()> {
        read_file(input, scopes, &mut self.terms, report)
    }

    /// Makes concepts of the terms. The type of a concept is the name of the top term above it, the source is the prefix of
    /// its id (`DOID` in `DOID:4`), unless `concepts` has a type or source for all.
    ///
    /// # Errors
    /// As taking them.
    pub fn finish(self, concepts: &mut Concepts<'_>) -> Result<()> {
        finish(self.terms, concepts)
    }
}

fn finish(terms: Vec<Term>, concepts: &mut Concepts<'_>) -> Result<()> {
    let mut whole = Vec::new();
    for mut term in terms {
        let place = term.place();
        if term.obsolete {
            concepts.report.skip(OBSOLETE, || place);
            continue;
        }
        match tidied(std::mem::take(&mut term.concept), concepts.report, || place.clone()) {
            Ok(concept) => whole.push(Term { concept, ..term }),
            Err(reason) => concepts.report.skip(&format!("term with {reason}"), || place),
        }
    }
    let types = types_of(&whole);
    for (mut term, types) in whole.into_iter().zip(types) {
        let place = term.place();
        let mut concept = std::mem::take(&mut term.concept);
        if concepts.defaults.kind.is_none() {
            concept.types = types;
        }
        if concepts.defaults.source.is_none() {
            concept.sources.extend(term.source);
        }
        concepts.push(concept, || place)?;
    }
    Ok(())
}

fn read_file(mut input: Input<'_>, scopes: &[Scope], terms: &mut Vec<Term>, report: &mut Report) -> Result<()> {
    /// Where a line belongs.
    enum Stanza {
        Header,
        Term,
        Other,
    }
    let name = input.name;
    let (file, mut header, mut stanza, first) = (Rc::<str>::from(name), Header::default(), Stanza::Header, terms.len());
    input.for_each_line(|number, line| {
        let line = line.trim();
        if line.is_empty() || line.starts_with('!') {
            return Ok(());
        }
        if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.split_once(']')).map(|(name, _)| name) {
            stanza = if name == "Term" {
                terms.push(Term::new(&file, number));
                Stanza::Term
            } else {
                report.note(&format!("[{name}] stanza left out"), || format!("{name}:{number}"));
                Stanza::Other
            };
            return Ok(());
        }
        let place = || format!("{name}:{number}");
        match (tag_and_value(line), &stanza) {
            (Some(("default-namespace", value)), Stanza::Header) => header.namespace = Some(plain(value)),
            (Some(("ontology", value)), Stanza::Header) => header.ontology = Some(plain(value)),
            (Some((tag, value)), Stanza::Term) => {
                if let Some(term) = terms.last_mut() {
                    term.read(tag, value, scopes, report, place);
                }
            }
            (None, Stanza::Term) => report.skip(NO_TAG, || format!("{}: {line}", place())),
            _ => {}
        }
        Ok(())
    })?;
    let new = terms.get_mut(first..).unwrap_or_default();
    if new.is_empty() {
        return Err(Error::input(format!("{name}: expected an OBO ontology, found no [Term] stanza")));
    }
    for term in new {
        term.namespace = term.namespace.take().or_else(|| header.namespace.clone());
        let prefix = term.concept.id.split_once(':').map(|(prefix, _)| prefix.trim().to_owned());
        let prefix = prefix.filter(|prefix| !prefix.is_empty());
        term.source = prefix.or_else(|| header.ontology.clone());
    }
    Ok(())
}
