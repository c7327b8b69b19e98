//! `pel evaluate`: measures retrievers on an annotated corpus.

use crate::evaluate::{self, Options, Second};
use crate::io::device::{DeviceArgs, Work};
use crate::io::files::print;
use crate::io::models::open_ranker;
use crate::io::outputs::{Inputs, Writes};
use crate::retrieve::bundle;
use clap::Args;
use pel_shared::clean::escaped;
use pel_shared::error::{Error, Result};
use std::collections::HashSet;
use std::path::{Path, PathBuf};

/// Measure how often the right concept is found, and NIL where there is none, on an annotated corpus
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    pel evaluate --corpus corpus --kb kb.jsonl\n  \
    pel evaluate --corpus corpus --bundle bundle --systems link,tfidf --by type --out results.json\n\n\
    A corpus is a folder as `pel import pubtator` writes it: documents.jsonl and one mentions.SPLIT.jsonl for each split. \
    A mention whose concept the knowledge base does not have counts as NIL; where `pel split okb` took concepts out of \
    the knowledge base, NIL is also measured on their mentions alone and without them.\n\n\
    Over all classes, a NIL mention is right if it is rejected, another one if it is linked and its concept is among the \
    first k; a rejected mention has no candidates, so it is wrong at every k if the knowledge base has its concept.")]
pub struct EvaluateArgs {
    #[command(flatten)]
    options: Options,
    /// Write all figures into this file, as JSON
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

/// Runs `pel evaluate`.
///
/// # Errors
/// If an option does not fit the corpus, or anything cannot be read, encoded or written.
pub fn run(args: &EvaluateArgs, device: &DeviceArgs, json: bool) -> Result<()> {
    let options = &args.options;
    Inputs::new()
        .corpora([options.corpus.as_path()])
        .files(options.kb.as_deref())
        .artifacts(options.bundle.iter().chain(&options.ranker).map(PathBuf::as_path))
        .check(args.out.as_deref().map(Writes::File))?;
    let second = options.ranker.as_deref().map(|folder| ranker(folder, &options.rerank, device)).transpose()?;
    let evaluation = evaluate::evaluate(options, |path| bundle::open(path, device), second.as_ref())?;
    if let Some(out) = &args.out {
        evaluation.save(out)?;
    }
    let text = if json {
        serde_json::to_string_pretty(&evaluation).map_err(|cause| Error::io("encoding JSON").caused_by(cause))?
    } else {
        evaluation.tables()
    };
    print(&escaped(&format!("{text}\n")))
}

/// Opens the ranker. Each number of candidates is measured once, in the order given.
fn ranker(folder: &Path, counts: &[u32], device: &DeviceArgs) -> Result<Second> {
    let mut seen = HashSet::new();
    let ks = counts.iter().filter(|k| seen.insert(**k)).map(|k| *k as usize).collect();
    let ranker = open_ranker(folder, &device.open(Work::Long)?.device)?;
    Ok(Second { ranker, ks })
}
