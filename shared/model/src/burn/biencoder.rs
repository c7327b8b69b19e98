//! The bi-encoder: two towers, one for mentions and one for entities, each pooled to one vector
//! (BLINK section 4.1).

use crate::burn::bert::{Bert, BertInput, Pass};
use crate::burn::export::Exported;
use crate::burn::sum_of_max::TokenVectors;
use crate::config::BertConfig;
use crate::tokens::{TokenBatch, Tokens};
use crate::tower::{Pooling, Reduction, Side, TowerBytes, check_vocabulary, same_dim};
use burn::module::{Module, Param};
use burn::nn::Linear;
use burn::tensor::{Device, Tensor};
use pel_kb::error::{Context, Error, Result};
use pel_kb::score::Similarity;

/// One encoder with its optional projection to a smaller dimension.
#[derive(Module, Debug)]
pub struct Tower {
    bert: Bert,
    /// BERT's pooler, whose tanh comes before the projection.
    dense: Option<Linear>,
    projection: Option<Linear>,
    hidden: usize,
}

/// Two towers, or one that reads both sides (tied).
#[derive(Module, Debug)]
pub struct BiEncoder {
    mention: Tower,
    entity: Option<Tower>,
}

impl Tower {
    /// Builds a tower on a device and checks it against its tokenizer.
    ///
    /// # Errors
    /// If the configuration, a tensor or the vocabulary does not fit.
    pub fn from_bytes(bytes: TowerBytes<'_>, tokens: &Tokens, device: &Device) -> Result<Self> {
        let config = BertConfig::from_bytes(bytes.config)?;
        check_vocabulary(&config, tokens.size())?;
        let bert = Bert::from_bytes(&config, bytes.weights, device)
            .context(|| "model.safetensors".into())?;
        let hidden = config.hidden_size;
        let (dense, projection) = match bytes.projection {
            None => (None, None),
            Some(file) => {
                let (dense, projection) =
                    projection(file, hidden, device).context(|| "projection.safetensors".into())?;
                (dense, Some(projection))
            }
        };
        Ok(Self {
            bert,
            dense,
            projection,
            hidden,
        })
    }

    /// The encoder below the pooling.
    pub fn bert(&self) -> &Bert {
        &self.bert
    }

    /// Values of an output vector.
    pub fn dim(&self) -> usize {
        self.projection
            .as_ref()
            .map_or(self.hidden, |linear| linear.weight.dims()[1])
    }

    /// The tower's weights and its projection, in the form of [`TowerBytes`].
    ///
    /// # Errors
    /// If the tensors cannot be read from the device.
    pub fn to_safetensors(&self) -> Result<(Vec<u8>, Option<Vec<u8>>)> {
        let projection = self.projection.as_ref().map(|linear| {
            let mut all = Exported::default();
            all.linear("", linear)?;
            if let Some(dense) = &self.dense {
                all.linear("dense", dense)?;
            }
            all.into_bytes()
        });
        Ok((self.bert.to_safetensors()?, projection.transpose()?))
    }

    /// Encodes and pools a batch.
    ///
    /// # Shapes
    /// `[batch, seq]` -> `[batch, dim]`
    pub fn forward(&self, batch: &TokenBatch, reduction: Reduction, device: &Device) -> Tensor<2> {
        self.forward_pass(&BertInput::new(batch, device), reduction, &Pass::default())
    }

    /// As [`Tower::forward`], in training.
    ///
    /// # Shapes
    /// `[batch, seq]` -> `[batch, dim]`
    pub fn forward_pass(&self, input: &BertInput, reduction: Reduction, pass: &Pass) -> Tensor<2> {
        self.reduce(self.bert.forward(input, pass), input, reduction)
    }

    /// Pools the last layer's output to one vector for each row.
    ///
    /// # Shapes
    /// hidden `[batch, seq, hidden]` -> `[batch, dim]`
    pub fn reduce(&self, hidden: Tensor<3>, input: &BertInput, reduction: Reduction) -> Tensor<2> {
        let pooled = pool(hidden, input, reduction.pooling);
        let projected = self.project(pooled);
        match reduction.score {
            Similarity::Dot => projected,
            Similarity::Cosine => unit_length(projected),
        }
    }
}

impl Tower {
    /// The layers after pooling.
    ///
    /// # Shapes
    /// `[rows, hidden]` -> `[rows, dim]`
    fn project(&self, rows: Tensor<2>) -> Tensor<2> {
        let rows = match &self.dense {
            Some(dense) => dense.forward(rows).tanh(),
            None => rows,
        };
        match &self.projection {
            Some(linear) => linear.forward(rows),
            None => rows,
        }
    }

    /// The vectors of all tokens of the last layer: projected if the tower has a projection, of
    /// unit length for cosine similarity. The tokens that the pooling reads are compared: a
    /// mention's own ones, or its context too.
    ///
    /// # Shapes
    /// hidden `[batch, seq, hidden]` -> `[batch, seq, dim]`
    pub fn token_vectors(
        &self,
        hidden: Tensor<3>,
        input: &BertInput,
        reduction: Reduction,
    ) -> TokenVectors {
        let [batch, seq, width] = hidden.dims();
        let rows = self.project(hidden.reshape([batch * seq, width]));
        let rows = match reduction.score {
            Similarity::Dot => rows,
            Similarity::Cosine => unit_length(rows),
        };
        let dim = rows.dims()[1];
        let mask = match reduction.pooling {
            Pooling::Mention => &input.own,
            Pooling::Mean | Pooling::Cls => &input.mask,
        };
        TokenVectors {
            values: rows.reshape([batch, seq, dim]),
            mask: mask.clone(),
        }
    }
}

impl BiEncoder {
    /// Joins the towers; without an entity tower, the mention tower reads both sides.
    ///
    /// # Errors
    /// If the towers' vectors have different dimensions.
    pub fn new(mention: Tower, entity: Option<Tower>) -> Result<Self> {
        let dim = mention.dim();
        same_dim(dim, entity.as_ref().map_or(dim, Tower::dim))?;
        Ok(Self { mention, entity })
    }

    /// The bi-encoder with frozen embedding layers (T-Biencoder, section 4.3).
    #[must_use]
    pub fn freeze_embeddings(self) -> Self {
        let freeze = |tower: Tower| Tower {
            bert: tower.bert.freeze_embeddings(),
            ..tower
        };
        Self {
            mention: freeze(self.mention),
            entity: self.entity.map(freeze),
        }
    }

    /// The tower of a side.
    pub fn tower(&self, side: Side) -> &Tower {
        match side {
            Side::Mention => &self.mention,
            Side::Entity => self.entity.as_ref().unwrap_or(&self.mention),
        }
    }
}

/// # Shapes
/// hidden `[batch, seq, hidden]` -> `[batch, hidden]`
pub fn pool(hidden: Tensor<3>, input: &BertInput, pooling: Pooling) -> Tensor<2> {
    let [batch, seq, width] = hidden.dims();
    let averaged = match pooling {
        Pooling::Cls => {
            return hidden
                .slice([0..batch, 0..1, 0..width])
                .reshape([batch, width]);
        }
        Pooling::Mean => &input.mask,
        Pooling::Mention => &input.own,
    };
    let sum = (hidden * averaged.clone().reshape([batch, seq, 1]))
        .sum_dim(1)
        .reshape([batch, width]);
    let count = averaged.clone().sum_dim(1).clamp_min(1.0); // [batch, 1]
    sum / count
}

/// Divides each row by its length. A zero row is unchanged.
///
/// # Shapes
/// `[batch, dim]` -> `[batch, dim]`
pub fn unit_length(vectors: Tensor<2>) -> Tensor<2> {
    let norm = vectors
        .clone()
        .powi_scalar(2)
        .sum_dim(1)
        .sqrt()
        .clamp_min(1e-12); // [batch, 1]
    vectors / norm
}

/// The projection and the pooler before it, if there is one.
fn projection(file: &[u8], hidden: usize, device: &Device) -> Result<(Option<Linear>, Linear)> {
    let mut weights = crate::weights::Weights::from_bytes(file)?;
    let has_dense = weights.has("dense.weight");
    let dim = weights.rows("weight")?;
    if dim == 0 {
        return Err(Error::artifact(
            "the tensor `weight`: expected at least one row, found none",
        ));
    }
    let mut linear = |name: &str, rows: usize| -> Result<Linear> {
        let weight = weights.take::<2>(&format!("{name}weight"), [rows, hidden], device)?;
        let bias = weights.take::<1>(&format!("{name}bias"), [rows], device)?;
        Ok(Linear {
            weight: Param::from_tensor(weight.transpose()),
            bias: Some(Param::from_tensor(bias)),
        })
    };
    let projection = linear("", dim)?;
    let dense = has_dense.then(|| linear("dense.", hidden)).transpose()?;
    weights.finish()?;
    Ok((dense, projection))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn floats<const D: usize>(tensor: Tensor<D>) -> Vec<f32> {
        tensor.into_data().try_to_vec().expect("floats")
    }

    #[test]
    fn pooling_matches_hand_computed_values() {
        let device = Device::flex();
        // One sequence of two real tokens (1, 2) and (3, 6), the second its mention; and padding
        // that must not count.
        let hidden = Tensor::<3>::from_data([[[1.0, 2.0], [3.0, 6.0], [99.0, 99.0]]], &device);
        let (ids, segments) = (vec![7, 8, 0], vec![0; 3]);
        let (mask, own) = (vec![true, true, false], vec![false, true, false]);
        let input = BertInput::new(
            &TokenBatch {
                batch: 1,
                seq: 3,
                ids,
                segments,
                mask,
                own,
            },
            &device,
        );
        assert_eq!(
            floats(pool(hidden.clone(), &input, Pooling::Mean)),
            [2.0, 4.0]
        );
        assert_eq!(
            floats(pool(hidden.clone(), &input, Pooling::Mention)),
            [3.0, 6.0]
        );
        assert_eq!(floats(pool(hidden, &input, Pooling::Cls)), [1.0, 2.0]);
    }

    #[test]
    fn unit_length_leaves_zeros_unchanged() {
        let device = Device::flex();
        let vectors = Tensor::<2>::from_data([[3.0, 4.0], [0.0, 0.0]], &device);
        assert_eq!(floats(unit_length(vectors)), [0.6, 0.8, 0.0, 0.0]);
    }

    #[test]
    fn projection_has_its_own_size_and_a_mismatch_is_an_error() {
        use crate::tokens::tests::tiny;
        use bytes::Bytes;
        use safetensors::tensor::{Dtype, TensorView};
        let device = Device::flex();
        let (tokens, reduction) = (
            tiny(),
            Reduction {
                pooling: Pooling::Mean,
                score: Similarity::Dot,
            },
        );
        let config = include_bytes!("../../../tests/fixtures/tiny/config.json");
        let weights = Bytes::from_static(include_bytes!(
            "../../../tests/fixtures/tiny/model.safetensors"
        ));
        let encoded = tokens
            .name("fever", 32)
            .expect("long enough")
            .expect("letters are left");
        let batch = tokens.batch(&[&encoded]);
        let vector = |projection: Option<&[u8]>| {
            let tower = Tower::from_bytes(
                TowerBytes {
                    config,
                    weights: &weights,
                    projection,
                },
                &tokens,
                &device,
            )?;
            Ok::<_, Error>((
                tower.dim(),
                floats(tower.forward(&batch, reduction, &device)),
            ))
        };
        // Takes the values 3 and 0 of 32, doubled, and adds 1.
        let mut matrix = vec![0.0f32; 64];
        (matrix[3], matrix[32]) = (2.0, 2.0);
        let file = |width: usize| {
            let (matrix, bias): (&[u8], &[u8]) = (
                bytemuck::cast_slice(&matrix),
                bytemuck::cast_slice(&[1.0f32, 1.0]),
            );
            let view = |shape: &[usize], bytes| {
                TensorView::new(Dtype::F32, shape.to_vec(), bytes).expect("sizes agree")
            };
            let tensors = [
                ("weight", view(&[64 / width, width], matrix)),
                ("bias", view(&[2], bias)),
            ];
            safetensors::serialize(tensors, None).expect("it can be written")
        };
        let (dim, plain) = vector(None).expect("whole");
        assert_eq!(dim, 32);
        let (dim, projected) = vector(Some(&file(32))).expect("whole");
        assert_eq!(dim, 2);
        assert!((projected[0] - (2.0 * plain[3] + 1.0)).abs() < 1e-5);
        assert!((projected[1] - (2.0 * plain[0] + 1.0)).abs() < 1e-5);
        let said = vector(Some(&file(16)))
            .expect_err("another width")
            .to_string();
        assert!(
            said.contains("projection.safetensors") && said.contains("`weight`"),
            "{said}"
        );
    }
}
