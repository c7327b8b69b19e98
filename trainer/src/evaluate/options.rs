//! The options of an evaluation.

use crate::data::domain::OwnDomain;
use crate::data::mention_domains::By;
use crate::retrieve::lexical::System;
use clap::Args;
use std::path::PathBuf;

/// What is measured on which corpus; `pel evaluate` reads it from its command line.
#[derive(Debug, Args)]
pub struct Options {
    /// The folder of the corpus
    #[arg(long, value_name = "DIR")]
    pub corpus: PathBuf,
    /// The split to measure on
    #[arg(long, default_value = "test")]
    pub split: String,
    /// The split that was trained on: it tells seen concepts from zero-shot ones, and `majority` learns from it
    #[arg(long, value_name = "SPLIT", default_value = "train")]
    pub train_split: String,
    /// The split on which NIL thresholds are chosen [default: dev, if the corpus has it]
    #[arg(long, value_name = "SPLIT")]
    pub calibrate_split: Option<String>,
    /// The concepts, one JSON object a line; without it those of the bundle
    #[arg(long, value_name = "FILE")]
    pub kb: Option<PathBuf>,
    /// The bundle that `dense` and `link` measure; NIL is also measured at its own threshold
    #[arg(long, value_name = "BUNDLE")]
    pub bundle: Option<PathBuf>,
    /// What to measure [default: exact,tfidf,bm25, majority if there is a training split, dense if there is a bundle]
    #[arg(long, value_enum, value_delimiter = ',')]
    pub systems: Option<Vec<System>>,
    /// Search each mention among the concepts of its own domain alone (ZESHEL's protocol): that of its document, or, as an oracle, of its right concept [without OF: document]
    #[arg(long, value_enum, value_name = "OF", num_args = 0..=1, require_equals = true, default_missing_value = "document")]
    pub within_domain: Option<OwnDomain>,
    /// A ranker (the model of `pel train --stage rank`), which puts the first candidates of every system into order
    #[arg(long, value_name = "MODEL")]
    pub ranker: Option<PathBuf>,
    /// How many candidates the ranker sees; several numbers make a curve
    #[arg(long, value_name = "K", value_delimiter = ',', default_value = "16", requires = "ranker",
        value_parser = clap::value_parser!(u32).range(1..))]
    pub rerank: Vec<u32>,
    /// Candidates that are asked for; recall is measured at 1, 8, 16, 64 and here
    #[arg(long, value_name = "K", default_value_t = 64, value_parser = clap::value_parser!(u32).range(1..))]
    pub top: u32,
    /// Read the short forms that a text defines ("heart failure (HF)") as they stand; without it every system reads them written out, or as
    /// the bundle does
    #[arg(long)]
    pub keep_abbreviations: bool,
    /// Print recall by domain: the semantic types of concepts, their sources, or the field `domain` of documents
    #[arg(long, value_enum, value_delimiter = ',')]
    pub by: Option<Vec<By>>,
    /// Measure only every N-th mention, for a quick look
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    pub every: u32,
}
