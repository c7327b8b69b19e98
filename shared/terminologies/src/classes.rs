//! The classes of ontologies in OWL and OBO Graphs, whose statements come in any order.
//!
//! The types of a class depend on its ancestors, so all classes are held until the end. What is
//! stated of a class is one text: a class takes some 150 bytes besides its identifier and its
//! texts.

use super::Sink;
use super::parents::Place;
use super::prefixes::Prefixes;
use super::redirects::Reason;
use crate::import::concepts::NO_NAME;
use crate::import::hierarchy::{About, Relatives, Roots};
use crate::import::obo::{OBSOLETE, Scope, SynonymChoice, last_part, withdraws};
use pel_kb::Concept;
use pel_kb::error::{Error, Result};
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

/// The note on a label or synonym in a language that was not chosen.
pub const OTHER_LANGUAGE: &str = "label or synonym in another language left out";
/// The note on a class that is named only as the parent of others.
pub const UNDECLARED: &str = "class of another ontology left out";

/// What is stated of a class. A rank is the position of a language in the order of preference.
#[derive(Clone, Copy, Debug)]
pub(super) enum Fact<'a> {
    /// `rdfs:label`.
    Label(u8, &'a str),
    /// `skos:prefLabel`, the name of a class without a label.
    Preferred(u8, &'a str),
    /// A synonym.
    Synonym(Scope, &'a str),
    /// The type of a synonym.
    SynonymType(Scope, &'a str, &'a str),
    /// A definition.
    Definition(u8, &'a str),
    /// A cross-reference as a text.
    Xref(&'a str),
    /// A cross-reference as an IRI.
    XrefIri(&'a str),
    /// An identifier that was merged into it.
    Alternative(&'a str),
    /// The class that replaces it.
    ReplacedBy(&'a str),
    /// A namespace of OBO.
    Namespace(&'a str),
}

/// The largest IRI in bytes. With prefixes, a few bytes of a document stand for a whole one.
const LONGEST_IRI: usize = 2_048;

/// Checks the length of an IRI.
///
/// # Errors
/// If it has more than 2,048 bytes.
pub(super) fn check_iri(iri: &str) -> Result<()> {
    if iri.len() <= LONGEST_IRI {
        return Ok(());
    }
    let start: String = iri.chars().take(60).collect();
    Err(Error::input(format!(
        "expected IRIs of at most {LONGEST_IRI} bytes, found one of {} that begins with {start:?}",
        iri.len()
    )))
}

/// The end of a fact.
const END: char = '\0';
/// What separates the two texts of a fact.
const WITHIN: char = '\u{1}';

#[derive(Debug, Default)]
struct Class {
    facts: String,
    parents: Vec<u32>,
    deprecated: bool,
    /// The file that declares it.
    file: Option<u16>,
}

/// Classes and properties by IRI.
#[derive(Debug, Default)]
pub(super) struct Classes {
    by_iri: HashMap<Rc<str>, u32>,
    iris: Vec<Rc<str>>,
    classes: Vec<Class>,
    /// The declared classes in the order of their declarations.
    declared: Vec<u32>,
    /// The prefixes of the documents.
    prefixes: Prefixes,
    /// The prefixes that have an IRI: the first document that declares one gives it.
    known_prefixes: HashSet<String>,
    files: Vec<String>,
    /// The name of the first ontology.
    ontology: Option<String>,
}

impl Classes {
    /// Starts a file.
    pub fn begin_file(&mut self, name: &str) {
        self.files.push(name.to_owned());
    }

    /// The number of classes declared so far.
    pub fn len(&self) -> usize {
        self.declared.len()
    }

    /// The class or property of an IRI.
    ///
    /// # Errors
    /// If there are more than 2^32, or the IRI is too long.
    pub fn node(&mut self, iri: &str) -> Result<u32> {
        if let Some(known) = self.by_iri.get(iri) {
            return Ok(*known);
        }
        check_iri(iri)?;
        let at = u32::try_from(self.iris.len())
            .map_err(|_| Error::input("expected at most 2^32 classes, found more"))?;
        let iri: Rc<str> = Rc::from(iri);
        self.by_iri.insert(Rc::clone(&iri), at);
        self.iris.push(iri);
        self.classes.push(Class::default());
        Ok(at)
    }

    /// States that a node is a class.
    pub fn declare(&mut self, node: u32) {
        let file = u16::try_from(self.files.len().saturating_sub(1)).unwrap_or(u16::MAX);
        if let Some(class) = self.classes.get_mut(node as usize)
            && class.file.is_none()
        {
            class.file = Some(file);
            self.declared.push(node);
        }
    }

    /// States that a class is no longer in use.
    pub fn deprecate(&mut self, node: u32) {
        if let Some(class) = self.classes.get_mut(node as usize) {
            class.deprecated = true;
        }
    }

    /// States that a class is below another one. It may be stated again.
    pub fn add_parent(&mut self, node: u32, parent: u32) {
        if let Some(class) = self.classes.get_mut(node as usize)
            && class.parents.last() != Some(&parent)
        {
            class.parents.push(parent);
        }
    }

    /// Adds a statement.
    pub fn add(&mut self, node: u32, fact: Fact<'_>) {
        let Some(class) = self.classes.get_mut(node as usize) else {
            return;
        };
        let facts = &mut class.facts;
        let mut put = |tag: char, first: Option<&str>, text: &str| {
            facts.push(tag);
            if let Some(first) = first {
                facts.push_str(first);
                facts.push(WITHIN);
            }
            facts.extend(text.chars().map(|c| match c {
                END | WITHIN => ' ',
                other => other,
            }));
            facts.push(END);
        };
        let digits = |rank: u8| rank.to_string();
        match fact {
            Fact::Label(rank, text) => put('L', Some(&digits(rank)), text),
            Fact::Preferred(rank, text) => put('P', Some(&digits(rank)), text),
            Fact::Definition(rank, text) => put('D', Some(&digits(rank)), text),
            Fact::Synonym(scope, text) => put('S', Some(word(scope)), text),
            Fact::SynonymType(scope, kind, text) => {
                put('T', Some(&format!("{} {kind}", word(scope))), text);
            }
            Fact::Xref(text) => put('X', None, text),
            Fact::XrefIri(text) => put('I', None, text),
            Fact::Alternative(text) => put('A', None, text),
            Fact::ReplacedBy(text) => put('R', None, text),
            Fact::Namespace(text) => put('N', None, text),
        }
    }

    /// Gives spare memory of a node back: its statements are usually together.
    pub fn settle(&mut self, node: u32) {
        if let Some(class) = self.classes.get_mut(node as usize) {
            class.facts.shrink_to_fit();
            class.parents.shrink_to_fit();
        }
    }

    /// Adds a prefix of a document.
    pub fn add_prefix(&mut self, prefix: &str, iri: &str) {
        // These name parts of all ontologies, not terms.
        let general = ["", "obo", "owl", "rdf", "rdfs", "xsd", "xml", "base"];
        if !general.contains(&prefix)
            && !iri.is_empty()
            && self.known_prefixes.insert(prefix.to_owned())
        {
            self.prefixes.add(prefix, iri);
        }
    }

    /// Names the ontology, by its IRI.
    pub fn add_ontology(&mut self, iri: &str) {
        let last = iri.rsplit(['/', '#']).find(|part| !part.is_empty());
        let name = last.map(|last| last.strip_suffix(".owl").unwrap_or(last));
        if let (None, Some(name)) = (&self.ontology, name) {
            self.ontology = Some(name.to_owned());
        }
    }

    fn iri(&self, node: u32) -> &str {
        self.iris.get(node as usize).map_or("", |iri| iri)
    }

    fn class(&self, node: u32) -> Option<&Class> {
        self.classes.get(node as usize)
    }

    fn id(&self, node: u32) -> String {
        curie(self.iri(node), &self.prefixes)
    }

    /// Passes the classes on as concepts, in the order of their declarations, and the deprecated
    /// ones as redirects.
    ///
    /// # Errors
    /// The errors of [`Sink::concept`].
    pub fn finish(self, choice: &SynonymChoice, sink: &mut Sink<'_, '_>) -> Result<()> {
        let (live, retired): (Vec<u32>, Vec<u32>) = self
            .declared
            .iter()
            .partition(|node| self.class(**node).is_some_and(|class| !class.deprecated));
        for node in retired {
            self.retire(node, sink);
        }
        let mut position = vec![u32::MAX; self.classes.len()];
        for (at, node) in live.iter().enumerate() {
            position[*node as usize] = at as u32;
        }
        let mut parents = Relatives::default();
        let mut last_child = vec![u32::MAX; live.len()];
        for node in &live {
            let own = self.class(*node).map_or(&[][..], |class| &class.parents);
            let known = own.iter().map(|parent| position[*parent as usize]);
            // Each parent once.
            parents.push(known.filter(|parent| {
                let last = last_child.get_mut(*parent as usize);
                last.is_some_and(|last| std::mem::replace(last, *node) != *node)
            }));
        }
        drop((position, last_child));
        // Every class below a root asks for the root's name, and every synonym for that of its type.
        let headings: Vec<Heading<'_>> = self.classes.iter().map(Heading::of).collect();
        let heading = |node: u32| headings.get(node as usize).copied().unwrap_or_default();
        let about = |at: usize| {
            let node = live.get(at).copied().unwrap_or(u32::MAX);
            let id = self.id(node);
            About {
                source: self.source(&id).map(Into::into),
                name: heading(node).name.into(),
                namespace: heading(node).namespace.map(Into::into),
                id: id.into(),
            }
        };
        let roots = Roots::find(parents, &about);
        for (at, node) in live.iter().enumerate() {
            sink.tick()?;
            let Some(class) = self.class(*node) else {
                continue;
            };
            let mut concept = self.concept(*node, class, &headings, choice, sink);
            // The user's type and source take precedence, as for OBO.
            if sink.concepts.defaults.kind.is_none() {
                concept.types = roots.types(at, &about, sink.report());
            }
            if sink.concepts.defaults.source.is_none() {
                concept.sources.extend(self.source(&concept.id));
            }
            let place = || self.place(*node, class, &concept.name);
            if concept.name.is_empty() {
                sink.report().skip(&format!("class with {NO_NAME}"), place);
                continue;
            }
            let place = place();
            self.state_parents(*node, class, sink);
            sink.concept(concept, || place.clone())?;
        }
        Ok(())
    }

    /// States the parents of a class. Statements have no lines here: they come in any order.
    fn state_parents(&self, node: u32, class: &Class, sink: &mut Sink<'_, '_>) {
        if sink.wants_parents() {
            let (id, file) = (self.id(node), self.file(class));
            for parent in &class.parents {
                sink.parent(&id, &self.id(*parent), Place { file, line: 0 });
            }
        }
    }

    fn file(&self, class: &Class) -> &str {
        let file = class.file.map(usize::from);
        let file = file.and_then(|file| self.files.get(file));
        file.map_or("", String::as_str)
    }

    fn place(&self, node: u32, class: &Class, name: &str) -> String {
        let file = self.file(class);
        format!("{file} {} {name}", self.iri(node))
    }

    fn source(&self, id: &str) -> Option<String> {
        let prefix = id.split_once(':').map(|(prefix, _)| prefix);
        let is_whole = id.contains("://");
        match prefix.filter(|prefix| !is_whole && !prefix.is_empty()) {
            Some(prefix) => Some(prefix.to_owned()),
            None => self.ontology.clone(),
        }
    }

    fn retire(&self, node: u32, sink: &mut Sink<'_, '_>) {
        let Some(class) = self.class(node) else {
            return;
        };
        sink.report().skip(OBSOLETE, || {
            self.place(node, class, name(&class.facts).unwrap_or_default())
        });
        let id = self.id(node);
        let mut successors = texts(&class.facts, 'R')
            .map(|text| curie(text, &self.prefixes))
            .filter(|successor| *successor != id)
            .peekable();
        match (successors.next(), successors.peek()) {
            (Some(one), None) => sink.retire(&id, Some(&one), Reason::Replaced),
            (None, _) => sink.retire(&id, None, Reason::Retired),
            (Some(_), Some(_)) => sink.retire(&id, None, Reason::Split),
        }
    }

    fn concept(
        &self,
        node: u32,
        class: &Class,
        headings: &[Heading<'_>],
        choice: &SynonymChoice,
        sink: &mut Sink<'_, '_>,
    ) -> Concept {
        let id = self.id(node);
        let heading = headings.get(node as usize).copied().unwrap_or_default();
        let name = heading.name.to_owned();
        let kinds: HashMap<(&str, &str), &str> = pairs(&class.facts, 'T')
            .filter_map(|(how, text)| {
                let (scope, kind) = how.split_once(' ')?;
                Some(((scope, text), kind))
            })
            .collect();
        let mut synonyms: Vec<String> = pairs(&class.facts, 'L')
            .chain(pairs(&class.facts, 'P'))
            .map(|(_, text)| text)
            .filter(|text| *text != name)
            .map(str::to_owned)
            .collect();
        for (scope_word, text) in pairs(&class.facts, 'S') {
            let kind = kinds.get(&(scope_word, text)).copied();
            let last = kind.map(last_part);
            let withdrawn = kind.is_some_and(|kind| self.withdraws(kind, headings));
            let scope = Scope::read(scope_word).unwrap_or(Scope::Related);
            match choice.refuses(scope, last.as_deref(), withdrawn) {
                Some(reason) => sink.report().note(&reason, || format!("{text:?} of {id}")),
                None => synonyms.push(text.to_owned()),
            }
        }
        let definition = pairs(&class.facts, 'D')
            .min_by_key(|(rank, _)| rank.parse().unwrap_or(u8::MAX))
            .map(|(_, text)| text.to_owned());
        for alternative in texts(&class.facts, 'A') {
            let alternative = curie(alternative, &self.prefixes);
            if alternative != id {
                sink.retire(&alternative, Some(&id), Reason::Merged);
            }
        }
        let xrefs = texts(&class.facts, 'X')
            .map(str::to_owned)
            .chain(texts(&class.facts, 'I').map(|iri| curie(iri, &self.prefixes)))
            .chain(texts(&class.facts, 'A').map(|iri| curie(iri, &self.prefixes)));
        Concept {
            xrefs: xrefs.filter(|xref| *xref != id).collect(),
            id,
            name,
            synonyms,
            definition,
            ..Concept::default()
        }
    }

    /// Whether the name or label of a synonym type marks its synonyms as withdrawn or wrong.
    fn withdraws(&self, kind: &str, headings: &[Heading<'_>]) -> bool {
        let node = self.by_iri.get(kind);
        let heading = node.and_then(|node| headings.get(*node as usize));
        withdraws(&last_part(kind)) || heading.is_some_and(|heading| withdraws(heading.name))
    }
}

/// What other classes ask of a class. Its facts are searched once.
#[derive(Clone, Copy, Default)]
struct Heading<'a> {
    /// The name, or an empty text.
    name: &'a str,
    namespace: Option<&'a str>,
}

impl<'a> Heading<'a> {
    fn of(class: &'a Class) -> Self {
        Self {
            name: name(&class.facts).unwrap_or_default(),
            namespace: texts(&class.facts, 'N').next(),
        }
    }
}

fn word(scope: Scope) -> &'static str {
    match scope {
        Scope::Exact => "EXACT",
        Scope::Broad => "BROAD",
        Scope::Narrow => "NARROW",
        Scope::Related => "RELATED",
    }
}

/// The texts of the facts with a tag.
fn texts(facts: &str, tag: char) -> impl Iterator<Item = &str> {
    facts
        .split_terminator(END)
        .filter_map(move |fact| fact.strip_prefix(tag))
}

/// The two texts of the facts with a tag.
fn pairs(facts: &str, tag: char) -> impl Iterator<Item = (&str, &str)> {
    texts(facts, tag).filter_map(|fact| fact.split_once(WITHIN))
}

/// The label in the most preferred language, else the preferred label of SKOS.
fn name(facts: &str) -> Option<&str> {
    let best = |tag: char| {
        pairs(facts, tag)
            .filter(|(_, text)| !text.trim().is_empty())
            .min_by_key(|(rank, _)| rank.parse().unwrap_or(u8::MAX))
            .map(|(_, text)| text)
    };
    best('L').or_else(|| best('P'))
}

/// Bases of IRIs that ontologies share, with the prefixes that they use in cross-references.
const BASES: [(&str, &str); 4] = [
    ("http://id.nlm.nih.gov/mesh/", "MESH"),
    ("http://linkedlifedata.com/resource/umls/id/", "UMLS"),
    ("http://snomed.info/id/", "SCTID"),
    ("http://www.orpha.net/ORDO/Orphanet_", "Orphanet"),
];

/// The compact form of an IRI: `MONDO:0005148` of `http://purl.obolibrary.org/obo/MONDO_0005148`.
/// Other IRIs are shortened by a prefix of the document; without one they stay whole.
fn curie(iri: &str, prefixes: &Prefixes) -> String {
    let bare = iri.replacen("https://", "http://", 1);
    if let Some(term) = bare.strip_prefix("http://purl.obolibrary.org/obo/")
        && let Some((prefix, number)) = term.rsplit_once('_')
        && is_local(prefix)
        && is_local(number)
    {
        return format!("{prefix}:{number}");
    }
    if let Some(rest) = bare.strip_prefix("http://identifiers.org/")
        && let Some((prefix, local)) = rest.split_once(['/', ':'])
        && is_local(prefix)
        && is_local(local)
    {
        return format!("{}:{local}", prefix.to_uppercase());
    }
    for (base, prefix) in BASES {
        if let Some(local) = bare.strip_prefix(base).filter(|local| is_local(local)) {
            return format!("{prefix}:{local}");
        }
    }
    let mut prefixes = prefixes.of(iri);
    prefixes.find(|(_, local)| is_local(local)).map_or_else(
        || iri.to_owned(),
        |(prefix, local)| format!("{prefix}:{local}"),
    )
}

/// Whether a text is a name without a path.
fn is_local(text: &str) -> bool {
    !text.is_empty() && !text.contains(['/', '#', '?', ':'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn iris_become_compact_or_stay_whole() {
        let mut prefixes = Prefixes::default();
        prefixes.add("efo", "http://www.ebi.ac.uk/efo/");
        prefixes.add("EFO", "http://www.ebi.ac.uk/efo/EFO_");
        for (iri, expected) in [
            (
                "http://purl.obolibrary.org/obo/MONDO_0005148",
                "MONDO:0005148",
            ),
            (
                "https://purl.obolibrary.org/obo/MONDO_0005148",
                "MONDO:0005148",
            ),
            (
                "http://purl.obolibrary.org/obo/GO_REF_0000001",
                "GO_REF:0000001",
            ),
            (
                "http://purl.obolibrary.org/obo/hp.owl#layperson",
                "http://purl.obolibrary.org/obo/hp.owl#layperson",
            ),
            (
                "http://purl.obolibrary.org/obo/_1",
                "http://purl.obolibrary.org/obo/_1",
            ),
            ("http://www.ebi.ac.uk/efo/EFO_0000270", "EFO:0000270"),
            ("http://www.ebi.ac.uk/efo/other", "efo:other"),
            ("http://www.ebi.ac.uk/efo/", "http://www.ebi.ac.uk/efo/"),
            ("http://identifiers.org/mesh/D003924", "MESH:D003924"),
            (
                "http://linkedlifedata.com/resource/umls/id/C0011860",
                "UMLS:C0011860",
            ),
            ("http://www.orpha.net/ORDO/Orphanet_558", "Orphanet:558"),
            ("MONDO:0005148", "MONDO:0005148"),
            ("http://example.org/a/b", "http://example.org/a/b"),
        ] {
            assert_eq!(curie(iri, &prefixes), expected);
        }
    }

    #[test]
    fn facts_are_found_by_tag() {
        let mut classes = Classes::default();
        let node = classes.node("http://a/1").expect("first");
        for fact in [
            Fact::Label(1, "Fieber"),
            Fact::Label(0, "fever"),
            Fact::Preferred(0, "pyrexia"),
            Fact::Synonym(Scope::Exact, "a\0b\u{1}c"),
            Fact::Xref("X:1"),
        ] {
            classes.add(node, fact);
        }
        let facts = &classes.classes[0].facts;
        assert_eq!(name(facts), Some("fever"));
        assert_eq!(pairs(facts, 'S').collect::<Vec<_>>(), [("EXACT", "a b c")]);
        assert_eq!(texts(facts, 'X').collect::<Vec<_>>(), ["X:1"]);
        assert_eq!(texts(facts, 'R').next(), None);
    }
}
