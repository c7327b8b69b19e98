//! Kills every writing command, and fills its disk, at single file changes.
//!
//! A preloaded library (`faults/faults.c`) counts calls that change files, and kills the program or
//! simulates a full disk at a given call. No output may be partial and no input may change. The
//! same command, repeated, must give the same files as an undisturbed run. A few calls of each
//! command are tried; `scripts/test/kill-sweep` tries all.

use crate::common::{CommandOutput, KB, bundle, copy, from, tiny};
use std::collections::BTreeMap;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;
use tempfile::TempDir;

/// Number of calls per command at which to kill it, and at which to simulate a full disk.
const KILLS: usize = 3;
const FULL: usize = 2;

/// A command line with its outputs; `TINY` is the folder of the tiny model.
struct Task {
    line: &'static str,
    outputs: &'static [&'static str],
    /// Prefixes of names that an unfinished run may leave for the next.
    keeps: &'static [&'static str],
}

/// Files by path below a folder.
type Files = BTreeMap<PathBuf, Vec<u8>>;

fn files(folder: &Path) -> Files {
    fn add(root: &Path, folder: &Path, all: &mut Files) {
        for entry in std::fs::read_dir(folder).expect("listed") {
            let path = entry.expect("listed").path();
            if path.is_dir() {
                add(root, &path, all);
            } else {
                let name = path.strip_prefix(root).expect("below it").to_owned();
                all.insert(name, std::fs::read(&path).expect("read"));
            }
        }
    }
    let mut all = Files::new();
    add(folder, folder, &mut all);
    all
}

/// The fault library, built once.
fn library() -> &'static Path {
    static LIBRARY: OnceLock<PathBuf> = OnceLock::new();
    LIBRARY.get_or_init(|| {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/faults/faults.c");
        let text = std::fs::read(&source).expect("the source is there");
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
        let built = folder.join(format!("faults-{}.so", &blake3::hash(&text).to_hex()[..16]));
        if !built.is_file() {
            // Other test processes may build it at the same time.
            let own = folder.join(format!("faults-{}.part", std::process::id()));
            let done = Command::new("cc")
                .args(["-O1", "-shared", "-fPIC", "-o"])
                .arg(&own)
                .arg(&source)
                .arg("-ldl")
                .status();
            assert!(done.expect("a C compiler, as for building pel").success());
            std::fs::rename(&own, &built).expect("renamed");
        }
        built
    })
}

/// A folder with all inputs. Its name is fixed, because some outputs contain it.
struct Place(TempDir);

impl Place {
    fn new() -> Self {
        let place = Self::empty();
        let concept = r#"{"id":"C1","name":"fever","synonyms":["pyrexia"]}"#;
        let mentions = concat!(
            r#"{"doc_id":"1","start":0,"end":5,"text":"fever","id":"D1","types":["Sign"],"type_ids":["T1"]}"#,
            "\n",
            r#"{"doc_id":"1","start":7,"end":17,"text":"chest pain","id":"D2","types":["Sign"],"type_ids":["T1"]}"#,
            "\n",
            r#"{"doc_id":"1","start":19,"end":27,"text":"diabetes","id":"D3","types":["Disease"],"type_ids":["T2"]}"#,
            "\n",
            r#"{"doc_id":"1","start":29,"end":35,"text":"qwertz","id":null}"#,
            "\n",
        );
        for (name, text) in [
            ("kb.jsonl", KB),
            (
                "documents.jsonl",
                r#"{"doc_id":"1","text":"fever, chest pain, diabetes, qwertz"}"#,
            ),
            ("mentions.train.jsonl", mentions),
            ("mentions.dev.jsonl", mentions),
            ("notes/a.txt", "Fever and chest pain.\n"),
            ("notes/b.txt", "No diabetes mellitus.\n"),
            ("tables/a.csv", "id,text\n1,Fever and chest pain.\n2,\n"),
            (
                "tables/b.jsonl",
                "{\"id\": \"3\", \"text\": \"No diabetes mellitus.\"}\n",
            ),
            ("table.jsonl", concept),
            (
                "next.jsonl",
                concat!(
                    r#"{"id":"D1","name":"fever","synonyms":["pyrexia","febris"]}"#,
                    "\n",
                    r#"{"id":"D9","name":"common cold"}"#,
                    "\n"
                ),
            ),
            ("redirects.tsv", "id\treplaced_by\treason\nD2\tD1\tmerged\n"),
            (
                "table.csv",
                "id,name,synonyms\nC1,fever,pyrexia\nC2,cough,\n",
            ),
            (
                "terms.obo",
                "[Term]\nid: T:1\nname: fever\nsynonym: \"pyrexia\" EXACT []\n",
            ),
            (
                "texts.pubtator",
                "1|t|Fever\n1|a|and cough\n1\t0\t5\tFever\tSign\tC1\n",
            ),
        ] {
            place.put(Path::new(name), text.as_bytes());
        }
        copy(bundle(), &place.path().join("bundle"));
        copy(&tiny().display().to_string(), &place.path().join("encoder"));
        place.done("pack bundle one.pel");
        place
    }

    fn empty() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::create_dir(folder.path().join("work")).expect("made");
        Self(folder)
    }

    fn path(&self) -> PathBuf {
        self.0.path().join("work")
    }

    /// A copy of the folder.
    fn again(&self) -> Self {
        let place = Self::empty();
        files(&self.path())
            .iter()
            .for_each(|(name, bytes)| place.put(name, bytes));
        place
    }

    fn put(&self, name: &Path, bytes: &[u8]) {
        let path = self.path().join(name);
        std::fs::create_dir_all(path.parent().expect("in a folder")).expect("made");
        std::fs::write(path, bytes).expect("written");
    }

    /// Runs a command line in the folder, optionally with a fault.
    fn run(&self, line: &str, fault: Option<&str>) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_pel"));
        command
            .args(line.split_whitespace())
            .current_dir(self.path())
            .stdin(Stdio::null());
        // A single thread makes the order of calls deterministic.
        command.env("RAYON_NUM_THREADS", "1");
        if let Some(fault) = fault {
            command
                .env("LD_PRELOAD", library())
                .env("PEL_FAULT", fault)
                .env("PEL_FAULT_UNDER", self.path());
        }
        command.output().expect("it can be started")
    }

    fn done(&self, line: &str) -> CommandOutput {
        let output = from(self.run(line, None));
        assert_eq!(output.code, Some(0), "{line}: {}", output.err);
        output
    }

    /// Number of calls of a command that change files.
    fn calls(&self, line: &str) -> usize {
        let report = tempfile::NamedTempFile::new().expect("a file");
        let output = from(self.run(line, Some(&format!("count:{}", report.path().display()))));
        assert_eq!(output.code, Some(0), "{line}: {}", output.err);
        let text = std::fs::read_to_string(report.path()).expect("written at the end");
        text.trim().parse().expect("a number")
    }
}

/// Makes partial files look 2 minutes old, since younger ones might belong to a running process.
fn age(folder: &Path) {
    let then = std::time::SystemTime::now() - std::time::Duration::from_secs(120);
    for entry in std::fs::read_dir(folder).expect("listed") {
        let path = entry.expect("listed").path();
        if path.is_dir() {
            age(&path);
        }
        if path
            .file_name()
            .is_some_and(|name| name.display().to_string().starts_with(".pel-"))
        {
            std::fs::File::open(&path)
                .and_then(|file| file.set_modified(then))
                .expect("it can be aged");
        }
    }
}

/// The calls to try: a few, evenly spaced, or all.
fn tried(calls: usize, some: usize) -> Vec<usize> {
    match std::env::var("PEL_SWEEP").as_deref() {
        Ok("all") => (1..=calls).collect(),
        _ => (1..=some)
            .map(|at| 1 + at * calls.saturating_sub(1) / (some + 1))
            .collect(),
    }
}

fn is_output(task: &Task, name: &Path) -> bool {
    task.outputs.iter().any(|output| name.starts_with(output))
}

/// Whether a path belongs to something unfinished.
fn is_unfinished(task: &Task, name: &Path) -> bool {
    let begins =
        |part: &str| part.starts_with('.') || task.keeps.iter().any(|kept| part.starts_with(kept));
    name.iter().any(|part| part.to_str().is_some_and(begins))
}

/// Checks that every file equals its state before the command or after an undisturbed run.
fn check_complete(task: &Task, now: &Files, before: &Files, after: &Files, when: &str) {
    for (name, bytes) in now.iter().filter(|(name, _)| !is_unfinished(task, name)) {
        let same = |files: &Files| files.get(name) == Some(bytes);
        assert!(
            same(before) || is_output(task, name) && same(after),
            "{when}: {} is torn",
            name.display()
        );
    }
    for name in before.keys().filter(|name| !is_output(task, name)) {
        assert!(
            now.contains_key(name),
            "{when}: the input {} is gone",
            name.display()
        );
    }
}

/// Repeats the command and compares the result with that of an undisturbed run.
fn repeat(task: &Task, place: &Place, after: &Files, when: &str) {
    let before = compared(files(&place.path()));
    let is_complete = after
        .iter()
        .all(|(name, bytes)| before.get(name) == Some(bytes));
    let output = from(place.run(task.line, None));
    // Commands that replace nothing refuse a complete output.
    let is_refused = is_complete
        && output.code == Some(3)
        && output.err.contains("expected a new or empty folder");
    assert!(
        output.code == Some(0) || is_refused,
        "{when}, then run again: {}",
        output.err
    );
    let now = compared(files(&place.path()));
    for (name, bytes) in after {
        assert!(
            now.get(name) == Some(bytes),
            "{when}, then run again: {} differs",
            name.display()
        );
    }
    let strangers: Vec<_> = now
        .keys()
        .filter(|name| !after.contains_key(*name))
        .collect();
    assert!(
        strangers.is_empty(),
        "{when}, then run again: {strangers:?} is left over"
    );
}

/// Removes what differs between runs: times in training logs, manifests of links and data set
/// records. A manifest also grows while the tables are linked.
fn compared(mut files: Files) -> Files {
    files.retain(|name, _| !name.ends_with("metrics.jsonl") && !name.ends_with("manifest.jsonl"));
    for (_, bytes) in files
        .iter_mut()
        .filter(|(name, _)| name.ends_with("okb.json"))
    {
        let text = String::from_utf8_lossy(bytes);
        let lines: Vec<&str> = text
            .lines()
            .filter(|line| !line.contains("\"unix_time\""))
            .collect();
        *bytes = lines.join("\n").into_bytes();
    }
    files
}

fn check(task: &Task) {
    let place = Place::new();
    let before = files(&place.path());
    let undisturbed = place.again();
    undisturbed.done(task.line);
    let after = compared(files(&undisturbed.path()));
    assert!(
        task.outputs
            .iter()
            .all(|output| undisturbed.path().join(output).exists()),
        "{}",
        task.line
    );
    let calls = place.again().calls(task.line);
    for at in tried(calls, KILLS) {
        let (place, when) = (
            place.again(),
            format!("{}: killed at call {at} of {calls}", task.line),
        );
        let output = place.run(task.line, Some(&format!("kill:{at}")));
        assert_eq!(
            output.status.signal(),
            Some(9),
            "{when}: {}",
            from(output).err
        );
        age(&place.path());
        check_complete(
            task,
            &compared(files(&place.path())),
            &before,
            &after,
            &when,
        );
        repeat(task, &place, &after, &when);
    }
    for at in tried(calls, FULL) {
        let (place, when) = (
            place.again(),
            format!("{}: no room from call {at} of {calls} on", task.line),
        );
        let output = from(place.run(task.line, Some(&format!("full:{at}"))));
        let now = compared(files(&place.path()));
        check_complete(task, &now, &before, &after, &when);
        if output.code != Some(0) {
            assert_eq!(output.code, Some(6), "{when}: {}", output.err);
            assert!(
                output.err.contains("No space left"),
                "{when}: {}",
                output.err
            );
            let parts: Vec<_> = now
                .keys()
                .filter(|name| name.display().to_string().contains(".part"))
                .collect();
            assert!(parts.is_empty(), "{when}: {parts:?} is left over");
        }
        repeat(task, &place, &after, &when);
    }
}

macro_rules! tasks {
    ($($name:ident: $line:expr, [$($output:expr),*] $(, keeps [$($keeps:expr),*])?;)*) => {
        $(#[test]
        fn $name() {
            check(&Task { line: $line, outputs: &[$($output),*], keeps: &[$($($keeps),*)?] });
        })*
    };
}

tasks! {
    links_of_several_notes: "link --bundle bundle --device cpu notes --format csv --out linked",
        ["linked"];
    links_of_tables: "link --bundle bundle --device cpu tables --format jsonl --out linked",
        ["linked"];
    links_of_one_note: "link --bundle bundle --device cpu notes/a.txt --format jsonl \
                        --out a.jsonl", ["a.jsonl"];
    links_in_place_of_others: "link --bundle bundle --device cpu notes/a.txt --format jsonl \
                               --out table.csv", ["table.csv"];
    an_imported_table: "import csv table.csv --out imported", ["imported"];
    an_imported_ontology: "import obo terms.obo --out imported", ["imported"];
    imported_lines: "import jsonl table.jsonl --out imported", ["imported"];
    an_imported_corpus: "import pubtator texts.pubtator --out imported", ["imported"];
    a_split: "split okb --corpus . --kb kb.jsonl --types Sign --train-split dev --out okb", ["okb"];
    an_exported_corpus: "export-corpus --format zeshel --corpus . --kb kb.jsonl --out zeshel",
        ["zeshel"];
    lists_of_candidates: "candidates --system bm25 --kb kb.jsonl --corpus . --split dev \
                          --out lists.jsonl", ["lists.jsonl"];
    an_index: "index --device cpu --kb kb.jsonl --encoder encoder --out indexed", ["indexed"];
    an_index_of_one_file: "index --device cpu --kb kb.jsonl --encoder encoder --out indexed.pel",
        ["indexed.pel"];
    an_index_in_place_of_another: "index --device cpu --kb table.jsonl --encoder encoder \
                                   --out bundle", ["bundle"];
    an_updated_bundle: "update bundle --kb next.jsonl --redirects redirects.tsv --device cpu \
                        --out updated --report report.json",
        ["updated", "report.json"];
    an_updated_bundle_of_one_file: "update one.pel --kb next.jsonl --device cpu --batch-tokens 4 \
                                    --out updated.pel", ["updated.pel"];
    an_update_in_place_of_another_bundle: "update one.pel --kb next.jsonl --device cpu \
                                           --out bundle", ["bundle"];
    a_packed_bundle: "pack bundle packed.pel", ["packed.pel"];
    an_unpacked_bundle: "pack one.pel unpacked", ["unpacked"];
    an_exported_encoder: "export bundle --out model", ["model"];
    a_threshold: "calibrate bundle --corpus . --device cpu --curve nil.csv --out nil.json",
        ["bundle", "nil.csv", "nil.json"];
    a_threshold_of_one_file: "calibrate one.pel --corpus . --device cpu", ["one.pel"];
    a_training: "train --corpus . --kb kb.jsonl --encoder encoder --device cpu --out run --steps 4 \
                 --set optimiser.batch=2 --set negatives.count=1 --set negatives.kind=random \
                 --set model.tied=true --set view.mention_tokens=16 --set view.entity_tokens=16 \
                 --set validation.mentions=0 --set checkpoints.every=2 --set fgsm.lambda=0", ["run"], keeps ["run"];
}

/// A file system of 512 KiB, if this process may mount one.
struct SmallDisk(TempDir);

impl SmallDisk {
    fn new() -> Option<Self> {
        let folder = tempfile::tempdir().expect("a folder");
        let mut mount = Command::new("mount");
        mount
            .args(["-t", "tmpfs", "-o", "size=512k", "tmpfs"])
            .arg(folder.path())
            .stderr(Stdio::null());
        mount
            .status()
            .is_ok_and(|status| status.success())
            .then_some(Self(folder))
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.0.path()).status();
    }
}

#[test]
fn full_disk_is_reported_and_existing_files_are_kept() {
    let Some(disk) = SmallDisk::new() else {
        eprintln!("skipped: no small file system can be mounted here, which takes root");
        return;
    };
    let (place, out) = (Place::new(), disk.0.path().display().to_string());
    place.done(&format!(
        "link --bundle bundle --device cpu notes/a.txt --format jsonl --out {out}/a.jsonl"
    ));
    let before = files(disk.0.path());
    std::fs::write(
        place.path().join("long.txt"),
        "fever and chest pain ".repeat(4000),
    )
    .expect("written");
    for line in [
        format!("link --bundle bundle --device cpu long.txt --format jsonl --out {out}/a.jsonl"),
        format!("index --device cpu --kb kb.jsonl --encoder encoder --out {out}/one"),
        format!("pack one.pel {out}/bundle"),
        format!("export bundle --out {out}/model"),
    ] {
        // Files of earlier commands also take space.
        let filler = disk.0.path().join("filler");
        std::fs::write(&filler, vec![0; 400 << 10]).expect("it fits");
        let output = from(place.run(&line, None));
        assert_eq!(output.code, Some(6), "{line}: {}", output.err);
        assert!(
            output.err.contains("No space left"),
            "{line}: {}",
            output.err
        );
        std::fs::remove_file(&filler).expect("removed");
        let now = files(disk.0.path());
        assert!(
            before
                .iter()
                .all(|(name, bytes)| now.get(name) == Some(bytes)),
            "{line}: what was there has changed"
        );
        for name in now.keys().filter(|name| !before.contains_key(*name)) {
            let (name, first) = (
                name.display().to_string(),
                name.iter().next().expect("a name").to_owned(),
            );
            assert!(!name.contains(".part"), "{line}: {name} is left over");
            let unfinished = disk.0.path().join(first);
            let _ =
                std::fs::remove_dir_all(&unfinished).or_else(|_| std::fs::remove_file(&unfinished));
        }
    }
}

#[test]
fn file_size_limit_is_an_error() {
    let place = Place::new();
    std::fs::write(
        place.path().join("long.txt"),
        "fever and chest pain ".repeat(400),
    )
    .expect("written");
    std::fs::write(place.path().join("a.jsonl"), "from before").expect("written");
    let command = format!(
        "ulimit -f 8; exec {:?} link --bundle bundle --device cpu long.txt --format jsonl --out \
         a.jsonl",
        env!("CARGO_BIN_EXE_pel")
    );
    let done = Command::new("bash")
        .args(["-c", &command])
        .current_dir(place.path())
        .output()
        .expect("it can be started");
    let (status, output) = (done.status, from(done));
    assert_eq!(output.code, Some(6), "{status}: {}", output.err);
    assert!(
        output.err.contains("a.jsonl") && output.err.contains("File too large"),
        "{}",
        output.err
    );
    assert_eq!(
        std::fs::read(place.path().join("a.jsonl")).expect("read"),
        b"from before"
    );
}

#[test]
fn split_inside_its_corpus_can_be_repeated() {
    let place = Place::new();
    let line = "split okb --corpus . --kb kb.jsonl --types Sign --train-split dev --out okb";
    place.done(line);
    let before = compared(files(&place.path()));
    place.done(line);
    assert!(compared(files(&place.path())) == before);
}
