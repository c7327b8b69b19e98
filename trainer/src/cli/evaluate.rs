//! `pel evaluate`: evaluates retrievers on an annotated corpus.

use crate::evaluate::{self, Options, Second};
use crate::io::device::{DeviceArgs, Work};
use crate::io::files::print;
use crate::io::json;
use crate::io::models::open_ranker;
use crate::io::outputs::{Inputs, Output};
use crate::retrieve::bundle;
use clap::Args;
use pel_shared::clean::escaped;
use pel_shared::error::Result;
use std::collections::HashSet;
use std::path::{Path, PathBuf};

/// Measure recall and NIL detection on an annotated corpus
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    pel evaluate --corpus corpus --kb kb.jsonl\n  \
    pel evaluate --corpus corpus --bundle bundle --systems link,tfidf --by type --out results.json\n\n\
    A corpus is a folder written by `pel import pubtator`: documents.jsonl and one mentions.SPLIT.jsonl per split. A mention \
    without a concept of the knowledge base counts as NIL. If `pel split okb` held out concepts, NIL is also measured on \
    their mentions alone and without them.\n\n\
    Over all classes, a NIL mention is correct if it is rejected. Any other mention is correct at k if it is linked and its \
    concept is among the first k.")]
pub struct EvaluateArgs {
    #[command(flatten)]
    options: Options,
    /// Write all metrics to this file as JSON
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

/// Runs `pel evaluate`.
///
/// # Errors
/// If an option does not fit the corpus, a file cannot be read or written, or encoding fails.
pub fn run(args: &EvaluateArgs, device: &DeviceArgs, json: bool) -> Result<()> {
    let options = &args.options;
    Inputs::new()
        .corpora([options.corpus.as_path()])
        .files(options.kb.as_deref())
        .artifacts(
            options
                .bundle
                .iter()
                .chain(&options.ranker)
                .map(PathBuf::as_path),
        )
        .check(args.out.as_deref().map(Output::File))?;
    let second = options
        .ranker
        .as_deref()
        .map(|folder| ranker(folder, &options.rerank, device))
        .transpose()?;
    let evaluation =
        evaluate::evaluate(options, |path| bundle::open(path, device), second.as_ref())?;
    if let Some(out) = &args.out {
        evaluation.save(out)?;
    }
    let text = if json {
        json::pretty(&evaluation)?
    } else {
        evaluation.tables()
    };
    print(&escaped(&format!("{text}\n")))
}

/// Opens the cross-encoder. Each number of candidates is evaluated once, in the given order.
fn ranker(folder: &Path, counts: &[u32], device: &DeviceArgs) -> Result<Second> {
    let mut seen = HashSet::new();
    let ks = counts
        .iter()
        .filter(|k| seen.insert(**k))
        .map(|k| *k as usize)
        .collect();
    let ranker = open_ranker(folder, &device.open(Work::Long)?.device)?;
    Ok(Second { ranker, ks })
}
