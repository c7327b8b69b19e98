//! What a command may write: never over its own input, never into a folder of somebody else's.

mod guard;
mod identity;

pub use guard::{Inputs, Writes};
pub use identity::{behind_links, is_same};

use crate::io::files::{io_error, walk_error};
use crate::io::staging::is_staged;
use pel_shared::error::{Error, Result};
use std::path::{Path, PathBuf};

/// Refuses a file to be written that is a folder, or one of some inputs. Commands ask [`Inputs::check`] once; this is for files whose
/// names are known only when they are written.
///
/// # Errors
/// If it is one; the inputs' own errors are left to those who read them.
pub fn check_file<'a>(out: &Path, inputs: impl IntoIterator<Item = &'a Path>) -> Result<()> {
    Inputs::new().files(inputs).check([Writes::File(out)])
}

/// Refuses a folder to be written whole that already holds something.
///
/// # Errors
/// If it does (the first entry is named), if it is a file, or a path without a name of its own.
pub fn check_new_folder(out: &Path) -> Result<()> {
    if out.file_name().is_none() {
        return Err(Error::input(format!("{}: expected the name of a folder to make", out.display())));
    }
    if out.exists() && !out.is_dir() {
        return Err(Error::input(format!("{}: expected a folder to write into, found a file", out.display())));
    }
    // What a killed run of ours has left is swept before the folder is written into.
    match entries(out)?.iter().find(|name| !is_staged(name)) {
        Some(found) => Err(Error::input(format!(
            "{}: expected a new or empty folder to write into, found {found} in it",
            out.display()
        ))),
        None => Ok(()),
    }
}

/// The names in a folder, sorted; none if it is not there.
///
/// # Errors
/// If it cannot be read.
pub fn entries(folder: &Path) -> Result<Vec<String>> {
    if !folder.is_dir() {
        return Ok(Vec::new());
    }
    let failed = |cause| io_error("reading the folder", folder, cause);
    let entries = std::fs::read_dir(folder).map_err(failed)?;
    let names = entries.map(|entry| Ok(entry.map_err(failed)?.file_name().to_string_lossy().into_owned()));
    let mut names = names.collect::<Result<Vec<_>>>()?;
    names.sort_unstable();
    Ok(names)
}

/// The files that an input is read from: itself, or what lies in its folder and in the folders there.
///
/// # Errors
/// If a folder cannot be read.
pub fn files_of(input: &Path) -> Result<Vec<PathBuf>> {
    if !input.is_dir() {
        return Ok(vec![input.to_owned()]);
    }
    let mut files = Vec::new();
    // A link that leads back into its own folder is an error, not an endless walk.
    for entry in walkdir::WalkDir::new(input).follow_links(true).sort_by_file_name() {
        let entry = entry.map_err(|cause| walk_error(input, cause))?;
        if !entry.file_type().is_dir() {
            files.push(entry.into_path());
        }
    }
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_to_be_written_whole_is_new_or_empty() {
        let folder = tempfile::tempdir().expect("a folder");
        let refused = |out: &Path| check_new_folder(out).err().map(|error| error.to_string());
        assert_eq!(refused(&folder.path().join("new")), None);
        assert_eq!(refused(folder.path()), None);
        std::fs::write(folder.path().join("chapter.md"), "mine").expect("written");
        assert!(refused(folder.path()).is_some_and(|why| why.contains("found chapter.md in it")));
        assert!(refused(&folder.path().join("chapter.md")).is_some_and(|why| why.contains("found a file")));
        for unnamed in ["..", "/"] {
            assert!(refused(Path::new(unnamed)).is_some_and(|why| why.contains("the name of a folder")), "{unnamed}");
        }
    }
}
