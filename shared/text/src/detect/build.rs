//! Construction of a dictionary: all names in normalised form, derived forms, and known words.

use super::format::{FORMAT, Fields, MAX_TOKENS, MAX_WORD};
use super::normalise::{Gap, Kind, STOPS, Source, Token, Tokens, needs_blank};
use super::posting::{self, Posting, Rule};
use super::umlauts::spelt_out;
use super::words::Words;
use pel_kb::container;
use pel_kb::error::{Error, Result};
use pel_kb::{Concept, ConceptId};
use std::collections::HashSet;

/// The longest abbreviation in characters.
const ABBREVIATION: usize = 5;
/// The shortest derived form in bytes.
const MIN_DERIVED: usize = 7;
/// The shortest form with spelt-out umlauts in bytes: "Oedem".
const MIN_SPELT_OUT: usize = 5;

/// Encodes a dictionary.
pub(super) fn build<'a>(
    concepts: impl Iterator<Item = (ConceptId, &'a Concept)>,
) -> Result<Vec<u8>> {
    let mut builder = Builder::new();
    for (id, concept) in concepts {
        for name in concept.names() {
            builder.add_name(id, name);
        }
        builder.add_words(concept.definition.as_deref().unwrap_or_default(), true);
    }
    builder.finish()
}

/// Collects names and words.
struct Builder {
    names: Vec<(String, ConceptId, Form)>,
    /// Words that occur in lower case in a definition.
    lower: HashSet<String>,
    known: HashSet<String>,
    longest: usize,
    lists: Words,
}

/// The form of a name.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Form {
    /// Whether the knowledge base has the name itself; otherwise it was derived.
    stated: bool,
    /// The positions of upper-case characters, if the name looks like an abbreviation.
    abbreviation: Option<u32>,
}

/// A tokenized name.
struct Parsed {
    tokens: Vec<Token>,
    keys: String,
}

impl Parsed {
    fn new(name: &str) -> Option<Self> {
        let mut reader = Tokens::new(name, MAX_WORD, Source::Name);
        let mut tokens = Vec::new();
        let mut keys = String::new();
        while let Some(token) = reader.next(&mut keys) {
            if token.kind == Kind::TooLong || tokens.len() == MAX_TOKENS {
                return None;
            }
            tokens.push(token);
        }
        let mut parsed = Self { tokens, keys };
        while parsed
            .tokens
            .last()
            .is_some_and(|last| last.kind == Kind::Mark && parsed.key(last).starts_with(STOPS))
        {
            parsed.tokens.pop();
        }
        Some(parsed)
    }

    fn key(&self, token: &Token) -> &str {
        self.keys.get(token.key.0..token.key.1).unwrap_or_default()
    }

    /// Writes the normalised name from tokens, each with an ending. With `joined`, hyphens are left
    /// out.
    fn write<'t>(
        &self,
        tokens: impl Iterator<Item = (&'t Token, &'static str)>,
        joined: bool,
    ) -> String {
        let mut written = String::new();
        let mut before = Kind::Mark;
        for (token, ending) in tokens {
            if needs_blank(before, token.kind) && !(joined && token.gap == Gap::Hyphen) {
                written.push(' ');
            }
            written.push_str(self.key(token));
            written.push_str(ending);
            before = token.kind;
        }
        written
    }

    /// The positions of upper-case characters, if the name looks like an abbreviation: it is short
    /// and has capitals beyond the first letter.
    fn abbreviation(&self) -> Option<u32> {
        let mut upper = 0u64;
        let mut chars = 0;
        let mut letters = 0;
        for token in self.tokens.iter().filter(|token| token.kind == Kind::Word) {
            let key = self.key(token);
            let count = key.chars().count();
            if chars + count > 32 {
                return None;
            }
            upper |= token.upper << chars;
            chars += count;
            letters += key.chars().filter(|c| c.is_alphabetic()).count();
        }
        let capitals = upper.count_ones() as usize;
        let all_capitals = capitals == letters && chars <= ABBREVIATION && self.tokens.len() == 1;
        let few_letters =
            letters <= 3 && (capitals > 1 || capitals == 1 && (letters <= 2 || upper & 1 == 0));
        (capitals > 0 && (all_capitals || few_letters)).then_some(upper as u32)
    }
}

impl Builder {
    fn new() -> Self {
        Self {
            names: vec![],
            lower: HashSet::new(),
            known: HashSet::new(),
            longest: 0,
            lists: Words::new(),
        }
    }

    fn add_name(&mut self, id: ConceptId, name: &str) {
        self.add_words(name, false);
        let Some(parsed) = Parsed::new(name) else {
            return;
        };
        self.longest = self.longest.max(parsed.tokens.len());
        let stated = parsed.write(parsed.tokens.iter().map(|token| (token, "")), false);
        if !stated.is_empty() {
            self.names.push((
                stated,
                id,
                Form {
                    stated: true,
                    abbreviation: parsed.abbreviation(),
                },
            ));
        }
        let umlauts = spelt_out(name)
            .and_then(|name| Parsed::new(&name))
            .map(|spelt| spelt.write(spelt.tokens.iter().map(|token| (token, "")), false))
            .filter(|spelt| spelt.len() >= MIN_SPELT_OUT);
        for derived in derive(&parsed).into_iter().chain(umlauts) {
            self.names.push((
                derived,
                id,
                Form {
                    stated: false,
                    abbreviation: None,
                },
            ));
        }
    }

    fn add_words(&mut self, text: &str, definition: bool) {
        let mut reader = Tokens::new(text, MAX_WORD, Source::Name);
        let mut key = String::new();
        while let Some(token) = reader.next(&mut key) {
            if token.kind == Kind::Word
                && key.len() > 1
                && key.bytes().all(|b| b.is_ascii_lowercase())
            {
                if definition && token.upper == 0 && !self.lower.contains(&key) {
                    self.lower.insert(key.clone());
                }
                if key.len() > 2 && !self.known.contains(&key) {
                    self.known.insert(key.clone());
                }
            }
            key.clear();
        }
    }

    fn rule(&self, name: &str, form: Form) -> Rule {
        let letters = name.chars().filter(|c| c.is_alphabetic()).count();
        match form.abbreviation {
            _ if letters == 0 || name.chars().count() < 2 => Rule::Never,
            Some(mask)
                if letters < 3
                    || self.lists.ordinary.contains(name)
                    || self.lists.stopped.contains(name)
                    || self.lower.contains(name) =>
            {
                Rule::CaseBound(mask)
            }
            Some(mask) => Rule::Abbreviation(mask),
            None if self.lists.stopped.contains(name) || name.chars().count() < 3 => Rule::Never,
            None => Rule::AnyCase,
        }
    }

    fn finish(mut self) -> Result<Vec<u8>> {
        let names = std::mem::take(&mut self.names);
        let mut entries: Vec<(String, Posting)> = names
            .into_iter()
            .map(|(name, concept, form)| {
                let rule = self.rule(&name, form);
                (
                    name,
                    Posting {
                        concept,
                        stated: form.stated,
                        rule,
                    },
                )
            })
            .collect();
        entries.sort_unstable();
        entries.dedup();

        let failed =
            |cause: fst::Error| Error::artifact("building the automaton of names").caused_by(cause);
        let mut map = fst::MapBuilder::memory();
        let mut postings = Vec::new();
        let mut group = Vec::new();
        for same in entries.chunk_by(|a, b| a.0 == b.0) {
            group.clear();
            group.extend(same.iter().map(|(_, posting)| *posting));
            // A stated name takes precedence over equal derived ones.
            if group.iter().any(|posting| posting.stated) {
                group.retain(|posting| posting.stated);
            }
            let Some((name, _)) = same.first() else {
                continue;
            };
            map.insert(name, postings.len() as u64).map_err(failed)?;
            posting::write(&group, &mut postings);
        }
        let names = map.into_inner().map_err(failed)?;

        let ordinary = self
            .lists
            .ordinary
            .iter()
            .chain(&self.lists.stopped)
            .filter(|word| !word.contains(' '));
        self.known.extend(ordinary.map(|word| (*word).to_owned()));
        let mut known: Vec<String> = self.known.into_iter().collect();
        known.sort_unstable();
        let words = fst::Set::from_iter(known).map_err(failed)?;
        let fields = Fields {
            longest_name: self.longest,
        };
        let sections: [(&str, &[u8]); 3] = [
            ("names", &names),
            ("postings", &postings),
            ("words", words.as_fst().as_bytes()),
        ];
        container::write(FORMAT, &fields, &sections)
    }
}

/// Derives variants of a name: "Alzheimers disease" of "Alzheimer's disease", "betablocker" of
/// "beta-blocker".
fn derive(name: &Parsed) -> Vec<String> {
    let mut derived = Vec::new();
    let tokens = &name.tokens;
    if tokens.iter().any(|token| token.possessive) {
        derived.push(
            name.write(
                tokens
                    .iter()
                    .map(|token| (token, if token.possessive { "s" } else { "" })),
                false,
            ),
        );
    }
    let alphabetic = |token: &Token| name.key(token).chars().all(char::is_alphabetic);
    let hyphens = tokens
        .iter()
        .filter(|token| token.gap == Gap::Hyphen)
        .count();
    if hyphens == 1
        && tokens
            .iter()
            .all(|token| token.kind == Kind::Word && alphabetic(token))
    {
        derived.push(name.write(tokens.iter().map(|token| (token, "")), true));
    }
    derived.retain(|form| form.len() >= MIN_DERIVED);
    derived
}
