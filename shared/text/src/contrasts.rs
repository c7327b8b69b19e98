//! What tells things of one kind apart: numbers ("factor VIII", "SGLT1"), letters ("hepatitis B"),
//! words with an opposite ("anterior"), prefixes with an opposite ("hypokalemia"), and "non".
//!
//! Names of opposites are spelt nearly alike, and their vectors are close together, since they
//! occur in the same sentences. A wording that no name has, such as "external carotid stenosis",
//! must not be linked to its opposite.

use std::collections::{BTreeSet, HashMap};
use std::sync::LazyLock;

/// Words that exclude each other, one kind a line. Words with a comma between them mean the same.
const WORDS: &str = "\
acute|chronic
adult|juvenile|infantile|neonatal
agonist|antagonist
alpha|beta|gamma|delta
anterior|posterior
arterial|venous
ascending|descending
atrial|ventricular
benign|malignant
central|peripheral
complete|partial
conductive|sensorineural
congenital|acquired
dominant|recessive
dorsal|ventral
early|late
first|second|third|fourth|fifth
focal|diffuse
follicular|papillary|medullary
greater|lesser
increased,elevated,high,raised|decreased,reduced,low,lowered
internal|external
intrinsic|extrinsic
left|right
major|minor
male|female
maternal|paternal|fetal
maxillary|mandibular
medial|lateral
motor|sensory
open|closed
positive|negative
primary|secondary|tertiary
proximal|distal
superficial|deep
superior|inferior
systolic|diastolic
typical|atypical
unilateral|bilateral
upper|lower
with|without";

/// Prefixes that exclude each other before the same stem, in the same form.
const PREFIXES: &str = "\
endo|exo
hemi|para|quadri,tetra|mono
hypo|hyper|normo
intra|extra,epi|inter|peri,para|pre,ante|post,retro|infra,sub|supra
micro|macro
poly|oligo
tachy|brady";

/// The shortest stem behind a prefix, and the letters of it that are compared: "hypokalemic" is the
/// opposite of "hyperkalemia".
const STEM: (usize, usize) = (4, 5);

/// The largest Roman numeral. Larger ones are words ("mix").
const MOST_ROMAN: u64 = 39;

/// What a value is about. Values of different subjects do not exclude each other.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Subject {
    Number,
    Letter,
    /// A line of [`WORDS`].
    Words(usize),
    /// A line of [`PREFIXES`], and the stem.
    Prefix(usize, String),
    /// A word, with "non" before it or not.
    Word(String),
}

/// The values of a text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Contrasts {
    values: BTreeSet<(Subject, u64)>,
    /// Whether it has values of words without "non" alone.
    is_plain: bool,
}

/// The words of [`WORDS`]: their line, and their place among those that exclude each other.
static OPPOSITES: LazyLock<HashMap<&str, (usize, u64)>> = LazyLock::new(|| {
    entries(WORDS)
        .map(|(word, line, value)| (word, (line, value)))
        .collect()
});

impl Contrasts {
    /// Finds the values of a text.
    pub fn of(text: &str) -> Self {
        let mut all = Self::default();
        let text = text.replace(['α', 'Α'], " alpha ").replace('β', " beta ");
        let text = text.replace("'s", "").replace("’s", "");
        let mut follows_non = false;
        let words = text.split(|c: char| !c.is_ascii_alphanumeric());
        for written in words.filter(|word| !word.is_empty()) {
            let word = written.to_ascii_lowercase();
            all.add_numbers(written, &word);
            if let Some((line, value)) = OPPOSITES.get(word.as_str()) {
                all.values.insert((Subject::Words(*line), *value));
            }
            for (prefix, line, value) in entries(PREFIXES) {
                let stem = word
                    .strip_prefix(prefix)
                    .filter(|stem| stem.len() >= STEM.0);
                if let Some(stem) = stem {
                    let stem = stem[..stem.len().min(STEM.1)].to_owned();
                    all.values.insert((Subject::Prefix(line, stem), value));
                }
            }
            let denied = word.strip_prefix("non").filter(|rest| rest.len() >= STEM.0);
            let is_denied = follows_non || denied.is_some();
            let word = denied.map_or(word.as_str(), |rest| rest);
            follows_non = word == "non";
            all.values
                .insert((Subject::Word(word.to_owned()), u64::from(is_denied)));
        }
        let is_plain =
            |(subject, value): &(Subject, u64)| matches!(subject, Subject::Word(_)) && *value == 0;
        all.is_plain = all.values.iter().all(is_plain);
        all
    }

    /// As `Contrasts::differ`, with the values of a text.
    pub fn differ_from(&self, text: &str) -> bool {
        // A plain text differs from one with "non" alone.
        let denies = |three: &[u8]| three.eq_ignore_ascii_case(b"non");
        let may_differ = !self.is_plain || text.as_bytes().windows(3).any(denies);
        !self.values.is_empty() && may_differ && self.differ(&Self::of(text))
    }

    /// Whether there is something of which each has a value that the other lacks: "Usher syndrome
    /// type 4" and "Usher syndrome, type II", but not "Usher syndrome", nor "Usher syndrome type
    /// 4 or 2".
    fn differ(&self, other: &Self) -> bool {
        let lacking = |one: &Self, other: &Self| -> BTreeSet<Subject> {
            let lacking = one
                .values
                .iter()
                .filter(|value| !other.values.contains(value));
            lacking.map(|(subject, _)| subject.clone()).collect()
        };
        let own = lacking(self, other);
        !own.is_disjoint(&lacking(other, self))
    }

    /// The numbers and letters of a word: "VIII", "5", "SGLT1" have a number, "B12" has both.
    fn add_numbers(&mut self, written: &str, word: &str) {
        let runs = word.split(|c: char| !c.is_ascii_digit());
        for digits in runs.filter(|run| !run.is_empty()) {
            let number = digits.parse().unwrap_or(u64::MAX);
            self.values.insert((Subject::Number, number));
        }
        // A numeral of one letter is one only as a capital: "type I", not "i".
        let is_numeral = written.len() > 1 || written.bytes().all(|byte| byte.is_ascii_uppercase());
        if let Some(number) = roman(word).filter(|_| is_numeral) {
            self.values.insert((Subject::Number, number));
            return;
        }
        let letters = word.trim_matches(|c: char| c.is_ascii_digit());
        if let [letter] = letters.as_bytes() {
            self.values.insert((Subject::Letter, u64::from(*letter)));
        }
    }
}

/// The entries of a list: the words, their lines, and their places among those that exclude each
/// other.
fn entries(list: &'static str) -> impl Iterator<Item = (&'static str, usize, u64)> {
    list.lines().enumerate().flat_map(|(line, words)| {
        let kinds = (0..).zip(words.split('|'));
        kinds.flat_map(move |(value, same)| same.split(',').map(move |word| (word, line, value)))
    })
}

/// The value of a Roman numeral in small letters.
fn roman(word: &str) -> Option<u64> {
    let ones = word.trim_start_matches('x');
    let tens = (word.len() - ones.len()) as u64;
    let ones = match ones {
        "" => 0,
        "i" => 1,
        "ii" => 2,
        "iii" => 3,
        "iv" => 4,
        "v" => 5,
        "vi" => 6,
        "vii" => 7,
        "viii" => 8,
        "ix" => 9,
        _ => return None,
    };
    let value = 10 * tens + ones;
    (1..=MOST_ROMAN).contains(&value).then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn differ(one: &str, other: &str) -> bool {
        let [own, others] = [one, other].map(Contrasts::of);
        assert_eq!(own.differ(&others), own.differ_from(other));
        own.differ(&others)
    }

    #[test]
    fn opposites_differ() {
        for (one, other) in [
            ("Usher syndrome type 4", "Usher syndrome, type II"),
            ("factor VIII deficiency", "factor IX deficiency"),
            ("SGLT1 inhibitor", "SGLT2 inhibitor"),
            ("prostaglandin E1", "Prostaglandin E2"),
            ("vitamin B12", "vitamin D12"),
            ("hepatitis B", "hepatitis C"),
            ("α-thalassemia", "beta-thalassemia"),
            (
                "external carotid stenosis",
                "internal carotid artery stenosis",
            ),
            ("elevated potassium", "low potassium"),
            ("hypobilirubinemia", "hyperbilirubinemia"),
            ("hypokalemic paralysis", "hyperkalemia"),
            ("infrapatellar bursitis", "prepatellar bursitis"),
            ("nonobstructive hydrocephalus", "obstructive hydrocephalus"),
            ("non-obstructive hydrocephalus", "obstructive hydrocephalus"),
            ("migraine with aura", "migraine without aura"),
        ] {
            assert!(differ(one, other), "{one}, {other}");
            assert!(differ(other, one), "{one}, {other}");
        }
    }

    #[test]
    fn other_wordings_of_one_thing_do_not_differ() {
        for (one, other) in [
            ("Usher syndrome type 4", "Usher syndrome"),
            ("type 2 diabetes", "type II diabetes"),
            ("vitamin D3", "1,25-dihydroxyvitamin D3"),
            ("vitamin D3", "vitamin D"),
            ("nonmelanoma skin cancer", "skin carcinoma"),
            ("non-Hodgkin lymphoma", "nonhodgkin lymphoma"),
            ("increased potassium", "high potassium"),
            ("hypertension", "hypotonia"),
            ("pararenal abscess", "perirenal abscess"),
            ("Crohn's disease", "A disease of Crohn"),
            (
                "hypogonadotropic hypogonadism",
                "hypogonadism with hypergonadotropism",
            ),
            ("acute on chronic pancreatitis", "chronic pancreatitis"),
            ("", "type 1"),
            ("café", "émigré"),
        ] {
            assert!(!differ(one, other), "{one}, {other}");
        }
    }

    #[test]
    fn roman_numerals_are_at_most_39() {
        let values = ["i", "iv", "xxxix", "xxxx", "mix", "", "civil", "xi"].map(roman);
        let expected = [Some(1), Some(4), Some(39), None, None, None, None, Some(11)];
        assert_eq!(values, expected);
    }

    proptest! {
        #[test]
        fn no_text_differs_from_itself(text in "(non|hyper|hypo|type|[a-c0-3IVX]| |-|é|'s){0,9}") {
            let of_text = Contrasts::of(&text);
            prop_assert!(!of_text.differ_from(&text));
            prop_assert!(!of_text.differ_from("") && !Contrasts::default().differ_from(&text));
        }

        #[test]
        fn plain_texts_are_compared_in_short(
            one in "(non|hyper|[a-c]{4}|[a-c]| |-){0,6}",
            other in "(non|Non|hypo|[a-c]{4}|[a-c]| |-){0,6}",
        ) {
            let own = Contrasts::of(&one);
            prop_assert_eq!(own.differ_from(&other), own.differ(&Contrasts::of(&other)));
        }
    }
}
