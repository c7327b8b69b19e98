//! Links tables of notes, each to a file of its own. A run that was stopped is resumed: the
//! manifest in the output folder says which tables are linked.
//!
//! The links of a table appear completely or not at all, and its entry is written after them. So a
//! process that is killed at any time loses at most the table in work.

pub mod part;
pub(crate) mod progress;

use super::inputs::{ReadOptions, Stopped};
use super::linking::{Linking, ShardOutcome};
use super::manifest::{Entry, FileState, Manifest, RunKey, State, below};
use super::notes::Shard;
use super::omop_numbers::OmopNumbers;
use super::sink::Sink;
use part::Part;
use pel_io::files::write_atomic;
use pel_io::interrupt;
use pel_io::terminal::counted;
use pel_kb::clean::escaped;
use pel_kb::error::{Error, Result};
use pel_output::RowIds;
use progress::ShardProgress;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// How tables are linked.
pub struct ShardRun<'a> {
    /// How their notes are linked.
    pub linking: &'a Linking,
    /// How they are read.
    pub options: &'a ReadOptions,
}

/// Where the links of many tables go.
pub struct Folder<'a> {
    /// The folder.
    pub out: &'a Path,
    /// The file of each table.
    pub outputs: Vec<PathBuf>,
    /// What the links depend on.
    pub key: RunKey,
    /// Which tables are linked; all if `None`.
    pub part: Option<Part>,
    /// Whether tables are linked again whose links depend on something else.
    pub overwrite: bool,
}

/// What was linked.
#[derive(Debug, Default)]
pub struct Summary {
    /// Errors of tables that could not be read to their end.
    pub unread_tables: Vec<Error>,
    /// The first error of a note that could not be read.
    pub unread_note: Option<Error>,
    /// The notes that could not be read.
    pub unread: u64,
    /// The notes.
    pub notes: u64,
    /// The mentions.
    pub mentions: u64,
    /// The tables that were linked.
    pub tables: usize,
}

impl Summary {
    fn add(&mut self, outcome: ShardOutcome, shard: &Shard) -> (u64, u64) {
        let ShardOutcome {
            notes,
            failed,
            mentions,
            repeated,
        } = outcome;
        self.notes += notes;
        self.unread += failed.count;
        self.mentions += mentions;
        self.tables += 1;
        let hidden = failed.count - failed.kept.len() as u64;
        for error in failed.kept {
            match self.unread_note {
                None => self.unread_note = Some(error),
                Some(_) => eprintln!("{}", escaped(&error.to_string())),
            }
        }
        let name = shard.path.display().to_string();
        let name = escaped(&name);
        if hidden > 0 {
            eprintln!("{name}: {} cannot be read", counted(hidden, "more note"));
        }
        if let Some(first) = &repeated.first {
            eprintln!(
                "warning: {name}: {} with the identifier of an earlier one, first at {}",
                counted(repeated.count, "note"),
                escaped(first)
            );
        }
        (failed.count, repeated.count)
    }

    fn add_unread(&mut self, error: Error) {
        self.unread_tables.push(error);
    }
}

impl ShardRun<'_> {
    /// Links tables to standard output, one after the other.
    ///
    /// # Errors
    /// If the device fails, the output cannot be written, or after an interrupt.
    pub fn print(&self, shards: &[Shard]) -> Result<Summary> {
        let mut progress = ShardProgress::new(&sizes(shards));
        let (mut summary, mut headed) = (Summary::default(), false);
        for (shard, size) in shards.iter().zip(sizes(shards)) {
            let sink = Sink::Standard { headed };
            let done = self
                .linking
                .run_shard(shard, self.options, sink, &mut || progress.note());
            progress.shard(size);
            headed = headed || done.is_ok();
            self.count(done, shard, &mut summary)?;
        }
        Ok(summary)
    }

    /// Links a table to a file.
    ///
    /// # Errors
    /// As [`ShardRun::print`].
    pub fn write(&self, shard: &Shard, out: &Path) -> Result<Summary> {
        let mut progress = ShardProgress::new(&[]);
        let mut summary = Summary::default();
        let done = self.write_one(shard, out, &mut progress);
        self.count(done, shard, &mut summary)?;
        Ok(summary)
    }

    /// Links tables to files in a folder. Tables that are linked already are skipped.
    ///
    /// # Errors
    /// As [`ShardRun::print`]; if another process writes into the folder, or a table was linked
    /// otherwise before.
    pub fn write_folder(&self, shards: &[Shard], folder: &Folder<'_>) -> Result<Summary> {
        let mut manifest = Manifest::open(folder.out, folder.part.map(Part::word).as_deref())?;
        if let Some(numbers) = &self.linking.numbers {
            let (first, next) = (numbers.rows().next(), manifest.next_row().unwrap_or(0));
            numbers.set_rows(match folder.part {
                Some(part) => part.row_ids(first, next),
                None => RowIds::new(first.max(next), 1),
            });
        }
        let mut summary = Summary::default();
        let (mut left, mut skipped, mut unread) = (Vec::new(), 0_usize, 0);
        for (at, (shard, output)) in shards.iter().zip(&folder.outputs).enumerate() {
            if folder.part.is_some_and(|part| !part.has(at)) {
                continue;
            }
            interrupt::check()?;
            // A table that cannot be read is reported when it is linked.
            let state = manifest.state(&shard.name, &shard.path, output, &folder.key);
            match state.unwrap_or(State::New) {
                State::Done { unread: notes } => {
                    skipped += 1;
                    unread += notes;
                }
                State::Changed(what) if !folder.overwrite => {
                    return Err(changed(&manifest, shard, what));
                }
                State::New | State::Changed(_) => left.push((shard, output)),
            }
        }
        if skipped > 0 {
            let notes = match unread {
                0 => String::new(),
                unread => format!("; {} in them could not be read", counted(unread, "note")),
            };
            eprintln!(
                "{skipped} of {} tables are linked already and skipped{notes}",
                skipped + left.len()
            );
        }
        let sizes: Vec<u64> = left.iter().map(|(shard, _)| size(&shard.path)).collect();
        let mut progress = ShardProgress::new(&sizes);
        for ((shard, output), size) in left.into_iter().zip(sizes) {
            let (began, input) = (Instant::now(), FileState::of(&shard.path));
            let done = match input {
                Ok(ref input) => self
                    .write_one(shard, output, &mut progress)
                    .and_then(|outcome| unchanged(input, shard).map(|()| outcome)),
                Err(ref error) if error.is_interrupted() => return Err(Error::interrupted()),
                Err(_) => self.write_one(shard, output, &mut progress),
            };
            progress.shard(size);
            let counts = self.count(done, shard, &mut summary)?;
            if let (Some(counts), Ok(input)) = (counts, input) {
                manifest.add(Entry {
                    shard: shard.name.clone(),
                    input,
                    output: below(folder.out, output),
                    written: FileState::of(output)?,
                    notes: counts.notes,
                    unread: counts.unread,
                    repeated: counts.repeated,
                    mentions: counts.mentions,
                    next_row: self.linking.numbers.as_ref().map(|of| of.rows().next()),
                    seconds: (began.elapsed().as_secs_f64() * 1000.0).round() / 1000.0,
                    key: folder.key.clone(),
                })?;
            }
        }
        Ok(summary)
    }

    fn write_one(
        &self,
        shard: &Shard,
        out: &Path,
        progress: &mut ShardProgress,
    ) -> std::result::Result<ShardOutcome, Stopped> {
        let rows = self.linking.numbers.as_ref().map(OmopNumbers::rows);
        let mut unreadable = None;
        let mut linked = None;
        let written = write_atomic(out, |file| {
            let sink = Sink::file(
                file,
                out,
                self.linking.format,
                self.linking.options.code_systems(),
            )?;
            let done = self
                .linking
                .run_shard(shard, self.options, sink, &mut || progress.note());
            match done {
                Ok(outcome) => {
                    linked = Some(outcome);
                    Ok(())
                }
                Err(Stopped::Ended(error)) => Err(error),
                Err(Stopped::Unreadable(error)) => {
                    unreadable = Some(error);
                    Err(Error::input("incomplete"))
                }
            }
        });
        if let (Some(numbers), Some(rows), true) = (&self.linking.numbers, rows, written.is_err()) {
            numbers.set_rows(rows);
        }
        match (unreadable, written, linked) {
            (Some(error), ..) => Err(Stopped::Unreadable(error)),
            (None, Err(error), _) => Err(Stopped::Ended(error)),
            (None, Ok(()), linked) => Ok(linked.unwrap_or_default()),
        }
    }

    /// Adds an outcome to the summary; `None` for a table that cannot be read.
    fn count(
        &self,
        done: std::result::Result<ShardOutcome, Stopped>,
        shard: &Shard,
        summary: &mut Summary,
    ) -> Result<Option<Counts>> {
        match done {
            Ok(outcome) => {
                let (notes, mentions) = (outcome.notes, outcome.mentions);
                let (unread, repeated) = summary.add(outcome, shard);
                Ok(Some(Counts {
                    notes,
                    unread,
                    repeated,
                    mentions,
                }))
            }
            Err(Stopped::Ended(error)) => Err(error),
            Err(Stopped::Unreadable(error)) => {
                summary.add_unread(error);
                Ok(None)
            }
        }
    }
}

/// What a table had.
struct Counts {
    notes: u64,
    unread: u64,
    repeated: u64,
    mentions: u64,
}

fn changed(manifest: &Manifest, shard: &Shard, what: &str) -> Error {
    Error::usage(format!(
        "{}: the {what} changed since {} was linked; --overwrite links it again, another --out \
         keeps both",
        manifest.path().display(),
        shard.path.display()
    ))
}

/// Refuses a table that was changed while it was linked.
fn unchanged(input: &FileState, shard: &Shard) -> std::result::Result<(), Stopped> {
    match input.is_still(&shard.path) {
        Ok(true) => Ok(()),
        Ok(false) => Err(Stopped::Unreadable(Error::input(format!(
            "{}: the table changed while it was linked, so its links are left out; run the command \
             again",
            shard.path.display()
        )))),
        Err(error) => Err(Stopped::Ended(error)),
    }
}

fn size(path: &Path) -> u64 {
    std::fs::metadata(path).map_or(0, |found| found.len())
}

fn sizes(shards: &[Shard]) -> Vec<u64> {
    shards.iter().map(|shard| size(&shard.path)).collect()
}
