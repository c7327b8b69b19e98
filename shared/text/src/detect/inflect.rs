//! Plural and singular forms of English words, and of Latin and Greek words in clinical text.

/// Pairs of singular and plural endings.
const ENDINGS: [(&str, &str); 12] = [
    ("", "s"),
    ("s", "ses"),
    ("x", "xes"),
    ("h", "hes"),
    ("y", "ies"),
    ("is", "es"),
    ("a", "ae"),
    ("us", "i"),
    ("um", "a"),
    ("on", "a"),
    ("ma", "mata"),
    ("ix", "ices"),
];

/// Calls `with(stem, ending)` for each possible plural or singular of a normalised word. Words with
/// fewer than 4 letters, digits, or letters beyond a-z have none.
pub(super) fn other_numbers<'w>(word: &'w str, mut with: impl FnMut(&'w str, &'static str)) {
    const MIN_STEM: usize = 3;
    if word.len() <= MIN_STEM || !word.bytes().all(|b| b.is_ascii_lowercase()) {
        return;
    }
    for (singular, plural) in ENDINGS {
        for (from, to) in [(plural, singular), (singular, plural)] {
            let Some(stem) = word
                .strip_suffix(from)
                .filter(|stem| stem.len() >= MIN_STEM)
            else {
                continue;
            };
            // "abscess" is no plural, and no word ends in "sss".
            let doubled = from.is_empty() != to.is_empty() && stem.ends_with('s');
            if !doubled {
                with(stem, to);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn others(word: &str) -> Vec<String> {
        let mut found = Vec::new();
        other_numbers(word, |stem, ending| found.push(format!("{stem}{ending}")));
        found
    }

    #[test]
    fn plural_and_singular_are_found_from_each_other() {
        for (singular, plural) in [
            ("headache", "headaches"),
            ("abscess", "abscesses"),
            ("reflex", "reflexes"),
            ("rash", "rashes"),
            ("biopsy", "biopsies"),
            ("diagnosis", "diagnoses"),
            ("vertebra", "vertebrae"),
            ("thrombus", "thrombi"),
            ("bacterium", "bacteria"),
            ("ganglion", "ganglia"),
            ("carcinoma", "carcinomata"),
            ("appendix", "appendices"),
        ] {
            assert!(
                others(singular).contains(&plural.to_owned()),
                "{singular}: {:?}",
                others(singular)
            );
            assert!(
                others(plural).contains(&singular.to_owned()),
                "{plural}: {:?}",
                others(plural)
            );
        }
    }

    #[test]
    fn short_words_and_codes_have_no_other_number() {
        assert!(
            ["ms", "has", "b12s", "fièvres", ""]
                .into_iter()
                .all(|word| others(word).is_empty())
        );
        assert!(!others("abscess").contains(&"absces".to_owned()));
    }
}
