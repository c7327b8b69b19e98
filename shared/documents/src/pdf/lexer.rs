//! Bytes to objects.

use super::object::{Dict, Object};

/// The deepest array or dictionary.
const DEEPEST: usize = 64;
/// The most objects within one.
const MOST: usize = 1 << 20;

/// A reader of objects from a position on.
#[derive(Clone, Debug)]
pub(super) struct Lexer<'b> {
    bytes: &'b [u8],
    /// The next byte.
    pub at: usize,
    /// How many objects the open one may still have.
    left: usize,
    /// Whether `1 0 R` is a reference, as in files but not in content streams.
    references: bool,
}

/// Whether a byte is white space.
pub(super) fn is_blank(byte: u8) -> bool {
    matches!(byte, 0 | 9 | 10 | 12 | 13 | 32)
}

fn is_delimiter(byte: u8) -> bool {
    matches!(
        byte,
        b'(' | b')' | b'<' | b'>' | b'[' | b']' | b'{' | b'}' | b'/' | b'%'
    )
}

impl<'b> Lexer<'b> {
    /// Objects of a file.
    pub fn new(bytes: &'b [u8], at: usize) -> Self {
        Self {
            bytes,
            at,
            left: MOST,
            references: true,
        }
    }

    /// Operands and operators of a content stream.
    pub fn of_content(bytes: &'b [u8]) -> Self {
        Self {
            references: false,
            ..Self::new(bytes, 0)
        }
    }

    pub fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    /// Passes over white space and comments.
    pub fn skip_blank(&mut self) {
        while let Some(byte) = self.peek() {
            match byte {
                b'%' => {
                    let rest = &self.bytes[self.at..];
                    let end = rest.iter().position(|byte| matches!(byte, b'\n' | b'\r'));
                    self.at += end.unwrap_or(rest.len());
                }
                byte if is_blank(byte) => self.at += 1,
                _ => return,
            }
        }
    }

    /// The next object; `None` at the end, or if it is damaged.
    pub fn object(&mut self) -> Option<Object> {
        self.left = MOST;
        self.nested(0)
    }

    fn nested(&mut self, depth: usize) -> Option<Object> {
        self.skip_blank();
        self.left = self.left.checked_sub(1)?;
        let rest = &self.bytes[self.at..];
        match *rest.first()? {
            b'/' => {
                self.at += 1;
                Some(Object::Name(self.name()))
            }
            b'(' => Some(Object::Text(self.literal())),
            b'<' if rest.get(1) == Some(&b'<') => {
                self.at += 2;
                self.dict(depth)
            }
            b'<' => Some(Object::Text(self.hexadecimal())),
            b'[' => {
                self.at += 1;
                self.array(depth)
            }
            b']' | b'>' | b')' | b'{' | b'}' => {
                self.at += 1;
                // Procedures of fonts and functions are not read.
                Some(Object::Word(char::from(rest[0]).to_string()))
            }
            byte if byte.is_ascii_digit() || matches!(byte, b'+' | b'-' | b'.') => {
                Some(self.number_or_reference())
            }
            _ => Some(self.word()),
        }
    }

    fn array(&mut self, depth: usize) -> Option<Object> {
        if depth >= DEEPEST {
            return None;
        }
        let mut all = Vec::new();
        loop {
            self.skip_blank();
            match self.peek()? {
                b']' => {
                    self.at += 1;
                    return Some(Object::Array(all));
                }
                _ => all.push(self.item(depth + 1)?),
            }
        }
    }

    /// An object of an array or dictionary, which no keyword of a file is.
    fn item(&mut self, depth: usize) -> Option<Object> {
        let found = self.nested(depth)?;
        match &found {
            Object::Word(word) if matches!(&**word, "obj" | "endobj" | "stream") => None,
            _ => Some(found),
        }
    }

    fn dict(&mut self, depth: usize) -> Option<Object> {
        if depth >= DEEPEST {
            return None;
        }
        let mut dict = Dict::default();
        loop {
            self.skip_blank();
            match self.peek()? {
                b'>' => {
                    self.at += 1;
                    if self.peek() == Some(b'>') {
                        self.at += 1;
                    }
                    return Some(Object::Dict(dict));
                }
                b'/' => {
                    self.at += 1;
                    let key = self.name();
                    self.skip_blank();
                    if self.peek() == Some(b'>') {
                        continue;
                    }
                    let value = self.item(depth + 1)?;
                    dict.0.entry(key).or_insert(value);
                }
                // A value without a key.
                _ => drop(self.item(depth + 1)?),
            }
        }
    }

    /// A name behind its slash, with `#20` read.
    fn name(&mut self) -> String {
        let start = self.at;
        while self
            .peek()
            .is_some_and(|byte| !is_blank(byte) && !is_delimiter(byte))
        {
            self.at += 1;
        }
        let raw = &self.bytes[start..self.at];
        let mut name = Vec::with_capacity(raw.len());
        let mut at = 0;
        while at < raw.len() {
            let digits = raw.get(at + 1..at + 3).unwrap_or_default();
            let code = std::str::from_utf8(digits)
                .ok()
                .filter(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()))
                .and_then(|digits| u8::from_str_radix(digits, 16).ok());
            match (raw[at], code) {
                (b'#', Some(code)) => {
                    name.push(code);
                    at += 3;
                }
                (byte, _) => {
                    name.push(byte);
                    at += 1;
                }
            }
        }
        String::from_utf8_lossy(&name).into_owned()
    }

    /// A string in parentheses.
    fn literal(&mut self) -> Vec<u8> {
        self.at += 1;
        let (mut text, mut open) = (Vec::new(), 1);
        while let Some(byte) = self.peek() {
            self.at += 1;
            match byte {
                b'(' => open += 1,
                b')' => {
                    open -= 1;
                    if open == 0 {
                        break;
                    }
                }
                b'\\' => {
                    self.escape(&mut text);
                    continue;
                }
                b'\r' => {
                    if self.peek() == Some(b'\n') {
                        self.at += 1;
                    }
                    text.push(b'\n');
                    continue;
                }
                _ => {}
            }
            text.push(byte);
        }
        text
    }

    /// What follows a backslash in a string.
    fn escape(&mut self, text: &mut Vec<u8>) {
        let Some(byte) = self.peek() else { return };
        self.at += 1;
        match byte {
            b'n' => text.push(b'\n'),
            b'r' => text.push(b'\r'),
            b't' => text.push(b'\t'),
            b'b' => text.push(8),
            b'f' => text.push(12),
            b'0'..=b'7' => {
                let mut code = u32::from(byte - b'0');
                for _ in 0..2 {
                    match self.peek() {
                        Some(digit @ b'0'..=b'7') => {
                            code = 8 * code + u32::from(digit - b'0');
                            self.at += 1;
                        }
                        _ => break,
                    }
                }
                text.push((code & 0xff) as u8);
            }
            // A line that goes on.
            b'\r' => {
                if self.peek() == Some(b'\n') {
                    self.at += 1;
                }
            }
            b'\n' => {}
            other => text.push(other),
        }
    }

    /// A string in hexadecimal digits.
    fn hexadecimal(&mut self) -> Vec<u8> {
        self.at += 1;
        let (mut text, mut half) = (Vec::new(), None);
        while let Some(byte) = self.peek() {
            self.at += 1;
            if byte == b'>' {
                break;
            }
            let Some(digit) = char::from(byte).to_digit(16) else {
                continue;
            };
            half = match half {
                None => Some(digit),
                Some(high) => {
                    text.push((16 * high + digit) as u8);
                    None
                }
            };
        }
        if let Some(high) = half {
            text.push((16 * high) as u8);
        }
        text
    }

    fn number_or_reference(&mut self) -> Object {
        let number = self.number();
        let is_count = number.fract() == 0.0 && (0.0..1e9).contains(&number);
        if !self.references || !is_count {
            return Object::Number(number);
        }
        // `12 0 R`
        let mut ahead = self.clone();
        ahead.skip_blank();
        let digits = ahead.digits();
        ahead.skip_blank();
        let is_word =
            |byte: Option<&u8>| byte.is_none_or(|byte| is_blank(*byte) || is_delimiter(*byte));
        if (1..=5).contains(&digits)
            && ahead.peek() == Some(b'R')
            && is_word(self.bytes.get(ahead.at + 1))
        {
            self.at = ahead.at + 1;
            return Object::Reference(number as u32);
        }
        Object::Number(number)
    }

    /// Passes over digits and returns their number, up to 6.
    fn digits(&mut self) -> usize {
        let start = self.at;
        while self.at - start < 6 && self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            self.at += 1;
        }
        self.at - start
    }

    fn number(&mut self) -> f64 {
        let start = self.at;
        while self
            .peek()
            .is_some_and(|byte| byte.is_ascii_digit() || matches!(byte, b'+' | b'-' | b'.'))
        {
            self.at += 1;
        }
        let raw = &self.bytes[start..self.at.min(start + 40)];
        let text = std::str::from_utf8(raw).unwrap_or_default();
        let number = text.parse().or_else(|_| {
            // "--5", "5-3", "1.2.3" are written by some programs.
            let sign = if text.starts_with('-') { "-" } else { "" };
            let plain = text.trim_start_matches(['-', '+']);
            let end = plain.find(['-', '+']).unwrap_or(plain.len());
            format!("{sign}{}", &plain[..end]).parse()
        });
        number.unwrap_or(0.0)
    }

    fn word(&mut self) -> Object {
        let start = self.at;
        self.at += 1;
        while self
            .peek()
            .is_some_and(|byte| !is_blank(byte) && !is_delimiter(byte))
        {
            self.at += 1;
        }
        match &self.bytes[start..self.at] {
            b"true" => Object::Bool(true),
            b"false" => Object::Bool(false),
            b"null" => Object::Null,
            word => Object::Word(String::from_utf8_lossy(word).into_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Option<Object> {
        Lexer::new(text.as_bytes(), 0).object()
    }

    #[test]
    fn objects_of_every_type_are_read() {
        let dict = read("<</A 1/B[(x\\)\\050\\n(y))<4 14>]/C 12 0 R /D#20E true %c\n/F -.5>>");
        let Some(Object::Dict(dict)) = dict else {
            panic!("{dict:?}")
        };
        assert_eq!(dict.get("A").count(), Some(1));
        assert_eq!(dict.get("B").array()[0].text(), Some(&b"x)(\n(y)"[..]));
        assert_eq!(dict.get("B").array()[1].text(), Some(&b"A@"[..]));
        assert_eq!(dict.get("C"), &Object::Reference(12));
        assert_eq!(dict.get("D E"), &Object::Bool(true));
        assert_eq!(dict.get("F").number(), Some(-0.5));
        assert_eq!(dict.get("G"), &Object::Null);
    }

    #[test]
    fn damaged_and_deep_objects_are_none() {
        for text in ["", "[1 2", "<</A", "[1 0 obj]", &"[".repeat(100)] {
            assert_eq!(read(text), None, "{text}");
        }
    }
}
