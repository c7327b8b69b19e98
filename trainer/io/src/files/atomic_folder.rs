//! Atomic writes of folders: each appears completely or not at all.

use crate::errors::io_error;
use pel_kb::error::Result;
use std::fs;
use std::path::Path;

/// Writes a folder under a temporary name, then renames it. An existing folder is replaced. If the
/// process is killed, the existing folder is still in place or beside it as `.NAME.old`.
///
/// # Errors
/// If `fill` fails, or the folder cannot be created or renamed.
pub fn write_folder(place: &Path, fill: impl FnOnce(&Path) -> Result<()>) -> Result<()> {
    let name = place
        .file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    let part = place.with_file_name(format!(".{name}.part"));
    let clear = |folder: &Path| match folder.exists() {
        true => fs::remove_dir_all(folder).map_err(|cause| io_error("removing", folder, cause)),
        false => Ok(()),
    };
    clear(&part)?;
    let made =
        fs::create_dir_all(&part).map_err(|cause| io_error("making the folder", &part, cause));
    if let Err(why) = made.and_then(|()| fill(&part)) {
        // On a full disk the partial folder would take the remaining space.
        let _ = fs::remove_dir_all(&part);
        return Err(why);
    }
    let old = place.with_file_name(format!(".{name}.old"));
    let rename = |from: &Path, to: &Path| {
        fs::rename(from, to).map_err(|cause| io_error("renaming to", to, cause))
    };
    if place.exists() {
        clear(&old)?;
        rename(place, &old)?;
    }
    rename(&part, place)?;
    sync_names(place)?;
    clear(&old)
}

/// Flushes the parent folder, so that a rename survives a system crash.
fn sync_names(of: &Path) -> Result<()> {
    let parent = of
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty())
        .unwrap_or(Path::new("."));
    match cfg!(unix) {
        true => fs::File::open(parent)
            .and_then(|folder| folder.sync_all())
            .map_err(|cause| io_error("flushing", parent, cause)),
        false => Ok(()),
    }
}

/// Writes a file of a folder that [`write_folder`] fills. It does not stop at an interrupt.
///
/// # Errors
/// If it cannot be written.
pub fn write_in_folder(path: &Path, bytes: &[u8]) -> Result<()> {
    let write = || {
        use std::io::Write;
        path.parent().map_or(Ok(()), fs::create_dir_all)?;
        let mut file = fs::File::create(path)?;
        file.write_all(bytes)?;
        file.sync_all()
    };
    write().map_err(|cause| io_error("writing", path, cause))
}
