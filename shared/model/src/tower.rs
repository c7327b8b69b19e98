//! A tower for any engine: its files, its side and its pooling.

use crate::config::BertConfig;
use bytes::Bytes;
use pel_kb::error::{Error, Result};
use pel_kb::score::Similarity;
use serde::{Deserialize, Serialize};

/// The pooling of token vectors to one vector: red(·) in the papers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Pooling {
    /// The mean over real tokens.
    Mean,
    /// The mean over the tokens of the input itself: of a mention in context, its own tokens.
    Mention,
    /// The vector of `[CLS]`.
    Cls,
}

/// The tower that reads the input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// T1: mentions.
    Mention,
    /// T2: entities and names.
    Entity,
}

/// The files of one tower, in Hugging Face's layout.
#[derive(Clone, Copy, Debug)]
pub struct TowerBytes<'a> {
    /// `config.json`
    pub config: &'a [u8],
    /// `model.safetensors`
    pub weights: &'a Bytes,
    /// `projection.safetensors`: `weight` `[dim, hidden]` and `bias` `[dim]`; with BERT's pooler
    /// before it, also `dense.weight` `[hidden, hidden]` and `dense.bias` `[hidden]`.
    pub projection: Option<&'a [u8]>,
}

/// The steps after a tower's last layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reduction {
    /// The pooling of token vectors.
    pub pooling: Pooling,
    /// The similarity function. For cosine similarity, vectors are divided by their length.
    pub score: Similarity,
}

/// Checks that two towers' vectors have the same dimension.
///
/// # Errors
/// If they differ.
pub fn same_dim(mention: usize, entity: usize) -> Result<()> {
    match mention == entity {
        true => Ok(()),
        false => Err(Error::artifact(format!(
            "the mention tower gives {mention} values, the entity tower {entity}"
        ))),
    }
}

/// Checks that a tokenizer's ids fit into the word table.
///
/// # Errors
/// If one is too large.
pub fn check_vocabulary(config: &BertConfig, tokenizer_size: usize) -> Result<()> {
    if tokenizer_size > config.vocab_size {
        return Err(Error::artifact(format!(
            "the tokenizer has {tokenizer_size} tokens, the encoder only {}: they belong to \
             different models",
            config.vocab_size
        )));
    }
    Ok(())
}
