//! Ctrl-C: the first one asks the work to stop at the next safe point, a later one ends the process.

use pel_shared::error::{Error, Result};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

static ASKED: AtomicBool = AtomicBool::new(false);
/// A signal so soon after the first is the same one: `timeout` and others send it to a process and to its group.
const TWICE: Duration = Duration::from_millis(300);

/// Listens for Ctrl-C and termination from now on.
///
/// # Errors
/// If the system refuses a handler.
pub fn listen() -> Result<()> {
    let mut first: Option<Instant> = None;
    ctrlc::set_handler(move || match first {
        None => {
            first = Some(Instant::now());
            ASKED.store(true, Ordering::SeqCst);
            eprintln!("\nstopping; press Ctrl-C again to stop at once");
        }
        Some(first) if first.elapsed() < TWICE => {}
        Some(_) => std::process::exit(130),
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
