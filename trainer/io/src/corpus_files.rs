//! The names of the files in a corpus folder.

use std::path::{Path, PathBuf};

/// Extensions of compressed files in corpora.
const PACKED: [&str; 3] = [".xz", ".gz", ".zst"];

/// A file name without the extension of its compression.
pub fn unpacked(name: &str) -> &str {
    PACKED
        .iter()
        .find_map(|packed| name.strip_suffix(packed))
        .unwrap_or(name)
}

/// The existing files `{stem}.jsonl` of a corpus folder, compressed or not.
pub fn existing(folder: &Path, stem: &str) -> impl Iterator<Item = PathBuf> {
    let endings = [""].into_iter().chain(PACKED);
    endings
        .map(move |packed| folder.join(format!("{stem}.jsonl{packed}")))
        .filter(|file| file.is_file())
}

/// Files of a corpus that commands must not overwrite: its data and the records of `pel import` and
/// `pel split`.
pub fn inputs(folder: &Path) -> Vec<PathBuf> {
    named(
        folder,
        &["documents", "mentions", "kb", "import", "okb", "domains"],
    )
}

/// Whether a corpus reader would read a file of this name.
pub fn is_part(name: &str) -> bool {
    unpacked(name)
        .strip_suffix(".jsonl")
        .is_some_and(|stem| stem == "documents" || stem.starts_with("mentions."))
}

/// The entries of a folder whose names begin with one of `stems` and a dot.
pub fn named(folder: &Path, stems: &[&str]) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let is_ours = |name: &str| {
        name.split_once('.')
            .is_some_and(|(stem, _)| stems.contains(&stem))
    };
    entries
        .filter(|entry| entry.file_name().to_str().is_some_and(is_ours))
        .map(|entry| entry.path())
        .collect()
}
