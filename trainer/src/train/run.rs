//! A run that is going: what it has, and what it does beside its steps: validation, checkpoints, the choice of weights.

use super::batch::HardNegatives;
use super::best::{Bests, Kept};
use super::checkpoint::Checkpoints;
use super::config::{Config, Task};
use super::encoded_kb::Survey;
use super::entity_inputs::Catalogue;
use super::examples::{Example, Pair};
use super::log::{Event, Log};
use super::model::Model;
use super::optimiser::Optimiser;
use super::random::Order;
use super::step::perturbation::Worst;
use super::validation::{HeldOut, Validated};
use crate::io::files::write_folder;
use burn::tensor::Device;
use pel_shared::error::Result;
use std::path::Path;
use std::time::Instant;

/// What is learned from.
pub enum Examples {
    Mentions(Vec<Example>),
    Pairs(Vec<Pair>),
}

impl Examples {
    /// How many there are.
    pub fn len(&self) -> usize {
        match self {
            Self::Mentions(mentions) => mentions.len(),
            Self::Pairs(pairs) => pairs.len(),
        }
    }
}

/// A run that is going.
pub struct Run<'a> {
    pub config: &'a Config,
    pub catalogue: Catalogue,
    pub examples: Examples,
    pub held_out: Option<HeldOut>,
    pub device: Device,
    pub steps: usize,
    pub order: Order,
    pub model: Model,
    pub optimiser: Optimiser,
    pub hard: HardNegatives,
    pub worst: Option<Worst>,
    /// The last survey and the steps before it: validation and mining after the same step share it.
    pub survey: Option<(usize, Survey)>,
    pub checkpoints: Checkpoints,
    /// The best weights so far; nothing where the last ones are kept.
    pub bests: Option<Bests>,
    pub log: Log,
}

impl Run<'_> {
    /// What came of the work after so many steps; writes a checkpoint of them if the user has stopped it.
    pub fn kept<T>(&mut self, done: usize, outcome: Result<T>) -> Result<T> {
        if outcome.as_ref().is_err_and(|error| error.is_interrupted()) {
            self.save(done)?;
        }
        outcome
    }

    /// Validates on the way, where it is due and the run has not done it.
    pub fn look(&mut self, done: usize) -> Result<()> {
        let every = self.config.validation_every(self.examples.len());
        let due = every > 0 && done > 0 && done.is_multiple_of(every) && done < self.steps;
        if due && self.log.validated(done)?.is_none() {
            self.validate(done)?;
        }
        Ok(())
    }

    /// Validates; nothing without a held-out split.
    pub fn validate(&mut self, step: usize) -> Result<Option<Validated>> {
        let Some(held_out) = &self.held_out else { return Ok(None) };
        let began = Instant::now();
        let found = match self.config.data.task {
            Task::Rank => held_out.ranked(&self.model, &self.catalogue, &self.device)?,
            Task::Link | Task::Align => {
                let survey = survey(&mut self.survey, step, &self.model, &self.catalogue, &self.device)?;
                survey.validate(&self.model, &self.catalogue, held_out)?
            }
        };
        let seconds = began.elapsed().as_secs_f64();
        // The weights first: a validation that is in the log has what follows from it.
        self.keep_if_best(step, &found)?;
        self.log.say(&Event::Validation { step, seconds, found: found.clone() })?;
        Ok(Some(found))
    }

    /// Writes a checkpoint after so many steps.
    pub fn save(&mut self, step: usize) -> Result<()> {
        self.checkpoints.save(
            step,
            &self.model,
            &self.config.view_options(),
            &self.optimiser,
            &self.hard,
            self.worst.as_ref(),
        )?;
        self.prune_bests()
    }

    /// Keeps the weights of a validation on the way if they are the best so far; those of the last step stay where they are.
    fn keep_if_best(&mut self, step: usize, found: &Validated) -> Result<()> {
        let (Some(bests), Some(recall)) = (&mut self.bests, found.recall_1) else { return Ok(()) };
        if step == self.steps {
            return Ok(());
        }
        bests.offer(step, recall, |folder| self.model.save(folder, &self.config.view_options()))
    }

    /// Removes the best weights that no checkpoint needs any more.
    fn prune_bests(&mut self) -> Result<()> {
        let Some(bests) = &mut self.bests else { return Ok(()) };
        let steps: Vec<usize> = self.checkpoints.list()?.into_iter().map(|(step, _)| step).collect();
        bests.prune(&steps)
    }

    /// Writes the model of a run that is done: its best weights, or the last ones; `last` is the validation of these.
    pub fn keep(&mut self, place: &Path, last: Option<&Validated>) -> Result<Kept> {
        let last = last.and_then(|found| found.recall_1);
        let best = self.bests.as_ref().and_then(|bests| Some((bests, bests.before(self.steps)?)));
        let kept = match best {
            Some((bests, record)) if last.is_none_or(|last| last <= record.recall_1) => {
                write_folder(place, |folder| bests.copy(record, folder))?;
                Kept { step: record.step, recall_1: Some(record.recall_1) }
            }
            _ => {
                write_folder(place, |folder| self.model.save(folder, &self.config.view_options()))?;
                Kept { step: self.steps, recall_1: last.filter(|_| self.bests.is_some()) }
            }
        };
        self.log.say(&Event::Kept { steps: self.steps, kept: kept.clone() })?;
        Ok(kept)
    }
}

/// The survey after so many steps; made if the last one is older.
pub fn survey<'a>(
    last: &'a mut Option<(usize, Survey)>,
    step: usize,
    model: &Model,
    catalogue: &Catalogue,
    device: &Device,
) -> Result<&'a Survey> {
    let survey = match last.take() {
        Some((at, survey)) if at == step => survey,
        _ => Survey::new(model, catalogue, device)?,
    };
    Ok(&last.insert((step, survey)).1)
}
