//! Concept tables and ontologies of other tools, read into concepts; what became of each record is counted.

pub mod columns;
pub mod concepts;
pub mod delimited;
pub mod formats;
pub mod jsonl;
mod lines;
pub mod merging;
pub mod obo;
mod obo_synonyms;
mod obo_syntax;
mod obo_types;
pub mod records;
pub mod report;
pub mod rows;

pub use lines::{Longest, for_each_line, for_each_line_within};

use crate::error::{Error, Result};
use std::io::BufRead;

/// A text that is read, and what it is called in errors.
pub struct Input<'a> {
    /// Its name: a path, as the user gave it.
    pub name: &'a str,
    /// Its bytes.
    pub reader: &'a mut dyn BufRead,
    /// Called at each line or row; its error ends the reading.
    pub tick: &'a mut dyn FnMut() -> Result<()>,
    /// How long a line may be, or several that are one record.
    pub longest: Longest<'a>,
}

impl Input<'_> {
    /// Calls `each` with every line; see [`for_each_line_within`].
    ///
    /// # Errors
    /// What reading, `tick` or `each` gives, with the name and the line.
    pub fn for_each_line(&mut self, each: impl FnMut(usize, &str) -> Result<()>) -> Result<()> {
        for_each_line_within(self.name, self.reader, self.longest, self.tick, each)
    }
}

/// What a reader says when it meets bytes that are not UTF-8: which byte, where, and what to do. `of` ends the place.
#[must_use]
pub fn not_utf8(bytes: &[u8], at: usize, of: &str) -> String {
    let byte = bytes.get(at).copied().unwrap_or_default();
    format!(
        "expected UTF-8, found the byte 0x{byte:02X} at byte {at} {of} (name the encoding, for example --encoding windows-1252, or convert the file)"
    )
}

/// Names the text in an error of its reader. An error of ours that the reader passes on keeps its kind.
fn read_error(name: &str, cause: std::io::Error) -> Error {
    match cause.downcast::<Error>() {
        Ok(own) => own.context(name),
        Err(cause) => Error::io(format!("reading {name}")).caused_by(cause),
    }
}
