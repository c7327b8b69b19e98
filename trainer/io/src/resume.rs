//! Finished parts of an interrupted run, in a folder beside its output.
//!
//! ```text
//! .NAME.work/key        the format and a hash of everything that the results depend on
//! .NAME.work/done.f32   the finished parts, each followed by its checksum
//! ```
//!
//! A checksum also covers the key and the number of its part, so parts cannot be confused. Parts
//! from the first damaged one on are computed again.

use crate::files::{io_error, open_no_follow};
use pel_kb::error::{Error, Result};
use std::fs::{File, OpenOptions};
use std::io::{BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// The format of the files. Work in other formats is not resumed.
const FORMAT: &str = "pel work 2";

/// Bytes of a checksum.
const CHECKSUM: u64 = blake3::OUT_LEN as u64;

/// A folder for the finished parts of a long computation.
#[derive(Debug)]
pub struct WorkFolder {
    folder: PathBuf,
}

/// The finished parts of an earlier run of the same work.
#[derive(Debug)]
pub struct ResumedWork {
    /// Holds the finished parts; the next one is written at its end.
    file: File,
    path: PathBuf,
    key: blake3::Hash,
    /// The size of every part in bytes.
    sizes: Vec<u64>,
    done: usize,
}

impl WorkFolder {
    /// The work folder of an output.
    pub fn beside(out: &Path) -> Self {
        Self {
            folder: Self::place(out),
        }
    }

    /// The path of the work folder of an output.
    pub fn place(out: &Path) -> PathBuf {
        let name = out.file_name().unwrap_or_default().to_string_lossy();
        out.with_file_name(format!(".{name}.work"))
    }

    /// The folder of the output.
    pub fn parent(&self) -> &Path {
        match self.folder.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        }
    }

    /// Removes the folder once the output is complete.
    ///
    /// # Errors
    /// If it cannot be removed.
    pub fn remove(self) -> Result<()> {
        if self.folder.exists() {
            std::fs::remove_dir_all(&self.folder)
                .map_err(|cause| io_error("removing", &self.folder, cause))?;
        }
        Ok(())
    }

    /// Opens the parts of an earlier run of the same work, or starts from the first. `key` is a
    /// hash of everything that they depend on; `sizes` are the bytes of all parts. A part with a
    /// wrong checksum is dropped with all after it.
    ///
    /// # Errors
    /// If the folder or its files are links or cannot be created, read or truncated.
    pub fn open(&self, key: &blake3::Hash, sizes: &[u64]) -> Result<ResumedWork> {
        std::fs::create_dir_all(&self.folder)
            .map_err(|cause| io_error("making the folder", &self.folder, cause))?;
        let (key_path, path) = (self.folder.join("key"), self.folder.join("done.f32"));
        let own = format!("{FORMAT}\n{}\n", key.to_hex());
        let same = std::fs::read_to_string(&key_path).is_ok_and(|found| found == own);
        let file = open_no_follow(
            &path,
            OpenOptions::new()
                .read(true)
                .write(true)
                .create(true)
                .truncate(!same),
        )?;
        if !same {
            let mut key_file = open_no_follow(
                &key_path,
                OpenOptions::new().write(true).create(true).truncate(true),
            )?;
            key_file
                .write_all(own.as_bytes())
                .map_err(|cause| io_error("writing", &key_path, cause))?;
        }
        let mut begun = ResumedWork {
            file,
            path,
            key: *key,
            sizes: sizes.to_vec(),
            done: sizes.len(),
        };
        let failed = |cause| io_error("reading", &begun.path, cause);
        let found = begun.file.metadata().map_err(failed)?.len();
        let (mut kept, mut whole) = (0, 0);
        begun.each(|piece| {
            if let Some(bytes) = piece {
                (kept, whole) = (kept + 1, whole + bytes.len() as u64 + CHECKSUM);
            }
            Ok(())
        })?;
        // A killed process leaves a truncated part, which needs no warning.
        if sizes
            .get(kept)
            .is_some_and(|next| found >= whole + next + CHECKSUM)
        {
            let path = begun.path.display();
            eprintln!(
                "warning: {path}: parts from number {kept} on are damaged and will be computed \
                 again"
            );
        }
        begun.done = kept;
        let failed = |cause| io_error("writing", &begun.path, cause);
        begun.file.set_len(whole).map_err(failed)?;
        begun.file.seek(SeekFrom::End(0)).map_err(failed)?;
        Ok(begun)
    }
}

impl ResumedWork {
    /// The number of finished parts.
    pub fn done(&self) -> usize {
        self.done
    }

    /// Appends the next part.
    ///
    /// # Errors
    /// If its size differs from the announced one, or it cannot be written.
    pub fn add(&mut self, piece: &[u8]) -> Result<()> {
        let expected = self.sizes.get(self.done).copied();
        if expected != Some(piece.len() as u64) {
            let (at, found) = (self.done, piece.len());
            return Err(Error::io(format!(
                "part {at} of the work: expected {expected:?} bytes, found {found}"
            )));
        }
        let checksum = self.checksum(self.done, piece);
        // One call, so that a kill rarely leaves half a part.
        let written = self.file.write_all(&[piece, checksum.as_bytes()].concat());
        written.map_err(|cause| io_error("writing", &self.path, cause))?;
        self.done += 1;
        Ok(())
    }

    /// Calls `take` with each finished part in order. Further parts can be added afterwards.
    ///
    /// # Errors
    /// If the file cannot be read or has changed since it was opened, or `take` fails.
    pub fn read(&mut self, mut take: impl FnMut(&[u8]) -> Result<()>) -> Result<()> {
        let path = self.path.clone();
        self.each(|piece| match piece {
            Some(piece) => take(piece),
            None => Err(Error::io(format!(
                "{}: it has changed since it was opened",
                path.display()
            ))),
        })?;
        self.file
            .seek(SeekFrom::End(0))
            .map(drop)
            .map_err(|cause| io_error("reading", &self.path, cause))
    }

    /// Calls `take` with each part from the first on, and with `None` at a truncated or damaged
    /// one.
    fn each(&mut self, mut take: impl FnMut(Option<&[u8]>) -> Result<()>) -> Result<()> {
        self.file
            .seek(SeekFrom::Start(0))
            .map_err(|cause| io_error("reading", &self.path, cause))?;
        let mut reader = BufReader::with_capacity(1 << 20, &self.file);
        let mut piece = Vec::new();
        for (at, bytes) in self.sizes.iter().enumerate().take(self.done) {
            crate::interrupt::check()?;
            piece.clear();
            let all = reader
                .by_ref()
                .take(bytes + CHECKSUM)
                .read_to_end(&mut piece);
            let found = all.map_err(|cause| io_error("reading", &self.path, cause))? as u64;
            let body = piece
                .split_at_checked(*bytes as usize)
                .filter(|_| found == bytes + CHECKSUM);
            let body =
                body.filter(|(body, checksum)| self.checksum(at, body).as_bytes() == *checksum);
            take(body.map(|(body, _)| body))?;
            if body.is_none() {
                break;
            }
        }
        Ok(())
    }

    fn checksum(&self, at: usize, piece: &[u8]) -> blake3::Hash {
        blake3::Hasher::new_keyed(self.key.as_bytes())
            .update(&(at as u64).to_le_bytes())
            .update(piece)
            .finalize()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZES: [u64; 4] = [3, 0, 5, 2];

    fn parts(begun: &mut ResumedWork) -> Vec<Vec<u8>> {
        let mut all = Vec::new();
        begun
            .read(|piece| {
                all.push(piece.to_vec());
                Ok(())
            })
            .expect("read");
        all
    }

    /// A work folder with three finished parts.
    fn resumed_work(folder: &Path) -> (WorkFolder, blake3::Hash, PathBuf) {
        let work = WorkFolder::beside(&folder.join("out"));
        let key = blake3::hash(b"all that matters");
        let mut begun = work.open(&key, &SIZES).expect("opened");
        assert_eq!(begun.done(), 0);
        for piece in ["abc", "", "defgh"] {
            begun.add(piece.as_bytes()).expect("written");
        }
        assert!(begun.add(b"too long").is_err());
        (work, key, folder.join(".out.work/done.f32"))
    }

    #[test]
    fn finished_parts_are_resumed() {
        let folder = tempfile::tempdir().expect("a folder");
        let (work, key, _) = resumed_work(folder.path());
        let mut again = work.open(&key, &SIZES).expect("opened");
        assert_eq!(parts(&mut again), [&b"abc"[..], b"", b"defgh"]);
        again.add(b"ij").expect("written");
        assert_eq!(parts(&mut again).len(), 4);
        let other = blake3::hash(b"something else");
        assert_eq!(work.open(&other, &SIZES).expect("opened").done(), 0);
        work.remove().expect("removed");
        assert!(!folder.path().join(".out.work").exists());
    }

    #[test]
    fn parts_after_the_first_damaged_one_are_dropped() {
        let folder = tempfile::tempdir().expect("a folder");
        let (work, key, path) = resumed_work(folder.path());
        let whole = std::fs::read(&path).expect("read");
        // Each part is followed by 32 bytes.
        let ends = [35, 67, 104];
        assert_eq!(whole.len(), 104);
        for at in 0..whole.len() {
            let mut bytes = whole.clone();
            bytes[at] ^= 1;
            std::fs::write(&path, &bytes).expect("written");
            let expected = ends.iter().filter(|end| **end <= at).count();
            assert_eq!(
                work.open(&key, &SIZES).expect("opened").done(),
                expected,
                "byte {at}"
            );
        }
        for length in 0..whole.len() {
            std::fs::write(&path, &whole[..length]).expect("written");
            let expected = ends.iter().filter(|end| **end <= length).count();
            assert_eq!(
                work.open(&key, &SIZES).expect("opened").done(),
                expected,
                "{length} bytes"
            );
        }
        // A file that was not flushed may end in zeros.
        std::fs::write(&path, [&whole[..], &[0; 4096]].concat()).expect("written");
        let mut again = work.open(&key, &SIZES).expect("opened");
        assert_eq!((again.done(), parts(&mut again).len()), (3, 3));
        assert_eq!(std::fs::metadata(&path).expect("there").len(), 104);
        // A part in the place of another.
        std::fs::write(&path, [&whole[35..67], &whole[35..]].concat()).expect("written");
        assert_eq!(work.open(&key, &[0, 0, 5, 2]).expect("opened").done(), 0);
    }

    #[test]
    fn work_of_another_format_is_not_resumed() {
        let folder = tempfile::tempdir().expect("a folder");
        let (work, key, _) = resumed_work(folder.path());
        // Earlier versions wrote the hash alone and no checksums.
        std::fs::write(folder.path().join(".out.work/key"), key.to_hex().as_bytes())
            .expect("written");
        assert_eq!(work.open(&key, &SIZES).expect("opened").done(), 0);
    }

    #[cfg(unix)]
    #[test]
    fn planted_links_are_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        let other = folder.path().join("other");
        std::fs::write(&other, "kept").expect("written");
        let work = WorkFolder::beside(&folder.path().join("out"));
        for name in ["done.f32", "key"] {
            let planted = WorkFolder::place(&folder.path().join("out")).join(name);
            std::fs::create_dir_all(planted.parent().expect("a folder")).expect("made");
            std::os::unix::fs::symlink(&other, &planted).expect("linked");
            let error = work
                .open(&blake3::hash(b"key"), &SIZES)
                .expect_err("a link")
                .to_string();
            assert!(error.contains("found a link"), "{error}");
            assert_eq!(std::fs::read(&other).expect("read"), b"kept");
            std::fs::remove_file(planted).expect("removed");
        }
    }
}
