//! Reading the encoder's weights: floats are packed, what is quantised is used where it lies.

use super::layer::{Layer, NormWeights};
use super::linear::Linear;
use super::table::Table;
use super::{Encoder, Mutex};
use crate::bert::{BertConfig, Weights};
use crate::error::Result;

impl Encoder {
    /// Takes the tensors of an encoder, by the names that [`crate::bert::Bert`] takes them by.
    ///
    /// # Errors
    /// If a tensor is missing or of another shape or type; the error names it.
    pub fn from_weights(config: &BertConfig, weights: &mut Weights<'_>) -> Result<Self> {
        let (hidden, inner) = (config.hidden_size, config.intermediate_size);
        let mut table = |name: &str, rows: usize| {
            Table::take(weights, &format!("embeddings.{name}_embeddings.weight"), rows, hidden)
        };
        let words = table("word", config.vocab_size)?;
        let positions = table("position", config.max_position_embeddings)?;
        let segments = table("token_type", config.type_vocab_size)?;
        let norm = norm(weights, "embeddings.LayerNorm", config)?;
        // It grows with the tensors that are found: how many layers there are is only what the configuration says.
        let mut layers = Vec::new();
        for at in 0..config.num_hidden_layers {
            let name = |name: &str| format!("encoder.layer.{at}.{name}");
            layers.push(Layer {
                query: Linear::take(weights, &name("attention.self.query"), hidden, hidden)?,
                key: Linear::take(weights, &name("attention.self.key"), hidden, hidden)?,
                value: Linear::take(weights, &name("attention.self.value"), hidden, hidden)?,
                attended: Linear::take(weights, &name("attention.output.dense"), hidden, hidden)?,
                attended_norm: self::norm(weights, &name("attention.output.LayerNorm"), config)?,
                wide: Linear::take(weights, &name("intermediate.dense"), hidden, inner)?,
                narrow: Linear::take(weights, &name("output.dense"), inner, hidden)?,
                norm: self::norm(weights, &name("output.LayerNorm"), config)?,
                heads: config.num_attention_heads,
                activation: config.hidden_act,
            });
        }
        Ok(Self { words, positions, segments, norm, layers, hidden, idle: Mutex::default() })
    }
}

fn norm(weights: &mut Weights<'_>, name: &str, config: &BertConfig) -> Result<NormWeights> {
    let size = config.hidden_size;
    let gamma = weights.floats(&format!("{name}.weight"), &[size])?;
    let beta = weights.floats(&format!("{name}.bias"), &[size])?;
    Ok(NormWeights { gamma, beta, epsilon: config.layer_norm_eps as f32 })
}
