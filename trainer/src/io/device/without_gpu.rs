//! Stands in for `gpu` in a build without the cargo feature `gpu`.

use super::{Adapter, DeviceArgs, HOW_TO_GET_GPUS, OpenDevice};
use burn::tensor::Device;
use pel_shared::error::{Error, Result};
use std::path::Path;

/// No adapter: this build cannot look for any.
pub fn adapters() -> Vec<Adapter> {
    Vec::new()
}

pub(super) fn open(_args: &DeviceArgs) -> Result<OpenDevice> {
    Err(Error::device(format!("this build of pel has no GPU support; {HOW_TO_GET_GPUS}; or use --device cpu")))
}

/// None; if this machine seems to have a GPU, standard error says how to use it.
pub(super) fn open_if_any(_args: &DeviceArgs) -> Result<Option<OpenDevice>> {
    if gpu_seems_present() {
        eprintln!("warning: this build of pel has no GPU support and uses the processor; {HOW_TO_GET_GPUS}");
    }
    Ok(None)
}

pub(super) fn cuda(_number: usize) -> Result<OpenDevice> {
    Err(Error::device(
        "this build of pel has no CUDA; build it with `cargo build --release --features cuda`, or use --device cpu",
    ))
}

pub(crate) fn held_bytes(_device: &Device) -> Option<u64> {
    None
}

/// Whether the system shows a GPU: on Linux a render node or NVIDIA's driver; every Mac that runs Metal has one.
fn gpu_seems_present() -> bool {
    let render_node = || {
        let nodes = std::fs::read_dir("/dev/dri").into_iter().flatten().flatten();
        nodes.into_iter().any(|node| node.file_name().to_string_lossy().starts_with("renderD"))
    };
    cfg!(target_os = "macos") || Path::new("/dev/nvidia0").exists() || render_node()
}
