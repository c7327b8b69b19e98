//! T-Biencoder's tables in the paper's layout, as Markdown, and its figure 3.

use super::cells::{Markdown, over_seeds, values};
use super::measured::Measured;
use super::t_biencoder::TRow;
use super::{Row, TableId};
use crate::plots::{Chart, Series};
use crate::split::HELD_OUT;
use crate::train::FIRST_PASS;
use pel_shared::error::Result;
use pel_shared::score::Scorer;
use std::path::Path;

type Rows = [(TRow, Vec<Measured>)];

/// k of all these tables.
const K: usize = 64;

/// A table with its baselines. `splits` are the names of the validation and the test split, `note` a paragraph below.
pub fn markdown(table: TableId, baselines: &[Measured], rows: &Rows, splits: [&str; 2], note: Option<&str>) -> String {
    let [validation, test] = splits;
    let on = |measured: &[Measured], split: &str| values(measured, |one| one.recall_on(split, "all", K));
    let mut text = match table {
        TableId::T2 | TableId::T5 => {
            let mut text = Markdown::new(
                table.title(),
                &["Model", "Scorer", "Negatives", "Validation", "Testing", "Minutes per epoch"],
            );
            for baseline in baselines {
                let one = std::slice::from_ref(baseline);
                let cells = [&baseline.name, "-", "-", &on(one, validation), &on(one, test), "-"];
                text.line(&cells);
            }
            for (row, measured) in rows {
                let minutes: Vec<f64> = measured.iter().filter_map(Measured::minutes_per_epoch).collect();
                let minutes = match minutes.is_empty() {
                    true => "-".into(),
                    false => format!("{:.1}", minutes.iter().sum::<f64>() / minutes.len() as f64),
                };
                let (validation, test) = (on(measured, validation), on(measured, test));
                text.line(&[row.name(), row.scorer_name().into(), row.negatives(), validation, test, minutes]);
            }
            text
        }
        TableId::T4 => by_domain(table, rows, splits),
        TableId::T6 => {
            let mut text = Markdown::new(table.title(), &["Scorer", "K", "Validation", "Testing"]);
            for (row, measured) in rows {
                let layer = row.transformed.map_or_else(String::new, |of| of.layer.to_string());
                text.line(&[row.scorer_name().to_owned(), layer, on(measured, validation), on(measured, test)]);
            }
            text
        }
        TableId::T7 => {
            let head = ["Model", "Scorer", "Testing", "Training domains, seen", "Training domains, unseen"];
            let mut text = Markdown::new(table.title(), &head);
            for (row, measured) in rows {
                let held_out = |of: &'static str| values(measured, |one| one.recall_on(HELD_OUT, of, K));
                let cells = [on(measured, test), held_out("seen"), held_out("zero-shot")];
                text.line(&[vec![row.name(), row.scorer_name().into()], cells.into()].concat());
            }
            text
        }
        _ => {
            let mut text = Markdown::new(table.title(), &["Scorer", "ε", "Validation", "Testing"]);
            for (row, measured) in rows {
                let epsilon = row.transformed.map_or_else(String::new, |of| of.epsilon.to_string());
                text.line(&[row.scorer_name().to_owned(), epsilon, on(measured, validation), on(measured, test)]);
            }
            text
        }
    };
    text.trainings(rows.iter().flat_map(|(_, measured)| measured));
    if rows.iter().any(|(row, _)| row.scorer == Scorer::SumOfMax) {
        text.note(&format!("SOM orders the {FIRST_PASS} concepts that whole vectors find first."));
    }
    note.iter().for_each(|words| text.note(words));
    text.text
}

/// Table 4: domains down, rows across; the last lines are the means over domains.
fn by_domain(table: TableId, rows: &Rows, splits: [&str; 2]) -> Markdown {
    let heads: Vec<String> = rows.iter().map(|(row, _)| format!("{} {}", row.name(), row.scorer_name())).collect();
    let head: Vec<&str> = ["Domain", "Mentions of"].into_iter().chain(heads.iter().map(String::as_str)).collect();
    let mut text = Markdown::new(table.title(), &head);
    for split in splits {
        let first = rows.iter().find_map(|(_, measured)| measured.first()?.split(split));
        let domains: Vec<String> =
            first.map_or_else(Vec::new, |split| split.domains.iter().map(|one| one.mentions.clone()).collect());
        for domain in &domains {
            let cell =
                |(_, measured): &(TRow, Vec<Measured>)| values(measured, |one| one.split(split)?.domain(domain, K));
            text.line(&[vec![domain.clone(), split.to_owned()], rows.iter().map(cell).collect()].concat());
        }
        let mean = |one: &Measured| {
            let of = |domain: &String| one.split(split)?.domain(domain, K)?.value;
            let values: Vec<f64> = domains.iter().filter_map(of).collect();
            (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
        };
        if domains.len() > 1 {
            let cell = |(_, measured): &(TRow, Vec<Measured>)| {
                over_seeds(&measured.iter().filter_map(mean).collect::<Vec<_>>())
            };
            text.line(
                &[vec!["mean of the domains".into(), split.to_owned()], rows.iter().map(cell).collect()].concat(),
            );
        }
    }
    text
}

/// Figure 3: recall over ε, for each scorer.
///
/// # Errors
/// If a file cannot be written.
pub fn draw(table: TableId, out: &Path, rows: &Rows, test: &str) -> Result<()> {
    if table != TableId::TFigure3 {
        return Ok(());
    }
    let series = [(Scorer::Dual, "DUAL"), (Scorer::SumOfMax, "SOM")].map(|(scorer, name)| {
        let points = rows.iter().filter(|(row, _)| row.scorer == scorer).filter_map(|(row, measured)| {
            let of = |one: &Measured| one.recall_on(test, "all", K)?.value;
            let values: Vec<f64> = measured.iter().filter_map(of).collect();
            let mean = (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)?;
            Some((row.transformed?.epsilon, mean))
        });
        Series { name: name.into(), points: points.collect() }
    });
    let chart = Chart {
        title: format!("Recall@64 on {test} by the bound of the transformation"),
        x: "ε".into(),
        y: "recall@64".into(),
        series: series.into(),
        log_x: true,
        ..Chart::default()
    };
    chart.write(&out.join("plots").join("t-figure-3"))
}
