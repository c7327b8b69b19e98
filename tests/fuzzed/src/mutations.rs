//! Mutations of a bundle's files that a fuzzer reaches by changing few bytes.
//!
//! Each takes 8 bytes: file, kind, position (3 bytes) and value (3 bytes). A rest of fewer than 8
//! bytes is ignored.

use crate::checksums;
use bytes::Bytes;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Applies mutations to files.
pub fn mutate(mutations: &[u8], parts: &mut BTreeMap<String, Bytes>) {
    for mutation in mutations.chunks_exact(8).take(16) {
        let [part, kind, a, b, c, x, y, z] = *mutation else {
            return;
        };
        let Some(name) = parts
            .keys()
            .nth(usize::from(part) % parts.len().max(1))
            .cloned()
        else {
            return;
        };
        let Some(bytes) = parts.get(&name) else {
            return;
        };
        let (at, with) = (
            u32::from_le_bytes([a, b, c, 0]) as usize,
            u32::from_le_bytes([x, y, z, 0]),
        );
        match mutated(kind, bytes.to_vec(), at, with) {
            Some(mutated) => parts.insert(name, mutated.into()),
            None => parts.remove(&name),
        };
    }
}

fn mutated(kind: u8, mut bytes: Vec<u8>, at: usize, with: u32) -> Option<Vec<u8>> {
    let length = bytes.len();
    let place = at % length.max(1);
    let mut put = |new: &[u8]| {
        for (old, new) in bytes.iter_mut().skip(place).zip(new) {
            *old = *new;
        }
    };
    match kind % 10 {
        0 => put(&[with as u8]),
        1 => put(&with.to_le_bytes()),
        // Extreme integers and floats.
        2 => {
            put(&[u64::MAX, 1 << 63, i64::MAX as u64, 1 << 53, 0][with as usize % 5].to_le_bytes())
        }
        3 => put(&[
            f32::NAN,
            f32::INFINITY,
            f32::MAX,
            -f32::MAX,
            f32::MIN_POSITIVE,
        ][with as usize % 5]
            .to_le_bytes()),
        4 => bytes.truncate(place),
        5 => bytes.extend(std::iter::repeat_n(with as u8, at % (1 << 12))),
        6 => {
            bytes.drain(place..(place + with as usize % 64).min(length));
        }
        7 => return None,
        // The others change JSON, in a header or as the whole file.
        kind => set_value(&mut bytes, at, with, kind == 8),
    }
    Some(bytes)
}

/// Changes one JSON value of a file or of its header.
fn set_value(bytes: &mut Vec<u8>, at: usize, with: u32, replace: bool) {
    let in_header = checksums::header_range(bytes).filter(|_| bytes.starts_with(b"PEL"));
    // safetensors: 8 bytes of header length, then the header.
    let tensors = bytes
        .first_chunk::<8>()
        .map(|length| u64::from_le_bytes(*length) as usize);
    let tensors = tensors
        .and_then(|length| Some(8..length.checked_add(8)?))
        .filter(|range| range.end <= bytes.len());
    let (range, tensors) = match (in_header, tensors) {
        (Some(range), _) => (range, false),
        (None, Some(range)) => (range, true),
        (None, None) => (0..bytes.len(), false),
    };
    let Ok(mut json) = serde_json::from_slice::<Value>(&bytes[range.clone()]) else {
        return;
    };
    let count = count(&json);
    let Some(value) = find(&mut json, &mut (at % count)) else {
        return;
    };
    *value = match (replace, &*value) {
        (true, _) => new_value(with),
        (false, Value::Number(number)) => match (number.as_u64(), with % 2) {
            (Some(number), 0) => json!(number.wrapping_add(u64::from(with / 2))),
            (Some(number), _) => json!(number.saturating_sub(u64::from(with / 2))),
            (None, _) => json!(number.as_f64().unwrap_or(0.0) * f64::from(with)),
        },
        (false, Value::Bool(value)) => json!(!value),
        (false, _) => new_value(with / 7),
    };
    match (tensors, range.start) {
        (true, _) => {
            let text = json.to_string();
            let length = (text.len() as u64).to_le_bytes();
            let body = bytes.split_off(range.end);
            *bytes = [&length, text.as_bytes(), &body].concat();
        }
        (false, 0) => *bytes = json.to_string().into_bytes(),
        _ => checksums::set_header(bytes, &json),
    }
}

fn new_value(with: u32) -> Value {
    let all = [
        json!(0),
        json!(1),
        json!(-1),
        json!(2),
        json!(1u64 << 53),
        json!(u64::MAX),
        json!(u64::MAX / 8 + 1),
        json!(u32::MAX),
        json!(1e38),
        json!(-1e38),
        json!(1e308),
        json!(0.5),
        json!(1e-45),
        json!(""),
        json!("a"),
        json!("cls"),
        json!("context"),
        json!("both"),
        json!("dot"),
        json!("int8"),
        json!("F16"),
        json!("I8"),
        json!([]),
        json!([0]),
        json!({}),
        json!(true),
        json!(false),
        json!(null),
        json!(with),
    ];
    all[with as usize % all.len()].clone()
}

/// Number of values, including nested ones.
fn count(value: &Value) -> usize {
    1 + match value {
        Value::Array(items) => items.iter().map(count).sum(),
        Value::Object(fields) => fields.values().map(count).sum(),
        _ => 0,
    }
}

/// The value at a position in this order.
fn find<'v>(value: &'v mut Value, at: &mut usize) -> Option<&'v mut Value> {
    if *at == 0 {
        return Some(value);
    }
    *at -= 1;
    match value {
        Value::Array(items) => items.iter_mut().find_map(|item| find(item, at)),
        Value::Object(fields) => fields.values_mut().find_map(|field| find(field, at)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(mutation: [u8; 8], bytes: &[u8]) -> Option<Vec<u8>> {
        let mut parts = BTreeMap::from([("a".to_owned(), Bytes::copy_from_slice(bytes))]);
        mutate(&mutation, &mut parts);
        parts.remove("a").map(|bytes| bytes.to_vec())
    }

    #[test]
    fn mutations_have_the_described_effect() {
        assert_eq!(
            one([0, 0, 1, 0, 0, b'x', 0, 0], b"abc").as_deref(),
            Some(&b"axc"[..])
        );
        assert_eq!(
            one([0, 4, 2, 0, 0, 0, 0, 0], b"abc").as_deref(),
            Some(&b"ab"[..])
        );
        assert_eq!(one([0, 7, 0, 0, 0, 0, 0, 0], b"abc"), None);
        // The second value of the object, `b`, is replaced by the second new value.
        assert_eq!(
            one([0, 8, 2, 0, 0, 1, 0, 0], br#"{"a":7,"b":8}"#).as_deref(),
            Some(&br#"{"a":7,"b":1}"#[..])
        );
        assert_eq!(
            one([0, 9, 1, 0, 0, 6, 0, 0], br#"{"a":7,"b":8}"#).as_deref(),
            Some(&br#"{"a":10,"b":8}"#[..])
        );
    }
}
