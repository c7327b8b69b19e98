//! Writes a note part by part, so that its records need not be in memory together.

use super::{Form, Note, Record, brat, csv, html, json, pubtator};
use crate::error::Result;
use crate::linker::Linker;
use crate::text::Offsets;

/// Writes a note in a format: [`NoteWriter::head`], then [`NoteWriter::part`] for each part of its
/// records, then [`NoteWriter::tail`].
///
/// An HTML page shows the marked text before its table, so [`NoteWriter::tail`] writes the whole
/// page.
pub struct NoteWriter<'a> {
    form: Form,
    name: &'a str,
    text: &'a str,
    linker: &'a Linker,
    offsets: Offsets<'a>,
    /// The number of records that were written.
    written: usize,
    page: html::PageRows,
}

impl<'a> NoteWriter<'a> {
    /// A writer before its first record. It scans the text once, for offsets.
    pub fn new(form: Form, name: &'a str, text: &'a str, linker: &'a Linker) -> Self {
        Self {
            form,
            name,
            text,
            linker,
            offsets: Offsets::new(text),
            written: 0,
            page: html::PageRows::default(),
        }
    }

    fn note<'n>(&'n self, records: &'n [Record]) -> Note<'n> {
        Note {
            name: self.name,
            text: self.text,
            records,
            linker: self.linker,
        }
    }

    /// The output before the first record.
    ///
    /// # Errors
    /// If JSON cannot be encoded, or the page cannot be written.
    pub fn head(&self) -> Result<String> {
        Ok(match self.form {
            Form::Jsonl | Form::Brat | Form::Html => String::new(),
            Form::Json => json::head(&self.note(&[]))?,
            Form::Csv => csv::head(),
            Form::Pubtator => pubtator::head(&self.note(&[])),
        })
    }

    /// The output for the next records, which are in the order of the text.
    ///
    /// # Errors
    /// If a record cannot be encoded, or a concept of the bundle is damaged.
    pub fn part(&mut self, records: &[Record]) -> Result<String> {
        let offsets = &self.offsets;
        let note = Note {
            name: self.name,
            text: self.text,
            records,
            linker: self.linker,
        };
        let part = match self.form {
            Form::Jsonl => json::lines(&note, offsets)?,
            Form::Json => json::members(&note, offsets, self.written)?,
            Form::Csv => csv::write(&note, offsets)?,
            Form::Brat => brat::write(&note, offsets, self.written),
            Form::Pubtator => pubtator::rows(&note, offsets),
            Form::Html => {
                self.page.add(&note)?;
                String::new()
            }
        };
        self.written += records.len();
        Ok(part)
    }

    /// The output after the last record.
    ///
    /// # Errors
    /// If JSON cannot be encoded, or the page cannot be written.
    pub fn tail(&self) -> Result<String> {
        Ok(match self.form {
            Form::Json => json::tail(self.written),
            Form::Html => self.page.page(&self.note(&[]))?,
            Form::Jsonl | Form::Csv | Form::Brat | Form::Pubtator => String::new(),
        })
    }
}
