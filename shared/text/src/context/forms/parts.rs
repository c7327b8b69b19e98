//! The boxes, blanks and answers of a line.

use super::{Answer, State};
use crate::context::tokens::Token;

const YES: [&str; 13] = [
    "yes", "y", "pos", "positive", "present", "ja", "positiv", "oui", "positif", "sí", "SÍ",
    "positivo", "sim",
];
const NO: [&str; 16] = [
    "no", "n", "none", "never", "neg", "negative", "absent", "denies", "denied", "nil", "nein",
    "negativ", "non", "négatif", "negativo", "nee",
];
const UNKNOWN: [&str; 11] = [
    "unknown",
    "unk",
    "u",
    "unsure",
    "uncertain",
    "na",
    "unbekannt",
    "unklar",
    "inconnu",
    "desconocido",
    "nsp",
];
/// Words that lead to the answer that was chosen: "Y / N  circled: N".
const CHOSEN: [&str; 13] = [
    "circled",
    "circle",
    "selected",
    "selection",
    "chosen",
    "choice",
    "ticked",
    "checked",
    "marked",
    "answer",
    "answered",
    "response",
    "result",
];

/// What a part of a line is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Other,
    Box(State),
    /// Underscores, dots or asterisks that may be a blank.
    Leader,
    Answer(Answer),
    /// A word that leads to the answer that was chosen.
    Chosen,
    /// The letter x.
    Cross,
    /// The word "or".
    Or,
    /// A heading of a column of answers, which states nothing.
    Column,
    /// A blank, or answers with their boxes.
    State(State),
}

impl Kind {
    /// Whether the part may be a word of a name.
    pub fn is_plain(self) -> bool {
        matches!(self, Self::Other | Self::Chosen | Self::Cross | Self::Or)
    }
}

/// A token, or several that are a box, a blank or a choice.
#[derive(Clone, Copy, Debug)]
pub(super) struct Part {
    /// The first token, and the one after the last.
    pub first: usize,
    pub end: usize,
    pub kind: Kind,
    /// Whether an item starts here.
    pub cut: bool,
}

impl Part {
    pub fn state(&self) -> Option<State> {
        match self.kind {
            Kind::Box(state) | Kind::State(state) => Some(state),
            _ => None,
        }
    }

    pub fn is_box(&self) -> bool {
        matches!(self.kind, Kind::Box(_))
    }

    /// The number of tokens.
    pub fn len(&self) -> usize {
        self.end - self.first
    }
}

/// Reads the parts of the tokens of a line.
pub(super) fn read(text: &str, tokens: &[Token], first: usize, end: usize) -> Vec<Part> {
    let line = &tokens[first..end];
    // A circle or square that is filled is a tick only beside empty ones.
    let full = line
        .iter()
        .any(|token| matches!(token.mark, '■' | '◼' | '●' | '◉' | '⦿'));
    let is_ring = |token: &Token| full && matches!(&text[token.start..token.end], "O" | "o");
    let empty = line
        .iter()
        .any(|token| matches!(token.mark, '□' | '◻' | '○' | '◯') || is_ring(token));
    let mut parts = Vec::with_capacity(line.len());
    let mut at = first;
    while at < end {
        let colon = at > first && tokens[at - 1].mark == ':';
        let found = read_box(text, tokens, at, end)
            .or_else(|| Some((at + 1, Kind::Box(glyph(tokens[at].mark, empty, full)?))))
            .or_else(|| read_leader(text, tokens, at, end, colon));
        let (next, kind) = found.unwrap_or_else(|| {
            let word = &text[tokens[at].start..tokens[at].end];
            let kind = match word {
                // "O asthma ● gout"
                "O" | "o" if full => Kind::Box(State::Unticked),
                "x" | "X" | "xx" | "XX" => Kind::Cross,
                "or" | "OR" | "oder" | "ou" => Kind::Or,
                word if is_any(&CHOSEN, word) => Kind::Chosen,
                word => answer(word).map_or(Kind::Other, Kind::Answer),
            };
            (at + 1, kind)
        });
        parts.push(Part {
            first: at,
            end: next,
            kind,
            cut: false,
        });
        at = next;
    }
    mark_crosses(&mut parts);
    parts
}

/// Makes boxes of crosses beside answers that others have lines for: "Yes X No __".
fn mark_crosses(parts: &mut [Part]) {
    let crosses: Vec<usize> = (0..parts.len())
        .filter(|at| {
            let near = &parts[at.saturating_sub(3)..parts.len().min(at + 4)];
            let any = |kind: Kind| near.iter().any(|part| part.kind == kind);
            let beside = [at.checked_sub(1), at.checked_add(1)].into_iter().flatten();
            let mut beside = beside.filter_map(|at| parts.get(at));
            parts[*at].kind == Kind::Cross
                && beside.any(|part| matches!(part.kind, Kind::Answer(_)))
                && any(Kind::Answer(Answer::Yes))
                && any(Kind::Answer(Answer::No))
                && any(Kind::Leader)
        })
        .collect();
    for at in crosses {
        parts[at].kind = Kind::Box(State::Ticked);
    }
}

fn answer(word: &str) -> Option<Answer> {
    let all = [
        (YES.as_slice(), Answer::Yes),
        (&NO, Answer::No),
        (&UNKNOWN, Answer::Unknown),
    ];
    all.into_iter()
        .find(|(words, _)| is_any(words, word))
        .map(|(_, answer)| answer)
}

fn is_any(words: &[&str], word: &str) -> bool {
    words.iter().any(|known| known.eq_ignore_ascii_case(word))
}

/// A box in brackets: "[ ]", "[x]", "(x)", "( )", "[N]".
fn read_box(text: &str, tokens: &[Token], at: usize, end: usize) -> Option<(usize, Kind)> {
    let close = match tokens[at].mark {
        '[' => ']',
        '(' => ')',
        '{' => '}',
        _ => return None,
    };
    let mark = |at: usize| tokens[..end].get(at).map(|token| token.mark);
    let lines = |at: usize| {
        let more = (at..end).take_while(|at| mark(*at) == Some('_'));
        at + more.count()
    };
    let inner = lines(at + 1);
    if mark(inner) == Some(close) {
        let closed = inner == at + 1 && close == ')' && !tokens[inner].spaced;
        return (!closed).then_some((inner + 1, Kind::Box(State::Unticked)));
    }
    let token = tokens[..end].get(inner)?;
    let square = close == ']';
    let state = match text[token.start..token.end].to_ascii_lowercase().as_str() {
        "x" | "xx" | "✓" | "✔" | "√" | "✗" | "✘" | "•" | "●" | "*" => State::Ticked,
        "y" | "yes" | "ja" | "oui" | "sí" | "si" | "+" | "v" if square => State::Ticked,
        "n" | "no" | "nein" | "non" | "-" if square => State::Crossed,
        _ => return None,
    };
    let after = lines(inner + 1);
    (mark(after) == Some(close)).then_some((after + 1, Kind::Box(state)))
}

/// The state of a sign that is a box by itself.
fn glyph(mark: char, empty: bool, full: bool) -> Option<State> {
    match mark {
        '☑' | '☒' | '✅' | '🗹' | '🗷' | '⊠' | '✓' | '✔' | '√' => {
            Some(State::Ticked)
        }
        // Boxes of the font Wingdings.
        '\u{f0fe}' | '\u{f0fd}' => Some(State::Ticked),
        '☐' | '□' | '▢' | '❏' | '❑' | '❒' | '◻' | '⬜' | '\u{f0a8}' | '\u{f06f}' => {
            Some(State::Unticked)
        }
        '✗' | '✘' | '❌' => Some(State::Crossed),
        '■' | '◼' | '●' | '◉' | '⦿' if empty => Some(State::Ticked),
        '○' | '◯' if full => Some(State::Unticked),
        _ => None,
    }
}

/// A line of underscores, dots or asterisks, or underscores around a tick: "____", "_x_".
fn read_leader(
    text: &str,
    tokens: &[Token],
    at: usize,
    end: usize,
    colon: bool,
) -> Option<(usize, Kind)> {
    let sign = tokens[at].mark;
    let least = match sign {
        '_' => 1,
        '.' => 5 - usize::from(colon),
        '…' => 2,
        '*' if colon => 3,
        _ => return None,
    };
    let run = |from: usize| {
        let joined = |at: &usize| {
            let token = &tokens[*at];
            token.mark == sign && (*at == from || tokens[*at - 1].end == token.start)
        };
        from + (from..end).take_while(joined).count()
    };
    let next = run(at);
    let tick = tokens[..end].get(next).filter(|token| {
        let word = &text[token.start..token.end];
        matches!(word, "x" | "X" | "✓" | "✔") && tokens[next - 1].end == token.start
    });
    if sign == '_' && tick.is_some() {
        let after = run(next + 1);
        if after > next + 1 && tokens[next].end == tokens[next + 1].start {
            return Some((after, Kind::Box(State::Ticked)));
        }
    }
    (next - at >= least).then_some((next, Kind::Leader))
}
