//! Marker rows for vocabularies without `[unused]` rows.
//!
//! The templates mark a mention and a title with three tokens `[unusedN]`. A vocabulary with fewer
//! gets the missing ones, with the lowest free N, after its last token. If the word embeddings have
//! no rows there, rows are appended: uniform numbers of mean 0 and deviation `initializer_range`
//! (0.02 if `config.json` lacks it), from ChaCha8 with the seed 0. The same files therefore get the
//! same rows each time.

use super::EncoderFiles;
use crate::tensors::{NamedTensor, to_bytes};
use pel_kb::error::{Error, Result};
use pel_linker::bundle::names;
use pel_model::weights::encoder_name;
use rand::Rng;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;
use safetensors::tensor::{Dtype, SafeTensors};
use serde_json::{Value, json};

/// Markers of the templates.
const MARKERS: usize = 3;
/// The largest N of a marker `[unusedN]`, exclusive.
const MOST: usize = 1000;
const SEED: u64 = 0;
/// The deviation of BERT's initial weights.
const DEVIATION: f64 = 0.02;
const WORDS: &str = "embeddings.word_embeddings.weight";

/// Adds the markers that the vocabulary lacks. Files that are damaged, quantised, or do not belong
/// together stay as they are, for their reader to refuse.
///
/// # Errors
/// If the files cannot be written again.
pub(super) fn with_markers(files: EncoderFiles) -> Result<EncoderFiles> {
    let parsed = |bytes: &[u8]| serde_json::from_slice::<Value>(bytes).ok();
    let Some((mut tokenizer, mut config)) = parsed(&files.tokenizer).zip(parsed(&files.config))
    else {
        return Ok(files);
    };
    let Some(size) = add_markers(&mut tokenizer) else {
        return Ok(files);
    };
    let Some(before) = config["vocab_size"].as_u64() else {
        return Ok(files);
    };
    let encoded = |value: &Value| {
        serde_json::to_vec(value).map_err(|cause| Error::artifact("encoding JSON").caused_by(cause))
    };
    let tokenizer = encoded(&tokenizer)?.into();
    // Some tables have more rows than their vocabulary has tokens.
    if before >= size {
        return Ok(EncoderFiles { tokenizer, ..files });
    }
    // A larger tokenizer belongs to another encoder.
    if size - before > MARKERS as u64 {
        return Ok(files);
    }
    let deviation = config["initializer_range"].as_f64().unwrap_or(DEVIATION);
    let Some(weights) = with_rows(&files.weights, before, size, deviation)? else {
        return Ok(files);
    };
    config["vocab_size"] = json!(size);
    Ok(EncoderFiles {
        config: encoded(&config)?.into(),
        tokenizer,
        weights: weights.into(),
    })
}

/// Adds missing markers to a WordPiece vocabulary. Returns the number of its tokens if it grew.
fn add_markers(tokenizer: &mut Value) -> Option<u64> {
    let added = tokenizer["added_tokens"].as_array()?;
    let content = |token: &Value| Some(token["content"].as_str()?.to_owned());
    let added_names: Vec<String> = added.iter().filter_map(content).collect();
    let last_added = added.iter().filter_map(|token| token["id"].as_u64()).max();
    if tokenizer["model"]["type"] != "WordPiece" {
        return None;
    }
    let vocabulary = tokenizer
        .get_mut("model")?
        .get_mut("vocab")?
        .as_object_mut()?;
    let last = vocabulary.values().filter_map(Value::as_u64).max();
    let mut next = last.max(last_added)?.checked_add(1)?;
    let mut missing = MARKERS;
    let mut free = Vec::new();
    for n in 0..MOST {
        let marker = format!("[unused{n}]");
        if vocabulary.contains_key(&marker) || added_names.contains(&marker) {
            missing -= 1;
            if missing == 0 {
                return None;
            }
        } else if free.len() < MARKERS {
            free.push(marker);
        }
    }
    for marker in free.into_iter().take(missing) {
        vocabulary.insert(marker, json!(next));
        next += 1;
    }
    Some(next)
}

/// The weights with a word table of `after` rows instead of `before`. None if the table has another
/// size or no floats.
fn with_rows(file: &[u8], before: u64, after: u64, deviation: f64) -> Result<Option<Vec<u8>>> {
    let Ok(all) = SafeTensors::deserialize(file) else {
        return Ok(None);
    };
    let tensors: Vec<_> = all
        .tensors()
        .into_iter()
        .filter_map(|(name, view)| Some((encoder_name(&name)?, view)))
        .collect();
    let Some((_, words)) = tensors.iter().find(|(name, _)| name == WORDS) else {
        return Ok(None);
    };
    let &[rows, width] = words.shape() else {
        return Ok(None);
    };
    // Uniform values up to d have the deviation d / √3.
    let most = (deviation * 3f64.sqrt()) as f32;
    if rows as u64 != before || !(most > 0.0 && most < 1.0) {
        return Ok(None);
    }
    let Some(number) = writer(words.dtype()) else {
        return Ok(None);
    };
    let mut random = ChaCha8Rng::seed_from_u64(SEED);
    let mut table = words.data().to_vec();
    for _ in before..after {
        for _ in 0..width {
            number(random.random_range(-most..most), &mut table);
        }
    }
    let shape = [rows + (after - before) as usize, width];
    let tensors: Vec<_> = tensors
        .iter()
        .map(|(name, view)| {
            let words = name == WORDS;
            NamedTensor {
                name: name.clone(),
                dtype: view.dtype(),
                shape: if words {
                    shape.to_vec()
                } else {
                    view.shape().to_vec()
                },
                bytes: if words { &table } else { view.data() },
            }
        })
        .collect();
    to_bytes(&tensors)
        .map(Some)
        .map_err(|error| error.context(names::WEIGHTS))
}

/// Writes a number in a type of floats. None for another type.
fn writer(dtype: Dtype) -> Option<fn(f32, &mut Vec<u8>)> {
    let write: fn(f32, &mut Vec<u8>) = match dtype {
        Dtype::F64 => |value: f32, to: &mut Vec<u8>| to.extend(f64::from(value).to_le_bytes()),
        Dtype::F32 => |value: f32, to: &mut Vec<u8>| to.extend(value.to_le_bytes()),
        Dtype::F16 => |value: f32, to: &mut Vec<u8>| {
            to.extend(half::f16::from_f32(value).to_le_bytes());
        },
        Dtype::BF16 => |value: f32, to: &mut Vec<u8>| {
            to.extend(half::bf16::from_f32(value).to_le_bytes());
        },
        _ => return None,
    };
    Some(write)
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;

    /// Four tokens and three rows of two numbers, and further tokens.
    fn files(more: &[&str], rows: usize) -> EncoderFiles {
        let names = ["[PAD]", "[CLS]", "[SEP]"].iter().chain(more);
        let vocabulary: serde_json::Map<String, Value> = names
            .enumerate()
            .map(|(id, name)| ((*name).to_owned(), json!(id)))
            .collect();
        let tokenizer =
            json!({"added_tokens": [], "model": {"type": "WordPiece", "vocab": vocabulary}});
        let values: Vec<f32> = (0..2 * rows).map(|value| value as f32).collect();
        let tensors = [
            NamedTensor::floats(format!("bert.{WORDS}"), vec![rows, 2], &values),
            NamedTensor::floats("cls.predictions.bias", vec![rows], &values[..rows]),
        ];
        EncoderFiles {
            config: Bytes::from(json!({"vocab_size": rows}).to_string()),
            tokenizer: Bytes::from(tokenizer.to_string()),
            weights: to_bytes(&tensors).expect("written").into(),
        }
    }

    fn vocabulary(files: &EncoderFiles) -> Value {
        let tokenizer: Value = serde_json::from_slice(&files.tokenizer).expect("JSON");
        tokenizer["model"]["vocab"].clone()
    }

    #[test]
    fn missing_markers_are_appended_with_rows() {
        let grown = with_markers(files(&["[unused0]"], 4)).expect("written");
        let config: Value = serde_json::from_slice(&grown.config).expect("JSON");
        assert_eq!(config, json!({"vocab_size": 6}));
        assert_eq!(
            vocabulary(&grown),
            json!({"[PAD]": 0, "[CLS]": 1, "[SEP]": 2, "[unused0]": 3, "[unused1]": 4,
                "[unused2]": 5})
        );
        let all = SafeTensors::deserialize(&grown.weights).expect("safetensors");
        assert_eq!(all.names(), [WORDS]);
        let words = all.tensor(WORDS).expect("there");
        assert_eq!(words.shape(), [6, 2]);
        let values: Vec<f32> = words
            .data()
            .chunks_exact(4)
            .map(|bytes| f32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
            .collect();
        assert_eq!(values[..8], [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]);
        // 0.02 √3 = 0.0346
        let new = &values[8..];
        assert!(
            new.iter()
                .all(|value| value.abs() < 0.0347 && *value != 0.0)
        );
        assert_ne!(new[0], new[1]);
        let again = with_markers(files(&["[unused0]"], 4)).expect("written");
        assert_eq!(again.weights, grown.weights);
        let twice = with_markers(again.clone()).expect("written");
        assert_eq!(twice.tokenizer, again.tokenizer);
    }

    #[test]
    fn rows_without_tokens_become_markers() {
        let before = files(&[], 9);
        let grown = with_markers(before.clone()).expect("written");
        assert_eq!(vocabulary(&grown)["[unused2]"], 5);
        assert_eq!(
            (grown.weights, grown.config),
            (before.weights, before.config)
        );
    }

    #[test]
    fn files_with_markers_or_of_another_size_stay() {
        for before in [
            files(&["[unused7]", "[unused9]", "[unused12]"], 6),
            EncoderFiles {
                config: files(&[], 4).config,
                ..files(&[], 3)
            },
            EncoderFiles {
                tokenizer: Bytes::from("{"),
                ..files(&[], 3)
            },
        ] {
            let after = with_markers(before.clone()).expect("unchanged");
            assert_eq!(after.weights, before.weights);
            assert_eq!(after.config, before.config);
        }
    }
}
