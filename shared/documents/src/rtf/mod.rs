//! RTF: the text of the body, in the code page of each font.
//!
//! Own reader: rtf-parser 0.4 (MIT) reads `\'hh` in one code page, whatever `\ansicpg` and the font
//! say, and knows no fields, deleted or hidden text; rtf-grimoire has had no release since 2018.
//! Groups nest to a bound and the work is linear.

mod symbols;

use crate::document::Document;
use crate::flow::Flow;
use encoding_rs::{Encoding, WINDOWS_1252};
use pel_kb::error::{Error, Result};
use std::collections::HashMap;
use symbols::{charset, code_page, symbol};

/// The largest number of open groups.
const DEEPEST: usize = 1_000;

/// Destinations whose content is not text of the body.
const UNSEEN: [&str; 42] = [
    "aftncn",
    "aftnsep",
    "aftnsepc",
    "annotation",
    "atnauthor",
    "atnid",
    "atnref",
    "bkmkend",
    "bkmkstart",
    "colortbl",
    "comment",
    "datafield",
    "datastore",
    "filetbl",
    "fldinst",
    "footer",
    "footerf",
    "footerl",
    "footerr",
    "ftncn",
    "ftnsep",
    "ftnsepc",
    "generator",
    "header",
    "headerf",
    "headerl",
    "headerr",
    "listoverridetable",
    "listtable",
    "nonshppict",
    "objclass",
    "objdata",
    "pict",
    "pntext",
    "revtbl",
    "rsidtbl",
    "rxe",
    "stylesheet",
    "tc",
    "template",
    "themedata",
    "xe",
];

/// Reads a document.
///
/// # Errors
/// If it does not begin as RTF, nests too deep, or has no text.
pub(crate) fn read(bytes: &[u8]) -> Result<Document> {
    let start = bytes
        .iter()
        .position(|byte| !byte.is_ascii_whitespace())
        .unwrap_or(0);
    let start = match bytes[start..].strip_prefix("\u{feff}".as_bytes()) {
        Some(_) => start + 3,
        None => start,
    };
    if !bytes[start..].starts_with(b"{\\rtf") {
        return Err(Error::input(
            "expected RTF, which begins with {\\rtf; name the format that the file has",
        ));
    }
    let mut reader = Reader::new(&bytes[start..]);
    reader.run()?;
    let title = reader.info.remove("title");
    let author = reader.info.remove("author");
    let (text, sections) = reader.flow.finish();
    if text.is_empty() {
        return Err(Error::input(
            "the RTF has no text; does it have pictures alone?",
        ));
    }
    Ok(Document {
        text,
        sections,
        title: title.and_then(|title| words(&title)),
        author: author.and_then(|author| words(&author)),
        ..Document::default()
    })
}

fn words(text: &str) -> Option<String> {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    (!line.is_empty()).then_some(line)
}

/// What characters of a group are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Destination {
    /// Text of the body.
    Body,
    /// The table of fonts.
    Fonts,
    /// The title or the author.
    Info(&'static str),
    /// Nothing that is shown.
    Unseen,
}

/// The state of a group.
#[derive(Clone, Copy, Debug)]
struct State {
    destination: Destination,
    /// Whether text is hidden or deleted.
    hidden: bool,
    /// The encoding of the font.
    encoding: &'static Encoding,
    /// The characters that follow a `\u` for readers that do not know it.
    fallback: usize,
}

struct Reader<'b> {
    bytes: &'b [u8],
    at: usize,
    flow: Flow,
    state: State,
    outer: Vec<State>,
    /// The encoding of the document.
    default: &'static Encoding,
    /// The encoding of each font.
    fonts: HashMap<i32, &'static Encoding>,
    /// The font whose row of the table is read.
    font: i32,
    /// Bytes of the body that are not decoded yet.
    pending: Vec<u8>,
    /// The characters to leave out behind a `\u`.
    skipped: usize,
    /// The first half of a character beyond U+FFFF.
    high: Option<u16>,
    info: HashMap<&'static str, String>,
    /// Whether the next control word names a destination that may be unknown.
    starred: bool,
}

impl<'b> Reader<'b> {
    fn new(bytes: &'b [u8]) -> Self {
        Self {
            bytes,
            at: 0,
            flow: Flow::default(),
            state: State {
                destination: Destination::Body,
                hidden: false,
                encoding: WINDOWS_1252,
                fallback: 1,
            },
            outer: Vec::new(),
            default: WINDOWS_1252,
            fonts: HashMap::new(),
            font: 0,
            pending: Vec::new(),
            skipped: 0,
            high: None,
            info: HashMap::new(),
            starred: false,
        }
    }

    /// Reads to the end of the outermost group.
    fn run(&mut self) -> Result<()> {
        while let Some(byte) = self.bytes.get(self.at).copied() {
            self.at += 1;
            match byte {
                b'{' => {
                    self.flush();
                    self.skipped = 0;
                    if self.outer.len() >= DEEPEST {
                        return Err(Error::input(format!(
                            "expected at most {DEEPEST} RTF groups within one another, found more"
                        )));
                    }
                    self.outer.push(self.state);
                }
                b'}' => {
                    self.flush();
                    self.skipped = 0;
                    match self.outer.pop() {
                        Some(state) => self.state = state,
                        None => break,
                    }
                    if self.outer.is_empty() {
                        break;
                    }
                }
                b'\\' => self.control(),
                // Line ends of the file mean nothing.
                b'\r' | b'\n' => {}
                byte => self.byte(byte),
            }
        }
        self.flush();
        Ok(())
    }

    /// A byte of a character.
    fn byte(&mut self, byte: u8) {
        if self.skipped > 0 {
            self.skipped -= 1;
            return;
        }
        self.starred = false;
        self.pending.push(byte);
    }

    /// Decodes the bytes so far.
    fn flush(&mut self) {
        if self.pending.is_empty() {
            return;
        }
        let bytes = std::mem::take(&mut self.pending);
        let (text, _) = self.state.encoding.decode_without_bom_handling(&bytes);
        self.write(&text);
    }

    fn write(&mut self, text: &str) {
        match self.state.destination {
            Destination::Body if !self.state.hidden => self.flow.verbatim(text),
            Destination::Info(name) => self.info.entry(name).or_default().push_str(text),
            _ => {}
        }
    }

    /// What follows a backslash.
    fn control(&mut self) {
        let Some(byte) = self.bytes.get(self.at).copied() else {
            return;
        };
        if byte.is_ascii_alphabetic() {
            return self.word();
        }
        self.at += 1;
        match byte {
            b'\'' => {
                let digits = self.bytes.get(self.at..self.at + 2).unwrap_or_default();
                let digits = std::str::from_utf8(digits).unwrap_or_default();
                if let Ok(code) = u8::from_str_radix(digits, 16) {
                    self.at += 2;
                    self.byte(code);
                }
            }
            b'*' => self.starred = true,
            b'\\' | b'{' | b'}' => self.byte(byte),
            b'~' => self.shown(" "),
            b'_' => self.shown("-"),
            b'\r' | b'\n' => self.line(),
            b'\t' => self.shown("\t"),
            // The optional hyphen is not shown.
            _ => {}
        }
    }

    /// Writes a character that is no byte, unless it stands for a `\u`.
    fn shown(&mut self, text: &str) {
        if self.skipped > 0 {
            self.skipped -= 1;
            return;
        }
        self.flush();
        self.write(text);
    }

    fn line(&mut self) {
        self.flush();
        if self.state.destination == Destination::Body && !self.state.hidden {
            self.flow.brk();
        }
    }

    /// A control word with its number.
    fn word(&mut self) {
        let rest = &self.bytes[self.at..];
        let letters = rest
            .iter()
            .take(32)
            .take_while(|byte| byte.is_ascii_alphabetic())
            .count();
        let name = std::str::from_utf8(&rest[..letters]).unwrap_or_default();
        let mut end = letters;
        if rest.get(end) == Some(&b'-') {
            end += 1;
        }
        end += rest[end..]
            .iter()
            .take(10)
            .take_while(|byte| byte.is_ascii_digit())
            .count();
        let number = std::str::from_utf8(&rest[letters..end]).unwrap_or_default();
        let number: Option<i32> = number.parse().ok();
        if number.is_none() {
            end = letters;
        }
        self.at += end;
        if self.bytes.get(self.at) == Some(&b' ') {
            self.at += 1;
        }
        let starred = std::mem::take(&mut self.starred);
        if name == "bin" {
            // Bytes that are not RTF.
            let length = usize::try_from(number.unwrap_or(0)).unwrap_or(0);
            self.at = (self.at + length).min(self.bytes.len());
            return;
        }
        self.act(name, number, starred);
    }

    fn act(&mut self, name: &str, number: Option<i32>, starred: bool) {
        if let Some(text) = symbol(name) {
            return self.shown(text);
        }
        if name != "u" {
            self.flush();
        }
        match name {
            "u" => self.unicode(number.unwrap_or(0)),
            "uc" => self.state.fallback = usize::try_from(number.unwrap_or(1)).unwrap_or(1).min(16),
            "par" | "line" | "sect" | "page" | "softline" => self.line(),
            "cell" | "nestcell" => self.write("\t"),
            "row" | "nestrow" if self.state.destination == Destination::Body => self.flow.line(),
            "row" | "nestrow" => {}
            "ansi" => self.set_default(WINDOWS_1252),
            "mac" => self.set_default(encoding_rs::MACINTOSH),
            "ansicpg" => {
                if let Some(encoding) = number.and_then(code_page) {
                    self.set_default(encoding);
                }
            }
            "f" if self.state.destination == Destination::Fonts => self.font = number.unwrap_or(0),
            "f" => self.state.encoding = self.encoding_of(number.unwrap_or(0)),
            "fcharset" if self.state.destination == Destination::Fonts => {
                if let Some(encoding) = number.and_then(charset) {
                    self.fonts.insert(self.font, encoding);
                }
            }
            "plain" => {
                self.state.hidden = false;
                self.state.encoding = self.default;
            }
            "v" | "deleted" => self.state.hidden = number != Some(0),
            "fonttbl" => self.state.destination = Destination::Fonts,
            "info" => self.state.destination = Destination::Unseen,
            "title" if !self.outer.is_empty() => self.enter_info("title"),
            "author" if !self.outer.is_empty() => self.enter_info("author"),
            name if UNSEEN.binary_search(&name).is_ok() => {
                self.state.destination = Destination::Unseen;
            }
            // A shape's text is shown.
            "shpinst" | "shptxt" => {}
            _ if starred => self.state.destination = Destination::Unseen,
            _ => {}
        }
    }

    /// The title or the author, which stand in the group of `\info`.
    fn enter_info(&mut self, name: &'static str) {
        if self.state.destination == Destination::Unseen {
            self.state.destination = Destination::Info(name);
        }
    }

    fn set_default(&mut self, encoding: &'static Encoding) {
        self.default = encoding;
        self.state.encoding = encoding;
    }

    fn encoding_of(&self, font: i32) -> &'static Encoding {
        self.fonts.get(&font).copied().unwrap_or(self.default)
    }

    /// A UTF-16 unit, with the characters behind it that stand for it.
    fn unicode(&mut self, number: i32) {
        if self.skipped == 0 {
            self.flush();
        }
        // Units above 32,767 are written as negative numbers.
        let unit = (number & 0xffff) as u16;
        match (self.high.take(), unit) {
            (_, 0xd800..=0xdbff) => self.high = Some(unit),
            (high, unit) => {
                let units = high.into_iter().chain([unit]);
                for c in char::decode_utf16(units).flatten() {
                    // Symbol fonts have their codes there.
                    let c = match c {
                        '\u{f020}'..='\u{f0ff}' => {
                            crate::pdf::symbol((u32::from(c) & 0xff) as u8).unwrap_or(' ')
                        }
                        c => c,
                    };
                    self.write(c.encode_utf8(&mut [0; 4]));
                }
            }
        }
        self.skipped = self.state.fallback;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(rtf: &str) -> String {
        read(rtf.as_bytes()).expect("readable").text
    }

    #[test]
    fn names_of_destinations_are_in_order() {
        assert!(UNSEEN.is_sorted());
    }

    #[test]
    fn paragraphs_tabs_and_cells_are_read() {
        assert_eq!(
            text(
                "{\\rtf1\\ansi\\deff0{\\fonttbl{\\f0\\fswiss Arial;}}{\\colortbl;\\red0;}\
                 {\\*\\generator Word}\\pard\\plain\\f0 Labs\\par\\par No {\\b fe}ver\\line no\\tab \
                 cough\\par\r\n\\trowd\\cellx1 Na\\cell 140\\cell\\row\\trowd K\\cell 4\\cell\\row x}"
            ),
            "Labs\n\nNo fever\nno\tcough\nNa\t140\nK\t4\nx"
        );
    }

    #[test]
    fn characters_are_those_of_code_page_and_font() {
        assert_eq!(
            text("{\\rtf1\\ansi\\ansicpg1252 Fi\\'e8vre \\u233?t\\u-4064?}"),
            "Fièvre ét"
        );
        assert_eq!(
            text(
                "{\\rtf1\\ansi\\ansicpg1252{\\fonttbl{\\f0 A;}{\\f1\\fcharset238 B;}}\\f0\\'b9\\f1\\'b9}"
            ),
            "¹ą"
        );
        assert_eq!(
            text("{\\rtf1\\ansi\\ansicpg932 \\'93\\'fa\\'96\\'7b}"),
            "日本"
        );
        assert_eq!(
            text("{\\rtf1\\uc2\\u945 ab\\u55357 xx\\u56876 xx{\\uc0\\u946}c}"),
            "α😬βc"
        );
        assert_eq!(
            text("{\\rtf1 \\ldblquote a\\rdblquote\\emdash b\\~c\\_d\\-e\\{f\\}}"),
            "“a”—b c-de{f}"
        );
    }

    #[test]
    fn what_is_not_shown_is_left_out() {
        assert_eq!(
            text(
                "{\\rtf1{\\info{\\title Op note}{\\author Ann Roe}{\\doccomm x}}{\\header x}\
                 {\\*\\unknown x}a{\\v x}{\\deleted x}{\\pict 0102}{\\field{\\*\\fldinst PAGE}\
                 {\\fldrslt b}}\\bin3 }{x c}"
            ),
            "ab c"
        );
        let found =
            read(b"{\\rtf1{\\info{\\title Op note}{\\author Ann Roe}}a}").expect("readable");
        assert_eq!(found.title.as_deref(), Some("Op note"));
        assert_eq!(found.author.as_deref(), Some("Ann Roe"));
    }

    #[test]
    fn other_bytes_deep_groups_and_pictures_are_errors() {
        let deep = format!("{{\\rtf1 {}", "{".repeat(2_000));
        for (bytes, why) in [
            ("note", "begins with {\\rtf"),
            (&*deep, "within one another"),
            ("{\\rtf1{\\pict 00}}", "no text"),
        ] {
            let error = read(bytes.as_bytes()).expect_err(bytes).to_string();
            assert!(error.contains(why), "{error}");
        }
        // A cut document is read as far as it goes.
        assert_eq!(text("{\\rtf1 Gout {\\b and"), "Gout and");
    }
}
