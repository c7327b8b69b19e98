//! Import: turns ontologies, tables and corpora of other tools into PEL's own files, and says what became of each
//! record.

pub mod annotated;
pub mod contexts;
pub mod pubtator;
pub mod pubtator_lines;
pub mod splits;
pub mod tac;
pub mod tac_files;
pub mod xml;
pub mod zeshel;

use crate::io::counter::Counter;
use crate::io::files::{longest_record, reading_error};
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
use splits::{SplitFiles, Splits};
use std::io::{BufRead, Cursor, Read};
use std::path::{Path, PathBuf};

/// The content of `import.json`.
#[derive(Serialize)]
struct Record<'a> {
    format: &'a str,
    inputs: Vec<String>,
    #[serde(flatten)]
    report: &'a Report,
}

/// Files of text that are read one after the other.
#[derive(Clone, Debug)]
pub struct TextFiles {
    /// Where they are; `-` is standard input.
    pub paths: Vec<PathBuf>,
    /// Their encoding.
    pub encoding: TextEncoding,
}

/// What is imported, by its format.
#[derive(Clone, Debug)]
pub enum Source {
    /// Ontologies in OBO format.
    Obo {
        /// The files.
        texts: TextFiles,
        /// What to fill in.
        defaults: Defaults,
        /// Which synonyms to take.
        synonyms: SynonymChoice,
    },
    /// Concept tables with one JSON object on each line.
    Jsonl {
        /// The files.
        texts: TextFiles,
        /// What to fill in.
        defaults: Defaults,
        /// Whether lines that cannot be read are counted instead of refused.
        skip_bad: bool,
    },
    /// Concept tables with columns.
    Csv {
        /// The files.
        texts: TextFiles,
        /// What to fill in.
        defaults: Defaults,
        /// Which column is what, and how cells are told apart.
        layout: Box<Layout>,
    },
    /// An annotated corpus in PubTator format.
    Pubtator {
        /// The files.
        texts: TextFiles,
        /// Lists of the documents of each split, one id a line.
        lists: SplitFiles,
        /// What to take off the front of concept ids.
        prefix: String,
    },
    /// ZESHEL as released.
    Zeshel {
        /// The folder with documents and mentions.
        folder: PathBuf,
    },
    /// Mentions with their context, as BLINK writes them.
    Blink {
        /// Tables of entities, each named after its world, or folders of them.
        entities: Vec<PathBuf>,
        /// The mentions of each split.
        mentions: SplitFiles,
    },
    /// Mentions with their context, as WikilinksNED has them.
    Wikilinks {
        /// The mentions of each split.
        mentions: SplitFiles,
    },
    /// An entity linking task of TAC-KBP.
    Tac(tac::Files),
}

impl Source {
    /// The files and folders to read, without lists of documents.
    pub fn inputs(&self) -> Vec<PathBuf> {
        let paths = |files: &SplitFiles| files.given().map(|(_, path)| path.to_owned()).collect::<Vec<_>>();
        match self {
            Self::Obo { texts, .. }
            | Self::Jsonl { texts, .. }
            | Self::Csv { texts, .. }
            | Self::Pubtator { texts, .. } => texts.paths.clone(),
            Self::Zeshel { folder } => vec![folder.clone()],
            Self::Blink { entities, mentions } => [entities.clone(), paths(mentions)].concat(),
            Self::Wikilinks { mentions } => paths(mentions),
            Self::Tac(files) => files.inputs(),
        }
    }
}

/// Imports into the folder `out`. Its files appear there together, or none does.
///
/// # Errors
/// If an input cannot be read or understood, nothing was left to write, or the output cannot be written.
pub fn import(source: &Source, out: &Path) -> Result<Report> {
    let inputs = source.inputs();
    let mut report = Report::default();
    // What can fail early fails before a folder is made.
    let splits = match source {
        Source::Pubtator { lists, .. } => Splits::read(lists.all())?,
        _ => Splits::default(),
    };
    let mut output = OutputFolder::new(out, "import.json", inputs.iter().map(PathBuf::as_path))?;
    let mut counter = Counter::new("lines");
    let (format, kind) = match source {
        Source::Obo { texts, defaults, synonyms } => {
            let texts = Texts::of(texts, Some(Form::Obo));
            write_concepts(&mut output, &mut report, defaults.clone(), |concepts| {
                let mut ontology = Ontology::default();
                texts.each(&mut counter, |input| ontology.read(input, synonyms, concepts.report))?;
                ontology.finish(concepts)
            })?;
            ("obo", CONCEPTS)
        }
        Source::Jsonl { texts, defaults, skip_bad } => {
            let texts = Texts::of(texts, Some(Form::JsonLines));
            write_concepts(&mut output, &mut report, defaults.clone(), |concepts| {
                let mut table = ConceptTable::default();
                texts.each(&mut counter, |input| jsonl::read(input, *skip_bad, &mut table, concepts.report))?;
                table.finish(concepts)
            })?;
            ("jsonl", CONCEPTS)
        }
        Source::Csv { texts, defaults, layout } => {
            let texts = Texts::of(texts, None);
            write_concepts(&mut output, &mut report, defaults.clone(), |concepts| {
                let mut table = ConceptTable::default();
                texts.each(&mut counter, |input| delimited::read(input, layout, &mut table, concepts.report))?;
                table.finish(concepts)
            })?;
            ("csv", CONCEPTS)
        }
        Source::Pubtator { texts, prefix, .. } => {
            let encoding = &texts.encoding;
            pubtator::read(&inputs, encoding, &splits, prefix, &mut output, &mut report, &mut counter)?;
            ("pubtator", pubtator::DOCUMENTS)
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
        let why = if why.is_empty() { "it is empty".to_owned() } else { format!("skipped {why}") };
        return Err(Error::input(format!("no {kind} in {names}: {why}")));
    }
    output.commit(&Record { format, inputs: names(&inputs), report: &report })?;
    Ok(report)
}

fn write_concepts(
    output: &mut OutputFolder,
    report: &mut Report,
    defaults: Defaults,
    read: impl FnOnce(&mut Concepts<'_>) -> Result<()>,
) -> Result<()> {
    output.write("kb.jsonl", |out| {
        let mut take = |concept: Concept| write_line(out, &concept);
        read(&mut Concepts::new(&mut take, defaults, report))
    })
}

/// Texts that are read one after the other.
struct Texts<'a> {
    files: &'a TextFiles,
    /// The form that is read; `None` for tables, which cannot be told by their beginning.
    form: Option<Form>,
}

impl<'a> Texts<'a> {
    fn of(files: &'a TextFiles, form: Option<Form>) -> Self {
        Self { files, form }
    }

    /// Opens one file after the other.
    ///
    /// # Errors
    /// If one cannot be opened, or is certainly of another form than is read here: what reads it is named. As `read`.
    fn each(&self, counter: &mut Counter, mut read: impl FnMut(Input<'_>) -> Result<()>) -> Result<()> {
        self.files.paths.iter().try_for_each(|path: &PathBuf| {
            let (name, mut reader) = (name(path), self.open(path)?);
            let mut tick = || {
                counter.step();
                crate::io::interrupt::check()
            };
            let read = read(Input { name: &name, reader: &mut reader, tick: &mut tick, longest: longest_record() });
            read.map_err(|error| reading_error(path, error))
        })
    }

    fn open(&self, path: &Path) -> Result<Box<dyn BufRead>> {
        let mut text = open_text(path, &self.files.encoding, Bound::Stream)?;
        let mut head = Vec::new();
        let head_read = text.by_ref().take(formats::HEAD as u64).read_to_end(&mut head);
        head_read.map_err(|cause| read_error(path, cause))?;
        match Form::recognise(&head) {
            Some(found) if Some(found) != self.form => {
                let expected = match self.form {
                    Some(Form::Obo) => "an ontology in OBO",
                    Some(_) => "concepts as JSON lines",
                    None => "a table with columns",
                };
                let (path, found) = (path.display(), found.advice());
                Err(Error::input(format!("{path}: expected {expected}, found {found}")))
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
