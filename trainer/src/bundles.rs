//! Bundles on disk: a folder, or one file; both memory-mapped.
#![allow(unsafe_code)]

use crate::files::{io_error, write_whole};
use bytes::Bytes;
use memmap2::Mmap;
use pel_shared::bundle::{Bundle, Parts, names};
use pel_shared::error::{Context, Error, Result};
use std::fs::File;
use std::path::Path;

/// Maps a file into memory; pages are read when they are used.
///
/// # Errors
/// If it cannot be opened or mapped.
pub fn map(path: &Path) -> Result<Bytes> {
    let file = File::open(path).map_err(|cause| io_error("opening", path, cause))?;
    if file.metadata().map_err(|cause| io_error("reading", path, cause))?.len() == 0 {
        return Ok(Bytes::new());
    }
    // SAFETY: the map is read-only. Another process that shortens the file meanwhile could end this one with a signal;
    // our own writers never do that: they write beside and rename, which leaves the mapped file whole.
    let map = unsafe { Mmap::map(&file) }.map_err(|cause| io_error("mapping", path, cause))?;
    Ok(Bytes::from_owner(map))
}

/// The files of a bundle, mapped.
///
/// # Errors
/// If the path is no bundle, or a file cannot be mapped.
pub fn parts(path: &Path) -> Result<Parts> {
    if path.is_file() {
        return Parts::from_one_file(&map(path)?);
    }
    if !path.join(names::MANIFEST).is_file() {
        let why = if path.is_dir() { "the folder has no manifest.json" } else { "there is nothing of that name" };
        return Err(Error::artifact(format!("expected a bundle: {why}; `pel index` makes one")));
    }
    let mut parts = Parts::default();
    for entry in std::fs::read_dir(path).map_err(|cause| io_error("listing", path, cause))? {
        let entry = entry.map_err(|cause| io_error("listing", path, cause))?;
        let name = entry.file_name().to_string_lossy().into_owned();
        // What an interrupted writer left, and what file managers leave, begins with a dot.
        if !name.starts_with('.') && entry.path().is_file() {
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

/// Writes a bundle: into one file if the name ends in `.pel`, else into a folder, whose manifest is written last.
///
/// # Errors
/// If a file cannot be written.
pub fn save(path: &Path, parts: &Parts) -> Result<()> {
    if is_one_file(path) {
        let bytes = parts.to_one_file()?;
        return write_whole(path, |file| file.write_all(&bytes).map_err(|cause| io_error("writing", path, cause)));
    }
    std::fs::create_dir_all(path).map_err(|cause| io_error("making the folder", path, cause))?;
    // Without its manifest a folder is no bundle: nobody reads old and new files mixed.
    let manifest = path.join(names::MANIFEST);
    if manifest.exists() {
        std::fs::remove_file(&manifest).map_err(|cause| io_error("removing", &manifest, cause))?;
    }
    let (last, first): (Vec<_>, Vec<_>) = parts.0.iter().partition(|(name, _)| *name == names::MANIFEST);
    for (name, bytes) in first.into_iter().chain(last) {
        let target = path.join(name);
        write_whole(&target, |file| file.write_all(bytes).map_err(|cause| io_error("writing", &target, cause)))?;
    }
    Ok(())
}

/// Whether a bundle of that name is one file.
pub fn is_one_file(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "pel")
}
