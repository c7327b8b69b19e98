//! Sum-of-Max (T-Biencoder, eq. 5): the sum, over a mention's tokens, of the largest dot product
//! with an entity's token.

use burn::tensor::{Int, Tensor};

/// The vectors of the tokens of a batch.
#[derive(Clone, Debug)]
pub struct TokenVectors {
    /// `[batch, seq, dim]`
    pub values: Tensor<3>,
    /// `[batch, seq]`, 1 = real token, 0 = padding.
    pub mask: Tensor<2>,
}

impl TokenVectors {
    /// One vector for each input. Sum-of-Max is then their dot product (eq. 4).
    ///
    /// # Shapes
    /// `[batch, dim]`
    pub fn single(vectors: Tensor<2>) -> Self {
        let [batch, dim] = vectors.dims();
        let mask = Tensor::ones([batch, 1], &vectors.device());
        Self {
            values: vectors.reshape([batch, 1, dim]),
            mask,
        }
    }

    /// Selects inputs; an input may repeat.
    ///
    /// # Shapes
    /// rows `[n]` -> `[n, seq, dim]`
    pub fn select(&self, rows: Tensor<1, Int>) -> Self {
        Self {
            values: self.values.clone().select(0, rows.clone()),
            mask: self.mask.clone().select(0, rows),
        }
    }

    /// The vectors without gradients.
    #[must_use]
    pub fn detach(self) -> Self {
        Self {
            values: self.values.detach(),
            mask: self.mask,
        }
    }
}

/// A value far below every score, for padding.
const OUT: f32 = 1e30;

/// `f(H_m, H_e) = Σ_t max_u h_t · h_u` of every mention with every entity. Padding is ignored.
///
/// # Shapes
/// mentions `[mentions, seq, dim]`, entities `[entities, seq, dim]` -> `[mentions, entities]`
pub fn sum_of_max(mentions: &TokenVectors, entities: &TokenVectors) -> Tensor<2> {
    let [m, t, dim] = mentions.values.dims();
    let [e, u, _] = entities.values.dims();
    let rows = mentions.values.clone().reshape([m * t, dim]);
    let products = rows.matmul(entities.values.clone().reshape([e * u, dim]).transpose());
    if t == 1 && u == 1 {
        return products;
    }
    let padding = (entities.mask.clone() - 1.0) * OUT;
    let products = products.reshape([m * t, e, u]) + padding.reshape([1, e, u]);
    let nearest = products.max_dim(2).reshape([m, t, e]);
    let real = mentions.mask.clone().reshape([m, t, 1]);
    (nearest * real).sum_dim(1).reshape([m, e])
}

/// Sum-of-Max of each mention with the entity of its row.
///
/// # Shapes
/// mentions and entities `[pairs, seq, dim]` -> `[pairs]`
pub fn sum_of_max_by_row(mentions: &TokenVectors, entities: &TokenVectors) -> Tensor<1> {
    let [pairs, u, dim] = entities.values.dims();
    let t = mentions.mask.dims()[1];
    if t == 1 && u == 1 {
        let products = mentions.values.clone() * entities.values.clone();
        return products.reshape([pairs, dim]).sum_dim(1).reshape([pairs]);
    }
    let products = mentions
        .values
        .clone()
        .matmul(entities.values.clone().swap_dims(1, 2)); // [pairs, t, u]
    let padding = (entities.mask.clone() - 1.0) * OUT;
    let nearest = (products + padding.reshape([pairs, 1, u])).max_dim(2); // [pairs, t, 1]
    (nearest.reshape([pairs, t]) * mentions.mask.clone())
        .sum_dim(1)
        .reshape([pairs])
}

#[cfg(test)]
mod tests {
    use super::*;
    use burn::tensor::Device;
    use proptest::prelude::*;

    fn floats<const D: usize>(tensor: Tensor<D>) -> Vec<f32> {
        tensor.into_data().try_to_vec().expect("floats")
    }

    /// Rows of tokens of two values each, padded with tokens that would be nearest to everything.
    fn padded(rows: &[Vec<[f32; 2]>]) -> TokenVectors {
        let device = Device::flex();
        let longest = rows.iter().map(Vec::len).max().unwrap_or(0);
        let (mut values, mut mask) = (Vec::new(), Vec::new());
        for row in rows {
            values.extend(row.iter().flatten());
            values.extend(std::iter::repeat_n(1e3, 2 * (longest - row.len())));
            mask.extend((0..longest).map(|at| f32::from(u8::from(at < row.len()))));
        }
        let vectors =
            Tensor::<1>::from_floats(&values[..], &device).reshape([rows.len(), longest, 2]);
        let mask = Tensor::<1>::from_floats(&mask[..], &device).reshape([rows.len(), longest]);
        TokenVectors {
            values: vectors,
            mask,
        }
    }

    fn by_loops(mention: &[[f32; 2]], entity: &[[f32; 2]]) -> f32 {
        let nearest = |t: &[f32; 2]| {
            entity
                .iter()
                .map(|u| t[0] * u[0] + t[1] * u[1])
                .fold(f32::MIN, f32::max)
        };
        mention.iter().map(nearest).sum()
    }

    #[test]
    fn single_tokens_give_the_dot_product() {
        let device = Device::flex();
        let mentions =
            TokenVectors::single(Tensor::from_floats([[1.0, 2.0], [0.0, -1.0]], &device));
        let entities = TokenVectors::single(Tensor::from_floats([[3.0, 1.0], [1.0, 1.0]], &device));
        assert_eq!(
            floats(sum_of_max(&mentions, &entities)),
            [5.0, 3.0, -1.0, -1.0]
        );
        assert_eq!(floats(sum_of_max_by_row(&mentions, &entities)), [5.0, -1.0]);
        let twice = entities.select(Tensor::from_ints([1, 1], &device));
        assert_eq!(floats(sum_of_max_by_row(&mentions, &twice)), [3.0, -1.0]);
    }

    #[test]
    fn sum_of_max_matches_hand_computed_values() {
        let mention = padded(&[vec![[1.0, 0.0], [0.0, 2.0]]]);
        // (1, 0) is nearest to (3, 1): 3; (0, 2) is nearest to (0, 4): 8.
        let entity = padded(&[vec![[3.0, 1.0], [0.0, 4.0]]]);
        assert_eq!(floats(sum_of_max(&mention, &entity)), [11.0]);
        assert_eq!(floats(sum_of_max_by_row(&mention, &entity)), [11.0]);
    }

    proptest! {
        #[test]
        fn it_is_what_loops_give(
            mentions in prop::collection::vec(prop::collection::vec([-1.0f32..1.0, -1.0..1.0], 1..5), 1..4),
            entities in prop::collection::vec(prop::collection::vec([-1.0f32..1.0, -1.0..1.0], 1..6), 1..4),
        ) {
            let found = floats(sum_of_max(&padded(&mentions), &padded(&entities)));
            let mut found = found.into_iter();
            for mention in &mentions {
                for entity in &entities {
                    let (found, expected) =
                        (found.next().expect("one each"), by_loops(mention, entity));
                    prop_assert!(
                        (found - expected).abs() < 1e-5,
                        "{found}, by loops {expected}"
                    );
                }
            }
            let both = mentions.len().min(entities.len());
            let rows = floats(sum_of_max_by_row(
                &padded(&mentions[..both]),
                &padded(&entities[..both]),
            ));
            for ((found, mention), entity) in rows.iter().zip(&mentions).zip(&entities) {
                let expected = by_loops(mention, entity);
                prop_assert!(
                    (found - expected).abs() < 1e-5,
                    "{found}, by loops {expected}"
                );
            }
        }
    }
}
