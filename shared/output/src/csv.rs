//! A table for spreadsheets: one mention per row.

use super::attributes::{beside_cells, beside_columns};
use super::review::{self, Review};
use super::{DecidedBy, Named, Note, origin_words};
use pel_kb::clean::cell;
use pel_kb::codes::System;
use pel_kb::error::{Error, Result};
use pel_kb::group::Group;
use pel_text::context::{Allergy, Laterality, Severity};
use pel_text::{Offsets, Span};
use std::borrow::Cow;

const HEAD: [&str; 24] = [
    "doc",
    "start_code_point",
    "end_code_point",
    "text",
    "read_as",
    "decision",
    "id",
    "name",
    "type",
    "score",
    "found",
    "fragments",
    "xrefs",
    "probability",
    "group",
    "negated",
    "certainty",
    "temporality",
    "experiencer",
    "section",
    "laterality",
    "severity",
    "allergy",
    "decided_by",
];

/// The names of the columns. Each attribute has one. Each chosen code system has two: its code, and
/// how its meaning stands to that of the concept. Reviews have five columns, if they are asked for.
pub(super) fn head(systems: &[System], reviewed: bool) -> String {
    let mut names = HEAD.join(",");
    for name in beside_columns() {
        names += &format!(",{name}");
    }
    if reviewed {
        for name in review::COLUMNS {
            names += &format!(",{name}");
        }
    }
    for system in systems {
        let prefix = system.prefix();
        names += &format!(",{prefix},{prefix}_match");
    }
    names + "\r\n"
}

/// The rows of a note. Offsets are code points. Fragments are written as in BRAT (`7 11;27 35`),
/// cross-references with `|` between them. The decision of a NIL mention is its reason. Its best
/// candidate is left out, because a reader of the table would take it for the answer. Attributes are
/// normal forms, or words where there is none.
pub(super) fn write(
    note: &Note<'_>,
    offsets: &Offsets<'_>,
    systems: &[System],
    reviewed: bool,
) -> Result<String> {
    let failed = |cause| Error::io("writing a table").caused_by(cause);
    let mut table = csv::WriterBuilder::new()
        .terminator(csv::Terminator::CRLF)
        .from_writer(Vec::new());
    let beside = beside_cells(note.text, note.records);
    for (record, beside) in note.records.iter().zip(beside) {
        let (start, end) = (
            offsets.code_point(record.span.start),
            offsets.code_point(record.span.end),
        );
        let concept = record.decision.as_ref().ok();
        let decision = match &record.decision {
            Ok(_) => "linked".to_owned(),
            Err(reason) => format!("NIL: {}", reason.words()),
        };
        let place = |fragment: &Span| {
            format!(
                "{} {}",
                offsets.code_point(fragment.start),
                offsets.code_point(fragment.end)
            )
        };
        let fragments: Vec<String> = record.fragments.iter().map(place).collect();
        let xrefs = concept.map_or(String::new(), |concept| concept.xrefs.join("|"));
        let score = concept
            .map(|concept| concept.score.to_string())
            .unwrap_or_default();
        let text = note.mention(record);
        let fields = [
            cell(note.name),
            start.to_string().into(),
            end.to_string().into(),
            cell(&text),
            cell(record.read_as.as_deref().unwrap_or_default()),
            decision.into(),
            cell(concept.map_or("", |concept| &concept.id)),
            cell(concept.map_or("", |concept| &concept.name)),
            cell(concept.map_or("", |concept| concept.kind())),
            score.into(),
            origin_words(record.origin).into(),
            fragments.join(";").into(),
            cell(&xrefs),
            record
                .probability
                .map_or(String::new(), |probability| probability.to_string())
                .into(),
            record.group.map_or("", Group::name).into(),
            if record.context.negated {
                "true"
            } else {
                "false"
            }
            .into(),
            record.context.certainty.name().into(),
            record.context.temporality.name().into(),
            record.context.experiencer.name().into(),
            cell(record.context.section.as_deref().unwrap_or_default()),
            record
                .context
                .laterality
                .map_or("", Laterality::name)
                .into(),
            record.context.severity.map_or("", Severity::name).into(),
            record.context.allergy.map_or("", Allergy::name).into(),
            match record.decided_by {
                DecidedBy::Machine => "",
                DecidedBy::Reader => "reader",
            }
            .into(),
        ];
        let fields: [Cow<'_, str>; HEAD.len()] = fields;
        let beside = beside.into_iter().map(|words| cell(&words).into_owned());
        let review = reviewed.then(|| review_cells(record.review.as_ref()));
        let codes = systems.iter().flat_map(|system| codes_of(concept, *system));
        let row = fields
            .into_iter()
            .chain(beside.map(Cow::Owned))
            .chain(review.into_iter().flatten().chain(codes).map(Cow::Owned));
        table
            .write_record(row.map(|field| field.into_owned()))
            .map_err(failed)?;
    }
    let bytes = table
        .into_inner()
        .map_err(|cause| Error::io("writing a table").caused_by(cause.to_string()))?;
    String::from_utf8(bytes).map_err(|cause| Error::io("writing a table").caused_by(cause))
}

/// The cells of a review.
fn review_cells(review: Option<&Review>) -> [String; review::COLUMNS.len()] {
    let cells = review.map(Review::cells).unwrap_or_default();
    cells.map(|words| cell(&words).into_owned())
}

/// The cells of a code system.
fn codes_of(concept: Option<&Named>, system: System) -> [String; 2] {
    match concept.and_then(|concept| concept.code_cell(system)) {
        Some((codes, matches)) => [cell(&codes).into_owned(), matches.name().to_owned()],
        None => [String::new(), String::new()],
    }
}
