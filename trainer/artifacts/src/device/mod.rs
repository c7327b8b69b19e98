//! Compute devices: listing them and opening one.

#[cfg_attr(not(feature = "gpu"), path = "without_gpu.rs")]
mod gpu;

pub use gpu::adapters;
pub(crate) use gpu::reserved_bytes;

use burn::tensor::Device;
use clap::{Args, ValueEnum};
use pel_io::terminal::counted;
use pel_kb::error::Result;
use serde::Serialize;

/// How to get a build with GPU support.
pub const GPU_BUILD_HINT: &str =
    "`./run --gpu` builds it with GPU support, as does `cargo build --release --features gpu`";

/// Where the encoder runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum DeviceChoice {
    /// A GPU for long work if there is one, else the CPU
    #[default]
    Auto,
    /// The CPU
    Cpu,
    /// A GPU through wgpu (Vulkan; Metal on a Mac)
    Vulkan,
    /// An NVIDIA GPU through CUDA
    Cuda,
}

/// How GPU memory is allocated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum GpuMemory {
    /// Large pages shared by many tensors (fast)
    #[default]
    Shared,
    /// One page per tensor, for drivers that limit the buffer size
    Exclusive,
}

/// The device options of every computing command.
#[derive(Clone, Debug, Default, Args)]
pub struct DeviceArgs {
    /// Device of the encoder (`pel devices` lists all)
    #[arg(
        long,
        value_enum,
        default_value_t,
        global = true,
        help_heading = "For every command"
    )]
    pub device: DeviceChoice,
    /// Number of the GPU in `pel devices`
    #[arg(
        long,
        value_name = "N",
        global = true,
        help_heading = "For every command"
    )]
    pub gpu: Option<usize>,
    /// Allocation of GPU memory
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

/// How long a command computes. Starting a GPU takes about a second, which short work does not
/// repay.
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
    /// The name shown to the user.
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
    /// The largest number of invocations in a workgroup.
    pub max_workgroup: u32,
    /// Whether shaders support 16-bit floats.
    pub f16: bool,
    /// Whether it is a hardware GPU.
    pub is_gpu: bool,
}

impl DeviceArgs {
    /// Opens the chosen device.
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
            DeviceChoice::Auto => Ok(gpu::open_if_present(self)?.unwrap_or_else(cpu)),
        }
    }
}

fn cpu() -> OpenDevice {
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    OpenDevice {
        device: Device::flex(),
        name: format!("CPU, {}", counted(cores, "thread")),
    }
}
