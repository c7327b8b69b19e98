//! Import of ontologies, tables and corpora into PEL's own files, with a report on every record.

pub mod annotated;
pub mod brat;
pub mod contexts;
pub mod corrected;
pub mod links;
pub mod pubtator;
pub mod pubtator_lines;
pub mod shares;
pub mod splits;
pub mod tac;
pub mod tac_files;
pub mod zeshel;

use crate::data::terminologies::mapping::{ExactMatches, Merger};
use crate::data::terminologies::redirects::{self, Reason, Redirects};
use crate::data::terminologies::{Sink, Terminology};
use crate::io::counter::Counter;
use crate::io::files::{convert_read_error, record_limit};
use crate::io::interrupt;
use crate::io::limits::Bound;
use crate::io::outputs::{OutputFolder, write_line};
use crate::io::text_encoding::{TextEncoding, open_text, read_error};
use pel_shared::error::{Error, Result};
use pel_shared::kb::Concept;
use pel_shared::kb::import::concepts::{CONCEPTS, Concepts, Defaults};
use pel_shared::kb::import::delimited::Layout;
use pel_shared::kb::import::formats;
use pel_shared::kb::import::formats::Format as Form;
use pel_shared::kb::import::merging::ConceptTable;
use pel_shared::kb::import::obo::{Ontology, SynonymChoice};
use pel_shared::kb::import::report::Report;
use pel_shared::kb::import::{Input, delimited, jsonl};
use serde::Serialize;
use shares::Shares;
use splits::{SplitFiles, Splits};
use std::io::{BufRead, Cursor, Read};
use std::path::{Path, PathBuf};

/// The content of `import.json`.
#[derive(Serialize)]
struct Record<'a> {
    format: &'a str,
    inputs: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    map: Option<String>,
    #[serde(flatten)]
    report: &'a Report,
}

/// Text files to read in order.
#[derive(Clone, Debug)]
pub struct TextFiles {
    /// Paths; `-` is standard input.
    pub paths: Vec<PathBuf>,
    /// Their encoding.
    pub encoding: TextEncoding,
}

/// What to import, by format.
#[derive(Clone, Debug)]
pub enum Source {
    /// Ontologies in OBO format.
    Obo {
        /// The files.
        texts: TextFiles,
        /// Values for missing fields.
        defaults: Defaults,
        /// Which synonyms to import.
        synonyms: SynonymChoice,
    },
    /// Concept tables with one JSON object per line.
    Jsonl {
        /// The files.
        texts: TextFiles,
        /// Values for missing fields.
        defaults: Defaults,
        /// Whether to count invalid lines instead of failing.
        skip_bad: bool,
    },
    /// Concept tables with columns.
    Csv {
        /// The files.
        texts: TextFiles,
        /// Values for missing fields.
        defaults: Defaults,
        /// Meaning of the columns, and how to separate cells.
        layout: Box<Layout>,
    },
    /// A terminology in its released layout.
    Terminology {
        /// Folders, ZIP archives or files of the release.
        paths: Vec<PathBuf>,
        /// The terminology with the options of its reader.
        terminology: Terminology,
        /// Values for missing fields.
        defaults: Defaults,
    },
    /// An annotated corpus in PubTator format.
    Pubtator {
        /// The files.
        texts: TextFiles,
        /// The document ids of each split, one per line.
        lists: SplitFiles,
        /// Prefix to remove from concept ids.
        prefix: String,
    },
    /// Notes with annotations in BRAT standoff.
    Brat {
        /// The folders.
        folders: brat::Folders,
        /// The encoding of texts and annotations.
        encoding: TextEncoding,
        /// The shares of the splits.
        shares: Shares,
        /// The bundle that must have the concepts; `None` checks none.
        bundle: Option<PathBuf>,
    },
    /// Notes with links as JSON, corrected in the page or elsewhere.
    Links {
        /// The files.
        files: links::LinkFiles,
        /// The encoding of texts and links.
        encoding: TextEncoding,
        /// The shares of the splits.
        shares: Shares,
        /// The bundle that must have the concepts; `None` checks none.
        bundle: Option<PathBuf>,
    },
    /// ZESHEL as released.
    Zeshel {
        /// The folder with documents and mentions.
        folder: PathBuf,
    },
    /// Mentions with context in the format of BLINK.
    Blink {
        /// Entity tables named after their world, or folders of them.
        entities: Vec<PathBuf>,
        /// The mention files of each split.
        mentions: SplitFiles,
    },
    /// Mentions with context in the format of WikilinksNED.
    Wikilinks {
        /// The mention files of each split.
        mentions: SplitFiles,
    },
    /// An entity linking task of TAC-KBP.
    Tac(tac::TaskFiles),
}

impl Source {
    /// The files and folders to read, without split lists.
    pub fn inputs(&self) -> Vec<PathBuf> {
        let with = |paths: &[PathBuf], more: [&Option<PathBuf>; 2]| -> Vec<PathBuf> {
            paths
                .iter()
                .chain(more.into_iter().flatten())
                .cloned()
                .collect()
        };
        let paths = |files: &SplitFiles| {
            files
                .given()
                .map(|(_, path)| path.to_owned())
                .collect::<Vec<_>>()
        };
        match self {
            Self::Obo { texts, .. }
            | Self::Jsonl { texts, .. }
            | Self::Csv { texts, .. }
            | Self::Pubtator { texts, .. } => texts.paths.clone(),
            Self::Terminology { paths, .. } => paths.clone(),
            Self::Brat {
                folders, bundle, ..
            } => with(&folders.folders, [&folders.texts, bundle]),
            Self::Links { files, bundle, .. } => with(&files.paths, [&files.texts, bundle]),
            Self::Zeshel { folder } => vec![folder.clone()],
            Self::Blink { entities, mentions } => [entities.clone(), paths(mentions)].concat(),
            Self::Wikilinks { mentions } => paths(mentions),
            Self::Tac(files) => files.inputs(),
        }
    }
}

impl Source {
    /// The prefixes of identifiers that have none of their own.
    fn prefixes(&self) -> &'static [&'static str] {
        match self {
            Self::Terminology { terminology, .. } => terminology.prefixes(),
            _ => &[],
        }
    }
}

/// Imports into the folder `out`. Its files appear together or not at all. Concepts that match
/// exactly in `map`, a mapping in SSSOM, become one.
///
/// # Errors
/// If an input cannot be read or is invalid, no record is left, or the output cannot be written.
pub fn import(source: &Source, map: Option<&Path>, out: &Path) -> Result<Report> {
    let inputs = source.inputs();
    let mut report = Report::default();
    let merger = match map {
        None => None,
        Some(map) => {
            let matches = ExactMatches::read(map, &mut report)?;
            Some(Merger::new(matches, source.prefixes()))
        }
    };
    // Fails before a folder is created.
    let splits = match source {
        Source::Pubtator { lists, .. } => Splits::read(lists.all())?,
        _ => Splits::default(),
    };
    let read = inputs.iter().map(PathBuf::as_path).chain(map);
    let mut output = OutputFolder::new(out, "import.json", read)?;
    let mut counter = Counter::new("lines");
    let (format, kind) = match source {
        Source::Obo {
            texts,
            defaults,
            synonyms,
        } => {
            let texts = Texts::of(texts, Some(Form::Obo));
            write_concepts(
                &mut output,
                &mut report,
                merger,
                defaults.clone(),
                |concepts, redirects| {
                    let mut ontology = Ontology::default();
                    texts.each(&mut counter, |input| {
                        ontology.read(input, synonyms, concepts.report)
                    })?;
                    for term in ontology.retired() {
                        let reason = match (term.merged, term.successor) {
                            (true, _) => Reason::Merged,
                            (false, Some(_)) => Reason::Replaced,
                            (false, None) => Reason::Retired,
                        };
                        redirects.add(term.id, term.successor, reason, concepts.report);
                    }
                    ontology.finish(concepts)
                },
            )?;
            ("obo", CONCEPTS)
        }
        Source::Jsonl {
            texts,
            defaults,
            skip_bad,
        } => {
            let texts = Texts::of(texts, Some(Form::JsonLines));
            write_concepts(
                &mut output,
                &mut report,
                merger,
                defaults.clone(),
                |concepts, _| {
                    texts.table(&mut counter, concepts, |input, table, report| {
                        jsonl::read(input, *skip_bad, table, report)
                    })
                },
            )?;
            ("jsonl", CONCEPTS)
        }
        Source::Csv {
            texts,
            defaults,
            layout,
        } => {
            let texts = Texts::of(texts, None);
            write_concepts(
                &mut output,
                &mut report,
                merger,
                defaults.clone(),
                |concepts, _| {
                    texts.table(&mut counter, concepts, |input, table, report| {
                        delimited::read(input, layout, table, report)
                    })
                },
            )?;
            ("csv", CONCEPTS)
        }
        Source::Terminology {
            paths,
            terminology,
            defaults,
        } => {
            let scratch = output.scratch()?;
            // The readers check for an interrupt and remove their temporary files.
            let _ending = interrupt::defer_exit();
            write_concepts(
                &mut output,
                &mut report,
                merger,
                Defaults {
                    source: defaults
                        .source
                        .clone()
                        .or(terminology.source().map(str::to_owned)),
                    ..defaults.clone()
                },
                |concepts, redirects| {
                    let mut sink = Sink::new(concepts, redirects, &mut counter, &scratch);
                    terminology.read(paths, &mut sink)
                },
            )?;
            (terminology.word(), CONCEPTS)
        }
        Source::Pubtator { texts, prefix, .. } => {
            let encoding = &texts.encoding;
            pubtator::read(
                &inputs,
                encoding,
                &splits,
                prefix,
                &mut output,
                &mut report,
                &mut counter,
            )?;
            ("pubtator", pubtator::DOCUMENTS)
        }
        Source::Brat {
            folders,
            encoding,
            shares,
            bundle,
        } => {
            let mut notes = brat::read(folders, encoding, &mut report, &mut counter)?;
            if let Some(bundle) = bundle {
                corrected::check_concepts(&mut notes, bundle, &mut report)?;
            }
            corrected::write(notes, shares, &mut output, &mut report)?;
            ("brat", pubtator::DOCUMENTS)
        }
        Source::Links {
            files,
            encoding,
            shares,
            bundle,
        } => {
            let mut notes = links::read(files, encoding, &mut counter)?;
            if let Some(bundle) = bundle {
                corrected::check_concepts(&mut notes, bundle, &mut report)?;
            }
            corrected::write(notes, shares, &mut output, &mut report)?;
            ("links", pubtator::DOCUMENTS)
        }
        Source::Zeshel { folder } => {
            zeshel::read(folder, &mut output, &mut report, &mut counter)?;
            ("zeshel", CONCEPTS)
        }
        Source::Blink { entities, mentions } => {
            contexts::blink(entities, mentions, &mut output, &mut report, &mut counter)?;
            ("blink", CONCEPTS)
        }
        Source::Wikilinks { mentions } => {
            contexts::wikilinks(mentions, &mut output, &mut report, &mut counter)?;
            ("wikilinks", CONCEPTS)
        }
        Source::Tac(files) => {
            tac::read(files, &mut output, &mut report, &mut counter)?;
            ("tac", CONCEPTS)
        }
    };
    if report.kept(kind) == 0 {
        let (names, why) = (names(&inputs).join(", "), report.reasons());
        let why = if why.is_empty() {
            "the input is empty".to_owned()
        } else {
            format!("skipped {why}")
        };
        return Err(Error::input(format!(
            "{names}: expected {kind}, found none: {why}"
        )));
    }
    output.commit(&Record {
        format,
        inputs: names(&inputs),
        map: map.map(name),
        report: &report,
    })?;
    Ok(report)
}

/// Writes `kb.jsonl`, and `redirects.tsv` if there are retired identifiers.
fn write_concepts(
    output: &mut OutputFolder,
    report: &mut Report,
    mut merger: Option<Merger>,
    defaults: Defaults,
    read: impl FnOnce(&mut Concepts<'_>, &mut Redirects) -> Result<()>,
) -> Result<()> {
    let mut redirects = Redirects::default();
    // Those of an earlier import belong to other concepts.
    output.remove_earlier(redirects::FILE);
    let resolved = output.write("kb.jsonl", |out| {
        let mut take = |concept: Concept| {
            let now = match &mut merger {
                Some(merger) => merger.take(concept),
                None => Some(concept),
            };
            now.map_or(Ok(()), |concept| write_line(out, &concept))
        };
        let mut concepts = Concepts::new(&mut take, defaults, report);
        read(&mut concepts, &mut redirects)?;
        let mut ids = concepts.into_ids();
        if let Some(merger) = merger {
            merger.finish(&mut ids, &mut redirects, report, |concept| {
                write_line(out, &concept)
            })?;
        }
        redirects.resolve(|id| ids.contains(id), report)
    })?;
    if !resolved.is_empty() {
        output.write(redirects::FILE, |out| resolved.write(out))?;
    }
    Ok(())
}

/// Opens text files in order.
struct Texts<'a> {
    files: &'a TextFiles,
    /// The expected format; `None` for tables, which have no recognisable beginning.
    form: Option<Form>,
}

impl<'a> Texts<'a> {
    fn of(files: &'a TextFiles, form: Option<Form>) -> Self {
        Self { files, form }
    }

    /// Reads one file after the other.
    ///
    /// # Errors
    /// If a file cannot be opened or clearly has another format (the error names the command for
    /// it). As `read`.
    fn each(
        &self,
        counter: &mut Counter,
        mut read: impl FnMut(Input<'_>) -> Result<()>,
    ) -> Result<()> {
        self.files.paths.iter().try_for_each(|path: &PathBuf| {
            let (name, mut reader) = (name(path), self.open(path)?);
            let mut tick = || {
                counter.step();
                interrupt::check()
            };
            let read = read(Input {
                name: &name,
                reader: &mut reader,
                tick: &mut tick,
                longest: record_limit(),
            });
            read.map_err(|error| convert_read_error(path, error))
        })
    }

    /// Reads all files as one table of concepts. `read` adds the rows of a file.
    ///
    /// # Errors
    /// As [`Texts::each`], or if a concept cannot be written.
    fn table(
        &self,
        counter: &mut Counter,
        concepts: &mut Concepts<'_>,
        mut read: impl FnMut(Input<'_>, &mut ConceptTable, &mut Report) -> Result<()>,
    ) -> Result<()> {
        let mut table = ConceptTable::default();
        self.each(counter, |input| read(input, &mut table, concepts.report))?;
        table.finish(concepts)
    }

    fn open(&self, path: &Path) -> Result<Box<dyn BufRead>> {
        let mut text = open_text(path, &self.files.encoding, Bound::Stream)?;
        let mut head = Vec::new();
        let head_read = text
            .by_ref()
            .take(formats::HEAD as u64)
            .read_to_end(&mut head);
        head_read.map_err(|cause| read_error(path, cause))?;
        match Form::recognise(&head) {
            Some(found) if Some(found) != self.form => {
                let expected = match self.form {
                    Some(Form::Obo) => "an ontology in OBO",
                    Some(_) => "concepts as JSON lines",
                    None => "a table with columns",
                };
                let (path, found) = (path.display(), found.advice());
                Err(Error::input(format!(
                    "{path}: expected {expected}, found {found}"
                )))
            }
            _ => Ok(Box::new(Cursor::new(head).chain(text))),
        }
    }
}

fn name(path: &Path) -> String {
    path.display().to_string()
}

fn names(paths: &[PathBuf]) -> Vec<String> {
    paths.iter().map(|path| name(path)).collect()
}
