//! Words of a text in normalised form, each with the bytes of the original that it came from.

use super::deidentified;
use super::fold::{Class, fold, greek_name, is_greek};

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Letters and digits.
    Word,
    /// One other sign that counts: a comma, a bracket, a plus.
    Mark,
    /// A word longer than the limit; its form was not kept and no name can match it.
    TooLong,
    /// A de-identification mark or a tag, as one token: it stands in a name's place and is no part of any.
    Hidden,
}

/// What stands before a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Gap {
    /// Nothing, and the token before is a word: "TNF" and "α". No mention may end or begin here.
    Glued,
    /// One hyphen, perhaps at the end of a line.
    Hyphen,
    /// White space, dashes, slashes, or a mark.
    Space,
    /// The border between two cells of a line: no mention runs across.
    Cell,
    /// The start of the text, an empty line or a list bullet: no mention runs across.
    Break,
}

impl Gap {
    /// Whether no mention runs across.
    pub fn parts(self) -> bool {
        matches!(self, Gap::Cell | Gap::Break)
    }
}

/// What the characters are: a name by itself, or running text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Source {
    /// One name: however many blanks it has, they are blanks between its words.
    Name,
    /// A note: it has columns and de-identification marks.
    Text,
}

/// A word or mark.
#[derive(Clone, Copy, Debug)]
pub(super) struct Token {
    /// The first byte in the original text.
    pub start: usize,
    /// One past the last byte; a possessive `'s` is left out.
    pub end: usize,
    /// Where the normalised form begins and ends in the string that tokens are written to.
    pub key: (usize, usize),
    pub kind: Kind,
    pub gap: Gap,
    /// Bit i: character i of the normalised form was upper case. Characters beyond the 64th have no bit.
    pub upper: u64,
    /// Whether a possessive `'s` followed.
    pub possessive: bool,
}

/// Reads the tokens of a text one by one, in time linear in the text.
pub(super) struct Tokens<'t> {
    text: &'t str,
    at: usize,
    source: Source,
    /// Most bytes of a word's normalised form.
    limit: usize,
    folded: String,
    after_word: bool,
    after_greek: bool,
    /// Whether the last token is a mark that ends a clause: writers put more than one blank after it.
    after_stop: bool,
    /// Whether the line has cells so far.
    in_row: bool,
    started: bool,
}

/// The character at the reading position.
struct Piece {
    class: Class,
    bytes: usize,
    c: char,
}

/// Blanks that part cells wherever they stand, and make a line a row of a table.
const MIN_ROW: usize = 3;
/// Blanks that part cells unless they are a slip of the thumb, or justify a line of prose.
const MIN_CELL: usize = 2;
/// Most bytes of a line that are looked at for further cells.
const MAX_ROW: usize = 256;
/// Underscores that are a blank to be filled in.
const MIN_RULE: usize = 2;
/// Dashes that are a rule or a border.
const MIN_DASH_RULE: usize = 3;

/// What was seen between two tokens.
#[derive(Default)]
struct Between {
    spaces: bool,
    newlines: usize,
    dashes: usize,
    dash_first: bool,
    dash_after_newline: bool,
    /// White space after the last line end.
    indented: bool,
    /// The white space since the last other sign, and the longest such run of the line.
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
        self.run = if class == Class::Space { self.run + 1 } else { 0 };
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

    /// Whether the signs are a rule, or a blank to be filled in.
    fn has_rule(&self) -> bool {
        self.longest_underscores >= MIN_RULE || self.dashes >= MIN_DASH_RULE
    }

    /// Whether what stands on both sides is in different cells of a table.
    fn is_row(&self) -> bool {
        self.newlines == 0 && (self.tab || self.longest_run >= MIN_ROW)
    }

    /// Whether it may be.
    fn may_be_row(&self) -> bool {
        self.newlines == 0 && self.longest_run >= MIN_CELL
    }
}

impl<'t> Tokens<'t> {
    /// A reader whose words have at most `limit` bytes.
    pub fn new(text: &'t str, limit: usize, source: Source) -> Self {
        let folded = String::new();
        let (after_word, after_greek, after_stop, in_row, started) = (false, false, false, false, false);
        Self { text, at: 0, source, limit, folded, after_word, after_greek, after_stop, in_row, started }
    }

    /// The text that is read.
    pub fn text(&self) -> &'t str {
        self.text
    }

    /// The next token; its normalised form is appended to `keys`.
    pub fn next(&mut self, keys: &mut String) -> Option<Token> {
        let mut between = Between::default();
        let (piece, hidden) = loop {
            let piece = self.piece()?;
            if self.source == Source::Text
                && let Some(end) = deidentified::mark_at(self.text, self.at)
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
        let gap = self.gap(&between, meets_word);
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
        // A cell may go on in the next line, indented; what begins at the margin is another row.
        let next_row = self.in_row && between.newlines > 0 && !between.indented;
        let cell = between.is_row() || between.may_be_row() && !self.is_prose();
        self.in_row = between.newlines == 0 && (self.in_row || between.is_row() && !self.after_stop);
        if cell || between.has_rule() || next_row { Gap::Cell } else { gap }
    }

    /// Whether a word in lower case goes on, in a line without columns.
    fn is_prose(&self) -> bool {
        let after = &self.text[self.at..self.text.floor_char_boundary(self.at.saturating_add(MAX_ROW))];
        let line = after.split(['\n', '\r']).next().unwrap_or_default();
        !self.in_row && line.starts_with(char::is_lowercase) && !line.contains('\t') && !line.contains("   ")
    }

    fn hidden(&mut self, end: usize, keys: &str) -> Token {
        let (start, key) = (self.at, (keys.len(), keys.len()));
        self.at = end;
        self.after_stop = false;
        Token { start, end, key, kind: Kind::Hidden, gap: Gap::Space, upper: 0, possessive: false }
    }

    fn mark(&mut self, piece: Piece, keys: &mut String) -> Token {
        let (start, from) = (self.at, keys.len());
        keys.push_str(&self.folded);
        self.at += piece.bytes;
        self.after_stop = matches!(piece.c, '.' | ',' | ';' | ':' | '!' | '?');
        let key = (from, keys.len());
        Token { start, end: self.at, key, kind: Kind::Mark, gap: Gap::Space, upper: 0, possessive: false }
    }

    fn word(&mut self, first: Piece, keys: &mut String) -> Token {
        let (start, from) = (self.at, keys.len());
        let (mut end, mut upper, mut chars) = (start, 0, 0);
        let (mut kind, mut possessive, mut complete) = (Kind::Word, false, false);
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
                            upper |=
                                (chars..chars + count).filter(|bit| *bit < 64).fold(0, |mask, bit| mask | 1u64 << bit);
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
                    Some(false) => {}
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
        Token { start, end, key: (from, keys.len()), kind, gap: Gap::Space, upper, possessive }
    }

    /// Reads the character at the position into `self.folded`.
    fn piece(&mut self) -> Option<Piece> {
        let c = self.text.get(self.at..)?.chars().next()?;
        self.folded.clear();
        let class = if c == '\r' { self.carriage_return() } else { fold(c, &mut self.folded) };
        Some(Piece { class, bytes: c.len_utf8(), c })
    }

    /// What the carriage return at the position is: part of a line end, or one by itself.
    fn carriage_return(&self) -> Class {
        let after = self.text.as_bytes().get(self.at + 1..).unwrap_or_default();
        if after.starts_with(b"\n") || after.starts_with(b"\r\n") { Class::Space } else { Class::Newline }
    }

    /// The name of the Greek letter at the position if no Greek letter stands beside it: "β" is "beta", but words of
    /// the Greek language are left alone.
    fn lone_greek(&self, piece: &Piece) -> Option<&'static str> {
        if !is_greek(piece.c) || self.after_greek {
            return None;
        }
        let mut scratch = String::new();
        let mut after = self.text.get(self.at + piece.bytes..)?.chars();
        let next = after.find(|c| c.is_ascii() || !matches!(fold(*c, &mut scratch), Class::Accent | Class::Invisible));
        if next.is_some_and(is_greek) { None } else { greek_name(&self.folded) }
    }

    /// After the apostrophe at the position: `true` if a possessive "s" ends the word, `false` if letters go on, `None`
    /// if the word ends before the apostrophe.
    fn after_apostrophe(&self, keys: &str, bytes: usize) -> Option<bool> {
        let mut after = self.text.get(self.at + bytes..)?.chars();
        let next = after.next().filter(|c| c.is_alphabetic())?;
        keys.chars().next_back().filter(|c| c.is_alphabetic())?;
        Some(matches!(next, 's' | 'S') && !after.next().is_some_and(char::is_alphanumeric))
    }
}

/// Signs that do not belong to a name when they end it.
pub(super) const STOPS: [char; 4] = ['.', ',', ';', ':'];

/// Whether a blank parts two neighbouring tokens in a normalised name.
pub(super) fn needs_blank(before: Kind, after: Kind) -> bool {
    before != Kind::Mark && after != Kind::Mark
}

/// The form under which names are compared: compatibility forms, case and accents folded; a lone Greek letter spelt
/// out; hyphens, dashes, slashes and white space as one blank between words; apostrophes, a possessive `'s`, and full
/// stops and commas at the end dropped.
///
/// ```
/// use pel_shared::detect::normalise_name;
/// assert_eq!(normalise_name("Sjögren’s–syndrome"), "sjogren syndrome");
/// assert_eq!(normalise_name("TNF-α  Blocker"), "tnf alpha blocker");
/// ```
pub fn normalise_name(name: &str) -> String {
    let mut tokens = Tokens::new(name, usize::MAX, Source::Name);
    let (mut normalised, mut key, mut before) = (String::with_capacity(name.len()), String::new(), Kind::Mark);
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
