//! Runs the `pel` that was just built, on the committed tiny model.
#![allow(dead_code)] // Each test program uses its part.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;

/// Concepts enough to link a note.
pub const KB: &str = r#"{"id": "D1", "name": "fever", "synonyms": ["pyrexia"], "types": ["Sign"], "definition": "A high temperature.", "sources": ["TEST"]}
{"id": "D2", "name": "chest pain", "types": ["Sign"], "sources": ["TEST"]}
{"id": "D3", "name": "diabetes mellitus", "synonyms": ["diabetes"], "types": ["Disease"], "sources": ["TEST"]}
"#;

/// The committed tiny model.
pub fn tiny() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/fixtures/tiny")
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

/// Copies a folder of files.
pub fn copy(from: &str, to: &Path) {
    std::fs::create_dir_all(to).expect("a folder");
    for entry in std::fs::read_dir(from).expect("listed") {
        let entry = entry.expect("listed");
        std::fs::copy(entry.path(), to.join(entry.file_name())).expect("copied");
    }
}
