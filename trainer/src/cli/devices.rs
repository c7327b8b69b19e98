//! `pel devices`: where an encoder can run on this machine.

use crate::io::device::{HOW_TO_GET_GPUS, adapters};
use crate::io::text_tables::table;
use clap::Args;
use pel_shared::error::{Error, Result};

/// List the processors and GPUs that an encoder can run on
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
        let said = serde_json::json!({"cpu_threads": threads, "gpu": cfg!(feature = "gpu"), "cuda": cfg!(feature = "cuda"), "adapters": adapters});
        let said = serde_json::to_string_pretty(&said).map_err(|cause| Error::io("encoding JSON").caused_by(cause))?;
        println!("{said}");
        return Ok(());
    }
    println!("--device cpu      {threads} threads");
    println!(
        "--device cuda     {}",
        if cfg!(feature = "cuda") {
            "in this build; needs an NVIDIA driver"
        } else {
            "not in this build (cargo feature `cuda`)"
        }
    );
    if !cfg!(feature = "gpu") {
        println!("--device vulkan   not in this build: {HOW_TO_GET_GPUS}");
        return Ok(());
    }
    if adapters.is_empty() {
        println!("--device vulkan   no adapter was found");
        return Ok(());
    }
    println!("--device vulkan   {} found; choose one with --gpu N:", adapters.len());
    let mut table = table(["N", "Adapter", "Kind", "Interface", "Driver", "Largest buffer", "Largest binding", "f16"]);
    let mebibytes = |bytes: u64| format!("{} MiB", bytes >> 20);
    for a in adapters {
        let f16 = if a.f16 { "yes" } else { "no" };
        let (buffer, binding) = (mebibytes(a.max_buffer), mebibytes(a.max_binding));
        table.add_row([a.number.to_string(), a.name, a.kind, a.backend, a.driver, buffer, binding, f16.into()]);
    }
    println!("{table}");
    Ok(())
}
