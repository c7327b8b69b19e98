//! JSON of spaCy's `Doc.from_json`: the text, tokens, entities, and all mentions in `spans["pel"]`.
//! The member `pel` has what a span of spaCy cannot, in the order of these spans.
//!
//! spaCy needs a token border at each end of a span, so tokens are cut there too. They are words,
//! single ASCII punctuation marks and white space; spaCy's own tokenizer does not run.

use super::facts::{code_points, facts, number};
use super::json::compact;
use super::{Note, Record};
use pel_kb::error::Result;
use pel_text::{Offsets, Span};
use serde::Serialize;
use serde_json::{Map, Value, json};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// What is known of a note's mentions. All are written after the last one, because the tokens
/// depend on them.
#[derive(Default)]
pub(super) struct Mentions {
    all: Vec<Mention>,
}

struct Mention {
    /// The extent without white space at its ends, which no token of spaCy can share with a word.
    span: Span,
    fragments: Vec<Span>,
    label: String,
    kb_id: String,
    facts: Value,
}

/// A span of `ents` or `spans`, in code points.
#[derive(Serialize)]
struct Labelled<'a> {
    start: usize,
    end: usize,
    label: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    kb_id: Option<&'a str>,
}

/// A token, in code points.
#[derive(Debug, PartialEq, Serialize)]
struct Token {
    id: usize,
    start: usize,
    end: usize,
}

impl Mentions {
    /// Adds the records of a note.
    pub(super) fn add(&mut self, note: &Note<'_>, offsets: &Offsets<'_>) {
        self.all.extend(
            note.records
                .iter()
                .filter_map(|record| Mention::new(note, offsets, record)),
        );
    }

    /// The whole document on one line.
    ///
    /// # Errors
    /// If JSON cannot be encoded.
    pub(super) fn document(&self, note: &Note<'_>, offsets: &Offsets<'_>) -> Result<String> {
        #[derive(Serialize)]
        struct Document<'a> {
            text: &'a str,
            ents: Vec<Labelled<'a>>,
            spans: Groups<'a>,
            tokens: Vec<Token>,
            pel: Value,
        }
        #[derive(Serialize)]
        struct Groups<'a> {
            pel: Vec<Labelled<'a>>,
        }
        let manifest = &note.linker.bundle().manifest;
        let mentions: Vec<&Value> = self.all.iter().map(|mention| &mention.facts).collect();
        // spaCy ignores this member. Attributes of its own (`_`) would have to be registered before
        // it reads the file.
        let pel = json!({
            "doc": note.name,
            "written_by": concat!("pel ", env!("CARGO_PKG_VERSION")),
            "encoder": manifest.encoder.name,
            "kb": manifest.kb.name,
            "kb_blake3": manifest.kb.blake3,
            "mentions": mentions,
        });
        let labelled = |mention: &'_ Mention| code_points(offsets, &mention.span);
        let spans = self.all.iter().map(|mention| {
            let (start, end) = labelled(mention);
            Labelled {
                start,
                end,
                label: &mention.label,
                kb_id: Some(&mention.kb_id),
            }
        });
        let document = Document {
            text: note.text,
            ents: self.entities(offsets),
            spans: Groups {
                pel: spans.collect(),
            },
            tokens: tokens(note.text, &self.borders()),
            pel,
        };
        Ok(compact(&document)? + "\n")
    }

    /// The longest continuous mentions that share no character, as in the Python package; of
    /// equally long ones the first. Entities of spaCy do not overlap.
    fn entities(&self, offsets: &Offsets<'_>) -> Vec<Labelled<'_>> {
        let chosen = without_overlap(self.all.iter().filter_map(|mention| {
            mention
                .fragments
                .is_empty()
                .then_some((mention.span, mention.label.as_str()))
        }));
        let entities = chosen.into_iter().map(|(span, label)| {
            let (start, end) = code_points(offsets, &span);
            Labelled {
                start,
                end,
                label,
                kb_id: None,
            }
        });
        entities.collect()
    }

    /// The bytes at which tokens must end, ascending.
    fn borders(&self) -> Vec<usize> {
        let mut borders: Vec<usize> = self
            .all
            .iter()
            .flat_map(|mention| {
                let fragments = mention.fragments.iter().chain([&mention.span]);
                fragments.flat_map(|span| [span.start, span.end])
            })
            .collect();
        borders.sort_unstable();
        borders.dedup();
        borders
    }
}

impl Mention {
    /// `None` if the mention is white space.
    fn new(note: &Note<'_>, offsets: &Offsets<'_>, record: &Record) -> Option<Self> {
        let span = trimmed(note.text, record.span)?;
        let (label, kb_id) = match &record.decision {
            Ok(named) if !named.kind().is_empty() => (named.kind(), named.id.as_str()),
            Ok(named) => ("Concept", named.id.as_str()),
            Err(_) => ("NIL", ""),
        };
        let mut values: Map<String, Value> = facts(note.text, record)
            .into_iter()
            .map(|(name, value)| (name.to_owned(), Value::from(value)))
            .collect();
        values.insert("negated".to_owned(), record.context.negated.into());
        let mut put = |name: &str, value: Value| values.insert(name.to_owned(), value);
        if let Some(probability) = record.probability {
            put("probability", number(probability));
        }
        if let Ok(named) = &record.decision {
            put("score", number(named.score));
            put("name", json!(named.name));
            put("xrefs", json!(named.xrefs));
        }
        if !record.fragments.is_empty() {
            let fragments = record.fragments.iter();
            let places: Vec<_> = fragments.map(|one| code_points(offsets, one)).collect();
            put("fragments", json!(places));
        }
        Some(Self {
            span,
            fragments: record.fragments.clone(),
            label: label.to_owned(),
            kb_id: kb_id.to_owned(),
            facts: Value::Object(values),
        })
    }
}

/// The longest spans that share no byte, of equally long ones the first, in the order of the text.
fn without_overlap<'a>(spans: impl Iterator<Item = (Span, &'a str)>) -> Vec<(Span, &'a str)> {
    let mut longest: Vec<(Span, &str)> = spans.collect();
    longest.sort_by_key(|(span, _)| (Reverse(span.len()), span.start));
    let mut chosen: BTreeMap<usize, (Span, &str)> = BTreeMap::new();
    for (span, label) in longest {
        let before = chosen.range(..span.end).next_back();
        if before.is_none_or(|(_, (other, _))| other.end <= span.start) {
            chosen.insert(span.start, (span, label));
        }
    }
    chosen.into_values().collect()
}

/// A span without white space at its ends; `None` if there is nothing else.
fn trimmed(text: &str, span: Span) -> Option<Span> {
    let words = span.of(text).ok()?;
    let start = span.start + (words.len() - words.trim_start_matches(is_space).len());
    let words = words.trim_matches(is_space);
    (!words.is_empty()).then(|| Span::new(start, start + words.len()))
}

/// White space as Python's `str.isspace` has it.
fn is_space(c: char) -> bool {
    c.is_whitespace() || ('\u{1c}'..='\u{1f}').contains(&c)
}

/// The tokens of a text, as spaCy rebuilds them from their words: a space after a word belongs to
/// the word, and all other white space up to the next word is one token. `borders` are bytes at
/// which words are cut, ascending.
fn tokens(text: &str, borders: &[usize]) -> Vec<Token> {
    let mut tokens: Vec<Token> = Vec::new();
    let mut borders = borders.iter().copied().peekable();
    // The kind of the last character, and whether a token is open that the next one may join.
    let (mut last, mut open) = (Kind::Start, false);
    for (letter, (byte, c)) in text.char_indices().enumerate() {
        let mut at_border = false;
        while borders.next_if(|border| *border <= byte).is_some() {
            at_border = true;
        }
        let kind = Kind::of(c);
        let joins = open
            && match kind {
                Kind::Space => last == Kind::Space,
                Kind::Word => last == Kind::Word && !at_border,
                _ => false,
            };
        if joins {
            if let Some(token) = tokens.last_mut() {
                token.end = letter + 1;
            }
        } else if kind == Kind::Space && c == ' ' && matches!(last, Kind::Word | Kind::Mark) {
            // It belongs to the word. What follows it is a token of its own.
            open = false;
            last = kind;
            continue;
        } else {
            tokens.push(Token {
                id: tokens.len(),
                start: letter,
                end: letter + 1,
            });
        }
        open = true;
        last = kind;
    }
    tokens
}

/// What a character does in a token.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Start,
    Space,
    Word,
    Mark,
}

impl Kind {
    fn of(c: char) -> Self {
        match c {
            _ if is_space(c) => Self::Space,
            _ if c.is_ascii_punctuation() => Self::Mark,
            // Combining marks stay with their letter.
            _ => Self::Word,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(text: &str, borders: &[usize]) -> Vec<String> {
        let letters: Vec<char> = text.chars().collect();
        tokens(text, borders)
            .iter()
            .map(|token| letters[token.start..token.end].iter().collect())
            .collect()
    }

    /// "left knee pain; knee": the outer mention stays, and so does a later one.
    #[test]
    fn entities_are_the_longest_mentions() {
        let spans = [(0, 9), (0, 14), (5, 9), (5, 14), (16, 20), (16, 20)];
        let labels = ["a", "b", "c", "d", "e", "f"];
        let spans = spans.map(|(start, end)| Span::new(start, end));
        let chosen = without_overlap(spans.into_iter().zip(labels));
        let expected = [(Span::new(0, 14), "b"), (Span::new(16, 20), "e")];
        assert_eq!(chosen, expected);
        let apart = [(Span::new(0, 4), "a"), (Span::new(4, 9), "b")];
        assert_eq!(without_overlap(apart.into_iter()), apart);
    }

    #[test]
    fn tokens_are_those_that_spacy_rebuilds() {
        assert_eq!(cut("No fever.", &[]), ["No", "fever", "."]);
        assert_eq!(cut("  a   b\r\n", &[]), ["  ", "a", "  ", "b", "\r\n"]);
        assert_eq!(cut("a  ", &[]), ["a", " "]);
        assert_eq!(cut("a.  b", &[]), ["a", ".", " ", "b"]);
        assert_eq!(cut("e\u{301}t 😷!", &[]), ["e\u{301}t", "😷", "!"]);
        assert_eq!(cut("", &[]), [""; 0]);
    }

    #[test]
    fn tokens_end_where_mentions_do() {
        assert_eq!(cut("nonfebrile", &[3, 10]), ["non", "febrile"]);
        assert_eq!(cut("😷ab c", &[4, 5]), ["😷", "a", "b", "c"]);
    }

    #[test]
    fn spans_lose_white_space_at_their_ends() {
        assert_eq!(
            trimmed("a\u{1f} fever\n", Span::new(1, 9)),
            Some(Span::new(3, 8))
        );
        assert_eq!(trimmed("a  b", Span::new(1, 3)), None);
    }
}
