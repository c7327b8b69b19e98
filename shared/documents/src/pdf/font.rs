//! Fonts: what characters the codes of a string are, and how wide they are.

use super::cmap::CMap;
use super::encodings::{Base, of_glyph};
use super::file::File;
use super::object::{Dict, Object};
use super::widths;
use std::collections::HashMap;

/// The most widths that ranges of one font state.
const MOST: usize = 1 << 17;

/// A glyph that is shown.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Glyph {
    /// Its characters; `None` if the font does not tell them.
    pub text: Option<String>,
    /// Its width in parts of the font's size.
    pub width: f64,
    /// Whether it is the byte 32, to which word spacing is added.
    pub is_space: bool,
}

/// A font.
pub(super) enum Font {
    Simple(Box<Simple>),
    Composite(Box<Composite>),
}

/// A font whose codes are bytes.
pub(super) struct Simple {
    characters: Vec<Option<String>>,
    widths: Vec<f64>,
}

/// A font whose codes can have several bytes.
pub(super) struct Composite {
    /// How codes are cut; two bytes each if it states nothing.
    codes: CMap,
    unicode: CMap,
    /// Whether codes are UTF-16.
    is_unicode: bool,
    widths: HashMap<u32, f64>,
    default: f64,
}

impl Font {
    /// Reads a font.
    pub fn read(file: &File<'_>, dict: &Dict) -> Self {
        let unicode = match file.stream(dict.get("ToUnicode")) {
            Some((_, program)) => CMap::read(&program),
            None => CMap::default(),
        };
        match dict.get("Subtype").name() {
            Some("Type0") => Self::Composite(Box::new(Composite::read(file, dict, unicode))),
            _ => Self::Simple(Box::new(Simple::read(file, dict, &unicode))),
        }
    }

    /// The glyphs of a string.
    pub fn glyphs(&self, text: &[u8]) -> Vec<Glyph> {
        match self {
            Self::Simple(font) => text.iter().map(|code| font.glyph(*code)).collect(),
            Self::Composite(font) => font.glyphs(text),
        }
    }
}

impl Simple {
    fn read(file: &File<'_>, dict: &Dict, unicode: &CMap) -> Self {
        let name = file.get(dict, "BaseFont");
        let name = name.name().unwrap_or_default().to_owned();
        let kind = dict.get("Subtype").name().unwrap_or_default();
        let descriptor = file.dict(dict.get("FontDescriptor")).unwrap_or_default();
        let mut characters = base_characters(file, dict, &descriptor, &name, kind);
        for (code, slot) in characters.iter_mut().enumerate() {
            if let Some(own) = unicode.get(code as u32, 1).filter(|own| is_text(own)) {
                *slot = Some(own.to_owned());
            }
        }
        let widths = Self::widths(file, dict, &descriptor, &name, &characters);
        Self { characters, widths }
    }

    fn widths(
        file: &File<'_>,
        dict: &Dict,
        descriptor: &Dict,
        name: &str,
        characters: &[Option<String>],
    ) -> Vec<f64> {
        // A font of drawings has a unit of its own.
        let unit = match file.get(dict, "FontMatrix") {
            Object::Array(matrix) if dict.get("Subtype").name() == Some("Type3") => {
                matrix.first().and_then(Object::number).unwrap_or(0.001)
            }
            _ => 0.001,
        };
        let missing = file.get(descriptor, "MissingWidth").number();
        let first = file.get(dict, "FirstChar").count().unwrap_or(0);
        let stated = file.get(dict, "Widths");
        let stated = stated.array();
        let of = |code: usize| {
            let own = code.checked_sub(first).and_then(|at| stated.get(at));
            let own = own.and_then(|width| file.resolve(width).number());
            if let Some(width) = own.filter(|width| *width > 0.0) {
                return width * unit;
            }
            if let Some(width) = missing {
                return width * unit;
            }
            let c = characters[code]
                .as_ref()
                .and_then(|text| text.chars().next());
            widths::width(name, c.unwrap_or('x'))
        };
        (0..256).map(of).collect()
    }

    fn glyph(&self, code: u8) -> Glyph {
        Glyph {
            text: self.characters[usize::from(code)].clone(),
            width: self.widths[usize::from(code)],
            is_space: code == 32,
        }
    }
}

/// The characters of the 256 codes by the encoding of a font.
fn base_characters(
    file: &File<'_>,
    dict: &Dict,
    descriptor: &Dict,
    name: &str,
    kind: &str,
) -> Vec<Option<String>> {
    let encoding = file.get(dict, "Encoding");
    let named = match &encoding {
        Object::Name(name) => Base::of_name(name),
        Object::Dict(own) => file.get(own, "BaseEncoding").name().and_then(Base::of_name),
        _ => None,
    };
    let is_symbolic = file
        .get(descriptor, "Flags")
        .count()
        .is_some_and(|flags| flags & 4 != 0);
    let base = named.unwrap_or(match kind {
        _ if name.contains("Symbol") => Base::Symbol,
        "TrueType" if is_symbolic => Base::MacRoman,
        "TrueType" => Base::WinAnsi,
        _ => Base::Standard,
    });
    let of = |code: u8| base.character(code).map(String::from);
    let mut characters: Vec<Option<String>> = (0..=255).map(of).collect();
    // Fonts of drawings and embedded fonts of symbols have codes of their own.
    if named.is_none() && kind == "Type3" {
        characters.fill(None);
    }
    if named.is_none()
        && let Some((_, program)) = file.stream(descriptor.get("FontFile"))
    {
        built_in(&program, &mut characters);
    }
    if let Object::Dict(own) = &encoding {
        let mut code = 0_usize;
        for item in file.get(own, "Differences").array() {
            match file.resolve(item) {
                Object::Number(number) => code = number.clamp(0.0, 256.0) as usize,
                Object::Name(glyph) => {
                    if let Some(slot) = characters.get_mut(code) {
                        *slot = of_glyph(&glyph);
                    }
                    code += 1;
                }
                _ => {}
            }
        }
    }
    characters
}

/// Reads the encoding of a Type 1 font program: `dup 174 /ff put`.
fn built_in(program: &[u8], characters: &mut [Option<String>]) {
    let end = crate::kind::find(program, b"eexec").unwrap_or(program.len());
    let head = String::from_utf8_lossy(&program[..end]);
    let Some((_, encoding)) = head.split_once("/Encoding") else {
        return;
    };
    if encoding.trim_start().starts_with("StandardEncoding") {
        return;
    }
    characters.fill(None);
    let mut words = encoding.split_ascii_whitespace();
    while let Some(word) = words.next() {
        match word {
            "dup" => {
                let code = words.next().and_then(|code| code.parse::<usize>().ok());
                let glyph = words.next().and_then(|glyph| glyph.strip_prefix('/'));
                if let (Some(code), Some(glyph)) = (code, glyph)
                    && let Some(slot) = characters.get_mut(code)
                {
                    *slot = of_glyph(glyph);
                }
            }
            "def" | "readonly" => break,
            _ => {}
        }
    }
}

/// Whether the characters that a map gives are any.
fn is_text(text: &str) -> bool {
    !text.is_empty() && !text.chars().all(|c| c == '\0' || c == '\u{fffd}')
}

impl Composite {
    fn read(file: &File<'_>, dict: &Dict, unicode: CMap) -> Self {
        let encoding = file.get(dict, "Encoding");
        let name = encoding.name().unwrap_or_default();
        let codes = match file.stream(dict.get("Encoding")) {
            Some((_, program)) => CMap::read(&program),
            None => CMap::default(),
        };
        let descendants = file.get(dict, "DescendantFonts");
        let own = descendants.array().first();
        let own = own.and_then(|own| file.dict(own)).unwrap_or_default();
        let default = file.get(&own, "DW").number().unwrap_or(1000.0);
        Self {
            codes,
            is_unicode: name.contains("UCS2") || name.contains("UTF16"),
            widths: cid_widths(file, &own),
            unicode,
            default: default / 1000.0,
        }
    }

    fn glyphs(&self, text: &[u8]) -> Vec<Glyph> {
        let (mut glyphs, mut at) = (Vec::new(), 0);
        while at < text.len() {
            let (code, length) = match self.codes.has_spaces() {
                true => self.codes.code(&text[at..]),
                false => match text.get(at..at + 2) {
                    Some(pair) => (u32::from(pair[0]) << 8 | u32::from(pair[1]), 2),
                    None => (u32::from(text[at]), 1),
                },
            };
            at += usize::from(length);
            let known = self.unicode.get(code, length).filter(|own| is_text(own));
            let own = || {
                let c = char::from_u32(code).filter(|c| self.is_unicode && !c.is_control());
                c.map(String::from)
            };
            glyphs.push(Glyph {
                text: known.map(str::to_owned).or_else(own),
                width: self.widths.get(&code).copied().unwrap_or(self.default),
                is_space: length == 1 && code == 32,
            });
        }
        glyphs
    }
}

/// The widths of a CID font: `[1 [500 600] 10 20 500]`.
fn cid_widths(file: &File<'_>, dict: &Dict) -> HashMap<u32, f64> {
    let mut widths = HashMap::new();
    let all = file.get(dict, "W");
    let all = all.array();
    let (mut at, mut stated) = (0, 0);
    while at + 1 < all.len() {
        let Some(first) = file.resolve(&all[at]).count() else {
            break;
        };
        match file.resolve(&all[at + 1]) {
            Object::Array(own) => {
                for (number, width) in own.iter().enumerate() {
                    let width = file.resolve(width).number().unwrap_or(0.0);
                    widths.insert((first + number) as u32, width / 1000.0);
                }
                at += 2;
            }
            Object::Number(last) => {
                let width = all
                    .get(at + 2)
                    .and_then(|width| file.resolve(width).number());
                let last = (last.clamp(0.0, 65_535.0)) as usize;
                for code in first..=last {
                    if stated >= MOST {
                        return widths;
                    }
                    stated += 1;
                    widths.insert(code as u32, width.unwrap_or(0.0) / 1000.0);
                }
                at += 3;
            }
            _ => break,
        }
    }
    widths
}
