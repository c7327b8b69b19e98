//! Errors of the operating system, with the file that they are about.

use crate::io::limits::overrun;
use pel_shared::error::Error;
use std::io;
use std::path::Path;

/// Names the file in an error of the operating system.
pub fn io_error(doing: &str, path: &Path, cause: io::Error) -> Error {
    if cause.get_ref().is_some_and(|inner| inner.is::<Stopped>()) {
        return Error::interrupted();
    }
    if let Some(overrun) = overrun(&cause) {
        return overrun.error(path.display());
    }
    Error::io(format!("{doing} {}", path.display())).caused_by(cause)
}

/// Why a folder, or what lies in it, could not be listed.
pub fn walk_error(folder: &Path, cause: walkdir::Error) -> Error {
    let at = cause.path().unwrap_or(folder).to_owned();
    match cause.into_io_error() {
        Some(cause) => io_error("listing", &at, cause),
        None => Error::input(format!("{}: a link that leads back into its own folder", at.display())),
    }
}

/// The user has ended the waiting.
#[derive(Debug)]
pub(crate) struct Stopped;

impl std::fmt::Display for Stopped {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("stopped")
    }
}

impl std::error::Error for Stopped {}
