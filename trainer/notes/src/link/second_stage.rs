//! The second stage: a cross-encoder reranks the first candidates of each link.

use clap::Args;
use pel_artifacts::device::OpenDevice;
use pel_artifacts::models::open_ranker;
use pel_io::interrupt;
use pel_kb::error::Result;
use pel_linker::{Link, Linker};
use pel_model::cross_encoder::Ranker;
use std::path::{Path, PathBuf};

/// Pairs scored between two checks for Ctrl-C.
const PAIRS: usize = 1024;

/// Options of the cross-encoder.
#[derive(Debug, Args)]
pub struct RankerArgs {
    /// Rerank the first K candidates by a cross-encoder; NIL decisions stay
    #[arg(
        long,
        value_name = "K",
        requires = "ranker",
        value_parser = clap::value_parser!(u32).range(2..),
    )]
    rerank: Option<u32>,
    /// Cross-encoder: the model of `pel train --stage rank`
    #[arg(long, value_name = "MODEL", requires = "rerank")]
    ranker: Option<PathBuf>,
}

impl RankerArgs {
    /// The folder of the cross-encoder, if given.
    pub fn model(&self) -> Option<&Path> {
        self.ranker.as_deref()
    }

    /// Opens the cross-encoder, if given.
    ///
    /// # Errors
    /// If the model cannot be read or is no cross-encoder.
    pub fn open(&self, opened: &OpenDevice) -> Result<Option<SecondStage>> {
        let Some((folder, count)) = self.ranker.as_ref().zip(self.rerank) else {
            return Ok(None);
        };
        Ok(Some(SecondStage {
            ranker: open_ranker(folder, &opened.device)?,
            count: count as usize,
        }))
    }
}

/// A cross-encoder and the number of candidates that it reranks.
pub struct SecondStage {
    ranker: Ranker,
    /// Candidates per mention.
    pub count: usize,
}

impl SecondStage {
    /// A cross-encoder that reranks the first `count` candidates.
    pub fn new(ranker: Ranker, count: usize) -> Self {
        Self { ranker, count }
    }

    /// Reranks the first candidates of a text's mentions.
    ///
    /// # Errors
    /// If the device fails, or after an interrupt.
    pub fn rerank(&self, linker: &Linker, text: &str, links: &mut [Link]) -> Result<()> {
        let pairs = linker
            .steps()
            .pairs(&self.ranker, text, links, self.count)?;
        let mut scores = Vec::with_capacity(pairs.rows().len());
        for some in pairs.rows().chunks(PAIRS) {
            interrupt::check()?;
            scores.extend(self.ranker.scores(some)?);
        }
        linker.steps().rerank(text, links, &pairs, &scores);
        Ok(())
    }
}
