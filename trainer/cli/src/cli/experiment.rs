//! `pel experiment`: reproduces the tables of the papers.

use clap::Args;
use pel_artifacts::device::{DeviceArgs, OpenDevice, Work};
use pel_experiment::experiment;
use pel_experiment::experiment::{Options, Preset};
use pel_io::json as to_json;
use pel_io::outputs::{Inputs, Output};
use pel_kb::error::{Error, Result};
use std::path::PathBuf;

/// Train and evaluate the rows of the papers' tables, and write the tables
#[derive(Clone, Debug, Args)]
#[command(after_help = "Examples with the papers' sizes:\n  \
    pel experiment --preset pel-medmentions --data medmentions --encoder SapBERT \
    --out pel-medmentions\n  \
    pel experiment --table pel-2,pel-3 --encoder SapBERT --kb kb.jsonl --corpus corpus \
    --out tables\n  \
    pel experiment --table t-2,t-5 --encoder bert-base-uncased --kb kb.jsonl --corpus worlds \
    --seeds 0,1,2 --out t-tables\n  \
    pel experiment --table blink-2,blink-9,blink-figure-3 --encoder bert-base-uncased \
    --kb kb.jsonl --corpus corpus --out blink\n\n\
    Each table is written as Markdown, LaTeX (booktabs) and CSV. Table 4 of PEL needs a corpus \
    with held-out types (`pel split okb`). The tables of T-Biencoder (t-2 to t-7) need splits \
    without common domains (`pel split domains`, `pel import zeshel`). A preset makes both.\n\
    An interrupted command resumes when repeated, also on another machine.")]
pub struct ExperimentArgs {
    /// A published experiment: all settings, data and tables as in its paper; --set overrides a
    /// setting, --table takes some of its tables
    #[arg(
        long,
        value_enum,
        value_name = "NAME",
        conflicts_with_all = ["config", "ranker_config", "kb", "corpus", "grid", "ranker_grid"],
    )]
    preset: Option<Preset>,
    /// With --preset: the folder of the data as released
    #[arg(long, value_name = "DIR", requires = "preset")]
    data: Option<PathBuf>,
    /// With --preset: print its settings with their sources in the paper, and nothing else
    #[arg(long, requires = "preset", conflicts_with_all = ["smoke", "estimate"])]
    print: bool,
    /// With --preset: two steps a training and short windows, to try a small sample of the data
    #[arg(long, requires = "preset", conflicts_with = "estimate")]
    smoke: bool,
    /// With --preset: print the steps, sequences and memory of its trainings at the published size
    /// of its data, and nothing else
    #[arg(long, requires = "preset")]
    estimate: bool,
    /// The encoder to begin with
    #[arg(long, required_unless_present = "print")]
    encoder: Option<PathBuf>,
    /// The concept table
    #[arg(long, required_unless_present = "preset")]
    kb: Option<PathBuf>,
    /// The corpus folder
    #[arg(long, required_unless_present = "preset")]
    corpus: Option<PathBuf>,
    /// The folder of runs, results and tables
    #[arg(long, required_unless_present_any = ["print", "estimate"])]
    out: Option<PathBuf>,
    #[command(flatten)]
    options: Options,
}

impl ExperimentArgs {
    /// The options with the paths of the call.
    fn options(&self) -> Options {
        let path = |given: &Option<PathBuf>| given.clone().unwrap_or_default();
        Options {
            encoder: path(&self.encoder),
            kb: path(&self.kb),
            corpus: path(&self.corpus),
            out: path(&self.out),
            ..self.options.clone()
        }
    }
}

/// Runs `pel experiment`.
///
/// # Errors
/// As training and evaluation. Finished rows are kept.
pub fn run(args: &ExperimentArgs, device: &DeviceArgs, json: bool) -> Result<()> {
    let options = args.options();
    if let Some(preset) = args.preset {
        return of_preset(args, preset, &options, device, json);
    }
    check(&options)?;
    tables(&options, &device.open(Work::Long)?, json)
}

/// Runs a preset: part by part, each over its imported data.
fn of_preset(
    args: &ExperimentArgs,
    preset: Preset,
    options: &Options,
    device: &DeviceArgs,
    json: bool,
) -> Result<()> {
    if args.print {
        match json {
            true => println!("{}", to_json::pretty(&preset.json()?)?),
            false => print!("{}", preset.text()),
        }
        return Ok(());
    }
    options.pair_of_counts()?;
    let plan = preset.plan()?;
    if args.estimate {
        let found = experiment::estimate(&plan, options, &device.open(Work::Short)?)?;
        match json {
            true => println!("{}", to_json::pretty(&found)?),
            false => print!("{}", found.text()),
        }
        return Ok(());
    }
    let Some(data) = &args.data else {
        return Err(Error::usage(
            "--preset: name the folder of the data as released with --data",
        ));
    };
    let parts = plan.chosen(options)?;
    let read = [
        Some(data),
        Some(&options.encoder),
        options.pretrained.as_ref(),
        options.pretrained_ranker.as_ref(),
    ];
    Inputs::new()
        .artifacts(read.into_iter().flatten().map(PathBuf::as_path))
        .check([Output::Into(&options.out)])?;
    let opened = device.open(Work::Long)?;
    preset.claim(&options.out)?;
    for part in parts {
        eprintln!("\n{}", part.name);
        let prepared = experiment::prepare(part, data, &options.out.join("data"))?;
        let own = plan.options(part, options, &prepared, args.smoke)?;
        check(&own)?;
        tables(&own, &opened, json)?;
    }
    Ok(())
}

/// Checks options before anything is trained.
fn check(options: &Options) -> Result<()> {
    options.pair_of_counts()?;
    check_outputs(options)?;
    experiment::check_folder(&options.out)
}

/// Writes the tables.
fn tables(options: &Options, device: &OpenDevice, json: bool) -> Result<()> {
    experiment::run(options, device, |table, file, text| match json {
        true => println!(
            "{}",
            serde_json::json!({
                "table": table.slug(), "file": file,
                "latex": file.with_extension("tex"), "csv": file.with_extension("csv")
            })
        ),
        false => println!("{text}"),
    })
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
