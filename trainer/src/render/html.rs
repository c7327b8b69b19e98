//! A page of its own: the note with coloured mentions, and the decisions below it.

use super::{LinkedNote, origin_words, primary_type};
use minijinja::value::{Serde, Value};
use minijinja::{Environment, context};
use pel_shared::error::{Error, Result};
use pel_shared::nil::Decision;
use serde::Serialize;

/// A piece of the note: plain text, or a mention with the number of its row.
#[derive(Serialize)]
struct Piece<'a> {
    text: &'a str,
    row: Option<usize>,
    hue: Option<u32>,
    title: String,
}

#[derive(Serialize)]
struct Row {
    mention: String,
    concept: Option<String>,
    id: Option<String>,
    kind: String,
    hue: Option<u32>,
    definition: Option<String>,
    sources: String,
    score: Option<String>,
    why: String,
    others: Vec<String>,
}

/// See [`super::render`].
pub fn render(note: &LinkedNote<'_>) -> Result<String> {
    let rows = note.links.iter().map(|link| row(note, link)).collect::<Result<Vec<_>>>()?;
    let (mut pieces, mut at) = (Vec::new(), 0);
    for (number, (link, row)) in note.links.iter().zip(&rows).enumerate() {
        // Of mentions that overlap, the text shows the first; the table has all.
        if link.span.start < at {
            continue;
        }
        let between = note.text.get(at..link.span.start).unwrap_or_default();
        pieces.push(Piece { text: between, row: None, hue: None, title: String::new() });
        let title = match (&row.concept, &row.id) {
            (Some(concept), Some(id)) => format!("{concept} ({id})"),
            _ => format!("NIL: {}", row.why),
        };
        pieces.push(Piece { text: note.mention(link), row: Some(number + 1), hue: row.hue, title });
        at = link.span.end;
    }
    pieces.push(Piece { text: note.text.get(at..).unwrap_or_default(), row: None, hue: None, title: String::new() });
    let manifest = &note.linker.bundle().manifest;
    let mut environment = Environment::new();
    environment
        .add_template("note.html", include_str!("note.html"))
        .and_then(|()| environment.get_template("note.html"))
        .and_then(|template| {
            template.render(context! {
                name => note.name, pieces => Value::from(Serde(&pieces)), rows => Value::from(Serde(&rows)), nil => rows.iter().filter(|row| row.concept.is_none()).count(),
                kb => manifest.kb.name.as_str(), concepts => manifest.kb.concepts, licences => Value::from(Serde(&manifest.kb.licences)),
                encoder => manifest.encoder.name.as_str(), written_by => concat!("pel ", env!("CARGO_PKG_VERSION")),
            })
        })
        .map_err(|cause| Error::io("writing the page").caused_by(cause))
}

fn row(note: &LinkedNote<'_>, link: &pel_shared::linker::Link) -> Result<Row> {
    let best = match link.decision {
        Decision::Linked { best } => Some(best),
        Decision::Nil { best, .. } => best,
    };
    let name = |candidate: &pel_shared::score::Candidate| -> Result<String> {
        let concept = note.concept(candidate.concept)?;
        Ok(format!("{} ({}) {:.3}", concept.name, concept.id, candidate.score))
    };
    let linked = note.linked(link)?;
    let why = match link.decision {
        Decision::Linked { .. } => origin_words(link.origin).to_owned(),
        Decision::Nil { reason, .. } => format!("{}; {}", origin_words(link.origin), reason.words()),
    };
    let kind = linked.as_ref().map_or(String::new(), |concept| primary_type(concept).to_owned());
    let skip = usize::from(linked.is_some());
    Ok(Row {
        mention: note.mention(link).to_owned(),
        hue: linked.as_ref().map(|concept| hue(primary_type(concept))),
        kind,
        definition: linked.as_ref().and_then(|concept| concept.definition.clone()),
        sources: linked.as_ref().map_or(String::new(), |concept| concept.sources.join(", ")),
        id: linked.as_ref().map(|concept| concept.id.clone()),
        concept: linked.map(|concept| concept.name),
        score: best.map(|best| format!("{:.3}", best.score)),
        why,
        others: link.candidates.iter().skip(skip).take(4).map(name).collect::<Result<_>>()?,
    })
}

/// One hue a type, in degrees; the same type always has the same.
fn hue(kind: &str) -> u32 {
    let spread = kind.bytes().fold(0u32, |sum, byte| sum.wrapping_mul(31).wrapping_add(u32::from(byte)));
    // Orange is kept for NIL.
    70 + spread % 270
}
