//! Which reaction belongs to which allergen.

use super::{Related, Relation, RelationName, is};
use crate::context::{Allergy, Certainty};

/// The reactions of allergens.
///
/// A reaction belongs to an allergen of its line if nothing but a word such as "to" is between
/// them ("anaphylaxis to ceftriaxone"), or else to the last one before it, unless an entry of the
/// list ends in between: a bracket that is closed, a semicolon or the end of a sentence.
pub(super) fn find(text: &str, mentions: &[Related<'_>]) -> Vec<Relation> {
    let between = |one: usize, two: usize| {
        let gap = mentions[one].span.end..mentions[two].span.start;
        text.get(gap).unwrap_or_default()
    };
    // The next allergen behind each mention.
    let mut behind = vec![None; mentions.len()];
    let mut next = None;
    for at in (0..mentions.len()).rev() {
        behind[at] = next;
        if is(&mentions[at], Allergy::Allergen) {
            next = Some(at);
        }
    }
    let mut found = Vec::new();
    let mut before: Option<usize> = None;
    for (at, mention) in mentions.iter().enumerate() {
        if is(mention, Allergy::Allergen) {
            before = Some(at);
        }
        let context = mention.context;
        let is_stated = !context.negated && context.certainty == Certainty::Certain;
        if !is(mention, Allergy::Reaction) || !is_stated {
            continue;
        }
        let next = behind[at].filter(|next| joins(between(at, *next)));
        let last = before.filter(|last| within_entry(between(*last, at)));
        if let Some(source) = next.or(last) {
            found.push(Relation {
                source,
                target: at,
                name: RelationName::Reaction,
            });
        }
    }
    found
}

/// The words between a reaction and its allergen.
const JOINTS: [&str; 16] = [
    "to", "with", "from", "after", "on", "when", "taking", "the", "due", "auf", "nach", "bei", "à",
    "aux", "a", "con",
];

/// Whether a text has a word between reaction and allergen, and no others.
fn joins(text: &str) -> bool {
    let mut words = text.split_whitespace().peekable();
    !text.contains('\n')
        && words.peek().is_some()
        && words.all(|word| JOINTS.contains(&word.to_lowercase().as_str()))
}

/// Whether a text stays within the entry of a list.
fn within_entry(text: &str) -> bool {
    let mut depth = 0usize;
    for (at, c) in text.char_indices() {
        match c {
            '\n' | '\r' | ';' => return false,
            '(' | '[' => depth += 1,
            ')' | ']' if depth < 2 => return false,
            ')' | ']' => depth -= 1,
            '.' if text[at + 1..].starts_with(char::is_whitespace) => return false,
            _ => {}
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reactions_stay_within_the_entry_of_their_allergen() {
        for text in [" (", " - ", " -> ", " caused ", " (rash, ", " | ", ": "] {
            assert!(within_entry(text), "{text:?}");
        }
        for text in ["; ", " (rash), ", ". He has ", "\n", "), "] {
            assert!(!within_entry(text), "{text:?}");
        }
        assert!(joins(" to ") && joins(" due to the "));
        assert!(!joins(" ") && !joins(", ") && !joins(" and ") && !joins(" to\n"));
    }
}
