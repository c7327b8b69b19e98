//! Reads the encoder's weights. Floats are packed, quantised weights are used in place.

use super::layer::{Layer, NormWeights};
use super::linear::Linear;
use super::table::Table;
use super::{Encoder, Mutex};
use crate::config::BertConfig;
use crate::layer::{take_linears, take_norms};
use crate::weights::Weights;
use pel_kb::error::Result;

impl Encoder {
    /// Takes the tensors of an encoder, by the names that [`crate::burn::bert::Bert`] takes
    /// them by.
    ///
    /// # Errors
    /// If a tensor is missing or of another shape or type; the error names it.
    pub fn from_weights(config: &BertConfig, weights: &mut Weights<'_>) -> Result<Self> {
        let embeddings = Embeddings::take(config, weights)?;
        Self::with(config, embeddings, weights)
    }

    /// Takes the embeddings from one file and the layers from another.
    ///
    /// # Errors
    /// As [`Encoder::from_weights`].
    pub fn with_embeddings_of(
        config: &BertConfig,
        embeddings: &mut Weights<'_>,
        layers: &mut Weights<'_>,
    ) -> Result<Self> {
        let embeddings = Embeddings::take(config, embeddings)?;
        Self::with(config, embeddings, layers)
    }

    fn with(
        config: &BertConfig,
        embeddings: Embeddings,
        weights: &mut Weights<'_>,
    ) -> Result<Self> {
        // It grows with the tensors that are found: how many layers there are is only what the
        // configuration says.
        let mut layers = Vec::new();
        for at in 0..config.num_hidden_layers {
            let [query, key, value, attention_output, intermediate, output] =
                take_linears(at, config, |name, [inputs, outputs]| {
                    Linear::take(weights, name, inputs, outputs)
                })?;
            let [attention_norm, norm] = take_norms(at, |name| self::norm(weights, name, config))?;
            let (heads, activation) = (config.num_attention_heads, config.hidden_act);
            layers.push(Layer {
                query,
                key,
                value,
                attention_output,
                attention_norm,
                intermediate,
                output,
                norm,
                heads,
                activation,
            });
        }
        let Embeddings {
            words,
            positions,
            segments,
            norm,
        } = embeddings;
        Ok(Self {
            words,
            positions,
            segments,
            norm,
            layers,
            hidden: config.hidden_size,
            idle: Mutex::default(),
        })
    }
}

/// The embedding layer.
struct Embeddings {
    words: Table,
    positions: Table,
    segments: Table,
    norm: NormWeights,
}

impl Embeddings {
    fn take(config: &BertConfig, weights: &mut Weights<'_>) -> Result<Self> {
        let mut table = |name: &str, rows: usize| {
            Table::take(
                weights,
                &format!("embeddings.{name}_embeddings.weight"),
                rows,
                config.hidden_size,
            )
        };
        Ok(Self {
            words: table("word", config.vocab_size)?,
            positions: table("position", config.max_position_embeddings)?,
            segments: table("token_type", config.type_vocab_size)?,
            norm: norm(weights, "embeddings.LayerNorm", config)?,
        })
    }
}

fn norm(weights: &mut Weights<'_>, name: &str, config: &BertConfig) -> Result<NormWeights> {
    let size = config.hidden_size;
    let gamma = weights.floats(&format!("{name}.weight"), &[size])?;
    let beta = weights.floats(&format!("{name}.bias"), &[size])?;
    Ok(NormWeights {
        gamma,
        beta,
        epsilon: config.layer_norm_eps as f32,
    })
}
