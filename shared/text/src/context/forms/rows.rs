//! Items one a line, with a letter or tick before or behind each: "Y gout", "x gout", "gout ___".

use super::choices::of_answer;
use super::parts::Kind;
use super::{Answer, Line, MAX_ITEM, State};
use crate::context::tokens::{Border, Token};

/// What stands before or behind the item of a line.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mark {
    /// A letter, or an answer in brackets, that is not in small letters if `large`.
    Letter {
        answer: Answer,
        large: bool,
    },
    Tick,
    /// A line for a tick.
    Line,
}

/// A mark and the part that it starts at.
#[derive(Clone, Copy)]
struct Row {
    mark: Mark,
    at: usize,
    leads: bool,
}

/// Gives the items of lines one after the other their states, in time linear in the text.
pub(super) fn mark(tokens: &[Token], lines: &mut [Line]) {
    for line in &mut *lines {
        line.mark_letters(tokens);
    }
    let rows: Vec<Option<Row>> = lines.iter().map(|line| line.row_mark(tokens)).collect();
    let mut from = 0;
    while from < lines.len() {
        let Some(first) = rows[from] else {
            from += 1;
            continue;
        };
        let mut to = from + 1;
        while to < lines.len()
            && rows[to].is_some_and(|row| row.is_like(first))
            && !lines[to].is_apart(tokens)
        {
            to += 1;
        }
        let run: Vec<Row> = rows[from..to].iter().flatten().copied().collect();
        if is_list(&run) {
            for (line, row) in lines[from..to].iter_mut().zip(&run) {
                line.state_row(*row);
            }
        }
        from = to;
    }
}

/// Whether lines are the items of a form.
fn is_list(run: &[Row]) -> bool {
    let any = |wanted: fn(Mark) -> bool| run.iter().any(|row| wanted(row.mark));
    let is_yes = |mark| {
        matches!(
            mark,
            Mark::Letter {
                answer: Answer::Yes,
                ..
            }
        )
    };
    let is_no = |mark| {
        matches!(
            mark,
            Mark::Letter {
                answer: Answer::No,
                ..
            }
        )
    };
    let is_large = |mark| matches!(mark, Mark::Letter { large: true, .. });
    let letters = any(|mark| matches!(mark, Mark::Letter { .. }));
    match letters {
        true => run.len() > 1 && (any(is_large) || any(is_yes) && any(is_no)),
        false => any(|mark| mark == Mark::Tick) && any(|mark| mark == Mark::Line),
    }
}

impl Row {
    /// Whether a line goes on with the items of another.
    fn is_like(self, other: Row) -> bool {
        let letter = |row: Row| matches!(row.mark, Mark::Letter { .. });
        self.leads == other.leads && letter(self) == letter(other)
    }
}

impl Line {
    fn is_apart(&self, tokens: &[Token]) -> bool {
        let first = self.parts.first();
        first.is_some_and(|part| tokens[part.first].border == Border::Block)
    }

    /// The yes or no that a letter is, or an answer in brackets, and the part after it.
    fn letter(&self, at: usize, tokens: &[Token]) -> Option<(Mark, usize)> {
        let bracket = self.mark(at, tokens) == Some('(');
        let inner = at + usize::from(bracket);
        let part = self.parts.get(inner)?;
        let Kind::Answer(answer) = part.kind else {
            return None;
        };
        let token = &tokens[part.first];
        let closed = self.mark(inner + 1, tokens) == Some(')');
        let short = token.end - token.start == 1;
        let fits = if bracket { closed } else { short };
        let large = token.capital;
        (fits && answer != Answer::Unknown).then_some((
            Mark::Letter { answer, large },
            inner + 1 + usize::from(bracket),
        ))
    }

    /// The mark of a line with one item.
    fn row_mark(&self, tokens: &[Token]) -> Option<Row> {
        let whole = |part: &super::parts::Part| !part.cut && !matches!(part.kind, Kind::State(_));
        if self.table || !self.parts.iter().all(whole) || self.parts.len() > 2 * MAX_ITEM {
            return None;
        }
        let of_kind = |at: usize| match self.parts.get(at)?.kind {
            Kind::Cross | Kind::Box(State::Ticked) => Some(Mark::Tick),
            Kind::Leader => Some(Mark::Line),
            _ => None,
        };
        let one_sentence = self
            .parts
            .iter()
            .skip(1)
            .all(|part| !tokens[part.first].border.ends_sentence());
        let answer = |at: usize| matches!(self.parts[at].kind, Kind::Answer(_));
        let is_word =
            |at: usize| self.mark(at, tokens) == Some(' ') && of_kind(at).is_none() && !answer(at);
        let others = |at: usize| {
            (0..self.parts.len())
                .filter(|other| *other != at)
                .all(|at| of_kind(at).is_none() && !answer(at))
        };
        for at in 0..self.parts.len().min(3) {
            if !self.is_first(at, tokens) || !one_sentence {
                continue;
            }
            if let Some((mark, end)) = self.letter(at, tokens) {
                let linked = matches!(self.mark(end, tokens), Some(':' | '-' | '|' | ')'));
                let name = end + usize::from(linked);
                let row = Row {
                    mark,
                    at,
                    leads: true,
                };
                return is_word(name).then_some(row);
            }
            if let Some(mark) = of_kind(at).filter(|_| is_word(at + 1) && others(at)) {
                return Some(Row {
                    mark,
                    at,
                    leads: true,
                });
            }
        }
        let last = self.parts.len().checked_sub(1)?;
        // "Gout - Y"
        let letter = self.letter(last, tokens).map(|(mark, _)| mark);
        let linked = last > 1
            && letter.is_some()
            && matches!(self.mark(last - 1, tokens), Some('-' | '=' | '/'));
        let word = last
            .checked_sub(1 + usize::from(linked))
            .is_some_and(is_word);
        let mark = letter.or_else(|| of_kind(last).filter(|_| others(last)));
        let mark = mark.filter(|_| word)?;
        one_sentence.then_some(Row {
            mark,
            at: last,
            leads: false,
        })
    }

    fn state_row(&mut self, row: Row) {
        self.parts[row.at].kind = match row.mark {
            Mark::Letter { answer, .. } => Kind::State(of_answer(answer)),
            Mark::Tick => Kind::Box(State::Ticked),
            Mark::Line => Kind::Box(State::Unticked),
        };
    }

    /// Gives the items of a line that have a letter before each their states: "Y gout  N asthma".
    fn mark_letters(&mut self, tokens: &[Token]) {
        let letters: Vec<(usize, usize, Answer)> = (0..self.parts.len())
            .filter_map(|at| match self.letter(at, tokens)? {
                (
                    Mark::Letter {
                        answer,
                        large: true,
                    },
                    end,
                ) if self.mark(at, tokens) == Some(' ') => Some((at, end, answer)),
                _ => None,
            })
            .collect();
        let plain = self
            .parts
            .iter()
            .all(|part| part.state().is_none() && !part.cut);
        let starts = |at: usize| {
            self.is_first(at, tokens)
                || self.is_wide(at, 2, tokens)
                || matches!(self.mark(at - 1, tokens), Some(',' | ';' | '|'))
        };
        let named =
            |end: usize| self.mark(end, tokens) == Some(' ') && self.parts[end].kind.is_plain();
        let leads = letters
            .first()
            .is_some_and(|(at, ..)| self.is_first(*at, tokens));
        if self.table
            || !plain
            || !leads
            || letters.len() < 2
            || !letters
                .iter()
                .all(|(at, end, _)| starts(*at) && named(*end))
        {
            return;
        }
        for (at, _, answer) in letters {
            self.parts[at].kind = Kind::State(of_answer(answer));
            self.parts[at].cut = at > 0;
        }
    }
}
