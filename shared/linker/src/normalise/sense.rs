//! Short forms whose sense the words around them show.

use super::{Named, Words};
use crate::linker::Linker;
use pel_kb::ConceptId;
use pel_text::Span;
use pel_text::modifiers::{without_drug_form, without_modifiers, without_result};

/// The long form of a short form that the words around it show, and the concepts of that name: of
/// these, those that bear the short form too, if there are some. Results, and words of side and
/// severity, may be beside it ("HD x2", "severe MR"). `None` if the text does not tell its senses
/// apart, or the knowledge base has no concept of that name.
pub(super) fn read(linker: &Linker, words: &Words<'_, '_>) -> Option<Named> {
    let start_of_mention = words.detected.span.start;
    let mention = words.senses.text_of(words.detected.span)?;
    let drug = || without_drug_form(mention).map(|drug| without_result(drug).unwrap_or(drug));
    let forms = [
        Some(mention),
        without_result(mention),
        without_modifiers(mention),
        drug(),
    ];
    // A form is a part of the mention.
    let sense_of = |form: &'_ str| {
        let start = start_of_mention + (form.as_ptr() as usize - mention.as_ptr() as usize);
        let sense = words.senses.choose(Span::new(start, start + form.len()))?;
        Some((form.to_owned(), sense))
    };
    let (form, sense) = forms.into_iter().flatten().find_map(sense_of)?;
    let named = linker.named_concepts(&sense.name);
    if !sense.is_concept || named.is_empty() {
        return None;
    }
    let bearers = linker.named_concepts(&form);
    let both: Vec<ConceptId> = named
        .iter()
        .copied()
        .filter(|concept| bearers.binary_search(concept).is_ok())
        .collect();
    Some((
        sense.name.clone(),
        if both.is_empty() { named } else { both },
    ))
}
