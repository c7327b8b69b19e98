//! Drugs whose names were cut at a fixed width, as exports of pharmacies do: "HYDROCHLOROTH".

use super::{Named, Words};
use crate::linker::Linker;
use pel_kb::ConceptId;
use pel_kb::group::Group;

/// A word with fewer letters may be an abbreviation, or a brand that the knowledge base lacks.
const FEWEST_LETTERS: usize = 9;

/// The preferred name of the only drug with a name of one word that begins with a mention.
pub(super) fn read(linker: &Linker, words: &Words<'_, '_>) -> Option<Named> {
    let letters = words.mention.strip_suffix('.').unwrap_or(words.mention);
    let is_cut = letters.len() >= FEWEST_LETTERS
        && letters.bytes().all(|byte| byte.is_ascii_alphabetic())
        && words.detected.group == Some(Group::Drug)
        && linker.named_concepts(letters).is_empty();
    let begun = is_cut.then(|| linker.bundle.dictionary.begun_by(letters, 1))??;
    let [only]: [ConceptId; 1] = begun.try_into().ok()?;
    // The output reports a damaged record when it names the concept.
    let concept = linker.concept(only).ok()?;
    let is_drug = Group::of(&concept) == Some(Group::Drug);
    is_drug.then(|| {
        let concepts = linker.named_concepts(&concept.name);
        (concept.name, concepts)
    })
}
