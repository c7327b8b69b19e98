//! The cells of a table: percent, means over seeds, intervals over documents.

use super::measured::{Measured, Value};
use std::fmt::Write;

/// A Markdown table under a title, row by row.
pub struct Markdown {
    /// What has been written.
    pub text: String,
}

impl Markdown {
    /// The title and the heads of the columns.
    pub fn new(title: &str, head: &[&str]) -> Self {
        let mut table = Self { text: format!("# {title}\n\n") };
        table.line(head);
        table.line(&vec!["---"; head.len()]);
        table
    }

    /// One row.
    pub fn line(&mut self, cells: &[impl AsRef<str>]) {
        let cells: Vec<&str> = cells.iter().map(AsRef::as_ref).collect();
        let _ = writeln!(self.text, "| {} |", cells.join(" | "));
    }

    /// A paragraph below the table.
    pub fn note(&mut self, words: &str) {
        let _ = writeln!(self.text, "\n{words}");
    }

    /// The sentence below a table: what its trainings took.
    pub fn trainings<'a>(&mut self, trained: impl Iterator<Item = &'a Measured> + Clone) {
        let Some(first) = trained.clone().next() else { return };
        // An empty sum is -0, and would be printed so.
        let minutes = |seconds: fn(&Measured) -> Option<f64>| {
            trained.clone().filter_map(seconds).fold(0.0, std::ops::Add::add) / 60.0
        };
        let (steps, count) = (first.steps.unwrap_or(0), trained.clone().count());
        let (in_steps, in_mining) = (minutes(|one| one.step_seconds), minutes(|one| one.mining_seconds));
        self.note(&format!(
            "{steps} steps a row; {count} trainings took {in_steps:.0} minutes in steps and {in_mining:.0} in mining. Values in percent; in \
             brackets the 95 % interval over documents."
        ));
    }
}

/// Percent: the mean over seeds, with their standard deviation where there are several, and the first seed's interval over
/// documents.
pub fn values<'a>(measured: &'a [Measured], value: impl Fn(&'a Measured) -> Option<&'a Value>) -> String {
    cell(&measured.iter().filter_map(value).cloned().collect::<Vec<_>>())
}

/// Percent: the mean of the values of all seeds, with their standard deviation, and the first one's interval over documents.
pub fn cell(values: &[Value]) -> String {
    let mean = over_seeds(&values.iter().filter_map(|value| value.value).collect::<Vec<_>>());
    match values.first().and_then(|value| value.interval) {
        Some([low, high]) => format!("{mean} [{:.1}, {:.1}]", 100.0 * low, 100.0 * high),
        None => mean,
    }
}

/// Percent; with several values their mean and standard deviation.
pub fn over_seeds(values: &[f64]) -> String {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    match values.len() {
        0 => "-".into(),
        1 => format!("{:.1}", 100.0 * mean),
        _ => {
            let square = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (count - 1.0);
            format!("{:.1} ± {:.1}", 100.0 * mean, 100.0 * square.sqrt())
        }
    }
}
