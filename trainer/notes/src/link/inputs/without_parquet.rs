//! Replaces `parquet` in a build without the cargo feature `parquet`.

use super::{Each, ReadOptions};
use pel_kb::error::{Error, Result};
use std::path::Path;

/// Refuses: this build cannot read Parquet.
///
/// # Errors
/// Always.
pub(super) fn read(path: &Path, _: &ReadOptions, _: &mut Each<'_>) -> Result<()> {
    Err(Error::usage(format!(
        "{}: this build of pel reads no Parquet files; {}",
        path.display(),
        crate::link::PARQUET_HINT
    )))
}
