//! Answers to choose from, and which of them is chosen: "[ ] yes [x] no", "Y / N", "(Y/N): Y".

use super::parts::Kind;
use super::{Answer, Line, MAX_ITEM, State};
use crate::context::tokens::{Border, Token};

/// Lets answers in a line of their own state the line before: "Any gout?" above "[ ] yes [x] no".
pub(super) fn join(tokens: &[Token], lines: &mut [Line]) {
    for at in 1..lines.len() {
        let (above, below) = lines.split_at_mut(at);
        let (Some(item), Some(line)) = (above.last(), below.first_mut()) else {
            continue;
        };
        let (Some(last), Some(part)) = (item.parts.last(), line.parts.first().copied()) else {
            continue;
        };
        let alone = line.ends_item(1, tokens) && line.parts.len() <= 2;
        let stated = item.parts.iter().any(|part| part.state().is_some());
        if !alone || stated || tokens[part.first].border != Border::Line {
            continue;
        }
        let mark = tokens[last.first].mark;
        match part.kind {
            Kind::State(_) if mark == '?' || item.parts.len() <= MAX_ITEM => {}
            Kind::Answer(answer) if mark == '?' => {
                line.parts[0].kind = Kind::State(of_answer(answer));
            }
            _ => continue,
        }
        line.joined = true;
    }
}

impl Line {
    /// Replaces the boxes of "yes" and "no", and answers of which none is ticked, by what they
    /// state together.
    pub(super) fn choose_answers(&mut self, tokens: &[Token]) {
        let mut at = 0;
        while at < self.parts.len() {
            let chosen = self.answer_before(at, tokens);
            let chosen = chosen.or_else(|| self.reply(at, tokens));
            let chosen = chosen.or_else(|| self.circled(at, tokens));
            let chosen = chosen.or_else(|| self.boxes_of_answers(at, tokens));
            let chosen = chosen.or_else(|| self.one_tick(at, tokens));
            let chosen = chosen.or_else(|| self.choice(at, tokens));
            let Some((end, state)) = chosen else {
                at += 1;
                continue;
            };
            let after = self.parts[end - 1].end;
            // All parts of the choice are one; the others have no tokens.
            for part in &mut self.parts[at..end] {
                (part.end, part.kind) = (part.first, Kind::State(state));
            }
            self.parts[at].end = after;
            at = end;
        }
        self.parts.retain(|part| part.len() > 0);
    }

    /// The end and state of boxes with answers that start at a part: "[ ] yes [x] no",
    /// "yes [x] no [ ]", or two boxes in columns, "[ ] [x]".
    fn boxes_of_answers(&self, from: usize, tokens: &[Token]) -> Option<(usize, State)> {
        let mut pairs: Vec<(bool, Answer)> = Vec::new();
        let mut boxes = Vec::new();
        let (mut ticked, mut answer) = (None, None);
        let mut end = from;
        for (at, part) in self.parts.iter().enumerate().skip(from).take(4 * MAX_ITEM) {
            match part.kind {
                Kind::Box(_) | Kind::Leader if ticked.is_none() => {
                    ticked = Some(part.kind == Kind::Box(State::Ticked));
                    boxes.push((ticked == Some(true), at));
                }
                Kind::Answer(given) if answer.is_none() => answer = Some(given),
                Kind::Other if at > from && is_separator(tokens[part.first].mark) => continue,
                _ => break,
            }
            if let Some(pair) = ticked.zip(answer) {
                pairs.push(pair);
                (ticked, answer) = (None, None);
                end = at + 1;
            }
        }
        let given = |wanted: Answer| pairs.iter().any(|(_, answer)| *answer == wanted);
        let ticks = |wanted: Answer| pairs.contains(&(true, wanted));
        let both = given(Answer::Yes) && given(Answer::No);
        // "Gout ..... yes"
        if let [(false, answer)] = pairs.as_slice()
            && matches!(self.mark(from, tokens), Some('.' | '…'))
            && (self.ends_item(end, tokens) || self.is_wide(end, 2, tokens))
        {
            return Some((end, of_answer(*answer)));
        }
        if both || pairs.len() == 1 && self.ends_item(end, tokens) {
            return Some((end, of_answers(ticks(Answer::Yes), ticks(Answer::No))));
        }
        self.columns(from, tokens)
    }

    /// The end and state of two boxes side by side, of "yes" and "no".
    fn columns(&self, from: usize, tokens: &[Token]) -> Option<(usize, State)> {
        let state = |at: usize| match self.parts.get(at)?.kind {
            Kind::Box(state) => Some(state == State::Ticked),
            _ => None,
        };
        let second = from + 1 + usize::from(self.mark(from + 1, tokens) == Some('|'));
        let (yes, no) = state(from).zip(state(second))?;
        let apart = state(second + 1).is_none() && self.ends_item(second + 1, tokens);
        apart.then(|| (second + 1, of_answers(yes, no)))
    }

    /// The end and state of two answers of which one is enclosed: "(Y) N", "Yes **No**".
    fn circled(&self, from: usize, tokens: &[Token]) -> Option<(usize, State)> {
        let (first, ticked, next) = self.enclosed(from, tokens)?;
        let next = next + usize::from(matches!(self.mark(next, tokens), Some('/' | '|')));
        let (second, other, end) = self.enclosed(next, tokens)?;
        let chosen = if ticked { first } else { second };
        (first != second && ticked != other && self.closes(end, tokens))
            .then_some((end, of_answer(chosen)))
    }

    /// The answer at a part, whether it is enclosed, and its end.
    fn enclosed(&self, at: usize, tokens: &[Token]) -> Option<(Answer, bool, usize)> {
        let part = self.parts.get(at)?;
        if let Kind::Answer(answer) = part.kind {
            return Some((answer, false, at + 1));
        }
        // "[Yes]" and "[No]" are read as boxes.
        let inner = &tokens[part.end - 2.min(part.len())];
        if inner.mark == ' ' {
            match part.kind {
                Kind::Box(State::Ticked) if inner.end - inner.start == 3 => {
                    return Some((Answer::Yes, true, at + 1));
                }
                Kind::Box(State::Crossed) => return Some((Answer::No, true, at + 1)),
                _ => {}
            }
        }
        let open = self.mark(at, tokens)?;
        let close = match open {
            '(' => ')',
            '{' => '}',
            '<' => '>',
            '*' | '_' | '"' => open,
            _ => return None,
        };
        let count = |from: usize, mark: char| {
            let encloses =
                |at: &usize| self.mark(*at, tokens) == Some(mark) && !self.parts[*at].is_box();
            (from..from + 2).take_while(encloses).count()
        };
        let opened = count(at, open);
        let Kind::Answer(answer) = self.parts.get(at + opened)?.kind else {
            return None;
        };
        let end = at + opened + 1;
        // "Y *N*", but not "___ yes ___ no".
        let spaced = |at: usize| {
            let part = self.parts.get(at);
            part.is_some_and(|part| tokens[part.first].spaced)
        };
        let apart = open == close && (spaced(at + opened) || spaced(end));
        (!apart && count(end, close) == opened).then_some((answer, true, end + opened))
    }

    /// The end and state of answers of which one is ticked, without boxes for the others:
    /// "✓ Yes No", "Yes No X". A tick between them belongs to the nearer one.
    fn one_tick(&self, from: usize, tokens: &[Token]) -> Option<(usize, State)> {
        let mut answers = Vec::new();
        let mut tick = None;
        let mut end = from;
        for (at, part) in self.parts.iter().enumerate().skip(from).take(MAX_ITEM) {
            let token = &tokens[part.first];
            let star = token.mark == '*' && !token.spaced && !answers.is_empty();
            match part.kind {
                Kind::Answer(answer) if !answers.contains(&(answer, at)) => {
                    answers.push((answer, at));
                }
                Kind::Box(State::Ticked) | Kind::Cross if tick.is_none() => tick = Some(at),
                _ if star && tick.is_none() => tick = Some(at),
                Kind::Other if is_separator(token.mark) && at > from => continue,
                _ => break,
            }
            end = at + 1;
        }
        let tick = tick?;
        let [(first, left), (second, right)] = answers.as_slice() else {
            return None;
        };
        let yes_or_no = |answer: Answer| answer != Answer::Unknown;
        let more = self.parts.get(end).is_some_and(|part| {
            matches!(part.kind, Kind::Leader | Kind::Box(_)) && !self.is_wide(end, 2, tokens)
        });
        if first == second || !yes_or_no(*first) || !yes_or_no(*second) || more {
            return None;
        }
        let start = |at: usize| tokens[self.parts[at].first].start;
        let stop = |at: usize| tokens[self.parts[at].end - 1].end;
        let chosen = match tick {
            tick if tick < *left => first,
            tick if tick > *right => second,
            tick if start(tick) - stop(*left) <= start(*right) - stop(tick) => first,
            _ => second,
        };
        // "Yes No ✓ gout" ticks the gout.
        let closes = match tick > *right {
            true => self.ends_item(end, tokens) || self.is_wide(end, 2, tokens),
            false => self.closes(end, tokens),
        };
        closes.then_some((end, of_answer(*chosen)))
    }

    /// The end and state of an answer before its choice: "Cough: N (Y/N)".
    fn answer_before(&self, from: usize, tokens: &[Token]) -> Option<(usize, State)> {
        let Kind::Answer(answer) = self.parts[from].kind else {
            return None;
        };
        if self.mark(from + 1, tokens) != Some('(') {
            return None;
        }
        let (end, state) = self.choice(from + 1, tokens)?;
        (state == State::Blank).then_some((end, of_answer(answer)))
    }

    /// The end and state of the answer to a question: "Any cough? A: no".
    fn reply(&self, from: usize, tokens: &[Token]) -> Option<(usize, State)> {
        let token = &tokens[self.parts[from].first];
        let letter = token.capital && token.end - token.start == 1;
        let leads = letter || self.parts[from].kind == Kind::Chosen;
        let asked = from > 0 && self.mark(from - 1, tokens) == Some('?');
        if !leads || !asked || self.mark(from + 1, tokens) != Some(':') {
            return None;
        }
        match self.parts.get(from + 2)?.kind {
            Kind::Answer(answer) => {
                let end = from + 3;
                self.closes(end, tokens).then_some((end, of_answer(answer)))
            }
            _ => None,
        }
    }

    /// The end of answers without boxes that start at a part: "Y / N", "(yes/no)".
    fn choice(&self, from: usize, tokens: &[Token]) -> Option<(usize, State)> {
        let mark = |at: usize| self.parts.get(at).map(|part| tokens[part.first].mark);
        let answer = |at: usize| match self.parts.get(at)?.kind {
            Kind::Answer(answer) => Some(answer),
            _ => None,
        };
        let bracket = mark(from) == Some('(');
        let mut at = from + usize::from(bracket);
        let first = at;
        let mut given = vec![answer(at)?];
        let (mut slash, mut ors) = (true, false);
        loop {
            let or = self
                .parts
                .get(at + 1)
                .is_some_and(|part| part.kind == Kind::Or);
            let divided = matches!(mark(at + 1), Some('/' | '|'));
            let next = at + 1 + usize::from(divided || or);
            ors |= or;
            let Some(answer) = answer(next).filter(|answer| !given.contains(answer)) else {
                break;
            };
            slash &= divided;
            given.push(answer);
            at = next;
        }
        if !given.contains(&Answer::Yes) || !given.contains(&Answer::No) {
            return None;
        }
        let mut end = at + 1;
        // "yes/no/not sure"
        if mark(end) == Some('/') && slash {
            let word = |at: &usize| mark(*at) == Some(' ') && !self.is_wide(*at, 2, tokens);
            end += 1 + (end + 1..end + 4).take_while(word).count();
        }
        if bracket {
            if mark(end) != Some(')') {
                return None;
            }
            end += 1;
        }
        // "Nods yes/no to questions" is no choice.
        let asked = from
            .checked_sub(1)
            .and_then(mark)
            .is_some_and(|mark| matches!(mark, ':' | '?' | ')' | '|'));
        let capitals =
            tokens[self.parts[first].first].capital && tokens[self.parts[at].first].capital;
        let chosen = self.answer_behind(end, tokens);
        let ends = chosen.is_some()
            || self.closes(end, tokens)
            || (slash || capitals) && (self.is_wide(end, 2, tokens) || self.again(end, tokens));
        let (end, state) = chosen.unwrap_or((end, State::Blank));
        let labelled = asked || bracket || self.label(from, tokens).is_some_and(|words| words > 0);
        let leads = self.is_first(from, tokens) && capitals && mark(end).is_some();
        (ends && (labelled && (slash || capitals || asked || bracket && ors) || leads))
            .then_some((end, state))
    }

    /// The end and state of an answer right behind a choice: "(Y/N): Y", "Y / N  circled: N",
    /// "yes/no -> no", "(Y/N) ___".
    fn answer_behind(&self, from: usize, tokens: &[Token]) -> Option<(usize, State)> {
        let kind = |at: usize| self.parts.get(at).map(|part| part.kind);
        let mark = |at: usize| self.mark(at, tokens);
        let mut at = from;
        let mut bracket = false;
        while at < from + MAX_ITEM {
            let next = kind(at + 1);
            let chosen = next == Some(Kind::Chosen);
            let answer = matches!(next, Some(Kind::Answer(_)));
            match mark(at)? {
                ':' | '-' | '=' | '>' | '→' | '➔' | '➜' | '⇒' | '?' => {}
                ',' | ';' if chosen => {}
                '(' if chosen || answer => bracket = true,
                _ if kind(at) == Some(Kind::Chosen) => {}
                _ => break,
            }
            at += 1;
        }
        let token = &tokens[self.parts.get(at)?.first];
        let asked = at > from && mark(at - 1) == Some('?');
        if token.border.ends_sentence() && !asked {
            return None;
        }
        let state = match kind(at)? {
            Kind::Leader => State::Blank,
            Kind::Box(_) => return self.boxes_of_answers(at, tokens),
            Kind::Answer(answer) => of_answer(answer),
            _ => return None,
        };
        // "(no circled)"
        let named = bracket && kind(at + 1) == Some(Kind::Chosen);
        let end = at + 1 + usize::from(named);
        let end = end + usize::from(bracket && mark(end) == Some(')'));
        let goes_on = matches!(mark(end), Some('-' | '(' | ':'));
        let closes = goes_on
            || self.closes(end, tokens)
            || self.is_wide(end, 2, tokens)
            || self.again(end, tokens);
        (closes || state == State::Blank).then_some((end, state))
    }

    /// Whether an item with a choice starts at a part: "angina Y/N stroke Y/N".
    fn again(&self, from: usize, tokens: &[Token]) -> bool {
        let words = self.parts[from.min(self.parts.len())..]
            .iter()
            .take(MAX_ITEM)
            .take_while(|part| {
                part.kind.is_plain() && matches!(tokens[part.first].mark, ' ' | ':' | '?' | '(')
            });
        let at = from + words.count();
        let answer = |at: usize| match self.parts.get(at)?.kind {
            Kind::Answer(answer) => Some(answer),
            _ => None,
        };
        let divided = matches!(self.mark(at + 1, tokens), Some('/' | '|'));
        let second = answer(at + 1 + usize::from(divided));
        at > from && second.is_some() && answer(at) != second && answer(at).is_some()
    }

    /// Whether an item ends before a part, or may start at it.
    fn closes(&self, at: usize, tokens: &[Token]) -> bool {
        self.ends_item(at, tokens) || self.starts_item(at, tokens)
    }

    /// Whether at least so many bytes of blanks stand before a part.
    pub(super) fn is_wide(&self, at: usize, least: usize, tokens: &[Token]) -> bool {
        let before = at.checked_sub(1).and_then(|at| self.parts.get(at));
        let pair = before.zip(self.parts.get(at));
        pair.is_some_and(|(before, part)| {
            let end = before.end.max(before.first + 1) - 1;
            tokens[part.first].start >= tokens[end].end + least
        })
    }

    /// The mark of the first token of a part.
    pub(super) fn mark(&self, at: usize, tokens: &[Token]) -> Option<char> {
        self.parts.get(at).map(|part| tokens[part.first].mark)
    }
}

/// The state of an item with a box of each answer.
fn of_answers(yes: bool, no: bool) -> State {
    match (yes, no) {
        (true, false) => State::Ticked,
        (false, true) => State::Crossed,
        _ => State::Blank,
    }
}

/// The state of an item with an answer.
pub(super) fn of_answer(answer: Answer) -> State {
    of_answers(answer == Answer::Yes, answer == Answer::No)
}

/// Whether a mark stands between the boxes of answers.
fn is_separator(mark: char) -> bool {
    matches!(mark, '/' | '|' | ',' | '-')
}
