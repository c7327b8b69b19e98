//! In place of `gpu` in builds without the feature `gpu`, which have no kernels for one.

use crate::failure::{Failure, Outcome};
use burn::tensor::Device;

/// # Errors
/// Always.
#[allow(clippy::unused_async, reason = "the other build waits for the browser")]
pub async fn device() -> Outcome<Device> {
    Err(Failure::no_webgpu(
        "this build of the program has no kernels for it",
    ))
}
