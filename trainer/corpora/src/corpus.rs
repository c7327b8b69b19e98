//! An annotated corpus: documents with mentions, as written by [`pel import`](crate::import).
//!
//! A corpus folder holds `documents.jsonl` and one `mentions.{split}.jsonl` per split, plain or
//! compressed as `.xz`, `.gz` or `.zst`. Offsets in files count code points; [`Corpus`] has bytes.

use pel_io::corpus_files;
use pel_io::files::{for_each_line, io_error};
use pel_io::outputs::check_complete;
use pel_kb::error::{Error, Result};
use pel_terminologies::import::records::record;
use pel_terminologies::import::report::Report;
use pel_text::{Offsets, Span};
use serde::{Deserialize, Deserializer, Serialize};
use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};

/// Prefix of the concept of a held-out mention. No knowledge base has such an identifier, so every
/// reader takes the mention as NIL and can tell it from a natural NIL.
pub const NIL_LABEL: &str = "NIL:";

/// The concept of a mention before it was held out; `None` for other labels.
pub fn held_out(id: &str) -> Option<&str> {
    id.strip_prefix(NIL_LABEL)
}

/// Reason for skipping a mention whose text differs from the document at its offsets.
pub const MISPLACED: &str = "mention whose text is not at its offsets";
/// Reason for skipping a mention of a document that is not in the corpus.
pub const UNKNOWN_DOCUMENT: &str = "mention of an unknown document";
/// Reason for skipping a mention of a document in another split.
pub const OTHER_SPLIT: &str = "mention of a document of another split";
/// Reason for skipping a document with the id of an earlier one.
pub const DUPLICATE_DOCUMENT: &str = "document that stands twice (the first stays)";
/// Reason for skipping a mention equal to an earlier one with the same concept.
pub const DUPLICATE_MENTION: &str = "mention that stands twice (the first stays)";
/// Note on a mention with the span of another mention and a different concept.
pub const SAME_SPAN: &str = "mention of another concept at a span that has one (both stay)";

/// A document: one line of `documents.jsonl`. Unknown fields are ignored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Document {
    /// The identifier, unique in its corpus.
    pub doc_id: String,
    /// The text that offsets point into.
    pub text: String,
    /// `train`, `dev`, `test` ...; `None` if it belongs to every split.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub split: Option<String>,
    /// The domain of the text, such as ZESHEL's world or a department.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub domain: Option<String>,
}

/// An annotated mention: one line of `mentions.{split}.jsonl`. Unknown fields are ignored.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CorpusMention {
    /// Its document.
    pub doc_id: String,
    /// First code point.
    pub start: usize,
    /// One past the last code point.
    pub end: usize,
    /// The text at these offsets.
    pub text: String,
    /// The gold concept; `None` for a natural NIL, which has no concept.
    #[serde(default, alias = "cui")]
    pub id: Option<String>,
    /// Further gold concepts, each as correct as the first; of a composite mention, those of all
    /// its parts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub other_ids: Vec<String>,
    /// Gold concepts in another knowledge base than that of `id`, each as correct as the others.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kb_ids: Vec<String>,
    /// The gold concepts of each part of a composite mention, such as "breast and ovarian cancer".
    /// The concepts of a part are alternatives, the parts are not. Empty for other mentions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<Vec<String>>,
    /// Names of semantic types.
    #[serde(
        default,
        alias = "type",
        deserialize_with = "one_or_many",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub types: Vec<String>,
    /// Identifiers of semantic types (TUIs).
    #[serde(
        default,
        alias = "tui",
        deserialize_with = "one_or_many",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub type_ids: Vec<String>,
    /// Whether the training split mentions the same concept. A mention without is zero-shot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seen_in_train: Option<bool>,
}

impl CorpusMention {
    /// All gold concepts, the first one first.
    pub fn ids(&self) -> impl Iterator<Item = &str> {
        self.id
            .iter()
            .chain(&self.other_ids)
            .chain(&self.kb_ids)
            .map(String::as_str)
    }

    /// The gold concepts of each part; those of a mention that is not composite are one part.
    pub fn ids_by_part(&self) -> Vec<Vec<&str>> {
        if self.parts.is_empty() {
            return vec![self.ids().collect()];
        }
        let parts = self.parts.iter();
        parts
            .map(|part| part.iter().map(String::as_str).collect())
            .collect()
    }

    /// Checks that the parts have the concepts of the mention.
    fn check_parts(&self) -> Result<()> {
        if self.parts.is_empty() {
            return Ok(());
        }
        if self.parts.iter().any(Vec::is_empty) {
            return Err(Error::input(
                "field `parts`: expected parts with a concept each, found one without",
            ));
        }
        let in_parts: BTreeSet<&str> = self.parts.iter().flatten().map(String::as_str).collect();
        let all: BTreeSet<&str> = self.ids().collect();
        match in_parts.symmetric_difference(&all).next() {
            None => Ok(()),
            Some(id) => Err(Error::input(format!(
                "field `parts`: expected the concepts of `id`, `other_ids` and `kb_ids`, found \
                 {id:?} in one of both only"
            ))),
        }
    }
}

/// The splits in a corpus folder: `train`, `dev` and `test` first, then others by name.
///
/// # Errors
/// If the folder cannot be read.
pub fn split_names(folder: &Path) -> Result<Vec<String>> {
    check_complete(folder)?;
    let failed = |cause| io_error("reading the folder", folder, cause);
    let mut names = BTreeSet::new();
    for entry in std::fs::read_dir(folder).map_err(failed)? {
        let file = entry
            .map_err(failed)?
            .file_name()
            .to_string_lossy()
            .into_owned();
        let stem = corpus_files::unpacked(&file).strip_suffix(".jsonl");
        names.extend(
            stem.and_then(|stem| stem.strip_prefix("mentions."))
                .map(str::to_owned),
        );
    }
    let mut ordered: Vec<String> = ["train", "dev", "test"]
        .iter()
        .filter_map(|usual| names.take(*usual))
        .collect();
    ordered.extend(names);
    Ok(ordered)
}

/// A mention of a [`Corpus`] with its byte offsets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlacedMention {
    /// Index of its document in [`Corpus::documents`].
    pub document: usize,
    /// Its span in bytes.
    pub span: Span,
    /// The line of the file.
    pub mention: CorpusMention,
}

/// One split of a corpus, in the order of its files.
#[derive(Clone, Debug, Default)]
pub struct Corpus {
    /// The documents of the split, with or without mentions.
    pub documents: Vec<Document>,
    /// The mentions whose text matches their document.
    pub mentions: Vec<PlacedMention>,
    /// Counts of kept and skipped records with reasons.
    pub report: Report,
}

/// The document and mention files of a corpus folder.
pub fn files(folder: &Path) -> Vec<PathBuf> {
    corpus_files::named(folder, &["documents", "mentions"])
}

impl Corpus {
    /// Reads one split of a corpus folder.
    ///
    /// # Errors
    /// If a file is missing, exists twice (compressed and not), or cannot be read. An invalid line
    /// is named with file, line and field. Mentions that do not match their document are counted
    /// and skipped.
    pub fn read(folder: &Path, split: &str) -> Result<Self> {
        let documents_file = find(folder, "documents")?;
        let mentions_file = find(folder, &format!("mentions.{split}"))?;
        let mut corpus = Self::default();
        let places = corpus.read_documents(&documents_file, split)?;
        corpus.read_mentions(&mentions_file, &places)?;
        Ok(corpus)
    }

    /// Reads the documents of a split, and returns the places of all documents by id; `None` marks
    /// a document of another split.
    fn read_documents(
        &mut self,
        file: &Path,
        split: &str,
    ) -> Result<HashMap<String, Option<usize>>> {
        let mut places: HashMap<String, Option<usize>> = HashMap::new();
        for_each_line(file, |number, line| {
            if line.trim().is_empty() {
                return Ok(());
            }
            let document: Document = record(line)?;
            if places.contains_key(&document.doc_id) {
                let place = || format!("{} at {}:{number}", document.doc_id, file.display());
                self.report.skip(DUPLICATE_DOCUMENT, place);
                return Ok(());
            }
            let here = document.split.as_deref().is_none_or(|own| own == split);
            places.insert(
                document.doc_id.clone(),
                here.then_some(self.documents.len()),
            );
            if here {
                self.documents.push(document);
                self.report.keep("documents", 1);
            }
            Ok(())
        })?;
        Ok(places)
    }

    /// Reads the mentions of the documents at `places`.
    fn read_mentions(
        &mut self,
        file: &Path,
        places: &HashMap<String, Option<usize>>,
    ) -> Result<()> {
        let Self {
            documents,
            mentions,
            report,
        } = self;
        let mut offsets: Vec<Option<Offsets<'_>>> = documents.iter().map(|_| None).collect();
        let mut placed: Vec<(usize, PlacedMention)> = Vec::new();
        for_each_line(file, |number, line| {
            if line.trim().is_empty() {
                return Ok(());
            }
            let mention: CorpusMention = record(line)?;
            mention.check_parts()?;
            let place = || format!("{}:{number} document {}", file.display(), mention.doc_id);
            let at = match places.get(&mention.doc_id) {
                Some(Some(at)) => *at,
                Some(None) => {
                    report.skip(OTHER_SPLIT, place);
                    return Ok(());
                }
                None => {
                    report.skip(UNKNOWN_DOCUMENT, place);
                    return Ok(());
                }
            };
            let (Some(document), Some(offsets)) = (documents.get(at), offsets.get_mut(at)) else {
                return Ok(());
            };
            let offsets = offsets.get_or_insert_with(|| Offsets::new(&document.text));
            match span_of(&document.text, offsets, mention.start, mention.end) {
                Some((span, found)) if found == mention.text => {
                    let document = at;
                    placed.push((
                        number,
                        PlacedMention {
                            document,
                            span,
                            mention,
                        },
                    ));
                }
                found => {
                    let (start, end, text) = (mention.start, mention.end, &mention.text);
                    let found =
                        found.map_or("nothing".to_owned(), |(_, found)| format!("{found:?}"));
                    report.skip(MISPLACED, || {
                        format!(
                            "{} {start}..{end}: expected {text:?}, found {found}",
                            place()
                        )
                    });
                }
            }
            Ok(())
        })?;
        let place = |(number, placed): &(usize, PlacedMention)| {
            let doc_id = &placed.mention.doc_id;
            format!("{}:{number} document {doc_id}", file.display())
        };
        let kept = without_duplicates(
            placed,
            |(_, placed)| (placed.document, &placed.mention),
            report,
            place,
        );
        report.keep("mentions", kept.len());
        mentions.extend(kept.into_iter().map(|(_, placed)| placed));
        Ok(())
    }
}

/// Removes mentions equal to an earlier one and counts them as skipped. Mentions with the span of
/// an earlier one and another concept are noted and kept. `of` gives document number and mention;
/// `place` the file and line.
pub fn without_duplicates<T>(
    all: Vec<T>,
    of: impl Fn(&T) -> (usize, &CorpusMention),
    report: &mut Report,
    place: impl Fn(&T) -> String,
) -> Vec<T> {
    // Sorting needs less memory than hashing; a corpus may have millions of mentions.
    let mut order: Vec<usize> = (0..all.len()).collect();
    let span = |at: &usize| {
        let (document, CorpusMention { start, end, .. }) = of(&all[*at]);
        (document, *start, *end)
    };
    order.sort_by_key(span);
    let mut is_double = vec![false; all.len()];
    let mut competes = vec![false; all.len()];
    for same in order.chunk_by(|one, other| span(one) == span(other)) {
        for (number, at) in same.iter().enumerate() {
            let mention = of(&all[*at]).1;
            let mut before = same[..number].iter().map(|at| of(&all[*at]).1);
            is_double[*at] = before.clone().any(|other| is_same(mention, other));
            competes[*at] = number > 0 && before.all(|other| mention.ids().ne(other.ids()));
        }
    }
    let mut kept = Vec::with_capacity(all.len());
    for (at, one) in all.into_iter().enumerate() {
        let mention = of(&one).1;
        let shown = || {
            let ids = if mention.id.is_none() {
                "NIL".to_owned()
            } else {
                mention.ids().collect::<Vec<_>>().join("|")
            };
            format!("{} {:?} {ids}", place(&one), mention.text)
        };
        match (is_double[at], competes[at]) {
            (true, _) => report.skip(DUPLICATE_MENTION, shown),
            (false, true) => report.note(SAME_SPAN, shown),
            _ => {}
        }
        if !is_double[at] {
            kept.push(one);
        }
    }
    kept
}

/// Whether two mentions of one span have the same annotation.
fn is_same(one: &CorpusMention, other: &CorpusMention) -> bool {
    one.ids().eq(other.ids())
        && one.parts == other.parts
        && one.types == other.types
        && one.type_ids == other.type_ids
}

/// All documents of a corpus, of any split.
///
/// # Errors
/// If the file is missing or cannot be read, or a line is no document.
pub fn documents(folder: &Path) -> Result<Vec<Document>> {
    let mut all = Vec::new();
    for_each_line(&find(folder, "documents")?, |_, line| {
        if !line.trim().is_empty() {
            all.push(record(line)?);
        }
        Ok(())
    })?;
    Ok(all)
}

/// The byte span and text between two code points; `None` if out of range or empty.
pub fn span_of<'a>(
    text: &'a str,
    offsets: &Offsets<'a>,
    start: usize,
    end: usize,
) -> Option<(Span, &'a str)> {
    let span = Span::new(
        offsets.byte_of_code_point(start)?,
        offsets.byte_of_code_point(end)?,
    );
    span.of(text).ok().map(|found| (span, found))
}

/// The file in a folder with this stem and `.jsonl`, compressed or not.
fn find(folder: &Path, stem: &str) -> Result<PathBuf> {
    check_complete(folder)?;
    let entries =
        std::fs::read_dir(folder).map_err(|cause| io_error("reading the folder", folder, cause))?;
    let mut all = Vec::new();
    for entry in entries {
        let entry = entry.map_err(|cause| io_error("reading the folder", folder, cause))?;
        all.push(entry.file_name().to_string_lossy().into_owned());
    }
    all.sort();
    let wanted = format!("{stem}.jsonl");
    let found: Vec<&String> = all
        .iter()
        .filter(|name| corpus_files::unpacked(name) == wanted)
        .collect();
    match found.as_slice() {
        [one] => Ok(folder.join(one)),
        [] => {
            let similar: Vec<&str> = all
                .iter()
                .map(String::as_str)
                .filter(|name| name.contains(".jsonl"))
                .take(12)
                .collect();
            let similar = if similar.is_empty() {
                "none".to_owned()
            } else {
                similar.join(", ")
            };
            Err(Error::io(format!(
                "{}: expected {stem}.jsonl (or .xz, .gz, .zst), found the JSONL files: {similar}",
                folder.display()
            )))
        }
        several => Err(Error::input(format!(
            "{}: the folder has {several:?}; keep one of them",
            folder.display()
        ))),
    }
}

/// Reads `"a"`, `["a", "b"]` or `null`.
fn one_or_many<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> std::result::Result<Vec<String>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged, expecting = "expected a text, a list of texts or null")]
    enum OneOrMany {
        Many(Vec<String>),
        One(Option<String>),
    }
    Ok(match OneOrMany::deserialize(deserializer)? {
        OneOrMany::Many(many) => many,
        OneOrMany::One(one) => one.into_iter().collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn concepts_of_another_knowledge_base_are_gold_too() {
        let line = r#"{"doc_id": "1", "start": 0, "end": 5, "text": "fever", "id": "MESH:D005334", "kb_ids": ["C0015967", "C4552740"]}"#;
        let mention: CorpusMention = record(line).expect("it is a mention");
        assert_eq!(
            mention.ids().collect::<Vec<_>>(),
            ["MESH:D005334", "C0015967", "C4552740"]
        );
    }

    #[test]
    fn parts_have_alternatives() {
        let read = |more: &str| {
            let line =
                format!(r#"{{"doc_id":"1","start":0,"end":5,"text":"fever","id":"D1"{more}}}"#);
            let mention: CorpusMention = record(&line).expect("it is a mention");
            let parts = mention.ids_by_part();
            let parts: Vec<String> = parts.iter().map(|part| part.join("|")).collect();
            mention.check_parts().map(|()| parts.join(" "))
        };
        assert_eq!(read("").expect("one"), "D1");
        assert_eq!(read(r#","other_ids":["D2"]"#).expect("one"), "D1|D2");
        assert_eq!(
            read(r#","other_ids":["D2","D3"],"kb_ids":["C1"],"parts":[["D1","C1"],["D2","D3"]]"#)
                .expect("two"),
            "D1|C1 D2|D3"
        );
        let said = |more: &str| read(more).expect_err("bad").to_string();
        assert!(said(r#","parts":[["D1"],["D2"]]"#).contains("found \"D2\" in one of both only"));
        assert!(
            said(r#","other_ids":["D2"],"parts":[["D1"]]"#)
                .contains("field `parts`: expected the concepts of `id`")
        );
        assert!(said(r#","parts":[["D1"],[]]"#).contains("found one without"));
    }

    fn folder(documents: &str, mentions: &str) -> tempfile::TempDir {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join("documents.jsonl"), documents).expect("written");
        std::fs::write(folder.path().join("mentions.test.jsonl"), mentions).expect("written");
        folder
    }

    #[test]
    fn spans_are_in_bytes_and_mismatches_are_counted() {
        // "😷" is one code point and four bytes, so "fever" is at code points 2..7 and bytes 5..10.
        let folder = folder(
            "{\"doc_id\":\"1\",\"text\":\"😷 fever\",\"split\":\"test\"}\r\n\
             {\"doc_id\":\"2\",\"text\":\"a\",\"split\":\"dev\"}\r\n\
             {\"doc_id\":\"3\",\"text\":\"no split\"}\n{\"doc_id\":\"1\",\"text\":\"again\"}\n",
            r#"{"doc_id":"1","start":2,"end":7,"text":"fever","cui":"C1","type":null,"tui":"T1","seen_in_train":true,"in_kb":true}
{"doc_id":"1","start":3,"end":8,"text":"fever","id":"C1","types":["Sign"]}
{"doc_id":"1","start":2,"end":7,"text":"Fever","id":"C1"}
{"doc_id":"2","start":0,"end":1,"text":"a","id":"C1"}
{"doc_id":"9","start":0,"end":1,"text":"a","id":"C1"}
{"doc_id":"3","start":0,"end":2,"text":"no","id":null}"#,
        );
        let corpus = Corpus::read(folder.path(), "test").expect("readable");
        assert_eq!(
            corpus
                .documents
                .iter()
                .map(|document| document.doc_id.as_str())
                .collect::<Vec<_>>(),
            ["1", "3"]
        );
        let [fever, no] = &corpus.mentions[..] else {
            panic!("{:?}", corpus.mentions)
        };
        assert_eq!(
            (fever.document, fever.span, fever.mention.id.as_deref()),
            (0, Span::new(5, 10), Some("C1"))
        );
        assert_eq!(
            (fever.mention.types.len(), &fever.mention.type_ids[..]),
            (0, &["T1".to_owned()][..])
        );
        assert_eq!(
            (no.document, no.span, no.mention.id.as_deref()),
            (1, Span::new(0, 2), None)
        );
        let report = &corpus.report;
        let skipped = [MISPLACED, OTHER_SPLIT, UNKNOWN_DOCUMENT, DUPLICATE_DOCUMENT]
            .map(|reason| report.skipped(reason));
        assert_eq!((skipped, report.skipped_in_all()), ([2, 1, 1, 1], 5));
        assert!(
            report.examples[MISPLACED][0]
                .ends_with(r#":2 document 1 3..8: expected "fever", found nothing"#)
        );
        assert!(
            report.examples[MISPLACED][1].ends_with(r#"2..7: expected "Fever", found "fever""#)
        );
    }

    #[test]
    fn duplicate_mentions_are_skipped() {
        let line = |more: &str| {
            format!("{{\"doc_id\":\"1\",\"start\":0,\"end\":1,\"text\":\"a\",{more}}}\n")
        };
        let mentions = [
            line(r#""id":"C1""#),
            line(r#""id":"C2""#),
            line(r#""id":"C1","types":["Sign"]"#),
            line(r#""id":"C1","seen_in_train":true"#),
            line(r#""id":"C1","other_ids":["C2"]"#),
            line(r#""id":"C2""#),
        ];
        let folder = folder("{\"doc_id\":\"1\",\"text\":\"a\"}\n", &mentions.concat());
        let corpus = Corpus::read(folder.path(), "test").expect("readable");
        let ids: Vec<String> = corpus
            .mentions
            .iter()
            .map(|found| found.mention.ids().collect::<Vec<_>>().join("|"))
            .collect();
        assert_eq!(ids, ["C1", "C2", "C1", "C1|C2"]);
        let report = &corpus.report;
        assert_eq!(
            (
                report.skipped(DUPLICATE_MENTION),
                report.noted[SAME_SPAN],
                report.kept("mentions")
            ),
            (2, 2, 4)
        );
        assert!(
            report.examples[DUPLICATE_MENTION][0].contains("mentions.test.jsonl:4 document 1"),
            "{report:?}"
        );
        assert!(
            report.examples[DUPLICATE_MENTION][1].contains(":6 document 1"),
            "{report:?}"
        );
    }

    #[test]
    fn error_names_file_line_and_field() {
        let text = "{\"doc_id\":\"1\",\"text\":\"a\"}\n";
        let say = |mentions: &str| {
            Corpus::read(folder(text, mentions).path(), "test")
                .expect_err("bad")
                .to_string()
        };
        let message = say("\n{\"doc_id\":\"1\",\"start\":-1,\"end\":1,\"text\":\"a\"}");
        assert!(
            message.contains("mentions.test.jsonl: line 2: field `start`"),
            "{message}"
        );
        let message = say(r#"{"doc_id":"1","start":0,"end":1,"text":"a","type":3}"#);
        assert!(
            message.contains("field `type`: expected a text, a list of texts or null"),
            "{message}"
        );
        assert!(
            say(r#"{"doc_id":"1","start":0,"end":1"#)
                .contains("line 1: expected one JSON object: EOF")
        );
    }

    #[test]
    fn missing_split_lists_files_and_duplicate_files_are_refused() {
        let folder = folder("", "");
        let error = Corpus::read(folder.path(), "dev").expect_err("missing");
        assert_eq!(error.kind(), pel_kb::error::Kind::Io);
        assert!(
            error
                .to_string()
                .ends_with("found the JSONL files: documents.jsonl, mentions.test.jsonl"),
            "{error}"
        );
        std::fs::write(folder.path().join("documents.jsonl.gz"), "").expect("written");
        let message = Corpus::read(folder.path(), "test")
            .expect_err("ambiguous")
            .to_string();
        assert!(
            message.contains(r#"["documents.jsonl", "documents.jsonl.gz"]"#),
            "{message}"
        );
        let error = Corpus::read(&folder.path().join("none"), "test").expect_err("no folder");
        assert!(
            error.to_string().starts_with("reading the folder "),
            "{error}"
        );
    }
}
