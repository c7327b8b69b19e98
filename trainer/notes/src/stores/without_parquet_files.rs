//! Replaces `parquet` in a build without the cargo feature `stores`.

use super::{BUILD_HINT, Written};
use pel_kb::error::{Error, Result};
use pel_linker::bundle::Bundle;
use std::path::Path;

/// Rows of a file in a folder.
pub const ROWS_PER_FILE: u32 = 1_000_000;

/// Refuses: this build cannot write Parquet.
///
/// # Errors
/// Always.
pub fn write(_: &Bundle, _: &Path, _: u32) -> Result<Written> {
    Err(Error::usage(format!(
        "this build of pel writes no Parquet files; {BUILD_HINT}"
    )))
}
