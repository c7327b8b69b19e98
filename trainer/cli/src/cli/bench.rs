//! `pel bench`: measures encoding, ranking, search, cold start and linking on this machine.

use crate::bench::Options;
use crate::bench::report::Report;
use crate::bench::{encode, kernels, notes, rank, repeat, search, sides, start, sum_of_max, train};
use clap::Args;
use pel_artifacts::device::{DeviceArgs, Work};
use pel_artifacts::{bundles, memory};
use pel_io::json;
use pel_io::outputs::{Inputs, Output};
use pel_kb::error::{Error, Result};
use std::path::PathBuf;

/// The Burn version pinned in `Cargo.toml`.
const BURN_VERSION: &str = "0.22.1";

/// Measure encoding, ranking, search, linking, memory and cold start on this machine
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  pel bench --bundle bundle\n\n\
    bench/peers.py compares this command with PyTorch, ONNX Runtime, FAISS and hnswlib.")]
pub struct BenchArgs {
    #[command(flatten)]
    options: Options,
}

/// Runs `pel bench`.
///
/// # Errors
/// If the bundle or the ranker cannot be read, the device fails or a file cannot be read or
/// written.
pub fn run(args: &BenchArgs, device: &DeviceArgs, json: bool) -> Result<()> {
    let options = &args.options;
    if options.k == 0 || options.hnsw_k == 0 || options.queries == 0 {
        return Err(Error::input(
            "expected at least 1 neighbour (--k, --hnsw-k) and 1 query, found 0",
        ));
    }
    check_outputs(options)?;
    if let Some(times) = options.repeat {
        let bundle = bundles::open(&options.bundle)?;
        let done = repeat::repeat(options, &bundle, &device.open(Work::Long)?, times)?;
        if json {
            println!("{}", json::compact(&done)?);
        } else {
            let (encodes, searches) = (done.encodes, done.searches);
            println!(
                "{encodes} encodes and {searches} searches with {}",
                done.instructions
            );
        }
        return Ok(());
    }
    let (cold_start_ms, link_peak_bytes) = start::cold_start(options)?;
    let bundle = bundles::open(&options.bundle)?;
    let opened = device.open(Work::Long)?;
    let encode = if options.no_encode {
        Vec::new()
    } else {
        encode::encode(options, &bundle, &opened)?
    };
    let rank = rank::rank(options, &opened)?;
    let kernels = if options.kernels {
        kernels::kernels(options.seconds)?
    } else {
        Vec::new()
    };
    let train = if options.train {
        train::train(options, &bundle, &opened)?
    } else {
        Vec::new()
    };
    let notes = match &options.notes {
        Some(folder) => Some(notes::notes(options, folder, &bundle, &opened)?),
        None => None,
    };
    let sides = match &options.notes {
        Some(folder) => sides::sides(options, folder, &opened)?,
        None => Vec::new(),
    };
    let search = search::search(options, &bundle, &opened)?;
    let sum_of_max = sum_of_max::sum_of_max(options, &opened)?;
    let report = Report {
        versions: serde_json::json!({"pel": env!("CARGO_PKG_VERSION"), "burn": BURN_VERSION}),
        device: opened.name.clone(),
        threads: rayon::current_num_threads(),
        bundle_bytes: bundle.manifest.files.values().map(|file| file.bytes).sum(),
        file_bytes: bundle
            .manifest
            .files
            .iter()
            .map(|(name, file)| (name.clone(), file.bytes))
            .collect(),
        cold_start_ms,
        link_peak_bytes,
        encode,
        rank,
        train,
        kernels,
        notes,
        sides,
        search,
        sum_of_max,
        peak_bytes: memory::peak(),
    };
    if json {
        println!("{}", json::compact(&report)?);
    } else {
        report.print();
    }
    Ok(())
}

/// Refuses outputs that overwrite inputs.
fn check_outputs(options: &Options) -> Result<()> {
    let artifacts = [
        Some(&options.bundle),
        options.int8_bundle.as_ref(),
        options.ranker.as_ref(),
    ];
    let files = [
        &options.pairs_from,
        &options.queries_from,
        &options.query_notes,
        &options.floats,
        &options.notes,
    ];
    let found: Vec<PathBuf> = match &options.export_found {
        Some(folder) => search::found_names(options)
            .iter()
            .map(|name| folder.join(name))
            .collect(),
        None => Vec::new(),
    };
    let outputs = options
        .export_vectors
        .iter()
        .chain(&options.export_queries)
        .chain(&found)
        .map(|file| Output::File(file));
    let folders = [&options.cache, &options.export_found]
        .into_iter()
        .flatten()
        .map(|folder| Output::Into(folder));
    let inputs = Inputs::new()
        .artifacts(artifacts.into_iter().flatten().map(PathBuf::as_path))
        .files(files.into_iter().flatten().map(PathBuf::as_path));
    // Cached graphs may be written beside the results.
    folders
        .into_iter()
        .try_for_each(|folder| inputs.check([folder]))?;
    inputs.check(outputs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn burn_version_equals_lock_file() {
        let lock =
            std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../Cargo.lock"))
                .expect("committed");
        assert!(lock.contains(&format!("name = \"burn\"\nversion = \"{BURN_VERSION}\"\n")));
    }
}
