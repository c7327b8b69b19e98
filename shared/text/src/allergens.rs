//! Substances that are no drugs and that notes name as allergens: foods, materials, pollen.

use super::Span;
use std::collections::HashSet;
use std::sync::LazyLock;

/// Their names, in lower case, one a line.
const NAMES: &str = include_str!("allergens.txt");
/// The beginnings of words that tell of allergies.
const CUES: [&str; 6] = [
    "allerg",
    "anaphyla",
    "intoleran",
    "hypersensitiv",
    "sensitivit",
    "hives",
];
/// Words behind a substance that name something else with it: "peanut allergy", "egg donor".
const LONGER: [&str; 14] = [
    "allergy",
    "allergies",
    "allergic",
    "intolerance",
    "donor",
    "protein",
    "panel",
    "test",
    "testing",
    "precautions",
    "enhanced",
    "ct",
    "gloves",
    "free",
];
/// Words behind "allergic" that name a disease with it: "allergic rhinitis".
const DISEASES: [&str; 7] = [
    "rhinitis",
    "rhinoconjunctivitis",
    "conjunctivitis",
    "asthma",
    "dermatitis",
    "sinusitis",
    "bronchopulmonary",
];
/// Words behind which a sentence tells of what is eaten: "allergic to eggs but drinks milk".
const ENDING: [&str; 9] = [
    "but",
    "tolerates",
    "tolerated",
    "tolerating",
    "eats",
    "drinks",
    "consumes",
    "enjoys",
    "except",
];
/// Words that begin a line of another subject below a list of allergies.
const OTHERS: [&str; 12] = [
    "diet",
    "nutrition",
    "meds",
    "medications",
    "medication",
    "social",
    "pmh",
    "history",
    "hpi",
    "plan",
    "assessment",
    "exam",
];
/// The most words of a name.
const WORDS: usize = 3;
/// The lines below a heading of allergies that may be its list.
const BELOW: usize = 12;

static KNOWN: LazyLock<HashSet<&str>> = LazyLock::new(|| NAMES.lines().collect());

/// The places where a text names such substances in a sentence or list that tells of allergies, in
/// its order, the longest name of each place. Time is linear in the text.
pub fn find(text: &str) -> Vec<Span> {
    let mut found = Vec::new();
    let (mut start, mut below) = (0, 0);
    for line in text.split_inclusive(['\n', '\r']) {
        let small = line.to_ascii_lowercase();
        let mut first = 0;
        let all = words(&small);
        let is_heading =
            tells(&small, &all) && small.trim_end().ends_with([':', 's']) && all.len() <= WORDS;
        let is_other = all
            .first()
            .is_some_and(|word| OTHERS.contains(&&small[word.start..word.end]));
        below = match () {
            () if is_heading => BELOW,
            () if all.is_empty() || is_other || small.trim_end().ends_with(':') => 0,
            () => below.saturating_sub(1),
        };
        for sentence in small.split_inclusive(['.', '!', '?']) {
            let words = words(sentence);
            if below > 0 || tells(sentence, &words) {
                add(sentence, &words, start + first, &mut found);
            }
            first += sentence.len();
        }
        start += line.len();
    }
    found
}

/// Whether words of a text in lower case tell of an allergy.
fn tells(text: &str, words: &[Span]) -> bool {
    (0..words.len()).any(|at| {
        let word = |at: usize| words.get(at).map(|word| &text[word.start..word.end]);
        let is_cue = |word: &str| CUES.iter().any(|cue| word.starts_with(cue));
        let is_disease = word(at + 1).is_some_and(|next| DISEASES.contains(&next));
        word(at).is_some_and(is_cue) && !is_disease
    })
}

/// The words of a line: letters, digits, and hyphens and apostrophes between them.
fn words(line: &str) -> Vec<Span> {
    let mut words: Vec<Span> = Vec::new();
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '-' | '\'' | '’');
    let mut start = None;
    for (at, c) in line.char_indices().chain([(line.len(), ' ')]) {
        match (is_part(c), start) {
            (true, None) => start = Some(at),
            (false, Some(first)) => {
                words.push(Span::new(first, at));
                start = None;
            }
            _ => {}
        }
    }
    words
}

/// Adds the substances among the words of a sentence, which begins at `start` in the text.
fn add(line: &str, words: &[Span], start: usize, found: &mut Vec<Span>) {
    let is_end = |word: &Span| ENDING.contains(&&line[word.start..word.end]);
    let end = words.iter().position(is_end).unwrap_or(words.len());
    let mut at = 0;
    while at < end {
        let most = WORDS.min(end - at);
        let longest = (1..=most).rev().find(|count| {
            let span = Span::new(words[at].start, words[at + count - 1].end);
            KNOWN.contains(&line[span.start..span.end])
        });
        let Some(count) = longest else {
            at += 1;
            continue;
        };
        let span = Span::new(words[at].start, words[at + count - 1].end);
        let next = words
            .get(at + count)
            .map(|word| &line[word.start..word.end]);
        if next.is_none_or(|next| !LONGER.contains(&next)) {
            found.push(Span::new(start + span.start, start + span.end));
        }
        at += count;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(text: &str) -> Vec<&str> {
        let spans = find(text);
        spans
            .iter()
            .map(|span| &text[span.start..span.end])
            .collect()
    }

    #[test]
    fn substances_are_found_where_allergies_are_told() {
        assert_eq!(
            names("Food allergies: Peanuts, tree nuts and egg."),
            ["Peanuts", "tree nuts", "egg"]
        );
        assert_eq!(
            names("ALLERGIES:\n- shellfish (hives)\n- Latex\n\nDiet: milk, eggs"),
            ["shellfish", "Latex"]
        );
        assert_eq!(
            names("Allergic to cow's milk, but eats eggs."),
            ["cow's milk"]
        );
    }

    #[test]
    fn what_is_eaten_or_named_otherwise_is_left() {
        for text in [
            "Eats eggs and milk.",
            "Peanut allergy.",
            "CT with IV contrast",
            "",
        ] {
            assert!(names(text).is_empty(), "{text}");
        }
    }

    #[test]
    fn the_list_has_small_letters_and_each_name_once() {
        let names: Vec<&str> = NAMES.lines().collect();
        assert!(names.iter().all(|name| *name == name.to_lowercase().trim()));
        assert_eq!(KNOWN.len(), names.len());
        assert!(names.iter().all(|name| words(name).len() <= WORDS));
    }
}
