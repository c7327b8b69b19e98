//! Annotated corpora on their way out: documents, the mentions of each split, and the concepts that they name.

use crate::data::corpus::{CorpusMention, DUPLICATE_DOCUMENT, Document};
use crate::io::outputs::{OutputFolder, write_line};
use pel_shared::error::Result;
use pel_shared::kb::Concept;
use pel_shared::kb::import::concepts::{Concepts, Defaults, tidied};
use pel_shared::kb::import::report::Report;
use std::collections::{BTreeMap, HashMap, HashSet};

/// The kind under which a report counts documents.
pub use super::pubtator::DOCUMENTS;

/// The reason for skipping a mention whose concept no table has.
pub const UNKNOWN_CONCEPT: &str = "mention of a concept that is in no table";

/// The reason for skipping a concept whose identifier has come before with other words.
pub const SECOND_CONCEPT: &str = "concept of an identifier that another has (the first stays)";

/// A corpus that is being put together.
#[derive(Default)]
pub struct Annotated {
    documents: Vec<Document>,
    places: HashSet<String>,
    mentions: BTreeMap<String, Vec<CorpusMention>>,
}

impl Annotated {
    /// Adds a document, unless one of its id is there; `place` says where it stood.
    pub fn document(&mut self, document: Document, report: &mut Report, place: impl FnOnce() -> String) {
        if !self.places.insert(document.doc_id.clone()) {
            report.skip(DUPLICATE_DOCUMENT, || format!("{} at {}", document.doc_id, place()));
            return;
        }
        report.keep(DOCUMENTS, 1);
        self.documents.push(document);
    }

    /// Makes sure that a split is written, with mentions or without.
    pub fn split(&mut self, split: &str) {
        self.mentions.entry(split.to_owned()).or_default();
    }

    /// Adds a mention.
    pub fn mention(&mut self, split: &str, mention: CorpusMention) {
        self.mentions.entry(split.to_owned()).or_default().push(mention);
    }

    /// Writes `documents.jsonl` and a `mentions.{split}.jsonl` for each split, and says of each mention whether training has its
    /// concept.
    ///
    /// # Errors
    /// If the output cannot be written.
    pub fn write(mut self, output: &mut OutputFolder, report: &mut Report) -> Result<()> {
        if let Some(train) = self.mentions.get("train") {
            let trained: HashSet<String> = train.iter().flat_map(CorpusMention::ids).map(str::to_owned).collect();
            for mention in self.mentions.values_mut().flatten() {
                mention.seen_in_train = mention.id.is_some().then(|| mention.ids().any(|id| trained.contains(id)));
            }
        }
        output
            .write("documents.jsonl", |out| self.documents.iter().try_for_each(|document| write_line(out, document)))?;
        for (split, mentions) in &self.mentions {
            report.keep(&format!("mentions ({split})"), mentions.len());
            let name = format!("mentions.{split}.jsonl");
            output.write(&name, |out| mentions.iter().try_for_each(|mention| write_line(out, mention)))?;
        }
        Ok(())
    }
}

/// Concepts that are named by mentions and tables, each once, in the order of their coming.
#[derive(Default)]
pub struct Named {
    all: Vec<Concept>,
    places: HashMap<String, usize>,
}

impl Named {
    /// Adds a concept that is whole, or counts why it is not; of those with one id the first stays.
    pub fn push(&mut self, concept: Concept, report: &mut Report, place: impl Fn() -> String) {
        match tidied(concept, report, &place) {
            Ok(concept) => match self.places.get(&concept.id).and_then(|at| self.all.get(*at)) {
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

    /// Whether there is a concept of this id.
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
            self.all.into_iter().try_for_each(|concept| concepts.push(concept, String::new))
        })
    }
}

/// A text around a mention, put together of three parts with single spaces between them, and the mention's code points in it.
pub fn around(left: &str, mention: &str, right: &str) -> (String, usize, usize) {
    let (left, mention, right) = (left.trim(), mention.trim(), right.trim());
    let parts: Vec<&str> = [left, mention, right].into_iter().filter(|part| !part.is_empty()).collect();
    let start = if left.is_empty() { 0 } else { left.chars().count() + 1 };
    (parts.join(" "), start, start + mention.chars().count())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mention_stands_where_its_code_points_say() {
        for (left, mention, right, text) in [
            ("été  ", "fever ", "now", "été fever now"),
            ("", "fever", "", "fever"),
            ("no ", "Fieber", "", "no Fieber"),
            ("", "fever", " and", "fever and"),
        ] {
            let (found, start, end) = around(left, mention, right);
            assert_eq!(found, text);
            let cut: String = found.chars().skip(start).take(end - start).collect();
            assert_eq!(cut, mention.trim());
        }
    }
}
