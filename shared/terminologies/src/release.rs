//! The files of a release, and the rows of its tables.

use super::Sink;
use crate::import::for_each_line_of_bytes;
use pel_kb::error::{Error, Kind, Result};
use std::fmt;
use std::io::BufRead;
use std::sync::Arc;

/// The reason for skipping a row that cannot be read.
pub const INVALID_ROW: &str = "invalid row";

/// The bytes of a file, wherever it is.
pub trait Content: fmt::Debug + Send + Sync {
    /// Opens the file, compressed or not.
    ///
    /// # Errors
    /// If it cannot be opened.
    fn open(&self) -> Result<Box<dyn BufRead>>;

    /// Opens the file as a text in UTF-8.
    ///
    /// # Errors
    /// As [`Content::open`], or if it is no text.
    fn open_text(&self) -> Result<Box<dyn BufRead>>;

    /// Opens the file as XML in UTF-8.
    ///
    /// # Errors
    /// As [`Content::open`], or if its encoding is not known.
    fn open_xml(&self) -> Result<Box<dyn BufRead>>;
}

/// The files of a release, and what they were given as.
#[derive(Clone, Debug, Default)]
pub struct ReleaseFiles {
    /// The files.
    pub files: Vec<ReleaseFile>,
    /// The names of the given folders, archives and files.
    pub given: Vec<String>,
}

impl ReleaseFiles {
    /// Whether a folder or archive was given.
    #[must_use]
    pub fn is_expanded(&self) -> bool {
        self.files.len() > self.given.len()
    }
}

/// A file of a release.
#[derive(Clone, Debug)]
pub struct ReleaseFile {
    name: String,
    label: String,
    content: Arc<dyn Content>,
}

impl ReleaseFile {
    /// A file with a path relative to its folder or archive, a name in messages, and its bytes.
    #[must_use]
    pub fn new(name: String, label: String, content: Arc<dyn Content>) -> Self {
        Self {
            name,
            label,
            content,
        }
    }

    /// Its path relative to the given folder or archive, with `/` between folders; the given path
    /// for a single file.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The last part of its path.
    #[must_use]
    pub fn file_name(&self) -> &str {
        self.name.rsplit('/').next().unwrap_or(&self.name)
    }

    /// The file name without the ending of a compressed file: `MRCONSO.RRF` for
    /// `META/MRCONSO.RRF.gz`.
    #[must_use]
    pub fn plain_name(&self) -> &str {
        let name = self.file_name();
        [".gz", ".bz2", ".xz", ".zst"]
            .iter()
            .find_map(|ending| name.strip_suffix(ending))
            .unwrap_or(name)
    }

    /// Its name in messages.
    #[must_use]
    pub fn label(&self) -> String {
        self.label.clone()
    }

    /// Opens the file, compressed or not. Reading fails beyond the limit of imported files or after
    /// an interrupt.
    ///
    /// # Errors
    /// If it cannot be opened, or the archive is damaged.
    pub fn open(&self) -> Result<Box<dyn BufRead>> {
        self.content.open()
    }

    /// Opens the file as a text in UTF-8, or in UTF-16 with a byte order mark.
    ///
    /// # Errors
    /// As [`ReleaseFile::open`], or if it is binary.
    pub fn open_text(&self) -> Result<Box<dyn BufRead>> {
        self.content.open_text()
    }

    /// Opens the file as XML: in UTF-8, in the encoding of its XML declaration, or in UTF-16 with a
    /// byte order mark.
    ///
    /// # Errors
    /// As [`ReleaseFile::open`], or if its encoding is not known.
    pub fn open_xml(&self) -> Result<Box<dyn BufRead>> {
        self.content.open_xml()
    }

    /// Calls `each` with every row of a table of single lines. Blank lines are left out. With
    /// `skip_bad` a row that is not UTF-8, or for which `each` fails with invalid input, is counted
    /// and skipped.
    ///
    /// # Errors
    /// Errors of reading and of `each`, with file and line, or after an interrupt.
    pub fn for_each_row<'a, 'c>(
        &self,
        sink: &mut Sink<'a, 'c>,
        skip_bad: bool,
        mut each: impl FnMut(&mut Sink<'a, 'c>, Row<'_>) -> Result<()>,
    ) -> Result<()> {
        let (label, host) = (self.label(), sink.host());
        let mut text = self.open_text()?;
        let read = for_each_line_of_bytes(
            &label,
            &mut text,
            host.longest(),
            &mut || host.check(),
            |line, bytes| {
                sink.tick()?;
                if bytes.trim_ascii().is_empty() {
                    return Ok(());
                }
                let file = &label;
                let row = utf8(bytes).and_then(|text| each(sink, Row { file, line, text }));
                match row {
                    Err(error) if skip_bad && error.kind() == Kind::Input => {
                        sink.report()
                            .skip(INVALID_ROW, || format!("{label}: line {line}: {error}"));
                        Ok(())
                    }
                    other => other,
                }
            },
        );
        read.map_err(|error| host.read_error(&label, error))
    }
}

/// Releases are always UTF-8; other bytes are damage, and naming an encoding would not help.
fn utf8(bytes: &[u8]) -> Result<&str> {
    std::str::from_utf8(bytes).map_err(|error| {
        let at = error.valid_up_to();
        let byte = bytes.get(at).copied().unwrap_or_default();
        Error::input(format!(
            "expected UTF-8, found the byte 0x{byte:02X} at byte {at} of the line"
        ))
    })
}

/// A row of a table of single lines.
#[derive(Clone, Copy, Debug)]
pub struct Row<'a> {
    /// The file's name in messages.
    pub file: &'a str,
    /// The number of the line, from 1.
    pub line: usize,
    /// The line without its end.
    pub text: &'a str,
}

impl Row<'_> {
    /// File and line, for the report.
    #[must_use]
    pub fn place(&self) -> String {
        format!("{}:{}", self.file, self.line)
    }
}

/// For each column of a table, its position among the wanted ones. Names are compared without case.
///
/// # Errors
/// The first wanted name that no column has.
pub(super) fn slots<'n>(
    columns: &[&str],
    wanted: &[&'n str],
) -> Result<Vec<Option<usize>>, &'n str> {
    let mut slots = vec![None; columns.len()];
    for (slot, name) in wanted.iter().enumerate() {
        let at = columns
            .iter()
            .position(|column| column.eq_ignore_ascii_case(name));
        let place = at.and_then(|at| slots.get_mut(at)).ok_or(*name)?;
        *place = Some(slot);
    }
    Ok(slots)
}

/// The one file whose name, without the ending of a compressed file, is `name`, in any case.
///
/// # Errors
/// If there are several.
pub fn one_named<'a>(files: &'a [ReleaseFile], name: &str) -> Result<Option<&'a ReleaseFile>> {
    let mut found = files
        .iter()
        .filter(|file| file.plain_name().eq_ignore_ascii_case(name));
    let (first, second) = (found.next(), found.next());
    match (first, second) {
        (Some(first), Some(second)) => Err(Error::input(format!(
            "expected one file {name}, found {} and {}; name the folder of one release",
            first.label(),
            second.label()
        ))),
        _ => Ok(first),
    }
}
