//! The output folder of an import. Its files appear together once all are complete. They replace
//! only files of an earlier run, listed in its record. A killed process leaves either the old or
//! the new files ([`super::transaction`]).

use super::overwrite_check::check_file;
use super::transaction::{Pending, Plan, is_inside, recover};
use crate::errors::io_error;
use crate::file_identity::is_same;
use crate::files::write_atomic;
use crate::json;
use crate::partial_files::CreatedFolder;
use pel_kb::error::{Error, Result};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Files written to a hidden folder inside the target and moved into the target by
/// [`OutputFolder::commit`].
#[derive(Debug)]
pub struct OutputFolder {
    target: PathBuf,
    /// `None` after commit or drop.
    pending: Option<Pending>,
    names: Vec<String>,
    /// The record of the run, such as `import.json`, which lists its files.
    record: &'static str,
    earlier: BTreeSet<String>,
    /// Paths that the command reads and must not overwrite.
    inputs: Vec<PathBuf>,
    /// Files of earlier runs to remove.
    removed: Vec<&'static str>,
    /// Set if this run created the target.
    made: Option<CreatedFolder>,
}

impl OutputFolder {
    /// Creates the target if missing, and the hidden folder. First completes or removes the work of
    /// a killed process. `record` is the file name of the run's record; `inputs` are the paths that
    /// the command reads.
    ///
    /// # Errors
    /// If a folder cannot be created, the target is a file or an input, or another process is
    /// moving files into it.
    pub fn new<'a>(
        target: &Path,
        record: &'static str,
        inputs: impl IntoIterator<Item = &'a Path>,
    ) -> Result<Self> {
        let inputs: Vec<PathBuf> = inputs.into_iter().map(Path::to_owned).collect();
        if inputs.iter().any(|input| is_same(input, target)) {
            return Err(Error::input(format!(
                "{}: this folder is an input; choose another --out",
                target.display()
            )));
        }
        let made = (!target.exists()).then(|| CreatedFolder::new(target));
        std::fs::create_dir_all(target)
            .map_err(|cause| io_error("making the folder", target, cause))?;
        recover(target)?;
        let pending = Pending::new(target);
        let earlier = recorded_files(&target.join(record));
        let (target, names) = (target.to_owned(), Vec::new());
        let mut output = Self {
            target,
            pending: None,
            names,
            record,
            earlier,
            inputs,
            removed: Vec::new(),
            made,
        };
        output.pending = Some(pending?);
        Ok(output)
    }

    /// A folder for temporary files, removed when this value is committed or dropped, or by the
    /// next process after a kill.
    ///
    /// # Errors
    /// If it cannot be created.
    pub fn scratch(&self) -> Result<PathBuf> {
        match &self.pending {
            Some(pending) => pending.scratch(),
            None => Err(Error::io("making a temporary folder: the output is closed")),
        }
    }

    /// Writes an output file; `name` may contain folders. It reaches its place at
    /// [`OutputFolder::commit`]. Returns what `write` returns.
    ///
    /// # Errors
    /// If it would replace an input or a file of no earlier run, or `write` or the file system
    /// fails.
    pub fn write<T>(
        &mut self,
        name: &str,
        write: impl FnOnce(&mut dyn Write) -> Result<T>,
    ) -> Result<T> {
        let to = self.target.join(name);
        // A file of an earlier run is not an input, even inside a folder that is read.
        let ours = self.earlier.contains(name);
        check_file(
            &to,
            self.inputs
                .iter()
                .map(PathBuf::as_path)
                .filter(|input| !(ours && input.is_dir())),
        )?;
        if to.exists() && !self.earlier.contains(name) {
            let (to, record) = (to.display(), self.record);
            return Err(Error::input(format!(
                "{to}: expected a new folder, or one whose {record} lists this file; choose \
                 another --out"
            )));
        }
        let closed = || Error::io(format!("writing {name}: the output is closed"));
        let pending = self.pending.as_ref().ok_or_else(closed)?;
        let mut value = None;
        write_atomic(&pending.place(name), |out| {
            value = Some(write(out)?);
            Ok(())
        })?;
        self.names.push(name.to_owned());
        value.ok_or_else(closed)
    }

    /// Removes a file of an earlier run at [`OutputFolder::commit`], unless it is written again.
    pub fn remove_earlier(&mut self, name: &'static str) {
        self.removed.push(name);
    }

    /// Writes the record, `content` with the names of all files, and moves the files into place.
    ///
    /// Files of an earlier run with the same stem as a new file are removed: `mentions.dev.jsonl`
    /// beside a new `mentions.train.jsonl` belongs to other documents.
    ///
    /// # Errors
    /// If a file cannot be written or moved, or after an interrupt, which moves nothing.
    pub fn commit(mut self, content: &impl Serialize) -> Result<()> {
        crate::interrupt::check()?;
        let record = self.record;
        let names: BTreeSet<&str> = self
            .names
            .iter()
            .map(String::as_str)
            .chain([record])
            .collect();
        let is_stale = |file: &str| {
            let same_stem = || names.iter().any(|name| file_stem(name) == file_stem(file));
            !names.contains(file) && (self.removed.contains(&file) || same_stem())
        };
        let (stale, others): (Vec<String>, Vec<String>) = self
            .earlier
            .iter()
            .cloned()
            .partition(|file| is_stale(file));
        let files = names
            .into_iter()
            .chain(others.iter().map(String::as_str))
            .collect::<BTreeSet<_>>();
        let mut text = json::pretty(&Record { files, content })?;
        text.push('\n');
        self.write(record, |out| {
            out.write_all(text.as_bytes())
                .map_err(|cause| Error::io(format!("writing {record}")).caused_by(cause))
        })?;
        let Some(pending) = self.pending.take() else {
            return Ok(());
        };
        // The files are moved together, even after an interrupt.
        let _finishing = crate::interrupt::critical_section();
        let is_input = |file: &Path| self.inputs.iter().any(|input| is_same(input, file));
        let stale = stale
            .into_iter()
            .filter(|file| !is_input(&self.target.join(file)))
            .collect();
        pending.commit(&Plan {
            files: self.names.clone(),
            stale,
        })
    }
}

#[derive(Serialize)]
struct Record<'a, T> {
    files: BTreeSet<&'a str>,
    #[serde(flatten)]
    content: &'a T,
}

/// The stem of a file name: everything before the first dot.
fn file_stem(name: &str) -> &str {
    name.split('.').next().unwrap_or(name)
}

/// The files listed by a record inside its folder. Empty if there is no valid record.
fn recorded_files(record: &Path) -> BTreeSet<String> {
    #[derive(Deserialize)]
    struct Files {
        files: BTreeSet<String>,
    }
    let text = std::fs::read(record).unwrap_or_default();
    let files = serde_json::from_slice(&text)
        .map(|Files { files }| files)
        .unwrap_or_default();
    files.into_iter().filter(|file| is_inside(file)).collect()
}

impl Drop for OutputFolder {
    fn drop(&mut self) {
        if let Some(pending) = self.pending.take() {
            // A failed removal is harmless. A folder is removed only if empty.
            pending.abandon();
            if self.made.is_some() {
                let _ = std::fs::remove_dir(&self.target);
            }
        }
    }
}

/// Writes a JSON value and a line feed.
///
/// # Errors
/// If it cannot be encoded or written.
pub fn write_line(out: &mut dyn Write, value: &impl serde::Serialize) -> Result<()> {
    let line = json::compact(value)?;
    writeln!(out, "{line}").map_err(|cause| Error::io("writing the output").caused_by(cause))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::entries;
    use serde_json::json;

    #[test]
    fn files_appear_together_or_not_at_all() {
        let folder = tempfile::tempdir().expect("a folder");
        let target = folder.path().join("new");
        let open = || OutputFolder::new(&target, "import.json", []).expect("made");
        let mut output = open();
        output
            .write("a.jsonl", |out| write_line(out, &1))
            .expect("written");
        assert!(
            output
                .write::<()>("b.jsonl", |_| Err(Error::input("line 3")))
                .is_err()
        );
        drop(output);
        assert!(!target.exists());

        let mut output = open();
        for name in ["a.jsonl", "b.jsonl"] {
            output
                .write(name, |out| write_line(out, &name))
                .expect("written");
        }
        output.commit(&json!({ "kept": 2 })).expect("moved");
        assert_eq!(
            entries(&target).expect("listed"),
            ["a.jsonl", "b.jsonl", "import.json"]
        );
        assert_eq!(
            std::fs::read_to_string(target.join("b.jsonl")).expect("read"),
            "\"b.jsonl\"\n"
        );
    }

    #[test]
    fn only_files_of_earlier_runs_are_replaced() {
        let folder = tempfile::tempdir().expect("a folder");
        let put = |name: &str, text: &str| {
            std::fs::write(folder.path().join(name), text).expect("written")
        };
        let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).expect("read");
        let run = |name: &str, record: &'static str| {
            let mut output = OutputFolder::new(folder.path(), record, [])?;
            output.write(name, |out| write_line(out, &name))?;
            output.commit(&json!({}))
        };
        put("theirs.jsonl", "mine");
        let refused = |name: &str, record| run(name, record).expect_err("refused").to_string();
        assert!(
            refused("theirs.jsonl", "import.json").contains("theirs.jsonl: expected a new folder")
        );
        for name in ["a.jsonl", "b.jsonl", "a.jsonl"] {
            run(name, "import.json").expect("its own");
        }
        assert!(refused("a.jsonl", "okb.json").contains("whose okb.json lists this file"));
        // An invalid record is not replaced either.
        put("okb.json", "{\"files\": 3}");
        assert!(refused("c.jsonl", "okb.json").contains("okb.json: expected a new folder"));
        assert_eq!(
            (read("theirs.jsonl"), read("okb.json")),
            ("mine".into(), "{\"files\": 3}".into())
        );
        assert_eq!(
            entries(folder.path()).expect("listed"),
            [
                "a.jsonl",
                "b.jsonl",
                "import.json",
                "okb.json",
                "theirs.jsonl"
            ]
        );
    }

    #[test]
    fn files_with_the_stem_of_a_new_file_are_removed() {
        let folder = tempfile::tempdir().expect("a folder");
        let out = folder.path().join("out");
        let run = |names: &[&str]| {
            let mut output = OutputFolder::new(&out, "import.json", []).expect("its own");
            for name in names {
                output
                    .write(name, |out| write_line(out, name))
                    .expect("written");
            }
            output.commit(&json!({})).expect("moved");
            entries(&out).expect("listed")
        };
        let mentions = |split: &str| format!("mentions.{split}.jsonl");
        let (dev, train) = (mentions("dev"), mentions("train"));
        run(&["kb.jsonl"]);
        std::fs::write(out.join("mentions.mine.jsonl"), "mine").expect("written");
        run(&["documents.jsonl", &train, &dev]);
        assert_eq!(
            run(&["documents.jsonl", &train]),
            [
                "documents.jsonl",
                "import.json",
                "kb.jsonl",
                "mentions.mine.jsonl",
                "mentions.train.jsonl"
            ]
        );
        // A manipulated record cannot reach files outside the folder.
        std::fs::write(folder.path().join("mentions.mine.jsonl"), "mine").expect("written");
        std::fs::create_dir(out.join("mentions.d")).expect("made");
        let record = r#"{"files":["import.json","mentions.train.jsonl","mentions.d/../../mentions.mine.jsonl"]}"#;
        std::fs::write(out.join("import.json"), record).expect("written");
        run(&[&train]);
        assert!(folder.path().join("mentions.mine.jsonl").is_file());
    }

    #[test]
    fn killed_run_can_be_repeated() {
        let folder = tempfile::tempdir().expect("a folder");
        let target = folder.path().join("out");
        let run = |kill: bool| {
            let mut output = OutputFolder::new(&target, "import.json", []).expect("its own");
            for name in ["documents.jsonl", "mentions.train.jsonl"] {
                output
                    .write(name, |out| write_line(out, &name))
                    .expect("written");
            }
            if kill {
                // A killed process leaves its files without a lock.
                drop(output.pending.take());
                output.made = None;
                return;
            }
            output.commit(&json!({})).expect("moved");
        };
        run(true);
        assert_eq!(entries(&target).expect("listed").len(), 1);
        run(true);
        run(false);
        assert_eq!(
            entries(&target).expect("listed"),
            ["documents.jsonl", "import.json", "mentions.train.jsonl"]
        );
        run(true);
        run(false);
        assert_eq!(entries(&target).expect("listed").len(), 3);
    }

    #[test]
    fn output_folder_must_not_be_a_file() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("taken");
        std::fs::write(&file, "mine").expect("written");
        let error = OutputFolder::new(&file, "import.json", []).expect_err("it is a file");
        assert_eq!(error.kind(), pel_kb::error::Kind::Io);
        assert_eq!(std::fs::read_to_string(&file).expect("read"), "mine");
    }
}
