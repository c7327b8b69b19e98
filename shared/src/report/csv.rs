//! A table for spreadsheets: one mention a row.

use super::{Note, origin_words};
use crate::error::{Error, Result};

const HEAD: [&str; 11] = ["doc", "start", "end", "text", "read_as", "decision", "id", "name", "type", "score", "found"];

/// Offsets are code points. A NIL mention has its reason for a decision, and its nearest concept stays out: a spreadsheet's
/// reader would take it for the answer.
pub(super) fn write(note: &Note<'_>) -> Result<String> {
    let failed = |cause| Error::io("writing a table").caused_by(cause);
    let offsets = note.offsets();
    let mut table = csv::WriterBuilder::new().terminator(csv::Terminator::CRLF).from_writer(Vec::new());
    table.write_record(HEAD).map_err(failed)?;
    for record in note.records {
        let (start, end) = (offsets.code_point(record.span.start), offsets.code_point(record.span.end));
        let concept = record.decision.as_ref().ok();
        let decision = match &record.decision {
            Ok(_) => "linked".to_owned(),
            Err(reason) => format!("NIL: {}", reason.words()),
        };
        let score = concept.map(|concept| concept.score.to_string()).unwrap_or_default();
        table
            .write_record([
                &harmless(note.name),
                &start.to_string(),
                &end.to_string(),
                &harmless(note.mention(record)),
                &harmless(record.read_as.as_deref().unwrap_or_default()),
                &decision,
                &harmless(concept.map_or("", |concept| &concept.id)),
                &harmless(concept.map_or("", |concept| &concept.name)),
                &harmless(concept.map_or("", |concept| concept.kind())),
                &score,
                origin_words(record.origin),
            ])
            .map_err(failed)?;
    }
    let bytes = table.into_inner().map_err(|cause| Error::io("writing a table").caused_by(cause.to_string()))?;
    String::from_utf8(bytes).map_err(|cause| Error::io("writing a table").caused_by(cause))
}

/// A spreadsheet would run a text that begins like a formula.
fn harmless(text: &str) -> String {
    match text.starts_with(['=', '+', '-', '@', '\t', '\r']) {
        true => format!("'{text}"),
        false => text.to_owned(),
    }
}
