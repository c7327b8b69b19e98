//! Readers of concept tables and ontologies. A report counts what happened to each record.

pub mod columns;
pub mod concepts;
pub mod delimited;
pub mod formats;
pub mod hierarchy;
pub mod jsonl;
pub mod merging;
pub mod obo;
mod obo_synonyms;
mod obo_syntax;
mod obo_term;
pub mod records;
pub mod rows;
mod spreadsheet_ids;

pub use pel_kb::lines::{
    Longest, for_each_line, for_each_line_of_bytes, for_each_line_within, line_text, not_utf8,
};
pub use pel_kb::report;

use pel_kb::error::Result;
use std::io::BufRead;

/// A text to read.
pub struct Input<'a> {
    /// Its name in error messages: a path as the user gave it.
    pub name: &'a str,
    /// Its bytes.
    pub reader: &'a mut dyn BufRead,
    /// Called at each line or row. An error ends the reading.
    pub tick: &'a mut dyn FnMut() -> Result<()>,
    /// The largest line, or record of several lines.
    pub longest: Longest<'a>,
}

impl Input<'_> {
    /// Calls `each` with the number and text of every line; see [`for_each_line_within`].
    ///
    /// # Errors
    /// The errors of reading, `tick` and `each`, with the name and the line number.
    pub fn for_each_line(&mut self, each: impl FnMut(usize, &str) -> Result<()>) -> Result<()> {
        for_each_line_within(self.name, self.reader, self.longest, self.tick, each)
    }
}
