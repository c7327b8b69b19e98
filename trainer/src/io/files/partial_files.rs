//! Partial files and folders, written beside their destination and renamed: `.pel-*.part`. They are
//! locked while they are written and removed on an early end. Those of killed processes are removed
//! later.

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

/// Files changed more recently are not removed, because their writer may not hold the lock yet.
const MIN_AGE: Duration = Duration::from_secs(60);

/// Partial files and folders of this process.
static LIVE: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());
/// Destination folders created by this process.
static CREATED: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());
/// Folders that this process has cleaned.
static CLEANED: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

/// Whether a name is that of a partial file or folder.
pub fn is_partial(name: &str) -> bool {
    name.starts_with(PREFIX) && name.ends_with(SUFFIX)
}

/// Registers a partial file for [`remove_all`] until dropped. Its lock tells other processes that
/// it is being written.
#[derive(Debug)]
pub struct Claim {
    path: PathBuf,
    /// None where the file system has no locks; nothing is removed there.
    _lock: Option<File>,
}

impl Claim {
    fn new(path: &Path, lock: Option<File>) -> Self {
        let lock = lock.filter(|file| file.try_lock().is_ok());
        LIVE.lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(path.to_owned());
        Self {
            path: path.to_owned(),
            _lock: lock,
        }
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        LIVE.lock()
            .unwrap_or_else(PoisonError::into_inner)
            .remove(&self.path);
    }
}

/// Registers a new destination folder for [`remove_all`] until dropped. If the work ends early, the
/// folder is removed if empty.
#[derive(Debug)]
pub struct CreatedFolder(PathBuf);

impl CreatedFolder {
    /// Registers a folder.
    pub fn new(folder: &Path) -> Self {
        CREATED
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(folder.to_owned());
        Self(folder.to_owned())
    }
}

impl Drop for CreatedFolder {
    fn drop(&mut self) {
        CREATED
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .remove(&self.0);
    }
}

/// Creates a partial file with `mode` in a folder, after removing abandoned ones there.
///
/// # Errors
/// If it cannot be created.
pub fn file_in(folder: &Path, mode: u32) -> std::io::Result<(NamedTempFile, Claim)> {
    remove_abandoned(folder);
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

/// Creates a partial folder in a folder, after removing abandoned ones there.
///
/// # Errors
/// If it cannot be created.
pub fn folder_in(folder: &Path) -> std::io::Result<(TempDir, Claim)> {
    remove_abandoned(folder);
    let made = tempfile::Builder::new()
        .prefix(PREFIX)
        .suffix(SUFFIX)
        .tempdir_in(folder)?;
    // Windows cannot open a folder this way; a partial folder there stays.
    let claim = Claim::new(made.path(), File::open(made.path()).ok());
    Ok((made, claim))
}

/// Removes the partial files of this process before it ends. Failures are ignored.
pub fn remove_all() {
    let live: Vec<PathBuf> = LIVE
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .iter()
        .cloned()
        .collect();
    live.iter().for_each(|path| remove(path));
    for folder in CREATED
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .iter()
    {
        let _ = fs::remove_dir(folder);
    }
}

fn remove(path: &Path) {
    // A symbolic link is removed, not followed.
    let _ = match fs::symlink_metadata(path).is_ok_and(|found| found.is_dir()) {
        true => fs::remove_dir_all(path),
        false => fs::remove_file(path),
    };
}

/// Removes partial files of killed processes from a folder, once per folder and process. They have
/// our name pattern, no recent change and no lock.
fn remove_abandoned(folder: &Path) {
    let place = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    if !CLEANED
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .insert(place)
    {
        return;
    }
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.file_name().to_str().is_some_and(is_partial) && is_abandoned(&entry.path()) {
            remove(&entry.path());
        }
    }
}

fn is_abandoned(path: &Path) -> bool {
    let Ok(found) = fs::symlink_metadata(path) else {
        return false;
    };
    let is_old = found
        .modified()
        .ok()
        .and_then(|changed| changed.elapsed().ok())
        .is_some_and(|age| age > MIN_AGE);
    // PEL creates no links or pipes under these names.
    is_old
        && (found.is_file() || found.is_dir())
        && File::open(path).is_ok_and(|file| file.try_lock().is_ok())
}

/// Flushes the entries of a folder, so that a renamed file survives a power failure.
///
/// # Errors
/// If the disk fails. File systems that cannot flush folders give no error.
pub fn sync_folder(folder: &Path) -> Result<()> {
    #[cfg(unix)]
    {
        use std::io::ErrorKind;
        let synced = File::open(folder).and_then(|folder| folder.sync_all());
        match synced {
            Err(cause)
                if matches!(
                    cause.kind(),
                    ErrorKind::InvalidInput | ErrorKind::Unsupported
                ) => {}
            // A folder may be writable but not readable.
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
        File::open(path)
            .and_then(|file| file.set_modified(then))
            .expect("its own");
    }

    #[test]
    fn only_abandoned_partial_files_are_removed() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = |name: &str| folder.path().join(name);
        for name in [
            ".pel-old.part",
            ".pel-young.part",
            ".pel-locked.part",
            ".other-old.part",
            ".pel-old.txt",
        ] {
            fs::write(path(name), "half").expect("written");
        }
        fs::create_dir(path(".pel-folder.part")).expect("made");
        fs::write(path(".pel-folder.part/kb.jsonl"), "half").expect("written");
        let names = [
            ".pel-old.part",
            ".pel-locked.part",
            ".other-old.part",
            ".pel-old.txt",
            ".pel-folder.part",
        ];
        names.iter().for_each(|name| age(&path(name), 3600));
        let held = File::open(path(".pel-locked.part")).expect("there");
        held.try_lock().expect("nobody has it");
        drop(file_in(folder.path(), 0o600).expect("made"));
        let left = crate::io::files::entries(folder.path()).expect("listed");
        assert_eq!(
            left,
            [
                ".other-old.part",
                ".pel-locked.part",
                ".pel-old.txt",
                ".pel-young.part"
            ]
        );
    }

    #[test]
    fn partial_files_in_use_are_locked_and_registered() {
        let folder = tempfile::tempdir().expect("a folder");
        let (file, claim) = file_in(folder.path(), 0o600).expect("made");
        let (made, of_folder) = folder_in(folder.path()).expect("made");
        fs::write(made.path().join("half"), "half").expect("written");
        for path in [file.path(), made.path()] {
            age(path, 3600);
            assert!(!is_abandoned(path), "{path:?}");
        }
        let (file, made) = (file.into_temp_path().keep().expect("kept"), made.keep());
        // Tests that run at the same time register their own.
        for claim in [&claim, &of_folder] {
            assert!(LIVE.lock().expect("whole").contains(&claim.path));
        }
        drop((claim, of_folder));
        for path in [file, made] {
            assert!(
                is_abandoned(&path) && !LIVE.lock().expect("whole").contains(&path),
                "{path:?}"
            );
        }
    }
}
