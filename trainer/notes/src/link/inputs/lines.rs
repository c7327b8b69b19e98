//! JSON on lines: rows of a table, FHIR resources (NDJSON), BioC documents.

use super::columns::Columns;
use super::recognise::Wanted;
use super::{Each, NoteRow, ReadOptions, Stated, json, note_name, number_id, numbered};
use pel_io::files::{convert_read_error, record_limit};
use pel_io::interrupt;
use pel_io::json::{UniqueNames, repeated_name};
use pel_io::limits::Bound;
use pel_io::text_encoding::open_text;
use pel_kb::error::{Context, Error, Result};
use pel_terminologies::import::{for_each_line_of_bytes, line_text};
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::{Map, Value};
use std::fmt;
use std::path::Path;

/// Reads the lines of a file. A line that is no JSON is passed on as an error. What the first
/// object is, all are.
///
/// # Errors
/// If the file cannot be read, the first object has no column for the texts, resources have no note,
/// or a line exceeds its limit.
pub(super) fn read(
    path: &Path,
    wanted: Wanted,
    options: &ReadOptions,
    each: &mut Each<'_>,
) -> Result<()> {
    let name = path.display().to_string();
    let mut reader = open_text(path, &options.encoding, Bound::Stream)?;
    let mut rows: Option<Rows> = None;
    let mut row = 0;
    // Notes of resources, with those that cannot be read.
    let mut notes = 0;
    let done = for_each_line_of_bytes(
        &name,
        &mut reader,
        record_limit(),
        &mut interrupt::check,
        |line, bytes| {
            if bytes.iter().all(u8::is_ascii_whitespace) {
                return Ok(());
            }
            row += 1;
            let place = format!("{name}: line {line}");
            let text = match line_text(bytes) {
                Ok(text) => text,
                Err(error) => return each(Err(error.context(place))),
            };
            if rows.is_none() {
                match serde_json::from_str(text) {
                    Ok(UniqueNames(Value::Object(first))) => {
                        rows = Some(Rows::new(&first, wanted, options)?);
                    }
                    Ok(_) => {
                        let error = Error::input(
                            "the line is JSON, but not an object; write {...} on each line",
                        );
                        return each(Err(error.context(place)));
                    }
                    Err(cause) => return each(Err(no_object(cause).context(place))),
                }
            }
            match &rows {
                Some(Rows::Table { text: at, id }) => {
                    let found = table_row(text, at, id.as_deref());
                    let note = found.and_then(|(text, id)| {
                        Ok(NoteRow {
                            name: id
                                .map_or_else(|| Ok(numbered(path, row)), |id| note_name(&id))?,
                            text,
                            place: place.clone(),
                            stated: Stated::default(),
                        })
                    });
                    each(note.map_err(|error| error.context(place)))
                }
                Some(Rows::Resources(wanted)) => match serde_json::from_str(text) {
                    Ok(UniqueNames(value)) => {
                        notes += json::notes_of(value, *wanted, &place, each)?;
                        Ok(())
                    }
                    Err(cause) => {
                        notes += 1;
                        each(Err(no_object(cause).context(place)))
                    }
                },
                None => Ok(()),
            }
        },
    );
    done.map_err(|error| convert_read_error(path, error))?;
    match (rows, notes) {
        (Some(Rows::Resources(wanted)), 0) => Err(json::no_note(&name, wanted)),
        _ => Ok(()),
    }
}

/// What the lines are.
enum Rows {
    /// Rows with these columns.
    Table { text: String, id: Option<String> },
    /// Resources or documents.
    Resources(Wanted),
}

impl Rows {
    fn new(first: &Map<String, Value>, wanted: Wanted, options: &ReadOptions) -> Result<Self> {
        let wanted = match wanted {
            Wanted::Any if first.contains_key("resourceType") => Wanted::Fhir,
            Wanted::Any if first.contains_key("passages") || first.contains_key("documents") => {
                Wanted::Bioc
            }
            Wanted::Any => Wanted::Table,
            named => named,
        };
        if wanted != Wanted::Table {
            return Ok(Self::Resources(wanted));
        }
        let names: Vec<&str> = first.keys().map(String::as_str).collect();
        let columns = Columns::find(&names, &options.columns)?;
        let name = |at: usize| names.get(at).copied().unwrap_or_default().to_owned();
        Ok(Self::Table {
            text: name(columns.text),
            id: columns.id.map(name),
        })
    }
}

fn no_object(cause: serde_json::Error) -> Error {
    Error::input("expected a JSON object").caused_by(position(cause))
}

/// The message of an error without line, which is that of the file.
fn position(cause: serde_json::Error) -> String {
    let message = cause.to_string();
    let own = message.split(" at line ").next().unwrap_or_default();
    format!("{own} at column {}", cause.column())
}

/// The text and the identifier of a row. Other fields are not kept. A text of `null` is empty.
fn table_row(line: &str, text: &str, id: Option<&str>) -> Result<(String, Option<String>)> {
    let mut reader = serde_json::Deserializer::from_str(line);
    let (found, named) = Fields { text, id }
        .deserialize(&mut reader)
        .and_then(|fields| reader.end().map(|()| fields))
        .map_err(no_object)?;
    let found = match found {
        Some(Value::String(found)) => found,
        Some(Value::Null) => String::new(),
        Some(_) => {
            return Err(Error::input(format!(
                "field {text}: the text must be a string or null"
            )));
        }
        None => {
            return Err(Error::input(format!(
                "the object has no field {text}, which the first line has; --text-column names \
                 another"
            )));
        }
    };
    let named = match (id, named) {
        (None, _) => None,
        (Some(_), Some(Value::String(named))) => Some(named),
        (Some(id), Some(Value::Number(number))) => {
            Some(number_id(&number).context(|| format!("field {id}"))?)
        }
        (Some(id), Some(Value::Null) | None) => {
            return Err(Error::input(format!(
                "field {id}: the note has no identifier; --id-column names another field"
            )));
        }
        (Some(id), Some(_)) => {
            return Err(Error::input(format!(
                "field {id}: the identifier must be a string or a number"
            )));
        }
    };
    Ok((found, named))
}

/// Reads two fields of an object.
struct Fields<'a> {
    text: &'a str,
    id: Option<&'a str>,
}

impl<'de> DeserializeSeed<'de> for Fields<'_> {
    type Value = (Option<Value>, Option<Value>);

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Self::Value, D::Error> {
        from.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Fields<'_> {
    type Value = (Option<Value>, Option<Value>);

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let (mut text, mut id) = (None, None);
        while let Some(key) = map.next_key::<String>()? {
            let slot = if key == self.text {
                &mut text
            } else if self.id == Some(key.as_str()) {
                &mut id
            } else {
                map.next_value::<IgnoredAny>()?;
                continue;
            };
            if slot.replace(map.next_value::<Value>()?).is_some() {
                return Err(repeated_name(&key));
            }
        }
        Ok((text, id))
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Found, read_as};
    use super::*;
    use crate::link::inputs::Kind;

    fn read(text: &str) -> Found {
        read_as(
            "notes.jsonl",
            text.as_bytes(),
            Kind::Lines(Wanted::Any),
            &ReadOptions::default(),
        )
    }

    #[test]
    fn rows_of_a_table_have_texts_and_identifiers() {
        let found = read(concat!(
            "{\"id\": 7, \"text\": \"fever 😷\\r\\n\", \"more\": {\"text\": 1}}\n\n",
            "{\"text\": null, \"id\": \"b\\u001b\"}\n",
        ));
        assert_eq!(
            found.notes,
            [("7", "fever 😷\r\n"), ("b ", "")].map(|(name, text)| (name.into(), text.into()))
        );
        assert_eq!(found.places[1], "notes.jsonl: line 3");
    }

    #[test]
    fn numbers_that_json_would_round_are_no_identifiers() {
        let found = read(concat!(
            "{\"id\": 18446744073709551615, \"text\": \"fever\"}\n",
            "{\"id\": 12345678901234567890123, \"text\": \"cough\"}\n",
            "{\"id\": true, \"text\": \"pain\"}\n",
            "{\"id\": 7.0, \"text\": \"rash\"}\n",
        ));
        let names: Vec<&str> = found.notes.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["18446744073709551615", "7.0"]);
        let expected = [
            "line 2: field id: the number is too large",
            "line 3: field id: the identifier must be",
        ];
        assert_eq!(found.errors.len(), expected.len(), "{:?}", found.errors);
        for (error, expected) in found.errors.iter().zip(expected) {
            assert!(error.contains(expected), "{error}");
        }
    }

    #[test]
    fn bundles_on_lines_have_their_documents() {
        // "fever"
        let found = read(concat!(
            r#"{"resourceType": "Bundle", "entry": [{"resource": {"resourceType": "Patient"}}, "#,
            r#"{"resource": {"resourceType": "DocumentReference", "id": "a", "content": [{"attachment": "#,
            r#"{"contentType": "text/plain", "data": "ZmV2ZXI="}}]}}]}"#,
        ));
        assert_eq!(found.notes, [("a".to_owned(), "fever".to_owned())]);
        assert_eq!(found.places, ["notes.jsonl: line 1: entry 2"]);
    }

    #[test]
    fn resources_without_a_note_are_refused() {
        let found = read("{\"resourceType\": \"Patient\"}\n{\"resourceType\": \"Bundle\"}\n");
        let expected = "notes.jsonl: the file has no FHIR document (DocumentReference, \
                        DiagnosticReport, Composition or Binary)";
        assert_eq!(found.stopped.as_deref(), Some(expected));
        let found = read("{\"documents\": []}\n");
        let expected = "notes.jsonl: the file has no BioC document";
        assert_eq!(found.stopped.as_deref(), Some(expected));
        // A table without rows is a table.
        for text in ["", "\n"] {
            assert_eq!(read(text).stopped, None);
        }
    }

    #[test]
    fn bad_lines_are_passed_on_and_others_read() {
        let found = read(concat!(
            "[1]\n",
            "{\"id\": \"1\", \"text\": \"fever\"}\n",
            "{\"id\": \"2\", \"text\": 5}\n",
            "{\"id\": null, \"text\": \"x\"}\n",
            "{\"id\": \"4\"}\n",
            "{\"id\": \"5\", \"text\": \"x\", \"text\": \"y\"}\n",
            "{\"id\": \"6\", \"text\": \"x\"\n",
            "{\"id\": \"7\", \"text\": \"cough\"}\n",
        ));
        let names: Vec<&str> = found.notes.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["1", "7"]);
        let expected = [
            "line 1: the line is JSON, but not an object",
            "line 3: field text: the text must be",
            "line 4: field id: the note has no identifier",
            "line 5: the object has no field text",
            "line 6: expected a JSON object: the field text stands twice",
            "line 7: expected a JSON object: EOF while parsing an object at column",
        ];
        assert_eq!(found.errors.len(), expected.len(), "{:?}", found.errors);
        for (error, expected) in found.errors.iter().zip(expected) {
            assert!(error.contains(expected), "{error}");
        }
    }
}
