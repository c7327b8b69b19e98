//! LayerNorm, softmax and activations of the rows of a matrix, and their gradients.

// A loop over lanes by number becomes one instruction.
#![allow(clippy::needless_range_loop)]

use super::isa::{InstructionSet, Isa, with_lanes};
use super::lanes::{self, LANES, Lane, fma};
use serde::{Deserialize, Serialize};

/// Activations of BERT's feed-forward layers, by the names of Hugging Face's configurations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Activation {
    /// x Φ(x) = `x/2 (1 + erf(x/√2))`.
    #[default]
    #[serde(rename = "gelu")]
    Gelu,
    /// The approximation by tanh.
    #[serde(rename = "gelu_new", alias = "gelu_pytorch_tanh")]
    GeluTanh,
    /// `max(x, 0)`.
    #[serde(rename = "relu")]
    Relu,
}

/// LayerNorm's parameters (Ba et al., 2016).
#[derive(Clone, Copy, Debug)]
pub struct Norm<'a> {
    /// γ `[width]`
    pub gamma: &'a [f32],
    /// β `[width]`
    pub beta: &'a [f32],
    /// ε
    pub epsilon: f32,
}

/// Each row becomes γ (row - mean) / √(variance + ε) + β.
///
/// # Shapes
/// rows `[n, width]`
///
/// # Panics
/// If γ or β have another length than a row.
pub fn layer_norm(isa: Isa, norm: Norm<'_>, width: usize, rows: &mut [f32]) {
    assert!(
        norm.gamma.len() == width && norm.beta.len() == width && rows.len().is_multiple_of(width)
    );
    with_lanes!(isa, layer_norm_lanes(norm: Norm<'_>, width: usize, rows: &mut [f32]));
}

/// Mean and 1 / √(variance + ε) of a row.
#[inline(always)]
fn moments<I: InstructionSet>(row: &[f32], epsilon: f32) -> (f32, f32) {
    let (whole, rest) = row.as_chunks::<LANES>();
    let mut sums = [0.0; LANES];
    for lane in whole {
        for at in 0..LANES {
            sums[at] += lane[at];
        }
    }
    let mean = (lanes::sum(sums) + rest.iter().sum::<f32>()) / row.len() as f32;
    let mut squares = [0.0; LANES];
    for lane in whole {
        for at in 0..LANES {
            let off = lane[at] - mean;
            squares[at] = fma::<I>(off, off, squares[at]);
        }
    }
    let rest: f32 = rest
        .iter()
        .map(|value| (value - mean) * (value - mean))
        .sum();
    let variance = (lanes::sum(squares) + rest) / row.len() as f32;
    (mean, 1.0 / (variance + epsilon).sqrt())
}

#[inline(always)]
fn layer_norm_lanes<I: InstructionSet>(norm: Norm<'_>, width: usize, rows: &mut [f32]) {
    for row in rows.chunks_exact_mut(width) {
        let (mean, scale) = moments::<I>(row, norm.epsilon);
        for ((value, gamma), beta) in row.iter_mut().zip(norm.gamma).zip(norm.beta) {
            *value = fma::<I>((*value - mean) * scale, *gamma, *beta);
        }
    }
}

/// The backward pass of [`layer_norm`]: replaces the gradient of its output in `grads` by that of
/// its input, and adds the gradients of γ and β to `gamma` and `beta`.
///
/// # Shapes
/// input, grads `[n, width]`; gamma, beta `[width]`
///
/// # Panics
/// If the sizes disagree.
pub fn layer_norm_backward(
    isa: Isa,
    norm: Norm<'_>,
    input: &[f32],
    grads: &mut [f32],
    gamma: &mut [f32],
    beta: &mut [f32],
) {
    let width = norm.gamma.len();
    assert!(input.len() == grads.len() && input.len().is_multiple_of(width));
    assert!(norm.beta.len() == width && gamma.len() == width && beta.len() == width);
    with_lanes!(
        isa,
        layer_norm_backward_lanes(
            norm: Norm<'_>, input: &[f32], grads: &mut [f32], gamma: &mut [f32], beta: &mut [f32]
        )
    );
}

#[inline(always)]
fn layer_norm_backward_lanes<I: InstructionSet>(
    norm: Norm<'_>,
    input: &[f32],
    grads: &mut [f32],
    gamma_grads: &mut [f32],
    beta_grads: &mut [f32],
) {
    let width = norm.gamma.len();
    for (row, grad) in input.chunks_exact(width).zip(grads.chunks_exact_mut(width)) {
        let (mean, scale) = moments::<I>(row, norm.epsilon);
        let (mut sum, mut product) = ([0.0; LANES], [0.0; LANES]);
        for at in 0..width {
            let normal = (row[at] - mean) * scale;
            gamma_grads[at] = fma::<I>(grad[at], normal, gamma_grads[at]);
            beta_grads[at] += grad[at];
            let through = grad[at] * norm.gamma[at];
            grad[at] = through;
            sum[at % LANES] += through;
            product[at % LANES] = fma::<I>(through, normal, product[at % LANES]);
        }
        let (sum, product) = (
            lanes::sum(sum) / width as f32,
            lanes::sum(product) / width as f32,
        );
        for (value, x) in grad.iter_mut().zip(row) {
            let normal = (x - mean) * scale;
            *value = scale * (*value - sum - normal * product);
        }
    }
}

/// Each row becomes softmax(scale × row), without overflow.
///
/// # Shapes
/// rows `[n, width]`
pub fn softmax(isa: Isa, scale: f32, width: usize, rows: &mut [f32]) {
    assert!(width > 0 && rows.len().is_multiple_of(width));
    with_lanes!(isa, softmax_lanes(scale: f32, width: usize, rows: &mut [f32]));
}

/// e^(scale (x - highest))
#[inline(always)]
fn powers<I: InstructionSet>(x: Lane, highest: f32, scale: f32) -> Lane {
    let mut off = [0.0; LANES];
    for at in 0..LANES {
        off[at] = (x[at] - highest) * scale;
    }
    lanes::exp::<I>(off)
}

#[inline(always)]
fn softmax_lanes<I: InstructionSet>(scale: f32, width: usize, rows: &mut [f32]) {
    for row in rows.chunks_exact_mut(width) {
        let (whole, rest) = row.as_chunks_mut::<LANES>();
        let mut last = [f32::NEG_INFINITY; LANES];
        last[..rest.len()].copy_from_slice(rest);
        // A NaN that is ignored here makes the sum NaN.
        let mut highest = last;
        for lane in &*whole {
            for at in 0..LANES {
                highest[at] = lanes::larger(highest[at], lane[at]);
            }
        }
        let highest = lanes::max(highest);
        let mut sums = [0.0; LANES];
        for lane in &mut *whole {
            *lane = powers::<I>(*lane, highest, scale);
            for at in 0..LANES {
                sums[at] += lane[at];
            }
        }
        let last = powers::<I>(last, highest, scale);
        for (sum, power) in sums.iter_mut().zip(&last[..rest.len()]) {
            *sum += power;
        }
        rest.copy_from_slice(&last[..rest.len()]);
        let inverse = 1.0 / lanes::sum(sums);
        row.iter_mut().for_each(|value| *value *= inverse);
    }
}

/// The backward pass of [`softmax`]: replaces the gradient of its output (`probabilities`) in
/// `grads` by that of its input.
///
/// # Shapes
/// probabilities, grads `[n, width]`
///
/// # Panics
/// If the sizes disagree.
pub fn softmax_backward(
    isa: Isa,
    scale: f32,
    width: usize,
    probabilities: &[f32],
    grads: &mut [f32],
) {
    assert!(
        probabilities.len() == grads.len()
            && width > 0
            && probabilities.len().is_multiple_of(width)
    );
    with_lanes!(
        isa,
        softmax_backward_lanes(scale: f32, width: usize, probabilities: &[f32], grads: &mut [f32])
    );
}

#[inline(always)]
fn softmax_backward_lanes<I: InstructionSet>(
    scale: f32,
    width: usize,
    probabilities: &[f32],
    grads: &mut [f32],
) {
    for (probabilities, grads) in probabilities
        .chunks_exact(width)
        .zip(grads.chunks_exact_mut(width))
    {
        let mut sums = [0.0; LANES];
        let (whole, rest) = probabilities.as_chunks::<LANES>();
        let (whole_grads, rest_grads) = grads.as_chunks::<LANES>();
        for (probability, grad) in whole.iter().zip(whole_grads) {
            for at in 0..LANES {
                sums[at] = fma::<I>(probability[at], grad[at], sums[at]);
            }
        }
        let rest: f32 = rest
            .iter()
            .zip(rest_grads)
            .map(|(probability, grad)| probability * grad)
            .sum();
        let mean = lanes::sum(sums) + rest;
        for (grad, probability) in grads.iter_mut().zip(probabilities) {
            *grad = scale * probability * (*grad - mean);
        }
    }
}

/// Applies the activation.
pub fn activate(isa: Isa, activation: Activation, values: &mut [f32]) {
    with_lanes!(isa, activate_lanes(activation: Activation, values: &mut [f32]));
}

#[inline(always)]
fn activate_lanes<I: InstructionSet>(activation: Activation, values: &mut [f32]) {
    let (whole, rest) = values.as_chunks_mut::<LANES>();
    let mut last = [0.0; LANES];
    last[..rest.len()].copy_from_slice(rest);
    // One loop for each activation, so that no branch is inside.
    match activation {
        Activation::Gelu => {
            whole
                .iter_mut()
                .for_each(|lane| *lane = lanes::gelu::<I>(*lane));
            last = lanes::gelu::<I>(last);
        }
        Activation::GeluTanh => {
            whole
                .iter_mut()
                .for_each(|lane| *lane = lanes::gelu_tanh::<I>(*lane));
            last = lanes::gelu_tanh::<I>(last);
        }
        Activation::Relu => {
            whole.iter_mut().for_each(|lane| *lane = lanes::relu(*lane));
            last = lanes::relu(last);
        }
    }
    rest.copy_from_slice(&last[..rest.len()]);
}

/// The backward pass of [`activate`]: replaces the gradient of its output in `grads` by that of
/// `input`.
///
/// # Panics
/// If the sizes disagree.
pub fn activate_backward(isa: Isa, activation: Activation, input: &[f32], grads: &mut [f32]) {
    assert_eq!(input.len(), grads.len());
    with_lanes!(
        isa,
        activate_backward_lanes(activation: Activation, input: &[f32], grads: &mut [f32])
    );
}

#[inline(always)]
fn activate_backward_lanes<I: InstructionSet>(
    activation: Activation,
    input: &[f32],
    grads: &mut [f32],
) {
    let (whole, rest) = input.as_chunks::<LANES>();
    let (whole_grads, rest_grads) = grads.as_chunks_mut::<LANES>();
    let (mut last, mut last_grads) = ([0.0; LANES], [0.0; LANES]);
    last[..rest.len()].copy_from_slice(rest);
    last_grads[..rest.len()].copy_from_slice(rest_grads);
    for (x, grad) in whole.iter().zip(whole_grads) {
        *grad = slope::<I>(activation, *x, *grad);
    }
    last_grads = slope::<I>(activation, last, last_grads);
    rest_grads.copy_from_slice(&last_grads[..rest.len()]);
}

#[inline(always)]
fn slope<I: InstructionSet>(activation: Activation, x: Lane, mut grad: Lane) -> Lane {
    let slope = match activation {
        Activation::Gelu => lanes::gelu_slope::<I>(x),
        Activation::GeluTanh => lanes::gelu_tanh_slope::<I>(x),
        Activation::Relu => lanes::relu_slope(x),
    };
    for at in 0..LANES {
        grad[at] *= slope[at];
    }
    grad
}

#[cfg(test)]
mod tests;
