//! Dropout that a seed alone decides.

use super::fused;
use crate::kernels;
use crate::kernels::Isa;
use crate::model::layer::Dropout;
use burn::tensor::{Distribution, Tensor, TensorData};

/// Sets a share of the values to zero and scales the others so that the mean stays; nothing without `dropout`.
///
/// On the processor the seed and a value's place decide, whatever ran before; elsewhere the device's own generator does,
/// which is set to the seed first.
pub fn drop_out<const D: usize>(values: Tensor<D>, dropout: Option<Dropout>) -> Tensor<D> {
    let Some(Dropout { rate, seed }) = dropout else { return values };
    let (shape, device) = (values.dims(), values.device());
    let factors = if fused::runs_on(&device) {
        let mut factors = vec![1.0; shape.iter().product()];
        kernels::drop_out(Isa::best(), rate, seed as u32, &mut factors);
        Tensor::from_data(TensorData::new(factors, shape), &device)
    } else {
        device.seed(seed);
        Tensor::random(shape, Distribution::Bernoulli(f64::from(1.0 - rate)), &device) / (1.0 - rate)
    };
    values * factors
}
