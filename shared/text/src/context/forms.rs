//! Items of forms: check boxes, blanks, and answers to choose from.
//!
//! A box, a blank, or the boxes of "yes" and "no" become one token, whose class says what they
//! state: ticked, crossed (a ticked "no"), unticked or blank. Each item of a line becomes a
//! sentence of its own, so that a state reaches the words of its item alone: "[x] gout [ ] asthma".

mod choices;
mod open;
mod parts;
mod rows;
mod signs;
mod table;

use super::tokens::{Border, Token};
use super::trie::Trie;
use super::vocabulary::{BLANK, CROSSED, TICKED, UNTICKED, Vocabulary};
use parts::{Kind, Part, read};

/// The mark of a token that states an item of a form.
pub(super) const STATE: char = '☐';
/// The largest number of words of an item with a blank.
const MAX_ITEM: usize = 8;

/// What an item of a form states.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Ticked,
    /// "No" is ticked.
    Crossed,
    Unticked,
    /// A place to fill in, or answers of which none is ticked.
    Blank,
}

impl State {
    /// The name of the built-in class of its tokens.
    fn class(self) -> &'static str {
        match self {
            Self::Ticked => TICKED,
            Self::Crossed => CROSSED,
            Self::Unticked => UNTICKED,
            Self::Blank => BLANK,
        }
    }
}

/// An answer to an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Answer {
    Yes,
    No,
    Unknown,
}

/// A line of the text.
struct Line {
    parts: Vec<Part>,
    /// Whether the line is of a table whose columns are answers.
    table: bool,
    /// Whether the line answers the one before.
    joined: bool,
}

/// Finds the items of forms and gives each its state, in time linear in the text.
pub(super) fn mark(
    text: &str,
    tokens: Vec<Token>,
    vocabulary: &Vocabulary,
    headings: &Trie,
) -> Vec<Token> {
    let mut lines = Vec::new();
    let mut first = 0;
    for at in 1..=tokens.len() {
        if at == tokens.len() || tokens[at].border.starts_line() {
            lines.push(Line {
                parts: read(text, &tokens, first, at),
                table: false,
                joined: false,
            });
            first = at;
        }
    }
    table::mark(text, &tokens, &mut lines);
    rows::mark(&tokens, &mut lines);
    for line in lines.iter_mut().filter(|line| !line.table) {
        line.separate_columns(text, &tokens);
        line.choose_answers(&tokens);
        line.find_blanks(&tokens);
        line.separate_items(&tokens);
    }
    open::mark(&tokens, &mut lines, headings);
    choices::join(&tokens, &mut lines);
    if lines.iter().all(Line::is_plain) {
        return tokens;
    }
    let parts = lines.iter().flat_map(|line| {
        let joined = |at: usize| line.joined && at == 0;
        let parts = line.parts.iter().enumerate();
        parts.map(move |(at, part)| (part, joined(at)))
    });
    parts
        .map(|(part, joined)| {
            let mut token = tokens[part.first].clone();
            if let Some(state) = part.state() {
                token.symbols = vocabulary.class_symbols(state.class());
                token.end = tokens[part.end - 1].end;
                token.mark = STATE;
                // "Gout? Y": the answer belongs to the question.
                let before = part.first.checked_sub(1).map(|at| tokens[at].mark);
                if joined || token.border == Border::Sentence && before == Some('?') {
                    token.border = Border::None;
                }
            }
            if part.kind == Kind::Column {
                token.symbols.clear();
            }
            if part.cut && !joined && token.border < Border::Sentence {
                token.border = Border::Sentence;
            }
            token
        })
        .collect()
}

impl Line {
    fn is_plain(&self) -> bool {
        self.parts
            .iter()
            .all(|part| part.state().is_none() && !part.cut && part.kind != Kind::Column)
    }

    /// Separates items with values that stand in columns: "Ulcer: on admission   Falls: no".
    fn separate_columns(&mut self, text: &str, tokens: &[Token]) {
        let mut colon = false;
        for at in 1..self.parts.len() {
            let (before, token) = (self.parts[at - 1].end - 1, &tokens[self.parts[at].first]);
            let gap = token.start - tokens[before].end;
            let wide = gap >= 3 || text[tokens[before].end..token.start].contains('\t');
            if colon && wide && token.capital {
                let name = self.parts[at..].iter().take(MAX_ITEM);
                let mut marks = name.map(|part| tokens[part.first].mark);
                let end = marks.find(|mark| !matches!(mark, ' ' | '/' | '(' | ')'));
                self.parts[at].cut = end == Some(':');
            }
            colon |= token.mark == ':';
        }
    }

    /// Makes blanks of underscores and dots that stand for what is to be filled in.
    fn find_blanks(&mut self, tokens: &[Token]) {
        let leaders: Vec<usize> = (0..self.parts.len())
            .filter(|at| self.parts[*at].kind == Kind::Leader)
            .collect();
        let drawn = |part: &Part| tokens[part.first].mark == '_' && part.is_box();
        // "_x_ gout ___ asthma"
        let boxes = self.parts.iter().any(drawn);
        let leads = |at: usize| self.is_first(at, tokens) && leaders.len() >= 2;
        let list = leaders.first().is_some_and(|at| leads(*at)) && self.has_short_items(tokens);
        let long = leaders.iter().any(|at| self.parts[*at].len() > 3);
        let blanks: Vec<usize> = leaders
            .iter()
            .copied()
            .filter(|at| {
                boxes
                    || list && (long || leaders.len() > 2)
                    || self.is_blank(*at, leaders.len() > 1, tokens)
            })
            .collect();
        for at in blanks {
            self.parts[at].kind = match boxes {
                true => Kind::Box(State::Unticked),
                false => Kind::State(State::Blank),
            };
        }
    }

    /// Whether underscores or dots follow an item of a form. Three underscores may stand for what
    /// was removed from a note: "CABG ___, stent ___". `more` tells of others in the line.
    fn is_blank(&self, at: usize, more: bool, tokens: &[Token]) -> bool {
        let part = &self.parts[at];
        let Some(before) = at.checked_sub(1).map(|at| &self.parts[at]) else {
            return false;
        };
        let mark = tokens[before.first].mark;
        let glued = mark == ' ' && !tokens[part.first].spaced;
        let dots = tokens[part.first].mark != '_';
        let colon = matches!(mark, ':' | '?');
        let ends = self.ends_item(at + 1, tokens) || self.starts_item(at + 1, tokens);
        let labelled = self.label(at, tokens).is_some_and(|words| words > 0);
        // "Pain: __/10"
        let scale = colon
            && self
                .parts
                .get(at + 1)
                .is_some_and(|next| tokens[next.first].mark == '/');
        // A name may have three underscores in its place, but not two.
        let long = part.len() == 2 || part.len() > 3;
        scale || colon && ends || !glued && labelled && long && (dots || ends || more)
    }

    /// Whether all words of the line are in items of few words.
    fn has_short_items(&self, tokens: &[Token]) -> bool {
        let mut items = self.parts.split(|part| part.kind == Kind::Leader);
        items.all(|item| item.len() <= 4 && item.iter().all(|part| tokens[part.first].mark == ' '))
    }

    /// The number of words before a part that may be the name of an item; `None` if there are
    /// too many, or marks that names do not have.
    fn label(&self, end: usize, tokens: &[Token]) -> Option<usize> {
        let mut words = 0;
        for (at, part) in self.parts[..end]
            .iter()
            .enumerate()
            .rev()
            .take(4 * MAX_ITEM)
        {
            if part.state().is_some() || matches!(part.kind, Kind::Leader) {
                break;
            }
            match tokens[part.first].mark {
                ' ' => words += 1,
                // "1. Gout ..... 2. Asthma ....."
                '.' if words > 0 && self.is_number(at.wrapping_sub(1), tokens) => break,
                // "gout ____, asthma ____"
                ',' | ';' if self.is_open(at.wrapping_sub(1)) => break,
                ',' | ';' | '.' | '!' => return None,
                '|' => break,
                _ => {}
            }
            if words > MAX_ITEM {
                return None;
            }
            if part.cut || tokens[part.first].border.ends_sentence() {
                break;
            }
        }
        Some(words)
    }

    /// Whether a part states an item, or may be a blank.
    fn is_open(&self, at: usize) -> bool {
        let part = self.parts.get(at);
        part.is_some_and(|part| part.kind == Kind::Leader || part.state().is_some())
    }

    /// Whether a part may be the number of an item.
    fn is_number(&self, at: usize, tokens: &[Token]) -> bool {
        let leads = at == 0
            || self
                .parts
                .get(at - 1)
                .is_some_and(|part| part.kind != Kind::Other);
        leads
            && self.parts.get(at).is_some_and(|part| {
                let token = &tokens[part.first];
                part.kind == Kind::Other && token.end - token.start <= 2 && !token.capital
            })
    }

    /// Whether a part is the first of the line, after a bullet or number.
    fn is_first(&self, at: usize, tokens: &[Token]) -> bool {
        at <= 2
            && self.parts[..at].iter().all(|part| {
                let token = &tokens[part.first];
                let number = part.kind == Kind::Other && token.end - token.start <= 2 && at == 2;
                matches!(token.mark, '-' | '*' | '•' | '.' | ')' | '#' | '|')
                    || number && !token.capital
            })
    }

    /// Whether an item ends before a part.
    fn ends_item(&self, at: usize, tokens: &[Token]) -> bool {
        self.parts.get(at).is_none_or(|part| {
            let token = &tokens[part.first];
            token.border != Border::None || is_end(token.mark)
        })
    }

    /// Whether an item may start at a part.
    fn starts_item(&self, at: usize, tokens: &[Token]) -> bool {
        self.parts
            .get(at)
            .is_some_and(|part| tokens[part.first].capital || part.state().is_some())
    }

    /// Separates the items of the line: each starts with its state, or ends with it.
    fn separate_items(&mut self, tokens: &[Token]) {
        let states: Vec<usize> = (0..self.parts.len())
            .filter(|at| self.parts[*at].state().is_some())
            .collect();
        let Some(first) = states.first().copied() else {
            return;
        };
        let last = self
            .parts
            .iter()
            .rposition(|part| !is_end(tokens[part.first].mark) || part.state().is_some());
        let boxes = states.iter().any(|at| self.parts[*at].is_box());
        let trails = last.is_some_and(|last| self.parts[last].state().is_some()) || !boxes;
        if self.is_first(first, tokens) || !trails {
            let none = states.iter().all(|at| {
                matches!(
                    self.parts[*at].state(),
                    Some(State::Unticked | State::Blank)
                )
            });
            for at in states {
                // "Allergies: [ ] food [ ] drugs": none at all.
                self.parts[at].cut = at > first || !none;
            }
            return;
        }
        for at in states {
            let next = (at + 1..self.parts.len())
                .find(|next| !is_end(tokens[self.parts[*next].first].mark));
            if let Some(next) = next {
                self.parts[next].cut = true;
            }
        }
    }
}

/// Whether a mark ends an item.
fn is_end(mark: char) -> bool {
    matches!(mark, '.' | ',' | ';' | '|')
}
