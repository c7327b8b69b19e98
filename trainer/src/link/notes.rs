//! The notes to link: their files, names and outputs.

use crate::io::files::walk_error;
use crate::link::format::Format;
use pel_shared::error::{Error, Result};
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// Maximum number of notes and bytes read at once: enough for all threads, with bounded memory.
const WINDOW: (usize, u64) = (64, 4 << 20);

/// A note to read.
pub(crate) struct Note {
    pub path: PathBuf,
    /// Its path below the given folder, without extension.
    pub name: String,
    /// The file of its given spans.
    pub spans: Option<PathBuf>,
    /// The output file; `None` for standard output.
    pub out: Option<PathBuf>,
}

/// The notes found.
pub(crate) struct Found {
    pub notes: Vec<Note>,
    /// Errors of subfolders that cannot be read.
    pub unread: Vec<Error>,
}

/// Collects the notes of the inputs, each folder in path order. Unreadable subfolders are skipped
/// and returned.
///
/// # Errors
/// If a given folder cannot be read, or a readable one has no note.
pub(crate) fn notes(inputs: &[PathBuf]) -> Result<Found> {
    let (mut notes, mut unread) = (Vec::new(), Vec::new());
    let mut push = |path: &Path, name: &Path| {
        let name = name.to_string_lossy().into_owned();
        notes.push(Note {
            path: path.to_owned(),
            name,
            spans: None,
            out: None,
        });
    };
    for input in inputs {
        if !input.is_dir() {
            match input.as_os_str() == "-" {
                true => push(input, Path::new("stdin")),
                false => push(
                    input,
                    &unended(Path::new(input.file_name().unwrap_or_default())),
                ),
            }
            continue;
        }
        let mut found = false;
        let hidden = |name: &std::ffi::OsStr| name.to_string_lossy().starts_with('.');
        let walk = walkdir::WalkDir::new(input).sort_by_file_name().into_iter();
        for entry in walk.filter_entry(|entry| entry.depth() == 0 || !hidden(entry.file_name())) {
            let entry = match entry {
                Ok(entry) => entry,
                Err(cause) if cause.depth() == 0 => return Err(walk_error(input, cause)),
                Err(cause) => {
                    unread.push(walk_error(input, cause));
                    continue;
                }
            };
            if entry.file_type().is_file() && is_note(entry.path()) {
                push(
                    entry.path(),
                    &unended(entry.path().strip_prefix(input).unwrap_or(entry.path())),
                );
                found = true;
            }
        }
        if !found {
            if let Some(first) = unread.into_iter().next() {
                return Err(first);
            }
            return Err(Error::input(format!(
                "{}: expected a folder with .txt files, found none",
                input.display()
            )));
        }
    }
    Ok(Found { notes, unread })
}

/// Whether a file in a folder is a note: a text file that is no output of PEL.
fn is_note(path: &Path) -> bool {
    let name = path
        .file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .to_lowercase();
    [".txt", ".text"]
        .iter()
        .any(|ending| name.ends_with(ending))
        && !name.ends_with(&format!(".{}", Format::Table.extension()))
}

/// The name without extension. A number is no extension: `patient.1` and `patient.2` are different
/// notes.
fn unended(name: &Path) -> PathBuf {
    match name
        .extension()
        .is_some_and(|ending| ending.to_string_lossy().parse::<u64>().is_err())
    {
        true => name.with_extension(""),
        false => name.to_owned(),
    }
}

/// Finds the spans of each note. `spans` is a file for a single note, or a folder with NAME.ann or
/// NAME.jsonl.
///
/// # Errors
/// If a file is given for several notes, or the folder has no file for any note.
pub(crate) fn find_spans(notes: &mut [Note], spans: &Path, several: bool) -> Result<()> {
    if !spans.is_dir() {
        return match notes {
            [note] if !several => {
                note.spans = Some(spans.to_owned());
                Ok(())
            }
            _ => {
                let expected =
                    "expected a folder with NAME.ann or NAME.jsonl for each note, found a file";
                Err(Error::input(format!(
                    "--spans {}: {expected}",
                    spans.display()
                )))
            }
        };
    }
    for note in notes.iter_mut() {
        let candidates =
            ["ann", "jsonl"].map(|extension| spans.join(format!("{}.{extension}", note.name)));
        note.spans = candidates.into_iter().find(|path| path.is_file());
    }
    let without: Vec<&Note> = notes.iter().filter(|note| note.spans.is_none()).collect();
    let Some(first) = without.first() else {
        return Ok(());
    };
    let (place, name) = (spans.display(), &first.name);
    if without.len() == notes.len() {
        return Err(Error::input(format!(
            "--spans {place}: expected {name}.ann or {name}.jsonl in it, found neither"
        )));
    }
    eprintln!(
        "warning: {} of {} notes have no spans in {place}, first {name}",
        without.len(),
        notes.len()
    );
    Ok(())
}

/// Sets the output of each note: the file `out`, or files in that folder.
///
/// # Errors
/// If two notes have the same output file.
pub(crate) fn place(
    notes: &mut [Note],
    out: &Path,
    into_folder: bool,
    format: Format,
) -> Result<()> {
    for note in notes.iter_mut() {
        note.out = Some(match into_folder {
            true => out.join(format!("{}.{}", note.name, format.extension())),
            false => out.to_owned(),
        });
    }
    let mut taken: HashMap<&Path, &Note> = HashMap::new();
    for note in notes.iter() {
        let Some(out) = &note.out else { continue };
        if let Some(other) = taken.insert(out, note) {
            let both = [other, note]
                .map(|note| note.path.display().to_string())
                .join(" and ");
            return Err(Error::input(format!(
                "expected one output per note, found {} for {both}; give a folder around both, or link them separately",
                out.display()
            )));
        }
    }
    Ok(())
}

/// Splits the notes into windows. Standard input, whose size is unknown, is a window of its own.
pub(crate) fn windows(notes: &[Note]) -> Vec<&[Note]> {
    let size =
        |note: &Note| std::fs::metadata(&note.path).map_or(WINDOW.1, |metadata| metadata.len());
    let (mut windows, mut first, mut bytes) = (Vec::new(), 0, 0);
    for (at, note) in notes.iter().enumerate() {
        bytes += size(note);
        if at > first && (at - first >= WINDOW.0 || bytes > WINDOW.1) {
            windows.push(&notes[first..at]);
            (first, bytes) = (at, size(note));
        }
    }
    windows.push(&notes[first..]);
    windows
}
