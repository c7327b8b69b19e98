//! Writing output files: each appears whole or not at all.

use super::errors::{Stopped, io_error};
use super::partial_files;
use super::standard_output::StandardOutput;
use crate::io::interrupt;
use crate::io::outputs::file_identity::behind_links;
use pel_shared::error::{Error, Result};
use std::fs::{self, Metadata, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::Path;

/// Writes the file that a user has named, whole or not at all: into a temporary file beside it, flushed to the disk, then renamed. Of a
/// link, the file that it leads to is written; a pipe or a device is written to as it is; `-` is standard output.
///
/// A file that is replaced hands on its mode, and its owner where the system allows that; a new one is as readable as the user's other
/// new files.
///
/// # Errors
/// If the folder cannot be made, the file is there and may not be written, or writing, flushing or renaming fails; the old file,
/// if any, is then untouched.
pub fn write_whole(path: &Path, write: impl FnOnce(&mut dyn Write) -> Result<()>) -> Result<()> {
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

/// As [`write_whole`], for a name that pel has chosen, in a folder that others may have written into: a link there is replaced, not
/// followed.
///
/// # Errors
/// As [`write_whole`]; if a pipe or a device is in its place.
pub fn write_own(path: &Path, write: impl FnOnce(&mut dyn Write) -> Result<()>) -> Result<()> {
    let there = fs::symlink_metadata(path).ok().filter(|there| !there.is_symlink());
    if there.as_ref().is_some_and(|there| !there.is_file() && !there.is_dir()) {
        return Err(Error::io(format!("writing {}: expected a file or nothing there, found a device", path.display())));
    }
    replace(path, there, write)
}

/// Opens a file of ours to be written to, made if it is not there, for a name that pel has chosen: a link in its place is refused.
///
/// # Errors
/// If it is a link, or cannot be opened.
pub fn open_own(path: &Path, options: &mut OpenOptions) -> Result<fs::File> {
    if fs::symlink_metadata(path).is_ok_and(|there| !there.is_file()) {
        let path = path.display();
        return Err(Error::io(format!(
            "writing {path}: expected a file of pel or nothing there, found a link or device"
        )));
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        // Between the look and the opening somebody may have put one there.
        options.custom_flags(NO_FOLLOW);
    }
    options.open(path).map_err(|cause| io_error("opening", path, cause))
}

#[cfg(unix)]
const NO_FOLLOW: i32 = libc::O_NOFOLLOW;

/// Writes beside a file, whose metadata these are if it is there, and puts the result in its place.
fn replace(path: &Path, there: Option<Metadata>, write: impl FnOnce(&mut dyn Write) -> Result<()>) -> Result<()> {
    if there.as_ref().is_some_and(Metadata::is_dir) {
        return Err(Error::io(format!("writing {}: expected a file, found a folder", path.display())));
    }
    if there.as_ref().is_some_and(|there| there.permissions().readonly()) {
        return Err(Error::io(format!("writing {}: the file may only be read", path.display())));
    }
    let folder = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    fs::create_dir_all(folder).map_err(|cause| io_error("making the folder", folder, cause))?;
    let failed = |cause| io_error("writing", path, cause);
    // Until a replaced file's mode is set, nobody else may read what is to have it; the mode of a new file is cut by the umask.
    let mode = if there.is_some() { 0o600 } else { 0o666 };
    let (beside, _claim) = partial_files::file_in(folder, mode).map_err(failed)?;
    let mut buffered = BufWriter::with_capacity(1 << 16, Watched(beside));
    write(&mut buffered)?;
    let beside = buffered.into_inner().map_err(|error| failed(error.into_error()))?.0;
    if let Some(there) = &there {
        hand_on_from(there, beside.as_file()).map_err(failed)?;
    }
    beside.as_file().sync_all().map_err(failed)?;
    interrupt::check()?;
    beside.persist(path).map_err(|error| failed(error.error))?;
    partial_files::sync_folder(folder)
}

/// Gives a new file the owner and the mode of the one in whose place it is to be moved, if there is one; a link there hands on nothing.
///
/// # Errors
/// If the system refuses it.
pub fn hand_on(place: &Path, new: &fs::File) -> io::Result<()> {
    match fs::symlink_metadata(place) {
        Ok(old) if old.is_file() => hand_on_from(&old, new),
        _ => Ok(()),
    }
}

fn hand_on_from(old: &Metadata, new: &fs::File) -> io::Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};
        let now = new.metadata()?;
        if (now.uid(), now.gid()) != (old.uid(), old.gid()) {
            // Only root may give files away; the group may be one of the user's.
            let _ = fchown(new, Some(old.uid()), Some(old.gid())).or_else(|_| fchown(new, None, Some(old.gid())));
        }
        let now = new.metadata()?;
        // What was readable by one group is not made readable by another.
        let mask = if now.gid() == old.gid() { 0o777 } else { 0o707 };
        new.set_permissions(PermissionsExt::from_mode(old.mode() & mask))
    }
    #[cfg(not(unix))]
    {
        new.set_permissions(old.permissions())
    }
}

/// A writer that fails when the user asks to stop.
struct Watched<W>(W);

impl<W: Write> Write for Watched<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if interrupt::is_asked() {
            return Err(io::Error::other(Stopped));
        }
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// Writes into what is no regular file, and so can be neither written beside nor replaced.
fn write_into(path: &Path, write: impl FnOnce(&mut dyn Write) -> Result<()>) -> Result<()> {
    let failed = |cause| io_error("writing", path, cause);
    let mut file = BufWriter::new(Watched(OpenOptions::new().write(true).open(path).map_err(failed)?));
    write(&mut file)?;
    file.flush().map_err(failed)
}

/// Writes one JSON value a line into a file whose name pel has chosen.
///
/// # Errors
/// As [`write_own`].
pub fn write_jsonl<T: serde::Serialize>(path: &Path, rows: impl IntoIterator<Item = T>) -> Result<()> {
    write_own(path, |file| {
        for row in rows {
            let line = serde_json::to_string(&row).map_err(|cause| Error::io("encoding JSON").caused_by(cause))?;
            writeln!(file, "{line}").map_err(|cause| io_error("writing", path, cause))?;
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(text: &'static str) -> impl FnOnce(&mut dyn Write) -> Result<()> {
        move |file| file.write_all(text.as_bytes()).map_err(|cause| io_error("writing", Path::new("it"), cause))
    }

    #[test]
    fn a_failed_write_leaves_the_old_file_and_nothing_else() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("out.txt");
        fs::write(&path, "old").expect("written");
        let half = |file: &mut dyn Write| {
            file.write_all(b"half").expect("buffered");
            Err(Error::io("disk full"))
        };
        assert!(write_whole(&path, half).is_err() && write_own(&path, half).is_err());
        assert_eq!(fs::read_to_string(&path).expect("read"), "old");
        assert_eq!(fs::read_dir(folder.path()).expect("listed").count(), 1);
    }

    #[cfg(unix)]
    #[test]
    fn a_replaced_file_keeps_its_mode_and_a_new_one_follows_the_umask() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().expect("a folder");
        let mode = |path: &Path| fs::metadata(path).expect("there").permissions().mode() & 0o777;
        for asked in [0o600, 0o640, 0o666, 0o755] {
            let path = folder.path().join(format!("{asked:o}"));
            fs::write(&path, "old").expect("written");
            fs::set_permissions(&path, PermissionsExt::from_mode(asked)).expect("its own");
            write_whole(&path, put("new")).expect("written");
            assert_eq!((mode(&path), fs::read_to_string(&path).expect("read")), (asked, "new".to_owned()));
            write_own(&path, put("newer")).expect("written");
            assert_eq!(mode(&path), asked);
        }
        // The library's own new files are cut by the umask too.
        let (ours, others) = (folder.path().join("ours"), folder.path().join("others"));
        write_whole(&ours, put("new")).expect("written");
        fs::write(&others, "new").expect("written");
        assert_eq!(mode(&ours), mode(&others));
    }

    #[cfg(unix)]
    #[test]
    fn a_link_is_followed_where_the_user_named_it_and_replaced_where_pel_did() {
        use std::os::unix::fs::symlink;
        let folder = tempfile::tempdir().expect("a folder");
        let [target, link, dangling] = ["target", "link", "dangling"].map(|name| folder.path().join(name));
        fs::write(&target, "old").expect("written");
        symlink(&target, &link).expect("linked");
        write_whole(&link, put("new")).expect("written");
        assert!(link.is_symlink() && fs::read_to_string(&target).expect("read") == "new");
        write_own(&link, put("own")).expect("written");
        assert!(!link.is_symlink() && fs::read_to_string(&link).expect("read") == "own");
        assert_eq!(fs::read_to_string(&target).expect("read"), "new");
        symlink(folder.path().join("nowhere"), &dangling).expect("linked");
        let opened = open_own(&dangling, OpenOptions::new().write(true).create(true));
        assert!(opened.expect_err("a link").to_string().contains("found a link"));
        assert!(!folder.path().join("nowhere").exists());
    }
}
