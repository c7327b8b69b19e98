//! One training step: its micro-batches, their gradients, and the optimiser.

use super::batch::{align_batch, link_batch, rank_batch};
use super::config::Task;
use super::examples::Example;
use super::log::{Event, FgsmFigures};
use super::pending::StepOutcome;
use super::run::{Ending, Examples, Run, encoded_kb};
use super::step::perturbation::Perturbation;
use super::step::{Learned, Step, is_measured};
use crate::train::differentiable::Figure;
use crate::train::loss_scale::Scale;
use pel_io::interrupt;
use pel_kb::error::{Error, Result};
use std::time::Instant;

impl Run<'_> {
    /// Runs the steps that are left. Returns the number of steps when the run ended, and the
    /// seconds of mining.
    pub(super) fn steps_from(&mut self, first: usize) -> Result<(usize, f64)> {
        let mut mining_seconds = 0.0;
        self.validate_if_due(first)?;
        for step in first..self.steps {
            if self.stops(step)? {
                return Ok((step, mining_seconds));
            }
            let mined = self.step(step);
            mining_seconds += self.save_if_interrupted(step, mined)?;
            let done = step + 1;
            if done.is_multiple_of(self.config.checkpoints.every) || done == self.steps {
                self.save(done)?;
            }
            let validated = self.validate_if_due(done);
            self.save_if_interrupted(done, validated)?;
        }
        Ok((self.steps, mining_seconds))
    }

    /// One training step, after mining if that is due. Returns the seconds of mining.
    fn step(&mut self, step: usize) -> Result<f64> {
        interrupt::check()?;
        let mut mining = 0.0;
        if self.config.mines() && step.is_multiple_of(self.mine_every()) {
            self.settle()?;
            mining = self.mine(step)?;
        }
        // A step that is measured on a GPU begins and ends with it.
        let measured = self.deviation.is_some() && is_measured(step as u64);
        if measured {
            self.settle()?;
        }
        let began = Instant::now();
        // The transformation ascends within a step; a step that is repeated starts from the same
        // matrices.
        let before = self.perturbation.clone();
        let learned = loop {
            let named = match self.update(step) {
                Ok(learned) if !learned.stepped.gradient_norm.overflowed() => break learned,
                Ok(learned) => match learned.loss.value()?.is_finite() {
                    true => Ok(learned.named),
                    false => Err(not_a_number("loss", step, &learned.named)),
                },
                Err(error) => Err(error),
            };
            self.perturbation.clone_from(&before);
            let named = named?;
            // The gradients overflowed and nothing was changed: repeat the batch with a lower loss
            // scale.
            if !self.optimiser.scale.as_mut().is_some_and(Scale::lower) {
                return Err(not_a_number("gradient", step, &named));
            }
        };
        let due = self.pending.add(learned, began.elapsed().as_secs_f64());
        if due || measured || step + 1 == self.steps {
            self.settle()?;
        }
        Ok(mining)
    }

    /// Reads the figures of the last steps and logs them.
    ///
    /// # Errors
    /// If a loss or gradient is not finite; the error names the step and its batch.
    pub(super) fn settle(&mut self) -> Result<()> {
        for read in self.pending.read()? {
            if let Some(what) = read.fault() {
                return Err(not_a_number(what, read.outcome.step, &read.outcome.named));
            }
            self.times.steps += read.seconds;
            if let Some(fgsm) = read.outcome.fgsm_seconds {
                self.times.fgsm += fgsm;
                self.times.measured += read.seconds;
            }
            let transformation = self
                .perturbation
                .as_ref()
                .map(Perturbation::norms)
                .transpose()?;
            let fgsm = self.deviation.map(|deviation| FgsmFigures {
                epsilon: self.config.fgsm.absolute_epsilon,
                deviation,
                share: read.outcome.fgsm_seconds.map(|fgsm| fgsm / read.seconds),
            });
            self.log.record(&read.event(
                self.config.optimiser.batch,
                self.examples.len(),
                &self.device,
                transformation,
                fgsm,
            ))?;
        }
        Ok(())
    }

    /// Computes the gradients of the batch, and updates the parameters unless the gradients
    /// overflowed.
    fn update(&mut self, step: usize) -> Result<StepOutcome> {
        let (batch, micro) = (self.config.optimiser.batch, self.config.optimiser.micro());
        let scale = self.optimiser.scale.map_or(1.0, |scale| scale.factor());
        let mut loss = Figure::Known(0.0);
        let (mut tokens, mut without_negatives, mut all_named) = (0, 0, Vec::new());
        let mut fgsm_seconds = Some(0.0_f64);
        for part in 0..batch / micro {
            interrupt::check()?;
            let MicroBatch {
                learned,
                without_negatives: alone,
                named,
            } = self.micro_batch(step, part, scale)?;
            if learned.loss.overflowed() {
                return Err(not_a_number("loss", step, &named));
            }
            loss = loss.plus(learned.loss);
            tokens += learned.tokens;
            fgsm_seconds = fgsm_seconds
                .zip(learned.fgsm_seconds)
                .map(|(sum, more)| sum + more);
            without_negatives += alone;
            all_named.extend(named);
        }
        let mut overflowed = false;
        if let Some(perturbation) = &mut self.perturbation {
            perturbation.ascend_once()?;
            overflowed = perturbation.overflowed();
        }
        let stepped = match overflowed {
            true => self.optimiser.skip(step, self.steps),
            false => self
                .optimiser
                .step(&mut self.model.towers, step, self.steps, batch)?,
        };
        Ok(StepOutcome {
            step,
            loss,
            stepped,
            tokens,
            without_negatives,
            fgsm_seconds,
            named: all_named,
        })
    }

    /// Computes the gradients of a micro-batch, and hands them to the optimiser.
    fn micro_batch(&mut self, step: usize, part: usize, scale: f32) -> Result<MicroBatch> {
        let (batch, micro) = (self.config.optimiser.batch, self.config.optimiser.micro());
        let positions = step * batch + part * micro..step * batch + (part + 1) * micro;
        let places: Vec<(usize, usize)> = positions
            .map(|position| (position, self.order.at(position)))
            .collect();
        let stepper = Step {
            config: self.config,
            entity_inputs: &self.entity_inputs,
            model: &self.model,
            towers: &self.model.towers,
            device: &self.device,
            number: (step * (batch / micro) + part) as u64,
            scale,
        };
        let (optimiser, towers) = (&mut self.optimiser, &self.model.towers);
        let in_chunks = self.config.optimiser.in_chunks();
        match &self.examples {
            Examples::Mentions(all) if self.config.data.task == Task::Rank => {
                let examples: Vec<&Example> = places.iter().map(|(_, at)| &all[*at]).collect();
                let batch = rank_batch(&self.entity_inputs, &examples)?;
                let named = places_of(&batch.mentions);
                let learned = stepper
                    .rank(&batch)?
                    .hand_on(&mut |gradients| optimiser.add(towers, gradients))?;
                Ok(MicroBatch {
                    learned,
                    without_negatives: batch.without_negatives(),
                    named,
                })
            }
            Examples::Mentions(all) => {
                let examples: Vec<_> = places
                    .iter()
                    .map(|(position, at)| (*position, *at, &all[*at]))
                    .collect();
                let batch = link_batch(self.config, &self.entity_inputs, &examples, &self.hard);
                let named = places_of(&batch.mentions);
                let learned = match in_chunks {
                    true => self
                        .replicas
                        .learn(&stepper, optimiser, |step, rank, sink| {
                            step.link_in_chunks(&batch, rank, sink)
                        })?,
                    false => stepper
                        .link(&batch, self.perturbation.as_mut())?
                        .hand_on(&mut |gradients| optimiser.add(towers, gradients))?,
                };
                Ok(MicroBatch {
                    learned,
                    without_negatives: batch.without_negatives(),
                    named,
                })
            }
            Examples::Pairs(all) => {
                let pairs: Vec<_> = places
                    .iter()
                    .map(|(position, at)| (*position, all[*at]))
                    .collect();
                let batch = align_batch(self.config, &self.entity_inputs, &pairs);
                let names = pairs
                    .iter()
                    .filter_map(|(_, pair)| self.entity_inputs.kb.get(pair.concept));
                let learned = match in_chunks {
                    true => self
                        .replicas
                        .learn(&stepper, optimiser, |step, rank, sink| {
                            step.align_in_chunks(&batch, rank, sink)
                        })?,
                    false => stepper
                        .align(&batch)?
                        .hand_on(&mut |gradients| optimiser.add(towers, gradients))?,
                };
                Ok(MicroBatch {
                    learned,
                    without_negatives: 0,
                    named: names.map(|concept| concept.id.clone()).collect(),
                })
            }
        }
    }

    /// Steps between two mining passes.
    fn mine_every(&self) -> usize {
        match self.config.negatives.mine_every {
            0 => self
                .examples
                .len()
                .div_ceil(self.config.optimiser.batch)
                .max(1),
            steps => steps,
        }
    }

    /// Mines hard negatives for the examples until the next mining pass; returns the duration in
    /// seconds.
    fn mine(&mut self, step: usize) -> Result<f64> {
        let began = Instant::now();
        let Examples::Mentions(mentions) = &self.examples else {
            return Ok(0.0);
        };
        let batch = self.config.optimiser.batch;
        let until = (step + self.mine_every()).min(self.steps);
        let mut numbers: Vec<usize> = (step * batch..until * batch)
            .map(|position| self.order.at(position))
            .collect();
        numbers.sort_unstable();
        numbers.dedup();
        let examples: Vec<(usize, &Example)> = numbers
            .into_iter()
            .map(|number| (number, &mentions[number]))
            .collect();
        let kb = encoded_kb(
            &mut self.encoded_kb,
            step,
            &self.model,
            &self.entity_inputs,
            &self.device,
            self.folder,
        )?;
        self.hard = kb.mine(self.config, &self.entity_inputs, &examples)?;
        let seconds = began.elapsed().as_secs_f64();
        self.log.record(&Event::Mining {
            step,
            seconds,
            examples: examples.len(),
        })?;
        Ok(seconds)
    }
}

/// The result of a micro-batch.
struct MicroBatch {
    learned: Learned,
    /// The mentions without negatives.
    without_negatives: usize,
    /// The names of its examples, for error messages.
    named: Vec<String>,
}

/// The places of mentions, for error messages.
fn places_of(mentions: &[&Example]) -> Vec<String> {
    mentions
        .iter()
        .map(|example| example.place.clone())
        .collect()
}

fn not_a_number(what: &str, step: usize, batch: &[String]) -> Error {
    let batch = if batch.is_empty() {
        String::new()
    } else {
        format!("; its batch: {}", batch.join(", "))
    };
    Error::input(format!(
        "the {what} became NaN or infinite at step {}; lower the learning rate, or inspect the batch{batch}",
        step + 1
    ))
}
