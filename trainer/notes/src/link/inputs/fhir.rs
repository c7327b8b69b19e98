//! The notes of FHIR resources: plain text in a DocumentReference (STU3, R4, R4B, R5).

use super::{NoteRow, note_name};
use base64::Engine;
use base64::engine::DecodePaddingMode;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig};
use encoding_rs::{Encoding, UTF_8};
use pel_kb::error::{Context, Error, Result};
use serde_json::Value;
use std::borrow::Cow;

/// Base64 with or without padding: writers of FHIR leave it out.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &base64::alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// The notes of a resource: one for each attachment in plain text, of a Bundle those of its
/// entries. Resources of other types have none. A second attachment is named `ID#2`.
pub(super) fn notes(resource: &Value, place: &str) -> Vec<Result<NoteRow>> {
    match resource.get("resourceType").and_then(Value::as_str) {
        Some("DocumentReference") => {}
        Some("Bundle") => return notes_of_entries(resource, place),
        Some(_) => return Vec::new(),
        None => {
            let error = Error::input(
                "this object has no resourceType, so it is not FHIR; PEL reads rows of a table \
                 from JSON Lines (.jsonl)",
            );
            return vec![Err(error.context(place))];
        }
    }
    let texts = match texts(resource) {
        Ok(texts) => texts,
        Err(error) => return vec![Err(error.context(place))],
    };
    let name = match name(resource) {
        Ok(name) => name,
        Err(error) => return vec![Err(error.context(place))],
    };
    let note = |(at, text): (usize, Result<String>)| {
        Ok(NoteRow {
            name: match at {
                0 => name.clone(),
                at => format!("{name}#{}", at + 1),
            },
            text: text.context(|| place.to_owned())?,
            place: place.to_owned(),
        })
    };
    texts.into_iter().enumerate().map(note).collect()
}

/// The notes of a Bundle.
fn notes_of_entries(bundle: &Value, place: &str) -> Vec<Result<NoteRow>> {
    let entries = bundle.get("entry").and_then(Value::as_array);
    let mut found = Vec::new();
    for (at, entry) in entries.into_iter().flatten().enumerate() {
        let resource = entry.get("resource").unwrap_or(entry);
        found.extend(notes(resource, &format!("{place}: entry {}", at + 1)));
    }
    found
}

/// The identifier: the id, else the first value of a business identifier.
fn name(resource: &Value) -> Result<String> {
    let business = ["masterIdentifier", "identifier"]
        .into_iter()
        .find_map(|member| {
            let member = resource.get(member)?;
            member.get(0).unwrap_or(member).get("value")?.as_str()
        });
    let id = resource.get("id").and_then(Value::as_str).or(business);
    note_name(id.unwrap_or_default()).context(|| "id of the DocumentReference".to_owned())
}

/// The texts of the attachments in plain text.
fn texts(resource: &Value) -> Result<Vec<Result<String>>> {
    if resource.get("status").and_then(Value::as_str) == Some("entered-in-error") {
        return Err(Error::input(
            "the document has the status entered-in-error, so it is not linked",
        ));
    }
    let contents = resource.get("content").and_then(Value::as_array);
    let mut texts = Vec::new();
    let mut others = Vec::new();
    for content in contents.into_iter().flatten() {
        let attachment = content.get("attachment").unwrap_or(&Value::Null);
        let declared = attachment.get("contentType").and_then(Value::as_str);
        let (media, charset) = media_type(declared.unwrap_or("none"));
        if media != "text/plain" {
            others.push(media);
            continue;
        }
        texts.push(text(attachment, charset.as_deref()));
    }
    match (texts.is_empty(), others.is_empty()) {
        (false, _) => Ok(texts),
        (true, true) => Err(Error::input(
            "the DocumentReference has no attachment in its `content`",
        )),
        (true, false) => {
            let others: Vec<String> = others
                .iter()
                .take(4)
                .map(|media| media.chars().take(60).collect())
                .collect();
            Err(Error::input(format!(
                "PEL reads attachments of contentType text/plain; this DocumentReference has only \
                 {}",
                others.join(", ")
            )))
        }
    }
}

/// A media type in lower case, and its charset.
fn media_type(declared: &str) -> (String, Option<String>) {
    let mut parts = declared.split(';');
    let media = parts.next().unwrap_or_default().trim().to_lowercase();
    let charset = parts.find_map(|part| {
        let (name, value) = part.split_once('=')?;
        name.trim()
            .eq_ignore_ascii_case("charset")
            .then(|| value.trim().trim_matches('"').to_owned())
    });
    (media, charset)
}

/// The text of an attachment.
fn text(attachment: &Value, charset: Option<&str>) -> Result<String> {
    let Some(data) = attachment.get("data").and_then(Value::as_str) else {
        return Err(Error::input(match attachment.get("url").is_some() {
            true => {
                "the attachment has a url and no `data`; PEL fetches nothing, so put the text into \
                 `data`"
            }
            false => "the attachment has no `data`",
        }));
    };
    let data = match data.bytes().any(|byte| byte.is_ascii_whitespace()) {
        true => Cow::Owned(data.split_ascii_whitespace().collect::<String>()),
        false => Cow::Borrowed(data),
    };
    let bytes = BASE64.decode(data.as_bytes()).map_err(|cause| {
        Error::input("the `data` of the attachment is not base64").caused_by(cause)
    })?;
    let encoding = match charset {
        None => UTF_8,
        Some(name) => Encoding::for_label(name.as_bytes()).ok_or_else(|| {
            let name: String = name.chars().take(40).collect();
            Error::input(format!("the charset {name:?} of contentType is unknown"))
        })?,
    };
    if encoding == UTF_8 {
        let bytes = match bytes.strip_prefix("\u{feff}".as_bytes()) {
            Some(rest) => rest.to_vec(),
            None => bytes,
        };
        return String::from_utf8(bytes).map_err(|error| {
            Error::input(format!(
                "the attachment is not UTF-8 from byte {} on; name its encoding in contentType, \
                 such as text/plain; charset=windows-1252",
                error.utf8_error().valid_up_to()
            ))
        });
    }
    let (text, used, wrong) = encoding.decode(&bytes);
    match wrong {
        false => Ok(text.into_owned()),
        true => Err(Error::input(format!(
            "the attachment has bytes that {} does not have; correct the charset of contentType",
            used.name()
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn encoded(text: &[u8]) -> String {
        base64::engine::general_purpose::STANDARD.encode(text)
    }

    fn document(content: Value) -> Value {
        json!({"resourceType": "DocumentReference", "id": "d1", "content": content})
    }

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
    fn charset_of_the_content_type_is_followed() {
        for (declared, bytes) in [
            ("text/plain", "Fièvre".as_bytes()),
            ("text/plain; charset=utf-8", "Fièvre".as_bytes()),
            ("TEXT/PLAIN;charset=\"ISO-8859-1\"", b"Fi\xe8vre"),
            (
                "text/plain;format=flowed;charset=utf-16le",
                b"F\0i\0\xe8\0v\0r\0e\0",
            ),
        ] {
            let attachment = json!({"contentType": declared, "data": encoded(bytes)});
            let found = all(&document(json!([{"attachment": attachment}])));
            assert_eq!(
                found,
                [Ok(("d1".to_owned(), "Fièvre".to_owned()))],
                "{declared}"
            );
        }
    }

    #[test]
    fn base64_may_have_line_ends_and_no_padding() {
        // "fever"
        for data in ["ZmV2ZXI=", "ZmV2ZXI", "ZmV2\r\nZXI=\n"] {
            let attachment = json!({"contentType": "text/plain", "data": data});
            let found = all(&document(json!([{"attachment": attachment}])));
            assert_eq!(
                found,
                [Ok(("d1".to_owned(), "fever".to_owned()))],
                "{data:?}"
            );
        }
    }

    #[test]
    fn each_attachment_in_plain_text_is_a_note() {
        let plain = |text: &[u8]| {
            json!({"attachment": {"contentType": "text/plain",
                "data": encoded(text)}})
        };
        let html = json!({"attachment": {"contentType": "text/html", "data": encoded(b"<p>")}});
        let found = all(&document(json!([html, plain(b"one"), plain(b"two")])));
        let expected = [("d1", "one"), ("d1#2", "two")];
        assert_eq!(
            found,
            expected.map(|(name, text)| Ok((name.into(), text.into())))
        );
    }

    #[test]
    fn what_has_no_text_is_an_error() {
        let plain = |more: Value| {
            let mut attachment = json!({"contentType": "text/plain"});
            for (key, value) in more.as_object().expect("an object") {
                attachment[key] = value.clone();
            }
            document(json!([{"attachment": attachment}]))
        };
        let mut withdrawn = plain(json!({"data": "ZmV2ZXI="}));
        withdrawn["status"] = "entered-in-error".into();
        let mut unnamed = plain(json!({"data": "ZmV2ZXI="}));
        unnamed["id"] = Value::Null;
        for (resource, expected) in [
            (
                plain(json!({"url": "http://example.org/1"})),
                "has a url and no `data`; PEL fetches nothing",
            ),
            (plain(json!({})), "has no `data`"),
            (plain(json!({"data": "Zm?="})), "is not base64"),
            (
                plain(json!({"data": encoded(b"Fi\xe8vre")})),
                "not UTF-8 from byte 2 on",
            ),
            (document(json!([])), "has no attachment"),
            (withdrawn, "entered-in-error"),
            (unnamed, "has no identifier"),
            (json!({"id": "x"}), "has no resourceType"),
        ] {
            let found = all(&resource);
            let [Err(error)] = &found[..] else {
                panic!("{resource}: {found:?}")
            };
            assert!(
                error.starts_with("in.json: ") && error.contains(expected),
                "{error}"
            );
        }
        assert!(all(&json!({"resourceType": "Patient"})).is_empty());
        assert!(all(&json!({"resourceType": "Bundle"})).is_empty());
    }
}
