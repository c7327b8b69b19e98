//! `pel export-corpus`: writes an annotated corpus in the format of a public data set.

#[cfg(test)]
mod tests;

use super::conversion;
use clap::Args;
use pel_corpora::export;
use pel_corpora::export::{Format, RECORD};
use pel_io::outputs::roll_back;
use pel_io::outputs::{Inputs, Output, check_new_folder};
use pel_kb::error::{Error, Result};
use pel_terminologies::import::report::Report;
use std::path::PathBuf;

/// Write an annotated corpus in the format of a public data set
///
/// Counts what the format cannot store by reason, such as mentions without a concept, synonyms and
/// types. `pel import` with the command of the same name reads the output.
#[derive(Args, Clone, Debug)]
#[command(after_help = "Examples:\n  \
    pel export-corpus --format zeshel --corpus corpus --kb kb.jsonl --out zeshel\n  \
    pel import zeshel zeshel --out again")]
pub struct ExportCorpusArgs {
    /// Format to write
    #[arg(long, value_enum)]
    format: Format,
    /// Corpus folder with documents.jsonl and one mentions.SPLIT.jsonl per split
    #[arg(long, value_name = "DIR")]
    corpus: PathBuf,
    /// Concept table, one JSON object per line [default: kb.jsonl in the corpus folder]
    #[arg(long, value_name = "FILE")]
    kb: Option<PathBuf>,
    /// Output folder, new or empty
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
}

/// Runs `pel export-corpus` and prints its report as a table, or as JSON.
///
/// # Errors
/// As [`export`].
pub fn run(args: &ExportCorpusArgs, json: bool) -> Result<()> {
    conversion::print(&export(args)?, &args.out, json)
}

/// Runs `pel export-corpus` without printing.
///
/// # Errors
/// As [`export::export`].
fn export(args: &ExportCorpusArgs) -> Result<Report> {
    let kb = args
        .kb
        .clone()
        .unwrap_or_else(|| args.corpus.join("kb.jsonl"));
    Inputs::new()
        .corpora([args.corpus.as_path()])
        .files([kb.as_path()])
        .check([Output::Folder(&args.out)])?;
    // Removes the files of an interrupted export.
    roll_back(&args.out, RECORD)?;
    // Worlds or documents of an earlier export would be read with the new ones.
    check_new_folder(&args.out)?;
    if args.kb.is_none() && !kb.is_file() {
        let corpus = args.corpus.display();
        return Err(Error::io(format!(
            "{corpus}: the folder has no kb.jsonl; give the concept table with --kb"
        )));
    }
    export::export(args.format, &args.corpus, &kb, &args.out)
}
