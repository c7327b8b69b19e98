//! The tokenizer of a folder with `vocab.txt`, as `tokenizer.json`.
//!
//! It equals the one that transformers' `BertTokenizerFast` makes of the same files.

use pel_kb::error::{Error, Result};
use serde::Deserialize;
use serde_json::{Map, Value, json};

/// The options in `tokenizer_config.json`, with transformers' defaults. Others are ignored.
#[derive(Debug, Deserialize)]
#[serde(default)]
struct Settings {
    do_lower_case: bool,
    tokenize_chinese_chars: bool,
    /// As [`Settings::do_lower_case`] if it is absent.
    strip_accents: Option<bool>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            do_lower_case: true,
            tokenize_chinese_chars: true,
            strip_accents: None,
        }
    }
}

/// The special tokens, in the order in which transformers adds them.
const SPECIAL: [(&str, &str); 5] = [
    ("unk_token", "[UNK]"),
    ("sep_token", "[SEP]"),
    ("pad_token", "[PAD]"),
    ("cls_token", "[CLS]"),
    ("mask_token", "[MASK]"),
];

/// The `tokenizer.json` of a `vocab.txt`, one token a line, with `tokenizer_config.json` and
/// `special_tokens_map.json` if the folder has them.
///
/// # Errors
/// If a file is not UTF-8 or JSON, or the vocabulary lacks a special token.
pub(super) fn tokenizer(
    vocabulary: &[u8],
    settings: Option<&[u8]>,
    special_tokens: Option<&[u8]>,
) -> Result<Vec<u8>> {
    let text = std::str::from_utf8(vocabulary)
        .map_err(|cause| Error::artifact("vocab.txt: expected UTF-8").caused_by(cause))?;
    let configured = object("tokenizer_config.json", settings)?;
    let map = object("special_tokens_map.json", special_tokens)?;
    let Settings {
        do_lower_case,
        tokenize_chinese_chars,
        strip_accents,
    } = Settings::deserialize(Value::Object(configured.clone()))
        .map_err(|cause| Error::artifact("tokenizer_config.json").caused_by(cause))?;

    // As Python reads lines; a token that is there twice has its last line.
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    let ids: Map<String, Value> = text
        .strip_suffix('\n')
        .unwrap_or(&text)
        .split('\n')
        .enumerate()
        .map(|(id, token)| (token.to_owned(), json!(id)))
        .collect();
    let name = |field: &str, default: &str| {
        let given = map.get(field).or_else(|| configured.get(field));
        given
            .and_then(|token| token.as_str().or_else(|| token["content"].as_str()))
            .unwrap_or(default)
            .to_owned()
    };
    let mut special = Vec::new();
    for (field, default) in SPECIAL {
        let token = name(field, default);
        let Some(id) = ids.get(&token) else {
            return Err(Error::artifact(format!(
                "vocab.txt: expected the token `{token}` (`{field}`), found none"
            )));
        };
        special.push((token, id.clone()));
    }
    let [(unk, _), sep, _, cls, _] = &special[..] else {
        return Err(Error::artifact("expected five special tokens"));
    };
    let mut added: Vec<Value> = special
        .iter()
        .map(|(token, id)| {
            json!({"id": id, "content": token, "single_word": false, "lstrip": false,
                "rstrip": false, "normalized": false, "special": true})
        })
        .collect();
    added.sort_by_key(|token| token["id"].as_u64());
    let one = |(token, _): &(String, Value), segment: u8| json!({"SpecialToken": {"id": token, "type_id": segment}});
    let sequence = |name: &str, segment: u8| json!({"Sequence": {"id": name, "type_id": segment}});
    let described = |(token, id): &(String, Value)| {
        (
            token.clone(),
            json!({"id": token, "ids": [id], "tokens": [token]}),
        )
    };
    let templates: Map<String, Value> = [cls, sep].into_iter().map(described).collect();
    let tokenizer = json!({
        "version": "1.0",
        "truncation": null,
        "padding": null,
        "added_tokens": added,
        "normalizer": {"type": "BertNormalizer", "clean_text": true,
            "handle_chinese_chars": tokenize_chinese_chars, "strip_accents": strip_accents,
            "lowercase": do_lower_case},
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "post_processor": {
            "type": "TemplateProcessing",
            "single": [one(cls, 0), sequence("A", 0), one(sep, 0)],
            "pair": [one(cls, 0), sequence("A", 0), one(sep, 0), sequence("B", 1), one(sep, 1)],
            "special_tokens": templates,
        },
        "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": true},
        "model": {"type": "WordPiece", "unk_token": unk, "continuing_subword_prefix": "##",
            "max_input_chars_per_word": 100, "vocab": ids},
    });
    serde_json::to_vec(&tokenizer)
        .map_err(|cause| Error::artifact("writing tokenizer.json").caused_by(cause))
}

/// The fields of a JSON file; none if there is no file.
fn object(name: &str, json: Option<&[u8]>) -> Result<Map<String, Value>> {
    let Some(json) = json else {
        return Ok(Map::new());
    };
    serde_json::from_slice(json).map_err(|cause| Error::artifact(name).caused_by(cause))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vocabulary_makes_the_tokenizer_of_the_fixtures() {
        for name in ["tiny", "tiny-cased"] {
            let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR"))
                .join("../../shared/tests/fixtures")
                .join(name);
            let read = |file: &str| std::fs::read(folder.join(file)).expect("there");
            let made = tokenizer(
                &read("vocab.txt"),
                Some(&read("tokenizer_config.json")),
                None,
            )
            .expect("whole");
            let made: Value = serde_json::from_slice(&made).expect("JSON");
            let mut expected: Value =
                serde_json::from_slice(&read("tokenizer.json")).expect("JSON");
            // A vocabulary has no window.
            expected["truncation"] = Value::Null;
            expected["padding"] = Value::Null;
            assert_eq!(made, expected, "{name}");
        }
    }

    #[test]
    fn special_tokens_have_the_names_of_the_maps() {
        let made = tokenizer(
            b"[PAD]\r\n<unk>\r\n[CLS]\r\n[SEP]\r\n[MASK]\r\nfever",
            Some(br#"{"unk_token": "[UNK]", "strip_accents": false, "do_lower_case": false}"#),
            Some(br#"{"unk_token": {"content": "<unk>", "lstrip": false}}"#),
        )
        .expect("whole");
        let made: Value = serde_json::from_slice(&made).expect("JSON");
        assert_eq!(made["model"]["unk_token"], "<unk>");
        assert_eq!(made["model"]["vocab"]["fever"], 5);
        assert_eq!(made["normalizer"]["strip_accents"], false);
        assert_eq!(made["normalizer"]["lowercase"], false);
    }

    #[test]
    fn missing_special_token_is_an_error() {
        let said = tokenizer(b"[PAD]\n[UNK]\n", None, None)
            .expect_err("too short")
            .to_string();
        assert_eq!(
            said,
            "vocab.txt: expected the token `[SEP]` (`sep_token`), found none"
        );
    }
}
