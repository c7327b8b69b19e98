//! `pel export-corpus`: a corpus folder in the form of a data set of the papers, as `pel import` reads it, and what that form has no
//! place for.

pub mod capabilities;
mod contexts;
mod source;
mod tac;
#[cfg(test)]
mod tests;
mod zeshel;

use crate::data::import;
use crate::io::output_folder::Output;
use crate::io::outputs::{Inputs, Writes, check_new_folder};
use clap::{Args, ValueEnum};
use pel_shared::error::{Error, Result};
use pel_shared::kb::import::report::Report;
use serde::Serialize;
use source::Source;
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
    pub format: Format,
    /// The folder of the corpus: documents.jsonl and one mentions.SPLIT.jsonl for each split
    #[arg(long, value_name = "DIR")]
    pub corpus: PathBuf,
    /// The concepts, one JSON object a line [default: kb.jsonl in the folder of the corpus]
    #[arg(long, value_name = "FILE")]
    pub kb: Option<PathBuf>,
    /// The folder to write into, which must be new or empty
    #[arg(long, value_name = "DIR")]
    pub out: PathBuf,
}

/// The form of a data set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Format {
    /// Pages in documents/WORLD.json, mentions in mentions/SPLIT.json; they count words, so a text is divided at their borders
    Zeshel,
    /// SPLIT.jsonl with the text left and right of each mention, entities/WORLD.jsonl
    Blink,
    /// Queries and answers of each split, source documents, knowledge base
    Tac,
    /// SPLIT.jsonl with the words left and right of each mention
    Wikilinks,
}

/// The content of `export.json`.
#[derive(Serialize)]
struct Record<'a> {
    format: Format,
    corpus: String,
    kb: String,
    #[serde(flatten)]
    report: &'a Report,
}

/// Runs `pel export-corpus` and prints its report: a table, or JSON if `json`.
///
/// # Errors
/// As [`export`].
pub fn run(args: &ExportCorpusArgs, json: bool) -> Result<()> {
    import::print(&export(args)?, &args.out, json)
}

/// Runs `pel export-corpus` without printing. Its files appear in the output folder together, or none does.
///
/// # Errors
/// If the corpus or the knowledge base cannot be read, the output folder is not empty, or it cannot be written.
pub fn export(args: &ExportCorpusArgs) -> Result<Report> {
    let kb = args.kb.clone().unwrap_or_else(|| args.corpus.join("kb.jsonl"));
    Inputs::new().corpora([args.corpus.as_path()]).files([kb.as_path()]).check([Writes::Folder(&args.out)])?;
    // What a killed export has moved into its new folder is not kept: this one begins anew.
    crate::io::commit::withdraw(&args.out, "export.json")?;
    // A world or a document of an earlier export would be read with those of this one.
    check_new_folder(&args.out)?;
    if args.kb.is_none() && !kb.is_file() {
        let corpus = args.corpus.display();
        return Err(Error::io(format!("{corpus}: expected kb.jsonl in it, found none; give the concepts with --kb")));
    }
    let mut report = Report::default();
    let source = Source::read(&args.corpus, &kb, &mut report)?;
    let mut output = Output::new(&args.out, "export.json", [args.corpus.as_path()])?;
    match args.format {
        Format::Zeshel => zeshel::write(&source, &mut output, &mut report)?,
        Format::Blink => contexts::blink(&source, &mut output, &mut report)?,
        Format::Tac => tac::write(&source, &mut output, &mut report)?,
        Format::Wikilinks => contexts::wikilinks(&source, &mut output, &mut report)?,
    }
    let (corpus, kb) = (args.corpus.display().to_string(), kb.display().to_string());
    output.commit(&Record { format: args.format, corpus, kb, report: &report })?;
    Ok(report)
}
