//! `pel devices`: lists the devices of this machine.

use clap::Args;
use pel_artifacts::device::{GPU_BUILD_HINT, adapters};
use pel_io::json;
use pel_io::terminal::counted;
use pel_io::text_tables::table;
use pel_kb::error::Result;

/// List the CPU and GPUs that an encoder can run on
#[derive(Debug, Args)]
pub struct DevicesArgs {}

/// Runs `pel devices`.
///
/// # Errors
/// If the list cannot be encoded.
pub fn run(_: &DevicesArgs, json: bool) -> Result<()> {
    let adapters = adapters();
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    if json {
        println!(
            "{}",
            json::pretty(
                &serde_json::json!({"cpu_threads": threads, "gpu": cfg!(feature = "gpu"),
                    "cuda": cfg!(feature = "cuda"), "adapters": adapters})
            )?
        );
        return Ok(());
    }
    println!("--device cpu      {}", counted(threads, "thread"));
    println!(
        "--device cuda     {}",
        if cfg!(feature = "cuda") {
            "in this build; needs an NVIDIA driver"
        } else {
            "not in this build (cargo feature `cuda`)"
        }
    );
    if !cfg!(feature = "gpu") {
        println!("--device vulkan   not in this build: {GPU_BUILD_HINT}");
        return Ok(());
    }
    if adapters.is_empty() {
        println!("--device vulkan   no adapter found");
        return Ok(());
    }
    println!(
        "--device vulkan   {} found; select one with --gpu N:",
        adapters.len()
    );
    let mut table = table([
        "N",
        "Adapter",
        "Kind",
        "Interface",
        "Driver",
        "Largest buffer",
        "Largest binding",
        "f16",
    ]);
    let mebibytes = |bytes: u64| format!("{} MiB", bytes >> 20);
    for a in adapters {
        let f16 = if a.f16 { "yes" } else { "no" };
        let (buffer, binding) = (mebibytes(a.max_buffer), mebibytes(a.max_binding));
        table.add_row([
            a.number.to_string(),
            a.name,
            a.kind,
            a.backend,
            a.driver,
            buffer,
            binding,
            f16.into(),
        ]);
    }
    println!("{table}");
    Ok(())
}
