//! The resource of a mention: which kind, its status, and its codes.

use super::allergies;
use super::codes::{Source, code, coded, snomed};
use super::kind::Kind;
use super::stated;
use crate::facts::code_points;
use crate::{Note, Record};
use pel_text::context::{Certainty, Context, Effect, Laterality, Severity, Temporality};
use pel_text::{Offsets, Span};
use serde_json::{Map, Value, json};

/// The path to the text in the document.
pub(super) const PATH: &str = "DocumentReference.content[0].attachment.data";

/// The fields of the resource of a record, without its identifier. `reactions` are those that belong
/// to an allergen.
pub(super) fn fields(
    note: &Note<'_>,
    offsets: &Offsets<'_>,
    source: &Source<'_>,
    kind: Kind,
    record: &Record,
    reactions: &[&Record],
) -> Map<String, Value> {
    let context = &record.context;
    let mut fields = Map::new();
    let mut put = |name: &str, value: Value| fields.insert(name.to_owned(), value);
    let mut extensions = places(record, offsets, source.document);
    extensions.extend(probability(record));
    put("extension", extensions.into());
    let code = code(note, source, record);
    let whose = match kind {
        Kind::FamilyHistory | Kind::Allergy | Kind::NoAllergy(_) => "patient",
        _ => "subject",
    };
    put(whose, source.subject.clone());
    match kind {
        Kind::FamilyHistory => None,
        Kind::NoAllergy(none) => put("code", worded(snomed(none), &code)),
        Kind::Medication => put("medicationCodeableConcept", code.clone()),
        _ => put("code", code.clone()),
    };
    match kind {
        Kind::Condition => {
            put("resourceType", "Condition".into());
            put("verificationStatus", verification(context));
            // A refuted condition has no clinical status.
            if !context.negated {
                put("clinicalStatus", clinical(context));
            }
            let category = coded(
                "http://terminology.hl7.org/CodeSystem/condition-category",
                "encounter-diagnosis",
            );
            put("category", json!([category]));
            if let Some(severity) = context.severity {
                put("severity", snomed(severity_code(severity)));
            }
        }
        Kind::Measurement | Kind::Observation => {
            put("resourceType", "Observation".into());
            put("status", "preliminary".into());
            match kind {
                Kind::Observation if context.certainty == Certainty::Certain => {
                    put("valueBoolean", (!context.negated).into())
                }
                Kind::Measurement if context.negated => {
                    put("dataAbsentReason", absent("not-performed"))
                }
                _ => put("dataAbsentReason", absent("unknown")),
            };
        }
        Kind::Medication => {
            put("resourceType", "MedicationStatement".into());
            let status = match context.temporality {
                _ if context.negated => "not-taken",
                Temporality::Future => "intended",
                _ => "unknown",
            };
            put("status", status.into());
        }
        Kind::Procedure => {
            put("resourceType", "Procedure".into());
            let status = match (context.temporality, context.certainty) {
                _ if context.negated => "not-done",
                (Temporality::Historical, Certainty::Certain) => "completed",
                _ => "unknown",
            };
            put("status", status.into());
        }
        Kind::Plan => {
            put("resourceType", "ServiceRequest".into());
            put("status", "unknown".into());
            put("intent", "plan".into());
        }
        Kind::FamilyHistory => {
            put("resourceType", "FamilyMemberHistory".into());
            put("status", "partial".into());
            put("relationship", relationship(note, context));
            put("condition", json!([{ "code": code }]));
        }
        Kind::Allergy | Kind::NoAllergy(_) => {
            put("resourceType", "AllergyIntolerance".into());
            let none = matches!(kind, Kind::NoAllergy(_));
            for (name, value) in allergies::fields(note, source, record, reactions, none) {
                put(name, value);
            }
        }
    }
    if let Some(side) = context.laterality {
        let site = snomed(side_code(side));
        match kind {
            Kind::Condition | Kind::Procedure | Kind::Plan => put("bodySite", json!([site])),
            Kind::Measurement | Kind::Observation => put("bodySite", site),
            Kind::Medication | Kind::FamilyHistory | Kind::Allergy | Kind::NoAllergy(_) => None,
        };
    }
    let stated = stated::fields(kind, note.text, record);
    if stated.iter().any(|(name, _)| is_value(name)) {
        fields.remove("dataAbsentReason");
    }
    fields.extend(
        stated
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value)),
    );
    if let Some(notes) = notes(kind, note, record, &fields) {
        fields.insert("note".to_owned(), notes);
    }
    fields
}

/// Whether a field of an Observation says what was found.
fn is_value(name: &str) -> bool {
    name.starts_with("value") || name == "component"
}

/// What the text says and no field of the resource can.
fn notes(
    kind: Kind,
    note: &Note<'_>,
    record: &Record,
    fields: &Map<String, Value>,
) -> Option<Value> {
    // These resources have no notes, or a place of their own for what is said of them.
    if matches!(kind, Kind::NoAllergy(_)) {
        return None;
    }
    let written: Vec<&str> = fields.keys().map(String::as_str).collect();
    let context = unsaid(kind, &record.context);
    let context =
        (!context.is_empty()).then(|| format!("The text states it as {}.", context.join(" and ")));
    let attributes = stated::unsaid(kind, note.text, record, &written);
    let all = context.into_iter().chain(attributes);
    let all: Vec<Value> = all.map(|words| json!({ "text": words })).collect();
    (!all.is_empty()).then(|| all.into())
}

/// A code with the words of the mention.
fn worded(mut concept: Value, code: &Value) -> Value {
    concept["text"] = code["text"].clone();
    concept
}

/// What the context says and no field of the resource can.
fn unsaid(kind: Kind, context: &Context) -> Vec<&'static str> {
    let mut words = Vec::new();
    if kind != Kind::Condition && context.certainty == Certainty::Uncertain {
        words.push("uncertain");
    }
    let tells_time = match kind {
        Kind::Condition => !context.negated,
        Kind::Procedure => context.certainty == Certainty::Certain && !context.negated,
        _ => false,
    };
    if !tells_time && context.temporality == Temporality::Historical {
        words.push("historical");
    }
    words
}

/// One derivation for each fragment: where in the document the mention is, in code points.
fn places(record: &Record, offsets: &Offsets<'_>, document: &str) -> Vec<Value> {
    let place = |piece: &Span| {
        let (start, end) = code_points(offsets, piece);
        json!({
            "url": "http://hl7.org/fhir/StructureDefinition/derivation-reference",
            "extension": [
                { "url": "reference", "valueReference": { "reference": document } },
                { "url": "path", "valueString": PATH },
                { "url": "offset", "valueInteger": start },
                { "url": "length", "valueInteger": end - start },
            ],
        })
    };
    record.pieces().iter().map(place).collect()
}

/// The probability that the best candidate is right, if the bundle has probabilities and a code is
/// given. FHIR R4 has no extension for it, so it has a name of PEL's.
fn probability(record: &Record) -> Option<Value> {
    record.decision.as_ref().ok()?;
    let rounded = (f64::from(record.probability?) * 1e4).round() / 1e4;
    Some(json!({ "url": PROBABILITY, "valueDecimal": rounded }))
}

/// The extension for a probability.
const PROBABILITY: &str = "urn:pel:probability";

fn verification(context: &Context) -> Value {
    let code = match context.certainty {
        _ if context.negated => "refuted",
        Certainty::Uncertain => "provisional",
        Certainty::Certain | Certainty::Hypothetical => "unconfirmed",
    };
    coded(
        "http://terminology.hl7.org/CodeSystem/condition-ver-status",
        code,
    )
}

fn clinical(context: &Context) -> Value {
    let code = match context.temporality {
        Temporality::Historical => "inactive",
        Temporality::Current | Temporality::Future => "active",
    };
    coded(
        "http://terminology.hl7.org/CodeSystem/condition-clinical",
        code,
    )
}

fn absent(reason: &str) -> Value {
    coded(
        "http://terminology.hl7.org/CodeSystem/data-absent-reason",
        reason,
    )
}

fn severity_code(severity: Severity) -> (&'static str, &'static str) {
    match severity {
        Severity::Mild => ("255604002", "Mild"),
        Severity::Moderate => ("6736007", "Moderate"),
        Severity::Severe => ("24484000", "Severe"),
    }
}

fn side_code(side: Laterality) -> (&'static str, &'static str) {
    match side {
        Laterality::Left => ("7771000", "Left"),
        Laterality::Right => ("24028007", "Right"),
        Laterality::Bilateral => ("51440002", "Right and left"),
    }
}

/// Relatives by their words, with their codes in HL7's RoleCode: of either side, maternal, paternal.
const RELATIVES: [(&[&str], [&str; 3]); 22] = [
    (&["mgm"], ["MGRMTH"; 3]),
    (&["pgm"], ["PGRMTH"; 3]),
    (&["mgf"], ["MGRFTH"; 3]),
    (&["pgf"], ["PGRFTH"; 3]),
    (&["grandmother", "grandma"], ["GRMTH", "MGRMTH", "PGRMTH"]),
    (&["grandfather", "grandpa"], ["GRFTH", "MGRFTH", "PGRFTH"]),
    (
        &["grandparent", "grandparents"],
        ["GRPRN", "MGRPRN", "PGRPRN"],
    ),
    (&["granddaughter"], ["GRNDDAU"; 3]),
    (&["grandson"], ["GRNDSON"; 3]),
    (&["mother", "mom", "mum"], ["MTH"; 3]),
    (&["father", "dad"], ["FTH"; 3]),
    (&["stepmother"], ["STPMTH"; 3]),
    (&["stepfather"], ["STPFTH"; 3]),
    (&["sister", "sisters"], ["SIS"; 3]),
    (&["brother", "brothers"], ["BRO"; 3]),
    (&["daughter", "daughters"], ["DAUC"; 3]),
    (&["son", "sons"], ["SONC"; 3]),
    (&["aunt", "aunts"], ["AUNT", "MAUNT", "PAUNT"]),
    (&["uncle", "uncles"], ["UNCLE", "MUNCLE", "PUNCLE"]),
    (&["cousin", "cousins"], ["COUSN", "MCOUSN", "PCOUSN"]),
    (&["nephew", "nephews"], ["NEPHEW"; 3]),
    (&["niece", "nieces"], ["NIECE"; 3]),
];
/// Codes of relatives before whom "half" stands.
const HALF: [(&str, &str); 2] = [("BRO", "HBRO"), ("SIS", "HSIS")];

/// The relative whom the cue names, else a member of the family.
fn relationship(note: &Note<'_>, context: &Context) -> Value {
    let mut cues = context.cues.iter();
    let cue = cues.find(|cue| cue.effect == Effect::Family);
    let code = cue.and_then(|cue| relative(note.text, cue.span));
    coded(
        "http://terminology.hl7.org/CodeSystem/v3-RoleCode",
        code.unwrap_or("FAMMEMB"),
    )
}

/// The code of the relative whom a cue names. The word before the cue may tell the side: "paternal
/// grandfather died of".
fn relative(text: &str, cue: Span) -> Option<&'static str> {
    let is_joint = |c: char| !c.is_alphanumeric();
    let before = text.get(..cue.start)?.trim_end_matches([' ', '-']);
    let side = before.rsplit(is_joint).next().unwrap_or_default();
    let side = side.to_lowercase();
    let cue = cue.of(text).ok()?.to_lowercase();
    let is_named = |name: &str| side == name || cue.split(is_joint).any(|word| word == name);
    cue.split(is_joint).find_map(|word| {
        let (_, [plain, maternal, paternal]) =
            RELATIVES.iter().find(|(names, _)| names.contains(&word))?;
        let half = HALF.iter().find(|(whole, _)| whole == plain);
        Some(match half.filter(|_| is_named("half")) {
            Some((_, half)) => *half,
            None if is_named("maternal") => *maternal,
            None if is_named("paternal") => *paternal,
            None => *plain,
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn relatives_have_the_codes_of_their_side() {
        for (text, cue, code) in [
            ("her mother had", "mother had", Some("MTH")),
            (
                "Paternal grandfather died of",
                "grandfather died of",
                Some("PGRFTH"),
            ),
            (
                "maternal grandmother",
                "maternal grandmother",
                Some("MGRMTH"),
            ),
            ("PGM with", "PGM", Some("PGRMTH")),
            ("half-brother has", "brother", Some("HBRO")),
            ("a maternal aunt", "maternal aunt", Some("MAUNT")),
            ("maternal side, brother", "brother", Some("BRO")),
            ("a nephew", "nephew", Some("NEPHEW")),
            ("runs in the family", "runs in the family", None),
        ] {
            let start = text.find(cue).expect("the cue is in the text");
            let span = Span::new(start, start + cue.len());
            assert_eq!(relative(text, span), code, "{text}");
        }
    }

    #[test]
    fn what_a_resource_cannot_state_is_said_in_a_note() {
        let context = Context {
            certainty: Certainty::Uncertain,
            temporality: Temporality::Historical,
            ..Context::default()
        };
        assert_eq!(
            unsaid(Kind::Medication, &context),
            ["uncertain", "historical"]
        );
        assert!(unsaid(Kind::Condition, &context).is_empty());
        let refuted = Context {
            negated: true,
            ..context
        };
        assert_eq!(unsaid(Kind::Condition, &refuted), ["historical"]);
    }
}
