//! Bundles on disk: a folder or a single file, memory-mapped.
#![allow(unsafe_code)]

use bytes::Bytes;
use memmap2::Mmap;
use pel_io::files::{copy_ownership, io_error, open_no_follow, write_atomic};
use pel_io::interrupt;
use pel_io::limits::Bound;
use pel_io::outputs::{Inputs, Output, check_new_folder};
use pel_io::partial_files;
use pel_kb::error::{Context, Error, Result};
use pel_linker::bundle::{Bundle, Compared, Manifest, Parts, names};
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::Path;

/// Maps a file into memory. Pages are read on first use.
///
/// # Errors
/// If it cannot be opened or mapped.
pub fn map(path: &Path) -> Result<Bytes> {
    let file = File::open(path).map_err(|cause| io_error("opening", path, cause))?;
    let bytes = size(&file, path)?;
    if bytes == 0 {
        return Ok(Bytes::new());
    }
    if let Some(bound) = path
        .file_name()
        .and_then(|name| name.to_str())
        .and_then(bound)
    {
        bound.check(path.display(), bytes)?;
    }
    map_file(&file, path)
}

/// The size of an open file; `path` is for messages.
fn size(file: &File, path: &Path) -> Result<u64> {
    let found = file.metadata();
    Ok(found
        .map_err(|cause| io_error("reading", path, cause))?
        .len())
}

/// Maps an open file into memory; `path` is for messages.
///
/// # Errors
/// If it cannot be mapped.
pub fn map_file(file: &File, path: &Path) -> Result<Bytes> {
    if size(file, path)? == 0 {
        return Ok(Bytes::new());
    }
    // SAFETY: the map is read-only. Another process that truncates the file could end this one with
    // a signal. PEL's own writers rename a new file into place, which leaves the mapped file
    // intact, and nobody else has a temporary file.
    let map = unsafe { Mmap::map(file) }.map_err(|cause| io_error("mapping", path, cause))?;
    Ok(Bytes::from_owner(map))
}

/// The size limit of a file that is read into memory as JSON. Other files are mapped and have none.
fn bound(name: &str) -> Option<Bound> {
    match name {
        names::TOKENIZER => Some(Bound::Tokenizer),
        name if name.ends_with(".json") => Some(Bound::Settings),
        _ => None,
    }
}

/// Maps the files of a bundle.
///
/// # Errors
/// If the path is no bundle, or a file cannot be mapped.
pub fn parts(path: &Path) -> Result<Parts> {
    if path.is_file() {
        let parts = Parts::from_one_file(&map(path)?)?;
        for (name, bytes) in &parts.0 {
            bound(name).map_or(Ok(()), |bound| bound.check(name, bytes.len() as u64))?;
        }
        return Ok(parts);
    }
    if !path.join(names::MANIFEST).is_file() {
        let why = if path.is_dir() {
            "the folder has no manifest.json"
        } else {
            "no such file or folder"
        };
        return Err(Error::artifact(format!(
            "expected a bundle: {why}; `pel index` makes one"
        )));
    }
    let manifest = map(&path.join(names::MANIFEST))?;
    let listed = Manifest::from_bytes(&manifest)?.files;
    let mut parts = Parts::default();
    parts.0.insert(names::MANIFEST.into(), manifest);
    for entry in std::fs::read_dir(path).map_err(|cause| io_error("listing", path, cause))? {
        let entry = entry.map_err(|cause| io_error("listing", path, cause))?;
        let name = entry.file_name().to_string_lossy().into_owned();
        // The folder may hold other files.
        if listed.contains_key(&name) && entry.path().is_file() {
            parts.0.insert(name, map(&entry.path())?);
        }
    }
    Ok(parts)
}

/// Reads a bundle and checks it.
///
/// # Errors
/// If it cannot be read, or one of its files is missing, altered or does not fit. The error names
/// the bundle.
pub fn open(path: &Path) -> Result<Bundle> {
    parts(path)
        .and_then(Bundle::read)
        .context(|| path.display().to_string())
}

/// As [`open`], without comparing the checksums of large files ([`Compared::AllButLargeFiles`]).
///
/// # Errors
/// As [`open`].
pub fn open_to_link(path: &Path) -> Result<Bundle> {
    parts(path)
        .and_then(|parts| Bundle::read_with(parts, Compared::AllButLargeFiles))
        .context(|| path.display().to_string())
}

/// Marks a folder whose bundle is incomplete.
const UNFINISHED: &str = ".unfinished";

/// Refuses to write a bundle where something else exists. Call it before the work begins.
///
/// # Errors
/// If a path that ends in `.pel` is a folder, or a folder is neither new, empty nor a bundle.
pub fn check_output(path: &Path) -> Result<()> {
    if is_one_file(path) {
        return Inputs::new().check([Output::File(path)]);
    }
    match path.join(names::MANIFEST).is_file() && parts(path).is_ok()
        || path.join(UNFINISHED).is_file()
    {
        true => Ok(()),
        false => check_new_folder(path),
    }
}

/// Writes a bundle: a single file if the name ends in `.pel`, else a folder. The manifest is
/// written last. Files of an earlier bundle are replaced or removed, other files stay.
///
/// # Errors
/// As [`check_output`], or if a file cannot be written or removed.
pub fn save(path: &Path, parts: &Parts) -> Result<()> {
    check_output(path)?;
    if is_one_file(path) {
        return write_atomic(path, |file| {
            parts.write_one_file(|piece| {
                file.write_all(piece)
                    .map_err(|cause| io_error("writing", path, cause))
            })
        });
    }
    let made = !path.exists();
    let _made = made.then(|| partial_files::CreatedFolder::new(path));
    std::fs::create_dir_all(path).map_err(|cause| io_error("making the folder", path, cause))?;
    save_folder(path, parts).inspect_err(|_| {
        if made {
            // Fails, as intended, if the folder is not empty.
            let _ = std::fs::remove_dir(path);
        }
    })
}

/// Writes a bundle into an existing folder.
fn save_folder(path: &Path, parts: &Parts) -> Result<()> {
    // All new files are on disk before the first old one is removed.
    let staged = partial_files::folder_in(path)
        .map_err(|cause| io_error("writing into the folder", path, cause))?;
    for (name, bytes) in &parts.0 {
        write_part(&staged.0.path().join(name), &path.join(name), bytes)?;
    }
    interrupt::check()?;
    let _finishing = interrupt::critical_section();
    let before =
        map(&path.join(names::MANIFEST)).and_then(|manifest| Manifest::from_bytes(&manifest));
    let before: Vec<String> = before.map_or_else(
        |_| Vec::new(),
        |manifest| manifest.files.into_keys().collect(),
    );
    let remove = |name: &str| {
        let file = path.join(name);
        match std::fs::symlink_metadata(&file).is_ok_and(|there| !there.is_dir()) {
            true => std::fs::remove_file(&file).map_err(|cause| io_error("removing", &file, cause)),
            false => Ok(()),
        }
    };
    open_no_follow(
        &path.join(UNFINISHED),
        OpenOptions::new().write(true).create(true),
    )?;
    // A folder without a manifest is no bundle, so nobody reads a mixture of old and new files.
    remove(names::MANIFEST)?;
    for old in before
        .iter()
        .filter(|name| !parts.0.contains_key(*name) && is_plain(name))
    {
        remove(old)?;
    }
    let (last, first): (Vec<&String>, Vec<&String>) =
        parts.0.keys().partition(|name| *name == names::MANIFEST);
    for name in first.into_iter().chain(last) {
        let target = path.join(name);
        std::fs::rename(staged.0.path().join(name), &target)
            .map_err(|cause| io_error("writing", &target, cause))?;
    }
    partial_files::sync_folder(path)?;
    remove(UNFINISHED)
}

/// Bytes written between two checks for Ctrl-C.
const PIECE: usize = 4 << 20;

/// Writes a file that will be renamed to `place`, with the mode of the file there.
fn write_part(staged: &Path, place: &Path, bytes: &[u8]) -> Result<()> {
    let failed = |cause| io_error("writing", place, cause);
    let mut file = File::create_new(staged).map_err(failed)?;
    for piece in bytes.chunks(PIECE) {
        interrupt::check()?;
        file.write_all(piece).map_err(failed)?;
    }
    copy_ownership(place, &file).map_err(failed)?;
    file.sync_all().map_err(failed)
}

/// Whether a name is a plain file name. A manifest may contain any text.
fn is_plain(name: &str) -> bool {
    Path::new(name).file_name().is_some_and(|last| last == name)
}

/// The output that [`save`] will write.
pub fn writes(path: &Path) -> Output<'_> {
    if is_one_file(path) || path.is_file() {
        Output::File(path)
    } else {
        Output::Folder(path)
    }
}

/// Whether a bundle of this name is a single file.
pub fn is_one_file(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "pel")
}
