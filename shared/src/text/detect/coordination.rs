//! Names that share words: "breast and ovarian cancer" names two cancers, "hepatitis B and C" two infections, "type 1 and 2
//! diabetes" two kinds of it. A mention that leaves words of the text out is in pieces ([`Detected`](super::Detected)).
//!
//! Words are shared only where the knowledge base has the name of every part in question, so that nothing is made up:
//!
//! - A name of several words after "and", "or", "&" or a slash lends its last words to what stands before. In "breast,
//!   ovarian, and colon cancer" a comma may part the earlier ones.
//! - Numbers and letters share the words before and after them: "vitamin B6 and B12", "type I or II diabetes".

use super::dictionary::Dictionary;
use super::normalise::{Gap, Kind, Source, Token, normalise_name};
use super::scan::Scan;
use crate::text::Span;

/// Most parts that share words.
const MAX_PARTS: usize = 8;
/// Most words of a part before the shared ones.
const MAX_WORDS: usize = 3;
/// Most words before, and after, numbers and letters.
const MAX_SHARED: (usize, usize) = (2, 4);

/// Last words that a disease does not borrow: "pain and anxiety disorder" is no pain disorder.
const UNSHARED: &[&str] =
    &["attack", "attacks", "disorder", "disorders", "reaction", "reactions", "syndrome", "syndromes"];
/// What is two things, though there is a name for both together: "pulse and blood pressure".
const APART: &[(&str, &str)] = &[("pulse", "pressure")];

/// The pieces of a mention, in the order of the text.
pub(super) type Pieces = Vec<Span>;

/// The mentions before a name that borrow its last words; the name has the tokens from `first` to `last`. `taken` says
/// whether a mention found before ends at a byte, and where it starts.
pub(super) fn before_shared_head(
    dictionary: &Dictionary,
    scan: &mut Scan,
    first: usize,
    last: usize,
    taken: impl Fn(usize) -> Option<usize>,
) -> Vec<Pieces> {
    let mut mentions = Vec::new();
    let Some(mut left_end) = joined_before(scan, first) else { return mentions };
    let Some(mut part) = (first + 1..=last).find_map(|head| part(dictionary, scan, left_end, (head, last), &taken))
    else {
        return mentions;
    };
    loop {
        let (words, head) = (part.words, part.head);
        left_end = words.0;
        mentions.push(vec![extent(scan, words), extent(scan, head)]);
        let before = listed_before(scan, left_end).filter(|_| mentions.len() < MAX_PARTS);
        let Some(further) = before.and_then(|end| self::part(dictionary, scan, end, head, &taken)) else {
            return mentions;
        };
        part = further;
    }
}

/// A part of a coordination: its own words and the shared ones, as first and last tokens.
struct Part {
    words: (usize, usize),
    head: (usize, usize),
}

/// The part that ends before a token and borrows the words of `head`.
fn part(
    dictionary: &Dictionary,
    scan: &mut Scan,
    end: usize,
    head: (usize, usize),
    taken: &impl Fn(usize) -> Option<usize>,
) -> Option<Part> {
    let last = end.checked_sub(1)?;
    let shared = extent(scan, head);
    let stop = extent(scan, (last, last)).end;
    (1..=MAX_WORDS).rev().find_map(|count| {
        let first = end.checked_sub(count)?;
        let words = (first, last);
        if !is_run(scan, words) {
            return None;
        }
        let own = extent(scan, words);
        // Words of a longer mention are its own.
        if taken(stop).is_some_and(|start| start < own.start) {
            return None;
        }
        let text = scan.text();
        let (own_text, shared_text) = (own.of(text).ok()?, shared.of(text).ok()?);
        let (own_key, head_key) = (key(scan, last)?, key(scan, head.1)?);
        let unshared = UNSHARED.contains(&head_key.as_str()) && dictionary.has_mention(own_text);
        let apart = count == 1 && APART.contains(&(own_key.as_str(), head_key.as_str()));
        // "Smoking and smoking cessation" says the same word twice.
        let before = head.0.checked_sub(count).map(|start| extent(scan, (start, head.0 - 1)));
        let before = before.and_then(|before| before.of(text).ok()).map(normalise_name);
        let twice = before.is_some_and(|before| before == normalise_name(own_text));
        let is_name = !unshared && !apart && !twice && dictionary.has_mention(&format!("{own_text} {shared_text}"));
        is_name.then_some(Part { words, head })
    })
}

/// The mentions of numbers or letters that share the words around them, and one past the last token that they have. The
/// last number or letter is the token `at`.
pub(super) fn around_designators(dictionary: &Dictionary, scan: &mut Scan, at: usize) -> Option<(Vec<Pieces>, usize)> {
    let kind = designator(scan, at)?;
    let mut items = vec![at];
    let mut end = joined_before(scan, at)?;
    loop {
        let item = end.checked_sub(1).filter(|item| designator(scan, *item) == Some(kind))?;
        items.push(item);
        match listed_before(scan, item) {
            Some(before) if items.len() < MAX_PARTS => end = before,
            _ => break,
        }
    }
    items.reverse();
    let first = items[0];
    for after in (0..=MAX_SHARED.1).rev() {
        let tail = (at + 1, at + after);
        if after > 0 && !(is_run(scan, tail) && is_run(scan, (at, at + after))) {
            continue;
        }
        for before in (1..=MAX_SHARED.0).rev() {
            let Some(start) = first.checked_sub(before).filter(|start| is_run(scan, (*start, first))) else { continue };
            let head = (start, first - 1);
            let name = |scan: &mut Scan, item: usize| {
                let (shared, own) = (extent(scan, head), extent(scan, (item, item)));
                let mut pieces = match item == first {
                    true => vec![Span::new(shared.start, own.end)],
                    false => vec![shared, own],
                };
                if after > 0 {
                    let end = extent(scan, tail);
                    match pieces.last_mut().filter(|_| item == at) {
                        Some(last) => last.end = end.end,
                        None => pieces.push(end),
                    }
                }
                let words: Option<Vec<&str>> = pieces.iter().map(|piece| piece.of(scan.text()).ok()).collect();
                words.filter(|words| dictionary.has_mention(&words.join(" "))).map(|_| pieces)
            };
            if name(scan, first).is_none() || name(scan, at).is_none() {
                continue;
            }
            let mentions = items.iter().filter_map(|item| name(scan, *item));
            return Some((mentions.collect(), at + after + 1));
        }
    }
    None
}

/// Where the words end that "and", "or", "&" or a slash joins to a token.
fn joined_before(scan: &mut Scan, at: usize) -> Option<usize> {
    let token = scan.token(at).filter(|token| !token.gap.parts())?;
    let before = at.checked_sub(1)?;
    if has_slash(scan, at, &token) {
        let joined = matches!(key(scan, before).as_deref(), Some("and" | "or"));
        return (!joined).then_some(at);
    }
    if !matches!(key(scan, before)?.as_str(), "and" | "or" | "&") || scan.token(before)?.gap.parts() {
        return None;
    }
    let mut end = before;
    if let Some(earlier) = end.checked_sub(1) {
        let conjunction = scan.token(end)?;
        let and_or = key(scan, earlier).as_deref() == Some("and") && has_slash(scan, end, &conjunction);
        if and_or || key(scan, earlier).as_deref() == Some(",") {
            end = earlier;
        }
    }
    Some(end)
}

/// Where the words end that a comma or slash parts from a token.
fn listed_before(scan: &mut Scan, at: usize) -> Option<usize> {
    let token = scan.token(at).filter(|token| !token.gap.parts())?;
    if has_slash(scan, at, &token) {
        return Some(at);
    }
    let comma = at.checked_sub(1)?;
    (key(scan, comma)? == "," && !scan.token(comma)?.gap.parts()).then_some(comma)
}

/// Whether a slash alone stands between a token and the one before.
fn has_slash(scan: &mut Scan, at: usize, token: &Token) -> bool {
    let Some(before) = at.checked_sub(1).and_then(|before| scan.token(before)) else { return false };
    let between = scan.text().get(before.end..token.start).unwrap_or_default();
    between.trim() == "/" && before.kind == Kind::Word
}

/// Whether the tokens from one to another are words with nothing but blanks and hyphens between them.
fn is_run(scan: &mut Scan, (first, last): (usize, usize)) -> bool {
    (first..=last).all(|at| {
        let Some(token) = scan.token(at).filter(|token| token.kind == Kind::Word) else { return false };
        let joined = !token.gap.parts() && token.gap != Gap::Glued && !has_slash(scan, at, &token);
        (at == first || joined) && !matches!(scan.key(&token), "and" | "or")
    })
}

/// Where the tokens from one to another stand.
fn extent(scan: &mut Scan, (first, last): (usize, usize)) -> Span {
    let start = scan.token(first).map_or(0, |token| token.start);
    Span::new(start, scan.token(last).map_or(start, |token| token.end))
}

fn key(scan: &mut Scan, at: usize) -> Option<String> {
    let token = scan.token(at)?;
    Some(scan.key(&token).to_owned())
}

/// What numbers and letters are of one series.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Designator {
    Number,
    Letter,
    Greek,
}

fn designator(scan: &mut Scan, at: usize) -> Option<Designator> {
    let token = scan.token(at).filter(|token| token.kind == Kind::Word && token.gap != Gap::Glued)?;
    let key = scan.key(&token);
    let capital = token.upper & 1 == 1;
    let digits = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
    match key {
        "alpha" | "beta" | "gamma" | "delta" | "epsilon" => Some(Designator::Greek),
        _ if key.len() > 5 || !key.is_ascii() => None,
        _ if digits(key) || digits(&key[..key.len() - 1]) && key.len() > 1 => Some(Designator::Number),
        _ if capital && (digits(&key[1..]) || key.bytes().all(|b| matches!(b, b'i' | b'v' | b'x'))) => {
            Some(Designator::Letter)
        }
        _ => None,
    }
}

impl Dictionary {
    /// Whether a text is a name that may be found in text, or a form of one.
    fn has_mention(&self, text: &str) -> bool {
        let mut scan = Scan::new(self, text, Source::Name);
        let names = scan.names_at(0);
        names.iter().any(|found| scan.token(found.last + 1).is_none() && scan.accepts(0, *found))
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::dictionary;
    use super::super::{DetectOptions, Detected, Dictionary};
    use crate::text::text_of;

    fn names() -> Dictionary {
        let names = [
            "breast",
            "breast cancer",
            "ovarian cancer",
            "colon cancer",
            "left breast",
            "type 1 diabetes",
            "type 2 diabetes",
            "diabetes",
            "upper limb weakness",
            "lower limb weakness",
            "weakness",
            "carotid artery",
            "vertebral artery",
            "heart",
            "heart failure",
            "kidney failure",
            "heart pain",
            "pain",
            "hepatitis A",
            "hepatitis B",
            "hepatitis C",
            "hepatitis B virus",
            "hepatitis C virus",
            "anxiety disorder",
            "pain disorder",
            "head and neck cancer",
            "neck cancer",
            "head cancer",
            "pulse",
            "pulse pressure",
            "blood pressure",
            "factor V",
            "factor VIII",
            "chest pain",
            "back pain",
        ];
        let concepts: Vec<(&str, &[&str])> = names.iter().map(|name| (*name, &[][..])).collect();
        dictionary(&concepts, "")
    }

    fn detect(text: &str, overlapping: bool) -> Vec<Detected> {
        names().detect(text, &DetectOptions { overlapping, ..DetectOptions::default() })
    }

    fn found(text: &str) -> Vec<String> {
        let read = |mention: &Detected| text_of(text, mention.pieces()).expect("pieces can be cut").into_owned();
        detect(text, false).iter().map(read).collect()
    }

    #[test]
    fn the_last_words_of_a_name_are_shared() {
        assert_eq!(found("breast and ovarian cancer"), ["breast cancer", "ovarian cancer"]);
        assert_eq!(found("Breast or ovarian cancers"), ["Breast cancers", "ovarian cancers"]);
        assert_eq!(found("breast and/or ovarian cancer"), ["breast cancer", "ovarian cancer"]);
        assert_eq!(found("breast, ovarian, and colon cancer"), ["breast cancer", "ovarian cancer", "colon cancer"]);
        assert_eq!(found("breast/ovarian/colon cancer"), ["breast cancer", "ovarian cancer", "colon cancer"]);
        assert_eq!(found("upper and lower limb weakness"), ["upper limb weakness", "lower limb weakness"]);
        assert_eq!(found("carotid/vertebral artery"), ["carotid artery", "vertebral artery"]);
        assert_eq!(found("type 1 and type 2 diabetes"), ["type 1 diabetes", "type 2 diabetes"]);
        assert_eq!(found("breast\nand ovarian cancer"), ["breast cancer", "ovarian cancer"]);
    }

    #[test]
    fn numbers_and_letters_share_the_words_around_them() {
        // Both begin and end together: the one with the shorter first piece comes first.
        assert_eq!(found("type 1 and 2 diabetes"), ["type 2 diabetes", "type 1 diabetes"]);
        assert_eq!(found("type 1/2 diabetes, diabetes"), ["type 2 diabetes", "type 1 diabetes", "diabetes"]);
        assert_eq!(found("Hepatitis A, B and C negative"), ["Hepatitis A", "Hepatitis B", "Hepatitis C"]);
        assert_eq!(found("hepatitis B and C virus"), ["hepatitis C virus", "hepatitis B virus"]);
        assert_eq!(found("factor V or VIII"), ["factor V", "factor VIII"]);
    }

    #[test]
    fn pieces_leave_out_what_is_not_shared() {
        let text = "no breast and ovarian cancer";
        let mentions = detect(text, false);
        let pieces: Vec<(usize, usize)> = mentions[0].pieces().iter().map(|piece| (piece.start, piece.end)).collect();
        assert_eq!(pieces, [(3, 9), (22, 28)]);
        assert!(mentions[1].fragments.is_empty());
        // The pieces that stand side by side are one.
        let pieces = detect("type 1 and 2 diabetes", false).remove(1).fragments;
        assert_eq!(pieces.iter().map(|piece| (piece.start, piece.end)).collect::<Vec<_>>(), [(0, 6), (13, 21)]);
    }

    #[test]
    fn nothing_is_made_up() {
        for (text, mentions) in [
            ("head and neck cancer", &["head and neck cancer"][..]),
            ("heart failure and pain", &["heart failure", "pain"]),
            ("breast, ovarian cancer", &["breast", "ovarian cancer"]),
            ("breast. Ovarian cancer", &["breast", "Ovarian cancer"]),
            ("breast and\n\novarian cancer", &["breast", "ovarian cancer"]),
            ("breast and   ovarian cancer", &["breast", "ovarian cancer"]),
            ("skin and ovarian cancer", &["ovarian cancer"]),
            ("left breast and ovarian cancer", &["left breast", "ovarian cancer"]),
            ("pain and anxiety disorder", &["pain", "anxiety disorder"]),
            ("pulse and blood pressure", &["pulse", "blood pressure"]),
            ("breast and breast cancer", &["breast", "breast cancer"]),
            ("chest pain and back pain", &["chest pain", "back pain"]),
            ("hepatitis B and a rash", &["hepatitis B"]),
            ("hepatitis A, 2 weeks", &["hepatitis A"]),
            ("type 1 and 5 diabetes", &["diabetes"]),
        ] {
            assert_eq!(found(text), mentions, "{text}");
        }
    }

    #[test]
    fn overlapping_mentions_keep_the_shorter_names() {
        let text = "breast and ovarian cancer";
        let read: Vec<_> = detect(text, true)
            .iter()
            .map(|mention| text_of(text, mention.pieces()).expect("it can be cut").into_owned())
            .collect();
        assert_eq!(read, ["breast", "breast cancer", "ovarian cancer"]);
    }
}
