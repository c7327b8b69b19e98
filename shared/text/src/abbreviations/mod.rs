//! Abbreviations that a text defines, as in "small for gestational age (SGA)", to expand mentions.
//!
//! The algorithm extends Schwartz and Hearst ("A simple algorithm for identifying abbreviation
//! definitions in biomedical text", 2003). The long form precedes the bracket and has the
//! characters of the short form in order, the first at the start of a word. Among several long
//! forms, the one with the most characters at the starts of words for its length is taken.
//!
//! Definitions without brackets are found under stricter conditions: "small for gestational age
//! sga". A short form that looks like an English word needs more characters at the starts of words,
//! so that "Symptoms include" does not define "sinus". List markers and references define nothing.
//! `bench/abbreviations.py` measures precision and recall.

mod fit;
mod words;

use crate::{Mention, Span};
use fit::{Strictness, fitting, fitting_in_any_order, fitting_without_last};
use pel_kb::error::Result;
use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;
use words::{is_function_word, is_ordinary, is_pronoun, is_pronounceable, is_reference, is_roman};

/// The length of a short form in brackets, in characters.
const SHORT: Range<usize> = 2..11;
/// The length of a short form without brackets, in letters and digits.
const BARE: Range<usize> = 2..7;
/// The characters that end the search for a long form. The comma ends it only without brackets.
const BREAKS: [char; 10] = [',', '.', ';', ':', '(', ')', '[', ']', '!', '?'];
/// The largest number of words in a long form.
const WINDOW: usize = 15;
/// Prefixes that are not part of a long form.
const NEGATING: [&str; 2] = ["anti-", "non-"];
/// The largest number of characters that hyphens join to the left of a long form.
const MOST_JOINED: usize = 40;

/// The abbreviations that a text defines.
#[derive(Debug, Default)]
pub struct Abbreviations<'a> {
    text: &'a str,
    /// Whether the text has list markers that are Roman numerals in brackets.
    lists: bool,
    /// Definitions by lower-cased short form, in the order of the text.
    definitions: HashMap<String, Vec<Definition>>,
    /// The same definitions by short form as it is written, in the order of the text.
    by_spelling: HashMap<&'a str, Vec<Definition>>,
}

/// A definition of a short form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Definition {
    /// The short form.
    pub short: Span,
    /// The long form.
    pub long: Span,
    /// Whether a bracket encloses one of the two forms.
    pub bracketed: bool,
}

impl<'a> Abbreviations<'a> {
    /// Finds the definitions of a text, in linear time.
    pub fn of(text: &'a str) -> Self {
        let lists = ["(i)", "(ii)", "(iii)"]
            .iter()
            .any(|mark| text.contains(mark));
        let mut found = Self {
            text,
            lists,
            ..Self::default()
        };
        let words = words(text);
        for at in 1..words.len() {
            match separator(text, &words[at - 1..=at]) {
                Some(Separator::Bracket) => found.add_bracketed(&words, at),
                Some(Separator::Blank) if !text[..words[at].start].ends_with('-') => {
                    found.add_bare(&words, at)
                }
                _ => {}
            }
        }
        found
    }

    /// Adds the definition of a bracket that starts with the word `at`: the short form follows its
    /// long form, or the other way round.
    fn add_bracketed(&mut self, words: &[Span], at: usize) {
        let start = words[at].start;
        let inside = &self.text[start..];
        let Some(end) = inside.find([')', ']', ';', ',', '(', '[']) else {
            return;
        };
        let short = Span::new(start, start + inside[..end].trim_end().len());
        let before = window(self.text, words, at, &BREAKS[1..]);
        if self.is_marker(short) {
            // List markers and references define nothing.
        } else if self.is_short(short) {
            let text = &self.text[short.start..short.end];
            // "(apo)" and "(glu)" are mostly abbreviations; "(renal)" and "(cysts)" are mostly
            // words.
            let is_word = is_ordinary(text) || is_pronounceable(text) && text.chars().count() > 3;
            let strictness = if is_word {
                Strictness::Initials
            } else {
                Strictness::Loose
            };
            let before = &words[before];
            if !self.define(short, before, strictness, true) && !is_word {
                self.define_by_initials(short, before);
            }
        } else if inside[end..].starts_with([')', ']']) {
            // "SGA (small for gestational age)": the long form is in the bracket.
            let last = words.partition_point(|word| word.end <= short.end);
            let outside = unit(self.text, words, at - 1);
            if last > at + 1 && last - at <= WINDOW && self.is_short(outside) {
                let long = Span::new(start, words[last - 1].end);
                if fitting(self.text, outside, &words[at..last], Strictness::Whole)
                    == Some(last - at)
                {
                    self.add(Definition {
                        short: outside,
                        long,
                        bracketed: true,
                    });
                }
            }
        }
    }

    /// Adds the definition of the word `at` if it may be a short form without brackets.
    fn add_bare(&mut self, words: &[Span], at: usize) {
        let short = Span::new(words[at].start, unit_end(self.text, words, at));
        let text = &self.text[short.start..short.end];
        let count = text.chars().filter(|c| c.is_alphanumeric()).count();
        let hyphenated = text.contains('-') && !text.contains(|c: char| c.is_numeric());
        let lower = text.to_lowercase();
        if !BARE.contains(&count) || hyphenated || !self.is_short(short) || is_function_word(&lower)
        {
            return;
        }
        let before = window(self.text, words, at, &BREAKS);
        // Lower case: in notes in capitals, words look like short forms.
        let strictness = if is_ordinary(&lower) {
            Strictness::Initials
        } else if is_pronounceable(&lower) {
            Strictness::MostlyInitials
        } else {
            Strictness::Strict
        };
        self.define(short, &words[before], strictness, false);
    }

    /// Whether the text in a bracket is a list marker or a reference.
    fn is_marker(&self, span: Span) -> bool {
        let text = &self.text[span.start..span.end];
        // "(iv)" may mean intravenous, unless the text has "(i)" or "(iii)".
        is_reference(text) || self.lists && is_roman(text)
    }

    /// Whether a span has the length of a short form, two letters or more, and no whitespace.
    fn is_short(&self, span: Span) -> bool {
        let text = &self.text[span.start..span.end];
        // Brackets may be long, so the byte length is compared first.
        text.len() < 4 * SHORT.end
            && SHORT.contains(&text.chars().count())
            && text.chars().filter(|c| c.is_alphabetic()).count() >= 2
            && !text.contains(char::is_whitespace)
    }

    /// Adds the definition of a short form in brackets whose characters are not in the order of the
    /// words before it: see [`fitting_in_any_order`] and [`fitting_without_last`].
    fn define_by_initials(&mut self, short: Span, before: &[Span]) {
        let count = fitting_in_any_order(self.text, short, before)
            .or_else(|| fitting_without_last(self.text, short, before));
        if let Some(count) = count {
            let start = token_start(self.text, before[before.len() - count].start);
            self.add(Definition {
                short,
                long: Span::new(start, before[before.len() - 1].end),
                bracketed: true,
            });
        }
    }

    /// Adds a definition if the words before the short form match it, with or without a plural "s".
    /// Returns whether they do.
    fn define(
        &mut self,
        short: Span,
        before: &[Span],
        strictness: Strictness,
        bracketed: bool,
    ) -> bool {
        let singular = self.text[short.start..short.end]
            .ends_with('s')
            .then(|| Span::new(short.start, short.end - 1));
        for short in std::iter::once(short).chain(singular) {
            if self.is_short(short)
                && let Some(count) = fitting(self.text, short, before, strictness)
            {
                let first = before[before.len() - count];
                let start = token_start(self.text, first.start);
                let long = Span::new(start, before[before.len() - 1].end);
                // "She takes St. John's wort" defines nothing.
                if !bracketed && is_pronoun(&self.text[first.start..first.end].to_lowercase()) {
                    continue;
                }
                self.add(Definition {
                    short,
                    long,
                    bracketed,
                });
                return true;
            }
        }
        false
    }

    fn add(&mut self, definition: Definition) {
        let Definition { short, long, .. } = definition;
        if long.len() <= short.len() {
            return;
        }
        let source = self.text;
        let text = |span: Span| &source[span.start..span.end];
        let before = self
            .definitions
            .entry(text(short).to_lowercase())
            .or_default();
        // Repeated definitions are stored once.
        let repeated = before
            .last()
            .is_some_and(|last| (text(last.short), text(last.long)) == (text(short), text(long)));
        if !repeated {
            before.push(definition);
            self.by_spelling
                .entry(text(short))
                .or_default()
                .push(definition);
        }
    }

    /// The definitions in the order of the text, without repetitions.
    pub fn definitions(&self) -> impl Iterator<Item = Definition> + use<> {
        let mut all: Vec<Definition> = self.definitions.values().flatten().copied().collect();
        all.sort_unstable_by_key(|definition| (definition.short.start, definition.short.end));
        all.into_iter()
    }

    /// The definition of the short form `short` at `place`: the last one before it, else the first
    /// one after it.
    ///
    /// They may differ by a plural "s", and in case unless `short` is an English word: "chf"
    /// matches "CHF", but "all" does not match "ALL". A text may define one form many times, so the
    /// definitions are searched by halving.
    fn definition_of(&self, short: &str, place: Span) -> Option<Definition> {
        let spelled = is_ordinary(short);
        let form = if spelled {
            short.to_owned()
        } else {
            short.to_lowercase()
        };
        let forms = [
            form.strip_suffix('s').map(str::to_owned),
            Some(format!("{form}s")),
        ];
        std::iter::once(form)
            .chain(forms.into_iter().flatten())
            .find_map(|form| {
                let definitions = match spelled {
                    true if singular(&form) != singular(short) => None,
                    true => self.by_spelling.get(form.as_str()),
                    false => self.definitions.get(&form),
                }?;
                let split = definitions.partition_point(|found| {
                    #[cfg(test)]
                    tests::COMPARISONS.set(tests::COMPARISONS.get() + 1);
                    found.short.start <= place.start
                });
                let nearest = split
                    .checked_sub(1)
                    .map_or_else(|| definitions.first(), |last| definitions.get(last));
                nearest
                    .copied()
                    .filter(|found| !found.long.overlaps(&place))
            })
    }

    /// Expands the short forms in a span; `None` if it has none.
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

    /// The short forms in a span, in order, with their long forms.
    fn uses(&self, span: Span) -> Vec<(Span, Span)> {
        let mut uses = Vec::new();
        if self.definitions.is_empty() {
            return uses;
        }
        let text = &self.text[span.start..span.end];
        let words: Vec<Span> = words(text)
            .iter()
            .map(|word| Span::new(span.start + word.start, span.start + word.end))
            .collect();
        let mut at = 0;
        while at < words.len() {
            let whole = Span::new(words[at].start, unit_end(self.text, &words, at));
            let long_form = |place: Span| {
                let short = &self.text[place.start..place.end];
                Some((place, self.definition_of(short, place)?.long))
            };
            match long_form(whole)
                .filter(|_| whole.end <= span.end)
                .or_else(|| long_form(words[at]))
            {
                // The span may contain the definition itself, which is not expanded.
                Some((short, long)) if !long.overlaps(&span) => {
                    uses.push((short, long));
                    at = words.partition_point(|word| word.end <= short.end);
                }
                _ => at += 1,
            }
        }
        uses
    }

    /// All short forms in the text, in order, with their long forms.
    pub fn all(&self) -> impl Iterator<Item = (Span, &'a str)> + '_ {
        let mut uses = Vec::new();
        if !self.definitions.is_empty() {
            // Each word is a span of its own, so that the definitions' spans do not overlap it.
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

/// Cuts mentions out of texts, and expands their abbreviations if requested. Keeps the definitions
/// of the last text, so mentions of one text should be read in turn.
#[derive(Clone, Debug)]
pub struct Reader<'a> {
    expand: bool,
    last: Option<Arc<Abbreviations<'a>>>,
}

impl<'a> Reader<'a> {
    /// Creates a reader. `expand` says whether abbreviations are expanded.
    pub fn new(expand: bool) -> Self {
        Self { expand, last: None }
    }

    /// Finds the definitions of a text now, so that clones of the reader share them.
    pub fn begin(&mut self, text: &'a str) {
        if self.expand {
            self.last = Some(Arc::new(Abbreviations::of(text)));
        }
    }

    /// Cuts out the mention at a span.
    ///
    /// # Errors
    /// As [`Span::of`].
    pub fn mention(&mut self, text: &'a str, span: Span) -> Result<Mention<'a>> {
        self.mention_in(text, &[span])
    }

    /// Cuts out the mention of some fragments in ascending order. Each fragment is expanded by
    /// itself.
    ///
    /// # Errors
    /// As [`Mention::cut_pieces`].
    pub fn mention_in(&mut self, text: &'a str, pieces: &[Span]) -> Result<Mention<'a>> {
        let mut mention = Mention::cut_pieces(text, pieces)?;
        if self.expand {
            let found = self
                .last
                .take()
                .filter(|last| std::ptr::eq(last.text, text));
            let found = found.unwrap_or_else(|| Arc::new(Abbreviations::of(text)));
            let expanded: Vec<Option<String>> =
                pieces.iter().map(|piece| found.expand(*piece)).collect();
            if expanded.iter().any(Option::is_some) {
                let texts = expanded.iter().zip(pieces);
                let texts = texts.map(|(text_of, piece)| {
                    text_of.as_deref().unwrap_or(&text[piece.start..piece.end])
                });
                mention.text = Cow::Owned(texts.collect::<Vec<_>>().join(" "));
            }
            self.last = Some(found);
        }
        Ok(mention)
    }
}

/// A form without its plural "s".
fn singular(form: &str) -> &str {
    form.strip_suffix('s').unwrap_or(form)
}

/// The runs of letters and digits.
fn words(text: &str) -> Vec<Span> {
    let mut words = Vec::new();
    let mut start = None;
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

/// What separates two words.
enum Separator {
    /// An opening bracket.
    Bracket,
    /// Whitespace without an empty line.
    Blank,
}

/// The separator of two words; `None` for any other text between them.
fn separator(text: &str, pair: &[Span]) -> Option<Separator> {
    let gap = &text[pair[0].end..pair[1].start];
    match gap.trim() {
        "(" | "[" => Some(Separator::Bracket),
        "" if !has_empty_line(gap) => Some(Separator::Blank),
        _ => None,
    }
}

fn has_empty_line(gap: &str) -> bool {
    gap.matches('\n').count() > 1
}

/// The words before `at` that may belong to a long form: back to the start of the sentence, at most
/// [`WINDOW`].
fn window(text: &str, words: &[Span], at: usize, breaks: &[char]) -> Range<usize> {
    let mut first = at;
    while first > 0 && at - first < WINDOW {
        let gap = &text[words[first - 1].end..words[first].start];
        // The gap before the word `at` has the bracket of the short form itself.
        if first < at && (gap.contains(breaks) || has_empty_line(gap)) {
            break;
        }
        first -= 1;
    }
    first..at
}

/// The start of the token that a word ends, where hyphens join parts: "2,6-diaminopurine".
fn token_start(text: &str, word: usize) -> usize {
    if !text[..word].ends_with('-') {
        return word;
    }
    // "anti-X" and "non-X" have another meaning than "X".
    if NEGATING
        .iter()
        .any(|prefix| ends_with_word(&text[..word], prefix))
        || text[..word].ends_with("--")
    {
        return word;
    }
    // Matched brackets belong to the token; an unmatched opening bracket ends it.
    let mut start = word;
    let mut closed = 0usize;
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

/// Whether a text ends with a whole word, in any case.
fn ends_with_word(text: &str, word: &str) -> bool {
    let Some(at) = text
        .len()
        .checked_sub(word.len())
        .filter(|at| text.is_char_boundary(*at))
    else {
        return false;
    };
    text[at..].eq_ignore_ascii_case(word) && !text[..at].ends_with(char::is_alphanumeric)
}

/// The end of a word with the parts that hyphens join to it on the right.
fn unit_end(text: &str, words: &[Span], at: usize) -> usize {
    let mut last = at;
    while last + 1 < words.len()
        && &text[words[last].end..words[last + 1].start] == "-"
        && last - at < WINDOW
    {
        last += 1;
    }
    words[last].end
}

/// A word with the parts that hyphens join to it on the left.
fn unit(text: &str, words: &[Span], at: usize) -> Span {
    let mut first = at;
    while first > 0 && &text[words[first - 1].end..words[first].start] == "-" && at - first < WINDOW
    {
        first -= 1;
    }
    Span::new(words[first].start, words[at].end)
}

#[cfg(test)]
mod tests;
