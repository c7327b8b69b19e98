//! A token trie: finds the longest pattern that starts at each token.

use super::tokens::Token;
use super::vocabulary::Symbol;

/// An element of a pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Element {
    /// A token with a symbol.
    Symbol(Symbol),
    /// `^`: the start of a sentence or clause.
    Start,
    /// `$`: the end of a sentence, clause or list item.
    End,
}

/// The largest number of rules with the same pattern, and that count at one place.
const MAX_ENDS: usize = 32;
/// The largest number of patterns that are followed at once.
const MAX_STATES: usize = 1024;

/// Patterns of tokens, each with a number.
#[derive(Clone, Debug)]
pub(super) struct Trie {
    /// The first node is the root.
    nodes: Vec<Node>,
}

#[derive(Clone, Debug, Default)]
struct Node {
    /// The next nodes, sorted by element.
    edges: Vec<(Element, u32)>,
    /// The patterns that end here.
    ends: Vec<u32>,
}

impl Default for Trie {
    fn default() -> Self {
        Self {
            nodes: vec![Node::default()],
        }
    }
}

/// A place where patterns match.
#[derive(Clone, Debug)]
pub(super) struct Match {
    /// The first token.
    pub first: usize,
    /// One past the last token.
    pub end: usize,
    /// The patterns.
    pub patterns: Vec<u32>,
    /// Those of shorter matches at the same place.
    pub shorter: Vec<u32>,
}

impl Trie {
    /// The number of nodes.
    pub fn size(&self) -> usize {
        self.nodes.len()
    }

    /// Whether there is no pattern.
    pub fn is_empty(&self) -> bool {
        self.nodes.len() == 1
    }

    /// Adds a pattern.
    ///
    /// # Errors
    /// If too many numbers have the pattern. Each of them would count at each place in a text.
    pub fn insert(&mut self, pattern: &[Element], number: u32) -> Result<(), String> {
        let mut node = 0;
        for element in pattern {
            let fresh = self.nodes.len();
            let edges = &mut self.nodes[node].edges;
            node = match edges.binary_search_by_key(element, |edge| edge.0) {
                Ok(at) => edges[at].1 as usize,
                Err(at) => {
                    edges.insert(at, (*element, fresh as u32));
                    self.nodes.push(Node::default());
                    fresh
                }
            };
        }
        let ends = &mut self.nodes[node].ends;
        if !ends.contains(&number) {
            if ends.len() >= MAX_ENDS {
                return Err(format!(
                    "expected at most {MAX_ENDS} entries with the same words"
                ));
            }
            ends.push(number);
        }
        Ok(())
    }

    /// The node after an element.
    fn next(&self, node: u32, element: Element) -> Option<u32> {
        let edges = &self.nodes[node as usize].edges;
        let at = edges.binary_search_by_key(&element, |edge| edge.0).ok()?;
        Some(edges[at].1)
    }

    /// The longest match that starts at a token. No match crosses the end of a sentence, nor the
    /// start of a mention unless `into_mentions`; but it may end with the class of a mention.
    pub fn longest(&self, tokens: &[Token], first: usize, into_mentions: bool) -> Option<Match> {
        let mut states = vec![0];
        let mut best: Option<Match> = None;
        if starts_clause(tokens, first) {
            states.extend(self.next(0, Element::Start));
        }
        for at in first..tokens.len() {
            let token = &tokens[at];
            if at > first && token.border.ends_sentence() {
                break;
            }
            let opens = !token.opening.is_empty();
            let closed = at > first && opens && !into_mentions;
            let words: &[Symbol] = if closed { &[] } else { &token.symbols };
            let mut next: Vec<u32> = Vec::new();
            for state in &states {
                for symbol in words.iter().chain(&token.opening) {
                    if next.len() < MAX_STATES {
                        // No node twice: the symbols of a token are different.
                        next.extend(self.next(*state, Element::Symbol(*symbol)));
                    }
                }
            }
            if next.is_empty() {
                break;
            }
            if ends_clause(tokens, at + 1) {
                for index in 0..next.len() {
                    next.extend(self.next(next[index], Element::End));
                }
            }
            let patterns: Vec<u32> = next
                .iter()
                .flat_map(|node| &self.nodes[*node as usize].ends)
                .copied()
                .take(MAX_ENDS)
                .collect();
            if !patterns.is_empty() {
                let shorter = best.map_or_else(Vec::new, |mut before: Match| {
                    before.shorter.append(&mut before.patterns);
                    before.shorter.truncate(MAX_ENDS);
                    before.shorter
                });
                best = Some(Match {
                    first,
                    end: at + 1,
                    patterns,
                    shorter,
                });
            }
            if closed {
                break;
            }
            states = next;
        }
        best
    }

    /// The longest match at each token, without those that are inside another one.
    pub fn matches(&self, tokens: &[Token], into_mentions: bool) -> Vec<Match> {
        let mut found: Vec<Match> = Vec::new();
        for first in 0..tokens.len() {
            // A pattern may begin with the start of a mention, whatever its word.
            if tokens[first].symbols.is_empty() && tokens[first].opening.is_empty() {
                continue;
            }
            if let Some(hit) = self.longest(tokens, first, into_mentions)
                && found.last().is_none_or(|last| last.end < hit.end)
            {
                found.push(hit);
            }
        }
        found
    }
}

/// Whether a clause starts at a token.
fn starts_clause(tokens: &[Token], at: usize) -> bool {
    tokens[at].border != super::tokens::Border::None
        || at > 0
            && matches!(
                tokens[at - 1].mark,
                ',' | ';' | ':' | '(' | '-' | '/' | '.' | '•' | '*'
            )
}

/// Whether a clause ends before a token.
fn ends_clause(tokens: &[Token], at: usize) -> bool {
    tokens.get(at).is_none_or(|token| {
        token.border != super::tokens::Border::None
            || matches!(token.mark, ',' | ';' | '.' | ')' | '|' | '/')
    })
}
