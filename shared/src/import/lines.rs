//! Lines with their numbers.

use super::read_error;
use crate::error::{Context, Error, Result};
use std::io::{BufRead, Read};

/// How long a line may be that is read as a record.
#[derive(Clone, Copy, Debug)]
pub struct Longest<'a> {
    /// Its bytes, the line end included.
    pub bytes: usize,
    /// What whoever has a longer one can do, if anything, as the end of a sentence: `; --more raises the limit`.
    pub remedy: &'a str,
}

impl Default for Longest<'_> {
    fn default() -> Self {
        Self { bytes: 64 << 20, remedy: "" }
    }
}

/// Calls `each` with every line (without its end, LF or CRLF) and its number, from 1; before it `tick`, whose error ends the
/// reading. A byte order mark is dropped.
///
/// # Errors
/// What reading, `tick` or `each` gives, with the name and the line.
pub fn for_each_line(
    name: &str,
    reader: &mut dyn BufRead,
    tick: &mut dyn FnMut() -> Result<()>,
    each: impl FnMut(usize, &str) -> Result<()>,
) -> Result<()> {
    for_each_line_within(name, reader, Longest::default(), tick, each)
}

/// As [`for_each_line`], with another bound on the bytes of a line.
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
    let Longest { bytes: longest, remedy } = longest;
    let mut buffer = Vec::new();
    for number in 1.. {
        tick()?;
        buffer.clear();
        let read = (&mut *reader).take((longest as u64).saturating_add(1)).read_until(b'\n', &mut buffer);
        let read = read.map_err(|cause| read_error(name, cause))?;
        if read == 0 {
            break;
        }
        if read > longest {
            return Err(Error::input(format!(
                "{name}: line {number}: expected at most {longest} bytes in one line, found more{remedy}"
            )));
        }
        let line = std::str::from_utf8(&buffer).map_err(|error| {
            let byte = error.valid_up_to();
            Error::input(format!(
                "{name}: line {number}: expected UTF-8, found another encoding at byte {byte} of the line"
            ))
        })?;
        let line = line.strip_suffix('\n').unwrap_or(line);
        let line = line.strip_suffix('\r').unwrap_or(line);
        let line = if number == 1 { line.strip_prefix('\u{feff}').unwrap_or(line) } else { line };
        each(number, line).context(|| format!("{name}: line {number}"))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_read_up_to_its_bound() {
        let read = |longest: usize| {
            let mut seen = Vec::new();
            let longest = Longest { bytes: longest, remedy: "; split it" };
            let done = for_each_line_within("a.txt", &mut &b"one\nthree\n"[..], longest, &mut || Ok(()), |_, line| {
                seen.push(line.to_owned());
                Ok(())
            });
            (seen, done.err().map(|error| error.to_string()))
        };
        // Line ends are counted.
        assert_eq!(read(6), (vec!["one".to_owned(), "three".to_owned()], None));
        let said = "a.txt: line 2: expected at most 5 bytes in one line, found more; split it".to_owned();
        assert_eq!(read(5), (vec!["one".to_owned()], Some(said)));
        assert_eq!(read(usize::MAX).1, None);
    }
}
