//! `pel compact`: reduces the size of a model.

use clap::Args;
use pel_artifacts::device::DeviceArgs;
use pel_io::outputs::{Inputs, Output, check_new_folder};
use pel_kb::error::Result;
use pel_trainer::compact::{Compacted, Compaction, Options, shown};
use std::path::PathBuf;

/// Make a model smaller: drop unused vocabulary, project vectors to fewer dimensions
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  pel compact run/model --kb kb.jsonl --corpus corpus --dim 64 \
    --out small\n  \
    pel index --encoder small --kb kb.jsonl --encoder-precision int8 --precision int4 --out bundle"
)]
pub struct CompactArgs {
    #[command(flatten)]
    options: Options,
    /// Folder to write
    #[arg(long, required_unless_present = "curve")]
    out: Option<PathBuf>,
}

/// Runs `pel compact`.
///
/// # Errors
/// If `pel train` did not write the model, a text cannot be read, or the folder cannot be written.
pub fn run(args: &CompactArgs, device: &DeviceArgs, json: bool) -> Result<()> {
    let options = &args.options;
    Inputs::new()
        .artifacts([options.model.as_path()])
        .files(options.kb.iter().chain(&options.text).map(PathBuf::as_path))
        .corpora(options.corpus.iter().map(PathBuf::as_path))
        .check(args.out.as_deref().map(Output::Folder))?;
    let compaction = Compaction::new(options)?;
    let Some(out) = &args.out else {
        let points = compaction.curve(device)?;
        match json {
            true => println!("{}", serde_json::json!(points)),
            false => println!("{}", shown(&points)),
        }
        return Ok(());
    };
    check_new_folder(out)?;
    let Compacted {
        vocabulary,
        of,
        kept,
    } = compaction.write(device, out)?;
    if json {
        println!(
            "{}",
            serde_json::json!({"out": out, "vocabulary": vocabulary, "of": of, "kept": kept})
        );
        return Ok(());
    }
    println!("{}: {vocabulary} of {of} vocabulary tokens", out.display());
    if let (Some(kept), Some(dim)) = (kept, options.dim) {
        println!(
            "{dim} dimensions explain {:.1} % of the vectors' squared norm",
            100.0 * kept
        );
    }
    Ok(())
}
