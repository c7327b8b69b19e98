//! What the relations of a mention add to its resource.

use super::codes::{Source, code};
use super::ids;
use super::kind::Kind;
use crate::Note;
use pel_text::relations::{Relation, RelationName};
use serde_json::{Map, Value, json};

/// The resources of a part's records: kind and identifier, `None` for a record without one.
pub(super) type Resources = [Option<(Kind, String)>];

/// Adds the relations of the record number `at`, of which it is source or target, to the fields of
/// its resource.
pub(super) fn add(
    fields: &mut Map<String, Value>,
    note: &Note<'_>,
    source: &Source<'_>,
    at: usize,
    relations: &[Relation],
    resources: &Resources,
) {
    let Some((kind, _)) = &resources[at] else {
        return;
    };
    let reference = |other: usize, kinds: &[Kind]| {
        let (kind, id) = resources[other].as_ref()?;
        let is_kind = kinds.contains(kind);
        is_kind.then(|| json!({ "reference": ids::of(id) }))
    };
    for relation in relations {
        let (name, target) = (relation.name, relation.target);
        let is_source = relation.source == at;
        match (name, kind) {
            (RelationName::Indication, Kind::Medication) if is_source => {
                if let Some(condition) = reference(target, &[Kind::Condition]) {
                    append(fields, "reasonReference", condition);
                    // The words of the reason are those of the condition.
                    fields.remove("reasonCode");
                }
            }
            (RelationName::Cause, Kind::Condition) if is_source => {
                let cause = match reference(target, &[Kind::Condition, Kind::Procedure]) {
                    Some(cause) => json!({ "url": DUE_TO, "valueReference": cause }),
                    None => {
                        let cause = code(note, source, &note.records[target]);
                        json!({ "url": DUE_TO, "valueCodeableConcept": cause })
                    }
                };
                append(fields, "extension", cause);
            }
            (RelationName::Site, Kind::Condition | Kind::Procedure | Kind::Plan) if is_source => {
                append(
                    fields,
                    "bodySite",
                    code(note, source, &note.records[target]),
                );
            }
            (RelationName::Finding | RelationName::Excludes, Kind::Condition) if !is_source => {
                let kinds = [Kind::Procedure, Kind::Measurement, Kind::Observation];
                if let Some(examination) = reference(relation.source, &kinds) {
                    append(fields, "evidence", json!({ "detail": [examination] }));
                }
            }
            _ => {}
        }
    }
}

/// FHIR's extension for the cause of a condition.
const DUE_TO: &str = "http://hl7.org/fhir/StructureDefinition/condition-dueTo";

/// Adds a value to a list.
fn append(fields: &mut Map<String, Value>, name: &str, value: Value) {
    match fields.get_mut(name) {
        Some(Value::Array(all)) => all.push(value),
        _ => {
            fields.insert(name.to_owned(), json!([value]));
        }
    }
}
