//! Matching of a text with the automaton of names: the names that start at each token.

use super::deidentified::is_placeholder_word;
use super::dictionary::Dictionary;
use super::format::MAX_WORD;
use super::inflect::other_numbers;
use super::normalise::{Gap, Kind, Source, Token, Tokens, needs_blank, normalise_name};
use super::posting::{Postings, Rule};
use super::spelling::american;
use super::umlauts::spelt_out;
use fst::raw::{CompiledAddr, Output};

/// The fewest letters of two words together that may be joined where the name has a hyphen.
const MIN_JOINED: usize = 7;
/// The largest word in bytes that is split between digits and letters.
const MAX_BORDERED: usize = 16;
/// The number of tokens that are kept before the current one.
const HISTORY: usize = 48;
/// The number of tokens on either side in which capital letters are compared.
const NEIGHBOURS: usize = 8;
/// The number of tokens that are dropped at once.
const DROP_AT_ONCE: usize = 1024;
/// The largest number of spelling variants that are followed at once.
const MAX_STATES: usize = 8;

/// A state of the automaton.
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
    /// One past the mention's last byte.
    pub end: usize,
    /// The offset of the name's postings.
    pub postings: u64,
    form: Form,
}

/// The form of a mention's last word.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    /// As in the name.
    Same,
    /// With an additional "s".
    WithS,
    /// Another form from [`other_numbers`], or another spelling from [`american`] or
    /// [`spelt_out`].
    Inflected,
}

/// The state of matching a text with a dictionary. It keeps a bounded number of tokens. Token
/// positions count from the start of the text.
pub(super) struct Scan<'d, 't> {
    dictionary: &'d Dictionary,
    reader: Tokens<'t>,
    /// The normalised forms of the kept tokens.
    keys: String,
    tokens: Vec<Token>,
    /// The number of tokens that were dropped before the kept ones.
    dropped: usize,
    states: Vec<State>,
    entries: Vec<State>,
    found: Vec<Found>,
}

impl<'d, 't> Scan<'d, 't> {
    pub fn new(dictionary: &'d Dictionary, text: &'t str, source: Source) -> Self {
        let reader = Tokens::new(text, MAX_WORD, source);
        Self {
            dictionary,
            reader,
            keys: String::new(),
            tokens: Vec::new(),
            dropped: 0,
            states: Vec::new(),
            entries: Vec::new(),
            found: Vec::new(),
        }
    }

    /// The token at a position; `None` after the end of the text or if it was dropped.
    pub fn token(&mut self, at: usize) -> Option<Token> {
        let index = at.checked_sub(self.dropped)?;
        while self.tokens.len() <= index {
            let token = self.reader.next(&mut self.keys)?;
            self.tokens.push(token);
        }
        self.tokens.get(index).copied()
    }

    /// The text.
    pub fn text(&self) -> &'t str {
        self.reader.text()
    }

    /// The normalised form of a kept token.
    pub fn key(&self, token: &Token) -> &str {
        self.keys.get(token.key.0..token.key.1).unwrap_or_default()
    }

    /// Drops tokens well before a position. It is called for each token and rarely drops any.
    pub fn forget_before(&mut self, at: usize) {
        let drop = at
            .saturating_sub(self.dropped + HISTORY)
            .min(self.tokens.len());
        if drop < DROP_AT_ONCE {
            return;
        }
        let bytes = self
            .tokens
            .get(drop)
            .map_or(self.keys.len(), |token| token.key.0);
        self.tokens.drain(..drop);
        self.keys.drain(..bytes);
        for token in &mut self.tokens {
            token.key = (token.key.0 - bytes, token.key.1 - bytes);
        }
        self.dropped += drop;
    }

    /// The kept tokens before, in and after a token range.
    fn around(&self, first: usize, last: usize) -> (&[Token], &[Token], &[Token]) {
        let end = (last + 1)
            .saturating_sub(self.dropped)
            .min(self.tokens.len());
        let (to_last, after) = self.tokens.split_at(end);
        let (before, mention) = to_last.split_at(first.saturating_sub(self.dropped).min(end));
        (before, mention, after)
    }

    /// All names that start at a token, shorter ones first, whatever their rules.
    pub fn names_at(&mut self, first: usize) -> Vec<Found> {
        let mut found = std::mem::take(&mut self.found);
        found.clear();
        self.match_names(first, &mut found);
        found
    }

    /// Returns a list for reuse.
    pub fn recycle(&mut self, found: Vec<Found>) {
        self.found = found;
    }

    fn match_names(&mut self, first: usize, found: &mut Vec<Found>) {
        let fst = &self.dictionary.names;
        self.states.clear();
        self.states.push(State {
            node: fst.root().addr(),
            output: Output::zero(),
        });
        let mut before: Option<Token> = None;
        let mut limit = first.saturating_add(self.dictionary.longest_name);
        let mut last = first;
        while last < limit {
            let Some(token) = self.token(last) else {
                return;
            };
            let unreadable = matches!(token.kind, Kind::TooLong | Kind::Hidden);
            if unreadable || before.is_some() && token.gap.parts() {
                return;
            }
            let after = self.token(last + 1).map(|after| after.gap);
            let closed = after != Some(Gap::Glued);
            // In a name, an elided word and the next one are one word.
            limit += usize::from(after == Some(Gap::Elision));
            self.enter(before.as_ref(), &token);
            if closed {
                self.add_names_at(last, &token, found);
            }
            let key = self.keys.get(token.key.0..token.key.1).unwrap_or_default();
            let entries = self.entries.iter();
            let border = border(key);
            self.states.clear();
            self.states.extend(
                entries
                    .clone()
                    .filter_map(|state| step(self.dictionary, *state, key)),
            );
            if let Some(at) = border {
                self.states.extend(
                    entries
                        .clone()
                        .filter_map(|state| step_split(self.dictionary, *state, key.split_at(at))),
                );
            }
            for other in [american(key), self.spelt_out(&token)]
                .into_iter()
                .flatten()
            {
                let entries = entries.clone();
                self.states
                    .extend(entries.filter_map(|state| step(self.dictionary, *state, &other)));
            }
            self.states.truncate(MAX_STATES);
            if self.states.is_empty() {
                return;
            }
            before = Some(token);
            last += 1;
        }
    }

    /// Moves the states to the start of the next token: over a blank between words. Where the text
    /// has a hyphen, the name may have none.
    fn enter(&mut self, before: Option<&Token>, token: &Token) {
        self.entries.clear();
        let Some(before) = before else {
            self.entries.extend(&self.states);
            return;
        };
        let blank = needs_blank(before.kind, token.kind);
        let bytes = |token: &Token| token.key.1 - token.key.0;
        let meets_digit = || {
            let both = (
                self.key(before).chars().next_back(),
                self.key(token).chars().next(),
            );
            matches!(both, (Some(end), Some(start)) if changes(end, start))
        };
        let long = bytes(before) + bytes(token) >= MIN_JOINED;
        let hyphen = token.gap == Gap::Hyphen && (long || meets_digit());
        let join = blank && (hyphen || token.gap == Gap::Elision);
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

    /// Adds the names that end with a token.
    fn add_names_at(&self, last: usize, token: &Token, found: &mut Vec<Found>) {
        let key = self.key(token);
        let inflects = token.kind == Kind::Word && !is_short_capitals(key, token.upper);
        let american = Some(key).filter(|_| inflects).and_then(american);
        let umlauts = self.spelt_out(token);
        for entry in &self.entries {
            if let Some(at) = border(key)
                && let Some(state) = step_split(self.dictionary, *entry, key.split_at(at))
            {
                self.add_final(last, token, state, Form::Same, found);
            }
            let mut end = |stem: &str, ending: &str, form: Form| {
                let state = step(self.dictionary, *entry, stem)
                    .and_then(|state| step(self.dictionary, state, ending));
                if let Some(state) = state {
                    self.add_final(last, token, state, form, found);
                }
            };
            end(key, "", Form::Same);
            if let Some(capitals) = key
                .strip_suffix('s')
                .filter(|stem| stem.len() == 2 && token.upper == 0b11)
            {
                end(capitals, "", Form::WithS); // "MIs"
            }
            for other in [&american, &umlauts].into_iter().flatten() {
                end(other, "", Form::Inflected);
                other_numbers(other, |stem, ending| end(stem, ending, Form::Inflected));
            }
            if inflects {
                other_numbers(key, |stem, ending| {
                    let with_s = ending.is_empty() && key.len() == stem.len() + 1;
                    end(
                        stem,
                        ending,
                        if with_s { Form::WithS } else { Form::Inflected },
                    );
                });
            }
        }
    }

    /// The normalised form of a word with spelt-out umlauts; `None` if it has none.
    fn spelt_out(&self, token: &Token) -> Option<String> {
        let word = self.text().get(token.start..token.end)?;
        spelt_out(word).map(|word| normalise_name(&word))
    }

    /// Adds the name of a final state.
    fn add_final(
        &self,
        last: usize,
        token: &Token,
        state: State,
        form: Form,
        found: &mut Vec<Found>,
    ) {
        let node = self.dictionary.names.node(state.node);
        if node.is_final() {
            let postings = state.output.cat(node.final_output()).value();
            // Several rules may lead to the same name.
            if found
                .last()
                .is_none_or(|found| (found.last, found.postings) != (last, postings))
            {
                found.push(Found {
                    last,
                    end: token.end,
                    postings,
                    form,
                });
            }
        }
    }

    /// Whether a match is a mention according to the name's rule and the case of the text.
    /// Placeholders alone are none.
    pub fn accepts(&self, first: usize, found: Found) -> bool {
        if self
            .around(first, found.last)
            .1
            .iter()
            .all(|token| is_placeholder_word(self.key(token)))
        {
            return false;
        }
        let mut postings = Postings::at(&self.dictionary.postings, found.postings);
        postings.any(|posting| match posting.rule {
            Rule::AnyCase => true,
            Rule::Abbreviation(_) if found.form == Form::Same => true,
            Rule::Abbreviation(mask) => self.has_case(first, found, mask),
            Rule::CaseBound(mask) => {
                self.has_case(first, found, mask) && !self.is_in_capitals(first, found.last)
            }
            Rule::Never => false,
        })
    }

    /// Whether the characters of the mask are upper case, and a plural's "s" is lower case.
    fn has_case(&self, first: usize, found: Found, mask: u32) -> bool {
        let mut upper = 0u64;
        let mut chars = 0;
        for token in self.around(first, found.last).1 {
            if token.kind == Kind::Word && chars < 64 {
                upper |= token.upper << chars;
                chars += self.key(token).chars().count();
            }
        }
        let s_is_small =
            found.form == Form::Same || (1..=64).contains(&chars) && upper >> (chars - 1) & 1 == 0;
        found.form != Form::Inflected && s_is_small && upper & u64::from(mask) == u64::from(mask)
    }

    /// Whether capitals are uninformative: the nearest longer word on a side is in capitals, or the
    /// mention is a heading.
    fn is_in_capitals(&self, first: usize, last: usize) -> bool {
        let longer = |token: &&Token| {
            let letters = token.key.1 - token.key.0;
            token.kind == Kind::Word
                && (5..64).contains(&letters)
                && !is_placeholder_word(self.key(token))
        };
        let capitals =
            |token: &Token| token.upper.count_ones() as usize == token.key.1 - token.key.0;
        let (before, mention, after) = self.around(first, last);
        let heading = mention.first().is_some_and(|token| token.gap.parts())
            && after.first().is_some_and(|token| self.key(token) == ":");
        heading
            || before
                .iter()
                .rev()
                .take(NEIGHBOURS)
                .find(longer)
                .is_some_and(capitals)
            || after
                .iter()
                .take(NEIGHBOURS)
                .find(longer)
                .is_some_and(capitals)
    }
}

/// Follows the transitions for some bytes.
fn step(dictionary: &Dictionary, from: State, bytes: &str) -> Option<State> {
    let mut state = from;
    for byte in bytes.bytes() {
        let node = dictionary.names.node(state.node);
        let transition = node.transition(node.find_input(byte)?);
        state = State {
            node: transition.addr,
            output: state.output.cat(transition.out),
        };
    }
    Some(state)
}

/// As [`step`], with a blank between two parts of a word.
fn step_split(dictionary: &Dictionary, from: State, (left, right): (&str, &str)) -> Option<State> {
    let state = step(dictionary, from, left).and_then(|state| step(dictionary, state, " "))?;
    step(dictionary, state, right)
}

/// The position at which a word changes between digits and letters, if there is only one: "5FU"
/// matches "5-FU".
fn border(key: &str) -> Option<usize> {
    if key.len() > MAX_BORDERED || !key.is_ascii() {
        return None;
    }
    let bytes = key.as_bytes();
    let mut borders =
        (1..key.len()).filter(|at| changes(char::from(bytes[at - 1]), char::from(bytes[*at])));
    borders.next().filter(|_| borders.next().is_none())
}

/// Whether one of two characters is a digit and the other a lower-case letter.
fn changes(before: char, after: char) -> bool {
    before.is_ascii_digit() && after.is_ascii_lowercase()
        || before.is_ascii_lowercase() && after.is_ascii_digit()
}

/// Whether a word is a short one in capitals: "AIDS" is not the plural of "AID".
fn is_short_capitals(key: &str, upper: u64) -> bool {
    key.len() <= 5 && upper.count_ones() as usize == key.len()
}
