//! AdamW on a GPU: parameters of one learning rate and decay, as one flat tensor.
//!
//! Starting a kernel costs as much for a bias as for a table of embeddings, and AdamW takes about 15
//! kernels. Each value is computed alone, so a flat tensor gives the same values.

use burn::tensor::Tensor;
use pel_kernels::AdamW;

/// The most values of a group. It bounds the memory of a step, and devices bound their buffers.
pub(super) const MOST: usize = 1 << 24;

/// Parameters that are updated together, with their moments.
#[derive(Clone, Debug)]
pub(super) struct Group {
    /// Their numbers among all parameters.
    pub members: Vec<usize>,
    /// How many values each has.
    sizes: Vec<usize>,
    /// `[values]`
    first: Tensor<1>,
    /// `[values]`
    second: Tensor<1>,
}

impl Group {
    /// A group of some parameters with these moments.
    pub fn new(members: Vec<usize>, moments: Vec<[Tensor<1>; 2]>) -> Self {
        let sizes = moments.iter().map(|[first, _]| first.dims()[0]).collect();
        let (first, second): (Vec<_>, Vec<_>) = moments
            .into_iter()
            .map(|[first, second]| (first, second))
            .unzip();
        Self {
            members,
            sizes,
            first: Tensor::cat(first, 0),
            second: Tensor::cat(second, 0),
        }
    }

    /// The moments of each parameter.
    pub fn moments(&self) -> Vec<[Tensor<1>; 2]> {
        let (first, second) = (self.split(&self.first), self.split(&self.second));
        let both = first.into_iter().zip(second);
        both.map(|(first, second)| [first, second]).collect()
    }

    /// Updates the moments, and returns the new values of each parameter. The gradient is multiplied
    /// by `scale` of the options.
    ///
    /// # Shapes
    /// values: those of each parameter; gradient: `[values of all]`
    pub fn step(
        &mut self,
        options: AdamW,
        values: Vec<Tensor<1>>,
        gradient: Tensor<1>,
    ) -> Vec<Tensor<1>> {
        let AdamW {
            rate,
            beta_1,
            beta_2,
            epsilon,
            decay,
            scale,
            ..
        } = options;
        let gradient = match scale == 1.0 {
            true => gradient,
            false => gradient * scale,
        };
        self.first = self.first.clone() * beta_1 + gradient.clone() * (1.0 - beta_1);
        self.second = self.second.clone() * beta_2 + gradient.powi_scalar(2) * (1.0 - beta_2);
        let root = self.second.clone().sqrt() / options.bias_correction(beta_2).sqrt() + epsilon;
        let size = f64::from(rate) / options.bias_correction(beta_1);
        let change = self.first.clone() / root * size;
        let changed = Tensor::cat(values, 0) * (1.0 - rate * decay) - change;
        self.split(&changed)
    }

    fn split(&self, flat: &Tensor<1>) -> Vec<Tensor<1>> {
        let mut end = 0;
        let parts = self.sizes.iter().map(|size| {
            let start = end;
            end += size;
            flat.clone().narrow(0, start, end - start)
        });
        parts.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::train::differentiable::floats;
    use burn::tensor::Device;

    #[test]
    fn group_gives_the_values_of_its_parameters_alone() {
        let device = Device::flex();
        let tensor = |values: &[f32]| Tensor::<1>::from_floats(values, &device);
        let zeros = |count: usize| {
            [
                Tensor::zeros([count], &device),
                Tensor::zeros([count], &device),
            ]
        };
        let (values, gradients) = (
            [&[1.0, -2.0, 0.5][..], &[4.0]],
            [&[0.3, -0.1, 7.0][..], &[1e-3]],
        );
        let mut group = Group::new(vec![2, 5], vec![zeros(3), zeros(1)]);
        let mut alone = [3, 1].map(|count| Group::new(vec![0], vec![zeros(count)]));
        let (mut together, mut apart) = (values.map(tensor).to_vec(), values.map(tensor).to_vec());
        for step in 1..4 {
            let options = AdamW {
                rate: 0.5,
                beta_1: 0.9,
                beta_2: 0.99,
                epsilon: 1e-8,
                decay: 0.1,
                step,
                scale: 0.25,
            };
            together = group.step(options, together, tensor(&gradients.concat()));
            for ((own, group), gradient) in apart.iter_mut().zip(&mut alone).zip(gradients) {
                *own = group
                    .step(options, vec![own.clone()], tensor(gradient))
                    .remove(0);
            }
            let read = |all: &[Tensor<1>]| -> Vec<Vec<f32>> {
                let all = all.iter().map(|own| floats(own.clone()));
                all.collect::<pel_kb::error::Result<_>>().expect("floats")
            };
            assert_eq!(read(&together), read(&apart), "step {step}");
            let moments = group.moments().concat();
            let [of_first, of_second] = alone.each_ref().map(|one| one.moments().concat());
            assert_eq!(read(&moments), read(&[of_first, of_second].concat()));
        }
        // The first step moves each value by the rate, after decay by 5 %.
        let mut group = Group::new(vec![0], vec![zeros(1)]);
        let options = AdamW {
            rate: 0.5,
            beta_1: 0.9,
            beta_2: 0.99,
            epsilon: 1e-8,
            decay: 0.1,
            step: 1,
            scale: 1.0,
        };
        let moved = group.step(options, vec![tensor(&[2.0])], tensor(&[-3.0]));
        let moved = floats(moved[0].clone()).expect("floats")[0];
        assert!((moved - 2.4).abs() < 1e-6, "{moved}");
    }
}
