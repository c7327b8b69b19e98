//! The results of an evaluation: as JSON, and as tables with the protocol.

use super::nil_figures::{NilFigures, Thresholds};
use super::outcomes::{RESAMPLES, SEED};
use super::{At, Decisions, DomainFigures, Figures, Ranking, Recall};
use comfy_table::{CellAlignment, ContentArrangement, Table, presets};
use pel_corpora::mention_domains::By;
use pel_corpora::retrieve::lexical::short_forms;
use pel_corpora::split::{NilOf, SeenBy, SplitCounts, TrainingCounts};
use pel_index::metrics::Interval;
use pel_io::files::{io_error, write_atomic};
use pel_io::provenance::Run;
use pel_io::text_tables::percent;
use pel_kb::error::Result;
use serde::Serialize;
use std::path::Path;

/// The results of an evaluation.
#[derive(Clone, Debug, Serialize)]
pub struct Evaluation {
    /// The program, machine and time of the run.
    pub run: Run,
    /// The folder of the corpus.
    pub corpus: String,
    /// The concepts to link to.
    pub kb: KbCounts,
    /// Candidates of a mention.
    pub top: usize,
    /// Whether the systems expand the short forms that a text defines.
    pub abbreviations: bool,
    /// The split that is measured.
    pub split: SplitCounts,
    /// The training split, if there is one.
    pub training: Option<TrainingCounts>,
    /// The concepts whose mentions the bundle's model was trained on, if they are the seen ones.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trained: Option<TrainedCounts>,
    /// The split on which NIL thresholds were chosen; `None` if it is the split that is measured.
    pub calibration: Option<SplitCounts>,
    /// The method of the intervals.
    pub intervals: Intervals,
    /// The domains to print tables for.
    #[serde(skip)]
    pub by: Vec<By>,
    /// An entry for each system.
    pub systems: Vec<Figures>,
}

/// The concepts whose mentions a bundle's model was trained on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct TrainedCounts {
    /// Their number.
    pub concepts: usize,
    /// Those that the knowledge base has, by themselves or a successor.
    pub in_kb: usize,
}

/// A knowledge base's size and hash.
#[derive(Clone, Debug, Serialize)]
pub struct KbCounts {
    /// The number of concepts.
    pub concepts: usize,
    /// The hash of its lines.
    pub blake3: String,
}

/// The method of the intervals.
#[derive(Clone, Debug, Serialize)]
pub struct Intervals {
    /// A description.
    pub method: &'static str,
    /// Bootstrap samples.
    pub resamples: usize,
    /// The seed of the samples.
    pub seed: u64,
}

impl Default for Intervals {
    fn default() -> Self {
        let method = "percentile bootstrap over documents, 95 %";
        Self {
            method,
            resamples: RESAMPLES,
            seed: SEED,
        }
    }
}

/// The minimum width of a table in columns.
const NARROWEST: u16 = 60;

impl Evaluation {
    /// Writes all figures into a file, as JSON.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn save(&self, out: &Path) -> Result<()> {
        write_atomic(out, |file| {
            serde_json::to_writer_pretty(&mut *file, self)
                .map_err(|cause| io_error("writing", out, cause.into()))?;
            file.write_all(b"\n")
                .map_err(|cause| io_error("writing", out, cause))
        })
    }

    /// The tables for the terminal: the protocol, recall, NIL, and each system's protocol.
    pub fn tables(&self) -> String {
        let mut said = self.protocol();
        self.write_recall(&mut said);
        self.write_decisions(&mut said);
        self.write_probabilities(&mut said);
        self.write_nil(&mut said);
        said.push('\n');
        for system in &self.systems {
            let Figures {
                system,
                protocol,
                build_seconds,
                search_seconds,
                ..
            } = system;
            said.push_str(&format!(
                "{system}: {protocol}. Built in {build_seconds:.1} s, searched in \
                 {search_seconds:.1} s.\n"
            ));
        }
        said.truncate(said.trim_end().len());
        said
    }

    /// Recall, ranking, and recall by domain.
    fn write_recall(&self, said: &mut String) {
        said.push_str("\nRecall in %, of the mentions whose concept the knowledge base has:\n");
        said.push_str(&self.recall_table());
        said.push_str(
            "\n[..]: 95 % interval, bootstrap over documents. By chance: recall@1 if candidates \
             with equal scores ",
        );
        said.push_str(
            "came in an order by chance; everywhere else they come in the order of the knowledge \
             base.\n",
        );
        if let Some(table) = self.ranking_table() {
            said.push_str(&format!("\nRanking in %:\n{table}\n"));
            said.push_str(
                "Normalised: of the mentions whose concept is among the candidates; unnormalised: \
                 of all.\n",
            );
        }
        for by in &self.by {
            let plural = by.plural();
            said.push_str(&format!(
                "\nRecall in % by {plural}, a mention in each of its {plural}:\n"
            ));
            said.push_str(&self.domain_table(*by));
            said.push('\n');
        }
    }

    /// Decisions, if a system decides.
    fn write_decisions(&self, said: &mut String) {
        if let Some(table) = self.decision_table() {
            let SplitCounts { in_kb, nil, .. } = &self.split;
            said.push_str(&format!(
                "\nDecisions in %, of the {in_kb} mentions whose concept the knowledge base has \
                 and of the {nil} others:\n{table}\n"
            ));
            said.push_str(
                "Threshold: (where it was chosen). Without probabilities, `link` links what bears \
                 the name of its best concept at any score.\n",
            );
        }
    }

    /// Probabilities and sets of answers, if a system has any.
    fn write_probabilities(&self, said: &mut String) {
        if let Some(table) = self.probability_table() {
            said.push_str(&format!(
                "\nProbability that the best candidate is right, in % (a candidate of a NIL \
                 mention never is):\n{table}\n"
            ));
            said.push_str(
                "ECE: expected calibration error, the mean difference between probability and \
                 share right over 15 bins of equally many mentions. Brier: mean squared \
                 difference. Area: mean share of wrong links over all coverages. At 95: mentions \
                 that can be linked with 95 % of the links right.\n",
            );
            said.push_str(&format!("\nReliability:\n{}\n", self.reliability_table()));
        }
        if let Some(table) = self.set_table() {
            said.push_str(&format!("\nSets of answers, in %:\n{table}\n"));
            said.push_str("Short: what is missing to the promise.\n");
        }
    }

    /// NIL, if the split has any, and thresholds that reject every mention.
    fn write_nil(&self, said: &mut String) {
        let Some(table) = self.nil_table() else {
            said.push_str("\nNo mention of the split is NIL, so NIL is not measured.\n");
            return;
        };
        let SplitCounts { mentions, nil, .. } = &self.split;
        let base = percent(Some(*nil as f64 / *mentions as f64));
        said.push_str(&format!(
            "\nNIL in %, of all {mentions} mentions, {base} % of them NIL"
        ));
        if self.split.held_out > 0 {
            said.push_str(
                ". Held out: natural NIL is left out, in choosing the threshold too; natural: the \
                 reverse",
            );
        }
        said.push_str(&format!(":\n{table}\n"));
        for (figures, nil) in self
            .systems
            .iter()
            .flat_map(|one| one.nil.iter().map(move |nil| (one, nil)))
        {
            let NilFigures {
                threshold,
                chosen_on,
                ..
            } = nil;
            let whose = match chosen_on.as_str() {
                _ if !nil.rejects_all => continue,
                Thresholds::BUNDLE => "mention that a threshold can".to_owned(),
                split => {
                    format!("mention of {split} that a threshold can: too few to choose by")
                }
            };
            said.push_str(&format!(
                "{}: the threshold {threshold:.4} ({chosen_on}) rejects every {whose}.\n",
                figures.system
            ));
        }
        said.push_str(
            "All classes: recall with NIL as a class; a rejected mention counts as NIL and has no \
             candidates.\n",
        );
    }

    /// The protocol, line by line.
    fn protocol(&self) -> String {
        let split = &self.split;
        let mut lines = vec![
            format!("Corpus {}, {}", self.corpus, counted(split)),
            format!(
                "Knowledge base: {} concepts, blake3 {}",
                self.kb.concepts, self.kb.blake3
            ),
        ];
        lines.push(match (split.seen_by, &self.training, &self.trained) {
            (SeenBy::Model, _, Some(TrainedCounts { concepts, in_kb })) => format!(
                "Seen: the concept is one of the {concepts} whose mentions the bundle's model was \
                 trained on, {in_kb} of them in this knowledge base"
            ),
            (SeenBy::TrainingSplit, Some(training), _) => {
                let skipped = skipped(&training.skipped.reasons());
                let agrees = match (split.seen_said, split.seen_differs) {
                    (0, _) => String::new(),
                    (_, 0) => "; the corpus' own seen_in_train agrees".to_owned(),
                    (_, count) => format!(
                        "; the corpus' own seen_in_train says otherwise of {count} mentions"
                    ),
                };
                format!(
                    "Seen: the concept is one of {} in the {} mentions of the split {} \
                     ({skipped}){agrees}",
                    training.concepts, training.mentions, training.split
                )
            }
            (SeenBy::Nobody, ..) => {
                "Seen and zero-shot concepts are unknown without a training split".to_owned()
            }
            _ => "Seen: as the corpus says (seen_in_train), without a training split".to_owned(),
        });
        lines.push(match &self.calibration {
            Some(calibration) => {
                format!("NIL threshold: best F1 of NIL on {}", counted(calibration))
            }
            None => format!(
                "NIL threshold: best F1 of NIL on the split {} itself. It is an ORACLE: elsewhere \
                 precision, recall and F1 will be lower",
                split.split
            ),
        });
        lines.push(format!(
            "Mention texts: the short forms that a text defines are read {}, by every system that \
             does not say otherwise below",
            short_forms(self.abbreviations)
        ));
        lines.push(format!(
            "Candidates asked for: {}, one per concept, ties in the order of the knowledge base",
            self.top
        ));
        lines.join("\n") + "\n"
    }

    /// The columns of a recall table.
    fn recall_head(&self, group: &str) -> Vec<String> {
        let ks = self
            .systems
            .first()
            .and_then(|system| system.recall.first())
            .map_or(&[][..], |recall| &recall.at);
        let mut head = ["System", group, "Mentions"].map(str::to_owned).to_vec();
        head.extend(ks.iter().map(|at| format!("@{}", at.k)));
        head.insert(head.len().min(4), "@1 by chance".to_owned());
        head
    }

    /// The table of the second stage; `None` without a ranker.
    fn ranking_table(&self) -> Option<String> {
        let head = [
            "System",
            "Candidates",
            "Among them",
            "Normalised accuracy",
            "Unnormalised accuracy",
        ];
        let mut head = head.map(str::to_owned).to_vec();
        let by = self
            .systems
            .iter()
            .find_map(|system| Some(system.domains.first()?.by.plural()));
        if let Some(by) = by {
            head.extend(
                ["Normalised", "Unnormalised"].map(|which| format!("{which}, mean over {by}")),
            );
        }
        let mut table = table(head);
        for system in &self.systems {
            let Some(Ranking { found, normalised }) = &system.ranking else {
                continue;
            };
            let first = system.recall.first().and_then(|recall| recall.at.first());
            let mut row = vec![
                system.system.clone(),
                found.k.to_string(),
                shown(found),
                shown(normalised),
            ];
            row.push(first.map_or(String::new(), shown));
            if let Some(domains) = system.domains.first() {
                let means = [domains.normalised.as_ref(), domains.macro_average.first()];
                row.extend(means.map(|mean| {
                    mean.map_or(String::new(), |at| with_interval(at.recall, at.interval))
                }));
            }
            table.add_row(row);
        }
        (table.row_count() > 0).then(|| table.to_string())
    }

    fn recall_table(&self) -> String {
        let mut table = table(self.recall_head("Concepts"));
        for system in &self.systems {
            for recall in &system.recall {
                table.add_row(recall_row(&system.system, recall));
            }
            for domains in &system.domains {
                let DomainFigures {
                    by,
                    macro_average,
                    each,
                    ..
                } = domains;
                let name = format!("mean over {} {}", each.len(), by.plural());
                let mut row = vec![system.system.clone(), name, String::new()];
                if let Some((first, others)) = macro_average.split_first() {
                    row.extend([with_interval(first.recall, first.interval), String::new()]);
                    row.extend(others.iter().map(|at| percent(at.recall)));
                }
                table.add_row(row);
            }
        }
        aligned(table, 2)
    }

    fn domain_table(&self, by: By) -> String {
        let mut table = table(self.recall_head("Domain"));
        for system in &self.systems {
            let domains = system.domains.iter().filter(|domains| domains.by == by);
            for DomainFigures { each, without, .. } in domains {
                for recall in each {
                    table.add_row(recall_row(&system.system, recall));
                }
                if *without > 0 {
                    table.add_row([system.system.clone(), "(none)".into(), without.to_string()]);
                }
            }
        }
        aligned(table, 2)
    }

    /// The table of decisions; `None` if no system decides.
    fn decision_table(&self) -> Option<String> {
        let head = [
            "System",
            "Threshold",
            "Linked rightly",
            "Linked wrongly",
            "Called NIL",
            "Others: NIL",
            "Others: linked",
        ];
        let mut table = table(head.map(str::to_owned).to_vec());
        for system in &self.systems {
            for Decisions {
                threshold,
                chosen_on,
                with_concept,
                without_concept,
                ..
            } in &system.decisions
            {
                let known =
                    [&with_concept.right, &with_concept.wrong, &with_concept.nil].map(shown);
                let others = [&without_concept.nil, &without_concept.linked].map(shown);
                let mut row = vec![
                    system.system.clone(),
                    format!("{} ({chosen_on})", written(*threshold)),
                ];
                row.extend(known.into_iter().chain(others));
                table.add_row(row);
            }
        }
        (table.row_count() > 0).then(|| aligned(table, 1))
    }

    /// The table of probabilities; `None` if no system has any.
    fn probability_table(&self) -> Option<String> {
        let head = [
            "System", "Mentions", "Count", "Mean", "Right", "ECE", "Brier", "Area", "At 95",
        ];
        let mut table = table(head.map(str::to_owned).to_vec());
        for system in &self.systems {
            for group in system.probabilities.iter().flat_map(|one| &one.groups) {
                table.add_row([
                    system.system.clone(),
                    group.mentions.clone(),
                    group.right.share.of.to_string(),
                    percent(Some(group.probability)),
                    shown(&group.right),
                    with_interval(group.calibration_error, group.interval),
                    percent(group.brier),
                    percent(group.area_under_risk),
                    percent(group.coverage_at_95),
                ]);
            }
        }
        (table.row_count() > 0).then(|| aligned(table, 2))
    }

    /// The reliability diagram of all mentions as a table.
    fn reliability_table(&self) -> String {
        let mut table = table(
            ["System", "Mentions", "Mean probability", "Right", ""]
                .map(str::to_owned)
                .to_vec(),
        );
        for system in &self.systems {
            let all = system
                .probabilities
                .iter()
                .filter_map(|one| one.groups.first());
            for bin in all.flat_map(|group| &group.reliability) {
                let right = bin.right.value();
                table.add_row([
                    system.system.clone(),
                    bin.right.of.to_string(),
                    percent(Some(bin.probability)),
                    percent(right),
                    bar(right.unwrap_or(0.0), bin.probability),
                ]);
            }
        }
        table.to_string()
    }

    /// The table of sets of answers; `None` if no system has any.
    fn set_table(&self) -> Option<String> {
        let head = [
            "System",
            "Promised",
            "Right answer in set",
            "Short",
            "With a concept",
            "NIL",
            "Concepts, mean",
            "Median",
            "Sets with NIL",
        ];
        let mut table = table(head.map(str::to_owned).to_vec());
        for system in &self.systems {
            for set in system.probabilities.iter().flat_map(|one| &one.sets) {
                let promised = f64::from(set.coverage);
                let short = set.all.recall.map(|found| (promised - found).max(0.0));
                table.add_row([
                    system.system.clone(),
                    percent(Some(promised)),
                    shown(&set.all),
                    percent(short),
                    percent(set.with_concept.recall),
                    percent(set.without_concept.recall),
                    format!("{:.1}", set.mean_concepts),
                    set.median_concepts.to_string(),
                    percent(Some(set.with_nil)),
                ]);
            }
        }
        (table.row_count() > 0).then(|| aligned(table, 1))
    }

    fn nil_table(&self) -> Option<String> {
        let ks = &self
            .systems
            .iter()
            .find_map(|system| system.nil.first())?
            .all_classes;
        let kinds = self.split.held_out > 0;
        let mut head = vec!["System".to_owned()];
        head.extend(kinds.then(|| "NIL, of all".to_owned()));
        head.extend(["Threshold", "Precision", "Recall", "F1", "auPR"].map(str::to_owned));
        head.extend(ks.iter().map(|at| format!("All classes @{}", at.k)));
        let mut table = table(head);
        for system in &self.systems {
            for nil in &system.nil {
                let mut row = vec![system.system.clone()];
                let kind = if nil.nil == NilOf::All {
                    "both"
                } else {
                    nil.nil.words()
                };
                row.extend(kinds.then(|| format!("{kind}, {}", percent(Some(nil.base_rate)))));
                row.push(format!(
                    "{} ({})",
                    written(Some(nil.threshold)),
                    nil.chosen_on
                ));
                row.extend([nil.precision, nil.recall, nil.f1].map(percent));
                row.push(with_interval(nil.au_pr, nil.intervals.au_pr));
                row.extend(nil.all_classes.iter().map(|at| percent(at.recall)));
                table.add_row(row);
            }
        }
        Some(aligned(table, if kinds { 2 } else { 1 }))
    }
}

/// A bar of the share right, with a mark at the mean probability.
fn bar(right: f64, probability: f64) -> String {
    const WIDTH: usize = 20;
    let at = |share: f64| (share * WIDTH as f64).round() as usize;
    (0..=WIDTH)
        .map(|place| match place {
            _ if place == at(probability) => '|',
            _ if place < at(right) => '#',
            _ => '.',
        })
        .collect()
}

/// A threshold; "none" if it is below every score.
fn written(threshold: Option<f32>) -> String {
    match threshold {
        Some(threshold) if threshold > f32::MIN => format!("{threshold:.4}"),
        _ => "none".to_owned(),
    }
}

/// A recall with its interval.
fn shown(at: &At) -> String {
    with_interval(at.recall, at.interval)
}

/// A row of a recall table.
fn recall_row(system: &str, recall: &Recall) -> Vec<String> {
    let mentions = recall.at.first().map_or(0, |at| at.share.of);
    let mut row = vec![
        system.to_owned(),
        recall.mentions.clone(),
        mentions.to_string(),
    ];
    if let Some((first, others)) = recall.at.split_first() {
        row.extend([shown(first), percent(recall.first_by_chance)]);
        row.extend(others.iter().map(|at| percent(at.recall)));
    }
    row
}

/// A split and its counts, in words.
fn counted(split: &SplitCounts) -> String {
    let SplitCounts {
        documents,
        mentions,
        in_kb,
        seen,
        zero_shot,
        nil,
        nil_by_annotation,
        held_out,
        several,
        composite,
        parts,
        redirected,
        ..
    } = split;
    let apart = match split.seen_by {
        SeenBy::Nobody => String::new(),
        _ => format!(" ({seen} of seen concepts, {zero_shot} zero-shot)"),
    };
    let mut of_nil = Vec::new();
    if *nil_by_annotation > 0 {
        of_nil.push(format!("{nil_by_annotation} have no concept in the corpus"));
    }
    if *held_out > 0 {
        of_nil.push(format!("{held_out} held out, {} natural", nil - held_out));
    }
    let of_nil = if of_nil.is_empty() {
        String::new()
    } else {
        format!(" ({})", of_nil.join("; "))
    };
    let several = match several {
        0 => String::new(),
        count => format!("; {count} have several concepts, each of them right"),
    };
    let composite = match composite {
        0 => String::new(),
        1 => format!("; 1 is composite, each of its {parts} parts counts as a mention"),
        count => {
            format!("; {count} are composite, each of their {parts} parts counts as a mention")
        }
    };
    let redirected = match redirected {
        0 => String::new(),
        1 => "; 1 has a retired concept, its successor is right".to_owned(),
        count => format!("; {count} have a retired concept, its successor is right"),
    };
    let skipped = skipped(&split.skipped.reasons());
    format!(
        "split {}: {documents} documents, {mentions} mentions, {in_kb} in the knowledge \
         base{apart}, {nil} NIL{of_nil}{several}{composite}{redirected}; {skipped}",
        split.split
    )
}

fn skipped(reasons: &str) -> String {
    if reasons.is_empty() {
        "none skipped".to_owned()
    } else {
        format!("skipped: {reasons}")
    }
}

/// A proportion in percent with its interval.
pub(super) fn with_interval(value: Option<f64>, interval: Option<Interval>) -> String {
    match interval {
        Some(interval) => format!(
            "{} [{:.1}..{:.1}]",
            percent(value),
            100.0 * interval.low,
            100.0 * interval.high
        ),
        None => percent(value),
    }
}

/// An empty table that fits the terminal.
pub(super) fn table(head: Vec<String>) -> Table {
    let mut table = Table::new();
    table
        .load_style(presets::UTF8_BORDERS_ONLY)
        .set_content_arrangement(ContentArrangement::Dynamic);
    // Some terminals report a width of 0.
    if table.width().is_some_and(|width| width < NARROWEST) {
        table.set_width(NARROWEST);
    }
    table.set_header(head);
    table
}

/// The table as text, with the columns from `first` on aligned right.
pub(super) fn aligned(mut table: Table, first: usize) -> String {
    table
        .column_iter_mut()
        .skip(first)
        .for_each(|column| column.set_cell_alignment(CellAlignment::Right));
    table.to_string()
}
