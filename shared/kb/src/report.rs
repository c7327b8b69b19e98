//! The report of an import: each record is kept or skipped, and each skip has a reason.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The number of examples for each reason.
const EXAMPLES: usize = 3;
/// The length of an example in characters.
const EXAMPLE_LENGTH: usize = 160;

/// Counts by name, in alphabetical order.
pub type Counts = BTreeMap<String, usize>;

/// The counts of an import, or of reading a corpus.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    /// The records that were kept, by kind.
    pub kept: Counts,
    /// The records that were changed, or left out by an option, by reason.
    pub noted: Counts,
    /// The records that were skipped, by reason.
    pub skipped: Counts,
    /// The first examples for each reason of `noted` and `skipped`.
    pub examples: BTreeMap<String, Vec<String>>,
}

impl Report {
    /// Counts kept records.
    pub fn keep(&mut self, kind: &str, count: usize) {
        add(&mut self.kept, kind, count);
    }

    /// Counts a change. `example` is only called for the first few.
    pub fn note(&mut self, reason: &str, example: impl FnOnce() -> String) {
        add(&mut self.noted, reason, 1);
        self.remember(reason, example);
    }

    /// Counts a skipped record. `example` is only called for the first few.
    pub fn skip(&mut self, reason: &str, example: impl FnOnce() -> String) {
        add(&mut self.skipped, reason, 1);
        self.remember(reason, example);
    }

    /// Adds another report, and its examples up to the limit.
    pub fn merge(&mut self, other: Self) {
        let Self {
            kept,
            noted,
            skipped,
            examples,
        } = other;
        for (own, other) in [
            (&mut self.kept, kept),
            (&mut self.noted, noted),
            (&mut self.skipped, skipped),
        ] {
            other
                .into_iter()
                .for_each(|(name, count)| add(own, &name, count));
        }
        for (reason, some) in examples {
            let own = self.examples.entry(reason).or_default();
            let free = EXAMPLES.saturating_sub(own.len());
            own.extend(some.into_iter().take(free));
        }
    }

    /// The number of kept records of a kind.
    pub fn kept(&self, kind: &str) -> usize {
        self.kept.get(kind).copied().unwrap_or(0)
    }

    /// The number of records that were skipped for a reason.
    pub fn skipped(&self, reason: &str) -> usize {
        self.skipped.get(reason).copied().unwrap_or(0)
    }

    /// The number of skipped records.
    pub fn skipped_in_all(&self) -> usize {
        self.skipped.values().sum()
    }

    /// The reasons for skipping with counts, most frequent first, on one line. Empty without a
    /// skip.
    pub fn reasons(&self) -> String {
        let mut reasons: Vec<_> = self.skipped.iter().collect();
        reasons.sort_by(|a, b| b.1.cmp(a.1).then(a.0.cmp(b.0)));
        reasons
            .iter()
            .map(|(reason, count)| format!("{count} x {reason}"))
            .collect::<Vec<_>>()
            .join(", ")
    }

    fn remember(&mut self, reason: &str, example: impl FnOnce() -> String) {
        match self.examples.get_mut(reason) {
            Some(examples) if examples.len() < EXAMPLES => examples.push(shortened(&example())),
            Some(_) => {}
            None => drop(
                self.examples
                    .insert(reason.to_owned(), vec![shortened(&example())]),
            ),
        }
    }
}

fn add(counts: &mut Counts, name: &str, count: usize) {
    match counts.get_mut(name) {
        Some(total) => *total += count,
        None => drop(counts.insert(name.to_owned(), count)),
    }
}

/// Truncates a text for a report, with an ellipsis.
fn shortened(text: &str) -> String {
    match text.char_indices().nth(EXAMPLE_LENGTH) {
        Some((byte, _)) => format!("{}...", text.get(..byte).unwrap_or(text)),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn report_counts_reasons_and_keeps_the_first_examples() {
        let mut report = Report::default();
        for number in 1..=5 {
            report.skip("no name", || format!("line {number}"));
        }
        report.skip("obsolete", || "é".repeat(500));
        report.note("moved", || "line 9".into());
        report.keep("concepts", 2);
        report.keep("concepts", 1);
        assert_eq!(
            [
                report.skipped("no name"),
                report.skipped_in_all(),
                report.kept("concepts")
            ],
            [5, 6, 3]
        );
        assert_eq!(report.examples["no name"], ["line 1", "line 2", "line 3"]);
        assert_eq!(
            report.examples["obsolete"][0].chars().count(),
            EXAMPLE_LENGTH + 3
        );
        assert_eq!(report.reasons(), "5 x no name, 1 x obsolete");
    }

    #[test]
    fn merge_adds_counts_and_examples() {
        let report = |count: usize| {
            let mut report = Report::default();
            (0..count).for_each(|at| report.note("moved", || format!("{count}:{at}")));
            report.keep("mentions", count);
            report
        };
        let mut both = report(2);
        both.merge(report(5));
        assert_eq!([both.noted["moved"], both.kept("mentions")], [7, 7]);
        assert_eq!(both.examples["moved"], ["2:0", "2:1", "5:0"]);
    }

    #[test]
    fn json_round_trips() {
        let mut report = Report::default();
        report.keep("documents", 7);
        report.skip("unknown document", || "12".into());
        let json = serde_json::to_string(&report).expect("encoded");
        assert!(
            json.contains(r#""skipped":{"unknown document":1}"#),
            "{json}"
        );
        assert_eq!(
            serde_json::from_str::<Report>(&json).expect("decoded"),
            report
        );
    }
}
