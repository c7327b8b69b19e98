//! The rules of a file in the form that texts are matched with.

use super::{AttributeName, Kind};
use std::collections::HashMap;

/// What a token is compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Symbol {
    /// A word, or a number as it is written.
    Word(u32),
    /// A mark.
    Mark(char),
    /// A phrase of a class.
    Class(u16),
    /// A mention of a kind, as a whole.
    Mention(Kind),
    /// A mention of a kind that has a phrase of a class in it.
    Named(Kind, u16),
    /// The end of a sentence, or a mark that ends a part of it.
    End,
}

/// The class of numbers, which the rules extend by number words.
pub(super) const NUMBER: u16 = 0;

/// The names of the classes that are built in, by their number.
pub(super) const CLASSES: [&str; 1] = ["number"];

/// The class of problems that happen at a time rather than begin then: "stroke", "fracture".
pub(super) const EVENT: &str = "event";

/// How a normal form is made of the parts of a pattern.
#[derive(Clone, Debug)]
pub(super) enum Normal {
    /// The values of the classes in the group, with blanks between them; the words in lower case
    /// if there are none.
    Values,
    /// The words in lower case.
    Lower,
    /// The text does not settle it.
    Null,
    /// A text with values.
    Text(Vec<Part>),
    /// A number, as often as said: 1000000 times "2.4".
    Times(u32, Vec<Part>),
    /// A timing: how many times, in how many, units, and when.
    Timing(Box<[Vec<Part>; 4]>),
    /// A duration of an amount and a unit, with a sign before it.
    Duration(&'static str, Box<[Vec<Part>; 2]>),
    /// A date: year, month, day. An empty part is missing.
    Date(Box<[Vec<Part>; 3]>),
}

/// A part of a normal form.
#[derive(Clone, Debug)]
pub(super) enum Part {
    /// Text as it is.
    Text(String),
    /// The value of an element of the pattern.
    Element(usize),
    /// The value of an element that this form of the pattern does not have.
    Missing,
}

/// The part of a pattern that is an attribute.
#[derive(Clone, Debug)]
pub(super) struct Group {
    /// The first element.
    pub first: usize,
    /// One past the last element.
    pub end: usize,
    pub name: AttributeName,
    pub prior: bool,
    pub normal: Normal,
}

/// What is made where a pattern matches.
#[derive(Clone, Debug)]
pub(super) enum Product {
    /// A phrase of a class.
    Phrase(u16, Normal),
    /// Attributes, by the rules of a section.
    Attributes(usize, Vec<Group>),
    /// Nothing: the words are no attribute.
    Nothing,
}

/// Where the mention stands that an attribute is said of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Direction {
    /// The nearest mention before it, unless it belongs to the one right behind it.
    Near,
    /// The mention right behind it, or else the nearest before it: "mild swelling".
    Before,
    /// Behind it: "continue aspirin".
    Forward,
    /// Before it: "aspirin was stopped".
    Backward,
}

/// The head of a section of attributes.
#[derive(Clone, Debug)]
pub(super) struct Section {
    /// The family of the patterns.
    pub family: usize,
    pub direction: Direction,
    /// Whether all mentions of a list have the attribute.
    pub list: bool,
    /// Whether the attribute may be in its mention.
    pub inside: bool,
    /// Whether mentions before the sentence count if it has none.
    pub carried: bool,
    /// Whether they are said of the mentions behind theirs, too, with values between.
    pub panel: bool,
}

/// The patterns of attributes of the same kinds of mentions.
#[derive(Clone, Debug)]
pub(super) struct Family {
    pub kinds: Vec<Kind>,
    pub patterns: Trie,
}

/// The rules of a file.
#[derive(Clone, Debug)]
pub(super) struct Rules {
    /// The numbers of words in lower case.
    pub words: HashMap<String, u32>,
    /// The numbers of words whose case counts.
    pub written: HashMap<String, u32>,
    pub classes: Vec<String>,
    /// The classes that mentions are told apart by.
    pub naming: Vec<u16>,
    pub products: Vec<Product>,
    /// The phrases of classes that have no class in them.
    pub phrases: Trie,
    /// Those that have.
    pub composites: Trie,
    pub sections: Vec<Section>,
    pub families: Vec<Family>,
}

impl Rules {
    /// The number of a word.
    pub fn word(&self, word: &str) -> Option<u32> {
        self.words.get(word).copied()
    }

    /// The number of a class.
    pub fn class(&self, name: &str) -> Option<u16> {
        let at = self.classes.iter().position(|known| known == name)?;
        u16::try_from(at).ok()
    }
}

/// Patterns by their elements.
#[derive(Clone, Debug)]
pub(super) struct Trie {
    nodes: Vec<Node>,
}

#[derive(Clone, Debug, Default)]
struct Node {
    edges: Vec<(Symbol, u32)>,
    /// The products of the patterns that end here.
    products: Vec<u32>,
}

impl Default for Trie {
    fn default() -> Self {
        Self {
            nodes: vec![Node::default()],
        }
    }
}

impl Trie {
    /// Adds a pattern of attributes. Of equal patterns the first one counts.
    pub fn insert(&mut self, pattern: &[Symbol], product: u32) {
        let products = self.products_at(pattern);
        if products.is_empty() {
            products.push(product);
        }
    }

    /// Adds a phrase of a class. A phrase may be in several classes.
    pub fn insert_phrase(&mut self, pattern: &[Symbol], product: u32) {
        self.products_at(pattern).push(product);
    }

    /// The products of a pattern.
    fn products_at(&mut self, pattern: &[Symbol]) -> &mut Vec<u32> {
        let mut node = 0;
        for symbol in pattern {
            let fresh = self.nodes.len();
            let edges = &mut self.nodes[node].edges;
            node = match edges.binary_search_by_key(symbol, |edge| edge.0) {
                Ok(at) => edges[at].1 as usize,
                Err(at) => {
                    edges.insert(at, (*symbol, u32::try_from(fresh).unwrap_or(u32::MAX)));
                    self.nodes.push(Node::default());
                    fresh
                }
            };
        }
        &mut self.nodes[node].products
    }

    /// The node after a symbol.
    pub fn next(&self, node: u32, symbol: Symbol) -> Option<u32> {
        let edges = &self.nodes.get(node as usize)?.edges;
        let at = edges.binary_search_by_key(&symbol, |edge| edge.0).ok()?;
        edges.get(at).map(|edge| edge.1)
    }

    /// The products of the patterns that end at a node.
    pub fn products(&self, node: u32) -> &[u32] {
        let node = self.nodes.get(node as usize);
        node.map_or(&[], |node| &node.products)
    }

    /// The number of nodes.
    pub fn size(&self) -> usize {
        self.nodes.len()
    }
}
