//! Links many notes: short ones in batches, long ones in parts.

use crate::data::spans;
use crate::io::files::{StandardOutput, io_error, print, write_atomic};
use crate::io::interrupt;
use crate::io::progress::Progress;
use crate::io::text_encoding::{TextEncoding, read_text_in};
use crate::link::format::{Format, NoteFormatter};
use crate::link::notes::{Note, windows};
use crate::link::text_linker::{MENTIONS, TextLinker, TextOptions};
use pel_shared::error::{Context, Error, Kind, Result};
use pel_shared::kb::import::report::Report;
use pel_shared::linker::{Link, Prepared};
use pel_shared::output::Moment;
use pel_shared::text::detect::{Detected, join};
use rayon::prelude::*;
use std::io::Write;
use std::path::Path;

/// Links formatted at once; also the rows of a terminal table.
const RECORDS: usize = 512;

/// How to link notes and write the links.
pub(crate) struct Linking {
    pub engine: TextLinker,
    pub options: TextOptions,
    /// Encoding of the notes and given spans.
    pub encoding: TextEncoding,
    /// Whether to link only given spans.
    pub spans_only: bool,
    pub format: Format,
    /// When the links are made, for the formats that write it.
    pub moment: Moment,
}

/// The outcome of linking.
pub(crate) struct Outcome {
    /// Errors of notes that could not be read.
    pub unread: Vec<Error>,
    /// Notes on given spans.
    pub noted: Report,
}

/// The state of linking.
struct Done {
    progress: Progress,
    /// Whether the header of a table has been printed.
    headed: bool,
    /// Errors of notes that could not be read.
    failed: Vec<Error>,
    /// Notes on given spans.
    noted: Report,
}

/// A note with its text and mentions.
struct Read<'a> {
    note: &'a Note,
    text: String,
    mentions: Vec<Detected>,
}

impl Done {
    /// Records a note that could not be read.
    fn fail(&mut self, error: Error) {
        self.failed.push(error);
        self.progress.advance(1);
    }
}

impl Linking {
    /// Links notes and writes or prints their links.
    ///
    /// # Errors
    /// If the device fails, the output cannot be written, or after an interrupt. Notes that cannot
    /// be read are skipped and returned.
    pub fn run(&self, notes: &[Note]) -> Result<Outcome> {
        let mut done = Done {
            progress: Progress::new("linking", notes.len() as u64, "notes"),
            headed: false,
            failed: vec![],
            noted: Report::default(),
        };
        for window in windows(notes) {
            interrupt::check()?;
            self.link_window(window, &mut done)?;
        }
        let Done { failed, noted, .. } = done;
        Ok(Outcome {
            unread: failed,
            noted,
        })
    }

    /// Links a window of notes: batches of at most [`MENTIONS`] mentions, and larger notes on their
    /// own. Skips unreadable ones.
    fn link_window(&self, window: &[Note], done: &mut Done) -> Result<()> {
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
                true => self
                    .link_in_parts(&read, done)
                    .context(|| note.path.display().to_string())?,
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
        let text = read_text_in(&note.path, &self.encoding)?;
        let given = match &note.spans {
            Some(path) => spans::read(path, &self.encoding, &text)?,
            None => spans::Spans::default(),
        };
        let found = if self.spans_only {
            Vec::new()
        } else {
            self.engine.linker.detect(&text, &self.options.link)?
        };
        let mentions = join(given.mentions, found);
        Ok((
            Read {
                note,
                text,
                mentions,
            },
            given.report,
        ))
    }

    fn prepare<'n>(&self, read: Read<'n>) -> Result<(&'n Note, String, Prepared)> {
        let Read {
            note,
            text,
            mentions,
        } = read;
        let prepared = self
            .engine
            .linker
            .prepare(&text, mentions)
            .context(|| note.path.display().to_string())?;
        Ok((note, text, prepared))
    }

    /// Links notes in one batch and writes the links of each.
    fn link_together(&self, read: Vec<Read<'_>>, done: &mut Done) -> Result<()> {
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
        let borrowed: Vec<&str> = texts.iter().map(String::as_str).collect();
        let links = self
            .engine
            .link_prepared(&borrowed, prepared, &self.options)
            .context(|| match &notes[..] {
                [note] => note.path.display().to_string(),
                notes => format!("{} and {} more", notes[0].path.display(), notes.len() - 1),
            })?;
        let write = |((note, text), links): ((&&Note, &String), &Vec<Link>)| {
            self.write(note, text, links)
                .context(|| note.path.display().to_string())
        };
        let written: Vec<_> = notes
            .par_iter()
            .zip(&texts)
            .zip(&links)
            .map(write)
            .collect();
        for printed in written {
            let printed = printed?;
            // Only the first table has a header.
            let body = printed
                .split_once('\n')
                .filter(|_| self.format.has_header() && done.headed);
            print(body.map_or(printed.as_str(), |(_, body)| body))?;
            done.headed = true;
            done.progress.advance(1);
        }
        Ok(())
    }

    /// Links a large note in parts and writes the links of each part.
    fn link_in_parts(&self, read: &Read<'_>, done: &mut Done) -> Result<()> {
        let written = match &read.note.out {
            Some(path) => write_atomic(path, |file| self.write_in_parts(read, true, file)),
            None => {
                let mut out = StandardOutput::new();
                self.write_in_parts(read, !done.headed, &mut out)
                    .and_then(|()| out.finish())
            }
        };
        match written {
            // Treated as a note that cannot be read.
            Err(error) if error.kind() == Kind::Input => done.fail(error),
            other => {
                other?;
                done.headed = true;
                done.progress.advance(1);
            }
        }
        Ok(())
    }

    fn write_in_parts(&self, read: &Read<'_>, headed: bool, out: &mut dyn Write) -> Result<()> {
        let Read {
            note,
            text,
            mentions,
        } = read;
        let mut put = |part: &str| {
            out.write_all(part.as_bytes())
                .map_err(|cause| written_error(note, cause))
        };
        let mut parts = NoteFormatter::new(self.format, &note.name, text, &self.engine.linker)
            .dated(&self.moment);
        if headed || !self.format.has_header() {
            put(&parts.head()?)?;
        }
        let (engine, options) = (&self.engine, &self.options);
        engine.link_in_parts(text, mentions, options, &mut |links| {
            for links in links.chunks(RECORDS) {
                interrupt::check()?;
                put(&parts.part(engine.records(links, options)?)?)?;
            }
            Ok(())
        })?;
        put(&parts.tail()?)
    }

    /// Writes the links of a note to its file, or returns them to be printed.
    fn write(&self, note: &Note, text: &str, links: &[Link]) -> Result<String> {
        let mut parts = NoteFormatter::new(self.format, &note.name, text, &self.engine.linker)
            .dated(&self.moment);
        let mut rendered = parts.head()?;
        for links in links.chunks(RECORDS) {
            rendered += &parts.part(self.engine.records(links, &self.options)?)?;
        }
        rendered += &parts.tail()?;
        let Some(path) = &note.out else {
            return Ok(rendered);
        };
        write_atomic(path, |file| {
            file.write_all(rendered.as_bytes())
                .map_err(|cause| written_error(note, cause))
        })?;
        Ok(String::new())
    }
}

/// The error of writing the links of a note.
fn written_error(note: &Note, cause: std::io::Error) -> Error {
    io_error(
        "writing",
        note.out.as_deref().unwrap_or(Path::new("standard output")),
        cause,
    )
}
