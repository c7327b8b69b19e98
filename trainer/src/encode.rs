//! Runs encoder batches and reads them back: step 4 of the pipeline, natively.

use crate::device::OpenDevice;
use crate::interrupt;
use burn::tensor::Tensor;
use pel_shared::error::{Error, Result};
use rayon::prelude::*;

/// Reads a tensor back.
///
/// # Shapes
/// `[batch, dim]` -> `batch * dim` values, row by row
///
/// # Errors
/// If the device fails.
pub fn read_back(tensor: Tensor<2>) -> Result<Vec<f32>> {
    let data =
        tensor.try_into_data().map_err(|cause| Error::device("reading vectors back").caused_by(cause.to_string()))?;
    data.try_into_vec::<f32>()
        .map_err(|cause| Error::device("the device gave no 32-bit floats").caused_by(format!("{cause:?}")))
}

/// Encodes batches in order. On the processor several run at once, one a thread: the loops of a small encoder are too
/// short to be shared out. A GPU gets one after the other.
///
/// # Errors
/// If the device fails or the user stops the work.
pub fn encode_batches<B: Sync>(
    device: &OpenDevice,
    batches: &[B],
    encode: impl Fn(&B) -> Tensor<2> + Sync,
) -> Result<Vec<Vec<f32>>> {
    let one = |batch: &B| {
        interrupt::check()?;
        read_back(encode(batch))
    };
    if device.is_cpu { batches.par_iter().map(one).collect() } else { batches.iter().map(one).collect() }
}
