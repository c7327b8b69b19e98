//! Ontologies in OWL as RDF/XML, Turtle or N-Triples, and vocabularies in SKOS.
//!
//! The document is read as triples. Each named class or SKOS concept becomes a concept.

use super::classes::{Classes, Fact, check_iri};
use super::release::ReleaseFiles;
use super::xml_guard::{Guard, Seen};
use super::{Sink, xml};
use crate::import::Longest;
use crate::import::formats::{Format, HEAD};
use crate::import::obo::{Scope, SynonymChoice};
use oxrdf::{NamedOrBlankNode, Term, Triple};
use oxrdfxml::{RdfXmlParseError, RdfXmlParser};
use oxttl::TurtleParseError;
use oxttl::TurtleParser;
use pel_kb::error::{Context, Error, Result};
use std::collections::BTreeSet;
use std::io::{self, BufRead, Cursor, Read};

pub use super::classes::{OTHER_LANGUAGE, UNDECLARED};

/// The prefixes of identifiers in mappings: they have their own.
pub const PREFIXES: &[&str] = &[];

/// What to read.
#[derive(Clone, Debug)]
pub struct Options {
    /// Which synonyms become names.
    pub synonyms: SynonymChoice,
    /// The languages of labels, the preferred one first. Texts without a language count as the
    /// first.
    pub languages: Vec<String>,
    /// Further annotation properties whose values are exact synonyms, as IRIs.
    pub synonym_properties: BTreeSet<String>,
    /// Further annotation properties whose values are definitions, as IRIs.
    pub definition_properties: BTreeSet<String>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            synonyms: SynonymChoice::of(&[Scope::Exact]),
            languages: vec!["en".to_owned()],
            synonym_properties: BTreeSet::new(),
            definition_properties: BTreeSet::new(),
        }
    }
}

/// Reads ontologies into one set of concepts.
///
/// # Errors
/// If a file cannot be read, is malformed, is in a syntax of OWL that is not read, or has no class.
pub fn read(release: &ReleaseFiles, options: &Options, sink: &mut Sink<'_, '_>) -> Result<()> {
    let mut classes = Classes::default();
    let host = sink.host();
    for file in &release.files {
        let label = file.label();
        classes.begin_file(&label);
        let read = file.open_xml().and_then(|reader| {
            read_file(&label, reader, host.longest(), options, &mut classes, sink)
        });
        read.map_err(|error| host.read_error(&label, error))?;
    }
    classes.finish(&options.synonyms, sink)
}

/// Reads one document, for which `reader` gives UTF-8.
///
/// # Errors
/// As [`read`].
pub fn read_one(
    name: &str,
    reader: Box<dyn BufRead>,
    longest: Longest<'static>,
    options: &Options,
    sink: &mut Sink<'_, '_>,
) -> Result<()> {
    let mut classes = Classes::default();
    classes.begin_file(name);
    read_file(name, reader, longest, options, &mut classes, sink)?;
    classes.finish(&options.synonyms, sink)
}

fn read_file(
    name: &str,
    mut reader: Box<dyn BufRead>,
    longest: Longest<'static>,
    options: &Options,
    classes: &mut Classes,
    sink: &mut Sink<'_, '_>,
) -> Result<()> {
    let before = classes.len();
    let mut head = Vec::new();
    reader
        .by_ref()
        .take(HEAD as u64)
        .read_to_end(&mut head)
        .map_err(|cause| xml::read_error(name, cause))?;
    let form = Format::of_file(name, &head);
    let is_owl_xml = form == Some(Format::OwlXml) && root_is_ontology(&head);
    let reader: Box<dyn BufRead> = Box::new(Cursor::new(head).chain(reader));
    let mut statements = Statements {
        options,
        classes,
        subject: None,
        axiom: None,
    };
    match form {
        Some(Format::Turtle) => turtle(name, reader, &mut statements, sink)?,
        Some(Format::OwlXml | Format::Xml) if !is_owl_xml => {
            rdf_xml(name, reader, longest, &mut statements, sink)?;
        }
        _ => {
            let found = match form {
                Some(Format::OwlXml) => OWL_XML,
                Some(Format::OwlText) => OWL_TEXT,
                Some(other) => other.advice(),
                None => "something else",
            };
            return Err(Error::input(format!(
                "{name}: expected an ontology in OWL, as RDF/XML, Turtle or N-Triples, found \
                 {found}"
            )));
        }
    }
    statements.close();
    if classes.len() == before {
        return Err(Error::input(format!(
            "{name}: the file has no classes of OWL or concepts of SKOS"
        )));
    }
    Ok(())
}

const OWL_XML: &str = "OWL/XML: convert it (`robot convert --input a.owx --output a.owl`)";
const OWL_TEXT: &str = "OWL in functional or Manchester syntax: convert it (`robot convert --input a.ofn --output a.owl`)";

/// Whether the first element is `Ontology`, as in OWL/XML.
fn root_is_ontology(head: &[u8]) -> bool {
    let head = String::from_utf8_lossy(head);
    let mut rest = &*head;
    while let Some((_, after)) = rest.split_once('<') {
        if let Some(comment) = after.strip_prefix("!--") {
            rest = comment.split_once("-->").map_or("", |(_, after)| after);
        } else if after.starts_with(['?', '!']) || after.starts_with("ENTITY") {
            rest = after;
        } else {
            let name = after
                .split(|c: char| c.is_whitespace() || c == '>')
                .next()
                .unwrap_or_default();
            return name.rsplit(':').next() == Some("Ontology");
        }
    }
    false
}

fn rdf_xml(
    name: &str,
    reader: Box<dyn BufRead>,
    longest: Longest<'static>,
    statements: &mut Statements<'_>,
    sink: &mut Sink<'_, '_>,
) -> Result<()> {
    let (guard, seen) =
        Guard::new(reader, longest).map_err(|cause| xml::read_error(name, cause))?;
    // Without the checks of each IRI, which real ontologies fail.
    let mut parser = RdfXmlParser::new().lenient().for_reader(guard);
    let mut first = true;
    while let Some(triple) = parser.next() {
        let triple = triple.map_err(|cause| {
            malformed(name, seen.line_of(parser.buffer_position()), &seen, cause)
        })?;
        if std::mem::take(&mut first) {
            for (prefix, iri) in parser.prefixes() {
                statements.classes.add_prefix(prefix, iri);
            }
        }
        sink.tick()?;
        statements.add(triple, sink).context(|| name.to_owned())?;
    }
    if !seen.is_complete() {
        return Err(Error::input(format!(
            "{name}: line {}: expected well-formed XML: the file ends within an element (is it whole?)",
            seen.line()
        )));
    }
    Ok(())
}

fn malformed(name: &str, line: u64, seen: &Seen, cause: RdfXmlParseError) -> Error {
    if let Some(why) = seen.take_refusal() {
        return Error::input(format!("{name}: line {}: {why}", seen.line()));
    }
    match cause {
        RdfXmlParseError::Io(cause) => xml::read_error(name, cause),
        RdfXmlParseError::Syntax(cause) => Error::input(format!(
            "{name}: line {line}: expected well-formed RDF/XML: {cause}"
        )),
    }
}

/// The largest number of brackets within each other in Turtle. The parser keeps each open one.
const DEEPEST: usize = 1_000;

/// Fails beyond [`DEEPEST`] brackets. Brackets in texts, IRIs and comments do not count.
struct Brackets<R> {
    reader: R,
    depth: usize,
    within: Within,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Within {
    Nothing,
    Comment,
    Iri,
    /// In a text that a number of quotes closes; how many have been read, and whether the last byte
    /// was a backslash.
    Text {
        quote: u8,
        long: bool,
        quotes: u8,
        escaped: bool,
    },
    /// After one or two quotes that begin a text or are an empty one.
    Opening {
        quote: u8,
        quotes: u8,
    },
}

impl<R: Read> Read for Brackets<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let count = self.reader.read(into)?;
        for byte in into.iter().take(count) {
            self.step(*byte);
        }
        if self.depth > DEEPEST {
            return Err(io::Error::other(Error::input(format!(
                "expected at most {DEEPEST} brackets within each other, found more"
            ))));
        }
        Ok(count)
    }
}

impl<R> Brackets<R> {
    fn step(&mut self, byte: u8) {
        self.within = match self.within {
            Within::Nothing => self.outside(byte),
            Within::Comment if byte == b'\n' => Within::Nothing,
            // An IRI has no blanks: this is a comparison or an error.
            Within::Iri if byte == b'>' || byte.is_ascii_whitespace() => Within::Nothing,
            Within::Opening { quote, quotes } if byte == quote => match quotes {
                1 => Within::Opening { quote, quotes: 2 },
                _ => text(quote, true),
            },
            Within::Opening { quotes: 2, .. } => self.outside(byte),
            Within::Opening { quote, .. } => {
                let Within::Text {
                    quote,
                    long,
                    quotes,
                    ..
                } = text(quote, false)
                else {
                    return;
                };
                Within::Text {
                    quote,
                    long,
                    quotes,
                    escaped: byte == b'\\',
                }
            }
            Within::Text {
                quote,
                long,
                escaped: false,
                quotes,
            } if byte == quote => {
                if !long || quotes == 2 {
                    Within::Nothing
                } else {
                    Within::Text {
                        quote,
                        long,
                        quotes: quotes + 1,
                        escaped: false,
                    }
                }
            }
            Within::Text {
                quote,
                long,
                escaped,
                ..
            } => Within::Text {
                quote,
                long,
                quotes: 0,
                escaped: byte == b'\\' && !escaped,
            },
            unchanged => unchanged,
        };
    }

    fn outside(&mut self, byte: u8) -> Within {
        match byte {
            b'[' | b'(' => self.depth += 1,
            b']' | b')' => self.depth = self.depth.saturating_sub(1),
            b'#' => return Within::Comment,
            b'<' => return Within::Iri,
            b'"' | b'\'' => {
                return Within::Opening {
                    quote: byte,
                    quotes: 1,
                };
            }
            _ => {}
        }
        Within::Nothing
    }
}

fn text(quote: u8, long: bool) -> Within {
    Within::Text {
        quote,
        long,
        quotes: 0,
        escaped: false,
    }
}

fn turtle(
    name: &str,
    reader: Box<dyn BufRead>,
    statements: &mut Statements<'_>,
    sink: &mut Sink<'_, '_>,
) -> Result<()> {
    let guarded = Brackets {
        reader,
        depth: 0,
        within: Within::Nothing,
    };
    let mut parser = TurtleParser::new().lenient().for_reader(guarded);
    for triple in parser.by_ref() {
        let triple = triple.map_err(|cause| match cause {
            // So the parser tells that a text or statement does not fit into its buffer.
            TurtleParseError::Io(cause) if cause.kind() == io::ErrorKind::OutOfMemory => {
                Error::input(format!(
                    "{name}: expected texts of at most 16 MiB in Turtle, found a longer one"
                ))
            }
            TurtleParseError::Io(cause) => xml::read_error(name, cause),
            TurtleParseError::Syntax(cause) => Error::input(format!(
                "{name}: line {}: expected well-formed Turtle: {}",
                cause.location().start.line + 1,
                cause.message()
            )),
        })?;
        sink.tick()?;
        statements.add(triple, sink).context(|| name.to_owned())?;
    }
    for (prefix, iri) in parser.prefixes() {
        statements.classes.add_prefix(prefix, iri);
    }
    Ok(())
}

/// An annotation of a statement: it gives synonyms their types.
#[derive(Debug, Default)]
struct Axiom {
    id: String,
    source: Option<String>,
    property: Option<String>,
    target: Option<String>,
    kind: Option<String>,
}

/// Collects triples. The triples of an annotation are next to each other in all known writers.
struct Statements<'a> {
    options: &'a Options,
    classes: &'a mut Classes,
    subject: Option<(String, u32)>,
    axiom: Option<Axiom>,
}

const OWL: &str = "http://www.w3.org/2002/07/owl#";
const RDFS: &str = "http://www.w3.org/2000/01/rdf-schema#";
const SKOS: &str = "http://www.w3.org/2004/02/skos/core#";
const OBO_IN_OWL: &str = "http://www.geneontology.org/formats/oboInOwl#";
const OBO: &str = "http://purl.obolibrary.org/obo/";
const EFO: &str = "http://www.ebi.ac.uk/efo/";
const RDF_TYPE: &str = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type";

/// What a statement says of its subject.
enum Meaning {
    /// What it is.
    Type,
    /// Its parent.
    Parent,
    /// That it is deprecated.
    Deprecated,
    Fact(Kind),
}

/// The scope of a synonym property.
pub(super) fn synonym_scope(property: &str) -> Option<Scope> {
    let name = property.strip_prefix(OBO_IN_OWL).unwrap_or(property);
    match name {
        "hasExactSynonym" => Some(Scope::Exact),
        "hasBroadSynonym" => Some(Scope::Broad),
        "hasNarrowSynonym" => Some(Scope::Narrow),
        "hasRelatedSynonym" | "hasSynonym" => Some(Scope::Related),
        _ => None,
    }
}

impl Statements<'_> {
    fn add(&mut self, triple: Triple, sink: &mut Sink<'_, '_>) -> Result<()> {
        let predicate = triple.predicate.as_str();
        match triple.subject {
            NamedOrBlankNode::BlankNode(node) => {
                if self
                    .axiom
                    .as_ref()
                    .is_none_or(|axiom| axiom.id != node.as_str())
                {
                    self.close_axiom();
                    self.axiom = Some(Axiom {
                        id: node.as_str().to_owned(),
                        ..Axiom::default()
                    });
                }
                if let Some(axiom) = &mut self.axiom {
                    annotate(axiom, predicate, triple.object);
                }
                Ok(())
            }
            NamedOrBlankNode::NamedNode(subject) => {
                let subject = subject.as_str();
                let node = match &self.subject {
                    Some((iri, node)) if iri == subject => *node,
                    _ => {
                        self.close_subject();
                        let node = self.classes.node(subject)?;
                        self.subject = Some((subject.to_owned(), node));
                        node
                    }
                };
                self.state(node, subject, predicate, &triple.object, sink)
            }
        }
    }

    fn state(
        &mut self,
        node: u32,
        subject: &str,
        predicate: &str,
        object: &Term,
        sink: &mut Sink<'_, '_>,
    ) -> Result<()> {
        let (value, language, is_iri) = match object {
            Term::NamedNode(iri) => (iri.as_str(), None, true),
            Term::Literal(literal) => (literal.value(), literal.language(), false),
            _ => return Ok(()),
        };
        let kind = match self.meaning(predicate, value, is_iri) {
            None => return Ok(()),
            Some(Meaning::Type) => {
                let is = |base: &str, name: &str| value.strip_prefix(base) == Some(name);
                if is(OWL, "Class") || is(RDFS, "Class") || is(SKOS, "Concept") {
                    self.classes.declare(node);
                } else if is(OWL, "Ontology") {
                    self.classes.add_ontology(subject);
                }
                return Ok(());
            }
            Some(Meaning::Parent) => return self.below(node, value),
            Some(Meaning::Deprecated) => {
                self.classes.deprecate(node);
                return Ok(());
            }
            Some(Meaning::Fact(kind)) => kind,
        };
        let Some(rank) = self.rank(language) else {
            sink.report()
                .note(OTHER_LANGUAGE, || format!("{value:?} of {subject}"));
            return Ok(());
        };
        if is_iri {
            check_iri(value)?;
        }
        let fact = match kind {
            Kind::Label => Fact::Label(rank, value),
            Kind::Preferred => Fact::Preferred(rank, value),
            Kind::Synonym(scope) => Fact::Synonym(scope, value),
            Kind::Definition => Fact::Definition(rank, value),
            Kind::Xref => Fact::Xref(value),
            Kind::XrefIri => Fact::XrefIri(value),
            Kind::Alternative => Fact::Alternative(value),
            Kind::ReplacedBy => Fact::ReplacedBy(value),
            Kind::Namespace => Fact::Namespace(value),
        };
        self.classes.add(node, fact);
        Ok(())
    }

    /// What a statement says of its subject; `None` if it is not used.
    fn meaning(&self, predicate: &str, value: &str, is_iri: bool) -> Option<Meaning> {
        let kind = if predicate == RDF_TYPE {
            return Some(Meaning::Type);
        } else if let Some(name) = predicate.strip_prefix(RDFS) {
            match name {
                "label" => Kind::Label,
                "subClassOf" if is_iri => return Some(Meaning::Parent),
                _ => return None,
            }
        } else if let Some(name) = predicate.strip_prefix(SKOS) {
            match name {
                "prefLabel" => Kind::Preferred,
                "altLabel" => Kind::Synonym(Scope::Exact),
                "definition" => Kind::Definition,
                "exactMatch" if is_iri => Kind::XrefIri,
                "exactMatch" => Kind::Xref,
                "broader" if is_iri => return Some(Meaning::Parent),
                _ => return None,
            }
        } else if let Some(name) = predicate.strip_prefix(OWL) {
            match name {
                "deprecated" if matches!(value, "true" | "1") => return Some(Meaning::Deprecated),
                "equivalentClass" if is_iri => Kind::XrefIri,
                _ => return None,
            }
        } else if let Some(scope) = synonym_scope(predicate) {
            Kind::Synonym(scope)
        } else if let Some(name) = predicate.strip_prefix(OBO_IN_OWL) {
            match name {
                "hasDbXref" if is_iri => Kind::XrefIri,
                "hasDbXref" => Kind::Xref,
                "hasAlternativeId" => Kind::Alternative,
                "hasOBONamespace" => Kind::Namespace,
                _ => return None,
            }
        } else if let Some(name) = predicate.strip_prefix(OBO)
            && matches!(name, "IAO_0000115" | "IAO_0000118" | "IAO_0100001")
        {
            match name {
                "IAO_0000115" => Kind::Definition,
                "IAO_0000118" => Kind::Synonym(Scope::Exact),
                _ => Kind::ReplacedBy,
            }
        } else if predicate.strip_prefix(EFO) == Some("alternative_term")
            || self.options.synonym_properties.contains(predicate)
        {
            Kind::Synonym(Scope::Exact)
        } else if predicate.strip_prefix(EFO) == Some("definition")
            || self.options.definition_properties.contains(predicate)
        {
            Kind::Definition
        } else {
            return None;
        };
        Some(Meaning::Fact(kind))
    }

    fn below(&mut self, node: u32, parent: &str) -> Result<()> {
        let parent = self.classes.node(parent)?;
        if parent != node {
            self.classes.add_parent(node, parent);
        }
        Ok(())
    }

    /// The position of a language in the order of preference; `None` if it is not chosen.
    fn rank(&self, language: Option<&str>) -> Option<u8> {
        let Some(language) = language else {
            return Some(0);
        };
        if self.options.languages.is_empty() {
            return Some(0);
        }
        let primary = language.split('-').next().unwrap_or(language);
        let at = self.options.languages.iter().position(|chosen| {
            chosen.eq_ignore_ascii_case(language) || chosen.eq_ignore_ascii_case(primary)
        })?;
        Some(u8::try_from(at).unwrap_or(u8::MAX))
    }

    fn close_axiom(&mut self) {
        let Some(axiom) = self.axiom.take() else {
            return;
        };
        let scope = axiom.property.as_deref().and_then(synonym_scope);
        if let (Some(source), Some(target), Some(kind), Some(scope)) =
            (axiom.source, axiom.target, axiom.kind, scope)
            && let Ok(node) = self.classes.node(&source)
        {
            self.classes
                .add(node, Fact::SynonymType(scope, &kind, &target));
        }
    }

    fn close_subject(&mut self) {
        if let Some((_, node)) = self.subject.take() {
            self.classes.settle(node);
        }
    }

    fn close(&mut self) {
        self.close_axiom();
        self.close_subject();
    }
}

/// The meaning of a property.
#[derive(Clone, Copy)]
enum Kind {
    Label,
    Preferred,
    Synonym(Scope),
    Definition,
    Xref,
    XrefIri,
    Alternative,
    ReplacedBy,
    Namespace,
}

fn annotate(axiom: &mut Axiom, predicate: &str, object: Term) {
    let value = match object {
        Term::NamedNode(iri) => iri.into_string(),
        Term::Literal(literal) => literal.value().to_owned(),
        _ => return,
    };
    let field = if let Some(name) = predicate.strip_prefix(OWL) {
        match name {
            "annotatedSource" => &mut axiom.source,
            "annotatedProperty" => &mut axiom.property,
            "annotatedTarget" => &mut axiom.target,
            _ => return,
        }
    } else if predicate.strip_prefix(OBO_IN_OWL) == Some("hasSynonymType") {
        &mut axiom.kind
    } else {
        return;
    };
    *field = Some(value);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn depth(text: &str) -> usize {
        let mut brackets = Brackets {
            reader: io::empty(),
            depth: 0,
            within: Within::Nothing,
        };
        text.bytes().for_each(|byte| brackets.step(byte));
        brackets.depth
    }

    #[test]
    fn brackets_in_texts_iris_and_comments_do_not_count() {
        for (text, expected) in [
            ("a:b a:c [ a:d ( a:e", 2),
            ("[ ] ( )", 0),
            ("# [ [\n[", 1),
            ("<http://a/#[> [", 1),
            (r#""[ \" [" ["#, 1),
            (r#""" [ '' ["#, 2),
            (r#""""[ " "" [ \""" [""" ["#, 1),
            ("'[' '''[ ' [''' [", 1),
        ] {
            assert_eq!(depth(text), expected, "{text}");
        }
    }

    #[test]
    fn owl_xml_is_told_from_rdf_xml_by_its_root() {
        for (head, expected) in [
            ("<Ontology xmlns=\"http://www.w3.org/2002/07/owl#\">", true),
            (
                "<?xml version=\"1.0\"?>\n<!-- <a> -->\n<owl:Ontology>",
                true,
            ),
            ("<!DOCTYPE Ontology [<!ENTITY a \"b\">]><Ontology>", true),
            ("<?xml version=\"1.0\"?><rdf:RDF><owl:Ontology>", false),
            ("", false),
        ] {
            assert_eq!(root_is_ontology(head.as_bytes()), expected, "{head}");
        }
    }
}
