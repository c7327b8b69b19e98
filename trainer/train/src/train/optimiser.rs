//! AdamW over all parameters of a model, with gradients accumulated over micro-batches and
//! clipped by their global norm.
//!
//! On the CPU the moments are plain vectors and a step updates values in place. On a GPU they are
//! tensors, in groups (`Group`), and neither clipping nor the update reads anything back.
//!
//! Burn's AdamW clips the gradient of each tensor alone. The papers clip the norm of all gradients.

use super::config::{Optimiser as Options, Schedule};
use super::rank::Rank;
use crate::train::differentiable::{Figure, Numbers, differentiable, floats};
use crate::train::groups::{Group, MOST};
use crate::train::loss_scale::Scale;
use burn::module::{Module, ModuleMapper, ModuleVisitor, Param};
use burn::tensor::{Device, Gradients, Tensor, TensorData};
use bytes::Bytes;
use pel_artifacts::tensors::{NamedTensor, to_bytes};
use pel_kb::error::{Error, Result};
use pel_kernels::{AdamW, Isa, adamw, add_to, sum_of_squares};
use safetensors::tensor::SafeTensors;

/// The optimiser's state of one parameter.
#[derive(Clone, Debug)]
struct Slot {
    path: String,
    /// Whether weight decay applies: not to biases and LayerNorms (as in BLINK).
    decays: bool,
    count: usize,
    /// The moments; empty while a group has them.
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
    /// On a GPU: the parameters that had a gradient in the last step.
    groups: Vec<Group>,
    device: Device,
    on_host: bool,
    /// The loss scale, for half-precision floats.
    pub scale: Option<Scale>,
}

/// The statistics of a step.
#[derive(Clone, Debug)]
pub struct StepStats {
    /// The norm of the gradients before clipping.
    pub gradient_norm: Figure,
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
            groups: Vec::new(),
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
    /// loss scale, and clears them. If their norm is known not to be finite, no parameter changes.
    /// It is known on the processor, and with a loss scale, where a step with another one repeats
    /// an overflow.
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
        let gradients = self.grouped_gradients();
        let gradient_norm = self.norm(&gradients, mean)?;
        let rate = learning_rate(&self.options, step, steps);
        let stepped = StepStats {
            gradient_norm: gradient_norm.clone(),
            learning_rate: rate,
        };
        if gradient_norm.overflowed() {
            self.forget();
            return Ok(stepped);
        }
        self.scale.as_mut().map(Scale::hold);
        let factor = factor(&gradient_norm, self.options.clip, mean);
        let adamw = AdamW {
            rate: rate as f32,
            beta_1: self.options.betas[0] as f32,
            beta_2: self.options.betas[1] as f32,
            epsilon: self.options.epsilon as f32,
            decay: 0.0,
            step: step as u32 + 1,
            scale: match &factor {
                Figure::Known(factor) => *factor as f32,
                Figure::Awaited(_) => 1.0,
            },
        };
        let decay = self.options.weight_decay as f32;
        let gradients = match factor {
            Figure::Known(_) => gradients,
            Figure::Awaited(factor) => gradients
                .into_iter()
                .map(|gradient| gradient * Tensor::clone(&factor))
                .collect(),
        };
        let changed = self.change_groups(&*towers, gradients, adamw, decay);
        let mut change = Change {
            slots: self.slots.iter_mut(),
            changed: changed.into_iter(),
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

    /// On a GPU: groups the parameters that have a gradient, and moves the gradients of each group
    /// into one tensor.
    fn grouped_gradients(&mut self) -> Vec<Tensor<1>> {
        if self.on_host {
            return Vec::new();
        }
        // Learning rate and decay, how many values, and the parameters.
        let mut wanted: Vec<((bool, u64), usize, Vec<usize>)> = Vec::new();
        for (number, slot) in self.slots.iter().enumerate() {
            if slot.gradient.is_none() {
                continue;
            }
            let kind = (slot.decays, slot.rate.to_bits());
            let found = wanted
                .iter_mut()
                .find(|(other, count, _)| *other == kind && *count + slot.count <= MOST);
            match found {
                Some((_, count, members)) => {
                    *count += slot.count;
                    members.push(number);
                }
                None => wanted.push((kind, slot.count, vec![number])),
            }
        }
        let as_before = self.groups.iter().map(|group| &group.members);
        if !as_before.eq(wanted.iter().map(|(_, _, members)| members)) {
            self.ungroup();
            for (_, _, members) in wanted {
                let moments = members.iter().filter_map(|number| {
                    let slot = &mut self.slots[*number];
                    let take = |numbers: &mut Numbers| match std::mem::replace(
                        numbers,
                        Numbers::Host(Vec::new()),
                    ) {
                        Numbers::Device(tensor) => Some(*tensor),
                        Numbers::Host(_) => None,
                    };
                    Some([take(&mut slot.first)?, take(&mut slot.second)?])
                });
                let moments = moments.collect();
                self.groups.push(Group::new(members, moments));
            }
        }
        let Self { groups, slots, .. } = self;
        let flat = groups.iter().map(|group| {
            let own = group.members.iter().filter_map(|number| {
                match slots[*number].gradient.take() {
                    Some(Numbers::Device(tensor)) => Some(*tensor),
                    // All numbers of an optimiser are of one kind.
                    _ => None,
                }
            });
            Tensor::cat(own.collect(), 0)
        });
        flat.collect()
    }

    /// Gives the moments of the groups back to their parameters.
    fn ungroup(&mut self) {
        for group in std::mem::take(&mut self.groups) {
            for (number, [first, second]) in group.members.iter().zip(group.moments()) {
                let slot = &mut self.slots[*number];
                slot.first = Numbers::Device(Box::new(first));
                slot.second = Numbers::Device(Box::new(second));
            }
        }
    }

    /// Updates the moments of the groups, and returns the new values of each parameter, of which
    /// those without a gradient have none. Without groups, on the processor, nothing.
    fn change_groups(
        &mut self,
        towers: &impl Module,
        gradients: Vec<Tensor<1>>,
        adamw: AdamW,
        decay: f32,
    ) -> Vec<Option<Tensor<1>>> {
        if self.groups.is_empty() {
            return Vec::new();
        }
        let mut values = Values(Vec::with_capacity(self.slots.len()));
        towers.visit(&mut values);
        let values = values.0;
        let mut changed: Vec<Option<Tensor<1>>> = vec![None; self.slots.len()];
        for (group, gradient) in self.groups.iter_mut().zip(gradients) {
            let Some(slot) = group.members.first().map(|number| &self.slots[*number]) else {
                continue;
            };
            let options = slot.options(adamw, decay);
            let own = group.members.iter().map(|number| values[*number].clone());
            let own: Vec<Tensor<1>> = own.collect();
            let own = group.step(options, own, gradient);
            for (number, own) in group.members.iter().zip(own) {
                changed[*number] = Some(own);
            }
        }
        changed
    }

    /// Clears the accumulated gradients without an update, because another gradient of the step is
    /// not finite.
    pub fn skip(&mut self, step: usize, steps: usize) -> StepStats {
        self.forget();
        StepStats {
            gradient_norm: Figure::Known(f64::INFINITY),
            learning_rate: learning_rate(&self.options, step, steps),
        }
    }

    fn forget(&mut self) {
        self.slots.iter_mut().for_each(|slot| slot.gradient = None);
    }

    /// The global norm of all mean gradients. `grouped` are those of the groups.
    fn norm(&self, grouped: &[Tensor<1>], mean: f64) -> Result<Figure> {
        let squares = grouped
            .iter()
            .map(|gradient| gradient.clone().powi_scalar(2).sum());
        if let Some(all) = squares.reduce(|all, more| all + more) {
            return Ok(match self.scale {
                Some(_) => Figure::Known(Figure::of(all, true)?.value()?.sqrt() * mean),
                None => Figure::Awaited(Box::new(all.sqrt() * mean)),
            });
        }
        let mut sum = 0.0;
        for slot in &self.slots {
            if let Some(Numbers::Host(values)) = &slot.gradient {
                sum += sum_of_squares(Isa::best(), values);
            }
        }
        Ok(Figure::Known(sum.sqrt() * mean))
    }

    /// The moments as a safetensors file.
    ///
    /// # Errors
    /// If the device fails.
    pub fn to_safetensors(&self) -> Result<Vec<u8>> {
        let mut grouped: Vec<Option<[Tensor<1>; 2]>> = vec![None; self.slots.len()];
        for group in &self.groups {
            for (number, own) in group.members.iter().zip(group.moments()) {
                grouped[*number] = Some(own);
            }
        }
        let mut all = Vec::new();
        for (slot, grouped) in self.slots.iter().zip(grouped) {
            let [first, second] = match grouped {
                Some([first, second]) => [floats(first)?, floats(second)?],
                None => [slot.first.to_vec()?, slot.second.to_vec()?],
            };
            all.push((format!("{}.first", slot.path), first));
            all.push((format!("{}.second", slot.path), second));
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
        self.groups.clear();
        for slot in &mut self.slots {
            slot.first = read(format!("{}.first", slot.path), slot.count)?;
            slot.second = read(format!("{}.second", slot.path), slot.count)?;
        }
        Ok(())
    }
}

impl Slot {
    /// The options of AdamW for this parameter.
    fn options(&self, adamw: AdamW, decay: f32) -> AdamW {
        AdamW {
            decay: if self.decays { decay } else { 0.0 },
            rate: adamw.rate * self.rate as f32,
            ..adamw
        }
    }
}

/// What summed gradients are multiplied by: their mean, clipped to a norm unless `clip` is 0.
fn factor(norm: &Figure, clip: f64, mean: f64) -> Figure {
    match norm {
        Figure::Known(norm) if clip > 0.0 && *norm > clip => Figure::Known(mean * (clip / norm)),
        Figure::Awaited(norm) if clip > 0.0 => {
            let share = Tensor::clone(norm).recip() * clip;
            Figure::Awaited(Box::new(share.clamp_max(1.0) * mean))
        }
        _ => Figure::Known(mean),
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

/// Takes the values of each parameter.
struct Values(Vec<Tensor<1>>);

impl ModuleVisitor for Values {
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        let tensor = param.val().inner();
        let count: usize = tensor.dims().iter().product();
        self.0.push(tensor.reshape([count]));
    }
}

/// Changes the parameters.
struct Change<'a> {
    slots: std::slice::IterMut<'a, Slot>,
    /// On a GPU: the new values of each parameter.
    changed: std::vec::IntoIter<Option<Tensor<1>>>,
    adamw: AdamW,
    decay: f32,
    failed: Option<Error>,
}

impl ModuleMapper for Change<'_> {
    fn map_float<const D: usize>(&mut self, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
        let Some(slot) = self.slots.next() else {
            return param;
        };
        let (changed, gradient) = (self.changed.next().flatten(), slot.gradient.take());
        if changed.is_none() && gradient.is_none() {
            return param;
        }
        let adamw_of = slot.options(self.adamw, self.decay);
        let (id, tensor, mapper) = param.consume();
        let (shape, device) = (tensor.dims(), tensor.device());
        let changed = match (changed, &mut slot.first, &mut slot.second, gradient) {
            (Some(values), ..) => {
                let strategy = tensor.gradient_checkpointing_strategy();
                differentiable(values.reshape(shape), strategy)
            }
            (None, Numbers::Host(first), Numbers::Host(second), Some(Numbers::Host(gradient))) => {
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
            // All numbers of an optimiser are of one kind.
            _ => tensor,
        };
        Param::from_mapped_value(id, changed.require_grad(), mapper)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Module, Debug)]
    struct Three {
        weight: Param<Tensor<2>>,
        bias: Param<Tensor<1>>,
        unused: Param<Tensor<1>>,
    }

    impl Three {
        fn new(device: &Device) -> Self {
            let flat = |values: &[f32]| Tensor::<1>::from_floats(values, device);
            Self {
                weight: Param::from_tensor(flat(&[1.0, -2.0, 0.5, 4.0]).reshape([2, 2])),
                bias: Param::from_tensor(flat(&[0.25, 0.0])),
                unused: Param::from_tensor(flat(&[3.0])),
            }
        }

        /// The gradients of the sum of the weights times 3 and of the biases times 4.
        fn gradients(&self) -> Gradients {
            let sum = self.weight.val().sum() * 3.0 + self.bias.val().sum() * 4.0;
            sum.backward()
        }

        fn values(&self) -> Vec<f32> {
            let mut values = Values(Vec::new());
            self.visit(&mut values);
            let all = values.0.into_iter().map(|own| floats(own).expect("floats"));
            all.flatten().collect()
        }
    }

    /// An optimiser whose numbers are tensors, as on a GPU.
    fn on_device(options: &Options, towers: &Three, device: &Device) -> Optimiser {
        let mut optimiser = Optimiser::new(options, towers, device);
        optimiser.on_host = false;
        for slot in &mut optimiser.slots {
            let zeros = || Numbers::zeros(slot.count, false, &device.clone().inner());
            (slot.first, slot.second) = (zeros(), zeros());
        }
        optimiser
    }

    #[test]
    fn step_on_a_gpu_equals_that_on_the_processor_and_reads_nothing() {
        let options = Options {
            clip: 0.5,
            learning_rate: 0.1,
            weight_decay: 0.5,
            warmup: 0.0,
            ..Options::default()
        };
        let device = Device::flex().autodiff();
        let (mut one, mut other) = (Three::new(&device), Three::new(&device));
        let mut here = Optimiser::new(&options, &one, &device);
        let mut there = on_device(&options, &other, &device);
        for step in 0..3 {
            here.add(&one, &mut one.gradients()).expect("added");
            there.add(&other, &mut other.gradients()).expect("added");
            if step == 2 {
                // Larger than what is clipped before, and with moments of a checkpoint.
                here.add(&one, &mut one.gradients()).expect("added");
                there.add(&other, &mut other.gradients()).expect("added");
                let saved = Bytes::from(there.to_safetensors().expect("read"));
                there.load(&saved).expect("its own");
            }
            let here = here.step(&mut one, step, 4, 2).expect("stepped");
            let there = there.step(&mut other, step, 4, 2).expect("stepped");
            assert!(matches!(there.gradient_norm, Figure::Awaited(_)));
            // Four weights with 3, two biases with 4, of two examples.
            let norm = if step == 2 {
                68.0f64.sqrt()
            } else {
                17.0f64.sqrt()
            };
            for stepped in [here, there] {
                let found = stepped.gradient_norm.value().expect("read");
                assert!((found - norm).abs() < 1e-5, "{found}, expected {norm}");
            }
            let (one, other) = (one.values(), other.values());
            assert_eq!(one[6], 3.0);
            let near = |(one, other): (&f32, &f32)| (one - other).abs() < 1e-5;
            assert!(one.iter().zip(&other).all(near), "{one:?} {other:?}");
        }
        // Weights and biases, which have no decay; what has no gradient is in no group.
        let members: Vec<&[usize]> = there
            .groups
            .iter()
            .map(|group| &group.members[..])
            .collect();
        assert_eq!(members, [&[0usize][..], &[1]]);
        assert_eq!(there.slots[2].first.to_vec().expect("read"), [0.0]);
        assert_eq!(
            there.to_safetensors().expect("read").len(),
            here.to_safetensors().expect("read").len()
        );
    }

    #[test]
    fn overflow_changes_nothing_where_it_is_repeated_and_is_read_later_elsewhere() {
        let device = Device::flex().autodiff();
        let options = Options::default();
        let overflowing = |towers: &Three| (towers.weight.val().sum() * f32::INFINITY).backward();
        let mut towers = Three::new(&device);
        let before = towers.values();
        let mut scaled = on_device(&options, &towers, &device);
        scaled.scale = Scale::begin(pel_model::layer::Precision::F16);
        scaled
            .add(&towers, &mut overflowing(&towers))
            .expect("added");
        let stepped = scaled.step(&mut towers, 0, 4, 1).expect("stepped");
        assert!(stepped.gradient_norm.overflowed());
        assert_eq!(towers.values(), before);
        let mut plain = on_device(&options, &towers, &device);
        plain
            .add(&towers, &mut overflowing(&towers))
            .expect("added");
        let stepped = plain.step(&mut towers, 0, 4, 1).expect("stepped");
        assert!(!stepped.gradient_norm.overflowed());
        assert!(!stepped.gradient_norm.value().expect("read").is_finite());
    }

    #[test]
    fn changed_weights_meet_the_inputs_of_a_checkpointed_run() {
        let device = Device::flex();
        let checkpointed = device.autodiff().gradient_checkpointing();
        let mut towers = Three::new(&checkpointed);
        let options = Options {
            clip: 0.0,
            learning_rate: 0.5,
            weight_decay: 0.0,
            schedule: Schedule::Constant,
            warmup: 0.0,
            ..Options::default()
        };
        let mut optimiser = on_device(&options, &towers, &checkpointed);
        let mut gradients = towers.gradients();
        optimiser.add(&towers, &mut gradients).expect("added");
        optimiser.step(&mut towers, 0, 1, 1).expect("stepped");
        let changed = towers.bias.val();
        let met = changed.clone() * Tensor::<1>::from_floats([1.0, 2.0], &checkpointed);
        let gradient = changed
            .grad(&met.sum().backward())
            .expect("a weight has a gradient");
        assert_eq!(floats(gradient).expect("floats"), [1.0, 2.0]);
        let values = floats(changed.inner()).expect("floats");
        assert!(
            (values[0] + 0.25).abs() < 1e-6 && (values[1] + 0.5).abs() < 1e-6,
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
