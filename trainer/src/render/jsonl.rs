//! One mention a line.

use super::LinkedNote;
use pel_shared::error::{Error, Result};
use pel_shared::nil::{Decision, NilReason};
use pel_shared::score::Candidate;
use pel_shared::text::Offsets;
use pel_shared::tokens::Cut;
use serde::Serialize;

#[derive(Serialize)]
struct Line<'a> {
    doc: &'a str,
    /// Bytes of the UTF-8 text.
    start: usize,
    end: usize,
    start_code_point: usize,
    end_code_point: usize,
    start_utf16: usize,
    end_utf16: usize,
    text: &'a str,
    origin: pel_shared::detect::Origin,
    decision: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    nil_reason: Option<NilReason>,
    concept: Option<Named>,
    candidates: Vec<Named>,
    cut: Cut,
}

#[derive(Serialize)]
struct Named {
    id: String,
    name: String,
    types: Vec<String>,
    sources: Vec<String>,
    score: f32,
}

/// See [`super::render`].
pub fn render(note: &LinkedNote<'_>) -> Result<String> {
    let offsets = Offsets::new(note.text);
    let named = |candidate: &Candidate| -> Result<Named> {
        let concept = note.concept(candidate.concept)?;
        let (id, name, types, sources) = (concept.id, concept.name, concept.types, concept.sources);
        Ok(Named { id, name, types, sources, score: candidate.score })
    };
    let mut out = String::new();
    for link in note.links {
        let (decision, nil_reason, best) = match &link.decision {
            Decision::Linked { best } => ("linked", None, Some(best)),
            Decision::Nil { reason, .. } => ("nil", Some(*reason), None),
        };
        let (start, end) = (link.span.start, link.span.end);
        let line = Line {
            doc: note.name,
            start,
            end,
            start_code_point: offsets.code_point(start),
            end_code_point: offsets.code_point(end),
            start_utf16: offsets.utf16(start),
            end_utf16: offsets.utf16(end),
            text: note.mention(link),
            origin: link.origin,
            decision,
            nil_reason,
            concept: best.map(named).transpose()?,
            candidates: link.candidates.iter().map(named).collect::<Result<_>>()?,
            cut: link.cut,
        };
        out += &serde_json::to_string(&line).map_err(|cause| Error::io("encoding JSON").caused_by(cause))?;
        out.push('\n');
    }
    Ok(out)
}
