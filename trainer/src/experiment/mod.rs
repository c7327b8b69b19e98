//! `pel experiment`: trains and measures every row of a table, and writes the table in the paper's layout.
//!
//! ```text
//! OUT/settings.json        what all rows share; a call with others is refused
//! OUT/runs/ROW-seedN/      a run of `pel train`; goes on where it was stopped
//! OUT/results/ROW-seedN.json   its figures; a row that has them is not done again
//! OUT/pel-2.md ...         the tables, with means over seeds and intervals over documents
//! OUT/plots/               figures 2 and 3
//! ```

mod rows;
mod tables;

pub use rows::TableId;

use crate::device::{DeviceArgs, OpenDevice, Work};
use crate::evaluate::{self, At, EvaluateArgs, Figures, NilOf, Split, System, TrainingSplit};
use crate::files::{io_error, read_text, write_whole};
use crate::interrupt;
use crate::train::config::Config;
use crate::train::{Snapshot, train};
use clap::Args;
use pel_shared::error::{Context, Error, Result};
use pel_shared::metrics::{CurvePoint, Interval};
use rows::Row;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// Train and measure the rows of the paper's tables, and write the tables
#[derive(Debug, Args)]
#[command(
    after_help = "Example, at the paper's own sizes:\n  pel experiment --table pel-2,pel-3 --encoder SapBERT --kb kb.jsonl \
    --corpus corpus --out tables\n\nTable 4 wants a corpus with held-out types: see `pel split okb`.\nStopped half-way, the same command goes \
    on where it was."
)]
pub struct ExperimentArgs {
    /// The tables
    #[arg(long, value_enum, value_delimiter = ',', required = true)]
    table: Vec<TableId>,
    /// The configuration that all rows share, as for `pel train`
    #[arg(long)]
    config: Option<PathBuf>,
    /// Sets one option of it
    #[arg(long = "set", value_name = "KEY=VALUE")]
    settings: Vec<String>,
    /// The encoder to begin with
    #[arg(long)]
    encoder: PathBuf,
    /// The concept table
    #[arg(long)]
    kb: PathBuf,
    /// The corpus folder
    #[arg(long)]
    corpus: PathBuf,
    /// The folder of runs, results and tables
    #[arg(long)]
    out: PathBuf,
    /// Seeds; every row is trained once with each
    #[arg(long, value_delimiter = ',', default_value = "0")]
    seeds: Vec<u64>,
    /// The two numbers of negatives of table 2; tables 3 and 4 have the first
    #[arg(long, value_delimiter = ',', default_value = "32,64")]
    counts: Vec<usize>,
    /// Train only rows whose file name has one of these words; a table has every row that has been measured, with all its seeds
    #[arg(long, value_delimiter = ',')]
    only: Vec<String>,
    /// The split to measure on; thresholds of NIL are chosen on the validation split
    #[arg(long, default_value = "test")]
    split: String,
    /// Measure only every N-th mention
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    every: u32,
}

/// The figures of a row, or of a system without training.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Measured {
    /// What it is called in tables.
    pub name: String,
    /// The seed of its training.
    pub seed: Option<u64>,
    /// Steps of its training.
    pub steps: Option<usize>,
    /// Seconds in steps; mining and measuring are apart.
    pub step_seconds: Option<f64>,
    /// Seconds of mining.
    pub mining_seconds: Option<f64>,
    /// Recall at 1, 8 and 64: all, seen, zero-shot.
    pub recall: Vec<RecallOf>,
    /// NIL, for each kind.
    pub nil: Vec<NilResult>,
}

/// Recall over some mentions.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RecallOf {
    /// `all`, `seen` or `zero-shot`.
    pub mentions: String,
    /// By k.
    pub at: Vec<Value>,
}

/// A share with its interval.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Value {
    /// How many candidates may be looked at.
    pub k: usize,
    /// The share.
    pub value: Option<f64>,
    /// Its bootstrap interval over documents (95 %): lower and upper end.
    pub interval: Option<[f64; 2]>,
}

/// NIL at the threshold of the validation split.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct NilResult {
    /// All, held out, or natural.
    pub kind: String,
    /// Average precision.
    pub au_pr: Option<f64>,
    /// Precision of NIL.
    pub precision: Option<f64>,
    /// Recall of NIL.
    pub recall: Option<f64>,
    /// Recall over all classes, NIL being one.
    pub all_classes: Vec<Value>,
    /// Recall and precision, thinned.
    pub curve: Vec<(f64, f64)>,
}

impl Value {
    fn new(at: &At) -> Self {
        let ends = |interval: Interval| [interval.low, interval.high];
        Self { k: at.k, value: at.recall, interval: at.interval.map(ends) }
    }
}

impl Measured {
    fn new(name: String, figures: &Figures) -> Self {
        let recall = figures.recall.iter().map(|recall| RecallOf {
            mentions: recall.mentions.clone(),
            at: recall.at.iter().map(Value::new).collect(),
        });
        let nil = figures.nil.iter().filter(|nil| nil.chosen_on != "bundle").map(|nil| NilResult {
            kind: nil.nil.words().to_owned(),
            au_pr: nil.au_pr,
            precision: nil.precision,
            recall: nil.recall,
            all_classes: nil.all_classes.iter().map(Value::new).collect(),
            curve: nil.curve.iter().map(|point: &CurvePoint| (point.recall, point.precision)).collect(),
        });
        let (recall, nil) = (recall.collect(), nil.collect());
        Self { name, seed: None, steps: None, step_seconds: None, mining_seconds: None, recall, nil }
    }

    /// Recall at k over some mentions.
    pub fn recall(&self, mentions: &str, k: usize) -> Option<&Value> {
        self.recall.iter().find(|recall| recall.mentions == mentions)?.at.iter().find(|at| at.k == k)
    }
}

/// Runs `pel experiment`.
///
/// # Errors
/// As training and evaluating; what was done stays.
pub fn run(args: &ExperimentArgs, device: &DeviceArgs, json: bool) -> Result<()> {
    let counts: [usize; 2] = args.counts.as_slice().try_into().map_err(|_| {
        Error::input(format!("--counts: expected two numbers, such as 32,64, found {}", args.counts.len()))
    })?;
    let device = device.open(Work::Long)?;
    check_settings(args)?;
    let baselines = baselines(args, &device)?;
    let mut tables = args.table.clone();
    tables.sort_unstable();
    tables.dedup();
    for table in tables {
        let mut all: Vec<(Row, Vec<Measured>)> = Vec::new();
        for row in table.rows(counts) {
            if args.only.is_empty() || args.only.iter().any(|word| row.slug().contains(word)) {
                args.seeds.iter().try_for_each(|seed| measured(args, &row, *seed, &device).map(drop))?;
            }
            let measured = of_every_seed(args, &row)?;
            if !measured.is_empty() {
                all.push((row, measured));
            }
        }
        let text = tables::markdown(table, &baselines, &all);
        let path = args.out.join(format!("{}.md", table.slug()));
        write_whole(&path, |file| file.write_all(text.as_bytes()).map_err(|cause| io_error("writing", &path, cause)))?;
        tables::draw(table, &args.out, &all)?;
        match json {
            true => println!("{}", serde_json::json!({"table": table, "file": path})),
            false => println!("{text}"),
        }
    }
    Ok(())
}

/// Refuses to put rows of different settings into one table.
fn check_settings(args: &ExperimentArgs) -> Result<()> {
    let path = args.out.join("settings.json");
    let settings = serde_json::json!({"config": config(args, None, 0)?, "split": args.split, "every": args.every});
    let before: serde_json::Value = kept(&path, || Ok(settings.clone()))?;
    match before == settings {
        true => Ok(()),
        false => Err(Error::input(format!(
            "{}: the rows there have other settings than these; take another --out, or the same settings",
            path.display()
        ))),
    }
}

/// What has been measured of a row, by seed.
fn of_every_seed(args: &ExperimentArgs, row: &Row) -> Result<Vec<Measured>> {
    let folder = args.out.join("results");
    let files = std::fs::read_dir(&folder).map_err(|cause| io_error("listing", &folder, cause))?;
    let prefix = format!("{}-seed", row.slug());
    let seed = |name: &str| name.strip_prefix(&prefix)?.strip_suffix(".json")?.parse::<u64>().ok();
    let mut seeds: Vec<u64> = files.filter_map(|file| seed(&file.ok()?.file_name().to_string_lossy())).collect();
    seeds.sort_unstable();
    let read = |seed| kept(&folder.join(format!("{prefix}{seed}.json")), || Err(Error::input("it has gone")));
    seeds.into_iter().map(read).collect()
}

/// Every row's configuration but for the row's own settings.
fn config(args: &ExperimentArgs, row: Option<&Row>, seed: u64) -> Result<Config> {
    let path = |key: &str, path: &Path| format!("{key}={}", toml::Value::String(path.display().to_string()));
    let mut settings = vec![
        path("model.encoder", &args.encoder),
        path("data.kb", &args.kb),
        path("data.corpus", &args.corpus),
        format!("seed={seed}"),
    ];
    settings.extend(args.settings.iter().cloned());
    settings.extend(row.into_iter().flat_map(Row::settings));
    Config::default().read(args.config.as_deref(), &settings)
}

fn measured(args: &ExperimentArgs, row: &Row, seed: u64, device: &OpenDevice) -> Result<Measured> {
    let name = format!("{}-seed{seed}", row.slug());
    kept(&args.out.join("results").join(format!("{name}.json")), || {
        interrupt::check()?;
        eprintln!("\n{} (N = {}, {:?}), seed {seed}", row.name(), row.count, row.sampling);
        let config = config(args, Some(row), seed)?;
        let run = args.out.join("runs").join(&name);
        let trained = train(&config, &run, device).context(|| name.clone())?;
        let snapshot = Snapshot::open(&config, Some(&trained.model), &row.name(), device)?;
        Ok(Measured {
            seed: Some(seed),
            steps: Some(trained.steps),
            step_seconds: Some(trained.step_seconds),
            mining_seconds: Some(trained.mining_seconds),
            ..evaluated(args, &config, &snapshot, row.name())?
        })
    })
}

fn evaluated(args: &ExperimentArgs, config: &Config, snapshot: &Snapshot, name: String) -> Result<Measured> {
    let training = TrainingSplit::read(&args.corpus, &config.data.split)?;
    let read = |split: &str| Split::read(&args.corpus, split, args.every as usize, snapshot.kb(), Some(&training));
    let split = read(&args.split)?.not_empty()?;
    let calibration = read(&config.validation.split)?;
    let calibration = calibration.has_nil(NilOf::All).then_some(&calibration);
    Ok(Measured::new(name, &evaluate::measure(snapshot, &split, calibration, &[], 64)?))
}

/// What needs no training: string matching, the majority of the training split, and the encoder as it is.
fn baselines(args: &ExperimentArgs, device: &OpenDevice) -> Result<Vec<Measured>> {
    let folder = args.out.join("results");
    let mut all: Vec<Measured> = kept(&folder.join("baselines.json"), || {
        let systems = Some(vec![System::Tfidf, System::Majority]);
        let args = EvaluateArgs {
            corpus: args.corpus.clone(),
            split: args.split.clone(),
            train_split: config(args, None, 0)?.data.split,
            calibrate_split: None,
            kb: Some(args.kb.clone()),
            bundle: None,
            systems,
            top: 64,
            by: Some(Vec::new()),
            within_domain: false,
            ranker: None,
            rerank: Vec::new(),
            every: args.every,
            out: None,
        };
        let found = evaluate::evaluate(&args, |_| Err(Error::input("a bundle was not asked for")), None)?;
        Ok(found.systems.iter().map(|figures| Measured::new(figures.system.clone(), figures)).collect())
    })?;
    all.push(kept(&folder.join("untrained.json"), || {
        let config = config(args, None, 0)?;
        let snapshot = Snapshot::open(&config, None, "untrained encoder", device)?;
        evaluated(args, &config, &snapshot, "untrained encoder".into())
    })?);
    Ok(all)
}

/// Reads what an earlier call has worked out, or works it out and keeps it.
fn kept<T: Serialize + for<'de> Deserialize<'de>>(path: &Path, work: impl FnOnce() -> Result<T>) -> Result<T> {
    if path.is_file() {
        let text = read_text(path)?;
        return serde_json::from_str(&text)
            .map_err(|cause| Error::input("not what pel writes there").caused_by(cause))
            .context(|| path.display().to_string());
    }
    let done = work()?;
    let text = serde_json::to_vec_pretty(&done).map_err(|cause| Error::io("encoding JSON").caused_by(cause))?;
    write_whole(path, |file| file.write_all(&text).map_err(|cause| io_error("writing", path, cause)))?;
    Ok(done)
}
