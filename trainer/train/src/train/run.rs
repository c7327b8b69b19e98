//! A training run in progress: its state, and what happens between steps (validation, checkpoints,
//! the choice of weights).

use super::batch::HardNegatives;
use super::best::{BestWeights, Kept};
use super::checkpoint::Checkpoints;
use super::clock::Times;
use super::config::{Config, Task};
use super::encoded_kb::EncodedKb;
use super::entity_inputs::EntityInputs;
use super::examples::{Example, Pair};
use super::log::{Event, Log};
use super::model::Model;
use super::optimiser::Optimiser;
use super::pending::Pending;
use super::random::Order;
use super::replicas::Replicas;
use super::step::perturbation::Perturbation;
use super::validation::{Validated, Validation};
use burn::tensor::Device;
use pel_io::files::write_folder;
use pel_kb::error::Result;
use std::path::Path;
use std::time::Instant;

/// The training examples.
pub enum Examples {
    Mentions(Vec<Example>),
    Pairs(Vec<Pair>),
}

impl Examples {
    /// The number of examples.
    pub fn len(&self) -> usize {
        match self {
            Self::Mentions(mentions) => mentions.len(),
            Self::Pairs(pairs) => pairs.len(),
        }
    }
}

/// A training run in progress.
pub struct Run<'a> {
    pub config: &'a Config,
    /// The folder of the run.
    pub folder: &'a Path,
    pub entity_inputs: EntityInputs,
    pub examples: Examples,
    pub validation: Option<Validation>,
    pub device: Device,
    pub replicas: Replicas,
    pub steps: usize,
    pub order: Order,
    pub model: Model,
    pub optimiser: Optimiser,
    pub hard: HardNegatives,
    pub perturbation: Option<Perturbation>,
    /// The deviation of the encoder's input embeddings when the run began, with FGSM.
    pub deviation: Option<f64>,
    /// The knowledge base encoded after so many steps. Validation and mining after the same step
    /// share it.
    pub encoded_kb: Option<(usize, EncodedKb)>,
    pub checkpoints: Checkpoints,
    /// The best weights so far; `None` where the last weights become the model.
    pub bests: Option<BestWeights>,
    pub log: Log,
    pub pending: Pending,
    pub times: Times,
}

impl Run<'_> {
    /// Validates after `done` steps if a validation is due and not in the log yet.
    pub fn validate_if_due(&mut self, done: usize) -> Result<()> {
        let every = self.config.validation_every(self.examples.len());
        let due = every > 0 && done > 0 && done.is_multiple_of(every) && done < self.steps;
        if due && self.log.validated(done)?.is_none() {
            self.validate(done)?;
        }
        Ok(())
    }

    /// Validates; `None` without a validation split.
    pub fn validate(&mut self, step: usize) -> Result<Option<Validated>> {
        self.settle()?;
        let Some(validation) = &self.validation else {
            return Ok(None);
        };
        let began = Instant::now();
        let found = match self.config.data.task {
            Task::Rank => validation.of_ranker(&self.model, &self.entity_inputs, &self.device)?,
            Task::Link | Task::Align | Task::Detect => {
                let kb = encoded_kb(
                    &mut self.encoded_kb,
                    step,
                    &self.model,
                    &self.entity_inputs,
                    &self.device,
                    self.folder,
                )?;
                validation.of_bi_encoder(kb, &self.entity_inputs)?
            }
        };
        let seconds = began.elapsed().as_secs_f64();
        // The weights come first: once a validation is in the log, its weights must have been
        // saved.
        self.save_if_best(step, &found)?;
        self.log.record(&Event::Validation {
            step,
            seconds,
            found: found.clone(),
        })?;
        Ok(Some(found))
    }

    /// Saves the weights of a validation if they are the best so far. The weights of the last step
    /// are still in memory and need no copy.
    fn save_if_best(&mut self, step: usize, found: &Validated) -> Result<()> {
        let (Some(bests), Some(recall)) = (&mut self.bests, found.recall_1) else {
            return Ok(());
        };
        if step == self.steps {
            return Ok(());
        }
        bests.save_if_best(step, recall, |folder| {
            self.model.save(folder, &self.config.view_options())
        })
    }

    /// Removes saved weights that no checkpoint needs.
    fn prune_bests(&mut self) -> Result<()> {
        let Some(bests) = &mut self.bests else {
            return Ok(());
        };
        let steps: Vec<usize> = self
            .checkpoints
            .list()?
            .into_iter()
            .map(|(step, _)| step)
            .collect();
        bests.prune(&steps)
    }

    /// Writes the model of a run that ends after `end` steps: its best weights, or the last ones;
    /// `last` is the validation of the last ones.
    pub fn write_model(
        &mut self,
        place: &Path,
        end: usize,
        last: Option<&Validated>,
    ) -> Result<Kept> {
        let last = last.and_then(|found| found.recall_1);
        let best = self
            .bests
            .as_ref()
            .and_then(|bests| Some((bests, bests.before(end)?)));
        let kept = match best {
            Some((bests, record)) if last.is_none_or(|last| last <= record.recall_1) => {
                write_folder(place, |folder| bests.copy(record, folder))?;
                Kept {
                    step: record.step,
                    recall_1: Some(record.recall_1),
                }
            }
            _ => {
                write_folder(place, |folder| {
                    self.model.save(folder, &self.config.view_options())
                })?;
                Kept {
                    step: end,
                    recall_1: last.filter(|_| self.bests.is_some()),
                }
            }
        };
        self.log.record(&Event::Kept {
            steps: end,
            kept: kept.clone(),
        })?;
        Ok(kept)
    }
}

/// How the runs of all tasks are saved, and how they end.
pub trait Ending {
    /// Writes a checkpoint of `step` steps.
    fn save(&mut self, step: usize) -> Result<()>;

    /// What says whether the run ends, and its checkpoints.
    fn state(&mut self) -> (&Config, &mut Log, &Checkpoints);

    /// Passes `outcome` on; writes a checkpoint of `done` steps first if the user has interrupted
    /// the run.
    fn save_if_interrupted<T>(&mut self, done: usize, outcome: Result<T>) -> Result<T> {
        if outcome.as_ref().is_err_and(|error| error.is_interrupted()) {
            self.save(done)?;
        }
        outcome
    }

    /// Whether the run ends after `done` steps, because its validations no longer improve. It then
    /// has a checkpoint there, so that a later call ends at the same step.
    fn stops(&mut self, done: usize) -> Result<bool> {
        let (config, log, checkpoints) = self.state();
        let Some(stopped) = stopped(config, log, done) else {
            return Ok(false);
        };
        if checkpoints.last()?.is_none_or(|(last, _)| last < done) {
            self.save(done)?;
        }
        let (_, log, _) = self.state();
        log.record(&stopped)?;
        Ok(true)
    }
}

impl Ending for Run<'_> {
    /// The figures of the steps before are read and checked first.
    fn save(&mut self, step: usize) -> Result<()> {
        self.settle()?;
        self.checkpoints.save(
            step,
            &self.model,
            &self.config.view_options(),
            &self.optimiser,
            &self.hard,
            self.perturbation.as_ref(),
        )?;
        self.prune_bests()
    }

    fn state(&mut self) -> (&Config, &mut Log, &Checkpoints) {
        (self.config, &mut self.log, &self.checkpoints)
    }
}

/// The event that ends a run after `done` steps, if enough validations have not improved.
fn stopped(config: &Config, log: &Log, done: usize) -> Option<Event> {
    let (patience, improvement) = (config.optimiser.patience, log.improvement());
    let (best, _) = improvement
        .best
        .filter(|_| patience > 0 && improvement.since >= patience)?;
    Some(Event::Stopped {
        step: done,
        best,
        validations: improvement.since,
    })
}

/// The knowledge base encoded after `step` steps. It is encoded if the last one is older. `folder`
/// is that of the run.
pub fn encoded_kb<'a>(
    last: &'a mut Option<(usize, EncodedKb)>,
    step: usize,
    model: &Model,
    entity_inputs: &EntityInputs,
    device: &Device,
    folder: &Path,
) -> Result<&'a EncodedKb> {
    let encoded_kb = match last.take() {
        Some((at, encoded_kb)) if at == step => encoded_kb,
        _ => EncodedKb::new(model, entity_inputs, device, folder)?,
    };
    Ok(&last.insert((step, encoded_kb)).1)
}
