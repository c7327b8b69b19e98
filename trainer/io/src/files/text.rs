//! Input files as whole texts or as numbered lines.

use super::text_encoding::{TextEncoding, open_text, read_text_in};
use crate::interrupt;
use crate::limits::{Bound, find_exceeded_limit};
use pel_kb::error::{Error, Result};
use pel_kb::lines;
use pel_kb::lines::Longest;
use std::path::Path;

/// Reads a text file in UTF-8, or in UTF-16 with a byte order mark.
///
/// # Errors
/// If it cannot be read or decoded. The error names the first invalid byte.
pub fn read_text(path: &Path) -> Result<String> {
    read_text_in(path, &TextEncoding::default())
}

/// As [`for_each_line_within`] with the limit of files whose records are held in memory.
///
/// # Errors
/// As [`for_each_line_within`].
pub fn for_each_line(path: &Path, each: impl FnMut(usize, &str) -> Result<()>) -> Result<()> {
    for_each_line_within(path, Bound::Records, each)
}

/// Calls `each` with every line and its number.
///
/// # Errors
/// Errors of reading and of `each`, with file and line. A file beyond `bound`, a line beyond
/// [`Bound::Record`], or an interrupt.
pub fn for_each_line_within(
    path: &Path,
    bound: Bound,
    each: impl FnMut(usize, &str) -> Result<()>,
) -> Result<()> {
    for_each_line_in(path, &TextEncoding::default(), bound, each)
}

/// As [`for_each_line_within`], for a text in another encoding.
///
/// # Errors
/// As [`for_each_line_within`], or if the text is invalid in the encoding.
pub fn for_each_line_in(
    path: &Path,
    encoding: &TextEncoding,
    bound: Bound,
    each: impl FnMut(usize, &str) -> Result<()>,
) -> Result<()> {
    let name = path.display().to_string();
    let mut reader = open_text(path, encoding, bound)?;
    let read = lines::for_each_line_within(
        &name,
        &mut reader,
        record_limit(),
        &mut interrupt::check,
        each,
    );
    read.map_err(|error| convert_read_error(path, error))
}

/// The limit of a line, with the option that raises it.
pub fn record_limit() -> Longest<'static> {
    let bytes = usize::try_from(Bound::Record.bytes()).unwrap_or(usize::MAX);
    Longest {
        bytes,
        remedy: "; --max-input SIZE raises the limit",
    }
}

/// Replaces a reader's error by its cause if that is an interrupt or a file beyond its limit.
pub fn convert_read_error(path: &Path, error: Error) -> Error {
    match find_exceeded_limit(&error) {
        Some(exceeded) => exceeded.error(path.display()),
        None => interrupt::check().err().unwrap_or(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_that_begins_like_bzip2_is_read_as_text() {
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
    fn lines_have_no_terminators_and_invalid_bytes_are_located() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("in.txt");
        std::fs::write(&path, b"\xef\xbb\xbfone\r\ntwo\n\nbad \xff\n").expect("written");
        let mut seen = Vec::new();
        let error = for_each_line(&path, |number, line| {
            seen.push((number, line.to_owned()));
            Ok(())
        });
        assert_eq!(
            seen,
            [(1, "one".into()), (2, "two".into()), (3, String::new())]
        );
        let message = error.expect_err("line 4 is not UTF-8").to_string();
        assert!(
            message.contains("line 4") && message.contains("UTF-8") && message.contains("byte 4"),
            "{message}"
        );
    }
}
