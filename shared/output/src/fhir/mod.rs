//! FHIR R4: a bundle of the kind `collection` with a resource for each mention that states
//! something of the patient or the family, the note they come from, and their provenance.
//!
//! Offsets are code points of the note. Nothing is confirmed: a person must review each resource.

mod allergies;
mod codes;
mod dosage;
mod ids;
mod kind;
mod quantity;
mod related;
mod resources;
mod results;
mod stated;
mod systems;

use super::about::{About, instant, reference};
use super::facts::Keys;
use super::json::compact;
use super::moment::Moment;
use super::{Note, Record};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use codes::Source;
use kind::Kind;
use pel_kb::codes::System;
use pel_kb::error::Result;
use pel_text::Offsets;
use pel_text::relations::{Relation, RelationName};
use resources::{PATH, fields};
use serde_json::{Map, Value, json};
use systems::{Vocabulary, tidy};

/// The resources of a note that were written.
pub(super) struct Entries {
    /// Identifies the note, its text and the bundle that linked it.
    seed: [u8; 32],
    keys: Keys,
    /// The references to the resources of mentions.
    generated: Vec<String>,
    document: String,
    program: String,
    about: About,
}

impl Entries {
    /// Starts the bundle of a note.
    pub(super) fn new(note: &Note<'_>) -> Self {
        let seed = super::facts::hash(&[
            note.name.as_bytes(),
            note.text.as_bytes(),
            bundle_hash(note).as_bytes(),
        ]);
        let seed = *seed.as_bytes();
        Self {
            document: ids::id(&[&seed, b"document"]),
            program: ids::id(&[b"program", env!("CARGO_PKG_VERSION").as_bytes()]),
            seed,
            keys: Keys::default(),
            generated: Vec::new(),
            about: About::default(),
        }
    }

    /// States what the document of the note says of it.
    pub(super) fn set_about(&mut self, about: &About) {
        self.about = about.clone();
    }

    /// The patient: whom the document states, else of whom only the note is known.
    fn subject(&self, note: &Note<'_>) -> Value {
        match &self.about.patient {
            Some(patient) => reference(&tidy(patient)),
            None => json!({
                "display": tidy(&format!("the patient of the note {}", note.name)),
            }),
        }
    }

    /// The bundle up to the first mention: the note and the program.
    ///
    /// # Errors
    /// If JSON cannot be encoded.
    pub(super) fn head(&self, note: &Note<'_>, moment: Option<&Moment>) -> Result<String> {
        let program = json!({
            "resourceType": "Device",
            "id": self.program,
            "manufacturer": "PEL",
            "deviceName": [{ "name": "PEL", "type": "model-name" }],
            "version": [{ "value": env!("CARGO_PKG_VERSION") }],
        });
        let timestamp = match moment {
            Some(moment) => format!("\"timestamp\":{},", compact(&moment.instant())?),
            None => String::new(),
        };
        Ok(format!(
            "{{\"resourceType\":\"Bundle\",\"id\":{},\"type\":\"collection\",\
             {timestamp}\"entry\":[{},{}",
            compact(&ids::id(&[&self.seed, b"bundle"]))?,
            entry(&self.document, self.document_reference(note))?,
            entry(&self.program, program)?
        ))
    }

    fn document_reference(&self, note: &Note<'_>) -> Value {
        let mut attachment = json!({
            "contentType": "text/plain; charset=utf-8",
            "size": note.text.len(),
        });
        let title = tidy(note.name);
        if !title.is_empty() {
            attachment["title"] = title.into();
        }
        // Empty values are invalid.
        if !note.text.is_empty() {
            attachment["data"] = STANDARD.encode(note.text).into();
        }
        let mut document = json!({
            "resourceType": "DocumentReference",
            "id": self.document,
            "status": "current",
            "description": format!(
                "Offsets and lengths of derivation-reference extensions count Unicode code points \
                 of {PATH}, decoded as UTF-8."
            ),
            "subject": self.subject(note),
            "content": [{ "attachment": attachment }],
        });
        let About {
            encounter,
            date,
            author,
            title,
            ..
        } = &self.about;
        let words = |text: &Option<String>| {
            let text = text.as_deref().map(tidy).unwrap_or_default();
            (!text.is_empty()).then_some(text)
        };
        if let Some(title) = words(title) {
            document["type"] = json!({ "text": title });
        }
        if let Some(author) = words(author) {
            document["author"] = json!([{ "display": author }]);
        }
        if let Some(instant) = date.as_deref().and_then(instant) {
            document["date"] = instant.into();
        }
        if let Some(encounter) = encounter {
            document["context"] = json!({ "encounter": [reference(&tidy(encounter))] });
        }
        if let Some(day) = date.as_deref().and_then(|date| date.get(..10)) {
            document["context"]["period"] = json!({ "start": day });
        }
        document
    }

    /// The resources of mentions. `systems` are the code systems that were chosen; empty for all.
    ///
    /// # Errors
    /// If JSON cannot be encoded.
    pub(super) fn part(
        &mut self,
        note: &Note<'_>,
        offsets: &Offsets<'_>,
        systems: &[System],
    ) -> Result<String> {
        let document = ids::of(&self.document);
        let source = Source {
            document: &document,
            vocabulary: Vocabulary::of(note, systems),
            subject: self.subject(note),
        };
        let mut out = String::new();
        let resources: Vec<_> = note
            .records
            .iter()
            .map(|record| {
                let key = self.keys.next(record.pieces());
                let kind = Kind::of(record, &note.mention(record))?;
                Some((kind, ids::id(&[&self.seed, &key])))
            })
            .collect();
        let related = relations_of(note);
        for (at, (record, resource)) in note.records.iter().zip(&resources).enumerate() {
            let Some((kind, id)) = resource else {
                continue;
            };
            let reactions = related[at]
                .iter()
                .filter(|one| one.source == at && one.name == RelationName::Reaction);
            let reactions: Vec<&Record> = reactions.map(|one| &note.records[one.target]).collect();
            let mut fields = fields(note, offsets, &source, *kind, record, &reactions);
            fields.insert("id".to_owned(), id.as_str().into());
            related::add(&mut fields, note, &source, at, &related[at], &resources);
            if let (Some(member), Some(encounter)) =
                (encounter_member(&fields), &self.about.encounter)
            {
                fields.insert(member.to_owned(), reference(&tidy(encounter)));
            }
            out.push(',');
            out += &entry(id, Value::Object(fields))?;
            self.generated.push(ids::of(id));
        }
        Ok(out)
    }

    /// The provenance and the end of the bundle.
    ///
    /// # Errors
    /// If JSON cannot be encoded.
    pub(super) fn tail(&self, note: &Note<'_>, moment: Option<&Moment>) -> Result<String> {
        let id = ids::id(&[&self.seed, b"provenance"]);
        let manifest = &note.linker.bundle().manifest;
        let document = ids::of(&self.document);
        // A provenance must have a target.
        let targets: Vec<&str> = match &self.generated[..] {
            [] => vec![&document],
            some => some.iter().map(String::as_str).collect(),
        };
        let hashed = |what: &str, hash: &str| {
            let mut what = json!({ "display": what });
            // Empty values are invalid.
            if !hash.is_empty() {
                what["identifier"] = json!({ "type": { "text": "BLAKE3" }, "value": hash });
            }
            json!({ "role": "source", "what": what })
        };
        let encoder = tidy(&manifest.encoder.name);
        let kb = tidy(&manifest.kb.name);
        let mut provenance = json!({
            "resourceType": "Provenance",
            "id": id,
            "target": targets.iter().map(|one| json!({ "reference": one })).collect::<Value>(),
            "activity": { "text": "entity linking of clinical text" },
            "agent": [{
                "type": {
                    "coding": [{
                        "system": "http://terminology.hl7.org/CodeSystem/provenance-participant-type",
                        "code": "assembler",
                    }],
                },
                "who": {
                    "reference": ids::of(&self.program),
                    "display": concat!("PEL ", env!("CARGO_PKG_VERSION")),
                },
            }],
            "entity": [
                { "role": "source", "what": { "reference": document } },
                hashed(&format!("bundle with the encoder {encoder}"), bundle_hash(note)),
                hashed(&format!("knowledge base {kb}"), &manifest.kb.blake3),
            ],
        });
        match moment {
            Some(moment) => provenance["recorded"] = moment.instant().into(),
            None => {
                provenance["_recorded"] = json!({
                    "extension": [{
                        "url": "http://hl7.org/fhir/StructureDefinition/data-absent-reason",
                        "valueCode": "unknown",
                    }],
                });
            }
        }
        Ok(format!(",{}]}}\n", entry(&id, provenance)?))
    }
}

/// The member of a resource with its encounter, if it has one.
fn encounter_member(fields: &Map<String, Value>) -> Option<&'static str> {
    match fields.get("resourceType")?.as_str()? {
        "Condition" | "Observation" | "Procedure" | "AllergyIntolerance" => Some("encounter"),
        "MedicationStatement" => Some("context"),
        _ => None,
    }
}

/// The relations of each record, as their source or target.
fn relations_of(note: &Note<'_>) -> Vec<Vec<Relation>> {
    let mut of = vec![Vec::new(); note.records.len()];
    for relation in crate::relations(note.text, note.records) {
        of[relation.source].push(relation);
        of[relation.target].push(relation);
    }
    of
}

/// The digest of the bundle.
fn bundle_hash<'a>(note: &Note<'a>) -> &'a str {
    &note.linker.bundle().manifest.digest
}

/// An entry of the bundle.
fn entry(id: &str, resource: Value) -> Result<String> {
    compact(&json!({ "fullUrl": ids::of(id), "resource": resource }))
}
