//! What a tower is, whichever engine computes it: its files, its side, and how its token vectors become one vector.

use crate::error::{Error, Result};
use crate::model::config::BertConfig;
use crate::score::Similarity;
use bytes::Bytes;
use serde::{Deserialize, Serialize};

/// How token vectors become one vector: the papers' red(·).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Pooling {
    /// The mean over real tokens.
    Mean,
    /// The mean over the tokens that stand for the input: of a mention in its context, its own ones.
    Mention,
    /// The vector of `[CLS]`.
    Cls,
}

/// Which tower reads the input.
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
    /// `projection.safetensors`: `weight` `[dim, hidden]` and `bias` `[dim]`.
    pub projection: Option<&'a [u8]>,
}

/// What is done with a tower's output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reduction {
    /// How token vectors become one.
    pub pooling: Pooling,
    /// Cosine vectors are brought to unit length.
    pub score: Similarity,
}

/// Checks that two towers' vectors can be compared.
///
/// # Errors
/// If they are not of one length.
pub fn same_dim(mention: usize, entity: usize) -> Result<()> {
    match mention == entity {
        true => Ok(()),
        false => Err(Error::artifact(format!("the mention tower gives {mention} values, the entity tower {entity}"))),
    }
}

/// Checks that a tokenizer's ids fit into the word table.
///
/// # Errors
/// If they do not.
pub fn check_vocabulary(config: &BertConfig, tokenizer_size: usize) -> Result<()> {
    if tokenizer_size > config.vocab_size {
        return Err(Error::artifact(format!(
            "the tokenizer has {tokenizer_size} tokens, the encoder only {}: they belong to different models",
            config.vocab_size
        )));
    }
    Ok(())
}
