//! The figures of steps that are not read back yet.
//!
//! A GPU computes later than it is told to, and waiting for a figure leaves it idle. So the losses
//! and the norms of gradients of some steps are read together. Whoever uses the weights, to save,
//! validate or mine with them, reads all figures first ([`Pending::read`]): weights after a loss or
//! gradient that is not finite are neither saved nor used.

use super::differentiable::Figure;
use super::log::{Event, FgsmFigures};
use super::optimiser::StepStats;
use burn::tensor::Device;
use pel_artifacts::memory;
use pel_kb::error::Result;
use std::time::Instant;

/// Steps of a GPU whose figures are read together.
const TOGETHER: usize = 10;

/// The outcome of a training step.
pub struct StepOutcome {
    /// The number of the step, from 0.
    pub step: usize,
    /// The sum of the losses of its examples.
    pub loss: Figure,
    /// What the optimiser found.
    pub stepped: StepStats,
    /// Tokens that went through an encoder with gradients.
    pub tokens: usize,
    /// Examples without a negative.
    pub without_negatives: usize,
    /// Seconds that FGSM took, where they are measured.
    pub fgsm_seconds: Option<f64>,
    /// Its examples, for error messages.
    pub named: Vec<String>,
}

/// A step with its figures.
pub struct Read {
    /// The step.
    pub outcome: StepOutcome,
    /// The sum of the losses of its examples.
    pub loss: f64,
    /// The norm of the gradients before clipping.
    pub gradient_norm: f64,
    /// Its time: of the steps that were read together, the mean.
    pub seconds: f64,
}

impl Read {
    /// What is not finite: the loss, or else the gradient.
    pub fn fault(&self) -> Option<&'static str> {
        match (self.loss.is_finite(), self.gradient_norm.is_finite()) {
            (true, true) => None,
            (true, false) => Some("gradient"),
            (false, _) => Some("loss"),
        }
    }

    /// The event of the step for the log. A step has `batch` examples, and an epoch has `examples`.
    pub fn event(
        &self,
        batch: usize,
        examples: usize,
        device: &Device,
        transformation: Option<[f64; 2]>,
        fgsm: Option<FgsmFigures>,
    ) -> Event {
        let batch = batch as f64;
        let step = self.outcome.step + 1;
        Event::Step {
            step,
            epoch: step as f64 * batch / examples as f64,
            loss: self.loss / batch,
            gradient_norm: self.gradient_norm,
            learning_rate: self.outcome.stepped.learning_rate,
            pairs_per_s: batch / self.seconds,
            tokens_per_s: self.outcome.tokens as f64 / self.seconds,
            without_negatives: self.outcome.without_negatives,
            peak_bytes: memory::peak(),
            device_bytes: memory::of_gpu(device),
            transformation,
            fgsm,
        }
    }
}

/// Steps whose figures are not read back yet, and their time so far.
pub struct Pending {
    every: usize,
    steps: Vec<StepOutcome>,
    seconds: f64,
}

impl Pending {
    /// No steps. `every` is the setting `log.every`; with `at_once` the figures of a step are known
    /// anyway.
    pub fn new(every: usize, at_once: bool) -> Self {
        let every = match (at_once, every) {
            (true, _) => 1,
            (false, 0) => TOGETHER,
            (false, every) => every,
        };
        Self {
            every,
            steps: Vec::new(),
            seconds: 0.0,
        }
    }

    /// Adds a step that took so long to start; tells whether it is time to read.
    pub fn add(&mut self, outcome: StepOutcome, seconds: f64) -> bool {
        self.steps.push(outcome);
        self.seconds += seconds;
        self.steps.len() >= self.every
    }

    /// Waits for the steps and reads their figures, in order.
    ///
    /// # Errors
    /// If the device fails.
    pub fn read(&mut self) -> Result<Vec<Read>> {
        let began = Instant::now();
        let (steps, seconds) = (std::mem::take(&mut self.steps), self.seconds);
        self.seconds = 0.0;
        let figures = steps
            .iter()
            .flat_map(|step| [&step.loss, &step.stepped.gradient_norm])
            .cloned();
        let values = Figure::read(&figures.collect::<Vec<_>>())?;
        let seconds = (seconds + began.elapsed().as_secs_f64()) / steps.len().max(1) as f64;
        let both = steps.into_iter().zip(values.as_chunks::<2>().0);
        let read = both.map(|(outcome, [loss, gradient_norm])| Read {
            outcome,
            loss: *loss,
            gradient_norm: *gradient_norm,
            seconds,
        });
        Ok(read.collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use burn::tensor::Tensor;

    fn outcome(step: usize, loss: f32, norm: f32) -> StepOutcome {
        let figure = |value| {
            let tensor = Tensor::from_floats([value], &Device::flex());
            Figure::of(tensor, false).expect("nothing is read")
        };
        StepOutcome {
            step,
            loss: figure(loss),
            stepped: StepStats {
                gradient_norm: figure(norm),
                learning_rate: 0.5,
            },
            tokens: 7,
            without_negatives: 0,
            fgsm_seconds: None,
            named: vec![format!("example {step}")],
        }
    }

    #[test]
    fn figures_of_steps_are_read_together_and_faults_are_of_their_step() {
        let mut pending = Pending::new(3, false);
        assert!(!pending.add(outcome(4, 1.5, 2.0), 10.0));
        assert!(!pending.add(outcome(5, f32::NAN, f32::INFINITY), 20.0));
        assert!(pending.add(outcome(6, 1.0, f32::INFINITY), 30.0));
        let read = pending.read().expect("the device works");
        let of = |read: &Read| (read.outcome.step, read.fault());
        assert_eq!(
            read.iter().map(of).collect::<Vec<_>>(),
            [(4, None), (5, Some("loss")), (6, Some("gradient"))]
        );
        assert_eq!((read[0].loss, read[0].gradient_norm), (1.5, 2.0));
        // A third of 60 seconds each, and the moment of reading.
        assert!(read.iter().all(|step| (20.0..25.0).contains(&step.seconds)));
        assert!(pending.read().expect("nothing is left").is_empty());
    }

    #[test]
    fn figures_that_are_known_are_read_after_each_step() {
        assert!(Pending::new(0, true).add(outcome(0, 1.0, 1.0), 0.0));
        assert!(Pending::new(7, true).add(outcome(0, 1.0, 1.0), 0.0));
        let mut pending = Pending::new(0, false);
        let due: Vec<bool> = (0..TOGETHER)
            .map(|step| pending.add(outcome(step, 1.0, 1.0), 0.0))
            .collect();
        assert_eq!(due.iter().position(|due| *due), Some(TOGETHER - 1));
    }
}
