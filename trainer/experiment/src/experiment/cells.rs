//! The cells of a table: percent, means over seeds, intervals over documents, differences of rows.

use crate::evaluate::hits::Hits;
use crate::evaluate::paired::{Difference, difference, method};
use crate::evaluate::ranks::Value;
use crate::experiment::measured::Measured;
use pel_trainer::train::Kept;
use std::collections::BTreeSet;

/// The description of a table's cells.
pub const VALUES: &str = "Values in percent: the mean of all seeds with ± their standard \
                          deviation; in brackets the 95 % interval over documents, of the first \
                          seed.";

/// The seeds of a table's rows.
pub fn seeds(all: &[u64]) -> String {
    let words: Vec<String> = all.iter().map(u64::to_string).collect();
    format!(
        "Seed{} {}.",
        if all.len() == 1 { "" } else { "s" },
        words.join(", ")
    )
}

/// A table under a title, row by row.
pub struct Table {
    /// The title.
    pub title: String,
    /// The heads of the columns.
    pub head: Vec<String>,
    /// The cells of each row.
    pub rows: Vec<Vec<String>>,
    /// The paragraphs below, in which words may be bold or code as in Markdown.
    pub notes: Vec<String>,
}

impl Table {
    /// A table with a title and column heads.
    pub fn new(title: &str, head: &[&str]) -> Self {
        Self {
            title: title.to_owned(),
            head: head.iter().map(|head| (*head).to_owned()).collect(),
            rows: Vec::new(),
            notes: Vec::new(),
        }
    }

    /// Adds a row.
    pub fn line(&mut self, cells: &[impl AsRef<str>]) {
        let cells = cells.iter().map(|cell| cell.as_ref().to_owned());
        self.rows.push(cells.collect());
    }

    /// Adds a paragraph below the table.
    pub fn note(&mut self, words: &str) {
        self.notes.push(words.to_owned());
    }

    /// Adds how rows differ from their reference row ([`differences`]).
    pub fn compare(&mut self, all: impl IntoIterator<Item = Option<String>>) {
        let before = self.notes.len();
        self.notes.extend(all.into_iter().flatten());
        if self.notes.len() > before {
            self.note(&method());
        }
    }

    /// Adds the sentences below a table: the time of its trainings, and the description of its
    /// cells.
    pub fn trainings<'a>(&mut self, trained: impl Iterator<Item = &'a Measured> + Clone) {
        if let Some(words) = took(trained.clone()) {
            self.note(&format!("{words} {VALUES}"));
            self.note(&weights(trained));
        }
    }
}

/// The description of the weights that a table measures.
fn weights<'a>(trained: impl Iterator<Item = &'a Measured>) -> String {
    let (mut chosen, mut last) = (Vec::new(), 0);
    for one in trained {
        match &one.kept {
            Some(Kept {
                step,
                recall_1: Some(_),
            }) => chosen.push(*step),
            _ => last += 1,
        }
    }
    let ends = chosen.iter().min().zip(chosen.iter().max());
    let chosen = ends.map(|(first, last)| match chosen.len() {
        1 => format!(
            "one training has the weights of its best validation by recall@1, after {first} steps"
        ),
        count => format!(
            "{count} trainings have the weights of their best validation by recall@1, after \
             {first} to {last} steps"
        ),
    });
    let last = (last > 0).then(|| match last {
        1 => "one training has its last weights, without a choice".to_owned(),
        count => format!("{count} trainings have their last weights, without a choice"),
    });
    let words: Vec<String> = chosen.into_iter().chain(last).collect();
    let mut words = words.join("; ") + ".";
    words[..1].make_ascii_uppercase();
    words
}

/// The time of trainings, in words; `None` if there are none.
pub fn took<'a>(trained: impl Iterator<Item = &'a Measured> + Clone) -> Option<String> {
    let first = trained.clone().next()?;
    let time = |seconds: fn(&Measured) -> Option<f64>| {
        // An empty `sum` is -0 and would be printed as such.
        match trained
            .clone()
            .filter_map(seconds)
            .fold(0.0, std::ops::Add::add)
        {
            short if short < 120.0 => format!("{short:.0} s"),
            long => format!("{:.0} minutes", long / 60.0),
        }
    };
    let (steps, count) = (first.steps.unwrap_or(0), trained.clone().count());
    let (in_steps, in_mining) = (time(|one| one.step_seconds), time(|one| one.mining_seconds));
    let all: BTreeSet<u64> = trained.filter_map(|one| one.seed).collect();
    let seeds = seeds(&all.into_iter().collect::<Vec<_>>());
    Some(format!(
        "{steps} steps a row; {count} training{} took {in_steps} in steps and {in_mining} in \
         mining. {seeds}",
        if count == 1 { "" } else { "s" }
    ))
}

/// A row with its hits, one for each seed.
pub type RowHits = (String, Vec<Hits>);

/// How rows differ from the first of them, their reference, in a figure. `None` if there is nothing
/// to compare.
pub fn differences(rows: &[RowHits], figure: &str) -> Option<String> {
    let ((reference, base), others) = rows.split_first()?;
    let of = |(name, hits): &RowHits| match difference(hits, base) {
        Some(Difference { value, interval, p }) => {
            let [value, low, high] =
                [value, interval.low, interval.high].map(|share| 100.0 * share);
            format!("{name} {value:+.1} [{low:+.1}, {high:+.1}], p = {p:.3}")
        }
        None => format!("{name} -, measured by an earlier version"),
    };
    let words: Vec<String> = others.iter().map(of).collect();
    (!base.is_empty() && !words.is_empty()).then(|| {
        format!(
            "Difference from {reference} in {figure}, in points: {}.",
            words.join("; ")
        )
    })
}

/// The hits of measured rows at k, 1 or 64. The first row, the reference, comes before the
/// baselines.
pub fn hits_at<'a>(
    baselines: &[Measured],
    rows: impl IntoIterator<Item = (String, &'a [Measured])>,
    k: usize,
) -> Vec<RowHits> {
    let hits = |measured: &[Measured]| {
        let hits = measured.iter().filter_map(|one| one.hits(k));
        hits.cloned().collect::<Vec<Hits>>()
    };
    let mut all: Vec<RowHits> = rows
        .into_iter()
        .map(|(name, measured)| (name, hits(measured)))
        .collect();
    let baselines = baselines
        .iter()
        .map(|one| (one.name.clone(), hits(std::slice::from_ref(one))));
    let second = all.len().min(1);
    drop(all.splice(second..second, baselines));
    all
}

/// A cell in percent: the mean and standard deviation over seeds, and the first seed's interval
/// over documents.
pub fn values<'a>(
    measured: &'a [Measured],
    value: impl Fn(&'a Measured) -> Option<&'a Value>,
) -> String {
    cell(
        &measured
            .iter()
            .filter_map(value)
            .cloned()
            .collect::<Vec<_>>(),
    )
}

/// A cell in percent: the mean and standard deviation of values, and the first value's interval
/// over documents.
pub fn cell(values: &[Value]) -> String {
    let mean = over_seeds(
        &values
            .iter()
            .filter_map(|value| value.value)
            .collect::<Vec<_>>(),
    );
    match values.first().and_then(|value| value.interval) {
        Some([low, high]) => format!("{mean} [{:.1}, {:.1}]", 100.0 * low, 100.0 * high),
        None => mean,
    }
}

/// The mean; `None` without values.
pub fn mean(values: impl IntoIterator<Item = f64>) -> Option<f64> {
    let (sum, count) = values
        .into_iter()
        .fold((0.0, 0), |(sum, count), value| (sum + value, count + 1));
    (count > 0).then(|| sum / f64::from(count))
}

/// Percent; with several values their mean and standard deviation.
pub fn over_seeds(values: &[f64]) -> String {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    match values.len() {
        0 => "-".into(),
        1 => format!("{:.1}", 100.0 * mean),
        _ => {
            let square = values
                .iter()
                .map(|value| (value - mean).powi(2))
                .sum::<f64>()
                / (count - 1.0);
            format!("{:.1} ± {:.1}", 100.0 * mean, 100.0 * square.sqrt())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_compared_with_the_first() {
        let hits = |right: &[bool]| Hits::new(right.iter().copied().enumerate());
        let rows = [
            ("PEL-CE".to_owned(), vec![hits(&[true, false])]),
            ("PEL-Pb".to_owned(), vec![hits(&[true, false])]),
            ("old".to_owned(), vec![]),
        ];
        assert_eq!(
            differences(&rows, "recall@1").as_deref(),
            Some(
                "Difference from PEL-CE in recall@1, in points: PEL-Pb +0.0 [+0.0, +0.0], p = \
                 1.000; old -, measured by an earlier version."
            )
        );
        assert_eq!(differences(&rows[..1], "recall@1"), None);
        assert_eq!(differences(&rows[2..], "recall@1"), None);
    }

    #[test]
    fn table_states_which_weights_it_measures() {
        let one = |step, recall_1| Measured {
            kept: Some(Kept { step, recall_1 }),
            ..Measured::default()
        };
        let chosen = [
            one(300, Some(0.5)),
            one(100, Some(0.6)),
            one(500, None),
            Measured::default(),
        ];
        assert_eq!(
            weights(chosen.iter()),
            "2 trainings have the weights of their best validation by recall@1, after 100 to 300 \
             steps; 2 trainings have their last weights, without a choice."
        );
        assert_eq!(
            weights(chosen[2..3].iter()),
            "One training has its last weights, without a choice."
        );
        let said =
            "One training has the weights of its best validation by recall@1, after 300 steps.";
        assert_eq!(weights(chosen[..1].iter()), said);
    }
}
