//! T-Biencoder's tables in the paper's layout, and its figure 3.

use super::cells::{Table, differences, hits_at, mean, over_seeds, values};
use super::t_biencoder::{TRow, Transformed};
use super::{Row, TableId};
use crate::experiment::measured::Measured;
use pel_corpora::resplit::HELD_OUT;
use pel_index::FIRST_PASS_TRAINING;
use pel_kb::error::Result;
use pel_kb::score::Scorer;
use pel_trainer::plots::{Chart, Series};
use std::path::Path;

type Rows = [(TRow, Vec<Measured>)];

/// The k of all these tables.
const K: usize = 64;

/// A table with its baselines. `splits` are the validation and the test split, and `notes` the
/// paragraphs below.
pub fn layout(
    table: TableId,
    baselines: &[Measured],
    rows: &Rows,
    splits: [&str; 2],
    notes: &[String],
) -> Table {
    let [validation, test] = splits;
    let mut text = match table {
        TableId::T2 | TableId::T5 => by_negatives(table, baselines, rows, splits),
        TableId::T3 => best(table, rows, splits),
        TableId::T4 => by_domain(table, rows, splits),
        TableId::T7 => by_seen(table, rows, test),
        _ => by_setting(table, rows, splits),
    };
    let figure = format!("recall@{K} on {test}");
    let baselines = match table {
        TableId::T2 | TableId::T5 => baselines,
        _ => &[],
    };
    let shown: Vec<&(TRow, Vec<Measured>)> = match table {
        TableId::T3 => chosen(rows, validation),
        _ => rows.iter().collect(),
    };
    let shown = shown
        .into_iter()
        .map(|(row, measured)| (described(table, row), measured.as_slice()));
    text.compare([differences(&hits_at(baselines, shown, K), &figure)]);
    text.trainings(rows.iter().flat_map(|(_, measured)| measured));
    if rows.iter().any(|(row, _)| row.scorer == Scorer::SumOfMax) {
        text.note(&format!(
            "SOM orders the {FIRST_PASS_TRAINING} concepts that whole vectors find first."
        ));
    }
    norms(rows).iter().for_each(|words| text.note(words));
    if table == TableId::T7 {
        text.note("Seen are concepts that the row has learned from.");
    }
    notes.iter().for_each(|words| text.note(words));
    text
}

/// The recall of mentions of a split.
fn recall_on(measured: &[Measured], split: &str) -> String {
    values(measured, |one| one.recall_on(split, "all", K))
}

/// Tables 2 and 5: the rows by scorer and negatives, with the time of an epoch.
fn by_negatives(
    table: TableId,
    baselines: &[Measured],
    rows: &Rows,
    [validation, test]: [&str; 2],
) -> Table {
    let mut text = Table::new(
        table.title(),
        &[
            "Model",
            "Scorer",
            "Negatives",
            "Validation",
            "Testing",
            "Minutes per epoch",
        ],
    );
    for baseline in baselines {
        let one = std::slice::from_ref(baseline);
        let cells = [
            &baseline.name,
            "-",
            "-",
            &recall_on(one, validation),
            &recall_on(one, test),
            "-",
        ];
        text.line(&cells);
    }
    for (row, measured) in rows {
        let minutes = mean(measured.iter().filter_map(Measured::minutes_per_epoch));
        let minutes = minutes.map_or("-".into(), |minutes| format!("{minutes:.1}"));
        text.line(&[
            row.name(),
            row.scorer_name().into(),
            row.negatives(),
            recall_on(measured, validation),
            recall_on(measured, test),
            minutes,
        ]);
    }
    text
}

/// Table 7: the rows also on the training domains, by whether training has the concept.
fn by_seen(table: TableId, rows: &Rows, test: &str) -> Table {
    let head = [
        "Model",
        "Scorer",
        "Testing",
        "Training domains, seen",
        "Training domains, unseen",
    ];
    let mut text = Table::new(table.title(), &head);
    for (row, measured) in rows {
        let held_out = |of: &'static str| values(measured, |one| one.recall_on(HELD_OUT, of, K));
        let cells = [
            recall_on(measured, test),
            held_out("seen"),
            held_out("zero-shot"),
        ];
        text.line(&[vec![row.name(), row.scorer_name().into()], cells.into()].concat());
    }
    text
}

/// Table 6 and figure 3: the rows by K or by ε.
fn by_setting(table: TableId, rows: &Rows, [validation, test]: [&str; 2]) -> Table {
    let by_layer = table == TableId::T6;
    let varied = if by_layer { "K" } else { "ε" };
    let mut text = Table::new(table.title(), &["Scorer", varied, "Validation", "Testing"]);
    for (row, measured) in rows {
        let value = |of: Transformed| {
            if by_layer {
                of.layer.to_string()
            } else {
                of.epsilon.to_string()
            }
        };
        let value = row.transformed.map_or_else(String::new, value);
        text.line(&[
            row.scorer_name().to_owned(),
            value,
            recall_on(measured, validation),
            recall_on(measured, test),
        ]);
    }
    text
}

/// The name of a row with what the table varies.
fn described(table: TableId, row: &TRow) -> String {
    let name = format!("{} {} {}", row.name(), row.scorer_name(), row.negatives());
    match (table, row.transformed) {
        (TableId::T3, Some(of)) => format!("{name} K = {}, ε = {}", of.layer, of.epsilon),
        (TableId::T6, Some(of)) => format!("{name} K = {}", of.layer),
        (TableId::TFigure3, Some(of)) => format!("{name} ε = {}", of.epsilon),
        _ => name,
    }
}

/// For each scorer and kind of negatives, the row that is best on the validation split; the first
/// of equals.
fn chosen<'a>(rows: &'a Rows, validation: &str) -> Vec<&'a (TRow, Vec<Measured>)> {
    let value = |measured: &[Measured]| {
        mean(
            measured
                .iter()
                .filter_map(|one| one.recall_on(validation, "all", K)?.value),
        )
        .unwrap_or(0.0)
    };
    rows.chunk_by(|(a, _), (b, _)| (a.scorer, a.hard) == (b.scorer, b.hard))
        .filter_map(|kind| {
            kind.iter()
                .rev()
                .max_by(|(_, a), (_, b)| value(a).total_cmp(&value(b)))
        })
        .collect()
}

/// The norms of the matrices at the end of training, in words.
fn norms(rows: &Rows) -> Option<String> {
    let shares = rows.iter().flat_map(|(row, measured)| {
        let epsilon = row.transformed.map_or(1.0, |of| of.epsilon);
        measured
            .iter()
            .filter_map(move |one| Some(one.transformation?.map(|norm| norm / epsilon)))
    });
    let shares: Vec<f64> = shares.flatten().collect();
    let (low, high) = (
        shares.iter().copied().reduce(f64::min)?,
        shares.iter().copied().reduce(f64::max)?,
    );
    Some(format!(
        "At the end of their training the norms of A_m and A_e were {low:.2} to {high:.2} of ε: \
         they begin at zero and climb at most `transformation.rate` of it a step."
    ))
}

/// Table 3: the rows that are best on the validation split, and of how many.
fn best(table: TableId, rows: &Rows, splits: [&str; 2]) -> Table {
    let [validation, test] = splits;
    let head = [
        "Scorer",
        "Negatives",
        "ε",
        "K",
        "Validation",
        "Testing",
        "Tried",
    ];
    let mut text = Table::new(table.title(), &head);
    for (row, measured) in chosen(rows, validation) {
        let alike = |(other, _): &&(TRow, Vec<Measured>)| {
            (other.scorer, other.hard) == (row.scorer, row.hard)
        };
        let Some(of) = row.transformed else { continue };
        let on = |split: &str| values(measured, |one| one.recall_on(split, "all", K));
        text.line(&[
            row.scorer_name().to_owned(),
            row.negatives(),
            of.epsilon.to_string(),
            of.layer.to_string(),
            on(validation),
            on(test),
            rows.iter().filter(alike).count().to_string(),
        ]);
    }
    text
}

/// Table 4: a line for each domain, a column for each row, and the macro-average.
fn by_domain(table: TableId, rows: &Rows, splits: [&str; 2]) -> Table {
    let heads: Vec<String> = rows
        .iter()
        .map(|(row, _)| format!("{} {}", row.name(), row.scorer_name()))
        .collect();
    let head: Vec<&str> = ["Domain", "Mentions of"]
        .into_iter()
        .chain(heads.iter().map(String::as_str))
        .collect();
    let mut text = Table::new(table.title(), &head);
    for split in splits {
        let first = rows
            .iter()
            .find_map(|(_, measured)| measured.first()?.split(split));
        let domains: Vec<String> = first.map_or_else(Vec::new, |split| {
            split
                .domains
                .iter()
                .map(|one| one.mentions.clone())
                .collect()
        });
        for domain in &domains {
            let cell = |(_, measured): &(TRow, Vec<Measured>)| {
                values(measured, |one| one.split(split)?.domain(domain, K))
            };
            text.line(
                &[
                    vec![domain.clone(), split.to_owned()],
                    rows.iter().map(cell).collect(),
                ]
                .concat(),
            );
        }
        let macro_average = |one: &Measured| {
            mean(
                domains
                    .iter()
                    .filter_map(|domain| one.split(split)?.domain(domain, K)?.value),
            )
        };
        if domains.len() > 1 {
            let cell = |(_, measured): &(TRow, Vec<Measured>)| {
                over_seeds(
                    &measured
                        .iter()
                        .filter_map(macro_average)
                        .collect::<Vec<_>>(),
                )
            };
            text.line(
                &[
                    vec!["mean of the domains".into(), split.to_owned()],
                    rows.iter().map(cell).collect(),
                ]
                .concat(),
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
        let points = rows
            .iter()
            .filter(|(row, _)| row.scorer == scorer)
            .filter_map(|(row, measured)| {
                let recall = measured
                    .iter()
                    .filter_map(|one| one.recall_on(test, "all", K)?.value);
                Some((row.transformed?.epsilon, mean(recall)?))
            });
        Series {
            name: name.into(),
            points: points.collect(),
        }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evaluate::ranks::Value;
    use crate::experiment::measured::{RecallOf, SplitRecall};
    use crate::experiment::t_biencoder::rows;

    /// A row whose recall is one number on the validation split and another on the test split, with
    /// each seed.
    fn measured(of_seeds: &[[f64; 2]]) -> Vec<Measured> {
        let recall = |value| {
            vec![RecallOf {
                mentions: "all".into(),
                at: vec![Value {
                    k: K,
                    value: Some(value),
                    interval: None,
                }],
            }]
        };
        let on = |split: &str, value| SplitRecall {
            split: split.into(),
            recall: recall(value),
            domains: Vec::new(),
        };
        of_seeds
            .iter()
            .map(|[dev, test]| Measured {
                splits: vec![on("dev", *dev), on("test", *test)],
                transformation: Some([4.0, 8.0]),
                ..Measured::default()
            })
            .collect()
    }

    #[test]
    fn table_3_chooses_by_the_mean_on_the_validation_split_and_the_first_of_equals() {
        let all = rows(TableId::T3, 12);
        let row = |slug: &str| {
            *all.iter()
                .find(|row| row.slug() == slug)
                .expect("in the table")
        };
        let rows = [
            // The best on test, and the best of one seed, but not on the mean of the validation
            // split.
            (
                row("t-dual-random-id-k1-e1"),
                measured(&[[0.5, 0.9], [0.9, 0.9]]),
            ),
            (
                row("t-dual-random-id-k1-e32"),
                measured(&[[0.8, 0.6], [0.8, 0.7]]),
            ),
            (row("t-dual-hard-id-k0-e10"), measured(&[[0.4, 0.3]])),
            (row("t-dual-hard-id-k0-e20"), measured(&[[0.4, 0.8]])),
        ];
        let text = layout(TableId::T3, &[], &rows, ["dev", "test"], &[]).markdown();
        let lines: Vec<&str> = text
            .lines()
            .filter(|line| line.starts_with("| DUAL"))
            .collect();
        assert_eq!(
            lines,
            [
                "| DUAL | Random-ID | 32 | 1 | 80.0 ± 0.0 | 65.0 ± 7.1 | 2 |",
                "| DUAL | Hard-ID | 10 | 0 | 40.0 | 30.0 | 2 |"
            ]
        );
        assert!(
            text.contains("A_m and A_e were 0.12 to 8.00 of ε"),
            "{text}"
        );
    }
}
