//! A note whose records come part by part, so that nobody has to hold all of them.

use super::{Form, Note, Record, brat, csv, html, json, pubtator};
use crate::error::Result;
use crate::linker::Linker;
use crate::text::Offsets;

/// Writes a note in a form: [`Parts::head`], [`Parts::part`] as often as there are records, [`Parts::tail`].
///
/// A page shows the text with its mentions before the decisions: all of it is in the tail, and until then its rows are held.
pub struct Parts<'a> {
    form: Form,
    name: &'a str,
    text: &'a str,
    linker: &'a Linker,
    offsets: Offsets<'a>,
    /// Records that have been written.
    written: usize,
    page: html::Rows,
}

impl<'a> Parts<'a> {
    /// None yet. The text is read once.
    pub fn new(form: Form, name: &'a str, text: &'a str, linker: &'a Linker) -> Self {
        Self { form, name, text, linker, offsets: Offsets::new(text), written: 0, page: html::Rows::default() }
    }

    fn note<'n>(&'n self, records: &'n [Record]) -> Note<'n> {
        Note { name: self.name, text: self.text, records, linker: self.linker }
    }

    /// What stands before the first record.
    ///
    /// # Errors
    /// If it cannot be encoded.
    pub fn head(&self) -> Result<String> {
        Ok(match self.form {
            Form::Jsonl | Form::Brat | Form::Html => String::new(),
            Form::Json => json::head(&self.note(&[]))?,
            Form::Csv => csv::head(),
            Form::Pubtator => pubtator::head(&self.note(&[])),
        })
    }

    /// The next records, in the order of the text.
    ///
    /// # Errors
    /// If one cannot be encoded.
    pub fn part(&mut self, records: &[Record]) -> Result<String> {
        let offsets = &self.offsets;
        let note = Note { name: self.name, text: self.text, records, linker: self.linker };
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

    /// What stands after the last record.
    ///
    /// # Errors
    /// If it cannot be encoded.
    pub fn tail(&self) -> Result<String> {
        Ok(match self.form {
            Form::Json => json::tail(self.written),
            Form::Html => self.page.page(&self.note(&[]))?,
            Form::Jsonl | Form::Csv | Form::Brat | Form::Pubtator => String::new(),
        })
    }
}
