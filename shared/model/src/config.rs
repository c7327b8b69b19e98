//! The sizes of a BERT encoder, read from Hugging Face's `config.json`.

pub use pel_kernels::rows::Activation;

use pel_kb::error::{Error, Result};
use serde::{Deserialize, Serialize};

/// The limits of a configuration: ten times any BERT, and small enough that no size computed from
/// it overflows.
const MOST_WORDS: usize = 1 << 24;
const MOST_WIDTH: usize = 1 << 20;
const MOST_LAYERS: usize = 1 << 10;
const MOST_POSITIONS: usize = 1 << 20;

/// The fields of `config.json` that a forward pass needs. Others are ignored.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BertConfig {
    /// `bert` or absent.
    #[serde(default = "bert")]
    pub model_type: String,
    /// Rows of the word embedding table.
    pub vocab_size: usize,
    /// Width of a token vector.
    pub hidden_size: usize,
    /// Number of layers.
    pub num_hidden_layers: usize,
    /// Attention heads of a layer.
    pub num_attention_heads: usize,
    /// Width of the feed-forward layer.
    pub intermediate_size: usize,
    /// The activation of the feed-forward layer.
    #[serde(default)]
    pub hidden_act: Activation,
    /// The longest sequence, in tokens.
    pub max_position_embeddings: usize,
    /// Rows of the segment table.
    #[serde(default = "two")]
    pub type_vocab_size: usize,
    /// ε of each layer normalisation.
    #[serde(default = "epsilon")]
    pub layer_norm_eps: f64,
    /// `absolute` or absent.
    #[serde(default = "absolute")]
    pub position_embedding_type: String,
}

fn bert() -> String {
    "bert".into()
}

fn absolute() -> String {
    "absolute".into()
}

fn two() -> usize {
    2
}

fn epsilon() -> f64 {
    1e-12
}

impl BertConfig {
    /// Reads `config.json`.
    ///
    /// # Errors
    /// If it is not JSON, a field is missing or invalid, or the model is not a supported BERT.
    pub fn from_bytes(json: &[u8]) -> Result<Self> {
        let config: Self = serde_json::from_slice(json)
            .map_err(|cause| Error::artifact("config.json").caused_by(cause))?;
        config
            .validate()
            .map_err(|error| error.context("config.json"))?;
        Ok(config)
    }

    fn validate(&self) -> Result<()> {
        let refuse = |field: &str, expected: &str, found: &dyn std::fmt::Debug| {
            Err(Error::artifact(format!(
                "`{field}`: expected {expected}, found {found:?}"
            )))
        };
        let sizes = [
            ("vocab_size", self.vocab_size, MOST_WORDS),
            ("hidden_size", self.hidden_size, MOST_WIDTH),
            ("num_hidden_layers", self.num_hidden_layers, MOST_LAYERS),
            ("num_attention_heads", self.num_attention_heads, MOST_WIDTH),
            ("intermediate_size", self.intermediate_size, MOST_WIDTH),
            (
                "max_position_embeddings",
                self.max_position_embeddings,
                MOST_POSITIONS,
            ),
            ("type_vocab_size", self.type_vocab_size, MOST_POSITIONS),
        ];
        if let Some((field, found, most)) = sizes
            .iter()
            .find(|(_, size, most)| !(1..=*most).contains(size))
        {
            return refuse(field, &format!("a number from 1 to {most}"), found);
        }
        if self.model_type != "bert" {
            return refuse("model_type", "\"bert\"", &self.model_type);
        }
        if self.position_embedding_type != "absolute" {
            return refuse(
                "position_embedding_type",
                "\"absolute\"",
                &self.position_embedding_type,
            );
        }
        if !self.hidden_size.is_multiple_of(self.num_attention_heads) {
            let expected = format!(
                "a multiple of the {} attention heads",
                self.num_attention_heads
            );
            return refuse("hidden_size", &expected, &self.hidden_size);
        }
        // As f32, which the computation uses.
        if !(self.layer_norm_eps as f32 > 0.0 && self.layer_norm_eps < 1.0) {
            return refuse(
                "layer_norm_eps",
                "a small positive number",
                &self.layer_norm_eps,
            );
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINIMAL: &str = r#"{"vocab_size": 8, "hidden_size": 4, "num_hidden_layers": 1, "num_attention_heads": 2,
        "intermediate_size": 8, "max_position_embeddings": 16, "hidden_act": "gelu"}"#;

    #[test]
    fn defaults_match_hugging_face() {
        let config = BertConfig::from_bytes(MINIMAL.as_bytes()).expect("it is whole");
        assert_eq!((config.type_vocab_size, config.layer_norm_eps), (2, 1e-12));
    }

    #[test]
    fn unsupported_configuration_is_refused_by_field() {
        for (from, to, field) in [
            ("\"gelu\"", "\"swish\"", "swish"),
            (
                "\"num_attention_heads\": 2",
                "\"num_attention_heads\": 3",
                "hidden_size",
            ),
            ("\"hidden_size\": 4", "\"hidden_size\": 0", "hidden_size"),
            (
                "\"num_hidden_layers\": 1",
                "\"num_hidden_layers\": 9007199254740992",
                "num_hidden_layers",
            ),
            (
                "\"vocab_size\": 8",
                "\"vocab_size\": 16777217",
                "`vocab_size`: expected a number from 1 to 16777216",
            ),
            (
                "\"max_position_embeddings\": 16",
                "\"max_position_embeddings\": 18446744073709551615",
                "max_position",
            ),
            (
                "\"hidden_act\"",
                "\"layer_norm_eps\": 1e-60, \"hidden_act\"",
                "layer_norm_eps",
            ),
            ("\"vocab_size\": 8,", "", "vocab_size"),
            (
                "\"vocab_size\": 8",
                "\"model_type\": \"roberta\", \"vocab_size\": 8",
                "model_type",
            ),
            (
                "\"vocab_size\": 8",
                "\"position_embedding_type\": \"relative_key\", \"vocab_size\": 8",
                "position",
            ),
        ] {
            let json = MINIMAL.replace(from, to);
            let said = BertConfig::from_bytes(json.as_bytes())
                .expect_err(to)
                .to_string();
            assert!(
                said.contains(field) && said.contains("config.json"),
                "{said}"
            );
        }
    }
}
