//! The files of a release: in a folder, in a ZIP archive, or given one by one.

use super::Sink;
use crate::io::archive::{Member, is_archive, members};
use crate::io::files::{convert_read_error, list_files, open, record_limit};
use crate::io::interrupt;
use crate::io::limits::Bound;
use crate::io::text_encoding::{TextEncoding, decode};
use pel_shared::error::{Error, Kind, Result};
use pel_shared::kb::import::for_each_line_of_bytes;
use std::io::BufRead;
use std::path::{Path, PathBuf};

/// The reason for skipping a row that cannot be read.
pub const INVALID_ROW: &str = "invalid row";

/// A file of a release.
#[derive(Clone, Debug)]
pub struct ReleaseFile {
    name: String,
    place: Place,
}

#[derive(Clone, Debug)]
enum Place {
    /// A file of its own; `-` is standard input.
    File(PathBuf),
    /// A member of a ZIP archive.
    Member(Member),
}

impl ReleaseFile {
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
        match &self.place {
            Place::File(path) => path.display().to_string(),
            Place::Member(member) => member.label(),
        }
    }

    /// Opens the file, compressed or not. Reading fails beyond the limit of imported files or after
    /// an interrupt.
    ///
    /// # Errors
    /// If it cannot be opened, or the archive is damaged.
    pub fn open(&self) -> Result<Box<dyn BufRead>> {
        match &self.place {
            Place::File(path) => open(path),
            Place::Member(member) => member.open(Bound::Stream),
        }
    }

    /// Opens the file as a text in UTF-8, or in UTF-16 with a byte order mark.
    ///
    /// # Errors
    /// As [`ReleaseFile::open`], or if it is binary.
    pub fn open_text(&self) -> Result<Box<dyn BufRead>> {
        decode(
            Path::new(&self.label()),
            self.open()?,
            &TextEncoding::default(),
        )
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
        let label = self.label();
        let mut text = self.open_text()?;
        let read = for_each_line_of_bytes(
            &label,
            &mut text,
            record_limit(),
            &mut interrupt::check,
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
        read.map_err(|error| convert_read_error(Path::new(&label), error))
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

/// The files of a release, given as folders, ZIP archives or single files.
///
/// # Errors
/// If a path does not exist, or a folder or archive cannot be read.
pub fn files(paths: &[PathBuf]) -> Result<Vec<ReleaseFile>> {
    let mut files = Vec::new();
    for path in paths {
        if path.as_os_str() != "-" && !path.exists() {
            return Err(Error::io(format!(
                "opening {}: expected a file or folder, found none",
                path.display()
            )));
        }
        if path.is_dir() {
            files.extend(list_files(path)?.into_iter().map(|file| {
                let name = file.strip_prefix(path).unwrap_or(&file);
                let parts = name
                    .components()
                    .map(|part| part.as_os_str().to_string_lossy());
                ReleaseFile {
                    name: parts.collect::<Vec<_>>().join("/"),
                    place: Place::File(file.clone()),
                }
            }));
        } else if path.is_file() && is_archive(path) {
            files.extend(members(path)?.into_iter().map(|member| ReleaseFile {
                name: member.name().to_owned(),
                place: Place::Member(member),
            }));
        } else {
            files.push(ReleaseFile {
                name: path.display().to_string(),
                place: Place::File(path.clone()),
            });
        }
    }
    Ok(files)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::testing::zipped;
    use std::io::Read;

    #[test]
    fn files_are_found_in_folders_and_archives() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path();
        std::fs::create_dir(root.join("META")).expect("made");
        std::fs::write(root.join("META/MRCONSO.RRF"), "a|\n").expect("written");
        zipped(
            &root.join("b.zip"),
            &[("2026AA/META/MRSTY.RRF", b"b|\nc|\n")],
        );
        let all = files(&[root.join("META"), root.join("b.zip")]).expect("listed");
        let names: Vec<_> = all.iter().map(ReleaseFile::name).collect();
        assert_eq!(names, ["MRCONSO.RRF", "2026AA/META/MRSTY.RRF"]);
        let styles = one_named(&all, "mrsty.rrf").expect("one").expect("found");
        assert!(styles.label().ends_with("b.zip:2026AA/META/MRSTY.RRF"));
        let mut text = String::new();
        styles
            .open_text()
            .expect("a text")
            .read_to_string(&mut text)
            .expect("readable");
        assert_eq!(text, "b|\nc|\n");
        assert!(one_named(&all, "MRDEF.RRF").expect("none").is_none());
        let twice = files(&[root.join("META"), root.join("META")]).expect("listed");
        let message = one_named(&twice, "MRCONSO.RRF")
            .expect_err("two")
            .to_string();
        assert!(
            message.contains("expected one file MRCONSO.RRF"),
            "{message}"
        );
        assert!(files(&[root.join("none")]).is_err());
    }
}
