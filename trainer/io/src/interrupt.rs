//! Ctrl-C and termination. The first signal requests a stop at the next safe point. Work that has
//! not stopped after 0.17 s is ended and its partial files are removed, unless it defers the exit
//! ([`defer_exit`]). A second signal ends that too.

use crate::partial_files;
use crate::signals;
use pel_kb::error::{Error, Result};
use std::cell::RefCell;
use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

static REQUESTED: AtomicBool = AtomicBool::new(false);
/// Number of live [`DeferredExit`] guards.
static DEFERRED: AtomicUsize = AtomicUsize::new(0);
/// Number of live [`CriticalSection`] guards.
static CRITICAL: AtomicUsize = AtomicUsize::new(0);
thread_local! {
    /// What stops the work that this thread does, if anything.
    static STOPPED: RefCell<Option<Flags>> = const { RefCell::new(None) };
}
/// How long work without a guard may take to stop.
const GRACE_PERIOD: Duration = Duration::from_millis(170);
/// Exit code of an interrupted command.
const INTERRUPTED: i32 = 130;
/// A second signal within this time counts as the first: `timeout` signals a process and its group.
const DUPLICATE_WINDOW: Duration = Duration::from_millis(300);

/// Installs the handler of Ctrl-C and termination.
///
/// # Errors
/// If the system refuses a handler.
pub fn listen() -> Result<()> {
    let mut first: Option<Instant> = None;
    ctrlc::set_handler(move || match first {
        None => {
            first = Some(Instant::now());
            REQUESTED.store(true, Ordering::SeqCst);
            // Standard error may be closed.
            let _ = writeln!(
                std::io::stderr(),
                "\nstopping; press Ctrl-C again to stop at once"
            );
            // If no thread can be started, the work stops at its next safe point.
            let _ = std::thread::Builder::new()
                .name("stopping".into())
                .spawn(end_after_grace_period);
        }
        Some(first) if first.elapsed() < DUPLICATE_WINDOW => {}
        Some(_) => end(),
    })
    .map_err(|cause| Error::io("listening for Ctrl-C").caused_by(cause))
}

/// Waits for the grace period and for all guards, then ends the process.
fn end_after_grace_period() {
    std::thread::sleep(GRACE_PERIOD);
    while DEFERRED.load(Ordering::SeqCst) > 0 {
        std::thread::sleep(GRACE_PERIOD / 10);
    }
    end()
}

/// Removes partial files and ends the process.
fn end() -> ! {
    partial_files::remove_all();
    let _ = writeln!(std::io::stderr(), "pel: {}", Error::interrupted());
    signals::end(INTERRUPTED)
}

/// As [`defer_exit`], for a critical section: [`check`] succeeds while the guard lives.
#[must_use]
pub fn critical_section() -> CriticalSection {
    CRITICAL.fetch_add(1, Ordering::SeqCst);
    CriticalSection {
        _deferred: defer_exit(),
    }
}

/// See [`critical_section`].
#[derive(Debug)]
pub struct CriticalSection {
    _deferred: DeferredExit,
}

impl Drop for CriticalSection {
    fn drop(&mut self) {
        CRITICAL.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Defers the exit after an interrupt while the guard lives. Use it where the work calls [`check`]
/// often itself and then saves its state.
#[must_use]
pub fn defer_exit() -> DeferredExit {
    DEFERRED.fetch_add(1, Ordering::SeqCst);
    DeferredExit(())
}

/// See [`defer_exit`].
#[derive(Debug)]
pub struct DeferredExit(());

impl Drop for DeferredExit {
    fn drop(&mut self) {
        DEFERRED.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Does work that stops at its next safe point after `stop` is set, as after a signal. Only checks
/// on this thread see the flag, so other work in the process goes on.
pub fn stoppable<R>(stop: Arc<AtomicBool>, work: impl FnOnce() -> R) -> R {
    let all = vec![stop].into();
    stopped_by(Flags { all, always: false }, work)
}

/// Does work for several that wait for it: it stops at its next safe point after each of them has
/// set its flag, in a critical section too.
pub fn wanted_by<R>(left: Vec<Arc<AtomicBool>>, work: impl FnOnce() -> R) -> R {
    let all = left.into();
    stopped_by(Flags { all, always: true }, work)
}

fn stopped_by<R>(flags: Flags, work: impl FnOnce() -> R) -> R {
    /// Brings the flags of the work around this one back, after a panic too.
    struct Before(Option<Flags>);
    impl Drop for Before {
        fn drop(&mut self) {
            STOPPED.set(self.0.take());
        }
    }
    let _before = Before(STOPPED.replace(Some(flags)));
    work()
}

/// Flags that stop work when all of them are set.
#[derive(Clone, Debug)]
struct Flags {
    all: Arc<[Arc<AtomicBool>]>,
    /// Whether they count in a critical section.
    always: bool,
}

impl Flags {
    fn are_set(&self) -> bool {
        self.all.iter().all(|flag| flag.load(Ordering::Relaxed))
            && (self.always || CRITICAL.load(Ordering::Relaxed) == 0)
    }
}

/// The flags of the work of this thread, for parts of the work on other threads.
#[must_use]
pub fn stop() -> Stop {
    Stop(STOPPED.with_borrow(Clone::clone))
}

/// See [`stop`].
#[derive(Clone, Debug)]
pub struct Stop(Option<Flags>);

impl Stop {
    /// As [`check`], on any thread.
    ///
    /// # Errors
    /// [`Error::interrupted`].
    pub fn check(&self) -> Result<()> {
        if self.0.as_ref().is_some_and(Flags::are_set) {
            return Err(Error::interrupted());
        }
        check()
    }
}

/// Whether the user has requested a stop.
pub fn is_requested() -> bool {
    (REQUESTED.load(Ordering::Relaxed) && CRITICAL.load(Ordering::Relaxed) == 0)
        || STOPPED.with_borrow(|flags| flags.as_ref().is_some_and(Flags::are_set))
}

/// Whether the user has requested a stop, also in a critical section.
pub fn is_signalled() -> bool {
    REQUESTED.load(Ordering::Relaxed)
}

/// Fails after the user has requested a stop.
///
/// # Errors
/// [`Error::interrupted`].
pub fn check() -> Result<()> {
    #[cfg(any(test, feature = "testing"))]
    testing::check()?;
    if is_requested() {
        Err(Error::interrupted())
    } else {
        Ok(())
    }
}

#[cfg(any(test, feature = "testing"))]
pub use testing::{interrupt_after, kill_after, reset};

/// Simulated interrupts and kills.
#[cfg(any(test, feature = "testing"))]
mod testing {
    use super::{Error, Result};
    use std::cell::Cell;

    thread_local!(static LEFT: Cell<usize> = const { Cell::new(usize::MAX) });
    thread_local!(static BY_USER: Cell<bool> = const { Cell::new(false) });

    /// Lets this thread's checks fail after `checks` more, as if the process had been killed.
    pub fn kill_after(checks: usize) {
        LEFT.set(checks);
        BY_USER.set(false);
    }

    /// Lets this thread's checks fail after `checks` more, as if the user had pressed Ctrl-C.
    pub fn interrupt_after(checks: usize) {
        LEFT.set(checks);
        BY_USER.set(true);
    }

    /// Removes a simulated failure.
    pub fn reset() {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flag_stops_its_own_work_alone() {
        let (outer, inner) = (Arc::new(AtomicBool::new(false)), Arc::new(true.into()));
        stoppable(outer.clone(), || {
            stoppable(inner, || assert!(check().is_err()));
            assert!(check().is_ok());
            let there = stop();
            assert!(there.check().is_ok());
            outer.store(true, Ordering::Relaxed);
            assert!(check().is_err_and(|error| error.is_interrupted()));
            std::thread::scope(|scope| {
                scope.spawn(move || assert!(check().is_ok() && there.check().is_err()));
            });
        });
        assert!(check().is_ok());
    }

    #[test]
    fn work_stops_when_nobody_wants_it() {
        let left = [false, true].map(|left| Arc::new(AtomicBool::new(left)));
        wanted_by(left.to_vec(), || {
            assert!(check().is_ok() && stop().check().is_ok());
            left[0].store(true, Ordering::Relaxed);
            let _held = critical_section();
            assert!(check().is_err() && stop().check().is_err());
        });
        assert!(check().is_ok());
    }
}
