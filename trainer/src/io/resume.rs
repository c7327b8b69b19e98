//! Where an interrupted run leaves what it has done: a folder beside what it makes.
//!
//! ```text
//! .NAME.work/key        what the work depends on: its form and a hash
//! .NAME.work/done.f32   the pieces that are done, each followed by its checksum
//! ```
//!
//! A checksum covers the key and the number of its piece too, so that no piece is taken for another. Pieces from the first damaged
//! one on are computed again.

use crate::io::files::io_error;
use pel_shared::error::{Error, Result};
use std::fs::{File, OpenOptions};
use std::io::{BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// The form of the files; raised when it changes, so that those of other versions are not gone on with.
const FORM: &str = "pel work 2";

/// The bytes of a checksum.
const CHECKSUM: u64 = blake3::OUT_LEN as u64;

/// A folder for the finished pieces of a long computation.
#[derive(Debug)]
pub struct WorkFolder {
    folder: PathBuf,
}

/// What an earlier run of the same work has left.
#[derive(Debug)]
pub struct Begun {
    /// Its whole pieces, one after the other; at its end, to write the next ones.
    file: File,
    path: PathBuf,
    key: blake3::Hash,
    /// The bytes of all pieces that are to be.
    sizes: Vec<u64>,
    done: usize,
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
    /// `sizes` are the bytes of all pieces that are to be. Pieces whose checksum differs are left out, and all after them.
    ///
    /// # Errors
    /// If the folder or its files cannot be made, read or cut.
    pub fn open(&self, key: &blake3::Hash, sizes: &[u64]) -> Result<Begun> {
        std::fs::create_dir_all(&self.folder).map_err(|cause| io_error("making the folder", &self.folder, cause))?;
        let (key_path, path) = (self.folder.join("key"), self.folder.join("done.f32"));
        let own = format!("{FORM}\n{}\n", key.to_hex());
        let same = std::fs::read_to_string(&key_path).is_ok_and(|found| found == own);
        let options = OpenOptions::new().read(true).write(true).create(true).truncate(!same).open(&path);
        let file = options.map_err(|cause| io_error("opening", &path, cause))?;
        if !same {
            std::fs::write(&key_path, own.as_bytes()).map_err(|cause| io_error("writing", &key_path, cause))?;
        }
        let mut begun = Begun { file, path, key: *key, sizes: sizes.to_vec(), done: sizes.len() };
        let failed = |cause| io_error("reading", &begun.path, cause);
        let found = begun.file.metadata().map_err(failed)?.len();
        let (mut kept, mut whole) = (0, 0);
        begun.each(|piece| {
            if let Some(bytes) = piece {
                (kept, whole) = (kept + 1, whole + bytes.len() as u64 + CHECKSUM);
            }
            Ok(())
        })?;
        // A process that is killed leaves a piece that is cut short, which is nothing to speak of.
        if sizes.get(kept).is_some_and(|next| found >= whole + next + CHECKSUM) {
            let path = begun.path.display();
            eprintln!("warning: {path}: the pieces from number {kept} on are damaged and are computed again");
        }
        begun.done = kept;
        let failed = |cause| io_error("writing", &begun.path, cause);
        begun.file.set_len(whole).map_err(failed)?;
        begun.file.seek(SeekFrom::End(0)).map_err(failed)?;
        Ok(begun)
    }
}

impl Begun {
    /// How many pieces it has.
    pub fn done(&self) -> usize {
        self.done
    }

    /// Writes the next piece.
    ///
    /// # Errors
    /// If it has another size than was said, or cannot be written.
    pub fn add(&mut self, piece: &[u8]) -> Result<()> {
        let expected = self.sizes.get(self.done).copied();
        if expected != Some(piece.len() as u64) {
            let (at, found) = (self.done, piece.len());
            return Err(Error::io(format!("piece {at} of the work: expected {expected:?} bytes, found {found}")));
        }
        let checksum = self.checksum(self.done, piece);
        // In one call, so that a process that is killed seldom leaves a half.
        let written = self.file.write_all(&[piece, checksum.as_bytes()].concat());
        written.map_err(|cause| io_error("writing", &self.path, cause))?;
        self.done += 1;
        Ok(())
    }

    /// Calls `take` with each piece that is done, in their order; then the next ones can be added.
    ///
    /// # Errors
    /// If the file cannot be read, has been altered meanwhile, or `take` fails.
    pub fn read(&mut self, mut take: impl FnMut(&[u8]) -> Result<()>) -> Result<()> {
        let path = self.path.clone();
        self.each(|piece| match piece {
            Some(piece) => take(piece),
            None => Err(Error::io(format!("{}: it has been altered since it was opened", path.display()))),
        })?;
        self.file.seek(SeekFrom::End(0)).map(drop).map_err(|cause| io_error("reading", &self.path, cause))
    }

    /// Calls `take` with each piece from the first on, and once with nothing where one is cut short or damaged.
    fn each(&mut self, mut take: impl FnMut(Option<&[u8]>) -> Result<()>) -> Result<()> {
        self.file.seek(SeekFrom::Start(0)).map_err(|cause| io_error("reading", &self.path, cause))?;
        let mut reader = BufReader::with_capacity(1 << 20, &self.file);
        let mut piece = Vec::new();
        for (at, bytes) in self.sizes.iter().enumerate().take(self.done) {
            crate::io::interrupt::check()?;
            piece.clear();
            let all = reader.by_ref().take(bytes + CHECKSUM).read_to_end(&mut piece);
            let found = all.map_err(|cause| io_error("reading", &self.path, cause))? as u64;
            let body = piece.split_at_checked(*bytes as usize).filter(|_| found == bytes + CHECKSUM);
            let body = body.filter(|(body, checksum)| self.checksum(at, body).as_bytes() == *checksum);
            take(body.map(|(body, _)| body))?;
            if body.is_none() {
                break;
            }
        }
        Ok(())
    }

    fn checksum(&self, at: usize, piece: &[u8]) -> blake3::Hash {
        blake3::Hasher::new_keyed(self.key.as_bytes()).update(&(at as u64).to_le_bytes()).update(piece).finalize()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZES: [u64; 4] = [3, 0, 5, 2];

    fn pieces(begun: &mut Begun) -> Vec<Vec<u8>> {
        let mut all = Vec::new();
        begun
            .read(|piece| {
                all.push(piece.to_vec());
                Ok(())
            })
            .expect("read");
        all
    }

    /// A work folder in which the first three pieces are done.
    fn begun(folder: &Path) -> (WorkFolder, blake3::Hash, PathBuf) {
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
    fn what_is_done_is_gone_on_with() {
        let folder = tempfile::tempdir().expect("a folder");
        let (work, key, _) = begun(folder.path());
        let mut again = work.open(&key, &SIZES).expect("opened");
        assert_eq!(pieces(&mut again), [&b"abc"[..], b"", b"defgh"]);
        again.add(b"ij").expect("written");
        assert_eq!(pieces(&mut again).len(), 4);
        let other = blake3::hash(b"something else");
        assert_eq!(work.open(&other, &SIZES).expect("opened").done(), 0);
        work.remove().expect("removed");
        assert!(!folder.path().join(".out.work").exists());
    }

    #[test]
    fn pieces_from_the_first_damaged_one_on_are_left_out() {
        let folder = tempfile::tempdir().expect("a folder");
        let (work, key, path) = begun(folder.path());
        let whole = std::fs::read(&path).expect("read");
        // Each piece is followed by 32 bytes.
        let ends = [35, 67, 104];
        assert_eq!(whole.len(), 104);
        for at in 0..whole.len() {
            let mut bytes = whole.clone();
            bytes[at] ^= 1;
            std::fs::write(&path, &bytes).expect("written");
            let expected = ends.iter().filter(|end| **end <= at).count();
            assert_eq!(work.open(&key, &SIZES).expect("opened").done(), expected, "byte {at}");
        }
        for length in 0..whole.len() {
            std::fs::write(&path, &whole[..length]).expect("written");
            let expected = ends.iter().filter(|end| **end <= length).count();
            assert_eq!(work.open(&key, &SIZES).expect("opened").done(), expected, "{length} bytes");
        }
        // What a file system leaves behind that was not flushed: zeros at the end.
        std::fs::write(&path, [&whole[..], &[0; 4096]].concat()).expect("written");
        let mut again = work.open(&key, &SIZES).expect("opened");
        assert_eq!((again.done(), pieces(&mut again).len()), (3, 3));
        assert_eq!(std::fs::metadata(&path).expect("there").len(), 104);
        // A piece in the place of another one.
        std::fs::write(&path, [&whole[35..67], &whole[35..]].concat()).expect("written");
        assert_eq!(work.open(&key, &[0, 0, 5, 2]).expect("opened").done(), 0);
    }

    #[test]
    fn work_of_another_form_is_not_gone_on_with() {
        let folder = tempfile::tempdir().expect("a folder");
        let (work, key, _) = begun(folder.path());
        // What earlier versions wrote: the hash alone, and pieces without checksums.
        std::fs::write(folder.path().join(".out.work/key"), key.to_hex().as_bytes()).expect("written");
        assert_eq!(work.open(&key, &SIZES).expect("opened").done(), 0);
    }
}
