//! `pel export-corpus`: writes an annotated corpus in the form of a data set of the papers.

#[cfg(test)]
mod tests;

use super::conversion;
use crate::data::export::{self, Format, RECORD};
use crate::io::outputs::withdraw;
use crate::io::outputs::{Inputs, Writes, check_new_folder};
use clap::Args;
use pel_shared::error::{Error, Result};
use pel_shared::kb::import::report::Report;
use std::path::PathBuf;

/// Write an annotated corpus in the form of a data set of the papers
///
/// What the form has no place for is counted by reason: mentions without a concept, synonyms, types ... `pel import` with the
/// command of the same name reads what is written.
#[derive(Args, Clone, Debug)]
#[command(after_help = "Examples:\n  \
    pel export-corpus --format zeshel --corpus corpus --kb kb.jsonl --out zeshel\n  \
    pel export-corpus --format tac --corpus corpus --kb kb.jsonl --out tac\n  \
    pel import tac --kb tac/kb --documents tac/source --test tac/test_queries.xml \\\n      \
    --test-answers tac/test_KB_links.tab --out again")]
pub struct ExportCorpusArgs {
    /// The form to write
    #[arg(long, value_enum)]
    format: Format,
    /// The folder of the corpus: documents.jsonl and one mentions.SPLIT.jsonl for each split
    #[arg(long, value_name = "DIR")]
    corpus: PathBuf,
    /// The concepts, one JSON object a line [default: kb.jsonl in the folder of the corpus]
    #[arg(long, value_name = "FILE")]
    kb: Option<PathBuf>,
    /// The folder to write into, which must be new or empty
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
}

/// Runs `pel export-corpus` and prints its report: a table, or JSON if `json`.
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
    let kb = args.kb.clone().unwrap_or_else(|| args.corpus.join("kb.jsonl"));
    Inputs::new().corpora([args.corpus.as_path()]).files([kb.as_path()]).check([Writes::Folder(&args.out)])?;
    // What a killed export has moved into its new folder is not kept: this one begins anew.
    withdraw(&args.out, RECORD)?;
    // A world or a document of an earlier export would be read with those of this one.
    check_new_folder(&args.out)?;
    if args.kb.is_none() && !kb.is_file() {
        let corpus = args.corpus.display();
        return Err(Error::io(format!("{corpus}: expected kb.jsonl in it, found none; give the concepts with --kb")));
    }
    export::export(args.format, &args.corpus, &kb, &args.out)
}
