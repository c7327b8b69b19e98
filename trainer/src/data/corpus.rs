//! An annotated corpus: documents and the mentions in them, as [`pel import pubtator`](crate::data::import) writes them.
//!
//! A corpus folder holds `documents.jsonl` and one `mentions.{split}.jsonl` for each split, either of them packed as
//! `.xz`, `.gz` or `.zst` or not. Offsets in the files are in code points; [`Corpus`] has bytes.

use crate::io::corpus_files;
use crate::io::files::{for_each_line, io_error};
use crate::io::outputs::check_whole;
use pel_shared::error::{Error, Result};
use pel_shared::kb::import::records::record;
use pel_shared::kb::import::report::Report;
use pel_shared::text::{Offsets, Span};
use serde::{Deserialize, Deserializer, Serialize};
use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};

/// What stands before the concept of a held-out mention. No knowledge base has such an identifier, so the mention is NIL
/// to whoever reads the corpus, and can still be told from a natural NIL.
pub const NIL_LABEL: &str = "NIL:";

/// The concept that a mention had before it was held out; `None` for every other label.
pub fn held_out(id: &str) -> Option<&str> {
    id.strip_prefix(NIL_LABEL)
}

/// The reason for skipping a mention whose offsets do not cut its text out of its document.
pub const MISPLACED: &str = "mention whose text is not at its offsets";
/// The reason for skipping a mention of a document that the corpus does not have.
pub const UNKNOWN_DOCUMENT: &str = "mention of an unknown document";
/// The reason for skipping a mention of a document that is in another split.
pub const OTHER_SPLIT: &str = "mention of a document of another split";
/// The reason for skipping a document whose id has come before.
pub const DUPLICATE_DOCUMENT: &str = "document that stands twice (the first stays)";
/// The reason for skipping a mention that is the same as an earlier one, concept and all.
pub const DUPLICATE_MENTION: &str = "mention that stands twice (the first stays)";
/// The reason under which a mention is noted whose span another mention has, with another concept.
pub const SAME_SPAN: &str = "mention of another concept at a span that has one (both stay)";

/// One document. Its JSON form is a line of `documents.jsonl`; unknown fields are ignored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Document {
    /// The identifier, unique in its corpus.
    pub doc_id: String,
    /// The text that offsets point into.
    pub text: String,
    /// `train`, `dev`, `test` ...; `None` if the document may be in any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub split: Option<String>,
    /// What kind of text it is: ZESHEL's world, a department ...
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub domain: Option<String>,
}

/// One annotated mention. Its JSON form is a line of `mentions.{split}.jsonl`; unknown fields are ignored.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CorpusMention {
    /// The document that it stands in.
    pub doc_id: String,
    /// First code point.
    pub start: usize,
    /// One past the last code point.
    pub end: usize,
    /// The text at these offsets.
    pub text: String,
    /// The right concept; `None` if the annotators found none that fits (a natural NIL).
    #[serde(default, alias = "cui")]
    pub id: Option<String>,
    /// Further concepts that it is annotated with, of which any is as right as the first: "breast and ovarian cancer" as one mention
    /// of both.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub other_ids: Vec<String>,
    /// Names of semantic types.
    #[serde(default, alias = "type", deserialize_with = "one_or_many", skip_serializing_if = "Vec::is_empty")]
    pub types: Vec<String>,
    /// Identifiers of semantic types (TUIs).
    #[serde(default, alias = "tui", deserialize_with = "one_or_many", skip_serializing_if = "Vec::is_empty")]
    pub type_ids: Vec<String>,
    /// Whether the training split has a mention of the same concept; a mention without is a zero-shot one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seen_in_train: Option<bool>,
}

impl CorpusMention {
    /// All concepts that it is annotated with, the first one first.
    pub fn ids(&self) -> impl Iterator<Item = &str> {
        self.id.iter().chain(&self.other_ids).map(String::as_str)
    }
}

/// The splits of the corpus in a folder: `train`, `dev` and `test` as far as they are there, then others by name.
///
/// # Errors
/// If the folder cannot be read.
pub fn split_names(folder: &Path) -> Result<Vec<String>> {
    check_whole(folder)?;
    let failed = |cause| io_error("reading the folder", folder, cause);
    let mut names = BTreeSet::new();
    for entry in std::fs::read_dir(folder).map_err(failed)? {
        let file = entry.map_err(failed)?.file_name().to_string_lossy().into_owned();
        let stem = [".jsonl", ".jsonl.xz", ".jsonl.gz", ".jsonl.zst"].iter().find_map(|end| file.strip_suffix(end));
        names.extend(stem.and_then(|stem| stem.strip_prefix("mentions.")).map(str::to_owned));
    }
    let mut ordered: Vec<String> = ["train", "dev", "test"].iter().filter_map(|usual| names.take(*usual)).collect();
    ordered.extend(names);
    Ok(ordered)
}

/// A mention at its place in a [`Corpus`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlacedMention {
    /// The position of its document in [`Corpus::documents`].
    pub document: usize,
    /// Where it stands, in bytes.
    pub span: Span,
    /// What the file says.
    pub mention: CorpusMention,
}

/// One split of a corpus, in the order of its files.
#[derive(Clone, Debug, Default)]
pub struct Corpus {
    /// The documents of the split, with or without mentions.
    pub documents: Vec<Document>,
    /// The mentions that cut exactly their text out of their document.
    pub mentions: Vec<PlacedMention>,
    /// What was kept and what was skipped, with the reasons.
    pub report: Report,
}

/// The files of the corpus in a folder: its documents, and the mentions of every split.
pub fn files(folder: &Path) -> Vec<PathBuf> {
    corpus_files::named(folder, &["documents", "mentions"])
}

impl Corpus {
    /// Reads one split of the corpus in a folder.
    ///
    /// # Errors
    /// If a file is missing, stands there both packed and not, cannot be read, or has a line that is no record (file,
    /// line and field are named). Mentions that do not fit their document are counted skips.
    pub fn read(folder: &Path, split: &str) -> Result<Self> {
        let documents_file = find(folder, "documents")?;
        let mentions_file = find(folder, &format!("mentions.{split}"))?;
        let mut corpus = Self::default();
        // `None` marks a document of another split.
        let mut places: HashMap<String, Option<usize>> = HashMap::new();
        for_each_line(&documents_file, |number, line| {
            if line.trim().is_empty() {
                return Ok(());
            }
            let document: Document = record(line)?;
            if places.contains_key(&document.doc_id) {
                let place = || format!("{} at {}:{number}", document.doc_id, documents_file.display());
                corpus.report.skip(DUPLICATE_DOCUMENT, place);
                return Ok(());
            }
            let here = document.split.as_deref().is_none_or(|own| own == split);
            places.insert(document.doc_id.clone(), here.then_some(corpus.documents.len()));
            if here {
                corpus.documents.push(document);
                corpus.report.keep("documents", 1);
            }
            Ok(())
        })?;
        let Self { documents, mentions, report } = &mut corpus;
        let mut offsets: Vec<Option<Offsets<'_>>> = documents.iter().map(|_| None).collect();
        let mut placed: Vec<(usize, PlacedMention)> = Vec::new();
        for_each_line(&mentions_file, |number, line| {
            if line.trim().is_empty() {
                return Ok(());
            }
            let mention: CorpusMention = record(line)?;
            let place = || format!("{}:{number} document {}", mentions_file.display(), mention.doc_id);
            let at = match places.get(&mention.doc_id) {
                Some(Some(at)) => *at,
                absent => {
                    report.skip(if absent.is_some() { OTHER_SPLIT } else { UNKNOWN_DOCUMENT }, place);
                    return Ok(());
                }
            };
            let (Some(document), Some(offsets)) = (documents.get(at), offsets.get_mut(at)) else { return Ok(()) };
            let offsets = offsets.get_or_insert_with(|| Offsets::new(&document.text));
            match span_of(&document.text, offsets, mention.start, mention.end) {
                Some((span, found)) if found == mention.text => {
                    placed.push((number, PlacedMention { document: at, span, mention }));
                }
                found => {
                    let (start, end, text) = (mention.start, mention.end, &mention.text);
                    let found = found.map_or("nothing".to_owned(), |(_, found)| format!("{found:?}"));
                    report.skip(MISPLACED, || format!("{} {start}..{end}: expected {text:?}, found {found}", place()));
                }
            }
            Ok(())
        })?;
        let place = |(number, placed): &(usize, PlacedMention)| {
            format!("{}:{number} document {}", mentions_file.display(), placed.mention.doc_id)
        };
        let kept = without_doubles(placed, |(_, placed)| (placed.document, &placed.mention), report, place);
        report.keep("mentions", kept.len());
        mentions.extend(kept.into_iter().map(|(_, placed)| placed));
        Ok(corpus)
    }
}

/// Mentions without those that are the same as an earlier one, which are counted as skipped; one of another concept at the span of
/// an earlier one is noted and stays. `of` gives a mention with the number of its document, `place` says where it stood.
pub fn without_doubles<T>(
    all: Vec<T>,
    of: impl Fn(&T) -> (usize, &CorpusMention),
    report: &mut Report,
    place: impl Fn(&T) -> String,
) -> Vec<T> {
    // Sorted, not hashed: a corpus may have millions.
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
            let ids = if mention.id.is_none() { "NIL".to_owned() } else { mention.ids().collect::<Vec<_>>().join("|") };
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

/// Whether two mentions of one span say the same of it.
fn is_same(one: &CorpusMention, other: &CorpusMention) -> bool {
    one.ids().eq(other.ids()) && one.types == other.types && one.type_ids == other.type_ids
}

/// All documents of a corpus, whatever their split.
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

/// The bytes and the text between two code points of a text; `None` if there is no such place or nothing in it.
pub fn span_of<'a>(text: &'a str, offsets: &Offsets<'a>, start: usize, end: usize) -> Option<(Span, &'a str)> {
    let span = Span::new(offsets.byte_of_code_point(start)?, offsets.byte_of_code_point(end)?);
    span.of(text).ok().map(|found| (span, found))
}

/// The one file in a folder with this name and `.jsonl`, packed or not.
fn find(folder: &Path, stem: &str) -> Result<PathBuf> {
    check_whole(folder)?;
    let entries = std::fs::read_dir(folder).map_err(|cause| io_error("reading the folder", folder, cause))?;
    let mut all = Vec::new();
    for entry in entries {
        let entry = entry.map_err(|cause| io_error("reading the folder", folder, cause))?;
        all.push(entry.file_name().to_string_lossy().into_owned());
    }
    all.sort();
    let wanted = ["", ".xz", ".gz", ".zst"].map(|packed| format!("{stem}.jsonl{packed}"));
    let found: Vec<&String> = all.iter().filter(|name| wanted.contains(name)).collect();
    match found.as_slice() {
        [one] => Ok(folder.join(one)),
        [] => {
            let similar: Vec<&str> =
                all.iter().map(String::as_str).filter(|name| name.contains(".jsonl")).take(12).collect();
            let similar = if similar.is_empty() { "none".to_owned() } else { similar.join(", ") };
            Err(Error::io(format!(
                "no {stem}.jsonl (or .xz, .gz, .zst) in {}; its JSONL files: {similar}",
                folder.display()
            )))
        }
        several => Err(Error::input(format!("{}: expected one of {several:?}, found all of them", folder.display()))),
    }
}

/// Reads `"a"`, `["a", "b"]` or `null`.
fn one_or_many<'de, D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Vec<String>, D::Error> {
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

    fn folder(documents: &str, mentions: &str) -> tempfile::TempDir {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join("documents.jsonl"), documents).expect("written");
        std::fs::write(folder.path().join("mentions.test.jsonl"), mentions).expect("written");
        folder
    }

    #[test]
    fn mentions_are_placed_in_bytes_and_misfits_are_counted() {
        // "😷" is one code point and four bytes, so "fever" is at code points 2..7 and bytes 5..10.
        let folder = folder(
            "{\"doc_id\":\"1\",\"text\":\"😷 fever\",\"split\":\"test\"}\r\n{\"doc_id\":\"2\",\"text\":\"a\",\"split\":\"dev\"}\r\n\
             {\"doc_id\":\"3\",\"text\":\"no split\"}\n{\"doc_id\":\"1\",\"text\":\"again\"}\n",
            r#"{"doc_id":"1","start":2,"end":7,"text":"fever","cui":"C1","type":null,"tui":"T1","seen_in_train":true,"in_kb":true}
{"doc_id":"1","start":3,"end":8,"text":"fever","id":"C1","types":["Sign"]}
{"doc_id":"1","start":2,"end":7,"text":"Fever","id":"C1"}
{"doc_id":"2","start":0,"end":1,"text":"a","id":"C1"}
{"doc_id":"9","start":0,"end":1,"text":"a","id":"C1"}
{"doc_id":"3","start":0,"end":2,"text":"no","id":null}"#,
        );
        let corpus = Corpus::read(folder.path(), "test").expect("readable");
        assert_eq!(corpus.documents.iter().map(|document| document.doc_id.as_str()).collect::<Vec<_>>(), ["1", "3"]);
        let [fever, no] = &corpus.mentions[..] else { panic!("{:?}", corpus.mentions) };
        assert_eq!((fever.document, fever.span, fever.mention.id.as_deref()), (0, Span::new(5, 10), Some("C1")));
        assert_eq!((fever.mention.types.len(), &fever.mention.type_ids[..]), (0, &["T1".to_owned()][..]));
        assert_eq!((no.document, no.span, no.mention.id.as_deref()), (1, Span::new(0, 2), None));
        let report = &corpus.report;
        let skipped =
            [MISPLACED, OTHER_SPLIT, UNKNOWN_DOCUMENT, DUPLICATE_DOCUMENT].map(|reason| report.skipped(reason));
        assert_eq!((skipped, report.skipped_in_all()), ([2, 1, 1, 1], 5));
        assert!(report.examples[MISPLACED][0].ends_with(r#":2 document 1 3..8: expected "fever", found nothing"#));
        assert!(report.examples[MISPLACED][1].ends_with(r#"2..7: expected "Fever", found "fever""#));
    }

    #[test]
    fn doubled_mentions_count_once_wherever_they_stand() {
        let line = |more: &str| format!("{{\"doc_id\":\"1\",\"start\":0,\"end\":1,\"text\":\"a\",{more}}}\n");
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
        let ids: Vec<String> =
            corpus.mentions.iter().map(|found| found.mention.ids().collect::<Vec<_>>().join("|")).collect();
        assert_eq!(ids, ["C1", "C2", "C1", "C1|C2"]);
        let report = &corpus.report;
        assert_eq!((report.skipped(DUPLICATE_MENTION), report.noted[SAME_SPAN], report.kept("mentions")), (2, 2, 4));
        assert!(report.examples[DUPLICATE_MENTION][0].contains("mentions.test.jsonl:4 document 1"), "{report:?}");
        assert!(report.examples[DUPLICATE_MENTION][1].contains(":6 document 1"), "{report:?}");
    }

    #[test]
    fn a_bad_line_names_file_line_and_field() {
        let text = "{\"doc_id\":\"1\",\"text\":\"a\"}\n";
        let say = |mentions: &str| Corpus::read(folder(text, mentions).path(), "test").expect_err("bad").to_string();
        let said = say("\n{\"doc_id\":\"1\",\"start\":-1,\"end\":1,\"text\":\"a\"}");
        assert!(said.contains("mentions.test.jsonl: line 2: field `start`"), "{said}");
        let said = say(r#"{"doc_id":"1","start":0,"end":1,"text":"a","type":3}"#);
        assert!(said.contains("field `type`: expected a text, a list of texts or null"), "{said}");
        assert!(say(r#"{"doc_id":"1","start":0,"end":1"#).contains("line 1: expected one JSON object: EOF"));
    }

    #[test]
    fn a_missing_split_says_what_is_there_and_two_of_a_kind_are_refused() {
        let folder = folder("", "");
        let error = Corpus::read(folder.path(), "dev").expect_err("missing");
        assert_eq!(error.kind(), pel_shared::error::Kind::Io);
        assert!(error.to_string().ends_with("its JSONL files: documents.jsonl, mentions.test.jsonl"), "{error}");
        std::fs::write(folder.path().join("documents.jsonl.gz"), "").expect("written");
        let said = Corpus::read(folder.path(), "test").expect_err("ambiguous").to_string();
        assert!(said.contains(r#"["documents.jsonl", "documents.jsonl.gz"]"#), "{said}");
        let error = Corpus::read(&folder.path().join("none"), "test").expect_err("no folder");
        assert!(error.to_string().starts_with("reading the folder "), "{error}");
    }
}
