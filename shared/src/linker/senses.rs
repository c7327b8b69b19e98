//! The senses of short forms that a text does not define, chosen by the words around them, the
//! names that wordings stand for, and names without results, stages and forms of drugs.

use super::Linker;
use crate::kb::ConceptId;
use crate::kb::group::Group;
use crate::text::detect::{Detected, Origin};
use crate::text::modifiers::{without_drug_form, without_result};
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

    /// What a mention names without a result, a count or a stage, or the drug that it names
    /// together with its form, route, strength or frequency; and the concepts of that name. `None`
    /// if the whole mention is a name, or what is left is none, or another thing than a drug.
    pub(super) fn read_in_part<'t>(&self, mention: &'t str) -> Option<(&'t str, Vec<ConceptId>)> {
        let (result, form) = (without_result(mention), without_drug_form(mention));
        if result.or(form).is_none() || !self.named_concepts(mention).is_empty() {
            return None;
        }
        let is_drug = |concept: &ConceptId| {
            let concept = self.concept(*concept);
            concept.is_ok_and(|concept| Group::of(&concept) == Some(Group::Drug))
        };
        let by_result = result.map(|name| (name, self.named_concepts(name)));
        let by_form = form
            .map(|drug| (drug, self.named_concepts(drug)))
            .filter(|(_, named)| named.iter().all(is_drug));
        let has_concept = |(_, named): &(&str, Vec<ConceptId>)| !named.is_empty();
        by_result
            .filter(has_concept)
            .or(by_form.filter(has_concept))
    }
}
