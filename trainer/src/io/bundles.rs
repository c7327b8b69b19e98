//! Bundles on disk: a folder, or one file; both memory-mapped.
#![allow(unsafe_code)]

use crate::io::files::{hand_on, io_error, open_own, partial_files, write_whole};
use crate::io::interrupt;
use crate::io::limits::Bound;
use crate::io::outputs::{Inputs, Writes, check_new_folder};
use bytes::Bytes;
use memmap2::Mmap;
use pel_shared::bundle::{Bundle, Manifest, Parts, names};
use pel_shared::error::{Context, Error, Result};
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::Path;

/// Maps a file into memory; pages are read when they are used.
///
/// # Errors
/// If it cannot be opened or mapped.
pub fn map(path: &Path) -> Result<Bytes> {
    let file = File::open(path).map_err(|cause| io_error("opening", path, cause))?;
    let bytes = file.metadata().map_err(|cause| io_error("reading", path, cause))?.len();
    if bytes == 0 {
        return Ok(Bytes::new());
    }
    if let Some(bound) = path.file_name().and_then(|name| name.to_str()).and_then(bound) {
        bound.check(path.display(), bytes)?;
    }
    // SAFETY: the map is read-only. Another process that shortens the file meanwhile could end this one with a signal;
    // our own writers never do that: they write beside and rename, which leaves the mapped file whole.
    let map = unsafe { Mmap::map(&file) }.map_err(|cause| io_error("mapping", path, cause))?;
    Ok(Bytes::from_owner(map))
}

/// How large a file of a bundle or model may be that is read into memory as JSON; of others, the pages that are used are.
fn bound(name: &str) -> Option<Bound> {
    match name {
        names::TOKENIZER => Some(Bound::Tokenizer),
        name if name.ends_with(".json") => Some(Bound::Settings),
        _ => None,
    }
}

/// The files of a bundle, mapped.
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
        let why = if path.is_dir() { "the folder has no manifest.json" } else { "there is nothing of that name" };
        return Err(Error::artifact(format!("expected a bundle: {why}; `pel index` makes one")));
    }
    let manifest = map(&path.join(names::MANIFEST))?;
    let listed = Manifest::from_bytes(&manifest)?.files;
    let mut parts = Parts::default();
    parts.0.insert(names::MANIFEST.into(), manifest);
    for entry in std::fs::read_dir(path).map_err(|cause| io_error("listing", path, cause))? {
        let entry = entry.map_err(|cause| io_error("listing", path, cause))?;
        let name = entry.file_name().to_string_lossy().into_owned();
        // What else lies in the folder is not of the bundle.
        if listed.contains_key(&name) && entry.path().is_file() {
            parts.0.insert(name, map(&entry.path())?);
        }
    }
    Ok(parts)
}

/// Reads a bundle and checks it.
///
/// # Errors
/// If it cannot be read, or a file of it is missing, altered or does not fit; the bundle is named.
pub fn open(path: &Path) -> Result<Bundle> {
    parts(path).and_then(Bundle::read).context(|| path.display().to_string())
}

/// In a folder whose bundle is not whole yet.
const UNFINISHED: &str = ".unfinished";

/// Refuses a place for a bundle that holds something else. To be asked before the work begins.
///
/// # Errors
/// If a name that ends in `.pel` is that of a folder, or a folder is neither new nor empty nor a bundle.
pub fn check_place(path: &Path) -> Result<()> {
    if is_one_file(path) {
        return Inputs::new().check([Writes::File(path)]);
    }
    match path.join(names::MANIFEST).is_file() && parts(path).is_ok() || path.join(UNFINISHED).is_file() {
        true => Ok(()),
        false => check_new_folder(path),
    }
}

/// Writes a bundle: into one file if the name ends in `.pel`, else into a folder, whose manifest is written last. Files of a bundle
/// that was there before are replaced or removed, others stay.
///
/// # Errors
/// As [`check_place`], or if a file cannot be written or removed.
pub fn save(path: &Path, parts: &Parts) -> Result<()> {
    check_place(path)?;
    if is_one_file(path) {
        let bytes = parts.to_one_file()?;
        return write_whole(path, |file| file.write_all(&bytes).map_err(|cause| io_error("writing", path, cause)));
    }
    let made = !path.exists();
    let _made = made.then(|| partial_files::Made::new(path));
    std::fs::create_dir_all(path).map_err(|cause| io_error("making the folder", path, cause))?;
    save_folder(path, parts).inspect_err(|_| {
        if made {
            // Only if nothing is in it.
            let _ = std::fs::remove_dir(path);
        }
    })
}

/// Writes a bundle into a folder that is there.
fn save_folder(path: &Path, parts: &Parts) -> Result<()> {
    // All new files are on the disk before the first old one goes.
    let staged = partial_files::folder_in(path).map_err(|cause| io_error("writing into the folder", path, cause))?;
    for (name, bytes) in &parts.0 {
        write_part(&staged.0.path().join(name), &path.join(name), bytes)?;
    }
    interrupt::check()?;
    let _finishing = interrupt::finish();
    let before = map(&path.join(names::MANIFEST)).and_then(|manifest| Manifest::from_bytes(&manifest));
    let before: Vec<String> = before.map_or_else(|_| Vec::new(), |manifest| manifest.files.into_keys().collect());
    let remove = |name: &str| {
        let file = path.join(name);
        match std::fs::symlink_metadata(&file).is_ok_and(|there| !there.is_dir()) {
            true => std::fs::remove_file(&file).map_err(|cause| io_error("removing", &file, cause)),
            false => Ok(()),
        }
    };
    open_own(&path.join(UNFINISHED), OpenOptions::new().write(true).create(true))?;
    // Without its manifest a folder is no bundle: nobody reads old and new files mixed.
    remove(names::MANIFEST)?;
    for old in before.iter().filter(|name| !parts.0.contains_key(*name) && is_plain(name)) {
        remove(old)?;
    }
    let (last, first): (Vec<&String>, Vec<&String>) = parts.0.keys().partition(|name| *name == names::MANIFEST);
    for name in first.into_iter().chain(last) {
        let target = path.join(name);
        std::fs::rename(staged.0.path().join(name), &target).map_err(|cause| io_error("writing", &target, cause))?;
    }
    partial_files::sync_folder(path)?;
    remove(UNFINISHED)
}

/// How many bytes of a file are written between two looks for Ctrl-C.
const PIECE: usize = 4 << 20;

/// Writes a file that is to be moved to its place, with the mode of the one that is there.
fn write_part(staged: &Path, place: &Path, bytes: &[u8]) -> Result<()> {
    let failed = |cause| io_error("writing", place, cause);
    let mut file = File::create_new(staged).map_err(failed)?;
    for piece in bytes.chunks(PIECE) {
        interrupt::check()?;
        file.write_all(piece).map_err(failed)?;
    }
    hand_on(place, &file).map_err(failed)?;
    file.sync_all().map_err(failed)
}

/// Whether a name means a file of the folder itself: a manifest may say anything.
fn is_plain(name: &str) -> bool {
    Path::new(name).file_name().is_some_and(|last| last == name)
}

/// What writing a bundle of that name writes.
pub fn writes(path: &Path) -> Writes<'_> {
    if is_one_file(path) || path.is_file() { Writes::File(path) } else { Writes::Folder(path) }
}

/// Whether a bundle of that name is one file.
pub fn is_one_file(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "pel")
}
