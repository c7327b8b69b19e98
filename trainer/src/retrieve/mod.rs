//! Who finds candidates: the lexical systems, a bundle's vectors, and the second stage that orders what either found.

pub mod bundle;
pub mod candidates;
pub mod domain_filter;
pub mod lexical;
pub mod rerank;
pub mod teacher;

use crate::data::concept_table::KbFile;
use crate::data::split::{Query, Split};
use crate::io::interrupt;
use crate::io::progress::Progress;
use pel_shared::error::{Context, Error, Result};
use pel_shared::lexical::Ranked;
use std::collections::HashSet;

/// A system under measurement.
pub trait Retriever {
    /// Its name in tables.
    fn name(&self) -> &str;

    /// What it compares with what, in words.
    fn protocol(&self) -> String;

    /// The threshold of NIL that it brings, if it brings one.
    fn threshold(&self) -> Option<f32> {
        None
    }

    /// Where it puts another system's candidates into order: that system, and how many of them.
    fn first_stage(&self) -> Option<(&dyn Retriever, usize)> {
        None
    }

    /// Which concepts its scores are compared for.
    fn compared(&self) -> Compared {
        Compared::All
    }

    /// The best `k` concepts of each mention, best first, every concept once, ties in concept order.
    ///
    /// `done` is to be called with the number of mentions dealt with, often enough to move a bar; its error is passed on.
    ///
    /// # Errors
    /// If a mention cannot be encoded, or `done` fails.
    fn search(&self, queries: &[Query<'_>], k: usize, done: &mut dyn FnMut(usize) -> Result<()>)
    -> Result<Vec<Ranked>>;

    /// As [`Retriever::search`], with the scores that NIL is judged by: that of the first candidate is infinite where it is linked at
    /// any score, as `pel link` links a mention to a concept of its very name.
    ///
    /// # Errors
    /// As there.
    fn judged(
        &self,
        queries: &[Query<'_>],
        k: usize,
        done: &mut dyn FnMut(usize) -> Result<()>,
    ) -> Result<Vec<Ranked>> {
        self.search(queries, k, done)
    }

    /// Whether it decides by itself what is linked, at [`Retriever::threshold`] or, without one, everything.
    fn decides(&self) -> bool {
        self.threshold().is_some()
    }

    /// As [`Retriever::search`], among some concepts alone; nothing where a retriever can only search all.
    fn search_among(
        &self,
        _concepts: &HashSet<u32>,
        _queries: &[Query<'_>],
        _k: usize,
        _done: &mut dyn FnMut(usize) -> Result<()>,
    ) -> Option<Result<Vec<Ranked>>> {
        None
    }
}

/// The concepts that a retriever compares with a mention by its scores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compared {
    /// All.
    All,
    /// The so many that a first pass by whole vectors leaves, or as many as are asked for, if that is more (Sum-of-Max).
    Best(usize),
    /// Those that a search of a graph comes by.
    Graph,
}

/// What an opened bundle brings to an evaluation.
pub struct Dense {
    /// Its concepts in its order, which the retriever's ids refer to; the hash identifies them.
    pub concepts: KbFile,
    /// Its encoder and index alone.
    pub search: Box<dyn Retriever>,
    /// The whole road of `pel link`.
    pub road: Box<dyn Retriever>,
    /// Whether both read mentions with the short forms that their text defines written out.
    pub abbreviations: bool,
}

/// Ranks concepts for all mentions of a split, under a progress bar.
pub(crate) fn search(retriever: &dyn Retriever, split: &Split, k: usize, doing: &'static str) -> Result<Vec<Ranked>> {
    asked(retriever, split, doing, |queries, done| retriever.search(queries, k, done))
}

/// As [`search`], with the scores that NIL is judged by.
pub(crate) fn judged(retriever: &dyn Retriever, split: &Split, k: usize, doing: &'static str) -> Result<Vec<Ranked>> {
    asked(retriever, split, doing, |queries, done| retriever.judged(queries, k, done))
}

fn asked(
    retriever: &dyn Retriever,
    split: &Split,
    doing: &'static str,
    ask: impl FnOnce(&[Query<'_>], &mut dyn FnMut(usize) -> Result<()>) -> Result<Vec<Ranked>>,
) -> Result<Vec<Ranked>> {
    let queries: Vec<Query<'_>> = split.queries().collect();
    let mut progress = Progress::new(doing, queries.len() as u64, "mentions");
    let mut done = |mentions: usize| {
        progress.advance(mentions as u64);
        interrupt::check()
    };
    let ranked = ask(&queries, &mut done).context(|| retriever.name().to_owned())?;
    if ranked.len() != queries.len() {
        let (expected, found) = (queries.len(), ranked.len());
        return Err(Error::artifact(format!("{}: expected {expected} answers, found {found}", retriever.name())));
    }
    Ok(ranked)
}
