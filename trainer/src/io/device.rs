//! Compute devices: which there are, and the one that a command runs on.

use burn::tensor::wgpu::WgpuBackend;
use burn::tensor::{Device, DeviceKind};
use burn_wgpu::MemoryConfiguration;
use clap::{Args, ValueEnum};
use pel_shared::error::{Error, Result};
use serde::Serialize;

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
    #[serde(skip)]
    selector: DeviceKind,
}

/// The adapters that the GPU back end can use.
pub fn adapters() -> Vec<Adapter> {
    let backends = if cfg!(target_os = "macos") { wgpu::Backends::METAL } else { wgpu::Backends::VULKAN };
    let mut descriptor = wgpu::InstanceDescriptor::new_without_display_handle();
    descriptor.backends = backends;
    let instance = wgpu::Instance::new(descriptor);
    let found = pollster::block_on(instance.enumerate_adapters(backends));
    // The runtime numbers adapters within their kind.
    let mut of_kind = [0usize; 3];
    let mut next = |kind: usize| {
        of_kind[kind] += 1;
        of_kind[kind] - 1
    };
    let describe = |(number, adapter): (usize, &wgpu::Adapter)| {
        let (info, limits) = (adapter.get_info(), adapter.limits());
        let (kind, selector, is_gpu) = match info.device_type {
            wgpu::DeviceType::DiscreteGpu => ("discrete GPU", DeviceKind::DiscreteGpu(next(0)), true),
            wgpu::DeviceType::IntegratedGpu => ("integrated GPU", DeviceKind::IntegratedGpu(next(1)), true),
            wgpu::DeviceType::VirtualGpu => ("virtual GPU", DeviceKind::VirtualGpu(next(2)), true),
            wgpu::DeviceType::Cpu => ("software, on the processor", DeviceKind::Cpu, false),
            wgpu::DeviceType::Other => ("unknown", DeviceKind::DefaultDevice, false),
        };
        Adapter {
            number,
            name: info.name,
            backend: info.backend.to_string(),
            kind: kind.into(),
            driver: [info.driver, info.driver_info].join(" ").trim().to_owned(),
            max_buffer: limits.max_buffer_size,
            max_binding: limits.max_storage_buffer_binding_size,
            max_workgroup: limits.max_compute_invocations_per_workgroup,
            f16: adapter.features().contains(wgpu::Features::SHADER_F16),
            is_gpu,
            selector,
        }
    };
    found.iter().enumerate().map(describe).collect()
}

impl DeviceArgs {
    /// Opens the device that was chosen.
    ///
    /// # Errors
    /// If there is no such device in this build or on this machine.
    pub fn open(&self, work: Work) -> Result<OpenDevice> {
        match self.device {
            DeviceChoice::Cpu => Ok(cpu()),
            DeviceChoice::Vulkan => self.gpu(&adapters()),
            DeviceChoice::Cuda => cuda(self.gpu.unwrap_or(0)),
            DeviceChoice::Auto if self.gpu.is_some() => self.gpu(&adapters()),
            DeviceChoice::Auto if work == Work::Short => Ok(cpu()),
            DeviceChoice::Auto => {
                let adapters: Vec<_> = adapters().into_iter().filter(|adapter| adapter.is_gpu).collect();
                if adapters.is_empty() { Ok(cpu()) } else { self.gpu(&adapters) }
            }
        }
    }

    fn gpu(&self, adapters: &[Adapter]) -> Result<OpenDevice> {
        let real_first = adapters.iter().find(|adapter| adapter.is_gpu).or(adapters.first());
        let chosen = match self.gpu {
            Some(number) => adapters.iter().find(|adapter| adapter.number == number),
            None => real_first,
        };
        let adapter = chosen.ok_or_else(|| match self.gpu {
            Some(number) => {
                Error::device(format!("there is no GPU number {number}; `pel devices` lists what there is"))
            }
            None => Error::device("no Vulkan device was found; install its driver, or use --device cpu"),
        })?;
        let memory = match self.gpu_memory {
            GpuMemory::Shared => MemoryConfiguration::default(),
            GpuMemory::Exclusive => MemoryConfiguration::ExclusivePages,
        };
        let api = if cfg!(target_os = "macos") { WgpuBackend::Auto } else { WgpuBackend::Vulkan };
        let options = Device::wgpu_options().device_kind(adapter.selector.clone()).graphics_api(api);
        let device = options
            .memory_config(memory)
            .init()
            .map_err(|cause| Error::device(format!("starting {}", adapter.name)).caused_by(cause))?;
        Ok(OpenDevice { device, name: format!("{} ({})", adapter.name, adapter.backend) })
    }
}

fn cpu() -> OpenDevice {
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    OpenDevice { device: Device::flex(), name: format!("CPU, {cores} threads") }
}

#[cfg(feature = "cuda")]
fn cuda(number: usize) -> Result<OpenDevice> {
    // The driver is looked for at run time; without one, the runtime can only panic.
    let opened = std::panic::catch_unwind(|| {
        let device = Device::cuda(number);
        device.sync().map(|()| device)
    });
    match opened {
        Ok(Ok(device)) => Ok(OpenDevice { device, name: format!("CUDA device {number}") }),
        Ok(Err(cause)) => Err(Error::device(format!("starting CUDA device {number}")).caused_by(cause.to_string())),
        Err(_) => {
            Err(Error::device(format!("CUDA device {number} cannot be started; is the NVIDIA driver installed?")))
        }
    }
}

#[cfg(not(feature = "cuda"))]
fn cuda(_number: usize) -> Result<OpenDevice> {
    Err(Error::device("this build has no CUDA; build with `--features cuda`, or use --device vulkan"))
}
