//! Mentions of several words with short forms among them.

use super::{Named, Words, side};
use crate::linker::Linker;
use pel_text::Span;
use pel_text::modifiers::{at_side, is_modifier};

/// A mention of several words with the short forms in it written out: "substernal CP" is
/// substernal chest pain. `None` if it is a name, or has none. Those with which longer names begin
/// ("MRI of the knee") stay unless they are the last word, and so do those of limbs, which say
/// where it is.
pub(super) fn read(linker: &Linker, words: &Words<'_, '_>) -> Option<Named> {
    let (detected, reader) = (words.detected, words.senses);
    let mention = reader.text_of(detected.span)?;
    if !mention.contains(char::is_whitespace) || !linker.named_concepts(mention).is_empty() {
        return None;
    }
    let mut is_written_out = false;
    let words = mention.split_whitespace().map(|word| {
        let start = detected.span.start + (word.as_ptr() as usize - mention.as_ptr() as usize);
        let sense = reader.choose(Span::new(start, start + word.len()));
        let is_last = start + word.len() == detected.span.end;
        let is_known = || !is_last && linker.bundle.dictionary.begins_longer_name(word);
        match sense {
            Some(sense) if sense.is_concept && !is_modifier(word) && !is_known() => {
                is_written_out = true;
                sense.name.as_str()
            }
            _ => word,
        }
    });
    let words: Vec<&str> = words.collect();
    let text = words.join(" ");
    if !is_written_out {
        return None;
    }
    let named = linker.named_concepts(&text);
    if !named.is_empty() {
        return Some((text, named));
    }
    if let Some((name, concepts)) = linker.read_by_wording(&text) {
        return Some((name.to_owned(), concepts));
    }
    let at_side = at_side(&text).and_then(|(finding, place)| side::named(linker, finding, place));
    Some(at_side.unwrap_or((text, named)))
}
