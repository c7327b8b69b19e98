//! Checks before writing: no output overwrites an input or a foreign folder. Also writes the files
//! of an output folder together.

mod folder;
mod overwrite_check;
mod transaction;

pub use crate::file_identity::{behind_links, is_same};
pub use folder::{OutputFolder, write_line};
pub use overwrite_check::{Inputs, Output};
pub use transaction::{check_complete, roll_back};

use crate::files::listing::entries;
use crate::partial_files::is_partial;
use pel_kb::error::{Error, Result};
use std::path::Path;

/// Refuses an output folder that is not empty.
///
/// # Errors
/// If it has an entry (the first is named), is a file, or has no name of its own.
pub fn check_new_folder(out: &Path) -> Result<()> {
    if out.file_name().is_none() {
        return Err(Error::input(format!(
            "{}: expected the name of a folder to make",
            out.display()
        )));
    }
    if out.exists() && !out.is_dir() {
        return Err(Error::input(format!(
            "{}: expected a folder to write into, found a file",
            out.display()
        )));
    }
    // Partial files of a killed run are removed before writing.
    match entries(out)?.iter().find(|name| !is_partial(name)) {
        Some(found) => Err(Error::input(format!(
            "{}: expected a new or empty folder to write into, found {found} in it",
            out.display()
        ))),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_folder_must_be_new_or_empty() {
        let folder = tempfile::tempdir().expect("a folder");
        let refused = |out: &Path| check_new_folder(out).err().map(|error| error.to_string());
        assert_eq!(refused(&folder.path().join("new")), None);
        assert_eq!(refused(folder.path()), None);
        std::fs::write(folder.path().join("chapter.md"), "mine").expect("written");
        assert!(refused(folder.path()).is_some_and(|why| why.contains("found chapter.md in it")));
        assert!(
            refused(&folder.path().join("chapter.md"))
                .is_some_and(|why| why.contains("found a file"))
        );
        for unnamed in ["..", "/"] {
            assert!(
                refused(Path::new(unnamed)).is_some_and(|why| why.contains("the name of a folder")),
                "{unnamed}"
            );
        }
    }
}
