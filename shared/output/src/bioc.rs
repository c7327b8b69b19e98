//! BioC, as XML and as JSON: a collection with one document of one passage.
//!
//! Offsets are code points of the document. An annotation has one location for each fragment; its
//! text is that from its first location to the end of its last, as readers of BioC expect.

use super::facts::{code_points, facts};
use super::json::compact;
use super::moment::Moment;
use super::{Note, Record};
use pel_kb::error::Result;
use pel_text::Offsets;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt::Write;

const WRITTEN_BY: &str = concat!("pel ", env!("CARGO_PKG_VERSION"));

/// The two encodings of BioC.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Encoding {
    Xml,
    Json,
}

/// An annotation in both encodings.
#[derive(Serialize)]
struct Annotation<'a> {
    id: String,
    infons: BTreeMap<&'static str, String>,
    text: &'a str,
    locations: Vec<Location>,
}

/// The code points of a fragment.
#[derive(Serialize)]
struct Location {
    offset: usize,
    length: usize,
}

/// The infons of the collection.
fn about(note: &Note<'_>) -> [(&'static str, String); 4] {
    let manifest = &note.linker.bundle().manifest;
    [
        ("encoder", manifest.encoder.name.clone()),
        ("kb", manifest.kb.name.clone()),
        ("kb_blake3", manifest.kb.blake3.clone()),
        ("offsets", "code points".to_owned()),
    ]
}

/// The collection up to its first annotation.
///
/// # Errors
/// If JSON cannot be encoded.
pub(super) fn head(note: &Note<'_>, encoding: Encoding, moment: Option<&Moment>) -> Result<String> {
    let date = moment.map_or("", Moment::date);
    match encoding {
        Encoding::Json => {
            let infons: BTreeMap<_, _> = about(note).into();
            Ok(format!(
                "{{\"source\":{},\"date\":{},\"key\":\"\",\"infons\":{},\"documents\":[{{\"id\":{},\
                 \"infons\":{{}},\"passages\":[{{\"offset\":0,\"infons\":{{}},\"text\":{},\
                 \"sentences\":[],\"annotations\":[",
                compact(&WRITTEN_BY)?,
                compact(&date)?,
                compact(&infons)?,
                compact(&note.name)?,
                compact(&note.text)?
            ))
        }
        Encoding::Xml => {
            let mut out = format!(
                "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<collection><source>{WRITTEN_BY}\
                 </source><date>{date}</date><key></key>"
            );
            for (key, value) in about(note) {
                infon(&mut out, key, &value);
            }
            let _ = write!(
                out,
                "<document><id>{}</id><passage><offset>0</offset><text>{}</text>",
                xml(note.name),
                xml(note.text)
            );
            Ok(out)
        }
    }
}

/// Annotations. `before` were written before these.
///
/// # Errors
/// If JSON cannot be encoded.
pub(super) fn part(
    note: &Note<'_>,
    offsets: &Offsets<'_>,
    encoding: Encoding,
    before: usize,
) -> Result<String> {
    let mut out = String::new();
    for (at, record) in note.records.iter().enumerate() {
        let annotation = annotation(note, offsets, record, before + at + 1);
        match encoding {
            Encoding::Json => {
                if before + at > 0 {
                    out.push(',');
                }
                out += &compact(&annotation)?;
            }
            Encoding::Xml => write_xml(&mut out, &annotation),
        }
    }
    Ok(out)
}

/// The end of the collection, with the relations of all annotations.
///
/// # Errors
/// If JSON cannot be encoded.
pub(super) fn tail(encoding: Encoding, relations: &[Joined]) -> Result<String> {
    match encoding {
        Encoding::Json => {
            let relations = compact(relations)?;
            Ok(format!(
                "],\"relations\":{relations}}}],\"annotations\":[],\"relations\":[]}}]}}\n"
            ))
        }
        Encoding::Xml => {
            let mut out = String::new();
            for relation in relations {
                write_relation(&mut out, relation);
            }
            Ok(out + "</passage></document></collection>\n")
        }
    }
}

/// A relation in both encodings.
#[derive(Serialize)]
pub(super) struct Joined {
    id: String,
    infons: BTreeMap<&'static str, &'static str>,
    nodes: [Node; 2],
}

/// An annotation of a relation.
#[derive(Serialize)]
struct Node {
    refid: String,
    role: &'static str,
}

/// The relations of a part. `before` annotations were written before it, and `relations` relations.
pub(super) fn joined(note: &Note<'_>, before: usize, relations: usize) -> Vec<Joined> {
    let node = |at: usize, role| Node {
        refid: (before + at + 1).to_string(),
        role,
    };
    let found = super::relations(note.text, note.records)
        .into_iter()
        .enumerate();
    let joined = found.map(|(at, relation)| Joined {
        id: format!("R{}", relations + at + 1),
        infons: BTreeMap::from([("type", relation.name.name())]),
        nodes: [
            node(relation.source, "source"),
            node(relation.target, "target"),
        ],
    });
    joined.collect()
}

fn write_relation(out: &mut String, relation: &Joined) {
    // Writing to a String cannot fail.
    let _ = write!(out, "<relation id=\"{}\">", relation.id);
    for (key, value) in &relation.infons {
        infon(out, key, value);
    }
    for Node { refid, role } in &relation.nodes {
        let _ = write!(out, "<node refid=\"{refid}\" role=\"{role}\"></node>");
    }
    out.push_str("</relation>");
}

fn annotation<'a>(
    note: &Note<'a>,
    offsets: &Offsets<'_>,
    record: &Record,
    number: usize,
) -> Annotation<'a> {
    let mut infons: BTreeMap<_, _> = facts(note.text, record).into_iter().collect();
    match &record.decision {
        Ok(named) => {
            infons.insert("type", named.kind().to_owned());
            infons.insert("identifier", named.id.clone());
            infons.insert("name", named.name.clone());
            if !named.xrefs.is_empty() {
                infons.insert("xrefs", named.xrefs.join("|"));
            }
        }
        // As in PubTator.
        Err(_) => {
            infons.insert("type", "NIL".to_owned());
            infons.insert("identifier", "-".to_owned());
        }
    }
    Annotation {
        id: number.to_string(),
        infons,
        text: record.span.of(note.text).unwrap_or_default(),
        locations: record
            .pieces()
            .iter()
            .map(|piece| {
                let (start, end) = code_points(offsets, piece);
                Location {
                    offset: start,
                    length: end - start,
                }
            })
            .collect(),
    }
}

fn write_xml(out: &mut String, annotation: &Annotation<'_>) {
    // Writing to a String cannot fail.
    let _ = write!(out, "<annotation id=\"{}\">", annotation.id);
    for (key, value) in &annotation.infons {
        infon(out, key, value);
    }
    for Location { offset, length } in &annotation.locations {
        let _ = write!(
            out,
            "<location offset=\"{offset}\" length=\"{length}\"></location>"
        );
    }
    let _ = write!(out, "<text>{}</text></annotation>", xml(annotation.text));
}

fn infon(out: &mut String, key: &str, value: &str) {
    // Writing to a String cannot fail.
    let _ = write!(out, "<infon key=\"{key}\">{}</infon>", xml(value));
}

/// Text for XML. A reader turns a bare `\r` into a line end, which would move the offsets, so it is
/// written as a reference. Characters that XML cannot have become spaces.
fn xml(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + text.len() / 16);
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\r' => out.push_str("&#13;"),
            '\t' | '\n' => out.push(c),
            '\0'..='\u{1f}' | '\u{fffe}' | '\u{ffff}' => out.push(' '),
            _ => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn xml_keeps_the_number_of_code_points() {
        assert_eq!(
            xml("a<b>&\"c\"\r\n\u{1}\u{ffff}😷\t"),
            "a&lt;b&gt;&amp;&quot;c&quot;&#13;\n  😷\t"
        );
    }
}
