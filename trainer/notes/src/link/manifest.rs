//! The manifest of a folder of links: what was linked from what, and how.

use pel_io::files::{Lock, entries, for_each_line_within, io_error, write_jsonl};
use pel_io::interrupt;
use pel_io::limits::Bound;
use pel_kb::error::{Error, Result};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

/// A file as it was.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileState {
    /// Its size.
    pub bytes: u64,
    /// Its change, in milliseconds since 1970, or before it.
    pub modified: i64,
    /// The BLAKE3 hash of its content.
    pub blake3: String,
}

impl FileState {
    /// The state of a file now.
    ///
    /// # Errors
    /// If it cannot be read, or after an interrupt.
    pub fn of(path: &Path) -> Result<Self> {
        let (bytes, modified) = size_and_change(path)?;
        Ok(Self {
            bytes,
            modified,
            blake3: hash(path)?,
        })
    }

    /// Whether a file still is as it was: of the same size, and of the same change or content.
    ///
    /// # Errors
    /// If it exists and cannot be read, or after an interrupt.
    pub fn is_still(&self, path: &Path) -> Result<bool> {
        if !path.exists() {
            return Ok(false);
        }
        let (bytes, modified) = size_and_change(path)?;
        Ok(bytes == self.bytes && (modified == self.modified || hash(path)? == self.blake3))
    }
}

fn size_and_change(path: &Path) -> Result<(u64, i64)> {
    let failed = |cause| io_error("reading", path, cause);
    let found = std::fs::metadata(path).map_err(failed)?;
    let modified = found.modified().map_err(failed)?;
    let milliseconds = |of: Duration| i64::try_from(of.as_millis()).unwrap_or(i64::MAX);
    let modified = match modified.duration_since(UNIX_EPOCH) {
        Ok(since) => milliseconds(since),
        // Some archives have such dates.
        Err(before) => -milliseconds(before.duration()),
    };
    Ok((found.len(), modified))
}

fn hash(path: &Path) -> Result<String> {
    let failed = |cause| io_error("reading", path, cause);
    let mut file = File::open(path).map_err(failed)?;
    let mut hasher = blake3::Hasher::new();
    let mut piece = vec![0; 1 << 20];
    loop {
        interrupt::check()?;
        match file.read(&mut piece).map_err(failed)? {
            0 => return Ok(hasher.finalize().to_hex().to_string()),
            read => hasher.update(piece.get(..read).unwrap_or_default()),
        };
    }
}

/// What links depend on, but for their notes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunKey {
    /// The version of the program.
    pub pel: String,
    /// The digest of the bundle.
    pub bundle: String,
    /// A hash of the options.
    pub options: String,
}

/// A table that is linked: a line of the manifest.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Entry {
    /// The path of the table below its given folder, or its file name.
    pub shard: String,
    /// The table.
    pub input: FileState,
    /// The path of the links below the output folder.
    pub output: String,
    /// The links.
    pub written: FileState,
    /// The notes, with those that could not be read.
    pub notes: u64,
    /// The notes that could not be read.
    pub unread: u64,
    /// The notes with the identifier of an earlier one.
    pub repeated: u64,
    /// The mentions.
    pub mentions: u64,
    /// The time that it took.
    pub seconds: f64,
    /// The identifier after that of its last row, for OMOP.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_row: Option<u32>,
    /// What else the links depend on.
    #[serde(flatten)]
    pub key: RunKey,
}

/// The manifest that this process writes, and what others have written.
pub(crate) struct Manifest {
    path: PathBuf,
    /// The entries of the file, by output: a folder can have links in several formats.
    own: BTreeMap<String, Entry>,
    /// The entries of other files in the folder.
    others: Vec<Entry>,
    /// The largest [`Entry::next_row`] of tables that processes with another number of parts, or
    /// this one, have linked. Those with the same number have identifiers between these.
    next_row: Option<u32>,
    /// Holds the lock.
    _lock: Lock,
}

/// How a table stands to the manifest.
pub(crate) enum State {
    /// It was never linked, or its links are gone.
    New,
    /// Its links are there. It had this many notes that could not be read.
    Done { unread: u64 },
    /// It was linked, but not as it would be now; the word says what differs.
    Changed(&'static str),
}

impl Manifest {
    /// Opens the manifest `manifest.jsonl` in a folder, or that of a part.
    ///
    /// # Errors
    /// If another process writes it, or a manifest in the folder cannot be read.
    pub fn open(folder: &Path, part: Option<&str>) -> Result<Self> {
        let name = match part {
            None => "manifest.jsonl".to_owned(),
            Some(word) => format!("manifest.{word}.jsonl"),
        };
        std::fs::create_dir_all(folder)
            .map_err(|cause| io_error("making the folder", folder, cause))?;
        let path = folder.join(&name);
        let lock = lock(folder, &name)?;
        let (mut own, mut others) = (BTreeMap::new(), Vec::new());
        let mut next_row = None;
        for found in entries(folder)? {
            if !is_manifest(&found) {
                continue;
            }
            let is_own = found == name;
            let is_beside = !is_own && part.is_some() && parts(&found) == parts(&name);
            read(&folder.join(&found), |entry| {
                if !is_beside {
                    next_row = next_row.max(entry.next_row);
                }
                match is_own {
                    true => drop(own.insert(entry.output.clone(), entry)),
                    false => others.push(entry),
                }
            })?;
        }
        Ok(Self {
            path,
            own,
            others,
            next_row,
            _lock: lock,
        })
    }

    /// The identifier after those of the rows that are linked, if any are.
    pub fn next_row(&self) -> Option<u32> {
        self.next_row
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// How a table stands to the manifests.
    ///
    /// # Errors
    /// If the table or its links cannot be read.
    pub fn state(&self, shard: &str, input: &Path, output: &Path, key: &RunKey) -> Result<State> {
        let folder = self.path.parent().unwrap_or(Path::new(""));
        let place = below(folder, output);
        let entries = self.own.get(&place).into_iter().chain(&self.others);
        let mut state = State::New;
        for entry in entries.filter(|entry| entry.output == place) {
            if !entry.written.is_still(output)? {
                continue;
            }
            let differs = match () {
                () if entry.shard != shard || !entry.input.is_still(input)? => "table",
                () if entry.key.bundle != key.bundle => "bundle",
                () if entry.key.options != key.options => "options",
                () if entry.key.pel != key.pel => "version of pel",
                () => {
                    return Ok(State::Done {
                        unread: entry.unread,
                    });
                }
            };
            state = State::Changed(differs);
        }
        Ok(state)
    }

    /// Adds an entry and writes the manifest.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn add(&mut self, entry: Entry) -> Result<()> {
        self.own.insert(entry.output.clone(), entry);
        write_jsonl(&self.path, self.own.values())
    }
}

/// A path below a folder, as manifests name it.
pub(super) fn below(folder: &Path, path: &Path) -> String {
    let below = path.strip_prefix(folder).unwrap_or(path);
    below.to_string_lossy().into_owned()
}

/// Whether a file name is that of a manifest: `manifest.jsonl`, or of a part
/// `manifest.3-of-16.jsonl`.
pub(crate) fn is_manifest(name: &str) -> bool {
    let part = name
        .strip_prefix("manifest.")
        .and_then(|rest| rest.strip_suffix("jsonl"));
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    match part {
        None => false,
        Some("") => true,
        Some(part) => part
            .strip_suffix('.')
            .and_then(|word| word.split_once("-of-"))
            .is_some_and(|(number, of)| is_number(number) && is_number(of)),
    }
}

/// The number of parts in the file name of a manifest: `16` of `manifest.3-of-16.jsonl`.
fn parts(name: &str) -> Option<&str> {
    Some(name.strip_suffix(".jsonl")?.rsplit_once("-of-")?.1)
}

fn read(path: &Path, mut each: impl FnMut(Entry)) -> Result<()> {
    for_each_line_within(path, Bound::Records, |_, line| {
        if line.trim().is_empty() {
            return Ok(());
        }
        let entry = serde_json::from_str(line).map_err(|cause| {
            Error::input("expected an entry of a manifest of `pel link`").caused_by(cause)
        })?;
        each(entry);
        Ok(())
    })
}

/// Locks a manifest.
fn lock(folder: &Path, name: &str) -> Result<Lock> {
    Lock::at(&folder.join(format!(".{name}.lock")))?.ok_or_else(|| {
        Error::usage(format!(
            "{}: another `pel link` writes into this folder; give each process its --part, such as \
             1/2 and 2/2",
            folder.display()
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(options: &str) -> RunKey {
        RunKey {
            pel: "1".to_owned(),
            bundle: "b".to_owned(),
            options: options.to_owned(),
        }
    }

    fn entry(input: &Path, output: &Path) -> Entry {
        Entry {
            shard: "a.csv".to_owned(),
            input: FileState::of(input).expect("there"),
            output: "a.jsonl".to_owned(),
            written: FileState::of(output).expect("there"),
            notes: 3,
            unread: 1,
            repeated: 0,
            mentions: 5,
            seconds: 0.5,
            next_row: None,
            key: key("o"),
        }
    }

    #[test]
    fn rows_go_on_after_those_of_other_partings() {
        let folder = tempfile::tempdir().expect("a folder");
        let [input, output] = ["a.csv", "a.csv.out"].map(|name| folder.path().join(name));
        std::fs::write(&input, "text\n").expect("written");
        std::fs::write(&output, "{}\n").expect("written");
        for (part, next) in [(None, 5), (Some("1-of-3"), 41), (Some("2-of-3"), 92)] {
            let mut manifest = Manifest::open(folder.path(), part).expect("made");
            let entry = Entry {
                next_row: Some(next),
                ..entry(&input, &output)
            };
            manifest.add(entry).expect("written");
        }
        for (part, next) in [
            (None, 92),
            (Some("1-of-3"), 41),
            (Some("2-of-3"), 92),
            (Some("3-of-3"), 5),
            (Some("1-of-2"), 92),
        ] {
            let manifest = Manifest::open(folder.path(), part).expect("opened");
            assert_eq!(manifest.next_row(), Some(next), "{part:?}");
        }
    }

    #[test]
    fn changes_before_1970_are_seen() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a.csv");
        let write = |text: &str, days: u64| {
            std::fs::write(&path, text).expect("written");
            let then = UNIX_EPOCH - Duration::from_secs(days * 86_400);
            let file = File::options().write(true).open(&path).expect("there");
            file.set_modified(then).expect("its own");
        };
        write("fever", 3);
        let state = FileState::of(&path).expect("there");
        assert_eq!(state.modified, -3 * 86_400_000);
        write("cough", 2);
        assert!(!state.is_still(&path).expect("there"));
    }

    #[test]
    fn state_follows_table_links_and_options() {
        let folder = tempfile::tempdir().expect("a folder");
        let [input, output] = ["a.csv", "a.jsonl"].map(|name| folder.path().join(name));
        std::fs::write(&input, "text\nfever\n").expect("written");
        std::fs::write(&output, "{}\n").expect("written");
        let word = |manifest: &Manifest, options: &str| {
            let state = manifest.state("a.csv", &input, &output, &key(options));
            match state.expect("readable") {
                State::New => "new".to_owned(),
                State::Done { unread } => format!("done, {unread}"),
                State::Changed(what) => what.to_owned(),
            }
        };
        let mut first = Manifest::open(folder.path(), Some("1-of-2")).expect("made");
        assert_eq!(word(&first, "o"), "new");
        first.add(entry(&input, &output)).expect("written");
        let again = Manifest::open(folder.path(), Some("1-of-2"));
        assert!(
            again
                .err()
                .is_some_and(|error| error.to_string().contains("another `pel link`"))
        );
        drop(first);
        let all = Manifest::open(folder.path(), None).expect("opened");
        assert_eq!([word(&all, "o"), word(&all, "p")], ["done, 1", "options"]);
        // A copy has another time.
        let file = File::options().write(true).open(&input).expect("there");
        file.set_modified(UNIX_EPOCH).expect("its own");
        assert_eq!(word(&all, "o"), "done, 1");
        std::fs::write(&input, "text\ncough\n").expect("written");
        assert_eq!(word(&all, "o"), "table");
        std::fs::remove_file(&output).expect("there");
        assert_eq!(word(&all, "o"), "new");
    }

    #[test]
    fn outputs_are_kept_apart_by_name() {
        let folder = tempfile::tempdir().expect("a folder");
        let [input, output, other] =
            ["a.csv", "a.jsonl", "a.parquet"].map(|name| folder.path().join(name));
        for path in [&input, &output, &other] {
            std::fs::write(path, "x\n").expect("written");
        }
        let mut manifest = Manifest::open(folder.path(), None).expect("made");
        manifest.add(entry(&input, &output)).expect("written");
        let second = Entry {
            output: "a.parquet".to_owned(),
            ..entry(&input, &other)
        };
        manifest.add(second).expect("written");
        for path in [&output, &other] {
            let state = manifest.state("a.csv", &input, path, &key("o"));
            assert!(matches!(
                state.expect("readable"),
                State::Done { unread: 1 }
            ));
        }
        // Another table would have its links in the same file.
        let state = manifest.state("a.tsv", &input, &output, &key("o"));
        assert!(matches!(state.expect("readable"), State::Changed("table")));
    }

    #[test]
    fn manifests_are_told_from_tables() {
        for name in ["manifest.jsonl", "manifest.3-of-16.jsonl"] {
            assert!(is_manifest(name), "{name}");
        }
        for name in [
            "manifest.2024.jsonl",
            "manifest.a-of-b.jsonl",
            "manifest.json",
            "manifest.xjsonl",
            "manifest..jsonl",
            "notes.jsonl",
        ] {
            assert!(!is_manifest(name), "{name}");
        }
    }

    #[test]
    fn other_files_of_the_name_are_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join("manifest.jsonl"), "{\"files\": 1}\n").expect("written");
        let error = Manifest::open(folder.path(), None)
            .err()
            .expect("no manifest");
        assert!(
            error
                .to_string()
                .contains("manifest.jsonl: line 1: expected an entry")
        );
    }
}
