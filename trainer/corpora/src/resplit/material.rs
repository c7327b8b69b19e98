//! The input of `pel split`: a knowledge base with types and every split of a corpus.

use super::Types;
use crate::corpus::{Corpus, CorpusMention, Document, split_names};
use pel_artifacts::concept_table;
use pel_artifacts::concept_table::KbFile;
use pel_kb::ConceptId;
use pel_kb::error::{Context, Error, Result};
use pel_terminologies::import::report::Report;
use std::collections::{BTreeMap, HashSet};
use std::path::Path;

/// A corpus and its knowledge base.
pub struct Material {
    /// The concepts.
    pub kb: KbFile,
    /// Their types.
    pub types: Types,
    /// The splits: the training split first, then `dev`, `test` and others by name.
    pub splits: Vec<SplitMentions>,
    /// Index of the training split, which determines seen and zero-shot concepts.
    pub train: usize,
}

/// One split.
pub struct SplitMentions {
    /// Its name.
    pub name: String,
    /// Its documents.
    pub documents: Vec<Document>,
    /// Its mentions, each with its concept in the knowledge base.
    pub mentions: Vec<(CorpusMention, Option<ConceptId>)>,
    /// Counts of kept and skipped records.
    pub report: Report,
}

impl Material {
    /// Reads a knowledge base and all splits of the corpus in a folder.
    ///
    /// # Errors
    /// If a file cannot be read, or the corpus lacks the training split.
    pub fn read(corpus: &Path, kb: &Path, train_split: &str) -> Result<Self> {
        let names = names(corpus, train_split)?;
        let kb = concept_table::read(kb)?;
        let types = Types::new(&kb.kb);
        let mut splits = Vec::with_capacity(names.len());
        for name in names {
            let Corpus {
                documents,
                mentions,
                report,
            } = Corpus::read(corpus, &name)?;
            let found = |mention: CorpusMention| {
                let concept = mention.id.as_deref().and_then(|id| kb.kb.find(id));
                (mention, concept)
            };
            let mentions = mentions
                .into_iter()
                .map(|placed| found(placed.mention))
                .collect();
            splits.push(SplitMentions {
                name,
                documents,
                mentions,
                report,
            });
        }
        if splits
            .iter()
            .all(|split| split.mentions.iter().all(|(_, concept)| concept.is_none()))
        {
            return Err(Error::input(
                "expected mentions with a concept of the knowledge base, found none",
            ))
            .context(|| corpus.display().to_string());
        }
        Ok(Self {
            kb,
            types,
            splits,
            train: 0,
        })
    }

    /// The concepts in training mentions.
    pub fn trained(&self) -> HashSet<ConceptId> {
        let train = self
            .splits
            .get(self.train)
            .map_or(&[][..], |split| &split.mentions);
        train.iter().filter_map(|(_, concept)| *concept).collect()
    }

    /// Frequency of each type, by identifier and name, in the annotations of mentions.
    pub fn types_of_mentions(&self) -> BTreeMap<String, usize> {
        let mut counts = BTreeMap::new();
        for (mention, _) in self.splits.iter().flat_map(|split| &split.mentions) {
            for name in mention.types.iter().chain(&mention.type_ids) {
                *counts.entry(name.clone()).or_default() += 1;
            }
        }
        counts
    }
}

/// The splits in a corpus folder, the training split first.
fn names(folder: &Path, train_split: &str) -> Result<Vec<String>> {
    let names = split_names(folder)?;
    let (train, others): (Vec<String>, Vec<String>) =
        names.into_iter().partition(|name| name == train_split);
    if train.is_empty() {
        let there = if others.is_empty() {
            "none".to_owned()
        } else {
            others.join(", ")
        };
        return Err(Error::io(format!(
            "{}: expected mentions.{train_split}.jsonl (or .xz, .gz, .zst), found the splits \
             {there}",
            folder.display()
        )));
    }
    Ok([train, others].concat())
}
