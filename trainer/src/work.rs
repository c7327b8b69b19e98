//! Where an interrupted run leaves what it has done: a folder beside what it makes.

use crate::files::io_error;
use pel_shared::error::Result;
use std::fs::{File, OpenOptions};
use std::io::{Seek, SeekFrom};
use std::path::{Path, PathBuf};

/// A folder for the finished pieces of a long computation.
#[derive(Debug)]
pub struct WorkFolder {
    folder: PathBuf,
}

/// What an earlier run of the same work has left.
#[derive(Debug)]
pub struct Begun {
    /// Its whole pieces, one after the other; at its end, to write the next ones.
    pub file: File,
    /// Its name.
    pub path: PathBuf,
    /// How many pieces it has.
    pub done: usize,
}

impl WorkFolder {
    /// The work folder of a file or folder to be.
    pub fn beside(out: &Path) -> Self {
        Self { folder: Self::place(out) }
    }

    /// Where the work folder of a file or folder to be is.
    pub fn place(out: &Path) -> PathBuf {
        let name = out.file_name().unwrap_or_default().to_string_lossy();
        out.with_file_name(format!(".{name}.work"))
    }

    /// Removes the folder when the result is whole.
    ///
    /// # Errors
    /// If it cannot be removed.
    pub fn remove(self) -> Result<()> {
        if self.folder.exists() {
            std::fs::remove_dir_all(&self.folder).map_err(|cause| io_error("removing", &self.folder, cause))?;
        }
        Ok(())
    }

    /// Opens the pieces of an earlier run of the same work, or begins anew. `key` stands for everything that they depend on,
    /// `sizes` are the bytes of all pieces that are to be.
    ///
    /// # Errors
    /// If the folder or its files cannot be made, read or cut.
    pub fn open(&self, key: &blake3::Hash, sizes: &[u64]) -> Result<Begun> {
        std::fs::create_dir_all(&self.folder).map_err(|cause| io_error("making the folder", &self.folder, cause))?;
        let (key_path, path) = (self.folder.join("key"), self.folder.join("done.f32"));
        let key = key.to_hex();
        let same = std::fs::read_to_string(&key_path).is_ok_and(|found| found == key.as_str());
        let options = OpenOptions::new().read(true).write(true).create(true).truncate(!same).open(&path);
        let mut file = options.map_err(|cause| io_error("opening", &path, cause))?;
        if !same {
            std::fs::write(&key_path, key.as_bytes()).map_err(|cause| io_error("writing", &key_path, cause))?;
        }
        let failed = |cause| io_error("reading", &path, cause);
        let found = file.metadata().map_err(failed)?.len();
        let (mut done, mut whole) = (0, 0);
        for bytes in sizes {
            if whole + bytes > found {
                break;
            }
            (done, whole) = (done + 1, whole + bytes);
        }
        file.set_len(whole).map_err(failed)?;
        file.seek(SeekFrom::End(0)).map_err(failed)?;
        Ok(Begun { file, path, done })
    }
}
