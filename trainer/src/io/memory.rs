//! How much memory this process has used, and a device.

use crate::io::device::held_bytes;
use burn::tensor::Device;

/// The most physical memory that this process has held, in bytes, where the system says so (Linux); elsewhere what it
/// holds now.
pub fn peak() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kibibytes = line.and_then(|line| line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok());
    kibibytes
        .map(|kibibytes| kibibytes * 1024)
        .or_else(|| memory_stats::memory_stats().map(|stats| stats.physical_mem as u64))
}

/// What a GPU holds for this process now, in bytes: tensors, and what is kept for the next ones. Nothing for a processor, whose
/// tensors lie in the memory of the process.
pub fn of_device(device: &Device) -> Option<u64> {
    held_bytes(device)
}
