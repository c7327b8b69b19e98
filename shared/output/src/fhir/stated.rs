//! What the attributes of a mention add to its resource.

use super::codes::coded;
use super::kind::Kind;
use super::{dosage, results};
use crate::Record;
use crate::attributes::{normal_or_words, said};
use pel_text::attributes::AttributeName;
use pel_text::context::Temporality;
use serde_json::{Value, json};

/// The fields of a resource that its mention's attributes give. They replace fields of the same
/// name, and a value replaces `dataAbsentReason`.
pub(super) fn fields(kind: Kind, text: &str, record: &Record) -> Vec<(&'static str, Value)> {
    let mut fields = Vec::new();
    let context = &record.context;
    match kind {
        // Of what is absent, there is no onset and no stage.
        Kind::Condition if context.negated => {}
        Kind::Condition => {
            fields.extend(when(
                text,
                record,
                AttributeName::Onset,
                "onsetDateTime",
                "onsetString",
            ));
            fields.extend(stages(text, record).map(|stages| ("stage", stages)));
            if is_resolved(record) {
                let status = "http://terminology.hl7.org/CodeSystem/condition-clinical";
                fields.push(("clinicalStatus", coded(status, "resolved")));
            }
        }
        Kind::Medication => {
            fields.extend(dosage::dosage(text, record).map(|dosage| ("dosage", json!([dosage]))));
            fields.extend(dosage::reason(text, record).map(|reason| ("reasonCode", reason)));
            fields.extend(status(record).map(|status| ("status", status.into())));
            fields.extend(effective(text, record));
        }
        Kind::Measurement => {
            if !context.negated {
                fields.extend(results::fields(text, record));
            }
            let date = date(text, record, AttributeName::Date);
            fields.extend(date.map(|date| ("effectiveDateTime", date.into())));
        }
        Kind::Procedure => {
            let name = AttributeName::Date;
            fields.extend(when(
                text,
                record,
                name,
                "performedDateTime",
                "performedString",
            ));
        }
        Kind::Plan => {
            let date = date(text, record, AttributeName::Date);
            fields.extend(date.map(|date| ("occurrenceDateTime", date.into())));
        }
        Kind::Observation | Kind::FamilyHistory | Kind::Allergy | Kind::NoAllergy(_) => {}
    }
    fields
}

/// The attributes that no field of the resource has, as words: "course: chronic". `written` are the
/// fields of the resource.
pub(super) fn unsaid(kind: Kind, text: &str, record: &Record, written: &[&str]) -> Option<String> {
    let has = |name: &str| written.contains(&name);
    let is_said = |name: AttributeName| match name {
        AttributeName::Laterality | AttributeName::Severity => true,
        AttributeName::Value | AttributeName::Unit | AttributeName::Comparator => {
            kind == Kind::Measurement && !record.context.negated
        }
        AttributeName::Flag => has("interpretation"),
        AttributeName::Range => has("referenceRange"),
        AttributeName::Onset => has("onsetDateTime") || has("onsetString"),
        AttributeName::Stage => has("stage"),
        AttributeName::Date => ["performedDateTime", "performedString", "effectiveDateTime"]
            .iter()
            .chain(&["effectivePeriod", "occurrenceDateTime"])
            .any(|name| has(name)),
        AttributeName::Course => is_resolved(record) && has("clinicalStatus"),
        AttributeName::Status => kind == Kind::Medication && status(record).is_some(),
        AttributeName::Specimen => false,
        AttributeName::Strength
        | AttributeName::Dose
        | AttributeName::Form
        | AttributeName::Route
        | AttributeName::Frequency
        | AttributeName::Prn
        | AttributeName::Indication => has("dosage"),
        AttributeName::Duration => has("dosage"),
    };
    let mut words: Vec<String> = Vec::new();
    for one in &record.attributes {
        if !one.prior && is_said(one.name) {
            continue;
        }
        let earlier = if one.prior { "earlier " } else { "" };
        let sentence = format!("{earlier}{}: {}", one.name.name(), said(text, one));
        if !words.contains(&sentence) {
            words.push(sentence);
        }
    }
    (!words.is_empty()).then(|| format!("The text also states {}.", words.join("; ")))
}

/// The one date under a name, if the text gives at least its year: as FHIR's dateTime.
fn date(text: &str, record: &Record, name: AttributeName) -> Option<String> {
    let normal = normal_or_words(text, record.sole_attribute(name)?);
    let is_number = |part: &str, digits: usize| {
        part.len() == digits && part.bytes().all(|one| one.is_ascii_digit())
    };
    let mut parts = normal.split('-');
    let is_date = parts.next().is_some_and(|year| is_number(year, 4))
        && parts.clone().count() <= 2
        && parts.all(|part| is_number(part, 2));
    is_date.then_some(normal)
}

/// A date as one field, or its words as another.
fn when(
    text: &str,
    record: &Record,
    name: AttributeName,
    dated: &'static str,
    worded: &'static str,
) -> Option<(&'static str, Value)> {
    if let Some(date) = date(text, record, name) {
        return Some((dated, date.into()));
    }
    let all: Vec<String> = record
        .attributes_named(name)
        .map(|one| said(text, one))
        .collect();
    let words = all.join("; ");
    (!words.is_empty()).then(|| (worded, words.into()))
}

/// The stages, grades and classes of a condition, by their words.
fn stages(text: &str, record: &Record) -> Option<Value> {
    let stage = |one| json!({ "summary": { "text": said(text, one) } });
    let all: Vec<Value> = record
        .attributes_named(AttributeName::Stage)
        .map(stage)
        .collect();
    (!all.is_empty()).then(|| all.into())
}

/// Whether the text says of a condition that it is over, and no other course of it.
fn is_resolved(record: &Record) -> bool {
    let course = record.sole_attribute(AttributeName::Course);
    let course = course.and_then(|course| course.value.as_ref());
    course.is_some_and(|course| course.to_string() == "resolved")
}

/// The status of a drug that the text starts, continues, stops, holds or changes. The start of one
/// does not tell whether it is taken yet.
fn status(record: &Record) -> Option<&'static str> {
    let is_plain = !record.context.negated && record.context.temporality != Temporality::Future;
    let status = record.sole_attribute(AttributeName::Status)?;
    let status = status.value.as_ref()?.to_string();
    match status.as_str() {
        "stop" if !record.context.negated => Some("stopped"),
        "hold" if is_plain => Some("on-hold"),
        "continue" | "increase" | "decrease" | "change" if is_plain => Some("active"),
        _ => None,
    }
}

/// When a drug was taken: from a date if it was started then, up to it if it was stopped.
fn effective(text: &str, record: &Record) -> Option<(&'static str, Value)> {
    let date = date(text, record, AttributeName::Date)?;
    let status = record.sole_attribute(AttributeName::Status);
    let status = status.and_then(|status| status.value.as_ref());
    Some(match status.map(ToString::to_string).as_deref() {
        Some("start") => ("effectivePeriod", json!({ "start": date })),
        Some("stop") => ("effectivePeriod", json!({ "end": date })),
        _ => ("effectiveDateTime", date.into()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::record;
    use pel_text::Span;
    use pel_text::attributes::{Anchor, AttributeRules, Kind as Anchored};
    use std::collections::BTreeMap;

    /// The record of some words of a line, with its attributes.
    fn read(line: &str, words: &str, kind: Anchored) -> Record {
        let start = line.find(words).expect("the words are in the line");
        let span = Span::new(start, start + words.len());
        let anchor = Anchor {
            pieces: &[span],
            kind,
        };
        let found = AttributeRules::english().find(line, &[anchor]);
        Record {
            attributes: found.into_iter().next().expect("one mention"),
            ..record(span)
        }
    }

    fn of(kind: Kind, line: &str, record: &Record) -> BTreeMap<&'static str, Value> {
        fields(kind, line, record).into_iter().collect()
    }

    #[test]
    fn conditions_have_their_onset_and_stage() {
        let line = "CKD stage 3b since 2016.";
        let found = of(Kind::Condition, line, &read(line, "CKD", Anchored::Problem));
        assert_eq!(found["onsetDateTime"], "2016");
        assert!(
            found["stage"][0]["summary"]["text"].is_string(),
            "{found:?}"
        );
        let line = "Cough started 2 weeks ago.";
        let found = of(
            Kind::Condition,
            line,
            &read(line, "Cough", Anchored::Problem),
        );
        assert_eq!(found["onsetString"], "2 weeks ago");
    }

    #[test]
    fn nothing_dates_what_is_absent() {
        let line = "CKD stage 3b since 2016.";
        let mut denied = read(line, "CKD", Anchored::Problem);
        denied.context.negated = true;
        assert!(of(Kind::Condition, line, &denied).is_empty());
        assert!(unsaid(Kind::Condition, line, &denied, &[]).is_some());
    }

    #[test]
    fn drugs_that_are_stopped_are_not_active() {
        let line = "Discontinued lisinopril 10 mg daily.";
        let found = of(
            Kind::Medication,
            line,
            &read(line, "lisinopril", Anchored::Drug),
        );
        assert_eq!(found["status"], "stopped");
        assert!(found["dosage"][0]["text"].is_string());
        let line = "Hold metformin.";
        let found = of(
            Kind::Medication,
            line,
            &read(line, "metformin", Anchored::Drug),
        );
        assert_eq!(found["status"], "on-hold");
    }

    #[test]
    fn procedures_have_the_date_or_its_words() {
        let line = "Appendectomy in 2014.";
        let found = of(
            Kind::Procedure,
            line,
            &read(line, "Appendectomy", Anchored::Procedure),
        );
        assert_eq!(found["performedDateTime"], "2014");
        let line = "Colonoscopy 2 years ago.";
        let found = of(
            Kind::Procedure,
            line,
            &read(line, "Colonoscopy", Anchored::Procedure),
        );
        assert_eq!(found["performedString"], "2 years ago");
    }

    #[test]
    fn what_has_no_field_is_said_in_words() {
        let line = "worsening cough";
        let cough = read(line, "cough", Anchored::Problem);
        let words = unsaid(Kind::Condition, line, &cough, &["clinicalStatus"]);
        assert_eq!(
            words.as_deref(),
            Some("The text also states course: worsening.")
        );
        assert_eq!(
            unsaid(Kind::Condition, line, &record(Span::new(0, 5)), &[]),
            None
        );
    }
}
