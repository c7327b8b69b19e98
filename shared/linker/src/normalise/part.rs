//! Names without a result, a count or a stage, and drugs without their form.

use super::{Named, Words};
use crate::linker::Linker;
use pel_kb::ConceptId;
use pel_kb::group::Group;
use pel_text::modifiers::{without_drug_form, without_last_number, without_result};

/// What a mention names without a result, a count or a stage, or the drug that it names
/// together with its form, route, strength or frequency; and the concepts of that name. `None`
/// if the whole mention is a name, or what is left is none, or another thing than a drug.
pub(super) fn read(linker: &Linker, words: &Words<'_, '_>) -> Option<Named> {
    let (detected, mention) = (words.detected, words.mention);
    let has_values = matches!(detected.group, Some(Group::Measurement | Group::Drug));
    let number = || without_last_number(mention).filter(|_| has_values);
    let result = without_result(mention).or_else(number);
    let form = without_drug_form(mention).map(|drug| without_result(drug).unwrap_or(drug));
    if result.or(form).is_none() || !linker.named_concepts(mention).is_empty() {
        return None;
    }
    let is_drug = |concept: &ConceptId| {
        let concept = linker.concept(*concept);
        concept.is_ok_and(|concept| Group::of(&concept) == Some(Group::Drug))
    };
    let named = |name: &str| match linker.named_concepts(name) {
        named if named.is_empty() => match linker.read_by_wording(name) {
            Some((name, concepts)) => (name.to_owned(), concepts),
            None => (name.to_owned(), named),
        },
        named => (name.to_owned(), named),
    };
    let by_result = result.map(named);
    let by_form = form
        .map(named)
        .filter(|(_, named)| named.iter().all(is_drug));
    let has_concept = |(_, named): &Named| !named.is_empty();
    by_result
        .filter(has_concept)
        .or(by_form.filter(has_concept))
}
