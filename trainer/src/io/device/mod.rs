//! Compute devices: which there are, and the one that a command runs on.

#[cfg_attr(not(feature = "gpu"), path = "without_gpu.rs")]
mod gpu;

pub use gpu::adapters;
pub(crate) use gpu::held_bytes;

use burn::tensor::Device;
use clap::{Args, ValueEnum};
use pel_shared::error::Result;
use serde::Serialize;

/// What to do where GPU support was left out of the build.
pub const HOW_TO_GET_GPUS: &str =
    "`./run --gpu` builds it with GPU support, as does `cargo build --release --features gpu`";

/// Where the encoder runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum DeviceChoice {
    /// A GPU for long work where there is one, else the processor
    #[default]
    Auto,
    /// The processor
    Cpu,
    /// A GPU through wgpu (Vulkan; Metal on a Mac)
    Vulkan,
    /// An NVIDIA GPU through CUDA
    Cuda,
}

/// How GPU memory is handed out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum GpuMemory {
    /// Large pages that many tensors share: fast
    #[default]
    Shared,
    /// One page for each tensor: where a driver limits the size of a buffer
    Exclusive,
}

/// The options that every computing command has.
#[derive(Clone, Debug, Default, Args)]
pub struct DeviceArgs {
    /// Where the encoder runs (`pel devices` lists what there is)
    #[arg(long, value_enum, default_value_t, global = true, help_heading = "For every command")]
    pub device: DeviceChoice,
    /// Which GPU, by its number in `pel devices`
    #[arg(long, value_name = "N", global = true, help_heading = "For every command")]
    pub gpu: Option<usize>,
    /// How GPU memory is handed out
    #[arg(
        long,
        value_enum,
        default_value_t,
        global = true,
        help_heading = "For every command",
        hide_short_help = true
    )]
    pub gpu_memory: GpuMemory,
}

/// How long a command will compute: a GPU takes a second to start, which short work does not repay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// A few notes.
    Short,
    /// An index, an evaluation.
    Long,
}

/// A device with a name to print.
#[derive(Clone, Debug)]
pub struct OpenDevice {
    /// The device.
    pub device: Device,
    /// What a user calls it.
    pub name: String,
}

/// An adapter that wgpu found.
#[derive(Clone, Debug, Serialize)]
pub struct Adapter {
    /// Its number, for `--gpu`.
    pub number: usize,
    /// Its name.
    pub name: String,
    /// The graphics interface.
    pub backend: String,
    /// Discrete, integrated, virtual or software.
    pub kind: String,
    /// The driver and its version.
    pub driver: String,
    /// The largest buffer, in bytes.
    pub max_buffer: u64,
    /// The largest storage binding, in bytes.
    pub max_binding: u64,
    /// The most invocations of a workgroup.
    pub max_workgroup: u32,
    /// Whether shaders may compute in 16-bit floats.
    pub f16: bool,
    /// Whether it is a real GPU rather than a processor in disguise.
    pub is_gpu: bool,
}

impl DeviceArgs {
    /// Opens the device that was chosen.
    ///
    /// # Errors
    /// If there is no such device in this build or on this machine.
    pub fn open(&self, work: Work) -> Result<OpenDevice> {
        match self.device {
            DeviceChoice::Cpu => Ok(cpu()),
            DeviceChoice::Vulkan => gpu::open(self),
            DeviceChoice::Cuda => gpu::cuda(self.gpu.unwrap_or(0)),
            DeviceChoice::Auto if self.gpu.is_some() => gpu::open(self),
            DeviceChoice::Auto if work == Work::Short => Ok(cpu()),
            DeviceChoice::Auto => Ok(gpu::open_if_any(self)?.unwrap_or_else(cpu)),
        }
    }
}

fn cpu() -> OpenDevice {
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    OpenDevice { device: Device::flex(), name: format!("CPU, {cores} threads") }
}
