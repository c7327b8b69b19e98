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
mod measuring;
mod models;
mod other_kb;
mod pel;
mod pel_tables;
mod pretrained;
mod search;
mod settings;
mod stages;
mod t_biencoder;
mod t_tables;

pub use args::{ExperimentArgs, Family, TableId};

use crate::data::concept_table;
use crate::io::device::{DeviceArgs, OpenDevice, Work};
use crate::io::files::{io_error, read_text, write_own};
use crate::io::outputs::{Inputs, Writes};
use crate::train::config::Config;
use pel_shared::error::{Context, Error, Result};
use pel_shared::kb::KnowledgeBase;
use pel_shared::model::config::BertConfig;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

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
    check_outputs(args)?;
    settings::check_folder(&args.out)?;
    let device = device.open(Work::Long)?;
    let data = settings::digest(args)?;
    let kb = concept_table::read(&args.kb)?.kb;
    if args.within_domain.is_some() && args.table.contains(&TableId::Blink7) {
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
        write_own(&path, |file| file.write_all(text.as_bytes()).map_err(|cause| io_error("writing", &path, cause)))?;
        match json {
            true => println!("{}", serde_json::json!({"table": table.slug(), "file": path})),
            false => println!("{text}"),
        }
    }
    Ok(())
}

/// Refuses to write over what is read, or into a model.
fn check_outputs(args: &ExperimentArgs) -> Result<()> {
    let models = [Some(&args.encoder), args.pretrained.as_ref(), args.pretrained_ranker.as_ref()];
    let files = [Some(&args.kb), args.other_kb.as_ref(), args.config.as_ref(), args.ranker_config.as_ref()];
    let tables: Vec<_> = args.table.iter().map(|table| args.out.join(format!("{}.md", table.slug()))).collect();
    // A run of an earlier call may be a row's model; that a run is not trained over its own model, training itself sees to.
    let owned = ["results", "plots"].map(|name| args.out.join(name));
    let mut written = vec![Writes::Into(&args.out)];
    written.extend(owned.iter().map(|folder| Writes::Folder(folder)));
    let settings = ["settings", "settings-t-biencoder", "settings-blink", "settings-ranker", "settings-blink-ranker"];
    let settings: Vec<_> = settings.iter().map(|name| args.out.join(format!("{name}.json"))).collect();
    let mut seen = tables.iter().chain(&settings).collect::<Vec<_>>();
    seen.sort_unstable();
    seen.dedup();
    written.extend(seen.into_iter().map(|file| Writes::File(file)));
    Inputs::new()
        .artifacts(models.into_iter().flatten().map(PathBuf::as_path))
        .files(files.into_iter().flatten().map(PathBuf::as_path))
        .corpora([args.corpus.as_path()])
        .check(written)
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
    write_own(path, |file| file.write_all(&text).map_err(|cause| io_error("writing", path, cause)))
}
