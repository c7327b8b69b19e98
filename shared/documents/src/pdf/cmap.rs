//! Maps of codes to characters (`ToUnicode`) and of the lengths of codes.

use super::lexer::Lexer;
use super::object::Object;
use std::collections::HashMap;

/// The most codes that one map states.
const MOST: usize = 1 << 17;

/// A map of codes.
#[derive(Debug, Default)]
pub(super) struct CMap {
    /// The characters of codes by the code and its bytes.
    characters: HashMap<(u32, u8), String>,
    /// Ranges of codes of some bytes.
    spaces: Vec<(u8, u32, u32)>,
    /// How many codes have been stated, also again.
    stated: usize,
}

impl CMap {
    /// Reads the program of a map.
    pub fn read(program: &[u8]) -> Self {
        let mut map = Self::default();
        let mut lexer = Lexer::of_content(program);
        let mut operands: Vec<Object> = Vec::new();
        while let Some(object) = lexer.object() {
            let Object::Word(word) = &object else {
                if operands.len() < MOST {
                    operands.push(object);
                }
                continue;
            };
            match &**word {
                "endcodespacerange" => map.add_spaces(&operands),
                "endbfchar" => map.add_characters(&operands),
                "endbfrange" => map.add_ranges(&operands),
                _ => {}
            }
            operands.clear();
        }
        map
    }

    fn add_spaces(&mut self, operands: &[Object]) {
        for pair in operands.chunks_exact(2) {
            if let (Some(low), Some(high)) = (pair[0].text(), pair[1].text())
                && (1..=4).contains(&low.len())
                && self.spaces.len() < 16
            {
                self.spaces
                    .push((low.len() as u8, number(low), number(high)));
            }
        }
    }

    fn add_characters(&mut self, operands: &[Object]) {
        for pair in operands.chunks_exact(2) {
            if let (Some(code), Some(text)) = (pair[0].text(), pair[1].text()) {
                self.insert(number(code), code.len(), utf16(text));
            }
        }
    }

    fn add_ranges(&mut self, operands: &[Object]) {
        for triple in operands.chunks_exact(3) {
            let (Some(low), Some(high)) = (triple[0].text(), triple[1].text()) else {
                continue;
            };
            let (first, last, bytes) = (number(low), number(high), low.len());
            match &triple[2] {
                Object::Text(text) => {
                    let mut units: Vec<u16> = units(text);
                    for code in first..=last {
                        if self.stated >= MOST {
                            return;
                        }
                        self.insert(code, bytes, String::from_utf16_lossy(&units));
                        if let Some(unit) = units.last_mut() {
                            *unit = unit.wrapping_add(1);
                        }
                    }
                }
                Object::Array(all) => {
                    for (code, text) in (first..=last).zip(all) {
                        if let Some(text) = text.text() {
                            self.insert(code, bytes, utf16(text));
                        }
                    }
                }
                _ => {}
            }
        }
    }

    fn insert(&mut self, code: u32, bytes: usize, text: String) {
        self.stated += 1;
        if self.stated <= MOST && (1..=4).contains(&bytes) && text.len() <= 64 {
            self.characters.insert((code, bytes as u8), text);
        }
    }

    /// Whether the lengths of codes are stated.
    pub fn has_spaces(&self) -> bool {
        !self.spaces.is_empty()
    }

    /// The characters of a code of some bytes. Some maps state other bytes than the font has.
    pub fn get(&self, code: u32, bytes: u8) -> Option<&str> {
        let lengths = [bytes, 2, 1];
        let mut found = lengths
            .into_iter()
            .filter_map(|bytes| self.characters.get(&(code, bytes)));
        found.next().map(String::as_str)
    }

    /// The code at the start of some bytes, with its length.
    pub fn code(&self, bytes: &[u8]) -> (u32, u8) {
        for length in 1..=bytes.len().min(4) {
            let code = number(&bytes[..length]);
            let fits = |(own, low, high): &(u8, u32, u32)| {
                usize::from(*own) == length && (*low..=*high).contains(&code)
            };
            if self.spaces.iter().any(fits) {
                return (code, length as u8);
            }
        }
        let shortest = self.spaces.iter().map(|space| space.0).min().unwrap_or(1);
        let length = usize::from(shortest).min(bytes.len()).max(1);
        (number(&bytes[..length]), length as u8)
    }
}

/// The number of up to 4 bytes.
fn number(bytes: &[u8]) -> u32 {
    bytes
        .iter()
        .take(4)
        .fold(0, |code, byte| (code << 8) | u32::from(*byte))
}

fn units(bytes: &[u8]) -> Vec<u16> {
    match bytes {
        // One byte is written by some programs.
        [one] => vec![u16::from(*one)],
        _ => bytes
            .chunks_exact(2)
            .map(|pair| u16::from_be_bytes([pair[0], pair[1]]))
            .collect(),
    }
}

fn utf16(bytes: &[u8]) -> String {
    String::from_utf16_lossy(&units(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_ranges_and_lengths_are_read() {
        let map = CMap::read(
            b"/CIDInit /ProcSet findresource begin 1 begincodespacerange <0000> <FFFF> \
              endcodespacerange 2 beginbfchar <0003> <0020> <0004> <00660069> endbfchar \
              2 beginbfrange <0010> <0012> <0041> <0020> <0021> [<03B1> <D83DDE37>] endbfrange",
        );
        let get = |code| map.get(code, 2).unwrap_or_default();
        assert_eq!(
            [get(3), get(4), get(0x11), get(0x20), get(0x21)],
            [" ", "fi", "B", "α", "😷"]
        );
        assert_eq!(map.code(&[0, 0x41, 0]), (0x41, 2));
        assert_eq!(map.get(0x99, 2), None);
    }
}
