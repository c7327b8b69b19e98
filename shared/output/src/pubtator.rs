//! PubTator: `NAME|t|title`, `NAME|a|abstract`, and one line per mention.

use super::{Note, in_one_line};
use pel_kb::clean::field;
use pel_text::Offsets;
use std::fmt::Write;

/// The title, which is the first line of the note, and the abstract, which is the rest. Offsets are
/// code points of both, joined by one character. Line ends, tabs and control characters become
/// spaces, so that offsets stay. The concept of a NIL mention is `-`. PubTator has no fragments: a
/// discontinuous mention is written as its whole extent.
pub(super) fn head(note: &Note<'_>) -> String {
    let name = name(note);
    // The separator counts as one character, so the first of "\r\n" stays, as a space.
    let (title, rest) = match note.text.find(['\r', '\n']) {
        Some(at) => {
            let end = at + usize::from(note.text[at..].starts_with("\r\n"));
            (&note.text[..end], &note.text[end + 1..])
        }
        None => (note.text, ""),
    };
    format!("{name}|t|{}\n{name}|a|{}\n", field(title), field(rest))
}

/// The name of the note at the start of each line.
fn name(note: &Note<'_>) -> String {
    in_one_line(&field(note.name)).replace('|', " ")
}

/// The lines of the mentions.
pub(super) fn rows(note: &Note<'_>, offsets: &Offsets<'_>) -> String {
    let (name, mut out) = (name(note), String::new());
    for record in note.records {
        let (start, end) = (
            offsets.code_point(record.span.start),
            offsets.code_point(record.span.end),
        );
        let (kind, id) = match &record.decision {
            Ok(concept) => (concept.kind(), concept.id.as_str()),
            Err(_) => ("NIL", "-"),
        };
        let words = record.span.of(note.text).unwrap_or_default();
        // Writing to a String cannot fail.
        let _ = writeln!(
            out,
            "{name}\t{start}\t{end}\t{}\t{}\t{}",
            field(words),
            field(kind),
            field(id)
        );
    }
    out
}
