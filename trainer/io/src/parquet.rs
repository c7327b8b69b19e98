//! What the writers of Parquet files share.

use crate::files::io_error;
use parquet::errors::ParquetError;
use pel_kb::error::{Error, Result};
use std::io::{self, Write};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

/// The error of a Parquet writer.
pub fn failed(cause: ParquetError) -> Error {
    Error::io("writing Parquet").caused_by(cause)
}

/// What the writer has written and the file has not. The writer wants one that threads can share.
#[derive(Clone, Default)]
pub struct SharedBuffer(Arc<Mutex<Vec<u8>>>);

impl SharedBuffer {
    /// Moves the bytes to the file.
    ///
    /// # Errors
    /// If the file cannot be written. The error names its path.
    pub fn drain(&self, file: &mut dyn Write, path: &Path) -> Result<()> {
        let mut bytes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        file.write_all(&bytes)
            .map_err(|cause| io_error("writing", path, cause))?;
        bytes.clear();
        Ok(())
    }
}

impl Write for SharedBuffer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
