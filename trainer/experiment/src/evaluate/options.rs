//! The options of an evaluation.

use clap::Args;
use pel_corpora::domain::OwnDomain;
use pel_corpora::mention_domains::By;
use pel_corpora::retrieve::lexical::System;
use std::path::PathBuf;

/// The options of `pel evaluate`.
#[derive(Debug, Args)]
pub struct Options {
    /// Corpus folder
    #[arg(long, value_name = "DIR")]
    pub corpus: PathBuf,
    /// Split to measure
    #[arg(long, default_value = "test")]
    pub split: String,
    /// Training split, which defines seen and zero-shot concepts; `majority` is trained on it
    /// [default: train; seen are the concepts that the bundle's model was trained on, if it tells]
    #[arg(long, value_name = "SPLIT")]
    pub train_split: Option<String>,
    /// Split to choose NIL thresholds on [default: dev, if the corpus has it]
    #[arg(long, value_name = "SPLIT")]
    pub calibrate_split: Option<String>,
    /// Concept table, one JSON object a line [default: the bundle's concepts]
    #[arg(long, value_name = "FILE")]
    pub kb: Option<PathBuf>,
    /// Bundle of `dense` and `link`; NIL is also measured at its own threshold
    #[arg(long, value_name = "BUNDLE")]
    pub bundle: Option<PathBuf>,
    /// Systems to measure [default: exact,tfidf,bm25, majority with a training split, dense with a
    /// bundle]
    #[arg(long, value_enum, value_delimiter = ',')]
    pub systems: Option<Vec<System>>,
    /// Search only the concepts of the mention's domain (ZESHEL's protocol): its document's, or as
    /// an oracle its right concept's [without OF: document]
    #[arg(
        long,
        value_enum,
        value_name = "OF",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "document",
    )]
    pub within_domain: Option<OwnDomain>,
    /// Ranker (a model of `pel train --stage rank`) that reorders the first candidates of every
    /// system
    #[arg(long, value_name = "MODEL")]
    pub ranker: Option<PathBuf>,
    /// Candidates that the ranker reorders; each number is measured
    #[arg(long, value_name = "K", value_delimiter = ',', default_value = "16", requires = "ranker",
        value_parser = clap::value_parser!(u32).range(1..))]
    pub rerank: Vec<u32>,
    /// Candidates of a mention; recall is measured at 1, 8, 16, 64 and this k
    #[arg(
        long,
        value_name = "K",
        default_value_t = 64,
        value_parser = clap::value_parser!(u32).range(1..),
    )]
    pub top: u32,
    /// Do not expand the short forms that a text defines ("heart failure (HF)") [default: expanded,
    /// or as the bundle does]
    #[arg(long)]
    pub keep_abbreviations: bool,
    /// Print recall by domain: semantic types of concepts, their sources, or the field `domain` of
    /// documents
    #[arg(long, value_enum, value_delimiter = ',')]
    pub by: Option<Vec<By>>,
    /// Measure only every N-th mention
    #[arg(
        long,
        value_name = "N",
        default_value_t = 1,
        value_parser = clap::value_parser!(u32).range(1..),
    )]
    pub every: u32,
}
