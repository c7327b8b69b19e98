//! BRAT standoff: a text-bound annotation a mention, and a reference to its concept.

use super::{LinkedNote, primary_type};
use pel_shared::error::Result;
use pel_shared::nil::Decision;
use pel_shared::text::Offsets;
use std::fmt::Write;

/// See [`super::render`]. Offsets are code points; a mention over several lines is one fragment a line, as BRAT wants.
pub fn render(note: &LinkedNote<'_>) -> Result<String> {
    let offsets = Offsets::new(note.text);
    let mut out = String::new();
    for (at, link) in note.links.iter().enumerate() {
        let number = at + 1;
        let linked = note.linked(link)?;
        let kind = linked
            .as_ref()
            .map_or("NIL".into(), |concept| primary_type(concept).replace(|c: char| !c.is_alphanumeric(), "_"));
        let mut fragments = Vec::new();
        let mut at_byte = link.span.start;
        for line in note.mention(link).split_inclusive('\n') {
            let kept = line.trim_end_matches(['\n', '\r']);
            if !kept.is_empty() {
                fragments.push(format!("{} {}", offsets.code_point(at_byte), offsets.code_point(at_byte + kept.len())));
            }
            at_byte += line.len();
        }
        let words: Vec<&str> = note.mention(link).split(['\n', '\r']).filter(|line| !line.is_empty()).collect();
        // Writing to a String cannot fail.
        let _ = writeln!(out, "T{number}\t{kind} {}\t{}", fragments.join(";"), words.join(" "));
        match (linked, &link.decision) {
            (Some(concept), _) => {
                let _ = writeln!(out, "N{number}\tReference T{number} KB:{}\t{}", concept.id, concept.name);
            }
            (None, Decision::Nil { reason, .. }) => {
                let _ = writeln!(out, "#{number}\tAnnotatorNotes T{number}\tNIL: {}", reason.words());
            }
            (None, Decision::Linked { .. }) => {}
        }
    }
    Ok(out)
}
