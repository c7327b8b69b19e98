//! The choice of hyper-parameters by cross-validation over the training split (BLINK, appendix A).
//!
//! ```text
//! OUT/folds/COUNT/N/     a corpus: the N-th part of the training split's documents is `dev`, the others are `train`
//! ```

use super::cells::{Markdown, over_seeds};
use super::measured::Measured;
use super::settings::check_rows;
use super::{Bench, ExperimentArgs, Row, TableId};
use crate::corpus::{Corpus, Document};
use crate::import::output::{Output, write_line};
use pel_shared::error::{Context, Error, Result};
use std::path::PathBuf;

/// The split that a fold is measured on.
const DEV: &str = "dev";

/// A point of the grid on a fold.
pub struct FoldRow {
    fold: usize,
    folds: usize,
    settings: Vec<String>,
}

impl Row for FoldRow {
    fn name(&self) -> String {
        self.settings.join(", ")
    }

    fn slug(&self) -> String {
        let words =
            |character: char| if character.is_ascii_alphanumeric() || character == '.' { character } else { '-' };
        format!("fold{}of{}-{}", self.fold, self.folds, self.settings.join("-").chars().map(words).collect::<String>())
    }

    fn settings(&self) -> Vec<String> {
        [self.settings.clone(), vec!["negatives.kind=hard".into(), format!("validation.split={DEV}")]].concat()
    }
}

/// Trains every point of the grid on every fold.
///
/// # Errors
/// As training; or if the grid is none, or there are more folds than documents.
pub fn table(table: TableId, bench: &Bench<'_>) -> Result<String> {
    let grid = points(&bench.args.grid)?;
    // All of them, before the first is trained.
    grid.iter().try_for_each(|settings| bench.config(settings, 0).map(drop).context(|| "--grid".into()))?;
    let split = bench.config(&[], 0)?.data.split;
    let folders = folds(bench, &split)?;
    let rows = rows(bench.args)?;
    let slugs = check_rows(bench, &rows)?;
    let (mut found, mut folds_of) = (vec![Vec::<Measured>::new(); grid.len()], vec![0usize; grid.len()]);
    for (at, row) in rows.iter().enumerate() {
        let args =
            ExperimentArgs { corpus: folders[row.fold].clone(), split: DEV.into(), every: 1, ..bench.args.clone() };
        let measured = Bench { args: &args, ..*bench }.of_row(row, &slugs)?;
        folds_of[at % grid.len()] += usize::from(!measured.is_empty());
        found[at % grid.len()].extend(measured);
    }
    let mut text = Markdown::new(table.title(), &["Settings", "Folds", "recall@1", "recall@64"]);
    let mut best: Option<(f64, &Vec<String>)> = None;
    for ((settings, measured), folds) in grid.iter().zip(&found).zip(folds_of) {
        let values = |k: usize| -> Vec<f64> { measured.iter().filter_map(|one| one.recall("all", k)?.value).collect() };
        let first = values(1);
        let mean = first.iter().sum::<f64>() / first.len().max(1) as f64;
        if !first.is_empty() && best.is_none_or(|(best, _)| mean > best) {
            best = Some((mean, settings));
        }
        text.line(&[settings.join(", "), folds.to_string(), over_seeds(&first), over_seeds(&values(64))]);
    }
    let words = best.map_or("none yet".to_owned(), |(_, settings)| settings.join(", "));
    text.note(&format!("Best at recall@1: {words}. Values in percent: mean and standard deviation over the folds."));
    text.trainings(found.iter().flatten());
    Ok(text.text)
}

/// The trainings: each point of the grid on each fold.
///
/// # Errors
/// If the grid is none.
pub fn rows(args: &ExperimentArgs) -> Result<Vec<FoldRow>> {
    let (grid, folds) = (points(&args.grid)?, args.folds as usize);
    let of = |fold: usize| grid.iter().map(move |settings| FoldRow { fold, folds, settings: settings.clone() });
    Ok((0..folds).flat_map(of).collect())
}

/// All combinations of `KEY=VALUE,VALUE`.
fn points(grid: &[String]) -> Result<Vec<Vec<String>>> {
    let mut all = vec![Vec::new()];
    for line in grid {
        let Some((key, values)) = line.split_once('=').filter(|(key, values)| !key.is_empty() && !values.is_empty())
        else {
            return Err(Error::input(format!("--grid: expected KEY=VALUE,VALUE, found {line:?}")));
        };
        all = all
            .iter()
            .flat_map(|settings: &Vec<String>| {
                values
                    .split(',')
                    .map(|value| [settings.clone(), vec![format!("{}={}", key.trim(), value.trim())]].concat())
            })
            .collect();
    }
    Ok(all)
}

/// The corpora of the folds, which are written unless they are there. A document goes to the fold of its place in the file.
fn folds(bench: &Bench<'_>, split: &str) -> Result<Vec<PathBuf>> {
    let (args, count) = (bench.args, bench.args.folds as usize);
    let folders: Vec<PathBuf> = (0..count).map(|fold| args.out.join(format!("folds/{count}/{fold}"))).collect();
    if folders.iter().all(|folder| folder.join("documents.jsonl").is_file()) {
        return Ok(folders);
    }
    let Corpus { documents, mentions, .. } = Corpus::read(&args.corpus, split)?;
    if documents.len() < count {
        let (found, corpus) = (documents.len(), args.corpus.display());
        return Err(Error::input(format!("--folds: expected at least {count} documents in {corpus}, found {found}")));
    }
    for (fold, folder) in folders.iter().enumerate() {
        let mut output = Output::new(folder, "fold.json", [])?;
        output.write("documents.jsonl", |out| {
            documents.iter().try_for_each(|document| write_line(out, &Document { split: None, ..document.clone() }))
        })?;
        for (name, inside) in [(split, false), (DEV, true)] {
            output.write(&format!("mentions.{name}.jsonl"), |out| {
                let own = mentions.iter().filter(|placed| (placed.document % count == fold) == inside);
                own.map(|placed| &placed.mention).try_for_each(|mention| write_line(out, mention))
            })?;
        }
        output.commit(&serde_json::json!({ "fold": fold, "of": count, "split": split }))?;
    }
    Ok(folders)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_grid_is_every_combination() {
        let grid = |lines: &[&str]| points(&lines.iter().map(|line| (*line).to_owned()).collect::<Vec<_>>());
        let all = grid(&["a.b=1,2", "c=x"]).expect("a grid");
        assert_eq!(all, [["a.b=1", "c=x"], ["a.b=2", "c=x"]]);
        let row = FoldRow { fold: 3, folds: 10, settings: all[1].clone() };
        assert_eq!(row.slug(), "fold3of10-a.b-2-c-x");
        for wrong in ["a", "=1", "a="] {
            assert!(grid(&[wrong]).is_err(), "{wrong}");
        }
    }
}
