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

use crate::import_host::ImportHost;
use crate::release_files;
use pel_io::counter::Counter;
use pel_io::files::{convert_read_error, record_limit};
use pel_io::interrupt;
use pel_io::limits::Bound;
use pel_io::outputs::{OutputFolder, write_line};
use pel_io::text_encoding::{TextEncoding, open_text};
use pel_kb::error::{Error, Result};
use pel_terminologies::Terminology;
use pel_terminologies::concept_source;
use pel_terminologies::concept_source::ConceptSource;
use pel_terminologies::import::Input;
use pel_terminologies::import::concepts::{CONCEPTS, Defaults};
use pel_terminologies::import::delimited::Layout;
use pel_terminologies::import::obo::SynonymChoice;
use pel_terminologies::import::report::Report;
use pel_terminologies::mapping::{ExactMatches, Merger};
use pel_terminologies::parents;
use pel_terminologies::parents::Parents;
use pel_terminologies::redirects;
use pel_terminologies::release::ReleaseFiles;
use serde::Serialize;
use shares::Shares;
use splits::{SplitFiles, Splits};
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
        /// Whether to write the parents of concepts.
        hierarchy: bool,
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
        /// Whether to write the parents of concepts.
        hierarchy: bool,
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
    /// What concepts are read from, and their defaults; `None` for corpora.
    fn concepts(&self) -> Option<(ConceptSource<'_>, &Defaults)> {
        Some(match self {
            Self::Obo {
                defaults, synonyms, ..
            } => (ConceptSource::Obo(synonyms), defaults),
            Self::Jsonl {
                defaults, skip_bad, ..
            } => {
                let skip_bad = *skip_bad;
                (ConceptSource::Jsonl { skip_bad }, defaults)
            }
            Self::Csv {
                defaults, layout, ..
            } => (ConceptSource::Csv(layout), defaults),
            Self::Terminology {
                terminology,
                defaults,
                ..
            } => (ConceptSource::Terminology(terminology), defaults),
            _ => return None,
        })
    }

    /// The files that concepts are read from.
    fn files(&self) -> Result<ReleaseFiles> {
        match self {
            Self::Obo { texts, .. } | Self::Jsonl { texts, .. } | Self::Csv { texts, .. } => {
                Ok(release_files::texts(&texts.paths, &texts.encoding))
            }
            Self::Terminology { paths, .. } => release_files::files(paths),
            _ => Ok(ReleaseFiles::default()),
        }
    }

    /// Whether the parents of concepts are written.
    fn wants_parents(&self) -> bool {
        match self {
            Self::Obo { hierarchy, .. } | Self::Terminology { hierarchy, .. } => *hierarchy,
            _ => false,
        }
    }

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
            let matches = exact_matches(map, &mut report)?;
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
    let (format, kind) = read_source(
        source,
        &splits,
        merger,
        &mut output,
        &mut report,
        &mut counter,
    )?;
    if report.kept(kind) == 0 {
        let (names, why) = (names(&inputs).join(", "), report.reasons());
        let why = if why.is_empty() {
            "the input is empty".to_owned()
        } else {
            format!("skipped {why}")
        };
        return Err(Error::input(format!("{names}: there are no {kind}: {why}")));
    }
    output.commit(&Record {
        format,
        inputs: names(&inputs),
        map: map.map(name),
        report: &report,
    })?;
    Ok(report)
}

/// Reads a source and writes its files. Returns the word of the format, and the kind of records of
/// which there must be one.
fn read_source(
    source: &Source,
    splits: &Splits,
    merger: Option<Merger>,
    output: &mut OutputFolder,
    report: &mut Report,
    counter: &mut Counter,
) -> Result<(&'static str, &'static str)> {
    Ok(match source {
        Source::Obo { .. }
        | Source::Jsonl { .. }
        | Source::Csv { .. }
        | Source::Terminology { .. } => {
            let word = write_concepts(output, report, merger, source, counter)?;
            (word, CONCEPTS)
        }
        Source::Pubtator { texts, prefix, .. } => {
            let encoding = &texts.encoding;
            pubtator::read(
                &texts.paths,
                encoding,
                splits,
                prefix,
                output,
                report,
                counter,
            )?;
            ("pubtator", pubtator::DOCUMENTS)
        }
        Source::Brat {
            folders,
            encoding,
            shares,
            bundle,
        } => {
            let mut notes = brat::read(folders, encoding, report, counter)?;
            if let Some(bundle) = bundle {
                corrected::check_concepts(&mut notes, bundle, report)?;
            }
            corrected::write(notes, shares, output, report)?;
            ("brat", pubtator::DOCUMENTS)
        }
        Source::Links {
            files,
            encoding,
            shares,
            bundle,
        } => {
            let mut notes = links::read(files, encoding, counter)?;
            if let Some(bundle) = bundle {
                corrected::check_concepts(&mut notes, bundle, report)?;
            }
            corrected::write(notes, shares, output, report)?;
            ("links", pubtator::DOCUMENTS)
        }
        Source::Zeshel { folder } => {
            zeshel::read(folder, output, report, counter)?;
            ("zeshel", CONCEPTS)
        }
        Source::Blink { entities, mentions } => {
            contexts::blink(entities, mentions, output, report, counter)?;
            ("blink", CONCEPTS)
        }
        Source::Wikilinks { mentions } => {
            contexts::wikilinks(mentions, output, report, counter)?;
            ("wikilinks", CONCEPTS)
        }
        Source::Tac(files) => {
            tac::read(files, output, report, counter)?;
            ("tac", CONCEPTS)
        }
    })
}

/// Reads the matches of a mapping.
fn exact_matches(map: &Path, report: &mut Report) -> Result<ExactMatches> {
    let name = name(map);
    let mut reader = open_text(map, &TextEncoding::default(), Bound::Records)?;
    let input = Input {
        name: &name,
        reader: &mut reader,
        tick: &mut interrupt::check,
        longest: record_limit(),
    };
    ExactMatches::read(input, report).map_err(|error| convert_read_error(map, error))
}

/// Writes `kb.jsonl`, `redirects.tsv` if there are retired identifiers, and `hierarchy.tsv` if parents
/// are wanted. Returns the word of the format.
fn write_concepts(
    output: &mut OutputFolder,
    report: &mut Report,
    merger: Option<Merger>,
    source: &Source,
    counter: &mut Counter,
) -> Result<&'static str> {
    let Some((concepts, defaults)) = source.concepts() else {
        return Ok("");
    };
    // Only terminologies are sorted.
    let scratch = match concepts {
        ConceptSource::Terminology(_) => Some(output.scratch()?),
        _ => None,
    };
    // The readers of terminologies check for an interrupt and remove their temporary files.
    let _ending = scratch.as_ref().map(|_| interrupt::defer_exit());
    let host = ImportHost {
        scratch: scratch.as_deref().unwrap_or(Path::new("")),
    };
    // Those of an earlier import belong to other concepts.
    output.remove_earlier(redirects::FILE);
    output.remove_earlier(parents::FILE);
    let mut above = Parents::new(source.wants_parents());
    let resolved = output.write("kb.jsonl", |out| {
        let read = concept_source::Output {
            merger,
            defaults: defaults.clone(),
            parents: &mut above,
            report,
            count: &mut || counter.step(),
            write: &mut |concept| write_line(out, concept),
        };
        concepts.read(&source.files()?, &host, read)
    })?;
    if !resolved.is_empty() {
        output.write(redirects::FILE, |out| resolved.write(out))?;
    }
    if !above.is_empty() {
        output.write(parents::FILE, |out| above.write(out))?;
    }
    Ok(concepts.word())
}

fn name(path: &Path) -> String {
    path.display().to_string()
}

fn names(paths: &[PathBuf]) -> Vec<String> {
    paths.iter().map(|path| name(path)).collect()
}
