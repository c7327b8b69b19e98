//! The digest of a JSON document that the document itself carries, in its field `digest`.
//!
//! It is the blake3 of the document without blanks between its values and without the digest's own value: whoever lays the text out
//! anew changes nothing, any other changed byte is found. Nothing is parsed into numbers, so no reader's rounding can matter.

use blake3::Hash;

/// The name of the field.
pub const FIELD: &str = "digest";

/// The digest of a document. `json` has to be a JSON object; other bytes have a digest too, which means nothing.
pub fn of(json: &[u8]) -> Hash {
    let key = format!("\"{FIELD}\"");
    let mut kept = Vec::with_capacity(json.len());
    let (mut rest, mut depth, mut before, mut own) = (json, 0usize, 0u8, false);
    while let Some(first) = rest.first().copied() {
        let length = if first == b'"' { string(rest) } else { 1 };
        let (token, others) = rest.split_at(length);
        rest = others;
        match first {
            b' ' | b'\t' | b'\n' | b'\r' => continue,
            b'"' => {
                // The value of the field itself.
                if own && before == b':' {
                    continue;
                }
                own = depth == 1 && matches!(before, b'{' | b',') && token == key.as_bytes();
            }
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.saturating_sub(1),
            b',' => own = false,
            _ => {}
        }
        before = first;
        kept.extend_from_slice(token);
    }
    blake3::hash(&kept)
}

/// The length of the string that text begins with, both quotation marks included.
fn string(text: &[u8]) -> usize {
    let mut at = 1;
    while let Some(byte) = text.get(at) {
        match byte {
            b'"' => return at + 1,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::Value;

    const JSON: &str = r#"{"a": [1, {"digest": "inner"}], "digest": "0123", "b \"c": "digest", "n": -1.50e3}"#;

    #[test]
    fn layout_and_the_digest_itself_do_not_matter() {
        let same = [
            JSON.replace(": ", ":").replace(", ", ",\n\t"),
            JSON.replace("0123", ""),
            JSON.replace("\"0123\"", " \"another \\\" one\" "),
        ];
        for text in same {
            assert_eq!(of(JSON.as_bytes()), of(text.as_bytes()), "{text}");
        }
    }

    #[test]
    fn every_value_and_key_matters() {
        let others = [
            ("1,", "2,"),
            ("inner", "outer"),
            ("\"b ", "\"b  "),
            ("\"digest\",", "\"digest \","),
            ("-1.50e3", "-1.5e3"),
            ("\"digest\": \"0123\"", "\"digests\": \"0123\""),
            ("[1, {", "[{"),
        ];
        for (from, to) in others {
            let text = JSON.replacen(from, to, 1);
            assert_ne!(text, JSON, "{from}");
            assert_ne!(of(JSON.as_bytes()), of(text.as_bytes()), "{text}");
        }
    }

    #[test]
    fn the_digest_of_an_empty_object_is_that_of_its_brackets() {
        assert_eq!(of(b" { }\n"), blake3::hash(b"{}"));
        assert_eq!(of(br#"{"digest": "x"}"#), blake3::hash(br#"{"digest":}"#));
    }

    proptest! {
        #[test]
        fn a_changed_byte_is_found_or_means_nothing(at in 0..JSON.len(), byte in any::<u8>()) {
            let mut bytes = JSON.as_bytes().to_vec();
            bytes[at] = byte;
            let value = |json: &[u8]| serde_json::from_slice::<Value>(json).ok();
            if let Some(Value::Object(mut found)) = value(&bytes)
                && of(&bytes) == of(JSON.as_bytes())
            {
                let Some(Value::Object(mut expected)) = value(JSON.as_bytes()) else { return Ok(()) };
                expected.remove(FIELD);
                found.remove(FIELD);
                prop_assert_eq!(found, expected);
            }
        }

        #[test]
        fn any_bytes_have_one(bytes in prop::collection::vec(any::<u8>(), 0..60)) {
            of(&bytes);
        }
    }
}
