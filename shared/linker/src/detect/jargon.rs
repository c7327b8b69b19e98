//! Words of jargon, which have no other sense in everyday English.

use super::places::is_whole_name;
use crate::bundle::Bundle;
use pel_kb::group::Group;
use pel_text::Span;
use pel_text::detect::{Detected, is_jargon};
use pel_text::modifiers::is_modifier;

/// The fewest letters of a word of which the lists of English tell whether it is jargon.
const LISTED: usize = 6;

/// The characters after which a sentence or an entry of a list begins.
const BEGINNING: [char; 13] = [
    '.', '!', '?', ':', ';', '\n', '\r', '|', '-', '*', '•', ')', ']',
];

/// The letters that a clipped name has in common with the whole one at the beginning, and how many
/// it lacks at least.
const CLIPPED: (usize, usize) = (3, 4);

impl Bundle {
    /// Whether a name has a word of jargon and stands for something else than a body part. A short
    /// one has to be a clipped name of its concept: "chole" of cholecystectomy.
    pub(crate) fn is_jargon_name(&self, text: &str, name: &Detected) -> bool {
        let words = text.get(name.span.start..name.span.end).unwrap_or_default();
        if !is_whole_name(name) || !has_jargon(text, &name.span) {
            return false;
        }
        let mut concepts = self.dictionary.lookup(words).into_iter();
        concepts.any(|id| {
            let Ok(concept) = self.concepts.get(id) else {
                return false;
            };
            let is_clipped = || {
                let start = concept.name.get(..CLIPPED.0).unwrap_or_default();
                concept.name.len() >= words.len() + CLIPPED.1
                    && words.get(..CLIPPED.0) == Some(&start.to_lowercase())
            };
            let group = Group::of(&concept);
            // "Weight-bear as tolerated": words of English beside one that the lists lack.
            let is_named = words.contains(' ');
            let is_problem = matches!(group, Some(Group::Problem | Group::Drug));
            group.is_some_and(|group| !matches!(group, Group::Anatomy | Group::Device))
                && (is_problem || !is_named)
                && (words.len() >= LISTED || is_clipped())
        })
    }
}

/// Whether a span has a word of jargon: it is one, or one of its words is long and one. The capital
/// of a word that begins a sentence is left aside.
pub(crate) fn has_jargon(text: &str, span: &Span) -> bool {
    let (before, _) = text.split_at_checked(span.start).unwrap_or_default();
    let words = text.get(span.start..span.end).unwrap_or_default();
    let begins = before
        .trim_end_matches([' ', '\t'])
        .chars()
        .next_back()
        .is_none_or(|last| BEGINNING.contains(&last));
    let mut small = words.to_owned();
    if begins && let Some(first) = small.get_mut(..1) {
        first.make_ascii_lowercase();
    }
    let mut parts = small.split(' ');
    let is_long = |part: &str| part.len() >= LISTED && !is_modifier(part) && is_jargon(part);
    is_jargon(&small) || parts.any(is_long)
}
