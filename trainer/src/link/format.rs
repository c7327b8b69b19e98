//! Output formats of links: a terminal table, and those of [`pel_shared::output`].

use clap::ValueEnum;
use pel_shared::error::Result;
use pel_shared::linker::Linker;
use pel_shared::output;
use pel_shared::output::{Form, Note, Record};

/// The output formats of links.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// A table for the terminal
    Table,
    /// One JSON object per mention and line, with offsets in bytes, code points and UTF-16 units
    Jsonl,
    /// One JSON object per note with its mentions
    Json,
    /// One row per mention, for spreadsheets; offsets in code points
    Csv,
    /// BRAT standoff
    Brat,
    /// PubTator: title (the first line), abstract, mentions
    Pubtator,
    /// A self-contained page with coloured mentions
    Html,
}

impl Format {
    /// File extension.
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

/// Formats the links of a note in pieces: [`NoteFormatter::head`], any number of
/// [`NoteFormatter::part`], [`NoteFormatter::tail`].
pub struct NoteFormatter<'a> {
    name: &'a str,
    text: &'a str,
    linker: &'a Linker,
    form: Formatter<'a>,
}

enum Formatter<'a> {
    Table(crate::link::table::TableFormatter),
    Form(Box<output::NoteWriter<'a>>),
}

impl<'a> NoteFormatter<'a> {
    /// Starts a note.
    pub fn new(format: Format, name: &'a str, text: &'a str, linker: &'a Linker) -> Self {
        let form = match format {
            Format::Table => None,
            Format::Jsonl => Some(Form::Jsonl),
            Format::Json => Some(Form::Json),
            Format::Csv => Some(Form::Csv),
            Format::Brat => Some(Form::Brat),
            Format::Pubtator => Some(Form::Pubtator),
            Format::Html => Some(Form::Html),
        };
        let form = match form {
            None => Formatter::Table(crate::link::table::TableFormatter::default()),
            Some(form) => {
                Formatter::Form(Box::new(output::NoteWriter::new(form, name, text, linker)))
            }
        };
        Self {
            name,
            text,
            linker,
            form,
        }
    }

    /// The text before the first link.
    ///
    /// # Errors
    /// If it cannot be encoded.
    pub fn head(&self) -> Result<String> {
        match &self.form {
            Formatter::Form(form) => form.head(),
            Formatter::Table(_) => Ok(String::new()),
        }
    }

    /// The next links, in text order.
    ///
    /// # Errors
    /// If a link cannot be encoded.
    pub fn part(&mut self, records: Vec<Record>) -> Result<String> {
        let note = Note {
            name: self.name,
            text: self.text,
            records: &records,
            linker: self.linker,
        };
        match &mut self.form {
            Formatter::Table(table) => Ok(table.part(&note)),
            Formatter::Form(form) => form.part(&records),
        }
    }

    /// The text after the last link.
    ///
    /// # Errors
    /// If it cannot be encoded.
    pub fn tail(&self) -> Result<String> {
        match &self.form {
            Formatter::Table(table) => Ok(table.tail(&Note {
                name: self.name,
                text: self.text,
                records: &[],
                linker: self.linker,
            })),
            Formatter::Form(form) => form.tail(),
        }
    }
}
