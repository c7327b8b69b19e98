//! The results as a whole: JSON for machines, tables with the protocol for readers.

use super::figures::{RESAMPLES, SEED};
use super::{At, Figures, SeenBy, SplitCounts, TrainingCounts};
use comfy_table::{CellAlignment, ContentArrangement, Table, presets};
use serde::Serialize;

/// What was measured on what, and with what result.
#[derive(Clone, Debug, Serialize)]
pub struct Evaluation {
    /// Where it ran.
    pub run: Run,
    /// The folder of the corpus.
    pub corpus: String,
    /// The concepts to link to.
    pub kb: KbCounts,
    /// Candidates that were asked for.
    pub top: usize,
    /// The split measured on.
    pub split: SplitCounts,
    /// The training split, if there is one.
    pub training: Option<TrainingCounts>,
    /// The split on which NIL thresholds were chosen, unless it is the split measured on.
    pub calibration: Option<SplitCounts>,
    /// How the intervals were made.
    pub intervals: Intervals,
    /// One entry a system.
    pub systems: Vec<Figures>,
}

/// The program and the machine.
#[derive(Clone, Debug, Serialize)]
pub struct Run {
    /// The version of pel.
    pub pel: &'static str,
    /// The operating system.
    pub os: &'static str,
    /// The processor's architecture.
    pub arch: &'static str,
    /// Threads that were used at most.
    pub threads: usize,
    /// Seconds since 1970.
    pub unix_time: Option<u64>,
}

/// What identifies a knowledge base.
#[derive(Clone, Debug, Serialize)]
pub struct KbCounts {
    /// Its concepts.
    pub concepts: usize,
    /// The hash of its lines.
    pub blake3: String,
}

/// How the intervals were made.
#[derive(Clone, Debug, Serialize)]
pub struct Intervals {
    /// In words.
    pub method: &'static str,
    /// Draws.
    pub resamples: usize,
    /// The seed of the draws.
    pub seed: u64,
}

impl Default for Intervals {
    fn default() -> Self {
        let method = "percentile bootstrap over documents, 95 %";
        Self { method, resamples: RESAMPLES, seed: SEED }
    }
}

impl Run {
    /// This program on this machine, now.
    pub fn here() -> Self {
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        Self {
            pel: env!("CARGO_PKG_VERSION"),
            os: std::env::consts::OS,
            arch: std::env::consts::ARCH,
            threads: rayon::current_num_threads(),
            unix_time: since.ok().map(|since| since.as_secs()),
        }
    }
}

/// Columns that a table is given at least.
const NARROWEST: u16 = 60;

impl Evaluation {
    /// Everything for the terminal: the protocol, recall, NIL, and what each system does.
    pub fn tables(&self) -> String {
        let mut said = self.protocol();
        said.push_str("\nRecall in %, of the mentions whose concept the knowledge base has:\n");
        said.push_str(&self.recall_table());
        said.push_str(
            "\n[..]: 95 % interval, bootstrap over documents. By chance: recall@1 if candidates with equal scores ",
        );
        said.push_str("came in an order by chance; everywhere else they come in the order of the knowledge base.\n");
        match self.nil_table() {
            Some(table) => {
                said.push_str(&format!("\nNIL in %, of all {} mentions:\n{table}\n", self.split.mentions));
                said.push_str("All classes: recall with NIL as a class; a rejected mention counts as NIL and has no candidates.\n");
            }
            None => said.push_str("\nNo mention of the split is NIL: nothing to measure there.\n"),
        }
        said.push('\n');
        for system in &self.systems {
            let Figures { system, protocol, build_seconds, search_seconds, .. } = system;
            said.push_str(&format!(
                "{system}: {protocol}. Built in {build_seconds:.1} s, searched in {search_seconds:.1} s.\n"
            ));
        }
        said.truncate(said.trim_end().len());
        said
    }

    /// What was measured on what, line by line.
    fn protocol(&self) -> String {
        let split = &self.split;
        let mut lines = vec![
            format!("Corpus {}, {}", self.corpus, counted(split)),
            format!("Knowledge base: {} concepts, blake3 {}", self.kb.concepts, self.kb.blake3),
        ];
        lines.push(match (split.seen_by, &self.training) {
            (SeenBy::TrainingSplit, Some(training)) => {
                let skipped = skipped(&training.skipped.reasons());
                let agrees = match split.seen_differs {
                    0 => "the corpus' own seen_in_train agrees".to_owned(),
                    count => format!("the corpus' own seen_in_train says otherwise of {count} mentions"),
                };
                format!(
                    "Seen: the concept is one of {} in the {} mentions of the split {} ({skipped}); {agrees}",
                    training.concepts, training.mentions, training.split
                )
            }
            (SeenBy::Nobody, _) => "Seen and zero-shot cannot be told apart: there is no training split".to_owned(),
            _ => "Seen: as the corpus says (seen_in_train), for want of a training split".to_owned(),
        });
        lines.push(match &self.calibration {
            Some(calibration) => format!("NIL threshold: best F1 of NIL on {}", counted(calibration)),
            None => format!(
                "NIL threshold: best F1 of NIL on the split {} itself. It is an ORACLE: elsewhere precision, recall and F1 \
                 will be lower",
                split.split
            ),
        });
        lines.push(format!(
            "Candidates asked for: {}, one per concept, ties in the order of the knowledge base",
            self.top
        ));
        lines.join("\n") + "\n"
    }

    fn recall_table(&self) -> String {
        let ks = self.systems.first().and_then(|system| system.recall.first()).map_or(&[][..], |recall| &recall.at);
        let mut head = vec!["System".to_owned(), "Concepts".to_owned(), "Mentions".to_owned()];
        for (place, at) in ks.iter().enumerate() {
            head.push(format!("@{}", at.k));
            if place == 0 {
                head.push("@1 by chance".to_owned());
            }
        }
        let mut table = table(head);
        for system in &self.systems {
            for recall in &system.recall {
                let mentions = recall.at.first().map_or(0, |at| at.share.of);
                let mut row = vec![system.system.clone(), recall.mentions.to_owned(), mentions.to_string()];
                for (place, at) in recall.at.iter().enumerate() {
                    row.push(if place == 0 { with_interval(at) } else { percent(at.recall) });
                    if place == 0 {
                        row.push(percent(recall.first_by_chance));
                    }
                }
                table.add_row(row);
            }
        }
        aligned(table, 2)
    }

    fn nil_table(&self) -> Option<String> {
        let ks = &self.systems.iter().find_map(|system| system.nil.as_ref())?.all_classes;
        let mut head = ["System", "Threshold", "Precision", "Recall", "F1", "auPR"].map(str::to_owned).to_vec();
        head.extend(ks.iter().map(|at| format!("All classes @{}", at.k)));
        let mut table = table(head);
        for system in &self.systems {
            let Some(nil) = &system.nil else { continue };
            let mut row = vec![system.system.clone(), format!("{:.4}", nil.threshold)];
            row.extend([nil.precision, nil.recall, nil.f1, nil.au_pr].map(percent));
            row.extend(nil.all_classes.iter().map(|at| percent(at.recall)));
            table.add_row(row);
        }
        Some(aligned(table, 1))
    }
}

/// A split and its counts, in words.
fn counted(split: &SplitCounts) -> String {
    let SplitCounts { documents, mentions, in_kb, seen, zero_shot, nil, nil_by_annotation, .. } = split;
    let apart = match split.seen_by {
        SeenBy::Nobody => String::new(),
        _ => format!(" ({seen} of seen concepts, {zero_shot} zero-shot)"),
    };
    let unannotated = match nil_by_annotation {
        0 => String::new(),
        count => format!(" ({count} have no concept in the corpus)"),
    };
    let skipped = skipped(&split.skipped.reasons());
    format!(
        "split {}: {documents} documents, {mentions} mentions, {in_kb} in the knowledge base{apart}, {nil} NIL{unannotated}; {skipped}",
        split.split
    )
}

fn skipped(reasons: &str) -> String {
    if reasons.is_empty() { "none skipped".to_owned() } else { format!("skipped: {reasons}") }
}

fn percent(value: Option<f64>) -> String {
    value.map_or("-".to_owned(), |value| format!("{:.1}", 100.0 * value))
}

fn with_interval(at: &At) -> String {
    match at.interval {
        Some(interval) => format!("{} [{:.1}..{:.1}]", percent(at.recall), 100.0 * interval.low, 100.0 * interval.high),
        None => percent(at.recall),
    }
}

fn table(head: Vec<String>) -> Table {
    let mut table = Table::new();
    table.load_style(presets::UTF8_BORDERS_ONLY).set_content_arrangement(ContentArrangement::Dynamic);
    // Some terminals say that they are no columns wide.
    if table.width().is_some_and(|width| width < NARROWEST) {
        table.set_width(NARROWEST);
    }
    table.set_header(head);
    table
}

/// The table as text, its columns from `first` on flushed right.
fn aligned(mut table: Table, first: usize) -> String {
    table.column_iter_mut().skip(first).for_each(|column| column.set_cell_alignment(CellAlignment::Right));
    table.to_string()
}
