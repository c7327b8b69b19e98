//! Input files: packed or not, as whole texts or as lines with numbers, none read beyond its bound ([`crate::io::limits`]).

use crate::io::interrupt;
use crate::io::limits::{Bound, Bounded, overrun};
use crate::io::text_encoding::{TextEncoding, open_text, read_text_in};
pub use crate::io::writing::{open_own, print, write_jsonl, write_own, write_whole};
use pel_shared::error::{Error, Result};
use pel_shared::kb::import;
use pel_shared::kb::import::Longest;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::Duration;

/// Names the file in an error of the operating system.
pub fn io_error(doing: &str, path: &Path, cause: io::Error) -> Error {
    if cause.get_ref().is_some_and(|inner| inner.is::<Stopped>()) {
        return Error::interrupted();
    }
    if let Some(overrun) = overrun(&cause) {
        return overrun.error(path.display());
    }
    Error::io(format!("{doing} {}", path.display())).caused_by(cause)
}

/// Why a folder, or what lies in it, could not be listed.
pub fn walk_error(folder: &Path, cause: walkdir::Error) -> Error {
    let at = cause.path().unwrap_or(folder).to_owned();
    match cause.into_io_error() {
        Some(cause) => io_error("listing", &at, cause),
        None => Error::input(format!("{}: a link that leads back into its own folder", at.display())),
    }
}

/// Opens a file to be imported, or standard input for `-`, as [`open_within`].
///
/// # Errors
/// As [`open_within`].
pub fn open(path: &Path) -> Result<Box<dyn BufRead>> {
    open_within(path, Bound::Stream)
}

/// Opens a file, or standard input for `-`; gzip, bzip2, xz and zstd are unpacked on the way, whatever the name says. Reading it
/// fails beyond the bound, and when the user asks to stop.
///
/// # Errors
/// If the file cannot be opened or its first bytes cannot be read.
pub fn open_within(path: &Path, bound: Bound) -> Result<Box<dyn BufRead>> {
    let reader = Bounded::new(Heard(unpacked(path)?), bound);
    Ok(Box::new(BufReader::with_capacity(1 << 16, reader)))
}

fn unpacked(path: &Path) -> Result<Box<dyn Read>> {
    let raw: Box<dyn Read> = if path.as_os_str() == "-" {
        Box::new(StandardInput::new())
    } else {
        let file = File::open(path).map_err(|cause| io_error("opening", path, cause))?;
        if file.metadata().is_ok_and(|metadata| metadata.is_dir()) {
            return Err(Error::io(format!("opening {}: expected a file, found a folder", path.display())));
        }
        Box::new(file)
    };
    // niffler refuses input shorter than the longest magic number, which is too short to be compressed.
    let mut head = Vec::new();
    let mut raw = raw;
    raw.by_ref().take(10).read_to_end(&mut head).map_err(|cause| io_error("reading", path, cause))?;
    if head.len() < 5 {
        return Ok(Box::new(io::Cursor::new(head)));
    }
    // niffler takes every text that begins with BZ, such as a note on BZD, for bzip2.
    let is_text = head.starts_with(b"BZ") && !is_bzip2(&head);
    let whole = Box::new(io::Cursor::new(head).chain(raw));
    if is_text {
        return Ok(whole);
    }
    let (reader, _) = niffler::get_reader(whole)
        .map_err(|cause| Error::io(format!("reading {}", path.display())).caused_by(cause))?;
    Ok(reader)
}

/// Whether a file begins as bzip2 does: its version and block size, then the mark of a block or of the end.
fn is_bzip2(head: &[u8]) -> bool {
    const BLOCK: &[u8] = &[0x31, 0x41, 0x59, 0x26, 0x53, 0x59];
    const END: &[u8] = &[0x17, 0x72, 0x45, 0x38, 0x50, 0x90];
    match head {
        [b'B', b'Z', b'h', b'1'..=b'9', mark @ ..] => mark.starts_with(BLOCK) || mark.starts_with(END),
        _ => false,
    }
}

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

/// A reader that fails when the user asks to stop.
struct Heard<R>(R);

impl<R: Read> Read for Heard<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if interrupt::is_asked() {
            return Err(io::Error::other(Stopped));
        }
        self.0.read(into)
    }
}

/// Standard input that is read by a thread of its own, so that Ctrl-C ends the waiting for it.
struct StandardInput {
    pieces: Receiver<io::Result<Vec<u8>>>,
    piece: io::Cursor<Vec<u8>>,
}

/// The user has ended the waiting.
#[derive(Debug)]
pub(crate) struct Stopped;

impl std::fmt::Display for Stopped {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("stopped")
    }
}

impl std::error::Error for Stopped {}

impl StandardInput {
    fn new() -> Self {
        // A few pieces ahead, no more: a reader that is slow holds the writer back.
        let (sender, pieces) = sync_channel(4);
        std::thread::spawn(move || {
            loop {
                let mut piece = vec![0; 1 << 16];
                let read = io::stdin().read(&mut piece).map(|length| {
                    piece.truncate(length);
                    piece
                });
                let last = !read.as_ref().is_ok_and(|piece| !piece.is_empty());
                if sender.send(read).is_err() || last {
                    return;
                }
            }
        });
        Self { pieces, piece: io::Cursor::default() }
    }
}

impl Read for StandardInput {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        while self.piece.position() == self.piece.get_ref().len() as u64 {
            if interrupt::check().is_err() {
                return Err(io::Error::other(Stopped));
            }
            match self.pieces.recv_timeout(Duration::from_millis(40)) {
                Ok(piece) => {
                    self.piece = io::Cursor::new(piece?);
                    if self.piece.get_ref().is_empty() {
                        return Ok(0);
                    }
                }
                Err(RecvTimeoutError::Timeout) => {}
                // The end has been read.
                Err(RecvTimeoutError::Disconnected) => return Ok(0),
            }
        }
        self.piece.read(into)
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
