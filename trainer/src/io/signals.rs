//! Signals that would end the process where an error can be told instead.

use pel_shared::error::{Error, Result};

/// Lets a write beyond the largest file size that the user may write (`ulimit -f`) fail like one on a full disk. The signal that comes with
/// it would else end the process before it can remove what it has begun. A closed pipe is such an error already: the standard library
/// ignores its signal.
///
/// # Errors
/// If the system refuses a handler.
pub fn turn_into_errors() -> Result<()> {
    #[cfg(unix)]
    {
        use std::sync::{Arc, atomic::AtomicBool};
        // Who has a handler is not ended; the flag itself is of no interest, for the write says what is wrong.
        signal_hook::flag::register(signal_hook::consts::SIGXFSZ, Arc::new(AtomicBool::new(false)))
            .map_err(|cause| Error::io("listening for the signal of a file that is too large").caused_by(cause))?;
    }
    Ok(())
}

/// Ends the process at once, whatever its other threads are doing: nothing that they hold is waited for or torn down.
pub fn end(code: i32) -> ! {
    #[cfg(unix)]
    signal_hook::low_level::exit(code);
    #[cfg(not(unix))]
    std::process::exit(code);
}
