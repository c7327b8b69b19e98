//! Training a detector of mentions ([`pel_model::detector`]).
//!
//! ```text
//! corpora ─ windows ─ batch ─ loss ─ optimiser ─┬─ checkpoint
//!                                    validation ┴─ log
//! ```
//!
//! The folder of a run is that of [`crate::train`]. `pel pack --detector` puts its `model/` into a
//! bundle. The last weights become the model.
//!
//! The loss of a window is divided by its words, so that long windows do not outweigh short ones.
//! The length terms of a new head make every span improbable: very few spans are mentions.

mod batch;
mod corpora;
mod mean;
mod model;
mod validation;

pub use crate::train::validation::SpanFigures;
pub use mean::read_mean;
pub use model::DetectorModel;

use super::checkpoint::Checkpoints;
use super::config::{Config, Detect};
use super::log::{Event, Log};
use super::optimiser::Optimiser;
use super::pending::{Pending, StepOutcome};
use super::random::{Order, Purpose, stream};
use super::run::Ending;
use super::{MODEL, figures};
use crate::train::differentiable::Figure;
use batch::span_batch;
use burn::tensor::{Device, Tensor};
use corpora::{Corpora, Example};
use pel_artifacts::device::OpenDevice;
use pel_io::files::write_folder;
use pel_io::interrupt;
use pel_kb::error::{Error, Result};
use pel_model::burn::bert::Pass;
use pel_model::burn::span_head::span_loss;
use pel_model::layer::Dropout;
use pel_terminologies::import::report::Report;
use rand::RngCore;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// The result of a training run.
#[derive(Clone, Debug)]
pub struct TrainedDetector {
    /// The folder of the model.
    pub model: PathBuf,
    /// All steps of the run, until it ended.
    pub steps: usize,
    /// Training windows.
    pub examples: usize,
    /// What was read and left out.
    pub report: Report,
    /// The last validation.
    pub validated: Vec<SpanFigures>,
}

/// Trains a detector, or resumes the run in the folder `out`.
///
/// # Errors
/// - The configuration does not fit the corpora, the encoder, or the run in `out`.
/// - A file cannot be read or written.
/// - The loss becomes NaN or infinite; the error names the step and its texts.
/// - The user stops the run; a checkpoint is written first.
pub fn train(config: &Config, out: &Path, device: &OpenDevice) -> Result<TrainedDetector> {
    let detect = config
        .detect
        .as_ref()
        .ok_or_else(|| Error::input("the configuration: the section `detect` is missing"))?;
    config.check_output(&device.device)?;
    let _held = interrupt::defer_exit();
    let _lock = config.lock_run(out)?;
    let device = device.device.clone().autodiff();
    let schemes = corpora::schemes(detect)?;
    let begin = |model: &DetectorModel| {
        Optimiser::new(&config.optimiser, &model.network, &device)
            .with_rate("head", detect.head_rate)
    };
    let checkpoints = Checkpoints::of(out, &config.checkpoints);
    let (step, data, model, optimiser) = match checkpoints.last()? {
        Some((step, folder)) => {
            eprintln!("resuming from step {step}");
            let read =
                |folder: &Path| DetectorModel::resume(&folder.join(MODEL), config, detect, &device);
            Checkpoints::load_with(&folder, read, begin)?
        }
        None => {
            let model = DetectorModel::begin(config, detect, schemes, &device)?;
            let optimiser = begin(&model);
            (0, None, model, optimiser)
        }
    };
    let names = corpora::names(detect)?;
    let read = |texts: &[_]| Corpora::read(texts, model.info(), &model.tokens, names.as_ref());
    let (training, validation) = (read(&detect.corpora)?, read(&detect.validation)?);
    if validation.report.skipped_in_all() > 0 {
        eprintln!("skipped in validation: {}", validation.report.reasons());
    }
    let examples = training.examples(&detect.corpora, model.info());
    let report = training.report.clone();
    let checkpoints = checkpoints.with_data(fingerprint(&training, &examples), data.as_deref())?;
    let by_epochs =
        (config.optimiser.epochs * examples.len() as f64 / config.optimiser.batch as f64).ceil();
    let steps = config.optimiser.steps.unwrap_or(by_epochs as usize);
    eprintln!("{} windows, {steps} steps", examples.len());
    if report.skipped_in_all() > 0 {
        eprintln!("skipped: {}", report.reasons());
    }
    let on_host = device.clone().inner() == Device::flex();
    let mut run = Run {
        config,
        detect,
        on_host,
        pending: Pending::new(config.log.every, on_host),
        device,
        order: Order::new(config.seed, examples.len()),
        log: Log::open(out, config, step, steps)?,
        training,
        validation,
        examples,
        steps,
        model,
        optimiser,
        checkpoints,
    };
    let end = run.steps_from(step)?;
    let validated = match run.log.detected(end)? {
        Some(found) => found,
        None => run.validate(end)?,
    };
    run.model.set_thresholds(&validated);
    let model = out.join(MODEL);
    write_folder(&model, |folder| run.model.save(folder))?;
    figures::draw(out)?;
    Ok(TrainedDetector {
        model,
        steps: end,
        examples: run.examples.len(),
        report,
        validated,
    })
}

/// A run in progress.
struct Run<'a> {
    config: &'a Config,
    detect: &'a Detect,
    on_host: bool,
    pending: Pending,
    device: Device,
    order: Order,
    log: Log,
    training: Corpora,
    validation: Corpora,
    examples: Vec<Example>,
    steps: usize,
    model: DetectorModel,
    optimiser: Optimiser,
    checkpoints: Checkpoints,
}

impl Ending for Run<'_> {
    fn save(&mut self, step: usize) -> Result<()> {
        self.settle()?;
        self.checkpoints.save_with(step, &self.optimiser, |folder| {
            self.model.save(&folder.join(MODEL))
        })
    }

    fn state(&mut self) -> (&Config, &mut Log, &Checkpoints) {
        (self.config, &mut self.log, &self.checkpoints)
    }
}

impl Run<'_> {
    /// Runs the steps that are left; returns the number of steps when the run ended.
    fn steps_from(&mut self, first: usize) -> Result<usize> {
        self.validate_if_due(first)?;
        for step in first..self.steps {
            if self.stops(step)? {
                return Ok(step);
            }
            let stepped = self.step(step);
            self.save_if_interrupted(step, stepped)?;
            let done = step + 1;
            if done.is_multiple_of(self.config.checkpoints.every) || done == self.steps {
                self.save(done)?;
            }
            let validated = self.validate_if_due(done);
            self.save_if_interrupted(done, validated)?;
        }
        Ok(self.steps)
    }

    /// Validates after `done` steps if a validation is due and not in the log yet.
    fn validate_if_due(&mut self, done: usize) -> Result<()> {
        let every = self.config.validation_every(self.examples.len());
        let due = every > 0 && done > 0 && done.is_multiple_of(every) && done < self.steps;
        if due && self.log.detected(done)?.is_none() {
            self.validate(done)?;
        }
        Ok(())
    }

    fn step(&mut self, step: usize) -> Result<()> {
        interrupt::check()?;
        let began = Instant::now();
        let (batch, micro) = (self.config.optimiser.batch, self.config.optimiser.micro());
        let (mut loss, mut tokens, mut places) = (Figure::Known(0.0), 0, Vec::new());
        for part in 0..batch / micro {
            interrupt::check()?;
            let positions = step * batch + part * micro..step * batch + (part + 1) * micro;
            let chosen: Vec<(usize, usize)> = positions
                .map(|position| (position, self.order.at(position)))
                .collect();
            let examples: Vec<(usize, &Example)> = chosen
                .iter()
                .map(|(position, at)| (*position, &self.examples[*at]))
                .collect();
            let made = span_batch(
                self.detect,
                self.config.seed,
                self.model.info(),
                &self.model.tokens,
                &self.training,
                &examples,
                &self.device,
            );
            let pass = self.pass((step * (batch / micro) + part) as u64);
            let logits = self.model.network.forward(&made.input, &pass);
            let losses: Tensor<1> = span_loss(logits, made.targets, made.mask, made.counts).sum();
            let value = Figure::of(losses.clone().inner(), self.on_host)?;
            places.extend(
                examples
                    .iter()
                    .map(|(_, example)| self.training.texts[example.text].place.clone()),
            );
            if value.overflowed() {
                return Err(not_a_number("loss", step, &places));
            }
            let mut gradients = losses.backward();
            self.optimiser.add(&self.model.network, &mut gradients)?;
            loss = loss.plus(value);
            tokens += made.tokens;
        }
        let stepped = self
            .optimiser
            .step(&mut self.model.network, step, self.steps, batch)?;
        let outcome = StepOutcome {
            step,
            loss,
            stepped,
            tokens,
            without_negatives: 0,
            fgsm_seconds: None,
            named: places,
        };
        let due = self.pending.add(outcome, began.elapsed().as_secs_f64());
        if due || step + 1 == self.steps {
            self.settle()?;
        }
        Ok(())
    }

    /// As [`super::run::Run::settle`].
    fn settle(&mut self) -> Result<()> {
        for read in self.pending.read()? {
            if let Some(what) = read.fault() {
                return Err(not_a_number(what, read.outcome.step, &read.outcome.named));
            }
            self.log.record(&read.event(
                self.config.optimiser.batch,
                self.examples.len(),
                &self.device,
                None,
                None,
            ))?;
        }
        Ok(())
    }

    fn pass(&self, number: u64) -> Pass {
        let model = &self.config.model;
        let dropout = (model.dropout > 0.0).then(|| Dropout {
            rate: model.dropout as f32,
            seed: stream(self.config.seed, Purpose::Dropout, number).next_u64(),
        });
        Pass {
            dropout,
            recompute: model.gradient_checkpointing,
            precision: model.precision,
        }
    }

    fn validate(&mut self, step: usize) -> Result<Vec<SpanFigures>> {
        if self.validation.texts.is_empty() {
            return Ok(Vec::new());
        }
        self.settle()?;
        let began = Instant::now();
        let detector = self.model.detector()?;
        let found = validation::validate(&detector, &self.model.tokens, &self.validation)?;
        self.log.record(&Event::Detection {
            step,
            seconds: began.elapsed().as_secs_f64(),
            found: found.clone(),
        })?;
        Ok(found)
    }
}

fn not_a_number(what: &str, step: usize, places: &[String]) -> Error {
    Error::input(format!(
        "the {what} became NaN or infinite at step {}; lower the learning rate, or inspect the texts: {}",
        step + 1,
        places.join(", ")
    ))
}

/// The hash of the training data: the words, mentions and windows in their order.
fn fingerprint(corpora: &Corpora, examples: &[Example]) -> String {
    let mut hasher = blake3::Hasher::new();
    let mut add = |number: usize| {
        hasher.update(&(number as u64).to_le_bytes());
    };
    for text in &corpora.texts {
        add(text.words.pieces.len());
        text.words.pieces.iter().for_each(|id| add(*id as usize));
        for (first, last, label) in &text.mentions {
            [*first, *last, *label].into_iter().for_each(&mut add);
        }
    }
    for example in examples {
        [example.text, example.window.words.start]
            .into_iter()
            .for_each(&mut add);
    }
    hasher.finalize().to_hex().to_string()
}
