//! The names of the files in a corpus folder.

use std::path::{Path, PathBuf};

/// Files of a corpus that commands must not overwrite: its data and the records of `pel import` and `pel split`.
pub fn inputs(folder: &Path) -> Vec<PathBuf> {
    named(folder, &["documents", "mentions", "kb", "import", "okb", "domains"])
}

/// Whether a corpus reader would read a file of this name.
pub fn is_part(name: &str) -> bool {
    let stem = [".jsonl", ".jsonl.xz", ".jsonl.gz", ".jsonl.zst"].iter().find_map(|end| name.strip_suffix(end));
    stem.is_some_and(|stem| stem == "documents" || stem.starts_with("mentions."))
}

/// The entries of a folder whose names begin with one of `stems` and a dot.
pub fn named(folder: &Path, stems: &[&str]) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let is_ours = |name: &str| name.split_once('.').is_some_and(|(stem, _)| stems.contains(&stem));
    entries.filter(|entry| entry.file_name().to_str().is_some_and(is_ours)).map(|entry| entry.path()).collect()
}
