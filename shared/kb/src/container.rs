//! The binary file format of all artifacts: a JSON header and aligned sections with checksums.
//!
//! ```text
//! 0   magic, 8 bytes            "PELINDEX", "PELCNCPT", ...
//! 8   format version, u32       all numbers are little-endian
//! 12  header length n, u32
//! 16  BLAKE3 hash of the header, 32 bytes
//! 48  header, n bytes of JSON: the format's fields; each section's name, offset, length and BLAKE3
//! ..  sections in order, each at a multiple of 64 bytes, zero padding between them and at the end
//! ```
//!
//! Every byte is checked: the header and the sections by checksums, the padding by being zero.

use crate::error::{Error, Result};
use bytes::Bytes;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The alignment of sections in bytes.
const ALIGN: usize = 64;
/// The offset of the JSON header in bytes.
const HEADER_START: usize = 48;

/// A file format: its magic number, version and name.
#[derive(Clone, Copy, Debug)]
pub struct Format {
    /// The first eight bytes.
    pub magic: &'static [u8; 8],
    /// The only format version that this build reads and writes.
    pub version: u32,
    /// The format's name in messages.
    pub name: &'static str,
}

#[derive(Serialize, Deserialize)]
struct Header<T> {
    fields: T,
    sections: BTreeMap<String, Section>,
}

#[derive(Clone, Serialize, Deserialize)]
struct Section {
    at: usize,
    bytes: usize,
    blake3: String,
}

/// Whether a read compares the sections' checksums.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Check {
    /// Compare the checksum of every section.
    Checksums,
    /// Skip the comparison: the caller compared a checksum of the whole file.
    Trusted,
}

/// A file that was read: its fields and its sections, which share the file's bytes.
#[derive(Debug)]
pub struct Container<T> {
    /// The fields of this format, from the JSON header.
    pub fields: T,
    sections: BTreeMap<String, (Bytes, String)>,
    name: &'static str,
}

/// The places of sections in a file, before their contents are known.
#[derive(Debug)]
pub struct Layout<'a, T> {
    format: Format,
    fields: &'a T,
    /// The name and the bytes of each.
    sections: Vec<(String, usize)>,
    /// The offset of the first section.
    start: usize,
}

impl<'a, T: Serialize> Layout<'a, T> {
    /// A file of these fields and of sections of these names and sizes in bytes.
    ///
    /// # Errors
    /// If the fields cannot be written as JSON.
    pub fn new(format: Format, fields: &'a T, sections: &[(&str, usize)]) -> Result<Self> {
        let sections = sections
            .iter()
            .map(|(name, bytes)| ((*name).to_owned(), *bytes));
        let mut layout = Self {
            format,
            fields,
            sections: sections.collect(),
            start: 0,
        };
        // The header contains the sections' offsets, which depend on the header's length. Encoding
        // with offset 0 and reserving 20 more digits a section bounds that length; blanks fill the
        // rest.
        let count = layout.sections.len();
        let unknown = vec![blake3::Hash::from_bytes([0; blake3::OUT_LEN]); count];
        let length = layout.encode(&unknown)?.len();
        layout.start = (HEADER_START + length + 20 * count).next_multiple_of(ALIGN);
        Ok(layout)
    }

    /// The offset of each section, and the size of the file. What is in no section is zero, but for
    /// the header.
    pub fn places(&self) -> (Vec<usize>, usize) {
        let mut end = self.start;
        let places = self.sections.iter().map(|(_, bytes)| {
            let at = end;
            end = (at + bytes).next_multiple_of(ALIGN);
            at
        });
        let places = places.collect();
        (places, end)
    }

    /// What the file begins with, given the hash of each section.
    ///
    /// # Errors
    /// If the header exceeds 4 GiB.
    pub fn header(&self, hashes: &[blake3::Hash]) -> Result<Vec<u8>> {
        let mut header = self.encode(hashes)?;
        header.resize(self.start - HEADER_START, b' ');
        let length = u32::try_from(header.len()).map_err(|_| {
            Error::artifact(format!(
                "expected a header below 4 GiB, found {} bytes",
                header.len()
            ))
        })?;
        let mut file = Vec::with_capacity(self.start);
        file.extend_from_slice(self.format.magic);
        file.extend_from_slice(&self.format.version.to_le_bytes());
        file.extend_from_slice(&length.to_le_bytes());
        file.extend_from_slice(blake3::hash(&header).as_bytes());
        file.extend_from_slice(&header);
        Ok(file)
    }

    fn encode(&self, hashes: &[blake3::Hash]) -> Result<Vec<u8>> {
        let (places, _) = self.places();
        let sections = self.sections.iter().zip(places).zip(hashes);
        let sections = sections.map(|(((name, bytes), at), hash)| {
            let section = Section {
                at,
                bytes: *bytes,
                blake3: hash.to_hex().to_string(),
            };
            (name.clone(), section)
        });
        serde_json::to_vec(&Header {
            fields: self.fields,
            sections: sections.collect(),
        })
        .map_err(|cause| {
            let name = self.format.name;
            Error::artifact(format!("writing the header of the {name}")).caused_by(cause)
        })
    }
}

fn layout_of<'a, T: Serialize>(
    format: Format,
    fields: &'a T,
    sections: &[(&str, &[u8])],
) -> Result<Layout<'a, T>> {
    let sizes: Vec<(&str, usize)> = sections
        .iter()
        .map(|(name, body)| (*name, body.len()))
        .collect();
    Layout::new(format, fields, &sizes)
}

/// Encodes a file from its fields and its sections (name, bytes).
///
/// # Errors
/// If the fields cannot be written as JSON, or the header exceeds 4 GiB.
pub fn write<T: Serialize>(
    format: Format,
    fields: &T,
    sections: &[(&str, &[u8])],
) -> Result<Vec<u8>> {
    let (_, bytes) = layout_of(format, fields, sections)?.places();
    let mut file = Vec::with_capacity(bytes);
    write_to(format, fields, sections, |piece| {
        file.extend_from_slice(piece);
        Ok(())
    })?;
    Ok(file)
}

/// As [`write()`], piece by piece.
///
/// # Errors
/// As [`write()`], or if `put` fails.
pub fn write_to<T: Serialize>(
    format: Format,
    fields: &T,
    sections: &[(&str, &[u8])],
    mut put: impl FnMut(&[u8]) -> Result<()>,
) -> Result<()> {
    let hashes: Vec<blake3::Hash> = sections
        .iter()
        .map(|(_, body)| blake3::hash(body))
        .collect();
    put(&layout_of(format, fields, sections)?.header(&hashes)?)?;
    for (_, body) in sections {
        put(body)?;
        put(&[0; ALIGN][..body.len().next_multiple_of(ALIGN) - body.len()])?;
    }
    Ok(())
}

impl<T: DeserializeOwned> Container<T> {
    /// Reads a file without copying its sections.
    ///
    /// # Errors
    /// If its magic number or version differs, it is truncated, or a byte was altered.
    pub fn read(format: Format, bytes: &Bytes, check: Check) -> Result<Self> {
        let name = format.name;
        let short = || truncated(name, bytes);
        let array = |at: usize| -> Result<[u8; 4]> {
            bytes
                .get(at..at + 4)
                .and_then(|slice| slice.try_into().ok())
                .ok_or_else(short)
        };
        if bytes.get(..8).ok_or_else(short)? != format.magic {
            let magic = text(format.magic);
            return Err(Error::artifact(format!(
                "this file does not have PEL's format `{name}`: it does not begin with {magic:?}"
            )));
        }
        let version = u32::from_le_bytes(array(8)?);
        if version != format.version {
            let expected = format.version;
            return Err(Error::artifact(format!(
                "the {name} has format version {version}, this build reads {expected}"
            )));
        }
        let length = u32::from_le_bytes(array(12)?) as usize;
        let end = HEADER_START.checked_add(length).ok_or_else(short)?;
        let header = bytes.get(HEADER_START..end).ok_or_else(short)?;
        if bytes.get(16..HEADER_START).ok_or_else(short)? != blake3::hash(header).as_bytes() {
            return Err(Error::artifact(format!(
                "the header of the {name} has been altered: its checksum differs"
            )));
        }
        let header: Header<T> = serde_json::from_slice(header).map_err(|cause| {
            Error::artifact(format!("the header of the {name}")).caused_by(cause)
        })?;
        check_layout(name, bytes, end, &header.sections)?;
        let mut sections = BTreeMap::new();
        for (section_name, section) in header.sections {
            let body = bytes.slice(section.at..section.at + section.bytes);
            sections.insert(section_name, (body, section.blake3));
        }
        let container = Self {
            fields: header.fields,
            sections,
            name,
        };
        if check == Check::Checksums {
            container
                .names()
                .try_for_each(|section| container.verify(section))?;
        }
        Ok(container)
    }

    /// The names of the sections, in ascending order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.sections.keys().map(String::as_str)
    }

    /// Compares the checksum of one section, for a file that was read with [`Check::Trusted`].
    ///
    /// # Errors
    /// If the checksum differs, or there is no such section.
    pub fn verify(&self, name: &str) -> Result<()> {
        let (body, blake3) = self.found(name)?;
        if blake3::hash(body).to_hex().as_str() == blake3 {
            return Ok(());
        }
        let kind = self.name;
        Err(Error::artifact(format!(
            "the {kind} has been altered: the checksum of `{name}` differs"
        )))
    }

    fn found(&self, name: &str) -> Result<&(Bytes, String)> {
        let found = self.sections.get(name);
        found.ok_or_else(|| Error::artifact(format!("the {} has no section `{name}`", self.name)))
    }

    /// All sections with their names, in ascending order of names.
    pub fn sections(&self) -> impl Iterator<Item = (&str, &[u8])> {
        self.sections
            .iter()
            .map(|(name, (body, _))| (name.as_str(), &body[..]))
    }

    /// The bytes of a section.
    ///
    /// # Errors
    /// If there is no such section.
    pub fn section(&self, name: &str) -> Result<Bytes> {
        Ok(self.found(name)?.0.clone())
    }

    /// The bytes of a section whose length must be `expected` bytes.
    ///
    /// # Errors
    /// If there is no such section, or its length differs.
    pub fn section_of(&self, name: &str, expected: usize) -> Result<Bytes> {
        let found = self.section(name)?;
        if found.len() != expected {
            let kind = self.name;
            let found = found.len();
            return Err(Error::artifact(format!(
                "the {kind}: expected {expected} bytes in the section `{name}`, found {found}"
            )));
        }
        Ok(found)
    }
}

/// Checks that the sections follow the header and each other, that the padding is zero, and that
/// the file ends after the last section. `header_end` is the offset after the header.
fn check_layout(
    name: &str,
    bytes: &Bytes,
    header_end: usize,
    sections: &BTreeMap<String, Section>,
) -> Result<()> {
    let mut ordered: Vec<(&String, &Section)> = sections.iter().collect();
    // An empty section has the same offset as its successor.
    ordered.sort_by_key(|(_, section)| (section.at, section.bytes));
    let short = || truncated(name, bytes);
    let mut end = header_end;
    for (section_name, section) in ordered {
        let start = align_up(end).ok_or_else(short)?;
        if section.at != start {
            let found = section.at;
            return Err(Error::artifact(format!(
                "the {name}: expected the section `{section_name}` at byte {start}, found it at \
                 {found}"
            )));
        }
        check_zeros(name, bytes, end, start)?;
        end = section
            .at
            .checked_add(section.bytes)
            .filter(|end| *end <= bytes.len())
            .ok_or_else(short)?;
    }
    let last = align_up(end).ok_or_else(short)?;
    check_zeros(name, bytes, end, last)?;
    match bytes.len() - last {
        0 => Ok(()),
        more => Err(Error::artifact(format!(
            "the {name} has been extended: {more} bytes follow its last section"
        ))),
    }
}

fn align_up(at: usize) -> Option<usize> {
    at.checked_next_multiple_of(ALIGN)
}

fn truncated(name: &str, bytes: &Bytes) -> Error {
    Error::artifact(format!(
        "the {name} is cut short: it has only {} bytes",
        bytes.len()
    ))
}

fn check_zeros(name: &str, bytes: &Bytes, from: usize, to: usize) -> Result<()> {
    let padding = bytes.get(from..to).ok_or_else(|| truncated(name, bytes))?;
    match padding.iter().position(|byte| *byte != 0) {
        None => Ok(()),
        Some(at) => {
            let at = from + at;
            Err(Error::artifact(format!(
                "the {name} has been altered: expected zero padding between its sections, found \
                 another value at byte {at}"
            )))
        }
    }
}

fn text(magic: &[u8; 8]) -> String {
    String::from_utf8_lossy(magic).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    const FORMAT: Format = Format {
        magic: b"PELTEST\0",
        version: 3,
        name: "test file",
    };

    fn file() -> Vec<u8> {
        write(
            FORMAT,
            &vec![1, 2],
            &[("a", b"hello"), ("empty", b""), ("b", &[7; 100])],
        )
        .expect("it can be written")
    }

    fn read(bytes: Vec<u8>) -> Result<Container<Vec<u32>>> {
        Container::read(FORMAT, &Bytes::from(bytes), Check::Checksums)
    }

    #[test]
    fn written_file_is_read_and_sections_are_aligned() {
        let container = read(file()).expect("whole");
        assert_eq!(container.fields, [1, 2]);
        assert_eq!(&container.section("a").expect("there")[..], b"hello");
        assert_eq!(container.section_of("b", 100).expect("there").len(), 100);
        assert!(container.section_of("b", 99).is_err() && container.section("c").is_err());
        assert!(container.section("empty").expect("there").is_empty());
        assert_eq!(file().len() % ALIGN, 0);
    }

    #[test]
    fn truncation_and_extension_are_errors() {
        let whole = file();
        for length in 0..whole.len() {
            assert!(read(whole[..length].to_vec()).is_err(), "cut at {length}");
        }
        for more in [vec![0], vec![0; ALIGN], b"more".to_vec()] {
            let message = read([whole.clone(), more].concat())
                .expect_err("extended")
                .to_string();
            assert!(message.contains("has been extended"), "{message}");
        }
    }

    #[test]
    fn every_flipped_bit_is_an_error() {
        let whole = file();
        for at in 0..whole.len() {
            for bit in 0..8 {
                let mut bytes = whole.clone();
                bytes[at] ^= 1 << bit;
                assert!(read(bytes).is_err(), "bit {bit} of byte {at}");
            }
        }
    }

    /// A file with a changed section table and correct checksums.
    fn with_table(change: impl Fn(&mut BTreeMap<String, Section>)) -> Vec<u8> {
        let whole = file();
        let length = u32::from_le_bytes(whole[12..16].try_into().expect("four")) as usize;
        let json = &whole[HEADER_START..HEADER_START + length];
        let mut header: Header<Vec<u32>> = serde_json::from_slice(json).expect("JSON");
        change(&mut header.sections);
        let mut json = serde_json::to_vec(&header).expect("it can be written");
        assert!(json.len() <= length);
        json.resize(length, b' ');
        let checksum = *blake3::hash(&json).as_bytes();
        [
            &whole[..16],
            &checksum,
            &json,
            &whole[HEADER_START + length..],
        ]
        .concat()
    }

    #[test]
    fn overlapping_sections_and_gaps_are_errors() {
        read(with_table(|_| {})).expect("whole");
        let start = |table: &BTreeMap<String, Section>| table["a"].at;
        let read_error = |change: &dyn Fn(&mut BTreeMap<String, Section>)| {
            read(with_table(change))
                .expect_err("the table is wrong")
                .to_string()
        };
        let set = |table: &mut BTreeMap<String, Section>, name: &str, at: usize, bytes: usize| {
            let section = table.get_mut(name).expect("there");
            section.at = at;
            section.bytes = bytes;
            section.blake3 = blake3::hash(&[]).to_hex().to_string();
        };
        let message = read_error(&|table| set(table, "b", start(table), 100));
        assert!(message.contains("expected the section"), "{message}");
        let message = read_error(&|table| set(table, "empty", usize::MAX, 1));
        assert!(message.contains("expected the section"), "{message}");
        let message = read_error(&|table| set(table, "b", start(table) + ALIGN, usize::MAX));
        assert!(message.contains("cut short"), "{message}");
        let message = read_error(&|table| drop(table.remove("b")));
        assert!(message.contains("has been extended"), "{message}");
        let message = read_error(&|table| set(table, "a", start(table), 3));
        assert!(message.contains("expected zero padding"), "{message}");
    }

    #[test]
    fn version_and_magic_mismatch_are_named() {
        let mut bytes = file();
        bytes[8] = 9;
        assert!(
            read(bytes)
                .expect_err("version")
                .to_string()
                .contains("format version 9, this build reads 3")
        );
        assert!(
            read(b"PK\x03\x04 something else".to_vec())
                .expect_err("kind")
                .to_string()
                .contains("does not have PEL's format `test file`")
        );
    }
}
