//! The elements of an XML document in memory, as the readers of CDA and DOCX need them.
//!
//! quick-xml 0.37 parses, as in `pel-terminologies`, whose reader streams files and depends on the
//! linker. Here a document is a slice, so nothing is buffered. Entities that a document defines are
//! refused instead of expanded, elements nest to a bound, and attributes are not compared with each
//! other, so the work is linear.

use crate::limits::DEEPEST;
use pel_kb::error::{Error, Result};
use quick_xml::escape::resolve_predefined_entity;
use quick_xml::events::{BytesStart, Event};
use std::borrow::Cow;

/// The attributes of one tag that are read at most.
const MOST_ATTRIBUTES: usize = 200;

/// A part of a document.
#[derive(Debug)]
pub(crate) enum Part<'x> {
    /// A start tag. An empty element has an end, too.
    Start(Tag<'x>),
    /// An end tag.
    End,
    /// Characters.
    Text(Cow<'x, str>),
}

/// A start tag.
#[derive(Debug)]
pub(crate) struct Tag<'x> {
    /// The name without its prefix.
    pub name: String,
    start: BytesStart<'x>,
}

impl Tag<'_> {
    /// The value of an attribute, whose name is given without its prefix.
    pub fn attribute(&self, name: &str) -> Option<String> {
        let mut attributes = self.start.attributes();
        attributes.with_checks(false);
        let found = attributes
            .take(MOST_ATTRIBUTES)
            .flatten()
            .find(|one| one.key.local_name().as_ref() == name.as_bytes())?;
        let value = String::from_utf8_lossy(&found.value).into_owned();
        let read = quick_xml::escape::unescape_with(&value, entity).map(Cow::into_owned);
        Some(read.unwrap_or(value))
    }
}

/// A parser of one document.
pub(crate) struct Parts<'x> {
    reader: quick_xml::Reader<&'x [u8]>,
    depth: usize,
    /// Whether an element has begun.
    begun: bool,
}

impl<'x> Parts<'x> {
    /// The parts of a text.
    pub fn new(text: &'x str) -> Self {
        let mut reader = quick_xml::Reader::from_str(text.trim_start_matches('\u{feff}'));
        reader.config_mut().expand_empty_elements = true;
        Self {
            reader,
            depth: 0,
            begun: false,
        }
    }

    /// The number of open elements.
    pub fn depth(&self) -> usize {
        self.depth
    }

    /// The next part; `None` at the end of the document.
    ///
    /// # Errors
    /// If the XML is malformed or cut, defines entities, or nests too deep.
    pub fn next(&mut self) -> Result<Option<Part<'x>>> {
        loop {
            let at = self.reader.buffer_position();
            let event = self.reader.read_event().map_err(|cause| {
                Error::input(format!("expected well-formed XML from byte {at} on")).caused_by(cause)
            })?;
            return Ok(Some(match event {
                Event::Start(start) => {
                    self.depth += 1;
                    self.begun = true;
                    if self.depth > DEEPEST {
                        return Err(Error::input(format!(
                            "expected at most {DEEPEST} XML elements within one another, found more"
                        )));
                    }
                    let name = String::from_utf8_lossy(start.local_name().as_ref()).into_owned();
                    Part::Start(Tag { name, start })
                }
                Event::End(_) => {
                    self.depth = self.depth.saturating_sub(1);
                    Part::End
                }
                Event::Text(text) => Part::Text(unescaped(text.into_inner())),
                Event::CData(text) => Part::Text(characters(text.into_inner())),
                Event::DocType(definition) => {
                    check_doctype(&definition)?;
                    continue;
                }
                Event::Eof if self.depth > 0 => {
                    return Err(Error::input(
                        "the XML ends within an element; is the document whole?",
                    ));
                }
                Event::Eof if !self.begun => {
                    return Err(Error::input("expected XML, found no element"));
                }
                Event::Eof => return Ok(None),
                Event::Empty(_) | Event::Comment(_) | Event::Decl(_) | Event::PI(_) => continue,
            }));
        }
    }

    /// The characters up to the end of the open element, with those of elements in it.
    ///
    /// # Errors
    /// As [`Parts::next`].
    pub fn text(&mut self) -> Result<String> {
        let (mut text, outside) = (String::new(), self.depth.saturating_sub(1));
        while self.depth > outside {
            match self.next()? {
                Some(Part::Text(part)) => text.push_str(&part),
                Some(_) => {}
                None => break,
            }
        }
        Ok(text)
    }

    /// Passes over the rest of the open element.
    ///
    /// # Errors
    /// As [`Parts::next`].
    pub fn skip(&mut self) -> Result<()> {
        let outside = self.depth.saturating_sub(1);
        while self.depth > outside && self.next()?.is_some() {}
        Ok(())
    }
}

/// Refuses a document type that defines entities.
fn check_doctype(definition: &[u8]) -> Result<()> {
    let defines = definition.windows(8).any(|at| at == b"<!ENTITY");
    match defines {
        true => Err(Error::input(
            "the XML defines entities, as documents made to fill the memory do; PEL expands none, \
             so it does not read the document",
        )),
        false => Ok(()),
    }
}

fn characters(bytes: Cow<'_, [u8]>) -> Cow<'_, str> {
    match bytes {
        Cow::Borrowed(bytes) => String::from_utf8_lossy(bytes),
        Cow::Owned(bytes) => Cow::Owned(String::from_utf8_lossy(&bytes).into_owned()),
    }
}

/// Characters with their references resolved; unknown ones stay as they are.
fn unescaped(bytes: Cow<'_, [u8]>) -> Cow<'_, str> {
    let text = characters(bytes);
    if !text.contains('&') {
        return text;
    }
    let read = quick_xml::escape::unescape_with(&text, entity).map(Cow::into_owned);
    Cow::Owned(read.unwrap_or_else(|_| text.into_owned()))
}

/// The entities of XML, and the spaces of HTML that exporters write.
fn entity(name: &str) -> Option<&'static str> {
    match name {
        "nbsp" | "ensp" | "emsp" | "thinsp" => Some(" "),
        name => resolve_predefined_entity(name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(text: &str) -> Result<Vec<String>> {
        let (mut parts, mut names) = (Parts::new(text), Vec::new());
        while let Some(part) = parts.next()? {
            match part {
                Part::Start(tag) => names.push(tag.name),
                Part::Text(text) => names.push(format!("'{text}'")),
                Part::End => names.push("/".into()),
            }
        }
        Ok(names)
    }

    #[test]
    fn parts_are_passed_on_in_order() {
        let text = "<?xml version='1.0'?><!DOCTYPE a SYSTEM 'a.dtd'><x:a b='1'>&lt;&#233;&nbsp;\
                    <![CDATA[<&>]]><c/></x:a>";
        let found = names(text).expect("well-formed");
        assert_eq!(found, ["a", "'<é '", "'<&>'", "c", "/", "/"]);
    }

    #[test]
    fn bombs_and_cut_documents_are_refused() {
        let deep = "<a>".repeat(1000);
        for (text, why) in [
            (
                "<!DOCTYPE a [<!ENTITY b 'b'><!ENTITY c '&b;&b;'>]><a>&c;</a>",
                "defines entities",
            ),
            (&deep, "within one another"),
            ("<a><b>", "ends within an element"),
            ("<a></b>", "well-formed"),
            ("", "no element"),
        ] {
            let error = names(text).expect_err(text).to_string();
            assert!(error.contains(why), "{error}");
        }
    }
}
