//! What a command may write over: never its own input, never a folder of somebody else's.

use crate::files::io_error;
use pel_shared::error::{Error, Result};
use std::path::{Path, PathBuf};

/// Refuses a file to be written that is a folder, or an input of the same command. To be asked before the work begins.
///
/// # Errors
/// If it is one; the inputs' own errors are left to those who read them.
pub fn check_file<'a>(out: &Path, inputs: impl IntoIterator<Item = &'a Path>) -> Result<()> {
    if out.is_dir() {
        return Err(Error::input(format!("{}: expected a file to write, found a folder", out.display())));
    }
    match inputs.into_iter().any(|input| is_same(out, input)) {
        true => Err(is_input(out)),
        false => Ok(()),
    }
}

/// The error of an output that is an input.
pub fn is_input(out: &Path) -> Error {
    Error::input(format!("{}: this is an input; choose another place to write to", out.display()))
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
    match entries(out)?.first() {
        Some(found) => Err(Error::input(format!(
            "{}: expected a new or empty folder to write into, found {found} in it",
            out.display()
        ))),
        None => Ok(()),
    }
}

/// Whether two paths mean one file or folder that is there.
pub fn is_same(one: &Path, other: &Path) -> bool {
    one.canonicalize().is_ok_and(|one| other.canonicalize().is_ok_and(|other| one == other))
}

/// The file or folder that a path means: behind links, also behind one that leads nowhere yet.
pub fn behind_links(path: &Path) -> PathBuf {
    if let Ok(real) = path.canonicalize() {
        return real;
    }
    match std::fs::read_link(path) {
        Ok(to) => path.parent().unwrap_or(Path::new("")).join(to),
        Err(_) => path.to_owned(),
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
    for name in entries(input)? {
        files.extend(files_of(&input.join(name))?);
    }
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_input_is_no_output_under_any_name() {
        let folder = tempfile::tempdir().expect("a folder");
        let (input, other) = (folder.path().join("note.txt"), folder.path().join("other.txt"));
        std::fs::write(&input, "fever").expect("written");
        let inside = folder.path().join("in");
        std::fs::create_dir(&inside).expect("made");
        let refused = |out: &Path| check_file(out, [input.as_path()]).err().map(|error| error.to_string());
        assert_eq!(refused(&other), None);
        for same in [input.clone(), inside.join("../note.txt")] {
            assert!(refused(&same).is_some_and(|why| why.contains("this is an input")), "{same:?}");
        }
        assert!(refused(&inside).is_some_and(|why| why.contains("found a folder")));
        assert!(refused(Path::new("nowhere/note.txt")).is_none());
    }

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
