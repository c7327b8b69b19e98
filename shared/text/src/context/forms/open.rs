//! Items of forms that were left open, and items with signs: "Fever:", "Nausea -", "Cough +".

use super::parts::{Kind, Part};
use super::{Line, MAX_ITEM, State};
use crate::context::tokens::Token;
use crate::context::trie::Trie;

/// What a line is in a list of items.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Row {
    /// No item of a form.
    Text,
    /// A heading between items.
    Heading,
    /// An item with a state or an answer.
    Filled,
    /// A name and a colon with nothing behind it: a part.
    Colon(usize),
    /// A name and a dash with nothing behind it: a part.
    Dash(usize),
}

impl Row {
    fn is_open(self) -> bool {
        matches!(self, Self::Colon(_) | Self::Dash(_))
    }
}

/// Makes blanks of the colons and dashes that end lines among the items of a form. One of a single
/// line is a heading ("Hypertension:"), and so is one that text or filled items follow.
pub(super) fn mark(tokens: &[Token], lines: &mut [Line], headings: &Trie) {
    for line in lines.iter_mut().filter(|line| !line.table) {
        line.mark_signs(tokens, headings);
        line.mark_colons(tokens, headings);
    }
    let rows: Vec<Row> = lines
        .iter()
        .map(|line| line.row(tokens, headings))
        .collect();
    let mut items: Vec<usize> = Vec::new();
    for at in 0..=rows.len() {
        match rows.get(at) {
            Some(Row::Heading) => {}
            Some(Row::Text) | None => {
                mark_run(&rows, &items, at < rows.len(), lines);
                items.clear();
            }
            Some(_) => items.push(at),
        }
    }
}

/// Marks the open items of lines one after the other. `text` tells that text follows.
fn mark_run(rows: &[Row], items: &[usize], text: bool, lines: &mut [Line]) {
    let list = items.len() > 2 || items.iter().any(|row| rows[*row] == Row::Filled);
    for (at, row) in items.iter().enumerate() {
        let last = at + 1 == items.len();
        let goes_on = items.get(at + 1).is_some_and(|next| rows[*next].is_open())
            && !(text && at + 2 == items.len());
        let blank = match rows[*row] {
            Row::Colon(part) if at > 0 && !last || goes_on => Some(part),
            Row::Dash(part) if !last && list => Some(part),
            Row::Colon(part) | Row::Dash(part) if at > 0 && !text => Some(part),
            _ => None,
        };
        if let Some(part) = blank {
            lines[*row].parts[part].kind = Kind::State(State::Blank);
        }
    }
}

impl Line {
    fn row(&self, tokens: &[Token], headings: &Trie) -> Row {
        if self.parts.iter().any(|part| part.state().is_some()) {
            return Row::Filled;
        }
        let Some(last) = self.parts.len().checked_sub(1).filter(|last| *last > 0) else {
            return Row::Text;
        };
        let first = self.name_start(tokens);
        let is_name = |end: usize| first < end && is_name(&self.parts[first..end], tokens);
        let mark = |at: usize| tokens[self.parts[at].first].mark;
        match mark(last) {
            ':' if is_name(last) => {
                let found = headings.longest(tokens, self.parts[first].first, false);
                match found.is_some_and(|found| found.end == self.parts[last].first) {
                    true => Row::Heading,
                    false => Row::Colon(last),
                }
            }
            '-' if is_name(last) => Row::Dash(last),
            _ => {
                let marks = (first..self.parts.len().min(first + MAX_ITEM + 1)).map(mark);
                let colon = marks.take_while(|mark| !matches!(mark, ':' | '-' | '=' | '?'));
                let colon = first + colon.count();
                let next = self.parts.get(colon + 1).map(|part| part.kind);
                match matches!(next, Some(Kind::Answer(_))) && is_name(colon) {
                    true => Row::Filled,
                    false => Row::Text,
                }
            }
        }
    }

    /// The first part after a bullet or number.
    pub(super) fn name_start(&self, tokens: &[Token]) -> usize {
        (0..self.parts.len())
            .find(|at| self.is_first(*at, tokens) && tokens[self.parts[*at].first].mark == ' ')
            .map_or(0, |at| {
                // A number and its full stop are no name.
                let numbered = self
                    .parts
                    .get(at + 1)
                    .is_some_and(|next| matches!(tokens[next.first].mark, '.' | ')'));
                if numbered { at + 2 } else { at }
            })
    }

    /// Makes blanks of the colons of several items that were left open: "Fever:  Cough:  Rash:".
    fn mark_colons(&mut self, tokens: &[Token], headings: &Trie) {
        let mut colons = Vec::new();
        let first = self.name_start(tokens);
        let mut start = first;
        for at in first..self.parts.len() {
            if tokens[self.parts[at].first].mark != ':' {
                continue;
            }
            if start >= at || !is_name(&self.parts[start..at], tokens) {
                return;
            }
            let first = self.parts[start].first;
            let found = headings.longest(tokens, first, false);
            if found.is_none_or(|found| found.end != self.parts[at].first) {
                colons.push(at);
            }
            start = at + 1;
        }
        if colons.len() >= 2 && start == self.parts.len() {
            let states = vec![State::Blank; colons.len()];
            self.set(&colons, &states);
        }
    }

    /// Gives parts their states, and starts an item after each.
    fn set(&mut self, parts: &[usize], states: &[State]) {
        for (at, state) in parts.iter().zip(states) {
            self.parts[*at].kind = Kind::State(*state);
            if let Some(next) = self.parts.get_mut(at + 1) {
                next.cut = true;
            }
        }
    }
}

/// Whether parts may be the name of an item: a few words.
pub(super) fn is_name(parts: &[Part], tokens: &[Token]) -> bool {
    let plain = |part: &Part| {
        let mark = tokens[part.first].mark;
        (part.kind.is_plain() || matches!(part.kind, Kind::Answer(_)))
            && matches!(mark, ' ' | '/' | '(' | ')' | '&')
    };
    parts.len() <= MAX_ITEM
        && parts.iter().all(plain)
        && parts.iter().any(|part| tokens[part.first].mark == ' ')
}
