//! PDF with a text layer.
//!
//! Own reader. pdf-extract 0.12 and lopdf 0.47 (MIT) unpack streams without a bound, and the first
//! panics where a font is not as it expects (100 `unwrap` and `expect`); hayro-syntax 0.9 (MIT or
//! Apache-2.0) is robust, but unpacks object streams without a bound too, and reads no text. What a
//! text needs is small: objects, five filters, encodings of fonts, and the places of characters.
//! Every step spends from a budget, so that work and memory are bounded. Encrypted files are refused.

mod cmap;
mod content;
mod encodings;
mod file;
mod filters;
mod font;
mod lexer;
mod lines;
mod object;
mod widths;

use crate::document::Document;
use crate::limits::Limits;
use content::Page;
use encodings::Base;
use file::File;
use font::Font;
use object::{Dict, Object, text_string};
use pel_kb::error::{Error, Result};
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

/// The most pages of a file.
const MOST_PAGES: usize = 20_000;
/// The deepest node of a page tree.
const DEEPEST: usize = 64;

/// The character of a code of the font Symbol.
pub(crate) fn symbol(code: u8) -> Option<char> {
    Base::Symbol.character(code)
}

/// Reads a document.
///
/// # Errors
/// If it is not PDF, is encrypted, exceeds the limits, or has no text layer.
pub(crate) fn read(bytes: &[u8], limits: Limits) -> Result<Document> {
    let file = File::open(bytes, limits)?;
    let pages = pages(&file);
    if pages.is_empty() {
        file.check()?;
        return Err(Error::input("expected a whole PDF, found no page in it"));
    }
    let mut fonts: HashMap<u32, Rc<Font>> = HashMap::new();
    let (mut text, mut unknown, mut has_picture) = (String::new(), 0, false);
    for page in &pages {
        let content = content_of(&file, &page.content);
        let mut shown = Page::new(&file, &mut fonts);
        shown.run(&content, &page.resources, 0);
        file.check()?;
        unknown += shown.unknown;
        has_picture |= shown.has_picture;
        let own = lines::text_of(&shown.runs, page.turns);
        let own = own.trim_matches('\n');
        if !own.is_empty() {
            if !text.is_empty() {
                text.push_str("\n\n");
            }
            text.push_str(own);
        }
    }
    let letters = text.chars().filter(|c| c.is_alphanumeric()).count();
    if unknown > letters {
        return Err(Error::input(format!(
            "the fonts of the PDF do not tell the characters of {unknown} of {} glyphs; save it \
             again with a text layer, such as by OCR",
            unknown + letters
        )));
    }
    if letters == 0 {
        return Err(Error::input(match has_picture {
            true => {
                "the PDF has no text layer: its pages are pictures, as of a scan; add one by OCR \
                 (such as ocrmypdf)"
            }
            false => "the PDF has no text layer: its pages show no text",
        }));
    }
    let info = file.dict(file.trailer.get("Info")).unwrap_or_default();
    let value = |key: &str| {
        let value = file.get(&info, key);
        let value = value.text().map(text_string)?;
        let line = value.split_whitespace().collect::<Vec<_>>().join(" ");
        (!line.is_empty()).then_some(line)
    };
    Ok(Document {
        text,
        title: value("Title"),
        author: value("Author"),
        // The file's date is that of its making, such as of a print years later.
        ..Document::default()
    })
}

/// A page with what it inherits.
struct PageDict {
    content: Object,
    resources: Dict,
    /// The direction of lines that are upright, in quarter turns to the left.
    turns: u8,
}

impl PageDict {
    fn new(file: &File<'_>, dict: &Dict, inherited: &Inherited) -> Self {
        let own = inherited.below(file, dict);
        Self {
            content: dict.get("Contents").clone(),
            resources: file.dict(&own.resources).unwrap_or_default(),
            turns: ((own.rotation / 90.0).round() as i64).rem_euclid(4) as u8,
        }
    }
}

/// What nodes of the page tree pass on.
#[derive(Clone)]
struct Inherited {
    resources: Object,
    rotation: f64,
}

impl Inherited {
    fn below(&self, file: &File<'_>, dict: &Dict) -> Self {
        let resources = dict.get("Resources");
        Self {
            resources: match resources {
                Object::Null => self.resources.clone(),
                own => own.clone(),
            },
            rotation: file.get(dict, "Rotate").number().unwrap_or(self.rotation),
        }
    }
}

/// The pages in their order; of a file without a page tree in the order of their objects.
fn pages(file: &File<'_>) -> Vec<PageDict> {
    let top = Inherited {
        resources: Object::Null,
        rotation: 0.0,
    };
    let mut pages = Vec::new();
    let catalogue = file.dict(file.trailer.get("Root")).unwrap_or_default();
    let mut seen = HashSet::new();
    // Nodes still to be visited, the next one last.
    let mut open = vec![(catalogue.get("Pages").clone(), top.clone(), 0)];
    while let Some((node, inherited, depth)) = open.pop() {
        if let Object::Reference(number) = node
            && !seen.insert(number)
        {
            continue;
        }
        let Some(dict) = file.dict(&node) else {
            continue;
        };
        match file.get(&dict, "Kids") {
            Object::Array(kids) if depth < DEEPEST => {
                let own = inherited.below(file, &dict);
                let kids = kids.into_iter().rev();
                open.extend(kids.map(|kid| (kid, own.clone(), depth + 1)));
            }
            _ if depth > 0 => pages.push(PageDict::new(file, &dict, &inherited)),
            _ => {}
        }
        if pages.len() >= MOST_PAGES {
            break;
        }
    }
    if pages.is_empty() {
        let loose = file.loose_pages();
        pages.extend(loose.iter().map(|dict| PageDict::new(file, dict, &top)));
    }
    pages
}

/// The content streams of a page, one behind the other.
fn content_of(file: &File<'_>, content: &Object) -> Vec<u8> {
    if let Some((_, bytes)) = file.stream(content) {
        return bytes;
    }
    let mut all = Vec::new();
    for part in file.resolve(content).array() {
        if let Some((_, bytes)) = file.stream(part) {
            all.extend_from_slice(&bytes);
            all.push(b'\n');
        }
    }
    all
}

#[cfg(test)]
mod tests;
