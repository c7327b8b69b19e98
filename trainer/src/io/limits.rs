//! How many bytes are read of one input, unpacked. Each kind of input has a bound, so that a small packed file cannot fill the
//! memory; `--max-input` raises all of them.

pub use bytesize::ByteSize as Size;
use pel_shared::error::Error;
use std::fmt;
use std::io::{self, Read};
use std::sync::atomic::{AtomicU64, Ordering};

/// What `--max-input` asks for; 0 if it is not given.
static RAISED: AtomicU64 = AtomicU64::new(0);

/// Lets every kind of input be as large as this, where its own bound is lower.
pub fn raise(to: Size) {
    RAISED.store(to.as_u64(), Ordering::Relaxed);
}

/// A kind of input, by how it is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    /// A note, another text, or a configuration: held in memory.
    Text,
    /// The mentions that are brought for a note: held in memory.
    Spans,
    /// A concept table, a corpus, lists of candidates: their records are held in memory.
    Records,
    /// An ontology, table or corpus that is imported: read record by record.
    Stream,
    /// One record: a line, or a document of several lines.
    Record,
    /// A manifest or the configuration of a model.
    Settings,
    /// A tokenizer.
    Tokenizer,
}

const MIB: u64 = 1 << 20;

impl Bound {
    /// Every kind.
    pub const ALL: [Self; 7] =
        [Self::Text, Self::Spans, Self::Records, Self::Stream, Self::Record, Self::Settings, Self::Tokenizer];

    /// The bound where `--max-input` is not given.
    pub const fn default_bytes(self) -> u64 {
        match self {
            Self::Text | Self::Record => 64 * MIB,
            Self::Spans | Self::Tokenizer => 256 * MIB,
            Self::Records => 4096 * MIB,
            Self::Stream => 65536 * MIB,
            Self::Settings => 16 * MIB,
        }
    }

    /// How many bytes are read at most.
    pub fn bytes(self) -> u64 {
        self.default_bytes().max(RAISED.load(Ordering::Relaxed))
    }

    /// What it is, in messages.
    const fn words(self) -> &'static str {
        match self {
            Self::Text => "a text",
            Self::Spans => "a file of mentions",
            Self::Records => "a file whose records are held in memory",
            Self::Stream => "a file that is imported",
            Self::Record => "one record",
            Self::Settings => "a manifest or configuration",
            Self::Tokenizer => "a tokenizer",
        }
    }

    /// Refuses more bytes than the bound; `name` is that of the file, perhaps with a line.
    ///
    /// # Errors
    /// If there are more.
    pub fn check(self, name: impl fmt::Display, bytes: u64) -> Result<(), Error> {
        if bytes <= self.bytes() {
            return Ok(());
        }
        Err(TooMuch { bound: self, most: self.bytes() }.error(name))
    }
}

/// Bytes that are reckoned for one of many things in a record.
const EACH: u64 = 64;

impl Bound {
    /// Refuses more mentions of one document than there is one for each 64 bytes; `place` names the file and the line.
    ///
    /// # Errors
    /// If there are more.
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
        "{place}: expected at most {most} mentions in one document, found more; --max-input SIZE allows one for each {EACH} bytes"
    )))
}

/// More was there than may be read.
#[derive(Debug)]
pub struct TooMuch {
    bound: Bound,
    most: u64,
}

impl TooMuch {
    /// The error of this input, by name.
    pub fn error(&self, name: impl fmt::Display) -> Error {
        Error::input(format!("{name}: {self}"))
    }
}

impl fmt::Display for TooMuch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (most, words) = (Size(self.most).display().iec(), self.bound.words());
        write!(f, "expected at most {most} of {words}, unpacked, found more; --max-input SIZE raises the limit")
    }
}

impl std::error::Error for TooMuch {}

/// Finds the overrun in an error, or among what caused it.
pub fn overrun<'a>(error: &'a (dyn std::error::Error + 'static)) -> Option<&'a TooMuch> {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(cause) = error.downcast_ref::<io::Error>() {
            // The source of an io::Error is that of what it holds, not what it holds.
            let held = cause.get_ref().and_then(|held| overrun(held as &(dyn std::error::Error + 'static)));
            if held.is_some() {
                return held;
            }
        }
        if let Some(found) = error.downcast_ref::<TooMuch>() {
            return Some(found);
        }
        next = error.source();
    }
    None
}

/// A reader that fails where more is read than its bound.
pub struct Bounded<R> {
    reader: R,
    left: u64,
    bound: Bound,
    most: u64,
}

impl<R: Read> Bounded<R> {
    /// Bounds a reader.
    pub fn new(reader: R, bound: Bound) -> Self {
        Self::at_most(reader, bound, bound.bytes())
    }

    fn at_most(reader: R, bound: Bound, most: u64) -> Self {
        Self { reader, left: most, bound, most }
    }
}

impl<R: Read> Read for Bounded<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.left == 0 && !into.is_empty() {
            // What ends here is whole.
            return match self.reader.read(&mut [0])? {
                0 => Ok(0),
                _ => Err(io::Error::other(TooMuch { bound: self.bound, most: self.most })),
            };
        }
        let room = usize::try_from(self.left).unwrap_or(usize::MAX).min(into.len());
        let read = self.reader.read(&mut into[..room])?;
        self.left -= read as u64;
        Ok(read)
    }
}

/// The bounds, for `--help`.
pub const HELP: &str = "How many bytes are read of one input at most, unpacked, such as 4GiB; it raises each of these limits \
    [default: a note, text or configuration file 64MiB, mentions brought for a note 256MiB, a concept table or corpus 4GiB, a \
    file that is imported 64GiB, one line or document of them 64MiB, a model's manifest or config.json 16MiB, its tokenizer.json \
    256MiB]";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_much_as_the_bound_is_read_and_no_more() {
        let read = |bytes: &[u8]| {
            let mut found = Vec::new();
            Bounded::at_most(bytes, Bound::Text, 3).read_to_end(&mut found).map(|_| found)
        };
        assert_eq!(read(b"ab").expect("less"), b"ab");
        assert_eq!(read(b"abc").expect("as much"), b"abc");
        let error = read(b"abcd").expect_err("more");
        let said = overrun(&error).expect("the bound").error("note.txt").to_string();
        assert_eq!(
            said,
            "note.txt: expected at most 3 B of a text, unpacked, found more; --max-input SIZE raises the limit"
        );
        let wrapped = Error::io("reading note.txt").caused_by(read(b"abcd").expect_err("more")).context("outside");
        assert!(overrun(&wrapped).is_some());
        assert!(overrun(&io::Error::other("disk")).is_none());
    }

    #[test]
    fn a_document_has_as_many_mentions_as_its_bound_and_no_more() {
        let place = || "a.txt:3".to_owned();
        assert!(check_count(2, place, 2).is_ok());
        let said = check_count(2, place, 3).expect_err("more").to_string();
        assert!(
            said.starts_with("a.txt:3: expected at most 2 mentions in one document, found more; --max-input"),
            "{said}"
        );
    }

    #[test]
    fn the_help_names_the_bounds() {
        for bound in Bound::ALL {
            let said = Size(bound.default_bytes()).display().iec().to_string().replace(".0", "").replace(' ', "");
            assert!(HELP.contains(&said), "{bound:?}: {said}");
        }
    }
}
