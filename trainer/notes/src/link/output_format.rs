//! The output formats of `pel link`: texts ([`Format`]) and Parquet.

use super::format::Format;
use clap::ValueEnum;
use clap::builder::PossibleValue;
use std::sync::LazyLock;

/// An output format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutputFormat {
    /// A text.
    Text(Format),
    /// A Parquet table with a row for each mention.
    Parquet,
}

impl OutputFormat {
    /// File extension.
    pub fn extension(self) -> &'static str {
        match self {
            Self::Text(format) => format.extension(),
            Self::Parquet => "parquet",
        }
    }

    /// The format as a text; `None` for Parquet.
    pub fn text(self) -> Option<Format> {
        match self {
            Self::Text(format) => Some(format),
            Self::Parquet => None,
        }
    }

    /// Whether it begins with a line that names its columns. Several notes in one stream have it
    /// once.
    pub fn has_header(self) -> bool {
        self.text().is_some_and(Format::has_header)
    }

    /// Whether each note needs a file of its own: several of them in one stream cannot be told
    /// apart.
    pub fn needs_files(self) -> bool {
        self.text().is_some_and(Format::needs_files)
    }

    /// Whether a file of this format can hold the notes of a table.
    pub fn holds_tables(self) -> bool {
        !self.needs_files() && self != Self::Text(Format::Table)
    }
}

impl ValueEnum for OutputFormat {
    fn value_variants<'a>() -> &'a [Self] {
        static ALL: LazyLock<Vec<OutputFormat>> = LazyLock::new(|| {
            let texts = Format::value_variants().iter().copied();
            texts
                .map(OutputFormat::Text)
                .chain([OutputFormat::Parquet])
                .collect()
        });
        &ALL
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        match self {
            Self::Text(format) => format.to_possible_value(),
            Self::Parquet => Some(PossibleValue::new("parquet").help(
                "An Apache Parquet table with one row per mention, with offsets as in JSONL",
            )),
        }
    }
}
