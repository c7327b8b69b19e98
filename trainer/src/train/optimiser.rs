//! AdamW over all parameters of a model, with gradients accumulated over micro-batches and
//! clipped by their global norm.
//!
//! On the CPU the moments are plain vectors and a step updates values in place; on a GPU they are
//! tensors.

use super::config::{Optimiser as Options, Schedule};
use super::replicas::Rank;
use crate::io::tensors::{NamedTensor, to_bytes};
use crate::train::differentiable::{Numbers, differentiable, floats};
use crate::train::loss_scale::Scale;
use burn::module::{Module, ModuleMapper, ModuleVisitor, Param};
use burn::tensor::{Device, Gradients, Tensor, TensorData};
use bytes::Bytes;
use pel_shared::error::{Error, Result};
use pel_shared::kernels::{AdamW, Isa, adamw, add_to, sum_of_squares};
use safetensors::tensor::SafeTensors;

/// The optimiser's state of one parameter.
#[derive(Clone, Debug)]
struct Slot {
    path: String,
    /// Whether weight decay applies: not to biases and LayerNorms (as in BLINK).
    decays: bool,
    count: usize,
    first: Numbers,
    second: Numbers,
    gradient: Option<Numbers>,
    /// The learning rate as a multiple of that of the run.
    rate: f64,
}

/// The optimiser's state.
pub struct Optimiser {
    options: Options,
    slots: Vec<Slot>,
    device: Device,
    on_host: bool,
    /// The loss scale, for half-precision floats.
    pub scale: Option<Scale>,
}

/// The statistics of a step.
#[derive(Clone, Copy, Debug)]
pub struct StepStats {
    /// The norm of the gradients before clipping.
    pub gradient_norm: f64,
    /// The learning rate.
    pub learning_rate: f64,
}

/// The learning rate of step `step` (from 0) of `steps`. It rises linearly during the warm-up;
/// under the linear schedule it then falls to `learning_rate / (steps - warmup)` at the last step.
pub fn learning_rate(options: &Options, step: usize, steps: usize) -> f64 {
    let warmup = (options.warmup * steps as f64).round() as usize;
    let share = match options.schedule {
        _ if step < warmup => (step + 1) as f64 / warmup as f64,
        Schedule::Constant => 1.0,
        Schedule::Linear => (steps.saturating_sub(step)) as f64 / (steps - warmup).max(1) as f64,
    };
    options.learning_rate * share
}

impl Optimiser {
    /// An optimiser for the parameters of a model, with moments of zero.
    pub fn new(options: &Options, towers: &impl Module, device: &Device) -> Self {
        let device = device.clone().inner();
        let on_host = device == Device::flex();
        let mut slots = Slots {
            path: Vec::new(),
            slots: Vec::new(),
            on_host,
            device: &device,
        };
        towers.visit(&mut slots);
        let slots = slots.slots;
        Self {
            options: options.clone(),
            slots,
            device,
            on_host,
            scale: None,
        }
    }

    /// The optimiser with another learning rate for the parameters of a part of the model, as a
    /// multiple of that of the run.
    #[must_use]
    pub fn with_rate(mut self, part: &str, rate: f64) -> Self {
        for slot in &mut self.slots {
            if slot.path.split('.').next() == Some(part) {
                slot.rate = rate;
            }
        }
        self
    }

    /// Accumulates the gradients of a micro-batch.
    ///
    /// # Errors
    /// If the device fails.
    pub fn add(&mut self, towers: &impl Module, gradients: &mut Gradients) -> Result<()> {
        let sums = self.slots.iter_mut().map(|slot| &mut slot.gradient);
        collect(sums, towers, gradients, self.on_host)
    }

    /// Sums of gradients for a replica of the model, of nothing so far.
    pub fn gradient_sums(&self) -> GradientSums {
        GradientSums {
            sums: vec![None; self.slots.len()],
            counts: self.slots.iter().map(|slot| slot.count).collect(),
            on_host: self.on_host,
        }
    }

    /// The accumulated gradients of each parameter; none where there is no gradient.
    #[cfg(test)]
    pub fn accumulated(&self) -> Vec<Vec<f32>> {
        let values = |numbers: &Numbers| numbers.to_vec().expect("the device works");
        let gradients = self.slots.iter().map(|slot| slot.gradient.as_ref());
        gradients
            .map(|gradient| gradient.map(values).unwrap_or_default())
            .collect()
    }

    /// Accumulates the sums of a replica on this device.
    pub fn add_sums(&mut self, sums: GradientSums) {
        for (slot, more) in self.slots.iter_mut().zip(sums.sums) {
            if let Some(more) = more {
                slot.gradient = Some(plus(slot.gradient.take(), more));
            }
        }
    }

    /// Updates the parameters by the mean of the accumulated gradients over `examples`, without the
    /// loss scale, and clears them. If their norm is not finite, no parameter changes.
    ///
    /// # Errors
    /// If the device fails.
    pub fn step(
        &mut self,
        towers: &mut impl Module,
        step: usize,
        steps: usize,
        examples: usize,
    ) -> Result<StepStats> {
        let scale = self.scale.map_or(1.0, |scale| scale.factor());
        let mean = 1.0 / (examples as f64 * f64::from(scale));
        let norm = self.norm()? * mean;
        let clip = self.options.clip;
        let clipped = if clip > 0.0 && norm > clip {
            clip / norm
        } else {
            1.0
        };
        let rate = learning_rate(&self.options, step, steps);
        let stepped = StepStats {
            gradient_norm: norm,
            learning_rate: rate,
        };
        if !norm.is_finite() {
            self.forget();
            return Ok(stepped);
        }
        self.scale.as_mut().map(Scale::hold);
        let adamw = AdamW {
            rate: rate as f32,
            beta_1: self.options.betas[0] as f32,
            beta_2: self.options.betas[1] as f32,
            epsilon: self.options.epsilon as f32,
            decay: 0.0,
            step: step as u32 + 1,
            scale: (mean * clipped) as f32,
        };
        let decay = self.options.weight_decay as f32;
        let mut change = Change {
            slots: self.slots.iter_mut(),
            adamw,
            decay,
            failed: None,
        };
        // Burn updates a tensor in place only if nothing else refers to it, so the towers are moved
        // out meanwhile.
        let hollow = towers.clone().map(&mut Hollow);
        *towers = std::mem::replace(towers, hollow).map(&mut change);
        change.failed.map_or(Ok(stepped), Err)
    }

    /// Clears the accumulated gradients without an update, because another gradient of the step is
    /// not finite.
    pub fn skip(&mut self, step: usize, steps: usize) -> StepStats {
        self.forget();
        StepStats {
            gradient_norm: f64::INFINITY,
            learning_rate: learning_rate(&self.options, step, steps),
        }
    }

    fn forget(&mut self) {
        self.slots.iter_mut().for_each(|slot| slot.gradient = None);
    }

    /// The global norm of all gradients.
    fn norm(&self) -> Result<f64> {
        let mut sum = 0.0;
        let mut on_device: Option<Tensor<1>> = None;
        for gradient in self.slots.iter().filter_map(|slot| slot.gradient.as_ref()) {
            match gradient {
                Numbers::Host(values) => sum += sum_of_squares(Isa::best(), values),
                Numbers::Device(tensor) => {
                    let square = Tensor::clone(tensor).powi_scalar(2).sum();
                    on_device = Some(on_device.map_or(square.clone(), |all| all + square));
                }
            }
        }
        if let Some(all) = on_device {
            sum += floats(all)?.first().copied().map_or(0.0, f64::from);
        }
        Ok(sum.sqrt())
    }

    /// The moments as a safetensors file.
    ///
    /// # Errors
    /// If the device fails.
    pub fn to_safetensors(&self) -> Result<Vec<u8>> {
        let mut all = Vec::new();
        for slot in &self.slots {
            all.push((format!("{}.first", slot.path), slot.first.to_vec()?));
            all.push((format!("{}.second", slot.path), slot.second.to_vec()?));
        }
        let tensors = all
            .iter()
            .map(|(name, values)| NamedTensor::floats(name, vec![values.len()], values));
        to_bytes(&tensors.collect::<Vec<_>>())
    }

    /// Loads the moments from a safetensors file.
    ///
    /// # Errors
    /// If it is truncated, or belongs to other parameters.
    pub fn load(&mut self, file: &Bytes) -> Result<()> {
        let all = SafeTensors::deserialize(file)
            .map_err(|cause| Error::artifact("the optimiser's state").caused_by(cause))?;
        let (on_host, device) = (self.on_host, self.device.clone());
        let read = |name: String, count: usize| {
            let view = all
                .tensor(&name)
                .map_err(|cause| Error::artifact(format!("`{name}`")).caused_by(cause))?;
            let values: Vec<f32> = view
                .data()
                .as_chunks::<4>()
                .0
                .iter()
                .map(|bytes| f32::from_le_bytes(*bytes))
                .collect();
            if values.len() != count {
                let found = values.len();
                return Err(Error::artifact(format!(
                    "`{name}`: expected {count} values, found {found}"
                )));
            }
            Ok(Numbers::from_vec(values, on_host, &device))
        };
        for slot in &mut self.slots {
            slot.first = read(format!("{}.first", slot.path), slot.count)?;
            slot.second = read(format!("{}.second", slot.path), slot.count)?;
        }
        Ok(())
    }
}

/// Creates the state of each parameter.
struct Slots<'a> {
    path: Vec<String>,
    slots: Vec<Slot>,
    on_host: bool,
    device: &'a Device,
}

impl ModuleVisitor for Slots<'_> {
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        let count = param.val().dims().iter().product();
        let zeros = || Numbers::zeros(count, self.on_host, self.device);
        let (first, second) = (zeros(), zeros());
        self.slots.push(Slot {
            path: self.path.join("."),
            decays: D >= 2,
            count,
            first,
            second,
            gradient: None,
            rate: 1.0,
        });
    }

    fn enter_module(&mut self, name: &str, _: &str) {
        self.path.push(name.to_owned());
    }

    fn exit_module(&mut self, _: &str, _: &str) {
        self.path.pop();
    }
}

/// The gradients of a replica, accumulated.
#[derive(Clone)]
pub struct GradientSums {
    sums: Vec<Option<Numbers>>,
    counts: Vec<usize>,
    on_host: bool,
}

impl GradientSums {
    /// Accumulates the gradients of a chunk.
    ///
    /// # Errors
    /// If the device fails.
    pub fn add(&mut self, towers: &impl Module, gradients: &mut Gradients) -> Result<()> {
        collect(self.sums.iter_mut(), towers, gradients, self.on_host)
    }

    /// Adds the gradients of all replicas. Parameters that none has a gradient for are left out.
    ///
    /// # Errors
    /// If the device fails, or another replica has ended.
    pub fn reduce(&mut self, rank: &Rank<'_>, device: &Device) -> Result<()> {
        let tensor = |values: Vec<f32>| {
            let count = values.len();
            Tensor::<1>::from_data(TensorData::new(values, [count]), device)
        };
        let has = |sum: &Option<Numbers>| f32::from(u8::from(sum.is_some()));
        let found = floats(rank.sum(tensor(self.sums.iter().map(has).collect()))?)?;
        for ((sum, count), found) in self.sums.iter_mut().zip(&self.counts).zip(found) {
            if found == 0.0 {
                continue;
            }
            let all = rank.sum(match sum.take() {
                Some(Numbers::Host(values)) => tensor(values),
                Some(Numbers::Device(values)) => *values,
                None => Tensor::zeros([*count], device),
            })?;
            *sum = Some(match self.on_host {
                true => Numbers::Host(floats(all)?),
                false => Numbers::Device(Box::new(all)),
            });
        }
        Ok(())
    }
}

/// Adds two lists of numbers of one kind.
fn plus(sum: Option<Numbers>, more: Numbers) -> Numbers {
    match (sum, more) {
        (Some(Numbers::Host(mut sum)), Numbers::Host(values)) => {
            add_to(&mut sum, &values);
            Numbers::Host(sum)
        }
        (Some(Numbers::Device(sum)), Numbers::Device(tensor)) => {
            Numbers::Device(Box::new(*sum + *tensor))
        }
        (_, more) => more,
    }
}

/// Adds gradients to the sums of the parameters.
fn collect<'a>(
    sums: impl Iterator<Item = &'a mut Option<Numbers>>,
    towers: &impl Module,
    gradients: &mut Gradients,
    on_host: bool,
) -> Result<()> {
    let mut collect = Collect {
        sums,
        gradients,
        on_host,
        failed: None,
    };
    towers.visit(&mut collect);
    collect.failed.map_or(Ok(()), Err)
}

/// Accumulates gradients.
struct Collect<'g, I> {
    sums: I,
    gradients: &'g mut Gradients,
    on_host: bool,
    failed: Option<Error>,
}

impl<'a, I: Iterator<Item = &'a mut Option<Numbers>>> ModuleVisitor for Collect<'_, I> {
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        let (Some(sum), Some(gradient)) =
            (self.sums.next(), param.val().grad_remove(self.gradients))
        else {
            return;
        };
        let gradient = match self.on_host {
            false => {
                let count = gradient.dims().iter().product::<usize>();
                Numbers::Device(Box::new(gradient.reshape([count])))
            }
            true => match floats(gradient) {
                Ok(values) => Numbers::Host(values),
                Err(error) => {
                    self.failed.get_or_insert(error);
                    return;
                }
            },
        };
        *sum = Some(plus(sum.take(), gradient));
    }
}

/// Leaves a single zero of each parameter.
struct Hollow;

impl ModuleMapper for Hollow {
    fn map_float<const D: usize>(&mut self, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
        param.map(|tensor| Tensor::zeros([1; D], &tensor.device()))
    }
}

/// Changes the parameters.
struct Change<'a> {
    slots: std::slice::IterMut<'a, Slot>,
    adamw: AdamW,
    decay: f32,
    failed: Option<Error>,
}

impl ModuleMapper for Change<'_> {
    fn map_float<const D: usize>(&mut self, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
        let Some(slot) = self.slots.next() else {
            return param;
        };
        let Some(gradient) = slot.gradient.take() else {
            return param;
        };
        let adamw_of = AdamW {
            decay: if slot.decays { self.decay } else { 0.0 },
            rate: self.adamw.rate * slot.rate as f32,
            ..self.adamw
        };
        let (id, tensor, mapper) = param.consume();
        let (shape, device) = (tensor.dims(), tensor.device());
        let changed = match (&mut slot.first, &mut slot.second, gradient) {
            (Numbers::Host(first), Numbers::Host(second), Numbers::Host(gradient)) => {
                match floats(tensor.inner()) {
                    Ok(mut values) => {
                        adamw(Isa::best(), adamw_of, &mut values, first, second, &gradient);
                        Tensor::from_data(TensorData::new(values, shape), &device)
                    }
                    Err(error) => {
                        self.failed.get_or_insert(error);
                        Tensor::zeros(shape, &device)
                    }
                }
            }
            (Numbers::Device(first), Numbers::Device(second), Numbers::Device(gradient)) => {
                let strategy = tensor.gradient_checkpointing_strategy();
                let values = tensor.inner().reshape([slot.count]);
                differentiable(
                    on_device(adamw_of, values, first, second, *gradient).reshape(shape),
                    strategy,
                )
            }
            // All numbers of an optimiser are of one kind.
            _ => tensor,
        };
        Param::from_mapped_value(id, changed.require_grad(), mapper)
    }
}

/// [`adamw`] in a device's own operations; returns the values.
fn on_device(
    options: AdamW,
    values: Tensor<1>,
    first: &mut Tensor<1>,
    second: &mut Tensor<1>,
    gradient: Tensor<1>,
) -> Tensor<1> {
    let AdamW {
        rate,
        beta_1,
        beta_2,
        epsilon,
        decay,
        step,
        scale,
    } = options;
    let left = |beta: f32| 1.0 - f64::from(beta).powf(f64::from(step));
    let gradient = gradient * scale;
    *first = first.clone() * beta_1 + gradient.clone() * (1.0 - beta_1);
    *second = second.clone() * beta_2 + gradient.powi_scalar(2) * (1.0 - beta_2);
    let root = second.clone().sqrt() / left(beta_2).sqrt() + epsilon;
    let change = first.clone() / root * (f64::from(rate) / left(beta_1));
    values * (1.0 - rate * decay) - change
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changed_weights_meet_the_inputs_of_a_checkpointed_run() {
        // As on a GPU: moments and gradients are tensors.
        let device = Device::flex();
        let on_device =
            |values: [f32; 2]| Numbers::Device(Box::new(Tensor::from_floats(values, &device)));
        let mut slots = [Slot {
            path: String::new(),
            decays: false,
            count: 2,
            first: on_device([0.0; 2]),
            second: on_device([0.0; 2]),
            gradient: Some(on_device([1.0, -1.0])),
            rate: 1.0,
        }];
        let adamw = AdamW {
            rate: 0.5,
            beta_1: 0.9,
            beta_2: 0.99,
            epsilon: 1e-8,
            decay: 0.0,
            step: 1,
            scale: 1.0,
        };
        let mut change = Change {
            slots: slots.iter_mut(),
            adamw,
            decay: 0.0,
            failed: None,
        };
        let checkpointed = device.clone().autodiff().gradient_checkpointing();
        let weight = Param::from_tensor(Tensor::<1>::from_floats([1.0, 1.0], &checkpointed));
        let changed = change.map_float(weight).val();
        let met = changed.clone() * Tensor::<1>::from_floats([1.0, 2.0], &checkpointed);
        let gradient = changed
            .grad(&met.sum().backward())
            .expect("a weight has a gradient");
        assert_eq!(floats(gradient).expect("floats"), [1.0, 2.0]);
        let values = floats(changed.inner()).expect("floats");
        assert!(
            (values[0] - 0.5).abs() < 1e-6 && (values[1] - 1.5).abs() < 1e-6,
            "{values:?}"
        );
    }

    #[test]
    fn the_rate_rises_and_falls() {
        let options = Options {
            learning_rate: 1.0,
            warmup: 0.25,
            ..Options::default()
        };
        let rates: Vec<f64> = (0..8)
            .map(|step| learning_rate(&options, step, 8))
            .collect();
        assert_eq!(
            rates,
            [
                0.5,
                1.0,
                1.0,
                5.0 / 6.0,
                4.0 / 6.0,
                0.5,
                2.0 / 6.0,
                1.0 / 6.0
            ]
        );
        let constant = Options {
            schedule: Schedule::Constant,
            ..options
        };
        assert_eq!(learning_rate(&constant, 7, 8), 1.0);
        assert_eq!(
            learning_rate(
                &Options {
                    warmup: 0.0,
                    ..constant
                },
                0,
                8
            ),
            1.0
        );
    }
}
