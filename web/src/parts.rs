//! The encoder and the kernels by themselves, for `bench/web`, which compares them with ONNX
//! Runtime Web, and for `tests/browser`.

use crate::engine::Engine;
use crate::failure::Outcome;
use bytes::Bytes;
use pel_kb::score::Similarity;
use pel_kernels::{Isa, int8};
use pel_model::config::BertConfig;
use pel_model::cpu::{Sequence, Tower};
use pel_model::tower::{Pooling, Reduction, Side};
use pel_model::weights::Weights;
use wasm_bindgen::prelude::{JsError, wasm_bindgen};

/// An encoder with mean pooling and unit vectors.
#[wasm_bindgen]
#[derive(Debug)]
pub struct BenchEncoder {
    tower: Tower,
}

#[wasm_bindgen]
impl BenchEncoder {
    /// Builds the encoder from `config.json` and `model.safetensors`.
    ///
    /// # Errors
    /// If they do not fit together.
    #[wasm_bindgen(constructor)]
    pub fn new(config: &[u8], weights: Vec<u8>) -> Result<BenchEncoder, JsError> {
        let build = || {
            let (config, file) = (BertConfig::from_bytes(config)?, Bytes::from(weights));
            let mut weights = Weights::within(&file)?;
            let tower = Tower::from_weights(&config, &mut weights)?;
            weights.finish()?;
            Ok(tower)
        };
        build()
            .map(|tower| Self { tower })
            .map_err(|cause: pel_kb::error::Error| JsError::new(&cause.to_string()))
    }

    /// # Shapes
    /// ids `[batch, seq]` -> `[batch, dim]`
    #[must_use]
    pub fn encode(&self, ids: &[i32], batch: usize, seq: usize) -> Vec<f32> {
        let ids: Vec<u32> = ids.iter().map(|id| id.unsigned_abs()).collect();
        let (segments, own) = (vec![0; seq], 0..seq);
        let sequences: Vec<_> = ids
            .chunks_exact(seq)
            .take(batch)
            .map(|ids| Sequence {
                ids,
                segments: &segments,
                own: &own,
            })
            .collect();
        self.tower.forward(
            &sequences,
            Reduction {
                pooling: Pooling::Mean,
                score: Similarity::Cosine,
            },
        )
    }
}

/// A B + bias with both rounded to bytes, by the best set of instructions that this build has, or
/// by plain loops.
///
/// # Shapes
/// a `[m, depth]`, columns `[n, depth]`, bias `[n]` -> `[m, n]`
#[wasm_bindgen(js_name = int8Product)]
#[must_use]
pub fn int8_product(
    plain: bool,
    a: &[f32],
    columns: &[f32],
    bias: &[f32],
    depth: usize,
) -> Vec<f32> {
    int8::product(
        if plain { Isa::Scalar } else { Isa::best() },
        a,
        columns,
        bias,
        depth,
    )
}

#[wasm_bindgen]
impl Engine {
    /// The vector of some words, as if they were a mention without context.
    ///
    /// # Shapes
    /// -> `[dim]`
    ///
    /// # Errors
    /// If the device fails.
    pub async fn embed(&self, words: &str) -> Outcome<Vec<f32>> {
        let prepared = self.words(words)?;
        Ok(self
            .vectors(
                Side::Mention,
                &prepared.sequences().iter().collect::<Vec<_>>(),
            )
            .await?
            .pooled)
    }
}
