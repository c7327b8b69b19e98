//! BRAT standoff: a text-bound annotation a mention, and a reference to its concept.

use super::Note;
use std::fmt::Write;

/// Offsets are code points; a mention over several lines is one fragment a line, as BRAT wants.
pub(super) fn write(note: &Note<'_>) -> String {
    let offsets = note.offsets();
    let mut out = String::new();
    for (at, record) in note.records.iter().enumerate() {
        let number = at + 1;
        let kind = record.decision.as_ref().map_or("NIL", |concept| concept.kind());
        let kind = kind.replace(|c: char| !c.is_alphanumeric(), "_");
        let mut fragments = Vec::new();
        let mut at_byte = record.span.start;
        for line in note.mention(record).split_inclusive('\n') {
            let kept = line.trim_end_matches(['\n', '\r']);
            if !kept.is_empty() {
                fragments.push(format!("{} {}", offsets.code_point(at_byte), offsets.code_point(at_byte + kept.len())));
            }
            at_byte += line.len();
        }
        let words: Vec<&str> = note.mention(record).split(['\n', '\r']).filter(|line| !line.is_empty()).collect();
        // Writing to a String cannot fail.
        let _ = writeln!(out, "T{number}\t{kind} {}\t{}", fragments.join(";"), words.join(" "));
        let _ = match &record.decision {
            Ok(concept) => writeln!(out, "N{number}\tReference T{number} KB:{}\t{}", concept.id, concept.name),
            Err(reason) => writeln!(out, "#{number}\tAnnotatorNotes T{number}\tNIL: {}", reason.words()),
        };
    }
    out
}
