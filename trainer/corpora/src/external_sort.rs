//! Records in the order of their keys, in bounded memory: sorted in pieces, written to a temporary
//! folder where they do not fit, and merged.

use pel_io::files::io_error;
use pel_io::interrupt;
use pel_io::limits::Bound;
use pel_kb::error::{Error, Result};
use pel_terminologies::groups::{KeyAndValue, Sorted, Sorter};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::File;
use std::io::{BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

/// The default memory of a sorter in bytes.
pub const MEMORY: usize = 64 << 20;
/// The largest number of files that are merged at a time.
const FAN_IN: usize = 64;
/// The bytes buffered of each file.
const BUFFER: usize = 1 << 16;
/// Records between two checks for an interrupt.
const STRIDE: usize = 1 << 14;

/// Distinguishes the files of several sorters in one folder.
static FILES: AtomicUsize = AtomicUsize::new(0);

/// Collects records. Those with equal keys keep their order.
#[derive(Debug)]
pub struct ExternalSorter {
    folder: PathBuf,
    memory: usize,
    piece: Piece,
    runs: Vec<PathBuf>,
}

/// Records in memory.
#[derive(Debug, Default)]
struct Piece {
    bytes: Vec<u8>,
    records: Vec<Record>,
}

#[derive(Clone, Copy, Debug)]
struct Record {
    begin: u32,
    key: u32,
    value: u32,
}

impl Piece {
    fn push(&mut self, key: &[u8], value: &[u8]) -> Option<()> {
        let begin = u32::try_from(self.bytes.len()).ok()?;
        let record = Record {
            begin,
            key: u32::try_from(key.len()).ok()?,
            value: u32::try_from(value.len()).ok()?,
        };
        self.bytes.extend_from_slice(key);
        self.bytes.extend_from_slice(value);
        self.records.push(record);
        Some(())
    }

    fn size(&self) -> usize {
        self.bytes.len() + self.records.len() * size_of::<Record>()
    }

    fn key(&self, record: &Record) -> &[u8] {
        let begin = record.begin as usize;
        self.bytes
            .get(begin..begin + record.key as usize)
            .unwrap_or_default()
    }

    fn value(&self, record: &Record) -> &[u8] {
        let begin = record.begin as usize + record.key as usize;
        self.bytes
            .get(begin..begin + record.value as usize)
            .unwrap_or_default()
    }

    fn sort(&mut self) {
        let mut records = std::mem::take(&mut self.records);
        records.sort_by(|a, b| self.key(a).cmp(self.key(b)));
        self.records = records;
    }
}

impl ExternalSorter {
    /// A sorter with temporary files in `folder`, which exists.
    #[must_use]
    pub fn new(folder: &Path) -> Self {
        Self::within(folder, MEMORY)
    }

    /// As [`ExternalSorter::new`], with another number of bytes in memory.
    #[must_use]
    pub fn within(folder: &Path, memory: usize) -> Self {
        Self {
            folder: folder.to_owned(),
            memory: memory.min(u32::MAX as usize / 2),
            piece: Piece::default(),
            runs: Vec::new(),
        }
    }

    /// Adds a record.
    ///
    /// # Errors
    /// If a temporary file cannot be written, a record has 2 GiB or more, or after an interrupt.
    pub fn push(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        if self.piece.size() + key.len() + value.len() > self.memory
            && !self.piece.records.is_empty()
        {
            self.write_run()?;
        }
        self.piece
            .push(key, value)
            .ok_or_else(|| Error::input("expected a record below 2 GiB, found a larger one"))
    }

    fn write_run(&mut self) -> Result<()> {
        self.piece.sort();
        let path = new_file(&self.folder);
        let piece = &self.piece;
        let records = piece
            .records
            .iter()
            .map(|record| (piece.key(record), piece.value(record)));
        write_records(&path, |write| {
            for (at, (key, value)) in records.enumerate() {
                if at % STRIDE == 0 {
                    interrupt::check()?;
                }
                write(key, value)?;
            }
            Ok(())
        })?;
        self.piece.bytes.clear();
        self.piece.records.clear();
        self.runs.push(path);
        if self.runs.len() == FAN_IN {
            let runs = std::mem::take(&mut self.runs);
            let merged = new_file(&self.folder);
            let mut merge = Merge::open(runs)?;
            write_records(&merged, |write| {
                while let Some((key, value)) = merge.next_record()? {
                    write(key, value)?;
                }
                Ok(())
            })?;
            self.runs.push(merged);
        }
        Ok(())
    }

    /// The records in the order of their keys.
    ///
    /// # Errors
    /// If a temporary file cannot be written or read.
    pub fn finish(mut self) -> Result<SortedRecords> {
        if self.runs.is_empty() {
            self.piece.sort();
            return Ok(SortedRecords(Records::InMemory {
                piece: self.piece,
                next: 0,
            }));
        }
        if !self.piece.records.is_empty() {
            self.write_run()?;
        }
        Ok(SortedRecords(Records::Merged(Merge::open(self.runs)?)))
    }
}

/// Sorted records.
#[derive(Debug)]
pub struct SortedRecords(Records);

#[derive(Debug)]
enum Records {
    InMemory { piece: Piece, next: usize },
    Merged(Merge),
}

impl SortedRecords {
    /// The next key and value; `None` at the end.
    ///
    /// # Errors
    /// If a temporary file cannot be read, or after an interrupt.
    pub fn next_record(&mut self) -> Result<Option<KeyAndValue<'_>>> {
        match &mut self.0 {
            Records::InMemory { piece, next } => {
                let record = piece.records.get(*next);
                *next += 1;
                Ok(record.map(|record| (piece.key(record), piece.value(record))))
            }
            Records::Merged(merge) => merge.next_record(),
        }
    }
}

impl Sorter for ExternalSorter {
    fn push(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        Self::push(self, key, value)
    }

    fn finish(self: Box<Self>) -> Result<Box<dyn Sorted>> {
        Ok(Box::new(Self::finish(*self)?))
    }
}

impl Sorted for SortedRecords {
    fn next_record(&mut self) -> Result<Option<KeyAndValue<'_>>> {
        Self::next_record(self)
    }

    fn check_group(&self, key: &[u8], bytes: usize) -> Result<()> {
        Bound::Record.check(String::from_utf8_lossy(key), bytes as u64)
    }
}

/// The records of several sorted files.
#[derive(Debug)]
struct Merge {
    runs: Vec<Run>,
    /// The next key of each run. Earlier runs precede for equal keys.
    heap: BinaryHeap<Reverse<(Vec<u8>, usize)>>,
    current: (Vec<u8>, Vec<u8>),
    since_check: usize,
}

impl Merge {
    fn open(paths: Vec<PathBuf>) -> Result<Self> {
        let mut merge = Self {
            runs: Vec::new(),
            heap: BinaryHeap::new(),
            current: Default::default(),
            since_check: 0,
        };
        for (at, path) in paths.into_iter().enumerate() {
            let mut run = Run::open(path)?;
            let mut key = Vec::new();
            if run.read(&mut key)? {
                merge.heap.push(Reverse((key, at)));
            }
            merge.runs.push(run);
        }
        Ok(merge)
    }

    fn next_record(&mut self) -> Result<Option<KeyAndValue<'_>>> {
        self.since_check += 1;
        if self.since_check == STRIDE {
            self.since_check = 0;
            interrupt::check()?;
        }
        let Some(Reverse((mut key, at))) = self.heap.pop() else {
            return Ok(None);
        };
        let Some(run) = self.runs.get_mut(at) else {
            return Ok(None);
        };
        std::mem::swap(&mut self.current.1, &mut run.value);
        std::mem::swap(&mut self.current.0, &mut key);
        if run.read(&mut key)? {
            self.heap.push(Reverse((key, at)));
        }
        Ok(Some((&self.current.0, &self.current.1)))
    }
}

/// A sorted temporary file, removed when dropped.
#[derive(Debug)]
struct Run {
    path: PathBuf,
    reader: BufReader<File>,
    value: Vec<u8>,
}

impl Run {
    fn open(path: PathBuf) -> Result<Self> {
        let file = File::open(&path).map_err(|cause| io_error("opening", &path, cause))?;
        Ok(Self {
            reader: BufReader::with_capacity(BUFFER, file),
            path,
            value: Vec::new(),
        })
    }

    /// Reads a record into `key` and `self.value`; `false` at the end.
    fn read(&mut self, key: &mut Vec<u8>) -> Result<bool> {
        let failed = |cause| io_error("reading", &self.path, cause);
        let mut lengths = [0; 8];
        if self.reader.read(&mut lengths[..1]).map_err(failed)? == 0 {
            return Ok(false);
        }
        self.reader.read_exact(&mut lengths[1..]).map_err(failed)?;
        let [a, b, c, d, e, f, g, h] = lengths;
        key.resize(u32::from_le_bytes([a, b, c, d]) as usize, 0);
        self.value
            .resize(u32::from_le_bytes([e, f, g, h]) as usize, 0);
        self.reader.read_exact(key).map_err(failed)?;
        self.reader.read_exact(&mut self.value).map_err(failed)?;
        Ok(true)
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        // The folder is removed later.
        let _ = std::fs::remove_file(&self.path);
    }
}

fn new_file(folder: &Path) -> PathBuf {
    folder.join(format!("sorted-{}", FILES.fetch_add(1, Ordering::Relaxed)))
}

/// Writes a key and a value.
type WriteRecord<'a> = dyn FnMut(&[u8], &[u8]) -> Result<()> + 'a;

fn write_records(
    path: &Path,
    records: impl FnOnce(&mut WriteRecord<'_>) -> Result<()>,
) -> Result<()> {
    let failed = |cause| io_error("writing", path, cause);
    let file = File::create_new(path).map_err(failed)?;
    let mut out = BufWriter::with_capacity(BUFFER, file);
    records(&mut |key, value| {
        // Lengths fit: `Piece` has counted them in 32 bits.
        let lengths = [key.len() as u32, value.len() as u32];
        lengths
            .iter()
            .try_for_each(|length| out.write_all(&length.to_le_bytes()))
            .and_then(|()| out.write_all(key))
            .and_then(|()| out.write_all(value))
            .map_err(failed)
    })?;
    out.flush().map_err(failed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use pel_terminologies::groups::{Group, Groups};
    use proptest::prelude::*;

    fn sorted(records: &[(Vec<u8>, Vec<u8>)], memory: usize) -> Vec<(Vec<u8>, Vec<u8>)> {
        let folder = tempfile::tempdir().expect("a folder");
        let mut sorter = ExternalSorter::within(folder.path(), memory);
        for (key, value) in records {
            sorter.push(key, value).expect("taken");
        }
        let mut all = Vec::new();
        let mut sorted = sorter.finish().expect("sorted");
        while let Some((key, value)) = sorted.next_record().expect("read") {
            all.push((key.to_vec(), value.to_vec()));
        }
        drop(sorted);
        let left = std::fs::read_dir(folder.path()).expect("listed").count();
        assert_eq!(left, 0, "temporary files are removed");
        all
    }

    #[test]
    fn many_runs_are_merged_in_order() {
        // 8 bytes of key and value and 12 of the record: each piece holds one.
        let records: Vec<_> = (0..1000u32)
            .map(|at| {
                (
                    at.wrapping_mul(2_654_435_761).to_be_bytes().to_vec(),
                    at.to_be_bytes().to_vec(),
                )
            })
            .collect();
        let mut expected = records.clone();
        expected.sort();
        assert_eq!(sorted(&records, 20), expected);
    }

    #[test]
    fn groups_are_joined_by_key() {
        let folder = tempfile::tempdir().expect("a folder");
        let groups = |records: &[(&str, &str)]| {
            let mut sorter = ExternalSorter::within(folder.path(), 30);
            for (key, value) in records {
                sorter
                    .push(key.as_bytes(), value.as_bytes())
                    .expect("taken");
            }
            Groups::new(Box::new(sorter.finish().expect("sorted")))
        };
        let text = |group: &Group| {
            let values = group
                .values()
                .map(|value| String::from_utf8_lossy(value).into_owned());
            values.collect::<Vec<_>>().join("+")
        };
        let mut left = groups(&[("b", "2"), ("a", "1"), ("d", "4"), ("b", "3")]);
        let mut right = groups(&[("c", "z"), ("b", "y"), ("0", "x"), ("b", "w")]);
        let (mut key, mut group, mut other) = (Vec::new(), Group::default(), Group::default());
        let mut joined = Vec::new();
        while left.next_group(&mut key, &mut group).expect("read") {
            right.of(&key, &mut other).expect("read");
            joined.push((
                String::from_utf8_lossy(&key).into_owned(),
                text(&group),
                text(&other),
            ));
        }
        let expected = [("a", "1", ""), ("b", "2+3", "y+w"), ("d", "4", "")];
        let expected = expected.map(|(key, own, other)| (key.into(), own.into(), other.into()));
        assert_eq!(joined, expected);
    }

    proptest! {
        #[test]
        fn external_sort_equals_stable_sort(
            records in prop::collection::vec(
                (prop::collection::vec(0u8..3, 0..3), prop::collection::vec(any::<u8>(), 0..5)),
                0..200,
            ),
            memory in 1usize..600,
        ) {
            let mut expected = records.clone();
            expected.sort_by(|a, b| a.0.cmp(&b.0));
            prop_assert_eq!(sorted(&records, memory), expected);
        }
    }
}
