//! Tokenization into normalised words and symbols, with the bytes of the original text.

use super::deidentified;
use super::elision::is_elided;
use super::fold::{Class, fold, greek_name, is_greek};

/// The kind of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A run of letters and digits.
    Word,
    /// A single significant symbol: a comma, a bracket, a plus.
    Mark,
    /// A word above the length limit. It has no normalised form, so no name matches it.
    TooLong,
    /// A de-identification placeholder or a tag. No name contains it.
    Hidden,
}

/// The separator before a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Gap {
    /// None, after a word: "TNF" and "α". A mention can neither start nor end between the two.
    Glued,
    /// The apostrophe of an elided word: "d'asthme". A name may have none.
    Elision,
    /// One hyphen, which may be at a line end.
    Hyphen,
    /// Whitespace, dashes, slashes, or a symbol.
    Space,
    /// A border between table cells, which no mention spans.
    Cell,
    /// The start of the text, an empty line or a list bullet, which no mention spans.
    Break,
}

impl Gap {
    /// Whether no mention spans the gap.
    pub fn parts(self) -> bool {
        matches!(self, Gap::Cell | Gap::Break)
    }
}

/// The kind of text that is tokenized.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Source {
    /// A single name, in which several blanks are equal to one.
    Name,
    /// Running text with columns and de-identification placeholders.
    Text,
}

/// A word or symbol.
#[derive(Clone, Copy, Debug)]
pub(super) struct Token {
    /// The first byte in the text.
    pub start: usize,
    /// One past the last byte, without a possessive `'s`.
    pub end: usize,
    /// The range of the normalised form in the string of forms.
    pub key: (usize, usize),
    pub kind: Kind,
    pub gap: Gap,
    /// Bit i is set if character i of the normalised form was upper case, for i < 64.
    pub upper: u64,
    /// Whether a possessive `'s` followed.
    pub possessive: bool,
}

/// Reads the tokens of a text, in time linear in the text.
pub(super) struct Tokens<'t> {
    text: &'t str,
    at: usize,
    source: Source,
    /// The largest normalised word in bytes.
    limit: usize,
    folded: String,
    after_word: bool,
    after_greek: bool,
    /// Whether the last token is an elided word, whose apostrophe was read.
    after_elision: bool,
    /// Whether the last token is punctuation that may be followed by more than one blank.
    after_stop: bool,
    /// Whether the line has cells up to the current position.
    in_row: bool,
    started: bool,
}

/// The current character.
struct Piece {
    class: Class,
    bytes: usize,
    c: char,
}

/// The number of blanks that always separates cells, and makes the line a table row.
const MIN_ROW: usize = 3;
/// The number of blanks that separates cells, except in a line of prose.
const MIN_CELL: usize = 2;
/// The number of bytes of a line that are searched for further cells.
const MAX_ROW: usize = 256;
/// The number of underscores that is a blank to be filled in.
const MIN_RULE: usize = 2;
/// The number of dashes that is a rule or border.
const MIN_DASH_RULE: usize = 3;

/// The characters between two tokens.
#[derive(Default)]
struct Between {
    spaces: bool,
    newlines: usize,
    dashes: usize,
    dash_first: bool,
    dash_after_newline: bool,
    /// Whether there is whitespace after the last line end.
    indented: bool,
    /// The current and the longest run of whitespace.
    run: usize,
    longest_run: usize,
    tab: bool,
    underscores: usize,
    longest_underscores: usize,
}

impl Between {
    fn add(&mut self, class: Class, c: char) {
        match class {
            Class::Accent | Class::Invisible => return,
            Class::Newline => {
                self.newlines += 1;
                self.indented = false;
            }
            Class::Dash => {
                self.dash_first |= self.dashes == 0 && !self.spaces && self.newlines == 0;
                self.dash_after_newline |= self.newlines > 0;
                self.dashes += 1;
            }
            _ => self.spaces = true,
        }
        self.run = if class == Class::Space {
            self.run + 1
        } else {
            0
        };
        self.longest_run = self.longest_run.max(self.run);
        self.indented |= class == Class::Space;
        self.tab |= c == '\t';
        self.underscores = if c == '_' { self.underscores + 1 } else { 0 };
        self.longest_underscores = self.longest_underscores.max(self.underscores);
    }

    fn gap(&self, meets_word: bool) -> Gap {
        if self.newlines > 1 || self.dash_after_newline {
            return Gap::Break;
        }
        match (self.dashes, self.newlines) {
            (1, 0) if !self.spaces => Gap::Hyphen,
            (1, 1) if self.dash_first => Gap::Hyphen,
            (0, 0) if !self.spaces && meets_word => Gap::Glued,
            _ => Gap::Space,
        }
    }

    /// Whether there is a rule, or a blank to be filled in.
    fn has_rule(&self) -> bool {
        self.longest_underscores >= MIN_RULE || self.dashes >= MIN_DASH_RULE
    }

    /// Whether the tokens on both sides are in different cells of a table.
    fn is_row(&self) -> bool {
        self.newlines == 0 && (self.tab || self.longest_run >= MIN_ROW)
    }

    /// Whether the tokens on both sides are in different cells unless the line is prose.
    fn may_be_row(&self) -> bool {
        self.newlines == 0 && self.longest_run >= MIN_CELL
    }
}

impl<'t> Tokens<'t> {
    /// A reader. `limit` is the largest normalised word in bytes.
    pub fn new(text: &'t str, limit: usize, source: Source) -> Self {
        Self {
            text,
            at: 0,
            source,
            limit,
            folded: String::new(),
            after_word: false,
            after_greek: false,
            after_elision: false,
            after_stop: false,
            in_row: false,
            started: false,
        }
    }

    /// The text.
    pub fn text(&self) -> &'t str {
        self.text
    }

    /// The next token. Its normalised form is appended to `keys`.
    pub fn next(&mut self, keys: &mut String) -> Option<Token> {
        let mut between = Between::default();
        let (piece, hidden) = loop {
            let piece = self.piece()?;
            if self.source == Source::Text
                && let Some(end) = deidentified::placeholder_at(self.text, self.at)
            {
                break (piece, Some(end));
            }
            if matches!(piece.class, Class::Letter | Class::Mark) {
                break (piece, None);
            }
            between.add(piece.class, piece.c);
            self.at += piece.bytes;
            self.after_greek &= matches!(piece.class, Class::Accent | Class::Invisible);
        };
        let meets_word = self.after_word && piece.class == Class::Letter;
        let gap = match std::mem::take(&mut self.after_elision) && meets_word {
            true => Gap::Elision,
            false => self.gap(&between, meets_word),
        };
        self.started = true;
        self.after_greek &= gap == Gap::Glued;
        let token = match hidden {
            Some(end) => self.hidden(end, keys),
            None if piece.class == Class::Mark => self.mark(piece, keys),
            None => self.word(piece, keys),
        };
        self.after_word = matches!(token.kind, Kind::Word | Kind::TooLong);
        Some(Token { gap, ..token })
    }

    fn gap(&mut self, between: &Between, meets_word: bool) -> Gap {
        let gap = between.gap(meets_word);
        if !self.started {
            return Gap::Break;
        }
        if self.source == Source::Name || gap == Gap::Break {
            self.in_row &= between.newlines == 0;
            return gap;
        }
        // A cell may continue in an indented line; a line at the margin is another row.
        let next_row = self.in_row && between.newlines > 0 && !between.indented;
        let cell = between.is_row() || between.may_be_row() && !self.is_prose();
        self.in_row =
            between.newlines == 0 && (self.in_row || between.is_row() && !self.after_stop);
        if cell || between.has_rule() || next_row {
            Gap::Cell
        } else {
            gap
        }
    }

    /// Whether a lower-case word follows, in a line without columns.
    fn is_prose(&self) -> bool {
        let after = &self.text[self.at
            ..self
                .text
                .floor_char_boundary(self.at.saturating_add(MAX_ROW))];
        let line = after.split(['\n', '\r']).next().unwrap_or_default();
        !self.in_row
            && line.starts_with(char::is_lowercase)
            && !line.contains('\t')
            && !line.contains("   ")
    }

    fn hidden(&mut self, end: usize, keys: &str) -> Token {
        let start = self.at;
        let key = (keys.len(), keys.len());
        self.at = end;
        self.after_stop = false;
        Token {
            start,
            end,
            key,
            kind: Kind::Hidden,
            gap: Gap::Space,
            upper: 0,
            possessive: false,
        }
    }

    fn mark(&mut self, piece: Piece, keys: &mut String) -> Token {
        let start = self.at;
        let from = keys.len();
        keys.push_str(&self.folded);
        self.at += piece.bytes;
        self.after_stop = matches!(piece.c, '.' | ',' | ';' | ':' | '!' | '?');
        let key = (from, keys.len());
        Token {
            start,
            end: self.at,
            key,
            kind: Kind::Mark,
            gap: Gap::Space,
            upper: 0,
            possessive: false,
        }
    }

    fn word(&mut self, first: Piece, keys: &mut String) -> Token {
        let start = self.at;
        let from = keys.len();
        let mut end = start;
        let mut upper = 0;
        let mut chars = 0;
        let mut kind = Kind::Word;
        let mut possessive = false;
        let mut complete = false;
        // Whether an apostrophe was read: only the first can be that of an elided word.
        let mut elided = self.source == Source::Name;
        self.after_stop = false;
        let mut next = Some(first);
        while let Some(piece) = next {
            match piece.class {
                Class::Letter => {
                    let name = self.lone_greek(&piece);
                    if complete || (name.is_some() && end > start) {
                        break;
                    }
                    complete = name.is_some();
                    self.after_greek = is_greek(piece.c);
                    let form = name.unwrap_or(&self.folded);
                    if keys.len() - from + form.len() > self.limit {
                        kind = Kind::TooLong;
                    }
                    if kind == Kind::Word {
                        keys.push_str(form);
                        let count = form.chars().count();
                        if piece.c.is_uppercase() && name.is_none() {
                            upper |= (chars..chars + count)
                                .filter(|bit| *bit < 64)
                                .fold(0, |mask, bit| mask | 1u64 << bit);
                        }
                        chars += count;
                    }
                    end = self.at + piece.bytes;
                }
                Class::Accent => end = self.at + piece.bytes,
                Class::Invisible => {}
                Class::Apostrophe => match self.after_apostrophe(keys, piece.bytes) {
                    Some(true) => {
                        possessive = true;
                        self.at += piece.bytes + 1;
                        break;
                    }
                    Some(false)
                        if !elided
                            && is_elided(
                                &keys[from..],
                                upper,
                                &self.text[self.at + piece.bytes..],
                            ) =>
                    {
                        self.after_elision = true;
                        self.at += piece.bytes;
                        break;
                    }
                    Some(false) => elided = true,
                    None => break,
                },
                _ => break,
            }
            self.at += piece.bytes;
            next = self.piece();
        }
        if kind == Kind::TooLong {
            keys.truncate(from);
        }
        Token {
            start,
            end,
            key: (from, keys.len()),
            kind,
            gap: Gap::Space,
            upper,
            possessive,
        }
    }

    /// Reads the current character and folds it into `self.folded`.
    fn piece(&mut self) -> Option<Piece> {
        let c = self.text.get(self.at..)?.chars().next()?;
        self.folded.clear();
        let class = if c == '\r' {
            self.carriage_return()
        } else {
            fold(c, &mut self.folded)
        };
        Some(Piece {
            class,
            bytes: c.len_utf8(),
            c,
        })
    }

    /// The class of a carriage return: part of a line end, or a line end of its own.
    fn carriage_return(&self) -> Class {
        let after = self.text.as_bytes().get(self.at + 1..).unwrap_or_default();
        if after.starts_with(b"\n") || after.starts_with(b"\r\n") {
            Class::Space
        } else {
            Class::Newline
        }
    }

    /// The name of a single Greek letter, such as "beta" for "β". `None` beside other Greek
    /// letters: Greek words stay as they are.
    fn lone_greek(&self, piece: &Piece) -> Option<&'static str> {
        if !is_greek(piece.c) || self.after_greek {
            return None;
        }
        let mut scratch = String::new();
        let mut after = self.text.get(self.at + piece.bytes..)?.chars();
        let next = after.find(|c| {
            c.is_ascii() || !matches!(fold(*c, &mut scratch), Class::Accent | Class::Invisible)
        });
        if next.is_some_and(is_greek) {
            None
        } else {
            greek_name(&self.folded)
        }
    }

    /// What follows an apostrophe: `true` for a possessive "s" that ends the word, `false` for
    /// further letters, `None` if the word ends before the apostrophe.
    fn after_apostrophe(&self, keys: &str, bytes: usize) -> Option<bool> {
        let mut after = self.text.get(self.at + bytes..)?.chars();
        let next = after.next().filter(|c| c.is_alphabetic())?;
        keys.chars().next_back().filter(|c| c.is_alphabetic())?;
        Some(matches!(next, 's' | 'S') && !after.next().is_some_and(char::is_alphanumeric))
    }
}

/// Punctuation that is removed at the end of a name.
pub(super) const STOPS: [char; 4] = ['.', ',', ';', ':'];

/// Whether a blank separates two adjacent tokens in a normalised name.
pub(super) fn needs_blank(before: Kind, after: Kind) -> bool {
    before != Kind::Mark && after != Kind::Mark
}

/// Normalises a name for comparison.
///
/// Compatibility forms, case and accents are folded. A single Greek letter is spelt out. Hyphens,
/// dashes, slashes and whitespace between words become one blank. Apostrophes, a possessive `'s`,
/// and punctuation at the end are removed.
///
/// ```
/// use pel_text::detect::normalise_name;
///
/// assert_eq!(normalise_name("Sjögren’s–syndrome"), "sjogren syndrome");
/// assert_eq!(normalise_name("TNF-α  Blocker"), "tnf alpha blocker");
/// ```
pub fn normalise_name(name: &str) -> String {
    let mut tokens = Tokens::new(name, usize::MAX, Source::Name);
    let mut normalised = String::with_capacity(name.len());
    let mut key = String::new();
    let mut before = Kind::Mark;
    while let Some(token) = tokens.next(&mut key) {
        if needs_blank(before, token.kind) {
            normalised.push(' ');
        }
        normalised.push_str(&key);
        key.clear();
        before = token.kind;
    }
    normalised.truncate(normalised.trim_end_matches(STOPS).len());
    normalised
}
