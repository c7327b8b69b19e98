//! Collects a corpus to write: documents, mentions of each split and their concepts.

use crate::corpus::{CorpusMention, DUPLICATE_DOCUMENT, Document};
use pel_io::outputs::{OutputFolder, write_line};
use pel_kb::Concept;
use pel_kb::error::Result;
use pel_terminologies::import::concepts::{Concepts, Defaults, tidied};
use pel_terminologies::import::report::Report;
use std::borrow::Borrow;
use std::collections::{BTreeMap, HashMap, HashSet};

/// Kind of documents in a report.
pub use super::pubtator::DOCUMENTS;

/// Reason for skipping a mention whose concept is in no table.
pub const UNKNOWN_CONCEPT: &str = "mention of a concept that is in no table";

/// Reason for skipping a concept with the identifier of another, different one.
pub const SECOND_CONCEPT: &str = "concept of an identifier that another has (the first stays)";

/// A corpus under construction.
#[derive(Default)]
pub struct CorpusBuilder {
    documents: Vec<Document>,
    places: HashSet<String>,
    mentions: BTreeMap<String, Vec<CorpusMention>>,
}

impl CorpusBuilder {
    /// Adds a document unless its id exists; `place` gives file and line.
    pub fn document(
        &mut self,
        document: Document,
        report: &mut Report,
        place: impl FnOnce() -> String,
    ) {
        if !self.places.insert(document.doc_id.clone()) {
            report.skip(DUPLICATE_DOCUMENT, || {
                format!("{} at {}", document.doc_id, place())
            });
            return;
        }
        report.keep(DOCUMENTS, 1);
        self.documents.push(document);
    }

    /// Adds a split, even if it gets no mentions.
    pub fn split(&mut self, split: &str) {
        self.mentions.entry(split.to_owned()).or_default();
    }

    /// Adds a mention.
    pub fn mention(&mut self, split: &str, mention: CorpusMention) {
        self.mentions
            .entry(split.to_owned())
            .or_default()
            .push(mention);
    }

    /// Writes `documents.jsonl` and `mentions.{split}.jsonl` for each split, and marks mentions
    /// whose concept occurs in training.
    ///
    /// # Errors
    /// If the output cannot be written.
    pub fn write(mut self, output: &mut OutputFolder, report: &mut Report) -> Result<()> {
        mark_seen_in_train(&mut self.mentions);
        output.write("documents.jsonl", |out| {
            self.documents
                .iter()
                .try_for_each(|document| write_line(out, document))
        })?;
        for (split, mentions) in &self.mentions {
            report.keep(&format!("mentions ({split})"), mentions.len());
            let name = format!("mentions.{split}.jsonl");
            output.write(&name, |out| {
                mentions
                    .iter()
                    .try_for_each(|mention| write_line(out, mention))
            })?;
        }
        Ok(())
    }
}

/// Sets `seen_in_train` of every mention if there is a split `train`.
pub fn mark_seen_in_train<S: Borrow<str> + Ord>(mentions: &mut BTreeMap<S, Vec<CorpusMention>>) {
    let Some(train) = mentions.get("train") else {
        return;
    };
    let trained: HashSet<String> = train
        .iter()
        .flat_map(CorpusMention::ids)
        .map(str::to_owned)
        .collect();
    for mention in mentions.values_mut().flatten() {
        mention.seen_in_train = mention
            .id
            .is_some()
            .then(|| mention.ids().any(|id| trained.contains(id)));
    }
}

/// Concepts of mentions and tables, each once, in the order of their first occurrence.
#[derive(Default)]
pub struct ConceptSet {
    all: Vec<Concept>,
    places: HashMap<String, usize>,
}

impl ConceptSet {
    /// Adds a valid concept, or counts why it is skipped. Of several with one id the first is kept.
    pub fn push(&mut self, concept: Concept, report: &mut Report, place: impl Fn() -> String) {
        match tidied(concept, report, &place) {
            Ok(concept) => match self
                .places
                .get(&concept.id)
                .and_then(|at| self.all.get(*at))
            {
                Some(first) if *first == concept => {}
                Some(_) => report.skip(SECOND_CONCEPT, || format!("{} at {}", concept.id, place())),
                None => {
                    self.places.insert(concept.id.clone(), self.all.len());
                    self.all.push(concept);
                }
            },
            Err(reason) => report.skip(reason, place),
        }
    }

    /// Whether a concept has this id.
    pub fn has(&self, id: &str) -> bool {
        self.places.contains_key(id)
    }

    /// Writes `kb.jsonl`.
    ///
    /// # Errors
    /// If the output cannot be written.
    pub fn write(self, output: &mut OutputFolder, report: &mut Report) -> Result<()> {
        output.write("kb.jsonl", |out| {
            let mut take = |concept: Concept| write_line(out, &concept);
            let mut concepts = Concepts::new(&mut take, Defaults::default(), report);
            self.all
                .into_iter()
                .try_for_each(|concept| concepts.push(concept, String::new))
        })
    }
}

/// Joins a mention and its contexts by single spaces, and gives the mention's code points.
pub fn join_context(left: &str, mention: &str, right: &str) -> (String, usize, usize) {
    let (left, mention, right) = (left.trim(), mention.trim(), right.trim());
    let parts: Vec<&str> = [left, mention, right]
        .into_iter()
        .filter(|part| !part.is_empty())
        .collect();
    let start = if left.is_empty() {
        0
    } else {
        left.chars().count() + 1
    };
    (parts.join(" "), start, start + mention.chars().count())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_points_locate_the_mention() {
        for (left, mention, right, text) in [
            ("été  ", "fever ", "now", "été fever now"),
            ("", "fever", "", "fever"),
            ("no ", "Fieber", "", "no Fieber"),
            ("", "fever", " and", "fever and"),
        ] {
            let (found, start, end) = join_context(left, mention, right);
            assert_eq!(found, text);
            let cut: String = found.chars().skip(start).take(end - start).collect();
            assert_eq!(cut, mention.trim());
        }
    }
}
