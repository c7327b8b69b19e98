//! What several formats say about a mention besides its concept, and identifiers for mentions.

use super::Record;
use pel_text::attributes::AttributeName;
use pel_text::{Offsets, Span};
use serde::Serialize;
use std::collections::HashMap;

/// How a mention was found and decided, its context and its attributes: names and values as in JSON
/// output. Properties that the text or the bundle does not give are left out.
pub(super) fn facts(text: &str, record: &Record) -> Vec<(&'static str, String)> {
    let context = &record.context;
    let mut facts = vec![("origin", word(&record.origin))];
    let mut add = |name, value: Option<String>| facts.extend(value.map(|value| (name, value)));
    add("group", record.group.map(|group| group.name().to_owned()));
    add("negated", Some(context.negated.to_string()));
    add("certainty", Some(context.certainty.name().to_owned()));
    add("temporality", Some(context.temporality.name().to_owned()));
    add("experiencer", Some(context.experiencer.name().to_owned()));
    add("section", context.section.clone());
    add(
        "laterality",
        context.laterality.map(|side| side.name().to_owned()),
    );
    add(
        "severity",
        context.severity.map(|severity| severity.name().to_owned()),
    );
    add(
        "allergy",
        context.allergy.map(|allergy| allergy.name().to_owned()),
    );
    add("read_as", record.read_as.clone());
    let decision = record.decision.as_ref();
    add("nil_reason", decision.err().map(word));
    add("score", decision.ok().map(|named| named.score.to_string()));
    add(
        "probability",
        record.probability.map(|value| value.to_string()),
    );
    for name in AttributeName::ALL {
        let is_in_context = match name {
            AttributeName::Laterality => context.laterality.is_some(),
            AttributeName::Severity => context.severity.is_some(),
            _ => false,
        };
        let cell = record.attribute_cell(text, *name);
        add(
            name.name(),
            Some(cell).filter(|cell| !is_in_context && !cell.is_empty()),
        );
    }
    let earlier = record.earlier_cell(text);
    add("earlier", Some(earlier).filter(|cell| !cell.is_empty()));
    facts
}

/// A value's name in JSON.
fn word<T: Serialize>(value: &T) -> String {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(word)) => word,
        // The values that are named here are enumerations without fields.
        _ => String::new(),
    }
}

/// A number of 32 bits with its own digits: as 64 bits, 0.9 would be 0.8999999761581421.
pub(super) fn number(value: f32) -> serde_json::Value {
    value.to_string().parse::<f64>().ok().into()
}

/// The code points of a span: the first one, and the one after its last.
pub(super) fn code_points(offsets: &Offsets<'_>, span: &Span) -> (usize, usize) {
    (offsets.code_point(span.start), offsets.code_point(span.end))
}

/// The BLAKE3 of several values. Each has its length before it, so that no two lists are alike.
pub(super) fn hash(values: &[&[u8]]) -> blake3::Hash {
    let mut hasher = blake3::Hasher::new();
    for value in values {
        hasher.update(&(value.len() as u64).to_le_bytes());
        hasher.update(value);
    }
    hasher.finalize()
}

/// Keys for the mentions of a note that follow from their places. Equal places get different keys.
#[derive(Default)]
pub(super) struct Keys {
    seen: HashMap<Vec<Span>, u64>,
}

impl Keys {
    /// The key of the next mention.
    pub(super) fn next(&mut self, pieces: &[Span]) -> Vec<u8> {
        let same = self.seen.entry(pieces.to_vec()).or_insert(0);
        let number = *same;
        *same += 1;
        let numbers = pieces
            .iter()
            .flat_map(|piece| [piece.start as u64, piece.end as u64]);
        numbers.chain([number]).flat_map(u64::to_le_bytes).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_their_digits() {
        assert_eq!(number(0.9).to_string(), "0.9");
        assert_eq!(number(1.0).to_string(), "1.0");
        assert_eq!(number(f32::NAN), serde_json::Value::Null);
    }

    #[test]
    fn keys_and_hashes_differ_by_place_and_number() {
        let mut keys = Keys::default();
        let place = [Span::new(3, 8)];
        let first = keys.next(&place);
        assert_ne!(first, keys.next(&place));
        assert_ne!(first, keys.next(&[Span::new(3, 9)]));
        assert_eq!(first, Keys::default().next(&place));
        assert_ne!(hash(&[b"ab", b"c"]), hash(&[b"a", b"bc"]));
    }
}
