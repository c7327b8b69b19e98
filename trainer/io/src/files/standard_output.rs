//! Standard output, whose reader may close it.

use crate::partial_files;
use crate::signals;
use pel_kb::error::{Error, Result};
use std::io::{self, BufWriter, Write};

/// Buffered standard output. If its reader has closed it (`| head`), the process ends with exit
/// code 0.
pub struct StandardOutput(BufWriter<io::StdoutLock<'static>>);

impl StandardOutput {
    /// Locks standard output.
    pub fn new() -> Self {
        Self(BufWriter::with_capacity(1 << 16, io::stdout().lock()))
    }

    /// Flushes the buffer.
    ///
    /// # Errors
    /// If it cannot be written, as on a full disk.
    pub fn finish(mut self) -> Result<()> {
        self.flush()
            .map_err(|cause| Error::io("writing to standard output").caused_by(cause))
    }
}

impl Default for StandardOutput {
    fn default() -> Self {
        Self::new()
    }
}

/// Ends the process if the reader has closed standard output.
fn gone<T>(written: io::Result<T>) -> io::Result<T> {
    match written {
        Err(cause) if cause.kind() == io::ErrorKind::BrokenPipe => {
            partial_files::remove_all();
            signals::end(0)
        }
        other => other,
    }
}

impl Write for StandardOutput {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        gone(self.0.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        gone(self.0.flush())
    }
}

/// Prints text that is already escaped ([`pel_kb::clean`]). A closed pipe ends the process with
/// exit code 0.
///
/// # Errors
/// If it cannot be written, as on a full disk.
pub fn print(text: &str) -> Result<()> {
    let mut out = StandardOutput::new();
    out.write_all(text.as_bytes())
        .map_err(|cause| Error::io("writing to standard output").caused_by(cause))?;
    out.finish()
}
