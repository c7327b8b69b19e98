//! A bundle that is open for linking, with its threads.

use crate::arrow::RecordBatch;
use crate::links::{Candidate, Concept, Link, Linked, json, parsed};
use crate::spans::{self, Given};
use crate::work::Threads;
use crate::{errors, options};
use clap::ValueEnum;
use numpy::{PyArray1, PyArray2, PyArrayMethods};
use pel_artifacts::device::{DeviceArgs, DeviceChoice, GpuMemory, Work};
use pel_artifacts::models::open_ranker;
use pel_kb::error::{Error, Result};
use pel_linker::LinkOptions;
use pel_linker::bundle::Resolved;
use pel_notes::link::date::moment;
use pel_notes::link::format::{Format, NoteFormatter};
use pel_notes::link::second_stage::SecondStage;
use pel_notes::link::text_linker::{GivenText, TextLinker, TextOptions};
use pel_notes::link::{context_rules, link, wordings};
use pel_output::{Ancestor, Named, NamedCode, Record, RowIds};
use pel_text::Span;
use pel_text::detect::{Detected, Origin};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyDict, PyList, PyString};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The most threads that a linker can be told to start. Systems take minutes for many more, in
/// which no signal is heard.
const THREADS: usize = 1024;

/// What `pel_linker.Linker` wraps.
#[pyclass(frozen, module = "pel_linker._pel")]
pub struct Engine {
    linker: Arc<TextLinker>,
    threads: Threads,
}

/// What is opened.
struct Opening {
    path: PathBuf,
    device: DeviceArgs,
    context_rules: String,
    wordings: Option<PathBuf>,
    ranker: Option<(PathBuf, usize)>,
}

impl Opening {
    fn open(self) -> Result<TextLinker> {
        let opened = self.device.open(Work::Short)?;
        let mut linker = TextLinker::open(&self.path, &opened)?;
        let rules = context_rules(Path::new(&self.context_rules))?;
        linker.linker.settings().set_context_rules(rules);
        if let Some(file) = &self.wordings {
            linker.linker.settings().set_wordings(wordings(file)?);
        }
        if let Some((folder, count)) = self.ranker {
            linker.second = Some(SecondStage::new(
                open_ranker(&folder, &opened.device)?,
                count,
            ));
        }
        Ok(linker)
    }
}

#[pymethods]
impl Engine {
    #[new]
    #[pyo3(signature = (
        path, threads=None, device="cpu", gpu=None, context_rules="english", wordings=None,
        ranker=None, rerank=None
    ))]
    #[expect(clippy::too_many_arguments, reason = "keywords in Python")]
    fn new(
        py: Python<'_>,
        path: PathBuf,
        threads: Option<&Bound<'_, PyAny>>,
        device: &str,
        gpu: Option<usize>,
        context_rules: &str,
        wordings: Option<PathBuf>,
        ranker: Option<PathBuf>,
        rerank: Option<usize>,
    ) -> PyResult<Self> {
        let threads = threads
            .map(|threads| options::whole("threads", threads, 1..=THREADS))
            .transpose()?;
        let device = DeviceChoice::from_str(device, false).map_err(|_| {
            errors::input(
                py,
                format!("device: expected auto, cpu, vulkan or cuda, found {device:?}"),
            )
        })?;
        let ranker = match (ranker, rerank) {
            (None, None) => None,
            (Some(folder), Some(count)) if count >= 2 => Some((folder, count)),
            _ => {
                return Err(errors::input(
                    py,
                    "ranker: expected a model with rerank=K, at least 2",
                ));
            }
        };
        let opening = Opening {
            path,
            device: DeviceArgs {
                device,
                gpu,
                gpu_memory: GpuMemory::default(),
            },
            context_rules: context_rules.to_owned(),
            wordings,
            ranker,
        };
        let threads = Threads::start(threads.unwrap_or(0)).map_err(|e| errors::raised(py, &e))?;
        let linker = threads.run(py, move || opening.open())?;
        Ok(Self {
            linker: Arc::new(linker),
            threads,
        })
    }

    #[getter]
    fn threads(&self, py: Python<'_>) -> PyResult<usize> {
        self.threads
            .count()
            .map_err(|error| errors::raised(py, &error))
    }

    #[getter]
    fn dim(&self) -> usize {
        self.linker.linker.steps().encoder().dim()
    }

    #[pyo3(signature = (texts, spans=None, spans_only=false, **options))]
    fn link(
        &self,
        py: Python<'_>,
        texts: &Bound<'_, PyAny>,
        spans: Option<&Bound<'_, PyAny>>,
        spans_only: bool,
        options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Vec<Vec<Link>>> {
        let job = self.job(texts, spans, spans_only, options)?;
        let linked = self.threads.run(py, move || job.run())?;
        Ok(linked.into_iter().map(Link::all).collect())
    }

    #[pyo3(signature = (texts, ids=None, spans=None, spans_only=false, **options))]
    fn link_arrow(
        &self,
        py: Python<'_>,
        texts: &Bound<'_, PyAny>,
        ids: Option<&Bound<'_, PyAny>>,
        spans: Option<&Bound<'_, PyAny>>,
        spans_only: bool,
        options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<RecordBatch> {
        let job = self.job(texts, spans, spans_only, options)?;
        if job.options.ancestors {
            return Err(errors::input(
                py,
                "ancestors: expected no table, which has no column for them; use link",
            ));
        }
        let ids = match ids {
            Some(ids) => identifiers(ids)?,
            None => (0..job.texts.len()).map(|at| at.to_string()).collect(),
        };
        if ids.len() != job.texts.len() {
            return Err(errors::input(
                py,
                format!(
                    "ids: expected those of {} texts, found {}",
                    job.texts.len(),
                    ids.len()
                ),
            ));
        }
        self.threads
            .run(py, move || RecordBatch::new(&ids, &job.run()?))
    }

    #[pyo3(signature = (
        text, format, name, date=None, omop_first_id=None, spans=None, spans_only=false, **options
    ))]
    #[expect(clippy::too_many_arguments, reason = "keywords in Python")]
    fn write(
        &self,
        py: Python<'_>,
        text: &Bound<'_, PyString>,
        format: &str,
        name: String,
        date: Option<&str>,
        omop_first_id: Option<&Bound<'_, PyAny>>,
        spans: Option<&Bound<'_, PyAny>>,
        spans_only: bool,
        options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<String> {
        let format = Format::from_str(format, false).map_err(|_| {
            let known = crate::formats().join(", ");
            errors::input(
                py,
                format!("format: expected one of {known}, found {format:?}"),
            )
        })?;
        let first = omop_first_id
            .map(|first| options::whole("omop_first_id", first, 1..=i32::MAX as usize))
            .transpose()?;
        let moment = moment(date).map_err(|error| errors::raised(py, &error))?;
        let texts = PyList::new(py, [text])?;
        let job = self.job(&texts, spans, spans_only, options)?;
        if job.options.codes.is_some() && !format.has_codes() {
            return Err(errors::input(
                py,
                "codes: expected the format table, json, jsonl, csv or fhir, found a format \
                 without codes",
            ));
        }
        if job.options.ancestors && !matches!(format, Format::Json | Format::Jsonl) {
            return Err(errors::input(
                py,
                "ancestors: expected the format json or jsonl, found one without them",
            ));
        }
        let systems = job.options.codes.clone();
        self.threads.run(py, move || {
            let text = job.texts.first().cloned().unwrap_or_default();
            let linker = job.linker.clone();
            let records = job.records()?.into_iter().flatten().collect();
            let writer = NoteFormatter::new(format, &name, &text, &linker.linker);
            let ids = first.and_then(|first| u32::try_from(first).ok());
            let ids = ids.map_or_else(RowIds::default, |first| RowIds::new(first, 1));
            let writer = writer.dated(&moment).coded_in(systems.as_deref());
            let mut writer = writer.numbered(ids);
            Ok(writer.head()? + &writer.part(records)? + &writer.tail()?)
        })
    }

    fn encode<'py>(
        &self,
        py: Python<'py>,
        texts: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyArray2<f32>>> {
        let (texts, linker) = (strings("texts", texts)?, self.linker.clone());
        let shape = [texts.len(), self.dim()];
        let vectors = self.threads.run(py, move || linker.encode_texts(&texts))?;
        PyArray1::from_vec(py, vectors).reshape(shape)
    }

    fn search(
        &self,
        py: Python<'_>,
        name: &Bound<'_, PyString>,
        k: &Bound<'_, PyAny>,
    ) -> PyResult<Vec<Candidate>> {
        let (name, linker) = (text_of(name, "name", 0)?, self.linker.clone());
        let k = options::whole("k", k, 1..=options::CANDIDATES)?;
        self.threads.run(py, move || {
            let whole = Detected::new(Span::new(0, name.len()), Origin::Given);
            let linker = &linker.linker;
            if name.is_empty() {
                return Ok(Vec::new());
            }
            let found = link(linker, &name, vec![whole], &LinkOptions::default().k(k))?;
            let candidates = found.iter().flat_map(|link| &link.candidates);
            candidates
                .map(|candidate| Ok(Candidate(Named::new(linker, candidate)?)))
                .collect()
        })
    }

    fn concept(&self, py: Python<'_>, id: &str) -> PyResult<Concept> {
        let find = || {
            let linker = &self.linker.linker;
            match linker.resolve(id)? {
                Resolved::Concept(at) | Resolved::Redirected { concept: at, .. } => Ok(Concept {
                    concept: linker.concept(at)?,
                    codes: NamedCode::of_concept(linker.bundle(), at),
                    ancestors: Ancestor::of_concept(linker, at)?,
                }),
                Resolved::Retired(_) => Err(Error::input(format!(
                    "the id {id:?} is retired, and no concept of the bundle has replaced it"
                ))),
                Resolved::Unknown => Err(Error::input(format!(
                    "the bundle has no concept with the id {id:?}"
                ))),
            }
        };
        find().map_err(|error| errors::raised(py, &error))
    }

    fn info<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        parsed(py, json(&self.linker.linker.bundle().manifest))
    }
}

/// Texts to link.
struct Job {
    linker: Arc<TextLinker>,
    texts: Vec<String>,
    given: Option<Vec<Given>>,
    spans_only: bool,
    options: TextOptions,
}

impl Engine {
    /// Reads texts and options from Python.
    fn job(
        &self,
        texts: &Bound<'_, PyAny>,
        spans: Option<&Bound<'_, PyAny>>,
        spans_only: bool,
        options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Job> {
        let py = texts.py();
        if spans_only && spans.is_none() {
            return Err(errors::input(py, "spans_only: give the mentions as spans"));
        }
        Ok(Job {
            options: options::read(py, options, &self.linker)?,
            texts: strings("texts", texts)?,
            given: spans.map(spans::read).transpose()?,
            linker: self.linker.clone(),
            spans_only,
        })
    }
}

impl Job {
    /// The records of each text.
    fn records(self) -> Result<Vec<Vec<Record>>> {
        let Self {
            linker,
            texts,
            given,
            spans_only,
            options,
        } = self;
        match given {
            None => linker.link_texts(&texts, &options),
            Some(given) => {
                let given = spans::detected(&texts, given)?;
                let given = texts.iter().zip(given).map(|(text, given)| GivenText {
                    text,
                    given,
                    only_given: spans_only,
                    stated: None,
                });
                linker.link_given(given.collect(), &options)
            }
        }
    }

    /// The texts with their records.
    fn run(self) -> Result<Vec<Linked>> {
        let (texts, linker) = (self.texts.clone(), self.linker.clone());
        let records = self.records()?;
        let both = texts.into_iter().zip(records);
        Ok(both
            .map(|(text, records)| Linked::new(text, records, linker.clone()))
            .collect())
    }
}

/// Reads strings, of a sequence, an array of Arrow or another iterable.
fn strings(what: &str, values: &Bound<'_, PyAny>) -> PyResult<Vec<String>> {
    each(what, values, |value, at| match value.cast::<PyString>() {
        Ok(value) => text_of(value, what, at),
        Err(_) => Err(other_item(what, "a string", value, at)),
    })
}

/// Reads identifiers: strings, or whole numbers, also those of NumPy.
fn identifiers(values: &Bound<'_, PyAny>) -> PyResult<Vec<String>> {
    let what = "ids";
    each(what, values, |value, at| {
        if let Ok(value) = value.cast::<PyString>() {
            return text_of(value, what, at);
        }
        match value.call_method0("__index__") {
            Ok(number) if !value.is_instance_of::<PyBool>() => Ok(number.str()?.to_string()),
            _ => Err(other_item(what, "a string or whole number", value, at)),
        }
    })
}

fn other_item(what: &str, expected: &str, value: &Bound<'_, PyAny>, at: usize) -> PyErr {
    match value.get_type().name() {
        Ok(found) => PyTypeError::new_err(format!(
            "{what}: item {at}: expected {expected}, found {found}"
        )),
        Err(error) => error,
    }
}

/// Reads the items of a sequence or another iterable. A dictionary and a data frame are refused:
/// their iterators yield keys and names of columns.
fn each(
    what: &str,
    values: &Bound<'_, PyAny>,
    mut read: impl FnMut(&Bound<'_, PyAny>, usize) -> PyResult<String>,
) -> PyResult<Vec<String>> {
    let refused = values.is_instance_of::<PyString>()
        || values.is_instance_of::<PyBytes>()
        || values.is_instance_of::<PyDict>()
        || values.hasattr("columns")?;
    // The iterator of an array of Arrow, chunked or a dictionary too, yields scalars of its own.
    let listed = match refused || !values.hasattr("to_pylist")? {
        true => values.clone(),
        false => values.call_method0("to_pylist")?,
    };
    let (false, Ok(items)) = (refused, listed.try_iter()) else {
        let found = values.get_type().name()?;
        return Err(PyTypeError::new_err(format!(
            "{what}: expected a sequence of strings, found {found}"
        )));
    };
    items
        .enumerate()
        .map(|(at, value)| read(&value?, at))
        .collect()
}

/// A string as UTF-8.
fn text_of(value: &Bound<'_, PyString>, what: &str, at: usize) -> PyResult<String> {
    let text = value.to_cow().map_err(|_| {
        errors::input(
            value.py(),
            format!("{what}: item {at}: expected Unicode text, found a lone surrogate"),
        )
    })?;
    Ok(text.into_owned())
}
