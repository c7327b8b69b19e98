//! OBO 1.2 and 1.4 ontologies: each `[Term]` stanza becomes a concept.

use super::concepts::{Concepts, once_each, tidied};
use super::merging::{JOINED, OTHER_DEFINITION, join};
pub use super::obo_synonyms::{Scope, SynonymChoice};
use super::obo_synonyms::{Synonym, SynonymTypes};
use super::obo_syntax::{identifier, plain, quoted_line, tag_and_value, unquoted_line};
use super::obo_types::types_of;
use super::report::Report;
use super::{Input, Longest};
use crate::error::{Error, Result};
use crate::kb::Concept;
use std::collections::HashMap;
use std::rc::Rc;

/// The reason for skipping a term that its authors have withdrawn.
pub const OBSOLETE: &str = "obsolete term";
/// The reason for skipping a line without a tag.
pub const NO_TAG: &str = "line without a colon inside a stanza";
/// The reason for skipping a synonym or definition whose quote is opened and not closed.
pub const NOT_QUOTED: &str = "synonym or definition without its quotes";
/// The reason under which a synonym or definition is noted whose quotes are missing, or not escaped within it.
pub const MENDED_QUOTES: &str = "synonym or definition read whole although its quotes are missing or not escaped";
/// The reason under which a value of `is_obsolete` is noted that is neither yes nor no.
pub const ODD_OBSOLETE: &str = "is_obsolete with another value than true or false (read as false)";

/// What the head of a file says about all its terms.
#[derive(Debug, Default)]
struct Header {
    namespace: Option<String>,
    ontology: Option<String>,
    synonym_types: SynonymTypes,
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
    pub source: Option<String>,
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
    fn read(
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
            "id" | "name" => report.note("a term's second id or name left out", example),
            "def" => match quoted_line(value).or_else(|| unquoted_line(value)) {
                Some(definition) => {
                    if definition.mended {
                        report.note(MENDED_QUOTES, example);
                    }
                    concept.definition = Some(definition.text);
                }
                None => report.skip(NOT_QUOTED, example),
            },
            "synonym" | "exact_synonym" | "broad_synonym" | "narrow_synonym" | "related_synonym" => {
                let Some(synonym) = Synonym::read(tag, value, &reading.header.synonym_types) else {
                    return report.skip(NOT_QUOTED, example);
                };
                match synonym.refused(reading.choice) {
                    Some(reason) => report.note(&reason, || format!("{}: {}", place(), synonym.text)),
                    None => {
                        if synonym.mended {
                            report.note(MENDED_QUOTES, example);
                        }
                        concept.synonyms.push(synonym.text);
                    }
                }
            }
            // An alternative id is the same concept under the number of a term that was merged into it.
            "xref" | "xref_analog" | "xref_unk" | "alt_id" => concept.xrefs.push(identifier(value)),
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

/// What the lines of a term are read by.
struct Reading<'a> {
    header: Header,
    choice: &'a SynonymChoice,
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
    pub fn read(&mut self, input: Input<'_>, choice: &SynonymChoice, report: &mut Report) -> Result<()> {
        read_file(input, choice, &mut self.terms, report)
    }

    /// Makes concepts of the terms; stanzas of one id are one term, in whatever files they are. The type of a concept is the
    /// name of the top term above it, or of the one below that if the top says nothing ("All"); the source is the prefix of its
    /// id (`DOID` in `DOID:4`), unless `concepts` has a type or source for all.
    ///
    /// # Errors
    /// As taking them.
    pub fn finish(self, concepts: &mut Concepts<'_>) -> Result<()> {
        finish(self.terms, concepts)
    }
}

fn finish(terms: Vec<Term>, concepts: &mut Concepts<'_>) -> Result<()> {
    let mut whole = Vec::new();
    for mut term in joined(terms, concepts.report) {
        let place = term.place();
        match tidied(std::mem::take(&mut term.concept), concepts.report, || place.clone()) {
            Ok(concept) => whole.push(Term { concept, ..term }),
            Err(reason) => concepts.report.skip(&format!("term with {reason}"), || place),
        }
    }
    let types = types_of(&whole, concepts.report);
    for (mut term, types) in whole.into_iter().zip(types) {
        let place = term.place();
        let mut concept = std::mem::take(&mut term.concept);
        if concepts.defaults.kind.is_none() {
            concept.types = types;
        }
        if concepts.defaults.source.is_none() {
            concept.sources.extend(term.source);
        }
        // A namespace and the name of an ontology are as their file writes them.
        for list in [&mut concept.types, &mut concept.sources] {
            once_each(list, None, |_| {});
        }
        concepts.push(concept, || place)?;
    }
    Ok(())
}

/// The terms that are not obsolete, each id once: ontologies repeat terms of others, often as a mere stub.
fn joined(terms: Vec<Term>, report: &mut Report) -> Vec<Term> {
    let (mut whole, mut by_id) = (Vec::<Term>::new(), HashMap::new());
    for term in terms {
        if term.obsolete {
            report.skip(OBSOLETE, || term.place());
            continue;
        }
        let id = term.concept.id.clone();
        let first = by_id.get(&id).and_then(|at| whole.get_mut(*at)).filter(|_| !id.is_empty());
        let Some(first) = first else {
            by_id.insert(id, whole.len());
            whole.push(term);
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
    whole
}

/// The name of a stanza that a line begins: `Term` of `[Term]`, with a comment behind it or not.
fn stanza_of(line: &str) -> Option<&str> {
    let (name, rest) = line.strip_prefix('[')?.split_once(']')?;
    let rest = rest.trim_start();
    (rest.is_empty() || rest.starts_with(['!', '{'])).then_some(name.trim())
}

/// Where a line belongs.
enum Stanza {
    Header,
    Term,
    Other,
}

/// A line that a backslash at its end continues on the next one, and its number.
type Begun = Option<(usize, String)>;

fn read_file(mut input: Input<'_>, choice: &SynonymChoice, terms: &mut Vec<Term>, report: &mut Report) -> Result<()> {
    let (name, longest) = (input.name, input.longest);
    let mut file = File {
        name: Rc::from(name),
        reading: Reading { header: Header::default(), choice },
        stanza: Stanza::Header,
        terms,
        report,
    };
    let (first, mut begun) = (file.terms.len(), Begun::None);
    input.for_each_line(|number, line| {
        let bare = line.trim();
        // A stanza's first line is no continuation, whatever the line before ends with.
        let continues = begun.is_some() && stanza_of(bare).is_none();
        let (number, whole) = match begun.take() {
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
        let Longest { bytes: most, remedy } = longest;
        if whole.len() > most {
            return Err(Error::input(format!(
                "expected at most {most} bytes with its continuations, found more{remedy}"
            )));
        }
        // An even number of backslashes is so many letters.
        let slashes = whole.len() - whole.trim_end_matches('\\').len();
        match slashes % 2 {
            1 => begun = Some((number, whole[..whole.len() - 1].to_owned())),
            _ => file.line(number, &whole),
        }
        Ok(())
    })?;
    if let Some((number, whole)) = begun {
        file.line(number, &whole);
    }
    let header = file.reading.header;
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

/// A file that is being read.
struct File<'a> {
    name: Rc<str>,
    reading: Reading<'a>,
    stanza: Stanza,
    terms: &'a mut Vec<Term>,
    report: &'a mut Report,
}

impl File<'_> {
    /// Takes in one line, its continuations included. Nothing in a line ends the reading.
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
                self.report.note(&format!("[{stanza}] stanza left out"), place);
                Stanza::Other
            };
            return;
        }
        let header = &mut self.reading.header;
        match (tag_and_value(line), &self.stanza) {
            (Some(("default-namespace", value)), Stanza::Header) => header.namespace = Some(plain(value)),
            (Some(("ontology", value)), Stanza::Header) => header.ontology = Some(plain(value)),
            (Some(("synonymtypedef", value)), Stanza::Header) => header.synonym_types.declare(value),
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
