//! Limits on the unpacked bytes of each kind of input, so that a small compressed file cannot fill
//! the memory. `--max-input` raises them.

pub use bytesize::ByteSize as Size;
use pel_kb::error::Error;
use std::fmt;
use std::io::{self, Read};
use std::sync::atomic::{AtomicU64, Ordering};

/// The value of `--max-input`; 0 if not given.
static RAISED: AtomicU64 = AtomicU64::new(0);

/// Raises every lower limit to this size.
pub fn raise(to: Size) {
    RAISED.store(to.as_u64(), Ordering::Relaxed);
}

/// A kind of input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    /// A note, other text or configuration, held in memory.
    Text,
    /// Given mentions of a note, held in memory.
    Spans,
    /// A concept table, corpus or candidate lists, whose records are held in memory.
    Records,
    /// An imported ontology, table or corpus, read record by record.
    Stream,
    /// One record: a line, or a document of several lines.
    Record,
    /// A page of a Parquet column, held in memory.
    Page,
    /// A manifest or model configuration.
    Settings,
    /// A tokenizer.
    Tokenizer,
}

const MIB: u64 = 1 << 20;

impl Bound {
    /// Every kind.
    pub const ALL: [Self; 8] = [
        Self::Text,
        Self::Spans,
        Self::Records,
        Self::Stream,
        Self::Record,
        Self::Page,
        Self::Settings,
        Self::Tokenizer,
    ];

    /// The limit without `--max-input`.
    pub const fn default_bytes(self) -> u64 {
        match self {
            Self::Text | Self::Record => 64 * MIB,
            Self::Spans | Self::Page | Self::Tokenizer => 256 * MIB,
            Self::Records => 4096 * MIB,
            Self::Stream => 65536 * MIB,
            Self::Settings => 16 * MIB,
        }
    }

    /// The limit in force, in bytes.
    pub fn bytes(self) -> u64 {
        self.default_bytes().max(RAISED.load(Ordering::Relaxed))
    }

    /// Its name in messages.
    const fn words(self) -> &'static str {
        match self {
            Self::Text => "a text",
            Self::Spans => "a file of mentions",
            Self::Records => "a file whose records are held in memory",
            Self::Stream => "a file that is imported",
            Self::Record => "one record",
            Self::Page => "one page of a Parquet column",
            Self::Settings => "a manifest or configuration",
            Self::Tokenizer => "a tokenizer",
        }
    }

    /// Refuses more bytes than the limit; `name` is the file, with a line where known.
    ///
    /// # Errors
    /// If `bytes` exceeds the limit.
    pub fn check(self, name: impl fmt::Display, bytes: u64) -> Result<(), Error> {
        if bytes <= self.bytes() {
            return Ok(());
        }
        Err(LimitExceeded {
            bound: self,
            most: self.bytes(),
        }
        .error(name))
    }
}

/// Bytes counted for each mention of a document.
const EACH: u64 = 64;

impl Bound {
    /// Refuses more mentions in one document than one per 64 bytes of the limit; `place` gives file
    /// and line.
    ///
    /// # Errors
    /// If `count` exceeds that.
    pub fn check_count(self, place: impl FnOnce() -> String, count: usize) -> Result<(), Error> {
        check_count(self.bytes() / EACH, place, count)
    }
}

fn check_count(most: u64, place: impl FnOnce() -> String, count: usize) -> Result<(), Error> {
    if count as u64 <= most {
        return Ok(());
    }
    let place = place();
    Err(Error::input(format!(
        "{place}: expected at most {most} mentions in one document, found more; --max-input SIZE \
         allows one per {EACH} bytes"
    )))
}

/// An input exceeds its limit.
#[derive(Debug)]
pub struct LimitExceeded {
    bound: Bound,
    most: u64,
}

impl LimitExceeded {
    /// The error for the input of this name.
    pub fn error(&self, name: impl fmt::Display) -> Error {
        Error::input(format!("{name}: {self}"))
    }
}

impl fmt::Display for LimitExceeded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (most, words) = (Size(self.most).display().iec(), self.bound.words());
        write!(
            f,
            "expected at most {most} of {words}, unpacked, found more; --max-input SIZE raises the \
             limit"
        )
    }
}

impl std::error::Error for LimitExceeded {}

/// Finds an exceeded limit in an error or its causes.
pub fn find_exceeded_limit<'a>(
    error: &'a (dyn std::error::Error + 'static),
) -> Option<&'a LimitExceeded> {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(cause) = error.downcast_ref::<io::Error>() {
            // `io::Error::source` skips the error that it contains.
            let held = cause
                .get_ref()
                .and_then(|held| find_exceeded_limit(held as &(dyn std::error::Error + 'static)));
            if held.is_some() {
                return held;
            }
        }
        if let Some(found) = error.downcast_ref::<LimitExceeded>() {
            return Some(found);
        }
        next = error.source();
    }
    None
}

/// A reader that fails beyond its limit.
pub struct Bounded<R> {
    reader: R,
    left: u64,
    bound: Bound,
    most: u64,
}

impl<R: Read> Bounded<R> {
    /// Limits a reader.
    pub fn new(reader: R, bound: Bound) -> Self {
        Self::at_most(reader, bound, bound.bytes())
    }

    fn at_most(reader: R, bound: Bound, most: u64) -> Self {
        Self {
            reader,
            left: most,
            bound,
            most,
        }
    }
}

impl<R: Read> Read for Bounded<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.left == 0 && !into.is_empty() {
            // Input of exactly the limit is complete.
            return match self.reader.read(&mut [0])? {
                0 => Ok(0),
                _ => Err(io::Error::other(LimitExceeded {
                    bound: self.bound,
                    most: self.most,
                })),
            };
        }
        let capacity = usize::try_from(self.left)
            .unwrap_or(usize::MAX)
            .min(into.len());
        let read = self.reader.read(&mut into[..capacity])?;
        self.left -= read as u64;
        Ok(read)
    }
}

/// Help text of `--max-input`.
pub const HELP: &str = "Raise the size limits of inputs, unpacked, to SIZE, such as 4GiB \
                        [default: configurations 16MiB, notes 64MiB, given mentions 256MiB, \
                        tables and corpora 4GiB, files to import 64GiB]";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn input_of_exactly_the_limit_is_read() {
        let read = |bytes: &[u8]| {
            let mut found = Vec::new();
            Bounded::at_most(bytes, Bound::Text, 3)
                .read_to_end(&mut found)
                .map(|_| found)
        };
        assert_eq!(read(b"ab").expect("less"), b"ab");
        assert_eq!(read(b"abc").expect("as much"), b"abc");
        let error = read(b"abcd").expect_err("more");
        let message = find_exceeded_limit(&error)
            .expect("the bound")
            .error("note.txt")
            .to_string();
        assert_eq!(
            message,
            "note.txt: expected at most 3 B of a text, unpacked, found more; --max-input SIZE \
             raises the limit"
        );
        let wrapped = Error::io("reading note.txt")
            .caused_by(read(b"abcd").expect_err("more"))
            .context("outside");
        assert!(find_exceeded_limit(&wrapped).is_some());
        assert!(find_exceeded_limit(&io::Error::other("disk")).is_none());
    }

    #[test]
    fn number_of_mentions_is_limited() {
        let place = || "a.txt:3".to_owned();
        assert!(check_count(2, place, 2).is_ok());
        let message = check_count(2, place, 3).expect_err("more").to_string();
        assert!(
            message.starts_with(
                "a.txt:3: expected at most 2 mentions in one document, found more; --max-input"
            ),
            "{message}"
        );
    }

    #[test]
    fn help_lists_every_default() {
        for bound in Bound::ALL {
            let message = Size(bound.default_bytes())
                .display()
                .iec()
                .to_string()
                .replace(".0", "")
                .replace(' ', "");
            assert!(HELP.contains(&message), "{bound:?}: {message}");
        }
    }
}
