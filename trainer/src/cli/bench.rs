//! `pel bench`: what the encoder, a ranker, the index, a cold start and a folder of notes cost on this machine.

pub use crate::bench::BenchArgs;

use crate::bench::report::Report;
use crate::bench::{encode, kernels, notes, rank, search, start, sum_of_max, train};
use crate::io::device::{DeviceArgs, Work};
use crate::io::outputs::{Inputs, Writes};
use crate::io::{bundles, memory};
use pel_shared::error::{Error, Result};
use std::path::PathBuf;

/// The version of Burn, which `Cargo.toml` pins.
const BURN_VERSION: &str = "0.22.1";

/// Runs `pel bench`.
///
/// # Errors
/// If the bundle or the ranker cannot be read, the device fails or a file cannot be read or written.
pub fn run(args: &BenchArgs, device: &DeviceArgs, json: bool) -> Result<()> {
    if args.k == 0 || args.hnsw_k == 0 || args.queries == 0 {
        return Err(Error::input("expected at least one neighbour and one query"));
    }
    check_outputs(args)?;
    let (cold_start_ms, link_peak_bytes) = start::cold_start(args)?;
    let bundle = bundles::open(&args.bundle)?;
    let opened = device.open(Work::Long)?;
    let encode = if args.no_encode { Vec::new() } else { encode::encode(args, &bundle, &opened)? };
    let rank = rank::rank(args, &opened)?;
    let kernels = if args.kernels { kernels::kernels(args.seconds)? } else { Vec::new() };
    let train = if args.train { train::train(args, &bundle, &opened)? } else { Vec::new() };
    let notes = match &args.notes {
        Some(folder) => Some(notes::notes(args, folder, &bundle, &encode)?),
        None => None,
    };
    let search = search::search(args, &bundle)?;
    let sum_of_max = sum_of_max::sum_of_max(args, &opened)?;
    let report = Report {
        versions: serde_json::json!({"pel": env!("CARGO_PKG_VERSION"), "burn": BURN_VERSION}),
        device: opened.name.clone(),
        threads: rayon::current_num_threads(),
        bundle_bytes: bundle.manifest.files.values().map(|file| file.bytes).sum(),
        cold_start_ms,
        link_peak_bytes,
        encode,
        rank,
        train,
        kernels,
        notes,
        search,
        sum_of_max,
        peak_bytes: memory::peak(),
    };
    if json {
        let said = serde_json::to_string(&report).map_err(|cause| Error::io("encoding JSON").caused_by(cause))?;
        println!("{said}");
    } else {
        report.print();
    }
    Ok(())
}

/// Refuses to write over what is measured.
fn check_outputs(args: &BenchArgs) -> Result<()> {
    let artifacts = [Some(&args.bundle), args.int8_bundle.as_ref(), args.ranker.as_ref()];
    let files = [&args.pairs_from, &args.queries_from, &args.notes];
    let found: Vec<PathBuf> = match &args.export_found {
        Some(folder) => search::found_names(&args.hnsw).iter().map(|name| folder.join(name)).collect(),
        None => Vec::new(),
    };
    let outputs = args.export_vectors.iter().chain(&found).map(|file| Writes::File(file));
    let folders = [&args.cache, &args.export_found].into_iter().flatten().map(|folder| Writes::Into(folder));
    let inputs = Inputs::new()
        .artifacts(artifacts.into_iter().flatten().map(PathBuf::as_path))
        .files(files.into_iter().flatten().map(PathBuf::as_path));
    // Graphs may be kept beside what is found.
    folders.into_iter().try_for_each(|folder| inputs.check([folder]))?;
    inputs.check(outputs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn burn_version_is_the_locked_one() {
        let lock = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../Cargo.lock")).expect("committed");
        assert!(lock.contains(&format!("name = \"burn\"\nversion = \"{BURN_VERSION}\"\n")));
    }
}
