//! Numbers where the device has them, and how they come to it, back, and into gradients.

use burn::tensor::{Device, GradientCheckpointingStrategy, Tensor, TensorData};
use pel_kb::error::{Error, Result};

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

/// A figure of a step: known, or not read back yet from a GPU, which computes later than it is told
/// to.
#[derive(Clone, Debug)]
pub enum Figure {
    /// Known.
    Known(f64),
    /// On a GPU.
    Awaited(Box<Tensor<1>>),
}

impl Figure {
    /// The value of a tensor, which is read back at once on the processor alone.
    ///
    /// # Shapes
    /// tensor `[1]`
    ///
    /// # Errors
    /// If the device fails.
    pub fn of(tensor: Tensor<1>, on_host: bool) -> Result<Self> {
        let awaited = Self::Awaited(Box::new(tensor));
        match on_host {
            true => Ok(Self::Known(awaited.value()?)),
            false => Ok(awaited),
        }
    }

    /// The sum of both.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        match (self, other) {
            (Self::Known(one), Self::Known(other)) => Self::Known(one + other),
            (Self::Awaited(one), Self::Awaited(other)) => Self::Awaited(Box::new(*one + *other)),
            (Self::Awaited(one), Self::Known(other)) | (Self::Known(other), Self::Awaited(one)) => {
                Self::Awaited(Box::new(*one + other))
            }
        }
    }

    /// Whether it is known not to be finite.
    pub fn overflowed(&self) -> bool {
        matches!(self, Self::Known(value) if !value.is_finite())
    }

    /// Reads one back.
    ///
    /// # Errors
    /// If the device fails.
    pub fn value(&self) -> Result<f64> {
        Ok(Self::read(std::slice::from_ref(self))?[0])
    }

    /// Reads all back in one transfer.
    ///
    /// # Errors
    /// If the device fails.
    pub fn read(figures: &[Self]) -> Result<Vec<f64>> {
        let awaited = figures.iter().filter_map(|figure| match figure {
            Self::Known(_) => None,
            Self::Awaited(tensor) => Some(Tensor::clone(tensor)),
        });
        let awaited: Vec<Tensor<1>> = awaited.collect();
        let read = match awaited.is_empty() {
            true => Vec::new(),
            false => floats(Tensor::cat(awaited, 0))?,
        };
        let mut read = read.into_iter();
        let values = figures.iter().map(|figure| match figure {
            Self::Known(value) => *value,
            Self::Awaited(_) => read.next().map_or(f64::NAN, f64::from),
        });
        Ok(values.collect())
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_summed_where_they_are_and_read_at_once() {
        let device = Device::flex();
        let awaited = |value: f32| {
            Figure::of(Tensor::from_floats([value], &device), false).expect("nothing is read")
        };
        assert!(matches!(awaited(f32::NAN), Figure::Awaited(_)));
        assert!(!awaited(f32::NAN).overflowed() && Figure::Known(f64::INFINITY).overflowed());
        let known = Figure::of(Tensor::from_floats([0.5], &device), true).expect("read");
        assert!(matches!(known, Figure::Known(0.5)));
        let figures = [
            known.clone().plus(Figure::Known(1.0)),
            awaited(1.0).plus(awaited(2.0)),
            Figure::Known(-4.0),
            known.plus(awaited(0.25)),
        ];
        let read = Figure::read(&figures).expect("the device works");
        assert_eq!(read, [1.5, 3.0, -4.0, 0.75]);
        assert!(awaited(f32::NAN).value().expect("read").is_nan());
    }
}
