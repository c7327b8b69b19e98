//! Repairs the checksums of mutated files. An attacker can compute them too, and with wrong
//! checksums a fuzzer would reach no other code.

use bytes::Bytes;
use pel_linker::bundle::{Manifest, names};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Offset of a container's header.
const HEADER: usize = 48;
/// Alignment of sections.
const ALIGN: usize = 64;

/// BLAKE3 in hexadecimal, as in manifests and headers.
fn hash(bytes: &[u8]) -> String {
    blake3::hash(bytes).to_hex().to_string()
}

/// The range of a container's header.
pub fn header_range(file: &[u8]) -> Option<std::ops::Range<usize>> {
    let length = u32::from_le_bytes(file.get(12..16)?.try_into().ok()?) as usize;
    let range = HEADER..HEADER.checked_add(length)?;
    file.get(range.clone())?;
    Some(range)
}

/// Repairs the checksums of a container's sections and header, zeroes the gaps and removes trailing
/// bytes. Other files are left unchanged.
pub fn fix_container(file: &mut Vec<u8>) {
    let Some(range) = header_range(file) else {
        return;
    };
    if let Ok(mut fields) = serde_json::from_slice::<Value>(&file[range.clone()]) {
        fill_gaps(file, range.end, &fields);
        fix_sections(file, &mut fields);
        set_header(file, &fields);
    }
    let sum = blake3::hash(&file[range]);
    file[16..HEADER].copy_from_slice(sum.as_bytes());
}

/// The range of a section.
fn section_range(section: &Value) -> Option<std::ops::Range<usize>> {
    let number = |field: &str| {
        section
            .get(field)?
            .as_u64()
            .and_then(|number| usize::try_from(number).ok())
    };
    let at = number("at")?;
    Some(at..at.checked_add(number("bytes")?)?)
}

fn fill_gaps(file: &mut Vec<u8>, header: usize, fields: &Value) {
    let Some(sections) = fields.get("sections").and_then(Value::as_object) else {
        return;
    };
    let mut places: Vec<_> = sections
        .values()
        .filter_map(section_range)
        .filter(|place| place.start >= header)
        .collect();
    places.sort_by_key(|place| (place.start, place.end));
    let mut end = header;
    for place in places {
        if let Some(gap) = file.get_mut(end..place.start) {
            gap.fill(0);
        }
        end = end.max(place.end);
    }
    // Extends the file by at most 64 KiB.
    if let Some(whole) = end
        .checked_next_multiple_of(ALIGN)
        .filter(|whole| *whole <= file.len() + (1 << 16))
    {
        file.resize(whole, 0);
        file[end.min(whole)..].fill(0);
    }
}

fn fix_sections(file: &mut [u8], header: &mut Value) {
    let Some(sections) = header.get_mut("sections").and_then(Value::as_object_mut) else {
        return;
    };
    for (name, section) in sections {
        let Some(body) = section_range(section).and_then(|place| file.get_mut(place)) else {
            continue;
        };
        // Finite-state transducers have a checksum of their own.
        if ["names", "words"].contains(&name.as_str()) {
            fix_transducer(body);
        }
        section["blake3"] = json!(hash(body));
    }
}

/// Replaces the fields of a header if they fit.
pub fn set_header(file: &mut [u8], fields: &Value) {
    let Some(space) = header_range(file).and_then(|range| file.get_mut(range)) else {
        return;
    };
    let text = fields.to_string();
    if text.len() <= space.len() {
        space.fill(b' ');
        space[..text.len()].copy_from_slice(text.as_bytes());
    }
}

/// The CRC-32C of each byte.
static CRC: [u32; 256] = crc_table();

const fn crc_table() -> [u32; 256] {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < table.len() {
        let mut crc = byte as u32;
        let mut bit = 0;
        while bit < 8 {
            crc = (crc >> 1) ^ (0x82f6_3b78 & (crc & 1).wrapping_neg());
            bit += 1;
        }
        table[byte] = crc;
        byte += 1;
    }
    table
}

/// The last 4 bytes of an `fst` are the masked CRC-32C of the rest.
fn fix_transducer(bytes: &mut [u8]) {
    let Some((body, sum)) = bytes.split_last_chunk_mut::<4>() else {
        return;
    };
    let crc = !body.iter().fold(!0u32, |crc, byte| {
        (crc >> 8) ^ CRC[usize::from(crc as u8 ^ *byte)]
    });
    *sum = crc.rotate_right(15).wrapping_add(0xa282_ead8).to_le_bytes();
}

/// Repairs the checksums of the files that differ from those of a sound bundle, then those in the
/// manifest.
pub fn fix_bundle(parts: &mut BTreeMap<String, Bytes>, sound: &BTreeMap<String, Bytes>) {
    for (name, bytes) in parts.iter_mut() {
        if !bytes.starts_with(b"PEL") || sound.get(name) == Some(&*bytes) {
            continue;
        }
        let mut fixed = bytes.to_vec();
        fix_container(&mut fixed);
        *bytes = fixed.into();
    }
    let Some(Ok(mut manifest)) = parts
        .get(names::MANIFEST)
        .map(|bytes| serde_json::from_slice::<Value>(bytes))
    else {
        return;
    };
    if let Some(files) = manifest.get_mut("files").and_then(Value::as_object_mut) {
        for (name, info) in files {
            if let (Some(bytes), Some(info)) = (parts.get(name), info.as_object_mut()) {
                info.insert("bytes".into(), json!(bytes.len()));
                info.insert("blake3".into(), json!(hash(bytes)));
            }
        }
    }
    let json = fix_manifest(manifest.to_string().into_bytes());
    parts.insert(names::MANIFEST.into(), json.into());
}

/// Repairs the digest of a manifest that is otherwise readable.
pub fn fix_manifest(json: Vec<u8>) -> Vec<u8> {
    Manifest::edited(&json)
        .and_then(Manifest::sealed)
        .map_or(json, |(_, json)| json)
}

#[cfg(test)]
mod tests {
    use super::*;
    use pel_kb::container::{Check, Container, Format, write};
    use pel_kb::{Concept, ConceptId};
    use pel_text::detect::Dictionary;

    #[test]
    fn container_checksums_are_repaired() {
        const FORMAT: Format = Format {
            magic: b"PELTEST\0",
            version: 1,
            name: "test file",
        };
        let mut file =
            write(FORMAT, &7, &[("a", b"hello"), ("b", b"")]).expect("it can be written");
        let read = |file: &[u8]| {
            let read =
                Container::<u32>::read(FORMAT, &Bytes::copy_from_slice(file), Check::Checksums);
            read.and_then(|container| container.section("a"))
                .map(|body| body.to_vec())
        };
        let at = file
            .windows(5)
            .position(|window| window == b"hello")
            .expect("there");
        file[at] = b'j';
        assert!(read(&file).is_err());
        fix_container(&mut file);
        assert_eq!(read(&file).expect("repaired"), b"jello");
    }

    #[test]
    fn transducer_checksum_equals_that_of_the_writer() {
        let concept = Concept {
            id: "D1".into(),
            name: "fever".into(),
            ..Concept::default()
        };
        let written =
            Dictionary::build(std::iter::once((ConceptId(0), &concept))).expect("it can be built");
        let mut fixed = written.clone();
        fix_container(&mut fixed);
        let names = |file: &[u8]| {
            let fields: Value =
                serde_json::from_slice(&file[header_range(file).expect("there")]).expect("JSON");
            fields["sections"]["names"]["blake3"].clone()
        };
        assert_eq!(names(&fixed), names(&written));
    }
}
