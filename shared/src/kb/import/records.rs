//! One JSON object a line, read so that an error names the field.

use crate::error::{Error, Result};
use serde::de::DeserializeOwned;
use serde::de::value::MapDeserializer;
use serde_json::{Map, Value};

/// Reads a line as one record. Unknown fields are ignored.
///
/// # Errors
/// If the line is no JSON object, a needed field is missing, or a field has the wrong type; the field is named.
pub fn record<T: DeserializeOwned>(line: &str) -> Result<T> {
    if !line.trim_start().starts_with('{') {
        return Err(Error::input("expected one JSON object, which begins with `{`"));
    }
    serde_json::from_str(line).map_err(|cause| match faulty_field::<T>(line) {
        Some((Some(field), why)) => Error::input(format!("field `{field}`: {why}")),
        Some((None, why)) => Error::input(why),
        None => Error::input(format!("expected one JSON object: {}", in_one_line(&cause))),
    })
}

/// The field at which reading the record field by field fails (none if a field is missing), and why; `None` if the
/// line is no object at all.
fn faulty_field<T: DeserializeOwned>(line: &str) -> Option<(Option<String>, String)> {
    let object: Map<String, Value> = serde_json::from_str(line).ok()?;
    let mut at = None;
    let mut fields = object.into_iter();
    let tracked = std::iter::from_fn(|| {
        let field = fields.next();
        at = field.as_ref().map(|(name, _)| name.clone());
        field
    });
    let why = T::deserialize(MapDeserializer::<_, serde_json::Error>::new(tracked)).err()?;
    Some((at, why.to_string()))
}

/// The error without its line, which is always 1 and would stand beside the true one.
fn in_one_line(cause: &serde_json::Error) -> String {
    let (said, place) = (cause.to_string(), format!(" at line {} column {}", cause.line(), cause.column()));
    said.strip_suffix(&place).map_or_else(|| said.clone(), |what| format!("{what} at column {}", cause.column()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kb::Concept;

    fn said(line: &str) -> String {
        record::<Concept>(line).expect_err("it is no concept").to_string()
    }

    #[test]
    fn the_field_is_named() {
        assert!(said(r#"{"id": "D1", "name": 7}"#).starts_with("field `name`: invalid type: integer `7`"));
        assert!(said(r#"{"id": "D1", "name": "fever", "synonyms": ["a", 2]}"#).starts_with("field `synonyms`:"));
        assert_eq!(said(r#"{"id": "D1"}"#), "missing field `name`");
    }

    #[test]
    fn a_truncated_line_is_told_from_a_wrong_one() {
        let cut = said(r#"{"id": "D1", "name": "fev"#);
        assert_eq!(cut, "expected one JSON object: EOF while parsing a string at column 25");
        // A list in the order of the fields would do for serde.
        assert_eq!(said(r#"["D1", "fever"]"#), "expected one JSON object, which begins with `{`");
    }
}
