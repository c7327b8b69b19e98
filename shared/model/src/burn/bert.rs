//! The BERT encoder (Devlin et al., 2019) of both towers, with two entry points into the forward
//! pass.
//!
//! | entry point | value | used by |
//! | --- | --- | --- |
//! | [`Bert::embedding_sum`] then [`Bert::forward_from_sum`] | word + position + segment embeddings, before LayerNorm | FGSM (PEL, section 4.2) |
//! | [`Bert::hidden_at`] then [`Bert::forward_from_layer`] | the output of layer K; K = 0 is the embedding layer's, after LayerNorm | the learned transformation (T-Biencoder) |

use crate::burn::floats;
use crate::burn::layer::{Layer, Padding, layer_norm};
pub use crate::burn::pass::{Pass, multiplies_in};
use crate::config::BertConfig;
use crate::tokens::TokenBatch;
use crate::weights::Weights;
use burn::module::{Module, Param};
use burn::nn::{Embedding, LayerNorm};
use burn::tensor::{Device, Int, Tensor, TensorData};
use pel_kb::error::{Context, Result};
use std::ops::Range;

/// The encoder. Weights and sizes are those of a Hugging Face `BertModel`.
#[derive(Module, Debug)]
pub struct Bert {
    pub(super) words: Embedding,
    pub(super) positions: Embedding,
    pub(super) segments: Embedding,
    pub(super) norm: LayerNorm,
    pub(super) layers: Vec<Layer>,
    max_positions: usize,
}

/// A batch of token ids on a device.
#[derive(Clone, Debug)]
pub struct BertInput {
    /// `[batch, seq]`
    pub ids: Tensor<2, Int>,
    /// `[batch, seq]`
    pub segments: Tensor<2, Int>,
    /// `[batch, seq]`, 1 = real token, 0 = padding.
    pub mask: Tensor<2>,
    /// `[batch, seq]`, 1 = a token of the input itself.
    pub own: Tensor<2>,
}

impl BertInput {
    /// Copies a batch to the device.
    pub fn new(batch: &TokenBatch, device: &Device) -> Self {
        let shape = [batch.batch, batch.seq];
        let numbers = |flags: &[bool]| {
            let values = flags
                .iter()
                .map(|flag| f32::from(u8::from(*flag)))
                .collect::<Vec<_>>();
            Tensor::from_data(TensorData::new(values, shape), device)
        };
        Self {
            ids: Tensor::from_data(TensorData::new(batch.ids.clone(), shape), device),
            segments: Tensor::from_data(TensorData::new(batch.segments.clone(), shape), device),
            mask: numbers(&batch.mask),
            own: numbers(&batch.own),
        }
    }
}

impl Bert {
    /// Builds the encoder from the bytes of a `model.safetensors`.
    ///
    /// # Errors
    /// If a tensor is missing or unexpected, or its shape differs from `config`. The error names
    /// it.
    pub fn from_bytes(config: &BertConfig, safetensors: &[u8], device: &Device) -> Result<Self> {
        let mut weights = Weights::from_bytes(safetensors)?;
        let bert = Self::embeddings(config, &mut weights, device)?.with_layers(
            config,
            &mut weights,
            device,
        )?;
        weights.finish()?;
        Ok(bert)
    }

    /// Takes the embeddings from one file and the layers from another.
    ///
    /// # Errors
    /// As [`Bert::from_bytes`], but tensors may be left in both.
    pub fn with_embeddings_of(
        config: &BertConfig,
        embeddings: &mut Weights<'_>,
        layers: &mut Weights<'_>,
        device: &Device,
    ) -> Result<Self> {
        Self::embeddings(config, embeddings, device)?.with_layers(config, layers, device)
    }

    /// An encoder without layers.
    fn embeddings(config: &BertConfig, weights: &mut Weights<'_>, device: &Device) -> Result<Self> {
        let hidden = config.hidden_size;
        let mut table = |name: &str, rows: usize| -> Result<Embedding> {
            let weight = weights.take(
                &format!("embeddings.{name}_embeddings.weight"),
                [rows, hidden],
                device,
            )?;
            Ok(Embedding {
                weight: Param::from_tensor(weight),
            })
        };
        Ok(Self {
            words: table("word", config.vocab_size)?,
            positions: table("position", config.max_position_embeddings)?,
            segments: table("token_type", config.type_vocab_size)?,
            norm: layer_norm(weights, "embeddings.LayerNorm", config, device)?,
            layers: Vec::new(),
            max_positions: config.max_position_embeddings,
        })
    }

    fn with_layers(
        self,
        config: &BertConfig,
        weights: &mut Weights<'_>,
        device: &Device,
    ) -> Result<Self> {
        let layers = (0..config.num_hidden_layers)
            .map(|at| Layer::take(weights, at, config, device))
            .collect::<Result<_>>()?;
        Ok(Self { layers, ..self })
    }

    /// The encoder with a frozen embedding layer, its LayerNorm included.
    #[must_use]
    pub fn freeze_embeddings(self) -> Self {
        let Self {
            words,
            positions,
            segments,
            norm,
            ..
        } = self;
        let (words, positions, segments) =
            (words.no_grad(), positions.no_grad(), segments.no_grad());
        Self {
            words,
            positions,
            segments,
            norm: norm.no_grad(),
            ..self
        }
    }

    /// The number of layers.
    pub fn depth(&self) -> usize {
        self.layers.len()
    }

    /// The hidden size.
    pub fn hidden(&self) -> usize {
        self.words.weight.dims()[1]
    }

    /// The longest sequence in tokens.
    pub fn max_positions(&self) -> usize {
        self.max_positions
    }

    /// The output of the last layer.
    ///
    /// # Shapes
    /// `[batch, seq]` -> `[batch, seq, hidden]`
    pub fn forward(&self, input: &BertInput, pass: &Pass) -> Tensor<3> {
        self.forward_from_sum(self.embedding_sum(input), &input.mask, pass)
    }

    /// The sum of word, position and segment embeddings, before LayerNorm: the input embeddings z
    /// of PEL's eq. 6 and 7.
    ///
    /// # Shapes
    /// `[batch, seq]` -> `[batch, seq, hidden]`
    pub fn embedding_sum(&self, input: &BertInput) -> Tensor<3> {
        let [_, seq] = input.ids.dims();
        assert!(
            seq <= self.max_positions,
            "expected at most {} tokens in a sequence, found {seq}",
            self.max_positions
        );
        // [1, seq]
        let positions =
            Tensor::<1, Int>::arange(0..seq as i64, &input.ids.device()).unsqueeze::<2>();
        let words =
            self.words.forward(input.ids.clone()) + self.segments.forward(input.segments.clone());
        words + self.positions.forward(positions)
    }

    /// The standard deviation of the values of [`Bert::embedding_sum`], over every dimension and
    /// every combination of a word, a position and a segment: a figure of the tables alone.
    ///
    /// # Errors
    /// If the tables cannot be read from the device.
    pub fn embedding_deviation(&self) -> Result<f64> {
        let tables = [&self.words, &self.positions, &self.segments].map(|table| {
            floats(table.weight.val().inner().try_into_data())
                .context(|| "the deviation of the input embeddings".into())
        });
        let [words, positions, segments] = tables;
        let (words, positions, segments) = (words?, positions?, segments?);
        Ok(deviation_of_sum(
            [&words, &positions, &segments],
            self.hidden(),
        ))
    }

    /// The output of the last layer, from [`Bert::embedding_sum`] or a perturbed sum.
    ///
    /// # Shapes
    /// `[batch, seq, hidden]`, mask `[batch, seq]` -> `[batch, seq, hidden]`
    pub fn forward_from_sum(&self, sum: Tensor<3>, mask: &Tensor<2>, pass: &Pass) -> Tensor<3> {
        self.forward_from_layer(self.embedded(sum, pass), mask, 0, pass)
    }

    fn embedded(&self, sum: Tensor<3>, pass: &Pass) -> Tensor<3> {
        crate::burn::dropout::apply_dropout(self.norm.forward(sum), pass.dropout)
    }

    /// The output of layer `k`, where 0 is the embedding layer's output after LayerNorm.
    ///
    /// # Shapes
    /// `[batch, seq]` -> `[batch, seq, hidden]`
    ///
    /// # Panics
    /// If the encoder has fewer than `k` layers.
    pub fn hidden_at(&self, input: &BertInput, k: usize, pass: &Pass) -> Tensor<3> {
        assert!(
            k <= self.depth(),
            "expected a layer of at most {}, found {k}",
            self.depth()
        );
        self.run(
            self.embedded(self.embedding_sum(input), pass),
            &input.mask,
            0..k,
            pass,
        )
    }

    /// The output of the last layer, from the output of layer `k`.
    ///
    /// # Shapes
    /// `[batch, seq, hidden]`, mask `[batch, seq]` -> `[batch, seq, hidden]`
    ///
    /// # Panics
    /// If the encoder has fewer than `k` layers.
    pub fn forward_from_layer(
        &self,
        hidden: Tensor<3>,
        mask: &Tensor<2>,
        k: usize,
        pass: &Pass,
    ) -> Tensor<3> {
        assert!(
            k <= self.depth(),
            "expected a layer of at most {}, found {k}",
            self.depth()
        );
        self.run(hidden, mask, k..self.depth(), pass)
    }

    fn run(
        &self,
        hidden: Tensor<3>,
        mask: &Tensor<2>,
        layers: Range<usize>,
        pass: &Pass,
    ) -> Tensor<3> {
        let padding = Padding::new(mask);
        layers.fold(hidden, |hidden, at| {
            self.layers[at].forward(hidden, &padding, &pass.of_layer(at))
        })
    }
}

/// The standard deviation of the sum of one row of each table, over all columns and all
/// combinations of rows. Rows combine freely, so that in a column the means and the variances of
/// the tables add.
fn deviation_of_sum(tables: [&[f32]; 3], width: usize) -> f64 {
    let (mut means, mut variances) = (vec![0.0_f64; width], 0.0_f64);
    for table in tables {
        let rows = (table.len() / width) as f64;
        let (mut sums, mut squares) = (vec![0.0_f64; width], vec![0.0_f64; width]);
        for row in table.chunks_exact(width) {
            for ((value, sum), square) in row.iter().zip(&mut sums).zip(&mut squares) {
                let value = f64::from(*value);
                *sum += value;
                *square += value * value;
            }
        }
        for ((mean, sum), square) in means.iter_mut().zip(sums).zip(squares) {
            let own: f64 = sum / rows;
            *mean += own;
            variances += square / rows - own * own;
        }
    }
    let centre = means.iter().sum::<f64>() / width as f64;
    let between: f64 = means.iter().map(|mean| (mean - centre).powi(2)).sum();
    ((variances + between).max(0.0) / width as f64).sqrt()
}

#[cfg(test)]
mod tests {
    use super::deviation_of_sum;

    #[test]
    fn deviation_is_over_all_sums_of_rows() {
        // The sums of the first column are 1 and 3, and those of the second: the deviation is 1.
        let tables: [&[f32]; 3] = [&[1.0, 0.0, 3.0, 0.0], &[0.0, 0.0, 0.0, 2.0], &[0.0, 1.0]];
        assert!((deviation_of_sum(tables, 2) - 1.0).abs() < 1e-12);
        // Columns of 0 and 2: only their means differ.
        assert!((deviation_of_sum([&[0.0, 2.0], &[0.0; 4], &[0.0; 2]], 2) - 1.0).abs() < 1e-12);
    }
}
