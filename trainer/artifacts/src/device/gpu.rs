//! GPUs, through wgpu and, with the cargo feature `cuda`, through CUDA.

use super::{Adapter, DeviceArgs, GpuMemory, OpenDevice};
use burn::backend::DispatchDevice;
use burn::tensor::wgpu::WgpuBackend;
use burn::tensor::{Device, DeviceKind};
use burn_wgpu::MemoryConfiguration;
use cubecl::MemoryScope;
use pel_kb::error::{Error, Result};

/// The adapters that the GPU back end can use.
pub fn adapters() -> Vec<Adapter> {
    found().into_iter().map(|(adapter, _)| adapter).collect()
}

/// Opens the adapter of `--gpu`, else the first GPU, else the first adapter.
pub(super) fn open(args: &DeviceArgs) -> Result<OpenDevice> {
    start(args, &found())
}

/// Opens the first hardware GPU, if there is one.
pub(super) fn open_if_present(args: &DeviceArgs) -> Result<Option<OpenDevice>> {
    let real: Vec<_> = found()
        .into_iter()
        .filter(|(adapter, _)| adapter.is_gpu)
        .collect();
    if real.is_empty() {
        Ok(None)
    } else {
        start(args, &real).map(Some)
    }
}

/// GPU memory reserved by this process, in bytes.
pub(crate) fn reserved_bytes(device: &Device) -> Option<u64> {
    match device.clone().without_autodiff().as_dispatch() {
        DispatchDevice::Cube(device) => Some(
            device
                .client()
                .memory_report(MemoryScope::Device)
                .usage()
                .bytes_reserved,
        ),
        _ => None,
    }
}

/// The adapters and their selectors in Burn's runtime.
fn found() -> Vec<(Adapter, DeviceKind)> {
    let backends = if cfg!(target_os = "macos") {
        wgpu::Backends::METAL
    } else {
        wgpu::Backends::VULKAN
    };
    let mut descriptor = wgpu::InstanceDescriptor::new_without_display_handle();
    descriptor.backends = backends;
    let instance = wgpu::Instance::new(descriptor);
    let found = pollster::block_on(instance.enumerate_adapters(backends));
    // The runtime numbers adapters separately for each kind.
    let mut of_kind = [0usize; 3];
    let mut next = |kind: usize| {
        of_kind[kind] += 1;
        of_kind[kind] - 1
    };
    let describe = |(number, adapter): (usize, &wgpu::Adapter)| {
        let (info, limits) = (adapter.get_info(), adapter.limits());
        let (kind, selector, is_gpu) = match info.device_type {
            wgpu::DeviceType::DiscreteGpu => {
                ("discrete GPU", DeviceKind::DiscreteGpu(next(0)), true)
            }
            wgpu::DeviceType::IntegratedGpu => {
                ("integrated GPU", DeviceKind::IntegratedGpu(next(1)), true)
            }
            wgpu::DeviceType::VirtualGpu => ("virtual GPU", DeviceKind::VirtualGpu(next(2)), true),
            wgpu::DeviceType::Cpu => ("software, on the processor", DeviceKind::Cpu, false),
            wgpu::DeviceType::Other => ("unknown", DeviceKind::DefaultDevice, false),
        };
        let described = Adapter {
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
        };
        (described, selector)
    };
    found.iter().enumerate().map(describe).collect()
}

fn start(args: &DeviceArgs, adapters: &[(Adapter, DeviceKind)]) -> Result<OpenDevice> {
    let real_first = adapters
        .iter()
        .find(|(adapter, _)| adapter.is_gpu)
        .or(adapters.first());
    let chosen = match args.gpu {
        Some(number) => adapters
            .iter()
            .find(|(adapter, _)| adapter.number == number),
        None => real_first,
    };
    let (adapter, selector) = chosen.ok_or_else(|| match args.gpu {
        Some(number) => Error::device(format!(
            "there is no GPU {number}; `pel devices` lists the GPUs"
        )),
        None => {
            Error::device("no Vulkan device was found; install its driver, or use --device cpu")
        }
    })?;
    let memory = match args.gpu_memory {
        GpuMemory::Shared => MemoryConfiguration::default(),
        GpuMemory::Exclusive => MemoryConfiguration::ExclusivePages,
    };
    let api = if cfg!(target_os = "macos") {
        WgpuBackend::Auto
    } else {
        WgpuBackend::Vulkan
    };
    keep_measured_kernels();
    let options = Device::wgpu_options()
        .device_kind(selector.clone())
        .graphics_api(api);
    let device = options
        .memory_config(memory)
        .init()
        .map_err(|cause| Error::device(format!("starting {}", adapter.name)).caused_by(cause))?;
    Ok(OpenDevice {
        device,
        name: format!("{} ({})", adapter.name, adapter.backend),
    })
}

/// Keeps what was measured of kernels in the user's cache folder, so that each card is measured
/// once. CubeCL would keep it in `target` of a Cargo project around the working folder. A folder
/// that a `cubecl.toml` names is used instead.
#[cfg(feature = "autotune")]
fn keep_measured_kernels() {
    use cubecl::config::cache::CacheConfig;
    use cubecl::config::{CubeClRuntimeConfig, RuntimeConfig};
    if matches!(
        CubeClRuntimeConfig::get().environment.path,
        CacheConfig::Target
    ) {
        cubecl::environment::set_root(CacheConfig::Global.root());
    }
}

/// Nothing is measured.
#[cfg(not(feature = "autotune"))]
fn keep_measured_kernels() {}

#[cfg(feature = "cuda")]
pub(super) fn cuda(number: usize) -> Result<OpenDevice> {
    keep_measured_kernels();
    // The driver is loaded at run time. Without one the runtime panics.
    let opened = std::panic::catch_unwind(|| {
        let device = Device::cuda(number);
        device.sync().map(|()| device)
    });
    match opened {
        Ok(Ok(device)) => Ok(OpenDevice {
            device,
            name: format!("CUDA device {number}"),
        }),
        Ok(Err(cause)) => {
            Err(Error::device(format!("starting CUDA device {number}"))
                .caused_by(cause.to_string()))
        }
        Err(_) => Err(Error::device(format!(
            "CUDA device {number} cannot be started; is the NVIDIA driver installed?"
        ))),
    }
}

#[cfg(not(feature = "cuda"))]
pub(super) fn cuda(_number: usize) -> Result<OpenDevice> {
    Err(Error::device(
        "this build has no CUDA; build with `--features cuda`, or use --device vulkan",
    ))
}
