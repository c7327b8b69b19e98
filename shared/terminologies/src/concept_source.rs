//! Concepts of ontologies, tables and terminologies, read into one list.

use super::mapping::Merger;
use super::redirects::{Reason, Redirects, ResolvedRedirects};
use super::release::{ReleaseFile, ReleaseFiles};
use super::{Sink, Terminology};
use crate::import::concepts::{Concepts, Defaults};
use crate::import::delimited::Layout;
use crate::import::formats;
use crate::import::formats::Format;
use crate::import::merging::ConceptTable;
use crate::import::obo::{Ontology, SynonymChoice};
use crate::import::report::Report;
use crate::import::{Input, delimited, jsonl};
use crate::parents::Parents;
use pel_kb::Concept;
use pel_kb::error::{Error, Result};
use std::collections::HashMap;
use std::io::{BufRead, Cursor, Read};

/// What concepts are read from.
#[derive(Clone, Copy, Debug)]
pub enum ConceptSource<'a> {
    /// Ontologies in OBO format, with the synonyms to read.
    Obo(&'a SynonymChoice),
    /// Concept tables with one JSON object per line.
    Jsonl {
        /// Whether to count invalid lines instead of failing.
        skip_bad: bool,
    },
    /// Concept tables with columns.
    Csv(&'a Layout),
    /// A terminology in its released layout.
    Terminology(&'a Terminology),
}

/// Where concepts go.
pub struct Output<'a> {
    /// The concepts that match exactly, and become one.
    pub merger: Option<Merger>,
    /// Values for missing fields.
    pub defaults: Defaults,
    /// The parents of concepts; read if they are wanted.
    pub parents: &'a mut Parents,
    /// Counts what happened to each record.
    pub report: &'a mut Report,
    /// Called at each line or record.
    pub count: &'a mut dyn FnMut(),
    /// Receives each concept.
    pub write: &'a mut dyn FnMut(&Concept) -> Result<()>,
}

impl ConceptSource<'_> {
    /// The word of its command and in `import.json`.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self {
            Self::Obo(_) => "obo",
            Self::Jsonl { .. } => "jsonl",
            Self::Csv(_) => "csv",
            Self::Terminology(terminology) => terminology.word(),
        }
    }

    /// Reads the concepts of all files. Returns the retired identifiers.
    ///
    /// # Errors
    /// If a file cannot be read or is invalid, or a concept cannot be written.
    pub fn read(
        &self,
        release: &ReleaseFiles,
        host: &dyn super::host::Host,
        output: Output<'_>,
    ) -> Result<ResolvedRedirects> {
        let Output {
            mut merger,
            mut defaults,
            parents,
            report,
            count,
            write,
        } = output;
        if let Self::Terminology(terminology) = self {
            let own = || terminology.source().map(str::to_owned);
            defaults.source = defaults.source.or_else(own);
        }
        let mut redirects = Redirects::default();
        let mut take = |concept: Concept| {
            let now = match &mut merger {
                Some(merger) => merger.take(concept),
                None => Some(concept),
            };
            now.map_or(Ok(()), |concept| write(&concept))
        };
        let mut concepts = Concepts::new(&mut take, defaults, report);
        concepts.parents = std::mem::take(parents);
        self.read_into(
            release,
            &mut Sink::new(&mut concepts, &mut redirects, count, host),
        )?;
        *parents = std::mem::take(&mut concepts.parents);
        let mut ids = concepts.into_ids();
        let mut merged = HashMap::new();
        if let Some(merger) = merger {
            merged.extend(merger.merged());
            merger.finish(&mut ids, &mut redirects, report, |concept| write(&concept))?;
        }
        parents.finish(&merged, |id| ids.contains(id), report)?;
        redirects.resolve(|id| ids.contains(id), report)
    }

    fn read_into(&self, release: &ReleaseFiles, sink: &mut Sink<'_, '_>) -> Result<()> {
        match self {
            Self::Obo(synonyms) => {
                let mut ontology = Ontology::default();
                each(release, Some(Format::Obo), sink, |input, report| {
                    ontology.read(input, synonyms, report)
                })?;
                for term in ontology.retired() {
                    let reason = match (term.merged, term.successor) {
                        (true, _) => Reason::Merged,
                        (false, Some(_)) => Reason::Replaced,
                        (false, None) => Reason::Retired,
                    };
                    sink.retire(term.id, term.successor, reason);
                }
                ontology.finish(sink.concepts)
            }
            Self::Jsonl { skip_bad } => {
                let form = Some(Format::JsonLines);
                table(release, form, sink, |input, table, report| {
                    jsonl::read(input, *skip_bad, table, report)
                })
            }
            Self::Csv(layout) => table(release, None, sink, |input, table, report| {
                delimited::read(input, layout, table, report)
            }),
            Self::Terminology(terminology) => terminology.read(release, sink),
        }
    }
}

/// Reads all files as one table of concepts. `read` adds the rows of a file.
fn table(
    release: &ReleaseFiles,
    form: Option<Format>,
    sink: &mut Sink<'_, '_>,
    mut read: impl FnMut(Input<'_>, &mut ConceptTable, &mut Report) -> Result<()>,
) -> Result<()> {
    let mut table = ConceptTable::default();
    each(release, form, sink, |input, report| {
        read(input, &mut table, report)
    })?;
    table.finish(sink.concepts)
}

/// Reads one file after the other. `form` is the expected format; `None` for tables, which have no
/// recognisable beginning.
///
/// # Errors
/// If a file cannot be opened or clearly has another format (the error names the command for it).
/// As `read`.
fn each(
    release: &ReleaseFiles,
    form: Option<Format>,
    sink: &mut Sink<'_, '_>,
    mut read: impl FnMut(Input<'_>, &mut Report) -> Result<()>,
) -> Result<()> {
    let Sink {
        concepts,
        count,
        host,
        ..
    } = sink;
    release.files.iter().try_for_each(|file| {
        let name = file.label();
        let mut tick = || {
            count();
            host.check()
        };
        let read = open(file, form).and_then(|mut reader| {
            let input = Input {
                name: &name,
                reader: &mut reader,
                tick: &mut tick,
                longest: host.longest(),
            };
            read(input, concepts.report)
        });
        read.map_err(|error| host.read_error(&name, error))
    })
}

/// Opens a text that does not clearly have another format.
fn open(file: &ReleaseFile, form: Option<Format>) -> Result<Box<dyn BufRead>> {
    let (name, mut text) = (file.label(), file.open_text()?);
    let mut head = Vec::new();
    let read = text
        .by_ref()
        .take(formats::HEAD as u64)
        .read_to_end(&mut head);
    read.map_err(|cause| match cause.downcast::<Error>() {
        Ok(own) => own.context(name.clone()),
        Err(cause) => Error::io(format!("reading {name}")).caused_by(cause),
    })?;
    match Format::recognise(&head) {
        Some(found) if Some(found) != form => {
            let expected = match form {
                Some(Format::Obo) => "an ontology in OBO",
                Some(_) => "concepts as JSON lines",
                None => "a table with columns",
            };
            let found = found.advice();
            Err(Error::input(format!(
                "{name}: expected {expected}, found {found}"
            )))
        }
        _ => Ok(Box::new(Cursor::new(head).chain(text))),
    }
}
