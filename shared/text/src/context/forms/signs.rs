//! Items with signs or answers before or behind them: "(+) fever (-) cough", "Fever Y  Cough N".

use super::choices::of_answer;
use super::open::is_name;
use super::parts::Kind;
use super::{Answer, Line, MAX_ITEM, State, is_end};
use crate::context::tokens::Token;
use crate::context::trie::Trie;

/// The number of letters of the longest short answer, "yes".
const SHORT: usize = 3;

/// The parts of a sentence that are searched for signs.
const MAX_SEARCHED: usize = 400;

/// A sign that states an item.
#[derive(Clone, Copy)]
struct Sign {
    first: usize,
    end: usize,
    state: State,
    /// Whether it is in brackets.
    bracket: bool,
}

impl Line {
    /// Gives items with signs or answers before or behind them their states.
    pub(super) fn mark_signs(&mut self, tokens: &[Token], headings: &Trie) {
        if self.parts.iter().any(|part| part.state().is_some()) {
            return;
        }
        let signs = self.leading_signs(tokens, headings);
        if !signs.is_empty() {
            self.set_signs(&signs, true);
            return;
        }
        let signs = self.trailing_signs(tokens, headings).unwrap_or_default();
        self.set_signs(&signs, false);
    }

    /// A sign in brackets, or a bare one, at a part: "(+)", "(-ve)", "+".
    fn sign(&self, at: usize, tokens: &[Token]) -> Option<Sign> {
        let mark = |at: usize| self.mark(at, tokens);
        let bracket = mark(at)? == '(';
        let inner = at + usize::from(bracket);
        let state = match (mark(inner)?, self.parts[inner].kind) {
            ('+', _) => State::Ticked,
            ('-', _) => State::Crossed,
            (_, Kind::Answer(answer)) if bracket && answer != Answer::Unknown => of_answer(answer),
            _ => return None,
        };
        let mut end = inner + 1;
        // "++"
        while mark(end) == Some('+') && mark(end - 1) == Some('+') {
            end += 1;
        }
        if bracket {
            // "(+ve)"
            let ending = |token: &Token| token.mark == ' ' && token.end - token.start == 2;
            let part = self.parts.get(end);
            end += usize::from(part.is_some_and(|part| ending(&tokens[part.first])));
            if mark(end) != Some(')') {
                return None;
            }
            end += 1;
        }
        Some(Sign {
            first: at,
            end,
            state,
            bracket,
        })
    }

    /// The signs of a line whose first one stands before its item: "(+) fever (-) vomiting",
    /// "ROS: + nausea, - vomiting". A dash alone is a bullet.
    fn leading_signs(&self, tokens: &[Token], headings: &Trie) -> Vec<Sign> {
        let mut all = Vec::new();
        // "ROS + fever - chills"
        let name = self
            .parts
            .get(self.name_start(tokens))
            .map(|part| part.first);
        let heading = name.and_then(|first| headings.longest(tokens, first, false));
        let heading = heading.map(|found| found.end);
        let mut at = 0;
        // Whether the sentence has no sign in brackets so far.
        let mut first = true;
        while at < self.parts.len() {
            let begins = at == 0 || tokens[self.parts[at].first].border.ends_sentence();
            first |= begins;
            let start = begins
                || self.mark(at - 1, tokens) == Some(':')
                || heading == Some(self.parts[at].first)
                || self.is_first(at, tokens);
            let bracket = first && self.sign(at, tokens).is_some_and(|sign| sign.bracket);
            let signs = match start || bracket {
                true => self.signs_from(at, start, tokens),
                false => Vec::new(),
            };
            first &= !bracket;
            at = signs.last().map_or(at + 1, |sign| sign.end);
            all.extend(signs);
        }
        all
    }

    /// The signs of a sentence from the first one on, which may start it. Inside a sentence,
    /// another one has to start an item: "has (+) cough, (-) fever".
    fn signs_from(&self, from: usize, starts: bool, tokens: &[Token]) -> Vec<Sign> {
        let leads = |sign: &Sign| self.mark(sign.end, tokens) == Some(' ');
        let Some(first) = self.sign(from, tokens).filter(leads) else {
            return Vec::new();
        };
        // "Headache: (-)   Seizures: no"
        let labelled = from > 0 && self.mark(from - 1, tokens) == Some(':');
        let mut behind = first.end..self.parts.len().min(first.end + MAX_ITEM);
        let colon = behind.any(|at| self.mark(at, tokens) == Some(':'));
        if labelled && (colon || self.is_wide(first.end, 2, tokens)) {
            return Vec::new();
        }
        let mut signs = vec![first];
        let (mut apart, mut inside) = (true, false);
        let mut at = first.end;
        while at < self.parts.len().min(from + MAX_SEARCHED) {
            let token = &tokens[self.parts[at].first];
            if token.border.ends_sentence() {
                break;
            }
            let sign = self.sign(at, tokens);
            let sign = sign.filter(|sign| sign.bracket == first.bracket && token.spaced);
            let Some(sign) = sign else {
                at += 1;
                continue;
            };
            // "Skin: (-) rash (-)"
            if !leads(&sign) {
                return Vec::new();
            }
            let last = signs[signs.len() - 1].end;
            if !first.bracket && at - last > MAX_ITEM {
                return Vec::new();
            }
            let divided = matches!(self.mark(at - 1, tokens), Some(',' | ';'));
            (apart, inside) = (apart && divided, inside || divided);
            signs.push(sign);
            at = sign.end;
        }
        let any = |state: State| signs.iter().any(|sign| sign.state == state);
        let both = any(State::Ticked) && any(State::Crossed);
        let sign_marks = self.mark(first.first + 1, tokens) != Some(' ');
        let good = match first.bracket {
            true => (starts || inside) && (sign_marks || signs.len() > 1),
            // "- Asthma + eczema": a bullet.
            false => both && (apart || signs.len() > 2 && first.state == State::Ticked),
        };
        if good { signs } else { Vec::new() }
    }

    /// The signs or answers of a line whose items all have one behind them: "Fever +, cough -",
    /// "Fever Y  Cough N", "Fever - No, cough - Yes". Without a plus, dashes are blanks.
    fn trailing_signs(&self, tokens: &[Token], headings: &Trie) -> Option<Vec<Sign>> {
        let mut signs: Vec<Sign> = Vec::new();
        let mut start = self.name_start(tokens);
        let mut at = start;
        while at < self.parts.len() {
            let token = &tokens[self.parts[at].first];
            if is_end(token.mark) && at == start {
                (start, at) = (at + 1, at + 1);
                continue;
            }
            let answer = |at: usize| match self.parts.get(at)?.kind {
                Kind::Answer(answer) if answer != Answer::Unknown => Some(answer),
                _ => None,
            };
            // A colon before a word is left to the words.
            let link = match token.mark {
                '-' | '=' => answer(at + 1).is_some(),
                ':' => self.sign(at + 1, tokens).is_some(),
                _ => false,
            };
            if link && at > start {
                let found = headings.longest(tokens, self.parts[start].first, false);
                if found.is_some_and(|found| found.end == self.parts[at].first) {
                    return None;
                }
                at += 1;
                continue;
            }
            if token.mark == ':' && signs.is_empty() {
                (start, at) = (at + 1, at + 1);
                continue;
            }
            let short = token.capital || token.end - token.start <= SHORT;
            let sign = match answer(at).filter(|_| short && at > start) {
                Some(answer) => Some(Sign {
                    first: at,
                    end: at + 1,
                    state: of_answer(answer),
                    bracket: false,
                }),
                None => self.sign(at, tokens),
            };
            let Some(sign) = sign else {
                at += 1;
                continue;
            };
            let after = self.parts.get(sign.end).map(|part| &tokens[part.first]);
            if after.is_some_and(|after| !is_end(after.mark) && !after.spaced) {
                at += 1;
                continue;
            }
            let linked = at > start && matches!(self.mark(at - 1, tokens), Some('-' | '=' | ':'));
            let name = start..at - usize::from(linked);
            if name.is_empty() || !is_name(&self.parts[name], tokens) {
                return None;
            }
            signs.push(sign);
            (start, at) = (sign.end, sign.end);
        }
        let is_answer = |sign: &Sign| matches!(self.parts[sign.first].kind, Kind::Answer(_));
        let small = |sign: &Sign| !tokens[self.parts[sign.first].first].capital;
        let any = |state: State| signs.iter().any(|sign| sign.state == state);
        if signs.len() < 2 || start < self.parts.len() {
            return None;
        }
        // "pain no, fever no" is left to the words.
        if signs.iter().any(|sign| is_answer(sign) && small(sign))
            && !(signs.iter().all(is_answer) && any(State::Ticked) && any(State::Crossed))
        {
            return None;
        }
        let open =
            !any(State::Ticked) && signs.iter().all(|sign| !is_answer(sign) && !sign.bracket);
        if open {
            signs.iter_mut().for_each(|sign| sign.state = State::Blank);
        }
        Some(signs)
    }

    /// Makes one part of each sign. An item starts at it, or after it.
    fn set_signs(&mut self, signs: &[Sign], leading: bool) {
        for sign in signs {
            let end = self.parts[sign.end - 1].end;
            for part in &mut self.parts[sign.first..sign.end] {
                (part.end, part.kind) = (part.first, Kind::State(sign.state));
            }
            self.parts[sign.first].end = end;
            let cut = if leading { sign.first } else { sign.end };
            if let Some(part) = self.parts.get_mut(cut) {
                part.cut = cut > 0;
            }
        }
        self.parts.retain(|part| part.len() > 0);
    }
}
