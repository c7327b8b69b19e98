//! A page of its own: the note with coloured mentions, and the decisions below it.

use super::{Note, Record, origin_words};
use crate::clean;
use crate::error::{Error, Result};
use crate::text::Span;
use minijinja::value::{Serde, Value};
use minijinja::{Environment, context};
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

pub(super) fn write(note: &Note<'_>) -> Result<String> {
    let rows = note.records.iter().map(|record| row(note, record)).collect::<Result<Vec<_>>>()?;
    // A mention is marked at each of its pieces; another may stand between these.
    let marked =
        note.records.iter().enumerate().flat_map(|(at, record)| record.pieces().iter().map(move |span| (*span, at)));
    let mut marked: Vec<(Span, usize)> = marked.collect();
    marked.sort_by_key(|(span, at)| (span.start, *at));
    let (mut pieces, mut at) = (Vec::new(), 0);
    for (span, number) in marked {
        // Of mentions that overlap, the text shows the first; the table has all.
        if span.start < at {
            continue;
        }
        let (row, between) = (&rows[number], note.text.get(at..span.start).unwrap_or_default());
        pieces.push(Piece { text: between, row: None, hue: None, title: String::new() });
        let mut title = match (&row.concept, &row.id) {
            (Some(concept), Some(id)) => format!("{concept} ({id})"),
            _ => format!("NIL: {}", row.why),
        };
        if !note.records[number].fragments.is_empty() {
            title = format!("{}: {title}", row.mention);
        }
        let text = note.text.get(span.start..span.end).unwrap_or_default();
        pieces.push(Piece { text, row: Some(number + 1), hue: row.hue, title });
        at = span.end;
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
        .map(|page| clean::page(&page).into_owned())
        .map_err(|cause| Error::io("writing the page").caused_by(cause))
}

fn row(note: &Note<'_>, record: &Record) -> Result<Row> {
    let linked = record.decision.as_ref().ok();
    let concept = linked.map(|named| note.concept(named)).transpose()?.flatten();
    let found = match &record.read_as {
        Some(read_as) => format!("{}, read as {read_as:?}", origin_words(record.origin)),
        None => origin_words(record.origin).to_owned(),
    };
    let why = match &record.decision {
        Ok(_) => found,
        Err(reason) => format!("{found}; {}", reason.words()),
    };
    let best = linked.or(record.candidates.first());
    let others = record.candidates.iter().filter(|other| linked.is_none_or(|linked| linked.id != other.id)).take(4);
    Ok(Row {
        mention: note.mention(record).into_owned(),
        hue: linked.map(|named| hue(named.kind())),
        kind: linked.map_or(String::new(), |named| named.kind().to_owned()),
        definition: concept.and_then(|concept| concept.definition),
        sources: linked.map_or(String::new(), |named| named.sources.join(", ")),
        id: linked.map(|named| named.id.clone()),
        concept: linked.map(|named| named.name.clone()),
        score: best.map(|best| format!("{:.3}", best.score)),
        why,
        others: others.map(|other| format!("{} ({}) {:.3}", other.name, other.id, other.score)).collect(),
    })
}

/// One hue a type, in degrees; the same type always has the same.
fn hue(kind: &str) -> u32 {
    let spread = kind.bytes().fold(0u32, |sum, byte| sum.wrapping_mul(31).wrapping_add(u32::from(byte)));
    // Orange is kept for NIL.
    70 + spread % 270
}
