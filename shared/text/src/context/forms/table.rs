//! Tables whose columns are answers: "Symptom | Yes | No" above "Cough | | x".

use super::choices::of_answer;
use super::parts::{Kind, Part};
use super::{Answer, Line, MAX_ITEM, State};
use crate::context::tokens::{Border, Token};
use std::ops::Range;

/// The largest number of bytes between the middles of a heading and a tick below it.
const MAX_SHIFT: usize = 4;

/// What divides the columns of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Division {
    Bars,
    Tabs,
    /// Blanks: ticks are below their answers, or there is a box for each.
    Blanks,
}

/// The heading of a table.
struct Heading {
    division: Division,
    /// Whether the line starts with a bar.
    bar: bool,
    /// The number of columns.
    columns: usize,
    /// The columns of answers, by place: neighbours are of one item.
    answers: Vec<Column>,
}

struct Column {
    /// The number of the column.
    place: usize,
    answer: Answer,
    /// The part of the heading.
    part: usize,
    /// The middle of the word, in half bytes from the start of its line.
    middle: usize,
}

/// What a row says of an item.
struct Entry {
    /// The part that becomes the state.
    part: usize,
    state: State,
    /// The other parts in the columns of the answers.
    others: Vec<usize>,
    /// The part that the next item of the row starts at.
    next: Option<usize>,
}

/// What stands in a cell of an answer.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Cell {
    Empty,
    Tick,
    /// A cross such as "✗", which ticks if nothing else does.
    Crossed,
    Off,
    Text,
}

/// Gives the items of tables their states, in time linear in the text.
pub(super) fn mark(text: &str, tokens: &[Token], lines: &mut [Line]) {
    let mut at = 0;
    while at < lines.len() {
        let top = at;
        at += 1;
        let Some(heading) = lines[top].heading(text, tokens) else {
            continue;
        };
        let mut rows: Vec<(usize, Vec<Entry>)> = Vec::new();
        while let Some(line) = lines.get(at) {
            if line.starts_block(tokens) || line.heading(text, tokens).is_some() {
                break;
            }
            if !line.is_rule(tokens) {
                match line.entries(&heading, text, tokens) {
                    Some(entries) => rows.push((at, entries)),
                    None => break,
                }
            }
            at += 1;
        }
        let states = || rows.iter().flat_map(|(_, entries)| entries);
        let ticked = states().any(|entry| entry.state != State::Blank);
        let blanks = heading.division == Division::Blanks;
        if !ticked && (blanks || states().count() < 2) {
            continue;
        }
        lines[top].table = true;
        for column in &heading.answers {
            lines[top].parts[column.part].kind = Kind::Column;
        }
        for (row, entries) in rows {
            lines[row].enter(&entries);
        }
    }
}

impl Line {
    fn starts_block(&self, tokens: &[Token]) -> bool {
        let first = self.parts.first();
        first.is_some_and(|part| tokens[part.first].border == Border::Block)
    }

    /// Whether the line only divides rows: "|---|---|".
    fn is_rule(&self, tokens: &[Token]) -> bool {
        self.parts
            .iter()
            .all(|part| matches!(tokens[part.first].mark, '|' | '-' | ':' | '+' | '=' | '_'))
    }

    fn enter(&mut self, entries: &[Entry]) {
        self.table = !entries.is_empty();
        for entry in entries {
            for other in &entry.others {
                self.parts[*other].kind = Kind::Column;
            }
            self.parts[entry.part].kind = Kind::State(entry.state);
            if let Some(next) = entry.next {
                self.parts[next].cut = true;
            }
        }
    }

    /// The heading of a table with columns for "yes" and "no".
    fn heading(&self, text: &str, tokens: &[Token]) -> Option<Heading> {
        let is_name = |kind: Kind| !matches!(kind, Kind::Box(_) | Kind::Leader | Kind::State(_));
        let marks = || self.parts.iter().map(|part| tokens[part.first].mark);
        if self.parts.len() > 4 * MAX_ITEM
            || !self.parts.iter().all(|part| is_name(part.kind))
            || !marks().all(|mark| matches!(mark, ' ' | '|' | '/' | '(' | ')' | '?' | ':'))
        {
            return None;
        }
        let tab = |at: usize| self.tabs(at, text, tokens) > 0;
        let division = if marks().any(|mark| mark == '|') {
            Division::Bars
        } else if (1..self.parts.len()).any(tab) {
            Division::Tabs
        } else {
            Division::Blanks
        };
        let columns = match division {
            Division::Blanks => (0..self.parts.len()).map(|at| vec![at]).collect(),
            _ => self.columns_of(division, text, tokens),
        };
        let answers: Vec<Column> = columns
            .iter()
            .enumerate()
            .filter_map(|(place, parts)| {
                let [part] = parts.as_slice() else {
                    return None;
                };
                match self.parts[*part].kind {
                    Kind::Answer(answer) => Some(Column {
                        place,
                        answer,
                        part: *part,
                        middle: self.middle(*part, text, tokens),
                    }),
                    _ => None,
                }
            })
            .collect();
        let heading = Heading {
            division,
            bar: self.mark(0, tokens) == Some('|'),
            columns: columns.len(),
            answers,
        };
        let groups = heading.groups();
        let both = |group: &Range<usize>| {
            let has = |answer| {
                heading.answers[group.clone()]
                    .iter()
                    .any(|of| of.answer == answer)
            };
            has(Answer::Yes) && has(Answer::No) && group.len() <= 3
        };
        let one = division != Division::Blanks || groups.len() == 1;
        (!groups.is_empty() && groups.iter().all(both) && one).then_some(heading)
    }

    /// The number of tabs before a part.
    fn tabs(&self, at: usize, text: &str, tokens: &[Token]) -> usize {
        let start = tokens[self.parts[at].first].start;
        let from = match at.checked_sub(1) {
            Some(before) => tokens[self.parts[before].end - 1].end,
            None => text[..start].rfind('\n').map_or(0, |end| end + 1),
        };
        text[from..start]
            .bytes()
            .filter(|byte| *byte == b'\t')
            .count()
    }

    /// The middle of a part, in half bytes from the start of the line.
    fn middle(&self, at: usize, text: &str, tokens: &[Token]) -> usize {
        let part = &self.parts[at];
        let start = tokens[self.parts[0].first].start;
        let line = text[..start].rfind('\n').map_or(0, |end| end + 1);
        tokens[part.first].start + tokens[part.end - 1].end - 2 * line
    }

    /// The parts of each column.
    fn columns_of(&self, division: Division, text: &str, tokens: &[Token]) -> Vec<Vec<usize>> {
        let mut columns: Vec<Vec<usize>> = vec![Vec::new()];
        for (at, part) in self.parts.iter().enumerate() {
            if division == Division::Bars && tokens[part.first].mark == '|' {
                columns.push(Vec::new());
                continue;
            }
            if division == Division::Tabs {
                let tabs = self.tabs(at, text, tokens);
                columns.resize(columns.len() + tabs, Vec::new());
            }
            if let Some(column) = columns.last_mut() {
                column.push(at);
            }
        }
        columns
    }

    /// What a row says of its items; `None` if it is no row of the table.
    fn entries(&self, heading: &Heading, text: &str, tokens: &[Token]) -> Option<Vec<Entry>> {
        if heading.division == Division::Blanks {
            return Some(vec![self.entry_of_blanks(heading, text, tokens)?]);
        }
        let bars = || {
            self.parts
                .iter()
                .filter(|part| tokens[part.first].mark == '|')
        };
        if heading.division == Division::Bars && bars().next().is_none() {
            return None;
        }
        let columns = self.columns_of(heading.division, text, tokens);
        if heading.division == Division::Tabs && columns.len() < 2 {
            return None;
        }
        // A row may start with a bar that its heading lacks, or with an empty cell.
        let bar = !heading.bar && self.mark(0, tokens) == Some('|');
        let shift = usize::from(bar && columns.len() > heading.columns);
        let groups = heading.groups();
        let mut entries = Vec::new();
        for (number, group) in groups.iter().enumerate() {
            let group = &heading.answers[group.clone()];
            let cells: Vec<(&Column, &[usize])> = group
                .iter()
                .map(|column| {
                    let parts = columns.get(column.place + shift);
                    (column, parts.map_or(&[][..], Vec::as_slice))
                })
                .collect();
            let last = group.last().map_or(0, |column| column.place + shift);
            let next = columns
                .get(last + 1..)
                .and_then(|after| after.iter().flatten().next());
            // A bar in the row can be the blank of an item.
            let bar = columns.get(last).map_or(0, |_| {
                let ends = (0..self.parts.len()).filter(|at| self.mark(*at, tokens) == Some('|'));
                ends.take(last).last().unwrap_or(0)
            });
            let bar = (heading.division == Division::Bars && bar > 0).then_some(bar);
            if let Some(mut entry) = self.entry(&cells, bar, tokens)? {
                entry.next = next.copied().filter(|_| number + 1 < groups.len());
                entries.push(entry);
            }
        }
        Some(entries)
    }

    /// What the cells of an item say; `None` if they are those of no table, as each has its answer.
    /// `bar` is a part that may be made a blank.
    fn entry(
        &self,
        cells: &[(&Column, &[usize])],
        bar: Option<usize>,
        tokens: &[Token],
    ) -> Option<Option<Entry>> {
        let found: Vec<Cell> = cells
            .iter()
            .map(|(column, parts)| self.cell(column.answer, parts, tokens))
            .collect();
        let count = |wanted: Cell| found.iter().filter(|cell| **cell == wanted).count();
        let tick = match (count(Cell::Tick), count(Cell::Crossed)) {
            (1, _) => Some(Cell::Tick),
            (0, 1) => Some(Cell::Crossed),
            (0, _) => None,
            _ => return None,
        };
        let at = tick.and_then(|tick| found.iter().position(|cell| *cell == tick));
        let parts = || cells.iter().flat_map(|(_, parts)| parts.iter().copied());
        let (part, state) = match at {
            Some(at) => (cells[at].1.first().copied()?, of_answer(cells[at].0.answer)),
            None if count(Cell::Text) > 0 => return Some(None),
            None => match parts().next().or(bar) {
                Some(part) => (part, State::Blank),
                None => return Some(None),
            },
        };
        let others = match count(Cell::Text) {
            0 => parts().filter(|other| *other != part).collect(),
            _ => Vec::new(),
        };
        Some(Some(Entry {
            part,
            state,
            others,
            next: None,
        }))
    }

    fn cell(&self, column: Answer, parts: &[usize], tokens: &[Token]) -> Cell {
        let part = match parts {
            [] => return Cell::Empty,
            [part] => &self.parts[*part],
            _ => return Cell::Text,
        };
        match (part.kind, tokens[part.first].mark) {
            (Kind::Box(State::Ticked) | Kind::Cross, _) => Cell::Tick,
            (Kind::Box(State::Crossed), _) => Cell::Crossed,
            (Kind::Box(_) | Kind::Leader, _) => Cell::Off,
            (Kind::Answer(answer), _) if answer == Answer::Yes || answer == column => Cell::Tick,
            (Kind::Answer(_), _) | (_, '-') => Cell::Off,
            (_, '*' | '+' | '•' | '●' | '■') => Cell::Tick,
            _ => Cell::Text,
        }
    }

    /// What a row says whose columns are divided by blanks: it has a box for each answer, or a
    /// tick below one.
    fn entry_of_blanks(&self, heading: &Heading, text: &str, tokens: &[Token]) -> Option<Entry> {
        let boxes: Vec<usize> = (0..self.parts.len())
            .filter(|at| {
                matches!(
                    self.parts[*at].kind,
                    Kind::Box(_) | Kind::Leader | Kind::Cross
                )
            })
            .collect();
        let words = self
            .parts
            .iter()
            .filter(|part| tokens[part.first].mark == ' ')
            .count();
        // "Gout yes no" above "Asthma [x] yes [ ] no"
        let answers = |part: &Part| matches!(part.kind, Kind::Answer(_));
        if boxes.is_empty() || words > 2 * MAX_ITEM || self.parts.iter().any(answers) {
            return None;
        }
        if boxes.len() == heading.answers.len() && boxes.len() > 1 {
            let cells: Vec<(&Column, &[usize])> =
                heading.answers.iter().zip(boxes.chunks(1)).collect();
            return self.entry(&cells, None, tokens)?;
        }
        let [tick] = boxes.as_slice() else {
            return None;
        };
        let middle = self.middle(*tick, text, tokens);
        let apart = |column: &Column| column.middle.abs_diff(middle);
        let near = heading.answers.iter().min_by_key(|column| apart(column))?;
        let others = heading
            .answers
            .iter()
            .filter(|other| other.part != near.part);
        let clear = apart(near) <= 2 * MAX_SHIFT
            && others
                .min_by_key(|of| apart(of))
                .is_some_and(|of| apart(of) > apart(near) + 1);
        let ends = *tick == 0 || self.is_wide(*tick, 2, tokens);
        let ticks = self.cell(near.answer, &[*tick], tokens);
        (clear && ends && matches!(ticks, Cell::Tick | Cell::Crossed)).then(|| Entry {
            part: *tick,
            state: of_answer(near.answer),
            others: Vec::new(),
            next: None,
        })
    }
}

impl Heading {
    /// The neighbouring answers, each of one item.
    fn groups(&self) -> Vec<Range<usize>> {
        let mut groups: Vec<Range<usize>> = Vec::new();
        for (at, column) in self.answers.iter().enumerate() {
            let joins = at
                .checked_sub(1)
                .is_some_and(|before| self.answers[before].place + 1 == column.place);
            match groups.last_mut().filter(|_| joins) {
                Some(group) => group.end = at + 1,
                None => groups.push(at..at + 1),
            }
        }
        groups
    }
}
