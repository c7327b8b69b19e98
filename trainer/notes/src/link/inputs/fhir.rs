//! The notes of FHIR resources (STU3, R4, R4B, R5), which `pel-documents` reads.

use super::documents::{limits, stated_of};
use super::{NoteRow, note_name};
use pel_documents::{Document, Entry, of_resource};
use pel_kb::error::{Context, Result};
use serde_json::Value;

/// The notes of a resource: one for each document, of a Bundle those of its entries. Resources of
/// other types have none. A second attachment in plain text is named `ID#2`.
pub(super) fn notes(resource: &Value, place: &str) -> Vec<Result<NoteRow>> {
    of_resource(resource, limits())
        .into_iter()
        .map(|entry| note(entry, place))
        .collect()
}

fn note(entry: Entry, place: &str) -> Result<NoteRow> {
    let place = match entry.place.is_empty() {
        true => place.to_owned(),
        false => format!("{place}: {}", entry.place),
    };
    let row = |document: Document| {
        let id = document.id.clone().unwrap_or_default();
        let name = note_name(&id).context(|| "id of the resource".to_owned())?;
        let (text, stated) = stated_of(document);
        Ok(NoteRow {
            name,
            text,
            place: place.clone(),
            stated,
        })
    };
    let note = entry.document.and_then(row);
    note.context(|| place.clone())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn all(resource: &Value) -> Vec<std::result::Result<(String, String), String>> {
        let convert = |note: Result<NoteRow>| {
            note.map(|note| (note.name, note.text))
                .map_err(|error| error.to_string())
        };
        notes(resource, "in.json")
            .into_iter()
            .map(convert)
            .collect()
    }

    #[test]
    fn documents_are_notes_with_their_places() {
        let document = |id: Value| {
            json!({"resourceType": "DocumentReference", "id": id, "content": [
                {"attachment": {"contentType": "text/plain", "data": "ZmV2ZXI="}}]})
        };
        let bundle = json!({"resourceType": "Bundle", "entry": [
            {"resource": {"resourceType": "Patient"}},
            {"resource": document("d1".into())},
            {"resource": document(Value::Null)},
        ]});
        let found = all(&bundle);
        assert_eq!(found[0], Ok(("d1".to_owned(), "fever".to_owned())));
        let error = found[1].as_ref().expect_err("unnamed");
        assert!(error.starts_with("in.json: entry 3: "), "{error}");
        assert!(error.contains("has no identifier"), "{error}");
        assert_eq!(
            notes(&bundle, "a")[0].as_ref().expect("a note").place,
            "a: entry 2"
        );
    }
}
