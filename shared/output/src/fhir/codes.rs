//! The codes of a mention, and what they depend on.

use super::systems::{Vocabulary, codings, tidy};
use crate::{Note, Record};
use serde_json::{Map, Value, json};

/// What the resources of a note share.
pub(super) struct Source<'a> {
    /// The reference to the document with the note.
    pub document: &'a str,
    /// Where codes come from.
    pub vocabulary: Vocabulary<'a>,
    /// The patient.
    pub subject: Value,
}

/// The mention's words, with the codes of its concept if it is linked.
pub(super) fn code(note: &Note<'_>, source: &Source<'_>, record: &Record) -> Value {
    let mut fields = Map::new();
    if let Ok(named) = &record.decision {
        let codings = codings(named, &source.vocabulary);
        if !codings.is_empty() {
            fields.insert("coding".to_owned(), codings.into());
        }
    }
    let words = tidy(&note.mention(record));
    // An empty element is invalid.
    let words = if words.is_empty() {
        "?".to_owned()
    } else {
        words
    };
    fields.insert("text".to_owned(), words.into());
    Value::Object(fields)
}

/// A concept of one code.
pub(super) fn coded(system: &str, code: &str) -> Value {
    json!({ "coding": [{ "system": system, "code": code }] })
}

/// A code of SNOMED CT with its words.
pub(super) fn snomed((code, display): (&str, &str)) -> Value {
    json!({
        "coding": [{ "system": "http://snomed.info/sct", "code": code, "display": display }],
        "text": display.to_lowercase(),
    })
}
