//! Runs the `pel` that was just built, on the committed tiny model.
#![allow(dead_code)] // Each test program uses its part.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::OnceLock;

/// Concepts enough to link a note.
pub const KB: &str = r#"{"id": "D1", "name": "fever", "synonyms": ["pyrexia"], "types": ["Sign"], "definition": "A high temperature.", "sources": ["TEST"]}
{"id": "D2", "name": "chest pain", "types": ["Sign"], "sources": ["TEST"]}
{"id": "D3", "name": "diabetes mellitus", "synonyms": ["diabetes"], "types": ["Disease"], "sources": ["TEST"]}
"#;

/// The committed tiny model.
pub fn tiny() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/tests/fixtures/tiny")
}

/// `pel` with arguments.
pub fn pel(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pel"));
    command.args(args).stdin(Stdio::null());
    command
}

/// What a finished `pel` said.
pub struct Said {
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
}

/// Runs a command to its end.
pub fn said(mut command: Command) -> Said {
    from(command.output().expect("it can be started"))
}

pub fn from(output: Output) -> Said {
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("pel writes UTF-8");
    Said { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
}

/// What Ctrl-C sends.
pub fn interrupt(child: &Child) {
    // Twice, as `timeout` does.
    for _ in 0..2 {
        let signal = Command::new("kill").args(["-INT", &child.id().to_string()]).status();
        assert!(signal.expect("kill can be started").success());
    }
}

/// Indexes a knowledge base with the tiny model.
pub fn index(kb: &Path, out: &Path, more: &[&str]) -> Said {
    let (kb, encoder, out) = (kb.display().to_string(), tiny().display().to_string(), out.display().to_string());
    let mut args = vec!["index", "--device", "cpu", "--kb", &kb, "--encoder", &encoder, "--out", &out];
    args.extend(more);
    said(pel(&args))
}

/// A bundle of [`KB`], made once.
pub fn bundle() -> &'static str {
    static BUNDLE: OnceLock<(tempfile::TempDir, String)> = OnceLock::new();
    let (_, path) = BUNDLE.get_or_init(|| {
        let folder = tempfile::tempdir().expect("a folder");
        let kb = folder.path().join("kb.jsonl");
        std::fs::write(&kb, KB).expect("written");
        let out = folder.path().join("bundle");
        let done = index(&kb, &out, &[]);
        assert_eq!(done.code, Some(0), "{}", done.err);
        let path = out.display().to_string();
        (folder, path)
    });
    path
}

/// The bytes of a manifest that was edited, with the digest that it now has.
pub fn sealed(manifest: &serde_json::Value) -> Vec<u8> {
    let mut manifest = manifest.clone();
    manifest["digest"] = "".into();
    manifest["digest"] = pel_shared::digest::of(manifest.to_string().as_bytes()).to_hex().as_str().into();
    manifest.to_string().into_bytes()
}

/// Every file below a folder with its bytes; of a link that leads nowhere, nothing.
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

/// Copies a folder of files.
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
pub struct Bench(tempfile::TempDir);

impl Bench {
    pub fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).expect("written");
        write("documents.jsonl", DOCUMENT);
        write("mentions.dev.jsonl", MENTIONS);
        write("mentions.known.jsonl", MENTIONS.split_once('\n').expect("several").0);
        write("kb.jsonl", KB);
        copy(bundle(), &folder.path().join("bundle"));
        Self(folder)
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Each command line ends with this code and says this.
    pub fn refuses(&self, lines: &[(&str, i32, &str)]) {
        for (line, code, expected) in lines {
            let done = self.pel(line);
            assert_eq!(done.code, Some(*code), "{line}: {}", done.err);
            assert!(done.err.contains(expected), "{line}: {}", done.err);
        }
    }

    /// As [`Bench::pel`], for a command line that has to succeed.
    pub fn done(&self, line: &str) -> Said {
        let said = self.pel(line);
        assert_eq!(said.code, Some(0), "{line}: {}", said.err);
        said
    }

    /// Runs a command line in which `@name` stands for a file of the folder and `@` for the folder.
    pub fn pel(&self, line: &str) -> Said {
        let word = |word: &str| match word.strip_prefix('@') {
            Some(name) => self.path(name).display().to_string(),
            None => word.to_owned(),
        };
        let words: Vec<String> = line.split(' ').map(word).collect();
        said(pel(&words.iter().map(String::as_str).collect::<Vec<_>>()))
    }
}
