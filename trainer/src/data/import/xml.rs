//! A streaming XML reader whose errors name file and line.

use crate::data::terminologies::xml::{decoded, read_error};
use crate::data::terminologies::xml_guard::{Guard, Seen};
use crate::io::files::{open, record_limit};
use pel_shared::error::{Error, Result};
use std::io::{BufRead, Error as IoError};
use std::path::Path;
use std::rc::Rc;
use xml::common::Position;
use xml::reader::{ErrorKind, EventReader, ParserConfig2, XmlEvent};

/// An element whose start tag has been read.
#[derive(Debug)]
pub struct Element {
    /// Its name, without a prefix.
    pub name: String,
    /// Line of the start tag, from 1.
    pub line: u64,
    attributes: Vec<(String, String)>,
}

impl Element {
    /// The value of an attribute.
    pub fn attribute(&self, name: &str) -> Option<&str> {
        self.attributes
            .iter()
            .find(|(own, _)| own == name)
            .map(|(_, value)| value.as_str())
    }
}

/// The elements of one file.
pub struct Elements {
    name: String,
    reader: EventReader<Guard<Box<dyn BufRead>>>,
    seen: Rc<Seen>,
}

impl Elements {
    /// Opens a file, compressed or not, whose root element must have this name.
    ///
    /// # Errors
    /// If it cannot be opened, is no XML or has another root.
    pub fn open(path: &Path, root: &str) -> Result<Self> {
        let config = ParserConfig2::new()
            .cdata_to_characters(true)
            .allow_multiple_root_elements(false);
        let name = path.display().to_string();
        let reader = decoded(&name, open(path)?)?;
        let (guard, seen) =
            Guard::new(reader, record_limit()).map_err(|cause| read_error(&name, cause))?;
        let mut elements = Self {
            name,
            reader: config.create_reader(guard),
            seen,
        };
        match elements.child()? {
            Some(found) if found.name == root => Ok(elements),
            Some(found) => {
                Err(elements.error(&format!("expected <{root}>, found <{}>", found.name)))
            }
            None => Err(elements.error(&format!("expected <{root}>, found nothing"))),
        }
    }

    /// The next child of the open element; `None` after consuming its end.
    ///
    /// # Errors
    /// If the XML is malformed or has text instead of an element.
    pub fn child(&mut self) -> Result<Option<Element>> {
        loop {
            match self.event()? {
                XmlEvent::StartElement {
                    name, attributes, ..
                } => {
                    let attributes = attributes
                        .into_iter()
                        .map(|one| (one.name.local_name, one.value))
                        .collect();
                    return Ok(Some(Element {
                        name: name.local_name,
                        line: self.line(),
                        attributes,
                    }));
                }
                XmlEvent::EndElement { .. } | XmlEvent::EndDocument => return Ok(None),
                XmlEvent::Characters(text) if !text.trim().is_empty() => {
                    // The position is that of the preceding white space.
                    let before = text.len() - text.trim_start().len();
                    let lines = text
                        .bytes()
                        .take(before)
                        .filter(|byte| *byte == b'\n')
                        .count();
                    let text: String = text.trim().chars().take(40).collect();
                    let what = format!("expected an element, found the text {text:?}");
                    return Err(self.error_at(self.line() + lines as u64, &what));
                }
                _ => {}
            }
        }
    }

    /// The text of the open element up to its end, without tags within it.
    ///
    /// # Errors
    /// If the XML is malformed.
    pub fn text(&mut self) -> Result<String> {
        let (mut text, mut depth) = (String::new(), 1);
        while depth > 0 {
            match self.event()? {
                XmlEvent::StartElement { .. } => depth += 1,
                XmlEvent::EndElement { .. } => depth -= 1,
                XmlEvent::Characters(part) | XmlEvent::Whitespace(part) => text.push_str(&part),
                XmlEvent::EndDocument => break,
                _ => {}
            }
        }
        Ok(text)
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

    /// An error at the current line.
    pub fn error(&self, what: &str) -> Error {
        self.error_at(self.line(), what)
    }

    /// An error at a given line.
    pub fn error_at(&self, line: u64, what: &str) -> Error {
        Error::input(format!("{}: line {line}: {what}", self.name))
    }

    fn line(&self) -> u64 {
        self.reader.position().row + 1
    }

    fn event(&mut self) -> Result<XmlEvent> {
        self.reader.next().map_err(|cause| {
            if let Some(why) = self.seen.take_refusal() {
                return self.error_at(self.seen.line(), &why.to_string());
            }
            let line = cause.position().row + 1;
            let why = match cause.kind() {
                ErrorKind::Io(why) => {
                    let own = why.get_ref().and_then(|own| own.downcast_ref::<Error>());
                    return match own {
                        Some(own) => self.error_at(line, &own.to_string()),
                        None => {
                            read_error(&self.name, IoError::other(format!("{why} (line {line})")))
                        }
                    };
                }
                ErrorKind::Syntax(why) => why.replace('\n', " "),
                ErrorKind::Utf8(why) => why.to_string(),
                ErrorKind::UnexpectedEof => "the file ends within an element".to_owned(),
            };
            self.error_at(line, &format!("expected well-formed XML: {why}"))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(text: &str) -> tempfile::NamedTempFile {
        let file = tempfile::NamedTempFile::new().expect("a file");
        std::fs::write(file.path(), text).expect("written");
        file
    }

    #[test]
    fn elements_have_attributes_and_text() {
        let file = file(
            "<?xml version=\"1.0\"?>\n<a>\n <b n=\"1 &amp; 2\">x<i>é</i><![CDATA[<y>]]></b><c/>\n\
             </a>\n",
        );
        let mut elements = Elements::open(file.path(), "a").expect("readable");
        let b = elements.child().expect("read").expect("there");
        assert_eq!(
            (b.name.as_str(), b.line, b.attribute("n"), b.attribute("m")),
            ("b", 3, Some("1 & 2"), None)
        );
        assert_eq!(elements.text().expect("read"), "xé<y>");
        assert_eq!(elements.child().expect("read").expect("there").name, "c");
        assert!(
            elements.child().expect("read").is_none() && elements.child().expect("read").is_none()
        );
        elements.finish().expect("the end");
    }

    #[test]
    fn error_of_malformed_xml_names_the_line() {
        let end = |text: &str| -> Result<()> {
            let mut elements = Elements::open(file(text).path(), "a")?;
            while elements.child()?.is_some() {
                elements.text()?;
            }
            elements.finish()
        };
        for (text, message) in [
            ("<b/>", "line 1: expected <a>, found <b>"),
            ("", "line 1: expected well-formed XML"),
            ("plain", "line 1: expected well-formed XML"),
            ("<a>\n<b>\n</a>", "line 3: expected well-formed XML"),
            ("<a>\n<b>", "line 2: expected well-formed XML"),
            (
                "<a>\n\nwords</a>",
                "line 3: expected an element, found the text \"words\"",
            ),
            ("<a>&nope;</a>", "line 1: expected well-formed XML"),
            ("<a/>\n<a/>", "line 2: "),
        ] {
            let error = end(text).expect_err(text).to_string();
            assert!(error.contains(message), "{text}: {error}");
        }
    }
}
