//! The digest of a JSON document, which the document carries in its own field `digest`.
//!
//! It is the BLAKE3 hash of the document without insignificant whitespace and without the value of
//! `digest` itself. Reformatting keeps it; every other change alters it. Numbers are not parsed, so
//! rounding by a reader has no effect.

use blake3::Hash;

/// The name of the top-level field that holds the digest.
pub const FIELD: &str = "digest";

/// Computes the digest of a JSON object.
///
/// `json` must be a valid JSON object. Other bytes are hashed too, without a meaning.
pub fn of(json: &[u8]) -> Hash {
    let key = format!("\"{FIELD}\"");
    let mut hashed = Vec::with_capacity(json.len());
    let mut rest = json;
    let mut depth = 0usize;
    // The last token's first byte, and whether the last key is the field itself.
    let mut previous = 0u8;
    let mut in_digest = false;
    while let Some(first) = rest.first().copied() {
        let length = if first == b'"' {
            string_length(rest)
        } else {
            1
        };
        let (token, remainder) = rest.split_at(length);
        rest = remainder;
        match first {
            b' ' | b'\t' | b'\n' | b'\r' => continue,
            b'"' => {
                // Skips the value of the field itself.
                if in_digest && previous == b':' {
                    continue;
                }
                let is_key = depth == 1 && matches!(previous, b'{' | b',');
                in_digest = is_key && token == key.as_bytes();
            }
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.saturating_sub(1),
            b',' => in_digest = false,
            _ => {}
        }
        previous = first;
        hashed.extend_from_slice(token);
    }
    blake3::hash(&hashed)
}

/// The length in bytes of the string literal at the start of `text`, both quotation marks included.
fn string_length(text: &[u8]) -> usize {
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

    const JSON: &str =
        r#"{"a": [1, {"digest": "inner"}], "digest": "0123", "b \"c": "digest", "n": -1.50e3}"#;

    #[test]
    fn whitespace_and_the_digest_value_do_not_change_the_digest() {
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
    fn every_value_and_key_changes_the_digest() {
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
    fn digest_of_an_empty_object_is_the_hash_of_its_braces() {
        assert_eq!(of(b" { }\n"), blake3::hash(b"{}"));
        assert_eq!(of(br#"{"digest": "x"}"#), blake3::hash(br#"{"digest":}"#));
    }

    proptest! {
        #[test]
        fn a_changed_byte_changes_the_digest_or_only_the_formatting(
            at in 0..JSON.len(), byte in any::<u8>()
        ) {
            let mut bytes = JSON.as_bytes().to_vec();
            bytes[at] = byte;
            let value = |json: &[u8]| serde_json::from_slice::<Value>(json).ok();
            if let Some(Value::Object(mut found)) = value(&bytes)
                && of(&bytes) == of(JSON.as_bytes())
            {
                let Some(Value::Object(mut expected)) = value(JSON.as_bytes()) else {
                    return Ok(());
                };
                expected.remove(FIELD);
                found.remove(FIELD);
                prop_assert_eq!(found, expected);
            }
        }

        #[test]
        fn any_bytes_have_a_digest(bytes in prop::collection::vec(any::<u8>(), 0..60)) {
            of(&bytes);
        }
    }
}
