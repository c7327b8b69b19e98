//! The statistics as text tables.

use super::{Lengths, OkbReport, SemanticType, Statistics, Suggestion};
use comfy_table::{CellAlignment, Table};
use pel_index::metrics::Share;
use pel_io::text_tables::table;

fn percent(share: Share) -> String {
    share
        .value()
        .map_or("-".to_owned(), |value| format!("{:.1}", 100.0 * value))
}

/// Formats a table with columns from `first` on aligned right.
fn aligned(mut table: Table, first: usize) -> String {
    table
        .column_iter_mut()
        .skip(first)
        .for_each(|column| column.set_cell_alignment(CellAlignment::Right));
    table.to_string()
}

fn describe(types: &[SemanticType]) -> String {
    types
        .iter()
        .map(SemanticType::words)
        .collect::<Vec<_>>()
        .join(", ")
}

impl OkbReport {
    /// The report as text.
    pub fn text(&self) -> String {
        let Self {
            types,
            concepts_before,
            concepts_held_out,
            kb_without_blake3,
            statistics,
            ..
        } = self;
        let share = statistics.held_out;
        let left = concepts_before - concepts_held_out;
        let mut text = format!(
            "Held out: {}\n{concepts_held_out} of {concepts_before} concepts; {} of {} mentions \
             that could be linked ({} %)\n\
             Knowledge base left: {left} concepts, blake3 {kb_without_blake3}\n",
            describe(types),
            share.hits,
            share.of,
            percent(share),
        );
        for (split, report) in self
            .skipped
            .iter()
            .filter(|(_, report)| report.skipped_in_all() > 0)
        {
            text.push_str(&format!(
                "Skipped in reading the split {split}: {}\n",
                report.reasons()
            ));
        }
        for (title, table) in [
            (
                "Mentions and entities, held out beside the whole (the mentions that could be \
                 linked):",
                statistics.subsets(),
            ),
            (
                "Zero-shot mentions by type, in % (of how many):",
                statistics.types(),
            ),
            (
                "Surfaces that an earlier split has too, lower-cased, in %:",
                statistics.surfaces(),
            ),
            ("Words of descriptions:", statistics.lengths()),
            (
                "What is not as clear-cut as it looks, in mentions:",
                statistics.doubts(),
            ),
        ] {
            text.push_str(&format!("\n{title}\n{table}\n"));
        }
        text.truncate(text.trim_end().len());
        text
    }
}

impl Statistics {
    /// Table 7 of the paper, with the whole for comparison.
    fn subsets(&self) -> String {
        let mut table = table([
            "Split",
            "",
            "Mentions",
            "% of whole",
            "Entities",
            "% entities seen",
            "% mentions zero-shot",
        ]);
        for split in &self.splits {
            for (what, subset) in [("held out", split.held_out), ("whole", split.whole)] {
                let share = Share {
                    hits: subset.mentions,
                    of: split.whole.mentions,
                };
                table.add_row([
                    split.split.clone(),
                    what.to_owned(),
                    subset.mentions.to_string(),
                    percent(share),
                    subset.entities_seen.of.to_string(),
                    percent(subset.entities_seen),
                    percent(subset.zero_shot),
                ]);
            }
        }
        aligned(table, 2)
    }

    fn types(&self) -> String {
        let mut head = vec!["Type".to_owned(), "Concepts".to_owned()];
        head.extend(self.splits.iter().map(|split| split.split.clone()));
        let mut table = table(head.iter().map(String::as_str));
        for one in &self.types {
            let mut row = vec![one.semantic_type.words(), one.concepts.to_string()];
            row.extend(
                one.zero_shot
                    .iter()
                    .map(|share| format!("{} ({})", percent(*share), share.of)),
            );
            table.add_row(row);
        }
        let mut row = vec![
            "whole".to_owned(),
            self.descriptions[1].concepts.to_string(),
        ];
        row.extend(
            self.splits
                .iter()
                .map(|s| format!("{} ({})", percent(s.whole.zero_shot), s.whole.mentions)),
        );
        table.add_row(row);
        aligned(table, 1)
    }

    fn surfaces(&self) -> String {
        let mut table = table([
            "Splits",
            "Held out: surfaces",
            "mentions",
            "Whole: surfaces",
            "mentions",
        ]);
        for overlap in &self.overlaps {
            table.add_row([
                format!("{} in {}", overlap.to, overlap.from),
                percent(overlap.held_out.surfaces),
                percent(overlap.held_out.mentions),
                percent(overlap.whole.surfaces),
                percent(overlap.whole.mentions),
            ]);
        }
        aligned(table, 1)
    }

    fn lengths(&self) -> String {
        let mut table = table(["Concepts", "How many", "% described", "Mean", "Quartiles"]);
        let [held_mentioned, all_mentioned] = self.descriptions_mentioned;
        let [held, all] = self.descriptions;
        for (
            what,
            Lengths {
                concepts,
                described,
                mean,
                quartiles: [first, half, third],
            },
        ) in [
            ("held out, with a mention", held_mentioned),
            ("whole, with a mention", all_mentioned),
            ("held out", held),
            ("whole", all),
        ] {
            table.add_row([
                what.to_owned(),
                concepts.to_string(),
                percent(described),
                format!("{mean:.1}"),
                format!("{first} / {half} / {third}"),
            ]);
        }
        aligned(table, 1)
    }

    fn doubts(&self) -> String {
        let mut head = vec![""];
        head.extend(self.splits.iter().map(|split| split.split.as_str()));
        let mut table = table(head);
        let mut row = |what: &str, counts: Vec<usize>| {
            table.add_row(
                std::iter::once(what.to_owned()).chain(counts.iter().map(usize::to_string)),
            );
        };
        let each =
            |count: fn(&super::SplitStatistics) -> usize| self.splits.iter().map(count).collect();
        row("natural NIL", each(|split| split.natural_nil));
        row(
            "held out, but the surface is a name of a concept that stays",
            each(|split| split.named_like_others),
        );
        row(
            "held out, but training links the surface to a concept that stays",
            each(|split| split.linked_in_training),
        );
        row(
            "not held out, though the corpus gives a chosen type: the concept has another",
            each(|split| split.other_type),
        );
        row(
            "held out, though the corpus gives no chosen type: the concept has one",
            each(|split| split.typed_otherwise),
        );
        aligned(table, 1)
    }
}

impl Suggestion {
    /// All types and the proposed set, as text.
    pub fn text(&self, splits: &[String]) -> String {
        let mut head = ["Type", "Concepts", "Mentions", "% of whole"]
            .map(str::to_owned)
            .to_vec();
        // The training split has no zero-shot mentions.
        let zero = |zero: Share| {
            if zero.hits > 0 {
                format!(" ({})", percent(zero))
            } else {
                String::new()
            }
        };
        head.extend(splits.iter().map(|split| format!("{split} (% zero-shot)")));
        let mut table = table(head.iter().map(String::as_str));
        for one in &self.types {
            let share = one.share();
            let mut row = vec![
                one.semantic_type.words(),
                one.concepts.to_string(),
                share.hits.to_string(),
                percent(share),
            ];
            row.extend(
                one.zero_shot
                    .iter()
                    .map(|share| format!("{}{}", share.of, zero(*share))),
            );
            table.add_row(row);
        }
        let shares: Vec<String> = (splits.iter().zip(&self.shares).zip(&self.zero_shot))
            .map(|((split, share), zero)| {
                format!(
                    "{split} {} % ({} % zero-shot)",
                    percent(*share),
                    percent(*zero)
                )
            })
            .collect();
        let whole: Share = self.shares.iter().copied().sum();
        format!(
            "{}\n\nProposed (nearest to {:.0} % of the mentions, then most similar to the whole in \
             zero-shot share and description length):\n  --types {}\n\
             {}: {} % of the mentions that can be linked, {} concepts; {}",
            aligned(table, 1),
            100.0 * self.target,
            quoted(&self.proposed),
            describe(&self.proposed),
            percent(whole),
            self.concepts,
            shares.join(", "),
        )
    }
}

/// The types as an argument of `--types`.
fn quoted(types: &[SemanticType]) -> String {
    let list = types
        .iter()
        .map(SemanticType::short)
        .collect::<Vec<_>>()
        .join(",");
    if list.contains(' ') {
        format!("'{list}'")
    } else {
        list
    }
}
