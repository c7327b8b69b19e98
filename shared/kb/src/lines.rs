//! Numbered lines of a text.

use crate::error::{Context, Error, Result};
use std::io::{self, BufRead, Chain, Cursor, ErrorKind, Read};

/// The largest line that is read.
#[derive(Clone, Copy, Debug)]
pub struct Longest<'a> {
    /// The number of bytes without the line end.
    pub bytes: usize,
    /// Advice for a longer line, appended to the error message: `; --max-input raises the limit`.
    pub remedy: &'a str,
}

impl Default for Longest<'_> {
    fn default() -> Self {
        Self {
            bytes: 64 << 20,
            remedy: "",
        }
    }
}

/// The number of bytes in which the kind of line ends is determined.
const HEAD: u64 = 64 << 10;

/// The lines of a text without their ends: LF, CRLF, or CR if the first bytes have a CR and no LF.
pub struct Lines<'a> {
    name: &'a str,
    reader: Chain<Cursor<Vec<u8>>, &'a mut dyn BufRead>,
    /// Whether lines end with CR, as in classic Mac OS.
    by_cr: bool,
    /// Whether the last line ended with CR, so that an LF here belongs to the same line end.
    after_cr: bool,
    /// The end of the last line as it stands in the text.
    end: &'static [u8],
    number: usize,
    longest: Longest<'a>,
}

impl<'a> Lines<'a> {
    /// The lines of a reader, at most as long as `longest`.
    ///
    /// # Errors
    /// If the first bytes cannot be read.
    pub fn new(name: &'a str, reader: &'a mut dyn BufRead, longest: Longest<'a>) -> Result<Self> {
        let mut head = Vec::new();
        (&mut *reader)
            .take(HEAD)
            .read_to_end(&mut head)
            .map_err(|cause| read_error(name, cause))?;
        let by_cr = head.contains(&b'\r') && !head.contains(&b'\n');
        let reader = Cursor::new(head).chain(reader);
        Ok(Self {
            name,
            reader,
            by_cr,
            after_cr: false,
            end: b"",
            number: 0,
            longest,
        })
    }

    /// Reads the next line into `line`; `false` at the end. A byte order mark at the start is
    /// dropped.
    ///
    /// # Errors
    /// If the text cannot be read, or the line is too long.
    pub fn next(&mut self, line: &mut Vec<u8>) -> Result<bool> {
        line.clear();
        self.end = b"";
        let read = if self.by_cr {
            self.read_to_cr(line)
        } else {
            self.read_to_lf(line)
        };
        if !read.map_err(|cause| read_error(self.name, cause))? {
            return Ok(false);
        }
        self.number += 1;
        let Longest { bytes, remedy } = self.longest;
        if line.len() > bytes {
            let name = self.name;
            let number = self.number;
            return Err(Error::input(format!(
                "{name}: line {number}: expected at most {bytes} bytes in one line, found \
                 more{remedy}"
            )));
        }
        if self.number == 1 && line.starts_with("\u{feff}".as_bytes()) {
            line.drain(..3);
        }
        Ok(true)
    }

    /// The number of the last line, counted from 1.
    pub fn number(&self) -> usize {
        self.number
    }

    /// The end of the last line as it stands in the text; empty for a last line without one.
    pub fn end(&self) -> &'static [u8] {
        self.end
    }

    fn read_to_lf(&mut self, line: &mut Vec<u8>) -> io::Result<bool> {
        // One byte above the limit shows that the line is too long; two more are for its end.
        let read = (&mut self.reader)
            .take((self.longest.bytes as u64).saturating_add(3))
            .read_until(b'\n', line)?;
        if line.last() == Some(&b'\n') {
            line.pop();
            self.end = b"\n";
            if line.last() == Some(&b'\r') {
                line.pop();
                self.end = b"\r\n";
            }
        } else if line.len() <= self.longest.bytes.saturating_add(1) && line.last() == Some(&b'\r')
        {
            line.pop();
            self.end = b"\r";
        }
        Ok(read > 0)
    }

    fn read_to_cr(&mut self, line: &mut Vec<u8>) -> io::Result<bool> {
        let mut any = false;
        while line.len() <= self.longest.bytes {
            let bytes = match self.reader.fill_buf() {
                Err(cause) if cause.kind() == ErrorKind::Interrupted => continue,
                other => other?,
            };
            let Some(first) = bytes.first() else {
                return Ok(any);
            };
            if std::mem::take(&mut self.after_cr) && *first == b'\n' {
                self.reader.consume(1);
                continue;
            }
            any = true;
            match bytes.iter().position(|byte| matches!(byte, b'\r' | b'\n')) {
                Some(at) => {
                    line.extend_from_slice(bytes.get(..at).unwrap_or_default());
                    self.after_cr = bytes.get(at) == Some(&b'\r');
                    self.end = if self.after_cr { b"\r" } else { b"\n" };
                    self.reader.consume(at + 1);
                    return Ok(true);
                }
                None => {
                    line.extend_from_slice(bytes);
                    let length = bytes.len();
                    self.reader.consume(length);
                }
            }
        }
        Ok(true)
    }
}

/// Calls `each` with the number (from 1) and text of every line, and `tick` before it. An error of
/// either ends the reading. Lines end with LF, CRLF, or CR in a text without LF at its start. A
/// byte order mark is dropped.
///
/// # Errors
/// The errors of reading, `tick` and `each`, with the name and line number, and lines that are
/// longer than [`Longest::default`].
pub fn for_each_line(
    name: &str,
    reader: &mut dyn BufRead,
    tick: &mut dyn FnMut() -> Result<()>,
    each: impl FnMut(usize, &str) -> Result<()>,
) -> Result<()> {
    for_each_line_within(name, reader, Longest::default(), tick, each)
}

/// As [`for_each_line`], with another limit on the bytes of a line.
///
/// # Errors
/// As [`for_each_line`].
pub fn for_each_line_within(
    name: &str,
    reader: &mut dyn BufRead,
    longest: Longest<'_>,
    tick: &mut dyn FnMut() -> Result<()>,
    mut each: impl FnMut(usize, &str) -> Result<()>,
) -> Result<()> {
    for_each_line_of_bytes(name, reader, longest, tick, |number, bytes| {
        each(number, line_text(bytes)?)
    })
}

/// As [`for_each_line_within`], for lines that need not be UTF-8.
///
/// # Errors
/// As [`for_each_line_within`].
pub fn for_each_line_of_bytes(
    name: &str,
    reader: &mut dyn BufRead,
    longest: Longest<'_>,
    tick: &mut dyn FnMut() -> Result<()>,
    mut each: impl FnMut(usize, &[u8]) -> Result<()>,
) -> Result<()> {
    tick()?;
    let mut lines = Lines::new(name, reader, longest)?;
    let mut buffer = Vec::new();
    while lines.next(&mut buffer)? {
        let number = lines.number();
        each(number, &buffer).context(|| format!("{name}: line {number}"))?;
        tick()?;
    }
    Ok(())
}

/// A line as text.
///
/// # Errors
/// If it is not UTF-8. The error names the first wrong byte.
pub fn line_text(bytes: &[u8]) -> Result<&str> {
    std::str::from_utf8(bytes)
        .map_err(|error| Error::input(not_utf8(bytes, error.valid_up_to(), "of the line")))
}

/// The message for bytes that are not UTF-8: the byte, its position, and what to do. `of` names the
/// text that the position refers to.
#[must_use]
pub fn not_utf8(bytes: &[u8], at: usize, of: &str) -> String {
    let byte = bytes.get(at).copied().unwrap_or_default();
    format!(
        "expected UTF-8, found the byte 0x{byte:02X} at byte {at} {of} \
         (name the encoding, for example --encoding windows-1252, or convert the file)"
    )
}

/// Adds the text's name to an error of its reader. An [`Error`] inside keeps its kind.
fn read_error(name: &str, cause: std::io::Error) -> Error {
    match cause.downcast::<Error>() {
        Ok(own) => own.context(name),
        Err(cause) => Error::io(format!("reading {name}")).caused_by(cause),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::BufReader;

    fn longest(bytes: usize) -> Longest<'static> {
        Longest {
            bytes,
            remedy: "; split it",
        }
    }

    fn lines_of(text: &str, capacity: usize) -> Vec<(usize, String)> {
        let mut lines = Vec::new();
        let mut reader = BufReader::with_capacity(capacity, text.as_bytes());
        for_each_line("a", &mut reader, &mut || Ok(()), |number, line| {
            lines.push((number, line.to_owned()));
            Ok(())
        })
        .expect("readable");
        lines
    }

    #[test]
    fn all_kinds_of_line_ends_are_read() {
        let cases: [(&str, &[&str]); 8] = [
            ("a\nb\r\n\r\nc", &["a", "b", "", "c"]),
            ("a\rb\r\rc", &["a", "b", "", "c"]),
            ("a\rb\r", &["a", "b"]),
            // With an LF in the text, a CR is an ordinary character.
            ("a\rb\nc\r\n", &["a\rb", "c"]),
            ("a\r\nb\r", &["a", "b"]),
            ("\u{feff}a\nb\u{feff}", &["a", "b\u{feff}"]),
            ("\n", &[""]),
            ("", &[]),
        ];
        for (text, expected) in cases {
            for capacity in [1, 3, 1000] {
                let lines = lines_of(text, capacity);
                assert_eq!(
                    lines
                        .iter()
                        .map(|(_, line)| line.as_str())
                        .collect::<Vec<_>>(),
                    expected,
                    "{text:?}"
                );
                assert!(
                    lines
                        .iter()
                        .enumerate()
                        .all(|(at, (number, _))| at + 1 == *number)
                );
            }
        }
    }

    #[test]
    fn cr_line_ends_are_read_after_the_first_bytes() {
        let text = format!(
            "{}\rlast\r\nend",
            "x".repeat(HEAD as usize + 10).replacen('x', "\r", 1)
        );
        let lines = lines_of(&text, 4096);
        assert_eq!(lines.len(), 4, "an empty line, the long one, and 2 more");
        assert_eq!((lines[2].1.as_str(), lines[3].1.as_str()), ("last", "end"));
    }

    #[test]
    fn too_long_line_is_an_error_with_its_number() {
        for text in ["ab\nabcd\n", "ab\rabcd\r", "ab\r\nabcd", "ab\nabcd\r\n"] {
            let mut reader = text.as_bytes();
            let mut lines = Lines::new("a.txt", &mut reader, longest(3)).expect("readable");
            let mut line = Vec::new();
            assert!(
                lines.next(&mut line).expect("short") && line == b"ab",
                "{text:?}"
            );
            let message = lines.next(&mut line).expect_err("long").to_string();
            assert_eq!(
                message,
                "a.txt: line 2: expected at most 3 bytes in one line, found more; split it"
            );
        }
        let mut reader = &b"abc\r\nabc"[..];
        let mut lines = Lines::new("a.txt", &mut reader, longest(3)).expect("readable");
        let mut line = Vec::new();
        assert!(lines.next(&mut line).expect("short") && line == b"abc");
        assert!(lines.next(&mut line).expect("short") && line == b"abc");
        assert!(!lines.next(&mut line).expect("the end"));
    }

    #[test]
    fn invalid_utf8_is_an_error_with_byte_and_position() {
        let mut reader = &b"one\nFi\xe8vre"[..];
        let message = for_each_line("a.txt", &mut reader, &mut || Ok(()), |_, _| Ok(()))
            .expect_err("invalid")
            .to_string();
        let expected = "a.txt: line 2: expected UTF-8, found the byte 0xE8 at byte 2 of the line";
        assert!(message.contains(expected), "{message}");
        assert!(message.contains("--encoding"), "{message}");
    }

    #[test]
    fn line_limit_is_inclusive() {
        let read = |bytes: usize| {
            let mut seen = Vec::new();
            let text = &mut &b"one\nthree\n"[..];
            let done =
                for_each_line_within("a.txt", text, longest(bytes), &mut || Ok(()), |_, line| {
                    seen.push(line.to_owned());
                    Ok(())
                });
            (seen, done.err().map(|error| error.to_string()))
        };
        assert_eq!(read(5), (vec!["one".to_owned(), "three".to_owned()], None));
        let message =
            "a.txt: line 2: expected at most 4 bytes in one line, found more; split it".to_owned();
        assert_eq!(read(4), (vec!["one".to_owned()], Some(message)));
        assert_eq!(read(usize::MAX).1, None);
    }
}
