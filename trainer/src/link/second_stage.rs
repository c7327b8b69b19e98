//! The second stage: a ranker puts the first candidates of each link into order.

use crate::io::device::OpenDevice;
use crate::io::interrupt;
use crate::io::models::open_ranker;
use clap::Args;
use pel_shared::error::Result;
use pel_shared::linker::{Link, Linker};
use pel_shared::model::cross_encoder::Ranker;
use std::path::{Path, PathBuf};

/// Pairs that are ranked between two looks for Ctrl-C.
const PAIRS: usize = 1024;

/// Which ranker is asked for.
#[derive(Debug, Args)]
pub struct RankerArgs {
    /// Have a ranker put the first K candidates into order; what is NIL stays NIL
    #[arg(long, value_name = "K", requires = "ranker", value_parser = clap::value_parser!(u32).range(2..))]
    rerank: Option<u32>,
    /// The ranker: the model of `pel train --stage rank`
    #[arg(long, value_name = "MODEL", requires = "rerank")]
    ranker: Option<PathBuf>,
}

impl RankerArgs {
    /// The folder of the ranker; nothing if none is asked for.
    pub fn model(&self) -> Option<&Path> {
        self.ranker.as_deref()
    }

    /// The ranker on a device; nothing if none is asked for.
    ///
    /// # Errors
    /// If the model cannot be read, or is no ranker.
    pub fn open(&self, opened: &OpenDevice) -> Result<Option<SecondStage>> {
        let asked = self.ranker.as_ref().zip(self.rerank);
        asked
            .map(|(folder, count)| {
                Ok(SecondStage { ranker: open_ranker(folder, &opened.device)?, count: count as usize })
            })
            .transpose()
    }
}

/// A ranker, and how many candidates it sees.
pub struct SecondStage {
    ranker: Ranker,
    /// Candidates of a mention.
    pub count: usize,
}

impl SecondStage {
    /// Puts the first candidates of a text's mentions into order.
    ///
    /// # Errors
    /// If the device fails, or the user stops the work.
    pub fn rerank(&self, linker: &Linker, text: &str, links: &mut [Link]) -> Result<()> {
        let pairs = linker.pairs(&self.ranker, text, links, self.count)?;
        let mut scores = Vec::with_capacity(pairs.rows().len());
        for some in pairs.rows().chunks(PAIRS) {
            interrupt::check()?;
            scores.extend(self.ranker.scores(some)?);
        }
        linker.rerank(text, links, &pairs, &scores);
        Ok(())
    }
}
