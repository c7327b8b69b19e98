//! The stages of BLINK with every seed, and figures over their ranks.

use super::Bench;
use super::cells::{RowHits, cell, mean};
use super::models::{Cross, Finder};
use super::stages::Stages;
use crate::evaluate::hits::Hits;
use crate::evaluate::ranks::{Ranks, Value};
use pel_kb::error::Result;

/// The tables of one folder.
pub struct Blink<'a> {
    /// The options of the command.
    pub bench: &'a Bench<'a>,
    /// The stages with each seed.
    pub stages: Vec<Stages<'a>>,
    /// The validation split.
    pub validation: String,
    /// The numbers of candidates that a cross-encoder reorders, ascending.
    pub ks: Vec<usize>,
}

impl<'a> Blink<'a> {
    /// The stages with every seed.
    ///
    /// # Errors
    /// If the concepts or the configuration cannot be read.
    pub fn new(bench: &'a Bench<'a>) -> Result<Self> {
        let stages = bench
            .options
            .seeds
            .iter()
            .map(|seed| Stages::new(bench, *seed))
            .collect::<Result<_>>()?;
        let ks = bench.options.ks(bench.family);
        Ok(Self {
            bench,
            stages,
            validation: bench.config(&[], 0)?.validation.split,
            ks,
        })
    }

    /// The result of `of` for each seed.
    ///
    /// # Errors
    /// As `of`.
    pub fn over<T>(&self, of: impl Fn(&Stages<'a>) -> Result<T>) -> Result<Vec<T>> {
        self.stages.iter().map(of).collect()
    }

    /// Recall at k on a split, as a cell; at 1 it is the accuracy.
    ///
    /// # Errors
    /// As training and searching.
    pub fn recall(&self, finder: Finder, split: &str, k: usize) -> Result<String> {
        Ok(recall(&self.over(|stages| stages.ranks(finder, split))?, k))
    }

    /// A row of recall at k on a split: its name, its cell, and the hits that are compared.
    ///
    /// # Errors
    /// As training and searching.
    pub fn row(&self, name: &str, finder: Finder, split: &str, k: usize) -> Result<CellHits> {
        Ok(with_hits(
            name,
            &self.over(|stages| stages.ranks(finder, split))?,
            k,
        ))
    }

    /// The largest number of candidates that a cross-encoder reorders.
    pub fn most(&self) -> usize {
        self.ks.last().copied().unwrap_or(1)
    }

    /// Both stages on a split, with the K that is best on the validation split.
    ///
    /// # Errors
    /// As training and searching.
    pub fn best(&self, finder: Finder, by: Cross, split: &str) -> Result<(usize, Vec<Ranks>)> {
        let of = |split: &str| self.over(|stages| stages.reranked(finder, by, split, &self.ks));
        let dev = of(&self.validation)?;
        let value = |at: usize| {
            dev.iter()
                .filter_map(|ks| ks[at].recall(1).value)
                .sum::<f64>()
        };
        // The smallest of equals costs the least.
        let best = (0..self.ks.len())
            .rev()
            .max_by(|a, b| value(*a).total_cmp(&value(*b)))
            .unwrap_or(0);
        Ok((
            self.ks[best],
            of(split)?
                .into_iter()
                .map(|mut ks| ks.remove(best))
                .collect(),
        ))
    }
}

/// A cell of recall, and its row with the hits that are compared.
pub type CellHits = (String, RowHits);

/// Recall@k as a cell, and the hits of its row.
pub fn with_hits(name: &str, ranks: &[Ranks], k: usize) -> CellHits {
    let hits: Vec<Hits> = ranks.iter().map(|ranks| ranks.hits(k)).collect();
    (recall(ranks, k), (name.to_owned(), hits))
}

/// A figure of every seed's ranks, as a cell.
pub fn cell_of(ranks: &[Ranks], figure: impl Fn(&Ranks) -> Value) -> String {
    cell(&ranks.iter().map(figure).collect::<Vec<_>>())
}

/// Recall@k, as a cell.
pub fn recall(ranks: &[Ranks], k: usize) -> String {
    cell_of(ranks, |ranks| ranks.recall(k))
}

/// The macro-average of the accuracy over domains, as a cell.
pub fn macro_accuracy(ranks: &[Ranks]) -> String {
    cell_of(ranks, |ranks| ranks.by_domain(1))
}

/// The mean over seeds; `None` if no seed has a value.
pub fn mean_value(ranks: &[Ranks], value: impl Fn(&Ranks) -> Value) -> Option<f64> {
    mean(ranks.iter().filter_map(|ranks| value(ranks).value))
}
