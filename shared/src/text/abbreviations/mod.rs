//! Short forms that a text defines, as in "small for gestational age (SGA)", so that a mention can be read written out.
//!
//! The road is that of Schwartz and Hearst ("A simple algorithm for identifying abbreviation definitions in biomedical text",
//! 2003): the long form stands right before the bracket, and has the short form's letters in their order, the first at
//! the start of a word. Where several beginnings fit, the one is taken with the most letters at the starts of words for its
//! length. Text that lost its brackets is read too, more strictly: "small for gestational age sga". What looks like a word of the
//! language needs more letters at the starts of words than what does not, so that "Symptoms include" is not what "sinus" stands
//! for; marks of lists and references define nothing. `bench/abbreviations.py` measures it.

mod fit;
mod words;

use crate::error::Result;
use crate::text::{Mention, Span};
use fit::{Strictness, fitting};
use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;
use words::{is_function_word, is_ordinary, is_pointer, is_pronounceable, is_roman};

/// Characters of a short form in brackets.
const SHORT: Range<usize> = 2..11;
/// Letters and digits of a short form without brackets.
const BARE: Range<usize> = 2..7;
/// What no long form goes across; a comma only where there are brackets.
const BREAKS: [char; 10] = [',', '.', ';', ':', '(', ')', '[', ']', '!', '?'];
/// Words of a long form that are looked at, at most.
const WINDOW: usize = 15;
/// Prefixes that are no part of a long form.
const NEGATING: [&str; 2] = ["anti-", "non-"];
/// Characters that a hyphen may join to a long form from the left, at most.
const MOST_JOINED: usize = 40;

/// The definitions of a text.
#[derive(Debug, Default)]
pub struct Abbreviations<'a> {
    text: &'a str,
    /// Whether it has lists whose marks are Roman numerals in brackets.
    lists: bool,
    /// By the short form in lower case, in the order of the text.
    definitions: HashMap<String, Vec<Definition>>,
}

/// Where a short form is defined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Definition {
    /// The short form.
    pub short: Span,
    /// What it stands for.
    pub long: Span,
    /// Whether brackets show that it is a definition.
    pub bracketed: bool,
}

impl<'a> Abbreviations<'a> {
    /// Finds the definitions of a text, in time linear in it.
    pub fn of(text: &'a str) -> Self {
        let lists = ["(i)", "(ii)", "(iii)"].iter().any(|mark| text.contains(mark));
        let mut found = Self { text, lists, definitions: HashMap::new() };
        let words = words(text);
        for at in 1..words.len() {
            let opens = opens(text, &words[at - 1..=at]);
            if opens.is_some_and(|bracket| bracket) {
                found.bracketed(&words, at);
            } else if opens.is_some() && !text[..words[at].start].ends_with('-') {
                found.bare(&words, at);
            }
        }
        found
    }

    /// A bracket that begins with the word `at`: a short form after its long form, or the other way round.
    fn bracketed(&mut self, words: &[Span], at: usize) {
        let start = words[at].start;
        let inside = &self.text[start..];
        let Some(end) = inside.find([')', ']', ';', ',', '(', '[']) else { return };
        let short = Span::new(start, start + inside[..end].trim_end().len());
        let before = window(self.text, words, at, &BREAKS[1..]);
        if self.is_mark(short) {
            // It defines nothing.
        } else if self.is_short(short) {
            let text = &self.text[short.start..short.end];
            // "(apo)" and "(glu)" are short forms more often than words, "(renal)" and "(cysts)" are not.
            let strictness = match is_ordinary(text) || is_pronounceable(text) && text.chars().count() > 3 {
                true => Strictness::Initials,
                false => Strictness::Loose,
            };
            self.define(short, &words[before], strictness, true);
        } else if inside[end..].starts_with([')', ']']) {
            // "SGA (small for gestational age)": the window is what stands in the bracket.
            let last = words.partition_point(|word| word.end <= short.end);
            let outside = unit(self.text, words, at - 1);
            if last > at + 1 && last - at <= WINDOW && self.is_short(outside) {
                let long = Span::new(start, words[last - 1].end);
                if fitting(self.text, outside, &words[at..last], Strictness::Whole) == Some(last - at) {
                    self.add(Definition { short: outside, long, bracketed: true });
                }
            }
        }
    }

    /// The word `at`, if it may be a short form whose brackets were lost.
    fn bare(&mut self, words: &[Span], at: usize) {
        let short = Span::new(words[at].start, unit_end(self.text, words, at));
        let text = &self.text[short.start..short.end];
        let count = text.chars().filter(|c| c.is_alphanumeric()).count();
        let joined = text.contains('-') && !text.contains(|c: char| c.is_numeric());
        let lower = text.to_lowercase();
        // A note in capitals writes its words like short forms.
        if !BARE.contains(&count) || joined || !self.is_short(short) || is_function_word(&lower) {
            return;
        }
        let before = window(self.text, words, at, &BREAKS);
        let strictness = match (is_ordinary(&lower), is_pronounceable(&lower)) {
            (true, _) => Strictness::Initials,
            (false, true) => Strictness::MostlyInitials,
            (false, false) => Strictness::Strict,
        };
        self.define(short, &words[before], strictness, false);
    }

    /// Whether what stands in brackets is the mark of a list, or points somewhere else.
    fn is_mark(&self, span: Span) -> bool {
        let text = &self.text[span.start..span.end];
        // "(iv)" may be intravenous, unless there is "(i)" or "(iii)" too.
        is_pointer(text) || self.lists && is_roman(text)
    }

    /// Whether it is as long as a short form and has two letters or more, in one word.
    fn is_short(&self, span: Span) -> bool {
        let text = &self.text[span.start..span.end];
        // Bytes first: brackets may be long.
        text.len() < 4 * SHORT.end
            && SHORT.contains(&text.chars().count())
            && text.chars().filter(|c| c.is_alphabetic()).count() >= 2
            && !text.contains(char::is_whitespace)
    }

    /// Adds a short form if words at the end of `before` fit it, or fit it without the "s" of a plural.
    fn define(&mut self, short: Span, before: &[Span], strictness: Strictness, bracketed: bool) {
        let singular = self.text[short.start..short.end].ends_with('s').then(|| Span::new(short.start, short.end - 1));
        for short in std::iter::once(short).chain(singular) {
            if self.is_short(short)
                && let Some(count) = fitting(self.text, short, before, strictness)
            {
                let start = token_start(self.text, before[before.len() - count].start);
                let long = Span::new(start, before[before.len() - 1].end);
                return self.add(Definition { short, long, bracketed });
            }
        }
    }

    fn add(&mut self, definition: Definition) {
        let Definition { short, long, .. } = definition;
        if long.len() <= short.len() {
            return;
        }
        let text = |span: Span| &self.text[span.start..span.end];
        let before = self.definitions.entry(text(short).to_lowercase()).or_default();
        // A text may say the same a thousand times.
        let said = before.last().is_some_and(|last| (text(last.short), text(last.long)) == (text(short), text(long)));
        if !said {
            before.push(definition);
        }
    }

    /// The definitions that were found, in the order of the text; one that says the same as the last of its short form is left out.
    pub fn definitions(&self) -> impl Iterator<Item = Definition> + use<> {
        let mut all: Vec<Definition> = self.definitions.values().flatten().copied().collect();
        all.sort_unstable_by_key(|definition| (definition.short.start, definition.short.end));
        all.into_iter()
    }

    /// What `short`, which stands at `place`, stands for: as the text said last before it, else as it says first.
    fn meaning(&self, short: &str, place: Span) -> Option<Definition> {
        let key = short.to_lowercase();
        let forms = [key.strip_suffix('s').map(str::to_owned), Some(format!("{key}s"))];
        let forms = std::iter::once(key).chain(forms.into_iter().flatten());
        forms.filter_map(|form| self.definitions.get(&form)).find_map(|definitions| {
            let (before, after) =
                definitions.split_at(definitions.partition_point(|found| found.short.start <= place.start));
            let mut meant = before.iter().rev().chain(after).filter(|found| self.is_same(found.short, short));
            meant.next().copied().filter(|found| !found.long.overlaps(&place))
        })
    }

    /// Whether a word is written as the short form was, but for a plural's "s". Another case will do if it is no word of
    /// the language: "chf", but not "all".
    fn is_same(&self, short: Span, word: &str) -> bool {
        let short = &self.text[short.start..short.end];
        let singular = |form: &str| form.strip_suffix('s').map_or(form.len(), str::len);
        short.get(..singular(short)) == word.get(..singular(word)) || !is_ordinary(word)
    }

    /// A piece of the text with its short forms written out; `None` if it has none.
    pub fn expand(&self, span: Span) -> Option<String> {
        if self.definitions.is_empty() {
            return None;
        }
        let uses = self.uses(span);
        let mut at = span.start;
        let mut expanded = String::new();
        for (short, long) in &uses {
            expanded.push_str(&self.text[at..short.start]);
            expanded.push_str(&self.text[long.start..long.end]);
            at = short.end;
        }
        expanded.push_str(&self.text[at..span.end]);
        (!uses.is_empty()).then_some(expanded)
    }

    /// The short forms in a piece of the text, in order, each with its long form.
    fn uses(&self, span: Span) -> Vec<(Span, Span)> {
        let mut uses = Vec::new();
        if self.definitions.is_empty() {
            return uses;
        }
        let text = &self.text[span.start..span.end];
        let words: Vec<Span> =
            words(text).iter().map(|word| Span::new(span.start + word.start, span.start + word.end)).collect();
        let mut at = 0;
        while at < words.len() {
            let whole = Span::new(words[at].start, unit_end(self.text, &words, at));
            let word = |place: Span| Some((place, self.meaning(&self.text[place.start..place.end], place)?.long));
            match word(whole).filter(|_| whole.end <= span.end).or_else(|| word(words[at])) {
                // A mention may hold the definition itself.
                Some((short, long)) if !long.overlaps(&span) => {
                    uses.push((short, long));
                    at = words.partition_point(|word| word.end <= short.end);
                }
                _ => at += 1,
            }
        }
        uses
    }

    /// All short forms of the text, in order, each with what it stands for.
    pub fn all(&self) -> impl Iterator<Item = (Span, &'a str)> + '_ {
        let mut uses = Vec::new();
        if !self.definitions.is_empty() {
            // Word by word, for a definition's own long form would keep the others from being read.
            let words = words(self.text);
            let mut end = 0;
            for at in 0..words.len() {
                if words[at].start >= end {
                    let whole = Span::new(words[at].start, unit_end(self.text, &words, at));
                    if let Some((short, long)) = self.uses(whole).first() {
                        end = short.end;
                        uses.push((*short, &self.text[long.start..long.end]));
                    }
                }
            }
        }
        uses.into_iter()
    }
}

/// Reads mentions of one text after another, their short forms written out if that is wanted.
#[derive(Clone, Debug)]
pub struct Reader<'a> {
    expand: bool,
    last: Option<Arc<Abbreviations<'a>>>,
}

impl<'a> Reader<'a> {
    /// A reader that writes short forms out, or does not.
    pub fn new(expand: bool) -> Self {
        Self { expand, last: None }
    }

    /// Reads the definitions of a text now, so that copies of the reader share them.
    pub fn begin(&mut self, text: &'a str) {
        if self.expand {
            self.last = Some(Arc::new(Abbreviations::of(text)));
        }
    }

    /// The mention at a span. A text is looked through once if all its mentions are read in turn.
    ///
    /// # Errors
    /// As [`Span::of`].
    pub fn mention(&mut self, text: &'a str, span: Span) -> Result<Mention<'a>> {
        self.mention_in(text, &[span])
    }

    /// The mention that stands in some pieces of a text, in its order; short forms are written out in each.
    ///
    /// # Errors
    /// As [`Mention::cut_pieces`].
    pub fn mention_in(&mut self, text: &'a str, pieces: &[Span]) -> Result<Mention<'a>> {
        let mut mention = Mention::cut_pieces(text, pieces)?;
        if self.expand {
            let found = self.last.take().filter(|last| std::ptr::eq(last.text, text));
            let found = found.unwrap_or_else(|| Arc::new(Abbreviations::of(text)));
            let read: Vec<Option<String>> = pieces.iter().map(|piece| found.expand(*piece)).collect();
            if read.iter().any(Option::is_some) {
                let words = read.iter().zip(pieces);
                let words = words.map(|(read, piece)| read.as_deref().unwrap_or(&text[piece.start..piece.end]));
                mention.text = Cow::Owned(words.collect::<Vec<_>>().join(" "));
            }
            self.last = Some(found);
        }
        Ok(mention)
    }
}

/// Runs of letters and digits.
fn words(text: &str) -> Vec<Span> {
    let (mut words, mut start) = (Vec::new(), None);
    for (at, c) in text.char_indices() {
        match (c.is_alphanumeric(), start) {
            (true, None) => start = Some(at),
            (false, Some(first)) => {
                words.push(Span::new(first, at));
                start = None;
            }
            _ => {}
        }
    }
    words.extend(start.map(|first| Span::new(first, text.len())));
    words
}

/// Whether a bracket opens between two words, or only blanks part them; `None` if anything else does.
fn opens(text: &str, pair: &[Span]) -> Option<bool> {
    let gap = &text[pair[0].end..pair[1].start];
    match gap.trim() {
        "(" | "[" => Some(true),
        "" if !has_empty_line(gap) => Some(false),
        _ => None,
    }
}

fn has_empty_line(gap: &str) -> bool {
    gap.matches('\n').count() > 1
}

/// The words before `at` that may belong to a long form: to the end of the sentence before it, [`WINDOW`] at most.
fn window(text: &str, words: &[Span], at: usize, breaks: &[char]) -> Range<usize> {
    let mut first = at;
    while first > 0 && at - first < WINDOW {
        let gap = &text[words[first - 1].end..words[first].start];
        // The bracket of the short form itself lies before the word `at`.
        if first < at && (gap.contains(breaks) || has_empty_line(gap)) {
            break;
        }
        first -= 1;
    }
    first..at
}

/// The start of what a hyphen joins to a word from the left: "2,6-diaminopurine", "alpha-1-antitrypsin".
fn token_start(text: &str, word: usize) -> usize {
    if !text[..word].ends_with('-') {
        return word;
    }
    // What is against something, or not it, is something else.
    if NEGATING.iter().any(|prefix| ends_with_word(&text[..word], prefix)) || text[..word].ends_with("--") {
        return word;
    }
    // Brackets within the token are passed, one that is open there ends it.
    let (mut start, mut closed) = (word, 0usize);
    for (at, c) in text[..word].char_indices().rev().take(MOST_JOINED) {
        match c {
            ')' | ']' => closed += 1,
            '(' | '[' if closed == 0 => break,
            '(' | '[' => closed -= 1,
            c if c.is_whitespace() || "/;:\"“”".contains(c) => break,
            _ => {}
        }
        if closed == 0 && c != ',' {
            start = at;
        }
    }
    start
}

/// Whether a text ends with a word, whatever its case, before which there is none.
fn ends_with_word(text: &str, word: &str) -> bool {
    let Some(at) = text.len().checked_sub(word.len()).filter(|at| text.is_char_boundary(*at)) else { return false };
    text[at..].eq_ignore_ascii_case(word) && !text[..at].ends_with(char::is_alphanumeric)
}

/// The end of a word with those that hyphens join to it.
fn unit_end(text: &str, words: &[Span], at: usize) -> usize {
    let mut last = at;
    while last + 1 < words.len() && &text[words[last].end..words[last + 1].start] == "-" && last - at < WINDOW {
        last += 1;
    }
    words[last].end
}

/// A word with those that hyphens join to it from the left.
fn unit(text: &str, words: &[Span], at: usize) -> Span {
    let mut first = at;
    while first > 0 && &text[words[first - 1].end..words[first].start] == "-" && at - first < WINDOW {
        first -= 1;
    }
    Span::new(words[first].start, words[at].end)
}

#[cfg(test)]
mod tests;
