//! Candidate retrieval: lexical systems, dense search, and the second stage that reorders
//! candidates.

pub mod bundle;
pub mod candidates;
pub mod dense;
pub mod domain_filter;
pub mod lexical;
pub mod rerank;
pub mod teacher;

use crate::split::{MentionQuery, Split};
use pel_artifacts::concept_table::KbFile;
use pel_io::interrupt;
use pel_io::progress::Progress;
use pel_kb::error::{Context, Error, Result};
use pel_kb::score::Candidate;
use pel_linker::bundle::TrainedConcepts;
use pel_model::nil::SetLimits;
use std::collections::HashSet;

/// The candidates of each mention, best first.
pub type CandidateLists = Vec<Vec<Candidate>>;

/// Called with the number of mentions that were finished since the last call. Its error ends the
/// work.
pub type Tick<'a> = &'a mut dyn FnMut(usize) -> Result<()>;

/// A system that finds candidates for mentions.
pub trait Retriever {
    /// Its name in tables.
    fn name(&self) -> &str;

    /// What it compares with what, for reports.
    fn protocol(&self) -> String;

    /// Its own NIL threshold, if it has one.
    fn threshold(&self) -> Option<f32> {
        None
    }

    /// For a second stage: the retriever whose candidates it reorders, and how many of them.
    fn first_stage(&self) -> Option<(&dyn Retriever, usize)> {
        None
    }

    /// Which concepts its search scores.
    fn search_kind(&self) -> SearchKind {
        SearchKind::Exact
    }

    /// The best `k` concepts of each mention, best first. A concept occurs once; ties are in
    /// concept order.
    ///
    /// `done` is called with the number of finished mentions, often enough for a progress bar. Its
    /// error is returned.
    ///
    /// # Errors
    /// If a mention cannot be encoded, or `done` fails.
    fn search(
        &self,
        queries: &[MentionQuery<'_>],
        k: usize,
        done: Tick<'_>,
    ) -> Result<CandidateLists>;

    /// As [`Retriever::search`], with the scores that decide NIL. The first candidate's score is
    /// infinite if it is linked at any score: `pel link` so links a mention to a concept with its
    /// name.
    ///
    /// # Errors
    /// As [`Retriever::search`].
    fn judged(
        &self,
        queries: &[MentionQuery<'_>],
        k: usize,
        done: Tick<'_>,
    ) -> Result<CandidateLists> {
        self.search(queries, k, done)
    }

    /// Whether it decides which mentions are linked: those at [`Retriever::threshold`], or all
    /// without one.
    fn decides(&self) -> bool {
        self.threshold().is_some()
    }

    /// If the scores that decide NIL are probabilities that the first candidate is right: the
    /// limits of its sets of answers.
    fn sets(&self) -> Option<&[SetLimits]> {
        None
    }

    /// As [`Retriever::search`], among some concepts only. `None` if it can only search all.
    fn search_among(
        &self,
        _concepts: &HashSet<u32>,
        _queries: &[MentionQuery<'_>],
        _k: usize,
        _done: Tick<'_>,
    ) -> Option<Result<CandidateLists>> {
        None
    }
}

/// Which concepts a search scores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SearchKind {
    /// All.
    Exact,
    /// At least so many, the best of a first pass by whole vectors (Sum-of-Max).
    FirstPass(usize),
    /// The nodes that a search of an HNSW graph visits.
    Graph,
}

/// The retrievers of a bundle.
pub struct BundleRetrievers {
    /// Its concepts, in the order of the retrievers' concept ids, with their hash.
    pub concepts: KbFile,
    /// Its encoder and index alone.
    pub dense: Box<dyn Retriever>,
    /// The whole pipeline of `pel link`.
    pub link: Box<dyn Retriever>,
    /// Whether both expand the short forms that a text defines.
    pub abbreviations: bool,
    /// The concepts whose mentions its encoder was trained on, if the bundle tells.
    pub trained: Option<TrainedConcepts>,
}

/// Searches for all mentions of a split, with a progress bar.
pub fn search(
    retriever: &dyn Retriever,
    split: &Split,
    k: usize,
    doing: &'static str,
) -> Result<CandidateLists> {
    asked(retriever, split, doing, |queries, done| {
        retriever.search(queries, k, done)
    })
}

/// As [`search`], with the scores that decide NIL.
pub fn judged(
    retriever: &dyn Retriever,
    split: &Split,
    k: usize,
    doing: &'static str,
) -> Result<CandidateLists> {
    asked(retriever, split, doing, |queries, done| {
        retriever.judged(queries, k, done)
    })
}

fn asked(
    retriever: &dyn Retriever,
    split: &Split,
    doing: &'static str,
    ask: impl FnOnce(&[MentionQuery<'_>], Tick<'_>) -> Result<CandidateLists>,
) -> Result<CandidateLists> {
    let mut queries: Vec<MentionQuery<'_>> = Vec::with_capacity(split.mentions.len());
    // The parts of a composite mention ask for the same.
    let mut of_mention = Vec::with_capacity(split.mentions.len());
    for (gold, query) in split.mentions.iter().zip(split.queries()) {
        let same = queries
            .last()
            .is_some_and(|last| (last.span, last.domain) == (query.span, query.domain));
        if gold.part == 0 || !same {
            queries.push(query);
        }
        of_mention.push(queries.len() - 1);
    }
    let mut progress = Progress::new(doing, queries.len() as u64, "mentions");
    let mut done = |mentions: usize| {
        progress.advance(mentions as u64);
        interrupt::check()
    };
    let ranked = ask(&queries, &mut done).context(|| retriever.name().to_owned())?;
    // A ranker answers each mention that was scored.
    if ranked.len() == of_mention.len() {
        return Ok(ranked);
    }
    if ranked.len() != queries.len() {
        let (expected, found) = (queries.len(), ranked.len());
        return Err(Error::artifact(format!(
            "{}: expected {expected} answers, found {found}",
            retriever.name()
        )));
    }
    Ok(of_mention.iter().map(|at| ranked[*at].clone()).collect())
}
