//! The figures of raw text: as JSON and as tables.

use super::counts::{Counts, PrecisionRecall, TypeCounts, VALUES};
use super::mistakes::{Frequent, Mistakes, NamedConcept};
use crate::evaluate::outcomes::{RESAMPLES, SEED};
use crate::evaluate::report::{aligned, table, with_interval};
use crate::evaluate::{Intervals, KbCounts};
use pel_index::metrics::{Interval, Share, resample};
use pel_io::files::{io_error, write_atomic};
use pel_io::json;
use pel_io::provenance::Run;
use pel_kb::error::Result;
use serde::Serialize;
use std::collections::BTreeSet;
use std::path::Path;

/// The results of an evaluation on raw text.
#[derive(Clone, Debug, Serialize)]
pub struct RawEvaluation {
    /// The program, machine and time of the run.
    pub run: Run,
    /// The folder of the corpus, or the file of notes.
    pub input: String,
    /// The split; `None` for notes.
    pub split: Option<String>,
    /// The concepts to link to.
    pub kb: KbCounts,
    /// How mentions were detected.
    pub detection: String,
    /// The candidates that a cross-encoder reranked; `None` without one.
    pub reranked: Option<usize>,
    /// Types of concepts, of which reported mentions were counted; empty with `sources` for all.
    pub types: Vec<String>,
    /// Sources of concepts, of which reported mentions were counted.
    pub sources: Vec<String>,
    /// The numbers of documents and mentions.
    pub counts: MentionCounts,
    /// The method of the intervals.
    pub intervals: Intervals,
    /// All figures.
    pub figures: RawFigures,
    /// The most frequent mistakes, if asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mistakes: Option<Mistakes>,
}

/// The numbers of documents and mentions.
#[derive(Clone, Debug, Default, Serialize)]
pub struct MentionCounts {
    /// Documents, with or without mentions.
    pub documents: usize,
    /// Annotated mentions; in a corpus several of one span count once.
    pub annotated: usize,
    /// Lines of annotated mentions that name a concept.
    pub with_concept: usize,
    /// Lines of composite mentions.
    pub composite: usize,
    /// The number of their parts.
    pub parts: usize,
    /// Annotated mentions with a concept of the knowledge base, each part of a composite one for
    /// itself.
    pub in_kb: usize,
    /// Reported mentions that are counted; in a corpus several of one span count once.
    pub reported: usize,
    /// Reported mentions that are counted and linked.
    pub linked: usize,
    /// Reported mentions that the filter of types and sources left out.
    pub left_out: usize,
    /// Annotated records that were skipped, with reasons; empty if none was.
    pub skipped: String,
}

/// All figures, micro-averaged.
#[derive(Clone, Debug, Serialize)]
pub struct RawFigures {
    /// Spans of mentions, linked or NIL, that are equal.
    pub spans_strict: Scores,
    /// Spans of mentions, linked or NIL, that overlap.
    pub spans_overlap: Scores,
    /// Links to a right concept at an equal span.
    pub concepts_strict: Scores,
    /// Links to a right concept at a span that overlaps.
    pub concepts_overlap: Scores,
    /// The linked concepts of a document against its sets of right concepts.
    pub document: Scores,
    /// The recalls by type of annotated mentions, the type with the most mentions first.
    pub by_type: Vec<TypeFigures>,
    /// The values of the context that are annotated or said of some mention.
    pub context: Vec<ContextFigures>,
}

/// A value of the context.
#[derive(Clone, Debug, Serialize)]
pub struct ContextFigures {
    /// The value, such as negated.
    pub value: &'static str,
    /// Of the annotated mentions that are said to have it those that have it, and the reverse.
    #[serde(flatten)]
    pub scores: Scores,
}

/// Precision, recall and F1.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Scores {
    /// The precision.
    pub precision: Proportion,
    /// The recall.
    pub recall: Proportion,
    /// Their harmonic mean.
    pub f1: F1,
}

/// A proportion with its counts and its interval.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Proportion {
    /// The counts.
    #[serde(flatten)]
    pub share: Share,
    /// The proportion, 0 to 1; `None` if the denominator is 0.
    pub value: Option<f64>,
    /// The bootstrap interval over documents (95 %).
    pub interval: Option<Interval>,
}

/// An F1 with its interval.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct F1 {
    /// F1, 0 to 1; `None` if nothing is annotated or reported.
    pub value: Option<f64>,
    /// The bootstrap interval over documents (95 %).
    pub interval: Option<Interval>,
}

/// The recalls of the annotated mentions of one type.
#[derive(Clone, Debug, Serialize)]
pub struct TypeFigures {
    /// The type.
    #[serde(rename = "type")]
    pub name: String,
    /// Its annotated mentions.
    pub mentions: usize,
    /// Mentions with a reported mention of the same span.
    pub spans_strict: Proportion,
    /// Mentions that a reported mention overlaps.
    pub spans_overlap: Proportion,
    /// Of the mentions with a concept of the knowledge base, those that overlap a link to it.
    pub concepts_overlap: Proportion,
}

impl RawFigures {
    /// The figures of documents.
    pub fn new(documents: &[Counts]) -> Self {
        let scores = |of: fn(&Counts) -> PrecisionRecall| {
            Scores::new(&documents.iter().map(of).collect::<Vec<_>>())
        };
        let names: BTreeSet<&String> = documents
            .iter()
            .flat_map(|counts| counts.types.keys())
            .collect();
        let mut by_type: Vec<TypeFigures> = names
            .into_iter()
            .map(|name| TypeFigures::new(name, documents))
            .collect();
        by_type.sort_by_key(|figures| std::cmp::Reverse(figures.mentions));
        Self {
            spans_strict: scores(|counts| counts.spans_strict),
            spans_overlap: scores(|counts| counts.spans_overlap),
            concepts_strict: scores(|counts| counts.concepts_strict),
            concepts_overlap: scores(|counts| counts.concepts_overlap),
            document: scores(|counts| counts.document),
            by_type,
            context: ContextFigures::all(documents),
        }
    }
}

impl ContextFigures {
    fn all(documents: &[Counts]) -> Vec<Self> {
        let figures = VALUES.iter().map(|value| {
            let own: Vec<PrecisionRecall> = documents
                .iter()
                .map(|counts| counts.context.get(value).copied().unwrap_or_default())
                .collect();
            Self {
                value,
                scores: Scores::new(&own),
            }
        });
        let occurs = |one: &Self| one.scores.precision.share.of + one.scores.recall.share.of > 0;
        figures.filter(occurs).collect()
    }
}

impl Scores {
    fn new(documents: &[PrecisionRecall]) -> Self {
        let shares = |of: fn(&PrecisionRecall) -> Share| documents.iter().map(of).collect();
        let pooled: PrecisionRecall = documents.iter().copied().sum();
        let interval = resample(documents.len(), RESAMPLES, SEED, |drawn| {
            let drawn = drawn.iter().filter_map(|at| documents.get(*at));
            drawn.copied().sum::<PrecisionRecall>().f1()
        });
        Self {
            precision: Proportion::new(shares(|counts| counts.precision)),
            recall: Proportion::new(shares(|counts| counts.recall)),
            f1: F1 {
                value: pooled.f1(),
                interval,
            },
        }
    }
}

impl Proportion {
    /// The pooled proportion of documents.
    fn new(documents: Vec<Share>) -> Self {
        let share: Share = documents.iter().copied().sum();
        let interval = resample(documents.len(), RESAMPLES, SEED, |drawn| {
            let drawn = drawn.iter().filter_map(|at| documents.get(*at));
            drawn.copied().sum::<Share>().value()
        });
        Self {
            share,
            value: share.value(),
            interval,
        }
    }
}

impl TypeFigures {
    /// The figures of a type. Only documents with a mention of the type are drawn.
    fn new(name: &str, documents: &[Counts]) -> Self {
        let own: Vec<TypeCounts> = documents
            .iter()
            .filter_map(|counts| counts.types.get(name).copied())
            .collect();
        let recall =
            |of: fn(&TypeCounts) -> Share| Proportion::new(own.iter().map(of).collect::<Vec<_>>());
        let spans_strict = recall(|counts| counts.strict);
        Self {
            name: name.to_owned(),
            mentions: spans_strict.share.of,
            spans_strict,
            spans_overlap: recall(|counts| counts.overlap),
            concepts_overlap: recall(|counts| counts.concepts),
        }
    }
}

impl RawEvaluation {
    /// Writes all figures into a file, as JSON.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn save(&self, out: &Path) -> Result<()> {
        let text = json::pretty(self)? + "\n";
        write_atomic(out, |file| {
            file.write_all(text.as_bytes())
                .map_err(|cause| io_error("writing", out, cause))
        })
    }

    /// The tables for the terminal: the protocol, the figures, recall by type, and mistakes.
    pub fn tables(&self) -> String {
        let mut text = self.protocol();
        text.push_str(&format!(
            "\nRaw text to concept in %:\n{}\n",
            self.score_table()
        ));
        text.push_str(
            "[..]: 95 % interval, bootstrap over documents. Spans: all reported mentions. \
             Concepts: precision over linked mentions, recall over mentions whose concept the \
             knowledge base has. Document: each concept once per document.\n",
        );
        if !self.figures.by_type.is_empty() {
            text.push_str(&format!(
                "\nRecall in % by type of annotated mention:\n{}\n",
                self.type_table()
            ));
        }
        if !self.figures.context.is_empty() {
            text.push_str(&format!(
                "\nContext of annotated mentions in % (nothing is said of a mention that was not \
                 found):\n{}\n",
                self.context_table()
            ));
        }
        if let Some(mistakes) = &self.mistakes {
            text.push_str(&mistake_lines(mistakes));
        }
        text.truncate(text.trim_end().len());
        text
    }

    /// The protocol, line by line.
    fn protocol(&self) -> String {
        let MentionCounts {
            documents,
            annotated,
            with_concept,
            composite,
            parts,
            in_kb,
            reported,
            linked,
            left_out,
            skipped,
        } = &self.counts;
        let split = match &self.split {
            Some(split) => format!(", split {split}"),
            None => String::new(),
        };
        let skipped = match skipped.is_empty() {
            true => "none skipped".to_owned(),
            false => format!("skipped: {skipped}"),
        };
        let composite = match composite {
            0 => String::new(),
            _ => format!(", {composite} composite of {parts} parts, which count for themselves"),
        };
        let mut lines = vec![
            format!(
                "{}{split}: {documents} documents, {annotated} annotated mentions, {with_concept} \
                 with a concept{composite}, {in_kb} with one of the knowledge base; {skipped}",
                self.input
            ),
            format!(
                "Knowledge base: {} concepts, blake3 {}",
                self.kb.concepts, self.kb.blake3
            ),
            format!(
                "Detected {}: {reported} reported mentions are counted, {linked} linked",
                self.detection
            ),
        ];
        if let Some(count) = self.reranked {
            lines.push(format!("Reranked: the first {count} candidates"));
        }
        if !(self.types.is_empty() && self.sources.is_empty()) {
            let list = |what: &str, names: &[String]| match names {
                [] => None,
                names => Some(format!("{what} {}", names.join(", "))),
            };
            let lists: Vec<String> = [
                list("of the types", &self.types),
                list("from the sources", &self.sources),
            ]
            .into_iter()
            .flatten()
            .collect();
            lines.push(format!(
                "Counted: reported mentions whose concept (of NIL: the nearest candidate) is {}; \
                 {left_out} left out",
                lists.join(" or ")
            ));
        }
        lines.join("\n") + "\n"
    }

    fn score_table(&self) -> String {
        let RawFigures {
            spans_strict,
            spans_overlap,
            concepts_strict,
            concepts_overlap,
            document,
            by_type: _,
            context: _,
        } = &self.figures;
        scores_table(
            "Figure",
            [
                ("Spans, strict", spans_strict),
                ("Spans, overlap", spans_overlap),
                ("Concepts, strict", concepts_strict),
                ("Concepts, overlap", concepts_overlap),
                ("Document", document),
            ],
        )
    }

    fn context_table(&self) -> String {
        let rows = self.figures.context.iter();
        scores_table("Value", rows.map(|one| (one.value, &one.scores)))
    }

    fn type_table(&self) -> String {
        let head = [
            "Type",
            "Mentions",
            "Spans, strict",
            "Spans, overlap",
            "Concepts, overlap",
            "Counts",
        ];
        let mut table = table(head.map(str::to_owned).to_vec());
        for figures in &self.figures.by_type {
            table.add_row([
                figures.name.clone(),
                figures.mentions.to_string(),
                figures.spans_strict.shown(),
                figures.spans_overlap.shown(),
                figures.concepts_overlap.shown(),
                figures.concepts_overlap.counted(),
            ]);
        }
        aligned(table, 1)
    }
}

/// A table of scores by name.
fn scores_table<'a>(first: &str, rows: impl IntoIterator<Item = (&'a str, &'a Scores)>) -> String {
    let head = [first, "Precision", "Counts", "Recall", "Counts", "F1"];
    let mut table = table(head.map(str::to_owned).to_vec());
    for (name, scores) in rows {
        let Scores {
            precision,
            recall,
            f1,
        } = scores;
        table.add_row([
            name.to_owned(),
            precision.shown(),
            precision.counted(),
            recall.shown(),
            recall.counted(),
            with_interval(f1.value, f1.interval),
        ]);
    }
    aligned(table, 1)
}

impl Proportion {
    fn shown(&self) -> String {
        with_interval(self.value, self.interval)
    }

    fn counted(&self) -> String {
        format!("{}/{}", self.share.hits, self.share.of)
    }
}

/// The most frequent mistakes, a line each.
fn mistake_lines(mistakes: &Mistakes) -> String {
    let mut text = String::new();
    let mut add = |title: &str, lines: Vec<String>| {
        text.push_str(&format!("\n{title}:\n"));
        for line in lines {
            text.push_str(&format!("  {line}\n"));
        }
    };
    let frequent = |all: &[Frequent]| {
        all.iter()
            .map(|one| format!("{} x {}", one.count, one.text))
            .collect()
    };
    add("Missed mentions", frequent(&mistakes.missed));
    add("Spurious mentions", frequent(&mistakes.spurious));
    let named = |concept: &NamedConcept| format!("{} ({})", concept.name, concept.id);
    let wrong = mistakes.wrong.iter().map(|one| {
        format!(
            "{} x {}: expected {}, found {}",
            one.count,
            one.text,
            named(&one.right),
            one.reported.as_ref().map_or("NIL".to_owned(), named)
        )
    });
    add("Wrongly linked mentions", wrong.collect());
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evaluate::raw::counts::{Annotated, Reported, Unit};
    use pel_kb::ConceptId;
    use pel_text::Span;

    fn document(annotated: &[(usize, u32, &str)], reported: &[(usize, Option<u32>)]) -> Counts {
        let annotated: Vec<Annotated> = annotated
            .iter()
            .map(|(start, concept, kind)| Annotated {
                span: Span::new(*start, start + 5),
                concepts: BTreeSet::from([ConceptId(*concept)]),
                parts: Vec::new(),
                types: BTreeSet::from([(*kind).to_owned()]),
                context: None,
            })
            .collect();
        let reported: Vec<Reported> = reported
            .iter()
            .map(|(start, concept)| Reported {
                span: Span::new(*start, start + 5),
                concept: concept.map(ConceptId),
                context: BTreeSet::new(),
            })
            .collect();
        Counts::of(&annotated, &reported, Unit::Span)
    }

    #[test]
    fn figures_pool_the_counts_of_documents() {
        let figures = RawFigures::new(&[
            document(
                &[(0, 1, "Sign"), (10, 2, "Sign"), (20, 3, "Drug")],
                &[(0, Some(1)), (10, None)],
            ),
            document(&[], &[]),
            document(&[(0, 1, "Sign")], &[(0, Some(2)), (30, Some(1))]),
        ]);
        let counted = |of: &Proportion| (of.share.hits, of.share.of);
        let spans = figures.spans_strict;
        assert_eq!(
            (counted(&spans.precision), counted(&spans.recall)),
            ((3, 4), (3, 4))
        );
        assert_eq!(spans.f1.value, Some(0.75));
        let concepts = figures.concepts_strict;
        assert_eq!(
            (counted(&concepts.precision), counted(&concepts.recall)),
            ((1, 3), (1, 4))
        );
        // The third document has the concept 1, at another place.
        assert_eq!(counted(&figures.document.precision), (2, 3));
        assert_eq!(counted(&figures.document.recall), (2, 4));
        let types: Vec<_> = figures
            .by_type
            .iter()
            .map(|figures| (figures.name.as_str(), figures.mentions))
            .collect();
        assert_eq!(types, [("Sign", 3), ("Drug", 1)]);
        assert_eq!(counted(&figures.by_type[0].concepts_overlap), (1, 3));
    }

    #[test]
    fn intervals_of_equal_documents_have_width_zero() {
        let one = document(&[(0, 1, "Sign"), (10, 2, "Sign")], &[(0, Some(1))]);
        let figures = RawFigures::new(&[one.clone(), one.clone(), one]);
        let scores = figures.concepts_overlap;
        let width = |interval: Option<Interval>| interval.map(|found| found.high - found.low);
        for interval in [
            scores.precision.interval,
            scores.recall.interval,
            scores.f1.interval,
            figures.by_type[0].spans_strict.interval,
        ] {
            assert_eq!(width(interval), Some(0.0));
        }
        assert_eq!(scores.recall.value, Some(0.5));
        assert_eq!(RawFigures::new(&[]).document.f1.interval, None);
    }
}
