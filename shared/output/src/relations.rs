//! The relations between the records of a note.

use super::Record;
use pel_text::attributes::{AttributeName, Value};
use pel_text::relations::{Related, Relation, RelationRules};

/// The relations of the records of a text, which are in its order, by the rules of English. They are
/// in the order of their sources; the numbers are those of the records.
pub fn relations(text: &str, records: &[Record]) -> Vec<Relation> {
    let mentions = records.iter().map(|record| Related {
        span: record.span,
        group: record.group_of_concept(),
        context: &record.context,
        attributes: record.attributes.iter().map(|one| one.span).collect(),
        indications: record
            .attributes_named(AttributeName::Indication)
            .map(|one| one.span)
            .collect(),
        stopped: is_stopped(record),
    });
    let mentions: Vec<Related<'_>> = mentions.collect();
    RelationRules::english().find(text, &mentions)
}

/// Whether a record is a drug that is stopped or held.
fn is_stopped(record: &Record) -> bool {
    let mut all = record.attributes_named(AttributeName::Status);
    all.any(|one| matches!(&one.value, Some(Value::Text(text)) if text == "stop" || text == "hold"))
}

/// The relations of each record, which is their source.
pub(super) fn by_source(text: &str, records: &[Record]) -> Vec<Vec<Relation>> {
    let mut of = vec![Vec::new(); records.len()];
    for relation in relations(text, records) {
        of[relation.source].push(relation);
    }
    of
}
