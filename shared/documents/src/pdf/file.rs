//! The objects of a file by their numbers.
//!
//! The file is scanned for its objects; cross-reference tables are not read. A file with a damaged
//! table is therefore read as any other, and of an object that was changed the last one counts.

use super::filters::{self, Refusal};
use super::lexer::{Lexer, is_blank};
use super::object::{Dict, Object};
use crate::limits::Limits;
use pel_kb::error::{Error, Result};
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;

/// References that are followed for one object.
const FOLLOWED: usize = 16;
/// The bytes of objects that are kept after they were read.
const KEPT: usize = 4 << 20;
/// How many times as many bytes may be read again as may be unpacked.
const AGAIN: usize = 8;

/// Where an object is.
#[derive(Clone, Copy, Debug)]
enum Place {
    /// At a byte of the file.
    At(usize),
    /// In an object stream, at an index.
    In(u32, usize),
}

/// The content of an object stream: its bytes, and where each object begins.
struct Packed {
    bytes: Vec<u8>,
    starts: Vec<(u32, usize)>,
}

/// A file.
pub(super) struct File<'b> {
    bytes: &'b [u8],
    places: HashMap<u32, Place>,
    packed: HashMap<u32, Packed>,
    /// Objects with their bytes.
    kept: RefCell<HashMap<u32, (Rc<Object>, usize)>>,
    kept_bytes: Cell<usize>,
    limits: Limits,
    /// The bytes that may still be unpacked.
    left: Cell<usize>,
    /// The bytes of objects that may still be read.
    work: Cell<usize>,
    /// Whether something has needed more.
    exceeded: Cell<bool>,
    /// The last catalogue, for a file whose trailer is cut off.
    catalogue: Option<u32>,
    /// The dictionary that names the catalogue.
    pub trailer: Dict,
}

impl<'b> File<'b> {
    /// Finds the objects of a file.
    ///
    /// # Errors
    /// If it has none, is encrypted, or an object stream unpacks beyond the limit.
    pub fn open(bytes: &'b [u8], limits: Limits) -> Result<Self> {
        let mut file = Self {
            bytes,
            places: HashMap::new(),
            packed: HashMap::new(),
            kept: RefCell::default(),
            kept_bytes: Cell::new(0),
            limits,
            left: Cell::new(limits.unpacked),
            work: Cell::new(limits.unpacked.saturating_mul(AGAIN)),
            exceeded: Cell::new(false),
            catalogue: None,
            trailer: Dict::default(),
        };
        let streams = file.scan();
        if let (Object::Null, Some(number)) = (file.trailer.get("Root"), file.catalogue) {
            let root = Object::Reference(number);
            file.trailer.0.insert("Root".to_owned(), root);
        }
        if file.trailer.get("Encrypt") != &Object::Null {
            return Err(Error::input(
                "the PDF is encrypted; save it without a password and without restrictions, such \
                 as by `qpdf --decrypt`",
            ));
        }
        for number in streams {
            file.unpack(number);
        }
        file.check()?;
        match file.places.is_empty() {
            true => Err(Error::input("expected a whole PDF, found no object in it")),
            false => Ok(file),
        }
    }

    /// Finds objects and trailers, and returns the numbers of object streams. Each byte is passed
    /// once.
    fn scan(&mut self) -> Vec<u32> {
        let (mut at, mut streams) = (0, Vec::new());
        while at < self.bytes.len() {
            let rest = &self.bytes[at..];
            if rest.starts_with(b"obj") && at > 0 && !self.bytes[at - 1].is_ascii_alphabetic() {
                at = match self.number_before(at) {
                    Some(number) => self.scan_object(number, at + 3, &mut streams),
                    None => at + 3,
                };
            } else if rest.starts_with(b"trailer") {
                let mut lexer = Lexer::new(self.bytes, at + 7);
                if let Some(Object::Dict(dict)) = lexer.object() {
                    self.add_trailer(dict);
                }
                at = lexer.at.max(at + 7);
            } else {
                at += 1;
            }
        }
        streams
    }

    /// The number of `12 0` before `obj`.
    fn number_before(&self, end: usize) -> Option<u32> {
        let mut at = end;
        let back = |at: &mut usize, is: fn(u8) -> bool| {
            let from = *at;
            while *at > 0 && from - *at < 12 && is(self.bytes[*at - 1]) {
                *at -= 1;
            }
            from - *at
        };
        back(&mut at, is_blank);
        if back(&mut at, |byte| byte.is_ascii_digit()) == 0 || back(&mut at, is_blank) == 0 {
            return None;
        }
        let last = at;
        if back(&mut at, |byte| byte.is_ascii_digit()) == 0 {
            return None;
        }
        let number = std::str::from_utf8(&self.bytes[at..last]).ok()?;
        number.parse().ok()
    }

    /// Records an object whose content begins at a byte, and returns the byte behind it.
    fn scan_object(&mut self, number: u32, content: usize, streams: &mut Vec<u32>) -> usize {
        let mut lexer = Lexer::new(self.bytes, content);
        let Some(object) = lexer.object() else {
            return lexer.at.max(content);
        };
        self.places.insert(number, Place::At(content));
        let Object::Dict(dict) = object else {
            return lexer.at;
        };
        if dict.get("Type").name() == Some("Catalog") {
            self.catalogue = Some(number);
        }
        let Some(start) = self.stream_start(lexer.at) else {
            return lexer.at;
        };
        let end = self.stream_end(&dict, start);
        match dict.get("Type").name() {
            Some("ObjStm") => streams.push(number),
            Some("XRef") => self.add_trailer(dict),
            _ => {}
        }
        end
    }

    fn add_trailer(&mut self, dict: Dict) {
        let is_encrypted = dict.get("Encrypt") != &Object::Null;
        if dict.get("Root") != &Object::Null || is_encrypted {
            for (key, value) in dict.0 {
                self.trailer.0.insert(key, value);
            }
        }
    }

    /// The first byte of a stream whose dictionary ends at a byte.
    fn stream_start(&self, end: usize) -> Option<usize> {
        let mut lexer = Lexer::new(self.bytes, end);
        lexer.skip_blank();
        let rest = self.bytes.get(lexer.at..)?.strip_prefix(b"stream")?;
        let line_end = match rest {
            [b'\r', b'\n', ..] => 2,
            [b'\n' | b'\r', ..] => 1,
            _ => 0,
        };
        Some(lexer.at + 6 + line_end)
    }

    /// The byte behind a stream: at its stated length, else at its keyword.
    fn stream_end(&self, dict: &Dict, start: usize) -> usize {
        let stated = dict.get("Length").count().map(|length| start + length);
        let is_end = |end: usize| {
            let rest = self.bytes.get(end..).unwrap_or_default();
            let blanks = rest
                .iter()
                .take(4)
                .take_while(|byte| is_blank(**byte))
                .count();
            rest[blanks..].starts_with(b"endstream")
        };
        if let Some(end) = stated.filter(|end| is_end(*end)) {
            return end;
        }
        let rest = self.bytes.get(start..).unwrap_or_default();
        match crate::kind::find(rest, b"endstream") {
            Some(length) => start + length,
            None => self.bytes.len(),
        }
    }

    /// Records the objects of an object stream.
    fn unpack(&mut self, number: u32) {
        let Some((dict, bytes)) = self.stream(&Object::Reference(number)) else {
            return;
        };
        let first = dict.get("First").count().unwrap_or(0);
        let count = dict.get("N").count().unwrap_or(0);
        let own_at = match self.places.get(&number) {
            Some(Place::At(at)) => Some(*at),
            _ => None,
        };
        let mut lexer = Lexer::new(&bytes, 0);
        let mut starts = Vec::new();
        while starts.len() < count {
            let (Some(Object::Number(own)), Some(Object::Number(offset))) =
                (lexer.object(), lexer.object())
            else {
                break;
            };
            let (own, offset) = (own as u32, first + offset as usize);
            // Of two objects the one that stands later in the file is newer.
            let is_newer = match self.places.get(&own) {
                Some(Place::At(at)) => own_at.is_some_and(|own| own > *at),
                _ => true,
            };
            if is_newer {
                self.places.insert(own, Place::In(number, starts.len()));
            }
            starts.push((own, offset));
        }
        self.packed.insert(number, Packed { bytes, starts });
    }

    /// What a reference names, or the object itself.
    pub fn resolve(&self, object: &Object) -> Object {
        let mut object = object.clone();
        for _ in 0..FOLLOWED {
            let Object::Reference(number) = object else {
                return object;
            };
            object = self
                .read(number)
                .map_or(Object::Null, |found| (*found).clone());
        }
        Object::Null
    }

    /// The dictionary that an object is or names.
    pub fn dict(&self, object: &Object) -> Option<Dict> {
        match self.resolve(object) {
            Object::Dict(dict) => Some(dict),
            _ => None,
        }
    }

    /// The value of a key, with references followed.
    pub fn get(&self, dict: &Dict, key: &str) -> Object {
        self.resolve(dict.get(key))
    }

    fn read(&self, number: u32) -> Option<Rc<Object>> {
        let known = self.kept.borrow().get(&number).cloned();
        if let Some((found, bytes)) = known {
            self.read_again(bytes)?;
            return Some(found);
        }
        let (object, bytes) = match *self.places.get(&number)? {
            Place::At(at) => {
                let mut lexer = Lexer::new(self.bytes, at);
                (lexer.object()?, lexer.at - at)
            }
            Place::In(stream, index) => {
                let packed = self.packed.get(&stream)?;
                let (_, start) = *packed.starts.get(index)?;
                let start = start.min(packed.bytes.len());
                let mut lexer = Lexer::new(&packed.bytes, start);
                (lexer.object()?, lexer.at - start)
            }
        };
        self.read_again(bytes)?;
        let object = Rc::new(object);
        let mut kept = self.kept.borrow_mut();
        if self.kept_bytes.get() + bytes > KEPT {
            kept.clear();
            self.kept_bytes.set(0);
        }
        self.kept_bytes.set(self.kept_bytes.get() + bytes);
        kept.insert(number, (Rc::clone(&object), bytes));
        Some(object)
    }

    /// The dictionary and the unpacked bytes of a stream; `None` for other objects and for streams
    /// with filters of pictures.
    pub fn stream(&self, object: &Object) -> Option<(Dict, Vec<u8>)> {
        let Object::Reference(number) = object else {
            return None;
        };
        let Place::At(at) = *self.places.get(number)? else {
            return None;
        };
        let mut lexer = Lexer::new(self.bytes, at);
        let Object::Dict(mut dict) = lexer.object()? else {
            return None;
        };
        let start = self.stream_start(lexer.at)?;
        let length = self.get(&dict, "Length");
        dict.0.insert("Length".to_owned(), length);
        let end = self.stream_end(&dict, start);
        let filters = filters::of_dict(&dict, &|object| self.resolve(object));
        let raw = self.bytes.get(start..end)?;
        self.read_again(end - at)?;
        match filters::decode(raw, &filters, self.left.get()) {
            Ok(bytes) => {
                self.spend(bytes.len())?;
                Some((dict, bytes))
            }
            Err(Refusal::Exceeded) => {
                self.exceeded.set(true);
                None
            }
            Err(Refusal::Unknown) => None,
        }
    }

    /// Takes bytes off what may still be unpacked.
    fn spend(&self, bytes: usize) -> Option<()> {
        self.take(&self.left, bytes)
    }

    /// Takes bytes off what may still be read.
    fn read_again(&self, bytes: usize) -> Option<()> {
        self.take(&self.work, bytes)
    }

    fn take(&self, from: &Cell<usize>, bytes: usize) -> Option<()> {
        let left = from.get().checked_sub(bytes);
        match left {
            Some(left) => from.set(left),
            None => self.exceeded.set(true),
        }
        left.map(drop)
    }

    /// Whether nothing has needed more than the limits.
    ///
    /// # Errors
    /// If something has.
    pub fn check(&self) -> Result<()> {
        match self.exceeded.get() {
            true => Err(self.limits.exceeded("the PDF")),
            false => Ok(()),
        }
    }

    /// The dictionaries of all objects that are pages, by number; for a file without a page tree.
    pub fn loose_pages(&self) -> Vec<Dict> {
        let mut numbers: Vec<u32> = self.places.keys().copied().collect();
        numbers.sort_unstable();
        let dicts = numbers
            .into_iter()
            .filter_map(|number| self.dict(&Object::Reference(number)));
        dicts
            .filter(|dict| dict.get("Type").name() == Some("Page"))
            .collect()
    }
}
