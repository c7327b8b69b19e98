//! What FGSM costs: the seconds of a micro-batch by phase.

use super::Step;
use burn::tensor::Device;
use pel_kb::error::{Error, Result};
use std::time::Instant;

/// A GPU computes later than it is told to, and waiting for it at the end of each phase costs time.
/// There only one step of so many is measured, not the first ones, which compile kernels.
const EVERY: u64 = 50;
const MEASURED: u64 = 9;

/// Whether FGSM is measured in this step on a GPU.
pub(in crate::train) fn is_measured(step: u64) -> bool {
    step % EVERY == MEASURED
}

/// The phases of a micro-batch.
#[derive(Clone, Copy)]
pub(super) enum Phase {
    /// The forward pass without FGSM.
    Plain,
    /// The direction of each perturbation: a forward and a backward pass.
    Direction,
    /// The forward pass over perturbed entities.
    Perturbed,
    /// The backward pass of both losses.
    Backward,
    /// Anything else.
    Other,
}

/// A clock of the phases.
pub(super) struct Clock {
    measures: bool,
    /// The device, if it computes later than it is told to.
    device: Option<Device>,
    last: Instant,
    seconds: [f64; 5],
}

impl Clock {
    /// Ends a phase.
    ///
    /// # Errors
    /// If the device fails.
    pub fn end(&mut self, phase: Phase) -> Result<()> {
        if self.measures {
            if let Some(device) = &self.device {
                device.sync().map_err(|cause| {
                    Error::device("waiting for the device").caused_by(cause.to_string())
                })?;
            }
            let now = Instant::now();
            self.seconds[phase as usize] += now.duration_since(self.last).as_secs_f64();
            self.last = now;
        }
        Ok(())
    }

    /// Seconds of FGSM: the direction, the perturbed pass, and of the backward pass, which is one
    /// for both losses, the part that the perturbed pass has of the forward passes.
    pub fn fgsm(&self) -> Option<f64> {
        let [plain, direction, perturbed, backward, _] = self.seconds;
        let of_backward = backward * perturbed / (plain + perturbed);
        self.measures.then_some(direction + perturbed + of_backward)
    }
}

impl Step<'_> {
    /// Starts a clock, which measures only with FGSM.
    ///
    /// # Errors
    /// If the device fails.
    pub(super) fn clock(&self) -> Result<Clock> {
        let device = self.device.clone().inner();
        let on_host = device == Device::flex();
        let options = &self.config.optimiser;
        let step = self.number / (options.batch / options.micro()).max(1) as u64;
        let mut clock = Clock {
            measures: self.config.fgsm.lambda > 0.0 && (on_host || is_measured(step)),
            device: (!on_host).then_some(device),
            last: Instant::now(),
            seconds: [0.0; 5],
        };
        // What was told before is not of this micro-batch.
        clock.end(Phase::Other)?;
        Ok(clock)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn backward_pass_is_shared_by_the_forward_passes() {
        let mut clock = Clock {
            measures: true,
            device: None,
            last: Instant::now(),
            seconds: [1.0, 4.0, 3.0, 8.0, 100.0],
        };
        // Three quarters of the backward pass are FGSM's.
        assert_eq!(clock.fgsm(), Some(4.0 + 3.0 + 6.0));
        clock.measures = false;
        assert_eq!(clock.fgsm(), None);
    }
}
