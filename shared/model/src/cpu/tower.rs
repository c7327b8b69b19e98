//! One encoder with its pooling and projection, on the processor.

use super::{Encoder, Sequence};
use crate::config::BertConfig;
use crate::tokens::Tokens;
use crate::tower::{Pooling, Reduction, TowerBytes, check_vocabulary};
use crate::weights::Weights;
use pel_kb::error::{Context, Error, Result};
use pel_kb::score::Similarity;

/// An encoder with its optional projection to a smaller dimension, over packed weights.
#[derive(Debug)]
pub struct Tower {
    encoder: Encoder,
    projection: Option<Projection>,
}

/// The layers after pooling.
#[derive(Debug)]
struct Projection {
    /// BERT's pooler, whose tanh comes before the projection.
    dense: Option<Linear>,
    linear: Linear,
}

#[derive(Debug)]
struct Linear {
    /// `[out, in]`
    weight: Vec<f32>,
    /// `[out]`
    bias: Vec<f32>,
}

impl Tower {
    /// Builds a tower and checks it against its tokenizer.
    ///
    /// # Errors
    /// If the configuration, a tensor or the vocabulary does not fit.
    pub fn from_bytes(bytes: TowerBytes<'_>, tokens: &Tokens) -> Result<Self> {
        let config = BertConfig::from_bytes(bytes.config)?;
        check_vocabulary(&config, tokens.size())?;
        let read = || {
            let mut weights = Weights::within(bytes.weights)?;
            let tower = Self::from_weights(&config, &mut weights)?;
            weights.finish()?;
            Ok(tower)
        };
        let tower: Self = read().context(|| "model.safetensors".into())?;
        let projection = match bytes.projection {
            None => None,
            Some(file) => Some(
                projection(file, config.hidden_size).context(|| "projection.safetensors".into())?,
            ),
        };
        Ok(Self {
            projection,
            ..tower
        })
    }

    /// Takes an encoder without a projection.
    ///
    /// # Errors
    /// If a tensor is missing or of another shape.
    pub fn from_weights(config: &BertConfig, weights: &mut Weights<'_>) -> Result<Self> {
        Ok(Self {
            encoder: Encoder::from_weights(config, weights)?,
            projection: None,
        })
    }

    /// See [`Encoder::round`].
    pub fn round(&mut self) {
        self.encoder.round();
    }

    /// The encoder below the pooling.
    pub fn encoder(&self) -> &Encoder {
        &self.encoder
    }

    /// Values of an output vector.
    pub fn dim(&self) -> usize {
        self.projection
            .as_ref()
            .map_or(self.encoder.hidden(), |projection| {
                projection.linear.bias.len()
            })
    }

    /// Encodes and pools sequences.
    ///
    /// # Shapes
    /// -> `[sequences, dim]`
    ///
    /// # Panics
    /// As [`Encoder::forward`].
    pub fn forward(&self, sequences: &[Sequence<'_>], reduction: Reduction) -> Vec<f32> {
        self.encoder
            .forward(sequences, |sequence, rows| {
                self.reduce(sequence, rows, reduction)
            })
            .concat()
    }

    /// The vector of each sequence, then those of all its tokens: projected if the tower has a
    /// projection, of unit length for cosine similarity.
    ///
    /// # Shapes
    /// -> `[1 + seq, dim]` for each
    ///
    /// # Panics
    /// As [`Encoder::forward`].
    pub fn forward_all(&self, sequences: &[Sequence<'_>], reduction: Reduction) -> Vec<Vec<f32>> {
        let hidden = self.encoder.hidden();
        self.encoder.forward(sequences, |sequence, rows| {
            let mut all = self.reduce(sequence, rows, reduction);
            for row in rows.chunks_exact(hidden) {
                all.extend(self.finish(row.to_vec(), reduction.score));
            }
            all
        })
    }

    /// # Shapes
    /// `[seq, hidden]` -> `[dim]`
    fn reduce(&self, sequence: &Sequence<'_>, rows: &[f32], reduction: Reduction) -> Vec<f32> {
        self.finish(
            pool(sequence, rows, self.encoder.hidden(), reduction.pooling),
            reduction.score,
        )
    }

    /// # Shapes
    /// `[hidden]` -> `[dim]`
    fn finish(&self, hidden: Vec<f32>, score: Similarity) -> Vec<f32> {
        let mut vector = match &self.projection {
            Some(projection) => projection.forward(&hidden),
            None => hidden,
        };
        if score == Similarity::Cosine {
            unit_length(&mut vector);
        }
        vector
    }
}

impl Projection {
    fn forward(&self, vector: &[f32]) -> Vec<f32> {
        match &self.dense {
            None => self.linear.forward(vector),
            Some(dense) => {
                let pooled: Vec<f32> = dense.forward(vector).into_iter().map(f32::tanh).collect();
                self.linear.forward(&pooled)
            }
        }
    }
}

impl Linear {
    fn forward(&self, vector: &[f32]) -> Vec<f32> {
        let rows = self.weight.chunks_exact(vector.len()).zip(&self.bias);
        rows.map(|(row, bias)| row.iter().zip(vector).map(|(a, b)| a * b).sum::<f32>() + bias)
            .collect()
    }
}

/// # Shapes
/// rows of `Sequence` `[seq, hidden]` -> `[hidden]`
fn pool(sequence: &Sequence<'_>, rows: &[f32], hidden: usize, pooling: Pooling) -> Vec<f32> {
    let averaged = match pooling {
        Pooling::Cls => 0..1,
        Pooling::Mean => 0..sequence.ids.len(),
        Pooling::Mention => sequence.own.clone(),
    };
    let mut pooled = vec![0.0; hidden];
    for row in rows[averaged.start * hidden..averaged.end * hidden].chunks_exact(hidden) {
        pooled
            .iter_mut()
            .zip(row)
            .for_each(|(sum, value)| *sum += value);
    }
    pooled
        .iter_mut()
        .for_each(|sum| *sum /= averaged.len().max(1) as f32);
    pooled
}

/// Divides a vector by its length. A zero vector is unchanged.
fn unit_length(vector: &mut [f32]) {
    let length = vector.iter().map(|value| value * value).sum::<f32>().sqrt();
    // `max` would replace a length of NaN.
    let length = if length < 1e-12 { 1e-12 } else { length };
    vector.iter_mut().for_each(|value| *value /= length);
}

fn projection(file: &[u8], hidden: usize) -> Result<Projection> {
    let mut weights = Weights::from_bytes(file)?;
    let dim = weights.rows("weight")?;
    if dim == 0 {
        return Err(Error::artifact(
            "the tensor `weight`: expected at least one row, found none",
        ));
    }
    let linear = Linear {
        weight: weights.floats("weight", &[dim, hidden])?,
        bias: weights.floats("bias", &[dim])?,
    };
    let dense = if weights.has("dense.weight") {
        Some(Linear {
            weight: weights.floats("dense.weight", &[hidden, hidden])?,
            bias: weights.floats("dense.bias", &[hidden])?,
        })
    } else {
        None
    };
    weights.finish()?;
    Ok(Projection { dense, linear })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pooling_matches_hand_computed_values() {
        let rows = [1.0, 2.0, 3.0, 6.0];
        let sequence = Sequence {
            ids: &[7, 8],
            segments: &[0, 0],
            own: &(1..2),
        };
        assert_eq!(pool(&sequence, &rows, 2, Pooling::Mean), [2.0, 4.0]);
        assert_eq!(pool(&sequence, &rows, 2, Pooling::Mention), [3.0, 6.0]);
        assert_eq!(pool(&sequence, &rows, 2, Pooling::Cls), [1.0, 2.0]);
    }

    #[test]
    fn unit_length_leaves_zeros_unchanged() {
        let (mut vector, mut zeros, mut broken) = ([3.0, 4.0], [0.0, 0.0], [f32::NAN, 1.0]);
        unit_length(&mut vector);
        unit_length(&mut zeros);
        unit_length(&mut broken);
        assert_eq!((vector, zeros), ([0.6, 0.8], [0.0, 0.0]));
        assert!(broken[1].is_nan());
    }

    #[test]
    fn projection_matches_hand_computed_values() {
        let linear = |weight: &[f32], bias: &[f32]| Linear {
            weight: weight.to_vec(),
            bias: bias.to_vec(),
        };
        let mut projection = Projection {
            dense: None,
            linear: linear(&[1.0, 2.0, 0.0, -1.0], &[0.5, 1.0]),
        };
        assert_eq!(projection.forward(&[3.0, 4.0]), [11.5, -3.0]);
        // tanh(3 - 3) = 0 and tanh(4 + 96) = 1
        projection.dense = Some(linear(&[1.0, 0.0, 0.0, 1.0], &[-3.0, 96.0]));
        assert_eq!(projection.forward(&[3.0, 4.0]), [2.5, 0.0]);
    }
}
