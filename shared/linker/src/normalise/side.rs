//! Findings with a place behind their side ("cellulitis R foot").

use super::{Named, Words};
use crate::linker::Linker;
use pel_kb::ConceptId;
use pel_text::Span;
use pel_text::modifiers::at_side;

/// The ends of adjectives.
const ADJECTIVES: [&str; 7] = ["ic", "al", "ous", "ed", "ive", "ful", "en"];

/// The name that a finding with a place behind its side is another form of, and the concepts of
/// that name: "cellulitis R foot" is cellulitis of the foot, and "AOM L ear" is otitis media.
/// `None` if the mention has no side inside, is a name, or what is before the side is none.
pub(super) fn read(linker: &Linker, words: &Words<'_, '_>) -> Option<Named> {
    let (detected, mention, senses) = (words.detected, words.mention, words.senses);
    let (finding, place) = at_side(mention)?;
    if !detected.fragments.is_empty() || !linker.named_concepts(mention).is_empty() {
        return None;
    }
    let start = detected.span.start;
    let sense = senses.choose(Span::new(start, start + finding.len()));
    let sense = sense.filter(|_| senses.text_of(detected.span) == Some(mention));
    match sense {
        Some(sense) if sense.is_concept => {
            named(linker, &sense.name, place).or_else(|| Some((sense.name.clone(), Vec::new())))
        }
        Some(_) => None,
        None => named(linker, finding, place),
    }
}

/// The name of a finding at a place, or of the finding alone, and the concepts of that name;
/// `None` without one. An adjective is no finding ("hypertrophic left kidney").
pub(super) fn named(linker: &Linker, finding: &str, place: &str) -> Option<Named> {
    let forms = [
        format!("{place} {finding}"),
        format!("{finding} of {place}"),
        format!("{finding} of the {place}"),
        format!("{finding} in {place}"),
    ];
    let with_concepts = |name: String| {
        let concepts = linker.named_concepts(&name);
        (!concepts.is_empty()).then_some((name, concepts))
    };
    forms.into_iter().find_map(with_concepts).or_else(|| {
        if ADJECTIVES.iter().any(|end| finding.ends_with(end)) {
            return None;
        }
        let (name, concepts) = linker
            .read_by_wording(finding)
            .unwrap_or_else(|| (finding, linker.named_concepts(finding)));
        let is_name = !concepts.is_empty() && !is_short_form_alone(linker, finding, &concepts);
        is_name.then(|| (name.to_owned(), concepts))
    })
}

/// Whether a word in small letters is a name of these concepts in capitals alone: "cuts", which
/// is no "CuTS".
fn is_short_form_alone(linker: &Linker, word: &str, concepts: &[ConceptId]) -> bool {
    let has_capitals = |name: &str| name.chars().filter(|c| c.is_uppercase()).count() > 1;
    let concepts = concepts.iter().filter_map(|id| linker.concept(*id).ok());
    let names: Vec<String> = concepts
        .flat_map(|concept| concept.names().map(str::to_owned).collect::<Vec<_>>())
        .filter(|name| name.eq_ignore_ascii_case(word))
        .collect();
    !has_capitals(word) && !names.is_empty() && names.iter().all(|name| has_capitals(name))
}
