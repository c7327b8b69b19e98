//! Documents to text: HTML, RTF, DOCX, PDF with a text layer, C-CDA, HL7 v2 and FHIR.
//!
//! [`read`] takes bytes and gives [`Document`]s: the text that is shown, its sections, and what the
//! document states of its date, author, patient and encounter. The crate opens no files, starts no
//! threads and expands no entities. What a document unpacks to is bounded by [`Limits`]; the other
//! work is linear in the bytes.

mod base64;
mod cda;
mod dates;
mod decode;
mod document;
mod docx;
mod fhir;
mod flow;
mod hl7;
mod html;
mod inflate;
mod kind;
mod limits;
mod pdf;
mod rtf;
#[cfg(test)]
mod testing;
mod xml;

pub use document::{Document, Section};
pub use fhir::{documents as of_resource, media_type};
pub use kind::Kind;
pub use limits::Limits;

use pel_kb::error::{Error, Result};

/// A document of a file, or the error of one that cannot be read.
#[derive(Debug)]
pub struct Entry {
    /// Its place in the file: `line 2`, `entry 3`, `message 4`; empty if the file is one document.
    pub place: String,
    /// The document.
    pub document: Result<Document>,
}

impl Entry {
    fn whole(document: Result<Document>) -> Self {
        Self {
            place: String::new(),
            document,
        }
    }
}

/// Reads the documents of a file. `charset` is the declared character set of a text or HTML. A file
/// that cannot be read is one error; of a collection the other documents are read.
#[must_use]
pub fn read(bytes: &[u8], kind: Kind, charset: Option<&str>, limits: Limits) -> Vec<Entry> {
    match kind {
        Kind::Hl7 => hl7::read(bytes, limits),
        Kind::Fhir => fhir::read(bytes, limits),
        Kind::FhirLines => fhir::read_lines(bytes, limits),
        _ => vec![Entry::whole(read_one(bytes, kind, charset, limits))],
    }
}

/// Reads a file that is one document. The documents of a collection are joined, with empty lines
/// between them; what the first one states is kept.
///
/// # Errors
/// If the file or a document of it cannot be read, or it has no document.
pub fn read_one(
    bytes: &[u8],
    kind: Kind,
    charset: Option<&str>,
    limits: Limits,
) -> Result<Document> {
    match kind {
        Kind::Text => plain(bytes, charset),
        Kind::Html => shown(html::read(bytes, charset), "HTML"),
        Kind::Rtf => rtf::read(bytes),
        Kind::Docx => docx::read(bytes, limits),
        Kind::Pdf => pdf::read(bytes, limits),
        Kind::Cda => cda::read(bytes, limits),
        Kind::Hl7 | Kind::Fhir | Kind::FhirLines => joined(read(bytes, kind, charset, limits)),
    }
}

/// A plain text, as it is.
fn plain(bytes: &[u8], charset: Option<&str>) -> Result<Document> {
    decode::strict(bytes, charset).map(Document::of_text)
}

/// A document that has a text.
fn shown(document: Document, format: &str) -> Result<Document> {
    match document.text.is_empty() {
        true => Err(Error::input(format!(
            "the {format} shows no text; is it filled in by a script, or a picture?"
        ))),
        false => Ok(document),
    }
}

fn joined(entries: Vec<Entry>) -> Result<Document> {
    let mut whole: Option<Document> = None;
    for Entry { place, document } in entries {
        let document = match place.is_empty() {
            true => document?,
            false => document.map_err(|error| error.context(place))?,
        };
        match &mut whole {
            None => whole = Some(document),
            Some(whole) => {
                whole.complete_from(&document);
                whole.append(document);
            }
        }
    }
    whole.ok_or_else(|| Error::input("the file has no document"))
}

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
