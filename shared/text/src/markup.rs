//! Markup in notes: escapes and entities are read as what they stand for, and whole documents in
//! another format are refused.
//!
//! What is read has the bytes of the note at the same places, so that spans hold for both. An
//! escape becomes the character that it stands for, filled up with characters without a glyph.

mod entities;

use super::Span;
use super::detect::Detected;
use entities::ENTITIES;
use pel_kb::error::{Error, Result};
use std::borrow::Cow;

/// Characters without a glyph, of 2 and 3 bytes.
const FILLERS: [&str; 2] = ["\u{ad}", "\u{200b}"];

/// The longest escape in bytes.
const MAX_ESCAPE: usize = 32;

/// Elements of HTML before or after which a line ends.
const LINES: [&str; 18] = [
    "blockquote",
    "br",
    "dd",
    "div",
    "dt",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "hr",
    "li",
    "ol",
    "p",
    "table",
    "tr",
    "ul",
];

/// Elements that begin a text in HTML or XML. Others may be in a note ("<b>Gout</b>").
const DOCUMENTS: [&str; 20] = [
    "article",
    "body",
    "center",
    "clinicaldocument",
    "component",
    "div",
    "h1",
    "h2",
    "h3",
    "head",
    "html",
    "li",
    "meta",
    "ol",
    "p",
    "section",
    "style",
    "table",
    "title",
    "ul",
];

/// Segments of HL7 v2 messages with results and notes.
const SEGMENTS: [&str; 12] = [
    "EVN", "MSH", "NK1", "NTE", "OBR", "OBX", "ORC", "PID", "PV1", "PV2", "RXA", "TXA",
];

/// A text as it is read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Readable<'t> {
    /// The text, with as many bytes as the note.
    pub text: Cow<'t, str>,
    /// Escapes that stand for a letter, in the order of the text.
    letters: Vec<Span>,
}

impl<'t> Readable<'t> {
    /// Reads the escapes of a note: those of HL7 v2 (`\.br\`, `\T\`), a literal `\n` or `\r\n`,
    /// entities (`&nbsp;`, `&#233;`) and line ends of HTML (`<br>`). Time is linear in the text.
    pub fn new(note: &'t str) -> Self {
        let mut readable = Self {
            text: Cow::Borrowed(note),
            letters: Vec::new(),
        };
        let (mut read, mut copied, mut at) = (String::new(), 0, 0);
        while let Some(next) = note[at..].find(['\\', '&', '<']) {
            let start = at + next;
            let Some((bytes, becomes)) = escape(&note[start..]) else {
                at = start + 1;
                continue;
            };
            read.push_str(&note[copied..start]);
            read.push_str(&becomes);
            if becomes.starts_with(char::is_alphanumeric) {
                readable.letters.push(Span::new(start, start + bytes));
            }
            at = start + bytes;
            copied = at;
        }
        if copied > 0 {
            read.push_str(&note[copied..]);
            readable.text = Cow::Owned(read);
        }
        readable
    }

    /// As [`Readable::new`], for texts that are notes.
    ///
    /// # Errors
    /// If the text is RTF, HTML, XML or an HL7 v2 message.
    pub fn of_note(note: &'t str) -> Result<Self> {
        match document_format(note) {
            Some(format) => Err(Error::input(format!(
                "expected a note in plain text, found {format}, whose codes would be read as \
                 words; convert it to plain text first"
            ))),
            None => Ok(Self::new(note)),
        }
    }

    /// A span that does not end within an escape.
    pub fn whole(&self, span: Span) -> Span {
        let at = self.letters.partition_point(|letter| letter.end < span.end);
        match self.letters.get(at) {
            Some(letter) if letter.start < span.end => Span::new(span.start, letter.end),
            _ => span,
        }
    }

    /// Mentions that do not end within an escape.
    pub fn whole_mentions(&self, mut mentions: Vec<Detected>) -> Vec<Detected> {
        for mention in &mut mentions {
            mention.span = self.whole(mention.span);
            for piece in &mut mention.fragments {
                *piece = self.whole(*piece);
            }
        }
        mentions
    }
}

/// The bytes of the escape at the start of a text, and what it becomes.
fn escape(text: &str) -> Option<(usize, String)> {
    let head = &text[..text.floor_char_boundary(MAX_ESCAPE)];
    match head.as_bytes().first()? {
        b'\\' => hl7_escape(head),
        b'&' => entity(head),
        _ => line_tag(head),
    }
}

/// The escape of HL7 v2, or the literal line end, at the start of a text.
fn hl7_escape(text: &str) -> Option<(usize, String)> {
    for literal in ["\\r\\n", "\\n"] {
        if text.starts_with(literal) {
            return Some((literal.len(), line_end(literal.len())));
        }
    }
    let (inside, _) = text.get(1..)?.split_once('\\')?;
    let bytes = inside.len() + 2;
    let becomes = match inside {
        "F" => filled("|", bytes)?,
        "S" => filled("^", bytes)?,
        "T" => filled("&", bytes)?,
        "R" => filled("~", bytes)?,
        "E" => filled("\\", bytes)?,
        "H" | "N" => filled("", bytes)?,
        "X0A" | "X0D" | "X0D0A" => line_end(bytes),
        _ => {
            let command = inside.strip_prefix('.')?;
            let (name, count) = command.split_at_checked(2)?;
            let count = count.trim_start_matches(['+', '-']);
            let is_count = count.len() <= 3 && count.bytes().all(|byte| byte.is_ascii_digit());
            match name {
                "sk" if is_count => filled(" ", bytes)?,
                "br" | "sp" | "ce" | "fi" | "in" | "nf" | "ti" if is_count => line_end(bytes),
                _ => return None,
            }
        }
    };
    Some((bytes, becomes))
}

/// The entity at the start of a text, or an escaped `<br>`.
fn entity(text: &str) -> Option<(usize, String)> {
    for tag in ["&lt;br&gt;", "&lt;br/&gt;", "&lt;br /&gt;"] {
        if text.starts_with(tag) {
            return Some((tag.len(), line_end(tag.len())));
        }
    }
    let (name, _) = text.get(1..)?.split_once(';')?;
    let bytes = name.len() + 2;
    let c = match name.strip_prefix('#') {
        Some(number) => {
            let hexadecimal = number.strip_prefix(['x', 'X']);
            let code = match hexadecimal {
                Some(digits) => u32::from_str_radix(digits, 16),
                None => number.parse(),
            };
            char::from_u32(code.ok()?)?
        }
        None => named_entity(name)?,
    };
    match c {
        '\n' | '\r' => Some((bytes, line_end(bytes))),
        c if c.is_whitespace() => Some((bytes, filled(" ", bytes)?)),
        c if c.is_control() => None,
        c => Some((bytes, filled(c.encode_utf8(&mut [0; 4]), bytes)?)),
    }
}

/// The character of an entity with a name. "Eacute" is the capital of "eacute".
fn named_entity(name: &str) -> Option<char> {
    let find = |name: &str| {
        let at = ENTITIES.binary_search_by_key(&name, |(known, _)| *known);
        at.ok().map(|at| ENTITIES[at].1)
    };
    find(name).or_else(|| {
        let lower = find(&name.to_ascii_lowercase()).filter(|c| c.is_alphabetic())?;
        let is_capital = name.starts_with(|c: char| c.is_ascii_uppercase());
        let mut capital = lower.to_uppercase();
        let first = capital.next().filter(|_| is_capital && name.len() > 2)?;
        capital.next().is_none().then_some(first)
    })
}

/// The tag of HTML at the start of a text that ends a line: `<br>`, `</p>`, `<LI>`.
fn line_tag(text: &str) -> Option<(usize, String)> {
    let (inside, _) = text.get(1..)?.split_once('>')?;
    let name = inside.strip_prefix('/').unwrap_or(inside);
    let name = name.strip_suffix('/').unwrap_or(name).trim_end();
    let bytes = inside.len() + 2;
    LINES
        .binary_search(&name.to_ascii_lowercase().as_str())
        .ok()
        .map(|_| (bytes, line_end(bytes)))
}

/// A line end of some bytes.
fn line_end(bytes: usize) -> String {
    format!("{:>bytes$}", '\n')
}

/// A text filled up to some bytes; `None` if no characters fit.
fn filled(text: &str, bytes: usize) -> Option<String> {
    let mut filled = text.to_owned();
    let mut rest = bytes.checked_sub(text.len()).filter(|rest| *rest != 1)?;
    if rest % 2 == 1 {
        filled.push_str(FILLERS[1]);
        rest -= FILLERS[1].len();
    }
    filled.push_str(&FILLERS[0].repeat(rest / FILLERS[0].len()));
    Some(filled)
}

/// The format of a text that is a document of another format; `None` for notes, also with a few
/// tags.
fn document_format(text: &str) -> Option<&'static str> {
    let start = text.trim_start_matches(|c: char| c.is_whitespace() || c == '\u{feff}');
    if start.starts_with("{\\rtf") {
        return Some("RTF");
    }
    if let Some(tag) = start.strip_prefix('<') {
        return markup_language(start, tag);
    }
    // Carriage returns separate segments.
    let is_segment = |line: &str| {
        let (name, fields) = line.split_at_checked(3).unwrap_or_default();
        SEGMENTS.contains(&name) && fields.starts_with('|') && fields.matches('|').count() > 2
    };
    let first = start.split(['\n', '\r']).next().unwrap_or_default();
    (first.starts_with("MSH|") || is_segment(first)).then_some("an HL7 v2 message")
}

/// HTML or XML, if a text begins with a document's tag. `tag` is what follows its `<`.
fn markup_language(text: &str, tag: &str) -> Option<&'static str> {
    let lower: String = tag
        .chars()
        .take(MAX_ESCAPE)
        .collect::<String>()
        .to_ascii_lowercase();
    if lower.starts_with("?xml") {
        return Some("XML");
    }
    if lower.starts_with("!doctype") {
        return Some("HTML or XML");
    }
    let end = lower.find(|c: char| !c.is_ascii_alphanumeric())?;
    let name = &lower[..end];
    let is_closed = || {
        let close = format!("</{name}");
        let mut tags = text.match_indices("</");
        tags.any(|(at, _)| {
            let tag = text.get(at..at + close.len());
            tag.is_some_and(|tag| tag.eq_ignore_ascii_case(&close))
        })
    };
    let opening = tag.split('>').next().unwrap_or_default();
    if name == "clinicaldocument" || opening.contains("xmlns=") {
        return Some("XML (such as CDA)");
    }
    (DOCUMENTS.contains(&name) && (is_closed() || name == "meta")).then_some("HTML")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn visible(text: &str) -> String {
        let read = Readable::new(text).text.into_owned();
        assert_eq!(read.len(), text.len(), "{text}");
        assert_eq!(Readable::new(&read).text, read, "{text}");
        read.replace(['\u{ad}', '\u{200b}'], "")
    }

    #[test]
    fn names_are_in_order() {
        assert!(ENTITIES.is_sorted_by(|a, b| a.0 < b.0));
        assert!(LINES.is_sorted() && DOCUMENTS.is_sorted() && SEGMENTS.is_sorted());
    }

    #[test]
    fn line_ends_in_every_spelling_are_read() {
        for escape in [
            "\\.br\\",
            "\\.sp\\",
            "\\.sp+2\\",
            "\\.in4\\",
            "\\n",
            "\\r\\n",
            "\\X0D0A\\",
            "<br>",
            "<BR/>",
            "<br />",
            "</p>",
            "&#10;",
            "&#x0A;",
            "&lt;br&gt;",
            "&lt;br/&gt;",
        ] {
            let text = format!("No rash.{escape}Gout");
            let read = visible(&text);
            let lines: Vec<&str> = read.lines().map(str::trim).collect();
            assert_eq!(lines, ["No rash.", "Gout"], "{escape}");
        }
    }

    #[test]
    fn entities_and_escapes_are_read_as_characters() {
        for (text, expected) in [
            ("no&nbsp;rash", "no rash"),
            ("no&#160;rash", "no rash"),
            ("no&#xA0;rash", "no rash"),
            ("rash \\T\\ gout", "rash & gout"),
            ("rash &amp; gout", "rash & gout"),
            ("SpO2 &lt; 90 &gt; 80", "SpO2 < 90 > 80"),
            ("T &ge; 38&deg;C", "T > 38°C"),
            (
                "Sj&ouml;gren&#39;s, M&eacute;ni&egrave;re",
                "Sjögren's, Ménière",
            ),
            ("&Ouml;dem, &Eacute;tat", "Ödem, État"),
            ("\\H\\Rash\\N\\", "Rash"),
            ("a\\F\\b\\S\\c\\R\\d\\E\\e", "a|b^c~d\\e"),
            ("&amp;nbsp;", "&nbsp;"),
        ] {
            assert_eq!(visible(text), expected);
        }
    }

    #[test]
    fn other_text_stays_as_it_is() {
        for text in [
            "BP < 90, HR > 100",
            "A&O x3; R&B",
            "AT&T; &unknown; &;",
            "C:\\temp, \\.xx\\ and \\Q\\",
            "<NAME> was seen; <b>bold</b>",
            "&#0; &#99999999; &#xD800;",
            "\\",
            "&",
            "<",
            "",
        ] {
            assert_eq!(Readable::new(text).text, text);
            assert!(matches!(Readable::new(text).text, Cow::Borrowed(_)));
        }
    }

    #[test]
    fn a_span_ends_behind_the_escape_of_its_last_letter() {
        let note = "infecci&oacute; n&oacute;dulo";
        let readable = Readable::new(note);
        let end = readable.text.find('ó').map(|at| at + 2).expect("there");
        assert_eq!(readable.whole(Span::new(0, end)), Span::new(0, 15));
        for whole in [Span::new(0, 7), Span::new(0, 15), Span::new(16, note.len())] {
            assert_eq!(readable.whole(whole), whole);
        }
    }

    #[test]
    fn documents_of_other_formats_are_refused() {
        for (text, format) in [
            ("{\\rtf1\\ansi Gout}", "RTF"),
            ("\u{feff}\n{\\rtf1 Gout}", "RTF"),
            ("<!DOCTYPE html><p>Gout", "HTML or XML"),
            ("<html><body>Gout</body></html>", "HTML"),
            ("  <P class=\"x\">Gout</P>", "HTML"),
            ("<?xml version=\"1.0\"?><a/>", "XML"),
            (
                "<ClinicalDocument xmlns=\"urn:hl7-org:v3\">",
                "XML (such as CDA)",
            ),
            (
                "<text xmlns=\"urn:hl7-org:v3\">Gout</text>",
                "XML (such as CDA)",
            ),
            ("MSH|^~\\&|LAB|A\rPID|1||2", "an HL7 v2 message"),
            ("PID|1||123^^^MRN||Doe^Jane", "an HL7 v2 message"),
            ("OBX|1|TX|IMP||Gout||||||F", "an HL7 v2 message"),
        ] {
            let message = Readable::of_note(text).expect_err(text).to_string();
            assert!(message.contains(&format!("found {format},")), "{message}");
        }
    }

    #[test]
    fn notes_that_mention_tags_or_segments_are_read() {
        for text in [
            "<NAME> has gout.",
            "<PHI TYPE=\"NAME\">Doe</PHI> has gout.",
            "<b>gout</b>",
            "< 90 mmHg",
            "<p",
            "PID 12, PID | 13, PID|14",
            "The message began with MSH|^~\\&|LAB",
            "Gout\n| a | b |",
            "rtf {\\rtf1}",
        ] {
            assert!(Readable::of_note(text).is_ok(), "{text}");
        }
    }
}
