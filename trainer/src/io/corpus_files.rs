//! The names of the files in a corpus folder.

use std::path::{Path, PathBuf};

/// What a command that reads a corpus does not write over: its files, and what `pel import` and `pel split` put beside them.
pub fn inputs(folder: &Path) -> Vec<PathBuf> {
    named(folder, &["documents", "mentions", "kb", "import", "okb", "domains"])
}

/// Whether a file of this name in the folder of a corpus is read as a part of it.
pub fn is_part(name: &str) -> bool {
    let stem = [".jsonl", ".jsonl.xz", ".jsonl.gz", ".jsonl.zst"].iter().find_map(|end| name.strip_suffix(end));
    stem.is_some_and(|stem| stem == "documents" || stem.starts_with("mentions."))
}

/// The entries of a folder whose names begin with one of these words and a dot.
pub fn named(folder: &Path, words: &[&str]) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let is_ours = |name: &str| name.split_once('.').is_some_and(|(word, _)| words.contains(&word));
    entries.filter(|entry| entry.file_name().to_str().is_some_and(is_ours)).map(|entry| entry.path()).collect()
}
