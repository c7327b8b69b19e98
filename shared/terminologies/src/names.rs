//! The names of a concept: which variants are kept.

use crate::import::concepts::single_spaced;
use crate::import::report::Report;
use pel_kb::Concept;
use std::collections::HashSet;

/// The note on a synonym that another name of the concept equals but for its case.
pub const CASE_VARIANT: &str = "synonym that differs in case only left out";
/// The note on a synonym of one character.
pub const ONE_CHARACTER: &str = "synonym of one character left out";

/// Names of at most this many characters are compared with their case: "AIDS" and "aids" are two
/// names.
const SHORT: usize = 5;

/// Removes synonyms that an earlier name of the concept equals, without regard to case if they have
/// more than 5 characters, and synonyms of one character. `place` is the concept's location.
pub fn once_each(concept: &mut Concept, report: &mut Report, place: &impl Fn() -> String) {
    let id = &concept.id;
    let mut seen = HashSet::new();
    let folded = |name: &str| match name.chars().nth(SHORT) {
        Some(_) => name.to_lowercase(),
        None => name.to_owned(),
    };
    seen.insert(folded(&single_spaced(&concept.name)));
    let mut kept = HashSet::from([concept.name.clone()]);
    concept.synonyms.retain(|name| {
        // `tidied` counts and removes blank names and exact duplicates of kept ones.
        if name.trim().is_empty() || kept.contains(name) {
            return true;
        }
        let spaced = single_spaced(name);
        let mut drop = |reason| {
            report.note(reason, || format!("{name:?} of {id} at {}", place()));
            false
        };
        match () {
            () if spaced.chars().nth(1).is_none() => drop(ONE_CHARACTER),
            () if !seen.insert(folded(&spaced)) => drop(CASE_VARIANT),
            () => kept.insert(name.clone()),
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn case_variants_and_single_characters_are_left_out() {
        let mut report = Report::default();
        let mut concept = Concept {
            id: "C1".into(),
            name: "Iron".into(),
            synonyms: [
                "Fe",
                "fe",
                "IRON SUPPLEMENT",
                "Iron supplement",
                "I",
                "I",
                "Fe",
                "Iron supplement",
                "iron",
                "ÉTAT FER",
                "état fer",
            ]
            .map(str::to_owned)
            .to_vec(),
            ..Concept::default()
        };
        once_each(&mut concept, &mut report, &|| "a:1".to_owned());
        assert_eq!(
            concept.synonyms,
            ["Fe", "fe", "IRON SUPPLEMENT", "Fe", "iron", "ÉTAT FER"]
        );
        assert_eq!(
            (report.noted[CASE_VARIANT], report.noted[ONE_CHARACTER]),
            (3, 2)
        );
    }
}
