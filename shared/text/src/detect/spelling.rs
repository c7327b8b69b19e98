//! British spellings of clinical words.

/// Endings of British words with the American ones.
const ENDINGS: [(&str, &str); 9] = [
    ("ise", "ize"),
    ("ised", "ized"),
    ("ises", "izes"),
    ("ising", "izing"),
    ("isation", "ization"),
    ("isations", "izations"),
    ("tre", "ter"),
    ("bre", "ber"),
    ("vre", "ver"),
];

/// Parts of British words with the American ones.
const PARTS: [(&str, &str); 5] = [
    ("ae", "e"),
    ("oe", "e"),
    ("our", "or"),
    ("sulph", "sulf"),
    ("leuco", "leuko"),
];

/// The fewest letters of a word with another spelling.
const SHORTEST: usize = 5;

/// The American spelling of a normalised British word; `None` if it has no other one, or is short
/// or not of the letters a to z. It may be no word ("shoes" becomes "shes"): what is looked up
/// among names must only be found if it is one.
pub(super) fn american(word: &str) -> Option<String> {
    if word.len() < SHORTEST || !word.bytes().all(|b| b.is_ascii_lowercase()) {
        return None;
    }
    let mut american = word.to_owned();
    for (british, own) in PARTS {
        if american.contains(british) {
            american = american.replace(british, own);
        }
    }
    let changed = ENDINGS
        .iter()
        .find_map(|(british, own)| Some(format!("{}{own}", american.strip_suffix(british)?)));
    let american = changed.unwrap_or(american);
    (american != word).then_some(american)
}

/// A text in lower case with its British words in American spelling, which need be no words; `None`
/// if it has none.
pub fn in_american(text: &str) -> Option<String> {
    let mut changed = false;
    let words = text.split_inclusive(|c: char| !c.is_alphanumeric());
    let own: String = words
        .map(|part| {
            let word = part.trim_end_matches(|c: char| !c.is_alphanumeric());
            let lower = word.to_lowercase();
            let own = american(&lower);
            changed |= own.is_some();
            own.unwrap_or(lower) + &part[word.len()..]
        })
        .collect();
    changed.then_some(own)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn british_words_become_american_ones() {
        for (british, expected) in [
            ("tumour", "tumor"),
            ("leukaemia", "leukemia"),
            ("oestrogen", "estrogen"),
            ("oedema", "edema"),
            ("haemorrhoids", "hemorrhoids"),
            ("diarrhoea", "diarrhea"),
            ("oesophagitis", "esophagitis"),
            ("caesarean", "cesarean"),
            ("goitre", "goiter"),
            ("fibre", "fiber"),
            ("manoeuvre", "maneuver"),
            ("cauterisation", "cauterization"),
            ("catheterised", "catheterized"),
            ("sulphasalazine", "sulfasalazine"),
            ("leucocytes", "leukocytes"),
        ] {
            assert_eq!(american(british).as_deref(), Some(expected), "{british}");
        }
        assert_eq!(
            in_american("Pedal oedema, non-haemorrhagic").as_deref(),
            Some("pedal edema, non-hemorrhagic")
        );
        assert_eq!(in_american("Pedal edema"), None);
        for word in ["fever", "toe", "ae", "edema", "four", "ärzte", "b12our", ""] {
            assert_eq!(american(word), None, "{word}");
        }
    }
}
