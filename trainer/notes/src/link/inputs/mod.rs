//! Notes in tables, FHIR resources and BioC collections, read one after the other.
//!
//! Every reader passes notes on as it finds them, so that memory does not grow with the file. A row
//! or document that is no note is passed on as an error, and the next one is read.

mod bioc;
mod bioc_xml;
mod columns;
mod delimited;
mod documents;
mod fhir;
mod json;
mod lines;
#[cfg_attr(not(feature = "parquet"), path = "without_parquet.rs")]
mod parquet;
#[cfg(feature = "parquet")]
mod parquet_pages;
mod recognise;

pub use columns::ColumnArgs;
pub(crate) use documents::file as document_file;
pub use documents::{ReadDocument, Stated, read_body};
pub use pel_documents::{Kind as DocumentKind, media_type};
pub use recognise::{InputFormat, Kind, Wanted, kind_of};
pub(crate) use recognise::{bare_name as stem, document_of_name, fits, is_cda, kind_of_name};

use pel_io::interrupt;
use pel_io::text_encoding::TextEncoding;
use pel_kb::clean::field;
use pel_kb::error::{Error, Result};
use serde_json::Number;
use std::num::NonZeroU64;
use std::path::Path;

/// The largest identifier of a note in bytes.
const LONGEST_ID: usize = 1 << 10;

/// Up to here 64-bit floating-point numbers hold every whole number.
const EXACT_INTEGER: f64 = (1_u64 << 53) as f64;

/// A note that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoteRow {
    /// Its identifier, without control characters.
    pub name: String,
    /// Its text as it stands in the input; offsets of links refer to it.
    pub text: String,
    /// The file and line, row, entry or document, for messages.
    pub place: String,
    /// What its document states of it.
    pub stated: Stated,
}

/// How notes are read.
#[derive(Clone, Debug, Default)]
pub struct ReadOptions {
    /// The columns of a table.
    pub columns: ColumnArgs,
    /// The encoding of texts.
    pub encoding: TextEncoding,
    /// How many notes of a file are read; all if `None`.
    pub limit: Option<NonZeroU64>,
}

/// What is done with each note, or with the error of one that cannot be read. An error of its own
/// ends the reading.
pub type Each<'a> = dyn FnMut(Result<NoteRow>) -> Result<()> + 'a;

/// Why reading has ended early.
#[derive(Debug)]
pub enum Stopped {
    /// The file cannot be read to its end.
    Unreadable(Error),
    /// `each` has failed, or the user has interrupted the command.
    Ended(Error),
}

/// Reads the notes of a file, compressed or not, and calls `each` with every one.
///
/// # Errors
/// If the file cannot be read to its end, is of another kind, or lacks the columns; if `each`
/// fails; or after an interrupt.
pub fn read(
    path: &Path,
    kind: Kind,
    options: &ReadOptions,
    each: &mut Each<'_>,
) -> std::result::Result<(), Stopped> {
    let mut ended = None;
    let mut left = options.limit.map_or(u64::MAX, NonZeroU64::get);
    let mut pass = |note: Result<NoteRow>| {
        let passed = interrupt::check().and_then(|()| each(note));
        left = left.saturating_sub(1);
        if passed.is_ok() && left > 0 {
            return Ok(());
        }
        ended = passed.err();
        // The reader only has to stop.
        Err(Error::input("ended"))
    };
    let done = match kind {
        Kind::Messages => documents::read_messages(path, &mut pass),
        Kind::Text | Kind::File(_) => Err(Error::input(format!(
            "{}: this is a text, not a table or collection of notes; --input-format names the \
             format",
            path.display()
        ))),
        Kind::Delimited(usual) => delimited::read(path, usual, options, &mut pass),
        Kind::Lines(wanted) => lines::read(path, wanted, options, &mut pass),
        Kind::Document(wanted) => json::read(path, wanted, options, &mut pass),
        Kind::Xml => bioc_xml::read(path, &mut pass),
        Kind::Parquet => parquet::read(path, options, &mut pass),
    };
    match (ended, done) {
        (Some(error), _) => Err(Stopped::Ended(error)),
        (None, Err(_)) if left == 0 => Ok(()),
        (None, Err(error)) => match interrupt::check() {
            Err(interrupted) => Err(Stopped::Ended(interrupted)),
            Ok(()) if error.is_interrupted() => Err(Stopped::Ended(error)),
            Ok(()) => Err(Stopped::Unreadable(error)),
        },
        (None, Ok(())) => Ok(()),
    }
}

/// The name of a note with this identifier.
///
/// # Errors
/// If it is empty or too long. The error does not repeat it.
fn note_name(id: &str) -> Result<String> {
    // Control characters alone are no identifier either.
    let name = field(id);
    if name.trim().is_empty() {
        return Err(Error::input("the note has no identifier"));
    }
    if id.len() > LONGEST_ID {
        return Err(Error::input(format!(
            "expected an identifier of at most {LONGEST_ID} bytes, found {}",
            id.len()
        )));
    }
    Ok(name.into_owned())
}

/// The identifier that a JSON number states.
///
/// # Errors
/// If it has more digits than are kept when JSON is read. The error does not repeat it.
fn number_id(number: &Number) -> Result<String> {
    let is_kept = number.is_i64()
        || number.is_u64()
        || number
            .as_f64()
            .is_some_and(|value| value.abs() <= EXACT_INTEGER);
    match is_kept {
        true => Ok(number.to_string()),
        false => Err(Error::input(
            "the number is too large for an identifier (more than 64 bits); write it in quotes",
        )),
    }
}

/// The name of a note without identifier: that of its file and a number.
fn numbered(path: &Path, number: u64) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let name = recognise::bare_name(&name);
    let name = if path.as_os_str() == "-" {
        "stdin"
    } else {
        &name
    };
    format!("{}:{number}", field(name))
}

#[cfg(test)]
pub(crate) mod testing {
    use super::{Kind, ReadOptions, Stopped, read};

    /// What a reader has found.
    #[derive(Debug, Default)]
    pub struct Found {
        /// The name and text of each note.
        pub notes: Vec<(String, String)>,
        /// The places of the notes, without folder.
        pub places: Vec<String>,
        /// The errors of other rows, without folder.
        pub errors: Vec<String>,
        /// Why reading has ended early, without folder.
        pub stopped: Option<String>,
    }

    /// Reads bytes as a file of this name.
    pub fn read_as(name: &str, bytes: &[u8], kind: Kind, options: &ReadOptions) -> Found {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).expect("written");
        let prefix = format!("{}/", folder.path().display());
        let mut found = Found::default();
        let done = read(&path, kind, options, &mut |note| {
            match note {
                Ok(note) => {
                    found.notes.push((note.name, note.text));
                    found.places.push(note.place.replace(&prefix, ""));
                }
                Err(error) => found.errors.push(error.to_string().replace(&prefix, "")),
            }
            Ok(())
        });
        found.stopped = match done {
            Ok(()) => None,
            Err(Stopped::Unreadable(error) | Stopped::Ended(error)) => {
                Some(error.to_string().replace(&prefix, ""))
            }
        };
        found
    }
}
