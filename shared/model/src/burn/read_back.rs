//! Values that are read back from a device.

use burn::tensor::TensorData;
use pel_kb::error::{Error, Result};

/// The floats that were read from a device.
///
/// # Errors
/// If they are not 32-bit floats.
pub fn floats<E: std::fmt::Display>(read: std::result::Result<TensorData, E>) -> Result<Vec<f32>> {
    let data =
        read.map_err(|cause| Error::device("reading vectors back").caused_by(cause.to_string()))?;
    data.try_into_vec::<f32>().map_err(|cause| {
        Error::device("expected 32-bit floats from the device").caused_by(format!("{cause:?}"))
    })
}
