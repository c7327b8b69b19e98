//! Progress bars on standard error for work of over two seconds, if that is a terminal.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::time::{Duration, Instant};

/// A bar that appears after two seconds.
pub struct Progress {
    bar: ProgressBar,
    began: Instant,
    shown: bool,
}

impl Progress {
    /// A bar over `total` steps of `unit`.
    pub fn new(doing: &'static str, total: u64, unit: &str) -> Self {
        let bar = ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::hidden());
        let template = format!(
            "{{msg}} {{bar:30}} {{human_pos}} of {{human_len}} {unit}, {{per_sec}}, {{eta}} left"
        );
        if let Ok(style) = ProgressStyle::with_template(&template) {
            bar.set_style(style);
        }
        bar.set_message(doing);
        Self {
            bar,
            began: Instant::now(),
            shown: false,
        }
    }

    /// Adds finished steps.
    pub fn advance(&mut self, steps: u64) {
        self.bar.inc(steps);
        if !self.shown && self.began.elapsed() > Duration::from_secs(2) {
            self.shown = true;
            self.bar
                .set_draw_target(ProgressDrawTarget::stderr_with_hz(5));
        }
    }

    /// Sets the steps finished by an earlier run, which do not count for the rate.
    pub fn resume_at(&mut self, steps: u64) {
        self.bar.set_position(steps);
        self.bar.reset_eta();
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
