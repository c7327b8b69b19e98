//! Alignment of a short form's characters with the words of a long form, as in Schwartz and Hearst.

use super::words::{is_postfixed, is_skipped};
use crate::Span;

/// Words that short forms of what they belong to leave out. Singular.
const GENERAL: [&str; 9] = [
    "cancer",
    "carcinoma",
    "deficiency",
    "disease",
    "disorder",
    "dystrophy",
    "infection",
    "syndrome",
    "tumor",
];

/// The conditions that a long form must meet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strictness {
    /// The characters occur in order: the first starts the first word, the last is in the last
    /// word.
    Loose,
    /// As `Loose`, and every word except function words provides its first character.
    Strict,
    /// As `Strict`, and all characters but one start words, of at least 3. For short forms that
    /// could be words.
    MostlyInitials,
    /// As `Strict`, and all characters start words. For short forms that are words.
    Initials,
    /// As `Loose`, and the long form starts with the first of the given words.
    Whole,
}

/// The number of words at the end of `words` that form the long form; `None` if none do.
pub fn fitting(text: &str, short: Span, words: &[Span], strictness: Strictness) -> Option<usize> {
    let letters: Vec<char> = text[short.start..short.end]
        .chars()
        .filter(|c| c.is_alphanumeric())
        .map(lower)
        .collect();
    // Schwartz and Hearst's limit on the length of a long form.
    let most = (letters.len() + 5).min(2 * letters.len()).min(words.len());
    let words = &words[words.len() - most..];
    let words: Vec<String> = words
        .iter()
        .map(|word| text[word.start..word.end].chars().map(lower).collect())
        .collect();
    let short_form: String = letters.iter().collect();
    // The long form starts after an earlier occurrence of the short form.
    let first = words
        .iter()
        .rposition(|word| *word == short_form)
        .map_or(0, |at| at + 1);
    let strict = !matches!(strictness, Strictness::Loose | Strictness::Whole);
    let most_initials = most_initials(&letters, &words, strict);
    let last = words.last()?;
    let scored = (first..words.len()).filter_map(|at| {
        let count = words.len() - at;
        let initials = most_initials[at]?;
        if strict && (is_skipped(last) || count == 1 && !may_abbreviate(&short_form, last)) {
            return None;
        }
        let has_initials = match strictness {
            Strictness::MostlyInitials => {
                letters.len() > 2 && initials > 1 && initials + 1 >= letters.len()
            }
            Strictness::Initials => letters.len() > 2 && initials == letters.len(),
            Strictness::Whole => at == 0,
            Strictness::Loose | Strictness::Strict => true,
        };
        let next = words.get(at + 1).map(String::as_str);
        let may_start = !is_skipped(&words[at]) && !is_postfixed(&words[at], next);
        // More characters at the starts of words are better, and so are fewer words.
        (has_initials && may_start).then_some((2 * initials as isize - count as isize, at))
    });
    scored
        .max_by_key(|(score, at)| (*score, *at))
        .map(|(_, at)| words.len() - at)
}

/// The number of words at the end of `words` whose first characters are those of a short form in
/// capitals, in any order: "myotonic dystrophy (DM)", from the Latin name. Function words between
/// them are not counted among the characters. `None` if there are none.
pub fn fitting_in_any_order(text: &str, short: Span, words: &[Span]) -> Option<usize> {
    let mut left: Vec<char> = capitals(text, short)?.chars().map(lower).collect();
    for (at, word) in words.iter().enumerate().rev() {
        let word = &text[word.start..word.end];
        let first = word.chars().next().map(lower)?;
        match left.iter().position(|letter| *letter == first) {
            _ if is_skipped(&word.to_lowercase()) => continue,
            Some(found) => left.swap_remove(found),
            None => return None,
        };
        if left.is_empty() {
            return Some(words.len() - at);
        }
    }
    None
}

/// The number of words at the end of `words` that form the long form of a short form in capitals if
/// the last one, such as "disease", provides no character: "Charcot-Marie-Tooth disease (CMT)".
pub fn fitting_without_last(text: &str, short: Span, words: &[Span]) -> Option<usize> {
    let (last, before) = words.split_last()?;
    let last = text[last.start..last.end].to_lowercase();
    let is_general = GENERAL.contains(&last.strip_suffix('s').unwrap_or(&last));
    capitals(text, short).filter(|_| is_general && !before.is_empty())?;
    Some(1 + fitting(text, short, before, Strictness::Strict)?)
}

/// A short form if it has two capitals or more, and nothing else.
fn capitals(text: &str, short: Span) -> Option<&str> {
    let short = &text[short.start..short.end];
    (short.chars().count() > 1 && short.chars().all(char::is_uppercase)).then_some(short)
}

/// Whether a short form without brackets may abbreviate a single word, e.g. "nps" of
/// "nanoparticles" but not "bone" of "bovine".
fn may_abbreviate(short: &str, word: &str) -> bool {
    let vowels = short.chars().filter(|c| "aeiou".contains(*c)).count();
    short.len() > 2 && vowels < 2 && !word.starts_with(short)
}

/// For each word, the largest number of characters that start words if the long form starts there;
/// `None` if it cannot start there.
///
/// Computed by dynamic programming from the last word to the first.
fn most_initials(letters: &[char], words: &[String], strict: bool) -> Vec<Option<usize>> {
    let count = letters.len();
    let end = words.len();
    // [word][i]: the word provides characters from i on, its first character being character i.
    let mut taking = vec![vec![None; count + 1]; end];
    // [word][i]: the best over this word and the words after it, if characters from i on are left.
    let mut following = vec![vec![None; count + 1]; end + 1];
    for (at, word) in words.iter().enumerate().rev() {
        for from in 0..count {
            let mut chars = word.chars();
            if chars.next() == Some(letters[from]) {
                // Further characters are matched greedily; any prefix of them may be taken.
                let inside = letters[from + 1..]
                    .iter()
                    .take_while(|letter| chars.any(|c| c == **letter))
                    .count();
                let taken = from + 1..=from + 1 + inside;
                let ends = at + 1 == end && taken.contains(&count);
                let continued = taken.filter_map(|next| following[at + 1][next]).max();
                taking[at][from] = continued.max(ends.then_some(0usize)).map(|rest| rest + 1);
            }
            let skipped = if !strict || is_skipped(word) {
                following[at + 1][from]
            } else {
                None
            };
            following[at][from] = skipped.max(taking[at][from]);
        }
    }
    taking.iter().map(|by_start| by_start[0]).collect()
}

fn lower(c: char) -> char {
    c.to_lowercase().next().unwrap_or(c)
}
