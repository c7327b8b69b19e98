//! Coordinated names with shared words: "breast and ovarian cancer", "hepatitis B and C", "type 1
//! and 2 diabetes". They give discontinuous mentions ([`Detected`](super::Detected)).
//!
//! A mention is only formed if the knowledge base has its name:
//!
//! - Shared last words: a name of several words after "and", "or", "&" or a slash shares its last
//!   words with the words before. Commas may separate earlier conjuncts: "breast, ovarian, and
//!   colon cancer".
//! - Designators: numbers and letters share the words before and after them: "vitamin B6 and B12",
//!   "type I or II diabetes".

use super::dictionary::Dictionary;
use super::normalise::{Gap, Kind, Source, Token, normalise_name};
use super::scan::Scan;
use crate::Span;

/// The largest number of conjuncts that share words.
const MAX_PARTS: usize = 8;
/// The largest number of words of a conjunct before the shared ones.
const MAX_WORDS: usize = 3;
/// The largest number of words before designators.
const MAX_SHARED_BEFORE: usize = 2;
/// The largest number of words after designators.
const MAX_SHARED_AFTER: usize = 4;

/// Last words that are not shared with a disease: "pain and anxiety disorder" is no pain disorder.
const UNSHARED: &[&str] = &[
    "attack",
    "attacks",
    "disorder",
    "disorders",
    "reaction",
    "reactions",
    "syndrome",
    "syndromes",
];
/// Pairs that are separate mentions although a joint name exists: "pulse and blood pressure".
const SEPARATE: &[(&str, &str)] = &[("pulse", "pressure")];

/// The fragments of a mention in ascending order.
pub(super) type Pieces = Vec<Span>;

/// The mentions before a name that share its last words. The name has the tokens `first` to `last`.
/// `mention_start` returns the start of an earlier mention that ends at a byte.
pub(super) fn before_shared_head(
    dictionary: &Dictionary,
    scan: &mut Scan,
    first: usize,
    last: usize,
    mention_start: impl Fn(usize) -> Option<usize>,
) -> Vec<Pieces> {
    let mut mentions = Vec::new();
    let Some(mut left_end) = conjunct_end(scan, first) else {
        return mentions;
    };
    let first_conjunct = (first + 1..=last)
        .find_map(|head| conjunct(dictionary, scan, left_end, (head, last), &mention_start));
    let Some(mut part) = first_conjunct else {
        return mentions;
    };
    loop {
        let Conjunct { words, head } = part;
        left_end = words.0;
        mentions.push(vec![extent(scan, words), extent(scan, head)]);
        let before = list_item_end(scan, left_end).filter(|_| mentions.len() < MAX_PARTS);
        let Some(further) =
            before.and_then(|end| conjunct(dictionary, scan, end, head, &mention_start))
        else {
            return mentions;
        };
        part = further;
    }
}

/// A conjunct: its own words and the shared head, each as first and last token.
struct Conjunct {
    words: (usize, usize),
    head: (usize, usize),
}

/// The conjunct that ends before a token and shares the words of `head`.
fn conjunct(
    dictionary: &Dictionary,
    scan: &mut Scan,
    end: usize,
    head: (usize, usize),
    mention_start: &impl Fn(usize) -> Option<usize>,
) -> Option<Conjunct> {
    let last = end.checked_sub(1)?;
    let shared = extent(scan, head);
    let own_end = extent(scan, (last, last)).end;
    (1..=MAX_WORDS).rev().find_map(|count| {
        let first = end.checked_sub(count)?;
        let words = (first, last);
        if !is_run(scan, words) {
            return None;
        }
        let own = extent(scan, words);
        // The words of a longer mention are not taken from it.
        if mention_start(own_end).is_some_and(|start| start < own.start) {
            return None;
        }
        let text = scan.text();
        let own_text = own.of(text).ok()?;
        let shared_text = shared.of(text).ok()?;
        let own_key = key(scan, last)?;
        let head_key = key(scan, head.1)?;
        let unshared = UNSHARED.contains(&head_key.as_str()) && dictionary.has_mention(own_text);
        let separate = count == 1 && SEPARATE.contains(&(own_key.as_str(), head_key.as_str()));
        // "Smoking and smoking cessation" repeats a word.
        let before = head
            .0
            .checked_sub(count)
            .map(|start| extent(scan, (start, head.0 - 1)));
        let before = before
            .and_then(|before| before.of(text).ok())
            .map(normalise_name);
        let repeated = before.is_some_and(|before| before == normalise_name(own_text));
        let is_name = !unshared
            && !separate
            && !repeated
            && dictionary.has_mention(&format!("{own_text} {shared_text}"));
        is_name.then_some(Conjunct { words, head })
    })
}

/// The mentions of designators that share the words around them, and one past their last token. The
/// last designator is the token `at`.
pub(super) fn around_designators(
    dictionary: &Dictionary,
    scan: &mut Scan,
    at: usize,
) -> Option<(Vec<Pieces>, usize)> {
    let kind = designator(scan, at)?;
    let mut items = vec![at];
    let mut end = conjunct_end(scan, at)?;
    loop {
        let item = end
            .checked_sub(1)
            .filter(|item| designator(scan, *item) == Some(kind))?;
        items.push(item);
        match list_item_end(scan, item) {
            Some(before) if items.len() < MAX_PARTS => end = before,
            _ => break,
        }
    }
    items.reverse();
    let first = items[0];
    for after in (0..=MAX_SHARED_AFTER).rev() {
        let tail = (at + 1, at + after);
        if after > 0 && !(is_run(scan, tail) && is_run(scan, (at, at + after))) {
            continue;
        }
        for before in (1..=MAX_SHARED_BEFORE).rev() {
            let Some(start) = first
                .checked_sub(before)
                .filter(|start| is_run(scan, (*start, first)))
            else {
                continue;
            };
            let head = (start, first - 1);
            let fragments = |scan: &mut Scan, item: usize| {
                let shared = extent(scan, head);
                let own = extent(scan, (item, item));
                let mut pieces = if item == first {
                    vec![Span::new(shared.start, own.end)]
                } else {
                    vec![shared, own]
                };
                if after > 0 {
                    let end = extent(scan, tail);
                    match pieces.last_mut().filter(|_| item == at) {
                        Some(last) => last.end = end.end,
                        None => pieces.push(end),
                    }
                }
                let words: Option<Vec<&str>> = pieces
                    .iter()
                    .map(|piece| piece.of(scan.text()).ok())
                    .collect();
                words
                    .filter(|words| dictionary.has_mention(&words.join(" ")))
                    .map(|_| pieces)
            };
            if fragments(scan, first).is_none() || fragments(scan, at).is_none() {
                continue;
            }
            let mentions = items.iter().filter_map(|item| fragments(scan, *item));
            return Some((mentions.collect(), at + after + 1));
        }
    }
    None
}

/// One past the words that "and", "or", "&" or a slash joins to a token.
fn conjunct_end(scan: &mut Scan, at: usize) -> Option<usize> {
    let token = scan.token(at).filter(|token| !token.gap.parts())?;
    let before = at.checked_sub(1)?;
    if has_slash(scan, at, &token) {
        let joined = matches!(key(scan, before).as_deref(), Some("and" | "or"));
        return (!joined).then_some(at);
    }
    if !matches!(key(scan, before)?.as_str(), "and" | "or" | "&") || scan.token(before)?.gap.parts()
    {
        return None;
    }
    let mut end = before;
    if let Some(earlier) = end.checked_sub(1) {
        let conjunction = scan.token(end)?;
        let and_or =
            key(scan, earlier).as_deref() == Some("and") && has_slash(scan, end, &conjunction);
        if and_or || key(scan, earlier).as_deref() == Some(",") {
            end = earlier;
        }
    }
    Some(end)
}

/// One past the words that a comma or slash separates from a token.
fn list_item_end(scan: &mut Scan, at: usize) -> Option<usize> {
    let token = scan.token(at).filter(|token| !token.gap.parts())?;
    if has_slash(scan, at, &token) {
        return Some(at);
    }
    let comma = at.checked_sub(1)?;
    (key(scan, comma)? == "," && !scan.token(comma)?.gap.parts()).then_some(comma)
}

/// Whether only a slash is between a token and its predecessor.
fn has_slash(scan: &mut Scan, at: usize, token: &Token) -> bool {
    let Some(before) = at.checked_sub(1).and_then(|before| scan.token(before)) else {
        return false;
    };
    let between = scan.text().get(before.end..token.start).unwrap_or_default();
    between.trim() == "/" && before.kind == Kind::Word
}

/// Whether a token range has only words, separated by blanks or hyphens.
fn is_run(scan: &mut Scan, (first, last): (usize, usize)) -> bool {
    (first..=last).all(|at| {
        let Some(token) = scan.token(at).filter(|token| token.kind == Kind::Word) else {
            return false;
        };
        let joined = !token.gap.parts() && token.gap != Gap::Glued && !has_slash(scan, at, &token);
        (at == first || joined) && !matches!(scan.key(&token), "and" | "or")
    })
}

/// The span of a token range.
fn extent(scan: &mut Scan, (first, last): (usize, usize)) -> Span {
    let start = scan.token(first).map_or(0, |token| token.start);
    Span::new(start, scan.token(last).map_or(start, |token| token.end))
}

fn key(scan: &mut Scan, at: usize) -> Option<String> {
    let token = scan.token(at)?;
    Some(scan.key(&token).to_owned())
}

/// The series of a designator.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Designator {
    Number,
    Letter,
    Greek,
}

/// The series of the token, if it is a designator.
fn designator(scan: &mut Scan, at: usize) -> Option<Designator> {
    let token = scan
        .token(at)
        .filter(|token| token.kind == Kind::Word && token.gap != Gap::Glued)?;
    let key = scan.key(&token);
    let capital = token.upper & 1 == 1;
    let digits = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
    match key {
        "alpha" | "beta" | "gamma" | "delta" | "epsilon" => Some(Designator::Greek),
        _ if key.len() > 5 || !key.is_ascii() => None,
        _ if digits(key) || digits(&key[..key.len() - 1]) && key.len() > 1 => {
            Some(Designator::Number)
        }
        _ if capital
            && (digits(&key[1..]) || key.bytes().all(|b| matches!(b, b'i' | b'v' | b'x'))) =>
        {
            Some(Designator::Letter)
        }
        _ => None,
    }
}

impl Dictionary {
    /// Whether a text matches a name that may be found in text.
    fn has_mention(&self, text: &str) -> bool {
        let mut scan = Scan::new(self, text, Source::Name);
        let names = scan.names_at(0);
        names
            .iter()
            .any(|found| scan.token(found.last + 1).is_none() && scan.accepts(0, *found))
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::dictionary;
    use super::super::{DetectOptions, Detected, Dictionary};
    use crate::text_of;

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
        names().detect(
            text,
            &DetectOptions {
                overlapping,
                ..DetectOptions::default()
            },
        )
    }

    fn found(text: &str) -> Vec<String> {
        let text_of = |mention: &Detected| {
            text_of(text, mention.pieces())
                .expect("valid fragments")
                .into_owned()
        };
        detect(text, false).iter().map(text_of).collect()
    }

    #[test]
    fn last_words_are_shared() {
        assert_eq!(
            found("breast and ovarian cancer"),
            ["breast cancer", "ovarian cancer"]
        );
        assert_eq!(
            found("Breast or ovarian cancers"),
            ["Breast cancers", "ovarian cancers"]
        );
        assert_eq!(
            found("breast and/or ovarian cancer"),
            ["breast cancer", "ovarian cancer"]
        );
        assert_eq!(
            found("breast, ovarian, and colon cancer"),
            ["breast cancer", "ovarian cancer", "colon cancer"]
        );
        assert_eq!(
            found("breast/ovarian/colon cancer"),
            ["breast cancer", "ovarian cancer", "colon cancer"]
        );
        assert_eq!(
            found("upper and lower limb weakness"),
            ["upper limb weakness", "lower limb weakness"]
        );
        assert_eq!(
            found("carotid/vertebral artery"),
            ["carotid artery", "vertebral artery"]
        );
        assert_eq!(
            found("type 1 and type 2 diabetes"),
            ["type 1 diabetes", "type 2 diabetes"]
        );
        assert_eq!(
            found("breast\nand ovarian cancer"),
            ["breast cancer", "ovarian cancer"]
        );
    }

    #[test]
    fn designators_share_the_words_around_them() {
        // Both mentions have the same span; the one with the shorter first fragment comes first.
        assert_eq!(
            found("type 1 and 2 diabetes"),
            ["type 2 diabetes", "type 1 diabetes"]
        );
        assert_eq!(
            found("type 1/2 diabetes, diabetes"),
            ["type 2 diabetes", "type 1 diabetes", "diabetes"]
        );
        assert_eq!(
            found("Hepatitis A, B and C negative"),
            ["Hepatitis A", "Hepatitis B", "Hepatitis C"]
        );
        assert_eq!(
            found("hepatitis B and C virus"),
            ["hepatitis C virus", "hepatitis B virus"]
        );
        assert_eq!(found("factor V or VIII"), ["factor V", "factor VIII"]);
    }

    #[test]
    fn fragments_exclude_text_that_is_not_shared() {
        let text = "no breast and ovarian cancer";
        let mentions = detect(text, false);
        let pieces: Vec<(usize, usize)> = mentions[0]
            .pieces()
            .iter()
            .map(|piece| (piece.start, piece.end))
            .collect();
        assert_eq!(pieces, [(3, 9), (22, 28)]);
        assert!(mentions[1].fragments.is_empty());
        // Adjacent fragments are merged.
        let pieces = detect("type 1 and 2 diabetes", false).remove(1).fragments;
        assert_eq!(
            pieces
                .iter()
                .map(|piece| (piece.start, piece.end))
                .collect::<Vec<_>>(),
            [(0, 6), (13, 21)]
        );
    }

    #[test]
    fn mentions_need_a_name_in_the_knowledge_base() {
        for (text, mentions) in [
            ("head and neck cancer", &["head and neck cancer"][..]),
            ("heart failure and pain", &["heart failure", "pain"]),
            ("breast, ovarian cancer", &["breast", "ovarian cancer"]),
            ("breast. Ovarian cancer", &["breast", "Ovarian cancer"]),
            (
                "breast and\n\novarian cancer",
                &["breast", "ovarian cancer"],
            ),
            ("breast and   ovarian cancer", &["breast", "ovarian cancer"]),
            ("skin and ovarian cancer", &["ovarian cancer"]),
            (
                "left breast and ovarian cancer",
                &["left breast", "ovarian cancer"],
            ),
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
    fn overlapping_option_keeps_the_shorter_names() {
        let text = "breast and ovarian cancer";
        let texts: Vec<_> = detect(text, true)
            .iter()
            .map(|mention| {
                text_of(text, mention.pieces())
                    .expect("valid fragments")
                    .into_owned()
            })
            .collect();
        assert_eq!(texts, ["breast", "breast cancer", "ovarian cancer"]);
    }
}
