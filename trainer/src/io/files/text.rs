//! Input files as whole texts, or as lines with numbers.

use crate::io::interrupt;
use crate::io::limits::{Bound, overrun};
use crate::io::text_encoding::{TextEncoding, open_text, read_text_in};
use pel_shared::error::{Error, Result};
use pel_shared::kb::import::{self, Longest};
use std::path::Path;

/// The whole of a text file in UTF-8, or in UTF-16 with a byte order mark.
///
/// # Errors
/// If it cannot be read or is neither (the error names the first bad byte).
pub fn read_text(path: &Path) -> Result<String> {
    read_text_in(path, &TextEncoding::default())
}

/// Calls `each` with every line of a file whose records are held in memory, as [`for_each_line_within`].
///
/// # Errors
/// As [`for_each_line_within`].
pub fn for_each_line(path: &Path, each: impl FnMut(usize, &str) -> Result<()>) -> Result<()> {
    for_each_line_within(path, Bound::Records, each)
}

/// Calls `each` with every line and its number, as [`pel_shared::kb::import::for_each_line`].
///
/// # Errors
/// What reading or `each` gives, with the file and the line named; more bytes than the bound in all, or than [`Bound::Record`] in one
/// line; the interruption of the user.
pub fn for_each_line_within(path: &Path, bound: Bound, each: impl FnMut(usize, &str) -> Result<()>) -> Result<()> {
    for_each_line_in(path, &TextEncoding::default(), bound, each)
}

/// As [`for_each_line_within`], of a text in another encoding.
///
/// # Errors
/// As [`for_each_line_within`]; if the text is not in the encoding.
pub fn for_each_line_in(
    path: &Path,
    encoding: &TextEncoding,
    bound: Bound,
    each: impl FnMut(usize, &str) -> Result<()>,
) -> Result<()> {
    let name = path.display().to_string();
    let mut reader = open_text(path, encoding, bound)?;
    let read = import::for_each_line_within(&name, &mut reader, longest_record(), &mut interrupt::check, each);
    read.map_err(|error| reading_error(path, error))
}

/// How long a line may be, and how that is raised.
pub fn longest_record() -> Longest<'static> {
    let bytes = usize::try_from(Bound::Record.bytes()).unwrap_or(usize::MAX);
    Longest { bytes, remedy: "; --max-input SIZE raises the limit" }
}

/// What an error of a reader of records means: a user who has ended the waiting for standard input has not met an error of reading, and
/// a file that is too large is not one that cannot be read.
pub fn reading_error(path: &Path, error: Error) -> Error {
    match overrun(&error) {
        Some(overrun) => overrun.error(path.display()),
        None => interrupt::check().err().unwrap_or(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_that_begins_like_bzip2_is_a_text() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("note.txt");
        for text in ["BZD overdose.", "BZh9 is a room.", "BZ", "BZhhhhhhhhhhhhh"] {
            std::fs::write(&path, text).expect("written");
            assert_eq!(read_text(&path).expect(text), text);
        }
        for content in ["", "fever"] {
            let mut packer = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::best());
            std::io::Write::write_all(&mut packer, content.as_bytes()).expect("packed");
            std::fs::write(&path, packer.finish().expect("packed")).expect("written");
            assert_eq!(read_text(&path).expect("unpacked"), content);
        }
    }

    #[test]
    fn lines_come_without_their_ends_and_bad_bytes_are_named() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("in.txt");
        std::fs::write(&path, b"\xef\xbb\xbfone\r\ntwo\n\nbad \xff\n").expect("written");
        let mut seen = Vec::new();
        let error = for_each_line(&path, |number, line| {
            seen.push((number, line.to_owned()));
            Ok(())
        });
        assert_eq!(seen, [(1, "one".into()), (2, "two".into()), (3, String::new())]);
        let said = error.expect_err("line 4 is not UTF-8").to_string();
        assert!(said.contains("line 4") && said.contains("UTF-8") && said.contains("byte 4"), "{said}");
    }
}
