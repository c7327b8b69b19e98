//! The edge to the file system: compressed input, lines with numbers, output written beside its target and then renamed.

use crate::interrupt;
use crate::outputs::behind_links;
use crate::text_encoding::{TextEncoding, open_text, read_text_in};
use pel_shared::error::{Error, Result};
use pel_shared::import;
use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Read, Write};
use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::Duration;

/// Names the file in an error of the operating system.
pub fn io_error(doing: &str, path: &Path, cause: io::Error) -> Error {
    if cause.get_ref().is_some_and(|inner| inner.is::<Stopped>()) {
        return Error::interrupted();
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

/// Opens a file, or standard input for `-`; gzip, bzip2, xz and zstd are unpacked on the way, whatever the name says.
///
/// # Errors
/// If the file cannot be opened or its first bytes cannot be read.
pub fn open(path: &Path) -> Result<Box<dyn BufRead>> {
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
        return Ok(Box::new(BufReader::with_capacity(1 << 16, whole)));
    }
    let (reader, _) = niffler::get_reader(whole)
        .map_err(|cause| Error::io(format!("reading {}", path.display())).caused_by(cause))?;
    Ok(Box::new(BufReader::with_capacity(1 << 16, reader)))
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

/// Calls `each` with every line and its number, as [`pel_shared::import::for_each_line`].
///
/// # Errors
/// What reading or `each` gives, with the file and the line named; the interruption of the user.
pub fn for_each_line(path: &Path, each: impl FnMut(usize, &str) -> Result<()>) -> Result<()> {
    for_each_line_in(path, &TextEncoding::default(), each)
}

/// As [`for_each_line`], of a text in another encoding.
///
/// # Errors
/// As [`for_each_line`]; if the text is not in the encoding.
pub fn for_each_line_in(
    path: &Path,
    encoding: &TextEncoding,
    each: impl FnMut(usize, &str) -> Result<()>,
) -> Result<()> {
    let name = path.display().to_string();
    let read = import::for_each_line(&name, &mut open_text(path, encoding)?, &mut interrupt::check, each);
    // A user who has ended the waiting for standard input has not met an error of reading.
    read.map_err(|error| interrupt::check().err().unwrap_or(error))
}

/// Writes a file whole or not at all: into a temporary file beside it, flushed to the disk, then renamed. Of a link, the file
/// that it leads to is written; a pipe or a device is written to as it is.
///
/// # Errors
/// If the folder cannot be made, the file is there and may not be written, or writing, flushing or renaming fails; the old file,
/// if any, is then untouched.
pub fn write_whole(path: &Path, write: impl FnOnce(&mut dyn Write) -> Result<()>) -> Result<()> {
    let path = &behind_links(path);
    if let Ok(there) = std::fs::metadata(path) {
        if there.is_dir() {
            return Err(Error::io(format!("writing {}: expected a file, found a folder", path.display())));
        }
        if there.permissions().readonly() {
            return Err(Error::io(format!("writing {}: the file may only be read", path.display())));
        }
        if !there.is_file() {
            return write_into(path, write);
        }
    }
    let folder = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    std::fs::create_dir_all(folder).map_err(|cause| io_error("making the folder", folder, cause))?;
    let failed = |cause| io_error("writing", path, cause);
    let mut beside = tempfile::Builder::new();
    beside.prefix(".pel-").suffix(".part");
    // Temporary files are private by default; a result is as readable as any other file of its owner.
    #[cfg(unix)]
    beside.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    let beside = beside.tempfile_in(folder).map_err(failed)?;
    let mut buffered = BufWriter::with_capacity(1 << 16, beside);
    write(&mut buffered)?;
    let beside = buffered.into_inner().map_err(|error| failed(error.into_error()))?;
    beside.as_file().sync_all().map_err(failed)?;
    interrupt::check()?;
    beside.persist(path).map_err(|error| failed(error.error))?;
    Ok(())
}

/// Standard input that is read by a thread of its own, so that Ctrl-C ends the waiting for it.
struct StandardInput {
    pieces: Receiver<io::Result<Vec<u8>>>,
    piece: io::Cursor<Vec<u8>>,
}

/// The user has ended the waiting.
#[derive(Debug)]
struct Stopped;

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
            match self.pieces.recv_timeout(Duration::from_millis(100)) {
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

/// Writes into what is no regular file, and so can be neither written beside nor replaced.
fn write_into(path: &Path, write: impl FnOnce(&mut dyn Write) -> Result<()>) -> Result<()> {
    let failed = |cause| io_error("writing", path, cause);
    let mut file = BufWriter::new(std::fs::OpenOptions::new().write(true).open(path).map_err(failed)?);
    write(&mut file)?;
    file.flush().map_err(failed)
}

/// Prints to standard output what is clean already ([`pel_shared::clean`]); a reader that has gone away (`| head`) ends the command quietly.
///
/// # Errors
/// If it cannot be written, as on a full disk.
pub fn print(text: &str) -> Result<()> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(cause) if cause.kind() == io::ErrorKind::BrokenPipe => std::process::exit(0),
        other => other.map_err(|cause| Error::io("writing to standard output").caused_by(cause)),
    }
}

/// Writes one JSON value a line, whole or not at all.
///
/// # Errors
/// As [`write_whole`].
pub fn write_jsonl<T: serde::Serialize>(path: &Path, rows: impl IntoIterator<Item = T>) -> Result<()> {
    write_whole(path, |file| {
        for row in rows {
            let line = serde_json::to_string(&row).map_err(|cause| Error::io("encoding JSON").caused_by(cause))?;
            writeln!(file, "{line}").map_err(|cause| io_error("writing", path, cause))?;
        }
        Ok(())
    })
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
            packer.write_all(content.as_bytes()).expect("packed");
            std::fs::write(&path, packer.finish().expect("packed")).expect("written");
            assert_eq!(read_text(&path).expect("unpacked"), content);
        }
    }

    #[test]
    fn a_failed_write_leaves_the_old_file_and_nothing_else() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("out.txt");
        std::fs::write(&path, "old").expect("written");
        let result = write_whole(&path, |file| {
            file.write_all(b"half").expect("buffered");
            Err(Error::io("disk full"))
        });
        assert!(result.is_err());
        assert_eq!(std::fs::read_to_string(&path).expect("read"), "old");
        assert_eq!(std::fs::read_dir(folder.path()).expect("listed").count(), 1);
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
