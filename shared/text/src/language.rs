//! The language of a text, by its function words.

use std::collections::HashSet;

/// A language whose function words are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Language {
    /// English.
    English,
    /// German.
    German,
    /// French.
    French,
    /// Spanish.
    Spanish,
    /// Italian.
    Italian,
    /// Portuguese.
    Portuguese,
    /// Dutch.
    Dutch,
}

/// The function words of each language: frequent in every text, and not in English notes.
const WORDS: [(Language, &str); 7] = [
    (
        Language::English,
        "a and are as at been but by for from had has have he her his in is it no not of on or she \
         that the this to was were which with without",
    ),
    (
        Language::German,
        "aber auch auf aus bei beim bis das dem den der die durch ein eine einem einen einer eines \
         für hat ihr im ist keine kein mit nach nicht noch oder ohne seit sich sie sind sowie über \
         und unter vom von vor war wegen werden wird wurde wurden zu zum zur zwischen",
    ),
    (
        Language::French,
        "au aucun aucune aux avec cette chez dans depuis des du elle en est et il la le les leur \
         lors mais mois ne nous ou où par pas plus pour qui sa sans ses son sont sous sur une \
         été était",
    ),
    (
        Language::Spanish,
        "al ante con del desde donde el en entre es está fue ha hace hasta la las lo los más niega \
         no para pero por que refiere se sin sobre su sus también tras un una y ya",
    ),
    (
        Language::Italian,
        "ai al alla che con da dal dalla dei del della delle di e gli ha il in la le nel nella non \
         per più senza si sono stata stato su una uno è",
    ),
    (
        Language::Portuguese,
        "ao as com da das de do dos e em foi há mais na nas no nos não o os ou para pela pelo por \
         que se sem seu sua também um uma é à",
    ),
    (
        Language::Dutch,
        "aan bij dat de deze die door een en er geen geleden heeft het hij ik is maar met naar \
         niet nog om onder ook op over sinds te tegen tot uit van voor was werd wordt zij zonder zijn",
    ),
];

/// The words of a text that are read at most.
const MOST_WORDS: usize = 2_000;
/// The fewest words of a text whose language is told.
const LEAST_WORDS: usize = 25;
/// The fewest different function words of the language.
const LEAST_DIFFERENT: usize = 6;
/// The share of function words in prose, of the words of a text.
const SHARE: f32 = 0.2;
/// How many times as many function words the language has as any other one that is not like it.
const MARGIN: f32 = 1.2;
/// The same against English, whose words are in few texts of other languages.
const MARGIN_TO_ENGLISH: f32 = 3.0;

impl Language {
    /// Its name in English.
    pub fn name(self) -> &'static str {
        match self {
            Self::English => "English",
            Self::German => "German",
            Self::French => "French",
            Self::Spanish => "Spanish",
            Self::Italian => "Italian",
            Self::Portuguese => "Portuguese",
            Self::Dutch => "Dutch",
        }
    }

    /// The language of a text in prose; `None` for short texts, and for tables, lists and notes in
    /// telegraphic style, which have few function words. Time is linear in the text.
    pub fn of(text: &str) -> Option<Self> {
        let words = words(text);
        if words.len() < LEAST_WORDS {
            return None;
        }
        let counts = counts(&words);
        let best = counts
            .iter()
            .max_by(|one, other| one.1.total_cmp(&other.1))?;
        let (language, count, different) = *best;
        let is_clear = counts.iter().all(|(other, others, _)| {
            let margin = match *other == Self::English {
                true => MARGIN_TO_ENGLISH,
                false => MARGIN,
            };
            *other == language || count >= margin * others
        });
        let is_prose = count >= SHARE * words.len() as f32 && different >= LEAST_DIFFERENT;
        (is_prose && is_clear).then_some(language)
    }
}

/// The first words of a text, in lower case.
fn words(text: &str) -> Vec<String> {
    let words = text.split(|c: char| !c.is_alphabetic());
    let words = words.filter(|word| !word.is_empty()).take(MOST_WORDS);
    words.map(str::to_lowercase).collect()
}

/// How many of the words are function words of each language, and how many different ones.
fn counts(words: &[String]) -> [(Language, f32, usize); WORDS.len()] {
    WORDS.map(|(language, list)| {
        let list: HashSet<&str> = list.split_whitespace().collect();
        let found = words.iter().filter(|word| list.contains(word.as_str()));
        let count = found.clone().count() as f32;
        let different: HashSet<&String> = found.collect();
        (language, count, different.len())
    })
}

/// Function words of other languages that English notes have: "5 mg per day", "de novo".
const IN_ENGLISH: &str = "per de en al la le las el con die hat also am da do es il me op over par \
                          un van war y em os et te";

/// Whether a text, short ones too, has more function words of another language than of English.
pub fn is_foreign(text: &str) -> bool {
    let mut words = words(text);
    let english = counts(&words)[0].1;
    words.retain(|word| !IN_ENGLISH.split_whitespace().any(|known| known == word));
    let [_, others @ ..] = counts(&words);
    others.into_iter().any(|(_, count, _)| count > english)
}

/// Whether a word that is not in capitals is a function word of a language.
pub fn is_function_word(word: &str) -> bool {
    let is_small = word.chars().skip(1).all(char::is_lowercase);
    let word = word.to_lowercase();
    let is_in = |list: &str| list.split_whitespace().any(|known| known == word);
    is_small && WORDS.iter().any(|(_, list)| is_in(list))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_texts_of_other_languages_are_foreign() {
        for text in [
            "Pneumonie nicht ausgeschlossen.",
            "No se descarta neumonía.",
            "Pas de fièvre",
        ] {
            assert!(is_foreign(text), "{text}");
        }
        for text in [
            "No fever.",
            "Seen in the ER for chest pain.",
            "",
            "Sodium 140",
            "Metoprolol 25 mg per day, MDS de novo, En bloc resection",
        ] {
            assert!(!is_foreign(text), "{text}");
        }
    }

    #[test]
    fn the_language_of_prose_is_told() {
        for (language, text) in [
            (
                Language::English,
                "The patient was admitted with a fever and a cough for three days. He has no chest \
                 pain, and the examination of the lungs was normal on the day of admission.",
            ),
            (
                Language::German,
                "Die Patientin wurde mit Fieber und Husten aufgenommen. Seit drei Tagen bestehen \
                 auch Schmerzen in der linken Schulter, die nach einem Sturz von der Leiter nicht \
                 besser wurden.",
            ),
            (
                Language::French,
                "La patiente est venue aux urgences pour une fièvre depuis trois jours, sans \
                 douleur de la poitrine. Elle ne prend pas de traitement et son état est stable \
                 avec une toux.",
            ),
            (
                Language::Spanish,
                "Paciente que acude a urgencias por fiebre desde hace tres días, sin dolor en el \
                 pecho. Niega tos y refiere que no ha tomado los fármacos para la tensión por la \
                 noche.",
            ),
            (
                Language::Italian,
                "La paziente è stata ricoverata per febbre e tosse da tre giorni, senza dolore al \
                 torace. Non ha allergie, e gli esami del sangue sono nella norma con una lieve \
                 anemia.",
            ),
            (
                Language::Portuguese,
                "O doente foi admitido por febre e tosse há três dias, sem dor no peito. Não tem \
                 alergias e os exames da urina são normais, com uma anemia que se mantém na \
                 consulta.",
            ),
            (
                Language::Dutch,
                "De patiënt werd opgenomen met koorts en hoesten sinds drie dagen, zonder pijn op \
                 de borst. Hij heeft geen allergie en het onderzoek van de longen was niet \
                 afwijkend bij opname.",
            ),
        ] {
            assert_eq!(Language::of(text), Some(language), "{text}");
        }
    }

    #[test]
    fn function_words_are_those_in_small_letters() {
        assert!(
            ["the", "The", "und", "où"]
                .into_iter()
                .all(is_function_word)
        );
        assert!(
            !["AS", "IT", "works", "A to Z", ""]
                .into_iter()
                .any(is_function_word)
        );
    }

    #[test]
    fn telegraphic_notes_lists_and_short_texts_have_no_language() {
        for text in [
            "58M PMH HTN DM2 CAD s/p DES to LAD, p/w CP x2d, rad L arm, +SOB, -N/V. VS T 37 HR 98 \
             BP 140/80. Gen NAD. CV RRR no m/r/g. Lungs CTAB. Abd soft NT ND. Ext no edema. A/P: \
             r/o ACS, trend trop, ASA, heparin gtt.",
            "metoprolol 25 mg po bid\nlisinopril 10 mg po qd\naspirin 81 mg po qd\natorvastatin 40 \
             mg po qhs\nmetformin 500 mg po bid\nfurosemide 20 mg po qam\nomeprazole 20 mg po qd\n\
             des des des des des la la la la la en en en",
            "Patient mit Fieber und Husten.",
            "WBC 12 HGB 10 PLT 300 NA 140 K 4 CL 100 CO2 24 BUN 10 CR 1 GLU 100 CA 9 MG 2 PHOS 3 \
             ALT 20 AST 20 ALP 80 TBILI 1 ALB 4 INR 1",
            "",
        ] {
            assert_eq!(Language::of(text), None, "{text}");
        }
    }
}
