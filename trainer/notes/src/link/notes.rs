//! The notes to link: their files, names and outputs.

use crate::link::format::Format;
use crate::link::inputs::{InputFormat, Kind, NoteRow, Stated, kind_of};
use crate::link::inputs::{document_of_name, fits, is_cda, kind_of_name, stem};
use crate::link::manifest::is_manifest;
use crate::link::output_format::OutputFormat;
use pel_documents::Kind as DocumentKind;
use pel_io::files::{is_partial, walk_error};
use pel_io::terminal::counted;
use pel_kb::error::{Error, Result};
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// Maximum number of notes and bytes read at once: enough for all threads, with bounded memory.
const WINDOW: (usize, u64) = (64, 4 << 20);

/// A note to link.
pub struct Note {
    /// Where its text is.
    pub source: Source,
    /// Its path below the given folder, without extension; or its identifier in a table.
    pub name: String,
    /// The file of its given spans.
    pub spans: Option<PathBuf>,
    /// The output file; `None` for standard output.
    pub out: Option<PathBuf>,
}

/// Where a note comes from.
pub enum Source {
    /// A file to read.
    File(PathBuf),
    /// A document of a format, whose text is to be read.
    Document(PathBuf, DocumentKind),
    /// A text that was read from a table or collection.
    Text {
        /// The file and row, for messages.
        place: String,
        /// Its text.
        text: String,
        /// What its document states of it.
        stated: Box<Stated>,
    },
}

impl Note {
    /// A note of a table.
    pub fn of_row(row: NoteRow) -> Self {
        Self {
            source: Source::Text {
                place: row.place,
                text: row.text,
                stated: Box::new(row.stated),
            },
            name: row.name,
            spans: None,
            out: None,
        }
    }

    /// Its place for messages.
    pub fn place(&self) -> String {
        match &self.source {
            Source::File(path) | Source::Document(path, _) => path.display().to_string(),
            Source::Text { place, .. } => place.clone(),
        }
    }

    /// Its file; `None` for a note of a table.
    pub fn path(&self) -> Option<&Path> {
        match &self.source {
            Source::File(path) | Source::Document(path, _) => Some(path),
            Source::Text { .. } => None,
        }
    }
}

/// A table or collection of notes.
#[derive(Clone, Debug)]
pub struct Shard {
    /// The file.
    pub path: PathBuf,
    /// The form of the file.
    pub kind: Kind,
    /// Its path below the given folder, or its file name.
    pub name: String,
}

/// The notes found.
pub struct Found {
    /// The notes that are files of their own.
    pub notes: Vec<Note>,
    /// The tables and collections of notes.
    pub shards: Vec<Shard>,
    /// Errors of subfolders that cannot be read.
    pub unread: Vec<Error>,
}

/// Collects the notes of the inputs, each folder in path order: files that are notes, and tables
/// and collections of notes. A folder with .txt files gives these, one with documents these, and
/// another one its tables.
/// Unreadable subfolders are skipped and returned.
///
/// # Errors
/// If a given folder cannot be read, or a readable one has no note; or there are texts and tables.
pub fn notes(inputs: &[PathBuf], format: Option<InputFormat>) -> Result<Found> {
    let mut found = Found {
        notes: Vec::new(),
        shards: Vec::new(),
        unread: Vec::new(),
    };
    for input in inputs {
        if input.is_dir() {
            add_folder(input, format, &mut found)?;
            continue;
        }
        let name = Path::new(input.file_name().unwrap_or_default());
        match kind_of(input, format)? {
            Kind::Text if input.as_os_str() == "-" => {
                found.notes.push(file(input, Path::new("stdin")));
            }
            Kind::Text => found.notes.push(file(input, &unended(name))),
            Kind::File(kind) if input.as_os_str() == "-" => {
                found.notes.push(document(input, kind, Path::new("stdin")));
            }
            Kind::File(kind) => {
                let name = name.to_string_lossy();
                let name = stem(&name);
                found.notes.push(document(input, kind, Path::new(&name)));
            }
            kind => found.shards.push(Shard {
                path: input.clone(),
                kind,
                name: match input.as_os_str() == "-" {
                    true => "stdin".to_owned(),
                    false => name.to_string_lossy().into_owned(),
                },
            }),
        }
    }
    if let (Some(note), Some(shard)) = (found.notes.first(), found.shards.first()) {
        return Err(Error::input(format!(
            "the inputs are texts and tables of notes: {} and {}; link them separately, or name \
             the --input-format",
            note.place(),
            shard.path.display()
        )));
    }
    Ok(found)
}

fn file(path: &Path, name: &Path) -> Note {
    Note {
        source: Source::File(path.to_owned()),
        name: name.to_string_lossy().into_owned(),
        spans: None,
        out: None,
    }
}

fn document(path: &Path, kind: DocumentKind, name: &Path) -> Note {
    Note {
        source: Source::Document(path.to_owned(), kind),
        ..file(path, name)
    }
}

/// The kind of a document in a folder; `None` for other files.
fn document_in_folder(
    path: &Path,
    name: &str,
    format: Option<InputFormat>,
) -> Result<Option<DocumentKind>> {
    let named = match document_of_name(name) {
        None if name.to_lowercase().ends_with(".xml") && is_cda(path) => Some(DocumentKind::Cda),
        named => named,
    };
    let (Some(named), Some(format)) = (named, format) else {
        return Ok(named);
    };
    let wanted = kind_of(path, Some(format))?;
    Ok((wanted == Kind::File(named)).then_some(named))
}

/// Adds the notes or tables of a folder.
fn add_folder(input: &Path, format: Option<InputFormat>, found: &mut Found) -> Result<()> {
    let (mut notes, mut shards, mut unread) = (Vec::new(), Vec::new(), Vec::new());
    let mut documents: Vec<Note> = Vec::new();
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
        if !entry.file_type().is_file() {
            continue;
        }
        let path = entry.path();
        let below = path.strip_prefix(input).unwrap_or(path);
        let name = entry.file_name().to_string_lossy();
        let named = kind_of_name(&name).filter(|_| !is_own(&name));
        if matches!(format, None | Some(InputFormat::Text)) && is_note(path) {
            notes.push(file(path, &unended(below)));
            continue;
        }
        if !is_own(&name)
            && format != Some(InputFormat::Text)
            && let Some(kind) = document_in_folder(path, &name, format)?
        {
            documents.push(document(path, kind, &below.with_file_name(stem(&name))));
            continue;
        }
        match (format, named) {
            (None, Some(kind)) => shards.push((path.to_owned(), kind, below.to_owned())),
            (Some(format), Some(kind)) if fits(kind, format) => {
                let kind = kind_of(path, Some(format))?;
                shards.push((path.to_owned(), kind, below.to_owned()));
            }
            _ => {}
        }
    }
    if notes.is_empty() {
        notes = documents;
    } else if let Some(first) = documents.first() {
        // Documents next to texts can be links of an earlier run.
        eprintln!(
            "{}: left out {} next to the texts, first {}; name documents to link them",
            input.display(),
            counted(documents.len(), "document"),
            first.place()
        );
    }
    if notes.is_empty() && shards.is_empty() {
        if let Some(first) = unread.into_iter().next() {
            return Err(first);
        }
        let expected = match format {
            None => ".txt files, documents or tables of notes",
            Some(InputFormat::Text) => ".txt files",
            Some(_) => "files of the --input-format",
        };
        return Err(Error::input(format!(
            "{}: the folder has no {expected}",
            input.display()
        )));
    }
    // Tables beside notes can be links of an earlier run.
    if let (Some(_), Some((first, ..))) = (notes.first(), shards.first()) {
        eprintln!(
            "{}: left out {} next to the texts, first {}; name tables to link them",
            input.display(),
            counted(shards.len(), "table"),
            first.display()
        );
    } else {
        let shard = |(path, kind, below): (PathBuf, Kind, PathBuf)| Shard {
            path,
            kind,
            name: below.to_string_lossy().into_owned(),
        };
        found.shards.extend(shards.into_iter().map(shard));
    }
    found.notes.append(&mut notes);
    found.unread.append(&mut unread);
    Ok(())
}

/// Whether a file in a folder is a manifest or an unfinished file of PEL.
fn is_own(name: &str) -> bool {
    is_partial(name) || is_manifest(name)
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
pub fn find_spans(notes: &mut [Note], spans: &Path, several: bool) -> Result<()> {
    if !spans.is_dir() {
        return match notes {
            [note] if !several => {
                note.spans = Some(spans.to_owned());
                Ok(())
            }
            _ => {
                let expected =
                    "several notes need a folder, with NAME.ann or NAME.jsonl for each note";
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
            "--spans {place}: the folder has neither {name}.ann nor {name}.jsonl"
        )));
    }
    eprintln!(
        "warning: {} of {} without spans in {place}, first {name}",
        without.len(),
        counted(notes.len(), "note")
    );
    Ok(())
}

/// Sets the output of each note: the file `out`, or files in that folder.
///
/// # Errors
/// If two notes have the same output file.
pub fn place(
    notes: &mut [Note],
    out: &Path,
    into_folder: bool,
    format: OutputFormat,
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
            let both = [other, note].map(Note::place).join(" and ");
            return Err(Error::input(format!(
                "expected one output per note, found {} for {both}; give a folder around both, or \
                 link them separately",
                out.display()
            )));
        }
    }
    Ok(())
}

/// Splits the notes into windows. Standard input, whose size is unknown, is a window of its own.
pub(crate) fn windows(notes: &[Note]) -> Vec<&[Note]> {
    let size = |note: &Note| match &note.source {
        Source::File(path) | Source::Document(path, _) => {
            std::fs::metadata(path).map_or(WINDOW.1, |metadata| metadata.len())
        }
        Source::Text { text, .. } => text.len() as u64,
    };
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

/// The output of each table in a folder.
///
/// # Errors
/// If two tables have the same output, or one has that of the manifest.
pub fn shard_outputs(shards: &[Shard], out: &Path, format: OutputFormat) -> Result<Vec<PathBuf>> {
    let mut taken: HashMap<PathBuf, &Shard> = HashMap::new();
    let mut outputs = Vec::with_capacity(shards.len());
    for shard in shards {
        let below = Path::new(&shard.name);
        let name = below.file_name().unwrap_or_default().to_string_lossy();
        let file = format!("{}.{}", stem(&name), format.extension());
        let file = below.with_file_name(file);
        let place = out.join(&file);
        if is_manifest(&file.to_string_lossy()) {
            return Err(Error::input(format!(
                "{}: expected a table of another name, since {} is the manifest of the folder, \
                 found this one; rename it",
                shard.path.display(),
                place.display()
            )));
        }
        if let Some(other) = taken.insert(place.clone(), shard) {
            return Err(Error::input(format!(
                "expected one output per table, found {} for {} and {}; give a folder around both, \
                 or link them separately",
                place.display(),
                other.path.display(),
                shard.path.display()
            )));
        }
        outputs.push(place);
    }
    Ok(outputs)
}
