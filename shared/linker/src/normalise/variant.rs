//! Other forms of names: American spellings and regular variants.
//!
//! The dictionary knows a British spelling as a name, but the encoder gives it a lower score than
//! the American one: in one text "haemophagocytosis" had a probability of 25 % instead of 93 %.

use super::{Named, Words};
use crate::linker::Linker;
use pel_text::detect::in_american;
use pel_text::variants::variants;

/// The name that a mention is another form of ([`read_words`]).
pub(super) fn read(linker: &Linker, words: &Words<'_, '_>) -> Option<Named> {
    read_words(linker, words.mention)
}

/// The name that a mention is another form of, and the concepts of that name: its American
/// spelling, which the encoder knows better, or one of its [`variants`]. `None` if the mention
/// is a name as it stands, or no variant is one.
pub(super) fn read_words(linker: &Linker, mention: &str) -> Option<Named> {
    let is_name = |text: &str| {
        !linker.bundle.dictionary.lookup(text).is_empty() || !linker.added.named(text).is_empty()
    };
    if is_name(mention) {
        return None;
    }
    let name = match in_american(mention).filter(|own| is_name(own)) {
        Some(american) => american,
        None if !linker.named_concepts(mention).is_empty() => return None,
        None => variants(mention)
            .into_iter()
            .find(|variant| is_name(variant))?,
    };
    let concepts = linker.named_concepts(&name);
    Some((name, concepts))
}
