//! Signals that are turned into errors, and immediate exit.

use pel_kb::error::{Error, Result};

/// Lets a write beyond the file size limit (`ulimit -f`) fail with an error. Its signal would end
/// the process before it can remove partial files. The standard library already does the same for
/// closed pipes.
///
/// # Errors
/// If the handler cannot be installed.
pub fn ignore_file_size_signal() -> Result<()> {
    #[cfg(unix)]
    {
        use std::sync::{Arc, atomic::AtomicBool};
        // A handler prevents the end of the process. The flag is not needed, because the write
        // itself fails.
        signal_hook::flag::register(
            signal_hook::consts::SIGXFSZ,
            Arc::new(AtomicBool::new(false)),
        )
        .map_err(|cause| {
            Error::io("listening for the signal of a file that is too large").caused_by(cause)
        })?;
    }
    Ok(())
}

/// Ends the process at once, without waiting for other threads or running destructors.
pub fn end(code: i32) -> ! {
    #[cfg(unix)]
    signal_hook::low_level::exit(code);
    #[cfg(not(unix))]
    std::process::exit(code);
}
