//! Prunes a WordPiece vocabulary: it drops unused rows of the word embeddings and renumbers the
//! others.
//!
//! Single characters stay, at the beginning of a word and within it. So no word becomes unknown; it
//! is split into smaller pieces.

use pel_kb::error::{Error, Result};
use serde_json::Value;
use std::collections::HashMap;

/// Rows `[unusedN]` that stay at least: the templates use three.
const UNUSED: usize = 8;

/// A pruned vocabulary.
pub struct Pruned {
    /// The `tokenizer.json` of the remaining rows.
    pub tokenizer: Vec<u8>,
    /// The old number of each remaining row, in order.
    pub rows: Vec<usize>,
}

/// Drops the rows that are not `used`.
///
/// # Errors
/// If it is not a WordPiece tokenizer as Hugging Face writes it, or has added tokens outside its
/// vocabulary.
pub fn prune(tokenizer: &[u8], used: &[bool]) -> Result<Pruned> {
    let mut json: Value =
        serde_json::from_slice(tokenizer).map_err(|cause| refuse("JSON").caused_by(cause))?;
    let special: Vec<u64> = json["added_tokens"]
        .as_array()
        .ok_or_else(|| refuse("`added_tokens`"))?
        .iter()
        .filter_map(|token| token["id"].as_u64())
        .collect();
    let vocabulary = json["model"]["vocab"]
        .as_object()
        .ok_or_else(|| refuse("`model.vocab`, a map"))?;
    let mut words: Vec<(String, u64)> = Vec::with_capacity(vocabulary.len());
    for (word, id) in vocabulary {
        words.push((
            word.clone(),
            id.as_u64()
                .ok_or_else(|| refuse("numbers in `model.vocab`"))?,
        ));
    }
    words.sort_by_key(|(_, id)| *id);
    if let Some(outside) = special
        .iter()
        .find(|id| words.binary_search_by_key(id, |(_, id)| id).is_err())
    {
        return Err(refuse("added tokens that `model.vocab` has too")
            .caused_by(format!("the token {outside}")));
    }
    let mut unused = 0;
    words.retain(|(word, id)| {
        let in_use = used.get(*id as usize).copied().unwrap_or(false);
        let letter = word.strip_prefix("##").unwrap_or(word).chars().count() == 1;
        let spare = word.starts_with("[unused") && {
            unused += 1;
            unused <= UNUSED
        };
        in_use || letter || spare || special.contains(id)
    });
    let new: HashMap<u64, usize> = words
        .iter()
        .enumerate()
        .map(|(at, (_, id))| (*id, at))
        .collect();
    renumber(&mut json, &new);
    let kept = words
        .iter()
        .enumerate()
        .map(|(at, (word, _))| (word.clone(), Value::from(at)));
    json["model"]["vocab"] = Value::Object(kept.collect());
    let tokenizer = serde_json::to_vec(&json).map_err(|cause| refuse("JSON").caused_by(cause))?;
    Ok(Pruned {
        tokenizer,
        rows: words.iter().map(|(_, id)| *id as usize).collect(),
    })
}

/// Renumbers special tokens outside the vocabulary.
fn renumber(json: &mut Value, new: &HashMap<u64, usize>) {
    let renew = |value: &mut Value| {
        if let Some(number) = value.as_u64().and_then(|id| new.get(&id)) {
            *value = Value::from(*number);
        }
    };
    if let Some(tokens) = json["added_tokens"].as_array_mut() {
        tokens.iter_mut().for_each(|token| renew(&mut token["id"]));
    }
    if let Some(tokens) = json["post_processor"]["special_tokens"].as_object_mut() {
        for token in tokens.values_mut() {
            if let Some(ids) = token["ids"].as_array_mut() {
                ids.iter_mut().for_each(renew);
            }
        }
    }
    // The form of BertProcessing: ["[SEP]", 102].
    for pair in ["sep", "cls"] {
        if let Some(pair) = json["post_processor"]
            .get_mut(pair)
            .and_then(Value::as_array_mut)
            && let Some(id) = pair.get_mut(1)
        {
            renew(id);
        }
    }
    if let Some(padding) = json
        .get_mut("padding")
        .filter(|padding| padding.is_object())
    {
        renew(&mut padding["pad_id"]);
    }
}

fn refuse(expected: &str) -> Error {
    Error::artifact(format!("tokenizer.json: expected {expected}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use pel_model::tokens::Tokens;

    const TINY: &[u8] = include_bytes!("../../../../shared/tests/fixtures/tiny/tokenizer.json");

    #[test]
    fn unused_words_are_split_into_smaller_pieces() {
        let before = Tokens::from_bytes(TINY).expect("the fixture is whole");
        let kept = ["fever and chest pain", "coughing since monday"];
        let mut used = vec![false; before.size()];
        for text in kept {
            before
                .pieces(text)
                .expect("text")
                .into_iter()
                .for_each(|id| used[id as usize] = true);
        }
        let pruned = prune(TINY, &used).expect("a WordPiece tokenizer");
        assert!(
            pruned.rows.len() < before.size(),
            "{} of {}",
            pruned.rows.len(),
            before.size()
        );
        assert!(pruned.rows.is_sorted());
        let after = Tokens::from_bytes(&pruned.tokenizer).expect("whole");
        assert_eq!(after.size(), pruned.rows.len());
        let words = |tokens: &Tokens, text: &str| -> Vec<String> {
            tokens
                .pieces(text)
                .expect("text")
                .into_iter()
                .map(|id| tokens.token(id))
                .collect()
        };
        for text in kept {
            assert_eq!(words(&after, text), words(&before, text));
        }
        // The rows are those of the same words.
        for (new, old) in pruned.rows.iter().enumerate() {
            assert_eq!(after.token(new as u32), before.token(*old as u32));
        }
        assert_eq!(after.token(after.pad()), "[PAD]");
        after.markers().expect("unused rows are left");
        let strange = words(&after, "headache");
        assert!(
            !strange.is_empty() && strange.iter().all(|piece| piece != "[UNK]"),
            "{strange:?}"
        );
    }

    #[test]
    fn another_kind_of_tokenizer_is_refused() {
        let said = prune(
            br#"{"added_tokens": [], "model": {"vocab": [["a", 1]]}}"#,
            &[],
        )
        .err()
        .expect("no map")
        .to_string();
        assert!(said.contains("model.vocab"), "{said}");
        let added =
            br#"{"added_tokens": [{"id": 0}, {"id": 7}], "model": {"vocab": {"a": 0, "b": 1}}}"#;
        let said = prune(added, &[])
            .err()
            .expect("a token without a piece")
            .to_string();
        assert!(said.contains("added tokens"), "{said}");
    }
}
