//! Errors of the operating system, with the path concerned.

use crate::limits::find_exceeded_limit;
use pel_kb::error::Error;
use std::io;
use std::path::Path;

/// Converts an error of the operating system, naming the action and the file.
pub fn io_error(doing: &str, path: &Path, cause: io::Error) -> Error {
    if cause
        .get_ref()
        .is_some_and(|inner| inner.is::<InterruptedByUser>())
    {
        return Error::interrupted();
    }
    if let Some(exceeded) = find_exceeded_limit(&cause) {
        return exceeded.error(path.display());
    }
    Error::io(format!("{doing} {}", path.display())).caused_by(cause)
}

/// Converts an error of listing a folder.
pub fn walk_error(folder: &Path, cause: walkdir::Error) -> Error {
    let at = cause.path().unwrap_or(folder).to_owned();
    match cause.into_io_error() {
        Some(cause) => io_error("listing", &at, cause),
        None => Error::input(format!(
            "{}: expected no cycle of links, found a link to a folder around it",
            at.display()
        )),
    }
}

/// The user has interrupted a read or write.
#[derive(Debug)]
pub(crate) struct InterruptedByUser;

impl std::fmt::Display for InterruptedByUser {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("stopped")
    }
}

impl std::error::Error for InterruptedByUser {}
