//! Replaces `gpu` in a build without the cargo feature `gpu`.

use super::{Adapter, DeviceArgs, GPU_BUILD_HINT, OpenDevice};
use burn::tensor::Device;
use pel_io::eprintln;
use pel_kb::error::{Error, Result};
use std::path::Path;

/// No adapter: this build cannot detect any.
pub fn adapters() -> Vec<Adapter> {
    Vec::new()
}

pub(super) fn open(_args: &DeviceArgs) -> Result<OpenDevice> {
    Err(Error::device(format!(
        "this build of pel has no GPU support; {GPU_BUILD_HINT}; or use --device cpu"
    )))
}

/// Always none. Warns on standard error if the machine seems to have a GPU.
pub(super) fn open_if_present(_args: &DeviceArgs) -> Result<Option<OpenDevice>> {
    if gpu_seems_present() {
        eprintln!(
            "warning: this build of pel has no GPU support and uses the CPU; {GPU_BUILD_HINT}"
        );
    }
    Ok(None)
}

pub(super) fn cuda(_number: usize) -> Result<OpenDevice> {
    Err(Error::device(
        "this build of pel has no CUDA; build it with `cargo build --release --features cuda`, or \
         use --device cpu",
    ))
}

pub(crate) fn reserved_bytes(_device: &Device) -> Option<u64> {
    None
}

/// Whether the system shows a GPU: a render node or NVIDIA device on Linux, any Mac.
fn gpu_seems_present() -> bool {
    let render_node = || {
        let nodes = std::fs::read_dir("/dev/dri")
            .into_iter()
            .flatten()
            .flatten();
        nodes
            .into_iter()
            .any(|node| node.file_name().to_string_lossy().starts_with("renderD"))
    };
    cfg!(target_os = "macos") || Path::new("/dev/nvidia0").exists() || render_node()
}
