//! What a form has room for, and counts of what it has not.

use crate::data::corpus::{CorpusMention, Document};
use pel_shared::kb::Concept;
use pel_shared::kb::import::concepts::single_spaced;
use pel_shared::kb::import::report::Report;

/// The reason under which a concept is noted in whose texts words are not parted by single spaces: importing gives them these.
pub const WIDE: &str = "concept whose texts read back with single spaces";

/// What a form has room for beside identifiers, names, texts and spans.
#[derive(Clone, Copy, Debug)]
pub struct Room {
    /// Concepts' synonyms, types and cross-references.
    pub details: bool,
    /// Concepts' definitions.
    pub definition: bool,
    /// How many sources of a concept.
    pub sources: usize,
    /// How many types of a mention.
    pub mention_types: usize,
    /// Documents' domains.
    pub domain: bool,
}

/// ZESHEL and BLINK: a source and a domain are a world.
pub const WORLDS: Room = Room { details: false, definition: true, sources: 1, mention_types: 0, domain: true };
/// WikilinksNED.
pub const WORDS: Room = Room { details: false, definition: false, sources: 0, mention_types: 0, domain: false };
/// TAC-KBP: facts hold everything.
pub const TASK: Room = Room { details: true, definition: true, sources: usize::MAX, mention_types: 1, domain: false };

impl Room {
    /// Counts what of a concept is lost.
    pub fn concept(&self, concept: &Concept, report: &mut Report) {
        let lost = [
            ("synonyms", !self.details && !concept.synonyms.is_empty()),
            ("types", !self.details && (!concept.types.is_empty() || !concept.type_ids.is_empty())),
            ("cross-references", !self.details && !concept.xrefs.is_empty()),
            ("definition", !self.definition && concept.definition.is_some()),
            ("sources (or those after the first)", concept.sources.len() > self.sources),
        ];
        for (what, _) in lost.iter().filter(|(_, lost)| *lost) {
            report.note(&format!("concept's {what}: no place for them"), || concept.id.clone());
        }
        let synonyms = concept.synonyms.iter().filter(|_| self.details);
        let definition = concept.definition.iter().filter(|_| self.definition);
        if [&concept.name].into_iter().chain(synonyms).chain(definition).any(|text| *text != single_spaced(text)) {
            report.note(WIDE, || concept.id.clone());
        }
    }

    /// Counts what of a mention is lost.
    pub fn mention(&self, mention: &CorpusMention, report: &mut Report) {
        if mention.types.len() > self.mention_types || !mention.type_ids.is_empty() {
            let place = || format!("{} {}..{}", mention.doc_id, mention.start, mention.end);
            report.note("mention's types (or some): no place for them", place);
        }
    }

    /// Counts what of a document is lost.
    pub fn document(&self, document: &Document, report: &mut Report) {
        if let Some(domain) = document.domain.as_ref().filter(|_| !self.domain) {
            report.note("document's domain: no place for it", || format!("{} {domain}", document.doc_id));
        }
    }
}
