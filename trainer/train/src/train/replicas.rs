//! Replicas of a model that learn from a batch together (data parallel training).
//!
//! Each replica has a thread and a device. It encodes its share of the batch, all of them sum what
//! they have (zeros stand for the shares of others), and each goes back through its own share
//! ([`super::step`], `chunks.rs`). The sum of their gradients is that of the whole batch. The first
//! replica has the optimiser, and the others get a copy of its weights at each step.

use super::config::Config;
use super::optimiser::Optimiser;
use super::rank::{Rank, each};
use super::step::{Learned, Sink, Step};
use burn::module::Module;
use burn::tensor::Device;
use pel_kb::error::{Error, Result};
use pel_model::burn::biencoder::BiEncoder;

/// The devices of a run, one for each replica.
pub struct Replicas {
    /// With gradients; the first is that of the run.
    devices: Vec<Device>,
}

impl Replicas {
    /// The devices of `optimiser.replicas` replicas, from that of the run.
    ///
    /// # Errors
    /// If this device cannot have several.
    pub fn open(config: &Config, device: &Device) -> Result<Self> {
        let mut devices = vec![device.clone()];
        for number in 1..config.optimiser.replicas {
            let next = next_device(&device.clone().inner(), number).ok_or_else(|| {
                Error::input(format!(
                    "the configuration: `optimiser.replicas`: expected 1, or --device cpu or cuda \
                     (without --gpu), found {}",
                    config.optimiser.replicas
                ))
            })?;
            let next = next.autodiff();
            devices.push(match config.model.gradient_checkpointing {
                true => next.gradient_checkpointing(),
                false => next,
            });
        }
        Ok(Self { devices })
    }

    /// Learns from a micro-batch on all replicas; `first` is the step of the first one.
    ///
    /// # Errors
    /// That of the first replica that fails.
    pub fn learn(
        &self,
        first: &Step<'_>,
        optimiser: &mut Optimiser,
        learn: impl Fn(&Step<'_>, &Rank<'_>, &mut Sink<'_>) -> Result<Learned> + Sync,
    ) -> Result<Learned> {
        if self.devices.len() == 1 {
            return learn(first, &Rank::alone(), &mut |gradients| {
                optimiser.add(first.towers, gradients)
            });
        }
        let towers: Vec<BiEncoder> = self
            .devices
            .iter()
            .enumerate()
            .map(|(rank, device)| match rank {
                0 => first.towers.clone(),
                // Nodes of its own, so that threads do not wait for each other's graph.
                _ => first.towers.clone().fork(device),
            })
            .collect();
        let begun = optimiser.gradient_sums();
        let devices = self.devices.iter().map(|device| device.clone().inner());
        let results = each(devices.collect(), |rank| {
            let step = Step {
                towers: &towers[rank.number()],
                device: &self.devices[rank.number()],
                ..*first
            };
            let mut sums = begun.clone();
            let learned = learn(&step, rank, &mut |gradients| {
                sums.add(step.towers, gradients)
            })?;
            if !learned.loss.overflowed() {
                sums.reduce(rank, &step.device.clone().inner())?;
            }
            Ok((learned, sums))
        })?;
        let (learned, sums) = results
            .into_iter()
            .next()
            .ok_or_else(|| Error::device("expected a replica, found none"))?;
        if !learned.loss.overflowed() {
            optimiser.add_sums(sums);
        }
        Ok(learned)
    }
}

/// The device of another replica; `None` if there is none beside this one.
fn next_device(first: &Device, number: usize) -> Option<Device> {
    if *first == Device::flex() {
        return Some(first.clone());
    }
    next_card(first, number)
}

/// The NVIDIA GPU of another replica; the first one has number 0.
#[cfg(feature = "cuda")]
fn next_card(first: &Device, number: usize) -> Option<Device> {
    (*first == Device::cuda(0)).then(|| Device::cuda(number))
}

#[cfg(not(feature = "cuda"))]
fn next_card(_: &Device, _: usize) -> Option<Device> {
    None
}
