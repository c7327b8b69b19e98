//! One JSON value: a FHIR resource or Bundle, a BioC collection. Entries and documents are read one
//! by one, so that only one is in memory.

use super::recognise::Wanted;
use super::{Each, ReadOptions, bioc, bioc_xml, fhir};
use pel_io::json::{UniqueNames, repeated_name};
use pel_io::limits::Bound;
use pel_io::text_encoding::{open_text, read_error};
use pel_kb::error::{Error, Result};
use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};
use std::cell::Cell;
use std::collections::HashSet;
use std::fmt;
use std::io::{self, BufRead, Read};
use std::path::Path;
use std::rc::Rc;

/// Members whose elements are BioC documents: of a collection, and of PubTator's answers.
const DOCUMENTS: [&str; 2] = ["documents", "PubTator3"];

/// The member of a FHIR Bundle with its entries.
const ENTRY: &str = "entry";

/// Members of an object that a message lists.
const LISTED: usize = 8;

/// Reads a JSON file, which can have several values; with [`Wanted::Bioc`] also XML.
///
/// # Errors
/// If the file cannot be read or is neither FHIR nor BioC, it has no note, an element exceeds the
/// limit of a record, or `each` fails.
pub(super) fn read(
    path: &Path,
    wanted: Wanted,
    options: &ReadOptions,
    each: &mut Each<'_>,
) -> Result<()> {
    let mut reader = open_text(path, &options.encoding, Bound::Stream)?;
    let head = reader.fill_buf().map_err(|cause| read_error(path, cause))?;
    let head = head.strip_prefix("\u{feff}".as_bytes()).unwrap_or(head);
    if wanted == Wanted::Bioc && head.trim_ascii_start().starts_with(b"<") {
        return bioc_xml::read_open(path, reader, each);
    }
    read_json(path, reader, wanted, each)
}

fn read_json(
    path: &Path,
    mut reader: Box<dyn BufRead>,
    wanted: Wanted,
    each: &mut Each<'_>,
) -> Result<()> {
    let name = path.display().to_string();
    let failed = |cause| read_error(path, cause);
    if reader
        .fill_buf()
        .map_err(failed)?
        .starts_with("\u{feff}".as_bytes())
    {
        reader.consume(3);
    }
    let budget = Budget::new();
    let metered = Metered {
        reader,
        left: Rc::clone(&budget.0),
    };
    let mut whole = Whole {
        name: &name,
        wanted,
        budget,
        each,
        ended: None,
        notes: 0,
        elements: 0,
    };
    let mut json = serde_json::Deserializer::from_reader(metered);
    let done = loop {
        whole.budget.reset();
        if let Err(cause) = whole.deserialize_from(&mut json) {
            break Err(cause);
        }
        // What follows is another value, as on the lines of NDJSON, or an error there.
        match json.end() {
            Ok(()) => break Ok(()),
            Err(cause) if cause.is_io() => break Err(cause),
            Err(_) => {}
        }
    };
    if let Some(error) = whole.ended.take() {
        return Err(error);
    }
    done.map_err(|cause| match cause.is_io() {
        true => read_error(path, io::Error::from(cause)),
        false => Error::input(format!("{name}: expected JSON")).caused_by(cause),
    })?;
    match whole.notes {
        0 => Err(no_note(&name, wanted)),
        _ => Ok(()),
    }
}

/// The error of a file that has no note.
pub(super) fn no_note(name: &str, wanted: Wanted) -> Error {
    let expected = match wanted {
        Wanted::Bioc => "BioC document",
        _ => "FHIR document (DocumentReference, DiagnosticReport, Composition or Binary)",
    };
    Error::input(format!("{name}: the file has no {expected}"))
}

/// Passes the notes of a value on and returns their number, with those that cannot be read.
///
/// # Errors
/// If `each` fails.
pub(super) fn notes_of(
    value: Value,
    wanted: Wanted,
    place: &str,
    each: &mut Each<'_>,
) -> Result<usize> {
    let is_bioc = value.get("passages").is_some() || value.get("documents").is_some();
    let found = match wanted {
        Wanted::Bioc => bioc::notes(value, place),
        Wanted::Any if is_bioc => bioc::notes(value, place),
        _ => fhir::notes(&value, place),
    };
    let count = found.len();
    for note in found {
        each(note)?;
    }
    Ok(count)
}

/// The bytes that the current element may still have.
struct Budget(Rc<Cell<u64>>);

impl Budget {
    fn new() -> Self {
        let budget = Self(Rc::default());
        budget.reset();
        budget
    }

    fn reset(&self) {
        self.0.set(Bound::Record.bytes());
    }
}

/// A reader that fails when the budget is spent.
struct Metered {
    reader: Box<dyn BufRead>,
    left: Rc<Cell<u64>>,
}

impl Read for Metered {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.reader.read(into)?;
        let Some(left) = self.left.get().checked_sub(read as u64) else {
            let most = Bound::Record.bytes();
            return Err(io::Error::other(Error::input(format!(
                "expected at most {most} bytes in one entry or document, found more; --max-input SIZE raises the limit"
            ))));
        };
        self.left.set(left);
        Ok(read)
    }
}

/// The value of a file.
struct Whole<'a, 'e> {
    name: &'a str,
    wanted: Wanted,
    budget: Budget,
    each: &'a mut Each<'e>,
    /// The error of `each`, which is no error of the file.
    ended: Option<Error>,
    notes: usize,
    elements: usize,
}

impl Whole<'_, '_> {
    fn deserialize_from<'de, D: Deserializer<'de>>(&mut self, from: D) -> Result<(), D::Error> {
        from.deserialize_any(self)
    }

    fn pass<E: serde::de::Error>(
        &mut self,
        value: Value,
        wanted: Wanted,
        place: &str,
    ) -> Result<(), E> {
        match notes_of(value, wanted, place, self.each) {
            Ok(count) => {
                self.notes += count;
                Ok(())
            }
            Err(error) => {
                self.ended = Some(error);
                Err(E::custom("ended"))
            }
        }
    }
}

impl<'de> Visitor<'de> for &mut Whole<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("FHIR or BioC, an object or a list")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let mut rest = Map::new();
        let mut streamed = HashSet::new();
        while let Some(key) = map.next_key::<String>()? {
            if rest.contains_key(&key) || streamed.contains(&key) {
                return Err(repeated_name(&key));
            }
            let kind = match key.as_str() {
                key if DOCUMENTS.contains(&key) && self.wanted != Wanted::Fhir => Wanted::Bioc,
                ENTRY if self.wanted != Wanted::Bioc => Wanted::Fhir,
                _ => {
                    let UniqueNames(value) = map.next_value()?;
                    rest.insert(key, value);
                    continue;
                }
            };
            streamed.insert(key);
            map.next_value_seed(Elements {
                whole: &mut *self,
                kind,
            })?;
        }
        if !streamed.is_empty() {
            return Ok(());
        }
        let is_document = rest.contains_key("passages") && self.wanted != Wanted::Fhir;
        let is_resource = rest.contains_key("resourceType") && self.wanted != Wanted::Bioc;
        if !is_document && !is_resource {
            let names: Vec<String> = rest
                .keys()
                .take(LISTED)
                .map(|key| key.chars().take(24).collect())
                .collect();
            return Err(A::Error::custom(format!(
                "neither a FHIR resource (with resourceType) nor a BioC collection (with \
                 documents): the object has {}",
                match names.is_empty() {
                    true => "no members".to_owned(),
                    false => names.join(", "),
                }
            )));
        }
        let place = self.name.to_owned();
        self.pass(Value::Object(rest), self.wanted, &place)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<(), A::Error> {
        let kind = self.wanted;
        Elements { whole: self, kind }.visit_seq(seq)
    }
}

/// The elements of a list, each a Bundle's entry, a resource, a document or a collection.
struct Elements<'w, 'a, 'e> {
    whole: &'w mut Whole<'a, 'e>,
    kind: Wanted,
}

impl<'de> DeserializeSeed<'de> for Elements<'_, '_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        from.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Elements<'_, '_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of entries or documents")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        let word = if self.kind == Wanted::Bioc {
            "document"
        } else {
            "entry"
        };
        self.whole.budget.reset();
        while let Some(UniqueNames(mut value)) = seq.next_element()? {
            self.whole.budget.reset();
            self.whole.elements += 1;
            let place = format!("{}: {word} {}", self.whole.name, self.whole.elements);
            // An entry holds its resource.
            if let Some(resource) = value.get_mut("resource").filter(|_| word == "entry") {
                value = resource.take();
            }
            self.whole.pass(value, self.kind, &place)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Found, read_as};
    use super::*;
    use crate::link::inputs::Kind;

    fn read(text: &str) -> Found {
        read_as(
            "in.json",
            text.as_bytes(),
            Kind::Document(Wanted::Any),
            &ReadOptions::default(),
        )
    }

    #[test]
    fn bundle_is_read_by_entries_and_others_are_left_out() {
        // "fever" and "cough".
        let found = read(
            r#"{"entry": [
            {"resource": {"resourceType": "Patient", "id": "p"}},
            {"resource": {"resourceType": "DocumentReference", "id": "a", "content": [{"attachment": {"contentType": "text/plain", "data": "ZmV2ZXI="}}]}},
            {"resource": {"resourceType": "DocumentReference", "id": "b", "content": [{"attachment": {"contentType": "image/png", "data": "JVBERg=="}}]}},
            {"resource": {"resourceType": "DocumentReference", "id": "c", "content": [{"attachment": {"data": "Y291Z2g=", "contentType": "text/plain"}}]}}
            ], "resourceType": "Bundle"}"#,
        );
        assert_eq!(
            found.notes,
            [("a", "fever"), ("c", "cough")].map(|(name, text)| (name.into(), text.into()))
        );
        assert_eq!(found.places, ["in.json: entry 2", "in.json: entry 4"]);
        assert_eq!(found.errors.len(), 1, "{:?}", found.errors);
        assert!(
            found.errors[0].starts_with("in.json: entry 3: ")
                && found.errors[0].contains("has only image/png"),
            "{:?}",
            found.errors
        );
    }

    #[test]
    fn values_are_read_one_after_the_other() {
        let found = read("{\"id\": \"a\", \"passages\": []}\n{\"id\": \"b\", \"passages\": []} x");
        let names: Vec<&str> = found.notes.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["a", "b"]);
        let error = found.stopped.expect("the rest is no JSON");
        assert!(error.contains("in.json: expected JSON"), "{error}");
    }

    #[test]
    fn bundles_in_lists_and_in_bundles_are_read() {
        // "fever"
        let bundle = r#"{"resourceType": "Bundle", "entry": [{"resource": {"resourceType": "DocumentReference", "id": "a",
            "content": [{"attachment": {"contentType": "text/plain", "data": "ZmV2ZXI="}}]}}]}"#;
        for text in [
            format!("[{bundle}]"),
            format!(r#"{{"resourceType": "Bundle", "entry": [{{"resource": {bundle}}}]}}"#),
        ] {
            let found = read(&text);
            assert_eq!(
                found.notes,
                [("a".to_owned(), "fever".to_owned())],
                "{text}"
            );
            assert_eq!(found.places, ["in.json: entry 1: entry 1"]);
        }
    }

    #[test]
    fn collections_documents_and_answers_of_pubtator_are_read() {
        let document = r#"{"id": "d", "passages": [{"offset": 0, "text": "fever"}]}"#;
        for text in [
            document.to_owned(),
            format!("\u{feff}{{\"source\": \"s\", \"documents\": [{document}]}}"),
            format!("{{\"PubTator3\": [{document}]}}"),
            format!("[{{\"documents\": [{document}]}}]"),
            format!("[{document}]"),
        ] {
            let found = read(&text);
            assert_eq!(
                found.notes,
                [("d".to_owned(), "fever".to_owned())],
                "{text}"
            );
        }
    }

    #[test]
    fn other_json_is_refused() {
        for (text, expected) in [
            ("{\"a\": 1}", "the object has a"),
            ("{}", "the object has no members"),
            ("5", "expected FHIR or BioC"),
            ("{\"documents\": 5}", "a list of entries or documents"),
            ("{\"documents\": [", "EOF"),
            ("", "EOF"),
            (
                "{\"resourceType\": \"Bundle\", \"entry\": []}",
                "the file has no FHIR document",
            ),
        ] {
            let error = read(text).stopped.expect(text);
            assert!(
                error.starts_with("in.json: ") && error.contains(expected),
                "{error}"
            );
        }
    }
}
