//! Lists the contents of folders.

use crate::errors::{io_error, walk_error};
use pel_kb::error::Result;
use std::path::{Path, PathBuf};

/// The sorted names in a folder; empty if it does not exist.
///
/// # Errors
/// If it cannot be read.
pub fn entries(folder: &Path) -> Result<Vec<String>> {
    if !folder.is_dir() {
        return Ok(Vec::new());
    }
    let failed = |cause| io_error("reading the folder", folder, cause);
    let entries = std::fs::read_dir(folder).map_err(failed)?;
    let names = entries.map(|entry| {
        Ok(entry
            .map_err(failed)?
            .file_name()
            .to_string_lossy()
            .into_owned())
    });
    let mut names = names.collect::<Result<Vec<_>>>()?;
    names.sort_unstable();
    Ok(names)
}

/// The files of an input: itself, or all files below its folder.
///
/// # Errors
/// If a folder cannot be read.
pub fn list_files(input: &Path) -> Result<Vec<PathBuf>> {
    if !input.is_dir() {
        return Ok(vec![input.to_owned()]);
    }
    let mut files = Vec::new();
    // `walkdir` reports a cycle of links as an error.
    for entry in walkdir::WalkDir::new(input)
        .follow_links(true)
        .sort_by_file_name()
    {
        let entry = entry.map_err(|cause| walk_error(input, cause))?;
        if !entry.file_type().is_dir() {
            files.push(entry.into_path());
        }
    }
    Ok(files)
}
