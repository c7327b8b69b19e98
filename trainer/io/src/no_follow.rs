//! Opening files whose names PEL has chosen.

use crate::errors::io_error;
use pel_kb::error::{Error, Result};
use std::fs::{self, OpenOptions};
use std::path::Path;

/// Opens a file for writing whose name PEL has chosen. A symbolic link is refused.
///
/// # Errors
/// If it is a link or no regular file, or cannot be opened.
pub fn open_no_follow(path: &Path, options: &mut OpenOptions) -> Result<fs::File> {
    if fs::symlink_metadata(path).is_ok_and(|there| !there.is_file()) {
        let path = path.display();
        return Err(Error::io(format!(
            "writing {path}: expected a regular file or none, found a link or device"
        )));
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        // Another process may create a link between the check and the opening.
        options.custom_flags(NO_FOLLOW);
    }
    options
        .open(path)
        .map_err(|cause| io_error("opening", path, cause))
}

#[cfg(unix)]
const NO_FOLLOW: i32 = libc::O_NOFOLLOW;
