//! Output formats of links: a terminal table, and those of [`pel_output`].

use clap::ValueEnum;
use pel_kb::codes::System;
use pel_kb::error::Result;
use pel_linker::Linker;
use pel_output::{About, Form, Moment, Note, Record, RowIds};

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
    /// A FHIR R4 bundle of unconfirmed resources, one note a line
    Fhir,
    /// Rows of NOTE_NLP of the OMOP Common Data Model 5.4, as CSV
    Omop,
    /// A BioC collection as XML
    BiocXml,
    /// A BioC collection as JSON, one note a line
    BiocJson,
    /// A document for spaCy's Doc.from_json, one note a line
    SpacyJson,
    /// A UIMA CAS as JSON, one note a line; offsets in UTF-16 units
    CasJson,
    /// A Phenopacket of version 2 with the terms of HPO, one note a line
    Phenopackets,
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
            Self::Fhir => "fhir.json",
            Self::Omop => "note_nlp.csv",
            Self::BiocXml => "bioc.xml",
            Self::BiocJson => "bioc.json",
            Self::SpacyJson => "spacy.json",
            Self::CasJson => "cas.json",
            Self::Phenopackets => "phenopacket.json",
        }
    }

    /// Whether it is JSON.
    pub fn is_json(self) -> bool {
        use Format::{BiocJson, CasJson, Fhir, Json, Jsonl, Phenopackets, SpacyJson};
        matches!(
            self,
            Json | Jsonl | Fhir | BiocJson | SpacyJson | CasJson | Phenopackets
        )
    }

    /// Whether it has a place for codes of concepts in standard code systems.
    pub fn has_codes(self) -> bool {
        use Format::{Csv, Fhir, Json, Jsonl, Table};
        matches!(self, Table | Json | Jsonl | Csv | Fhir)
    }

    /// Whether each note needs a file of its own: several of them in one stream cannot be told apart.
    pub fn needs_files(self) -> bool {
        matches!(self, Self::Html | Self::Brat | Self::BiocXml)
    }

    /// Whether it begins with a line that names its columns. Several notes in one stream have it
    /// once.
    pub fn has_header(self) -> bool {
        matches!(self, Self::Csv | Self::Omop)
    }

    /// The form of the library; `None` for the table.
    fn form(self) -> Option<Form> {
        Some(match self {
            Self::Table => return None,
            Self::Jsonl => Form::Jsonl,
            Self::Json => Form::Json,
            Self::Csv => Form::Csv,
            Self::Brat => Form::Brat,
            Self::Pubtator => Form::Pubtator,
            Self::Html => Form::Html,
            Self::Fhir => Form::Fhir,
            Self::Omop => Form::Omop,
            Self::BiocXml => Form::BiocXml,
            Self::BiocJson => Form::BiocJson,
            Self::SpacyJson => Form::SpacyJson,
            Self::CasJson => Form::CasJson,
            Self::Phenopackets => Form::Phenopackets,
        })
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
    Form(Box<pel_output::NoteWriter<'a>>),
}

impl<'a> NoteFormatter<'a> {
    /// Starts a note.
    pub fn new(format: Format, name: &'a str, text: &'a str, linker: &'a Linker) -> Self {
        let form = match format.form() {
            None => Formatter::Table(crate::link::table::TableFormatter::default()),
            Some(form) => Formatter::Form(Box::new(pel_output::NoteWriter::new(
                form, name, text, linker,
            ))),
        };
        Self {
            name,
            text,
            linker,
            form,
        }
    }

    /// States when the links were made, for the formats that write it.
    pub fn dated(self, moment: &Moment) -> Self {
        let form = match self.form {
            Formatter::Form(form) => Formatter::Form(Box::new(form.dated(Some(moment.clone())))),
            table => table,
        };
        Self { form, ..self }
    }

    /// States what the document of the note says of it.
    pub fn about(self, about: &About) -> Self {
        let form = match self.form {
            Formatter::Form(form) => Formatter::Form(Box::new(form.about(about))),
            table => table,
        };
        Self { form, ..self }
    }

    /// States which code systems were chosen, if any were.
    pub fn coded_in(self, systems: Option<&[System]>) -> Self {
        let form = match (self.form, systems) {
            (Formatter::Form(form), Some(systems)) => {
                Formatter::Form(Box::new(form.coded_in(systems)))
            }
            (form, _) => form,
        };
        Self { form, ..self }
    }

    /// Numbers the rows of OMOP by these identifiers.
    pub fn numbered(self, ids: RowIds) -> Self {
        let form = match self.form {
            Formatter::Form(form) => Formatter::Form(Box::new(form.numbered(ids))),
            table => table,
        };
        Self { form, ..self }
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
