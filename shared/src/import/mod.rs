//! Concept tables and ontologies of other tools, read into concepts; what became of each record is counted.

pub mod concepts;
pub mod delimited;
pub mod jsonl;
mod lines;
pub mod obo;
mod obo_syntax;
mod obo_types;
pub mod records;
pub mod report;
mod unix_lines;

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
}

impl Input<'_> {
    /// Calls `each` with every line; see [`for_each_line`].
    ///
    /// # Errors
    /// What reading, `tick` or `each` gives, with the name and the line.
    pub fn for_each_line(&mut self, each: impl FnMut(usize, &str) -> Result<()>) -> Result<()> {
        for_each_line(self.name, self.reader, self.tick, each)
    }
}

fn read_error(name: &str, cause: std::io::Error) -> Error {
    Error::io(format!("reading {name}")).caused_by(cause)
}
