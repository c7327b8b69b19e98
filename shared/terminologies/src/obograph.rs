//! Ontologies as OBO Graphs in JSON. Nodes and edges are read one at a time.

use super::classes::{Classes, Fact};
use super::owl::synonym_scope;
use super::release::ReleaseFiles;
use super::{Sink, xml};
use crate::import::Longest;
use crate::import::obo::SynonymChoice;
use pel_kb::error::{Error, Result};
use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use std::cell::Cell;
use std::collections::HashSet;
use std::fmt;
use std::io::{self, BufRead, BufReader, Read};
use std::rc::Rc;

/// The prefixes of identifiers in mappings: they have their own.
pub const PREFIXES: &[&str] = &[];
/// The note on a node that is no class, such as a property or an individual.
pub const OTHER_NODE: &str = "node that is no class left out";
/// The reason for skipping a node without an identifier.
pub const NO_ID: &str = "node without id";

/// The note on a set of more than 32 equivalent nodes.
pub const LARGE_SET: &str = "set of more than 32 equivalent nodes (its representative and each \
                             other node refer to each other)";

/// The largest set of equivalent nodes that all refer to each other. In larger ones, the number of
/// references would grow with the square of the nodes.
const ALL_PAIRS: usize = 32;

/// What to read.
#[derive(Clone, Debug)]
pub struct Options {
    /// Which synonyms become names.
    pub synonyms: SynonymChoice,
}

/// Reads ontologies into one set of concepts.
///
/// # Errors
/// If a file cannot be read, is no OBO Graphs document, or has no class.
pub fn read(release: &ReleaseFiles, options: &Options, sink: &mut Sink<'_, '_>) -> Result<()> {
    let mut classes = Classes::default();
    let host = sink.host();
    for file in &release.files {
        let label = file.label();
        let read = file
            .open_text()
            .and_then(|reader| read_file(&label, reader, host.longest(), &mut classes, sink));
        read.map_err(|error| host.read_error(&label, error))?;
    }
    classes.finish(&options.synonyms, sink)
}

/// Reads one document.
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
    read_file(name, reader, longest, &mut classes, sink)?;
    classes.finish(&options.synonyms, sink)
}

fn read_file(
    name: &str,
    reader: Box<dyn BufRead>,
    longest: Longest<'static>,
    classes: &mut Classes,
    sink: &mut Sink<'_, '_>,
) -> Result<()> {
    classes.begin_file(name);
    let before = classes.len();
    let budget = Budget::new(longest);
    let limited = Limited {
        reader: BufReader::with_capacity(1 << 16, reader),
        budget: Rc::clone(&budget),
        longest,
    };
    let mut reading = Reading {
        classes,
        sink,
        budget,
        longest,
        graphs: false,
        failed: None,
    };
    let mut json = serde_json::Deserializer::from_reader(limited);
    let read = Document(&mut reading)
        .deserialize(&mut json)
        .and_then(|()| json.end());
    if let Some(failed) = reading.failed {
        return Err(failed.context(name.to_owned()));
    }
    let found_graphs = reading.graphs;
    read.map_err(|cause| match cause.io_error_kind() {
        Some(_) => xml::read_error(name, io::Error::from(cause)),
        None => Error::input(format!("{name}: expected an OBO Graphs document: {cause}")),
    })?;
    if !found_graphs {
        return Err(Error::input(format!(
            "{name}: expected an OBO Graphs document, found JSON without `graphs`"
        )));
    }
    if classes.len() == before {
        return Err(Error::input(format!(
            "{name}: the OBO Graphs document has no classes"
        )));
    }
    Ok(())
}

/// The bytes that may be read before the next node or edge is complete.
struct Budget(Cell<usize>);

impl Budget {
    fn new(longest: Longest<'static>) -> Rc<Self> {
        // The reader is ahead by its buffer.
        Rc::new(Self(Cell::new(longest.bytes.saturating_add(1 << 17))))
    }

    fn renew(&self, longest: Longest<'static>) {
        self.0.set(longest.bytes.saturating_add(1 << 17));
    }
}

/// Fails when the budget is spent: a JSON parser keeps a whole string.
struct Limited<R> {
    reader: BufReader<R>,
    budget: Rc<Budget>,
    longest: Longest<'static>,
}

impl<R: Read> Read for Limited<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let count = self.reader.read(into)?;
        match self.budget.0.get().checked_sub(count) {
            Some(left) => self.budget.0.set(left),
            None => {
                let Longest { bytes, remedy } = self.longest;
                return Err(io::Error::other(Error::input(format!(
                    "expected nodes and edges of at most {bytes} bytes, found a larger one{remedy}"
                ))));
            }
        }
        Ok(count)
    }
}

/// The state of reading a document.
struct Reading<'r, 'a, 'c> {
    classes: &'r mut Classes,
    sink: &'r mut Sink<'a, 'c>,
    budget: Rc<Budget>,
    longest: Longest<'static>,
    graphs: bool,
    /// An error that is not one of the JSON.
    failed: Option<Error>,
}

impl Reading<'_, '_, '_> {
    /// Counts a node or edge.
    fn step<E: serde::de::Error>(
        &mut self,
        step: impl FnOnce(&mut Self) -> Result<()>,
    ) -> std::result::Result<(), E> {
        self.budget.renew(self.longest);
        let done = self.sink.tick().and_then(|()| step(self));
        done.map_err(|error| {
            let message = error.to_string();
            self.failed = Some(error);
            E::custom(message)
        })
    }

    fn node(&mut self, node: Node) -> Result<()> {
        let Some(id) = node.id.filter(|id| !id.trim().is_empty()) else {
            let label = node.label.unwrap_or_default();
            self.sink.report().skip(NO_ID, || label);
            return Ok(());
        };
        let at = self.classes.node(&id)?;
        if let Some(label) = &node.label {
            self.classes.add(at, Fact::Label(0, label));
        }
        // Nodes without a type are referred to, but not declared.
        if node.kind.as_deref() != Some("CLASS") {
            if node.kind.is_some() {
                self.sink.report().note(OTHER_NODE, || id);
            }
            return Ok(());
        }
        self.classes.declare(at);
        let Some(meta) = node.meta else {
            return Ok(());
        };
        if meta.deprecated == Some(true) {
            self.classes.deprecate(at);
        }
        if let Some(value) = meta.definition.and_then(|definition| definition.value) {
            self.classes.add(at, Fact::Definition(0, &value));
        }
        for synonym in meta.synonyms.into_iter().flatten() {
            let (Some(property), Some(text)) = (synonym.property, synonym.value) else {
                continue;
            };
            let Some(scope) = synonym_scope(&property) else {
                continue;
            };
            self.classes.add(at, Fact::Synonym(scope, &text));
            if let Some(kind) = synonym.kind.filter(|kind| !kind.is_empty()) {
                self.classes.add(at, Fact::SynonymType(scope, &kind, &text));
            }
        }
        for xref in meta.xrefs.into_iter().flatten() {
            if let Some(value) = xref.value {
                self.classes.add(at, xref_fact(&value));
            }
        }
        for pair in meta.values.into_iter().flatten() {
            let (Some(property), Some(value)) = (pair.property, pair.value) else {
                continue;
            };
            let name = property.rsplit(['#', '/']).next().unwrap_or(&property);
            let fact = match name {
                "IAO_0100001" => Fact::ReplacedBy(&value),
                "hasAlternativeId" => Fact::Alternative(&value),
                "hasOBONamespace" => Fact::Namespace(&value),
                "exactMatch" => xref_fact(&value),
                "prefLabel" => Fact::Preferred(0, &value),
                "IAO_0000118" | "altLabel" => {
                    Fact::Synonym(crate::import::obo::Scope::Exact, &value)
                }
                _ => continue,
            };
            self.classes.add(at, fact);
        }
        self.classes.settle(at);
        Ok(())
    }

    fn edge(&mut self, edge: Edge) -> Result<()> {
        let is_a = matches!(
            edge.property.as_deref(),
            Some("is_a" | "http://www.w3.org/2000/01/rdf-schema#subClassOf")
        );
        if let (true, Some(child), Some(parent)) = (is_a, edge.subject, edge.object)
            && child != parent
        {
            let (child, parent) = (self.classes.node(&child)?, self.classes.node(&parent)?);
            self.classes.add_parent(child, parent);
        }
        Ok(())
    }

    /// Equivalent nodes are cross-references of each other; in a large set, the representative of
    /// all others and they of it.
    fn equivalents(&mut self, set: NodeSet) -> Result<()> {
        let mut seen = HashSet::new();
        let all: Vec<String> = set
            .ids
            .into_iter()
            .flatten()
            .chain(set.representative.clone())
            .filter(|id| seen.insert(id.clone()))
            .collect();
        if let Some(center) = set.representative.as_ref().or(all.first())
            && all.len() > ALL_PAIRS
        {
            self.sink
                .report()
                .note(LARGE_SET, || format!("{} nodes with {center}", all.len()));
            let node = self.classes.node(center)?;
            for other in all.iter().filter(|other| *other != center) {
                self.classes.add(node, Fact::XrefIri(other));
                let node = self.classes.node(other)?;
                self.classes.add(node, Fact::XrefIri(center));
            }
            return Ok(());
        }
        for id in &all {
            let node = self.classes.node(id)?;
            for other in all.iter().filter(|other| *other != id) {
                self.classes.add(node, Fact::XrefIri(other));
            }
        }
        Ok(())
    }
}

fn xref_fact(value: &str) -> Fact<'_> {
    if value.contains("://") {
        Fact::XrefIri(value)
    } else {
        Fact::Xref(value)
    }
}

/// A text, or a truth value or number as text. Writers differ.
fn scalar<'de, D: Deserializer<'de>>(json: D) -> std::result::Result<Option<String>, D::Error> {
    Ok(match Option::<serde_json::Value>::deserialize(json)? {
        None | Some(serde_json::Value::Null) => None,
        Some(serde_json::Value::String(text)) => Some(text),
        Some(other) => Some(other.to_string()),
    })
}

#[derive(Deserialize)]
struct Node {
    id: Option<String>,
    #[serde(rename = "lbl")]
    label: Option<String>,
    #[serde(rename = "type")]
    kind: Option<String>,
    meta: Option<Meta>,
}

#[derive(Deserialize)]
struct Meta {
    definition: Option<Value>,
    synonyms: Option<Vec<Synonym>>,
    xrefs: Option<Vec<Value>>,
    #[serde(rename = "basicPropertyValues")]
    values: Option<Vec<PropertyValue>>,
    deprecated: Option<bool>,
}

#[derive(Deserialize)]
struct Value {
    #[serde(rename = "val", default, deserialize_with = "scalar")]
    value: Option<String>,
}

#[derive(Deserialize)]
struct PropertyValue {
    #[serde(rename = "pred")]
    property: Option<String>,
    #[serde(rename = "val", default, deserialize_with = "scalar")]
    value: Option<String>,
}

#[derive(Deserialize)]
struct Synonym {
    #[serde(rename = "pred")]
    property: Option<String>,
    #[serde(rename = "val", default, deserialize_with = "scalar")]
    value: Option<String>,
    #[serde(rename = "synonymType")]
    kind: Option<String>,
}

#[derive(Deserialize)]
struct Edge {
    #[serde(rename = "sub", alias = "subj")]
    subject: Option<String>,
    #[serde(rename = "pred")]
    property: Option<String>,
    #[serde(rename = "obj")]
    object: Option<String>,
}

#[derive(Deserialize)]
struct NodeSet {
    #[serde(rename = "representativeNodeId")]
    representative: Option<String>,
    #[serde(rename = "nodeIds")]
    ids: Option<Vec<String>>,
}

/// The whole document.
struct Document<'x, 'r, 'a, 'c>(&'x mut Reading<'r, 'a, 'c>);

impl<'de> DeserializeSeed<'de> for Document<'_, '_, '_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> std::result::Result<(), D::Error> {
        json.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Document<'_, '_, '_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object with `graphs`")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> std::result::Result<(), A::Error> {
        while let Some(key) = map.next_key::<String>()? {
            if key == "graphs" {
                self.0.graphs = true;
                map.next_value_seed(Part(self.0, PartKind::Graphs))?;
            } else {
                map.next_value_seed(Part(self.0, PartKind::Ignored))?;
            }
        }
        Ok(())
    }
}

/// A list of the document.
#[derive(Clone, Copy)]
enum PartKind {
    Graphs,
    Graph,
    Nodes,
    Edges,
    Equivalents,
    /// Read past, piece by piece.
    Ignored,
}

struct Part<'x, 'r, 'a, 'c>(&'x mut Reading<'r, 'a, 'c>, PartKind);

impl<'de> DeserializeSeed<'de> for Part<'_, '_, '_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> std::result::Result<(), D::Error> {
        match self.1 {
            PartKind::Ignored => json.deserialize_any(self),
            PartKind::Graph => json.deserialize_map(self),
            _ => json.deserialize_option(self),
        }
    }
}

impl<'de> Visitor<'de> for Part<'_, '_, '_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.1 {
            PartKind::Graphs => "a list of graphs",
            PartKind::Graph => "a graph",
            PartKind::Nodes => "a list of nodes",
            PartKind::Edges => "a list of edges",
            PartKind::Equivalents => "a list of sets of nodes",
            PartKind::Ignored => "a value",
        })
    }

    fn visit_some<D: Deserializer<'de>>(self, json: D) -> std::result::Result<(), D::Error> {
        json.deserialize_seq(self)
    }

    fn visit_none<E>(self) -> std::result::Result<(), E> {
        Ok(())
    }

    fn visit_unit<E>(self) -> std::result::Result<(), E> {
        Ok(())
    }

    fn visit_bool<E>(self, _: bool) -> std::result::Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> std::result::Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> std::result::Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> std::result::Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> std::result::Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> std::result::Result<(), A::Error> {
        let Self(reading, kind) = self;
        match kind {
            PartKind::Graphs => {
                while list
                    .next_element_seed(Part(reading, PartKind::Graph))?
                    .is_some()
                {}
            }
            PartKind::Nodes => {
                while let Some(node) = list.next_element()? {
                    reading.step(|reading| reading.node(node))?;
                }
            }
            PartKind::Edges => {
                while let Some(edge) = list.next_element()? {
                    reading.step(|reading| reading.edge(edge))?;
                }
            }
            PartKind::Equivalents => {
                while let Some(set) = list.next_element()? {
                    reading.step(|reading| reading.equivalents(set))?;
                }
            }
            PartKind::Graph | PartKind::Ignored => {
                while list.next_element::<IgnoredAny>()?.is_some() {
                    reading.step(|_| Ok(()))?;
                }
            }
        }
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> std::result::Result<(), A::Error> {
        let Self(reading, kind) = self;
        while let Some(key) = map.next_key::<String>()? {
            let inner = match (kind, key.as_str()) {
                (PartKind::Graph, "nodes") => PartKind::Nodes,
                (PartKind::Graph, "edges") => PartKind::Edges,
                (PartKind::Graph, "equivalentNodesSets") => PartKind::Equivalents,
                (PartKind::Graph, "id") => {
                    if let Some(id) = map.next_value::<Option<String>>()? {
                        reading.classes.add_ontology(&id);
                    }
                    continue;
                }
                _ => PartKind::Ignored,
            };
            map.next_value_seed(Part(reading, inner))?;
        }
        Ok(())
    }
}
