//! German words whose umlauts are spelt out: "Uebelkeit" for "Übelkeit".

/// The mark that makes an umlaut of the letter before it.
const DIAERESIS: char = '\u{308}';

/// A text with "ae", "oe" and "ue" for its umlauts; `None` if it has none.
pub(crate) fn spelt_out(text: &str) -> Option<String> {
    if text.is_ascii() {
        return None;
    }
    let mut spelt = String::with_capacity(text.len() + 4);
    let mut changed = false;
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        let vowel = match c {
            'ä' => Some('a'),
            'ö' => Some('o'),
            'ü' => Some('u'),
            'Ä' => Some('A'),
            'Ö' => Some('O'),
            'Ü' => Some('U'),
            'a' | 'o' | 'u' | 'A' | 'O' | 'U' => chars.next_if_eq(&DIAERESIS).map(|_| c),
            _ => None,
        };
        spelt.push(vowel.unwrap_or(c));
        if vowel.is_some() {
            spelt.push('e');
            changed = true;
        }
    }
    changed.then_some(spelt)
}

#[cfg(test)]
mod tests {
    use super::super::Origin;
    use super::super::tests::{dictionary, found};
    use super::*;

    #[test]
    fn umlauts_are_spelt_out_in_both_forms() {
        assert_eq!(spelt_out("Übelkeit").as_deref(), Some("Uebelkeit"));
        assert_eq!(
            spelt_out("Lungeno\u{308}dem").as_deref(),
            Some("Lungenoedem")
        );
        assert_eq!(
            spelt_out("Ärzte, Brüche").as_deref(),
            Some("Aerzte, Brueche")
        );
        for text in ["fièvre", "Fuß", "edema", "e\u{308}", ""] {
            assert_eq!(spelt_out(text), None, "{text}");
        }
    }

    #[test]
    fn names_with_umlauts_are_found_in_every_spelling() {
        let names: &[(&str, &[&str])] = &[("Übelkeit", &[]), ("Ödem", &[]), ("Kehlkopfoedem", &[])];
        let dictionary = dictionary(names, "");
        for (text, expected) in [
            ("Uebelkeit seit gestern", "Uebelkeit"),
            ("UEBELKEIT", "UEBELKEIT"),
            ("Ubelkeit", "Ubelkeit"),
            ("U\u{308}belkeit", "U\u{308}belkeit"),
            ("Oedem beidseits", "Oedem"),
            ("ein Kehlkopfödem", "Kehlkopfödem"),
            ("ein Kehlkopfo\u{308}dem", "Kehlkopfo\u{308}dem"),
        ] {
            assert_eq!(found(&dictionary, text, Origin::Name), [expected], "{text}");
        }
    }

    #[test]
    fn other_words_with_two_vowels_stay_as_they_are() {
        let names: &[(&str, &[&str])] = &[("blu", &[]), ("Boing", &[]), ("Bluterguss", &[])];
        let dictionary = dictionary(names, "");
        for text in ["blue", "Boeing", "Blueterguss"] {
            assert!(found(&dictionary, text, Origin::Name).is_empty(), "{text}");
        }
    }
}
