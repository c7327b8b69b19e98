//! PEL's tables in the paper's layout, and its figures 2 and 3.

use super::cells::{RowHits, Table, differences, hits_at, over_seeds, values};
use super::pel::PelRow;
use super::{Row, TableId};
use crate::evaluate::hits::Hits;
use crate::experiment::measured::{Measured, NilResult};
use pel_kb::error::Result;
use pel_trainer::plots::{Chart, Series, smoothed};
use pel_trainer::train::METRICS;
use pel_trainer::train::config::NegativeKind;
use pel_trainer::train::figures::nil_curve;
use pel_trainer::train::log::{Event, read};
use std::path::Path;

type Rows = [(PelRow, Vec<Measured>)];

/// A table with its baselines.
pub fn layout(table: TableId, baselines: &[Measured], rows: &Rows) -> Table {
    let mut text = match table {
        TableId::Pel2 => by_count(table, baselines, rows),
        TableId::Pel3 => by_sampling(table, baselines, rows),
        _ => nil_table(table, baselines, rows),
    };
    text.compare(compared(table, baselines, rows));
    text.trainings(rows.iter().flat_map(|(_, measured)| measured));
    text
}

/// Table 2: recall by the number of negatives.
fn by_count(table: TableId, baselines: &[Measured], rows: &Rows) -> Table {
    let head = [
        "",
        "# Neg.",
        "recall@1",
        "recall@64",
        "zero-shot @1",
        "zero-shot @64",
    ];
    let mut text = Table::new(table.title(), &head);
    let cells = |measured: &[Measured]| {
        [("all", 1), ("all", 64), ("zero-shot", 1), ("zero-shot", 64)]
            .map(|(of, k)| recall(measured, of, k))
    };
    for baseline in baselines {
        let name = vec![baseline.name.clone(), "-".into()];
        text.line(&[name, cells(std::slice::from_ref(baseline)).into()].concat());
    }
    for (row, measured) in rows {
        let count = format!("{} ({})", row.count, row.sampling_name());
        text.line(&[vec![row.name(), count], cells(measured).into()].concat());
    }
    text
}

/// Table 3: recall with random and with mixed negatives.
fn by_sampling(table: TableId, baselines: &[Measured], rows: &Rows) -> Table {
    let head = [
        "",
        "Random recall@1",
        "Random recall@64",
        "Mixed recall@1",
        "Mixed recall@64",
    ];
    let mut text = Table::new(table.title(), &head);
    let cells = |measured: &[Measured]| [1, 64].map(|k| recall(measured, "all", k));
    let none = || ["-".to_owned(), "-".to_owned()];
    for baseline in baselines {
        let found = cells(std::slice::from_ref(baseline));
        text.line(&[vec![baseline.name.clone()], found.into(), none().into()].concat());
    }
    let mut names: Vec<String> = rows.iter().map(|(row, _)| row.name()).collect();
    names.dedup();
    for name in names {
        let of = |sampling| {
            rows.iter()
                .find(|(row, _)| row.name() == name && row.sampling == sampling)
        };
        let both = [NegativeKind::Random, NegativeKind::Mixed]
            .map(|sampling| of(sampling).map_or_else(none, |row| cells(&row.1)));
        text.line(&[vec![name], both.concat()].concat());
    }
    text
}

/// Table 4: the detection of NIL, and recall over all classes.
fn nil_table(table: TableId, baselines: &[Measured], rows: &Rows) -> Table {
    let head = [
        "",
        "NIL auPR",
        "Precision",
        "Recall",
        "All recall@1",
        "All recall@64",
    ];
    let mut text = Table::new(table.title(), &head);
    let named = rows
        .iter()
        .map(|(row, measured)| (row.name(), measured.clone()));
    for (name, measured) in baselines
        .iter()
        .map(|one| (one.name.clone(), vec![one.clone()]))
        .chain(named)
    {
        let kinds: Vec<String> = measured.first().map_or_else(Vec::new, |first| {
            first.nil.iter().map(|nil| nil.kind.clone()).collect()
        });
        for kind in &kinds {
            let nil = |value: &dyn Fn(&NilResult) -> Option<f64>| {
                let values = measured
                    .iter()
                    .filter_map(|one| value(one.nil.iter().find(|nil| nil.kind == *kind)?));
                over_seeds(&values.collect::<Vec<_>>())
            };
            let all =
                |k: usize| nil(&move |nil| nil.all_classes.iter().find(|at| at.k == k)?.value);
            let name = if kinds.len() > 1 {
                format!("{name}, NIL {kind}")
            } else {
                name.clone()
            };
            text.line(&[
                name,
                nil(&|nil| nil.au_pr),
                nil(&|nil| nil.precision),
                nil(&|nil| nil.recall),
                all(1),
                all(64),
            ]);
        }
    }
    text
}

/// How rows differ from the first trained one: tables 2 and 3 in recall, table 4 over all classes.
fn compared(table: TableId, baselines: &[Measured], rows: &Rows) -> Vec<Option<String>> {
    let recall = |name: &dyn Fn(&PelRow) -> String, rows: &[&(PelRow, Vec<Measured>)], of: &str| {
        [1, 64].map(|k| {
            let rows = rows
                .iter()
                .map(|(row, measured)| (name(row), measured.as_slice()));
            differences(&hits_at(baselines, rows, k), &format!("{of}recall@{k}"))
        })
    };
    match table {
        TableId::Pel2 => {
            let name = |row: &PelRow| {
                let (name, sampling) = (row.name(), row.sampling_name());
                format!("{name}, {} {sampling}", row.count)
            };
            recall(&name, &rows.iter().collect::<Vec<_>>(), "").to_vec()
        }
        TableId::Pel3 => [NegativeKind::Random, NegativeKind::Mixed]
            .into_iter()
            .flat_map(|sampling| {
                let of: Vec<_> = rows
                    .iter()
                    .filter(|(row, _)| row.sampling == sampling)
                    .collect();
                let first = of.first().map_or("", |(row, _)| row.sampling_name());
                recall(&PelRow::name, &of, &format!("{first} negatives, "))
            })
            .collect(),
        _ => {
            let first = rows.iter().find_map(|(_, measured)| measured.first());
            let kinds: &[NilResult] = match first {
                Some(first) => &first.nil,
                None => &[],
            };
            let of_kind = |kind: &NilResult| {
                let hits = |measured: &[Measured]| -> Vec<Hits> {
                    let nil = measured
                        .iter()
                        .filter_map(|one| one.nil.iter().find(|nil| nil.kind == kind.kind));
                    nil.map(|nil| nil.hits.clone()).collect()
                };
                let rows: Vec<RowHits> = rows
                    .iter()
                    .map(|(row, measured)| (row.name(), hits(measured)))
                    .collect();
                let all = format!("recall@1 over all classes, NIL {}", kind.kind);
                differences(&rows, &all)
            };
            kinds.iter().map(of_kind).collect()
        }
    }
}

fn recall(measured: &[Measured], mentions: &str, k: usize) -> String {
    values(measured, |one| one.recall(mentions, k))
}

/// Figure 2 (precision over recall of NIL) for table 4; figure 3 (gradient norms of both losses)
/// for table 3.
///
/// # Errors
/// If metrics cannot be read, or a file cannot be written.
pub fn draw(table: TableId, out: &Path, rows: &Rows) -> Result<()> {
    let folder = out.join("plots");
    match table {
        TableId::Pel2 => Ok(()),
        TableId::Pel3 => ["random", "mixed"].into_iter().try_for_each(|name| {
            let mut series = Vec::new();
            for (row, measured) in rows
                .iter()
                .filter(|(row, _)| row.sampling_name() == name && !row.fgsm)
            {
                let Some(seed) = measured.first().and_then(|one| one.seed) else {
                    continue;
                };
                let run = out.join("runs").join(format!("{}-seed{seed}", row.slug()));
                let norm = |event| match event {
                    Event::Step {
                        step,
                        gradient_norm,
                        ..
                    } => Some((step as f64, gradient_norm)),
                    _ => None,
                };
                let norms: Vec<(f64, f64)> = read(&run.join(METRICS))?
                    .into_iter()
                    .filter_map(norm)
                    .collect();
                series.push(Series {
                    name: row.name(),
                    points: smoothed(&norms, (norms.len() / 20).max(1)),
                });
            }
            let title = format!("Smoothed gradient norm, {name} negatives");
            let chart = Chart {
                title,
                x: "step".into(),
                y: "l2 norm".into(),
                series,
                ..Chart::default()
            };
            chart.write(&folder.join(format!("pel-figure-3-{name}")))
        }),
        _ => {
            let series = rows.iter().filter_map(|(row, measured)| {
                let curve = measured.first()?.nil.first()?.curve.clone();
                Some(Series {
                    name: row.name(),
                    points: curve,
                })
            });
            nil_curve(series.collect()).write(&folder.join("pel-figure-2"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::pel;
    use super::*;
    use crate::evaluate::ranks::Value;
    use crate::experiment::measured::{HitsAt, RecallOf};

    fn measured(name: &str, seed: Option<u64>, first: f64) -> Measured {
        let value = |k, value| Value {
            k,
            value: Some(value),
            interval: (seed != Some(2)).then_some([value - 0.01, value + 0.01]),
        };
        let nil = NilResult {
            kind: "all".into(),
            au_pr: Some(0.8),
            precision: Some(0.7),
            recall: Some(0.6),
            all_classes: vec![value(1, 0.5), value(64, 0.9)],
            curve: vec![(0.5, 0.9)],
            hits: Hits::default(),
        };
        let recall = RecallOf {
            mentions: "all".into(),
            at: vec![value(1, first), value(64, 0.9)],
        };
        let (steps, step_seconds) = (seed.map(|_| 10), seed.map(|_| 60.0));
        let documents = Hits::new([(0, first > 0.45), (1, true)]);
        Measured {
            hits: vec![HitsAt { k: 1, documents }],
            name: name.into(),
            seed,
            steps,
            step_seconds,
            recall: vec![recall],
            nil: vec![nil],
            ..Measured::default()
        }
    }

    #[test]
    fn tables_have_means_deviations_and_intervals() {
        let rows = pel::rows(TableId::Pel3, [4, 8]);
        let all: Vec<(PelRow, Vec<Measured>)> = rows
            .iter()
            .map(|row| {
                (
                    *row,
                    vec![measured("x", Some(1), 0.50), measured("x", Some(2), 0.52)],
                )
            })
            .collect();
        let baselines = [measured("tfidf", None, 0.4)];
        let text = layout(TableId::Pel3, &baselines, &all).markdown();
        assert!(
            text.contains("| tfidf | 40.0 [39.0, 41.0] | 90.0 [89.0, 91.0] | - | - |"),
            "{text}"
        );
        // Deviation of 50 and 52: √2.
        let cell = "51.0 ± 1.4 [49.0, 51.0]";
        assert!(
            text.contains(&format!(
                "| PEL-Pb + FGSM | {cell} | 90.0 ± 0.0 [89.0, 91.0] | {cell} |"
            )),
            "{text}"
        );
        assert!(
            text.contains("10 steps a row; 16 trainings took 16 minutes"),
            "{text}"
        );
        // The baseline misses one of two documents, so a quarter of the samples does not differ.
        let said = "Difference from PEL-CE in random negatives, recall@1, in points: tfidf -50.0 \
                    [-100.0, +0.0], p = 0.";
        assert!(text.contains(said), "{text}");
        assert!(
            text.contains("; PEL-Pb +0.0 [+0.0, +0.0], p = 1.000; "),
            "{text}"
        );
        let rows = pel::rows(TableId::Pel4, [4, 8]);
        let all: Vec<(PelRow, Vec<Measured>)> = rows
            .iter()
            .map(|row| (*row, vec![measured("x", Some(1), 0.5)]))
            .collect();
        let text = layout(TableId::Pel4, &[], &all).markdown();
        assert!(
            text.contains("| PEL-Pb (m = 0.05) | 80.0 | 70.0 | 60.0 | 50.0 | 90.0 |"),
            "{text}"
        );
    }
}
