//! The tokens of a text as attributes see them: words, numbers and marks. "20mg" is two tokens,
//! "1,000.5" one. Borders of sentences and lines are those of the context.

use super::rules::Rules;
use crate::Span;
use crate::context::{Border, ContextRules};

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A run of letters.
    Word,
    /// A number that has a value.
    Number,
    /// Digits that are no number: "1,000.5.2".
    Broken,
    /// One other character.
    Mark(char),
}

/// A token.
#[derive(Clone, Debug)]
pub(super) struct Lexeme {
    /// The first byte.
    pub start: usize,
    /// The byte after the last one.
    pub end: usize,
    /// What it is.
    pub kind: Kind,
    /// What stands before it.
    pub border: Border,
    /// Whether it directly follows the token before it.
    pub glued: bool,
    /// The number of its word in the rules; `None` if no rule has it.
    pub word: Option<u32>,
    /// The number of the word as it is written, of those whose case counts.
    pub written: Option<u32>,
    /// The mention that it is in.
    pub anchor: Option<u32>,
    /// The number of its sentence.
    pub sentence: u32,
}

/// Cuts a text into tokens, in time linear in the text.
pub(super) fn lex(text: &str, rules: &Rules) -> Vec<Lexeme> {
    let mut lexemes: Vec<Lexeme> = Vec::new();
    let mut end_before = 0;
    for token in ContextRules::english().pieces(text) {
        // The context drops the dash of "follow-up".
        let between = text.get(end_before..token.span.start).unwrap_or_default();
        for (at, c) in between.char_indices() {
            if !c.is_whitespace() {
                let start = end_before + at;
                push(
                    &mut lexemes,
                    start,
                    start + c.len_utf8(),
                    mark(c),
                    Border::None,
                );
            }
        }
        if token.mark == ' ' {
            split(text, token.span, token.border, &mut lexemes);
        } else {
            let kind = mark(token.mark);
            push(
                &mut lexemes,
                token.span.start,
                token.span.end,
                kind,
                token.border,
            );
        }
        end_before = token.span.end;
    }
    let mut lexemes = join_numbers(text, lexemes);
    end_sentences_at_numbers(text, &mut lexemes);
    let mut lower = String::new();
    let mut sentence = 0;
    for (at, lexeme) in lexemes.iter_mut().enumerate() {
        if at > 0 && lexeme.border.ends_sentence() {
            sentence += 1;
        }
        lexeme.sentence = sentence;
        if matches!(lexeme.kind, Kind::Word | Kind::Number) {
            lower.clear();
            let written = text.get(lexeme.start..lexeme.end).unwrap_or_default();
            lower.extend(written.chars().flat_map(char::to_lowercase).map(plain));
            lexeme.word = rules.word(&lower);
            lexeme.written = rules.written.get(written).copied();
        }
    }
    lexemes
}

/// Ends sentences between "6/12." and a word with a capital, where the context sees an abbreviation.
fn end_sentences_at_numbers(text: &str, lexemes: &mut [Lexeme]) {
    for at in 2..lexemes.len() {
        let [number, point, next] = &lexemes[at - 2..=at] else {
            continue;
        };
        let ends = number.kind == Kind::Number && point.kind == Kind::Mark('.') && point.glued;
        let written = text.get(next.start..next.end).unwrap_or_default();
        let begins = next.kind == Kind::Word && written.starts_with(char::is_uppercase);
        if ends && begins && !next.glued && next.border < Border::Sentence {
            lexemes[at].border = Border::Sentence;
        }
    }
}

/// One form of the sign for micro.
fn plain(c: char) -> char {
    match c {
        'μ' => 'µ',
        '’' => '\'',
        c => c,
    }
}

/// The kind of a mark, dashes in one form.
fn mark(c: char) -> Kind {
    Kind::Mark(match c {
        '‐' | '‑' | '‒' | '–' | '—' | '−' => '-',
        '’' => '\'',
        c => c,
    })
}

fn push(lexemes: &mut Vec<Lexeme>, start: usize, end: usize, kind: Kind, border: Border) {
    let glued = lexemes.last().is_some_and(|last| last.end == start) && border < Border::Sentence;
    lexemes.push(Lexeme {
        start,
        end,
        kind,
        border,
        glued,
        word: None,
        written: None,
        anchor: None,
        sentence: 0,
    });
}

/// Cuts a word into runs of letters and digits.
fn split(text: &str, span: Span, border: Border, lexemes: &mut Vec<Lexeme>) {
    let class = |c: char| match c {
        c if c.is_ascii_digit() => 1,
        '½' | '¼' | '¾' | '⅓' | '⅔' => 2,
        _ => 0,
    };
    let mut from = span.start;
    let mut border = border;
    let mut last = None;
    let written = text.get(span.start..span.end).unwrap_or_default();
    for (at, c) in written.char_indices() {
        let at = span.start + at;
        let now = match c {
            // The apostrophe of "90's" stands by itself.
            '\'' | '’' if last == Some(1) => 3,
            c => class(c),
        };
        if last.is_some_and(|last| last != now || now == 2) {
            push(lexemes, from, at, kind_of(last), border);
            (from, border) = (at, Border::None);
        }
        last = Some(now);
    }
    push(lexemes, from, span.end, kind_of(last), border);
}

fn kind_of(class: Option<u8>) -> Kind {
    match class {
        Some(1) => Kind::Number,
        Some(3) => Kind::Mark('\''),
        _ => Kind::Word,
    }
}

/// Joins the tokens of decimals and of thousands: "1,000.5", ".5".
fn join_numbers(text: &str, lexemes: Vec<Lexeme>) -> Vec<Lexeme> {
    let mut joined: Vec<Lexeme> = Vec::with_capacity(lexemes.len());
    let mut at = 0;
    while at < lexemes.len() {
        let first = &lexemes[at];
        let opens = first.kind == Kind::Number || is_leading_point(&lexemes, at);
        if !opens {
            joined.push(first.clone());
            at += 1;
            continue;
        }
        let mut end = at + 1;
        while end + 1 < lexemes.len()
            && matches!(lexemes[end].kind, Kind::Mark('.' | ','))
            && lexemes[end].glued
            && lexemes[end + 1].glued
            && lexemes[end + 1].kind == Kind::Number
            && (lexemes[end].kind == Kind::Mark('.') || is_thousands(&lexemes[end + 1]))
        {
            end += 2;
        }
        if first.kind != Kind::Number && end == at + 1 {
            end += 1;
        }
        if is_date(&text[first.start..lexemes[end - 1].end]) {
            joined.extend_from_slice(&lexemes[at..end]);
            at = end;
            continue;
        }
        let mut number = first.clone();
        number.end = lexemes[end - 1].end;
        let written = &text[number.start..number.end];
        number.kind = match value(written) {
            Some(_) => Kind::Number,
            None => Kind::Broken,
        };
        joined.push(number);
        at = end;
    }
    joined
}

/// Whether digits with points are a date: "22.03.2021".
fn is_date(written: &str) -> bool {
    let mut parts = written.split('.').map(str::len);
    let (day, month, year) = (parts.next(), parts.next(), parts.next());
    let few = |length: Option<usize>| matches!(length, Some(1 | 2));
    few(day) && few(month) && matches!(year, Some(2 | 4)) && parts.next().is_none()
}

/// Whether a point begins a number: ".5".
fn is_leading_point(lexemes: &[Lexeme], at: usize) -> bool {
    let next = lexemes.get(at + 1);
    let number = next.is_some_and(|next| next.glued && next.kind == Kind::Number);
    lexemes[at].kind == Kind::Mark('.') && number && !lexemes[at].glued
}

fn is_thousands(lexeme: &Lexeme) -> bool {
    lexeme.end - lexeme.start == 3
}

/// The normal form of a number as written, without separators of thousands; `None` if it is none.
pub(super) fn value(written: &str) -> Option<String> {
    if written.len() > 32 {
        return None;
    }
    let (whole, fraction) = written.split_once('.').unwrap_or((written, ""));
    let mut parts = whole.split(',');
    let first = parts.next()?;
    let separated = whole.contains(',');
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let fits = digits(first) && digits(fraction) && (!separated || (1..=3).contains(&first.len()));
    if !fits || !parts.all(|part| part.len() == 3 && digits(part)) {
        return None;
    }
    let mut plain = whole.replace(',', "");
    if plain.is_empty() {
        plain.push('0');
    }
    if !fraction.is_empty() {
        plain.push('.');
        plain.push_str(fraction);
    }
    Some(plain)
}

/// Marks the tokens of mentions, and returns the tokens of each: its first and one past its last.
pub(super) fn locate(lexemes: &mut [Lexeme], spans: &[Span]) -> Vec<(usize, usize)> {
    let mut found = Vec::with_capacity(spans.len());
    for (index, span) in spans.iter().enumerate() {
        let first = lexemes.partition_point(|lexeme| lexeme.end <= span.start);
        let end = lexemes.partition_point(|lexeme| lexeme.start < span.end);
        found.push((first, end.max(first)));
        for lexeme in lexemes.iter_mut().take(end).skip(first) {
            if lexeme.anchor.is_none() {
                lexeme.anchor = u32::try_from(index).ok();
            }
        }
    }
    found
}
