//! Moves the files of an output into their folder as one transaction that survives a kill.
//!
//! ```text
//! OUT/.pel-output-XXXXXX/lock        locked while a process writes
//! OUT/.pel-output-XXXXXX/files/      the files until they are moved into OUT
//! OUT/.pel-output-XXXXXX/scratch/    temporary files of the command
//! OUT/.pel-output-XXXXXX/plan.json   the files to move and to remove; written once all files are complete
//! ```
//!
//! A process killed before its plan exists has changed nothing; the next one removes its files.
//! After that, some files may have been moved. Readers refuse the folder ([`check_complete`]), and
//! the next writer completes the plan ([`recover`]).

use crate::errors::io_error;
use crate::files::{open_no_follow, write_atomic};
use crate::json;
use crate::lock::Lock;
use crate::partial_files::sync_folder;
use pel_kb::error::{Error, Result};
use serde::{Deserialize, Serialize};
use std::fs::{self, File, OpenOptions};
use std::path::{Component, Path, PathBuf};

const PREFIX: &str = ".pel-output-";
const LOCK: &str = "lock";
const FILES: &str = "files";
const PLAN: &str = "plan.json";
const SCRATCH: &str = "scratch";

/// The changes to make once all files are complete.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// Files to move into the folder, by relative path.
    pub files: Vec<String>,
    /// Files of earlier runs to remove.
    pub stale: Vec<String>,
}

/// The hidden folder of one output. It stays when dropped; [`Pending::abandon`] removes it.
#[derive(Debug)]
pub struct Pending {
    target: PathBuf,
    folder: PathBuf,
    /// Held for the life of this value.
    _lock: Lock,
}

impl Pending {
    /// Creates the hidden folder in an existing folder.
    ///
    /// # Errors
    /// If it cannot be created.
    pub fn new(target: &Path) -> Result<Self> {
        let failed = |cause| io_error("writing into the folder", target, cause);
        // Another process may take the new folder for an abandoned one and remove it. Then retry.
        for _ in 0..16 {
            let folder = tempfile::Builder::new()
                .prefix(PREFIX)
                .tempdir_in(target)
                .map_err(failed)?
                .keep();
            let file = File::create_new(folder.join(LOCK)).ok();
            let Some(lock) = file.and_then(Lock::of) else {
                continue;
            };
            if !folder.join(LOCK).exists() {
                continue;
            }
            let pending = Self {
                target: target.to_owned(),
                folder,
                _lock: lock,
            };
            fs::create_dir(pending.folder.join(FILES)).map_err(failed)?;
            return Ok(pending);
        }
        Err(Error::io(format!(
            "writing into the folder {}: cannot create a hidden folder in it",
            target.display()
        )))
    }

    /// Where to write a file of the output.
    pub fn place(&self, name: &str) -> PathBuf {
        self.folder.join(FILES).join(name)
    }

    /// A folder for temporary files, removed with the hidden folder.
    ///
    /// # Errors
    /// If it cannot be created.
    pub fn scratch(&self) -> Result<PathBuf> {
        let scratch = self.folder.join(SCRATCH);
        fs::create_dir_all(&scratch)
            .map_err(|cause| io_error("making the folder", &scratch, cause))?;
        Ok(scratch)
    }

    /// Removes the hidden folder.
    pub fn abandon(self) {
        // If this fails, the next process retries.
        let _ = fs::remove_dir_all(&self.folder);
    }

    /// Writes the plan and carries it out. Once written, the plan will be completed by this or the
    /// next process.
    ///
    /// # Errors
    /// If the plan cannot be written (nothing has changed then), or a file cannot be moved or
    /// removed.
    pub fn commit(self, plan: &Plan) -> Result<()> {
        if let Err(error) = self.write_plan(plan) {
            self.abandon();
            return Err(error);
        }
        finish(&self.target, &self.folder)
    }

    fn write_plan(&self, plan: &Plan) -> Result<()> {
        let mut folders: Vec<PathBuf> = plan
            .files
            .iter()
            .filter_map(|name| self.place(name).parent().map(Path::to_owned))
            .collect();
        folders.sort_unstable();
        folders.dedup();
        folders.iter().try_for_each(|folder| sync_folder(folder))?;
        let text = json::compact(plan)?;
        let path = self.folder.join(PLAN);
        write_atomic(&path, |file| {
            file.write_all(text.as_bytes())
                .map_err(|cause| io_error("writing", &path, cause))
        })?;
        sync_folder(&self.folder)
    }
}

/// Carries out the rest of a plan and removes the hidden folder.
fn finish(target: &Path, folder: &Path) -> Result<()> {
    for step in steps(folder)? {
        apply(&step, target, folder)?;
    }
    sync_folder(target)?;
    discard(folder)
}

/// Removes a hidden folder: its plan first, since it is done, and its lock last, since a folder
/// without one counts as abandoned.
fn discard(folder: &Path) -> Result<()> {
    let removed = |path: &Path, done: std::io::Result<()>| {
        done.map_err(|cause| io_error("removing", path, cause))
    };
    let (plan, files) = (folder.join(PLAN), folder.join(FILES));
    removed(&plan, fs::remove_file(&plan))?;
    if files.exists() {
        removed(&files, fs::remove_dir_all(&files))?;
    }
    removed(folder, fs::remove_dir_all(folder))
}

/// One change of the folder.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Step {
    Move(String),
    Remove(String),
}

fn steps(folder: &Path) -> Result<Vec<Step>> {
    let path = folder.join(PLAN);
    let json = fs::read(&path).map_err(|cause| io_error("reading", &path, cause))?;
    let Plan { files, stale } = serde_json::from_slice(&json).map_err(|cause| {
        Error::io(format!(
            "{}: expected a plan of files to move",
            path.display()
        ))
        .caused_by(cause)
    })?;
    let all = files
        .into_iter()
        .map(Step::Move)
        .chain(stale.into_iter().map(Step::Remove));
    // A plan may contain any path; only those inside the folder count.
    Ok(all
        .filter(|(Step::Move(name) | Step::Remove(name))| is_inside(name))
        .collect())
}

/// Whether a relative path stays inside its folder.
pub fn is_inside(name: &str) -> bool {
    let mut parts = Path::new(name).components().peekable();
    parts.peek().is_some() && parts.all(|part| matches!(part, Component::Normal(_)))
}

/// Makes one change, unless it has been made.
fn apply(step: &Step, target: &Path, folder: &Path) -> Result<()> {
    match step {
        Step::Move(name) => {
            let (from, to) = (folder.join(FILES).join(name), target.join(name));
            if !from.exists() {
                return Ok(());
            }
            let parent = to.parent().unwrap_or(target);
            fs::create_dir_all(parent)
                .map_err(|cause| io_error("making the folder", parent, cause))?;
            fs::rename(&from, &to).map_err(|cause| io_error("writing", &to, cause))?;
            if parent == target {
                Ok(())
            } else {
                sync_folder(parent)
            }
        }
        Step::Remove(name) => {
            let file = target.join(name);
            match file.is_file() {
                true => fs::remove_file(&file).map_err(|cause| io_error("removing", &file, cause)),
                false => Ok(()),
            }
        }
    }
}

/// The hidden folders in a folder.
fn hidden_folders(target: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(target).into_iter().flatten().flatten();
    let ours = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(PREFIX));
    // PEL creates no links under these names.
    let folders = ours.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    let mut all: Vec<PathBuf> = folders.map(|entry| entry.path()).collect();
    all.sort_unstable();
    all
}

/// Completes the plans of killed processes in a folder and removes their other files. Leaves
/// running processes alone.
///
/// # Errors
/// If a running process is moving files into the folder, or a file cannot be moved or removed.
pub fn recover(target: &Path) -> Result<()> {
    for_each_abandoned(target, |folder| {
        finish(target, folder)?;
        let target = target.display();
        eprintln!("{target}: completed the output of an earlier command that was interrupted");
        Ok(())
    })
}

/// As `recover`, but removes the files moved by a killed process that planned to write `record`. A
/// command that needs an empty folder can then be repeated.
///
/// # Errors
/// As `recover`.
pub fn roll_back(target: &Path, record: &str) -> Result<()> {
    for_each_abandoned(target, |folder| {
        let steps = steps(folder)?;
        if !steps.contains(&Step::Move(record.to_owned())) {
            return finish(target, folder);
        }
        for step in steps {
            let Step::Move(name) = step else { continue };
            let file = target.join(&name);
            if file.is_file() {
                fs::remove_file(&file).map_err(|cause| io_error("removing", &file, cause))?;
            }
            // Folders with other content stay.
            let above = Path::new(&name)
                .ancestors()
                .skip(1)
                .filter(|above| !above.as_os_str().is_empty());
            above.for_each(|above| drop(fs::remove_dir(target.join(above))));
        }
        discard(folder)
    })
}

/// Calls `end` with the hidden folder of each killed process that had a plan. Removes those without
/// a plan.
fn for_each_abandoned(target: &Path, end: impl Fn(&Path) -> Result<()>) -> Result<()> {
    for folder in hidden_folders(target) {
        let planned = folder.join(PLAN).exists();
        let file = match File::open(folder.join(LOCK)) {
            Ok(file) => file,
            // Either the lock does not exist yet and the folder is empty, or the process was killed
            // before or during removal.
            Err(_) if !planned => {
                if fs::remove_dir(&folder).is_err() && !folder.join(LOCK).exists() {
                    let _ = fs::remove_dir_all(&folder);
                }
                continue;
            }
            Err(_) => open_no_follow(
                &folder.join(LOCK),
                OpenOptions::new().write(true).create(true),
            )?,
        };
        match Lock::of(file).filter(Lock::is_exclusive) {
            Some(_lock) if planned => end(&folder)?,
            Some(_lock) => {
                let _ = fs::remove_dir_all(&folder);
            }
            // A running process without a plan changes nothing visible.
            None if !planned => {}
            None => {
                return Err(Error::io(format!(
                    "{}: another command is moving its files into it; wait until it ends",
                    target.display()
                )));
            }
        }
    }
    Ok(())
}

/// Refuses to read a folder with files of two runs.
///
/// # Errors
/// If a process is moving files into it or was interrupted doing so.
pub fn check_complete(target: &Path) -> Result<()> {
    let target = if target.as_os_str().is_empty() {
        Path::new(".")
    } else {
        target
    };
    match hidden_folders(target)
        .iter()
        .any(|folder| folder.join(PLAN).exists())
    {
        false => Ok(()),
        true => Err(Error::input(format!(
            "{}: expected the files of one run, found files of two: a command is writing or was \
             interrupted; repeat that command, which completes its output",
            target.display()
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::entries;

    fn put(path: &Path, text: &str) {
        fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        fs::write(path, text).expect("written");
    }

    /// A folder with the files of an earlier run and a complete new output.
    fn planned() -> (tempfile::TempDir, Pending, Plan) {
        let root = tempfile::tempdir().expect("a folder");
        for name in ["a", "b", "old", "mine"] {
            put(&root.path().join(name), "before");
        }
        let pending = Pending::new(root.path()).expect("made");
        for name in ["a", "b", "sub/c"] {
            put(&pending.place(name), "after");
        }
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        let plan = Plan {
            files: names(&["a", "b", "sub/c"]),
            stale: names(&["old"]),
        };
        (root, pending, plan)
    }

    fn is_after(root: &Path) {
        assert_eq!(entries(root).expect("listed"), ["a", "b", "mine", "sub"]);
        for (name, text) in [
            ("a", "after"),
            ("b", "after"),
            ("sub/c", "after"),
            ("mine", "before"),
        ] {
            assert_eq!(
                fs::read_to_string(root.join(name)).expect("read"),
                text,
                "{name}"
            );
        }
        check_complete(root).expect("whole");
    }

    #[test]
    fn commit_moves_and_removes_files() {
        let (root, pending, plan) = planned();
        check_complete(root.path()).expect("nothing is planned yet");
        pending.commit(&plan).expect("moved");
        is_after(root.path());
    }

    #[test]
    fn process_killed_before_its_plan_changes_nothing() {
        let (root, pending, _) = planned();
        let folder = pending.folder.clone();
        recover(root.path()).expect("it lives, and is left alone");
        assert!(folder.join("files/a").exists());
        // Dropping releases the lock.
        drop(pending);
        check_complete(root.path()).expect("as before");
        recover(root.path()).expect("swept");
        assert_eq!(
            entries(root.path()).expect("listed"),
            ["a", "b", "mine", "old"]
        );
        assert_eq!(
            fs::read_to_string(root.path().join("a")).expect("read"),
            "before"
        );
        // Killed before it made its lock.
        fs::create_dir(root.path().join(format!("{PREFIX}x"))).expect("made");
        recover(root.path()).expect("swept");
        assert_eq!(entries(root.path()).expect("listed").len(), 4);
        // Killed while it removed its folder.
        put(&root.path().join(format!("{PREFIX}y/files/a")), "after");
        recover(root.path()).expect("swept");
        assert_eq!(entries(root.path()).expect("listed").len(), 4);
    }

    #[test]
    fn next_process_completes_the_plan_of_a_killed_one() {
        // Kill after each step, and again while the next process completes the plan.
        for done in 0..=4 {
            for done_again in done..=4 {
                let (root, pending, plan) = planned();
                pending.write_plan(&plan).expect("written");
                let folder = pending.folder.clone();
                let all = steps(&folder).expect("planned");
                assert_eq!(all.len(), 4);
                let run = |steps: &[Step]| {
                    steps
                        .iter()
                        .try_for_each(|step| apply(step, root.path(), &folder))
                };
                run(&all[..done]).expect("done");
                assert!(
                    recover(root.path())
                        .expect_err("it lives")
                        .to_string()
                        .contains("another command")
                );
                drop(pending);
                let message = check_complete(root.path()).expect_err("mixed").to_string();
                assert!(message.contains("found files of two"), "{message}");
                run(&all[..done_again]).expect("what is done is left");
                recover(root.path()).expect("finished");
                is_after(root.path());
            }
        }
    }

    #[test]
    fn moved_files_of_a_killed_process_can_be_rolled_back() {
        for done in 0..=3 {
            let root = tempfile::tempdir().expect("a folder");
            let pending = Pending::new(root.path()).expect("made");
            let names = ["a", "sub/b", "sub/deep/c"].map(str::to_owned);
            names
                .iter()
                .for_each(|name| put(&pending.place(name), "after"));
            pending
                .write_plan(&Plan {
                    files: names.to_vec(),
                    stale: Vec::new(),
                })
                .expect("written");
            let folder = pending.folder.clone();
            let all = steps(&folder).expect("planned");
            all[..done]
                .iter()
                .try_for_each(|step| apply(step, root.path(), &folder))
                .expect("done");
            assert!(roll_back(root.path(), "a").is_err(), "it lives");
            drop(pending);
            roll_back(root.path(), "a").expect("taken away");
            assert!(
                entries(root.path()).expect("listed").is_empty(),
                "{done} moved"
            );
        }
    }

    #[test]
    fn files_of_another_command_are_not_rolled_back() {
        let (root, pending, plan) = planned();
        pending.write_plan(&plan).expect("written");
        drop(pending);
        roll_back(root.path(), "export.json").expect("finished");
        is_after(root.path());
    }

    #[test]
    fn planted_plan_cannot_leave_its_folder() {
        let root = tempfile::tempdir().expect("a folder");
        let target = root.path().join("out");
        put(&root.path().join("mine"), "before");
        let folder = target.join(format!("{PREFIX}planted"));
        put(&folder.join("files/mine"), "after");
        put(
            &folder.join(PLAN),
            r#"{"files": ["../mine", "/mine", ""], "stale": ["../mine", "."]}"#,
        );
        recover(&target).expect("nothing to do");
        assert_eq!(
            fs::read_to_string(root.path().join("mine")).expect("read"),
            "before"
        );
        assert!(entries(&target).expect("listed").is_empty());
        put(&folder.join(PLAN), "{}");
        assert!(recover(&target).is_err());
        for (name, inside) in [
            ("a", true),
            ("a/b", true),
            ("", false),
            ("..", false),
            ("a/../b", false),
            ("/a", false),
        ] {
            assert_eq!(is_inside(name), inside, "{name}");
        }
    }
}
