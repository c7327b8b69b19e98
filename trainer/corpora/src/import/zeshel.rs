//! ZESHEL as released (Logeswaran et al., 2019): `documents/{world}.json` and
//! `mentions/{split}.json`, JSON Lines.
//!
//! A page is a concept of its world and may be the context of mentions. Mention offsets are word
//! indices in the text split at white space; the end is inclusive.

use super::annotated::{ConceptSet, CorpusBuilder, UNKNOWN_CONCEPT};
use crate::corpus::{CorpusMention, Document, MISPLACED, UNKNOWN_DOCUMENT};
use pel_io::corpus_files::unpacked;
use pel_io::counter::Counter;
use pel_io::files::{for_each_line_within, io_error};
use pel_io::limits::Bound;
use pel_io::outputs::OutputFolder;
use pel_kb::Concept;
use pel_kb::error::{Error, Result};
use pel_terminologies::import::concepts::single_spaced;
use pel_terminologies::import::records::record;
use pel_terminologies::import::report::Report;
use pel_text::Offsets;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Note on a mention whose world differs from that of its document.
pub const OTHER_WORLD: &str =
    "mention whose document is of another world than it says (the document's counts)";

/// A line of `documents/{world}.json`.
#[derive(Deserialize)]
struct Page {
    document_id: String,
    title: String,
    text: String,
}

/// A line of `mentions/{split}.json`.
#[derive(Deserialize)]
struct Row {
    context_document_id: String,
    start_index: usize,
    end_index: usize,
    text: String,
    label_document_id: String,
    /// The world.
    #[serde(default)]
    corpus: Option<String>,
}

/// A mention whose document has not been read yet.
struct Waiting {
    split: String,
    place: String,
    row: Row,
}

/// Reads the folder and writes `kb.jsonl`, `documents.jsonl` and the mentions of each split. The
/// split `val` becomes `dev`; both held-out splits of the training worlds become `heldout`. A world
/// is the source of its concepts and the domain of its documents.
///
/// # Errors
/// If the folder lacks these files, a file cannot be read, a line is invalid, or the output cannot
/// be written.
pub fn read(
    folder: &Path,
    output: &mut OutputFolder,
    report: &mut Report,
    counter: &mut Counter,
) -> Result<()> {
    let worlds = files(folder, "documents")?;
    let mut reader = Reader {
        corpus: CorpusBuilder::default(),
        concepts: ConceptSet::default(),
        waiting: BTreeMap::new(),
        placed: Vec::new(),
        report,
        counter,
    };
    for (name, path) in files(folder, "mentions")? {
        let split = match &*name {
            "val" => "dev",
            // These have training worlds; each mention tells whether training has its concept.
            "heldout_train_seen" | "heldout_train_unseen" => "heldout",
            name => name,
        };
        reader.mentions(split, &path, folder, &worlds)?;
    }
    for (world, path) in worlds {
        reader.pages(&world, &path)?;
    }
    reader.finish(output)
}

/// A reader of the files.
struct Reader<'a> {
    corpus: CorpusBuilder,
    concepts: ConceptSet,
    /// The mentions by document.
    waiting: BTreeMap<String, Vec<Waiting>>,
    /// The mentions whose document has been read, with split and line.
    placed: Vec<(String, String, CorpusMention)>,
    report: &'a mut Report,
    counter: &'a mut Counter,
}

impl Reader<'_> {
    /// Reads the mentions of a split. `worlds` are the files of documents.
    fn mentions(
        &mut self,
        split: &str,
        path: &Path,
        folder: &Path,
        worlds: &BTreeMap<String, PathBuf>,
    ) -> Result<()> {
        self.corpus.split(split);
        for_each_line_within(path, Bound::Stream, |number, line| {
            self.counter.step();
            if line.trim().is_empty() {
                return Ok(());
            }
            let row: Row = record(line)?;
            if let Some(world) = row
                .corpus
                .as_ref()
                .filter(|world| !worlds.contains_key(*world))
            {
                let expected = folder.join("documents").join(format!("{world}.json"));
                let expected = expected.display();
                return Err(Error::input(format!(
                    "the world {world} of the mention has no file {expected}"
                )));
            }
            let place = format!("{}:{number}", path.display());
            let one = Waiting {
                split: split.to_owned(),
                place,
                row,
            };
            self.waiting
                .entry(one.row.context_document_id.clone())
                .or_default()
                .push(one);
            Ok(())
        })
    }

    /// Reads the pages of a world.
    fn pages(&mut self, world: &str, path: &Path) -> Result<()> {
        let mut pages = 0;
        for_each_line_within(path, Bound::Stream, |number, line| {
            self.counter.step();
            if line.trim().is_empty() {
                return Ok(());
            }
            let page: Page = record(line)?;
            pages += 1;
            self.page(page, world, || format!("{}:{number}", path.display()));
            Ok(())
        })?;
        if pages == 0 {
            return Err(Error::input(format!(
                "{}: there are no pages of the world {world}",
                path.display()
            )));
        }
        Ok(())
    }

    /// Adds a page as a concept, and as a document if it has mentions.
    fn page(&mut self, page: Page, world: &str, place: impl Fn() -> String) {
        let Page {
            document_id,
            title,
            text,
        } = page;
        if let Some(mentions) = self.waiting.remove(&document_id) {
            self.place_mentions(mentions, &document_id, &text, world);
            let document = Document {
                doc_id: document_id.clone(),
                text: text.clone(),
                split: None,
                domain: Some(world.to_owned()),
            };
            self.corpus.document(document, self.report, &place);
        }
        let concept = Concept {
            id: document_id,
            name: title,
            definition: Some(text),
            sources: vec![world.to_owned()],
            ..Concept::default()
        };
        self.concepts.push(concept, self.report, place);
    }

    /// Locates the mentions of a document, and notes those that name another world.
    fn place_mentions(
        &mut self,
        mentions: Vec<Waiting>,
        document_id: &str,
        text: &str,
        world: &str,
    ) {
        let elsewhere =
            |one: &&Waiting| one.row.corpus.as_ref().is_some_and(|other| other != world);
        for Waiting { place, row, .. } in mentions.iter().filter(elsewhere) {
            self.report.note(OTHER_WORLD, || {
                format!(
                    "{place} {:?}, document {document_id} of {world}",
                    row.corpus
                )
            });
        }
        let words: Vec<&str> = text.split_whitespace().collect();
        let offsets = Offsets::new(text);
        let found = |mention| found(text, &words, &offsets, document_id, mention, self.report);
        self.placed.extend(mentions.into_iter().filter_map(found));
    }

    /// Keeps the mentions whose document and concept were read, and writes the corpus.
    fn finish(mut self, output: &mut OutputFolder) -> Result<()> {
        for Waiting { place, row, .. } in self.waiting.into_values().flatten() {
            self.report.skip(UNKNOWN_DOCUMENT, || {
                format!("{place} document {}", row.context_document_id)
            });
        }
        for (split, place, mention) in self.placed {
            match mention.id.as_deref() {
                Some(id) if self.concepts.has(id) => self.corpus.mention(&split, mention),
                id => self.report.skip(UNKNOWN_CONCEPT, || {
                    format!("{place} {}", id.unwrap_or_default())
                }),
            }
        }
        self.concepts.write(output, self.report)?;
        self.corpus.write(output, self.report)
    }
}

/// The files of one of the two folders by stem.
fn files(folder: &Path, kind: &str) -> Result<BTreeMap<String, PathBuf>> {
    let folder = folder.join(kind);
    let entries = std::fs::read_dir(&folder)
        .map_err(|cause| io_error("reading the folder", &folder, cause))?;
    let mut files = BTreeMap::new();
    for entry in entries {
        let path = entry
            .map_err(|cause| io_error("reading the folder", &folder, cause))?
            .path();
        let name = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        if let Some((stem, "json")) = unpacked(&name).split_once('.') {
            files.insert(stem.to_owned(), path);
        }
    }
    match files.is_empty() {
        true => Err(Error::input(format!(
            "{}: the folder has no files such as train.json",
            folder.display()
        ))),
        false => Ok(files),
    }
}

/// Locates a mention in its document's text; `None` if the words there differ from its text.
fn found(
    text: &str,
    words: &[&str],
    offsets: &Offsets<'_>,
    doc_id: &str,
    mention: Waiting,
    report: &mut Report,
) -> Option<(String, String, CorpusMention)> {
    let Waiting { split, place, row } = mention;
    let byte = |word: &str| word.as_ptr() as usize - text.as_ptr() as usize;
    let span = (|| {
        let (first, last) = (words.get(row.start_index)?, words.get(row.end_index)?);
        text.get(byte(first)..byte(last) + last.len())
            .map(|found| (byte(first), found))
    })();
    match span {
        Some((start, found)) if single_spaced(found) == single_spaced(&row.text) => {
            let mention = CorpusMention {
                doc_id: doc_id.to_owned(),
                start: offsets.code_point(start),
                end: offsets.code_point(start + found.len()),
                text: found.to_owned(),
                id: Some(row.label_document_id),
                ..CorpusMention::default()
            };
            Some((split, place, mention))
        }
        other => {
            let found = other.map_or("nothing".to_owned(), |(_, found)| format!("{found:?}"));
            let Row {
                start_index,
                end_index,
                text,
                ..
            } = &row;
            report.skip(MISPLACED, || {
                format!(
                    "{place} words {start_index} to {end_index}: expected {text:?}, found {found}"
                )
            });
            None
        }
    }
}
