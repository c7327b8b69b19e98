//! Memory used by this process and by a device.

use crate::device::reserved_bytes;
use burn::tensor::Device;

/// Peak physical memory of this process in bytes on Linux; its present memory elsewhere.
pub fn peak() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kibibytes =
        line.and_then(|line| line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok());
    kibibytes
        .map(|kibibytes| kibibytes * 1024)
        .or_else(|| memory_stats::memory_stats().map(|stats| stats.physical_mem as u64))
}

/// GPU memory reserved by this process, in bytes. None for the CPU, whose tensors are in process
/// memory.
pub fn of_gpu(device: &Device) -> Option<u64> {
    reserved_bytes(device)
}
