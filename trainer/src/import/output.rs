//! The output folder of an import: its files appear together, when all of them are whole.

use crate::files::{io_error, write_whole};
use crate::outputs::{check_file, is_same};
use pel_shared::error::{Error, Result};
use std::io::Write;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// Files that are written in a hidden folder inside the target and renamed into it at the end.
#[derive(Debug)]
pub struct Output {
    target: PathBuf,
    /// `Some` until it is committed or dropped.
    staging: Option<TempDir>,
    names: Vec<String>,
    /// What the command reads, which is not written over.
    inputs: Vec<PathBuf>,
    /// The target did not exist before.
    made: bool,
}

impl Output {
    /// Makes the target folder if it is missing, and the hidden one in it. `inputs` are the files and folders that the command
    /// reads.
    ///
    /// # Errors
    /// If a folder cannot be made, or the target is a file or a folder that is read.
    pub fn new<'a>(target: &Path, inputs: impl IntoIterator<Item = &'a Path>) -> Result<Self> {
        let inputs: Vec<PathBuf> = inputs.into_iter().map(Path::to_owned).collect();
        if inputs.iter().any(|input| is_same(input, target)) {
            return Err(Error::input(format!("{}: this folder is an input; choose another --out", target.display())));
        }
        let made = !target.exists();
        std::fs::create_dir_all(target).map_err(|cause| io_error("making the folder", target, cause))?;
        let staging = tempfile::Builder::new().prefix(".pel-").suffix(".part").tempdir_in(target);
        let staging = staging.map_err(|cause| io_error("writing into the folder", target, cause));
        let mut output = Self { target: target.to_owned(), staging: None, names: Vec::new(), inputs, made };
        output.staging = Some(staging?);
        Ok(output)
    }

    /// Writes one file of the output, in a folder of it or not (`a/b.json`); it is in its place only after [`Output::commit`].
    ///
    /// # Errors
    /// If it would replace an input; as [`write_whole`], and what `write` gives.
    pub fn write(&mut self, name: &str, write: impl FnOnce(&mut dyn Write) -> Result<()>) -> Result<()> {
        check_file(&self.target.join(name), self.inputs.iter().map(PathBuf::as_path))?;
        let staging =
            self.staging.as_ref().ok_or_else(|| Error::io(format!("writing {name}: the output is closed")))?;
        write_whole(&staging.path().join(name), write)?;
        self.names.push(name.to_owned());
        Ok(())
    }

    /// Moves all files into place, over older ones of the same names.
    ///
    /// # Errors
    /// If a rename fails; the interruption of the user (nothing is moved then).
    pub fn commit(mut self) -> Result<()> {
        crate::interrupt::check()?;
        let Some(staging) = self.staging.take() else { return Ok(()) };
        for name in &self.names {
            let to = self.target.join(name);
            let folder = to.parent().unwrap_or(&self.target);
            std::fs::create_dir_all(folder).map_err(|cause| io_error("making the folder", folder, cause))?;
            std::fs::rename(staging.path().join(name), &to).map_err(|cause| io_error("writing", &to, cause))?;
        }
        Ok(())
    }
}

impl Drop for Output {
    fn drop(&mut self) {
        if let Some(staging) = self.staging.take() {
            // Nothing came of it: leave no trace. Neither removal can hurt if it fails; a folder is removed only if empty.
            drop(staging);
            if self.made {
                let _ = std::fs::remove_dir(&self.target);
            }
        }
    }
}

/// Writes one JSON value and a line feed.
///
/// # Errors
/// If it cannot be encoded or written.
pub fn write_line(out: &mut dyn Write, value: &impl serde::Serialize) -> Result<()> {
    let line = serde_json::to_string(value).map_err(|cause| Error::io("encoding JSON").caused_by(cause))?;
    writeln!(out, "{line}").map_err(|cause| Error::io("writing the output").caused_by(cause))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_appear_together_or_not_at_all() {
        let folder = tempfile::tempdir().expect("a folder");
        let target = folder.path().join("new");
        let mut output = Output::new(&target, []).expect("made");
        output.write("a.jsonl", |out| write_line(out, &1)).expect("written");
        assert!(output.write("b.jsonl", |_| Err(Error::input("line 3"))).is_err());
        drop(output);
        assert!(!target.exists());

        let mut output = Output::new(&target, []).expect("made");
        for name in ["a.jsonl", "b.jsonl"] {
            output.write(name, |out| write_line(out, &name)).expect("written");
        }
        output.commit().expect("moved");
        let mut names: Vec<_> =
            std::fs::read_dir(&target).expect("listed").map(|entry| entry.expect("read").file_name()).collect();
        names.sort();
        assert_eq!(names, ["a.jsonl", "b.jsonl"]);
        assert_eq!(std::fs::read_to_string(target.join("b.jsonl")).expect("read"), "\"b.jsonl\"\n");
    }

    #[test]
    fn a_file_is_no_output_folder_and_stays() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("taken");
        std::fs::write(&file, "mine").expect("written");
        let error = Output::new(&file, []).expect_err("it is a file");
        assert_eq!(error.kind(), pel_shared::error::Kind::Io);
        assert_eq!(std::fs::read_to_string(&file).expect("read"), "mine");
    }
}
