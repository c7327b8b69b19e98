//! Atomic writes of files: each appears completely or not at all.

use super::standard_output::StandardOutput;
use crate::errors::{InterruptedByUser, io_error};
use crate::file_identity::behind_links;
use crate::interrupt;
use crate::json;
use crate::partial_files;
use pel_kb::error::{Error, Result};
use std::fs::{self, Metadata, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::Path;

/// Writes a file that the user has named: into a temporary file beside it, flushed, then renamed. A
/// symbolic link is followed. A pipe or device is written directly; `-` is standard output.
///
/// A replaced file passes its mode, and its owner where permitted, to the new file. A new file
/// follows the umask.
///
/// # Errors
/// If the folder cannot be created, the file is read-only, or writing, flushing or renaming fails.
/// The old file is then unchanged.
pub fn write_atomic(path: &Path, write: impl FnOnce(&mut dyn Write) -> Result<()>) -> Result<()> {
    if path.as_os_str() == "-" {
        let mut out = StandardOutput::new();
        write(&mut out)?;
        return out.finish();
    }
    let path = &behind_links(path);
    match fs::metadata(path) {
        Ok(there) if !there.is_file() && !there.is_dir() => write_into(path, write),
        there => replace(path, there.ok(), write),
    }
}

/// As [`write_atomic`], for a file name chosen by PEL in a folder that others may write to. A
/// symbolic link is replaced and not followed.
///
/// # Errors
/// As [`write_atomic`], or if a pipe or device has this name.
pub fn write_no_follow(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> Result<()>,
) -> Result<()> {
    let there = fs::symlink_metadata(path)
        .ok()
        .filter(|there| !there.is_symlink());
    if there
        .as_ref()
        .is_some_and(|there| !there.is_file() && !there.is_dir())
    {
        return Err(Error::io(format!(
            "writing {}: expected a regular file or none, found a device",
            path.display()
        )));
    }
    replace(path, there, write)
}

/// Writes a temporary file beside `path` and renames it. `there` is the metadata of an existing
/// file.
fn replace(
    path: &Path,
    there: Option<Metadata>,
    write: impl FnOnce(&mut dyn Write) -> Result<()>,
) -> Result<()> {
    if there.as_ref().is_some_and(Metadata::is_dir) {
        return Err(Error::io(format!(
            "writing {}: expected a file, found a folder",
            path.display()
        )));
    }
    if there
        .as_ref()
        .is_some_and(|there| there.permissions().readonly())
    {
        return Err(Error::io(format!(
            "writing {}: the file is read-only",
            path.display()
        )));
    }
    let folder = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    fs::create_dir_all(folder).map_err(|cause| io_error("making the folder", folder, cause))?;
    let failed = |cause| io_error("writing", path, cause);
    // Only the owner may read a replacement before its mode is set. The umask limits the mode of a
    // new file.
    let mode = if there.is_some() { 0o600 } else { 0o666 };
    let beside = partial_files::file_in(folder, mode).map_err(failed)?;
    let mut buffered = BufWriter::with_capacity(1 << 16, InterruptibleWriter(beside));
    write(&mut buffered)?;
    let beside = buffered
        .into_inner()
        .map_err(|error| failed(error.into_error()))?
        .0;
    if let Some(there) = &there {
        copy_ownership_from(there, beside.as_file()).map_err(failed)?;
    }
    beside.as_file().sync_all().map_err(failed)?;
    interrupt::check()?;
    beside.persist(path).map_err(failed)?;
    partial_files::sync_folder(folder)
}

/// Gives a new file the owner and mode of the file that it will replace, if there is one. Links
/// have no effect.
///
/// # Errors
/// If the mode cannot be set.
pub fn copy_ownership(place: &Path, new: &fs::File) -> io::Result<()> {
    match fs::symlink_metadata(place) {
        Ok(old) if old.is_file() => copy_ownership_from(&old, new),
        _ => Ok(()),
    }
}

fn copy_ownership_from(old: &Metadata, new: &fs::File) -> io::Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};
        let now = new.metadata()?;
        if (now.uid(), now.gid()) != (old.uid(), old.gid()) {
            // Only root may change the owner; users may choose one of their groups.
            let _ = fchown(new, Some(old.uid()), Some(old.gid()))
                .or_else(|_| fchown(new, None, Some(old.gid())));
        }
        let now = new.metadata()?;
        // A new group gets no access.
        let mask = if now.gid() == old.gid() { 0o777 } else { 0o707 };
        new.set_permissions(PermissionsExt::from_mode(old.mode() & mask))
    }
    #[cfg(not(unix))]
    {
        new.set_permissions(old.permissions())
    }
}

/// A writer that fails after an interrupt.
struct InterruptibleWriter<W>(W);

impl<W: Write> Write for InterruptibleWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if interrupt::is_requested() {
            return Err(io::Error::other(InterruptedByUser));
        }
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// Writes to a pipe or device, which cannot be replaced.
fn write_into(path: &Path, write: impl FnOnce(&mut dyn Write) -> Result<()>) -> Result<()> {
    let failed = |cause| io_error("writing", path, cause);
    let mut file = BufWriter::new(InterruptibleWriter(
        OpenOptions::new().write(true).open(path).map_err(failed)?,
    ));
    write(&mut file)?;
    file.flush().map_err(failed)
}

/// Writes a JSONL file whose name PEL has chosen.
///
/// # Errors
/// As [`write_no_follow`].
pub fn write_jsonl<T: serde::Serialize>(
    path: &Path,
    rows: impl IntoIterator<Item = T>,
) -> Result<()> {
    write_no_follow(path, |file| {
        for row in rows {
            let line = json::compact(&row)?;
            writeln!(file, "{line}").map_err(|cause| io_error("writing", path, cause))?;
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::no_follow::open_no_follow;

    fn put(text: &'static str) -> impl FnOnce(&mut dyn Write) -> Result<()> {
        move |file| {
            file.write_all(text.as_bytes())
                .map_err(|cause| io_error("writing", Path::new("it"), cause))
        }
    }

    #[test]
    fn failed_write_leaves_the_old_file_alone() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("out.txt");
        fs::write(&path, "old").expect("written");
        let half = |file: &mut dyn Write| {
            file.write_all(b"half").expect("buffered");
            Err(Error::io("disk full"))
        };
        assert!(write_atomic(&path, half).is_err() && write_no_follow(&path, half).is_err());
        assert_eq!(fs::read_to_string(&path).expect("read"), "old");
        assert_eq!(fs::read_dir(folder.path()).expect("listed").count(), 1);
    }

    #[cfg(unix)]
    #[test]
    fn replaced_file_keeps_its_mode_and_new_file_follows_umask() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().expect("a folder");
        let mode = |path: &Path| fs::metadata(path).expect("there").permissions().mode() & 0o777;
        for mode_bits in [0o600, 0o640, 0o666, 0o755] {
            let path = folder.path().join(format!("{mode_bits:o}"));
            fs::write(&path, "old").expect("written");
            fs::set_permissions(&path, PermissionsExt::from_mode(mode_bits)).expect("its own");
            write_atomic(&path, put("new")).expect("written");
            assert_eq!(
                (mode(&path), fs::read_to_string(&path).expect("read")),
                (mode_bits, "new".to_owned())
            );
            write_no_follow(&path, put("newer")).expect("written");
            assert_eq!(mode(&path), mode_bits);
        }
        // Files written by the standard library follow the umask too.
        let (ours, others) = (folder.path().join("ours"), folder.path().join("others"));
        write_atomic(&ours, put("new")).expect("written");
        fs::write(&others, "new").expect("written");
        assert_eq!(mode(&ours), mode(&others));
    }

    #[cfg(unix)]
    #[test]
    fn link_is_followed_if_named_by_the_user_and_replaced_otherwise() {
        use std::os::unix::fs::symlink;
        let folder = tempfile::tempdir().expect("a folder");
        let [target, link, dangling] =
            ["target", "link", "dangling"].map(|name| folder.path().join(name));
        fs::write(&target, "old").expect("written");
        symlink(&target, &link).expect("linked");
        write_atomic(&link, put("new")).expect("written");
        assert!(link.is_symlink() && fs::read_to_string(&target).expect("read") == "new");
        write_no_follow(&link, put("own")).expect("written");
        assert!(!link.is_symlink() && fs::read_to_string(&link).expect("read") == "own");
        assert_eq!(fs::read_to_string(&target).expect("read"), "new");
        symlink(folder.path().join("nowhere"), &dangling).expect("linked");
        let opened = open_no_follow(&dangling, OpenOptions::new().write(true).create(true));
        assert!(
            opened
                .expect_err("a link")
                .to_string()
                .contains("found a link")
        );
        assert!(!folder.path().join("nowhere").exists());
    }
}
