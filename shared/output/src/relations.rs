//! The relations between the records of a note.

use super::Note;
use pel_text::relations::{Related, Relation, RelationRules};

/// The relations of a note's records, by the rules of English, in the order of their sources. The
/// numbers are those of the records.
pub fn relations(note: &Note<'_>) -> Vec<Relation> {
    let mentions = note.records.iter().map(|record| Related {
        span: record.span,
        group: record.group_of_concept(),
        context: &record.context,
        attributes: record.attributes.iter().map(|one| one.span).collect(),
    });
    let mentions: Vec<Related<'_>> = mentions.collect();
    RelationRules::english().find(note.text, &mentions)
}

/// The relations of each record, which is their source.
pub(super) fn by_source(note: &Note<'_>) -> Vec<Vec<Relation>> {
    let mut of = vec![Vec::new(); note.records.len()];
    for relation in relations(note) {
        of[relation.source].push(relation);
    }
    of
}
