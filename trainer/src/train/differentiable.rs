//! Numbers where the device has them, and how they come to it, back, and into gradients.

use burn::tensor::{Device, GradientCheckpointingStrategy, Tensor, TensorData};
use pel_shared::error::{Error, Result};

/// A list of numbers where the device has them.
#[derive(Clone, Debug)]
pub enum Numbers {
    /// On the processor.
    Host(Vec<f32>),
    /// On a GPU.
    Device(Box<Tensor<1>>),
}

impl Numbers {
    /// So many zeros.
    pub fn zeros(count: usize, on_host: bool, device: &Device) -> Self {
        match on_host {
            true => Self::Host(vec![0.0; count]),
            false => Self::Device(Box::new(Tensor::zeros([count], device))),
        }
    }

    /// Reads them back.
    ///
    /// # Errors
    /// If the device fails.
    pub fn to_vec(&self) -> Result<Vec<f32>> {
        match self {
            Self::Host(values) => Ok(values.clone()),
            Self::Device(tensor) => floats(Tensor::clone(tensor)),
        }
    }

    /// Puts them there.
    pub fn from_vec(values: Vec<f32>, on_host: bool, device: &Device) -> Self {
        let count = values.len();
        match on_host {
            true => Self::Host(values),
            false => Self::Device(Box::new(Tensor::from_data(
                TensorData::new(values, [count]),
                device,
            ))),
        }
    }
}

/// Reads a tensor back.
///
/// # Errors
/// If the device fails.
pub fn floats<const D: usize>(tensor: Tensor<D>) -> Result<Vec<f32>> {
    let data = tensor
        .try_into_data()
        .map_err(|cause| Error::device("reading a tensor back").caused_by(cause.to_string()))?;
    data.try_into_vec::<f32>().map_err(|cause| {
        Error::device("the device gave no 32-bit floats").caused_by(format!("{cause:?}"))
    })
}

/// A tensor with gradients, which are found like those of the tensors that it will meet: all of an
/// operation must keep, or compute again on the way back, by the same strategy
/// (`Device::gradient_checkpointing`).
pub fn differentiable<const D: usize>(
    tensor: Tensor<D>,
    strategy: Option<GradientCheckpointingStrategy>,
) -> Tensor<D> {
    let tensor = tensor.autodiff();
    match strategy {
        Some(strategy) => tensor.with_gradient_checkpointing_strategy(strategy),
        None => tensor,
    }
}
