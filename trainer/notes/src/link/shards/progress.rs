//! Progress over tables whose numbers of notes are not known before: the notes a second, and the
//! time left by the bytes of the tables that are finished.

use indicatif::{HumanCount, HumanDuration, ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal;
use std::time::{Duration, Instant};

/// The time between two lines where there is no terminal.
const BETWEEN_LINES: Duration = Duration::from_secs(60);

/// The time between two messages on a terminal.
const BETWEEN_MESSAGES: Duration = Duration::from_millis(250);

/// The time before the first message on a terminal.
const QUIET: Duration = Duration::from_secs(2);

/// Progress on standard error: a line that changes on a terminal, elsewhere a line every minute.
pub(crate) struct ShardProgress {
    bar: ProgressBar,
    is_terminal: bool,
    began: Instant,
    shown: Instant,
    /// The tables, and those that are finished.
    shards: (usize, usize),
    /// The bytes of the tables, and of those that are finished.
    bytes: (u64, u64),
    /// The notes that are finished.
    notes: u64,
}

impl ShardProgress {
    /// Progress over tables of these sizes in bytes.
    pub fn new(sizes: &[u64]) -> Self {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden());
        if let Ok(style) = ProgressStyle::with_template("{msg}") {
            bar.set_style(style);
        }
        Self {
            bar,
            is_terminal: std::io::stderr().is_terminal(),
            began: Instant::now(),
            shown: Instant::now(),
            shards: (sizes.len(), 0),
            bytes: (sizes.iter().sum(), 0),
            notes: 0,
        }
    }

    /// A note is finished.
    pub fn note(&mut self) {
        self.notes += 1;
        let wait = if self.is_terminal {
            BETWEEN_MESSAGES
        } else {
            BETWEEN_LINES
        };
        if self.shown.elapsed() < wait {
            return;
        }
        self.shown = Instant::now();
        if !self.is_terminal {
            eprintln!("{}", self.message(self.began.elapsed()));
        } else if self.began.elapsed() > QUIET {
            self.bar
                .set_draw_target(ProgressDrawTarget::stderr_with_hz(4));
            self.bar.set_message(self.message(self.began.elapsed()));
        }
    }

    /// A table is finished.
    pub fn shard(&mut self, bytes: u64) {
        self.shards.1 += 1;
        self.bytes.1 += bytes;
    }

    fn message(&self, elapsed: Duration) -> String {
        let seconds = elapsed.as_secs_f64().max(1e-9);
        let rate = self.notes as f64 / seconds;
        let (all, done) = self.shards;
        let mut message = format!(
            "linking: {} note{}, {rate:.1} a second",
            HumanCount(self.notes),
            if self.notes == 1 { "" } else { "s" }
        );
        if all > 1 {
            message += &format!(", {done} of {all} tables");
        }
        let (total, finished) = self.bytes;
        if finished > 0 {
            let left = total.saturating_sub(finished) as f64 * seconds / finished as f64;
            let left = Duration::from_secs_f64(left.min(1e9));
            message += &format!(", {} left", HumanDuration(left));
        }
        message
    }
}

impl Drop for ShardProgress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn message_has_the_rate_and_the_time_left() {
        let mut progress = ShardProgress::new(&[100, 100, 200]);
        (0..3000).for_each(|_| progress.note());
        let ten = Duration::from_secs(10);
        assert_eq!(
            progress.message(ten),
            "linking: 3,000 notes, 300.0 a second, 0 of 3 tables"
        );
        progress.shard(100);
        assert_eq!(
            progress.message(ten),
            "linking: 3,000 notes, 300.0 a second, 1 of 3 tables, 30 seconds left"
        );
    }
}
