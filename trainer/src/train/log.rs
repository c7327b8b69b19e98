//! What a run says while it goes: a bar on a terminal (now and then a line elsewhere), and `metrics.jsonl`.

use super::best::Kept;
use crate::io::files::{for_each_line, io_error, open_own, write_own};
use crate::train::validation::Validated;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use pel_shared::error::{Error, Result};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The file of what a run has said, in its folder.
pub const METRICS: &str = "metrics.jsonl";

/// A line of `metrics.jsonl`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// A step was done.
    Step {
        /// Steps done.
        step: usize,
        /// Passes over the examples, begun or done.
        epoch: f64,
        /// The mean loss of the step's examples.
        loss: f64,
        /// The norm of the gradients before clipping.
        gradient_norm: f64,
        /// The learning rate.
        learning_rate: f64,
        /// Examples a second, each a mention with its right entity, or a pair of names.
        pairs_per_s: f64,
        /// Tokens a second that went forward and backward.
        tokens_per_s: f64,
        /// Examples of the step that met no negative.
        without_negatives: usize,
        /// The most memory that this process has held.
        peak_bytes: Option<u64>,
        /// What a GPU holds for the run.
        #[serde(default)]
        device_bytes: Option<u64>,
        /// The norms of A_m and A_e, of the kind that bounds them.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        transformation: Option<[f64; 2]>,
    },
    /// Hard negatives were mined.
    Mining {
        /// Steps done.
        step: usize,
        /// How long it took.
        seconds: f64,
        /// Examples that were mined for.
        examples: usize,
    },
    /// A held-out split was looked at.
    Validation {
        /// Steps done.
        step: usize,
        /// How long it took.
        seconds: f64,
        /// What was found.
        #[serde(flatten)]
        found: Validated,
    },
    /// The run is done, and these weights are its model.
    Kept {
        /// Steps done.
        steps: usize,
        /// Which weights.
        #[serde(flatten)]
        kept: Kept,
    },
}

impl Event {
    /// Steps done.
    pub fn step(&self) -> usize {
        match self {
            Self::Step { step, .. } | Self::Mining { step, .. } | Self::Validation { step, .. } => *step,
            Self::Kept { steps, .. } => *steps,
        }
    }
}

/// Where metrics go.
pub struct Log {
    path: PathBuf,
    file: File,
    bar: ProgressBar,
    terminal: bool,
    steps: usize,
    said: Instant,
    /// Whether negatives are those of lists.
    listed: bool,
    /// Whether examples without negatives have been spoken of.
    alone: bool,
}

/// Between two lines where there is no terminal.
const QUIET: Duration = Duration::from_secs(30);

impl Log {
    /// Opens the metrics of a run that has done `step` of `steps`; what an earlier run wrote after that step is dropped. `listed` says
    /// whether its negatives are those of lists.
    ///
    /// # Errors
    /// If the file cannot be read or written.
    pub fn open(path: &Path, step: usize, steps: usize, listed: bool) -> Result<Self> {
        if path.exists() {
            // Mining stands before the step that it is for, and is done again.
            let kept = read(path)?.into_iter().filter(|event| match event {
                Event::Mining { step: before, .. } => *before < step,
                // Said again at the end.
                Event::Kept { .. } => false,
                _ => event.step() <= step,
            });
            crate::io::files::write_jsonl(path, kept)?;
        } else {
            write_own(path, |_| Ok(()))?;
        }
        let file = open_own(path, OpenOptions::new().append(true))?;
        let bar = ProgressBar::with_draw_target(Some(steps as u64), ProgressDrawTarget::stderr_with_hz(2));
        let template = "{pos}/{len} {bar:10} {eta} left; {wide_msg}";
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        bar.set_position(step as u64);
        bar.reset_eta();
        let said = Instant::now().checked_sub(QUIET).unwrap_or_else(Instant::now);
        let terminal = std::io::stderr().is_terminal();
        Ok(Self { path: path.into(), file, bar, terminal, steps, said, listed, alone: false })
    }

    /// What the validation after so many steps found, if there was one.
    ///
    /// # Errors
    /// As [`read`].
    pub fn validated(&self, step: usize) -> Result<Option<Validated>> {
        let of_step = |event| match event {
            Event::Validation { step: at, found, .. } if at == step => Some(found),
            _ => None,
        };
        Ok(read(&self.path)?.into_iter().rev().find_map(of_step))
    }

    /// Writes and shows what happened.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn say(&mut self, event: &Event) -> Result<()> {
        let line = serde_json::to_string(event).map_err(|cause| Error::io("encoding JSON").caused_by(cause))?;
        writeln!(self.file, "{line}").map_err(|cause| io_error("writing", &self.path, cause))?;
        let words = words(event);
        match event {
            Event::Step { step, without_negatives, .. } => {
                if *without_negatives > 0 && !self.alone {
                    self.alone = true;
                    let (why, more) = match self.listed {
                        true => ("their lists have the right concept alone", "longer lists"),
                        false => ("the others of their batch mean the same", "`negatives.count`"),
                    };
                    self.bar.suspend(|| {
                        eprintln!(
                            "step {step}: {without_negatives} examples met no negative, for {why}; cross-entropy learns nothing from \
                             such (`metrics.jsonl` counts them; more: {more})"
                        );
                    });
                }
                self.bar.set_position(*step as u64);
                self.bar.set_message(words.clone());
                if !self.terminal && (self.said.elapsed() >= QUIET || *step == self.steps) {
                    eprintln!("step {step} of {}: {words}", self.steps);
                    self.said = Instant::now();
                }
            }
            _ => self.bar.suspend(|| eprintln!("after {} steps: {words}", event.step())),
        }
        Ok(())
    }
}

impl Drop for Log {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

fn words(event: &Event) -> String {
    let percent = |value: &Option<f64>| value.map_or("-".to_owned(), |value| format!("{:.1}", 100.0 * value));
    match event {
        Event::Step { loss, gradient_norm, pairs_per_s, peak_bytes, device_bytes, .. } => {
            let memory = match (device_bytes, peak_bytes) {
                (Some(bytes), _) => format!(", {:.1} GB on the GPU", *bytes as f64 / 1e9),
                (None, Some(bytes)) => format!(", {:.1} GB", *bytes as f64 / 1e9),
                (None, None) => String::new(),
            };
            format!("loss {loss:.4}, gradient {gradient_norm:.3}, {pairs_per_s:.1} pairs/s{memory}")
        }
        Event::Mining { seconds, examples, .. } => {
            format!("hard negatives for {examples} examples in {seconds:.0} s")
        }
        Event::Validation { seconds, found, .. } if found.recall_listed.is_some() => format!(
            "accuracy {}, normalised {}, lists with the concept {}; zero-shot {}; NIL auPR {} ({} mentions, {seconds:.0} s)",
            percent(&found.recall_1),
            percent(&found.normalised()),
            percent(&found.recall_listed),
            percent(&found.zero_shot_1),
            percent(&found.nil_aupr),
            found.mentions
        ),
        Event::Kept { kept, .. } => format!("the model has {}", kept.words()),
        Event::Validation { seconds, found, .. } => format!(
            "recall@1 {}, @64 {}; zero-shot {}, {}; NIL auPR {} ({} mentions, {seconds:.0} s)",
            percent(&found.recall_1),
            percent(&found.recall_64),
            percent(&found.zero_shot_1),
            percent(&found.zero_shot_64),
            percent(&found.nil_aupr),
            found.mentions
        ),
    }
}

/// The seconds of a run in its steps of so many examples and in mining, those before it was stopped among them.
pub fn seconds(events: &[Event], batch: usize) -> (f64, f64) {
    let (mut steps, mut mining) = (BTreeMap::new(), BTreeMap::new());
    for event in events {
        match event {
            Event::Step { step, pairs_per_s, .. } => {
                steps.insert(*step, batch as f64 / pairs_per_s);
            }
            Event::Mining { step, seconds, .. } => {
                mining.insert(*step, *seconds);
            }
            Event::Validation { .. } | Event::Kept { .. } => {}
        }
    }
    // The sum of nothing is -0.
    (0.0 + steps.values().sum::<f64>(), 0.0 + mining.values().sum::<f64>())
}

/// The norms of A_m and A_e after the last step; nothing if there was no transformation.
pub fn last_norms(events: &[Event]) -> Option<[f64; 2]> {
    let last = events.iter().rev().find(|event| matches!(event, Event::Step { .. }))?;
    if let Event::Step { transformation, .. } = last { *transformation } else { None }
}

/// Reads `metrics.jsonl`; a last line that was cut short is left out.
///
/// # Errors
/// If the file cannot be read, or another line is no event.
pub fn read(path: &Path) -> Result<Vec<Event>> {
    let mut events: Vec<Result<Event>> = Vec::new();
    for_each_line(path, |_, line| {
        let event = serde_json::from_str(line).map_err(|cause| Error::input("expected an event").caused_by(cause));
        events.push(event);
        Ok(())
    })?;
    if events.last().is_some_and(Result::is_err) {
        events.pop();
    }
    events.into_iter().collect()
}
