//! Runs work on the threads of a linker, with the interpreter released.

use crate::errors;
use pel_io::interrupt;
use pel_kb::error::{Error, Result};
use pyo3::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// How often signals are looked for while work runs.
const TICK: Duration = Duration::from_millis(50);

/// Where the last panic happened. It may be another thread than the one that reports it.
static PANICKED: Mutex<String> = Mutex::new(String::new());

/// Keeps the place of panics and prints nothing: a message could contain text.
pub fn silence_panics() {
    std::panic::set_hook(Box::new(|panic| {
        if let Some(place) = panic.location() {
            let mut last = PANICKED.lock().unwrap_or_else(PoisonError::into_inner);
            *last = format!("{}:{}", place.file(), place.line());
        }
    }));
}

/// The threads of a linker.
pub struct Threads {
    /// Their number; 0 for that of the machine.
    wanted: usize,
    /// The process that started them, and they. The lock is held only while the interpreter is, so
    /// that no fork finds it locked.
    started: Mutex<(u32, Arc<ThreadPool>)>,
}

impl Threads {
    /// Starts threads; 0 starts `RAYON_NUM_THREADS`, or as many as the machine has cores.
    ///
    /// # Errors
    /// If the system refuses them.
    pub fn start(wanted: usize) -> Result<Self> {
        let started = Mutex::new((std::process::id(), Arc::new(pool(wanted)?)));
        Ok(Self { wanted, started })
    }

    /// The number of threads.
    ///
    /// # Errors
    /// As [`Threads::start`].
    pub fn count(&self) -> Result<usize> {
        Ok(self.pool()?.current_num_threads())
    }

    /// The threads. A fork has none of its parent's threads, so it starts its own.
    fn pool(&self) -> Result<Arc<ThreadPool>> {
        let mut started = self.started.lock().unwrap_or_else(PoisonError::into_inner);
        let process = std::process::id();
        if started.0 != process {
            let new = (process, Arc::new(pool(self.wanted)?));
            // Ending threads that do not exist here could wait for them.
            std::mem::forget(std::mem::replace(&mut *started, new));
        }
        Ok(started.1.clone())
    }

    /// Runs work on the threads. Meanwhile other Python threads run, and signals are heard: after
    /// Ctrl-C its exception is raised at once, and the work stops at its next safe point.
    pub fn run<R: Send + 'static>(
        &self,
        py: Python<'_>,
        work: impl FnOnce() -> Result<R> + Send + 'static,
    ) -> PyResult<R> {
        let pool = self.pool().map_err(|error| errors::raised(py, &error))?;
        let (stop, (send, mut receive)) = (Arc::new(AtomicBool::new(false)), sync_channel(1));
        let stopped = stop.clone();
        pool.spawn(move || {
            let work = AssertUnwindSafe(|| interrupt::stoppable(stopped, work));
            // After an interrupt nobody waits.
            let _ = send.send(catch_unwind(work));
        });
        loop {
            let received;
            (receive, received) = py.detach(move || {
                let received = receive.recv_timeout(TICK);
                (receive, received)
            });
            match received {
                Ok(Ok(result)) => return result.map_err(|error| errors::raised(py, &error)),
                Ok(Err(_)) | Err(RecvTimeoutError::Disconnected) => {
                    let place = PANICKED.lock().unwrap_or_else(PoisonError::into_inner);
                    return Err(errors::internal(py, &place));
                }
                Err(RecvTimeoutError::Timeout) => {
                    if let Err(interrupt) = py.check_signals() {
                        stop.store(true, Ordering::Relaxed);
                        return Err(interrupt);
                    }
                }
            }
        }
    }
}

fn pool(wanted: usize) -> Result<ThreadPool> {
    ThreadPoolBuilder::new()
        .num_threads(wanted)
        .thread_name(|at| format!("pel-{at}"))
        .build()
        .map_err(|cause| Error::device("starting threads").caused_by(cause))
}
