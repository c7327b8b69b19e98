//! Lines with their numbers.

use super::read_error;
use crate::error::{Context, Error, Result};
use std::io::{BufRead, Read};

/// The longest line that is read as a record, in bytes.
const LONGEST: usize = 64 << 20;

/// Calls `each` with every line (without its end, LF or CRLF) and its number, from 1; before it `tick`, whose error ends the
/// reading. A byte order mark is dropped.
///
/// # Errors
/// What reading, `tick` or `each` gives, with the name and the line.
pub fn for_each_line(
    name: &str,
    reader: &mut dyn BufRead,
    tick: &mut dyn FnMut() -> Result<()>,
    mut each: impl FnMut(usize, &str) -> Result<()>,
) -> Result<()> {
    let mut buffer = Vec::new();
    for number in 1.. {
        tick()?;
        buffer.clear();
        let read = (&mut *reader).take(LONGEST as u64 + 1).read_until(b'\n', &mut buffer);
        let read = read.map_err(|cause| read_error(name, cause))?;
        if read == 0 {
            break;
        }
        if read > LONGEST {
            return Err(Error::input(format!("{name}: line {number} is longer than 64 MiB")));
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
