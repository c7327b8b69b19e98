//! JSON lines, read so that an error names the field.

use pel_kb::error::{Error, Result};
use serde::de::DeserializeOwned;
use serde::de::value::MapDeserializer;
use serde_json::{Map, Value};

/// Decodes a line as a record. Unknown fields are ignored.
///
/// # Errors
/// If the line is not a JSON object, a required field is missing, or a field has the wrong type.
/// The message names the field.
pub fn record<T: DeserializeOwned>(line: &str) -> Result<T> {
    if !line.trim_start().starts_with('{') {
        return Err(Error::input(
            "expected one JSON object, which begins with `{`",
        ));
    }
    serde_json::from_str(line).map_err(|cause| match faulty_field::<T>(line) {
        Some((Some(field), why)) => Error::input(format!("field `{field}`: {why}")),
        Some((None, why)) => Error::input(why),
        None => Error::input(format!("expected one JSON object: {}", in_one_line(&cause))),
    })
}

/// The field that cannot be decoded, and why. The field is `None` if one is missing. The result is
/// `None` if the line is not an object.
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

/// The message without its line number, which is always 1; the caller adds the real one.
fn in_one_line(cause: &serde_json::Error) -> String {
    let message = cause.to_string();
    let place = format!(" at line {} column {}", cause.line(), cause.column());
    match message.strip_suffix(&place) {
        Some(what) => format!("{what} at column {}", cause.column()),
        None => message,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pel_kb::Concept;

    fn error(line: &str) -> String {
        record::<Concept>(line)
            .expect_err("it is not a concept")
            .to_string()
    }

    #[test]
    fn error_names_the_field() {
        assert!(
            error(r#"{"id": "D1", "name": 7}"#)
                .starts_with("field `name`: invalid type: integer `7`")
        );
        assert!(
            error(r#"{"id": "D1", "name": "fever", "synonyms": ["a", 2]}"#)
                .starts_with("field `synonyms`:")
        );
        assert_eq!(error(r#"{"id": "D1"}"#), "missing field `name`");
    }

    #[test]
    fn truncated_and_wrong_lines_have_different_errors() {
        let cut = error(r#"{"id": "D1", "name": "fev"#);
        assert_eq!(
            cut,
            "expected one JSON object: EOF while parsing a string at column 25"
        );
        // serde would also accept a list in the order of the fields.
        assert_eq!(
            error(r#"["D1", "fever"]"#),
            "expected one JSON object, which begins with `{`"
        );
    }
}
