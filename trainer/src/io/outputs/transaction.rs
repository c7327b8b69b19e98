//! How the files of an output come into their folder: all of them, whenever the process is killed.
//!
//! ```text
//! OUT/.pel-output-XXXXXX/lock        held while a process writes
//! OUT/.pel-output-XXXXXX/files/      the files, until they are moved into OUT
//! OUT/.pel-output-XXXXXX/plan.json   which files are moved and which removed; written when all files are whole
//! ```
//!
//! Before there is a plan, a process that is killed has changed nothing in the folder, and the next one removes what it left. Once
//! there is one, some files may be moved and others not: whoever would read the folder refuses it ([`check_whole`]), and the next
//! process that writes into it first ends what was planned ([`recover`]).

use crate::io::files::partial_files::sync_folder;
use crate::io::files::{io_error, write_whole};
use pel_shared::error::{Error, Result};
use serde::{Deserialize, Serialize};
use std::fs::{self, File, TryLockError};
use std::path::{Component, Path, PathBuf};

const PREFIX: &str = ".pel-output-";
const LOCK: &str = "lock";
const FILES: &str = "files";
const PLAN: &str = "plan.json";

/// What is to be done when all files are whole.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// The files that are moved into the folder, by their paths in it.
    pub files: Vec<String>,
    /// The files of earlier runs that are removed.
    pub stale: Vec<String>,
}

/// The hidden folder of one output. Dropped, it stays: [`Pending::abandon`] removes it.
#[derive(Debug)]
pub struct Pending {
    target: PathBuf,
    folder: PathBuf,
    /// Held as long as this is there; nothing where the file system has no locks.
    _lock: File,
}

impl Pending {
    /// Makes the hidden folder in a folder that is there.
    ///
    /// # Errors
    /// If it cannot be made.
    pub fn new(target: &Path) -> Result<Self> {
        let failed = |cause| io_error("writing into the folder", target, cause);
        // A process that sweeps may take a new folder for one that was left; then another is made.
        for _ in 0..16 {
            let folder = tempfile::Builder::new().prefix(PREFIX).tempdir_in(target).map_err(failed)?.keep();
            let Ok(lock) = File::create(folder.join(LOCK)) else { continue };
            if matches!(lock.try_lock(), Err(TryLockError::WouldBlock)) || !folder.join(LOCK).exists() {
                continue;
            }
            let pending = Self { target: target.to_owned(), folder, _lock: lock };
            fs::create_dir(pending.folder.join(FILES)).map_err(failed)?;
            return Ok(pending);
        }
        Err(Error::io(format!("writing into the folder {}: no hidden folder could be made in it", target.display())))
    }

    /// Where a file is to be written.
    pub fn place(&self, name: &str) -> PathBuf {
        self.folder.join(FILES).join(name)
    }

    /// Removes what was written.
    pub fn abandon(self) {
        // Nothing hurts if it fails: the next process tries again.
        let _ = fs::remove_dir_all(&self.folder);
    }

    /// Writes down what is to be done, and does it. From the plan on, it will be done: now, or by the next process.
    ///
    /// # Errors
    /// If the plan cannot be written, and then nothing has changed; or if a file cannot be moved or removed.
    pub fn commit(self, plan: &Plan) -> Result<()> {
        if let Err(error) = self.announce(plan) {
            self.abandon();
            return Err(error);
        }
        finish(&self.target, &self.folder)
    }

    fn announce(&self, plan: &Plan) -> Result<()> {
        let mut folders: Vec<PathBuf> =
            plan.files.iter().filter_map(|name| self.place(name).parent().map(Path::to_owned)).collect();
        folders.sort_unstable();
        folders.dedup();
        folders.iter().try_for_each(|folder| sync_folder(folder))?;
        let json = serde_json::to_vec(plan).map_err(|cause| Error::io("encoding JSON").caused_by(cause))?;
        let path = self.folder.join(PLAN);
        write_whole(&path, |file| file.write_all(&json).map_err(|cause| io_error("writing", &path, cause)))?;
        sync_folder(&self.folder)
    }
}

/// Does what the plan in a hidden folder says, as far as it has not been done, and removes the folder.
fn finish(target: &Path, folder: &Path) -> Result<()> {
    for step in steps(folder)? {
        apply(&step, target, folder)?;
    }
    sync_folder(target)?;
    discard(folder)
}

/// Removes a hidden folder, the plan first: what it says need not be done again; and the lock last: what has none is of a process that
/// has ended.
fn discard(folder: &Path) -> Result<()> {
    let removed = |path: &Path, done: std::io::Result<()>| done.map_err(|cause| io_error("removing", path, cause));
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
    let Plan { files, stale } = serde_json::from_slice(&json)
        .map_err(|cause| Error::io(format!("{}: expected what is to be moved", path.display())).caused_by(cause))?;
    let all = files.into_iter().map(Step::Move).chain(stale.into_iter().map(Step::Remove));
    // Whatever a plan says, it reaches nothing outside of its folder.
    Ok(all.filter(|(Step::Move(name) | Step::Remove(name))| is_inside(name)).collect())
}

/// Whether a name means something below the folder that it is taken in.
pub fn is_inside(name: &str) -> bool {
    let mut parts = Path::new(name).components().peekable();
    parts.peek().is_some() && parts.all(|part| matches!(part, Component::Normal(_)))
}

/// Makes one change; nothing if it has been made.
fn apply(step: &Step, target: &Path, folder: &Path) -> Result<()> {
    match step {
        Step::Move(name) => {
            let (from, to) = (folder.join(FILES).join(name), target.join(name));
            if !from.exists() {
                return Ok(());
            }
            let parent = to.parent().unwrap_or(target);
            fs::create_dir_all(parent).map_err(|cause| io_error("making the folder", parent, cause))?;
            fs::rename(&from, &to).map_err(|cause| io_error("writing", &to, cause))?;
            if parent == target { Ok(()) } else { sync_folder(parent) }
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
fn hidden(target: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(target).into_iter().flatten().flatten();
    let ours = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(PREFIX));
    // Links are none of ours.
    let folders = ours.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    let mut all: Vec<PathBuf> = folders.map(|entry| entry.path()).collect();
    all.sort_unstable();
    all
}

/// Ends what processes that were killed have begun in a folder: what was planned is done, other leavings are removed. Nothing happens
/// to what a living process is writing.
///
/// # Errors
/// If a living process is moving files into the folder, or a file cannot be moved or removed.
pub fn recover(target: &Path) -> Result<()> {
    settle(target, |folder| {
        finish(target, folder)?;
        let target = target.display();
        eprintln!("{target}: an earlier command was stopped while it put its files there; that is finished now");
        Ok(())
    })
}

/// As `recover`, but takes away again what was moved by a killed process that was to write the file `record`: a command that begins
/// with a new or empty folder leaves it so, and can be run again.
///
/// # Errors
/// As `recover`.
pub fn withdraw(target: &Path, record: &str) -> Result<()> {
    settle(target, |folder| {
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
            // Folders that hold something else stay.
            let above = Path::new(&name).ancestors().skip(1).filter(|above| !above.as_os_str().is_empty());
            above.for_each(|above| drop(fs::remove_dir(target.join(above))));
        }
        discard(folder)
    })
}

/// Calls `end` with each hidden folder of a process that was killed while it did what it had planned, and removes those of others that
/// were killed.
fn settle(target: &Path, end: impl Fn(&Path) -> Result<()>) -> Result<()> {
    for folder in hidden(target) {
        let planned = folder.join(PLAN).exists();
        let lock = match File::open(folder.join(LOCK)) {
            Ok(lock) => lock,
            // Its process is about to make the lock, then the folder is empty, or was killed before that or while it removed all.
            Err(_) if !planned => {
                if fs::remove_dir(&folder).is_err() && !folder.join(LOCK).exists() {
                    let _ = fs::remove_dir_all(&folder);
                }
                continue;
            }
            Err(_) => {
                let path = folder.join(LOCK);
                File::create(&path).map_err(|cause| io_error("writing", &path, cause))?
            }
        };
        match lock.try_lock() {
            Ok(()) if planned => end(&folder)?,
            Ok(()) => {
                let _ = fs::remove_dir_all(&folder);
            }
            // Only a process that has planned changes what others see.
            Err(_) if !planned => {}
            Err(_) => {
                return Err(Error::io(format!(
                    "{}: another command is putting its files there; wait until it has ended",
                    target.display()
                )));
            }
        }
    }
    Ok(())
}

/// Refuses to read a folder some of whose files are of one run and some of another.
///
/// # Errors
/// If a process is moving files into it, or was stopped while it did.
pub fn check_whole(target: &Path) -> Result<()> {
    let target = if target.as_os_str().is_empty() { Path::new(".") } else { target };
    match hidden(target).iter().any(|folder| folder.join(PLAN).exists()) {
        false => Ok(()),
        true => Err(Error::input(format!(
            "{}: expected the files of one run, found an old and a new one mixed: a command is putting its files there, or was stopped \
             while it did; run that command again, which finishes it",
            target.display()
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::files::entries;

    fn put(path: &Path, text: &str) {
        fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        fs::write(path, text).expect("written");
    }

    /// A folder with the files of an earlier run, and a new output that is planned.
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
        let plan = Plan { files: names(&["a", "b", "sub/c"]), stale: names(&["old"]) };
        (root, pending, plan)
    }

    fn is_after(root: &Path) {
        assert_eq!(entries(root).expect("listed"), ["a", "b", "mine", "sub"]);
        for (name, text) in [("a", "after"), ("b", "after"), ("sub/c", "after"), ("mine", "before")] {
            assert_eq!(fs::read_to_string(root.join(name)).expect("read"), text, "{name}");
        }
        check_whole(root).expect("whole");
    }

    #[test]
    fn a_plan_is_done() {
        let (root, pending, plan) = planned();
        check_whole(root.path()).expect("nothing is planned yet");
        pending.commit(&plan).expect("moved");
        is_after(root.path());
    }

    #[test]
    fn a_process_that_was_killed_before_its_plan_has_changed_nothing() {
        let (root, pending, _) = planned();
        let folder = pending.folder.clone();
        recover(root.path()).expect("it lives, and is left alone");
        assert!(folder.join("files/a").exists());
        // Its lock goes with it.
        drop(pending);
        check_whole(root.path()).expect("as before");
        recover(root.path()).expect("swept");
        assert_eq!(entries(root.path()).expect("listed"), ["a", "b", "mine", "old"]);
        assert_eq!(fs::read_to_string(root.path().join("a")).expect("read"), "before");
        // One that had not made its lock yet.
        fs::create_dir(root.path().join(format!("{PREFIX}x"))).expect("made");
        recover(root.path()).expect("swept");
        assert_eq!(entries(root.path()).expect("listed").len(), 4);
        // One that was killed while it removed its folder.
        put(&root.path().join(format!("{PREFIX}y/files/a")), "after");
        recover(root.path()).expect("swept");
        assert_eq!(entries(root.path()).expect("listed").len(), 4);
    }

    #[test]
    fn a_process_that_was_killed_after_its_plan_is_finished_by_the_next() {
        // Killed after each step, and then again while the next process finishes.
        for done in 0..=4 {
            for done_again in done..=4 {
                let (root, pending, plan) = planned();
                pending.announce(&plan).expect("written");
                let folder = pending.folder.clone();
                let all = steps(&folder).expect("planned");
                assert_eq!(all.len(), 4);
                let run = |steps: &[Step]| steps.iter().try_for_each(|step| apply(step, root.path(), &folder));
                run(&all[..done]).expect("done");
                assert!(recover(root.path()).expect_err("it lives").to_string().contains("another command"));
                drop(pending);
                let said = check_whole(root.path()).expect_err("mixed").to_string();
                assert!(said.contains("an old and a new one mixed"), "{said}");
                run(&all[..done_again]).expect("what is done is left");
                recover(root.path()).expect("finished");
                is_after(root.path());
            }
        }
    }

    #[test]
    fn what_a_killed_process_has_moved_can_be_taken_away_again() {
        for done in 0..=3 {
            let root = tempfile::tempdir().expect("a folder");
            let pending = Pending::new(root.path()).expect("made");
            let names = ["a", "sub/b", "sub/deep/c"].map(str::to_owned);
            names.iter().for_each(|name| put(&pending.place(name), "after"));
            pending.announce(&Plan { files: names.to_vec(), stale: Vec::new() }).expect("written");
            let folder = pending.folder.clone();
            let all = steps(&folder).expect("planned");
            all[..done].iter().try_for_each(|step| apply(step, root.path(), &folder)).expect("done");
            assert!(withdraw(root.path(), "a").is_err(), "it lives");
            drop(pending);
            withdraw(root.path(), "a").expect("taken away");
            assert!(entries(root.path()).expect("listed").is_empty(), "{done} moved");
        }
    }

    #[test]
    fn files_of_another_command_are_not_taken_away() {
        let (root, pending, plan) = planned();
        pending.announce(&plan).expect("written");
        drop(pending);
        withdraw(root.path(), "export.json").expect("finished");
        is_after(root.path());
    }

    #[test]
    fn a_planted_plan_reaches_nothing_outside_of_its_folder() {
        let root = tempfile::tempdir().expect("a folder");
        let target = root.path().join("out");
        put(&root.path().join("mine"), "before");
        let folder = target.join(format!("{PREFIX}planted"));
        put(&folder.join("files/mine"), "after");
        put(&folder.join(PLAN), r#"{"files": ["../mine", "/mine", ""], "stale": ["../mine", "."]}"#);
        recover(&target).expect("nothing to do");
        assert_eq!(fs::read_to_string(root.path().join("mine")).expect("read"), "before");
        assert!(entries(&target).expect("listed").is_empty());
        put(&folder.join(PLAN), "{}");
        assert!(recover(&target).is_err());
        for (name, inside) in [("a", true), ("a/b", true), ("", false), ("..", false), ("a/../b", false), ("/a", false)]
        {
            assert_eq!(is_inside(name), inside, "{name}");
        }
    }
}
