//! The candidates of a split's mentions, written as lists.

use crate::candidate_lists;
use crate::candidate_lists::Line;
use crate::domain::OwnDomain;
use crate::retrieve::domain_filter::Within;
use crate::retrieve::rerank::reranked;
use crate::retrieve::{CandidateLists, Retriever};
use crate::split::Split;
use pel_io::files::{io_error, write_atomic};
use pel_kb::error::{Error, Result};
use pel_kb::score::Candidate;
use pel_kb::{ConceptId, KnowledgeBase};
use std::path::Path;

/// The candidates of the mentions whose concept is in the knowledge base.
pub struct Found {
    /// The mentions.
    pub split: Split,
    /// The candidates of each mention.
    pub ranked: CandidateLists,
    /// The number of dropped mentions, which the file of lists lacks.
    pub missing: usize,
}

impl Found {
    /// Every `every`-th mention of a split, if its concept is in the knowledge base.
    ///
    /// # Errors
    /// If the split cannot be read, or none is left.
    pub fn mentions(corpus: &Path, split: &str, every: usize, kb: &KnowledgeBase) -> Result<Split> {
        let mut read = Split::read(corpus, split, every, kb, None)?;
        read.mentions.retain(|gold| gold.concept.is_some());
        if read.mentions.is_empty() {
            let among = if every > 1 {
                format!(" (one of {every} was looked at)")
            } else {
                String::new()
            };
            return Err(Error::input(format!(
                "{}: the split {split} has no mention whose concept is in the knowledge \
                 base{among}",
                corpus.display()
            )));
        }
        Ok(read)
    }

    /// Searches for mentions; with `within`, among the concepts of each mention's own domain
    /// ([`Within`]).
    ///
    /// # Errors
    /// If a mention cannot be encoded, no document has a domain, a domain has no concept, or the
    /// user interrupts.
    pub fn search(
        retriever: &dyn Retriever,
        split: Split,
        top: usize,
        within: Option<(OwnDomain, &KnowledgeBase)>,
    ) -> Result<Self> {
        let split = match within {
            Some((own, kb)) => split.in_own_domain(Some(own), kb)?,
            None => split,
        };
        let within = within.map(|(own, kb)| Within::new(retriever, kb, own));
        let retriever = within.as_ref().map_or(retriever, |within| within);
        let ranked = crate::retrieve::search(retriever, &split, top, "searching")?;
        Ok(Self {
            split,
            ranked,
            missing: 0,
        })
    }

    /// The lists of a file for the mentions of a split. Mentions without a list are dropped and
    /// counted.
    ///
    /// # Errors
    /// If the file cannot be read, has none of the mentions, or has other right concepts for most:
    /// it is of another corpus.
    pub fn listed(from: &Path, mut split: Split, top: u32, kb: &KnowledgeBase) -> Result<Self> {
        let lists = candidate_lists::CandidateLists::read(from, kb)?;
        let all = lists
            .of_split(&split, kb)?
            .into_iter()
            .map(|list| Some(list?.ranked(top)));
        let all: Vec<Option<Vec<Candidate>>> = all.collect();
        let (mut ranked, mut kept) = (Vec::new(), Vec::new());
        for (gold, list) in split.mentions.iter().zip(all) {
            if let Some(list) = list {
                kept.push(*gold);
                ranked.push(list);
            }
        }
        if kept.is_empty() {
            let (from, split) = (from.display(), &split.counts.split);
            return Err(Error::input(format!(
                "{from}: expected candidates for mentions of the split {split}, found none"
            )));
        }
        let missing = split.mentions.len() - kept.len();
        split.mentions = kept;
        Ok(Self {
            split,
            ranked,
            missing,
        })
    }

    /// The lists with their first `k` candidates in the order of a ranker's scores.
    pub fn reranked(&self, scores: &[Vec<f32>], k: usize) -> CandidateLists {
        self.ranked
            .iter()
            .zip(scores)
            .map(|(ranked, scores)| reranked(ranked, scores, k))
            .collect()
    }

    /// Writes the lists, with the ranker's scores if there is one.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn write(
        &self,
        out: &Path,
        kb: &KnowledgeBase,
        teacher: Option<&[Vec<f32>]>,
    ) -> Result<()> {
        let id = |concept: ConceptId| kb.get(concept).map(|concept| concept.id.clone());
        let Self { split, ranked, .. } = self;
        write_atomic(out, |file| {
            let places = split.code_points();
            for (at, (gold, ranked)) in split.mentions.iter().zip(ranked).enumerate() {
                let [start, end] = places[at];
                // A mention that normalises to nothing has no scores, and JSON has none for a
                // concept without a readable name.
                let teacher = teacher.map_or(&[][..], |teacher| &teacher[at]);
                let readable = |at: &usize| teacher.get(*at).is_none_or(|score| score.is_finite());
                let kept: Vec<usize> = (0..ranked.len()).filter(readable).collect();
                let line = Line {
                    doc_id: split.documents[gold.document].doc_id.clone(),
                    start,
                    end,
                    id: gold.concept.and_then(id),
                    candidates: kept
                        .iter()
                        .filter_map(|at| id(ranked[*at].concept))
                        .collect(),
                    scores: kept.iter().map(|at| ranked[*at].score).collect(),
                    teacher: kept
                        .iter()
                        .filter_map(|at| teacher.get(*at).copied())
                        .collect(),
                };
                serde_json::to_writer(&mut *file, &line)
                    .map_err(|cause| io_error("writing", out, cause.into()))?;
                file.write_all(b"\n")
                    .map_err(|cause| io_error("writing", out, cause))?;
            }
            Ok(())
        })
    }
}
