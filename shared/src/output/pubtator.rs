//! PubTator: `NAME|t|title`, `NAME|a|abstract`, and a line for each mention.

use super::{Note, in_one_line};
use crate::clean::field;
use crate::text::Offsets;
use std::fmt::Write;

/// The first line of the note is the title, the rest the abstract. Offsets are code points of both joined by one character,
/// as PubTator counts; line ends, tabs and control characters become blanks, which moves nothing. NIL mentions have `-` for a
/// concept. PubTator has no fragments: a mention in several is written as its whole extent.
pub(super) fn head(note: &Note<'_>) -> String {
    let name = name(note);
    // The separator stands for one character, so of "\r\n" the first stays, as a blank.
    let (title, rest) = match note.text.find(['\r', '\n']) {
        Some(at) => {
            let end = at + usize::from(note.text[at..].starts_with("\r\n"));
            (&note.text[..end], &note.text[end + 1..])
        }
        None => (note.text, ""),
    };
    format!("{name}|t|{}\n{name}|a|{}\n", field(title), field(rest))
}

/// What stands for the note in each line.
fn name(note: &Note<'_>) -> String {
    in_one_line(&field(note.name)).replace('|', " ")
}

/// The lines of the mentions.
pub(super) fn rows(note: &Note<'_>, offsets: &Offsets<'_>) -> String {
    let (name, mut out) = (name(note), String::new());
    for record in note.records {
        let (start, end) = (offsets.code_point(record.span.start), offsets.code_point(record.span.end));
        let (kind, id) = match &record.decision {
            Ok(concept) => (concept.kind(), concept.id.as_str()),
            Err(_) => ("NIL", "-"),
        };
        let words = record.span.of(note.text).unwrap_or_default();
        // Writing to a String cannot fail.
        let _ = writeln!(out, "{name}\t{start}\t{end}\t{}\t{}\t{}", field(words), field(kind), field(id));
    }
    out
}
