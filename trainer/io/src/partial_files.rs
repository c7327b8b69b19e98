//! Partial files and folders, written beside their destination and renamed.
//!
//! Where the system can, a file has no name until it is complete, so that a killed process leaves
//! nothing. Others are named `.pel-*.part`. They are locked while they are written and removed on an
//! early end. Those of killed processes are removed by the next process that writes into their
//! folder.

use super::errors::io_error;
use super::lock::Lock;
use pel_kb::error::Result;
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use tempfile::{NamedTempFile, TempDir};

const PREFIX: &str = ".pel-";
const SUFFIX: &str = ".part";

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
    /// `None` for a file that could not be opened again; nothing is removed without a lock.
    _lock: Option<Lock>,
}

impl Claim {
    /// `None` if another process takes the file for abandoned, since it had no lock yet.
    fn new(path: &Path, lock: Option<File>) -> Option<Self> {
        let lock = match lock {
            Some(file) => Some(Lock::of(file)?),
            None => None,
        };
        if !path.exists() {
            return None;
        }
        LIVE.lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(path.to_owned());
        Some(Self {
            path: path.to_owned(),
            _lock: lock,
        })
    }
}

/// How often a partial file is made again that another process has removed.
const TRIES: usize = 10;

/// Makes a partial file or folder and claims it.
fn claimed<T>(
    mut make: impl FnMut() -> std::io::Result<(T, Option<Claim>)>,
) -> std::io::Result<(T, Claim)> {
    for _ in 0..TRIES {
        if let (made, Some(claim)) = make()? {
            return Ok((made, claim));
        }
    }
    Err(std::io::Error::other(
        "other processes remove the partial files of this one",
    ))
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

/// A partial file.
#[derive(Debug)]
pub enum PartialFile {
    /// A file with a name.
    Named(NamedTempFile, Claim),
    /// A file without a name in a folder.
    #[cfg(target_os = "linux")]
    Nameless(File, PathBuf),
}

impl PartialFile {
    /// The open file.
    pub fn as_file(&self) -> &File {
        match self {
            Self::Named(file, _) => file.as_file(),
            #[cfg(target_os = "linux")]
            Self::Nameless(file, _) => file,
        }
    }

    /// Gives it its name, in place of a file that has it.
    ///
    /// # Errors
    /// If it cannot be renamed.
    pub fn persist(self, path: &Path) -> std::io::Result<()> {
        let (file, _claim) = match self {
            Self::Named(file, claim) => (file, claim),
            #[cfg(target_os = "linux")]
            Self::Nameless(file, folder) => nameless::named(&file, &folder)?,
        };
        file.persist(path).map(drop).map_err(|error| error.error)
    }
}

impl Write for PartialFile {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.as_file().write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.as_file().flush()
    }
}

/// Creates a partial file with `mode` in a folder, after removing abandoned ones there.
///
/// # Errors
/// If it cannot be created.
pub fn file_in(folder: &Path, mode: u32) -> std::io::Result<PartialFile> {
    remove_abandoned(folder);
    #[cfg(target_os = "linux")]
    if let Some(file) = nameless::file_in(folder, mode) {
        return Ok(PartialFile::Nameless(file, folder.to_owned()));
    }
    let (file, claim) = named_file_in(folder, mode)?;
    Ok(PartialFile::Named(file, claim))
}

/// Files of Linux that have no name yet (`O_TMPFILE`).
#[cfg(target_os = "linux")]
mod nameless {
    use super::{Claim, PREFIX, SUFFIX, claimed};
    use rustix::fs::{AtFlags, CWD, linkat};
    use std::fs::{File, OpenOptions};
    use std::os::fd::AsRawFd;
    use std::os::unix::fs::OpenOptionsExt;
    use std::path::Path;
    use tempfile::NamedTempFile;

    /// Where open files have the names by which they can be linked.
    const OPEN: &str = "/proc/self/fd";

    /// A file with `mode`; `None` where the file system has no such files.
    pub(super) fn file_in(folder: &Path, mode: u32) -> Option<File> {
        let mut options = OpenOptions::new();
        let options = options.write(true).mode(mode).custom_flags(libc::O_TMPFILE);
        let file = options.open(folder).ok()?;
        Path::new(OPEN).is_dir().then_some(file)
    }

    /// Gives a file a name of a partial file.
    pub(super) fn named(file: &File, folder: &Path) -> std::io::Result<(NamedTempFile, Claim)> {
        let mut beside = tempfile::Builder::new();
        beside.prefix(PREFIX).suffix(SUFFIX);
        let open = format!("{OPEN}/{}", file.as_raw_fd());
        claimed(|| {
            let named = beside.make_in(folder, |path| {
                linkat(CWD, &open, CWD, path, AtFlags::SYMLINK_FOLLOW)?;
                file.try_clone()
            })?;
            let claim = Claim::new(named.path(), Some(file.try_clone()?));
            Ok((named, claim))
        })
    }
}

fn named_file_in(folder: &Path, mode: u32) -> std::io::Result<(NamedTempFile, Claim)> {
    let mut beside = tempfile::Builder::new();
    beside.prefix(PREFIX).suffix(SUFFIX);
    #[cfg(unix)]
    beside.permissions(std::os::unix::fs::PermissionsExt::from_mode(mode));
    #[cfg(not(unix))]
    let _ = mode;
    claimed(|| {
        let file = beside.tempfile_in(folder)?;
        let claim = Claim::new(file.path(), file.as_file().try_clone().ok());
        Ok((file, claim))
    })
}

/// Creates a partial folder in a folder, after removing abandoned ones there.
///
/// # Errors
/// If it cannot be created.
pub fn folder_in(folder: &Path) -> std::io::Result<(TempDir, Claim)> {
    remove_abandoned(folder);
    claimed(|| {
        let made = tempfile::Builder::new()
            .prefix(PREFIX)
            .suffix(SUFFIX)
            .tempdir_in(folder)?;
        // Windows cannot open a folder this way; a partial folder there stays.
        let claim = Claim::new(made.path(), File::open(made.path()).ok());
        Ok((made, claim))
    })
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
/// our name pattern and no lock: the system frees the locks of a process with its end.
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
        if entry.file_name().to_str().is_some_and(is_partial)
            && let Some(_lock) = abandoned(&entry.path())
        {
            remove(&entry.path());
        }
    }
}

/// The lock of a partial file that no process holds. While it lives, none can claim the file.
fn abandoned(path: &Path) -> Option<Lock> {
    let found = fs::symlink_metadata(path).ok()?;
    // PEL creates no links or pipes under these names.
    if !found.is_file() && !found.is_dir() {
        return None;
    }
    Lock::of(File::open(path).ok()?).filter(Lock::is_exclusive)
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
    #[test]
    fn only_abandoned_partial_files_are_removed() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = |name: &str| folder.path().join(name);
        for name in [
            ".pel-left.part",
            ".pel-locked.part",
            ".other-old.part",
            ".pel-old.txt",
        ] {
            fs::write(path(name), "half").expect("written");
        }
        fs::create_dir(path(".pel-folder.part")).expect("made");
        fs::write(path(".pel-folder.part/kb.jsonl"), "half").expect("written");
        let file = File::open(path(".pel-locked.part")).expect("there");
        let _held = Lock::of(file).expect("nobody has it");
        drop(file_in(folder.path(), 0o600).expect("made"));
        let left = crate::files::entries(folder.path()).expect("listed");
        assert_eq!(
            left,
            [".other-old.part", ".pel-locked.part", ".pel-old.txt"]
        );
    }

    #[test]
    fn file_that_another_process_takes_for_abandoned_is_made_again() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut made = Vec::new();
        let (last, _claim) = claimed(|| {
            let path = folder.path().join(format!(".pel-{}.part", made.len()));
            let file = File::create(&path)?;
            made.push(path.clone());
            let other = match made.len() {
                // It looks at the file before the lock.
                1 => abandoned(&path),
                // It has removed the file.
                2 => {
                    fs::remove_file(&path)?;
                    None
                }
                _ => None,
            };
            let claim = Claim::new(&path, Some(file));
            drop(other);
            Ok((path, claim))
        })
        .expect("made");
        assert_eq!((made.len(), Some(&last)), (3, made.last()));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn file_has_no_name_until_it_is_complete() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("out.txt");
        let there = || crate::files::entries(folder.path()).expect("listed");
        let mut file = file_in(folder.path(), 0o666).expect("made");
        file.write_all(b"half").expect("written");
        if matches!(file, PartialFile::Nameless(..)) {
            assert!(there().is_empty(), "{:?}", there());
        }
        fs::write(&path, "old").expect("written");
        file.persist(&path).expect("renamed");
        assert_eq!(there(), ["out.txt"]);
        assert_eq!(fs::read_to_string(&path).expect("there"), "half");
    }

    #[test]
    fn partial_files_in_use_are_locked_and_registered() {
        let folder = tempfile::tempdir().expect("a folder");
        let (file, claim) = named_file_in(folder.path(), 0o600).expect("made");
        let (made, of_folder) = folder_in(folder.path()).expect("made");
        fs::write(made.path().join("half"), "half").expect("written");
        for path in [file.path(), made.path()] {
            assert!(abandoned(path).is_none(), "{path:?}");
        }
        let (file, made) = (file.into_temp_path().keep().expect("kept"), made.keep());
        // Tests that run at the same time register their own.
        for claim in [&claim, &of_folder] {
            assert!(LIVE.lock().expect("whole").contains(&claim.path));
        }
        drop((claim, of_folder));
        for path in [file, made] {
            assert!(
                abandoned(&path).is_some() && !LIVE.lock().expect("whole").contains(&path),
                "{path:?}"
            );
        }
    }
}
