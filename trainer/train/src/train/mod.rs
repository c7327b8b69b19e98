//! Training the bi-encoder (PEL, sections 4 and 5.3), and aligning names before it.
//!
//! ```text
//! config ─ entity_inputs ─ examples ─┬─ batch ─ step (loss, FGSM) ─ optimiser ─┬─ checkpoint
//!                                    └────── encoded_kb (mining, validation) ──┴─ log
//! ```
//!
//! The folder of a run holds `config.toml`, `metrics.jsonl` and `checkpoints/`, which include the
//! best weights so far. At the end it also holds `model/` and `plots/`. The same command resumes a
//! run that was stopped.

mod batch;
mod best;
mod checkpoint;
mod clock;
pub mod config;
pub mod detect;
pub mod differentiable;
pub mod encoded_kb;
pub mod entity_inputs;
mod examples;
pub mod figures;
mod groups;
pub mod log;
pub mod loss_scale;
pub mod model;
pub mod optimiser;
mod pending;
mod random;
mod rank;
mod replicas;
mod run;
pub mod run_lock;
mod snapshot;
mod step;
mod tensorboard;
#[cfg(test)]
mod tests;
pub mod training_loop;
pub mod validation;

pub use crate::train::validation::{CANDIDATES, Validated, Validation};
pub use best::Kept;
pub use checkpoint::CHECKPOINTS;
pub use log::METRICS;
pub use snapshot::Snapshot;

use crate::train::entity_inputs::EntityInputs;
use crate::train::loss_scale::Scale;
use batch::{HardNegatives, few_negatives};
use best::BestWeights;
use burn::tensor::Device;
use checkpoint::{Checkpoints, Resumed};
use clock::Times;
use config::{Config, Keep, Task};
use log::Log;
use model::Model;
use optimiser::Optimiser;
use pel_artifacts::device::OpenDevice;
use pel_kb::error::{Error, Result};
use pel_linker::bundle::names;
use pel_model::tokens::View;
use pel_model::tower::Side;
use pel_terminologies::import::report::Report;
use pending::Pending;
use random::Order;
use replicas::Replicas;
use run::{Examples, Run};
use std::path::{Path, PathBuf};
use step::perturbation::Perturbation;

/// The folder of the model in that of its run.
pub const MODEL: &str = "model";

/// The result of a training run.
#[derive(Clone, Debug)]
pub struct Trained {
    /// The folder of the model.
    pub model: PathBuf,
    /// All steps of the run, until it ended.
    pub steps: usize,
    /// Training examples.
    pub examples: usize,
    /// How many mentions were read, and how many were skipped for which reason.
    pub report: Report,
    /// The last validation.
    pub validated: Option<Validated>,
    /// Which weights became the model.
    pub kept: Kept,
    /// Seconds that this call spent in steps.
    pub step_seconds: f64,
    /// Seconds that this call spent mining hard negatives.
    pub mining_seconds: f64,
    /// The share of FGSM in the steps of this call that were measured; `None` without any.
    pub fgsm_share: Option<f64>,
}

/// Trains a model, or resumes the run in the folder `out`.
///
/// # Errors
/// - The configuration does not fit the data, the encoder, or the run in `out`.
/// - A file cannot be read or written.
/// - The loss becomes NaN or infinite; the error names the step and its batch.
/// - The user stops the run; a checkpoint is written first.
pub fn train(config: &Config, out: &Path, device: &OpenDevice) -> Result<Trained> {
    config.check_output(&device.device)?;
    // An interrupted run finishes its step and writes a checkpoint.
    let _held = pel_io::interrupt::defer_exit();
    let _lock = config.lock_run(out)?;
    let device = training_device(config, device);
    let replicas = Replicas::open(config, &device)?;
    let checkpoints = Checkpoints::of(out, &config.checkpoints);
    let (
        Resumed {
            step,
            data,
            deviation,
            mut model,
            hard,
            perturbation,
        },
        optimiser,
    ) = resume_or_begin(config, &checkpoints, &device)?;
    let (config, deviation) = with_epsilon(config, &model, (step, deviation), &device)?;
    let config = &config;
    let checkpoints = checkpoints.with_deviation(deviation);
    let (entity_inputs, examples, report) = read_inputs(config, &mut model)?;
    let checkpoints =
        checkpoints.with_data(fingerprint(&entity_inputs, &examples), data.as_deref())?;
    checkpoint::check_hard(&hard, examples.len(), entity_inputs.rows().sequences.len())?;
    let validation = Validation::read(config, &model, &entity_inputs)?;
    let bests = match (&validation, config.validation.keep) {
        (Some(_), Keep::Best) => Some(BestWeights::open(out, step)?),
        _ => None,
    };
    let steps = number_of_steps(config, examples.len());
    eprintln!(
        "{} examples, {} concepts, {steps} steps",
        examples.len(),
        entity_inputs.kb.len()
    );
    if report.skipped_in_all() > 0 {
        eprintln!("skipped: {}", report.reasons());
    }
    // The processor knows each figure at once, and the transformation reads back in each step.
    let at_once = device.clone().inner() == Device::flex() || perturbation.is_some();
    let pending = Pending::new(config.log.every, at_once || optimiser.scale.is_some());
    let mut run = Run {
        config,
        folder: out,
        order: Order::new(config.seed, examples.len()),
        log: Log::open(out, config, step, steps)?,
        entity_inputs,
        examples,
        validation,
        device,
        replicas,
        steps,
        model,
        optimiser,
        hard,
        perturbation,
        deviation,
        encoded_kb: None,
        checkpoints,
        bests,
        pending,
        times: Times::default(),
    };
    let (end, mining_seconds) = run.steps_from(step)?;
    let model = out.join(MODEL);
    let validated = match run.validation {
        Some(_) => match run.log.validated(end)? {
            // A run that was killed after its last validation has logged it already.
            Some(found) => Some(found),
            None => run.validate(end)?,
        },
        None => None,
    };
    let kept = run.write_model(&model, end, validated.as_ref())?;
    figures::draw(out)?;
    Ok(Trained {
        model,
        steps: end,
        examples: run.examples.len(),
        report,
        validated,
        kept,
        step_seconds: run.times.steps,
        mining_seconds,
        fgsm_share: run.times.fgsm_share(),
    })
}

/// The device with gradients.
fn training_device(config: &Config, device: &OpenDevice) -> Device {
    let device = device.device.clone().autodiff();
    if config.model.gradient_checkpointing {
        device.gradient_checkpointing()
    } else {
        device
    }
}

/// The steps of a run: those of the configuration, or those of its epochs.
fn number_of_steps(config: &Config, examples: usize) -> usize {
    let by_epochs =
        (config.optimiser.epochs * examples as f64 / config.optimiser.batch as f64).ceil() as usize;
    config.optimiser.steps.unwrap_or(by_epochs)
}

/// The state of the last checkpoint, or of a run that begins.
fn resume_or_begin(
    config: &Config,
    checkpoints: &Checkpoints,
    device: &Device,
) -> Result<(Resumed, Optimiser)> {
    match checkpoints.last()? {
        Some((step, folder)) => {
            eprintln!("resuming from step {step}");
            Checkpoints::load(&folder, config, device)
        }
        None => {
            let model = Model::begin(config, device)?;
            let mut optimiser = Optimiser::new(&config.optimiser, &model.towers, device);
            optimiser.scale = Scale::begin(config.model.precision);
            let perturbation = Perturbation::begin(&model, config, device)?;
            Ok((
                Resumed {
                    step: 0,
                    data: None,
                    deviation: None,
                    model,
                    hard: HardNegatives::new(),
                    perturbation,
                },
                optimiser,
            ))
        }
    }
}

/// Reads the concepts and the examples, and records in the model which concepts it is trained on.
fn read_inputs(config: &Config, model: &mut Model) -> Result<(EntityInputs, Examples, Report)> {
    let view = match config.data.task {
        Task::Link | Task::Rank | Task::Detect => config.view_options(),
        Task::Align => pel_model::tokens::ViewOptions {
            concepts: View::Names,
            ..config.view_options()
        },
    };
    let tables = std::iter::once(&config.data.kb)
        .chain(&config.data.more_kbs)
        .map(PathBuf::as_path);
    let mut entity_inputs = EntityInputs::read(tables, &model.tokens, &view, config.data.domains)?;
    entity_inputs.check_domains(&config.data.only_domains)?;
    let (examples, report) = match config.data.task {
        Task::Link | Task::Rank | Task::Detect => {
            let (mentions, report) =
                examples::chosen(config, &entity_inputs, &model.tokens, &view)?;
            (Examples::Mentions(mentions), report)
        }
        Task::Align => (
            Examples::Pairs(examples::pairs(&entity_inputs)?),
            Report::default(),
        ),
    };
    if let Examples::Mentions(mentions) = &examples {
        entity_inputs.train_on(mentions.iter().map(|example| example.concept));
        let concepts = mentions
            .iter()
            .filter_map(|example| entity_inputs.kb.get(example.concept));
        if !model.train_on(concepts.map(|concept| concept.id.clone())) {
            eprintln!(
                "warning: {}: the model has no record of its training concepts ({}), so the \
                 trained model gets none either, and `pel evaluate` cannot tell which concepts it \
                 has seen",
                config.model.encoder.display(),
                names::TRAINED
            );
        }
        few_negatives(config, &entity_inputs, mentions)
            .iter()
            .for_each(|words| eprintln!("warning: {words}"));
    }
    Ok((entity_inputs, examples, report))
}

/// The configuration with ε of FGSM itself as `fgsm.absolute_epsilon`, and the deviation of the
/// input embeddings that FGSM perturbs, when the run began; `None` without FGSM. A checkpoint after
/// `step` steps has the deviation; those of earlier versions have none.
///
/// # Errors
/// If the encoder cannot be read, or all its input embeddings are equal.
fn with_epsilon(
    config: &Config,
    model: &Model,
    (step, kept): (usize, Option<f64>),
    device: &Device,
) -> Result<(Config, Option<f64>)> {
    let mut config = config.clone();
    let lambda = config.fgsm.lambda;
    if lambda == 0.0 || config.data.task == Task::Align {
        return Ok((config, None));
    }
    let of = |model: &Model| {
        model
            .towers
            .tower(Side::Entity)
            .bert()
            .embedding_deviation()
    };
    let deviation = match (kept, step) {
        (Some(kept), _) => kept,
        (None, 0) => of(model)?,
        (None, _) => of(&Model::begin(&config, device)?)?,
    };
    let epsilon = config.fgsm.resolved(deviation);
    if !(epsilon > 0.0 && epsilon.is_finite()) {
        return Err(Error::input(format!(
            "`fgsm.epsilon`: expected an encoder whose input embeddings differ, found a deviation \
             of {deviation}; set `fgsm.absolute_epsilon`"
        )));
    }
    // Three digits.
    let short = |value: f64| {
        let digits = format!("{value:.2e}");
        digits.parse().unwrap_or(value)
    };
    eprintln!(
        "FGSM: λ = {lambda}, ε = {} = {} x {}, the deviation of the input embeddings",
        short(epsilon),
        short(epsilon / deviation),
        short(deviation)
    );
    config.fgsm.absolute_epsilon = epsilon;
    Ok((config, Some(deviation)))
}

/// The hash of the training data: texts, concepts and examples as tokens, in their order.
fn fingerprint(entity_inputs: &EntityInputs, examples: &Examples) -> String {
    let mut hasher = blake3::Hasher::new();
    let mut add = |numbers: &[u32]| {
        hasher.update(&(numbers.len() as u64).to_le_bytes());
        numbers.iter().for_each(|number| {
            hasher.update(&number.to_le_bytes());
        });
    };
    let rows = entity_inputs.rows();
    rows.sequences
        .iter()
        .for_each(|sequence| add(&sequence.ids));
    for (concept, sequence) in rows.concepts.iter().zip(&rows.sequence_of) {
        add(&[concept.0, *sequence as u32]);
    }
    match examples {
        Examples::Pairs(pairs) => pairs
            .iter()
            .for_each(|pair| add(&[pair.concept.0, pair.name.0])),
        Examples::Mentions(mentions) => mentions.iter().for_each(|example| {
            add(&example.mention.ids);
            add(&[example.concept.0]);
            if let Some(listed) = &example.candidates {
                add(&listed
                    .concepts
                    .iter()
                    .map(|concept| concept.0)
                    .collect::<Vec<_>>());
                add(&listed
                    .teacher
                    .iter()
                    .map(|score| score.to_bits())
                    .collect::<Vec<_>>());
            }
        }),
    }
    hasher.finalize().to_hex().to_string()
}
