//! Links, candidates and concepts as Python objects.

use crate::beside::{Attribute, Beside, Relation};
use crate::errors;
use pel_kb::clean::escaped;
use pel_kb::error::{Error, Result};
use pel_notes::link::text_linker::TextLinker;
use pel_output::{Ancestor, Form, Named, NamedCode, Note, Record};
use pel_text::{Offsets, Span, text_of};
use pyo3::prelude::*;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::sync::{Arc, OnceLock};

/// A text with its records.
pub struct Linked {
    /// The text.
    pub text: String,
    /// Its records, in its order.
    pub records: Vec<Record>,
    /// Start and end of the fragments of each record in code points, one or more.
    pub pieces: Vec<Vec<(usize, usize)>>,
    origin: Source,
    /// The records as JSON, made when the first is asked for.
    lines: OnceLock<Vec<String>>,
}

/// Where records come from.
enum Source {
    /// A linker, which writes them as JSON.
    Linker(Arc<TextLinker>),
    /// A pickle of one record, with the text of its mention.
    Pickle(String),
}

/// What a pickle of a link has. Of the text it has the mention alone.
#[derive(Serialize, Deserialize)]
struct Pickled {
    mention: String,
    pieces: Vec<(usize, usize)>,
    record: Record,
    /// The record as JSON.
    line: String,
}

/// What begins a line of a note without a name.
const NAMELESS: &str = "{\"doc\":\"\",";

impl Linked {
    /// A text with its records.
    pub fn new(text: String, records: Vec<Record>, linker: Arc<TextLinker>) -> Self {
        let offsets = Offsets::new(&text);
        let place = |span: &Span| (offsets.code_point(span.start), offsets.code_point(span.end));
        let pieces = records
            .iter()
            .map(|record| record.pieces().iter().map(place).collect())
            .collect();
        Self {
            text,
            records,
            pieces,
            origin: Source::Linker(linker),
            lines: OnceLock::new(),
        }
    }

    fn unpickled(state: Pickled) -> Self {
        Self {
            text: String::new(),
            records: vec![state.record],
            pieces: vec![state.pieces],
            origin: Source::Pickle(state.mention),
            lines: OnceLock::from(vec![state.line]),
        }
    }

    /// The text of a record. Fragments are joined by a space.
    pub fn mention(&self, at: usize) -> Cow<'_, str> {
        match &self.origin {
            Source::Linker(_) => text_of(&self.text, self.records[at].pieces()).unwrap_or_default(),
            Source::Pickle(mention) => Cow::Borrowed(mention),
        }
    }

    /// Start and end of a record in code points.
    pub fn extent(&self, at: usize) -> (usize, usize) {
        let ends = |pieces: &[(usize, usize)]| Some((pieces.first()?.0, pieces.last()?.1));
        ends(&self.pieces[at]).unwrap_or_default()
    }

    /// A record as a line of JSON. The name of the note is left out without one.
    fn line(&self, at: usize, doc: Option<&str>) -> Result<String> {
        let line = self.nameless(at)?;
        let members = line
            .strip_prefix(NAMELESS)
            .ok_or_else(|| Error::io("encoding JSON"))?;
        match doc {
            None => Ok(format!("{{{members}")),
            Some(doc) => Ok(format!("{{\"doc\":{},{members}", escaped(&json(&doc)?))),
        }
    }

    /// A record as a line of JSON of a note without a name.
    fn nameless(&self, at: usize) -> Result<&str> {
        if let (None, Source::Linker(linker)) = (self.lines.get(), &self.origin) {
            let note = Note {
                name: "",
                text: &self.text,
                records: &self.records,
                linker: &linker.linker,
            };
            let lines = note.write(Form::Jsonl)?;
            // Another thread may have been first.
            let _ = self.lines.set(lines.lines().map(str::to_owned).collect());
        }
        let line = self.lines.get().and_then(|lines| lines.get(at));
        line.map(String::as_str)
            .ok_or_else(|| Error::io("encoding JSON"))
    }
}

/// What a pickle calls: a function of the package with the kind of the object and its state.
type Reduced<'py> = (Bound<'py, PyAny>, (&'static str, String));

/// What `__reduce__` returns.
fn reduced<'py>(
    py: Python<'py>,
    kind: &'static str,
    state: Result<String>,
) -> PyResult<Reduced<'py>> {
    let state = state.map_err(|error| errors::raised(py, &error))?;
    let call = py.import("pel_linker._linker")?.getattr("_unpickled")?;
    Ok((call, (kind, state)))
}

/// The link, candidate or concept of a pickle.
#[pyfunction]
pub fn unpickled<'py>(py: Python<'py>, kind: &str, state: &str) -> PyResult<Bound<'py, PyAny>> {
    fn read<T: serde::de::DeserializeOwned>(py: Python<'_>, state: &str) -> PyResult<T> {
        let message =
            "the pickle is of another version of pel-linker: link the text again with this version";
        serde_json::from_str(state).map_err(|_| errors::input(py, message))
    }
    match kind {
        "link" => {
            let note = Arc::new(Linked::unpickled(read(py, state)?));
            Ok(Bound::new(py, Link { note, at: 0 })?.into_any())
        }
        "candidate" => Ok(Bound::new(py, Candidate(read(py, state)?))?.into_any()),
        "code" => Ok(Bound::new(py, Code(read(py, state)?))?.into_any()),
        _ => {
            let concept: Concept = read(py, state)?;
            Ok(Bound::new(py, concept)?.into_any())
        }
    }
}

/// A mention with its decision.
#[pyclass(frozen, module = "pel_linker")]
pub struct Link {
    note: Arc<Linked>,
    at: usize,
}

impl Link {
    /// The links of a text.
    pub fn all(linked: Linked) -> Vec<Self> {
        let note = Arc::new(linked);
        (0..note.records.len())
            .map(|at| Self {
                note: note.clone(),
                at,
            })
            .collect()
    }

    fn record(&self) -> &Record {
        &self.note.records[self.at]
    }

    /// What stands beside the mention, from its line of JSON: a pickle has no text.
    fn beside(&self, py: Python<'_>) -> PyResult<Beside> {
        let line = self.note.nameless(self.at);
        line.and_then(Beside::of)
            .map_err(|error| errors::raised(py, &error))
    }
}

#[pymethods]
impl Link {
    #[getter]
    fn start(&self) -> usize {
        self.note.extent(self.at).0
    }

    #[getter]
    fn end(&self) -> usize {
        self.note.extent(self.at).1
    }

    #[getter]
    fn start_byte(&self) -> usize {
        self.record().span.start
    }

    #[getter]
    fn end_byte(&self) -> usize {
        self.record().span.end
    }

    #[getter]
    fn fragments(&self) -> Vec<(usize, usize)> {
        match &self.note.pieces[self.at][..] {
            [_] => Vec::new(),
            pieces => pieces.to_vec(),
        }
    }

    #[getter]
    fn text(&self) -> Cow<'_, str> {
        self.note.mention(self.at)
    }

    #[getter]
    fn read_as(&self) -> Option<&str> {
        self.record().read_as.as_deref()
    }

    #[getter]
    fn origin(&self) -> String {
        word(&self.record().origin)
    }

    #[getter]
    fn decision(&self) -> &'static str {
        decision(self.record())
    }

    #[getter]
    fn nil_reason(&self) -> Option<String> {
        self.record().decision.as_ref().err().map(word)
    }

    #[getter]
    fn concept(&self) -> Option<Candidate> {
        let concept = self.record().decision.as_ref().ok()?;
        Some(Candidate(concept.clone()))
    }

    #[getter]
    fn code(&self) -> Option<Code> {
        let concept = self.record().decision.as_ref().ok()?;
        concept.code.clone().map(Code)
    }

    #[getter]
    fn codes(&self) -> Vec<Code> {
        let concept = self.record().decision.as_ref().ok();
        let codes = concept.into_iter().flat_map(|concept| &concept.codes);
        codes.cloned().map(Code).collect()
    }

    #[getter]
    fn candidates(&self) -> Vec<Candidate> {
        let candidates = self.record().candidates.iter();
        candidates.cloned().map(Candidate).collect()
    }

    #[getter]
    fn probability(&self) -> Option<f64> {
        self.record().probability.map(decimal)
    }

    #[getter]
    fn same_name(&self) -> usize {
        self.record().same_name
    }

    #[getter]
    fn answer_sets<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        parsed(py, json(&self.record().answer_sets))
    }

    #[getter]
    fn group(&self) -> Option<&'static str> {
        self.record().group.map(|group| group.name())
    }

    #[getter]
    fn asserted(&self) -> bool {
        self.record().context.is_asserted()
    }

    #[getter]
    fn negated(&self) -> bool {
        self.record().context.negated
    }

    #[getter]
    fn certainty(&self) -> &'static str {
        self.record().context.certainty.name()
    }

    #[getter]
    fn temporality(&self) -> &'static str {
        self.record().context.temporality.name()
    }

    #[getter]
    fn experiencer(&self) -> &'static str {
        self.record().context.experiencer.name()
    }

    #[getter]
    fn section(&self) -> Option<&str> {
        self.record().context.section.as_deref()
    }

    #[getter]
    fn laterality(&self) -> Option<&'static str> {
        self.record().context.laterality.map(|side| side.name())
    }

    #[getter]
    fn severity(&self) -> Option<&'static str> {
        self.record()
            .context
            .severity
            .map(|severity| severity.name())
    }

    #[getter]
    fn allergy(&self) -> Option<&'static str> {
        self.record().context.allergy.map(|allergy| allergy.name())
    }

    #[getter]
    fn attributes(&self, py: Python<'_>) -> PyResult<Vec<Attribute>> {
        Ok(self.beside(py)?.attributes)
    }

    #[getter]
    fn relations(&self, py: Python<'_>) -> PyResult<Vec<Relation>> {
        Ok(self.beside(py)?.relations)
    }

    #[pyo3(signature = (doc=None))]
    fn as_json(&self, py: Python<'_>, doc: Option<&str>) -> PyResult<String> {
        self.note
            .line(self.at, doc)
            .map_err(|error| errors::raised(py, &error))
    }

    #[pyo3(signature = (doc=None))]
    fn as_dict<'py>(&self, py: Python<'py>, doc: Option<&str>) -> PyResult<Bound<'py, PyAny>> {
        parsed(py, self.note.line(self.at, doc))
    }

    fn __eq__(&self, other: &Self) -> bool {
        // A pickle has no cues, which say why the context is as it is.
        let seen = |link: &Self| {
            let mut record = link.record().clone();
            record.context.cues.clear();
            record
        };
        seen(self) == seen(other) && self.text() == other.text()
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Reduced<'py>> {
        let state = self.note.nameless(self.at).and_then(|line| {
            json(&Pickled {
                mention: self.text().into_owned(),
                pieces: self.note.pieces[self.at].clone(),
                record: self.record().clone(),
                line: line.to_owned(),
            })
        });
        reduced(py, "link", state)
    }

    /// Without the text, which may be a patient's.
    fn __repr__(&self) -> String {
        let (start, end) = self.note.extent(self.at);
        let concept = self.record().decision.as_ref();
        let id = concept.map_or("nil", |concept| &concept.id);
        format!("<pel_linker.Link {start}:{end} {id}>")
    }
}

/// A concept with its similarity to a mention.
#[pyclass(frozen, eq, module = "pel_linker")]
#[derive(PartialEq)]
pub struct Candidate(pub Named);

#[pymethods]
impl Candidate {
    #[getter]
    fn id(&self) -> &str {
        &self.0.id
    }

    #[getter]
    fn name(&self) -> &str {
        &self.0.name
    }

    #[getter]
    fn types(&self) -> Vec<String> {
        self.0.types.clone()
    }

    #[getter]
    fn sources(&self) -> Vec<String> {
        self.0.sources.clone()
    }

    #[getter]
    fn xrefs(&self) -> Vec<String> {
        self.0.xrefs.clone()
    }

    #[getter]
    fn score(&self) -> f64 {
        decimal(self.0.score)
    }

    #[getter]
    fn code(&self) -> Option<Code> {
        self.0.code.clone().map(Code)
    }

    #[getter]
    fn codes(&self) -> Vec<Code> {
        self.0.codes.iter().cloned().map(Code).collect()
    }

    #[getter]
    fn ancestors(&self) -> Vec<(String, Option<String>)> {
        pairs(&self.0.ancestors)
    }

    #[getter]
    fn ranker_score(&self) -> Option<f64> {
        self.0.ranker_score.map(decimal)
    }

    fn as_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        parsed(py, json(&self.0))
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Reduced<'py>> {
        reduced(py, "candidate", json(&self.0))
    }

    fn __repr__(&self) -> String {
        format!("<pel_linker.Candidate {} {:?}>", self.0.id, self.0.name)
    }
}

/// A concept of the knowledge base.
#[pyclass(frozen, eq, module = "pel_linker")]
#[derive(PartialEq, Serialize, Deserialize)]
pub struct Concept {
    /// The concept.
    #[serde(flatten)]
    pub concept: pel_kb::Concept,
    /// Its codes in standard systems, the preferred ones first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub codes: Vec<NamedCode>,
    /// The concepts and codes above it, the nearest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ancestors: Vec<Ancestor>,
}

/// The identifier and the name of each of some ancestors.
fn pairs(ancestors: &[Ancestor]) -> Vec<(String, Option<String>)> {
    let all = ancestors.iter();
    all.map(|one| (one.id.clone(), one.name.clone())).collect()
}

#[pymethods]
impl Concept {
    #[getter]
    fn id(&self) -> &str {
        &self.concept.id
    }

    #[getter]
    fn name(&self) -> &str {
        &self.concept.name
    }

    #[getter]
    fn synonyms(&self) -> Vec<String> {
        self.concept.synonyms.clone()
    }

    #[getter]
    fn types(&self) -> Vec<String> {
        self.concept.types.clone()
    }

    #[getter]
    fn type_ids(&self) -> Vec<String> {
        self.concept.type_ids.clone()
    }

    #[getter]
    fn definition(&self) -> Option<&str> {
        self.concept.definition.as_deref()
    }

    #[getter]
    fn sources(&self) -> Vec<String> {
        self.concept.sources.clone()
    }

    #[getter]
    fn xrefs(&self) -> Vec<String> {
        self.concept.xrefs.clone()
    }

    #[getter]
    fn codes(&self) -> Vec<Code> {
        self.codes.iter().cloned().map(Code).collect()
    }

    #[getter]
    fn ancestors(&self) -> Vec<(String, Option<String>)> {
        pairs(&self.ancestors)
    }

    /// Without ancestors, as `pel inspect` prints it.
    fn as_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let dict = parsed(py, json(&self))?;
        dict.call_method1("pop", ("ancestors", py.None()))?;
        Ok(dict)
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Reduced<'py>> {
        reduced(py, "concept", json(&self))
    }

    fn __repr__(&self) -> String {
        format!(
            "<pel_linker.Concept {} {:?}>",
            self.concept.id, self.concept.name
        )
    }
}

/// A code of a concept in a standard system.
#[pyclass(frozen, eq, hash, module = "pel_linker")]
#[derive(PartialEq, Hash)]
pub struct Code(pub NamedCode);

#[pymethods]
impl Code {
    #[getter]
    fn system(&self) -> &'static str {
        self.0.system.prefix()
    }

    #[getter]
    fn code(&self) -> &str {
        &self.0.code
    }

    #[getter]
    fn display(&self) -> Option<&str> {
        self.0.display.as_deref()
    }

    #[getter(r#match)]
    fn matches(&self) -> &'static str {
        self.0.matches.name()
    }

    #[getter]
    fn billable(&self) -> Option<bool> {
        self.0.billable
    }

    #[getter]
    fn uri(&self) -> &'static str {
        self.0.system.uri()
    }

    fn as_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        parsed(py, json(&self.0))
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Reduced<'py>> {
        reduced(py, "code", json(&self.0))
    }

    fn __repr__(&self) -> String {
        let match_word = self.0.matches.name();
        let (system, code) = (self.0.system.prefix(), &self.0.code);
        format!("<pel_linker.Code {system}:{code} {match_word}>")
    }
}

/// The decision in words, as in JSON.
pub fn decision(record: &Record) -> &'static str {
    match record.decision {
        Ok(_) => "linked",
        Err(_) => "nil",
    }
}

/// A value of an enumeration as in JSON.
pub fn word(value: &impl Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(word)) => word,
        _ => String::new(),
    }
}

/// A value as JSON.
///
/// # Errors
/// If it cannot be encoded.
pub fn json(value: &impl Serialize) -> Result<String> {
    serde_json::to_string(value).map_err(|cause| Error::io("encoding JSON").caused_by(cause))
}

/// JSON as Python objects.
pub fn parsed(py: Python<'_>, json: Result<String>) -> PyResult<Bound<'_, PyAny>> {
    let json = json.map_err(|error| errors::raised(py, &error))?;
    py.import("json")?.call_method1("loads", (json,))
}

/// The shortest decimal number of a float, so that properties equal the numbers in JSON.
fn decimal(value: f32) -> f64 {
    value.to_string().parse().unwrap_or_else(|_| value.into())
}
