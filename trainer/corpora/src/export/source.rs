//! Reads the documents, mentions and concepts to export.

use crate::corpus::{Corpus, DUPLICATE_DOCUMENT, Document, PlacedMention, documents, split_names};
use crate::import::annotated::UNKNOWN_CONCEPT;
use pel_artifacts::concept_table;
use pel_kb::error::{Error, Result};
use pel_kb::{Concept, KnowledgeBase};
use pel_terminologies::import::report::Report;
use pel_text::Span;
use std::collections::{HashMap, HashSet};
use std::path::Path;

/// Reason for skipping a natural NIL.
pub const NO_CONCEPT: &str = "mention without a concept (no place for it)";
/// Reason for skipping a document without mentions.
pub const NO_MENTION: &str = "document without a mention (no place for it)";
/// Note on a domain or source that is not a valid file name.
pub const RENAMED: &str = "domain or source under another name, for it names a file";

/// A whole corpus with its knowledge base.
pub struct Source {
    /// All documents, in the order of their file.
    pub documents: Vec<Document>,
    /// The splits: `train`, `dev`, `test`, then others by name.
    pub splits: Vec<Split>,
    /// The concepts.
    pub kb: KnowledgeBase,
}

/// The mentions of one split.
pub struct Split {
    /// Its name.
    pub name: String,
    /// Its mentions; `document` indexes [`Source::documents`].
    pub mentions: Vec<PlacedMention>,
}

impl Source {
    /// Reads a corpus folder and a concept table. Mentions that do not match their documents are
    /// counted and skipped.
    ///
    /// # Errors
    /// If a file is missing or cannot be read, or the folder has no split.
    pub fn read(folder: &Path, kb: &Path, report: &mut Report) -> Result<Self> {
        let names = split_names(folder)?;
        if names.is_empty() {
            let folder = folder.display();
            return Err(Error::io(format!(
                "{folder}: the folder has no mentions.SPLIT.jsonl (or .xz, .gz, .zst); `pel \
                 import` writes corpora"
            )));
        }
        let kb = concept_table::read(kb)?.kb;
        let (mut all, mut seen) = (Vec::new(), HashSet::new());
        for document in documents(folder)? {
            if seen.insert(document.doc_id.clone()) {
                all.push(document);
            } else {
                report.skip(DUPLICATE_DOCUMENT, || document.doc_id.clone());
            }
        }
        let places: HashMap<&str, usize> = all
            .iter()
            .enumerate()
            .map(|(at, document)| (document.doc_id.as_str(), at))
            .collect();
        let mut splits = Vec::new();
        for name in names {
            let Corpus {
                documents,
                mut mentions,
                report: of_split,
            } = Corpus::read(folder, &name)?;
            // Each split reads all documents; duplicates have been counted already.
            for (reason, count) in of_split
                .skipped
                .iter()
                .filter(|(reason, _)| *reason != DUPLICATE_DOCUMENT)
            {
                let mut examples = of_split.examples.get(reason).into_iter().flatten();
                for _ in 0..*count {
                    report.skip(reason, || examples.next().cloned().unwrap_or_default());
                }
            }
            for placed in &mut mentions {
                let id = documents
                    .get(placed.document)
                    .map_or("", |document| &document.doc_id);
                placed.document = places.get(id).copied().unwrap_or_default();
            }
            splits.push(Split { name, mentions });
        }
        Ok(Self {
            documents: all,
            splits,
            kb,
        })
    }

    /// The mentions of each split with a concept of the knowledge base; others are counted and
    /// skipped.
    pub fn linked(&self, report: &mut Report) -> Vec<Vec<Linked<'_>>> {
        let mut whole = |placed| {
            let PlacedMention {
                document, mention, ..
            }: &PlacedMention = placed;
            let document = self.documents.get(*document)?;
            let place = || format!("{} {}..{}", mention.doc_id, mention.start, mention.end);
            let Some(id) = mention.id.as_deref() else {
                report.skip(NO_CONCEPT, || format!("{} {:?}", place(), mention.text));
                return None;
            };
            let Some(concept) = self.kb.find(id).and_then(|at| self.kb.get(at)) else {
                report.skip(UNKNOWN_CONCEPT, || format!("{} {id}", place()));
                return None;
            };
            Some(Linked {
                placed,
                document,
                concept,
            })
        };
        self.splits
            .iter()
            .map(|split| split.mentions.iter().filter_map(&mut whole).collect())
            .collect()
    }

    /// The file name of each split; `dev` gives the name of the split dev.
    ///
    /// # Errors
    /// If two splits have the same name.
    pub fn split_files(&self, dev: &str) -> Result<Vec<String>> {
        let mut names: Vec<String> = Vec::new();
        for Split { name, .. } in &self.splits {
            let file = file_stem(if name == "dev" { dev } else { name });
            if names.contains(&file) {
                return Err(Error::input(format!(
                    "expected different names of splits, found two that become {file}; rename \
                     {name}"
                )));
            }
            names.push(file);
        }
        Ok(names)
    }
}

/// A mention with its document and its concept.
pub struct Linked<'a> {
    /// The mention.
    pub placed: &'a PlacedMention,
    /// Its document.
    pub document: &'a Document,
    /// Its gold concept.
    pub concept: &'a Concept,
}

impl Linked<'_> {
    /// The mention's span in bytes without white space at its ends.
    pub fn span(&self) -> Span {
        let Span { start, end } = self.placed.span;
        let found = self.document.text.get(start..end).unwrap_or_default();
        let trimmed = found.trim();
        if trimmed.is_empty() {
            return self.placed.span;
        }
        let start = start + found.len() - found.trim_start().len();
        Span::new(start, start + trimmed.len())
    }
}

/// Converts a name to a file stem of letters, digits, spaces, `-` and `_`.
pub fn file_stem(name: &str) -> String {
    let plain = |c: char| {
        if c.is_alphanumeric() || matches!(c, ' ' | '-' | '_') {
            c
        } else {
            '_'
        }
    };
    name.trim().chars().map(plain).collect()
}

/// The file stem for a domain or source, or `none` without one. Notes a changed name.
pub fn file_of(name: Option<&str>, none: &str, report: &mut Report) -> String {
    let Some(name) = name.filter(|name| !name.trim().is_empty()) else {
        return none.to_owned();
    };
    let stem = file_stem(name);
    if stem != name {
        report.note(RENAMED, || format!("{name} as {stem}"));
    }
    stem
}
