//! The choice of hyper-parameters by cross-validation over the training split (BLINK, appendix A).
//!
//! ```text
//! OUT/folds/COUNT/N/             a corpus: the N-th part of the training split's documents is `dev`, the others are `train`
//! OUT/folds/COUNT/N/runs, lists  the stages of that fold, for its cross-encoders
//! ```

use super::cells::{Table, over_seeds, seeds, took};
use super::measuring::of_every_seed;
use super::models::{Cross, Finder, TrainedEncoder};
use super::provenance::{Weights, of_rows};
use super::settings::ranker_config;
use super::settings::{asked_for, check_rows, digest};
use super::stages::Stages;
use super::{Bench, Options, Row, TableId, kept};
use crate::experiment::measured::{Measured, RecallOf};
use pel_corpora::corpus::{Corpus, Document};
use pel_io::interrupt;
use pel_io::outputs::{OutputFolder, write_line};
use pel_kb::error::{Context, Error, Result};
use std::path::PathBuf;

/// The split of a fold that is measured.
const DEV: &str = "dev";

/// Settings are compared on a fold, so weights are not chosen on it.
const LAST: &str = "validation.keep=last";

/// The file that describes a fold's folder.
const RECORD: &str = "fold.json";

/// A point of the grid on a fold.
pub struct FoldRow {
    /// The number of candidates of the cross-encoder, if these are its settings.
    candidates: Option<usize>,
    fold: usize,
    folds: usize,
    settings: Vec<String>,
}

impl FoldRow {
    /// Its settings as part of a file name.
    fn words(&self) -> String {
        let words = |character: char| {
            if character.is_ascii_alphanumeric() || character == '.' {
                character
            } else {
                '-'
            }
        };
        self.settings.join("-").chars().map(words).collect()
    }
}

impl Row for FoldRow {
    fn name(&self) -> String {
        self.settings.join(", ")
    }

    fn slug(&self) -> String {
        let ranker = self
            .candidates
            .map_or(String::new(), |k| format!("ranker{k}-"));
        format!("{ranker}fold{}of{}-{}", self.fold, self.folds, self.words())
    }

    fn settings(&self) -> Vec<String> {
        if self.candidates.is_some() {
            return self.settings.clone();
        }
        let own = vec![
            "negatives.kind=hard".into(),
            format!("validation.split={DEV}"),
            LAST.into(),
        ];
        [self.settings.clone(), own].concat()
    }
}

/// The results of a grid point on all folds.
struct Point<'a> {
    settings: &'a [String],
    folds: usize,
    measured: Vec<Measured>,
}

/// Trains every point of the grid on every fold. Returns the table and its models.
///
/// # Errors
/// As training; or if the grid is invalid, or there are more folds than documents.
pub fn table(table: TableId, bench: &Bench<'_>) -> Result<(Table, Vec<Weights>)> {
    let (options, rows) = (bench.options, rows(table, bench.options)?);
    // All settings are checked before the first training.
    for row in rows.iter().filter(|row| row.fold == 0) {
        match row.candidates {
            Some(_) => ranker_config(
                &Bench {
                    options: &of_fold(options, row, options.out.clone()),
                    ..*bench
                },
                0,
            )
            .map(drop)
            .context(|| "--ranker-grid".into())?,
            None => bench
                .config(&row.settings, 0)
                .map(drop)
                .context(|| "--grid".into())?,
        }
    }
    let slugs = check_rows(bench, &rows)?;
    let folders = folds(bench, &bench.config(&[], 0)?.data.split)?;
    let mut points: Vec<Point<'_>> = Vec::new();
    let mut weights = Vec::new();
    for row in &rows {
        let own = of_fold(options, row, folders[row.fold].clone());
        let own = Bench {
            options: &own,
            ..*bench
        };
        let measured = match row.candidates {
            Some(k) => ranked(bench, &own, row, k, &slugs)?,
            None => own.of_row(row, &slugs)?,
        };
        // A cross-encoder's weights lie with its fold.
        if row.candidates.is_none() {
            weights.extend(of_rows([(row, measured.as_slice())]));
        }
        let at = points
            .iter()
            .position(|point| point.settings == row.settings)
            .unwrap_or(points.len());
        if at == points.len() {
            points.push(Point {
                settings: &row.settings,
                folds: 0,
                measured: Vec::new(),
            });
        }
        points[at].folds += usize::from(!measured.is_empty());
        points[at].measured.extend(measured);
    }
    Ok((written(table, options, &points), weights))
}

/// The options for a row, whose fold is a corpus in that folder.
fn of_fold(options: &Options, row: &FoldRow, folder: PathBuf) -> Options {
    let mut own = Options {
        corpus: folder.clone(),
        split: DEV.into(),
        every: 1,
        ..options.clone()
    };
    if row.candidates.is_some() {
        own.settings
            .extend([format!("validation.split={DEV}"), LAST.into()]);
        own.ranker_settings.extend(row.settings());
        own.ranker_settings.push(LAST.into());
        own.out = folder;
    }
    own
}

/// Trains and measures the cross-encoder of a row with every seed, if `--only` includes it, and
/// returns all its results. `own` is its fold. All cross-encoders of a fold share its bi-encoder.
fn ranked(
    bench: &Bench<'_>,
    own: &Bench<'_>,
    row: &FoldRow,
    k: usize,
    slugs: &[String],
) -> Result<Vec<Measured>> {
    let (options, bi_encoder) = (bench.options, Finder::Trained(TrainedEncoder::Retriever));
    for seed in options
        .seeds
        .iter()
        .filter(|_| asked_for(&row.slug(), slugs, &options.only))
    {
        let path = options
            .out
            .join("results")
            .join(format!("{}-seed{seed}.json", row.slug()));
        kept(&path, || {
            interrupt::check()?;
            let stages = Stages::new(own, *seed)?.with_variant(format!("-{}", row.words()));
            let listed = stages.ranks(bi_encoder, DEV)?.recall(k);
            let accuracy = stages
                .reranked(bi_encoder, Cross::BLINK, DEV, &[k])?
                .remove(0)
                .recall(1);
            let recall = vec![RecallOf {
                mentions: "all".into(),
                at: vec![accuracy, listed],
            }];
            Ok(Measured {
                name: row.name(),
                seed: Some(*seed),
                recall,
                ..Measured::default()
            })
        })?;
    }
    of_every_seed(options, row)
}

fn written(table: TableId, options: &Options, points: &[Point<'_>]) -> Table {
    let (ranks, k) = (table.ranks(), candidates(table, options).unwrap_or(64));
    let first = if ranks {
        format!("Accuracy, K = {k}")
    } else {
        "recall@1".into()
    };
    let second = format!(
        "recall@{k}{}",
        if ranks { " of the bi-encoder" } else { "" }
    );
    let mut text = Table::new(table.title(), &["Settings", "Folds", &first, &second]);
    let mut best: Option<(f64, &Point<'_>)> = None;
    for point in points {
        let values = |k: usize| -> Vec<f64> {
            point
                .measured
                .iter()
                .filter_map(|one| one.recall("all", k)?.value)
                .collect()
        };
        let first = values(1);
        let mean = first.iter().sum::<f64>() / first.len().max(1) as f64;
        if !first.is_empty() && best.is_none_or(|(best, _)| mean > best) {
            best = Some((mean, point));
        }
        text.line(&[
            point.settings.join(", "),
            point.folds.to_string(),
            over_seeds(&first),
            over_seeds(&values(k)),
        ]);
    }
    let words = best.map_or("none yet".to_owned(), |(_, point)| {
        point.settings.join(", ")
    });
    let by = if ranks { "accuracy" } else { "recall@1" };
    text.note(&format!(
        "Best at {by}: {words}. Values in percent: mean and standard deviation over the folds."
    ));
    if !ranks {
        text.note(
            "Each is one training with mined negatives; in the other tables it is the second, \
             after one with the batch's.",
        );
    }
    if let Some(words) = took(points.iter().flat_map(|point| &point.measured)).filter(|_| !ranks) {
        text.note(&words);
    } else {
        text.note(&seeds(&options.seeds));
    }
    text
}

/// The trainings: each point of the grid on each fold.
///
/// # Errors
/// If the grid is invalid.
pub fn rows(table: TableId, options: &Options) -> Result<Vec<FoldRow>> {
    let (candidates, folds) = (candidates(table, options), options.folds as usize);
    let (flag, grid) = if table.ranks() {
        ("--ranker-grid", &options.ranker_grid)
    } else {
        ("--grid", &options.grid)
    };
    let grid = points(grid).context(|| flag.into())?;
    let row = |fold: usize, settings: &[String]| FoldRow {
        candidates,
        fold,
        folds,
        settings: settings.to_vec(),
    };
    let of = |fold: usize| grid.iter().map(move |settings| row(fold, settings));
    Ok((0..folds).flat_map(of).collect())
}

/// The number of candidates of the cross-encoders, if the table compares them.
fn candidates(table: TableId, options: &Options) -> Option<usize> {
    table
        .ranks()
        .then(|| options.ks(table.family()).pop().unwrap_or(1))
}

/// All combinations of `KEY=VALUE,VALUE`.
fn points(grid: &[String]) -> Result<Vec<Vec<String>>> {
    let mut all = vec![Vec::new()];
    for line in grid {
        let Some((key, values)) = line
            .split_once('=')
            .filter(|(key, values)| !key.is_empty() && !values.is_empty())
        else {
            return Err(Error::input(format!(
                "expected KEY=VALUE,VALUE, found {line:?}"
            )));
        };
        all = all
            .iter()
            .flat_map(|settings: &Vec<String>| {
                values.split(',').map(|value| {
                    [
                        settings.clone(),
                        vec![format!("{}={}", key.trim(), value.trim())],
                    ]
                    .concat()
                })
            })
            .collect();
    }
    Ok(all)
}

/// The corpora of the folds, which are written unless they exist. Documents are assigned to folds
/// in turn.
fn folds(bench: &Bench<'_>, split: &str) -> Result<Vec<PathBuf>> {
    let (options, count) = (bench.options, bench.options.folds as usize);
    let folders: Vec<PathBuf> = (0..count)
        .map(|fold| options.out.join(format!("folds/{count}/{fold}")))
        .collect();
    let data = digest(options)?;
    let written = |folder: &PathBuf| {
        let record = std::fs::read(folder.join(RECORD)).ok()?;
        let record: serde_json::Value = serde_json::from_slice(&record).ok()?;
        Some(record["data"] == data.as_str() && record["split"] == split)
    };
    if folders.iter().all(|folder| written(folder) == Some(true)) {
        return Ok(folders);
    }
    let Corpus {
        documents,
        mentions,
        ..
    } = Corpus::read(&options.corpus, split)?;
    if documents.len() < count {
        let (found, corpus) = (documents.len(), options.corpus.display());
        return Err(Error::input(format!(
            "--folds: expected at least {count} documents in {corpus}, found {found}"
        )));
    }
    for (fold, folder) in folders.iter().enumerate() {
        let mut output = OutputFolder::new(folder, RECORD, [])?;
        output.write("documents.jsonl", |out| {
            documents.iter().try_for_each(|document| {
                write_line(
                    out,
                    &Document {
                        split: None,
                        ..document.clone()
                    },
                )
            })
        })?;
        for (name, inside) in [(split, false), (DEV, true)] {
            output.write(&format!("mentions.{name}.jsonl"), |out| {
                let own = mentions
                    .iter()
                    .filter(|placed| (placed.document % count == fold) == inside);
                own.map(|placed| &placed.mention)
                    .try_for_each(|mention| write_line(out, mention))
            })?;
        }
        output.commit(
            &serde_json::json!({ "fold": fold, "of": count, "split": split, "data": data }),
        )?;
    }
    Ok(folders)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_grid_is_every_combination() {
        let grid = |lines: &[&str]| {
            points(
                &lines
                    .iter()
                    .map(|line| (*line).to_owned())
                    .collect::<Vec<_>>(),
            )
        };
        let all = grid(&["a.b=1,2", "c=x"]).expect("a grid");
        assert_eq!(all, [["a.b=1", "c=x"], ["a.b=2", "c=x"]]);
        let row = |candidates| FoldRow {
            candidates,
            fold: 3,
            folds: 10,
            settings: all[1].clone(),
        };
        assert_eq!(
            [row(None).slug(), row(Some(8)).slug()],
            ["fold3of10-a.b-2-c-x", "ranker8-fold3of10-a.b-2-c-x"]
        );
        for wrong in ["a", "=1", "a="] {
            assert!(grid(&[wrong]).is_err(), "{wrong}");
        }
    }
}
