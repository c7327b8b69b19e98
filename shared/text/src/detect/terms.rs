//! Detection of unknown terms: words that the knowledge base does not have, such as misspellings
//! and new drugs.

use super::deidentified::is_placeholder_word;
use super::dictionary::Dictionary;
use super::inflect::other_numbers;
use super::lexicon::Lexicon;
use super::normalise::{Gap, Kind, Token};
use super::scan::Scan;
use super::words::is_ordinary;
use bytes::Bytes;
use fst::{IntoStreamer, Streamer};

/// The number of letters of an unknown term.
const LETTERS: std::ops::RangeInclusive<usize> = 6..=40;
/// The fewest letters of a misspelt word.
const MISSPELT_LETTERS: usize = 5;
/// The fewest letters of the first and the last part of a compound.
const MIN_PART: usize = 4;
const MIN_LAST_PART: usize = 5;
/// The fewest letters of a stem.
const MIN_STEM: usize = 3;
/// With fewer known words, words of general English would be reported as unknown terms.
const MIN_KNOWN: usize = 8_000;

/// Suffixes of English words, and the endings of the stems without them.
const SUFFIXES: [(&str, &[&str]); 27] = [
    ("ing", &["", "e"]),
    ("ed", &["", "e"]),
    ("edly", &["", "e"]),
    ("ied", &["y"]),
    ("ingly", &["", "e"]),
    ("er", &["", "e"]),
    ("ers", &["", "e"]),
    ("or", &["", "e"]),
    ("ors", &["", "e"]),
    ("ly", &["", "le"]),
    ("ily", &["y"]),
    ("al", &["", "e"]),
    ("ally", &["", "al"]),
    ("ness", &["", "y"]),
    ("less", &[""]),
    ("ful", &[""]),
    ("fully", &[""]),
    ("able", &["", "e"]),
    ("ity", &["", "e"]),
    ("ment", &[""]),
    ("ments", &[""]),
    ("ion", &["", "e"]),
    ("ions", &["", "e"]),
    ("ation", &["", "e"]),
    ("ations", &["", "e"]),
    ("ive", &["", "e", "ion"]),
    ("ively", &["", "e", "ion"]),
];

const PREFIXES: [&str; 13] = [
    "un", "non", "re", "pre", "post", "over", "under", "out", "mis", "dis", "in", "sub", "step",
];

/// Words that follow an eponym: "McMurray test" is no person.
const EPONYMS: &[&str] = &[
    "anomaly",
    "classification",
    "criteria",
    "deformity",
    "disease",
    "disorder",
    "fracture",
    "grade",
    "index",
    "maneuver",
    "manoeuvre",
    "operation",
    "phenomenon",
    "procedure",
    "reflex",
    "repair",
    "scale",
    "score",
    "sign",
    "signs",
    "stage",
    "syndrome",
    "test",
    "tests",
    "triad",
    "ulcer",
];

/// Words that follow the name of a place.
const PLACES: &[&str] = &[
    "avenue",
    "ave",
    "boulevard",
    "building",
    "center",
    "centre",
    "church",
    "city",
    "clinic",
    "college",
    "county",
    "drive",
    "elementary",
    "high",
    "hospital",
    "lane",
    "medical",
    "park",
    "road",
    "school",
    "state",
    "street",
    "university",
    "valley",
];

/// Known words and their derivations.
struct Known<'d> {
    /// Those of a knowledge base.
    words: Option<&'d fst::Set<Bytes>>,
    lexicon: &'static Lexicon,
    /// Whether rare English words count as known.
    rare: bool,
}

impl Known<'_> {
    fn contains(&self, word: &str) -> bool {
        self.words.is_some_and(|words| words.contains(word))
            || is_ordinary(word)
            || self.lexicon.common.contains(word)
            || self.rare && self.lexicon.rare.contains(word)
    }

    /// Whether a normalised word of a-z is known, with or without a prefix.
    fn knows(&self, word: &str) -> bool {
        let rests = PREFIXES
            .iter()
            .filter_map(|prefix| word.strip_prefix(prefix));
        self.knows_inflected(word)
            || rests
                .filter(|rest| rest.len() > MIN_STEM)
                .any(|rest| self.knows_inflected(rest))
    }

    /// Whether a word ends in a known word after the beginning of another one: "nephrotoxicity".
    fn knows_parts(&self, word: &str) -> bool {
        let begins_known = |start: &str| {
            self.words.is_some_and(|words| {
                let mut known = words.range().ge(start).into_stream();
                let next = known.next();
                next.is_some_and(|word| word.starts_with(start.as_bytes()))
            })
        };
        (MIN_PART..=word.len().saturating_sub(MIN_LAST_PART)).any(|at| {
            let parts = word.split_at_checked(at);
            parts.is_some_and(|(start, end)| begins_known(start) && self.knows_inflected(end))
        })
    }

    /// Whether a word is known as it is, in another number, or without a suffix.
    fn knows_inflected(&self, word: &str) -> bool {
        let known_before = |suffix: &str, replaced: &[&str]| {
            let Some(stem) = word
                .strip_suffix(suffix)
                .filter(|stem| stem.len() >= MIN_STEM)
            else {
                return false;
            };
            let mut letters = stem.chars();
            let doubled = letters
                .next_back()
                .is_some_and(|last| letters.next_back() == Some(last));
            let single = stem.get(..stem.len() - 1).filter(|_| doubled);
            single.is_some_and(|single| self.contains(single))
                || replaced
                    .iter()
                    .any(|end| self.knows_number(&format!("{stem}{end}")))
        };
        self.knows_number(word)
            || SUFFIXES
                .iter()
                .any(|(suffix, replaced)| known_before(suffix, replaced))
    }

    fn knows_number(&self, word: &str) -> bool {
        let mut known = self.contains(word);
        if !known {
            other_numbers(word, |stem, ending| {
                known = known || self.contains(&format!("{stem}{ending}"))
            });
        }
        known
    }
}

/// Whether a word in any case may be a common one of English, in any regular form. The list has
/// words of 6 letters or more, so shorter ones are common.
pub fn is_common_word(word: &str) -> bool {
    let word = word.to_lowercase();
    word.len() < 6 || english(false).knows_inflected(&word)
}

/// Whether a word is jargon: of small letters, 4 or more, and in no regular form an English word of
/// the lists. Those have few words of 4 and 5 letters.
pub fn is_jargon(word: &str) -> bool {
    let is_word = word.len() >= 4 && word.bytes().all(|byte| byte.is_ascii_lowercase());
    is_word && !english(true).knows(word)
}

/// The words of English, without those of a knowledge base.
fn english(rare: bool) -> Known<'static> {
    Known {
        words: None,
        lexicon: Lexicon::get(),
        rare,
    }
}

impl Dictionary {
    /// Whether unknown terms are reported. This needs 8,000 words in the names, the definitions and
    /// the built-in list: with fewer, general English would be reported.
    pub fn knows_enough_words(&self) -> bool {
        self.words.len() >= MIN_KNOWN
    }

    /// Whether one of the words of a normalised text, of at least 5 letters a to z, is neither in
    /// the knowledge base nor in general English.
    pub(super) fn has_unknown_word(&self, normalised: &str) -> bool {
        let known = Known {
            words: Some(&self.words),
            lexicon: Lexicon::get(),
            rare: true,
        };
        normalised.split(' ').any(|word| {
            word.len() >= MISSPELT_LETTERS
                && word.bytes().all(|byte| byte.is_ascii_lowercase())
                && !known.knows(word)
                && !known.knows_parts(word)
        })
    }

    /// Whether the token at a position is a word that neither the knowledge base nor general
    /// English has, and no name of a person or place.
    pub(super) fn is_unknown_term(&self, scan: &mut Scan, at: usize) -> bool {
        let Some(token) = scan.token(at) else {
            return false;
        };
        let word = scan.key(&token);
        let readable = token.kind == Kind::Word
            && token.gap != Gap::Glued
            && LETTERS.contains(&word.len())
            && word.bytes().all(|b| b.is_ascii_lowercase());
        if !readable || self.words.contains(word) {
            return false;
        }
        let word = word.to_owned();
        let lexicon = Lexicon::get();
        let mut known = Known {
            words: Some(&self.words),
            lexicon,
            rare: true,
        };
        if known.knows(&word) {
            // A rare word may be a brand ("Tylenol") if it is capitalised like a proper noun.
            known.rare = false;
            if lexicon.is_name(&word) || !is_proper(scan, at, &token) || known.knows(&word) {
                return false;
            }
        }
        !is_placeholder_word(&word)
            && !is_in_address(scan, at)
            && !is_person(scan, at, &token, &word)
            && !is_place(scan, at)
    }
}

/// Whether a word is capitalised inside a sentence, and its predecessor is not.
fn is_proper(scan: &mut Scan, at: usize, token: &Token) -> bool {
    let Some(before) = at.checked_sub(1).and_then(|before| scan.token(before)) else {
        return false;
    };
    let between = scan.text().get(before.end..token.start).unwrap_or_default();
    let in_sentence = match before.kind {
        Kind::Word => before.upper == 0,
        Kind::Mark => matches!(scan.key(&before), "," | "("),
        Kind::TooLong | Kind::Hidden => false,
    };
    token.upper == 1 && in_sentence && !token.gap.parts() && !between.contains(['\n', '\r'])
}

/// Whether a word is a surname, or follows a given name or an initial.
fn is_person(scan: &mut Scan, at: usize, token: &Token, word: &str) -> bool {
    if token.upper & 1 == 0 {
        return false;
    }
    let mut near = |at: Option<usize>| {
        let token = at.and_then(|at| scan.token(at))?;
        Some((token, scan.key(&token).to_owned()))
    };
    let is_eponym = near(Some(at + 1)).is_some_and(|(_, key)| EPONYMS.contains(&key.as_str()));
    let before = near(at.checked_sub(1));
    let earlier = near(at.checked_sub(2));
    let after_given = before.as_ref().is_some_and(|(before, key)| {
        before.upper & 1 == 1 && !token.gap.parts() && Lexicon::get().given.contains(key)
    });
    let after_initial = before.is_some_and(|(before, key)| {
        let initial = earlier.is_some_and(|(earlier, key)| {
            earlier.upper == 1 && key.len() == 1 && earlier.end == before.start
        });
        key == "." && initial
    });
    !is_eponym && (after_given || after_initial || Lexicon::get().is_name(word))
}

/// Whether a capitalised word precedes "Hospital", "Street" and similar words.
fn is_place(scan: &mut Scan, at: usize) -> bool {
    let (Some(token), Some(after)) = (scan.token(at), scan.token(at + 1)) else {
        return false;
    };
    token.upper & 1 == 1
        && after.upper & 1 == 1
        && after.gap == Gap::Space
        && PLACES.contains(&scan.key(&after))
}

/// Whether a word is part of a domain or e-mail address.
fn is_in_address(scan: &mut Scan, at: usize) -> bool {
    let mut joins = |mark: usize, left: usize, right: usize| {
        let (Some(mark), Some(left), Some(right)) =
            (scan.token(mark), scan.token(left), scan.token(right))
        else {
            return false;
        };
        matches!(scan.key(&mark), "." | "@") && left.end == mark.start && mark.end == right.start
    };
    joins(at + 1, at, at + 2) || at >= 2 && joins(at - 1, at - 2, at)
}

#[cfg(test)]
mod tests {
    use super::super::tests::{dictionary, found};
    use super::super::{DetectOptions, Origin, normalise_name};
    use super::*;

    /// A dictionary with 9,000 additional meaningless words.
    fn wordy() -> Dictionary {
        let letter = |n: usize| char::from(b'a' + (n % 26) as u8);
        let words: Vec<String> = (0..9000)
            .map(|n| format!("q{}{}{}", letter(n), letter(n / 26), letter(n / 676)))
            .collect();
        let text = words.join(" ")
            + " pneumonia is an inflammation of the lung that has been treated with penicillin";
        dictionary(&[("pneumonia", &["lung inflammation"])], &text)
    }

    fn terms(text: &str) -> Vec<&str> {
        found(&wordy(), text, Origin::UnknownTerm)
    }

    #[test]
    fn misspellings_and_new_names_are_terms() {
        let note = "Yesterday the patient presents with unremarkable breathing. Overnight she was \
                    repeatedly offered zilebesiran for pnuemonia but refused; discussed with Mr. \
                    Kowalski and Dr Abernathy.";
        assert_eq!(terms(note), ["zilebesiran", "pnuemonia"]);
    }

    #[test]
    fn derivations_of_known_words_are_known() {
        assert_eq!(
            terms("inflammations, nonpenicillin, inflammationless, treatable"),
            [""; 0]
        );
        assert_eq!(
            terms("penicillinxy, unxyzzyed"),
            ["penicillinxy", "unxyzzyed"]
        );
    }

    #[test]
    fn texts_with_a_word_of_neither_names_nor_english_have_an_unknown_word() {
        let dictionary = wordy();
        let has_unknown = |text: &str| dictionary.has_unknown_word(&normalise_name(text));
        assert!(has_unknown("Harrow-Zorblatt pneumonia"));
        assert!(!has_unknown("Harrow's treatable pneumonias"));
        // Fewer than five letters are no word here, nor is what has a digit.
        assert!(!has_unknown("zorb zorblatt2"));
    }

    #[test]
    fn english_words_are_common_or_no_jargon() {
        assert!(
            ["Boyfriend", "boyfriends", "pain"]
                .into_iter()
                .all(is_common_word)
        );
        assert!(!["Jardiance", "tylenol"].into_iter().any(is_common_word));
        assert!(["appy", "bronch", "hyponat"].into_iter().all(is_jargon));
        assert!(
            !["drinks", "Appy", "icu", "fainted"]
                .into_iter()
                .any(is_jargon)
        );
    }

    #[test]
    fn hyphenated_unknown_words_are_one_term() {
        assert_eq!(
            terms("anti-zorblatt-pneumonia flumptious-zorblatt"),
            ["zorblatt", "flumptious-zorblatt"]
        );
        assert_eq!(
            terms("has Zorblatt-inflammation, zorblatt-Lung"),
            ["Zorblatt", "zorblatt"]
        );
    }

    #[test]
    fn double_name_with_an_english_half_is_one_term() {
        assert_eq!(
            terms("a Harrow-Zorblatt syndrome, the Zorblatt-Harrow sign, Harrow Zorblatt test"),
            ["Harrow-Zorblatt", "Zorblatt-Harrow", "Zorblatt"]
        );
    }

    #[test]
    fn addresses_codes_and_other_scripts_are_no_terms() {
        assert_eq!(
            terms("zorblatt.example zorblatt@flumptious.org zorblat2 zorbl проверка αβγδεζη"),
            [""; 0]
        );
    }

    #[test]
    fn general_english_is_no_term() {
        let note = "She agrees, answered all questions and was encouraged. Caucasian female who \
                    enjoys basketball; boyfriend in college. Moreover, an illness complicating \
                    pregnancy. Her housekeeper doesn't ambulate; XXXXXX REDACTED.";
        assert_eq!(terms(note), [""; 0]);
    }

    #[test]
    fn people_and_places_are_no_terms() {
        let note = "Martha and Andrew met Kowalski, J. Zorblatt and Andrew Flumptious near \
                    Zorblatt Hospital on Flumptious Street.";
        assert_eq!(terms(note), [""; 0]);
        assert_eq!(
            terms("a positive McMurray test, no kowalski"),
            ["McMurray", "kowalski"]
        );
    }

    #[test]
    fn rare_capitalised_words_inside_a_sentence_are_terms() {
        assert_eq!(
            terms("She took Tylenol, Motrin (Benadryl) and tylenol."),
            ["Tylenol", "Motrin", "Benadryl"]
        );
        assert_eq!(
            terms("Tylenol helps. TYLENOL. Takes a Gatorade\nTylenol"),
            ["Gatorade"]
        );
    }

    #[test]
    fn small_dictionary_reports_no_terms() {
        let small = dictionary(&[("pneumonia", &[])], "an inflammation");
        assert!(!small.knows_enough_words() && wordy().knows_enough_words());
        assert!(
            small
                .detect("pnuemonia", &DetectOptions::default())
                .is_empty()
        );
    }
}
