//! A lock between processes.

use super::no_follow::open_no_follow;
use pel_kb::error::Result;
use std::fs::{File, OpenOptions, TryLockError};
use std::path::Path;

/// The lock of a file, which one process at a time holds. It ends when dropped, and with the
/// process. Some network file systems have no locks; there every process gets one.
#[derive(Debug)]
pub struct Lock {
    _file: File,
    exclusive: bool,
}

impl Lock {
    /// Locks a file that is open; `None` if another process holds its lock.
    pub fn of(file: File) -> Option<Self> {
        let exclusive = match file.try_lock() {
            Ok(()) => true,
            Err(TryLockError::Error(_)) => false,
            Err(TryLockError::WouldBlock) => return None,
        };
        Some(Self {
            _file: file,
            exclusive,
        })
    }

    /// Locks the file at a path, which is made if there is none; `None` if another process holds
    /// its lock.
    ///
    /// # Errors
    /// If the file is a link, or cannot be opened.
    pub fn at(path: &Path) -> Result<Option<Self>> {
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(false);
        Ok(Self::of(open_no_follow(path, &mut options)?))
    }

    /// Whether no other process can have it, because the file system has locks.
    pub fn is_exclusive(&self) -> bool {
        self.exclusive
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lock_is_held_until_it_is_dropped() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("lock");
        let first = Lock::at(&path).expect("opened").expect("free");
        assert!(first.is_exclusive());
        assert!(Lock::at(&path).expect("opened").is_none());
        drop(first);
        assert!(Lock::of(File::open(&path).expect("there")).is_some());
    }
}
