//! Words that the knowledge base does not know: misspelt names, new drugs.

use super::dictionary::Dictionary;
use super::inflect::other_numbers;
use super::normalise::{Gap, Kind};
use super::scan::Scan;

/// Fewest letters of an unknown term.
pub(super) const MIN_TERM: usize = 6;
const MAX_TERM: usize = 40;
const MIN_STEM: usize = 3;

/// Endings of English words, and what they may have replaced.
const SUFFIXES: [(&str, &[&str]); 25] = [
    ("ing", &["", "e"]),
    ("ed", &["", "e"]),
    ("ied", &["y"]),
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

/// Whether the token at a position is a word that neither the knowledge base nor plain English knows.
pub(super) fn is_unknown_term(scan: &mut Scan, dictionary: &Dictionary, at: usize) -> bool {
    let Some(token) = scan.token(at) else { return false };
    if token.kind != Kind::Word || token.gap == Gap::Glued {
        return false;
    }
    let before = at.checked_sub(1).and_then(|at| scan.token(at)).filter(|before| token.gap != Gap::Break && before.kind != Kind::TooLong);
    let after = scan.token(at + 1);
    let touches_before = before.filter(|before| before.end == token.start);
    let touches_after = after.filter(|after| after.start == token.end && after.kind == Kind::Mark);
    let word_after = touches_after.and_then(|_| scan.token(at + 2)).filter(|next| after.is_some_and(|a| a.end == next.start));
    // Parts of addresses: "example.org", "someone@example.org".
    if touches_before.is_some_and(|before| matches!(scan.key(&before), "." | "@"))
        || word_after.is_some() && touches_after.is_some_and(|after| matches!(scan.key(&after), "." | "@"))
    {
        return false;
    }
    // A surname, after "Dr" or "Mr.".
    let title = match touches_title(scan, at) { Some(t) => t, None => false };
    if title {
        return false;
    }
    let word = scan.key(&token);
    (MIN_TERM..=MAX_TERM).contains(&word.len())
        && word.bytes().all(|b| b.is_ascii_lowercase())
        && !dictionary.knows(word)
}

fn touches_title(scan: &mut Scan, at: usize) -> Option<bool> {
    let mut before = scan.token(at.checked_sub(1)?)?;
    if scan.key(&before) == "." {
        before = scan.token(at.checked_sub(2)?)?;
    }
    Some(matches!(scan.key(&before), "dr" | "mr" | "mrs" | "ms" | "miss" | "prof"))
}

impl Dictionary {
    /// Whether a normalised word of a-z is known, as it stands, in another number, or without usual prefixes and endings.
    fn knows(&self, word: &str) -> bool {
        self.knows_stem(word)
            || PREFIXES.iter().any(|prefix| {
                word.strip_prefix(prefix).is_some_and(|rest| rest.len() > MIN_STEM && self.knows_stem(rest))
            })
    }

    fn knows_stem(&self, word: &str) -> bool {
        self.knows_exactly(word)
            || SUFFIXES.iter().any(|(suffix, replaced)| {
                word.strip_suffix(suffix).filter(|stem| stem.len() >= MIN_STEM).is_some_and(|stem| {
                    let doubled = stem.as_bytes().windows(2).next_back().is_some_and(|pair| pair[0] == pair[1]);
                    replaced.iter().any(|end| self.knows_exactly(&format!("{stem}{end}")))
                        || doubled && self.words.contains(&stem[..stem.len() - 1])
                })
            })
    }

    fn knows_exactly(&self, word: &str) -> bool {
        let mut known = self.words.contains(word);
        if !known {
            other_numbers(word, |stem, ending| known = known || self.words.contains(format!("{stem}{ending}")));
        }
        known
    }
}
