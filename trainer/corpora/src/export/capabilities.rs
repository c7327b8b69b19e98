//! What each corpus format can store, and counts of what is lost.

use crate::corpus::{CorpusMention, Document};
use pel_kb::Concept;
use pel_terminologies::import::concepts::single_spaced;
use pel_terminologies::import::report::Report;

/// Note on a concept whose words are not separated by single spaces. Importing gives them single
/// spaces.
pub const WIDE: &str = "concept whose texts read back with single spaces";

/// What a format can store besides identifiers, names, texts and spans. None stores synonyms, types
/// and cross-references of concepts, or types of mentions.
#[derive(Clone, Copy, Debug)]
pub struct Capabilities {
    /// Definitions of concepts.
    pub definition: bool,
    /// Number of sources per concept.
    pub sources: usize,
    /// Domains of documents.
    pub domain: bool,
}

/// ZESHEL and BLINK, whose worlds are sources and domains.
pub const ZESHEL_BLINK: Capabilities = Capabilities {
    definition: true,
    sources: 1,
    domain: true,
};
/// WikilinksNED.
pub const WIKILINKS: Capabilities = Capabilities {
    definition: false,
    sources: 0,
    domain: false,
};
impl Capabilities {
    /// Counts what is lost of a concept.
    pub fn concept(&self, concept: &Concept, report: &mut Report) {
        let lost = [
            ("synonyms", !concept.synonyms.is_empty()),
            (
                "types",
                !concept.types.is_empty() || !concept.type_ids.is_empty(),
            ),
            ("cross-references", !concept.xrefs.is_empty()),
            (
                "definition",
                !self.definition && concept.definition.is_some(),
            ),
            (
                "sources (or those after the first)",
                concept.sources.len() > self.sources,
            ),
        ];
        for (what, _) in lost.iter().filter(|(_, lost)| *lost) {
            report.note(&format!("concept's {what}: no place for them"), || {
                concept.id.clone()
            });
        }
        let definition = concept.definition.iter().filter(|_| self.definition);
        if [&concept.name]
            .into_iter()
            .chain(definition)
            .any(|text| *text != single_spaced(text))
        {
            report.note(WIDE, || concept.id.clone());
        }
    }

    /// Counts what is lost of a mention.
    pub fn mention(&self, mention: &CorpusMention, report: &mut Report) {
        if !mention.types.is_empty() || !mention.type_ids.is_empty() {
            let place = || format!("{} {}..{}", mention.doc_id, mention.start, mention.end);
            report.note("mention's types: no place for them", place);
        }
    }

    /// Counts what is lost of a document.
    pub fn document(&self, document: &Document, report: &mut Report) {
        if let Some(domain) = document.domain.as_ref().filter(|_| !self.domain) {
            report.note("document's domain: no place for it", || {
                format!("{} {domain}", document.doc_id)
            });
        }
    }
}
