//! What the document of a note states of it, for the formats that have a place for it.

use serde::Serialize;
use serde_json::{Value, json};

/// What a document states. Nothing is stated by default.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct About {
    /// The patient: a FHIR reference (`Patient/1`), or an identifier.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub patient: Option<String>,
    /// The encounter: a FHIR reference (`Encounter/1`), or an identifier.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub encounter: Option<String>,
    /// The day of the note, or the instant, in ISO 8601.
    #[serde(rename = "note_date", skip_serializing_if = "Option::is_none")]
    pub date: Option<String>,
    /// The name of the author.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub author: Option<String>,
    /// The title of the document.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
}

impl About {
    /// Whether nothing is stated.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// A FHIR Reference: to a resource, or by an identifier.
pub(super) fn reference(to: &str) -> Value {
    match is_reference(to) {
        true => json!({ "reference": to }),
        false => json!({ "identifier": { "value": to } }),
    }
}

/// Whether a text is a FHIR reference: `Patient/1`, or an address.
fn is_reference(text: &str) -> bool {
    if text.starts_with("urn:") || text.starts_with("http://") || text.starts_with("https://") {
        return true;
    }
    let mut parts = text.split('/');
    let is_type = parts.next().is_some_and(|name| {
        name.starts_with(|c: char| c.is_ascii_uppercase())
            && name.len() > 2
            && name.bytes().all(|byte| byte.is_ascii_alphabetic())
    });
    let is_id = parts.next().is_some_and(|id| {
        (1..=64).contains(&id.len())
            && id
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.'))
    });
    is_type && is_id && parts.next().is_none_or(|history| history == "_history")
}

/// The instant of a FHIR `instant` field; `None` for a day alone.
pub(super) fn instant(date: &str) -> Option<&str> {
    let time = date.get(10..)?;
    let has_zone = time.ends_with('Z') || time.get(1..)?.contains(['+', '-']);
    (time.starts_with('T') && time.len() >= 9 && has_zone).then_some(date)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patients_are_referred_to_or_identified() {
        for (to, is) in [
            ("Patient/p1", true),
            ("https://example.org/fhir/Patient/1", true),
            ("urn:uuid:0", true),
            ("998991", false),
            ("A/1", false),
            ("MR/2026/7", false),
        ] {
            assert_eq!(reference(to).get("reference").is_some(), is, "{to}");
        }
        assert_eq!(reference("7"), json!({ "identifier": { "value": "7" } }));
    }

    #[test]
    fn instants_have_a_time_and_a_zone() {
        for (date, is) in [
            ("2026-01-03T10:15:00Z", true),
            ("2026-01-03T10:15:00-05:00", true),
            ("2026-01-03T10:15:00", false),
            ("2026-01-03", false),
        ] {
            assert_eq!(instant(date).is_some(), is, "{date}");
        }
    }
}
