//! A folder of notes: the time of `pel link`, compared with one pass of the encoder over the tokens
//! of the notes.

use super::{start, timed};
use crate::bench::Options;
use pel_artifacts::device::OpenDevice;
use pel_io::files::{read_text, walk_error};
use pel_io::interrupt;
use pel_kb::error::{Error, Result};
use pel_kb::score::Scorer;
use pel_linker::bundle::{Bundle, Queries};
use pel_model::encode::BatchSize;
use pel_model::tokens::{Cut, Encoded};
use pel_model::tower::Side;
use pel_text::Mention;
use pel_text::detect::DetectOptions;
use serde::Serialize;
use std::collections::HashSet;
use std::path::{Path, PathBuf};

/// The time of a folder of notes.
#[derive(Serialize)]
pub(crate) struct NotesRow {
    #[serde(flatten)]
    pub counts: Counts,
    /// `pel link` over the folder, from start to exit, once.
    pub link_ms: f64,
    /// Its peak memory.
    pub link_peak_bytes: Option<u64>,
    /// One pass of the encoder over all tokens of the notes, in windows of at most [`WINDOW`]: the
    /// median.
    pub pass_ms: f64,
    /// `link_ms / pass_ms`
    pub passes: f64,
}

/// The longest window of the pass over a note, as long as the detector's.
const WINDOW: usize = 256;

/// The contents of a folder of notes.
#[derive(Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Counts {
    pub notes: usize,
    pub bytes: usize,
    pub mentions: usize,
    /// The distinct token sequences of each note's mentions, summed over notes.
    pub sequences: usize,
    /// Tokens of these sequences, including special ones, without padding.
    pub tokens: usize,
    /// Tokens of the notes.
    pub note_tokens: usize,
}

impl Counts {
    /// Adds a note, as `pel link` without options reads it.
    fn add(&mut self, text: &str, bundle: &Bundle) -> Result<()> {
        let mut sequences = HashSet::new();
        let detected = bundle.detect(text, &DetectOptions::default())?;
        self.notes += 1;
        self.bytes += text.len();
        self.mentions += detected.len();
        let mut reader = bundle.manifest.view.reader();
        for mention in detected {
            let mention = reader.mention_in(text, mention.pieces())?;
            sequences.extend(encoded(bundle, &mention)?);
        }
        self.sequences += sequences.len();
        self.tokens += sequences
            .iter()
            .map(|encoded| encoded.ids.len())
            .sum::<usize>();
        Ok(())
    }
}

/// The tokens of a mention, as `pel link` encodes it.
fn encoded(bundle: &Bundle, mention: &Mention<'_>) -> Result<Option<Encoded>> {
    let named = bundle.dictionary.lookup_mention(&mention.text);
    let view = &bundle.manifest.view;
    view.mention_named(&bundle.tokens, mention, named.len())
}

/// Links the folder once, and encodes its text.
///
/// # Errors
/// If it has no notes, one cannot be read, the device fails, or `pel link` fails.
pub(crate) fn notes(
    options: &Options,
    folder: &Path,
    bundle: &Bundle,
    device: &OpenDevice,
) -> Result<NotesRow> {
    let encoder = bundle.encoder(&device.device)?;
    let width = encoder.max_positions().min(WINDOW);
    let (mut counts, mut windows) = (Counts::default(), Vec::new());
    for path in texts(folder)? {
        interrupt::check()?;
        let text = read_text(&path)?;
        counts.add(&text, bundle)?;
        let tokens = bundle.tokens.pieces(&text)?;
        counts.note_tokens += tokens.len();
        let whole = |ids: &[u32]| Encoded::whole(ids.to_vec(), Cut::default());
        windows.extend(tokens.chunks(width).map(whole));
    }
    let rows: Vec<&Encoded> = windows.iter().collect();
    let size = encoder.batch_size();
    let (pass_ms, _) = timed(options.seconds, || {
        let tick = |_| interrupt::check();
        Queries::encode(&encoder, Scorer::Dual, Side::Mention, &rows, size, tick)?;
        Ok(())
    })?;
    let out = tempfile::tempdir()
        .map_err(|cause| Error::io("making a folder for linked notes").caused_by(cause))?;
    let arguments = [
        folder.as_os_str(),
        "--format".as_ref(),
        "jsonl".as_ref(),
        "--out".as_ref(),
        out.path().as_os_str(),
    ];
    let (link_ms, link_peak_bytes) = start::link(&options.bundle, &arguments)?;
    Ok(NotesRow {
        counts,
        link_ms,
        link_peak_bytes,
        pass_ms,
        passes: link_ms / pass_ms,
    })
}

/// The vectors of the first `most` different mentions of a folder's notes, `[mentions, dim]`.
///
/// # Errors
/// If it has no notes, one cannot be read or has no mention, or the device fails.
pub(crate) fn mention_vectors(
    folder: &Path,
    bundle: &Bundle,
    device: &OpenDevice,
    most: usize,
) -> Result<Vec<f32>> {
    let (mut seen, mut sequences) = (HashSet::new(), Vec::new());
    for path in texts(folder)? {
        interrupt::check()?;
        let text = read_text(&path)?;
        let mut reader = bundle.manifest.view.reader();
        for mention in bundle.detect(&text, &DetectOptions::default())? {
            let mention = reader.mention_in(&text, mention.pieces())?;
            if let Some(encoded) = encoded(bundle, &mention)?
                && seen.insert(encoded.clone())
            {
                sequences.push(encoded);
            }
        }
        if sequences.len() >= most {
            break;
        }
    }
    sequences.truncate(most);
    if sequences.is_empty() {
        return Err(Error::input(format!(
            "{}: expected notes with mentions, found none",
            folder.display()
        )));
    }
    let rows: Vec<&Encoded> = sequences.iter().collect();
    let encoded = Queries::encode(
        &bundle.encoder(&device.device)?,
        Scorer::Dual,
        Side::Mention,
        &rows,
        BatchSize::default(),
        |_| interrupt::check(),
    )?;
    Ok(encoded.pooled)
}

/// The .txt files below a folder.
pub(super) fn texts(folder: &Path) -> Result<Vec<PathBuf>> {
    if !folder.is_dir() {
        return Err(Error::input(format!(
            "{}: expected a folder of notes",
            folder.display()
        )));
    }
    let mut found = Vec::new();
    for entry in walkdir::WalkDir::new(folder).sort_by_file_name() {
        let entry = entry.map_err(|cause| walk_error(folder, cause))?;
        if entry.file_type().is_file()
            && entry
                .path()
                .extension()
                .is_some_and(|extension| extension == "txt")
        {
            found.push(entry.into_path());
        }
    }
    match found.is_empty() {
        true => Err(Error::input(format!(
            "{}: expected .txt files, found none",
            folder.display()
        ))),
        false => Ok(found),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_are_found_in_subfolders() {
        let folder = tempfile::tempdir().expect("a folder");
        assert!(texts(folder.path()).is_err());
        std::fs::create_dir(folder.path().join("b")).expect("a folder within");
        for name in ["c.txt", "b/a.txt", "b/a.ann"] {
            std::fs::write(folder.path().join(name), "text").expect("written");
        }
        let found = texts(folder.path()).expect("found");
        let names: Vec<_> = found
            .iter()
            .filter_map(|path| path.strip_prefix(folder.path()).ok())
            .collect();
        assert_eq!(names, [Path::new("b/a.txt"), Path::new("c.txt")]);
        assert!(texts(&folder.path().join("c.txt")).is_err());
    }
}
