//! A counter on the terminal for input of unknown length: compressed files and pipes.

use indicatif::{ProgressBar, ProgressStyle};
use std::time::{Duration, Instant};

/// Work shorter than this shows no counter.
const PATIENCE: Duration = Duration::from_secs(2);
/// Steps between two clock checks.
const STRIDE: u64 = 1024;

/// Counts steps and draws on standard error once the work has lasted two seconds.
#[derive(Debug)]
pub struct Counter {
    unit: &'static str,
    started: Instant,
    done: u64,
    bar: Option<ProgressBar>,
}

impl Counter {
    /// Starts at zero; `unit` is the plural of what is counted.
    pub fn new(unit: &'static str) -> Self {
        Self {
            unit,
            started: Instant::now(),
            done: 0,
            bar: None,
        }
    }

    /// Counts one step.
    pub fn step(&mut self) {
        self.done += 1;
        if !self.done.is_multiple_of(STRIDE) {
            return;
        }
        if self.bar.is_none() && self.started.elapsed() >= PATIENCE {
            let style = ProgressStyle::with_template("{spinner} {human_pos} {msg} [{elapsed}]");
            let style = style.unwrap_or_else(|_| ProgressStyle::default_spinner());
            self.bar = Some(
                ProgressBar::new_spinner()
                    .with_style(style)
                    .with_message(self.unit)
                    .with_elapsed(self.started.elapsed()),
            );
        }
        if let Some(bar) = &self.bar {
            bar.set_position(self.done);
        }
    }
}

impl Drop for Counter {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
