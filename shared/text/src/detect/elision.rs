//! Words that lose their last vowel before another word: "d'asthme", "dell'edema".

/// Such words of French, Italian and Catalan, normalised.
const ELIDED: [&str; 24] = [
    "all", "c", "coll", "d", "dall", "dell", "entr", "j", "jusqu", "l", "lorsqu", "m", "n", "nell",
    "presqu", "puisqu", "qu", "quelqu", "quest", "quoiqu", "s", "sull", "t", "un",
];

/// Whether a normalised word is elided before the apostrophe that `after` follows. Bit i of `upper`
/// is set if character i of the word was upper case. A person's name ("D'Angelo") is one word.
pub(super) fn is_elided(word: &str, upper: u64, after: &str) -> bool {
    let mut letters = after.chars();
    let is_capitalised = letters.next().is_some_and(char::is_uppercase)
        && letters.next().is_some_and(char::is_lowercase);
    let is_person = is_capitalised && upper == 1 && word != "l";
    ELIDED.contains(&word) && !is_person
}

#[cfg(test)]
mod tests {
    use super::super::Origin;
    use super::super::tests::{dictionary, found};
    use super::*;

    #[test]
    fn elided_words_are_in_order() {
        assert!(ELIDED.is_sorted());
    }

    #[test]
    fn names_are_found_behind_an_elided_word() {
        let dictionary = dictionary(
            &[
                ("œdème pulmonaire", &["edema polmonare"]),
                ("alectinib", &["HTA", "embolie"]),
                ("IRM", &["ernia", "insuffisance d'organe", "L'Hermitte"]),
            ],
            "",
        );
        for (text, expected) in [
            ("cure d'alectinib depuis", "alectinib"),
            ("cure d’alectinib depuis", "alectinib"),
            ("L'œdème pulmonaire", "œdème pulmonaire"),
            ("L’Œdème pulmonaire", "Œdème pulmonaire"),
            ("l'oede\u{300}me pulmonaire", "oede\u{300}me pulmonaire"),
            ("PAS D'HTA", "HTA"),
            ("pas d'HTA", "HTA"),
            ("lorsqu'embolie", "embolie"),
            ("jusqu'embolie", "embolie"),
            ("L'IRM montre", "IRM"),
            ("L'Alectinib", "Alectinib"),
            ("dell'edema polmonare", "edema polmonare"),
            ("un'ernia", "ernia"),
            ("une insuffisance d'organe", "insuffisance d'organe"),
            ("signe de l'Hermitte", "l'Hermitte"),
        ] {
            let names = found(&dictionary, text, Origin::Name);
            assert_eq!(names, [expected], "{text}");
        }
    }

    #[test]
    fn other_words_with_an_apostrophe_stay_whole() {
        let dictionary = dictionary(&[("Angelo", &["alectinib"]), ("brien", &["clock"])], "");
        for text in [
            "D'Angelo",
            "O'Brien",
            "o'clock",
            "x'alectinib",
            "d'x'alectinib",
        ] {
            let names = found(&dictionary, text, Origin::Name);
            assert!(names.is_empty(), "{text}: {names:?}");
        }
    }
}
