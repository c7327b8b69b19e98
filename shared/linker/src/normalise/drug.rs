//! Brands as the preferred names of their drugs.

use super::{Named, Words};
use crate::linker::Linker;
use pel_kb::group::Group;
use pel_text::detect::{is_common_word, normalise_name};

/// The preferred name of the only drug that a word names ("Jardiance"), if the detector has taken
/// it for a drug, or the word is capitalised and no common one. Its letters tell the encoder
/// little, so the score of a brand would be low.
pub(super) fn read(linker: &Linker, words: &Words<'_, '_>) -> Option<Named> {
    let (detected, mention) = (words.detected, words.mention);
    let is_brand = || mention.starts_with(char::is_uppercase) && !is_common_word(mention);
    if mention.contains(char::is_whitespace) || detected.group != Some(Group::Drug) && !is_brand() {
        return None;
    }
    let named = linker.named_concepts(mention);
    let [only] = named[..] else {
        return None;
    };
    // The output reports a damaged record when it names the concept.
    let concept = linker.concept(only).ok()?;
    let is_other = normalise_name(&concept.name) != normalise_name(mention);
    let is_drug = Group::of(&concept) == Some(Group::Drug);
    (is_drug && is_other).then_some((concept.name, named))
}
