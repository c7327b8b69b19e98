//! The senses of short forms that a text does not define, chosen by the words around them, and the
//! names that wordings stand for.

use super::Linker;
use crate::kb::ConceptId;
use crate::text::detect::{Detected, Origin};
use crate::text::senses::{SenseReader, Senses};

impl Linker {
    /// Leaves out detected short forms that stand for no concept here: "97 % on RA" is room air.
    pub(super) fn without_other_words(
        &self,
        text: &str,
        mut found: Vec<Detected>,
    ) -> Vec<Detected> {
        let reader = Senses::english().reader(text);
        found.retain(|detected| {
            detected.origin == Origin::Given
                || reader
                    .choose(detected.span)
                    .is_none_or(|sense| sense.is_concept)
        });
        found
    }

    /// The long form of a short form that the words around it show, and the concepts of that name:
    /// of these, those that bear the short form too, if there are some. `None` if the text does not
    /// tell its senses apart, or the knowledge base has no concept of that name.
    pub(super) fn read_by_sense<'t>(
        &self,
        detected: &Detected,
        reader: &SenseReader<'t>,
    ) -> Option<(&'t str, Vec<ConceptId>)> {
        let sense = reader.choose(detected.span)?;
        let named = self.named_concepts(&sense.name);
        if !sense.is_concept || named.is_empty() {
            return None;
        }
        let bearers = self.named_concepts(reader.text_of(detected.span)?);
        let both: Vec<ConceptId> = named
            .iter()
            .copied()
            .filter(|concept| bearers.binary_search(concept).is_ok())
            .collect();
        Some((&sense.name, if both.is_empty() { named } else { both }))
    }

    /// The name that a mention is a wording of, and the concepts of all such names in ascending
    /// order: if the mention is itself a name, those that bear it. `None` if it is a name of other
    /// concepts alone, or no wording of a name of the knowledge base.
    pub(super) fn read_by_wording(&self, mention: &str) -> Option<(&str, Vec<ConceptId>)> {
        let mut bearers = self.bundle.dictionary.lookup(mention);
        bearers.extend(self.added.named(mention));
        let (mut first, mut concepts) = (None, Vec::new());
        for name in self.bundle.wordings().names_of(mention) {
            let mut named = self.named_concepts(name);
            named.retain(|concept| bearers.is_empty() || bearers.contains(concept));
            if !named.is_empty() {
                first = first.or(Some(name));
                concepts.extend(named);
            }
        }
        concepts.sort_unstable();
        concepts.dedup();
        Some((first?, concepts))
    }
}
