//! The encoding of texts from users: concept tables, ontologies, notes, spans and corpora.
//!
//! A byte order mark determines the encoding. Without one a text is UTF-8, unless the user names
//! another encoding. An error gives the position of invalid bytes and what to do.

use super::open::open_within;
use crate::errors::io_error;
use crate::limits::Bound;
use clap::Args;
use encoding_rs::{Decoder, DecoderResult, Encoding, UTF_8, UTF_16BE, UTF_16LE};
use pel_kb::error::{Error, Result};
use pel_kb::lines::not_utf8;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;
use std::str::FromStr;

/// Bytes examined to recognise the kind of a file.
const HEAD: u64 = 4096;

/// Bytes decoded at a time.
const PIECE: usize = 1 << 16;

/// The encodings to try in order. If empty: UTF-8, or UTF-16 with a byte order mark.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TextEncoding(Vec<&'static Encoding>);

impl FromStr for TextEncoding {
    type Err = String;

    fn from_str(names: &str) -> std::result::Result<Self, String> {
        let one = |name: &str| {
            Encoding::for_label(name.trim().as_bytes()).ok_or_else(|| {
                format!(
                    "expected an encoding such as utf-8, utf-16le, windows-1252, iso-8859-2 or \
                     shift_jis, found {name:?}"
                )
            })
        };
        names
            .split(',')
            .map(one)
            .collect::<std::result::Result<_, _>>()
            .map(Self)
    }
}

/// The option for the encoding of texts.
#[derive(Args, Clone, Debug, Default)]
pub struct EncodingArgs {
    /// Encoding of the texts, such as windows-1252 or utf-16le. With a list (utf-8,windows-1252)
    /// the first valid one is used for each file. A byte order mark takes precedence [default:
    /// utf-8]
    #[arg(long, value_name = "NAME")]
    encoding: Option<TextEncoding>,
}

impl EncodingArgs {
    /// The given encodings, or the default.
    #[must_use]
    pub fn get(&self) -> TextEncoding {
        self.encoding.clone().unwrap_or_default()
    }
}

/// Opens a text, compressed or not, and decodes it to UTF-8. Text without a declared encoding is
/// passed on unchecked. Reading fails beyond the limit.
///
/// # Errors
/// As `open_within`; if the file is binary, looks like UTF-16 without a byte order mark, or is
/// invalid in all given encodings. Reading fails at bytes that are invalid in the named encoding.
pub fn open_text(path: &Path, encoding: &TextEncoding, bound: Bound) -> Result<Box<dyn BufRead>> {
    let raw = open_within(path, bound)?;
    let [_, _, ..] = encoding.0[..] else {
        return decode(path, raw, encoding);
    };
    if path.as_os_str() == "-" {
        return Err(Error::input(
            "standard input can be read only once: expected one name for --encoding, found several",
        ));
    }
    for one in &encoding.0 {
        if is_valid(path, one, bound)? {
            return decode(path, open_within(path, bound)?, &TextEncoding(vec![one]));
        }
    }
    let names: Vec<&str> = encoding.0.iter().map(|one| one.name()).collect();
    Err(Error::input(format!(
        "{}: expected a text in {}, found bytes that are invalid in each",
        path.display(),
        names.join(" or ")
    )))
}

/// Reads a text of at most [`Bound::Text`] bytes.
///
/// # Errors
/// As [`open_text`], or if the text is invalid in its encoding.
pub fn read_text_in(path: &Path, encoding: &TextEncoding) -> Result<String> {
    read_utf8(path, open_text(path, encoding, Bound::Text)?)
}

/// Reads an open text that must be UTF-8.
///
/// # Errors
/// If it cannot be read or is not UTF-8. The error names the line and the first invalid byte.
pub fn read_utf8(path: &Path, mut text: Box<dyn BufRead>) -> Result<String> {
    let mut bytes = Vec::new();
    text.read_to_end(&mut bytes)
        .map_err(|cause| read_error(path, cause))?;
    String::from_utf8(bytes).map_err(|error| {
        let (at, bytes) = (error.utf8_error().valid_up_to(), error.as_bytes());
        let before = bytes.get(..at).unwrap_or_default();
        let line = before.iter().filter(|byte| **byte == b'\n').count();
        let begin = before
            .iter()
            .rposition(|byte| *byte == b'\n')
            .map_or(0, |end| end + 1);
        let line_bytes = bytes.get(begin..).unwrap_or_default();
        Error::input(format!(
            "{}: {}",
            path.display(),
            not_utf8(line_bytes, at - begin, &format!("of line {}", line + 1))
        ))
    })
}

/// Names the file in a read error. An inner [`Error`] keeps its kind.
pub fn read_error(path: &Path, cause: io::Error) -> Error {
    match cause.downcast::<Error>() {
        Ok(own) => own.context(path.display().to_string()),
        Err(cause) => io_error("reading", path, cause),
    }
}

/// Decodes an open text by its byte order mark, else in the named encoding, else not at all.
///
/// # Errors
/// If its beginning cannot be read, it is binary, or it looks like UTF-16 without a byte order
/// mark.
pub fn decode(
    path: &Path,
    mut raw: Box<dyn BufRead>,
    encoding: &TextEncoding,
) -> Result<Box<dyn BufRead>> {
    let mut head = Vec::new();
    raw.by_ref()
        .take(HEAD)
        .read_to_end(&mut head)
        .map_err(|cause| read_error(path, cause))?;
    let named = encoding.0.first().copied();
    if let Some(what) = binary_kind(&head) {
        let path = path.display();
        return Err(Error::input(format!(
            "{path}: expected a text, found {what}; save it as plain text, CSV or OBO first"
        )));
    }
    let marked = Encoding::for_bom(&head);
    // With a zero in every second byte, only a multi-byte encoding is plausible.
    let refuses = named.is_none_or(|named| named == UTF_8 || named.is_single_byte());
    if let (None, true, Some(looks)) = (marked, refuses, unmarked_utf16(&head)) {
        let (path, option) = (path.display(), looks.name().to_lowercase());
        return Err(Error::input(format!(
            "{path}: expected {}, found text that looks like {} without a byte order mark; if so, \
             use --encoding {option}",
            named.unwrap_or(UTF_8).name(),
            looks.name()
        )));
    }
    let whole = io::Cursor::new(head).chain(raw);
    match marked.map(|(encoding, _)| encoding).or(named) {
        None => Ok(Box::new(whole)),
        Some(encoding) if encoding == UTF_8 => Ok(Box::new(whole)),
        Some(encoding) => {
            let decoding = DecodingReader::new(Box::new(whole), encoding, marked.is_none());
            Ok(Box::new(BufReader::with_capacity(PIECE, decoding)))
        }
    }
}

/// The kind of a binary file, by its first bytes.
fn binary_kind(head: &[u8]) -> Option<&'static str> {
    let kinds: [(&[u8], &str); 12] = [
        (
            b"PK\x03\x04",
            "a ZIP archive (which includes Excel, Word and OpenDocument files)",
        ),
        (
            b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1",
            "an old file of Excel or Word",
        ),
        (b"%PDF-", "a PDF"),
        (
            b"7z\xbc\xaf\x27\x1c",
            "a 7z archive (PEL unpacks gzip, bzip2, xz and zstd)",
        ),
        (
            b"Rar!\x1a\x07",
            "a RAR archive (PEL unpacks gzip, bzip2, xz and zstd)",
        ),
        (
            b"\x1f\x9d",
            "a file of compress, .Z (PEL unpacks gzip, bzip2, xz and zstd)",
        ),
        (
            b"\x04\x22\x4d\x18",
            "an LZ4 file (PEL unpacks gzip, bzip2, xz and zstd)",
        ),
        (
            b"LZIP",
            "an lzip file (PEL unpacks gzip, bzip2, xz and zstd)",
        ),
        (b"SQLite format 3\0", "a database of SQLite"),
        (b"PAR1", "a Parquet file"),
        (b"\xff\xfe\0\0", "UTF-32, which PEL does not read"),
        (b"\0\0\xfe\xff", "UTF-32, which PEL does not read"),
    ];
    kinds
        .into_iter()
        .find(|(magic, _)| head.starts_with(magic))
        .map(|(_, what)| what)
}

/// UTF-16 of Western text has a zero in every second byte.
fn unmarked_utf16(head: &[u8]) -> Option<&'static Encoding> {
    let pairs = head.len() / 2;
    let zeros = |first: usize| {
        head.iter()
            .skip(first)
            .step_by(2)
            .filter(|byte| **byte == 0)
            .count()
    };
    let (even, odd) = (zeros(0), zeros(1));
    match () {
        () if pairs == 0 => None,
        () if odd * 10 >= pairs * 6 && even * 10 <= pairs => Some(UTF_16LE),
        () if even * 10 >= pairs * 6 && odd * 10 <= pairs => Some(UTF_16BE),
        () => None,
    }
}

/// Whether a file is valid in an encoding. A byte order mark takes precedence.
fn is_valid(path: &Path, encoding: &'static Encoding, bound: Bound) -> Result<bool> {
    let mut raw = open_within(path, bound)?;
    let mut head = Vec::new();
    raw.by_ref()
        .take(HEAD)
        .read_to_end(&mut head)
        .map_err(|cause| read_error(path, cause))?;
    if let Some((marked, _)) = Encoding::for_bom(&head) {
        return Ok(marked == encoding || marked != UTF_8);
    }
    let mut text = DecodingReader::new(Box::new(io::Cursor::new(head).chain(raw)), encoding, false);
    let mut piece = vec![0; PIECE];
    loop {
        crate::interrupt::check()?;
        match text.read(&mut piece) {
            Ok(0) => return Ok(true),
            Ok(_) => {}
            Err(cause) if cause.get_ref().is_some_and(|inner| inner.is::<Error>()) => {
                return Ok(false);
            }
            Err(cause) => return Err(read_error(path, cause)),
        }
    }
}

/// Decodes a text to UTF-8 while it is read and drops a byte order mark.
struct DecodingReader {
    raw: Box<dyn BufRead>,
    encoding: &'static Encoding,
    decoder: Decoder,
    /// Checks whether the bytes are valid UTF-8 beyond ASCII, which another encoding would garble.
    check: Option<Utf8Check>,
    out: Vec<u8>,
    given: usize,
    line: usize,
    ended: bool,
}

impl DecodingReader {
    fn new(raw: Box<dyn BufRead>, encoding: &'static Encoding, checked: bool) -> Self {
        let check = (checked && encoding.is_single_byte()).then(Utf8Check::new);
        let decoder = encoding.new_decoder_with_bom_removal();
        Self {
            raw,
            encoding,
            decoder,
            check,
            out: Vec::new(),
            given: 0,
            line: 1,
            ended: false,
        }
    }

    /// Decodes the next piece.
    fn fill(&mut self) -> io::Result<()> {
        (self.given, self.line) = (
            0,
            self.line + self.out.iter().filter(|byte| **byte == b'\n').count(),
        );
        let bytes = self.raw.fill_buf()?;
        let last = bytes.is_empty();
        let bytes = bytes.get(..bytes.len().min(PIECE)).unwrap_or(bytes);
        // The capacity suffices for the whole piece.
        let capacity = self
            .decoder
            .max_utf8_buffer_length_without_replacement(bytes.len())
            .unwrap_or(4 * PIECE);
        self.out.resize(capacity, 0);
        let (result, read, written) =
            self.decoder
                .decode_to_utf8_without_replacement(bytes, &mut self.out, last);
        self.out.truncate(written);
        if let Some(check) = &mut self.check {
            check.update(bytes.get(..read).unwrap_or_default(), last);
        }
        self.raw.consume(read);
        match result {
            DecoderResult::Malformed(..) => {
                let line = self.line + self.out.iter().filter(|byte| **byte == b'\n').count();
                let name = self.encoding.name();
                Err(io::Error::other(Error::input(format!(
                    "line {line}: expected {name}, found invalid bytes (is --encoding right?)"
                ))))
            }
            DecoderResult::OutputFull | DecoderResult::InputEmpty => {
                self.ended = last;
                if last && self.check.as_ref().is_some_and(Utf8Check::is_utf8) {
                    let name = self.encoding.name().to_lowercase();
                    return Err(io::Error::other(Error::input(format!(
                        "expected {name} (--encoding), found valid UTF-8, which {name} would \
                         garble; omit --encoding, or use --encoding utf-8,{name} if files differ"
                    ))));
                }
                Ok(())
            }
        }
    }
}

impl Read for DecodingReader {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        while self.given == self.out.len() && !self.ended {
            self.fill()?;
        }
        let count = self.out.get(self.given..).unwrap_or_default().read(into)?;
        self.given += count;
        Ok(count)
    }
}

/// Checks whether bytes are valid UTF-8.
struct Utf8Check {
    decoder: Decoder,
    scratch: Vec<u8>,
    valid: bool,
    beyond_ascii: bool,
}

impl Utf8Check {
    fn new() -> Self {
        let decoder = UTF_8.new_decoder_without_bom_handling();
        Self {
            decoder,
            scratch: vec![0; PIECE],
            valid: true,
            beyond_ascii: false,
        }
    }

    fn update(&mut self, mut bytes: &[u8], last: bool) {
        self.beyond_ascii |= !bytes.is_ascii();
        while self.valid {
            let (result, read, _) =
                self.decoder
                    .decode_to_utf8_without_replacement(bytes, &mut self.scratch, last);
            bytes = bytes.get(read..).unwrap_or_default();
            match result {
                DecoderResult::Malformed(..) => self.valid = false,
                DecoderResult::InputEmpty => return,
                DecoderResult::OutputFull => {}
            }
        }
    }

    fn is_utf8(&self) -> bool {
        self.valid && self.beyond_ascii
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pel_kb::error::Kind;
    use proptest::prelude::*;

    fn named(names: &str) -> TextEncoding {
        names.parse().expect(names)
    }

    fn read(bytes: &[u8], encoding: &TextEncoding) -> Result<String> {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a.txt");
        std::fs::write(&path, bytes).expect("written");
        read_text_in(&path, encoding)
    }

    fn utf16(text: &str, big: bool, mark: bool) -> Vec<u8> {
        let units = mark
            .then_some(0xfeff)
            .into_iter()
            .chain(text.encode_utf16());
        units
            .flat_map(|unit| {
                if big {
                    unit.to_be_bytes()
                } else {
                    unit.to_le_bytes()
                }
            })
            .collect()
    }

    #[test]
    fn byte_order_marks_are_followed() {
        let text = "Fièvre – 38.5 °C 😷\r\nsecond\n";
        for encoding in [
            "",
            "windows-1252",
            "utf-8",
            "utf-8,windows-1252",
            "shift_jis",
        ] {
            let encoding = if encoding.is_empty() {
                TextEncoding::default()
            } else {
                named(encoding)
            };
            assert_eq!(
                read(&utf16(text, false, true), &encoding).expect("LE"),
                text,
                "{encoding:?}"
            );
            assert_eq!(
                read(&utf16(text, true, true), &encoding).expect("BE"),
                text,
                "{encoding:?}"
            );
            // BRAT and Python count the UTF-8 mark as a character; line readers drop it.
            let marked = format!("\u{feff}{text}");
            assert_eq!(
                read(marked.as_bytes(), &encoding).expect("UTF-8"),
                marked,
                "{encoding:?}"
            );
        }
    }

    #[test]
    fn other_encodings_must_be_named() {
        let bytes = b"Fieber \x96 38 \xb0C\nFi\xe8vre\n";
        assert_eq!(
            read(bytes, &named("windows-1252")).expect("named"),
            "Fieber – 38 °C\nFièvre\n"
        );
        let error = read(bytes, &TextEncoding::default()).expect_err("no UTF-8");
        assert_eq!(error.kind(), Kind::Input);
        let message = error.to_string();
        assert!(
            message.contains("a.txt: expected UTF-8, found the byte 0x96 at byte 7 of line 1"),
            "{message}"
        );
        assert!(message.contains("--encoding windows-1252"), "{message}");
        let message = read(b"one\nFi\xe8vre\n", &TextEncoding::default())
            .expect_err("no UTF-8")
            .to_string();
        assert!(
            message.contains("found the byte 0xE8 at byte 2 of line 2"),
            "{message}"
        );
        let text = "Fever in ticks, 38.5 C.\n";
        for (big, name) in [(false, "UTF-16LE"), (true, "UTF-16BE")] {
            let bytes = utf16(text, big, false);
            let message = read(&bytes, &TextEncoding::default())
                .expect_err("no mark")
                .to_string();
            assert!(
                message.contains(name)
                    && message.contains(&format!("--encoding {}", name.to_lowercase())),
                "{message}"
            );
            assert_eq!(read(&bytes, &named(name)).expect("named"), text);
            for other in ["utf-8", "windows-1252", "utf-8,windows-1252"] {
                let message = read(&bytes, &named(other)).expect_err("zeros").to_string();
                assert!(message.contains(name), "{message}");
            }
        }
        let message = read(&utf16(text, false, false)[..7], &named("utf-16le"))
            .expect_err("half a letter")
            .to_string();
        assert!(
            message.contains("a.txt: line 1: expected UTF-16LE"),
            "{message}"
        );
        let message = read(b"a\nb\n\x81\x20\n", &named("shift_jis"))
            .expect_err("not Shift_JIS")
            .to_string();
        assert!(message.contains("line 3: expected Shift_JIS"), "{message}");
    }

    #[test]
    fn utf8_is_not_decoded_as_another_encoding() {
        let message = read("Sjögren\n".as_bytes(), &named("windows-1252"))
            .expect_err("UTF-8")
            .to_string();
        assert!(
            message.contains("found valid UTF-8")
                && message.contains("--encoding utf-8,windows-1252"),
            "{message}"
        );
        assert_eq!(
            read(b"ASCII alone", &named("windows-1252")).expect("the same in both"),
            "ASCII alone"
        );
        for (bytes, text) in [
            ("Sjögren".as_bytes(), "Sjögren"),
            (b"Sj\xf6gren", "Sjögren"),
        ] {
            assert_eq!(
                read(bytes, &named("utf-8,windows-1252")).expect("either"),
                text
            );
        }
        let message = read(b"\xff\x80", &named("utf-8,euc-kr"))
            .expect_err("neither")
            .to_string();
        assert!(
            message.contains("expected a text in UTF-8 or EUC-KR"),
            "{message}"
        );
        assert!(
            "utf-7"
                .parse::<TextEncoding>()
                .expect_err("unknown")
                .contains("expected an encoding such as")
        );
    }

    #[test]
    fn binary_files_are_recognised() {
        for (bytes, what) in [
            (&b"PK\x03\x04rest of it"[..], "a ZIP archive"),
            (b"%PDF-1.7", "a PDF"),
            (b"\xff\xfe\0\0a\0\0\0", "UTF-32"),
            (b"7z\xbc\xaf\x27\x1c", "gzip, bzip2, xz and zstd"),
        ] {
            let error = read(bytes, &TextEncoding::default()).expect_err(what);
            assert!(
                error.kind() == Kind::Input && error.to_string().contains(what),
                "{error}"
            );
        }
        assert_eq!(read(b"", &TextEncoding::default()).expect("empty"), "");
        assert_eq!(
            read(b"a", &named("utf-16le,windows-1252")).expect("short"),
            "a"
        );
    }

    #[test]
    fn long_texts_are_decoded() {
        let text = "Sjögren’s – 38.5 °C\n".repeat(20_000);
        assert_eq!(
            read(&utf16(&text, true, true), &TextEncoding::default()).expect("UTF-16"),
            text
        );
        let (bytes, _, unmappable) = encoding_rs::WINDOWS_1252.encode(&text);
        assert!(!unmappable);
        assert_eq!(
            read(&bytes, &named("windows-1252")).expect("Windows-1252"),
            text
        );
    }

    proptest! {
        #[test]
        fn utf16_round_trips(text in "\\PC{0,40}", big: bool) {
            prop_assert_eq!(
                read(&utf16(&text, big, true), &TextEncoding::default()).expect("marked"),
                text
            );
        }
    }
}
