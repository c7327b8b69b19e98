//! A fast streaming reader of large XML files, with limits and with line numbers in errors.

use super::xml_guard::{Guard, Seen};
use crate::import::Longest;
use pel_kb::error::{Error, Result};
use quick_xml::Reader;
use quick_xml::errors::Error as XmlError;
use quick_xml::events::{BytesStart, Event};
use std::io::{self, BufRead};
use std::rc::Rc;

/// An element whose start tag has been read.
#[derive(Debug)]
pub struct Element {
    /// Its name, without a prefix.
    pub name: String,
    /// The line of the start tag, from 1.
    pub line: u64,
    attributes: Vec<(String, String)>,
}

impl Element {
    /// The value of an attribute.
    pub fn attribute(&self, name: &str) -> Option<&str> {
        let mut attributes = self.attributes.iter();
        attributes
            .find(|(own, _)| own == name)
            .map(|(_, value)| value.as_str())
    }
}

/// A part of a document.
enum Part {
    Start(Element),
    End,
    Text(String),
}

/// The elements of one document.
pub struct Elements {
    name: String,
    reader: Reader<Guard<Box<dyn BufRead>>>,
    seen: Rc<Seen>,
    buffer: Vec<u8>,
    depth: usize,
}

impl Elements {
    /// Opens a document, for which `reader` gives UTF-8, and returns its root element.
    ///
    /// # Errors
    /// If it cannot be read, or is no XML.
    pub fn open(
        name: &str,
        reader: Box<dyn BufRead>,
        longest: Longest<'static>,
    ) -> Result<(Self, Element)> {
        let (guard, seen) = Guard::new(reader, longest).map_err(|cause| read_error(name, cause))?;
        let mut reader = Reader::from_reader(guard);
        reader.config_mut().expand_empty_elements = true;
        let mut elements = Self {
            name: name.to_owned(),
            reader,
            seen,
            buffer: Vec::new(),
            depth: 0,
        };
        match elements.child()? {
            Some(root) => Ok((elements, root)),
            None => Err(elements.error("expected XML, found no element")),
        }
    }

    /// The next child of the open element; `None` after consuming its end.
    ///
    /// # Errors
    /// If the XML is malformed or has text instead of an element.
    pub fn child(&mut self) -> Result<Option<Element>> {
        loop {
            match self.next()? {
                Some(Part::Start(element)) => return Ok(Some(element)),
                Some(Part::End) | None => return Ok(None),
                Some(Part::Text(text)) if text.trim().is_empty() => {}
                Some(Part::Text(text)) => {
                    let text: String = text.trim().chars().take(40).collect();
                    return Err(
                        self.error(&format!("expected an element, found the text {text:?}"))
                    );
                }
            }
        }
    }

    /// The text of the open element up to its end, without tags within it.
    ///
    /// # Errors
    /// If the XML is malformed.
    pub fn text(&mut self) -> Result<String> {
        let mut text = String::new();
        self.finish_element(|part| text.push_str(part))?;
        Ok(text)
    }

    /// Reads to the end of the open element.
    ///
    /// # Errors
    /// If the XML is malformed.
    pub fn skip(&mut self) -> Result<()> {
        self.finish_element(|_| {})
    }

    /// The text of the only child of this name, such as `<String>`, of the open element.
    ///
    /// # Errors
    /// If the XML is malformed.
    pub fn text_in(&mut self, name: &str) -> Result<String> {
        let mut found = String::new();
        while let Some(child) = self.child()? {
            if child.name == name {
                found = self.text()?;
            } else {
                self.skip()?;
            }
        }
        Ok(found)
    }

    /// The texts of all children of this name of the open element.
    ///
    /// # Errors
    /// If the XML is malformed.
    pub fn texts(&mut self, name: &str) -> Result<Vec<String>> {
        let mut found = Vec::new();
        while let Some(child) = self.child()? {
            if child.name == name {
                found.push(self.text()?);
            } else {
                self.skip()?;
            }
        }
        Ok(found)
    }

    /// Checks that nothing follows the root element.
    ///
    /// # Errors
    /// If something follows.
    pub fn finish(mut self) -> Result<()> {
        match self.child()? {
            None => Ok(()),
            Some(found) => Err(self.error(&format!(
                "expected the end of the file, found <{}>",
                found.name
            ))),
        }
    }

    /// The place of an element, for a report.
    pub fn place(&self, line: u64) -> String {
        format!("{}:{line}", self.name)
    }

    /// An error at the current line.
    pub fn error(&self, what: &str) -> Error {
        self.error_at(self.seen.line(), what)
    }

    /// An error at a given line.
    pub fn error_at(&self, line: u64, what: &str) -> Error {
        Error::input(format!("{}: line {line}: {what}", self.name))
    }

    fn finish_element(&mut self, mut each: impl FnMut(&str)) -> Result<()> {
        let outside = self.depth.saturating_sub(1);
        while self.depth > outside {
            match self.next()? {
                Some(Part::Text(text)) => each(&text),
                Some(_) => {}
                None => break,
            }
        }
        Ok(())
    }

    /// The next part; `None` at the end of the file.
    fn next(&mut self) -> Result<Option<Part>> {
        let mut buffer = std::mem::take(&mut self.buffer);
        let part = self.next_in(&mut buffer);
        self.buffer = buffer;
        part
    }

    fn next_in(&mut self, buffer: &mut Vec<u8>) -> Result<Option<Part>> {
        loop {
            buffer.clear();
            let part = match self.reader.read_event_into(buffer) {
                Ok(Event::Start(tag)) => {
                    self.depth += 1;
                    element(&tag, self.seen.line()).map(Part::Start)
                }
                Ok(Event::End(_)) => {
                    self.depth = self.depth.saturating_sub(1);
                    Ok(Part::End)
                }
                Ok(Event::Text(text)) => text.unescape().map(|text| Part::Text(text.into_owned())),
                Ok(Event::CData(text)) => text
                    .decode()
                    .map(|text| Part::Text(text.into_owned()))
                    .map_err(XmlError::from),
                Ok(Event::Eof) if self.depth > 0 => {
                    return Err(self.error(
                        "expected well-formed XML: the file ends within an element (is it whole?)",
                    ));
                }
                Ok(Event::Eof) => return Ok(None),
                Ok(_) => continue,
                Err(cause) => Err(cause),
            };
            return part.map(Some).map_err(|cause| self.malformed(cause));
        }
    }

    fn malformed(&self, cause: XmlError) -> Error {
        let line = self.seen.line();
        if let Some(why) = self.seen.take_refusal() {
            return self.error_at(line, &why.to_string());
        }
        match cause {
            XmlError::Io(cause) => {
                let cause = std::sync::Arc::try_unwrap(cause)
                    .unwrap_or_else(|shared| io::Error::other(shared.to_string()));
                read_error(&self.name, cause)
            }
            other => self.error_at(line, &format!("expected well-formed XML: {other}")),
        }
    }
}

/// Adds the file's name to an error of its reader. An [`Error`] inside keeps its kind.
pub fn read_error(name: &str, cause: io::Error) -> Error {
    match cause.downcast::<Error>() {
        Ok(own) => Error::input(format!("{name}: {own}")),
        Err(cause) => Error::io(format!("reading {name}")).caused_by(cause),
    }
}

fn element(tag: &BytesStart<'_>, line: u64) -> std::result::Result<Element, XmlError> {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let mut attributes = Vec::new();
    for attribute in tag.attributes() {
        let attribute = attribute.map_err(XmlError::InvalidAttr)?;
        let value = attribute.unescape_value()?.into_owned();
        attributes.push((text(attribute.key.local_name().as_ref()), value));
    }
    Ok(Element {
        name: text(tag.local_name().as_ref()),
        line,
        attributes,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use quick_xml::escape::escape;
    use std::io::Cursor;

    fn with<T>(text: &str, read: impl FnOnce(Elements, Element) -> Result<T>) -> Result<T> {
        let bytes = Box::new(Cursor::new(text.to_owned()));
        let (elements, root) = Elements::open("a.xml", bytes, Longest::default())?;
        read(elements, root)
    }

    #[test]
    fn elements_have_attributes_and_text() {
        let text = "<?xml version=\"1.0\"?>\n<!DOCTYPE a SYSTEM \"a.dtd\">\n<a>\n \
                    <b n=\"1 &amp; 2\">x<i>é</i>\
                    <![CDATA[<y>]]></b><c/>\n<d><e>f</e><g/></d></a>\n";
        with(text, |mut elements, root| {
            assert_eq!((root.name.as_str(), root.line), ("a", 3));
            let b = elements.child()?.expect("there");
            assert_eq!((b.name.as_str(), b.line), ("b", 4));
            assert_eq!((b.attribute("n"), b.attribute("m")), (Some("1 & 2"), None));
            assert_eq!(elements.text()?, "xé<y>");
            assert_eq!(elements.child()?.expect("there").name, "c");
            assert!(elements.child()?.is_none());
            assert_eq!(elements.child()?.expect("there").name, "d");
            assert_eq!(elements.text_in("e")?, "f");
            assert!(elements.child()?.is_none());
            elements.finish()
        })
        .expect("readable");
    }

    #[test]
    fn error_of_malformed_xml_names_the_line() {
        for (text, message) in [
            ("", "a.xml: line 1: expected XML, found no element"),
            (
                "plain",
                "a.xml: line 1: expected an element, found the text \"plain\"",
            ),
            ("<a>\n<b>\n</a>", "a.xml: line 3: expected well-formed XML"),
            (
                "<a>\n<b>",
                "a.xml: line 2: expected well-formed XML: the file ends within",
            ),
            (
                "<a>\n<b>&nope;</b></a>",
                "a.xml: line 2: expected well-formed XML",
            ),
            (
                "<a>\n<b n=\"1\" n=\"2\"/></a>",
                "a.xml: line 2: expected well-formed XML",
            ),
            (
                "<a/>\n<a/>",
                "a.xml: line 2: expected the end of the file, found <a>",
            ),
        ] {
            let error = with(text, |mut elements, _| {
                while elements.child()?.is_some() {
                    elements.text()?;
                }
                elements.finish()
            });
            let error = error.expect_err(text).to_string();
            assert!(error.contains(message), "{text}: {error}");
        }
    }

    proptest! {
        #[test]
        fn escaped_text_reads_back_equal(text in "[ -~äß€😷\n\t]{0,40}") {
            let line = text.replace(['\n', '\t'], " ");
            let whole = format!("<a n=\"{}\">{}</a>", escape(&line), escape(&text));
            with(&whole, |mut elements, root| {
                assert_eq!(root.attribute("n"), Some(&*line));
                assert_eq!(elements.text()?, text);
                elements.finish()
            })
            .expect("well-formed");
        }
    }
}
