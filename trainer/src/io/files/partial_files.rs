//! Files and folders that are written beside their place and then moved there: named `.pel-*.part`, locked while they are written,
//! removed where the work ends early, and swept where an earlier process was killed.

use super::errors::io_error;
use pel_shared::error::Result;
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use tempfile::{NamedTempFile, TempDir};

const PREFIX: &str = ".pel-";
const SUFFIX: &str = ".part";

/// What was changed later is left alone: its writer may not have locked it yet.
const YOUNG: Duration = Duration::from_secs(60);

/// What this process is writing.
static LIVE: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());
/// The folders that this process has made for what it is writing.
static MADE: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());
/// The folders that this process has swept.
static SWEPT: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

/// Whether a name is that of something unfinished.
pub fn is_partial(name: &str) -> bool {
    name.starts_with(PREFIX) && name.ends_with(SUFFIX)
}

/// Keeps the name of something unfinished, for [`remove_all`], until it is dropped; and a lock on it, by which a later process knows that
/// it is still being written.
#[derive(Debug)]
pub struct Claim {
    path: PathBuf,
    /// Nothing where the file system has no locks: then nobody sweeps there either.
    _lock: Option<File>,
}

impl Claim {
    fn new(path: &Path, lock: Option<File>) -> Self {
        let lock = lock.filter(|file| file.try_lock().is_ok());
        LIVE.lock().unwrap_or_else(PoisonError::into_inner).insert(path.to_owned());
        Self { path: path.to_owned(), _lock: lock }
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        LIVE.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.path);
    }
}

/// Keeps the name of a folder that was made for what is being written, for [`remove_all`], until it is dropped: without a result the folder goes
/// too, if it is empty.
#[derive(Debug)]
pub struct Made(PathBuf);

impl Made {
    /// Keeps a name.
    pub fn new(folder: &Path) -> Self {
        MADE.lock().unwrap_or_else(PoisonError::into_inner).insert(folder.to_owned());
        Self(folder.to_owned())
    }
}

impl Drop for Made {
    fn drop(&mut self) {
        MADE.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.0);
    }
}

/// Makes an unfinished file in a folder, readable by its owner alone until its mode is set, and sweeps the folder.
///
/// # Errors
/// If it cannot be made.
pub fn file_in(folder: &Path, mode: u32) -> std::io::Result<(NamedTempFile, Claim)> {
    sweep(folder);
    let mut beside = tempfile::Builder::new();
    beside.prefix(PREFIX).suffix(SUFFIX);
    #[cfg(unix)]
    beside.permissions(std::os::unix::fs::PermissionsExt::from_mode(mode));
    #[cfg(not(unix))]
    let _ = mode;
    let file = beside.tempfile_in(folder)?;
    let claim = Claim::new(file.path(), file.as_file().try_clone().ok());
    Ok((file, claim))
}

/// Makes an unfinished folder in a folder, and sweeps that.
///
/// # Errors
/// If it cannot be made.
pub fn folder_in(folder: &Path) -> std::io::Result<(TempDir, Claim)> {
    sweep(folder);
    let made = tempfile::Builder::new().prefix(PREFIX).suffix(SUFFIX).tempdir_in(folder)?;
    // On Windows a folder cannot be opened so, and what was left in it stays.
    let claim = Claim::new(made.path(), File::open(made.path()).ok());
    Ok((made, claim))
}

/// Removes what this process has not finished: it is about to end. Nothing is said of what cannot be removed.
pub fn remove_all() {
    let live: Vec<PathBuf> = LIVE.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect();
    live.iter().for_each(|path| remove(path));
    for folder in MADE.lock().unwrap_or_else(PoisonError::into_inner).iter() {
        let _ = fs::remove_dir(folder);
    }
}

fn remove(path: &Path) {
    // A link in a folder is removed, not followed.
    let _ = match fs::symlink_metadata(path).is_ok_and(|found| found.is_dir()) {
        true => fs::remove_dir_all(path),
        false => fs::remove_file(path),
    };
}

/// Removes what killed processes have left in a folder, once for each folder and process: what has a name of ours, has not been changed
/// for a while, and is locked by nobody.
fn sweep(folder: &Path) {
    let place = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    if !SWEPT.lock().unwrap_or_else(PoisonError::into_inner).insert(place) {
        return;
    }
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.file_name().to_str().is_some_and(is_partial) && is_abandoned(&entry.path()) {
            remove(&entry.path());
        }
    }
}

fn is_abandoned(path: &Path) -> bool {
    let Ok(found) = fs::symlink_metadata(path) else { return false };
    let is_old = found.modified().ok().and_then(|changed| changed.elapsed().ok()).is_some_and(|age| age > YOUNG);
    // Links and pipes are none of ours.
    is_old && (found.is_file() || found.is_dir()) && File::open(path).is_ok_and(|file| file.try_lock().is_ok())
}

/// Has the names in a folder written to the disk, so that a file which was renamed into it is there after a power failure.
///
/// # Errors
/// If the system reports a failure of the disk; not where it cannot do that for folders.
pub fn sync_folder(folder: &Path) -> Result<()> {
    #[cfg(unix)]
    {
        use std::io::ErrorKind;
        let synced = File::open(folder).and_then(|folder| folder.sync_all());
        match synced {
            Err(cause) if matches!(cause.kind(), ErrorKind::InvalidInput | ErrorKind::Unsupported) => {}
            // A folder may be written but not read.
            Err(cause) if cause.kind() == ErrorKind::PermissionDenied => {}
            other => other.map_err(|cause| io_error("writing the folder", folder, cause))?,
        }
    }
    #[cfg(not(unix))]
    let _ = (folder, io_error);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::SystemTime;

    fn age(path: &Path, seconds: u64) {
        let then = SystemTime::now() - Duration::from_secs(seconds);
        File::open(path).and_then(|file| file.set_modified(then)).expect("its own");
    }

    #[test]
    fn what_a_killed_process_left_is_swept_and_nothing_else() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = |name: &str| folder.path().join(name);
        for name in [".pel-old.part", ".pel-young.part", ".pel-locked.part", ".other-old.part", ".pel-old.txt"] {
            fs::write(path(name), "half").expect("written");
        }
        fs::create_dir(path(".pel-folder.part")).expect("made");
        fs::write(path(".pel-folder.part/kb.jsonl"), "half").expect("written");
        let names = [".pel-old.part", ".pel-locked.part", ".other-old.part", ".pel-old.txt", ".pel-folder.part"];
        names.iter().for_each(|name| age(&path(name), 3600));
        let held = File::open(path(".pel-locked.part")).expect("there");
        held.try_lock().expect("nobody has it");
        drop(file_in(folder.path(), 0o600).expect("made"));
        let left = crate::io::files::entries(folder.path()).expect("listed");
        assert_eq!(left, [".other-old.part", ".pel-locked.part", ".pel-old.txt", ".pel-young.part"]);
    }

    #[test]
    fn what_is_being_written_is_locked_and_known() {
        let folder = tempfile::tempdir().expect("a folder");
        let (file, claim) = file_in(folder.path(), 0o600).expect("made");
        let (made, of_folder) = folder_in(folder.path()).expect("made");
        fs::write(made.path().join("half"), "half").expect("written");
        for path in [file.path(), made.path()] {
            age(path, 3600);
            assert!(!is_abandoned(path), "{path:?}");
        }
        let (file, made) = (file.into_temp_path().keep().expect("kept"), made.keep());
        // Only those of this test: others run beside it.
        for claim in [&claim, &of_folder] {
            assert!(LIVE.lock().expect("whole").contains(&claim.path));
        }
        drop((claim, of_folder));
        for path in [file, made] {
            assert!(is_abandoned(&path) && !LIVE.lock().expect("whole").contains(&path), "{path:?}");
        }
    }
}
