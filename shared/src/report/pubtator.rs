//! PubTator: `NAME|t|title`, `NAME|a|abstract`, and a line for each mention.

use super::{Note, in_one_line};
use std::fmt::Write;

/// The first line of the note is the title, the rest the abstract. Offsets are code points of both joined by one character,
/// as PubTator counts; line breaks become blanks, which moves nothing. NIL mentions have `-` for a concept.
pub(super) fn write(note: &Note<'_>) -> String {
    let name = in_one_line(note.name).replace('|', " ");
    let (title, rest) = note.text.split_once('\n').unwrap_or((note.text, ""));
    let flat = |text: &str| text.replace(['\n', '\r', '\t'], " ");
    let offsets = note.offsets();
    let mut out = format!("{name}|t|{}\n{name}|a|{}\n", flat(title), flat(rest));
    for record in note.records {
        let (start, end) = (offsets.code_point(record.span.start), offsets.code_point(record.span.end));
        let (kind, id) = match &record.decision {
            Ok(concept) => (concept.kind(), concept.id.as_str()),
            Err(_) => ("NIL", "-"),
        };
        // Writing to a String cannot fail.
        let _ = writeln!(out, "{name}\t{start}\t{end}\t{}\t{}\t{id}", flat(note.mention(record)), flat(kind));
    }
    out
}
