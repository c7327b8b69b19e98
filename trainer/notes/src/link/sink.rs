//! Where links go: to standard output, or to the file of a table. Notes with a file of their own
//! are written by [`super::linking`].

use super::link_table::{LinkRow, LinkTable};
use super::output_format::OutputFormat;
use pel_io::files::{io_error, print};
use pel_kb::codes::System;
use pel_kb::error::{Error, Result};
use std::io::Write;
use std::path::Path;

/// What was made of the links of a note.
pub(crate) enum Rendered {
    /// They are in the file of the note.
    Written,
    /// A text.
    Text(String),
    /// Rows of a table.
    Rows(Vec<LinkRow>),
}

/// A place for the links of several notes.
pub(crate) enum Sink<'a> {
    /// Standard output.
    Standard {
        /// Whether the names of the columns have been printed.
        headed: bool,
    },
    /// An open file.
    File {
        /// The file.
        file: &'a mut dyn Write,
        /// Its path, for messages.
        path: &'a Path,
        /// Whether the names of the columns have been written.
        headed: bool,
    },
    /// A Parquet file.
    Table(Box<LinkTable<'a>>),
}

impl<'a> Sink<'a> {
    /// Standard output.
    pub fn standard() -> Self {
        Self::Standard { headed: false }
    }

    /// A file of this format. A table has columns for the chosen code systems.
    ///
    /// # Errors
    /// If this build cannot write Parquet.
    pub fn file(
        file: &'a mut dyn Write,
        path: &'a Path,
        format: OutputFormat,
        systems: &[System],
    ) -> Result<Self> {
        Ok(match format {
            OutputFormat::Parquet => Self::Table(Box::new(LinkTable::new(file, path, systems)?)),
            OutputFormat::Text(_) => Self::File {
                file,
                path,
                headed: false,
            },
        })
    }

    /// Whether the names of the columns stand there already.
    pub fn is_headed(&self) -> bool {
        match self {
            Self::Standard { headed } | Self::File { headed, .. } => *headed,
            Self::Table(_) => true,
        }
    }

    /// Adds the links of a note, which begin with the names of the columns if the format has them.
    /// They are written once.
    ///
    /// # Errors
    /// If they cannot be written.
    pub fn put(&mut self, rendered: Rendered, format: OutputFormat) -> Result<()> {
        match rendered {
            Rendered::Written => Ok(()),
            Rendered::Rows(rows) => self.put_rows(rows),
            Rendered::Text(text) => {
                let body = text
                    .split_once('\n')
                    .filter(|_| format.has_header() && self.is_headed())
                    .map_or(text.as_str(), |(_, body)| body);
                self.put_text(body)?;
                self.set_headed();
                Ok(())
            }
        }
    }

    /// Adds a part of the links of a note.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn put_text(&mut self, text: &str) -> Result<()> {
        match self {
            Self::Standard { .. } => print(text),
            Self::File { file, path, .. } => file
                .write_all(text.as_bytes())
                .map_err(|cause| io_error("writing", path, cause)),
            Self::Table(_) => Err(Error::io("writing Parquet: expected rows, found a text")),
        }
    }

    /// Adds rows of a table.
    ///
    /// # Errors
    /// If they cannot be written.
    pub fn put_rows(&mut self, rows: Vec<LinkRow>) -> Result<()> {
        match self {
            Self::Table(table) => table.put(rows),
            _ => Err(Error::io("writing a text: expected a text, found rows")),
        }
    }

    /// Records that the names of the columns have been written.
    pub fn set_headed(&mut self) {
        if let Self::Standard { headed } | Self::File { headed, .. } = self {
            *headed = true;
        }
    }

    /// Completes the file. `head` is written if the file is still empty: a table of notes without
    /// mentions has the names of its columns.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn finish(mut self, head: Option<&str>) -> Result<()> {
        if let (false, Some(head)) = (self.is_headed(), head) {
            self.put_text(head)?;
        }
        match self {
            Self::Table(table) => table.finish(),
            _ => Ok(()),
        }
    }
}
