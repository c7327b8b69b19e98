//! OBO 1.2 and 1.4 ontologies: each `[Term]` stanza is a concept.

use super::concepts::{Concepts, tidied};
use super::hierarchy::{About, Relatives, Roots};
use super::merging::{JOINED, OTHER_DEFINITION, join};
pub use super::obo_synonyms::{Scope, SynonymChoice, last_part, withdraws};
use super::obo_syntax::{plain, tag_and_value};
use super::obo_term::{Header, Reading, Term};
pub use super::obo_term::{MENDED_QUOTES, NOT_QUOTED, ODD_OBSOLETE};
use super::report::Report;
use super::{Input, Longest};
use crate::parents::Place;
use pel_kb::error::{Error, Result};
use pel_kb::tidy::once_each;
use std::collections::HashMap;
use std::rc::Rc;

/// The reason for skipping an obsolete term.
pub const OBSOLETE: &str = "obsolete term";
/// The reason for skipping a line without a tag.
pub const NO_TAG: &str = "line without a colon inside a stanza";

/// An identifier that is no longer in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retired<'a> {
    /// The identifier.
    pub id: &'a str,
    /// The term that took its place, if there is exactly one.
    pub successor: Option<&'a str>,
    /// Whether it was merged into its successor.
    pub merged: bool,
}

/// The terms of one or more files. Their types are determined after all files are read.
#[derive(Debug, Default)]
pub struct Ontology {
    terms: Vec<Term>,
}

impl Ontology {
    /// Reads the terms of a file.
    ///
    /// # Errors
    /// If the file cannot be read, is not UTF-8, or has no `[Term]` stanza.
    pub fn read(
        &mut self,
        input: Input<'_>,
        choice: &SynonymChoice,
        report: &mut Report,
    ) -> Result<()> {
        read_file(input, choice, &mut self.terms, report)
    }

    /// The identifiers that are no longer in use: those of obsolete terms, and alternative ones
    /// (`alt_id`).
    pub fn retired(&self) -> impl Iterator<Item = Retired<'_>> {
        self.terms.iter().flat_map(|term| {
            let own = term.concept.id.as_str();
            let successor = match &term.replaced_by[..] {
                [one] => Some(one.as_str()),
                _ => None,
            };
            let obsolete = term.obsolete.then_some(Retired {
                id: own,
                successor,
                merged: false,
            });
            let alternatives = term.alternatives.iter().map(move |id| Retired {
                id,
                successor: Some(own),
                merged: true,
            });
            obsolete
                .into_iter()
                .chain(alternatives)
                .filter(|retired| !retired.id.is_empty())
        })
    }

    /// Makes concepts of the terms. Stanzas with the same identifier are one term, also across
    /// files. A concept's type is the name of its root ancestor, or of the ancestor below a generic
    /// root ("All"). Its source is the prefix of its identifier (`DOID` in `DOID:4`). Defaults in
    /// `concepts` replace both.
    ///
    /// # Errors
    /// The errors of [`Concepts::push`].
    pub fn finish(self, concepts: &mut Concepts<'_>) -> Result<()> {
        finish(self.terms, concepts)
    }
}

fn finish(terms: Vec<Term>, concepts: &mut Concepts<'_>) -> Result<()> {
    let mut valid = Vec::new();
    for mut term in joined(terms, concepts.report) {
        let place = term.place();
        match tidied(std::mem::take(&mut term.concept), concepts.report, || {
            place.clone()
        }) {
            Ok(concept) => valid.push(Term { concept, ..term }),
            Err(reason) => concepts
                .report
                .skip(&format!("term with {reason}"), || place),
        }
    }
    let types = types_of(&valid, concepts.report);
    for (mut term, types) in valid.into_iter().zip(types) {
        let place = term.place();
        let mut concept = std::mem::take(&mut term.concept);
        if concepts.defaults.kind.is_none() {
            concept.types = types;
        }
        if concepts.defaults.source.is_none() {
            concept.sources.extend(term.source);
        }
        // Types and sources from the header have not been normalised yet.
        for list in [&mut concept.types, &mut concept.sources] {
            once_each(list, None, |_| {});
        }
        let stated = Place {
            file: &term.file,
            line: term.line,
        };
        for parent in &term.parents {
            concepts.parents.add(&concept.id, parent, stated);
        }
        concepts.push(concept, || place)?;
    }
    Ok(())
}

/// The types of each term.
fn types_of(terms: &[Term], report: &mut Report) -> Vec<Vec<String>> {
    let mut by_id = HashMap::new();
    for (at, term) in terms.iter().enumerate() {
        by_id.entry(term.concept.id.as_str()).or_insert(at as u32);
    }
    let mut parents = Relatives::default();
    for term in terms {
        // Obsolete parents and parents in other ontologies are ignored.
        let known = term.parents.iter();
        parents.push(known.filter_map(|id| by_id.get(id.as_str()).copied()));
    }
    let about = |at: usize| {
        let Some(term) = terms.get(at) else {
            return About::default();
        };
        About {
            id: (&term.concept.id).into(),
            name: (&term.concept.name).into(),
            source: term.source.as_ref().map(Into::into),
            namespace: term.namespace.as_ref().map(Into::into),
        }
    };
    let roots = Roots::find(parents, &about);
    let types = |at| roots.types(at, &about, report);
    (0..terms.len()).map(types).collect()
}

/// Merges terms with the same identifier and drops obsolete ones. Ontologies repeat terms of
/// others, often without their names.
fn joined(terms: Vec<Term>, report: &mut Report) -> Vec<Term> {
    let mut merged = Vec::<Term>::new();
    let mut by_id = HashMap::new();
    for term in terms {
        if term.obsolete {
            report.skip(OBSOLETE, || term.place());
            continue;
        }
        let id = term.concept.id.clone();
        let first = by_id
            .get(&id)
            .and_then(|at| merged.get_mut(*at))
            .filter(|_| !id.is_empty());
        let Some(first) = first else {
            by_id.insert(id, merged.len());
            merged.push(term);
            continue;
        };
        report.note(JOINED, || term.place());
        let place = term.place();
        if join(&mut first.concept, term.concept) {
            report.note(OTHER_DEFINITION, || place);
        }
        first.parents.extend(term.parents);
        first.namespace = first.namespace.take().or(term.namespace);
    }
    merged
}

/// The name of the stanza that a line starts: `Term` of `[Term]`, with or without a comment.
fn stanza_of(line: &str) -> Option<&str> {
    let (name, rest) = line.strip_prefix('[')?.split_once(']')?;
    let rest = rest.trim_start();
    (rest.is_empty() || rest.starts_with(['!', '{'])).then_some(name.trim())
}

/// The current part of a file.
enum Stanza {
    Header,
    Term,
    Other,
}

/// The number and text of a line that ends with a backslash, which the next line continues.
type Continued = Option<(usize, String)>;

fn read_file(
    mut input: Input<'_>,
    choice: &SynonymChoice,
    terms: &mut Vec<Term>,
    report: &mut Report,
) -> Result<()> {
    let name = input.name;
    let longest = input.longest;
    let mut file = File {
        name: Rc::from(name),
        reading: Reading {
            header: Header::default(),
            choice,
        },
        stanza: Stanza::Header,
        terms,
        report,
    };
    let first = file.terms.len();
    let mut continued = Continued::None;
    input.for_each_line(|number, line| {
        let bare = line.trim();
        // A line that starts a stanza continues no other line.
        let continues = continued.is_some() && stanza_of(bare).is_none();
        let (number, whole) = match continued.take() {
            Some((number, mut whole)) if continues => {
                whole.push_str(bare);
                (number, whole)
            }
            Some((before, whole)) => {
                file.line(before, &whole);
                (number, bare.to_owned())
            }
            None => (number, bare.to_owned()),
        };
        let Longest {
            bytes: most,
            remedy,
        } = longest;
        if whole.len() > most {
            return Err(Error::input(format!(
                "expected at most {most} bytes in a line with its continuations, found more{remedy}"
            )));
        }
        // An odd number of backslashes at the end continues the line; pairs are escaped
        // backslashes.
        let backslashes = whole.len() - whole.trim_end_matches('\\').len();
        if backslashes % 2 == 1 {
            continued = Some((number, whole[..whole.len() - 1].to_owned()));
        } else {
            file.line(number, &whole);
        }
        Ok(())
    })?;
    if let Some((number, whole)) = continued {
        file.line(number, &whole);
    }
    let header = file.reading.header;
    let new = terms.get_mut(first..).unwrap_or_default();
    if new.is_empty() {
        return Err(Error::input(format!(
            "{name}: the file has no [Term] stanza, so it is not an OBO ontology"
        )));
    }
    for term in new {
        term.namespace = term.namespace.take().or_else(|| header.namespace.clone());
        let prefix = term
            .concept
            .id
            .split_once(':')
            .map(|(prefix, _)| prefix.trim().to_owned());
        let prefix = prefix.filter(|prefix| !prefix.is_empty());
        term.source = prefix.or_else(|| header.ontology.clone());
    }
    Ok(())
}

/// The state of reading a file.
struct File<'a> {
    name: Rc<str>,
    reading: Reading<'a>,
    stanza: Stanza,
    terms: &'a mut Vec<Term>,
    report: &'a mut Report,
}

impl File<'_> {
    /// Reads one line with its continuations. Invalid lines are reported and do not end the
    /// reading.
    fn line(&mut self, number: usize, line: &str) {
        let line = line.trim();
        if line.is_empty() || line.starts_with('!') {
            return;
        }
        let name = Rc::clone(&self.name);
        let place = || format!("{name}:{number}");
        if let Some(stanza) = stanza_of(line) {
            self.stanza = if stanza.eq_ignore_ascii_case("Term") {
                self.terms.push(Term::new(&self.name, number));
                Stanza::Term
            } else {
                self.report
                    .note(&format!("[{stanza}] stanza left out"), place);
                Stanza::Other
            };
            return;
        }
        let header = &mut self.reading.header;
        match (tag_and_value(line), &self.stanza) {
            (Some(("default-namespace", value)), Stanza::Header) => {
                header.namespace = Some(plain(value))
            }
            (Some(("ontology", value)), Stanza::Header) => header.ontology = Some(plain(value)),
            (Some(("synonymtypedef", value)), Stanza::Header) => {
                header.synonym_types.declare(value)
            }
            (Some(line), Stanza::Term) => {
                if let Some(term) = self.terms.last_mut() {
                    term.read(line, &self.reading, self.report, &place);
                }
            }
            (None, Stanza::Term) => self.report.skip(NO_TAG, || format!("{}: {line}", place())),
            _ => {}
        }
    }
}
