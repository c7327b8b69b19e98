//! Export: a corpus folder in the form of a data set of the papers, as `pel import` reads it, and what that form has no
//! place for.

pub mod capabilities;
pub mod contexts;
pub mod source;
pub mod tac;
pub mod zeshel;

use crate::io::outputs::OutputFolder;
use clap::ValueEnum;
use pel_shared::error::Result;
use pel_shared::kb::import::report::Report;
use serde::Serialize;
use source::Source;
use std::path::Path;

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

/// The file that says what was written.
pub const RECORD: &str = "export.json";

/// The content of [`RECORD`].
#[derive(Serialize)]
struct Record<'a> {
    format: Format,
    corpus: String,
    kb: String,
    #[serde(flatten)]
    report: &'a Report,
}

/// Writes the corpus in the folder `corpus`, with the concepts of the table `kb`, into the new folder `out`. Its files appear there
/// together, or none does.
///
/// # Errors
/// If the corpus or the knowledge base cannot be read, the output folder is not empty, or it cannot be written.
pub fn export(format: Format, corpus: &Path, kb: &Path, out: &Path) -> Result<Report> {
    let mut report = Report::default();
    let source = Source::read(corpus, kb, &mut report)?;
    let mut output = OutputFolder::new(out, RECORD, [corpus])?;
    match format {
        Format::Zeshel => zeshel::write(&source, &mut output, &mut report)?,
        Format::Blink => contexts::blink(&source, &mut output, &mut report)?,
        Format::Tac => tac::write(&source, &mut output, &mut report)?,
        Format::Wikilinks => contexts::wikilinks(&source, &mut output, &mut report)?,
    }
    let (corpus, kb) = (corpus.display().to_string(), kb.display().to_string());
    output.commit(&Record { format, corpus, kb, report: &report })?;
    Ok(report)
}
