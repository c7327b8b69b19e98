//! Export of a corpus folder to the formats of public data sets, as `pel import` reads them.
//! Reports what is lost.

pub mod capabilities;
pub mod contexts;
pub mod source;
pub mod zeshel;

use clap::ValueEnum;
use pel_io::outputs::OutputFolder;
use pel_kb::error::Result;
use pel_terminologies::import::report::Report;
use serde::Serialize;
use source::Source;
use std::path::Path;

/// The format of a data set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Format {
    /// documents/WORLD.json and mentions/SPLIT.json with word offsets; texts are split at mention
    /// borders
    Zeshel,
    /// SPLIT.jsonl with left and right context of each mention, and entities/WORLD.jsonl
    Blink,
    /// SPLIT.jsonl with the words left and right of each mention
    Wikilinks,
}

/// The record of an export.
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

/// Exports the corpus folder `corpus` with the concept table `kb` into the new folder `out`. Its
/// files appear together or not at all.
///
/// # Errors
/// If the corpus or the knowledge base cannot be read, the output folder is not empty, or it cannot
/// be written.
pub fn export(format: Format, corpus: &Path, kb: &Path, out: &Path) -> Result<Report> {
    let mut report = Report::default();
    let source = Source::read(corpus, kb, &mut report)?;
    let mut output = OutputFolder::new(out, RECORD, [corpus])?;
    match format {
        Format::Zeshel => zeshel::write(&source, &mut output, &mut report)?,
        Format::Blink => contexts::blink(&source, &mut output, &mut report)?,
        Format::Wikilinks => contexts::wikilinks(&source, &mut output, &mut report)?,
    }
    let (corpus, kb) = (corpus.display().to_string(), kb.display().to_string());
    output.commit(&Record {
        format,
        corpus,
        kb,
        report: &report,
    })?;
    Ok(report)
}
