//! The encoding of XML documents.

use pel_io::text_encoding::{TextEncoding, decode};
use pel_kb::error::{Error, Result};
use pel_terminologies::xml::read_error;
use pel_terminologies::xml_guard::declared_encoding;
use std::io::{BufRead, Cursor, Read};
use std::path::Path;

/// Decodes the bytes of an XML document: UTF-8, the encoding of its XML declaration, or UTF-16 with
/// a byte order mark. `label` is its name in messages.
///
/// # Errors
/// If its beginning cannot be read, or its encoding is not known.
pub fn decoded(label: &str, mut raw: Box<dyn BufRead>) -> Result<Box<dyn BufRead>> {
    let mut head = Vec::new();
    raw.by_ref()
        .take(1 << 10)
        .read_to_end(&mut head)
        .map_err(|cause| read_error(label, cause))?;
    let encoding = match declared_encoding(&head) {
        None => TextEncoding::default(),
        Some(name) => name.parse().map_err(|_| {
            Error::input(format!(
                "{label}: line 1: expected a known encoding in the XML declaration, found {name:?}"
            ))
        })?,
    };
    let whole = Box::new(Cursor::new(head).chain(raw));
    decode(Path::new(label), whole, &encoding)
}
