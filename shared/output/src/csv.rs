//! A table for spreadsheets: one mention per row.

use super::{DecidedBy, Note, origin_words};
use pel_kb::clean::cell;
use pel_kb::error::{Error, Result};
use pel_kb::group::Group;
use pel_text::context::{Allergy, Laterality, Severity};
use pel_text::{Offsets, Span};

const HEAD: [&str; 24] = [
    "doc",
    "start",
    "end",
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

/// The names of the columns.
pub(super) fn head() -> String {
    format!("{}\r\n", HEAD.join(","))
}

/// The rows of a note. Offsets are code points. Fragments are written as in BRAT (`7 11;27 35`),
/// cross-references with `|` between them. The decision of a NIL mention is its reason. Its best
/// candidate is left out, because a reader of the table would take it for the answer.
pub(super) fn write(note: &Note<'_>, offsets: &Offsets<'_>) -> Result<String> {
    let failed = |cause| Error::io("writing a table").caused_by(cause);
    let mut table = csv::WriterBuilder::new()
        .terminator(csv::Terminator::CRLF)
        .from_writer(Vec::new());
    for record in note.records {
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
        table
            .write_record([
                cell(note.name).as_ref(),
                &start.to_string(),
                &end.to_string(),
                &cell(&note.mention(record)),
                &cell(record.read_as.as_deref().unwrap_or_default()),
                &decision,
                &cell(concept.map_or("", |concept| &concept.id)),
                &cell(concept.map_or("", |concept| &concept.name)),
                &cell(concept.map_or("", |concept| concept.kind())),
                &score,
                origin_words(record.origin),
                &fragments.join(";"),
                &cell(&xrefs),
                &record
                    .probability
                    .map_or(String::new(), |probability| probability.to_string()),
                record.group.map_or("", Group::name),
                if record.context.negated {
                    "true"
                } else {
                    "false"
                },
                record.context.certainty.name(),
                record.context.temporality.name(),
                record.context.experiencer.name(),
                &cell(record.context.section.as_deref().unwrap_or_default()),
                record.context.laterality.map_or("", Laterality::name),
                record.context.severity.map_or("", Severity::name),
                record.context.allergy.map_or("", Allergy::name),
                match record.decided_by {
                    DecidedBy::Machine => "",
                    DecidedBy::Reader => "reader",
                },
            ])
            .map_err(failed)?;
    }
    let bytes = table
        .into_inner()
        .map_err(|cause| Error::io("writing a table").caused_by(cause.to_string()))?;
    String::from_utf8(bytes).map_err(|cause| Error::io("writing a table").caused_by(cause))
}
