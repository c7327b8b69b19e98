//! Filters of streams, each with the bound of the bytes that it may write.

use super::object::{Dict, Object};
use crate::inflate;

/// The most filters of one stream.
const MOST: usize = 8;

/// Why a stream cannot be read.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    /// It unpacks to more than the bound.
    Exceeded,
    /// It has a filter of pictures, or an unknown one.
    Unknown,
}

/// The bytes of a stream with its filters (names with their parameters) undone. What a damaged
/// stream has before its damage is kept.
pub(super) fn decode(
    raw: &[u8],
    filters: &[(String, Dict)],
    most: usize,
) -> Result<Vec<u8>, Refusal> {
    if filters.len() > MOST {
        return Err(Refusal::Unknown);
    }
    let mut bytes = raw.to_vec();
    for (name, parameters) in filters {
        bytes = match &**name {
            "FlateDecode" | "Fl" => {
                let mut found = inflate::zlib(&bytes, most);
                if found.damaged && found.bytes.is_empty() && bytes.len() > 2 {
                    // Without a valid frame.
                    found = inflate::raw(&bytes[2..], most);
                }
                if found.exceeded {
                    return Err(Refusal::Exceeded);
                }
                predicted(found.bytes, parameters)
            }
            "LZWDecode" | "LZW" => {
                let early = parameters.get("EarlyChange").number() != Some(0.0);
                predicted(lzw(&bytes, early, most)?, parameters)
            }
            "ASCII85Decode" | "A85" => ascii85(&bytes),
            "ASCIIHexDecode" | "AHx" => hexadecimal(&bytes),
            "RunLengthDecode" | "RL" => run_length(&bytes, most)?,
            _ => return Err(Refusal::Unknown),
        };
    }
    match bytes.len() > most {
        true => Err(Refusal::Exceeded),
        false => Ok(bytes),
    }
}

fn lzw(packed: &[u8], early: bool, most: usize) -> Result<Vec<u8>, Refusal> {
    // Each code is a byte behind an earlier code: its prefix, last byte and length.
    let mut table: Vec<(u16, u8, u16)> = Vec::with_capacity(4096);
    let (mut out, mut bits, mut held) = (Vec::new(), 0_u32, 0_u32);
    let (mut width, mut before): (u32, Option<u16>) = (9, None);
    let reset = |table: &mut Vec<(u16, u8, u16)>| {
        table.clear();
        table.extend((0..=255_u8).map(|byte| (u16::MAX, byte, 1)));
        table.extend([(u16::MAX, 0, 0), (u16::MAX, 0, 0)]);
    };
    reset(&mut table);
    let mut word = Vec::new();
    for byte in packed {
        held = (held << 8) | u32::from(*byte);
        bits += 8;
        if bits < width {
            continue;
        }
        bits -= width;
        let code = ((held >> bits) & ((1 << width) - 1)) as u16;
        match code {
            256 => {
                reset(&mut table);
                (width, before) = (9, None);
                continue;
            }
            257 => break,
            _ => {}
        }
        let known = usize::from(code) < table.len();
        let spelt = if known { Some(code) } else { before };
        let Some(mut at) = spelt else { break };
        word.clear();
        while at != u16::MAX {
            let (prefix, last, _) = table[usize::from(at)];
            word.push(last);
            at = prefix;
        }
        word.reverse();
        let first = word.first().copied().unwrap_or(0);
        if !known {
            word.push(first);
        }
        if out.len() + word.len() > most {
            return Err(Refusal::Exceeded);
        }
        out.extend_from_slice(&word);
        if let Some(before) = before
            && table.len() < 4096
        {
            table.push((before, first, 0));
        }
        before = Some(code).filter(|code| usize::from(*code) < table.len());
        let size = table.len() + usize::from(early);
        width = match size {
            0..=511 => 9,
            512..=1023 => 10,
            1024..=2047 => 11,
            _ => 12,
        };
    }
    Ok(out)
}

fn ascii85(packed: &[u8]) -> Vec<u8> {
    let (mut out, mut group) = (Vec::with_capacity(packed.len() * 4 / 5), Vec::new());
    for byte in packed {
        match byte {
            b'~' => break,
            b'z' if group.is_empty() => out.extend([0; 4]),
            b'!'..=b'u' => group.push(u32::from(byte - b'!')),
            _ => {}
        }
        if group.len() == 5 {
            flush85(&mut group, &mut out);
        }
    }
    if group.len() > 1 {
        flush85(&mut group, &mut out);
    }
    out
}

/// Writes the bytes of a group of up to 5 digits.
fn flush85(group: &mut Vec<u32>, out: &mut Vec<u8>) {
    let count = group.len();
    group.resize(5, 84);
    let value = group.iter().fold(0_u32, |value, digit| {
        value.wrapping_mul(85).wrapping_add(*digit)
    });
    out.extend(&value.to_be_bytes()[..count.saturating_sub(1)]);
    group.clear();
}

fn hexadecimal(packed: &[u8]) -> Vec<u8> {
    let ended = packed.iter().take_while(|byte| **byte != b'>');
    let digits: Vec<u32> = ended
        .filter_map(|byte| char::from(*byte).to_digit(16))
        .collect();
    digits
        .chunks(2)
        .map(|pair| (16 * pair[0] + pair.get(1).unwrap_or(&0)) as u8)
        .collect()
}

fn run_length(packed: &[u8], most: usize) -> Result<Vec<u8>, Refusal> {
    let (mut out, mut at) = (Vec::new(), 0);
    while let Some(length) = packed.get(at).copied() {
        at += 1;
        match length {
            0..=127 => {
                let end = (at + usize::from(length) + 1).min(packed.len());
                out.extend_from_slice(&packed[at..end]);
                at = end;
            }
            128 => break,
            _ => {
                let Some(byte) = packed.get(at) else { break };
                out.resize(out.len() + 257 - usize::from(length), *byte);
                at += 1;
            }
        }
        if out.len() > most {
            return Err(Refusal::Exceeded);
        }
    }
    Ok(out)
}

/// Undoes the predictor of Flate and LZW.
fn predicted(bytes: Vec<u8>, parameters: &Dict) -> Vec<u8> {
    let number = |key: &str, usual: usize| parameters.get(key).count().unwrap_or(usual);
    let predictor = number("Predictor", 1);
    let colours = number("Colors", 1).clamp(1, 32);
    let bits = number("BitsPerComponent", 8).clamp(1, 16);
    let columns = number("Columns", 1).clamp(1, 1 << 20);
    let pixel = (colours * bits).div_ceil(8);
    let row = (colours * bits * columns).div_ceil(8);
    match predictor {
        0 | 1 => bytes,
        2 if bits == 8 => {
            let mut bytes = bytes;
            for line in bytes.chunks_mut(row) {
                for at in pixel..line.len() {
                    line[at] = line[at].wrapping_add(line[at - pixel]);
                }
            }
            bytes
        }
        2 => bytes,
        _ => png(&bytes, row, pixel),
    }
}

/// Undoes the filters of PNG: each row has its filter before it.
fn png(bytes: &[u8], row: usize, pixel: usize) -> Vec<u8> {
    let mut out: Vec<u8> = Vec::with_capacity(bytes.len());
    let mut above = vec![0_u8; row];
    for line in bytes.chunks(row + 1) {
        let (filter, line) = (line[0], &line[1..]);
        let mut own = line.to_vec();
        for at in 0..own.len() {
            let left = if at >= pixel { own[at - pixel] } else { 0 };
            let up = above[at];
            let corner = if at >= pixel { above[at - pixel] } else { 0 };
            let guess = match filter {
                1 => left,
                2 => up,
                3 => u8::midpoint(left, up),
                4 => paeth(left, up, corner),
                _ => 0,
            };
            own[at] = own[at].wrapping_add(guess);
        }
        out.extend_from_slice(&own);
        own.resize(row, 0);
        above = own;
    }
    out
}

fn paeth(left: u8, up: u8, corner: u8) -> u8 {
    let (a, b, c) = (i16::from(left), i16::from(up), i16::from(corner));
    let estimate = a + b - c;
    let (da, db, dc) = (
        (estimate - a).abs(),
        (estimate - b).abs(),
        (estimate - c).abs(),
    );
    if da <= db && da <= dc {
        left
    } else if db <= dc {
        up
    } else {
        corner
    }
}

/// The filters of a stream with their parameters. `resolve` follows references.
pub(super) fn of_dict(dict: &Dict, resolve: &dyn Fn(&Object) -> Object) -> Vec<(String, Dict)> {
    let value = |keys: [&str; 2]| {
        let found = keys.into_iter().map(|key| resolve(dict.get(key)));
        let mut found = found.filter(|value| *value != Object::Null);
        found.next().unwrap_or(Object::Null)
    };
    let list = |value: Object| match value {
        Object::Array(all) => all.iter().take(MOST + 1).map(resolve).collect(),
        Object::Null => Vec::new(),
        one => vec![one],
    };
    let names = list(value(["Filter", "F"]));
    let parameters = list(value(["DecodeParms", "DP"]));
    names
        .into_iter()
        .enumerate()
        .map(|(at, name)| {
            let name = name.name().unwrap_or("?").to_owned();
            let own = parameters.get(at).and_then(Object::dict).cloned();
            (name, own.unwrap_or_default())
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::Compression;
    use flate2::write::ZlibEncoder;
    use std::io::Write;

    fn decoded(name: &str, bytes: &[u8]) -> Result<Vec<u8>, Refusal> {
        decode(bytes, &[(name.to_owned(), Dict::default())], 1000)
    }

    #[test]
    fn filters_undo_what_writers_did() {
        assert_eq!(decoded("AHx", b"48 65 6C6c 6F>").expect("valid"), b"Hello");
        assert_eq!(
            decoded("A85", b"87cURD]j7BEW~>").expect("valid"),
            b"Hello wor"
        );
        assert_eq!(
            decoded("RL", &[2, 65, 66, 67, 254, 68, 128]).expect("valid"),
            b"ABCDDD"
        );
        // The example of the specification.
        let packed = [0x80, 0x0b, 0x60, 0x50, 0x22, 0x0c, 0x0c, 0x85, 0x01];
        let expected = [45, 45, 45, 45, 45, 65, 45, 45, 45, 66];
        assert_eq!(decoded("LZW", &packed).expect("valid"), expected);
        assert_eq!(decoded("DCTDecode", b""), Err(Refusal::Unknown));
    }

    #[test]
    fn bombs_are_refused() {
        let mut encoder = ZlibEncoder::new(Vec::new(), Compression::best());
        encoder
            .write_all(&[0; 5000])
            .expect("memory does not run out");
        let bomb = encoder.finish().expect("memory does not run out");
        assert_eq!(decoded("FlateDecode", &bomb), Err(Refusal::Exceeded));
        let runs: Vec<u8> = [129, 0].repeat(100);
        assert_eq!(decoded("RL", &runs), Err(Refusal::Exceeded));
    }

    #[test]
    fn png_rows_are_restored() {
        let rows = [2, 1, 2, 3, 1, 1, 1, 1, 4, 1, 1, 1];
        assert_eq!(png(&rows, 3, 1), [1, 2, 3, 1, 2, 3, 2, 3, 4]);
    }
}
