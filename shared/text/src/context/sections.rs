//! Section headings of a note, and the section of each token.

use super::forms;
use super::rules::{RuleSet, SUBHEADING};
use super::stated::StatedSection;
use super::tokens::{self, Border, Token};
use super::{Heading, Span};

/// A section of a text.
#[derive(Clone, Debug)]
pub(super) struct Section {
    /// The number of the section's rule; `None` for a heading that no rule has.
    pub known: Option<usize>,
    /// The first token of the heading.
    pub first: usize,
    /// The first token after the heading.
    pub content: usize,
    /// One past the last token.
    pub end: usize,
}

/// The fewest capitals of an unknown heading that is alone in its line.
const HEADING_LETTERS: usize = 6;

/// The bytes that a heading behind a bullet has at least if no colon follows.
const SHORTEST: usize = 4;
/// The largest number of words of a heading that no rule has.
const MAX_HEADING: usize = 6;
/// The largest number of bytes of a heading that no rule has. Each mention has a copy of it.
const MAX_HEADING_BYTES: usize = 256;

/// The words that answer a question or an item of a check list.
const ANSWERS: [&str; 28] = [
    "yes", "no", "none", "y", "n", "neg", "negative", "pos", "positive", "denies", "denied", "ja",
    "nein", "keine", "verneint", "negativ", "positiv", "oui", "non", "aucun", "aucune", "absent",
    "absente", "si", "sí", "SÍ", "ninguno", "niega",
];
/// The largest number of words of an item of a check list.
const MAX_ITEM: usize = 6;

/// Finds the answers in "Fever: No Cough: Yes" and "Fever? No. Cough? Yes.": an item starts after
/// an answer, and an answer belongs to its question. Items in lower case are a check list if each
/// of them has an answer up to the end of the sentence: "fever: no cough: yes".
fn answers(text: &str, tokens: &mut [Token]) {
    // From the end, as an item may be followed by others.
    let mut is_item = vec![false; tokens.len()];
    let found: Vec<usize> = (1..tokens.len())
        .filter(|at| !tokens[*at].border.starts_line() && is_answer(text, tokens, *at))
        .collect();
    for at in found.iter().rev() {
        let next = at + 1;
        if next < tokens.len() && !ends_answer(tokens, next) {
            is_item[next] = opens_item(text, tokens, next, &is_item, tokens[at - 1].mark);
        }
    }
    for at in found {
        let asked = tokens[at - 1].mark == '?';
        if asked && ends_answer(tokens, at + 1) {
            tokens[at].border = Border::None;
        } else if is_item.get(at + 1) == Some(&true) {
            if asked {
                tokens[at].border = Border::None;
            }
            tokens[at + 1].border = Border::Sentence;
        }
    }
}

/// Whether a token is a word such as "yes".
fn is_answer(text: &str, tokens: &[Token], at: usize) -> bool {
    tokens.get(at).is_some_and(|token| {
        let word = &text[token.start..token.end];
        ANSWERS
            .iter()
            .any(|answer| word.eq_ignore_ascii_case(answer))
    })
}

/// Whether an answer ends before a token.
fn ends_answer(tokens: &[Token], at: usize) -> bool {
    tokens.get(at).is_none_or(|token| {
        token.border != Border::None || matches!(token.mark, '.' | ',' | ';' | '|')
    })
}

/// Whether an item with an answer starts at a token: "Cough: Yes", but not "chest pain GI: no".
/// `mark` is the one before the answer of the item before, and `is_item` tells of later items.
fn opens_item(text: &str, tokens: &[Token], at: usize, is_item: &[bool], mark: char) -> bool {
    let item = &tokens[at..];
    let words = item
        .iter()
        .take(MAX_ITEM)
        .take_while(|token| matches!(token.mark, ' ' | '/') && token.border == Border::None)
        .count();
    let colon = at + words;
    let marked = matches!(mark, ':' | '?' | '-' | '=')
        && tokens
            .get(colon)
            .is_some_and(|token| token.mark == mark && token.border == Border::None);
    if words == 0 || item[0].mark != ' ' || !marked || !is_answer(text, tokens, colon + 1) {
        return false;
    }
    let next = colon + 2;
    if ends_answer(tokens, next) || is_item.get(next) == Some(&true) {
        return item[0].capital || !item[..words].iter().any(|token| token.capital);
    }
    mark == ':' && item[0].capital && tokens[next].capital
}

/// A heading: its tokens, and its rule if one has it.
struct Found {
    known: Option<usize>,
    first: usize,
    /// One past the last token.
    end: usize,
}

/// Finds the headings of a text, in order.
fn find_headings(text: &str, tokens: &[Token], rules: &RuleSet) -> Vec<Found> {
    let mut headings = Vec::new();
    let mut first = 0;
    while first < tokens.len() {
        let starts_line = starts_line(tokens, first);
        let heading = known_heading(tokens, first, starts_line, rules)
            .map(|(section, end)| (Some(section), end))
            .or_else(|| {
                let end = starts_line.then(|| unknown_heading(text, tokens, first))??;
                Some((None, end))
            });
        let Some((known, end)) = heading else {
            first += 1;
            continue;
        };
        headings.push(Found { known, first, end });
        first = content_of(tokens, end).max(first + 1);
    }
    headings
}

/// The first token after a heading that ends before `end`.
fn content_of(tokens: &[Token], end: usize) -> usize {
    let marked = tokens
        .get(end)
        .is_some_and(|token| matches!(token.mark, ':' | '-'));
    end + usize::from(marked)
}

/// The headings of a text with their kinds, in order. One inside a sentence is none: "Auscultation
/// of Heart: regular". After "NAD." one begins, although the period may be that of a short form.
pub(super) fn headings(text: &str, rules: &RuleSet) -> Vec<(Span, Heading)> {
    let mut tokens = tokens::tokenize(text, &rules.vocabulary);
    answers(text, &mut tokens);
    let mut headings = find_headings(text, &tokens, rules);
    headings.retain(|Found { first, end, .. }| {
        let before = text[..tokens[*first].start].trim_end().chars().last();
        let begins = starts_line(&tokens, *first) || before.is_some_and(|c| ".;:?!".contains(c));
        begins && first < end
    });
    let of_text = headings.into_iter().map(|found| {
        let kind = match found.known {
            Some(SUBHEADING) => Heading::Subsection,
            Some(_) => Heading::Section,
            None => Heading::Unknown,
        };
        let span = Span::new(tokens[found.first].start, tokens[found.end - 1].end);
        (span, kind)
    });
    of_text.collect()
}

/// Finds the sections, in order. The border after a heading becomes one of a sentence; tokens of
/// headings of sections are flagged, because no cue is in them.
pub(super) fn find(
    text: &str,
    tokens: &mut [Token],
    rules: &RuleSet,
    stated: &[StatedSection],
) -> (Vec<Section>, Vec<bool>) {
    answers(text, tokens);
    let mut sections: Vec<Section> = Vec::new();
    let mut in_heading = vec![false; tokens.len()];
    let found = find_headings(text, tokens, rules);
    for Found { known, first, end } in with_stated(found, tokens, rules, stated) {
        let content = content_of(tokens, end);
        // "Mother:" and "Father:" are cues, too.
        if known.is_some_and(|section| section != SUBHEADING) {
            in_heading[first..end].fill(true);
        }
        if tokens[first].border < Border::Sentence {
            tokens[first].border = Border::Sentence;
        }
        // "SMOKING: [ ] yes [x] no" states the heading.
        if let Some(token) = tokens.get_mut(content)
            && token.border < Border::Sentence
            && token.mark != forms::STATE
        {
            token.border = Border::Sentence;
        }
        if known != Some(SUBHEADING) {
            if let Some(last) = sections.last_mut() {
                last.end = first;
            }
            sections.push(Section {
                known,
                first,
                content,
                end: tokens.len(),
            });
        }
    }
    (sections, in_heading)
}

/// Headings with those of the sections that a document marks. A marked one takes the place of what
/// the rules have found there, unless it has no name.
fn with_stated(
    found: Vec<Found>,
    tokens: &[Token],
    rules: &RuleSet,
    stated: &[StatedSection],
) -> Vec<Found> {
    if stated.is_empty() {
        return found;
    }
    let mut all: Vec<Found> = Vec::with_capacity(found.len() + stated.len());
    let mut found = found.into_iter().peekable();
    for section in stated {
        let first = tokens.partition_point(|token| token.end <= section.heading.start);
        if first >= tokens.len() {
            continue;
        }
        let behind = tokens.partition_point(|token| token.start < section.heading.end);
        while let Some(own) = found.next_if(|own| own.end.max(own.first + 1) <= first) {
            all.push(own);
        }
        let mut known = section
            .name
            .as_ref()
            .and_then(|name| rules.sections.iter().position(|own| own == name));
        // What is found in the heading is a part of it.
        while let Some(own) = found.next_if(|own| own.first < behind.max(first + 1)) {
            let is_section = own.known.is_some_and(|own| own != SUBHEADING);
            if known.is_none() && own.first == first && is_section {
                known = own.known;
            }
        }
        all.push(Found {
            known,
            first,
            end: behind.max(first),
        });
    }
    all.extend(found);
    all
}

/// Whether a token is the first of a line, after a bullet or number.
fn starts_line(tokens: &[Token], at: usize) -> bool {
    let mut at = at;
    for _ in 0..3 {
        if tokens[at].border.starts_line() {
            return true;
        }
        let Some(before) = at.checked_sub(1) else {
            return true;
        };
        let bullet = matches!(tokens[before].mark, '-' | '*' | '•' | '.' | ')' | '#')
            || tokens[before].end - tokens[before].start <= 2
                && tokens[before].mark == ' '
                && tokens[at].mark != ' ';
        if !bullet {
            return false;
        }
        at = before;
    }
    false
}

/// The section of a known heading at a token, and the token after the heading.
fn known_heading(
    tokens: &[Token],
    at: usize,
    starts_line: bool,
    rules: &RuleSet,
) -> Option<(usize, usize)> {
    let token = &tokens[at];
    if token.symbols.is_empty() {
        return None;
    }
    // Inside a line, only capitals and a colon tell a heading from other words.
    if !starts_line && !token.capital {
        return None;
    }
    let found = rules.headings.longest(tokens, at, false)?;
    let after = tokens.get(found.end);
    let colon = after.is_some_and(|token| token.mark == ':');
    let ends_line = after.is_none_or(|token| token.border.starts_line());
    let dash = after.is_some_and(|token| token.mark == '-');
    // "- PE" below "DDx:" is an entry of the list, "- Family history" a heading.
    let is_short = token.end - token.start < SHORTEST && found.end == at + 1;
    let behind = at > 0 && !token.border.starts_line();
    let is_entry = is_short && behind && matches!(tokens[at - 1].mark, '-' | '*' | '•');
    let closes = colon || starts_line && (ends_line && !is_entry || dash);
    let section = found.patterns.first().map(|section| *section as usize)?;
    closes.then_some((section, found.end))
}

/// The end of an unknown heading at the start of a line: a few words in capitals, with a colon or
/// alone in the line.
fn unknown_heading(text: &str, tokens: &[Token], at: usize) -> Option<usize> {
    let mut end = at;
    let mut letters = 0;
    while let Some(token) = tokens.get(end) {
        if end > at && token.border.starts_line() || token.mark == ':' {
            break;
        }
        if token.end - tokens[at].start > MAX_HEADING_BYTES {
            return None;
        }
        let word = &text[token.start..token.end];
        let small = word.chars().any(char::is_lowercase);
        if small || end - at >= MAX_HEADING || matches!(token.mark, '.' | ',' | '?' | ';') {
            return None;
        }
        letters += word.chars().filter(|c| c.is_uppercase()).count();
        end += 1;
    }
    let alone = tokens.get(end).is_none_or(|token| token.mark != ':');
    // A line of its own in an all-caps note is a heading only between empty lines. "CABG 2014" is an
    // entry of a list, and so is "COPD".
    let last = tokens[at..end]
        .last()
        .map_or(tokens[at].start, |token| token.end);
    let words = &text[tokens[at].start..last];
    let is_entry = letters < HEADING_LETTERS || words.contains(|c: char| c.is_ascii_digit());
    let apart = tokens[at].border == Border::Block
        && tokens
            .get(end)
            .is_some_and(|token| token.border == Border::Block);
    (letters >= 4 && (!alone || apart && !is_entry)).then_some(end)
}

/// The index of the section that a token is in.
pub(super) fn section_at(sections: &[Section], token: usize) -> Option<usize> {
    let after = sections.partition_point(|section| section.first <= token);
    after.checked_sub(1)
}
