//! The phenotypic features of a note as a Phenopacket of version 2 (GA4GH), on one line.
//!
//! A feature is a term of the Human Phenotype Ontology: the concept itself in a bundle of this
//! ontology, else its exact code. Mentions of one term become one feature with an evidence for each.
//! What is uncertain, planned, of a relative, or an allergen is left out. A denied term is excluded,
//! unless another mention states it.

use super::attributes::said;
use super::facts::code_points;
use super::json::compact;
use super::moment::Moment;
use super::{Named, Note, Record, in_one_line};
use pel_kb::codes::{Match, System};
use pel_kb::error::Result;
use pel_text::Offsets;
use pel_text::attributes::{Attribute, AttributeName, Value as Normal};
use pel_text::context::{Certainty, Experiencer, Laterality, Severity, Temporality};
use serde_json::{Map, Value, json};

/// How identifiers of the ontology begin.
const PREFIX: &str = "HP:";

/// The types of the ontology's terms that are no features: they say more of one.
const OTHER_TYPES: [&str; 5] = [
    "Blood group",
    "Clinical modifier",
    "Frequency",
    "Mode of inheritance",
    "Past medical history",
];

/// The features of a note, in the order of their first mentions.
#[derive(Default)]
pub(super) struct Features {
    all: Vec<Feature>,
}

struct Feature {
    id: String,
    label: String,
    is_excluded: bool,
    severity: Option<Severity>,
    modifiers: Vec<(&'static str, &'static str)>,
    onset: Option<Value>,
    /// What has no field of its own.
    remarks: Vec<String>,
    evidence: Vec<Value>,
}

impl Features {
    /// Adds the records of a note.
    pub(super) fn add(&mut self, note: &Note<'_>, offsets: &Offsets<'_>) {
        for record in note.records {
            self.add_record(note.name, note.text, offsets, record);
        }
    }

    fn add_record(&mut self, name: &str, text: &str, offsets: &Offsets<'_>, record: &Record) {
        let Ok(named) = &record.decision else { return };
        let Some(id) = term(named).filter(|_| is_of_patient(record)) else {
            return;
        };
        let is_excluded = record.context.negated;
        let same = |own: &&mut Feature| own.id == id && own.is_excluded == is_excluded;
        let feature = match self.all.iter_mut().find(same) {
            Some(known) => known,
            None => {
                self.all.push(Feature::new(id, named, is_excluded));
                let Some(last) = self.all.last_mut() else {
                    return;
                };
                last
            }
        };
        feature.evidence.push(evidence(name, text, offsets, record));
        // Of what is absent, there is neither onset nor severity.
        if !is_excluded {
            feature.add_details(text, record);
        }
    }

    /// The whole Phenopacket. Without a moment it does not say when it was made.
    ///
    /// # Errors
    /// If JSON cannot be encoded.
    pub(super) fn document(&self, name: &str, moment: Option<&Moment>) -> Result<String> {
        let is_stated = |id: &str| self.all.iter().any(|own| own.id == id && !own.is_excluded);
        let features = self.all.iter();
        let features = features.filter(|own| !own.is_excluded || !is_stated(&own.id));
        let features: Vec<Value> = features.map(Feature::as_json).collect();
        let mut about = Map::new();
        if let Some(moment) = moment {
            about.insert("created".into(), moment.instant().into());
        }
        about.insert(
            "createdBy".into(),
            concat!("pel ", env!("CARGO_PKG_VERSION")).into(),
        );
        about.insert("resources".into(), resources());
        about.insert("phenopacketSchemaVersion".into(), "2.0".into());
        let packet = json!({
            "id": name,
            "phenotypicFeatures": features,
            "metaData": about,
        });
        Ok(compact(&packet)? + "\n")
    }
}

impl Feature {
    fn new(id: String, named: &Named, is_excluded: bool) -> Self {
        Self {
            id,
            label: named.name.clone(),
            is_excluded,
            severity: None,
            modifiers: Vec::new(),
            onset: None,
            remarks: Vec::new(),
            evidence: Vec::new(),
        }
    }

    fn add_details(&mut self, text: &str, record: &Record) {
        let context = &record.context;
        let both = self.severity.into_iter().chain(context.severity);
        self.severity = both.max_by_key(|own| *own as u8);
        for modifier in side(context.laterality).into_iter().chain(course(record)) {
            if !self.modifiers.contains(&modifier) {
                self.modifiers.push(modifier);
            }
        }
        for attribute in record.attributes_named(AttributeName::Onset) {
            match onset(attribute) {
                Some(time) if self.onset.is_none() => self.onset = Some(time),
                Some(_) => {}
                None => self.remark(format!("onset: {}", said(text, attribute))),
            }
        }
        for attribute in record.attributes_named(AttributeName::Stage) {
            self.remark(format!("stage: {}", said(text, attribute)));
        }
    }

    fn remark(&mut self, remark: String) {
        if !self.remarks.contains(&remark) {
            self.remarks.push(remark);
        }
    }

    fn as_json(&self) -> Value {
        let mut feature = Map::new();
        if !self.remarks.is_empty() {
            feature.insert("description".into(), self.remarks.join("; ").into());
        }
        feature.insert("type".into(), class((&self.id, &self.label)));
        if self.is_excluded {
            feature.insert("excluded".into(), true.into());
        }
        if let Some(severity) = self.severity {
            feature.insert("severity".into(), class(degree(severity)));
        }
        if !self.modifiers.is_empty() {
            let all = self.modifiers.iter().copied().map(class);
            feature.insert("modifiers".into(), all.collect());
        }
        if let Some(onset) = &self.onset {
            feature.insert("onset".into(), onset.clone());
        }
        feature.insert("evidence".into(), self.evidence.clone().into());
        feature.into()
    }
}

/// A class of an ontology.
fn class((id, label): (&str, &str)) -> Value {
    json!({ "id": id, "label": label })
}

/// The term of a concept: its identifier, else its exact code.
fn term(named: &Named) -> Option<String> {
    if named.id.starts_with(PREFIX) {
        let is_other = |own: &String| OTHER_TYPES.contains(&own.as_str());
        return (!named.types.iter().any(is_other)).then(|| named.id.clone());
    }
    let mut codes = named.codes.iter();
    let code = codes.find(|own| own.system == System::Hpo && own.matches == Match::Exact)?;
    Some(match code.code.starts_with(PREFIX) {
        true => code.code.clone(),
        false => format!("{PREFIX}{}", code.code),
    })
}

/// Whether a mention says what the patient has, had or has not.
fn is_of_patient(record: &Record) -> bool {
    let context = &record.context;
    context.experiencer == Experiencer::Patient
        && context.certainty == Certainty::Certain
        && context.temporality != Temporality::Future
        && context.allergy.is_none()
}

fn degree(severity: Severity) -> (&'static str, &'static str) {
    match severity {
        Severity::Mild => ("HP:0012825", "Mild"),
        Severity::Moderate => ("HP:0012826", "Moderate"),
        Severity::Severe => ("HP:0012828", "Severe"),
    }
}

fn side(laterality: Option<Laterality>) -> Option<(&'static str, &'static str)> {
    Some(match laterality? {
        Laterality::Left => ("HP:0012835", "Left"),
        Laterality::Right => ("HP:0012834", "Right"),
        Laterality::Bilateral => ("HP:0012832", "Bilateral"),
    })
}

/// The modifiers of how a problem goes on.
fn course(record: &Record) -> Vec<(&'static str, &'static str)> {
    let named = record.attributes_named(AttributeName::Course);
    let modifier = |one: &Attribute| match &one.value {
        Some(Normal::Text(word)) if word == "acute" => Some(("HP:0011009", "Acute")),
        Some(Normal::Text(word)) if word == "chronic" => Some(("HP:0011010", "Chronic")),
        Some(Normal::Text(word)) if word == "recurrent" => Some(("HP:0031796", "Recurrent")),
        _ => None,
    };
    named.filter_map(modifier).collect()
}

/// A date as a time of the schema: a day is a timestamp, a month or a year an interval. `None` for
/// what is relative to the note.
fn onset(attribute: &Attribute) -> Option<Value> {
    let Some(Normal::Text(date)) = &attribute.value else {
        return None;
    };
    let parts: Vec<&str> = date.split('-').collect();
    let widths: Vec<usize> = parts.iter().map(|part| part.len()).collect();
    let is_digits = |part: &&str| part.bytes().all(|byte| byte.is_ascii_digit());
    if !parts.iter().all(is_digits) {
        return None;
    }
    let interval = |start: &str, end: &str| {
        let (start, end) = (format!("{start}T00:00:00Z"), format!("{end}T23:59:59Z"));
        json!({ "interval": { "start": start, "end": end } })
    };
    match (&widths[..], &parts[..]) {
        ([4, 2, 2], _) => Some(json!({ "timestamp": format!("{date}T00:00:00Z") })),
        ([4, 2], [year, month]) => {
            let last = last_day(year.parse().ok()?, month.parse().ok()?)?;
            Some(interval(&format!("{date}-01"), &format!("{date}-{last}")))
        }
        ([4], _) => Some(interval(&format!("{date}-01-01"), &format!("{date}-12-31"))),
        _ => None,
    }
}

/// The number of days of a month.
fn last_day(year: u32, month: u32) -> Option<u32> {
    let is_leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    match month {
        1 | 3 | 5 | 7 | 8 | 10 | 12 => Some(31),
        4 | 6 | 9 | 11 => Some(30),
        2 => Some(if is_leap { 29 } else { 28 }),
        _ => None,
    }
}

/// Where a mention stands.
fn evidence(name: &str, text: &str, offsets: &Offsets<'_>, record: &Record) -> Value {
    let (start, end) = code_points(offsets, &record.span);
    let words = in_one_line(record.span.of(text).unwrap_or_default());
    json!({
        "evidenceCode": class(("ECO:0000501", "evidence used in automatic assertion")),
        "reference": {
            "id": name,
            "description": format!("{words:?}, code points {start} to {end}"),
        },
    })
}

/// The ontologies of the identifiers.
fn resources() -> Value {
    let resource = |id: &str, name: &str, prefix: &str| {
        json!({
            "id": id,
            "name": name,
            "url": format!("http://purl.obolibrary.org/obo/{id}.owl"),
            "version": "not stated",
            "namespacePrefix": prefix,
            "iriPrefix": format!("http://purl.obolibrary.org/obo/{prefix}_"),
        })
    };
    json!([
        resource("hp", "Human Phenotype Ontology", "HP"),
        resource("eco", "Evidence and Conclusion Ontology", "ECO"),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::NamedCode;
    use crate::testing::record;
    use pel_text::Span;
    use pel_text::context::{Allergy, Context};

    const TEXT: &str = "Severe left-sided headache since March 2024. No fever, 😷 cough.";

    fn of(words: &str, id: &str) -> Record {
        let start = TEXT.find(words).expect("in the text");
        let mut record = record(Span::new(start, start + words.len()));
        record.decision = Ok(Named {
            id: id.to_owned(),
            name: words.to_owned(),
            ..Named::default()
        });
        record
    }

    fn packet(records: &[Record]) -> Value {
        let (mut features, offsets) = (Features::default(), Offsets::new(TEXT));
        for record in records {
            features.add_record("n1", TEXT, &offsets, record);
        }
        let moment = Moment::new("2026-11-26", "10:45:00").ok();
        let text = features.document("n1", moment.as_ref()).expect("written");
        assert_eq!(text.matches('\n').count(), 1);
        serde_json::from_str(&text).expect("JSON")
    }

    fn attribute(name: AttributeName, words: &str, value: &str) -> Attribute {
        let start = TEXT.find(words).expect("in the text");
        Attribute {
            name,
            span: Span::new(start, start + words.len()),
            value: Some(Normal::Text(value.to_owned())),
            prior: false,
        }
    }

    #[test]
    fn features_have_severity_modifiers_onset_and_evidence() {
        let mut headache = of("headache", "HP:0002315");
        headache.context.severity = Some(Severity::Severe);
        headache.context.laterality = Some(Laterality::Left);
        headache.attributes = vec![
            attribute(AttributeName::Onset, "March 2024", "2024-03"),
            attribute(AttributeName::Course, "since", "recurrent"),
        ];
        let found = packet(&[headache]);
        assert_eq!(
            found["phenotypicFeatures"],
            json!([{
                "type": {"id": "HP:0002315", "label": "headache"},
                "severity": {"id": "HP:0012828", "label": "Severe"},
                "modifiers": [{"id": "HP:0012835", "label": "Left"}, {"id": "HP:0031796", "label": "Recurrent"}],
                "onset": {"interval": {"start": "2024-03-01T00:00:00Z", "end": "2024-03-31T23:59:59Z"}},
                "evidence": [{
                    "evidenceCode": {"id": "ECO:0000501", "label": "evidence used in automatic assertion"},
                    "reference": {"id": "n1", "description": "\"headache\", code points 18 to 26"},
                }],
            }])
        );
        let about = &found["metaData"];
        assert_eq!(about["created"], "2026-11-26T10:45:00Z");
        assert_eq!(about["phenopacketSchemaVersion"], "2.0");
        assert_eq!(about["resources"][0]["namespacePrefix"], "HP");
        assert_eq!(found["id"], "n1");
    }

    #[test]
    fn denied_terms_are_excluded_unless_another_mention_states_them() {
        let mut denied = of("fever", "HP:0001945");
        denied.context.negated = true;
        denied.context.severity = Some(Severity::Mild);
        let found = packet(std::slice::from_ref(&denied));
        let feature = &found["phenotypicFeatures"][0];
        assert_eq!(feature["excluded"], true);
        assert_eq!(feature.get("severity"), None);
        let found = packet(&[denied, of("fever", "HP:0001945"), of("fever", "HP:0001945")]);
        let features = found["phenotypicFeatures"].as_array().expect("a list");
        assert_eq!(features.len(), 1);
        assert_eq!(features[0].get("excluded"), None);
        assert_eq!(features[0]["evidence"].as_array().map(Vec::len), Some(2));
    }

    #[test]
    fn exact_codes_stand_for_concepts_of_other_systems() {
        let mut cough = of("cough", "SNOMED:49727002");
        let code = |code: &str, matches| NamedCode {
            system: System::Hpo,
            code: code.to_owned(),
            display: None,
            matches,
            billable: None,
        };
        if let Ok(named) = &mut cough.decision {
            named.codes = vec![
                code("HP:0000001", Match::Broader),
                code("HP:0012735", Match::Exact),
            ];
        }
        let mut severe = of("Severe", "HP:0012828");
        if let Ok(named) = &mut severe.decision {
            named.types = vec!["Clinical modifier".to_owned()];
        }
        let found = packet(&[cough, of("fever", "SNOMED:386661006"), severe]);
        let features = found["phenotypicFeatures"].as_array().expect("a list");
        assert_eq!(
            features.len(),
            1,
            "neither a concept without a term nor a modifier is a feature"
        );
        assert_eq!(features[0]["type"]["id"], "HP:0012735");
        let place = &features[0]["evidence"][0]["reference"]["description"];
        assert_eq!(place, "\"cough\", code points 57 to 62");
    }

    #[test]
    fn what_is_not_said_of_the_patient_is_left_out() {
        let change = |change: fn(&mut Context)| {
            let mut record = of("cough", "HP:0012735");
            change(&mut record.context);
            packet(&[record])["phenotypicFeatures"]
                .as_array()
                .map(Vec::len)
        };
        for left_out in [
            (|own| own.certainty = Certainty::Uncertain) as fn(&mut Context),
            |own| own.temporality = Temporality::Future,
            |own| own.experiencer = Experiencer::Family,
            |own| own.allergy = Some(Allergy::Reaction),
        ] {
            assert_eq!(change(left_out), Some(0));
        }
        assert_eq!(
            change(|own| own.temporality = Temporality::Historical),
            Some(1)
        );
    }

    #[test]
    fn relative_and_odd_onsets_are_words() {
        for (value, expected) in [
            ("2024-02-29", json!({"timestamp": "2024-02-29T00:00:00Z"})),
            (
                "2024-02",
                json!({"interval": {"start": "2024-02-01T00:00:00Z", "end": "2024-02-29T23:59:59Z"}}),
            ),
            (
                "1999",
                json!({"interval": {"start": "1999-01-01T00:00:00Z", "end": "1999-12-31T23:59:59Z"}}),
            ),
        ] {
            let found = onset(&attribute(AttributeName::Onset, "March 2024", value));
            assert_eq!(found, Some(expected), "{value}");
        }
        for value in ["-P2W", "--06-14", "2024-13", "24", ""] {
            let found = onset(&attribute(AttributeName::Onset, "March 2024", value));
            assert_eq!(found, None, "{value}");
        }
        let mut headache = of("headache", "HP:0002315");
        headache.attributes = vec![attribute(AttributeName::Onset, "since March 2024", "-P2W")];
        let found = packet(&[headache]);
        let feature = &found["phenotypicFeatures"][0];
        assert_eq!(feature["description"], "onset: since March 2024");
        assert_eq!(feature.get("onset"), None);
    }
}
