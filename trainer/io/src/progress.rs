//! Progress on standard error for work of over two seconds: a bar on a terminal, elsewhere a line
//! every minute.

use indicatif::{HumanCount, HumanDuration, ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal;
use std::time::{Duration, Instant};

/// The time between two lines where there is no terminal.
const BETWEEN_LINES: Duration = Duration::from_secs(60);

/// A bar that appears after two seconds.
pub struct Progress {
    bar: ProgressBar,
    doing: &'static str,
    unit: String,
    began: Instant,
    shown: bool,
    /// Steps that an earlier run finished.
    before: u64,
    /// The time of the last line; `None` on a terminal.
    line: Option<Instant>,
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
        let began = Instant::now();
        Self {
            bar,
            doing,
            unit: unit.to_owned(),
            began,
            shown: false,
            before: 0,
            line: (!std::io::stderr().is_terminal()).then_some(began),
        }
    }

    /// Adds finished steps.
    pub fn advance(&mut self, steps: u64) {
        self.bar.inc(steps);
        if let Some(line) = &mut self.line {
            if line.elapsed() > BETWEEN_LINES {
                *line = Instant::now();
                self.print_line();
            }
            return;
        }
        if !self.shown && self.began.elapsed() > Duration::from_secs(2) {
            self.shown = true;
            self.bar
                .set_draw_target(ProgressDrawTarget::stderr_with_hz(5));
        }
    }

    fn print_line(&self) {
        let (done, all) = (self.bar.position(), self.bar.length().unwrap_or(0));
        let rate = (done - self.before) as f64 / self.began.elapsed().as_secs_f64();
        let left = all.saturating_sub(done) as f64 / rate.max(1e-9);
        let left = Duration::from_secs_f64(left.min(1e9));
        eprintln!(
            "{}: {} of {} {}, {rate:.0}/s, {} left",
            self.doing,
            HumanCount(done),
            HumanCount(all),
            self.unit,
            HumanDuration(left)
        );
    }

    /// Sets the steps finished by an earlier run, which do not count for the rate.
    pub fn resume_at(&mut self, steps: u64) {
        self.before = steps;
        self.began = Instant::now();
        self.bar.set_position(steps);
        self.bar.reset_eta();
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
