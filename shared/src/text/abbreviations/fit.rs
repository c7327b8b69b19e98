//! Whether words have a short form's letters, in their order.

use super::words::{is_postfixed, is_skipped};
use crate::text::Span;

/// How well words must fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strictness {
    /// The letters come in their order, the first at the start of the first word, the last of them in the last word.
    Loose,
    /// Also, every word but function words gives its first letter.
    Strict,
    /// Also, every letter but one is the first of a word, and there are three or more: for short forms that could be words.
    MostlyInitials,
    /// Also, every letter is: for short forms that are words.
    Initials,
    /// As loose, from the first of the words.
    Whole,
}

/// How many of the last words are the long form; `None` if none are.
pub fn fitting(text: &str, short: Span, words: &[Span], strictness: Strictness) -> Option<usize> {
    let letters: Vec<char> = text[short.start..short.end].chars().filter(|c| c.is_alphanumeric()).map(lower).collect();
    let most = (letters.len() + 5).min(2 * letters.len()).min(words.len());
    let words = &words[words.len() - most..];
    let words: Vec<String> = words.iter().map(|word| text[word.start..word.end].chars().map(lower).collect()).collect();
    let own: String = letters.iter().collect();
    // Nothing from before an earlier use of the short form itself.
    let first = words.iter().rposition(|word| *word == own).map_or(0, |at| at + 1);
    let strict = !matches!(strictness, Strictness::Loose | Strictness::Whole);
    let fits = initials(&letters, &words, strict);
    let last = words.last()?;
    let fits = (first..words.len()).filter_map(|at| {
        let (count, initials) = (words.len() - at, fits[at]?);
        let strict_enough = !strict || !is_skipped(last) && (count > 1 || may_shorten(&own, last));
        let shown = match strictness {
            Strictness::MostlyInitials => letters.len() > 2 && initials > 1 && initials + 1 >= letters.len(),
            Strictness::Initials => letters.len() > 2 && initials == letters.len(),
            _ => true,
        };
        let begins = !is_skipped(&words[at]) && !is_postfixed(&words[at], words.get(at + 1).map(String::as_str));
        let fits = strict_enough && shown && begins && (strictness != Strictness::Whole || at == 0);
        // The more letters at the starts of words, the better, and the fewer words.
        fits.then_some((2 * initials as isize - count as isize, at))
    });
    fits.max_by_key(|(merit, at)| (*merit, *at)).map(|(_, at)| words.len() - at)
}

/// Whether a short form without brackets may be that of a single word: "nps" of "nanoparticles", but not "bone" of "bovine".
fn may_shorten(short: &str, word: &str) -> bool {
    let vowels = short.chars().filter(|c| "aeiou".contains(*c)).count();
    short.len() > 2 && vowels < 2 && !word.starts_with(short)
}

/// For each word, the most letters that stand at starts of words if the long form begins with it; `None` if it cannot.
fn initials(letters: &[char], words: &[String], strict: bool) -> Vec<Option<usize>> {
    let (count, end) = (letters.len(), words.len());
    // For each word, if it takes the letters from i on and begins with the first of them.
    let mut taking = vec![vec![None; count + 1]; end];
    // The best of the word and those after it that may follow its predecessor.
    let mut following = vec![vec![None; count + 1]; end + 1];
    for (at, word) in words.iter().enumerate().rev() {
        for from in 0..count {
            let mut chars = word.chars();
            if chars.next() == Some(letters[from]) {
                // Letters after the first are taken as early in the word as they come; fewer can be taken too.
                let inside = letters[from + 1..].iter().take_while(|letter| chars.any(|c| c == **letter)).count();
                let taken = from + 1..=from + 1 + inside;
                let ends = at + 1 == end && taken.contains(&count);
                let goes_on = taken.filter_map(|next| following[at + 1][next]).max();
                taking[at][from] = goes_on.max(ends.then_some(0usize)).map(|rest| rest + 1);
            }
            let skipped = if !strict || is_skipped(word) { following[at + 1][from] } else { None };
            following[at][from] = skipped.max(taking[at][from]);
        }
    }
    taking.iter().map(|of_word| of_word[0]).collect()
}

fn lower(c: char) -> char {
    c.to_lowercase().next().unwrap_or(c)
}
