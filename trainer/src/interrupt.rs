//! Ctrl-C: the first one asks the work to stop at the next safe point, the second one ends the process.

use pel_shared::error::{Error, Result};
use std::sync::atomic::{AtomicBool, Ordering};

static ASKED: AtomicBool = AtomicBool::new(false);

/// Listens for Ctrl-C and termination from now on.
///
/// # Errors
/// If the system refuses a handler.
pub fn listen() -> Result<()> {
    ctrlc::set_handler(|| {
        if ASKED.swap(true, Ordering::SeqCst) {
            std::process::exit(130);
        }
        eprintln!("\nstopping; press Ctrl-C again to stop at once");
    })
    .map_err(|cause| Error::io("listening for Ctrl-C").caused_by(cause))
}

/// Fails when the user has asked to stop.
///
/// # Errors
/// [`Error::interrupted`].
pub fn check() -> Result<()> {
    #[cfg(test)]
    testing::check()?;
    if ASKED.load(Ordering::Relaxed) { Err(Error::interrupted()) } else { Ok(()) }
}

#[cfg(test)]
pub use testing::{die_after, live, stop_after};

/// Deaths on demand.
#[cfg(test)]
mod testing {
    use super::{Error, Result};
    use std::cell::Cell;

    thread_local!(static LEFT: Cell<usize> = const { Cell::new(usize::MAX) });
    thread_local!(static BY_USER: Cell<bool> = const { Cell::new(false) });

    /// Fails the check after so many more on this thread, and all after it, as if the process were gone.
    pub fn die_after(checks: usize) {
        LEFT.set(checks);
        BY_USER.set(false);
    }

    /// Fails the check after so many more on this thread, and all after it, as if the user had pressed Ctrl-C there.
    pub fn stop_after(checks: usize) {
        LEFT.set(checks);
        BY_USER.set(true);
    }

    /// Ends that.
    pub fn live() {
        LEFT.set(usize::MAX);
    }

    pub(super) fn check() -> Result<()> {
        match LEFT.get() {
            usize::MAX => Ok(()),
            0 if BY_USER.get() => Err(Error::interrupted()),
            0 => Err(Error::input("killed by a test")),
            left => {
                LEFT.set(left - 1);
                Ok(())
            }
        }
    }
}
