//! One transformer layer forward and backward, for training on the processor: the arithmetic of
//! [`crate::burn::bert`], with gradients written by hand.
//!
//! Rows of a batch's sequences are concatenated without padding. They are divided into groups of
//! whole sequences, independently of the number of threads, so that the sums of a gradient are
//! always added in the same order.

mod attention;
mod backward;
mod buffers;
mod forward;
mod products;

pub use backward::{Gradients, backward};
pub use buffers::{Buffer, allocated, release};
pub use forward::{Saved, forward};
pub use products::{Input, Panels, pack_all};

use crate::layer::{LayerOptions, Site};
use pel_kernels::{Isa, apply_dropout};
use std::ops::Range;

/// Rows of a group.
const GROUP: usize = 128;

/// A group of sequences.
#[derive(Clone, Debug)]
struct Group {
    /// The rows.
    rows: Range<usize>,
    /// The lengths of the sequences.
    lengths: Vec<usize>,
}

/// Groups of whole sequences with at least [`GROUP`] rows each, if there are as many.
fn groups(lengths: &[usize]) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    let mut row = 0;
    for length in lengths.iter().copied().filter(|length| *length > 0) {
        let end = row + length;
        match groups.last_mut() {
            Some(group) if group.rows.len() < GROUP => {
                group.rows.end = end;
                group.lengths.push(length);
            }
            _ => groups.push(Group {
                rows: row..end,
                lengths: vec![length],
            }),
        }
        row = end;
    }
    groups
}

/// Splits `[rows, width]` by groups.
fn cut<'a>(groups: &[Group], width: usize, values: &'a mut [f32]) -> Vec<&'a mut [f32]> {
    let mut left = values;
    groups
        .iter()
        .map(|group| {
            let (part, rest) = std::mem::take(&mut left).split_at_mut(group.rows.len() * width);
            left = rest;
            part
        })
        .collect()
}

fn part<'a>(group: &Group, width: usize, values: &'a [f32]) -> &'a [f32] {
    &values[group.rows.start * width..group.rows.end * width]
}

/// Applies the layer's dropout at a site. `part` distinguishes groups, or sequences and heads. Both
/// directions drop the same values, since their seed is the same.
fn drop_values(isa: Isa, options: &LayerOptions, site: Site, part: usize, values: &mut [f32]) {
    if let Some(dropout) = options.dropout {
        apply_dropout(isa, dropout.rate, dropout.seed(site, part), values);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layer::{Dropout, LINEARS, Params, Precision};
    use pel_kernels::matrix::Matrix;
    use pel_kernels::rows::Activation;

    struct Layer {
        weights: [Vec<f32>; LINEARS],
        biases: [Vec<f32>; LINEARS],
        norms: [[Vec<f32>; 2]; 2],
    }

    const HIDDEN: usize = 6;
    const INNER: usize = 10;
    const OUTPUTS: [usize; LINEARS] = [HIDDEN, HIDDEN, HIDDEN, HIDDEN, INNER, HIDDEN];
    const INPUTS: [usize; LINEARS] = [HIDDEN, HIDDEN, HIDDEN, HIDDEN, HIDDEN, INNER];

    /// Numbers between -1 and 1.
    fn numbers(count: usize, state: &mut u32) -> Vec<f32> {
        let mut next = || {
            *state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (*state >> 8) as f32 / 8_388_608.0 - 1.0
        };
        (0..count).map(|_| next()).collect()
    }

    impl Layer {
        fn new(state: &mut u32) -> Self {
            let weights = std::array::from_fn(|at| numbers(INPUTS[at] * OUTPUTS[at], state));
            let biases = std::array::from_fn(|at| numbers(OUTPUTS[at], state));
            Self {
                weights,
                biases,
                norms: std::array::from_fn(|_| std::array::from_fn(|_| numbers(HIDDEN, state))),
            }
        }

        fn params(&self) -> Params<'_> {
            Params {
                weights: std::array::from_fn(|at| {
                    Matrix::new(&self.weights[at], INPUTS[at], OUTPUTS[at])
                }),
                biases: std::array::from_fn(|at| &self.biases[at][..]),
                norms: std::array::from_fn(|at| {
                    std::array::from_fn(|part| &self.norms[at][part][..])
                }),
            }
        }

        /// Every parameter, in one order.
        fn all(&mut self) -> Vec<&mut Vec<f32>> {
            self.weights
                .iter_mut()
                .chain(&mut self.biases)
                .chain(self.norms.iter_mut().flatten())
                .collect()
        }
    }

    fn loss(
        layer: &Layer,
        options: &LayerOptions,
        lengths: &[usize],
        x: &[f32],
        factors: &[f32],
    ) -> f64 {
        let (out, _) = forward(&layer.params(), options, lengths, x);
        out.iter()
            .zip(factors)
            .map(|(out, factor)| f64::from(*out) * f64::from(*factor))
            .sum()
    }

    /// The options of a layer with two heads.
    fn options(
        activation: Activation,
        dropout: Option<Dropout>,
        precision: Precision,
    ) -> LayerOptions {
        LayerOptions {
            heads: 2,
            activation,
            epsilon: 1e-3,
            dropout,
            precision,
        }
    }

    /// The output, the gradient of the input, and those of the parameters. The gradient of the
    /// output is `factors`.
    fn both_passes(
        layer: &Layer,
        options: &LayerOptions,
        lengths: &[usize],
        x: &[f32],
        factors: &[f32],
    ) -> (Vec<f32>, Vec<f32>, Gradients) {
        let params = layer.params();
        let (out, saved) = forward(&params, options, lengths, x);
        let mut grads = factors.to_vec();
        let found = backward(&params, options, lengths, x, &saved, &mut grads, true);
        (out, grads, found.expect("wanted"))
    }

    #[test]
    fn gradients_match_finite_differences() {
        for (activation, dropout) in [
            (Activation::Gelu, None),
            (Activation::GeluTanh, Some(Dropout { rate: 0.3, seed: 5 })),
            (Activation::Relu, Some(Dropout { rate: 0.1, seed: 6 })),
        ] {
            let (mut state, lengths) = (7, [3usize, 1, 4]);
            let mut layer = Layer::new(&mut state);
            let rows: usize = lengths.iter().sum();
            let (mut x, factors) = (
                numbers(rows * HIDDEN, &mut state),
                numbers(rows * HIDDEN, &mut state),
            );
            let options = options(activation, dropout, Precision::F32);
            let (_, grads, found) = both_passes(&layer, &options, &lengths, &x, &factors);
            let step = 1e-2f32;
            let near = |what: &str, at: usize, found: f32, more: f64, less: f64| {
                let expected = (more - less) / f64::from(2.0 * step);
                let off = (f64::from(found) - expected).abs();
                assert!(
                    off < 0.02 + 0.02 * expected.abs(),
                    "{activation:?} {what} {at}: {found}, differences say {expected}"
                );
            };
            for at in 0..x.len() {
                let middle = x[at];
                x[at] = middle + step;
                let more = loss(&layer, &options, &lengths, &x, &factors);
                x[at] = middle - step;
                let less = loss(&layer, &options, &lengths, &x, &factors);
                x[at] = middle;
                near("input", at, grads[at], more, less);
            }
            let found: Vec<&Vec<f32>> = found
                .weights
                .iter()
                .chain(&found.biases)
                .chain(found.norms.iter().flatten())
                .collect();
            for (which, found) in found.into_iter().enumerate() {
                for (at, found) in found.iter().enumerate() {
                    let middle = layer.all()[which][at];
                    layer.all()[which][at] = middle + step;
                    let more = loss(&layer, &options, &lengths, &x, &factors);
                    layer.all()[which][at] = middle - step;
                    let less = loss(&layer, &options, &lengths, &x, &factors);
                    layer.all()[which][at] = middle;
                    near(&format!("parameter {which}"), at, *found, more, less);
                }
            }
        }
    }

    #[test]
    fn mixed_precision_is_close_to_f32_forward_and_backward() {
        let (mut state, lengths) = (11, [9usize, 1, 30]);
        let layer = Layer::new(&mut state);
        let rows: usize = lengths.iter().sum();
        let (x, factors) = (
            numbers(rows * HIDDEN, &mut state),
            numbers(rows * HIDDEN, &mut state),
        );
        let run = |precision: Precision| {
            let dropout = Some(Dropout { rate: 0.1, seed: 3 });
            let options = options(Activation::Gelu, dropout, precision);
            let (out, grads, found) = both_passes(&layer, &options, &lengths, &x, &factors);
            [
                vec![out, grads],
                found.weights.to_vec(),
                found.biases.to_vec(),
            ]
            .concat()
        };
        for (what, (rounded, exact)) in run(Precision::Bf16)
            .iter()
            .zip(run(Precision::F32))
            .enumerate()
        {
            let length = |values: &mut dyn Iterator<Item = f32>| {
                values.map(|value| value * value).sum::<f32>().sqrt()
            };
            let off = length(
                &mut rounded
                    .iter()
                    .zip(&exact)
                    .map(|(rounded, exact)| rounded - exact),
            );
            let all = length(&mut exact.iter().copied());
            // bfloat16 has eight bits of precision. The gradient of the keys' biases is zero but
            // for rounding.
            assert!(off < 0.03 * all + 1e-2, "{what}: {off} of {all}");
            assert!(off > 0.0 || all == 0.0, "{what}: nothing was rounded");
        }
    }

    #[test]
    fn groups_hold_whole_sequences() {
        let groups = groups(&[100, 0, 50, 127, 1, 300]);
        let found: Vec<_> = groups
            .iter()
            .map(|group| (group.rows.clone(), group.lengths.clone()))
            .collect();
        assert_eq!(
            found,
            [
                (0..150, vec![100, 50]),
                (150..278, vec![127, 1]),
                (278..578, vec![300])
            ]
        );
    }

    #[test]
    fn dropout_has_its_rate_and_is_reproducible() {
        let mut values = vec![1.0; 100_000];
        apply_dropout(Isa::best(), 0.1, 3, &mut values);
        let dropped = values.iter().filter(|value| **value == 0.0).count();
        assert!((9_600..10_400).contains(&dropped), "{dropped}");
        assert!(
            values
                .iter()
                .all(|value| *value == 0.0 || (*value - 1.0 / 0.9).abs() < 1e-6)
        );
        let mut again = vec![1.0; 100_000];
        apply_dropout(Isa::Base, 0.1, 3, &mut again);
        assert_eq!(values, again);
    }
}
