//! `pel experiment`: trains and measures every row of a table, and writes the table in the paper's layout.
//!
//! ```text
//! OUT/settings*.json       what all rows share; a call with others is refused
//! OUT/runs/ROW-seedN/      a run of `pel train`; goes on where it was stopped
//! OUT/results/ROW-seedN.json   its figures; a row that has them is not done again
//! OUT/pel-2.md ...         the tables, with means over seeds and intervals over documents
//! OUT/plots/               the figures
//! ```

mod accuracy;
mod args;
mod blink;
mod cells;
mod domains;
mod folds;
mod measured;
mod models;
mod other_kb;
mod pel;
mod pel_tables;
mod pretrained;
mod ranks;
mod search;
mod settings;
mod stages;
mod t_biencoder;
mod t_tables;

pub use args::{ExperimentArgs, Family, TableId};

use crate::device::{DeviceArgs, OpenDevice, Work};
use crate::evaluate::{self, EvaluateArgs, NilOf, Retriever, Split, System, TrainingSplit};
use crate::evaluate::{Within, has_split, says_domains};
use crate::files::{io_error, read_text, write_whole};
use crate::interrupt;
use crate::kb_file;
use crate::split::HELD_OUT;
use crate::train::config::Config;
use crate::train::log::{last_norms, read, seconds};
use crate::train::{METRICS, Snapshot, train};
use measured::{Measured, SplitRecall};
use pel_shared::bert::BertConfig;
use pel_shared::error::{Context, Error, Result};
use pel_shared::kb::KnowledgeBase;
use serde::{Deserialize, Serialize};
use std::collections::HashSet;
use std::path::Path;

/// One training of a table.
pub trait Row {
    /// Its name in tables: `PEL-Pb + FGSM`.
    fn name(&self) -> String;

    /// Its name in files.
    fn slug(&self) -> String;

    /// What it sets of the configuration.
    fn settings(&self) -> Vec<String>;
}

/// Runs `pel experiment`.
///
/// # Errors
/// As training and evaluating; what was done stays.
pub fn run(args: &ExperimentArgs, device: &DeviceArgs, json: bool) -> Result<()> {
    let counts: [usize; 2] = args.counts.as_slice().try_into().map_err(|_| {
        Error::input(format!("--counts: expected two numbers, such as 32,64, found {}", args.counts.len()))
    })?;
    settings::check_folder(&args.out)?;
    let device = device.open(Work::Long)?;
    let data = settings::digest(args)?;
    let kb = kb_file::read(&args.kb)?.kb;
    if args.within_domain && args.table.contains(&TableId::Blink7) {
        return Err(Error::input("--within-domain: blink-7 searches all vectors at once; ask for it without"));
    }
    let mut tables = args.table.clone();
    tables.sort_unstable();
    tables.dedup();
    let other_kb = other_kb::read(args)?;
    let bench_of =
        |table: TableId| Bench { table, args, family: table.family(), device: &device, other_kb: other_kb.as_ref() };
    let slugs = tables.iter().map(|table| bench_of(*table).slugs(counts)).collect::<Result<Vec<_>>>()?.concat();
    settings::check_only(args, &slugs)?;
    for flag in args.idle(&tables) {
        eprintln!("warning: {flag} changes nothing: no table that was asked for has it");
    }
    for table in tables {
        let bench = bench_of(table);
        if !table.folds() {
            bench.check_splits(&kb)?;
        }
        settings::check(&bench, &data)?;
        let text = match bench.family {
            Family::Pel if table == TableId::Pel5 => {
                let retrievers = models::retrievers(args, counts)?;
                settings::check_rows(&bench, &retrievers)?;
                blink::Blink::new(&bench)?.of_pel(&retrievers)?
            }
            Family::Pel => {
                let rows = bench.trained(pel::rows(table, counts))?;
                pel_tables::draw(table, &args.out, &rows)?;
                pel_tables::markdown(table, &bench.baselines()?, &rows)
            }
            Family::TBiencoder => {
                let config = bench.config(&[], 0)?;
                let mut measured = vec![args.split.as_str()];
                measured.extend((config.validation.split != args.split).then_some(config.validation.split.as_str()));
                let shared = measured
                    .iter()
                    .map(|split| domains::shared(&args.corpus, [&*config.data.split, split], config.data.domains, &kb));
                let shared: Vec<String> = shared.filter_map(Result::transpose).collect::<Result<_>>()?;
                shared.iter().for_each(|words| eprintln!("warning: {words}"));
                let rows = bench.trained(t_biencoder::rows(table, bench.depth()?))?;
                t_tables::draw(table, &args.out, &rows, &args.split)?;
                let splits = [config.validation.split.as_str(), &args.split];
                t_tables::markdown(table, &bench.baselines()?, &rows, splits, &shared)
            }
            Family::Blink if table.folds() => folds::table(table, &bench)?,
            Family::Blink => blink::Blink::new(&bench)?.table(table)?,
        };
        let text = match table.folds() {
            true => text,
            false => format!("{text}\n{}\n", bench.measured_on()?),
        };
        let path = args.out.join(format!("{}.md", table.slug()));
        write_whole(&path, |file| file.write_all(text.as_bytes()).map_err(|cause| io_error("writing", &path, cause)))?;
        match json {
            true => println!("{}", serde_json::json!({"table": table.slug(), "file": path})),
            false => println!("{text}"),
        }
    }
    Ok(())
}

/// A table of one paper, in a folder with others.
#[derive(Clone, Copy)]
struct Bench<'a> {
    table: TableId,
    args: &'a ExperimentArgs,
    family: Family,
    device: &'a OpenDevice,
    /// What BLINK's table 4 searches beside the knowledge base.
    other_kb: Option<&'a KnowledgeBase>,
}

impl Bench<'_> {
    /// How many layers the encoder has.
    fn depth(&self) -> Result<usize> {
        let path = self.args.encoder.join("config.json");
        Ok(BertConfig::from_bytes(read_text(&path)?.as_bytes())
            .context(|| path.display().to_string())?
            .num_hidden_layers)
    }

    /// Whether the corpus has mentions of known domains in unknown texts.
    fn has_held_out(&self) -> bool {
        has_split(&self.args.corpus, HELD_OUT)
    }

    /// On which mentions a table is measured, in words.
    fn measured_on(&self) -> Result<String> {
        let (args, validation) = (self.args, self.config(&[], 0)?.validation.split);
        let test = &args.split;
        let every = if args.every > 1 { format!(", every {}. mention", args.every) } else { String::new() };
        let within = if args.within_domain { ", each searched in its own domain alone" } else { "" };
        let same = match *test == validation {
            true => " They are one split: what was chosen on it, such as K or a threshold, was chosen with an ORACLE.",
            false => "",
        };
        Ok(format!("Test split: {test}; validation split: {validation}{every}{within}.{same}"))
    }

    /// Refuses splits that could not be measured, before anything is trained.
    fn check_splits(&self, kb: &KnowledgeBase) -> Result<()> {
        let (args, validation) = (self.args, self.config(&[], 0)?.validation.split);
        let mut splits = vec![args.split.as_str(), &validation];
        if self.family == Family::TBiencoder && self.has_held_out() {
            splits.push(HELD_OUT);
        }
        for split in splits {
            let read = Split::read(&args.corpus, split, args.every as usize, kb, None)?.not_empty()?;
            if args.within_domain {
                says_domains(&read)?;
            }
        }
        Ok(())
    }

    /// The names in files of the rows of its table; none where it has stages.
    fn slugs(&self, counts: [usize; 2]) -> Result<Vec<String>> {
        let table = self.table;
        Ok(match self.family {
            _ if table.has_stages() => Vec::new(),
            Family::Pel => pel::rows(table, counts).iter().map(Row::slug).collect(),
            Family::TBiencoder => t_biencoder::rows(table, self.depth()?).iter().map(Row::slug).collect(),
            Family::Blink => folds::rows(table, self.args)?.iter().map(Row::slug).collect(),
        })
    }

    /// Trains and measures those rows that are asked for; gives all that have been measured.
    fn trained<R: Row>(&self, rows: Vec<R>) -> Result<Vec<(R, Vec<Measured>)>> {
        let slugs = settings::check_rows(self, &rows)?;
        let mut all = Vec::new();
        for row in rows {
            let measured = self.of_row(&row, &slugs)?;
            if !measured.is_empty() {
                all.push((row, measured));
            }
        }
        Ok(all)
    }

    /// Trains and measures a row with every seed if it is asked for; gives all that have been measured of it.
    fn of_row(&self, row: &impl Row, slugs: &[String]) -> Result<Vec<Measured>> {
        if settings::asked_for(&row.slug(), slugs, &self.args.only) {
            self.args.seeds.iter().try_for_each(|seed| self.measured(row, *seed).map(drop))?;
        }
        of_every_seed(self.args, row)
    }

    /// The configuration of a row with these settings.
    fn config(&self, row: &[String], seed: u64) -> Result<Config> {
        let args = self.args;
        let settings = [self.paths(seed), args.settings.clone(), row.to_vec()].concat();
        let base = match self.family {
            Family::Pel => Config::default(),
            Family::TBiencoder => t_biencoder::base(),
            Family::Blink => Config::blink(),
        };
        base.read(args.config.as_deref(), &settings)
    }

    /// What the command line says of every configuration.
    fn paths(&self, seed: u64) -> Vec<String> {
        let args = self.args;
        let path = |key: &str, path: &Path| format!("{key}={}", toml::Value::String(path.display().to_string()));
        vec![
            path("model.encoder", &args.encoder),
            path("data.kb", &args.kb),
            path("data.corpus", &args.corpus),
            format!("seed={seed}"),
        ]
    }

    fn measured(&self, row: &impl Row, seed: u64) -> Result<Measured> {
        let (args, slug) = (self.args, format!("{}-seed{seed}", row.slug()));
        kept(&args.out.join("results").join(format!("{slug}.json")), || {
            interrupt::check()?;
            eprintln!("\n{}: {slug}", row.name());
            let config = self.config(&row.settings(), seed)?;
            let run = args.out.join("runs").join(&slug);
            let trained = train(&config, &run, self.device).context(|| slug.clone())?;
            let snapshot = Snapshot::open(&config, Some(&trained.model), &row.name(), self.device)?;
            // Of all calls that it took, not of this one alone.
            let events = read(&run.join(METRICS))?;
            let (in_steps, in_mining) = seconds(&events, config.optimiser.batch);
            // Unseen domains are about what a row has learned from, which may be a part of the split; the others' baselines are by all of it.
            let learned = (self.family == Family::TBiencoder).then(|| snapshot.learned(&config)).transpose()?;
            Ok(Measured {
                seed: Some(seed),
                steps: Some(trained.steps),
                step_seconds: Some(in_steps),
                mining_seconds: Some(in_mining),
                epochs: Some((trained.steps * config.optimiser.batch) as f64 / trained.examples.max(1) as f64),
                transformation: last_norms(&events),
                ..self.evaluated(&config, &snapshot, row.name(), learned)?
            })
        })
    }

    /// Measures a model on all splits. A concept has been seen if it is one of `learned`, or without these, of the training split.
    fn evaluated(
        &self,
        config: &Config,
        snapshot: &Snapshot,
        name: String,
        learned: Option<HashSet<String>>,
    ) -> Result<Measured> {
        let args = self.args;
        let mut training = TrainingSplit::read(&args.corpus, &config.data.split)?;
        training.concepts = learned.unwrap_or(training.concepts);
        let read = |split: &str| Split::read(&args.corpus, split, args.every as usize, snapshot.kb(), Some(&training));
        let within = args.within_domain.then(|| Within::new(snapshot, snapshot.kb()));
        let retriever: &dyn Retriever = within.as_ref().map_or(snapshot, |within| within);
        let measure = |split: &Split, calibration: Option<&Split>| {
            let domains = domains::primary(split, snapshot.kb(), config.data.domains);
            evaluate::measure(retriever, split, calibration, &[domains], 64)
        };
        let split = read(&args.split)?.not_empty()?;
        let calibration = read(&config.validation.split)?;
        let judged = calibration.has_nil(NilOf::All).then_some(&calibration);
        let figures = measure(&split, judged)?;
        let mut splits = vec![SplitRecall::new(&args.split, &figures)];
        if self.family == Family::TBiencoder {
            splits.push(SplitRecall::new(&config.validation.split, &measure(&calibration.not_empty()?, None)?));
            if self.has_held_out() {
                splits.push(SplitRecall::new(HELD_OUT, &measure(&read(HELD_OUT)?.not_empty()?, None)?));
            }
        }
        Ok(Measured { splits, ..Measured::new(name, &figures) })
    }

    /// What needs no training: string matching, the majority of the training split, and the encoder as it is.
    fn baselines(&self) -> Result<Vec<Measured>> {
        let (args, folder) = (self.args, self.args.out.join("results"));
        let config = self.config(&[], 0)?;
        let (name, systems, splits) = match self.family {
            Family::Pel => ("baselines.json", vec![System::Tfidf, System::Majority], vec![&args.split]),
            _ => (
                "baselines-t-biencoder.json",
                vec![System::Bm25, System::Bm25Definitions],
                vec![&args.split, &config.validation.split],
            ),
        };
        let mut all: Vec<Measured> = kept(&folder.join(name), || {
            let mut all: Vec<Measured> = Vec::new();
            for split in splits {
                let args = EvaluateArgs {
                    corpus: args.corpus.clone(),
                    split: split.clone(),
                    train_split: config.data.split.clone(),
                    calibrate_split: None,
                    kb: Some(args.kb.clone()),
                    bundle: None,
                    systems: Some(systems.clone()),
                    top: 64,
                    by: Some(Vec::new()),
                    within_domain: args.within_domain,
                    ranker: None,
                    rerank: Vec::new(),
                    every: args.every,
                    out: None,
                };
                let found = evaluate::evaluate(&args, |_| Err(Error::input("a bundle was not asked for")), None)?;
                for figures in &found.systems {
                    let at = all.iter().position(|one| one.name == figures.system).unwrap_or(all.len());
                    if at == all.len() {
                        all.push(Measured::new(figures.system.clone(), figures));
                    }
                    all[at].splits.push(SplitRecall::new(split, figures));
                }
            }
            Ok(all)
        })?;
        // By the paper's own scores, windows and splits.
        let untrained = match self.family {
            Family::Pel => "untrained.json",
            _ => "untrained-t-biencoder.json",
        };
        all.push(kept(&folder.join(untrained), || {
            let snapshot = Snapshot::open(&config, None, "untrained encoder", self.device)?;
            self.evaluated(&config, &snapshot, "untrained encoder".into(), None)
        })?);
        Ok(all)
    }
}

/// What has been measured of a row, by seed.
fn of_every_seed(args: &ExperimentArgs, row: &impl Row) -> Result<Vec<Measured>> {
    let folder = args.out.join("results");
    if !folder.exists() {
        return Ok(Vec::new());
    }
    let files = std::fs::read_dir(&folder).map_err(|cause| io_error("listing", &folder, cause))?;
    let prefix = format!("{}-seed", row.slug());
    let seed = |name: &str| name.strip_prefix(&prefix)?.strip_suffix(".json")?.parse::<u64>().ok();
    let mut seeds: Vec<u64> = files.filter_map(|file| seed(&file.ok()?.file_name().to_string_lossy())).collect();
    seeds.sort_unstable();
    let read = |seed| kept(&folder.join(format!("{prefix}{seed}.json")), || Err(Error::input("it has gone")));
    seeds.into_iter().map(read).collect()
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
    keep(path, &done)?;
    Ok(done)
}

fn keep(path: &Path, done: &impl Serialize) -> Result<()> {
    let text = serde_json::to_vec_pretty(done).map_err(|cause| Error::io("encoding JSON").caused_by(cause))?;
    write_whole(path, |file| file.write_all(&text).map_err(|cause| io_error("writing", path, cause)))
}
