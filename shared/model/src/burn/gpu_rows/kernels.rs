//! The kernels. All tensors are contiguous, and rows are `[rows, width]`.

use burn_cubecl::cubecl::{self, prelude::*};
use pel_kernels::rows::Activation;

/// The row of a cube. Cubes after the last row compute it again, so that all units of all cubes
/// meet the same barriers.
#[cube]
fn row_of_cube(rows: usize) -> usize {
    select(CUBE_POS < rows, CUBE_POS, rows - 1)
}

/// The sum of a value of each unit.
#[cube]
fn sum_over_units(value: f32, #[comptime] units: usize) -> f32 {
    let mut shared = Shared::<[f32]>::new_slice(units);
    shared[UNIT_POS as usize] = value;
    sync_cube();
    let mut active = CUBE_DIM / 2;
    while active > 0 {
        if UNIT_POS < active {
            let other = shared[(UNIT_POS + active) as usize];
            shared[UNIT_POS as usize] += other;
        }
        active /= 2;
        sync_cube();
    }
    shared[0]
}

/// The maximum of a value of each unit.
#[cube]
fn maximum_over_units(value: f32, #[comptime] units: usize) -> f32 {
    let mut shared = Shared::<[f32]>::new_slice(units);
    shared[UNIT_POS as usize] = value;
    sync_cube();
    let mut active = CUBE_DIM / 2;
    while active > 0 {
        if UNIT_POS < active {
            let (mine, other) = (
                shared[UNIT_POS as usize],
                shared[(UNIT_POS + active) as usize],
            );
            shared[UNIT_POS as usize] = select(mine < other, other, mine);
        }
        active /= 2;
        sync_cube();
    }
    shared[0]
}

/// `hidden + x + bias` at a column of the row that begins at `start`.
#[cube]
fn summed(
    hidden: &Tensor<f32>,
    x: &Tensor<f32>,
    bias: &Tensor<f32>,
    start: usize,
    at: usize,
) -> f32 {
    hidden[start + at] + x[start + at] + bias[at]
}

/// The mean of `hidden + x + bias` over a row, and the inverse of its deviation.
#[cube]
fn moments(
    hidden: &Tensor<f32>,
    x: &Tensor<f32>,
    bias: &Tensor<f32>,
    row: usize,
    epsilon: f32,
    #[comptime] units: usize,
) -> (f32, f32) {
    let width = hidden.shape(1);
    let start = row * width;
    let mut sum = 0.0f32;
    for at in range_stepped(UNIT_POS as usize, width, units) {
        sum += summed(hidden, x, bias, start, at);
    }
    let mean = sum_over_units(sum, units) / f32::cast_from(width);
    let mut squares = 0.0f32;
    for at in range_stepped(UNIT_POS as usize, width, units) {
        let off = summed(hidden, x, bias, start, at) - mean;
        squares += off * off;
    }
    let variance = sum_over_units(squares, units) / f32::cast_from(width);
    (mean, 1.0f32 / f32::sqrt(variance + epsilon))
}

#[cube(launch)]
pub fn normalise(
    hidden: &Tensor<f32>,
    x: &Tensor<f32>,
    bias: &Tensor<f32>,
    gamma: &Tensor<f32>,
    beta: &Tensor<f32>,
    out: &mut Tensor<f32>,
    epsilon: f32,
    #[comptime] units: usize,
) {
    let (width, row) = (out.shape(1), row_of_cube(out.shape(0)));
    let start = row * width;
    let (mean, inverse) = moments(hidden, x, bias, row, epsilon, units);
    for at in range_stepped(UNIT_POS as usize, width, units) {
        let off = summed(hidden, x, bias, start, at) - mean;
        out[start + at] = off * inverse * gamma[at] + beta[at];
    }
}

#[cube(launch)]
pub fn activate(
    x: &Tensor<f32>,
    bias: &Tensor<f32>,
    out: &mut Tensor<f32>,
    #[comptime] kind: Activation,
    #[comptime] units: usize,
) {
    let (width, row) = (out.shape(1), row_of_cube(out.shape(0)));
    let start = row * width;
    for at in range_stepped(UNIT_POS as usize, width, units) {
        let x = x[start + at] + bias[at];
        out[start + at] = if comptime![kind == Activation::Gelu] {
            x * normal_below(x)
        } else if comptime![kind == Activation::GeluTanh] {
            0.5f32 * x * (1.0f32 + f32::tanh(SLOPE * (x + CUBIC * x * x * x)))
        } else {
            select(x > 0.0f32, x, 0.0f32)
        };
    }
}

/// √(2/π), in GELU by tanh.
const SLOPE: f32 = 0.797_884_6;
/// The cubic factor of GELU by tanh.
const CUBIC: f32 = 0.044_715;
/// 1/√2
const ROOT_HALF: f32 = core::f32::consts::FRAC_1_SQRT_2;

/// Φ(x), the share of a normal distribution below x.
#[cube]
fn normal_below(x: f32) -> f32 {
    0.5f32 * (1.0f32 + Erf::erf(x * ROOT_HALF))
}

/// `x + bias`; out `[batch, heads, seq, size]`.
#[cube(launch)]
pub fn split_heads(
    x: &Tensor<f32>,
    bias: &Tensor<f32>,
    out: &mut Tensor<f32>,
    #[comptime] units: usize,
) {
    let (heads, seq, size) = (out.shape(1), out.shape(2), out.shape(3));
    let (width, row) = (x.shape(1), row_of_cube(x.shape(0)));
    let (batch, token) = (row / seq, row % seq);
    for at in range_stepped(UNIT_POS as usize, width, units) {
        let (head, within) = (at / size, at % size);
        let to = ((batch * heads + head) * seq + token) * size + within;
        out[to] = x[row * width + at] + bias[at];
    }
}

#[cube(launch)]
pub fn softmax(
    scores: &Tensor<f32>,
    real: &Tensor<f32>,
    out: &mut Tensor<f32>,
    scale: f32,
    #[comptime] units: usize,
) {
    let (rows, width) = (out.shape(0), out.shape(1));
    let row = row_of_cube(rows);
    let start = row * width;
    let tokens = row / (rows / real.shape(0)) * width;
    let mut largest = f32::new(OF_PADDING);
    for at in range_stepped(UNIT_POS as usize, width, units) {
        let score = masked(scores[start + at] * scale, real[tokens + at]);
        largest = select(largest < score, score, largest);
    }
    let largest = maximum_over_units(largest, units);
    let mut sum = 0.0f32;
    for at in range_stepped(UNIT_POS as usize, width, units) {
        sum += f32::exp(masked(scores[start + at] * scale, real[tokens + at]) - largest);
    }
    let sum = sum_over_units(sum, units);
    for at in range_stepped(UNIT_POS as usize, width, units) {
        let score = masked(scores[start + at] * scale, real[tokens + at]);
        out[start + at] = f32::exp(score - largest) / sum;
    }
}

/// A score, or that of padding.
#[cube]
fn masked(score: f32, real: f32) -> f32 {
    select(real == 0.0f32, OF_PADDING, score)
}

/// The score of padding: below all others, and a difference of two is a number.
const OF_PADDING: f32 = -1e30;

#[cube(launch)]
pub fn normalise_gradient(
    hidden: &Tensor<f32>,
    x: &Tensor<f32>,
    bias: &Tensor<f32>,
    gamma: &Tensor<f32>,
    gradient: &Tensor<f32>,
    out: &mut Tensor<f32>,
    of_gamma: &mut Tensor<f32>,
    epsilon: f32,
    #[comptime] units: usize,
) {
    let (width, row) = (out.shape(1), row_of_cube(out.shape(0)));
    let start = row * width;
    let (mean, inverse) = moments(hidden, x, bias, row, epsilon, units);
    let mut sum = 0.0f32;
    let mut along = 0.0f32;
    for at in range_stepped(UNIT_POS as usize, width, units) {
        let normal = (summed(hidden, x, bias, start, at) - mean) * inverse;
        let of_normal = gradient[start + at] * gamma[at];
        sum += of_normal;
        along += of_normal * normal;
    }
    let mean_gradient = sum_over_units(sum, units) / f32::cast_from(width);
    let along = sum_over_units(along, units) / f32::cast_from(width);
    for at in range_stepped(UNIT_POS as usize, width, units) {
        let normal = (summed(hidden, x, bias, start, at) - mean) * inverse;
        let given = gradient[start + at];
        out[start + at] = inverse * (given * gamma[at] - mean_gradient - normal * along);
        of_gamma[start + at] = given * normal;
    }
}

#[cube(launch)]
pub fn activate_gradient(
    x: &Tensor<f32>,
    bias: &Tensor<f32>,
    gradient: &Tensor<f32>,
    out: &mut Tensor<f32>,
    #[comptime] kind: Activation,
    #[comptime] units: usize,
) {
    let (width, row) = (out.shape(1), row_of_cube(out.shape(0)));
    let start = row * width;
    for at in range_stepped(UNIT_POS as usize, width, units) {
        let x = x[start + at] + bias[at];
        let slope = if comptime![kind == Activation::Gelu] {
            normal_below(x) + x * DENSITY * f32::exp(-0.5f32 * x * x)
        } else if comptime![kind == Activation::GeluTanh] {
            let t = f32::tanh(SLOPE * (x + CUBIC * x * x * x));
            let inner = SLOPE * (1.0f32 + 3.0f32 * CUBIC * x * x);
            0.5f32 * (1.0f32 + t) + 0.5f32 * x * (1.0f32 - t * t) * inner
        } else {
            select(x > 0.0f32, 1.0f32, 0.0f32)
        };
        out[start + at] = gradient[start + at] * slope;
    }
}

/// 1/√(2π)
const DENSITY: f32 = 0.398_942_3;

#[cube(launch)]
pub fn softmax_gradient(
    probabilities: &Tensor<f32>,
    gradient: &Tensor<f32>,
    out: &mut Tensor<f32>,
    scale: f32,
    #[comptime] units: usize,
) {
    let (width, row) = (out.shape(1), row_of_cube(out.shape(0)));
    let start = row * width;
    let mut sum = 0.0f32;
    for at in range_stepped(UNIT_POS as usize, width, units) {
        sum += probabilities[start + at] * gradient[start + at];
    }
    let mean = sum_over_units(sum, units);
    for at in range_stepped(UNIT_POS as usize, width, units) {
        let off = gradient[start + at] - mean;
        out[start + at] = scale * probabilities[start + at] * off;
    }
}
