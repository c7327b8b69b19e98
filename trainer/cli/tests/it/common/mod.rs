//! Runs the built `pel` with the committed tiny model.
#![allow(dead_code)] // Each test program uses a part.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, UNIX_EPOCH};

/// Concepts for linking a note.
pub const KB: &str = r#"{"id": "D1", "name": "fever", "synonyms": ["pyrexia"], "types": ["Sign"], "definition": "A high temperature.", "sources": ["TEST"]}
{"id": "D2", "name": "chest pain", "types": ["Sign"], "sources": ["TEST"]}
{"id": "D3", "name": "diabetes mellitus", "synonyms": ["diabetes"], "types": ["Disease"], "sources": ["TEST"]}
"#;

/// The committed tiny model.
pub fn tiny() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/tests/fixtures/tiny")
}

/// A `pel` command with arguments.
pub fn pel(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pel"));
    command.args(args).stdin(Stdio::null());
    command
}

/// The exit code and output of a finished command.
pub struct CommandOutput {
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
}

/// Runs a command to its end.
pub fn output_of(mut command: Command) -> CommandOutput {
    from(command.output().expect("it can be started"))
}

pub fn from(output: Output) -> CommandOutput {
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("pel writes UTF-8");
    CommandOutput {
        code: output.status.code(),
        out: text(output.stdout),
        err: text(output.stderr),
    }
}

/// Sends the signal of Ctrl-C.
pub fn interrupt(child: &Child) {
    // Twice, as `timeout` does.
    for _ in 0..2 {
        let signal = Command::new("kill")
            .args(["-INT", &child.id().to_string()])
            .status();
        assert!(signal.expect("kill can be started").success());
    }
}

/// Indexes a knowledge base with the tiny model.
pub fn index(kb: &Path, out: &Path, more: &[&str]) -> CommandOutput {
    index_with(&tiny(), kb, out, more)
}

/// Indexes a knowledge base with the encoder in a folder.
pub fn index_with(encoder: &Path, kb: &Path, out: &Path, more: &[&str]) -> CommandOutput {
    let (kb, encoder, out) = (
        kb.display().to_string(),
        encoder.display().to_string(),
        out.display().to_string(),
    );
    let mut args = vec![
        "index",
        "--device",
        "cpu",
        "--kb",
        &kb,
        "--encoder",
        &encoder,
        "--out",
        &out,
    ];
    args.extend(more);
    output_of(pel(&args))
}

/// A folder below Cargo's own for tests, which the processes of a run share. It is made again when
/// one of the files or folders that it is `made_of` has changed, and takes the place of the former.
/// Tests only read it.
pub fn shared_folder(name: &str, made_of: &[&Path], make: impl FnOnce(&Path)) -> PathBuf {
    let all = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let newest = made_of.iter().flat_map(|path| changes(path)).max();
    let newest = newest.expect("it is made of something").as_nanos();
    let folder = all.join(format!("{name}-{newest}"));
    if !folder.is_dir() {
        let part = tempfile::tempdir_in(all).expect("a folder");
        make(part.path());
        for entry in std::fs::read_dir(all).expect("listed") {
            let path = entry.expect("listed").path();
            let of = path.file_name().and_then(|of| of.to_str());
            if of.is_some_and(|of| of.starts_with(&format!("{name}-"))) && path != folder {
                drop(std::fs::remove_dir_all(path));
            }
        }
        // Another process may have been first.
        let made = std::fs::rename(part.path(), &folder);
        assert!(folder.is_dir(), "{}: {made:?}", folder.display());
    }
    folder
}

/// When a file, or each file of a folder, changed, since 1970.
fn changes(path: &Path) -> Vec<Duration> {
    if path.is_dir() {
        let entries = std::fs::read_dir(path).expect("listed");
        return entries
            .flat_map(|entry| changes(&entry.expect("listed").path()))
            .collect();
    }
    let changed = path.metadata().and_then(|about| about.modified());
    let changed = changed
        .expect("the system knows")
        .duration_since(UNIX_EPOCH);
    vec![changed.expect("after 1970")]
}

/// A bundle of a knowledge base that [`index`] makes. See [`shared_folder`].
pub fn shared_bundle(name: &str, kb: impl FnOnce(&Path) -> PathBuf, made_of: &[&Path]) -> PathBuf {
    let (program, encoder) = (Path::new(env!("CARGO_BIN_EXE_pel")), tiny());
    let made_of: Vec<&Path> = [program, &encoder].iter().chain(made_of).copied().collect();
    let make = |folder: &Path| {
        let done = index(&kb(folder), &folder.join("bundle"), &[]);
        assert_eq!(done.code, Some(0), "{}", done.err);
    };
    shared_folder(name, &made_of, make).join("bundle")
}

/// A bundle of [`KB`].
pub fn bundle() -> &'static str {
    static BUNDLE: OnceLock<String> = OnceLock::new();
    BUNDLE.get_or_init(|| {
        let kb = |folder: &Path| {
            let kb = folder.join("kb.jsonl");
            std::fs::write(&kb, KB).expect("written");
            kb
        };
        shared_bundle("small-bundle", kb, &[]).display().to_string()
    })
}

/// The bytes of an edited manifest with a new digest.
pub fn sealed(manifest: &serde_json::Value) -> Vec<u8> {
    let mut manifest = manifest.clone();
    manifest["digest"] = "".into();
    manifest["digest"] = pel_kb::digest::of(manifest.to_string().as_bytes())
        .to_hex()
        .as_str()
        .into();
    manifest.to_string().into_bytes()
}

/// Every file below a folder with its bytes; none for a dangling link.
pub fn contents(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut all = Vec::new();
    for entry in std::fs::read_dir(folder).expect("listed") {
        let path = entry.expect("listed").path();
        match path.is_dir() {
            true => all.extend(contents(&path)),
            false => all.push((path.clone(), std::fs::read(&path).unwrap_or_default())),
        }
    }
    all.sort();
    all
}

/// Copies the files of a folder.
pub fn copy(from: &str, to: &Path) {
    std::fs::create_dir_all(to).expect("a folder");
    for entry in std::fs::read_dir(from).expect("listed") {
        let entry = entry.expect("listed");
        std::fs::copy(entry.path(), to.join(entry.file_name())).expect("copied");
    }
}

const DOCUMENT: &str = r#"{"doc_id":"1","text":"fever, chest pain, qwertz"}"#;
const MENTIONS: &str = r#"{"doc_id":"1","start":0,"end":5,"text":"fever","id":"D1","types":["Sign"]}
{"doc_id":"1","start":7,"end":17,"text":"chest pain","id":"D2"}
{"doc_id":"1","start":19,"end":25,"text":"qwertz","id":null}"#;

/// A folder with a corpus, a knowledge base and a copy of [`bundle`].
pub struct Workspace(tempfile::TempDir);

impl Workspace {
    pub fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let write = |name: &str, text: &str| {
            std::fs::write(folder.path().join(name), text).expect("written")
        };
        write("documents.jsonl", DOCUMENT);
        write("mentions.dev.jsonl", MENTIONS);
        write(
            "mentions.known.jsonl",
            MENTIONS.split_once('\n').expect("several").0,
        );
        write("kb.jsonl", KB);
        copy(bundle(), &folder.path().join("bundle"));
        Self(folder)
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Checks exit code and error message of each command line.
    pub fn refuses(&self, lines: &[(&str, i32, &str)]) {
        for (line, code, expected) in lines {
            let done = self.pel(line);
            assert_eq!(done.code, Some(*code), "{line}: {}", done.err);
            assert!(done.err.contains(expected), "{line}: {}", done.err);
        }
    }

    /// As [`Workspace::pel`], for a command line that has to succeed.
    pub fn done(&self, line: &str) -> CommandOutput {
        let output = self.pel(line);
        assert_eq!(output.code, Some(0), "{line}: {}", output.err);
        output
    }

    /// Runs a command line in which `@name` stands for a file of the folder and `@` for the folder.
    pub fn pel(&self, line: &str) -> CommandOutput {
        let word = |word: &str| match word.strip_prefix('@') {
            Some(name) => self.path(name).display().to_string(),
            None => word.to_owned(),
        };
        let words: Vec<String> = line.split(' ').map(word).collect();
        output_of(pel(&words.iter().map(String::as_str).collect::<Vec<_>>()))
    }
}
