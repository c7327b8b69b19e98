//! `pel pretrain`: aligns the names of each concept before training.

use super::training::RunArgs;
use clap::Args;
use pel_artifacts::device::DeviceArgs;
use pel_kb::error::Result;
use pel_trainer::train::config::Config;
use std::path::PathBuf;

/// Align the names of each concept (multi-similarity loss, as in SapBERT), to initialise training
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  pel pretrain --encoder all-MiniLM-L6-v2 --kb kb.jsonl \
    --more-kb kb_extra.jsonl --out aligned\n\n\
    An interrupted command resumes when repeated."
)]
pub struct PretrainArgs {
    #[command(flatten)]
    run: RunArgs,
    /// Corpus folder for validation
    #[arg(long)]
    corpus: Option<PathBuf>,
    /// Further concept tables with names to learn
    #[arg(long)]
    more_kb: Vec<PathBuf>,
}

/// Runs `pel pretrain`.
///
/// # Errors
/// As [`train`](pel_trainer::train::train).
pub fn run(args: &PretrainArgs, device: &DeviceArgs, json: bool) -> Result<()> {
    let corpus = args
        .corpus
        .as_ref()
        .map(|path| toml::Value::String(path.display().to_string()));
    let more = args
        .more_kb
        .iter()
        .map(|path| toml::Value::String(path.display().to_string()))
        .collect::<Vec<_>>();
    let more = (!more.is_empty()).then_some(toml::Value::Array(more));
    let config = args.run.config(
        Config::alignment(),
        vec![("data.corpus", corpus), ("data.more_kbs", more)],
    )?;
    args.run.run(&config, device, json)
}
