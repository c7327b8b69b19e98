//! Words that the knowledge base does not know: misspelt names, new drugs.

use super::dictionary::Dictionary;
use super::inflect::other_numbers;
use super::normalise::{Gap, Kind};
use super::scan::Scan;

/// Fewest and most letters of an unknown term.
const LETTERS: std::ops::RangeInclusive<usize> = 6..=40;
const MIN_STEM: usize = 3;
/// A dictionary with fewer known words takes plain English for unknown terms.
const MIN_KNOWN: usize = 8_000;

/// Endings of English words, and what they may have replaced.
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

const PREFIXES: [&str; 12] = ["un", "non", "re", "pre", "post", "over", "under", "out", "mis", "dis", "in", "sub"];

const TITLES: [&str; 6] = ["dr", "miss", "mr", "mrs", "ms", "prof"];

impl Dictionary {
    /// Whether unknown terms can be reported: the names and definitions must hold enough words (8,000, with the built-in
    /// list) to know plain English when they see it.
    pub fn knows_enough_words(&self) -> bool {
        self.words.len() >= MIN_KNOWN
    }

    /// Whether the token at a position is a word that neither the knowledge base nor plain English knows.
    pub(super) fn is_unknown_term(&self, scan: &mut Scan, at: usize) -> bool {
        let Some(token) = scan.token(at) else { return false };
        let word = scan.key(&token);
        token.kind == Kind::Word
            && token.gap != Gap::Glued
            && LETTERS.contains(&word.len())
            && word.bytes().all(|b| b.is_ascii_lowercase())
            && !self.knows(word)
            && !is_in_address(scan, at)
            && !is_surname(scan, at)
    }

    /// Whether a normalised word of a-z is known, with or without a usual prefix.
    fn knows(&self, word: &str) -> bool {
        let rests = PREFIXES.iter().filter_map(|prefix| word.strip_prefix(prefix));
        self.knows_inflected(word) || rests.filter(|rest| rest.len() > MIN_STEM).any(|rest| self.knows_inflected(rest))
    }

    /// Whether a word is known as it stands, in another number, or without a usual ending.
    fn knows_inflected(&self, word: &str) -> bool {
        let known_before = |suffix: &str, replaced: &[&str]| {
            let Some(stem) = word.strip_suffix(suffix).filter(|stem| stem.len() >= MIN_STEM) else { return false };
            let mut letters = stem.chars();
            let doubled = letters.next_back().is_some_and(|last| letters.next_back() == Some(last));
            let single = stem.get(..stem.len() - 1).filter(|_| doubled);
            single.is_some_and(|single| self.words.contains(single))
                || replaced.iter().any(|end| self.knows_number(&format!("{stem}{end}")))
        };
        self.knows_number(word) || SUFFIXES.iter().any(|(suffix, replaced)| known_before(suffix, replaced))
    }

    fn knows_number(&self, word: &str) -> bool {
        let mut known = self.words.contains(word);
        if !known {
            other_numbers(word, |stem, ending| known = known || self.words.contains(format!("{stem}{ending}")));
        }
        known
    }
}

/// Whether a word is a piece of "example.org" or "someone@example.org".
fn is_in_address(scan: &mut Scan, at: usize) -> bool {
    let mut joins = |mark: usize, left: usize, right: usize| {
        let (Some(mark), Some(left), Some(right)) = (scan.token(mark), scan.token(left), scan.token(right)) else {
            return false;
        };
        matches!(scan.key(&mark), "." | "@") && left.end == mark.start && mark.end == right.start
    };
    joins(at + 1, at, at + 2) || at >= 2 && joins(at - 1, at - 2, at)
}

/// Whether a word follows "Dr" or "Mr.".
fn is_surname(scan: &mut Scan, at: usize) -> bool {
    let mut before = |steps: usize| {
        let token = scan.token(at.checked_sub(steps)?)?;
        Some(scan.key(&token).to_owned())
    };
    let title = if before(1).as_deref() == Some(".") { before(2) } else { before(1) };
    title.is_some_and(|title| TITLES.contains(&title.as_str()))
}

#[cfg(test)]
mod tests {
    use super::super::tests::{dictionary, found};
    use super::super::{DetectOptions, Origin};
    use super::*;

    /// A dictionary that knows 9,000 more words, of no meaning.
    fn wordy() -> Dictionary {
        let letter = |n: usize| char::from(b'a' + (n % 26) as u8);
        let words: Vec<String> =
            (0..9000).map(|n| format!("q{}{}{}", letter(n), letter(n / 26), letter(n / 676))).collect();
        let text = words.join(" ") + " pneumonia is an inflammation of the lung that has been treated with penicillin";
        dictionary(&[("pneumonia", &["lung inflammation"])], &text)
    }

    fn terms(text: &str) -> Vec<&str> {
        found(&wordy(), text, Origin::UnknownTerm)
    }

    #[test]
    fn misspelt_and_new_names_are_reported_and_plain_english_is_not() {
        let note = "Yesterday the patient presents with unremarkable breathing. Overnight she was repeatedly offered \
                    zilebesiran for pnuemonia but refused; discussed with Mr. Kowalski and Dr Abernathy.";
        assert_eq!(terms(note), ["zilebesiran", "pnuemonia"]);
    }

    #[test]
    fn other_forms_of_known_words_are_known() {
        assert_eq!(terms("inflammations, nonpenicillin, inflammationless, treatable"), [""; 0]);
        assert_eq!(terms("penicillinxy, unxyzzyed"), ["penicillinxy", "unxyzzyed"]);
    }

    #[test]
    fn a_hyphen_joins_unknown_words_only() {
        assert_eq!(terms("anti-zorblatt-pneumonia flumptious-zorblatt"), ["zorblatt", "flumptious-zorblatt"]);
    }

    #[test]
    fn addresses_codes_and_other_scripts_are_left_alone() {
        assert_eq!(terms("zorblatt.example zorblatt@flumptious.org zorblat2 zorbl проверка αβγδεζη"), [""; 0]);
    }

    #[test]
    fn a_small_knowledge_base_reports_no_terms() {
        let small = dictionary(&[("pneumonia", &[])], "an inflammation");
        assert!(!small.knows_enough_words() && wordy().knows_enough_words());
        assert!(small.detect("pnuemonia", &DetectOptions::default()).is_empty());
    }
}
