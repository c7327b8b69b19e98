//! JSON of a UIMA CAS, version 0.4: the note as the view `_InitialView` with an annotation
//! `pel.Mention` for each mention, and `pel.Fragment` for each fragment of a discontinuous one.
//! Offsets are UTF-16 code units.

use super::facts::{facts, number};
use super::json::compact;
use super::{ATTRIBUTE_COLUMNS, Note};
use pel_kb::error::Result;
use pel_text::{Offsets, Span};
use serde_json::{Map, Value, json};

/// The feature structures before the first mention: the text, and the document's annotation.
const BEFORE: usize = 2;

/// Features of a mention whose values are strings. Those of attributes follow.
const STRINGS: [&str; 15] = [
    "kind",
    "identifier",
    "name",
    "xrefs",
    "origin",
    "group",
    "certainty",
    "temporality",
    "experiencer",
    "section",
    "laterality",
    "severity",
    "allergy",
    "read_as",
    "nil_reason",
];

/// The features of a mention whose values are strings.
fn strings() -> impl Iterator<Item = &'static str> {
    let attributes = ATTRIBUTE_COLUMNS.iter().map(|name| name.name());
    STRINGS.into_iter().chain(attributes).chain(["earlier"])
}

/// The types of the annotations.
fn types() -> Value {
    let feature = |name: &str, range: &str| {
        let feature = json!({ "%NAME": name, "%RANGE": range });
        (name.to_owned(), feature)
    };
    let of = |name: &str, above: &str, features: Vec<(String, Value)>| {
        let mut fields: Map<String, Value> = features.into_iter().collect();
        fields.insert("%NAME".to_owned(), name.into());
        fields.insert("%SUPER_TYPE".to_owned(), above.into());
        Value::Object(fields)
    };
    let string = |name: &&str| feature(name, "uima.cas.String");
    let mut mention: Vec<_> = strings().map(|name| string(&name)).collect();
    mention.push(feature("negated", "uima.cas.Boolean"));
    mention.push(feature("score", "uima.cas.Double"));
    mention.push(feature("probability", "uima.cas.Double"));
    let document = ["doc", "written_by", "encoder", "kb", "kb_blake3"];
    json!({
        "pel.Document": of(
            "pel.Document",
            "uima.tcas.DocumentAnnotation",
            document.iter().map(string).collect(),
        ),
        "pel.Mention": of("pel.Mention", "uima.tcas.Annotation", mention),
        "pel.Fragment": of(
            "pel.Fragment",
            "uima.tcas.Annotation",
            vec![feature("mention", "pel.Mention")],
        ),
    })
}

/// The CAS up to its first mention.
///
/// # Errors
/// If JSON cannot be encoded.
pub(super) fn head(note: &Note<'_>, offsets: &Offsets<'_>) -> Result<String> {
    let manifest = &note.linker.bundle().manifest;
    let sofa = json!({
        "%ID": 1,
        "%TYPE": "uima.cas.Sofa",
        "sofaNum": 1,
        "sofaID": "_InitialView",
        "mimeType": "text/plain",
        "sofaString": note.text,
    });
    let document = json!({
        "%ID": BEFORE,
        "%TYPE": "pel.Document",
        "@sofa": 1,
        "begin": 0,
        "end": offsets.utf16(note.text.len()),
        "language": "x-unspecified",
        "doc": note.name,
        "written_by": concat!("pel ", env!("CARGO_PKG_VERSION")),
        "encoder": manifest.encoder.name,
        "kb": manifest.kb.name,
        "kb_blake3": manifest.kb.blake3,
    });
    Ok(format!(
        "{{\"%TYPES\":{},\"%FEATURE_STRUCTURES\":[{},{}",
        compact(&types())?,
        compact(&sofa)?,
        compact(&document)?
    ))
}

/// Mentions with their fragments. `annotations` counts both, over all parts.
///
/// # Errors
/// If JSON cannot be encoded.
pub(super) fn part(
    note: &Note<'_>,
    offsets: &Offsets<'_>,
    annotations: &mut usize,
) -> Result<String> {
    let mut out = String::new();
    for record in note.records {
        let mention = next(annotations);
        let mut fields = annotation(mention, "pel.Mention", &record.span, offsets);
        for (name, value) in facts(note.text, record) {
            if strings().any(|known| known == name) {
                fields.insert(name.to_owned(), value.into());
            }
        }
        let mut put = |name: &str, value: Value| fields.insert(name.to_owned(), value);
        put("negated", record.context.negated.into());
        if let Some(probability) = record.probability {
            put("#probability", number(probability));
        }
        match &record.decision {
            Ok(named) => {
                put("kind", named.kind().into());
                put("identifier", named.id.as_str().into());
                put("name", named.name.as_str().into());
                put("#score", number(named.score));
                if !named.xrefs.is_empty() {
                    put("xrefs", named.xrefs.join("|").into());
                }
            }
            Err(_) => {
                put("kind", "NIL".into());
            }
        }
        out.push(',');
        out += &compact(&fields)?;
        for fragment in &record.fragments {
            let mut fields = annotation(next(annotations), "pel.Fragment", fragment, offsets);
            fields.insert("@mention".to_owned(), mention.into());
            out.push(',');
            out += &compact(&fields)?;
        }
    }
    Ok(out)
}

/// The number of the next feature structure.
fn next(annotations: &mut usize) -> usize {
    *annotations += 1;
    BEFORE + *annotations
}

fn annotation(id: usize, name: &str, span: &Span, offsets: &Offsets<'_>) -> Map<String, Value> {
    let fields = [
        ("%ID", id.into()),
        ("%TYPE", name.into()),
        ("@sofa", 1.into()),
        ("begin", offsets.utf16(span.start).into()),
        ("end", offsets.utf16(span.end).into()),
    ];
    fields
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value))
        .collect()
}

/// The end of the CAS: all annotations are in the index of the view.
///
/// # Errors
/// If JSON cannot be encoded.
pub(super) fn tail(annotations: usize) -> Result<String> {
    let members: Vec<usize> = (BEFORE..=BEFORE + annotations).collect();
    let views = json!({ "_InitialView": { "%SOFA": 1, "%MEMBERS": members } });
    Ok(format!("],\"%VIEWS\":{}}}\n", compact(&views)?))
}
