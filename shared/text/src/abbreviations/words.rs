//! Word classes that decide whether a string may be a short form or part of a long form.

use crate::detect;

/// Words of a long form that need not provide a character to the short form. Sorted.
const SKIPPED: [&str; 19] = [
    "a", "also", "an", "and", "as", "at", "by", "for", "from", "in", "of", "on", "or", "that",
    "the", "this", "to", "was", "with",
];

/// Other function words. Without brackets they are never short forms. Sorted.
const CLOSED: [&str; 112] = [
    "about", "after", "again", "all", "am", "any", "are", "back", "be", "been", "before", "being",
    "both", "but", "can", "could", "did", "do", "does", "done", "down", "due", "during", "each",
    "eight", "else", "et", "etc", "even", "ever", "few", "five", "four", "get", "had", "has",
    "have", "he", "her", "here", "him", "his", "how", "however", "i", "if", "into", "is", "it",
    "its", "just", "like", "may", "me", "might", "more", "most", "must", "my", "nine", "no", "nor",
    "not", "now", "off", "once", "one", "only", "other", "our", "out", "over", "own", "per",
    "same", "see", "seven", "shall", "she", "should", "since", "six", "so", "some", "still",
    "such", "ten", "than", "their", "them", "then", "there", "these", "they", "those", "three",
    "too", "two", "up", "upon", "us", "very", "were", "what", "when", "which", "while", "who",
    "will", "would", "yet", "you",
];

/// Pronouns, with which no long form starts. Sorted.
const PRONOUNS: [&str; 17] = [
    "he", "her", "his", "i", "it", "its", "my", "our", "she", "their", "there", "they", "we",
    "who", "whose", "you", "your",
];

/// Words of references to another part of a document. Sorted.
const REFERENCES: [&str; 24] = [
    "app", "approx", "cf", "chap", "ed", "eds", "eg", "eq", "fig", "figs", "ibid", "ie", "incl",
    "lit", "no", "nos", "pp", "ref", "refs", "sec", "tab", "viz", "vol", "vs",
];

/// Words that attach to their predecessor, as in "tissue type" and "insulin like". No long form
/// starts with one. Sorted.
const POSTFIXED: [&str; 6] = ["associated", "based", "like", "mediated", "related", "type"];

/// Initial consonant clusters of English words. Sorted.
const ONSETS: [&str; 47] = [
    "bl", "br", "ch", "chl", "chr", "cl", "cr", "dr", "dw", "fl", "fr", "gh", "gl", "gn", "gr",
    "kn", "ph", "phl", "phr", "pl", "pn", "pr", "ps", "rh", "sc", "sch", "scl", "scr", "sh", "shr",
    "sk", "sl", "sm", "sn", "sp", "sph", "spl", "spr", "squ", "st", "str", "sw", "th", "thr", "tr",
    "tw", "wh",
];

/// Final consonant clusters of English words. Sorted.
const CODAS: [&str; 62] = [
    "bs", "ch", "ck", "ct", "cts", "ds", "ff", "ft", "fts", "gh", "ght", "gs", "ks", "lb", "ld",
    "ldr", "lf", "lk", "ll", "lls", "lm", "lp", "ls", "lt", "lts", "mb", "mn", "mp", "mps", "ms",
    "nd", "nds", "ng", "ngs", "nk", "nks", "nn", "ns", "nt", "nts", "ph", "ps", "pt", "rb", "rd",
    "rds", "rk", "rl", "rm", "rms", "rn", "rp", "rs", "rt", "rts", "sh", "sm", "ss", "st", "sts",
    "th", "ths",
];

/// Whether a word, in lower case, may be in a long form without providing a character.
pub(super) fn is_skipped(word: &str) -> bool {
    SKIPPED.binary_search(&word).is_ok()
}

/// Whether a word, in lower case, is a function word (pronoun, preposition, auxiliary, small
/// number).
pub(super) fn is_function_word(word: &str) -> bool {
    is_skipped(word) || CLOSED.binary_search(&word).is_ok()
}

/// Whether a word, in lower case, is a pronoun.
pub(super) fn is_pronoun(word: &str) -> bool {
    PRONOUNS.binary_search(&word).is_ok()
}

/// Whether the text in a bracket is a reference, such as "ref" or "fig".
pub(super) fn is_reference(word: &str) -> bool {
    has_ordinary_case(word)
        && REFERENCES
            .binary_search(&word.to_lowercase().as_str())
            .is_ok()
}

/// Whether a word, in lower case, attaches to its predecessor: "type" in "tissue type" but not in
/// "type 2 diabetes".
pub(super) fn is_postfixed(word: &str, next: Option<&str>) -> bool {
    // A number or letter makes "type" the start of a name: "type 2", "type b".
    let counts = next.is_some_and(|next| {
        next.chars().count() == 1 || next.starts_with(char::is_numeric) || is_roman(next)
    });
    POSTFIXED.binary_search(&word).is_ok() && !counts
}

/// Whether a word is an English word in ordinary case.
pub(super) fn is_ordinary(word: &str) -> bool {
    let lower = word.to_lowercase();
    let singular = lower.strip_suffix('s').unwrap_or(&lower);
    has_ordinary_case(word)
        && [lower.as_str(), singular]
            .iter()
            .any(|form| detect::is_ordinary(form) || is_function_word(form))
}

/// Whether a string of 3 letters or more looks like a word and is pronounceable: "sinus" and
/// "renal", but not "skm", "rnas", "bhv1" or "hLysoPLA".
pub(super) fn is_pronounceable(word: &str) -> bool {
    let lower = word.to_lowercase();
    let Some(vowel) = lower.find(['a', 'e', 'i', 'o', 'u', 'y']) else {
        return false;
    };
    let onset = &lower[..vowel];
    let count = lower.chars().count();
    let begins = onset.chars().count() < 2
        || ONSETS.binary_search(&onset).is_ok()
        || lower.starts_with("squ");
    let most = lower
        .split(['a', 'e', 'i', 'o', 'u', 'y'])
        .map(|run| run.chars().count())
        .max()
        .unwrap_or(0);
    let coda = lower
        .rsplit(['a', 'e', 'i', 'o', 'u', 'y'])
        .next()
        .unwrap_or_default();
    let ends = coda.chars().count() < 2 || CODAS.binary_search(&coda).is_ok();
    count > 2
        && begins
        && ends
        && most < 4
        && lower.chars().all(char::is_alphabetic)
        && has_ordinary_case(word)
}

/// Whether only the first character may be upper case.
fn has_ordinary_case(word: &str) -> bool {
    word.chars().skip(1).all(|c| !c.is_uppercase())
}

/// Whether a string, in lower case, is a Roman numeral up to 39, as in list markers.
pub(super) fn is_roman(word: &str) -> bool {
    let tens = word.trim_start_matches('x');
    let units = ["", "i", "ii", "iii", "iv", "v", "vi", "vii", "viii", "ix"];
    !word.is_empty() && word.len() - tens.len() < 4 && units.contains(&tens)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn word_lists_are_sorted() {
        assert!(SKIPPED.is_sorted() && CLOSED.is_sorted() && REFERENCES.is_sorted());
        assert!(
            PRONOUNS.is_sorted()
                && POSTFIXED.is_sorted()
                && ONSETS.is_sorted()
                && CODAS.is_sorted()
        );
    }

    #[test]
    fn words_are_pronounceable_and_most_short_forms_are_not() {
        for word in ["sinus", "Renal", "stat", "two", "pedis", "squash", "dorsal"] {
            assert!(is_pronounceable(word), "{word}");
        }
        for word in [
            "skm", "rnas", "nps", "bhv1", "hLysoPLA", "is", "ABI", "ihc", "iqr",
        ] {
            assert!(!is_pronounceable(word), "{word}");
        }
    }

    #[test]
    fn postfixed_words_exclude_numbered_types() {
        assert!(is_postfixed("type", Some("plasminogen")) && is_postfixed("like", Some("growth")));
        assert!(
            !is_postfixed("type", Some("2"))
                && !is_postfixed("type", Some("iv"))
                && !is_postfixed("growth", None)
        );
    }

    #[test]
    fn is_roman_accepts_numerals_up_to_39() {
        assert!(
            ["i", "iv", "ix", "xiv", "xxxix"]
                .iter()
                .all(|word| is_roman(word))
        );
        assert!(
            ["", "iiii", "xxxx", "ivx", "vv", "mix"]
                .iter()
                .all(|word| !is_roman(word))
        );
    }
}
