//! Links for a reader's terminal, and for other tools ([`pel_shared::report`]).

mod table;

use clap::ValueEnum;
use pel_shared::error::Result;
use pel_shared::report::{Form, Note};

/// The forms that links are written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// A table for reading
    Table,
    /// One mention a line, as JSON, with offsets in bytes, code points and UTF-16 units
    Jsonl,
    /// A note with its mentions as one JSON object
    Json,
    /// One mention a row, for spreadsheets; offsets in code points
    Csv,
    /// BRAT standoff
    Brat,
    /// PubTator: title (the first line), abstract, mentions
    Pubtator,
    /// A page of its own, with the mentions coloured
    Html,
}

impl Format {
    /// The usual ending of such a file.
    pub fn extension(self) -> &'static str {
        match self {
            Self::Table => "links.txt",
            Self::Jsonl => "jsonl",
            Self::Json => "json",
            Self::Csv => "csv",
            Self::Brat => "ann",
            Self::Pubtator => "pubtator",
            Self::Html => "html",
        }
    }
}

/// The links of a note in a form.
///
/// # Errors
/// If a concept of the bundle is damaged.
pub fn render(format: Format, note: &Note<'_>) -> Result<String> {
    note.write(match format {
        Format::Table => return Ok(table::render(note)),
        Format::Jsonl => Form::Jsonl,
        Format::Json => Form::Json,
        Format::Csv => Form::Csv,
        Format::Brat => Form::Brat,
        Format::Pubtator => Form::Pubtator,
        Format::Html => Form::Html,
    })
}
