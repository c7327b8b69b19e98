//! Tokens of a text as cues see them, with the borders of sentences and lines.

use super::values::MentionKind;
use super::vocabulary::{Symbols, Vocabulary};

/// A word, or one character that is neither a letter, a digit nor a blank.
#[derive(Clone, Debug)]
pub(super) struct Token {
    /// The first byte.
    pub start: usize,
    /// The byte after the last one.
    pub end: usize,
    /// What patterns can match the token with.
    pub symbols: Symbols,
    /// What stands before the token.
    pub border: Border,
    /// The character of a mark; a blank for a word.
    pub mark: char,
    /// Whether the first letter is upper case.
    pub capital: bool,
    /// Whether there is whitespace before the token.
    pub spaced: bool,
    /// The classes of the mentions that start here.
    pub opening: Symbols,
    /// The kinds of the mentions that start here, each once.
    pub starting: Vec<MentionKind>,
    /// Whether the token is in a mention.
    pub in_mention: bool,
}

/// What separates a token from the one before it, weakest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Border {
    /// Nothing, or blanks.
    None,
    /// A border of table cells.
    Cell,
    /// The end of a sentence within a line.
    Sentence,
    /// A line end that ends a sentence.
    Line,
    /// A line end before the bullet of a list.
    Bullet,
    /// An empty line, or the start of the text.
    Block,
}

impl Border {
    /// Whether a sentence ends here.
    pub fn ends_sentence(self) -> bool {
        self >= Border::Sentence
    }

    /// Whether a line starts here.
    pub fn starts_line(self) -> bool {
        self >= Border::Line
    }
}

/// The bytes that a line at least has if it was broken to fit a width.
const MIN_WRAPPED: usize = 50;
/// The largest width that lines are broken to.
const MAX_WRAPPED: usize = 140;
/// Words that end no sentence.
const JOINTS: [&str; 9] = ["and", "or", "nor", "und", "oder", "et", "ou", "y", "o"];
/// Clipped words that end a sentence before a capital.
const CLIPPED: [&str; 30] = [
    "neg", "pos", "prn", "bid", "tid", "qid", "nos", "wk", "wks", "hr", "hrs", "yr", "yrs", "mo",
    "mos", "min", "mins", "mg", "mcg", "ml", "cm", "mm", "tab", "tabs", "cap", "caps", "am", "pm",
    "po", "iv",
];
/// The longest normalised word in bytes: longer ones are in no rule.
const MAX_WORD: usize = 64;
/// The letters of a word that are read at most, marks on letters included.
const MAX_LETTERS: usize = 4 * MAX_WORD;

/// Cuts a text into tokens, in time linear in the text.
pub(super) fn tokenize(text: &str, vocabulary: &Vocabulary) -> Vec<Token> {
    let mut tokens: Vec<Token> = Vec::new();
    let mut word = String::new();
    let mut between = Between::default();
    let mut at = 0;
    while let Some(c) = text[at..].chars().next() {
        let bytes = c.len_utf8();
        if c.is_whitespace() || is_invisible(c) {
            between.add(c, at);
            at += bytes;
            continue;
        }
        let start = at;
        let border = border(text, &tokens, &between, start, vocabulary);
        let spaced = between.blank || tokens.is_empty();
        if c.is_alphanumeric() {
            at = word_end(text, start);
            normalise(&text[start..at], &mut word);
            let mut symbols = vocabulary.symbols(&word);
            symbols.extend(vocabulary.find_accented(&text[start..at]));
            tokens.push(Token {
                start,
                end: at,
                symbols,
                border,
                mark: ' ',
                capital: c.is_uppercase(),
                spaced,
                opening: Symbols::new(),
                starting: Vec::new(),
                in_mention: false,
            });
        } else {
            at += bytes;
            let c = plain_mark(c);
            let joins = matches!(c, '-' | '\'')
                && !spaced
                && tokens.last().is_some_and(|token| token.mark == ' ')
                && text[at..].starts_with(|c: char| c.is_alphanumeric());
            if joins {
                // "follow-up" and "follow up" are equal.
                between = Between::default();
                continue;
            }
            let mut buffer = [0; 4];
            let symbols = if c == '-' && is_minus(text, start, at, border, spaced) {
                vocabulary.minus()
            } else {
                vocabulary.symbols(c.encode_utf8(&mut buffer))
            };
            tokens.push(Token {
                start,
                end: at,
                symbols,
                border,
                mark: c,
                capital: false,
                spaced,
                opening: Symbols::new(),
                starting: Vec::new(),
                in_mention: false,
            });
        }
        between = Between::default();
    }
    tokens
}

/// The whitespace between two tokens.
#[derive(Default)]
struct Between {
    blank: bool,
    newlines: usize,
    tab: bool,
    /// The position of the first line end.
    line_end: usize,
}

impl Between {
    fn add(&mut self, c: char, at: usize) {
        self.blank |= c.is_whitespace();
        self.tab |= c == '\t';
        if matches!(
            c,
            '\n' | '\u{b}' | '\u{c}' | '\u{85}' | '\u{2028}' | '\u{2029}'
        ) {
            if self.newlines == 0 {
                self.line_end = at;
            }
            self.newlines += 1;
        }
    }
}

/// The border before the token at `start`.
fn border(
    text: &str,
    tokens: &[Token],
    between: &Between,
    start: usize,
    vocabulary: &Vocabulary,
) -> Border {
    let Some(last) = tokens.last() else {
        return Border::Block;
    };
    if between.newlines > 1 {
        return Border::Block;
    }
    if between.newlines == 1 {
        if is_bullet(&text[start..]) {
            return Border::Bullet;
        }
        return if continues(text, tokens, between.line_end, start) {
            Border::None
        } else {
            Border::Line
        };
    }
    if ends_sentence(text, tokens, last, between, start, vocabulary) {
        return Border::Sentence;
    }
    if between.tab || last.mark == '|' {
        return Border::Cell;
    }
    Border::None
}

/// Whether a mark before `start` ends a sentence.
fn ends_sentence(
    text: &str,
    tokens: &[Token],
    last: &Token,
    between: &Between,
    start: usize,
    vocabulary: &Vocabulary,
) -> bool {
    let next = text[start..].chars().next().unwrap_or(' ');
    match last.mark {
        // "? pneumonia" asks; "pneumonia?" ends a sentence.
        '?' | '!' => between.blank && !last.spaced && next.is_alphanumeric(),
        '.' => {
            let before = tokens.len().checked_sub(2).map(|index| &tokens[index]);
            let Some(before) = before.filter(|token| token.end == last.start) else {
                return between.blank;
            };
            if before.mark != ' ' {
                return between.blank;
            }
            let word = &text[before.start..before.end];
            if !between.blank {
                // "pain.No cough" ends one, "p.o." and "3.5" do not.
                let small = word.chars().next_back().is_some_and(char::is_lowercase);
                let bullet = next == '-' && text[start + 1..].starts_with(char::is_uppercase);
                return small && word.len() > 2 && (next.is_uppercase() || bullet);
            }
            // "No. 5" is a number; "Fever? No. Cough? Yes." are answers. "Strep neg. Takes
            // ibuprofen prn. No rash." are sentences, "neg. for strep" is not.
            let answers = word.eq_ignore_ascii_case("no") && next.is_alphabetic()
                || next.is_uppercase()
                    && CLIPPED
                        .iter()
                        .any(|clipped| word.eq_ignore_ascii_case(clipped));
            if vocabulary.is_abbreviation(&before.symbols) && !answers {
                return false;
            }
            // Initials ("J. Smith") and "p.o." end a sentence only before a capital.
            let letter = word.chars().count() == 1 && word.chars().all(char::is_alphabetic);
            let inner = text[..before.start].ends_with('.');
            if letter && inner {
                return next.is_uppercase();
            }
            // "1. Hypertension": the number of a list item belongs to what follows.
            let item = word.len() <= 2
                && word.bytes().all(|byte| byte.is_ascii_digit())
                && before.border.ends_sentence();
            !item
        }
        _ => false,
    }
}

/// Whether a line end stands within a sentence: the line was broken to fit a width.
fn continues(text: &str, tokens: &[Token], line_end: usize, next: usize) -> bool {
    let Some(last) = tokens.last() else {
        return false;
    };
    if matches!(last.mark, '.' | '!' | ':' | ';') {
        return false;
    }
    if last.mark == ',' {
        return true;
    }
    // "No fever, chills, or" goes on below.
    let word = &text[last.start..last.end];
    let joins = JOINTS.iter().any(|joint| word.eq_ignore_ascii_case(joint));
    if joins && text[next..].starts_with(char::is_lowercase) {
        return true;
    }
    // Only the nearest bytes of the line count: a longer line was not broken.
    let from = line_end.saturating_sub(MAX_WRAPPED);
    let bytes = &text.as_bytes()[from..line_end];
    let width = bytes
        .iter()
        .rev()
        .take_while(|byte| **byte != b'\n')
        .count();
    let small = text[next..].starts_with(|c: char| c.is_lowercase() || c.is_ascii_digit());
    let fits = (MIN_WRAPPED..MAX_WRAPPED).contains(&width);
    fits && small
}

/// Whether a dash denies the word right after it, as in "-fever, -cough". `after` is the byte after
/// the dash. At the start of a line it is a bullet, unless the line has another such dash.
fn is_minus(text: &str, start: usize, after: usize, border: Border, spaced: bool) -> bool {
    let opens = |text: &str| text.starts_with(|c: char| c.is_alphabetic());
    let apart = spaced || text[..start].ends_with([',', ';', '(', '/']);
    if !apart || !opens(&text[after..]) {
        return false;
    }
    if !border.starts_line() {
        return true;
    }
    let bytes = &text.as_bytes()[after..text.len().min(after + MAX_WRAPPED)];
    let line = bytes.split(|byte| *byte == b'\n').next().unwrap_or(bytes);
    line.windows(3).any(|three| {
        matches!(three[0], b' ' | b',') && three[1] == b'-' && three[2].is_ascii_alphabetic()
    })
}

/// Whether a line starts with the bullet of a list: "-", "*", "1.", "2)".
pub(super) fn is_bullet(line: &str) -> bool {
    let mut chars = line.chars();
    let Some(first) = chars.next() else {
        return false;
    };
    if matches!(first, '•' | '*' | '·' | '▪' | '●' | '◦' | '–' | '—') {
        return true;
    }
    if first == '-' {
        return chars
            .next()
            .is_some_and(|c| c.is_whitespace() || c.is_alphabetic());
    }
    let digits = line.bytes().take(3).take_while(u8::is_ascii_digit).count();
    let mut rest = line[digits..].chars();
    (1..=2).contains(&digits)
        && matches!(rest.next(), Some('.' | ')'))
        && rest.next().is_none_or(char::is_whitespace)
}

/// The end of the word that starts at `start`. An apostrophe between letters is in the word.
fn word_end(text: &str, start: usize) -> usize {
    let mut chars = text[start..].char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        let inside = c.is_alphanumeric() || is_invisible(c) || is_combining(c);
        let joins = matches!(c, '\'' | '’' | '`')
            && chars.peek().is_some_and(|(_, next)| next.is_alphabetic())
            && !is_elision(&text[start..start + at], &text[start + at + c.len_utf8()..]);
        if !inside && !joins {
            return start + at;
        }
    }
    text.len()
}

/// Whether an apostrophe separates words, as in French "d'infarctus" and "qu'elle". An English
/// "'s" does not.
fn is_elision(before: &str, after: &str) -> bool {
    let mut after = after.chars();
    let possessive = after.next().is_some_and(|c| matches!(c, 's' | 'S'))
        && !after.next().is_some_and(char::is_alphanumeric);
    before.len() <= 2 && !possessive
}

/// The form of a word that rules are compared with: lower case, without accents, apostrophes and
/// possessive "'s".
pub(super) fn normalise(word: &str, out: &mut String) {
    out.clear();
    let word = ["'s", "’s", "'S", "’S"]
        .iter()
        .find_map(|ending| word.strip_suffix(ending))
        .unwrap_or(word);
    for c in word.chars().take(MAX_LETTERS) {
        if out.len() > MAX_WORD {
            return;
        }
        if matches!(c, '\'' | '’' | '`') || is_invisible(c) || is_combining(c) {
            continue;
        }
        for c in c.to_lowercase() {
            match c {
                'à' | 'á' | 'â' | 'ã' | 'ä' | 'å' => out.push('a'),
                'ç' => out.push('c'),
                'è' | 'é' | 'ê' | 'ë' => out.push('e'),
                'ì' | 'í' | 'î' | 'ï' => out.push('i'),
                'ñ' => out.push('n'),
                'ò' | 'ó' | 'ô' | 'õ' | 'ö' => out.push('o'),
                'ù' | 'ú' | 'û' | 'ü' => out.push('u'),
                'ý' | 'ÿ' => out.push('y'),
                'œ' => out.push_str("oe"),
                'æ' => out.push_str("ae"),
                'ß' => out.push_str("ss"),
                c if is_combining(c) => {}
                c => out.push(c),
            }
        }
    }
}

fn is_invisible(c: char) -> bool {
    matches!(
        c,
        '\u{ad}' | '\u{200b}'..='\u{200d}' | '\u{2060}' | '\u{feff}'
    )
}

fn is_combining(c: char) -> bool {
    matches!(c, '\u{300}'..='\u{36f}')
}

/// One form for dashes, apostrophes and question marks.
fn plain_mark(c: char) -> char {
    match c {
        '‐' | '‑' | '‒' | '–' | '—' | '−' => '-',
        '’' | '`' => '\'',
        '¿' | '？' => '?',
        '：' => ':',
        '，' => ',',
        c => c,
    }
}
