//! Event files of TensorBoard: records of TFRecord, each an `Event` of protocol buffers.
//!
//! ```text
//! record:   length (u64), its checksum, Event, its checksum      little-endian, masked CRC-32C
//! Event:    1 wall_time (double), 2 step (int64), and one of 3 file_version (string), 5 summary, 7 session_log
//! Summary:  1 value, each 1 tag (string) and 2 simple_value (float)
//! ```
//!
//! A resumed run appends in a file of its own. That file begins with a `SessionLog` whose status is
//! START, at the first step to come: TensorBoard drops what an earlier file has from there on.

use pel_io::files::{io_error, open_no_follow};
use pel_kb::error::Result;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

/// What the first record of a file says.
const VERSION: &[u8] = b"brain.Event:2";

/// The event file of a run, which is made with its first scalar.
pub struct EventFile {
    run: PathBuf,
    /// Steps done before.
    begun: usize,
    open: Option<(PathBuf, File)>,
}

impl EventFile {
    /// The event file of a run that has done `step` steps.
    pub fn new(run: &Path, step: usize) -> Self {
        Self {
            run: run.to_owned(),
            begun: step,
            open: None,
        }
    }

    /// Appends the scalars of a step at a time, in seconds since 1970.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn write(&mut self, time: f64, step: usize, scalars: &[(String, f64)]) -> Result<()> {
        if scalars.is_empty() {
            return Ok(());
        }
        let mut records = Vec::new();
        if self.open.is_none() {
            self.open = Some(self.create(time)?);
            records.extend(record(&event(time, 0, 3, VERSION)));
            if self.begun > 0 {
                // START is 1.
                let start = [key(1, VARINT), 1];
                records.extend(record(&event(time, self.begun + 1, 7, &start)));
            }
        }
        records.extend(record(&event(time, step, 5, &summary(scalars))));
        match &mut self.open {
            // In one call, so that a killed run rarely leaves a part.
            Some((path, file)) => file
                .write_all(&records)
                .map_err(|cause| io_error("writing", path, cause)),
            None => Ok(()),
        }
    }

    /// A new file. TensorBoard reads the files of a folder in the order of their names.
    fn create(&self, time: f64) -> Result<(PathBuf, File)> {
        let name = |number: usize| {
            let name = format!("events.out.tfevents.{:010}.pel.{number:03}", time as u64);
            self.run.join(name)
        };
        let path = (0..)
            .map(name)
            .find(|path| !path.exists())
            .unwrap_or_else(|| name(0));
        let file = open_no_follow(&path, OpenOptions::new().write(true).create_new(true))?;
        Ok((path, file))
    }
}

/// Wire types of protocol buffers.
const VARINT: u8 = 0;
const FIXED_64: u8 = 1;
const BYTES: u8 = 2;
const FIXED_32: u8 = 5;

/// The key of a field below 16.
fn key(field: u8, wire: u8) -> u8 {
    (field << 3) | wire
}

fn varint(mut value: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
    bytes
}

/// A field of bytes, a string or a message.
fn bytes_field(field: u8, bytes: &[u8]) -> Vec<u8> {
    [&[key(field, BYTES)][..], &varint(bytes.len() as u64), bytes].concat()
}

/// An `Event` with one more field.
fn event(time: f64, step: usize, field: u8, what: &[u8]) -> Vec<u8> {
    [
        &[key(1, FIXED_64)][..],
        &time.to_le_bytes(),
        &[key(2, VARINT)],
        &varint(step as u64),
        &bytes_field(field, what),
    ]
    .concat()
}

/// A `Summary`.
fn summary(scalars: &[(String, f64)]) -> Vec<u8> {
    let value = |(tag, value): &(String, f64)| {
        let mut bytes = bytes_field(1, tag.as_bytes());
        bytes.push(key(2, FIXED_32));
        bytes.extend((*value as f32).to_le_bytes());
        bytes_field(1, &bytes)
    };
    scalars.iter().flat_map(value).collect()
}

/// A record of TFRecord.
fn record(data: &[u8]) -> Vec<u8> {
    let length = (data.len() as u64).to_le_bytes();
    [
        &length[..],
        &masked(crc32c(&length)).to_le_bytes(),
        data,
        &masked(crc32c(data)).to_le_bytes(),
    ]
    .concat()
}

/// TFRecord stores checksums in this form.
fn masked(crc: u32) -> u32 {
    crc.rotate_right(15).wrapping_add(0xa282_ead8)
}

/// CRC-32C (Castagnoli).
fn crc32c(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0_u32, |crc, byte| {
        (crc >> 8) ^ REMAINDERS[usize::from(crc as u8 ^ byte)]
    })
}

/// The remainder of each byte, by the reflected polynomial.
const REMAINDERS: [u32; 256] = remainders();

const fn remainders() -> [u32; 256] {
    let mut all = [0; 256];
    let mut at = 0;
    while at < 256 {
        let mut crc = at as u32;
        let mut bit = 0;
        while bit < 8 {
            crc = if crc & 1 == 1 {
                (crc >> 1) ^ 0x82f6_3b78
            } else {
                crc >> 1
            };
            bit += 1;
        }
        all[at] = crc;
        at += 1;
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checksum_equals_the_published_values() {
        // RFC 3720, section B.4, and the check value of the catalogue of CRCs.
        assert_eq!(crc32c(b""), 0);
        assert_eq!(crc32c(b"123456789"), 0xe306_9283);
        assert_eq!(crc32c(&[0; 32]), 0x8a91_36aa);
        assert_eq!(crc32c(&[0xff; 32]), 0x62a8_ab43);
        assert_eq!(masked(0), 0xa282_ead8);
    }

    #[test]
    fn varints_have_seven_bits_a_byte() {
        assert_eq!(varint(0), [0]);
        assert_eq!(varint(127), [0x7f]);
        // 300 is 0b10_0101100.
        assert_eq!(varint(300), [0xac, 0x02]);
    }

    #[test]
    fn an_event_has_the_bytes_of_its_fields() {
        // 1.0 is 0x3ff0 and zeros; 0.5 is 0x3f000000.
        let expected = [
            &[0x09_u8, 0, 0, 0, 0, 0, 0, 0xf0, 0x3f, 0x10, 7][..],
            // summary of 12 bytes, value of 10, tag of 3.
            &[0x2a, 12, 0x0a, 10, 0x0a, 3],
            b"a/b",
            &[0x15, 0, 0, 0, 0x3f],
        ]
        .concat();
        let scalars = [("a/b".to_owned(), 0.5)];
        assert_eq!(event(1.0, 7, 5, &summary(&scalars)), expected);
    }

    #[test]
    fn records_have_lengths_and_checksums() {
        // The checksums are those of TensorBoard's own writer for these bytes.
        let first = event(1.0, 0, 3, VERSION);
        assert_eq!(first.len(), 26);
        let bytes = record(&first);
        assert_eq!(bytes.len(), 8 + 4 + 26 + 4);
        assert_eq!(bytes[..8], 26_u64.to_le_bytes());
        assert_eq!(bytes[8..12], [0x12, 0x9b, 0xd8, 0x2d]);
        assert_eq!(bytes[38..], [0xcc, 0x31, 0x4e, 0x92]);
    }

    /// The tags, steps and values of a file, by the layout above; a record without a summary has
    /// its step and the key of its field.
    fn read(bytes: &[u8]) -> Vec<(usize, String, f32)> {
        let mut rest = bytes;
        let mut found = Vec::new();
        while !rest.is_empty() {
            let length = rest[0] as usize;
            let data = &rest[12..12 + length];
            assert_eq!(rest[12 + length..][..4], masked(crc32c(data)).to_le_bytes());
            rest = &rest[16 + length..];
            let (step, field, inside) = (data[10] as usize, data[11] >> 3, &data[13..]);
            if field != 5 {
                found.push((step, field.to_string(), 0.0));
                continue;
            }
            let tag = inside[3] as usize;
            let value = inside[5 + tag..9 + tag].try_into().expect("four bytes");
            found.push((
                step,
                String::from_utf8_lossy(&inside[4..4 + tag]).into_owned(),
                f32::from_le_bytes(value),
            ));
        }
        found
    }

    #[test]
    fn a_resumed_run_has_a_file_of_its_own_that_says_where_it_begins() {
        let folder = tempfile::tempdir().expect("a folder");
        let loss = |value| [("loss".to_owned(), value)];
        let mut first = EventFile::new(folder.path(), 0);
        first.write(5.5, 1, &[]).expect("nothing to write");
        assert_eq!(std::fs::read_dir(folder.path()).expect("listed").count(), 0);
        for step in 1..4 {
            first.write(5.5, step, &loss(step as f64)).expect("written");
        }
        let mut second = EventFile::new(folder.path(), 2);
        second.write(5.5, 3, &loss(0.5)).expect("written");
        let of = |number: usize| {
            let name = format!("events.out.tfevents.0000000005.pel.{number:03}");
            read(&std::fs::read(folder.path().join(name)).expect("there"))
        };
        let row = |step: usize, tag: &str, value: f32| (step, tag.to_owned(), value);
        assert_eq!(
            of(0),
            [
                row(0, "3", 0.0),
                row(1, "loss", 1.0),
                row(2, "loss", 2.0),
                row(3, "loss", 3.0)
            ]
        );
        assert_eq!(
            of(1),
            [row(0, "3", 0.0), row(3, "7", 0.0), row(3, "loss", 0.5)]
        );
    }
}
