//! Paraphrases of names, and jargon.

use super::Passes;
use super::places::highest_ends;
use super::spans::{crosses_entry, is_small_letter};
use pel_text::detect::{Detected, Origin, is_jargon};

/// The number of words from which on a wording is a mention whatever the detector says: what
/// patients say ("bringing up blood") is unlike the notes of the training, and has no other sense.
/// So is a word of jargon ("appy").
const PHRASE: usize = 3;

/// Adds paraphrases and names of jargon, whatever the detector says of them.
pub(crate) fn add(passes: &Passes<'_>, detected: Vec<Detected>) -> Vec<Detected> {
    let text = passes.text;
    let admits =
        |found: &Detected| passes.barriers.admit(&found.span) && !crosses_entry(text, &found.span);
    let mut wordings: Vec<Detected> = passes.wordings.to_vec();
    wordings.retain(|wording| {
        let words = wording.span.of(text).unwrap_or_default();
        let is_phrase = words.split_whitespace().count() >= PHRASE;
        (is_jargon(words) || is_phrase || is_slashed(words)) && admits(wording)
    });
    let jargon = passes.names.iter();
    let jargon = jargon.filter(|name| passes.bundle.is_jargon_name(text, name) && admits(name));
    wordings.extend(jargon.cloned());
    wordings.sort_unstable();
    add_wordings(detected, wordings, passes.overlapping).0
}

/// Adds wordings to names, both in the order of the text, and returns all and the wordings that
/// were added. A wording replaces unknown terms and, unless mentions may overlap, the names inside
/// it. It is left out if it is a name, or crosses one or is in one.
pub(crate) fn add_wordings(
    names: Vec<Detected>,
    wordings: Vec<Detected>,
    overlapping: bool,
) -> (Vec<Detected>, Vec<Detected>) {
    if wordings.is_empty() {
        return (names, wordings);
    }
    let ends = highest_ends(names.iter().map(|name| &name.span));
    let (mut lost, mut added) = (vec![false; names.len()], Vec::new());
    for wording in wordings {
        let span = wording.span;
        let first = ends.partition_point(|end| *end <= span.start);
        let beside: Vec<usize> = (first..names.len())
            .take_while(|at| names[*at].span.start < span.end)
            .filter(|at| names[*at].overlaps(&wording))
            .collect();
        let is_unknown = |at: &usize| names[*at].origin == Origin::UnknownTerm;
        let fits = |at: &usize| {
            let name = names[*at].span;
            let is_inside = span.start <= name.start && name.end <= span.end;
            is_unknown(at) || name != span && (overlapping || is_inside)
        };
        if beside.iter().all(fits) {
            let replaced = beside.iter().filter(|at| !overlapping || is_unknown(at));
            replaced.for_each(|at| lost[*at] = true);
            added.push(wording);
        }
    }
    let kept = names.into_iter().zip(lost).filter(|(_, lost)| !lost);
    let mut all: Vec<Detected> = kept.map(|(name, _)| name).collect();
    all.extend(added.iter().cloned());
    all.sort_unstable();
    (all, added)
}

/// Whether a wording is small letters with slashes between them: "n/v/d".
fn is_slashed(words: &str) -> bool {
    words.contains('/') && words.split('/').all(is_small_letter)
}

#[cfg(test)]
mod tests {
    use super::*;
    use pel_text::Span;

    /// "throwing up blood" is a wording, "blood" and "throwing up" are names.
    #[test]
    fn a_wording_replaces_the_names_inside_it() {
        let at = |start: usize, end: usize| Detected::new(Span::new(start, end), Origin::Name);
        let term = Detected::new(Span::new(30, 42), Origin::UnknownTerm);
        let names = || vec![at(0, 11), at(12, 17), at(20, 28), term.clone()];
        let (wording, jargon) = (at(0, 17), at(30, 42));
        for (overlapping, wordings, all, added) in [
            (
                false,
                vec![wording.clone(), jargon.clone()],
                vec![wording.clone(), at(20, 28), jargon.clone()],
                vec![wording.clone(), jargon.clone()],
            ),
            (
                true,
                vec![wording.clone(), jargon.clone()],
                vec![
                    at(0, 11),
                    wording.clone(),
                    at(12, 17),
                    at(20, 28),
                    jargon.clone(),
                ],
                vec![wording, jargon],
            ),
            // A name, a part of one, and one that crosses a name.
            (
                false,
                vec![at(0, 11), at(21, 28), at(26, 33)],
                names(),
                vec![],
            ),
            (false, vec![], names(), vec![]),
        ] {
            assert_eq!(add_wordings(names(), wordings, overlapping), (all, added));
        }
    }

    #[test]
    fn small_letters_with_slashes_are_short_forms() {
        assert!(is_slashed("n/v") && is_slashed("n/v/d"));
        assert!(!is_slashed("nv") && !is_slashed("N/V") && !is_slashed("nausea/vomiting"));
    }
}
