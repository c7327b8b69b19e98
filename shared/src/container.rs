//! The file form of everything that PEL writes in binary: a JSON header and aligned, checksummed sections.
//!
//! ```text
//! 0   magic, 8 bytes            "PELINDEX", "PELCNCPT", ...
//! 8   format version, u32       all numbers little-endian
//! 12  header length n, u32
//! 16  blake3 of the header, 32 bytes
//! 48  header, n bytes of JSON: the owner's fields, and each section's name, place, length and blake3
//! ..  sections, one after the other, each at a multiple of 64 bytes, zeros between and at the end
//! ```
//!
//! Every byte is covered: the header by its checksum, the sections by theirs, and what is between them has to be zero.

use crate::error::{Error, Result};
use bytes::Bytes;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

const ALIGN: usize = 64;
const FIXED: usize = 48;

/// What a kind of file is called, and the version that this build reads and writes.
#[derive(Clone, Copy, Debug)]
pub struct Format {
    /// The first eight bytes.
    pub magic: &'static [u8; 8],
    /// The format version.
    pub version: u32,
    /// What a user calls such a file.
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

/// Whether the sections' checksums are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Check {
    /// Compare them.
    Checksums,
    /// Trust them: a manifest's checksum of the whole file has been compared.
    Trusted,
}

/// A file that was read: the owner's fields and the sections, which lie where the bytes lie.
#[derive(Debug)]
pub struct Container<T> {
    /// The owner's fields.
    pub fields: T,
    sections: BTreeMap<String, (Bytes, String)>,
    name: &'static str,
}

/// The bytes of a file with these fields and sections.
pub fn write<T: Serialize>(format: Format, fields: &T, sections: &[(&str, &[u8])]) -> Result<Vec<u8>> {
    let hashes: Vec<String> = sections.iter().map(|(_, body)| blake3::hash(body).to_hex().to_string()).collect();
    let table = |start: usize| {
        let mut at = start;
        let entries = sections.iter().zip(&hashes).map(|((name, body), blake3)| {
            let section = Section { at, bytes: body.len(), blake3: blake3.clone() };
            at = (at + body.len()).next_multiple_of(ALIGN);
            ((*name).to_owned(), section)
        });
        entries.collect::<BTreeMap<_, _>>()
    };
    let encode = |start: usize| {
        serde_json::to_vec(&Header { fields, sections: table(start) })
            .map_err(|cause| Error::artifact(format!("writing the header of the {}", format.name)).caused_by(cause))
    };
    // The places stand in the header and depend on its length: reserve room for longer numbers, then fill with blanks.
    let start = (FIXED + encode(0)?.len() + 20 * sections.len()).next_multiple_of(ALIGN);
    let mut header = encode(start)?;
    header.resize(start - FIXED, b' ');
    let length = u32::try_from(header.len()).map_err(|_| Error::artifact("the header is too long"))?;
    let total = sections.iter().fold(start, |at, (_, body)| (at + body.len()).next_multiple_of(ALIGN));
    let mut file = Vec::with_capacity(total);
    file.extend_from_slice(format.magic);
    file.extend_from_slice(&format.version.to_le_bytes());
    file.extend_from_slice(&length.to_le_bytes());
    file.extend_from_slice(blake3::hash(&header).as_bytes());
    file.extend_from_slice(&header);
    for (_, body) in sections {
        file.extend_from_slice(body);
        file.resize(file.len().next_multiple_of(ALIGN), 0);
    }
    Ok(file)
}

impl<T: DeserializeOwned> Container<T> {
    /// Reads a file.
    ///
    /// # Errors
    /// If it is another kind of file, of another version, cut short or altered.
    pub fn read(format: Format, bytes: &Bytes, check: Check) -> Result<Self> {
        let name = format.name;
        let short = || Error::artifact(format!("the {name} is cut short: it has only {} bytes", bytes.len()));
        let array = |at: usize| -> Result<[u8; 4]> {
            bytes.get(at..at + 4).and_then(|slice| slice.try_into().ok()).ok_or_else(short)
        };
        if bytes.get(..8).ok_or_else(short)? != format.magic {
            return Err(Error::artifact(format!("this is no {name}: it does not begin with {:?}", text(format.magic))));
        }
        let version = u32::from_le_bytes(array(8)?);
        if version != format.version {
            let expected = format.version;
            return Err(Error::artifact(format!(
                "the {name} has format version {version}, this build reads {expected}"
            )));
        }
        let length = u32::from_le_bytes(array(12)?) as usize;
        let end = FIXED.checked_add(length).ok_or_else(short)?;
        let header = bytes.get(FIXED..end).ok_or_else(short)?;
        if bytes.get(16..FIXED).ok_or_else(short)? != blake3::hash(header).as_bytes() {
            return Err(Error::artifact(format!("the header of the {name} has been altered: its checksum differs")));
        }
        let header: Header<T> = serde_json::from_slice(header)
            .map_err(|cause| Error::artifact(format!("the header of the {name}")).caused_by(cause))?;
        check_layout(name, bytes, end, &header.sections)?;
        let mut sections = BTreeMap::new();
        for (section_name, section) in header.sections {
            let body = bytes.slice(section.at..section.at + section.bytes);
            sections.insert(section_name, (body, section.blake3));
        }
        let container = Self { fields: header.fields, sections, name };
        if check == Check::Checksums {
            container.names().try_for_each(|section| container.verify(section))?;
        }
        Ok(container)
    }

    /// The names of the sections.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.sections.keys().map(String::as_str)
    }

    /// Compares the checksum of one section, where the file was read with [`Check::Trusted`].
    ///
    /// # Errors
    /// If it differs, or there is none of that name.
    pub fn verify(&self, name: &str) -> Result<()> {
        let (body, blake3) = self.found(name)?;
        match blake3::hash(body).to_hex().as_str() == blake3 {
            true => Ok(()),
            false => {
                let kind = self.name;
                Err(Error::artifact(format!("the {kind} has been altered: the checksum of `{name}` differs")))
            }
        }
    }

    fn found(&self, name: &str) -> Result<&(Bytes, String)> {
        let found = self.sections.get(name);
        found.ok_or_else(|| Error::artifact(format!("the {} has no section `{name}`", self.name)))
    }

    /// The bytes of a section.
    ///
    /// # Errors
    /// If there is none of that name.
    pub fn section(&self, name: &str) -> Result<Bytes> {
        Ok(self.found(name)?.0.clone())
    }

    /// The bytes of a section that must have a certain length.
    ///
    /// # Errors
    /// If there is none of that name, or its length differs.
    pub fn section_of(&self, name: &str, expected: usize) -> Result<Bytes> {
        let found = self.section(name)?;
        if found.len() != expected {
            let found = found.len();
            return Err(Error::artifact(format!("the {}: `{name}` needs {expected} bytes, found {found}", self.name)));
        }
        Ok(found)
    }
}

/// Checks that the sections follow the header and each other, that nothing but zeros is between them, and that the file ends after
/// the last one: no byte of it is without a meaning.
fn check_layout(name: &str, bytes: &Bytes, header: usize, sections: &BTreeMap<String, Section>) -> Result<()> {
    let mut ordered: Vec<(&String, &Section)> = sections.iter().collect();
    // An empty section lies where the next one begins.
    ordered.sort_by_key(|(_, section)| (section.at, section.bytes));
    let short = || Error::artifact(format!("the {name} is cut short: it has only {} bytes", bytes.len()));
    let mut end = header;
    for (section_name, section) in ordered {
        let start = next_line(end).ok_or_else(short)?;
        if section.at != start {
            let found = section.at;
            return Err(Error::artifact(format!(
                "the {name}: expected the section `{section_name}` at byte {start}, found it at {found}"
            )));
        }
        check_zeros(name, bytes, end, start)?;
        end = section.at.checked_add(section.bytes).filter(|end| *end <= bytes.len()).ok_or_else(short)?;
    }
    let last = next_line(end).ok_or_else(short)?;
    check_zeros(name, bytes, end, last)?;
    match bytes.len() - last {
        0 => Ok(()),
        more => Err(Error::artifact(format!("the {name} has been extended: {more} bytes follow its last section"))),
    }
}

fn next_line(at: usize) -> Option<usize> {
    at.checked_next_multiple_of(ALIGN)
}

fn check_zeros(name: &str, bytes: &Bytes, from: usize, to: usize) -> Result<()> {
    let Some(between) = bytes.get(from..to) else {
        return Err(Error::artifact(format!("the {name} is cut short: it has only {} bytes", bytes.len())));
    };
    match between.iter().position(|byte| *byte != 0) {
        None => Ok(()),
        Some(at) => {
            let at = from + at;
            Err(Error::artifact(format!(
                "the {name} has been altered: expected a zero between its sections, at byte {at}"
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

    const FORMAT: Format = Format { magic: b"PELTEST\0", version: 3, name: "test file" };

    fn file() -> Vec<u8> {
        write(FORMAT, &vec![1, 2], &[("a", b"hello"), ("empty", b""), ("b", &[7; 100])]).expect("it can be written")
    }

    fn read(bytes: Vec<u8>) -> Result<Container<Vec<u32>>> {
        Container::read(FORMAT, &Bytes::from(bytes), Check::Checksums)
    }

    #[test]
    fn what_is_written_is_read_and_sections_are_aligned() {
        let container = read(file()).expect("whole");
        assert_eq!(container.fields, [1, 2]);
        assert_eq!(&container.section("a").expect("there")[..], b"hello");
        assert_eq!(container.section_of("b", 100).expect("there").len(), 100);
        assert!(container.section_of("b", 99).is_err() && container.section("c").is_err());
        assert!(container.section("empty").expect("there").is_empty());
        assert_eq!(file().len() % ALIGN, 0);
    }

    #[test]
    fn every_cut_and_extension_is_noticed() {
        let whole = file();
        for length in 0..whole.len() {
            assert!(read(whole[..length].to_vec()).is_err(), "cut at {length}");
        }
        for more in [vec![0], vec![0; ALIGN], b"more".to_vec()] {
            let said = read([whole.clone(), more].concat()).expect_err("extended").to_string();
            assert!(said.contains("has been extended"), "{said}");
        }
    }

    #[test]
    fn every_altered_byte_is_noticed() {
        let whole = file();
        for at in 0..whole.len() {
            for bit in 0..8 {
                let mut bytes = whole.clone();
                bytes[at] ^= 1 << bit;
                assert!(read(bytes).is_err(), "bit {bit} of byte {at}");
            }
        }
    }

    /// A file with another table of sections, whose checksums are right.
    fn with_table(change: impl Fn(&mut BTreeMap<String, Section>)) -> Vec<u8> {
        let whole = file();
        let length = u32::from_le_bytes(whole[12..16].try_into().expect("four")) as usize;
        let mut header: Header<Vec<u32>> = serde_json::from_slice(&whole[FIXED..FIXED + length]).expect("JSON");
        change(&mut header.sections);
        let mut json = serde_json::to_vec(&header).expect("it can be written");
        assert!(json.len() <= length);
        json.resize(length, b' ');
        let checksum = *blake3::hash(&json).as_bytes();
        [&whole[..16], &checksum, &json, &whole[FIXED + length..]].concat()
    }

    #[test]
    fn sections_that_overlap_or_leave_gaps_are_refused() {
        read(with_table(|_| {})).expect("whole");
        let start = |table: &BTreeMap<String, Section>| table["a"].at;
        let refused = |change: &dyn Fn(&mut BTreeMap<String, Section>)| {
            read(with_table(change)).expect_err("refused").to_string()
        };
        let set = |table: &mut BTreeMap<String, Section>, name: &str, at: usize, bytes: usize| {
            let section = table.get_mut(name).expect("there");
            (section.at, section.bytes) = (at, bytes);
            section.blake3 = blake3::hash(&[]).to_hex().to_string();
        };
        let said = refused(&|table| set(table, "b", start(table), 100));
        assert!(said.contains("expected the section"), "{said}");
        let said = refused(&|table| set(table, "empty", usize::MAX, 1));
        assert!(said.contains("expected the section"), "{said}");
        let said = refused(&|table| set(table, "b", start(table) + ALIGN, usize::MAX));
        assert!(said.contains("cut short"), "{said}");
        let said = refused(&|table| drop(table.remove("b")));
        assert!(said.contains("has been extended"), "{said}");
        let said = refused(&|table| set(table, "a", start(table), 3));
        assert!(said.contains("expected a zero"), "{said}");
    }

    #[test]
    fn another_version_and_another_kind_are_named() {
        let mut bytes = file();
        bytes[8] = 9;
        assert!(read(bytes).expect_err("version").to_string().contains("format version 9, this build reads 3"));
        assert!(read(b"PK\x03\x04 something else".to_vec()).expect_err("kind").to_string().contains("no test file"));
    }
}
