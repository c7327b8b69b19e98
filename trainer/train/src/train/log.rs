//! The log of a run: `metrics.jsonl` with its copy for TensorBoard, and a progress bar on a
//! terminal or a line every 30 seconds elsewhere.

use super::best::Kept;
use super::config::Config;
use super::tensorboard::EventFile;
use crate::train::validation::{SpanFigures, Validated};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use pel_io::files::{for_each_line, io_error, open_no_follow, write_no_follow};
use pel_kb::error::{Error, Result};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

/// The file of what a run has said, in its folder.
pub const METRICS: &str = "metrics.jsonl";

/// A line of `metrics.jsonl`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// A training step.
    Step {
        /// Steps done.
        step: usize,
        /// Epochs, fractional.
        epoch: f64,
        /// The mean loss of the step's examples.
        loss: f64,
        /// The norm of the gradients before clipping.
        gradient_norm: f64,
        /// The learning rate.
        learning_rate: f64,
        /// Examples per second; an example is a mention with its right entity, or a pair of names.
        pairs_per_s: f64,
        /// Tokens per second in forward and backward passes.
        tokens_per_s: f64,
        /// Examples of the step without a negative.
        without_negatives: usize,
        /// Peak memory of this process, in bytes.
        peak_bytes: Option<u64>,
        /// GPU memory of the run, in bytes.
        #[serde(default)]
        device_bytes: Option<u64>,
        /// The bounded norms of A_m and A_e.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        transformation: Option<[f64; 2]>,
        /// FGSM, if it is part of the step.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        fgsm: Option<FgsmFigures>,
    },
    /// Hard negatives were mined.
    Mining {
        /// Steps done.
        step: usize,
        /// Duration in seconds.
        seconds: f64,
        /// Examples with mined negatives.
        examples: usize,
    },
    /// A validation.
    Validation {
        /// Steps done.
        step: usize,
        /// Duration in seconds.
        seconds: f64,
        /// Its results.
        #[serde(flatten)]
        found: Validated,
    },
    /// A validation of a detector.
    Detection {
        /// Steps done.
        step: usize,
        /// Duration in seconds.
        seconds: f64,
        /// The figures of each corpus.
        found: Vec<SpanFigures>,
    },
    /// The run ends early, because validations no longer improve.
    Stopped {
        /// Steps done.
        step: usize,
        /// The step of the best validation.
        best: usize,
        /// Validations since then.
        validations: usize,
    },
    /// The end of the run: the weights that became the model.
    Kept {
        /// Steps done.
        steps: usize,
        /// Which weights.
        #[serde(flatten)]
        kept: Kept,
    },
}

/// FGSM in a step.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct FgsmFigures {
    /// ε itself.
    pub epsilon: f64,
    /// The deviation of the encoder's input embeddings when the run began.
    pub deviation: f64,
    /// The share of the step's time that FGSM took; absent in steps where it is not measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub share: Option<f64>,
}

impl Event {
    /// Steps done.
    pub fn step(&self) -> usize {
        match self {
            Self::Step { step, .. }
            | Self::Mining { step, .. }
            | Self::Detection { step, .. }
            | Self::Validation { step, .. }
            | Self::Stopped { step, .. } => *step,
            Self::Kept { steps, .. } => *steps,
        }
    }

    /// The figure of a validation that early stopping compares: recall@1, or the mean F1.
    fn figure(&self) -> Option<f64> {
        match self {
            Self::Validation { found, .. } => found.recall_1,
            Self::Detection { found, .. } if !found.is_empty() => {
                Some(found.iter().map(|found| found.f1).sum::<f64>() / found.len() as f64)
            }
            _ => None,
        }
    }

    /// The numbers of a step or validation, by their tags.
    fn scalars(&self) -> Vec<(String, f64)> {
        let named = |all: &[(&str, Option<f64>)]| -> Vec<(String, f64)> {
            all.iter()
                .filter_map(|(tag, value)| Some(((*tag).to_owned(), (*value)?)))
                .collect()
        };
        match self {
            Self::Step {
                loss,
                gradient_norm,
                learning_rate,
                pairs_per_s,
                transformation,
                ..
            } => named(&[
                ("train/loss", Some(*loss)),
                ("train/gradient_norm", Some(*gradient_norm)),
                ("train/learning_rate", Some(*learning_rate)),
                ("train/pairs_per_s", Some(*pairs_per_s)),
                ("train/norm_a_m", transformation.map(|norms| norms[0])),
                ("train/norm_a_e", transformation.map(|norms| norms[1])),
            ]),
            Self::Validation { found, .. } => named(&[
                ("validation/recall_1", found.recall_1),
                ("validation/recall_16", found.recall_16),
                ("validation/recall_64", found.recall_64),
                ("validation/recall_listed", found.recall_listed),
                ("validation/zero_shot_1", found.zero_shot_1),
                ("validation/zero_shot_64", found.zero_shot_64),
                ("validation/nil_aupr", found.nil_aupr),
            ]),
            // Several corpora may have one set of labels.
            Self::Detection { found, .. } => (1..)
                .zip(found)
                .flat_map(|(number, found)| {
                    let SpanFigures {
                        scheme,
                        precision,
                        recall,
                        f1,
                        labelled,
                        ..
                    } = found;
                    [
                        ("precision", precision),
                        ("recall", recall),
                        ("f1", f1),
                        ("labelled", labelled),
                    ]
                    .map(|(name, value)| (format!("validation/{number}-{scheme}/{name}"), *value))
                })
                .collect(),
            Self::Mining { .. } | Self::Stopped { .. } | Self::Kept { .. } => Vec::new(),
        }
    }
}

/// How many validations have not improved.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Improvement {
    /// The step of the best validation, and its figure.
    pub best: Option<(usize, f64)>,
    /// Validations since then.
    pub since: usize,
    /// The step of the last validation.
    last: Option<usize>,
}

impl Improvement {
    /// Adds an event; only validations count, and each step once.
    fn add(&mut self, event: &Event) {
        let step = event.step();
        let Some(figure) = event.figure() else {
            return;
        };
        if self.last.is_some_and(|last| last >= step) {
            return;
        }
        self.last = Some(step);
        match self.best {
            Some((_, best)) if figure <= best => self.since += 1,
            _ => (self.best, self.since) = (Some((step, figure)), 0),
        }
    }
}

/// The open metrics file, its copy and the progress bar.
pub struct Log {
    path: PathBuf,
    file: File,
    events: Option<EventFile>,
    improvement: Improvement,
    bar: ProgressBar,
    terminal: bool,
    steps: usize,
    printed: Instant,
    /// Whether the negatives come from candidate lists.
    listed: bool,
    /// Whether the user was warned of examples without negatives.
    warned: bool,
}

/// Time between two lines without a terminal.
const QUIET: Duration = Duration::from_secs(30);

impl Log {
    /// Opens the log in the folder of a run that has done `step` of `steps` steps. Events after
    /// that step, which a killed run left, are dropped.
    ///
    /// # Errors
    /// If a file cannot be read or written.
    pub fn open(run: &Path, config: &Config, step: usize, steps: usize) -> Result<Self> {
        let path = run.join(METRICS);
        let mut improvement = Improvement::default();
        if path.exists() {
            let mut kept = read(&path)?;
            kept.retain(|event| match event {
                // A mining event precedes its step, and mining is repeated.
                Event::Mining { step: before, .. } => *before < step,
                // Written again at the end of the run.
                Event::Stopped { .. } | Event::Kept { .. } => false,
                _ => event.step() <= step,
            });
            kept.iter().for_each(|event| improvement.add(event));
            pel_io::files::write_jsonl(&path, kept)?;
        } else {
            write_no_follow(&path, |_| Ok(()))?;
        }
        let file = open_no_follow(&path, OpenOptions::new().append(true))?;
        let events = config.log.tensorboard.then(|| EventFile::new(run, step));
        let bar = ProgressBar::with_draw_target(
            Some(steps as u64),
            ProgressDrawTarget::stderr_with_hz(2),
        );
        let template = "{pos}/{len} {bar:10} {eta} left; {wide_msg}";
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        bar.set_position(step as u64);
        bar.reset_eta();
        let printed = Instant::now()
            .checked_sub(QUIET)
            .unwrap_or_else(Instant::now);
        let terminal = std::io::stderr().is_terminal();
        Ok(Self {
            path,
            file,
            events,
            improvement,
            bar,
            terminal,
            steps,
            printed,
            listed: !config.data.candidates.as_os_str().is_empty(),
            warned: false,
        })
    }

    /// How many validations have not improved.
    pub fn improvement(&self) -> Improvement {
        self.improvement
    }

    /// The figures of a detector after `step` steps, if it was validated.
    ///
    /// # Errors
    /// As [`read`].
    pub fn detected(&self, step: usize) -> Result<Option<Vec<SpanFigures>>> {
        let of_step = |event| match event {
            Event::Detection {
                step: at, found, ..
            } if at == step => Some(found),
            _ => None,
        };
        Ok(read(&self.path)?.into_iter().rev().find_map(of_step))
    }

    /// The result of the validation after `step` steps, if there was one.
    ///
    /// # Errors
    /// As [`read`].
    pub fn validated(&self, step: usize) -> Result<Option<Validated>> {
        let of_step = |event| match event {
            Event::Validation {
                step: at, found, ..
            } if at == step => Some(found),
            _ => None,
        };
        Ok(read(&self.path)?.into_iter().rev().find_map(of_step))
    }

    /// Appends an event to the metrics and their copy, and shows it.
    ///
    /// # Errors
    /// If a file cannot be written.
    pub fn record(&mut self, event: &Event) -> Result<()> {
        let line = serde_json::to_string(event)
            .map_err(|cause| Error::io("encoding JSON").caused_by(cause))?;
        writeln!(self.file, "{line}").map_err(|cause| io_error("writing", &self.path, cause))?;
        self.improvement.add(event);
        if let Some(events) = &mut self.events {
            events.write(now(), event.step(), &event.scalars())?;
        }
        let words = words(event);
        match event {
            Event::Step {
                step,
                without_negatives,
                ..
            } => {
                if *without_negatives > 0 && !self.warned {
                    self.warned = true;
                    let (why, more) = match self.listed {
                        true => (
                            "their candidate lists hold only the right concept",
                            "use longer lists",
                        ),
                        false => (
                            "all others in their batch have the same concept",
                            "raise `negatives.count`",
                        ),
                    };
                    self.bar.suspend(|| {
                        eprintln!(
                            "warning: step {step}: {without_negatives} examples have no negative, \
                             because {why}; cross-entropy gives them no gradient (`metrics.jsonl` \
                             counts them); {more}"
                        );
                    });
                }
                self.bar.set_position(*step as u64);
                self.bar.set_message(words.clone());
                if !self.terminal && (self.printed.elapsed() >= QUIET || *step == self.steps) {
                    eprintln!("step {step} of {}: {words}", self.steps);
                    self.printed = Instant::now();
                }
            }
            _ => self
                .bar
                .suspend(|| eprintln!("after step {}: {words}", event.step())),
        }
        Ok(())
    }
}

impl Drop for Log {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

/// Seconds since 1970.
fn now() -> f64 {
    SystemTime::now()
        .duration_since(SystemTime::UNIX_EPOCH)
        .map_or(0.0, |since| since.as_secs_f64())
}

fn words(event: &Event) -> String {
    let percent =
        |value: &Option<f64>| value.map_or("-".to_owned(), |value| format!("{:.1}", 100.0 * value));
    match event {
        Event::Step {
            loss,
            gradient_norm,
            pairs_per_s,
            peak_bytes,
            device_bytes,
            ..
        } => {
            let memory = match (device_bytes, peak_bytes) {
                (Some(bytes), _) => format!(", {:.1} GB on the GPU", *bytes as f64 / 1e9),
                (None, Some(bytes)) => format!(", {:.1} GB", *bytes as f64 / 1e9),
                (None, None) => String::new(),
            };
            format!("loss {loss:.4}, gradient {gradient_norm:.3}, {pairs_per_s:.1} pairs/s{memory}")
        }
        Event::Mining {
            seconds, examples, ..
        } => {
            format!("hard negatives for {examples} examples in {seconds:.0} s")
        }
        Event::Validation { seconds, found, .. } if found.recall_listed.is_some() => format!(
            "accuracy {}, normalised {}, lists with the concept {}; zero-shot {}; NIL auPR {} ({} \
             mentions, {seconds:.0} s)",
            percent(&found.recall_1),
            percent(&found.normalised()),
            percent(&found.recall_listed),
            percent(&found.zero_shot_1),
            percent(&found.nil_aupr),
            found.mentions
        ),
        Event::Stopped {
            best, validations, ..
        } => format!(
            "training stops early: the best validation was after step {best}, and the \
             {validations} since are not better (optimiser.patience)"
        ),
        Event::Kept { kept, .. } => format!("the model has {}", kept.words()),
        Event::Detection { found, seconds, .. } => {
            let figures = found.iter().map(|found| {
                format!(
                    "{} F1 {:.1} (P {:.1}, R {:.1}, label {:.1}, at {:.2})",
                    found.scheme,
                    100.0 * found.f1,
                    100.0 * found.precision,
                    100.0 * found.recall,
                    100.0 * found.labelled,
                    found.threshold
                )
            });
            format!(
                "{} ({seconds:.0} s)",
                figures.collect::<Vec<_>>().join("; ")
            )
        }
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

/// Seconds of a run in steps (of `batch` examples each) and in mining, including those before it
/// was resumed.
pub fn seconds(events: &[Event], batch: usize) -> (f64, f64) {
    let (mut steps, mut mining) = (BTreeMap::new(), BTreeMap::new());
    for event in events {
        match event {
            Event::Step {
                step, pairs_per_s, ..
            } => {
                steps.insert(*step, batch as f64 / pairs_per_s);
            }
            Event::Mining { step, seconds, .. } => {
                mining.insert(*step, *seconds);
            }
            Event::Validation { .. }
            | Event::Detection { .. }
            | Event::Stopped { .. }
            | Event::Kept { .. } => {}
        }
    }
    // An empty sum is -0.
    (
        0.0 + steps.values().sum::<f64>(),
        0.0 + mining.values().sum::<f64>(),
    )
}

/// The norms of A_m and A_e after the last step; `None` without a transformation.
pub fn last_norms(events: &[Event]) -> Option<[f64; 2]> {
    let last = events
        .iter()
        .rev()
        .find(|event| matches!(event, Event::Step { .. }))?;
    if let Event::Step { transformation, .. } = last {
        *transformation
    } else {
        None
    }
}

/// Reads `metrics.jsonl`, without a truncated last line.
///
/// # Errors
/// If the file cannot be read, or another line is not an event.
pub fn read(path: &Path) -> Result<Vec<Event>> {
    let mut events: Vec<Result<Event>> = Vec::new();
    for_each_line(path, |_, line| {
        let event = serde_json::from_str(line)
            .map_err(|cause| Error::input("expected an event").caused_by(cause));
        events.push(event);
        Ok(())
    })?;
    if events.last().is_some_and(Result::is_err) {
        events.pop();
    }
    events.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Validations of a detector with one corpus, by step and F1.
    fn improvement(figures: &[(usize, f64)]) -> Improvement {
        let mut improvement = Improvement::default();
        for (step, f1) in figures {
            let found = SpanFigures {
                scheme: "clinical".into(),
                mentions: 10,
                threshold: 0.5,
                precision: *f1,
                recall: *f1,
                f1: *f1,
                labelled: 1.0,
            };
            improvement.add(&Event::Detection {
                step: *step,
                seconds: 1.0,
                found: vec![found],
            });
        }
        improvement
    }

    #[test]
    fn validations_since_the_best_are_counted() {
        let of = |figures: &[(usize, f64)]| {
            let found = improvement(figures);
            (found.best, found.since)
        };
        assert_eq!(of(&[]), (None, 0));
        assert_eq!(of(&[(1, 0.5)]), (Some((1, 0.5)), 0));
        // An equal figure is no improvement.
        assert_eq!(of(&[(1, 0.5), (2, 0.5), (3, 0.4)]), (Some((1, 0.5)), 2));
        assert_eq!(of(&[(1, 0.5), (2, 0.4), (3, 0.6)]), (Some((3, 0.6)), 0));
        // The same validation twice counts once.
        assert_eq!(of(&[(1, 0.5), (2, 0.4), (2, 0.4)]), (Some((1, 0.5)), 1));
    }

    #[test]
    fn scalars_of_a_detector_are_tagged_by_corpus() {
        let found = |scheme: &str| SpanFigures {
            scheme: scheme.into(),
            mentions: 2,
            threshold: 0.5,
            precision: 0.25,
            recall: 0.5,
            f1: 0.375,
            labelled: 1.0,
        };
        let event = Event::Detection {
            step: 3,
            seconds: 1.0,
            found: vec![found("a"), found("a")],
        };
        let scalars = event.scalars();
        assert_eq!(scalars.len(), 8);
        assert_eq!(scalars[2], ("validation/1-a/f1".to_owned(), 0.375));
        assert_eq!(scalars[4], ("validation/2-a/precision".to_owned(), 0.25));
    }
}
