//! Writes a note part by part, so that its records need not be in memory together.

use super::about::About;
use super::bioc::Encoding;
use super::moment::Moment;
use super::omop::RowIds;
use super::{Form, Note, Record, RemovedMention};
use super::{bioc, brat, cas, csv, fhir, html, json, omop, phenopackets, pubtator, spacy};
use pel_kb::codes::System;
use pel_kb::error::Result;
use pel_linker::Linker;
use pel_text::Offsets;

/// Writes a note in a format: [`NoteWriter::head`], then [`NoteWriter::part`] for each part of its
/// records, then [`NoteWriter::tail`].
///
/// An HTML page shows the marked text before its table, a document of spaCy has its tokens cut at its
/// mentions, and a Phenopacket has each term once, so [`NoteWriter::tail`] writes these whole.
pub struct NoteWriter<'a> {
    form: Form,
    name: &'a str,
    text: &'a str,
    linker: &'a Linker,
    offsets: Offsets<'a>,
    moment: Option<Moment>,
    about: About,
    /// The code systems that were chosen; empty for all.
    systems: Vec<System>,
    /// Whether tables have the columns of reviews.
    reviewed: bool,
    /// The mentions that a reader removed.
    removed: Vec<RemovedMention>,
    /// The number of records that were written.
    written: usize,
    state: State,
}

/// What a format keeps of the records that were written.
enum State {
    Nothing,
    Page(html::PageRows),
    Omop(RowIds),
    Fhir(Box<fhir::Entries>),
    Spacy(spacy::Mentions),
    /// The number of annotations.
    Cas(usize),
    Bioc(Encoding, Vec<bioc::Joined>),
    Phenopackets(phenopackets::Features),
}

impl<'a> NoteWriter<'a> {
    /// A writer before its first record. It scans the text once, for offsets.
    pub fn new(form: Form, name: &'a str, text: &'a str, linker: &'a Linker) -> Self {
        let note = Note {
            name,
            text,
            records: &[],
            linker,
        };
        let state = match form {
            Form::Html => State::Page(html::PageRows::default()),
            Form::Omop => State::Omop(RowIds::default()),
            Form::Fhir => State::Fhir(Box::new(fhir::Entries::new(&note))),
            Form::SpacyJson => State::Spacy(spacy::Mentions::default()),
            Form::CasJson => State::Cas(0),
            Form::BiocXml => State::Bioc(Encoding::Xml, Vec::new()),
            Form::BiocJson => State::Bioc(Encoding::Json, Vec::new()),
            Form::Phenopackets => State::Phenopackets(phenopackets::Features::default()),
            _ => State::Nothing,
        };
        Self {
            form,
            name,
            text,
            linker,
            offsets: Offsets::new(text),
            moment: None,
            about: About::default(),
            systems: Vec::new(),
            reviewed: false,
            removed: Vec::new(),
            written: 0,
            state,
        }
    }

    /// States when the links were made, for the formats that have a place for it: FHIR, OMOP, BioC and
    /// Phenopackets. OMOP needs it.
    pub fn dated(mut self, moment: Option<Moment>) -> Self {
        self.moment = moment;
        self
    }

    /// States what the document of the note says of it, for the formats that have a place for it:
    /// JSON and FHIR.
    pub fn about(mut self, about: &About) -> Self {
        if let State::Fhir(entries) = &mut self.state {
            entries.set_about(about);
        }
        self.about = about.clone();
        self
    }

    /// States which code systems were chosen ([`Record::keep_codes`]), for the formats that have a
    /// column for each (CSV) or other codes besides (FHIR).
    pub fn coded_in(mut self, systems: &[System]) -> Self {
        self.systems = systems.to_vec();
        self
    }

    /// States that a reader reviews the note, and which mentions were removed. CSV then has the
    /// columns of reviews. JSON and BRAT write the removed mentions after the others.
    #[must_use]
    pub fn reviewed(mut self, removed: Vec<RemovedMention>) -> Self {
        self.reviewed = true;
        self.removed = removed;
        self
    }

    /// Numbers the rows of OMOP by these identifiers, instead of 1, 2, 3.
    pub fn numbered(mut self, ids: RowIds) -> Self {
        if let State::Omop(own) = &mut self.state {
            *own = ids;
        }
        self
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
        let (note, moment) = (self.note(&[]), self.moment.as_ref());
        if let State::Fhir(entries) = &self.state {
            return entries.head(&note, moment);
        }
        Ok(match self.form {
            Form::Json => json::head(&note, &self.about)?,
            Form::Csv => csv::head(&self.systems, self.reviewed),
            Form::Omop => omop::head(),
            Form::Pubtator => pubtator::head(&note),
            Form::BiocXml => bioc::head(&note, Encoding::Xml, moment)?,
            Form::BiocJson => bioc::head(&note, Encoding::Json, moment)?,
            Form::CasJson => cas::head(&note, &self.offsets)?,
            Form::Jsonl
            | Form::Brat
            | Form::Html
            | Form::Fhir
            | Form::SpacyJson
            | Form::Phenopackets => String::new(),
        })
    }

    /// The output for the next records, which are in the order of the text.
    ///
    /// # Errors
    /// If a record cannot be encoded, a concept of the bundle is damaged, or the format is OMOP and
    /// there is no date.
    pub fn part(&mut self, records: &[Record]) -> Result<String> {
        let (offsets, before) = (&self.offsets, self.written);
        let note = Note {
            name: self.name,
            text: self.text,
            records,
            linker: self.linker,
        };
        let part = match &mut self.state {
            State::Page(page) => {
                page.add(&note)?;
                String::new()
            }
            State::Spacy(mentions) => {
                mentions.add(&note, offsets);
                String::new()
            }
            State::Phenopackets(features) => {
                features.add(&note, offsets);
                String::new()
            }
            State::Omop(ids) => omop::write(&note, offsets, ids, self.moment.as_ref())?,
            State::Fhir(entries) => entries.part(&note, offsets, &self.systems)?,
            State::Cas(annotations) => cas::part(&note, offsets, annotations)?,
            State::Bioc(encoding, relations) => {
                relations.extend(bioc::joined(&note, before, relations.len()));
                bioc::part(&note, offsets, *encoding, before)?
            }
            State::Nothing => match self.form {
                Form::Json => json::members(&note, offsets, before)?,
                Form::Csv => csv::write(&note, offsets, &self.systems, self.reviewed)?,
                Form::Brat => brat::write(&note, offsets, before),
                Form::Pubtator => pubtator::rows(&note, offsets),
                _ => json::lines(&note, offsets, &self.about)?,
            },
        };
        self.written += records.len();
        Ok(part)
    }

    /// The output after the last record.
    ///
    /// # Errors
    /// If JSON cannot be encoded, or the page cannot be written.
    pub fn tail(&self) -> Result<String> {
        let note = self.note(&[]);
        match &self.state {
            State::Page(page) => page.page(&note),
            State::Spacy(mentions) => mentions.document(&note, &self.offsets),
            State::Fhir(entries) => entries.tail(&note, self.moment.as_ref()),
            State::Cas(annotations) => cas::tail(*annotations),
            State::Phenopackets(features) => features.document(self.name, self.moment.as_ref()),
            State::Bioc(encoding, relations) => bioc::tail(*encoding, relations),
            State::Nothing | State::Omop(_) => Ok(match self.form {
                Form::Json => json::tail(&note, &self.offsets, self.written, &self.removed)?,
                Form::Brat => brat::removed(&note, &self.offsets, self.written, &self.removed),
                _ => String::new(),
            }),
        }
    }
}
