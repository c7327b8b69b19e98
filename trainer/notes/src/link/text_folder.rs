//! A folder with the texts that links refer to: `--text-out`.

use pel_io::files::{io_error, write_atomic};
use pel_kb::error::{Error, Result};
use std::collections::HashSet;
use std::path::{Component, Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// A folder with a file for the text of each note.
#[derive(Debug)]
pub struct TextFolder {
    folder: PathBuf,
    /// The files that were written.
    written: Mutex<HashSet<PathBuf>>,
}

impl TextFolder {
    /// A folder, which need not exist.
    #[must_use]
    pub fn new(folder: PathBuf) -> Self {
        Self {
            folder,
            written: Mutex::default(),
        }
    }

    /// Writes the text of a note to `NAME.txt`.
    ///
    /// # Errors
    /// If the file cannot be written, or another note has the same name.
    pub(crate) fn write(&self, name: &str, text: &str) -> Result<()> {
        let path = self.folder.join(file_name(name));
        let mut written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        if !written.insert(path.clone()) {
            return Err(Error::input(format!(
                "--text-out: another note has the name {name}, so {} would be both",
                path.display()
            )));
        }
        drop(written);
        write_atomic(&path, |file| {
            file.write_all(text.as_bytes())
                .map_err(|cause| io_error("writing", &path, cause))
        })
    }
}

/// The file of a note below the folder. A name that would leave it, or that no file can have, is
/// written with `_`.
fn file_name(name: &str) -> PathBuf {
    let plain = |c: char| match c {
        ':' | '*' | '?' | '"' | '<' | '>' | '|' | '\\' => '_',
        c if c.is_control() => '_',
        c => c,
    };
    let name: String = name.chars().map(plain).collect();
    let parts = Path::new(&name).components();
    let safe: PathBuf = parts
        .map(|part| match part {
            Component::Normal(part) => PathBuf::from(part),
            _ => PathBuf::from("_"),
        })
        .collect();
    let mut file = safe.into_os_string();
    file.push(".txt");
    file.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stay_below_the_folder() {
        for (name, expected) in [
            ("ward/note 1", "ward/note 1.txt"),
            ("in:3", "in_3.txt"),
            ("../a", "_/a.txt"),
            ("/etc/a", "_/etc/a.txt"),
            ("d1#2", "d1#2.txt"),
        ] {
            assert_eq!(file_name(name), Path::new(expected), "{name}");
        }
    }

    #[test]
    fn texts_are_written_once() {
        let folder = tempfile::tempdir().expect("a folder");
        let texts = TextFolder::new(folder.path().join("texts"));
        texts.write("ward/a", "Gout.").expect("written");
        let path = folder.path().join("texts/ward/a.txt");
        assert_eq!(std::fs::read_to_string(path).expect("there"), "Gout.");
        let error = texts
            .write("ward/a", "Fever.")
            .expect_err("twice")
            .to_string();
        assert!(error.starts_with("--text-out: another note"), "{error}");
    }
}
