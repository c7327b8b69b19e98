//! Limits on XML, checked before a parser buffers it.
//!
//! XML parsers keep a whole tag, text or comment, all open elements, and expanded entities. None of
//! these has a limit, so a small file could fill the memory. The guard passes bytes on and refuses
//! input beyond its limits: a parser never gets a byte that has not been checked. It fetches nothing:
//! an external document type is not read.

use crate::import::Longest;
use pel_kb::error::{Error, Result};
use std::cell::{Cell, RefCell};
use std::collections::{HashMap, VecDeque};
use std::io::{self, BufRead, Chain, Cursor, Read};
use std::rc::Rc;

/// The largest start or end tag in bytes. Parsers compare its attributes in pairs.
const LONGEST_TAG: usize = 64 << 10;
/// The largest document type declaration in bytes.
const LONGEST_DOCTYPE: usize = 64 << 10;
/// The largest value of an entity in bytes, after expansion of the entities in it.
const LONGEST_ENTITY: usize = 4 << 10;
/// What all entities of a document may expand to in bytes, besides [`EXPANSION`].
const FREE_EXPANSION: u64 = 8 << 20;
/// The largest number of bytes that entities expand to for each byte of the document.
const EXPANSION: u64 = 10;
/// The largest number of open elements.
const DEEPEST: usize = 1_000;
/// The largest number of attributes of one tag. Parsers compare their names in pairs.
const MOST_ATTRIBUTES: usize = 1_000;
/// The largest number of attributes of all open elements. Parsers search the declarations of
/// namespaces among them for each name.
const MOST_OPEN_ATTRIBUTES: usize = 4_000;
/// The bytes in which an XML declaration ends.
const DECLARATION: u64 = 1 << 10;
/// The number of line ends that are remembered behind the last byte read.
const LINE_ENDS: usize = 1 << 16;

/// What a guard has seen, shared with the owner of the parser.
#[derive(Default)]
pub(crate) struct Seen {
    bytes: Cell<u64>,
    lines: Cell<u64>,
    /// Whether all elements are closed.
    complete: Cell<bool>,
    /// The positions of the last line ends.
    line_ends: RefCell<VecDeque<u64>>,
    refused: RefCell<Option<Error>>,
}

impl Seen {
    /// Counts bytes that the parser has taken.
    fn pass(&self, bytes: &[u8]) {
        let start = self.bytes.get();
        let mut ends = self.line_ends.borrow_mut();
        for (at, _) in bytes.iter().enumerate().filter(|(_, byte)| **byte == b'\n') {
            self.lines.set(self.lines.get() + 1);
            if ends.len() == LINE_ENDS {
                ends.pop_front();
            }
            ends.push_back(start + at as u64);
        }
        self.bytes.set(start + bytes.len() as u64);
    }

    /// The line of the last byte that was read, from 1.
    pub fn line(&self) -> u64 {
        self.lines.get() + 1
    }

    /// The line of a recent byte. A parser is behind the guard by the bytes that it has buffered.
    pub fn line_of(&self, byte: u64) -> u64 {
        let ends = self.line_ends.borrow();
        let later = ends.len() - ends.partition_point(|end| *end < byte);
        self.line().saturating_sub(later as u64).max(1)
    }

    /// Whether all elements and other markup that were read are closed.
    pub fn is_complete(&self) -> bool {
        self.complete.get()
    }

    /// Why the guard has stopped, if it has.
    pub fn take_refusal(&self) -> Option<Error> {
        self.refused.borrow_mut().take()
    }
}

/// The kind of markup at the current byte. It follows `quick-xml`, which all parsers here use.
#[derive(Clone, Copy)]
enum Mode {
    Text,
    /// After `<`.
    Markup,
    /// After `<!`.
    Bang,
    Start {
        quote: Option<u8>,
        slash: bool,
    },
    End {
        quote: Option<u8>,
    },
    Comment {
        dashes: usize,
    },
    Cdata {
        brackets: usize,
    },
    Instruction {
        question: bool,
    },
    Doctype {
        open: usize,
    },
}

/// Reads XML and fails beyond its limits.
pub(crate) struct Guard<R> {
    reader: Chain<Cursor<Vec<u8>>, R>,
    scanner: Scanner,
    /// The bytes of the reader's buffer that have been checked and not been consumed.
    checked: usize,
    /// Why the byte behind them may not pass.
    refusal: Option<Error>,
    stopped: bool,
}

/// Follows the markup.
struct Scanner {
    seen: Rc<Seen>,
    longest: Longest<'static>,
    mode: Mode,
    /// The bytes of the current text or markup.
    length: usize,
    /// The bytes of its entities after expansion.
    expanded: usize,
    /// The bytes of all entities up to here after expansion.
    all_expanded: u64,
    /// The bytes that have been checked.
    bytes: u64,
    /// The name of the entity that is being read.
    reference: Option<Vec<u8>>,
    /// The number of attributes of each open element.
    open: Vec<usize>,
    /// The number of attributes of all open elements.
    open_attributes: usize,
    /// The number of attributes of the current tag.
    attributes: usize,
    has_doctype: bool,
    doctype: Vec<u8>,
    /// The length of each entity of the document type, expanded.
    entities: HashMap<Vec<u8>, usize>,
}

impl<R: BufRead> Guard<R> {
    /// Guards a reader of UTF-8. The XML declaration is replaced by spaces, because the text may
    /// have been decoded from the encoding that it names.
    ///
    /// # Errors
    /// If the beginning cannot be read.
    pub fn new(mut reader: R, longest: Longest<'static>) -> io::Result<(Self, Rc<Seen>)> {
        let mut head = Vec::new();
        reader.by_ref().take(DECLARATION).read_to_end(&mut head)?;
        if head.starts_with("\u{feff}".as_bytes()) {
            head.drain(..3);
        }
        blank_declaration(&mut head);
        let seen = Rc::<Seen>::default();
        let scanner = Scanner {
            seen: Rc::clone(&seen),
            longest,
            mode: Mode::Text,
            length: 0,
            expanded: 0,
            all_expanded: 0,
            bytes: 0,
            reference: None,
            open: Vec::new(),
            open_attributes: 0,
            attributes: 0,
            has_doctype: false,
            doctype: Vec::new(),
            entities: HashMap::new(),
        };
        let reader = Cursor::new(head).chain(reader);
        let guard = Self {
            reader,
            scanner,
            checked: 0,
            refusal: None,
            stopped: false,
        };
        Ok((guard, seen))
    }
}

impl Scanner {
    fn begin(&mut self, mode: Mode) {
        self.mode = mode;
        self.length = 0;
        self.expanded = 0;
        self.reference = None;
        self.attributes = 0;
    }

    /// Checks bytes. Returns how many may pass, and why the next one may not.
    fn scan(&mut self, bytes: &[u8]) -> (usize, Option<Error>) {
        for (at, byte) in bytes.iter().enumerate() {
            self.bytes += 1;
            if let Err(why) = self.step(*byte) {
                return (at, Some(why));
            }
        }
        (bytes.len(), None)
    }

    fn step(&mut self, byte: u8) -> Result<()> {
        self.length += 1;
        match &mut self.mode {
            Mode::Text => {
                if byte == b'<' {
                    self.begin(Mode::Markup);
                    return Ok(());
                }
                self.reference_in(byte)?;
            }
            Mode::Markup => match byte {
                b'!' => self.mode = Mode::Bang,
                b'?' => self.mode = Mode::Instruction { question: false },
                b'/' => self.mode = Mode::End { quote: None },
                _ => {
                    self.mode = Mode::Start {
                        quote: None,
                        slash: false,
                    };
                    return self.start_tag(byte);
                }
            },
            Mode::Bang => match byte {
                b'-' => self.mode = Mode::Comment { dashes: 1 },
                b'[' => self.mode = Mode::Cdata { brackets: 0 },
                b'D' | b'd' if self.has_doctype => {
                    return Err(Error::input(
                        "expected one document type declaration, found a second; remove it",
                    ));
                }
                b'D' | b'd' => {
                    self.has_doctype = true;
                    self.mode = Mode::Doctype { open: 0 };
                }
                // The parser reports it.
                _ => self.begin(Mode::Text),
            },
            Mode::Start { .. } => return self.start_tag(byte),
            Mode::End { quote } => match (byte, *quote) {
                (b'>', None) => {
                    self.open_attributes -= self.open.pop().unwrap_or_default();
                    self.begin(Mode::Text);
                }
                (b'"' | b'\'', None) => *quote = Some(byte),
                (_, Some(open)) if byte == open => *quote = None,
                _ => return self.tag_length(),
            },
            Mode::Comment { dashes } => match byte {
                // `<!-->` and `<!--->` are not complete.
                b'>' if *dashes >= 2 && self.length > 5 => self.begin(Mode::Text),
                b'-' => *dashes += 1,
                _ => *dashes = 0,
            },
            Mode::Cdata { brackets } => match byte {
                b'>' if *brackets >= 2 => self.begin(Mode::Text),
                b']' => *brackets += 1,
                _ => *brackets = 0,
            },
            Mode::Instruction { question } => match byte {
                b'>' if *question => self.begin(Mode::Text),
                _ => *question = byte == b'?',
            },
            Mode::Doctype { open } => {
                match byte {
                    b'>' if *open == 0 => {
                        self.entities = entities(&std::mem::take(&mut self.doctype))?;
                        self.begin(Mode::Text);
                        return Ok(());
                    }
                    b'>' => *open -= 1,
                    b'<' => *open += 1,
                    _ => {}
                }
                if self.doctype.len() == LONGEST_DOCTYPE {
                    return Err(Error::input(format!(
                        "expected at most {LONGEST_DOCTYPE} bytes of document type declaration, \
                         found more; remove the declarations that are not needed"
                    )));
                }
                self.doctype.push(byte);
            }
        }
        if self.length > self.longest.bytes {
            let Longest { bytes, remedy } = self.longest;
            return Err(Error::input(format!(
                "expected at most {bytes} bytes in one text or comment, found more{remedy}"
            )));
        }
        Ok(())
    }

    fn start_tag(&mut self, byte: u8) -> Result<()> {
        let Mode::Start { quote, slash } = &mut self.mode else {
            return Ok(());
        };
        match (byte, *quote) {
            (b'>', None) => {
                if !*slash {
                    self.open.push(self.attributes);
                    self.open_attributes += self.attributes;
                }
                self.begin(Mode::Text);
                return self.open_elements();
            }
            (b'"' | b'\'', None) => {
                *quote = Some(byte);
                self.attributes += 1;
                if self.attributes > MOST_ATTRIBUTES {
                    return Err(Error::input(format!(
                        "expected at most {MOST_ATTRIBUTES} attributes of one element, found more"
                    )));
                }
            }
            (_, Some(open)) if byte == open => *quote = None,
            _ => {}
        }
        *slash = byte == b'/';
        self.reference_in(byte)?;
        self.tag_length()
    }

    fn open_elements(&self) -> Result<()> {
        if self.open.len() > DEEPEST {
            return Err(Error::input(format!(
                "expected at most {DEEPEST} elements within each other, found more"
            )));
        }
        if self.open_attributes > MOST_OPEN_ATTRIBUTES {
            return Err(Error::input(format!(
                "expected at most {MOST_OPEN_ATTRIBUTES} attributes of elements within each \
                 other, found more"
            )));
        }
        Ok(())
    }

    fn tag_length(&self) -> Result<()> {
        if self.length <= LONGEST_TAG {
            return Ok(());
        }
        Err(Error::input(format!(
            "expected at most {LONGEST_TAG} bytes in one tag, found more"
        )))
    }

    /// Counts what an entity of the document type expands to.
    fn reference_in(&mut self, byte: u8) -> Result<()> {
        if self.entities.is_empty() {
            return Ok(());
        }
        match (&mut self.reference, byte) {
            (_, b'&') => self.reference = Some(Vec::new()),
            (Some(name), b';') => {
                let length = self.entities.get(name).copied().unwrap_or(1);
                self.reference = None;
                self.expanded += length;
                self.all_expanded += length as u64;
                let most = self.longest.bytes;
                if self.expanded > most {
                    return Err(Error::input(format!(
                        "expected at most {most} bytes of expanded entities in one text, found \
                         more; write the text out instead of the entities"
                    )));
                }
                if self.all_expanded > FREE_EXPANSION + EXPANSION * self.bytes {
                    return Err(Error::input(format!(
                        "expected at most {EXPANSION} bytes of expanded entities for each byte of \
                         the file, found more; write the text out instead of the entities"
                    )));
                }
            }
            (Some(name), _) if name.len() < LONGEST_ENTITY => name.push(byte),
            (Some(_), _) => self.reference = None,
            (None, _) => {}
        }
        Ok(())
    }
}

impl<R: BufRead> Read for Guard<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let bytes = self.fill_buf()?;
        let count = bytes.len().min(into.len());
        into[..count].copy_from_slice(&bytes[..count]);
        self.consume(count);
        Ok(count)
    }
}

impl<R: BufRead> BufRead for Guard<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        let scanner = &mut self.scanner;
        let bytes = self.reader.fill_buf()?;
        if self.checked == 0 && !bytes.is_empty() {
            if self.refusal.is_none() && !self.stopped {
                (self.checked, self.refusal) = scanner.scan(bytes);
                let complete = scanner.open.is_empty() && matches!(scanner.mode, Mode::Text);
                scanner.seen.complete.set(complete);
            }
            if self.checked == 0 {
                self.stopped = true;
                if let Some(why) = self.refusal.take() {
                    *scanner.seen.refused.borrow_mut() = Some(why);
                }
                return Err(io::Error::other("refused"));
            }
        }
        Ok(bytes.get(..self.checked).unwrap_or(bytes))
    }

    fn consume(&mut self, count: usize) {
        let count = count.min(self.checked);
        // The bytes are in the buffer, so nothing is read.
        let bytes = self.reader.fill_buf().unwrap_or_default();
        self.scanner
            .seen
            .pass(bytes.get(..count).unwrap_or_default());
        self.checked -= count;
        self.reader.consume(count);
    }
}

/// The end of an XML declaration; `None` if there is none.
fn declaration(head: &[u8]) -> Option<usize> {
    let begins = head.starts_with(b"<?xml") && head.get(5).is_some_and(u8::is_ascii_whitespace);
    let end = head.windows(2).position(|pair| pair == b"?>")?;
    begins.then_some(end + 2)
}

fn blank_declaration(head: &mut [u8]) {
    let end = declaration(head).unwrap_or(0);
    for byte in head.iter_mut().take(end) {
        if !byte.is_ascii_whitespace() {
            *byte = b' ';
        }
    }
}

/// The encoding that an XML declaration names. `None` for Unicode, which a byte order mark or the
/// bytes themselves show, and for ASCII.
pub fn declared_encoding(head: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(head.get(..declaration(head)?)?);
    let (_, value) = text.split_once("encoding")?;
    let value = value.trim_start().strip_prefix('=')?.trim_start();
    let quote = value.chars().next().filter(|c| matches!(c, '"' | '\''))?;
    let (name, _) = value.get(1..)?.split_once(quote)?;
    let name = name.trim().to_ascii_lowercase();
    let unicode = name.starts_with("utf") || name.ends_with("ascii");
    (!unicode && !name.is_empty()).then_some(name)
}

/// The lengths of the entities that a document type declares, after expansion.
///
/// # Errors
/// If one is external, or becomes too long.
fn entities(doctype: &[u8]) -> Result<HashMap<Vec<u8>, usize>> {
    let text = String::from_utf8_lossy(doctype);
    let mut lengths = HashMap::<Vec<u8>, usize>::new();
    for declaration in text.split("<!ENTITY").skip(1) {
        let declaration = declaration.trim_start();
        let declaration = declaration.strip_prefix('%').unwrap_or(declaration);
        // The name ends as it does for `oxrdfxml`, so that each of its entities is counted.
        let (name, value) = declaration
            .trim_start()
            .split_once(|c: char| c.is_ascii_whitespace())
            .unwrap_or((declaration, ""));
        let value = value.trim_start();
        if value.starts_with("SYSTEM") || value.starts_with("PUBLIC") {
            return Err(Error::input(format!(
                "expected no external entities, found {name}, which would be read from elsewhere"
            )));
        }
        let quoted = value
            .chars()
            .next()
            .filter(|c| matches!(c, '"' | '\''))
            .and_then(|quote| value.get(1..)?.split_once(quote));
        let Some((value, _)) = quoted else {
            let shown: String = declaration.trim().chars().take(40).collect();
            return Err(Error::input(format!(
                "expected <!ENTITY name \"text\">, found <!ENTITY {shown}"
            )));
        };
        let mut length = value.len();
        for reference in value.split('&').skip(1) {
            let Some((inner, _)) = reference.split_once(';') else {
                continue;
            };
            length += lengths.get(inner.as_bytes()).copied().unwrap_or(1);
        }
        if length > LONGEST_ENTITY {
            return Err(Error::input(format!(
                "expected entities of at most {LONGEST_ENTITY} bytes, found {name} of more; write \
                 the text out instead of the entity"
            )));
        }
        lengths.insert(name.as_bytes().to_vec(), length);
    }
    Ok(lengths)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SMALL: Longest<'static> = Longest {
        bytes: 2_000,
        remedy: "; raise it",
    };

    /// Reads everything in small pieces: the bytes, or the refusal with its line.
    fn read(text: &[u8], piece: usize) -> std::result::Result<Vec<u8>, (u64, String)> {
        let (mut guard, seen) = Guard::new(text, SMALL).expect("memory");
        let mut all = Vec::new();
        let mut buffer = vec![0; piece];
        loop {
            match guard.read(&mut buffer) {
                Ok(0) => return Ok(all),
                Ok(count) => all.extend_from_slice(&buffer[..count]),
                Err(_) => {
                    let why = seen.take_refusal().expect("the guard refused");
                    return Err((seen.line(), why.to_string()));
                }
            }
        }
    }

    #[test]
    fn ordinary_xml_passes_without_its_declaration() {
        let body = "<!DOCTYPE a SYSTEM \"https://example.org/a.dtd\" [\n\
                    <!ENTITY obo \"http://a/\">\n]>\n\
                    <!-- > -- <b> --><a x=\"1 > 2\" y='\"'><b/><c>&obo;x &amp; \
                    y</c><![CDATA[<d>]]></a>\n";
        let text = format!("\u{feff}<?xml version=\"1.0\"\n encoding=\"utf-8\"?>{body}");
        for piece in [1, 7, 4096] {
            let passed = read(text.as_bytes(), piece).expect("ordinary");
            let passed = String::from_utf8(passed).expect("UTF-8");
            assert_eq!(passed.trim_start(), body);
            assert_eq!(passed.matches('\n').count(), text.matches('\n').count());
        }
    }

    #[test]
    fn what_could_fill_the_memory_is_refused_with_its_line() {
        let deep = "<a>\n".repeat(DEEPEST + 1);
        let wide = format!("<a x=\"{}\">", "x".repeat(LONGEST_TAG));
        let many = format!("<a {}>", "x=\"1\" ".repeat(MOST_ATTRIBUTES + 1));
        let open = format!("<a {}>\n", "x=\"1\" ".repeat(MOST_ATTRIBUTES)).repeat(5);
        let laughs = "<!DOCTYPE a [<!ENTITY a \"haha\"><!ENTITY b \"&a;&a;&a;&a;&a;&a;&a;&a;\">\
            <!ENTITY c \"&b;&b;&b;&b;&b;&b;&b;&b;\"><!ENTITY d \"&c;&c;&c;&c;&c;&c;&c;&c;\">\
            <!ENTITY e \"&d;&d;&d;&d;&d;&d;&d;&d;\">]>\n<a>&e;</a>";
        let quadratic = format!(
            "<!DOCTYPE a [<!ENTITY a \"{}\">]>\n<a>\n{}</a>",
            "x".repeat(1_000),
            "&a;".repeat(3)
        );
        for (text, line, message) in [
            (
                deep.as_str(),
                1_001,
                "at most 1000 elements within each other",
            ),
            (&wide, 1, "in one tag"),
            (&many, 1, "at most 1000 attributes of one element"),
            (
                &open,
                5,
                "at most 4000 attributes of elements within each other",
            ),
            ("<!DOCTYPE a>\n<!DOCTYPE a>", 2, "found a second; remove it"),
            (
                "<!DOCTYPE a [<!ENTITY b\u{a0}c \"x\"> <!ENTITY d c>]>",
                1,
                "expected <!ENTITY name \"text\">, found <!ENTITY d c>",
            ),
            (laughs, 1, "entities of at most 4096 bytes, found e of more"),
            (&quadratic, 3, "expanded entities in one text"),
            (
                "<!DOCTYPE a [\n<!ENTITY x SYSTEM \"file:///etc/hostname\">]><a>&x;</a>",
                2,
                "expected no external entities, found x",
            ),
            (
                &format!("<a>\n{}", "x".repeat(2_001)),
                2,
                "in one text or comment, found more; raise it",
            ),
            (
                &format!("<a>\n<!--{}", "x".repeat(2_001)),
                2,
                "in one text or comment",
            ),
            (
                &format!("<!DOCTYPE a [{}", " ".repeat(LONGEST_DOCTYPE)),
                1,
                "in one text or comment",
            ),
        ] {
            for piece in [1, 4096] {
                let (found, why) = read(text.as_bytes(), piece).expect_err(message);
                assert!(why.contains(message), "{why}");
                assert_eq!(found, line, "{message}");
            }
        }
    }

    #[test]
    fn declared_encoding_is_found_unless_it_is_unicode() {
        for (text, expected) in [
            ("<?xml version='1.0' encoding='UTF-8'?><a/>", None),
            ("<?xml version=\"1.0\" encoding = \"utf-16\"?><a/>", None),
            ("<?xml version='1.0' encoding='US-ASCII'?><a/>", None),
            ("<?xml version='1.0'?><a encoding='latin1'/>", None),
            ("<?xml-stylesheet encoding='latin1'?><a/>", None),
            (
                "<?xml version='1.0' encoding=\"ISO-8859-1\" ?><a/>",
                Some("iso-8859-1"),
            ),
        ] {
            assert_eq!(
                declared_encoding(text.as_bytes()).as_deref(),
                expected,
                "{text}"
            );
        }
    }

    #[test]
    fn document_is_complete_when_all_elements_are_closed() {
        for (text, complete) in [
            ("<a><b/></a>\n", true),
            ("<a><b/></a", false),
            ("<a><b/>", false),
            ("<a/><!-- c", false),
            ("", true),
        ] {
            let (mut guard, seen) = Guard::new(text.as_bytes(), SMALL).expect("short");
            guard.read_to_end(&mut Vec::new()).expect("ordinary");
            assert_eq!(seen.is_complete() || text.is_empty(), complete, "{text}");
        }
    }

    #[test]
    fn line_of_a_byte_behind_the_guard_is_known() {
        let text = "<a>\n<b/>\n\n<c/>\n</a>\n";
        let (mut guard, seen) = Guard::new(text.as_bytes(), SMALL).expect("short");
        guard.read_to_end(&mut Vec::new()).expect("ordinary");
        for (byte, _) in text.char_indices() {
            let expected = 1 + text[..byte].matches('\n').count() as u64;
            assert_eq!(seen.line_of(byte as u64), expected, "byte {byte}");
        }
    }

    proptest! {
        #[test]
        fn bytes_pass_unchanged_in_pieces_of_any_size(
            text in "[<>/a&;!\\-\\[\\]?\"' \n]{0,60}",
            piece in 1_usize..9,
        ) {
            prop_assert_eq!(
                read(text.as_bytes(), piece).expect("short"),
                text.as_bytes()
            );
        }
    }
}
