//! Ctrl-C and termination: the first signal asks the work to stop at the next safe point. Work that has not stopped a moment later is
//! ended where it is, without what it has half written, unless it holds on to end well by itself ([`hold`]); a second signal ends that too.

use crate::io::files::partial_files;
use crate::io::signals;
use pel_shared::error::{Error, Result};
use std::io::Write;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

static ASKED: AtomicBool = AtomicBool::new(false);
/// How many parts of the work end well by themselves.
static HELD: AtomicUsize = AtomicUsize::new(0);
/// How many parts of the work are not to be stopped.
static FINISHING: AtomicUsize = AtomicUsize::new(0);
/// How long work that is not held may take to stop by itself.
const PATIENCE: Duration = Duration::from_millis(170);
/// The exit code of a command that the user has stopped.
const STOPPED: i32 = 130;
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
            // Nobody may be listening any more.
            let _ = writeln!(std::io::stderr(), "\nstopping; press Ctrl-C again to stop at once");
            // Without a thread the work stops at its next safe point.
            let _ = std::thread::Builder::new().name("stopping".into()).spawn(end_what_does_not_stop);
        }
        Some(first) if first.elapsed() < TWICE => {}
        Some(_) => end(),
    })
    .map_err(|cause| Error::io("listening for Ctrl-C").caused_by(cause))
}

/// Waits a moment, and while somebody holds on; then ends the process.
fn end_what_does_not_stop() {
    std::thread::sleep(PATIENCE);
    while HELD.load(Ordering::SeqCst) > 0 {
        std::thread::sleep(PATIENCE / 10);
    }
    end()
}

/// Ends the process where it is. What it has written in part is removed; what lies in its place is whole.
fn end() -> ! {
    partial_files::remove_all();
    let _ = writeln!(std::io::stderr(), "pel: {}", Error::interrupted());
    signals::end(STOPPED)
}

/// As [`hold`], for a part of the work that is not to be stopped between its beginning and its end: as long as what is returned lives, nobody
/// has asked to stop.
#[must_use]
pub fn finish() -> Finishing {
    FINISHING.fetch_add(1, Ordering::SeqCst);
    Finishing { _held: hold() }
}

/// See [`finish`].
#[derive(Debug)]
pub struct Finishing {
    _held: Held,
}

impl Drop for Finishing {
    fn drop(&mut self) {
        FINISHING.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Lets a part of the work end well after the user has asked to stop, as long as what is returned lives: it moves several files that
/// belong together, or looks at [`check`] itself, often, and then writes down how far it has come.
#[must_use]
pub fn hold() -> Held {
    HELD.fetch_add(1, Ordering::SeqCst);
    Held(())
}

/// See [`hold`].
#[derive(Debug)]
pub struct Held(());

impl Drop for Held {
    fn drop(&mut self) {
        HELD.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Whether the user has asked to stop.
pub fn is_asked() -> bool {
    ASKED.load(Ordering::Relaxed) && FINISHING.load(Ordering::Relaxed) == 0
}

/// Fails when the user has asked to stop.
///
/// # Errors
/// [`Error::interrupted`].
pub fn check() -> Result<()> {
    #[cfg(test)]
    testing::check()?;
    if is_asked() { Err(Error::interrupted()) } else { Ok(()) }
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
