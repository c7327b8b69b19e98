//! The output folder of an import: its files appear together, when all of them are whole, and replace none but those of an
//! earlier run, which its record lists. A process that is killed on the way leaves the old files or the new ones ([`super::transaction`]).

use super::file_identity::is_same;
use super::overwrite_check::check_file;
use super::transaction::{Pending, Plan, is_inside, recover};
use crate::io::files::partial_files::Made;
use crate::io::files::{io_error, write_whole};
use pel_shared::error::{Error, Result};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Files that are written in a hidden folder inside the target and moved into it at the end.
#[derive(Debug)]
pub struct OutputFolder {
    target: PathBuf,
    /// `Some` until it is committed or dropped.
    pending: Option<Pending>,
    names: Vec<String>,
    /// The file that says what was done, such as `import.json`, and which files earlier runs wrote.
    record: &'static str,
    earlier: BTreeSet<String>,
    /// What the command reads, which is not written over.
    inputs: Vec<PathBuf>,
    /// If the target did not exist before.
    made: Option<Made>,
}

impl OutputFolder {
    /// Makes the target folder if it is missing, and the hidden one in it; what an earlier process was killed at is finished first.
    /// `record` is the name of the file that will say what was done; `inputs` are the files and folders that the command reads.
    ///
    /// # Errors
    /// If a folder cannot be made, the target is a file or a folder that is read, or another process is moving files into it.
    pub fn new<'a>(target: &Path, record: &'static str, inputs: impl IntoIterator<Item = &'a Path>) -> Result<Self> {
        let inputs: Vec<PathBuf> = inputs.into_iter().map(Path::to_owned).collect();
        if inputs.iter().any(|input| is_same(input, target)) {
            return Err(Error::input(format!("{}: this folder is an input; choose another --out", target.display())));
        }
        let made = (!target.exists()).then(|| Made::new(target));
        std::fs::create_dir_all(target).map_err(|cause| io_error("making the folder", target, cause))?;
        recover(target)?;
        let pending = Pending::new(target);
        let earlier = files_of_earlier(&target.join(record));
        let (target, names) = (target.to_owned(), Vec::new());
        let mut output = Self { target, pending: None, names, record, earlier, inputs, made };
        output.pending = Some(pending?);
        Ok(output)
    }

    /// Writes one file of the output, in a folder of it or not (`a/b.json`); it is in its place only after [`OutputFolder::commit`].
    ///
    /// # Errors
    /// If it would replace an input, or a file that no earlier run wrote; as [`write_whole`], and what `write` gives.
    pub fn write(&mut self, name: &str, write: impl FnOnce(&mut dyn Write) -> Result<()>) -> Result<()> {
        let to = self.target.join(name);
        // A file that an earlier run of this command wrote is none of what a folder brings, though it may lie below one that is read.
        let ours = self.earlier.contains(name);
        check_file(&to, self.inputs.iter().map(PathBuf::as_path).filter(|input| !(ours && input.is_dir())))?;
        if to.exists() && !self.earlier.contains(name) {
            let (to, record) = (to.display(), self.record);
            return Err(Error::input(format!(
                "{to}: expected a new folder, or one whose {record} lists this file; it is somebody else's, so choose another --out"
            )));
        }
        let pending =
            self.pending.as_ref().ok_or_else(|| Error::io(format!("writing {name}: the output is closed")))?;
        write_whole(&pending.place(name), write)?;
        self.names.push(name.to_owned());
        Ok(())
    }

    /// Writes the record, `content` with the names of all files, and moves the files into place, over those of earlier runs.
    ///
    /// A file of an earlier run goes if it is a part of what is written anew (`mentions.dev.jsonl` beside a new
    /// `mentions.train.jsonl`), since it belongs to other documents.
    ///
    /// # Errors
    /// If a file cannot be written or moved; the interruption of the user (nothing is moved then).
    pub fn commit(mut self, content: &impl Serialize) -> Result<()> {
        crate::io::interrupt::check()?;
        let record = self.record;
        let names: BTreeSet<&str> = self.names.iter().map(String::as_str).chain([record]).collect();
        let is_stale = |file: &str| !names.contains(file) && names.iter().any(|name| whole(name) == whole(file));
        let (stale, others): (Vec<String>, Vec<String>) = self.earlier.iter().cloned().partition(|file| is_stale(file));
        let files = names.into_iter().chain(others.iter().map(String::as_str)).collect::<BTreeSet<_>>();
        let mut text = serde_json::to_string_pretty(&Record { files, content })
            .map_err(|cause| Error::io(format!("encoding {record}")).caused_by(cause))?;
        text.push('\n');
        self.write(record, |out| {
            out.write_all(text.as_bytes()).map_err(|cause| Error::io(format!("writing {record}")).caused_by(cause))
        })?;
        let Some(pending) = self.pending.take() else { return Ok(()) };
        // What belongs together is moved together, also if the user asks to stop meanwhile.
        let _finishing = crate::io::interrupt::finish();
        let is_input = |file: &Path| self.inputs.iter().any(|input| is_same(input, file));
        let stale = stale.into_iter().filter(|file| !is_input(&self.target.join(file))).collect();
        pending.commit(&Plan { files: self.names.clone(), stale })
    }
}

#[derive(Serialize)]
struct Record<'a, T> {
    files: BTreeSet<&'a str>,
    #[serde(flatten)]
    content: &'a T,
}

/// What a file is a part of: its name up to the first dot.
fn whole(name: &str) -> &str {
    name.split('.').next().unwrap_or(name)
}

/// The files that a record lists, none outside of its folder; none if there is no record, or if it is another program's.
fn files_of_earlier(record: &Path) -> BTreeSet<String> {
    #[derive(Deserialize)]
    struct Files {
        files: BTreeSet<String>,
    }
    let text = std::fs::read(record).unwrap_or_default();
    let files = serde_json::from_slice(&text).map(|Files { files }| files).unwrap_or_default();
    files.into_iter().filter(|file| is_inside(file)).collect()
}

impl Drop for OutputFolder {
    fn drop(&mut self) {
        if let Some(pending) = self.pending.take() {
            // Nothing came of it: leave no trace. Neither removal can hurt if it fails; a folder is removed only if empty.
            pending.abandon();
            if self.made.is_some() {
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
    use crate::io::files::entries;
    use serde_json::json;

    #[test]
    fn files_appear_together_or_not_at_all() {
        let folder = tempfile::tempdir().expect("a folder");
        let target = folder.path().join("new");
        let open = || OutputFolder::new(&target, "import.json", []).expect("made");
        let mut output = open();
        output.write("a.jsonl", |out| write_line(out, &1)).expect("written");
        assert!(output.write("b.jsonl", |_| Err(Error::input("line 3"))).is_err());
        drop(output);
        assert!(!target.exists());

        let mut output = open();
        for name in ["a.jsonl", "b.jsonl"] {
            output.write(name, |out| write_line(out, &name)).expect("written");
        }
        output.commit(&json!({ "kept": 2 })).expect("moved");
        assert_eq!(entries(&target).expect("listed"), ["a.jsonl", "b.jsonl", "import.json"]);
        assert_eq!(std::fs::read_to_string(target.join("b.jsonl")).expect("read"), "\"b.jsonl\"\n");
    }

    #[test]
    fn none_but_files_of_earlier_runs_are_replaced() {
        let folder = tempfile::tempdir().expect("a folder");
        let put = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).expect("written");
        let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).expect("read");
        let run = |name: &str, record: &'static str| {
            let mut output = OutputFolder::new(folder.path(), record, [])?;
            output.write(name, |out| write_line(out, &name))?;
            output.commit(&json!({}))
        };
        put("theirs.jsonl", "mine");
        let refused = |name: &str, record| run(name, record).expect_err("refused").to_string();
        assert!(refused("theirs.jsonl", "import.json").contains("theirs.jsonl: expected a new folder"));
        for name in ["a.jsonl", "b.jsonl", "a.jsonl"] {
            run(name, "import.json").expect("its own");
        }
        assert!(refused("a.jsonl", "okb.json").contains("whose okb.json lists this file"));
        // Neither is a record that is none.
        put("okb.json", "{\"files\": 3}");
        assert!(refused("c.jsonl", "okb.json").contains("okb.json: expected a new folder"));
        assert_eq!((read("theirs.jsonl"), read("okb.json")), ("mine".into(), "{\"files\": 3}".into()));
        assert_eq!(
            entries(folder.path()).expect("listed"),
            ["a.jsonl", "b.jsonl", "import.json", "okb.json", "theirs.jsonl"]
        );
    }

    #[test]
    fn parts_of_an_earlier_whole_go() {
        let folder = tempfile::tempdir().expect("a folder");
        let out = folder.path().join("out");
        let run = |names: &[&str]| {
            let mut output = OutputFolder::new(&out, "import.json", []).expect("its own");
            for name in names {
                output.write(name, |out| write_line(out, name)).expect("written");
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
            ["documents.jsonl", "import.json", "kb.jsonl", "mentions.mine.jsonl", "mentions.train.jsonl"]
        );
        // A record that was tampered with reaches nothing else.
        std::fs::write(folder.path().join("mentions.mine.jsonl"), "mine").expect("written");
        std::fs::create_dir(out.join("mentions.d")).expect("made");
        let record = r#"{"files":["import.json","mentions.train.jsonl","mentions.d/../../mentions.mine.jsonl"]}"#;
        std::fs::write(out.join("import.json"), record).expect("written");
        run(&[&train]);
        assert!(folder.path().join("mentions.mine.jsonl").is_file());
    }

    #[test]
    fn a_run_that_was_killed_can_be_run_again() {
        let folder = tempfile::tempdir().expect("a folder");
        let target = folder.path().join("out");
        let run = |kill: bool| {
            let mut output = OutputFolder::new(&target, "import.json", []).expect("its own");
            for name in ["documents.jsonl", "mentions.train.jsonl"] {
                output.write(name, |out| write_line(out, &name)).expect("written");
            }
            if kill {
                // What is left when nothing is cleaned up: the files, without a lock.
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
        assert_eq!(entries(&target).expect("listed"), ["documents.jsonl", "import.json", "mentions.train.jsonl"]);
        run(true);
        run(false);
        assert_eq!(entries(&target).expect("listed").len(), 3);
    }

    #[test]
    fn a_file_is_no_output_folder_and_stays() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("taken");
        std::fs::write(&file, "mine").expect("written");
        let error = OutputFolder::new(&file, "import.json", []).expect_err("it is a file");
        assert_eq!(error.kind(), pel_shared::error::Kind::Io);
        assert_eq!(std::fs::read_to_string(&file).expect("read"), "mine");
    }
}
