//! Opening input files, compressed or not, with a size limit ([`crate::limits`]).

use crate::errors::{InterruptedByUser, io_error};
use crate::interrupt;
use crate::limits::{Bound, Bounded};
use pel_kb::error::{Error, Result};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::Duration;

/// Opens a file to import, or standard input for `-`, as `open_within`.
///
/// # Errors
/// As `open_within`.
pub fn open(path: &Path) -> Result<Box<dyn BufRead>> {
    open_within(path, Bound::Stream)
}

/// Opens a file, or standard input for `-`. Content in gzip, bzip2, xz or zstd is decompressed,
/// regardless of the name. Reading fails beyond the limit or after an interrupt.
///
/// # Errors
/// If the file cannot be opened or its first bytes cannot be read.
pub fn open_within(path: &Path, bound: Bound) -> Result<Box<dyn BufRead>> {
    open_reader(path, raw(path)?, bound)
}

/// As [`open_within`], for bytes that are open already. `path` is their name in messages.
///
/// # Errors
/// If the first bytes cannot be read.
pub fn open_reader(path: &Path, raw: Box<dyn Read>, bound: Bound) -> Result<Box<dyn BufRead>> {
    let reader = Bounded::new(Interruptible(unpacked(path, raw)?), bound);
    Ok(Box::new(BufReader::with_capacity(1 << 16, reader)))
}

fn raw(path: &Path) -> Result<Box<dyn Read>> {
    Ok(if path.as_os_str() == "-" {
        Box::new(StandardInput::new())
    } else {
        let file = File::open(path).map_err(|cause| io_error("opening", path, cause))?;
        if file.metadata().is_ok_and(|metadata| metadata.is_dir()) {
            return Err(Error::io(format!(
                "opening {}: expected a file, found a folder",
                path.display()
            )));
        }
        Box::new(file)
    })
}

fn unpacked(path: &Path, mut raw: Box<dyn Read>) -> Result<Box<dyn Read>> {
    // niffler refuses input shorter than the longest magic number. Such input is too short to be
    // compressed.
    let mut head = Vec::new();
    raw.by_ref()
        .take(10)
        .read_to_end(&mut head)
        .map_err(|cause| io_error("reading", path, cause))?;
    if head.len() < 5 {
        return Ok(Box::new(io::Cursor::new(head)));
    }
    // niffler takes any text that begins with BZ for bzip2, such as a note on BZD.
    let is_text = head.starts_with(b"BZ") && !is_bzip2(&head);
    let whole = Box::new(io::Cursor::new(head).chain(raw));
    if is_text {
        return Ok(whole);
    }
    let (reader, _) = niffler::get_reader(whole)
        .map_err(|cause| Error::io(format!("reading {}", path.display())).caused_by(cause))?;
    Ok(reader)
}

/// Whether a file begins like bzip2: version and block size, then the mark of a block or of the
/// end.
fn is_bzip2(head: &[u8]) -> bool {
    const BLOCK: &[u8] = &[0x31, 0x41, 0x59, 0x26, 0x53, 0x59];
    const END: &[u8] = &[0x17, 0x72, 0x45, 0x38, 0x50, 0x90];
    match head {
        [b'B', b'Z', b'h', b'1'..=b'9', mark @ ..] => {
            mark.starts_with(BLOCK) || mark.starts_with(END)
        }
        _ => false,
    }
}

/// A reader that fails after an interrupt.
struct Interruptible<R>(R);

impl<R: Read> Read for Interruptible<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if interrupt::is_requested() {
            return Err(io::Error::other(InterruptedByUser));
        }
        self.0.read(into)
    }
}

/// Standard input, read by its own thread, so that Ctrl-C ends a blocked read.
struct StandardInput {
    pieces: Receiver<io::Result<Vec<u8>>>,
    piece: io::Cursor<Vec<u8>>,
}

impl StandardInput {
    fn new() -> Self {
        // The channel is short, so that a slow reader slows the writer down.
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
        Self {
            pieces,
            piece: io::Cursor::default(),
        }
    }
}

impl Read for StandardInput {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        while self.piece.position() == self.piece.get_ref().len() as u64 {
            if interrupt::check().is_err() {
                return Err(io::Error::other(InterruptedByUser));
            }
            match self.pieces.recv_timeout(Duration::from_millis(40)) {
                Ok(piece) => {
                    self.piece = io::Cursor::new(piece?);
                    if self.piece.get_ref().is_empty() {
                        return Ok(0);
                    }
                }
                Err(RecvTimeoutError::Timeout) => {}
                // The thread has reached the end.
                Err(RecvTimeoutError::Disconnected) => return Ok(0),
            }
        }
        self.piece.read(into)
    }
}
