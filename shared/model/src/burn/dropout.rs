//! Dropout that depends only on a seed.

use super::fused;
use crate::layer::Dropout;
use burn::tensor::{Distribution, Tensor, TensorData};
use pel_kernels::Isa;

/// Sets values to zero at random and scales the others, so that the mean is preserved. Without
/// `dropout` it changes nothing.
///
/// On the processor, the seed and a value's position decide. Other devices use their own generator,
/// seeded first.
pub fn apply_dropout<const D: usize>(values: Tensor<D>, dropout: Option<Dropout>) -> Tensor<D> {
    let Some(Dropout { rate, seed }) = dropout else {
        return values;
    };
    let (shape, device) = (values.dims(), values.device());
    let factors = if fused::runs_on(&device) {
        let mut factors = vec![1.0; shape.iter().product()];
        pel_kernels::apply_dropout(Isa::best(), rate, seed as u32, &mut factors);
        Tensor::from_data(TensorData::new(factors, shape), &device)
    } else {
        device.seed(seed);
        Tensor::random(
            shape,
            Distribution::Bernoulli(f64::from(1.0 - rate)),
            &device,
        ) / (1.0 - rate)
    };
    values * factors
}
