//! Members of a ZIP archive, read one by one without unpacking the archive.

use crate::errors::io_error;
use crate::files::open::open_reader;
use crate::limits::Bound;
use flate2::Crc;
use flate2::bufread::DeflateDecoder;
use pel_kb::error::{Error, Result};
use rawzip::{CompressionMethod, RECOMMENDED_BUFFER_SIZE, ZipArchive, ZipArchiveEntryWayfinder};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The largest number of members of an archive.
const MOST_MEMBERS: usize = 100_000;

/// A file in a ZIP archive.
#[derive(Clone, Debug)]
pub struct Member {
    archive: Arc<Path>,
    name: String,
    method: CompressionMethod,
    encrypted: bool,
    crc: u32,
    place: ZipArchiveEntryWayfinder,
}

/// Whether a file begins like a ZIP archive.
#[must_use]
pub fn is_archive(path: &Path) -> bool {
    let mut head = [0; 4];
    let read = File::open(path).and_then(|mut file| file.read_exact(&mut head));
    read.is_ok() && (head == *b"PK\x03\x04" || head == *b"PK\x05\x06")
}

/// The files in a ZIP archive, in the order of its directory.
///
/// # Errors
/// If the archive cannot be opened, its directory is damaged, it has more than 100,000 members or
/// a member's name is not UTF-8.
pub fn members(path: &Path) -> Result<Vec<Member>> {
    let file = File::open(path).map_err(|cause| io_error("opening", path, cause))?;
    let damaged = |cause| damaged(path, cause);
    let mut buffer = vec![0; RECOMMENDED_BUFFER_SIZE];
    let archive = ZipArchive::from_file(file, &mut buffer).map_err(damaged)?;
    let shared: Arc<Path> = Arc::from(path);
    let mut members = Vec::new();
    let mut entries = archive.entries(&mut buffer);
    while let Some(entry) = entries.next_entry().map_err(damaged)? {
        if members.len() == MOST_MEMBERS {
            return Err(Error::input(format!(
                "{}: expected a ZIP archive of at most {MOST_MEMBERS} files, found more",
                path.display()
            )));
        }
        if entry.is_dir() {
            continue;
        }
        let name = std::str::from_utf8(entry.file_path().as_bytes()).map_err(|_| {
            Error::input(format!(
                "{}: expected names of files in UTF-8, found {:?}",
                path.display(),
                String::from_utf8_lossy(entry.file_path().as_bytes())
            ))
        })?;
        members.push(Member {
            archive: Arc::clone(&shared),
            name: name.replace('\\', "/"),
            method: entry.compression_method(),
            encrypted: entry.flags().is_encrypted(),
            crc: entry.crc32(),
            place: entry.wayfinder(),
        });
    }
    Ok(members)
}

fn damaged(path: &Path, cause: rawzip::Error) -> Error {
    Error::input(format!("{}: expected a whole ZIP archive", path.display())).caused_by(cause)
}

impl Member {
    /// Its path in the archive, with `/` between folders.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The archive and the member, for messages: `release.zip:META/MRCONSO.RRF`.
    #[must_use]
    pub fn label(&self) -> String {
        format!("{}:{}", self.archive.display(), self.name)
    }

    /// Opens the member. A member in gzip, bzip2, xz or zstd is decompressed. Reading fails beyond
    /// the limit, after an interrupt, or if the content does not have the recorded size and
    /// checksum.
    ///
    /// # Errors
    /// If the archive cannot be opened, or the member is encrypted, damaged or compressed by a
    /// method other than Deflate.
    pub fn open(&self, bound: Bound) -> Result<Box<dyn BufRead>> {
        let label = self.label();
        if self.encrypted {
            return Err(Error::input(format!(
                "{label}: expected a file without a password, found an encrypted one; unpack it \
                 first"
            )));
        }
        let path = &*self.archive;
        let failed = |cause| io_error("opening", path, cause);
        let mut file = File::open(path).map_err(failed)?;
        let mut buffer = vec![0; RECOMMENDED_BUFFER_SIZE];
        let archive = ZipArchive::from_file(file.try_clone().map_err(failed)?, &mut buffer)
            .map_err(|cause| damaged(path, cause))?;
        let entry = archive
            .get_entry(self.place)
            .map_err(|cause| damaged(Path::new(&label), cause))?;
        let (begin, end) = entry.compressed_data_range();
        file.seek(SeekFrom::Start(begin)).map_err(failed)?;
        let packed = BufReader::with_capacity(1 << 16, file.take(end.saturating_sub(begin)));
        let reader: Box<dyn Read> = match self.method {
            CompressionMethod::STORE => Box::new(packed),
            CompressionMethod::DEFLATE => Box::new(DeflateDecoder::new(packed)),
            other => {
                let name = other.name().unwrap_or("an unknown method");
                return Err(Error::input(format!(
                    "{label}: expected a file stored or compressed by Deflate, found {name}; \
                     unpack the archive and import the folder"
                )));
            }
        };
        let checked = CheckedReader {
            reader,
            crc: Crc::new(),
            read: 0,
            expected: (self.place.uncompressed_size_hint(), self.crc),
        };
        open_reader(&PathBuf::from(label), Box::new(checked), bound)
    }
}

/// Fails at the end if size or checksum differ from those in the archive, and as soon as there are
/// more bytes.
struct CheckedReader {
    reader: Box<dyn Read>,
    crc: Crc,
    read: u64,
    expected: (u64, u32),
}

impl Read for CheckedReader {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let length = self.reader.read(into)?;
        self.read += length as u64;
        self.crc.update(into.get(..length).unwrap_or_default());
        let (size, crc) = self.expected;
        let ended = length == 0 && !into.is_empty();
        if self.read > size || (ended && (self.read, self.crc.sum()) != (size, crc)) {
            return Err(io::Error::other(Error::input(format!(
                "expected {size} bytes with the checksum {crc:08x} as the archive records, found \
                 others: the archive is damaged"
            ))));
        }
        Ok(length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::zipped;

    fn text(member: &Member) -> Result<String> {
        let mut text = String::new();
        member
            .open(Bound::Stream)?
            .read_to_string(&mut text)
            .map_err(|cause| io_error("reading", Path::new("member"), cause))?;
        Ok(text)
    }

    #[test]
    fn members_are_read_without_unpacking() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("release.zip");
        let long = "fever\n".repeat(100_000);
        zipped(
            &path,
            &[("META/A.RRF", long.as_bytes()), ("META/B.RRF", b"")],
        );
        assert!(is_archive(&path));
        let members = members(&path).expect("whole");
        let names: Vec<_> = members.iter().map(Member::name).collect();
        assert_eq!(names, ["META/A.RRF", "META/B.RRF"]);
        assert_eq!(text(&members[0]).expect("readable"), long);
        assert_eq!(text(&members[1]).expect("readable"), "");
    }

    #[test]
    fn damaged_archive_is_an_error() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("release.zip");
        let long: String = (0..50_000).map(|at| format!("{at} fever\n")).collect();
        zipped(&path, &[("A.RRF", long.as_bytes())]);
        let whole = std::fs::read(&path).expect("read");
        std::fs::write(&path, &whole[..whole.len() / 2]).expect("written");
        let message = members(&path).expect_err("cut").to_string();
        assert!(
            message.contains("release.zip: expected a whole ZIP archive"),
            "{message}"
        );
        let mut altered = whole.clone();
        let middle = altered.len() / 2;
        altered[middle] ^= 0x55;
        std::fs::write(&path, &altered).expect("written");
        let member = &members(&path).expect("its directory is whole")[0];
        text(member).expect_err("the checksum differs");
    }

    #[test]
    fn member_larger_than_the_archive_records_is_an_error() {
        let mut reader = CheckedReader {
            reader: Box::new(io::repeat(b'x')),
            crc: Crc::new(),
            read: 0,
            expected: (10, 0),
        };
        let error = io::copy(&mut reader, &mut io::sink()).expect_err("endless");
        assert!(error.to_string().contains("expected 10 bytes"), "{error}");
    }
}
