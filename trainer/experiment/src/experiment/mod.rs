//! Experiments: trains and measures every row of a table, and writes the table in the paper's
//! layout.
//!
//! ```text
//! OUT/settings*.json       the settings that all rows share; a call with others is refused
//! OUT/runs/ROW-seedN/      a run of `pel train`, which can be resumed
//! OUT/results/ROW-seedN.json   its figures; a row with figures is not measured again
//! OUT/pel-2.md, .tex, .csv ...   the tables, with means over seeds and intervals over documents
//! OUT/plots/               the figures
//! ```

mod accuracy;
mod blink;
mod blink_tables;
mod cells;
mod domains;
mod estimate;
mod folds;
mod formats;
mod measured;
mod measuring;
mod models;
mod options;
mod other_kb;
mod pel;
mod pel_tables;
mod preset_data;
mod preset_part;
mod presets;
mod pretrained;
mod provenance;
mod search;
mod settings;
mod stages;
mod t_biencoder;
mod t_tables;
mod tables;

pub use estimate::{Estimate, estimate};
pub use options::Options;
pub use preset_data::{Prepared, prepare};
pub use preset_part::Part;
pub use presets::{Plan, Preset};
pub use settings::check_folder;
pub use tables::{Family, TableId};

use cells::Table;
use measured::Measured;
use pel_artifacts::concept_table;
use pel_artifacts::device::OpenDevice;
use pel_io::files::{io_error, read_text, write_no_follow};
use pel_kb::KnowledgeBase;
use pel_kb::error::{Context, Error, Result};
use pel_model::config::BertConfig;
use pel_trainer::train::config::{Config, Fgsm};
use provenance::{Sources, Weights};
use serde::{Deserialize, Serialize};
use std::path::Path;

/// One training of a table.
pub trait Row {
    /// Its name in tables: `PEL-Pb + FGSM`.
    fn name(&self) -> String;

    /// Its name in files.
    fn slug(&self) -> String;

    /// Its settings of the configuration.
    fn settings(&self) -> Vec<String>;
}

/// The endings of a table's files: Markdown, LaTeX and CSV.
pub const FORMATS: [&str; 3] = ["md", "tex", "csv"];

/// Trains and measures the rows of the tables, and writes the tables. `written` is called with each
/// table, its file in Markdown and that text.
///
/// # Errors
/// As training and evaluating. Finished rows stay on disk.
pub fn run(
    options: &Options,
    device: &OpenDevice,
    mut written: impl FnMut(TableId, &Path, &str),
) -> Result<()> {
    let counts = options.pair_of_counts()?;
    let data = settings::digest(options)?;
    let kb = concept_table::read(&options.kb)?.kb;
    if options.within_domain.is_some() && options.table.contains(&TableId::Blink7) {
        return Err(Error::input(
            "--within-domain: blink-7 searches all vectors at once; ask for it without",
        ));
    }
    let mut tables = options.table.clone();
    tables.sort_unstable();
    tables.dedup();
    let other_kb = other_kb::read(options)?;
    let bench_of = |table: TableId| Bench {
        table,
        options,
        family: table.family(),
        device,
        other_kb: other_kb.as_ref(),
    };
    let slugs = tables
        .iter()
        .map(|table| bench_of(*table).slugs(counts))
        .collect::<Result<Vec<_>>>()?
        .concat();
    settings::check_only(options, &slugs)?;
    for flag in options.idle(&tables) {
        eprintln!("warning: {flag} changes nothing: no table that was asked for has it");
    }
    let mut sources: Option<String> = None;
    for table in tables {
        let bench = bench_of(table);
        if !table.folds() {
            bench.check_splits(&kb)?;
        }
        settings::check(&bench, &data)?;
        if sources.is_none() {
            sources = Some(Sources::read(options)?.words());
        }
        let mut filled = bench.filled(counts, &kb)?;
        filled.note(sources.as_deref().unwrap_or_default());
        let texts = [filled.markdown(), filled.latex(), filled.csv()];
        let markdown = options.out.join(format!("{}.{}", table.slug(), FORMATS[0]));
        for (ending, text) in FORMATS.iter().zip(&texts) {
            let path = markdown.with_extension(ending);
            write_no_follow(&path, |file| {
                file.write_all(text.as_bytes())
                    .map_err(|cause| io_error("writing", &path, cause))
            })?;
        }
        written(table, &markdown, &texts[0]);
    }
    Ok(())
}

/// A table of one paper.
#[derive(Clone, Copy)]
struct Bench<'a> {
    table: TableId,
    options: &'a Options,
    family: Family,
    device: &'a OpenDevice,
    /// The other knowledge base of BLINK's table 4.
    other_kb: Option<&'a KnowledgeBase>,
}

impl Bench<'_> {
    /// The number of layers of the encoder.
    fn depth(&self) -> Result<usize> {
        let path = self.options.encoder.join("config.json");
        Ok(BertConfig::from_bytes(read_text(&path)?.as_bytes())
            .context(|| path.display().to_string())?
            .num_hidden_layers)
    }

    /// The file names of its table's rows; empty for a table of stages.
    fn slugs(&self, counts: [usize; 2]) -> Result<Vec<String>> {
        let table = self.table;
        Ok(match self.family {
            _ if table.has_stages() => Vec::new(),
            Family::Pel => pel::rows(table, counts).iter().map(Row::slug).collect(),
            Family::TBiencoder => t_biencoder::rows(table, self.depth()?)
                .iter()
                .map(Row::slug)
                .collect(),
            Family::Blink => folds::rows(table, self.options)?
                .iter()
                .map(Row::slug)
                .collect(),
        })
    }

    /// Trains and measures the rows of its table, and returns the table.
    fn filled(&self, counts: [usize; 2], kb: &KnowledgeBase) -> Result<Table> {
        let Self { table, options, .. } = *self;
        let of_stages = || provenance::of_stages(&options.out, &options.seeds);
        let (mut filled, weights) = match self.family {
            Family::Pel if table == TableId::Pel5 => {
                let retrievers = models::retrievers(options, counts)?;
                settings::check_rows(self, &retrievers)?;
                let filled = blink_tables::of_pel(&blink::Blink::new(self)?, &retrievers)?;
                (filled, of_stages()?)
            }
            Family::Pel => {
                let rows = self.trained(pel::rows(table, counts))?;
                pel_tables::draw(table, &options.out, &rows)?;
                let filled = pel_tables::layout(table, &self.baselines()?, &rows);
                (filled, weights(&rows))
            }
            Family::TBiencoder => self.t_biencoder(kb)?,
            Family::Blink if table.folds() => folds::table(table, self)?,
            Family::Blink => {
                let filled = blink_tables::table(&blink::Blink::new(self)?, table)?;
                (filled, of_stages()?)
            }
        };
        if !table.folds() {
            filled.note(&self.measured_on()?);
        }
        if let Some(words) = provenance::words(&weights) {
            filled.note(&words);
        }
        Ok(filled)
    }

    /// A table of T-Biencoder, whose splits should share no domain.
    fn t_biencoder(&self, kb: &KnowledgeBase) -> Result<(Table, Vec<Weights>)> {
        let Self { table, options, .. } = *self;
        let config = self.config(&[], 0)?;
        let validated = config.validation.split.as_str();
        let mut measured = vec![options.split.as_str()];
        measured.extend((validated != options.split).then_some(validated));
        let shared = measured.iter().map(|split| {
            domains::shared(
                &options.corpus,
                [&*config.data.split, split],
                config.data.domains,
                kb,
            )
        });
        let shared: Vec<String> = shared
            .filter_map(Result::transpose)
            .collect::<Result<_>>()?;
        shared
            .iter()
            .for_each(|words| eprintln!("warning: {words}"));
        let rows = self.trained(t_biencoder::rows(table, self.depth()?))?;
        t_tables::draw(table, &options.out, &rows, &options.split)?;
        let filled = t_tables::layout(
            table,
            &self.baselines()?,
            &rows,
            [validated, &options.split],
            &shared,
        );
        Ok((filled, weights(&rows)))
    }

    /// The configuration of a row with these settings.
    fn config(&self, row: &[String], seed: u64) -> Result<Config> {
        let options = self.options;
        let settings = [
            self.paths(seed),
            options.base.clone(),
            options.settings.clone(),
            row.to_vec(),
        ]
        .concat();
        let base = match self.family {
            // The rows say which of them have FGSM.
            Family::Pel => Config {
                fgsm: Fgsm::off(),
                ..Config::default()
            },
            Family::TBiencoder => t_biencoder::base(),
            Family::Blink => Config::blink(),
        };
        base.read(options.config.as_deref(), &settings)
    }

    /// The settings of every configuration.
    fn paths(&self, seed: u64) -> Vec<String> {
        let options = self.options;
        let path = |key: &str, path: &Path| {
            format!("{key}={}", toml::Value::String(path.display().to_string()))
        };
        vec![
            path("model.encoder", &options.encoder),
            path("data.kb", &options.kb),
            path("data.corpus", &options.corpus),
            format!("seed={seed}"),
        ]
    }
}

/// The models of measured rows.
fn weights<R: Row>(rows: &[(R, Vec<Measured>)]) -> Vec<Weights> {
    let rows = rows
        .iter()
        .map(|(row, measured)| (row, measured.as_slice()));
    provenance::of_rows(rows)
}

/// Reads the stored result of an earlier call, or computes and stores it.
fn kept<T: Serialize + for<'de> Deserialize<'de>>(
    path: &Path,
    work: impl FnOnce() -> Result<T>,
) -> Result<T> {
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
    let text = serde_json::to_vec_pretty(done)
        .map_err(|cause| Error::io("encoding JSON").caused_by(cause))?;
    write_no_follow(path, |file| {
        file.write_all(&text)
            .map_err(|cause| io_error("writing", path, cause))
    })
}
