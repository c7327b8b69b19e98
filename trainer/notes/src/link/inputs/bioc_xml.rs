//! BioC in XML, read document by document.

use super::bioc::Assembly;
use super::{Each, NoteRow, Stated, note_name};
use pel_corpora::xml_encoding::decoded;
use pel_io::files::{open, record_limit};
use pel_io::interrupt;
use pel_kb::error::{Context, Error, Result};
use pel_terminologies::xml::Elements;
use std::io::BufRead;
use std::path::Path;

/// Reads a collection. A document whose passages are wrong is passed on as an error.
///
/// # Errors
/// If the file cannot be read, is malformed, has another root or no document, or `each` fails.
pub(super) fn read(path: &Path, each: &mut Each<'_>) -> Result<()> {
    read_open(path, open(path)?, each)
}

/// As [`read`], for a file that is open already.
///
/// # Errors
/// As [`read`].
pub(super) fn read_open(path: &Path, reader: Box<dyn BufRead>, each: &mut Each<'_>) -> Result<()> {
    let name = path.display().to_string();
    let reader = decoded(&name, reader)?;
    let (mut elements, root) = Elements::open(&name, reader, record_limit())?;
    if root.name != "collection" {
        return Err(elements.error(&format!(
            "expected a BioC <collection>, found <{}>",
            root.name
        )));
    }
    let mut documents = 0_u64;
    while let Some(child) = elements.child()? {
        interrupt::check()?;
        if child.name != "document" {
            elements.skip()?;
            continue;
        }
        documents += 1;
        let document = document(&mut elements)?;
        let place = format!("{name}: line {}", child.line);
        let note = document
            .finish(&place)
            .map_err(|error| error.context(place));
        each(note)?;
    }
    elements.finish()?;
    match documents {
        0 => Err(Error::input(format!(
            "{name}: the collection has no document"
        ))),
        _ => Ok(()),
    }
}

/// A document as far as it could be put together.
#[derive(Default)]
struct Document {
    id: String,
    assembly: Assembly,
    /// The first error of its passages.
    fault: Option<Error>,
}

impl Document {
    fn add(&mut self, offset: &str, text: &str) {
        if self.fault.is_some() {
            return;
        }
        let added = match offset.trim().parse() {
            Ok(offset) => self.assembly.add(offset, text),
            Err(_) => Err(Error::input("a passage has no number as <offset>")),
        };
        self.fault = added.err();
    }

    fn finish(self, place: &str) -> Result<NoteRow> {
        let name = note_name(self.id.trim()).context(|| "id of the document".to_owned())?;
        match self.fault {
            Some(fault) => Err(fault.context(format!("document {name}"))),
            None => Ok(NoteRow {
                name,
                text: self.assembly.finish(),
                place: place.to_owned(),
                stated: Stated::default(),
            }),
        }
    }
}

/// Reads an open document to its end. Only malformed XML is an error.
fn document(elements: &mut Elements) -> Result<Document> {
    let mut document = Document::default();
    while let Some(child) = elements.child()? {
        match child.name.as_str() {
            "id" => document.id = elements.text()?,
            "passage" => passage(elements, &mut document)?,
            _ => elements.skip()?,
        }
    }
    Ok(document)
}

/// Reads an open passage: its text, or that of its sentences.
fn passage(elements: &mut Elements, document: &mut Document) -> Result<()> {
    let (mut offset, mut text, mut sentences) = (String::new(), None, Vec::new());
    while let Some(child) = elements.child()? {
        match child.name.as_str() {
            "offset" => offset = elements.text()?,
            "text" => text = Some(elements.text()?),
            "sentence" => sentences.push(sentence(elements)?),
            _ => elements.skip()?,
        }
    }
    // Some writers give a passage of sentences an empty text.
    match text.filter(|text| !text.is_empty() || sentences.is_empty()) {
        Some(text) => document.add(&offset, &text),
        None => {
            for (offset, text) in &sentences {
                if let Some(text) = text {
                    document.add(offset, text);
                }
            }
        }
    }
    Ok(())
}

/// The offset and the text of an open sentence.
fn sentence(elements: &mut Elements) -> Result<(String, Option<String>)> {
    let (mut offset, mut text) = (String::new(), None);
    while let Some(child) = elements.child()? {
        match child.name.as_str() {
            "offset" => offset = elements.text()?,
            "text" => text = Some(elements.text()?),
            _ => elements.skip()?,
        }
    }
    Ok((offset, text))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Found, read_as};
    use super::super::{Kind, ReadOptions};

    fn read(text: &str) -> Found {
        read_as(
            "in.xml",
            text.as_bytes(),
            Kind::Xml,
            &ReadOptions::default(),
        )
    }

    #[test]
    fn passages_and_sentences_stand_at_their_offsets() {
        let found = read(
            "<?xml version='1.0' encoding='UTF-8'?><!DOCTYPE collection SYSTEM 'BioC.dtd'>\n\
             <collection><source>s</source>\n<document><id>1</id><infon key='a'>b</infon>\n\
             <passage><infon key='type'>title</infon><offset>0</offset><text>Fever &amp; 😷</text>\
             <annotation id='T1'><location offset='0' length='5'/><text>Fever</text></annotation>\
             </passage>\n\
             <passage><offset>11</offset><sentence><offset>11</offset><text>Cough.</text>\
             </sentence></passage></document>\n\
             <document><id>2</id><passage><offset>x</offset><text>y</text></passage></document>\n\
             <document><id>3</id></document>\
             <document><id>4</id><passage><offset>0</offset><text/><sentence><offset>0</offset>\
             <text>Pain</text></sentence></passage></document></collection>",
        );
        assert_eq!(
            found.notes,
            [("1", "Fever & 😷\n Cough."), ("3", ""), ("4", "Pain")]
                .map(|(name, text)| (name.into(), text.into()))
        );
        assert_eq!(found.errors.len(), 1, "{:?}", found.errors);
        assert!(
            found.errors[0].starts_with("in.xml: line 6: document 2: a passage has no"),
            "{:?}",
            found.errors
        );
    }

    #[test]
    fn other_xml_is_refused() {
        for (text, expected) in [
            ("<html/>", "expected a BioC <collection>, found <html>"),
            ("<collection/>", "the collection has no document"),
            ("<collection><document>", "within an element"),
            ("", "found no element"),
        ] {
            let error = read(text).stopped.expect(text);
            assert!(
                error.contains("in.xml") && error.contains(expected),
                "{error}"
            );
        }
    }
}
