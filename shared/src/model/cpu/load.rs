//! Reads the encoder's weights. Floats are packed, quantised weights are used in place.

use super::layer::{Layer, NormWeights};
use super::linear::Linear;
use super::table::Table;
use super::{Encoder, Mutex};
use crate::error::Result;
use crate::model::config::BertConfig;
use crate::model::layer::{take_linears, take_norms};
use crate::model::weights::Weights;

impl Encoder {
    /// Takes the tensors of an encoder, by the names that [`crate::model::burn::bert::Bert`] takes
    /// them by.
    ///
    /// # Errors
    /// If a tensor is missing or of another shape or type; the error names it.
    pub fn from_weights(config: &BertConfig, weights: &mut Weights<'_>) -> Result<Self> {
        let hidden = config.hidden_size;
        let mut table = |name: &str, rows: usize| {
            Table::take(
                weights,
                &format!("embeddings.{name}_embeddings.weight"),
                rows,
                hidden,
            )
        };
        let words = table("word", config.vocab_size)?;
        let positions = table("position", config.max_position_embeddings)?;
        let segments = table("token_type", config.type_vocab_size)?;
        let norm = norm(weights, "embeddings.LayerNorm", config)?;
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
        Ok(Self {
            words,
            positions,
            segments,
            norm,
            layers,
            hidden,
            idle: Mutex::default(),
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
