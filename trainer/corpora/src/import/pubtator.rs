//! PubTator corpora: titles, abstracts and mentions with checked offsets.

use super::annotated::mark_seen_in_train;
use super::pubtator_lines::{Annotation, Gold, Line, is_respelled, types_and_ids};
use super::splits::Splits;
use crate::corpus::{
    CorpusMention, DUPLICATE_DOCUMENT, Document, MISPLACED, UNKNOWN_DOCUMENT, span_of,
    without_duplicates,
};
use pel_io::counter::Counter;
use pel_io::files::for_each_line_in;
use pel_io::limits::Bound;
use pel_io::outputs::{OutputFolder, write_line};
use pel_io::text_encoding::TextEncoding;
use pel_kb::clean::breaks_line;
use pel_kb::error::Result;
use pel_terminologies::import::report::Report;
use pel_text::Offsets;
use std::collections::{BTreeMap, HashSet};
use std::io::Write;
use std::path::{Path, PathBuf};

/// Kind of documents in a report.
pub const DOCUMENTS: &str = "documents";
/// Note on a mention whose offsets were off by one code point.
pub const MOVED: &str = "mention moved by one code point to where its text stands";
/// Note on a mention spelled differently in its document.
pub const RESPELLED: &str =
    "mention in other letters than its document (those of the document are taken)";
/// Note on a mention with several concepts.
pub const SEVERAL: &str = "mention with several concepts (each of them is right)";
/// Note on a mention of several parts with a concept each.
pub const COMPOSITE: &str = "composite mention (each part has its own concept)";
/// Note on a mention whose identifier has a suffix.
pub const ANNEX: &str = "what stands behind an identifier (RSID, HGVS, species) left out";
/// Reason for skipping a document or mention whose identifier has a control character.
pub const CONTROL_IN_ID: &str = "identifier with a control character";
/// Reason for skipping a mention without text.
pub const NO_TEXT: &str = "mention without text";
/// Reason for skipping a document in no split list.
pub const NO_SPLIT: &str = "document in none of the split files";
/// Reason for skipping the mentions of such a document.
pub const MENTION_NO_SPLIT: &str = "mention of a document in none of the split files";
/// Reason for skipping the mentions of a duplicate document.
pub const MENTION_DUPLICATE: &str = "mention of a document that stands twice";
/// Reason for skipping a relation.
pub const RELATION: &str = "relation (not used by an entity linker)";
/// Reason for skipping an unknown line.
pub const BAD_LINE: &str = "line that is no title, abstract, mention or relation";
/// Note on a listed document that is not in the corpus.
pub const NOT_THERE: &str = "document of a split file that is not in the corpus";

/// A document whose lines are being read.
#[derive(Default)]
struct Block {
    id: String,
    title: Option<String>,
    body: Option<String>,
    /// Mentions with their line numbers.
    mentions: Vec<(usize, CorpusMention)>,
}

impl Block {
    /// Whether a title or abstract with this id belongs to another document.
    fn is_other(&self, id: &str, part: &Option<String>) -> bool {
        (self.title.is_some() || self.body.is_some()) && (self.id != id || part.is_some())
    }
}

/// A reader of PubTator files.
struct Reader<'a> {
    encoding: &'a TextEncoding,
    splits: &'a Splits,
    prefix: &'a str,
    out: &'a mut dyn Write,
    report: &'a mut Report,
    seen: HashSet<String>,
    mentions: BTreeMap<&'static str, Vec<CorpusMention>>,
}

/// Reads all files and writes `documents.jsonl` and `mentions.{split}.jsonl` for each split.
///
/// # Errors
/// If a file cannot be read or decoded, or the output cannot be written.
pub fn read(
    files: &[PathBuf],
    encoding: &TextEncoding,
    splits: &Splits,
    prefix: &str,
    output: &mut OutputFolder,
    report: &mut Report,
    counter: &mut Counter,
) -> Result<()> {
    let (mut mentions, mut seen) = (BTreeMap::new(), HashSet::new());
    output.write("documents.jsonl", |out| {
        let mut reader = Reader {
            encoding,
            splits,
            prefix,
            out,
            report,
            seen: HashSet::new(),
            mentions: BTreeMap::new(),
        };
        for file in files {
            reader.file(file, counter)?;
        }
        (mentions, seen) = (reader.mentions, reader.seen);
        Ok(())
    })?;
    for (id, split) in splits.listed().filter(|(id, _)| !seen.contains(*id)) {
        report.note(NOT_THERE, || format!("{id} of {split}"));
    }
    mark_seen_in_train(&mut mentions);
    for split in splits.names() {
        let of_split = mentions.get(split).map_or(&[][..], Vec::as_slice);
        report.keep(&format!("mentions ({split})"), of_split.len());
        output.write(&format!("mentions.{split}.jsonl"), |out| {
            of_split
                .iter()
                .try_for_each(|mention| write_line(out, mention))
        })?;
    }
    Ok(())
}

impl Reader<'_> {
    fn file(&mut self, path: &Path, counter: &mut Counter) -> Result<()> {
        let mut block = Block::default();
        for_each_line_in(path, self.encoding, Bound::Stream, |number, line| {
            counter.step();
            let place = || format!("{}:{number}", path.display());
            match Line::read(line) {
                Line::Title(id, _) | Line::Abstract(id, _) if id.contains(breaks_line) => {
                    self.report
                        .skip(CONTROL_IN_ID, || format!("{}: {id:?}", place()));
                }
                Line::Blank => return self.finish(path, &mut block),
                Line::Title(id, text) => {
                    if block.is_other(id, &block.title) {
                        self.finish(path, &mut block)?;
                    }
                    (block.id, block.title) = (id.to_owned(), Some(text.to_owned()));
                }
                Line::Abstract(id, text) => {
                    if block.is_other(id, &block.body) {
                        self.finish(path, &mut block)?;
                    }
                    (block.id, block.body) = (id.to_owned(), Some(text.to_owned()));
                }
                Line::Mention(annotation) => {
                    if let Some(mention) = self.mention(annotation, place) {
                        block.mentions.push((number, mention));
                        Bound::Record.check_count(place, block.mentions.len())?;
                    }
                }
                Line::Relation => self
                    .report
                    .skip(RELATION, || format!("{}: {line}", place())),
                Line::Other => self
                    .report
                    .skip(BAD_LINE, || format!("{}: {line}", place())),
            }
            Ok(())
        })?;
        self.finish(path, &mut block)
    }

    /// Converts a mention line. Its offsets are not checked yet.
    fn mention(
        &mut self,
        annotation: Annotation<'_>,
        place: impl Fn() -> String,
    ) -> Option<CorpusMention> {
        let Annotation {
            doc_id,
            start,
            end,
            text,
            types,
            concept,
        } = annotation;
        let example = || format!("{} {text:?} {concept}", place());
        if text.is_empty() {
            return skipped(self.report, NO_TEXT, example);
        }
        let Gold { parts, annex } = Gold::read(concept, types, self.prefix);
        let ids = Gold::ids(&parts);
        if ids.iter().any(|id| id.contains(breaks_line)) {
            return skipped(self.report, CONTROL_IN_ID, || {
                format!("{} {text:?} {concept:?}", place())
            });
        }
        if annex.is_some() {
            self.report.note(ANNEX, example);
        }
        if parts.len() > 1 {
            self.report.note(COMPOSITE, example);
        } else if ids.len() > 1 {
            self.report.note(SEVERAL, example);
        }
        let owned =
            |part: Vec<&str>| -> Vec<String> { part.into_iter().map(str::to_owned).collect() };
        let parts: Vec<Vec<String>> = match parts.len() {
            0 | 1 => Vec::new(),
            _ => parts.into_iter().map(owned).collect(),
        };
        let mut ids = ids.into_iter().map(str::to_owned);
        let (id, other_ids) = (ids.next(), ids.collect());
        let (types, type_ids) = types_and_ids(types);
        let (doc_id, text) = (doc_id.to_owned(), text.to_owned());
        Some(CorpusMention {
            doc_id,
            start,
            end,
            text,
            id,
            other_ids,
            kb_ids: Vec::new(),
            parts,
            types,
            type_ids,
            seen_in_train: None,
        })
    }

    /// Writes a complete document and its matching mentions.
    fn finish(&mut self, path: &Path, block: &mut Block) -> Result<()> {
        let Block {
            id,
            title,
            body,
            mentions,
        } = std::mem::take(block);
        let place = |number: usize| format!("{}:{number}", path.display());
        let mut skip_all = |reason| {
            for (number, mention) in &mentions {
                self.report.skip(reason, || {
                    format!("{} document {}", place(*number), mention.doc_id)
                });
            }
        };
        // Offsets count the separator even if one part is empty.
        let text = match (title, body) {
            (None, None) => {
                skip_all(UNKNOWN_DOCUMENT);
                return Ok(());
            }
            (title, None) => title.unwrap_or_default(),
            (title, Some(body)) => format!("{} {body}", title.unwrap_or_default()),
        };
        let Some(split) = self.splits.of(&id) else {
            skip_all(MENTION_NO_SPLIT);
            self.report.skip(NO_SPLIT, || id);
            return Ok(());
        };
        if !self.seen.insert(id.clone()) {
            skip_all(MENTION_DUPLICATE);
            self.report
                .skip(DUPLICATE_DOCUMENT, || format!("{id} in {}", path.display()));
            return Ok(());
        }
        let offsets = Offsets::new(&text);
        let kept = self.mentions.entry(split).or_default();
        let mut fitting = Vec::with_capacity(mentions.len());
        for (number, mention) in mentions {
            if mention.doc_id != id {
                self.report.skip(UNKNOWN_DOCUMENT, || {
                    format!("{} document {}", place(number), mention.doc_id)
                });
                continue;
            }
            let at = || place(number);
            if let Some(mention) = fitted(mention, &text, &offsets, at, self.report) {
                fitting.push((number, mention));
            }
        }
        let single = without_duplicates(
            fitting,
            |(_, mention)| (0, mention),
            self.report,
            |(number, _)| place(*number),
        );
        kept.extend(single.into_iter().map(|(_, mention)| mention));
        self.report.keep(DOCUMENTS, 1);
        write_line(
            self.out,
            &Document {
                doc_id: id,
                text,
                split: Some(split.to_owned()),
                domain: None,
            },
        )
    }
}

/// The mention as it is in its document: moved by one code point if its text is there, or in the
/// letters of the document; `None` if the text at its offsets is another.
fn fitted(
    mut mention: CorpusMention,
    text: &str,
    offsets: &Offsets<'_>,
    place: impl Fn() -> String,
    report: &mut Report,
) -> Option<CorpusMention> {
    match shift(text, offsets, &mention) {
        Some(0) => return Some(mention),
        Some(by) => {
            let (start, end) = (mention.start, mention.end);
            report.note(MOVED, || {
                format!("{} {:?} {start}..{end} by {by}", place(), mention.text)
            });
            (mention.start, mention.end) = (
                start.saturating_add_signed(by),
                end.saturating_add_signed(by),
            );
            return Some(mention);
        }
        None => {}
    }
    let found = span_of(text, offsets, mention.start, mention.end).map(|(_, found)| found);
    let CorpusMention {
        start,
        end,
        text: written,
        ..
    } = &mention;
    let shown = found.map_or_else(
        || "the end of the text".to_owned(),
        |found| format!("{found:?}"),
    );
    let why = || {
        format!(
            "{} {start}..{end}: expected {written:?}, found {shown}",
            place()
        )
    };
    match found.filter(|found| is_respelled(written, found)) {
        Some(found) => {
            report.note(RESPELLED, why);
            mention.text = found.to_owned();
            Some(mention)
        }
        None => skipped(report, MISPLACED, why),
    }
}

/// How many code points the text of a mention is off its offsets: 0, or -1 or 1 if only one of
/// these matches.
fn shift(text: &str, offsets: &Offsets<'_>, mention: &CorpusMention) -> Option<isize> {
    let shift_if_equal = |by: isize| {
        let (start, end) = (
            mention.start.checked_add_signed(by)?,
            mention.end.checked_add_signed(by)?,
        );
        span_of(text, offsets, start, end)
            .filter(|(_, found)| *found == mention.text)
            .map(|_| by)
    };
    match (shift_if_equal(0), shift_if_equal(-1), shift_if_equal(1)) {
        (Some(here), _, _) => Some(here),
        (None, Some(by), None) | (None, None, Some(by)) => Some(by),
        _ => None,
    }
}

fn skipped<T>(report: &mut Report, reason: &str, example: impl FnOnce() -> String) -> Option<T> {
    report.skip(reason, example);
    None
}
