//! `pel experiment`: reproduces the tables of the papers.

use crate::experiment::{self, Options};
use crate::io::device::{DeviceArgs, Work};
use crate::io::outputs::{Inputs, Output};
use clap::Args;
use pel_shared::error::Result;
use std::path::PathBuf;

/// Train and evaluate the rows of the papers' tables, and write the tables
#[derive(Clone, Debug, Args)]
#[command(after_help = "Examples with the papers' sizes:\n  \
    pel experiment --table pel-2,pel-3 --encoder SapBERT --kb kb.jsonl --corpus corpus --out tables\n  \
    pel experiment --table t-2,t-5 --encoder bert-base-uncased --kb kb.jsonl --corpus worlds --seeds 0,1,2 --out t-tables\n  \
    pel experiment --table blink-2,blink-9,blink-figure-3 --encoder bert-base-uncased --kb kb.jsonl --corpus corpus --out blink\n\n\
    Each table is written as Markdown, LaTeX (booktabs) and CSV. Table 4 of PEL needs a corpus with held-out types (`pel split okb`). The tables of T-Biencoder (t-2 to t-7) need splits \
    without common domains (`pel split domains`, `pel import zeshel`).\n\
    An interrupted command resumes when repeated, also on another machine with a copy of --out and of the inputs.")]
pub struct ExperimentArgs {
    #[command(flatten)]
    options: Options,
}

/// Runs `pel experiment`.
///
/// # Errors
/// As training and evaluation. Finished rows are kept.
pub fn run(args: &ExperimentArgs, device: &DeviceArgs, json: bool) -> Result<()> {
    let options = &args.options;
    options.pair_of_counts()?;
    check_outputs(options)?;
    experiment::check_folder(&options.out)?;
    experiment::run(
        options,
        &device.open(Work::Long)?,
        |table, file, text| match json {
            true => println!(
                "{}",
                serde_json::json!({
                    "table": table.slug(), "file": file,
                    "latex": file.with_extension("tex"), "csv": file.with_extension("csv")
                })
            ),
            false => println!("{text}"),
        },
    )
}

/// Refuses outputs that overwrite inputs or lie in a model.
fn check_outputs(options: &Options) -> Result<()> {
    let models = [
        Some(&options.encoder),
        options.pretrained.as_ref(),
        options.pretrained_ranker.as_ref(),
    ];
    let files = [
        Some(&options.kb),
        options.other_kb.as_ref(),
        options.config.as_ref(),
        options.ranker_config.as_ref(),
    ];
    let tables: Vec<_> = options
        .table
        .iter()
        .flat_map(|table| {
            experiment::FORMATS.map(|ending| options.out.join(format!("{}.{ending}", table.slug())))
        })
        .collect();
    // The run of an earlier call may be a row's model. Training itself refuses to overwrite its own
    // model.
    let owned = ["results", "plots"].map(|name| options.out.join(name));
    let mut written = vec![Output::Into(&options.out)];
    written.extend(owned.iter().map(|folder| Output::Folder(folder)));
    let settings = [
        "settings",
        "settings-t-biencoder",
        "settings-blink",
        "settings-ranker",
        "settings-blink-ranker",
    ];
    let settings: Vec<_> = settings
        .iter()
        .map(|name| options.out.join(format!("{name}.json")))
        .collect();
    let mut seen = tables.iter().chain(&settings).collect::<Vec<_>>();
    seen.sort_unstable();
    seen.dedup();
    written.extend(seen.into_iter().map(|file| Output::File(file)));
    Inputs::new()
        .artifacts(models.into_iter().flatten().map(PathBuf::as_path))
        .files(files.into_iter().flatten().map(PathBuf::as_path))
        .corpora([options.corpus.as_path()])
        .check(written)
}
