//! The walk over a text: at each word the longest name that begins there.

use super::deidentified::is_placeholder_word;
use super::dictionary::{Dictionary, MAX_WORD};
use super::inflect::other_numbers;
use super::normalise::{Gap, Kind, Source, Token, Tokens, needs_blank};
use super::posting::{Postings, Rule};
use fst::raw::{CompiledAddr, Output};

/// A hyphen may be left out between words that have as many letters together.
const MIN_JOINED: usize = 7;
/// Most bytes of a word whose digits and letters may be apart in a name.
const MAX_BORDERED: usize = 16;
/// Tokens that are kept before the present one.
const HISTORY: usize = 48;
/// Tokens on either side that tell whether capitals say anything.
const NEIGHBOURS: usize = 8;
const FORGET_AT_ONCE: usize = 1024;
/// Ways to spell what was read so far that are followed at once.
const MAX_STATES: usize = 8;

/// A place in the automaton of names.
#[derive(Clone, Copy)]
struct State {
    node: CompiledAddr,
    output: Output,
}

/// A name that ends at a token.
#[derive(Clone, Copy)]
pub(super) struct Found {
    /// The last token of the mention.
    pub last: usize,
    /// Where it ends, in bytes of the text.
    pub end: usize,
    /// Where its postings are.
    pub postings: u64,
    form: Form,
}

/// How the last word of the mention is written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    /// As in the name.
    Same,
    /// With an "s" more.
    WithS,
    /// In another way that [`other_numbers`] knows.
    Inflected,
}

/// A text on its way through a dictionary. It holds a bounded piece of the text's tokens, which are counted from the
/// start of the text.
pub(super) struct Scan<'d, 't> {
    dictionary: &'d Dictionary,
    reader: Tokens<'t>,
    /// Normalised forms of the tokens held.
    keys: String,
    tokens: Vec<Token>,
    /// Tokens that were dropped before those held.
    dropped: usize,
    states: Vec<State>,
    entries: Vec<State>,
    found: Vec<Found>,
}

impl<'d, 't> Scan<'d, 't> {
    pub fn new(dictionary: &'d Dictionary, text: &'t str, source: Source) -> Self {
        let reader = Tokens::new(text, MAX_WORD, source);
        let (states, entries, found) = (Vec::new(), Vec::new(), Vec::new());
        Self { dictionary, reader, keys: String::new(), tokens: Vec::new(), dropped: 0, states, entries, found }
    }

    /// The token at a position, if the text has so many and it was not forgotten.
    pub fn token(&mut self, at: usize) -> Option<Token> {
        let index = at.checked_sub(self.dropped)?;
        while self.tokens.len() <= index {
            let token = self.reader.next(&mut self.keys)?;
            self.tokens.push(token);
        }
        self.tokens.get(index).copied()
    }

    /// The text that is walked over.
    pub fn text(&self) -> &'t str {
        self.reader.text()
    }

    /// The normalised form of a token that is held.
    pub fn key(&self, token: &Token) -> &str {
        self.keys.get(token.key.0..token.key.1).unwrap_or_default()
    }

    /// Forgets tokens well before a position. To be called on the way; it seldom has something to do.
    pub fn forget_before(&mut self, at: usize) {
        let drop = at.saturating_sub(self.dropped + HISTORY).min(self.tokens.len());
        if drop < FORGET_AT_ONCE {
            return;
        }
        let bytes = self.tokens.get(drop).map_or(self.keys.len(), |token| token.key.0);
        self.tokens.drain(..drop);
        self.keys.drain(..bytes);
        for token in &mut self.tokens {
            token.key = (token.key.0 - bytes, token.key.1 - bytes);
        }
        self.dropped += drop;
    }

    /// The tokens held before, from and to, and after these two.
    fn around(&self, first: usize, last: usize) -> (&[Token], &[Token], &[Token]) {
        let end = (last + 1).saturating_sub(self.dropped).min(self.tokens.len());
        let (to_last, after) = self.tokens.split_at(end);
        let (before, mention) = to_last.split_at(first.saturating_sub(self.dropped).min(end));
        (before, mention, after)
    }

    /// All names that begin at a token, shorter ones first, whether or not they may be found in text.
    pub fn names_at(&mut self, first: usize) -> Vec<Found> {
        let mut found = std::mem::take(&mut self.found);
        found.clear();
        self.walk(first, &mut found);
        found
    }

    /// Takes a list back, to be filled again.
    pub fn recycle(&mut self, found: Vec<Found>) {
        self.found = found;
    }

    fn walk(&mut self, first: usize, found: &mut Vec<Found>) {
        let fst = &self.dictionary.names;
        self.states.clear();
        self.states.push(State { node: fst.root().addr(), output: Output::zero() });
        let mut before: Option<Token> = None;
        for last in first..first.saturating_add(self.dictionary.longest_name) {
            let Some(token) = self.token(last) else { return };
            let unreadable = matches!(token.kind, Kind::TooLong | Kind::Hidden);
            if unreadable || before.is_some() && token.gap.parts() {
                return;
            }
            let closed = self.token(last + 1).is_none_or(|after| after.gap != Gap::Glued);
            self.enter(before.as_ref(), &token);
            if closed {
                self.ends(last, &token, found);
            }
            let key = self.keys.get(token.key.0..token.key.1).unwrap_or_default();
            let (entries, border) = (self.entries.iter(), border(key));
            self.states.clear();
            self.states.extend(entries.clone().filter_map(|state| step(self.dictionary, *state, key)));
            if let Some(at) = border {
                self.states.extend(entries.filter_map(|state| step_apart(self.dictionary, *state, key.split_at(at))));
                self.states.truncate(MAX_STATES);
            }
            if self.states.is_empty() {
                return;
            }
            before = Some(token);
        }
    }

    /// Moves from the end of one token to the start of the next: over a blank where words meet; a hyphen may also be
    /// nothing.
    fn enter(&mut self, before: Option<&Token>, token: &Token) {
        self.entries.clear();
        let Some(before) = before else {
            self.entries.extend(&self.states);
            return;
        };
        let blank = needs_blank(before.kind, token.kind);
        let bytes = |token: &Token| token.key.1 - token.key.0;
        let meets_digit = || {
            let both = (self.key(before).chars().next_back(), self.key(token).chars().next());
            matches!(both, (Some(end), Some(start)) if changes(end, start))
        };
        let long = bytes(before) + bytes(token) >= MIN_JOINED;
        let join = blank && token.gap == Gap::Hyphen && (long || meets_digit());
        for state in &self.states {
            if blank {
                self.entries.extend(step(self.dictionary, *state, " "));
            }
            if !blank || join {
                self.entries.push(*state);
            }
        }
        self.entries.truncate(MAX_STATES);
    }

    fn ends(&self, last: usize, token: &Token, found: &mut Vec<Found>) {
        let key = self.key(token);
        let inflects = token.kind == Kind::Word && !is_short_capitals(key, token.upper);
        for entry in &self.entries {
            if let Some(at) = border(key)
                && let Some(state) = step_apart(self.dictionary, *entry, key.split_at(at))
            {
                self.ends_in(last, token, state, Form::Same, found);
            }
            let mut end = |stem: &str, ending: &str, form: Form| {
                let state = step(self.dictionary, *entry, stem).and_then(|state| step(self.dictionary, state, ending));
                if let Some(state) = state {
                    self.ends_in(last, token, state, form, found);
                }
            };
            end(key, "", Form::Same);
            if let Some(capitals) = key.strip_suffix('s').filter(|stem| stem.len() == 2 && token.upper == 0b11) {
                end(capitals, "", Form::WithS); // "MIs"
            }
            if inflects {
                other_numbers(key, |stem, ending| {
                    let with_s = ending.is_empty() && key.len() == stem.len() + 1;
                    end(stem, ending, if with_s { Form::WithS } else { Form::Inflected });
                });
            }
        }
    }

    fn ends_in(&self, last: usize, token: &Token, state: State, form: Form, found: &mut Vec<Found>) {
        let node = self.dictionary.names.node(state.node);
        if node.is_final() {
            let postings = state.output.cat(node.final_output()).value();
            // One ending may be reached by several rules.
            if found.last().is_none_or(|found| (found.last, found.postings) != (last, postings)) {
                found.push(Found { last, end: token.end, postings, form });
            }
        }
    }

    /// Whether a name found here may be a mention, as its case tells, and whether it says anything at all.
    pub fn accepts(&self, first: usize, found: Found) -> bool {
        if self.around(first, found.last).1.iter().all(|token| is_placeholder_word(self.key(token))) {
            return false;
        }
        let mut postings = Postings::at(&self.dictionary.postings, found.postings);
        postings.any(|posting| match posting.rule {
            Rule::AnyCase => true,
            Rule::Abbreviation(_) if found.form == Form::Same => true,
            Rule::Abbreviation(mask) => self.has_case(first, found, mask),
            Rule::CaseBound(mask) => self.has_case(first, found, mask) && !self.shouts(first, found.last),
            Rule::Never => false,
        })
    }

    /// Whether the characters of the mask are upper case, and a plural's "s" is not.
    fn has_case(&self, first: usize, found: Found, mask: u32) -> bool {
        let (mut upper, mut chars) = (0u64, 0);
        for token in self.around(first, found.last).1 {
            if token.kind == Kind::Word && chars < 64 {
                upper |= token.upper << chars;
                chars += self.key(token).chars().count();
            }
        }
        let s_is_small = found.form == Form::Same || (1..=64).contains(&chars) && upper >> (chars - 1) & 1 == 0;
        found.form != Form::Inflected && s_is_small && upper & u64::from(mask) == u64::from(mask)
    }

    /// Whether capitals tell nothing here: the nearest longer word on either side is all in capitals too, or the mention
    /// is a heading.
    fn shouts(&self, first: usize, last: usize) -> bool {
        let longer = |token: &&Token| {
            let letters = token.key.1 - token.key.0;
            token.kind == Kind::Word && (5..64).contains(&letters) && !is_placeholder_word(self.key(token))
        };
        let capitals = |token: &Token| token.upper.count_ones() as usize == token.key.1 - token.key.0;
        let (before, mention, after) = self.around(first, last);
        let heading = mention.first().is_some_and(|token| token.gap.parts())
            && after.first().is_some_and(|token| self.key(token) == ":");
        heading
            || before.iter().rev().take(NEIGHBOURS).find(longer).is_some_and(capitals)
            || after.iter().take(NEIGHBOURS).find(longer).is_some_and(capitals)
    }
}

fn step(dictionary: &Dictionary, from: State, bytes: &str) -> Option<State> {
    let mut state = from;
    for byte in bytes.bytes() {
        let node = dictionary.names.node(state.node);
        let transition = node.transition(node.find_input(byte)?);
        state = State { node: transition.addr, output: state.output.cat(transition.out) };
    }
    Some(state)
}

/// As [`step`], with a blank between the two parts of a word.
fn step_apart(dictionary: &Dictionary, from: State, (left, right): (&str, &str)) -> Option<State> {
    let state = step(dictionary, from, left).and_then(|state| step(dictionary, state, " "))?;
    step(dictionary, state, right)
}

/// Where digits and letters meet in a word, if they do so once: "5FU" may be "5-FU".
fn border(key: &str) -> Option<usize> {
    if key.len() > MAX_BORDERED || !key.is_ascii() {
        return None;
    }
    let bytes = key.as_bytes();
    let mut borders = (1..key.len()).filter(|at| changes(char::from(bytes[at - 1]), char::from(bytes[*at])));
    borders.next().filter(|_| borders.next().is_none())
}

/// Whether one of two characters is a digit, and the other a letter.
fn changes(before: char, after: char) -> bool {
    before.is_ascii_digit() && after.is_ascii_lowercase() || before.is_ascii_lowercase() && after.is_ascii_digit()
}

/// "AIDS" is not the plural of "AID".
fn is_short_capitals(key: &str, upper: u64) -> bool {
    key.len() <= 5 && upper.count_ones() as usize == key.len()
}
