//! Where the patterns of a rule file match the tokens of a text.

use super::lexer::{Kind as Lexical, Lexeme, value};
use super::rules::{Group, NUMBER, Product, Rules, Symbol, Trie};
use super::value::Value;
use super::{Attribute, Kind};

/// The elements that are tried at most from one token on.
const BUDGET: usize = 1024;
/// The phrases at a token at most.
const MAX_READINGS: usize = 32;
/// How often phrases are sought at a token, so that phrases may begin with each other.
const ROUNDS: usize = 3;
/// The letters of an abbreviation before a point that ends no sentence.
const MAX_ABBREVIATION: usize = 5;

/// A phrase of a class at a token.
#[derive(Clone, Debug)]
pub(super) struct Reading {
    pub class: u16,
    /// One past the last token.
    pub end: usize,
    /// `None` if the text does not settle the value.
    pub value: Option<Value>,
}

/// A mention by its tokens.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mention {
    pub first: usize,
    /// One past the last token.
    pub end: usize,
    pub kind: Kind,
}

/// A place where a pattern of attributes matches.
#[derive(Clone, Debug)]
pub(super) struct Hit {
    /// The section of the rules.
    pub section: usize,
    pub first: usize,
    /// One past the last token.
    pub end: usize,
    pub attributes: Vec<Attribute>,
    /// The mention that it is in.
    pub inside: Option<u32>,
    /// The mentions of its pattern.
    pub mentions: Vec<u32>,
}

/// A text with what the rules know of its tokens.
pub(super) struct Note<'t> {
    pub text: &'t str,
    pub rules: &'t Rules,
    pub lexemes: Vec<Lexeme>,
    pub mentions: Vec<Mention>,
    /// The mentions that start at each token.
    pub starting: Vec<Vec<u32>>,
    pub readings: Vec<Vec<Reading>>,
    /// The classes that each mention has a phrase of in it, of those that tell mentions apart.
    pub names: Vec<Vec<u16>>,
}

/// What an element of a match is.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Element {
    /// A word or mark.
    Token,
    /// A phrase of a class.
    Class(u16),
    /// A mention.
    Mention,
}

/// An element of a match.
#[derive(Clone, Copy)]
pub(super) struct Step {
    pub first: usize,
    pub end: usize,
    pub element: Element,
}

impl Step {
    pub fn is_class(&self) -> bool {
        matches!(self.element, Element::Class(_))
    }
}

/// A walk along the patterns from one token on.
struct Walk<'n, 't> {
    note: &'n Note<'t>,
    trie: &'n Trie,
    path: Vec<Step>,
    budget: usize,
    /// The products that were found, with one past the last token.
    found: Vec<(u32, Vec<Step>)>,
    /// Whether only the longest match counts.
    longest: bool,
    /// Whether it walks inside a mention, whose own symbol is none then.
    in_mention: bool,
}

impl<'t> Note<'t> {
    pub fn new(
        text: &'t str,
        rules: &'t Rules,
        lexemes: Vec<Lexeme>,
        mentions: Vec<Mention>,
    ) -> Self {
        let mut starting = vec![Vec::new(); lexemes.len()];
        for (index, mention) in mentions.iter().enumerate() {
            let at = starting
                .get_mut(mention.first)
                .filter(|_| mention.end > mention.first);
            if let (Some(at), Ok(index)) = (at, u32::try_from(index)) {
                at.push(index);
            }
        }
        let count = lexemes.len();
        let mut note = Self {
            text,
            rules,
            lexemes,
            mentions,
            starting,
            readings: vec![Vec::new(); count],
            names: Vec::new(),
        };
        for at in (0..count).rev() {
            note.read(at);
        }
        // The "mol" of "mmol/mol" is no mention, so that phrases may go on through it.
        if note.leave_out_attributes() {
            note.readings = vec![Vec::new(); count];
            for at in (0..count).rev() {
                note.read(at);
            }
        }
        note.names = note.mentions.iter().map(|one| note.names_of(one)).collect();
        note
    }

    /// The classes that a mention has a phrase of in it.
    fn names_of(&self, mention: &Mention) -> Vec<u16> {
        let readings = self.readings.get(mention.first..mention.end);
        let readings = readings.unwrap_or_default().iter().flatten();
        let own = readings.filter(|reading| reading.end <= mention.end);
        let classes = own.map(|reading| reading.class);
        let mut names: Vec<u16> = classes
            .filter(|class| self.rules.naming.contains(class))
            .collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    /// Whether a mention has a phrase of a class in it, by which mentions are told apart.
    pub fn is_named(&self, mention: u32, class: Option<u16>) -> bool {
        let names = self
            .names
            .get(mention as usize)
            .map_or(&[][..], Vec::as_slice);
        class.is_some_and(|class| names.contains(&class))
    }

    /// Leaves out the mentions that are attributes as a whole: "bd", "nasal spray". Whether there are any.
    fn leave_out_attributes(&mut self) -> bool {
        let Some(class) = self.rules.class("not_mention") else {
            return false;
        };
        let mut left_out = false;
        for (index, mention) in self.mentions.iter_mut().enumerate() {
            let readings = self
                .readings
                .get(mention.first)
                .map_or(&[][..], Vec::as_slice);
            let is_attribute = readings
                .iter()
                .any(|reading| reading.class == class && reading.end == mention.end);
            if !is_attribute {
                continue;
            }
            let own = |anchor: u32| anchor as usize == index;
            for lexeme in &mut self.lexemes[mention.first..mention.end] {
                lexeme.anchor = lexeme.anchor.filter(|anchor| !own(*anchor));
            }
            self.starting[mention.first].retain(|starting| !own(*starting));
            mention.end = mention.first;
            left_out = true;
        }
        left_out
    }

    /// Finds the phrases that start at a token. Those of later tokens are known.
    fn read(&mut self, at: usize) {
        if self.lexemes[at].kind == Lexical::Number {
            let written = &self.text[self.lexemes[at].start..self.lexemes[at].end];
            let value = value(written).map(Value::Text);
            self.readings[at].push(Reading {
                class: NUMBER,
                end: at + 1,
                value,
            });
        }
        let plain = self.phrases(&self.rules.phrases, at);
        self.add(at, plain);
        for _ in 0..ROUNDS {
            let composite = self.phrases(&self.rules.composites, at);
            if !self.add(at, composite) {
                break;
            }
        }
    }

    /// Adds phrases, each class and end once. Whether there were any others before.
    fn add(&mut self, at: usize, found: Vec<Reading>) -> bool {
        let readings = &mut self.readings[at];
        let before = readings.len();
        for reading in found {
            let known = readings
                .iter()
                .any(|known| known.class == reading.class && known.end == reading.end);
            if !known && readings.len() < MAX_READINGS {
                readings.push(reading);
            }
        }
        readings.len() > before
    }

    fn phrases(&self, trie: &Trie, at: usize) -> Vec<Reading> {
        let mut walk = Walk::new(self, trie, false);
        walk.go(0, at);
        let mut found = walk.found;
        found.sort_by_key(|(product, _)| *product);
        let readings = found.iter().filter_map(|(product, path)| {
            match self.rules.products.get(*product as usize)? {
                Product::Phrase(class, normal) => Some(Reading {
                    class: *class,
                    end: path.last()?.end,
                    value: self.normal(normal, path, 0, path.len()),
                }),
                _ => None,
            }
        });
        readings.collect()
    }

    /// Whether a token has a phrase of a class.
    pub fn has(&self, at: usize, class: Option<u16>) -> bool {
        let readings = self.readings.get(at).map_or(&[][..], Vec::as_slice);
        class.is_some() && readings.iter().any(|reading| Some(reading.class) == class)
    }

    /// The places where patterns of attributes match: the longest at each token, without those that
    /// begin in another one.
    pub fn hits(&self, trie: &Trie) -> Vec<Hit> {
        let mut hits = Vec::new();
        self.hits_between(trie, (0, self.lexemes.len()), false, &mut hits);
        hits
    }

    /// Adds the hits that begin between two tokens. Those in a mention end in it.
    fn hits_between(
        &self,
        trie: &Trie,
        (from, to): (usize, usize),
        in_mention: bool,
        hits: &mut Vec<Hit>,
    ) {
        let mut at = from;
        while at < to {
            if !self.starts(at) {
                at += 1;
                continue;
            }
            let mut walk = Walk::new(self, trie, true);
            walk.in_mention = in_mention;
            walk.go(0, at);
            let found = walk.found.into_iter();
            let ends = |path: &[Step]| path.last().map_or(at, |step| step.end);
            let found = found.filter(|(_, path)| !in_mention || ends(path) <= to);
            let best = found.min_by_key(|(product, path)| {
                // "3 kg" is no strength.
                let own = self.rules.products.get(*product as usize);
                let nothing = matches!(own, Some(Product::Nothing));
                (usize::MAX - ends(path), !nothing, *product)
            });
            let Some((product, path)) = best else {
                at += 1;
                continue;
            };
            let end = ends(&path).max(at + 1);
            // "Mild asthma since 2019": what is in the mention counts, too.
            if let Some(first) = path.first().filter(|step| step.element == Element::Mention) {
                self.hits_between(trie, (first.first, first.end), true, hits);
            }
            hits.extend(self.hit(product, &path, (at, end)));
            at = end;
        }
    }

    /// The hit of a product, if it is one of attributes.
    fn hit(&self, product: u32, path: &[Step], (first, end): (usize, usize)) -> Option<Hit> {
        let Product::Attributes(section, groups) = self.rules.products.get(product as usize)?
        else {
            return None;
        };
        let attributes = groups
            .iter()
            .filter_map(|group| self.attribute(group, path));
        let own = path.iter().find(|step| step.element != Element::Mention);
        Some(Hit {
            section: *section,
            first,
            end,
            attributes: attributes.collect(),
            inside: own.and_then(|step| self.lexemes[step.first].anchor),
            mentions: self.mentions_of(path, *section),
        })
    }

    /// The mentions of a match that its section is for.
    fn mentions_of(&self, path: &[Step], section: usize) -> Vec<u32> {
        let section = self.rules.sections.get(section);
        let family = section.and_then(|section| self.rules.families.get(section.family));
        let kinds = family.map_or(&[][..], |family| &family.kinds);
        let steps = path.iter().filter(|step| step.element == Element::Mention);
        let own = steps.filter_map(|step| {
            let starting = self.starting.get(step.first)?;
            starting.iter().copied().find(|index| {
                let mention = self.mentions[*index as usize];
                mention.end == step.end && kinds.contains(&mention.kind)
            })
        });
        own.collect()
    }

    /// Whether a sentence, or a part of it, ends before a token.
    fn is_end(&self, at: usize) -> bool {
        self.lexemes.get(at).is_none_or(|token| {
            let mark = matches!(token.kind, Lexical::Mark(',' | ';' | '.' | ')' | '|'));
            mark || token.border != crate::context::Border::None
        })
    }

    fn attribute(&self, group: &Group, path: &[Step]) -> Option<Attribute> {
        let steps = path.get(group.first..group.end)?;
        let span = self.span(steps)?;
        Some(Attribute {
            name: group.name,
            span,
            value: self.normal(&group.normal, path, group.first, group.end),
            prior: group.prior,
        })
    }

    /// Whether attributes may begin at a token: not at the "4" of "q4h", nor at the "20" of "10/20".
    fn starts(&self, at: usize) -> bool {
        let token = &self.lexemes[at];
        let Some(before) = at.checked_sub(1).and_then(|at| self.lexemes.get(at)) else {
            return true;
        };
        if !token.glued || matches!(token.kind, Lexical::Mark(_)) {
            return true;
        }
        let other = |one: &Lexeme| one.anchor.is_some() && one.anchor != token.anchor;
        match before.kind {
            Lexical::Mark(c @ ('-' | '/')) => {
                let joined = before.glued && (c == '-' || token.kind != Lexical::Word);
                let first = at.checked_sub(2).and_then(|at| self.lexemes.get(at));
                !joined || first.is_some_and(other)
            }
            Lexical::Mark(_) => true,
            _ => other(before),
        }
    }

    /// Whether attributes may end before a token: not before the "mg" of "20mg", nor the "/80" of
    /// "120/80".
    fn ends(&self, end: usize) -> bool {
        let Some(last) = end.checked_sub(1).and_then(|at| self.lexemes.get(at)) else {
            return true;
        };
        let Some(next) = self.lexemes.get(end).filter(|next| next.glued) else {
            return true;
        };
        match next.kind {
            // Not before the ".n" of "p.r.n".
            Lexical::Mark('.') => {
                let after = self.lexemes.get(end + 1).filter(|after| after.glued);
                let letter =
                    |token: &Lexeme| token.kind == Lexical::Word && token.end - token.start == 1;
                !letter(last) || !after.is_some_and(letter)
            }
            Lexical::Mark('-' | '/') => {
                let number = |token: &Lexeme| {
                    token.glued && matches!(token.kind, Lexical::Number | Lexical::Broken)
                };
                last.kind != Lexical::Number || !self.lexemes.get(end + 1).is_some_and(number)
            }
            Lexical::Mark(_) => true,
            _ => {
                let other = next.anchor.is_some() && next.anchor != last.anchor;
                matches!(last.kind, Lexical::Mark(_)) || other
            }
        }
    }

    /// The token after a point or dash that is nothing to a pattern: those of "p.o." and
    /// "as-needed".
    fn skipped(&self, at: usize) -> Option<usize> {
        let token = self.lexemes.get(at).filter(|token| token.glued)?;
        let before = self.lexemes.get(at.checked_sub(1)?)?;
        let next = self.lexemes.get(at + 1)?;
        let word = |token: &Lexeme| token.kind == Lexical::Word;
        let skips = match token.kind {
            Lexical::Mark('.') => {
                word(before)
                    && before.end - before.start <= MAX_ABBREVIATION
                    && !next.border.ends_sentence()
            }
            Lexical::Mark('-') => next.glued && (word(before) || word(next)),
            _ => false,
        };
        skips.then_some(at + 1)
    }
}

impl<'n, 't> Walk<'n, 't> {
    fn new(note: &'n Note<'t>, trie: &'n Trie, longest: bool) -> Self {
        Self {
            note,
            trie,
            path: Vec::new(),
            budget: BUDGET,
            found: Vec::new(),
            longest,
            in_mention: false,
        }
    }

    /// Follows the patterns from a node at a token.
    fn go(&mut self, node: u32, at: usize) {
        self.keep(node);
        if self.note.is_end(at)
            && let Some(end) = self.trie.next(node, Symbol::End)
        {
            self.keep(end);
        }
        self.step(node, at);
        if !self.path.is_empty()
            && let Some(at) = self.note.skipped(at)
        {
            self.step(node, at);
        }
    }

    /// Keeps the products of a node.
    fn keep(&mut self, node: u32) {
        let products = self.trie.products(node);
        let Some(end) = self.path.last().map(|step| step.end) else {
            return;
        };
        if products.is_empty() || self.longest && !self.note.ends(end) {
            return;
        }
        for product in products {
            self.found.push((*product, self.path.clone()));
        }
    }

    /// Tries what can follow a node at a token.
    fn step(&mut self, node: u32, at: usize) {
        let note = self.note;
        let Some(token) = note.lexemes.get(at) else {
            return;
        };
        if !self.path.is_empty() && token.border.ends_sentence() || self.budget == 0 {
            return;
        }
        self.budget -= 1;
        let starting = match self.in_mention {
            true => &[],
            false => note.starting[at].as_slice(),
        };
        for index in starting {
            let mention = note.mentions[*index as usize];
            let names = note.names.get(*index as usize);
            let names = names.map_or(&[][..], Vec::as_slice).iter();
            let named = names.map(|class| Symbol::Named(mention.kind, *class));
            for symbol in std::iter::once(Symbol::Mention(mention.kind)).chain(named) {
                if let Some(next) = self.trie.next(node, symbol) {
                    self.take(next, at, mention.end, Element::Mention);
                }
            }
        }
        if !self.fits(at) {
            return;
        }
        let mark = match token.kind {
            Lexical::Mark(c) => Some(Symbol::Mark(c)),
            _ => None,
        };
        let words = [token.word, token.written];
        let words = words.into_iter().flatten().map(Symbol::Word);
        for symbol in words.chain(mark) {
            if let Some(next) = self.trie.next(node, symbol) {
                self.take(next, at, at + 1, Element::Token);
            }
        }
        for reading in &note.readings[at] {
            let fits = reading.end == at + 1 || self.fits(reading.end - 1);
            if fits && let Some(next) = self.trie.next(node, Symbol::Class(reading.class)) {
                self.take(next, at, reading.end, Element::Class(reading.class));
            }
        }
    }

    /// Whether a token is in the same mention as the others of the match, or in none.
    fn fits(&self, at: usize) -> bool {
        let note = self.note;
        let anchor = note.lexemes[at].anchor;
        match self.path.first() {
            None => true,
            Some(first) if first.element == Element::Mention => anchor.is_none(),
            Some(first) => anchor == note.lexemes[first.first].anchor,
        }
    }

    fn take(&mut self, node: u32, first: usize, end: usize, element: Element) {
        self.path.push(Step {
            first,
            end,
            element,
        });
        self.go(node, end);
        self.path.pop();
    }
}
