//! Links many notes: short ones in batches, long ones in parts.

use crate::link::format::{Format, NoteFormatter};
use crate::link::inputs;
use crate::link::inputs::{ReadOptions, Stated, Stopped, document_file};
use crate::link::languages::Languages;
use crate::link::link_row::LinkRow;
use crate::link::notes::{Note, Shard, Source, windows};
use crate::link::omop_numbers::OmopNumbers;
use crate::link::output_format::OutputFormat;
use crate::link::sink::{Rendered, Sink};
use crate::link::text_folder::TextFolder;
use crate::link::text_linker::{MENTIONS, TextLinker, TextOptions};
use pel_corpora::spans;
use pel_io::files::{io_error, write_atomic};
use pel_io::interrupt;
use pel_io::progress::Progress;
use pel_io::text_encoding::{TextEncoding, read_text_in};
use pel_kb::error::{Context, Error, Kind, Result};
use pel_linker::{Link, Prepared};
use pel_output::{Moment, RowIds};
use pel_terminologies::import::report::Report;
use pel_text::detect::{Detected, join};
use rayon::prelude::*;
use std::borrow::Cow;
use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};

/// Links formatted at once; also the rows of a terminal table.
const RECORDS: usize = 512;

/// How to link notes and write the links.
pub struct Linking {
    /// The bundle with its options.
    pub engine: TextLinker,
    /// How each text is linked.
    pub options: TextOptions,
    /// Encoding of the notes and given spans.
    pub encoding: TextEncoding,
    /// Whether to link only given spans.
    pub spans_only: bool,
    /// The format of the output.
    pub format: OutputFormat,
    /// Notes in other languages than the rules of context.
    pub languages: Languages,
    /// When the links are made, for the formats that write it.
    pub moment: Moment,
    /// The numbers of rows and notes, for OMOP.
    pub numbers: Option<OmopNumbers>,
    /// Where the texts of notes are written, if anywhere.
    pub texts: Option<TextFolder>,
}

/// The outcome of linking.
pub struct Outcome {
    /// Errors of notes that could not be read.
    pub unread: Vec<Error>,
    /// Notes on given spans.
    pub noted: Report,
}

/// The state of linking.
struct Done<'f, 's> {
    /// Is told of every finished note.
    finished: &'f mut dyn FnMut(),
    sink: Sink<'s>,
    /// Errors of notes that could not be read.
    failed: Failures,
    /// Notes on given spans.
    noted: Report,
    /// The mentions that were linked.
    mentions: u64,
}

/// Errors of notes. Of a table only the first ones are kept.
#[derive(Debug, Default)]
pub(crate) struct Failures {
    /// The errors that were kept.
    pub kept: Vec<Error>,
    /// The number of all errors.
    pub count: u64,
    /// The most errors to keep; all if `None`.
    most: Option<usize>,
}

impl Failures {
    fn at_most(most: usize) -> Self {
        Self {
            most: Some(most),
            ..Self::default()
        }
    }

    fn add(&mut self, error: Error) {
        self.count += 1;
        if self.most.is_none_or(|most| self.kept.len() < most) {
            self.kept.push(error);
        }
    }
}

/// A note with what its document states of it.
type Told<'a> = (&'a Note, Cow<'a, Stated>);

/// A note with its text and mentions.
struct Read<'a> {
    note: &'a Note,
    text: Cow<'a, str>,
    /// What its document states of it.
    stated: Cow<'a, Stated>,
    mentions: Vec<Detected>,
}

impl Done<'_, '_> {
    /// Records a note that could not be read.
    fn fail(&mut self, error: Error) {
        self.failed.add(error);
        (self.finished)();
    }
}

/// Errors of the rows of a table that are kept.
const KEPT: usize = 20;

/// Rows of a table that are linked together at most, and their bytes.
const ROWS: (usize, usize) = (256, 4 << 20);

/// The outcome of a table.
#[derive(Debug, Default)]
pub(crate) struct ShardOutcome {
    /// The notes, with those that could not be read.
    pub notes: u64,
    /// The notes that could not be read.
    pub failed: Failures,
    /// The mentions that were linked.
    pub mentions: u64,
    /// The notes whose name an earlier one has too, and the first such name.
    pub repeated: Repeated,
}

/// Finds names that stand twice, among a limited number of names.
#[derive(Debug, Default)]
pub(crate) struct Repeated {
    seen: HashSet<u64>,
    /// The number of notes with the name of an earlier one.
    pub count: u64,
    /// The first such note: its place.
    pub first: Option<String>,
}

/// Names that are remembered, as hashes of 8 bytes.
const NAMES: usize = 1 << 22;

impl Repeated {
    fn add(&mut self, name: &str, place: &str) {
        let mut hasher = DefaultHasher::new();
        name.hash(&mut hasher);
        let hash = hasher.finish();
        let is_new = match self.seen.len() < NAMES {
            true => self.seen.insert(hash),
            false => !self.seen.contains(&hash),
        };
        if !is_new {
            self.count += 1;
            self.first.get_or_insert_with(|| place.to_owned());
        }
    }
}

impl Linking {
    /// Links notes and writes or prints their links.
    ///
    /// # Errors
    /// If the device fails, the output cannot be written, or after an interrupt. Notes that cannot
    /// be read are skipped and returned.
    pub fn run(&self, notes: &[Note]) -> Result<Outcome> {
        let mut progress = Progress::new("linking", notes.len() as u64, "notes");
        let mut done = Done {
            finished: &mut || progress.advance(1),
            sink: Sink::standard(),
            failed: Failures::default(),
            noted: Report::default(),
            mentions: 0,
        };
        for window in windows(notes) {
            interrupt::check()?;
            self.link_window(window, &mut done)?;
        }
        let Done { failed, noted, .. } = done;
        Ok(Outcome {
            unread: failed.kept,
            noted,
        })
    }

    /// Links the notes of a table or collection and passes their links to a sink, which it
    /// completes. `finished` is called for every note.
    ///
    /// # Errors
    /// [`Stopped::Unreadable`] if the table cannot be read to its end; what the sink has got is
    /// then incomplete. Otherwise if the device fails, the output cannot be written, or after an
    /// interrupt.
    pub(crate) fn run_shard(
        &self,
        shard: &Shard,
        options: &ReadOptions,
        sink: Sink<'_>,
        finished: &mut dyn FnMut(),
    ) -> std::result::Result<ShardOutcome, Stopped> {
        let mut outcome = ShardOutcome::default();
        let mut done = Done {
            finished,
            sink,
            failed: Failures::at_most(KEPT),
            noted: Report::default(),
            mentions: 0,
        };
        let (mut window, mut bytes): (Vec<Note>, usize) = (Vec::new(), 0);
        inputs::read(&shard.path, shard.kind, options, &mut |row| {
            outcome.notes += 1;
            let row = match row {
                Ok(row) => row,
                Err(error) => {
                    done.fail(error);
                    return Ok(());
                }
            };
            outcome.repeated.add(&row.name, &row.place);
            if window.len() >= ROWS.0 || (bytes + row.text.len() > ROWS.1 && !window.is_empty()) {
                self.link_window(&std::mem::take(&mut window), &mut done)?;
                bytes = 0;
            }
            bytes += row.text.len();
            window.push(Note::of_row(row));
            Ok(())
        })?;
        let complete = || -> Result<ShardOutcome> {
            self.link_window(&window, &mut done)?;
            let head = match self.format {
                OutputFormat::Text(format) if self.format.has_header() => {
                    let formatter = NoteFormatter::new(format, "", "", &self.engine.linker);
                    Some(formatter.coded_in(self.options.codes.as_deref()).head()?)
                }
                _ => None,
            };
            outcome.mentions = done.mentions;
            outcome.failed = done.failed;
            done.sink.finish(head.as_deref())?;
            Ok(outcome)
        };
        complete().map_err(Stopped::Ended)
    }

    /// Links a window of notes: batches of at most [`MENTIONS`] mentions, and larger notes on their
    /// own. Skips unreadable ones.
    fn link_window(&self, window: &[Note], done: &mut Done<'_, '_>) -> Result<()> {
        let read: Vec<_> = window.par_iter().map(|note| self.read(note)).collect();
        let (mut together, mut mentions) = (Vec::new(), 0);
        for (note, read) in window.iter().zip(read) {
            let read = match read {
                Ok((read, noted)) => {
                    done.noted.merge(noted);
                    read
                }
                Err(error) if error.is_interrupted() => return Err(error),
                Err(error) => {
                    done.fail(error);
                    continue;
                }
            };
            if mentions + read.mentions.len() > MENTIONS {
                self.link_together(std::mem::take(&mut together), done)?;
                mentions = 0;
            }
            match read.mentions.len() > MENTIONS {
                true => self.link_in_parts(&read, done).context(|| note.place())?,
                false => {
                    mentions += read.mentions.len();
                    together.push(read);
                }
            }
        }
        self.link_together(together, done)
    }

    /// Reads a note and detects its mentions.
    fn read<'n>(&self, note: &'n Note) -> Result<(Read<'n>, Report)> {
        let (text, stated) = match &note.source {
            Source::File(path) => {
                let text = read_text_in(path, &self.encoding)?;
                (Cow::Owned(text), Cow::Owned(Stated::default()))
            }
            Source::Document(path, kind) => {
                let (text, stated) = document_file(path, *kind)?;
                (Cow::Owned(text), Cow::Owned(stated))
            }
            Source::Text { text, stated, .. } => {
                (Cow::Borrowed(text.as_str()), Cow::Borrowed(&**stated))
            }
        };
        if let Some(texts) = &self.texts {
            texts.write(&note.name, &text)?;
        }
        let given = match &note.spans {
            Some(path) => spans::read(path, &self.encoding, &text)?,
            None => spans::Spans::default(),
        };
        let found = if self.spans_only {
            Vec::new()
        } else {
            let found = self.engine.linker.detect(&text, &self.options.link);
            found.context(|| note.place())?
        };
        let rules = self.engine.linker.steps().context_rules();
        self.languages.add(&text, rules, || note.place());
        let mentions = join(given.mentions, found);
        Ok((
            Read {
                note,
                text,
                stated,
                mentions,
            },
            given.report,
        ))
    }

    fn prepare<'n>(&self, read: Read<'n>) -> Result<(Told<'n>, Cow<'n, str>, Prepared)> {
        let Read {
            note,
            text,
            stated,
            mentions,
        } = read;
        let prepared = self
            .engine
            .linker
            .steps()
            .prepare_stated(&text, &stated.context, mentions)
            .context(|| note.place())?;
        Ok(((note, stated), text, prepared))
    }

    /// Links notes in one batch and writes the links of each.
    fn link_together(&self, read: Vec<Read<'_>>, done: &mut Done<'_, '_>) -> Result<()> {
        interrupt::check()?;
        let (mut notes, mut texts, mut prepared) = (Vec::new(), Vec::new(), Vec::new());
        for read in read
            .into_par_iter()
            .map(|read| self.prepare(read))
            .collect::<Vec<_>>()
        {
            match read {
                Ok((note, text, mentions)) => {
                    notes.push(note);
                    texts.push(text);
                    prepared.push(mentions);
                }
                Err(error) => done.fail(error),
            }
        }
        if notes.is_empty() {
            return Ok(());
        }
        let borrowed: Vec<&str> = texts.iter().map(AsRef::as_ref).collect();
        let links = self
            .engine
            .link_prepared(&borrowed, prepared, &self.options)
            .context(|| match &notes[..] {
                [(note, _)] => note.place(),
                notes => format!("{} and {} more", notes[0].0.place(), notes.len() - 1),
            })?;
        done.mentions += links.iter().map(|links| links.len() as u64).sum::<u64>();
        // In the order of the notes.
        let ids: Vec<Result<RowIds>> = notes
            .iter()
            .zip(&links)
            .map(|((note, _), links)| self.row_ids(note, self.options.kept(links).count()))
            .collect();
        let notes = notes.par_iter().zip(&texts).zip(&links).zip(ids);
        let written: Vec<_> = notes
            .map(|(((told, text), links), ids)| {
                ids.map(|ids| {
                    let written = self.write(told, text, links, ids);
                    written.context(|| told.0.place())
                })
            })
            .collect();
        for rendered in written {
            match rendered {
                Ok(rendered) => {
                    done.sink.put(rendered?, self.format)?;
                    (done.finished)();
                }
                // Treated as a note that cannot be read.
                Err(error) if error.kind() == Kind::Input => done.fail(error),
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// The identifiers of the rows of a note, if the format has them.
    ///
    /// # Errors
    /// As [`OmopNumbers::take`].
    fn row_ids(&self, note: &Note, rows: usize) -> Result<RowIds> {
        let Some(numbers) = &self.numbers else {
            return Ok(RowIds::default());
        };
        numbers.take(&note.name, rows).context(|| note.place())
    }

    /// Links a large note in parts and writes the links of each part.
    fn link_in_parts(&self, read: &Read<'_>, done: &mut Done<'_, '_>) -> Result<()> {
        done.mentions += read.mentions.len() as u64;
        let written = match &read.note.out {
            Some(path) => write_atomic(path, |file| {
                let mut sink = Sink::file(file, path, self.format, self.options.code_systems())?;
                self.write_in_parts(read, &mut sink)?;
                sink.finish(None)
            }),
            None => self.write_in_parts(read, &mut done.sink),
        };
        match written {
            // Treated as a note that cannot be read.
            Err(error) if error.kind() == Kind::Input => done.fail(error),
            other => {
                other?;
                (done.finished)();
            }
        }
        Ok(())
    }

    fn write_in_parts(&self, read: &Read<'_>, sink: &mut Sink<'_>) -> Result<()> {
        let Read {
            note,
            text,
            stated,
            mentions,
        } = read;
        let (engine, options) = (&self.engine, &self.options);
        let Some(format) = self.format.text() else {
            return engine.link_in_parts(text, &stated.context, mentions, options, &mut |links| {
                for links in links.chunks(RECORDS) {
                    interrupt::check()?;
                    let records = engine.records(text, links, options)?;
                    sink.put_rows(LinkRow::of_note(
                        &note.name,
                        text,
                        &records,
                        options.code_systems(),
                    )?)?;
                }
                Ok(())
            });
        };
        let ids = self.row_ids(note, 0)?;
        let mut parts = self.formatter(format, (note, stated), text, ids);
        if !sink.is_headed() || !self.format.has_header() {
            sink.put_text(&parts.head()?)?;
        }
        sink.set_headed();
        engine.link_in_parts(text, &stated.context, mentions, options, &mut |links| {
            for links in links.chunks(RECORDS) {
                interrupt::check()?;
                let records = engine.records(text, links, options)?;
                if let Some(numbers) = &self.numbers {
                    numbers.skip(records.len())?;
                }
                sink.put_text(&parts.part(records)?)?;
            }
            Ok(())
        })?;
        sink.put_text(&parts.tail()?)
    }

    fn formatter<'n>(
        &'n self,
        format: Format,
        (note, stated): (&'n Note, &Stated),
        text: &'n str,
        ids: RowIds,
    ) -> NoteFormatter<'n> {
        NoteFormatter::new(format, &note.name, text, &self.engine.linker)
            .dated(&self.moment)
            .about(&stated.about)
            .coded_in(self.options.codes.as_deref())
            .numbered(ids)
    }

    /// Writes the links of a note to its file, or returns them for the sink.
    fn write(
        &self,
        (note, stated): &Told<'_>,
        text: &str,
        links: &[Link],
        ids: RowIds,
    ) -> Result<Rendered> {
        let rendered = match self.format {
            OutputFormat::Text(format) => {
                self.rendered(format, (note, stated), text, links, ids)?
            }
            OutputFormat::Parquet => {
                let records = self.engine.records(text, links, &self.options)?;
                Rendered::Rows(LinkRow::of_note(
                    &note.name,
                    text,
                    &records,
                    self.options.code_systems(),
                )?)
            }
        };
        let Some(path) = &note.out else {
            return Ok(rendered);
        };
        write_atomic(path, |file| match rendered {
            Rendered::Text(text) => file
                .write_all(text.as_bytes())
                .map_err(|cause| io_error("writing", path, cause)),
            rows => {
                let mut sink = Sink::file(file, path, self.format, self.options.code_systems())?;
                sink.put(rows, self.format)?;
                sink.finish(None)
            }
        })?;
        Ok(Rendered::Written)
    }

    fn rendered(
        &self,
        format: Format,
        told: (&Note, &Stated),
        text: &str,
        links: &[Link],
        ids: RowIds,
    ) -> Result<Rendered> {
        let mut parts = self.formatter(format, told, text, ids);
        let mut rendered = parts.head()?;
        for links in links.chunks(RECORDS) {
            rendered += &parts.part(self.engine.records(text, links, &self.options)?)?;
        }
        rendered += &parts.tail()?;
        Ok(Rendered::Text(rendered))
    }
}
