//! Line ends made uniform, so that a reader of quoted rows counts lines right.

use std::io::{self, BufRead, Read};

/// Passes text on with LF in place of CRLF, and one at the end. (The `csv` crate takes the LF of a CRLF for a part of
/// the next row and then names the line before.)
pub struct UnixLines<R> {
    inner: R,
    line: Vec<u8>,
    passed: usize,
}

impl<R: BufRead> UnixLines<R> {
    /// Around a reader.
    pub fn new(inner: R) -> Self {
        Self { inner, line: Vec::new(), passed: 0 }
    }
}

impl<R: BufRead> Read for UnixLines<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.passed == self.line.len() {
            self.passed = 0;
            self.line.clear();
            if self.inner.read_until(b'\n', &mut self.line)? > 0 {
                let bare = self.line.strip_suffix(b"\n").unwrap_or(&self.line);
                let length = bare.strip_suffix(b"\r").unwrap_or(bare).len();
                self.line.truncate(length);
                self.line.push(b'\n');
            }
        }
        let count = self.line.get(self.passed..).unwrap_or_default().read(into)?;
        self.passed += count;
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_ends_become_line_feeds() {
        for (text, expected) in
            [("a\r\nb\n\r\nc\rd\r\r\ne", "a\nb\n\nc\rd\r\ne\n"), ("", ""), ("\r\n", "\n"), ("x\r", "x\n")]
        {
            let mut whole = String::new();
            UnixLines::new(text.as_bytes()).read_to_string(&mut whole).expect("read");
            assert_eq!(whole, expected);
            // A buffer of one byte gives the same.
            let mut single = io::BufReader::with_capacity(1, UnixLines::new(text.as_bytes()));
            let mut bytes = Vec::new();
            single.read_to_end(&mut bytes).expect("read");
            assert_eq!(bytes, expected.as_bytes());
        }
    }
}
