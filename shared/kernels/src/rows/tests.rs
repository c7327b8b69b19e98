//! Compares every loop with f64, for every instruction set, on ordinary and on extreme numbers.

use super::*;
use crate::tested::supported_sets;
use proptest::prelude::*;

/// Extreme numbers.
const EXTREME: [f32; 14] = [
    0.0,
    -0.0,
    1e-42,
    -1e-42,
    f32::MIN_POSITIVE,
    1.0,
    -87.4,
    -200.0,
    88.5,
    200.0,
    1e30,
    f32::INFINITY,
    f32::NEG_INFINITY,
    f32::NAN,
];

/// Abramowitz and Stegun would do; this is the series, and 1 - its tail where x is large.
fn erf(x: f64) -> f64 {
    if x.abs() > 5.0 {
        return x.signum();
    }
    let (mut term, mut sum) = (x, x);
    for n in 1..200 {
        term *= -x * x / f64::from(n);
        sum += term / f64::from(2 * n + 1);
    }
    sum * 2.0 / std::f64::consts::PI.sqrt()
}

fn gelu(x: f64) -> f64 {
    if x == f64::NEG_INFINITY {
        0.0
    } else {
        0.5 * x * (1.0 + erf(x / 2f64.sqrt()))
    }
}

fn gelu_slope(x: f64) -> f64 {
    0.5 * (1.0 + erf(x / 2f64.sqrt()))
        + x * (-0.5 * x * x).exp() / (2.0 * std::f64::consts::PI).sqrt()
}

fn tanh_inner(x: f64) -> f64 {
    (2.0 / std::f64::consts::PI).sqrt() * (x + 0.044715 * x * x * x)
}

fn gelu_tanh(x: f64) -> f64 {
    if x == f64::NEG_INFINITY {
        0.0
    } else {
        0.5 * x * (1.0 + tanh_inner(x).tanh())
    }
}

fn gelu_tanh_slope(x: f64) -> f64 {
    let step = 1e-6;
    (gelu_tanh(x + step) - gelu_tanh(x - step)) / (2.0 * step)
}

fn relu(x: f64) -> f64 {
    if x < 0.0 { 0.0 } else { x }
}

fn near(what: &str, x: f32, found: f32, expected: f64) {
    let expected = expected as f32;
    let same = found == expected || (found.is_nan() && expected.is_nan());
    let close = (found - expected).abs() <= 2e-6 + 2e-6 * expected.abs();
    assert!(
        same || close,
        "{what} of {x}: found {found}, expected {expected}"
    );
}

/// A row of every value from -12 to 12 in small steps.
fn ordinary() -> Vec<f32> {
    (-12_000..=12_000).map(|at| at as f32 / 1000.0).collect()
}

#[test]
fn activations_match_f64() {
    type Function = fn(f64) -> f64;
    let all: [(Activation, Function); 3] = [
        (Activation::Gelu, gelu),
        (Activation::GeluTanh, gelu_tanh),
        (Activation::Relu, relu),
    ];
    for isa in supported_sets("rows", Isa::LANES) {
        for (activation, expected) in all {
            for x in [ordinary(), EXTREME.to_vec()] {
                let mut found = x.clone();
                activate(isa, activation, &mut found);
                for (x, found) in x.iter().zip(found) {
                    near(
                        &format!("{isa:?} {activation:?}"),
                        *x,
                        found,
                        expected(f64::from(*x)),
                    );
                }
            }
        }
    }
}

#[test]
fn activation_gradients_match_f64() {
    for isa in supported_sets("rows", Isa::LANES) {
        let x = ordinary();
        let slopes = |activation| {
            let mut found = vec![1.0; x.len()];
            activate_backward(isa, activation, &x, &mut found);
            found
        };
        let found = [
            slopes(Activation::Gelu),
            slopes(Activation::GeluTanh),
            slopes(Activation::Relu),
        ];
        for (at, x) in x.iter().enumerate() {
            near("slope of gelu", *x, found[0][at], gelu_slope(f64::from(*x)));
            near(
                "slope of gelu by tanh",
                *x,
                found[1][at],
                gelu_tanh_slope(f64::from(*x)),
            );
            near(
                "slope of relu",
                *x,
                found[2][at],
                if *x > 0.0 { 1.0 } else { 0.0 },
            );
        }
        // Far out the slopes are 0 and 1, and NaN stays NaN.
        let mut far = [1.0; 3];
        activate_backward(
            isa,
            Activation::Gelu,
            &[f32::NEG_INFINITY, f32::INFINITY, f32::NAN],
            &mut far,
        );
        assert!(
            far[0].abs() < 1e-6 && (far[1] - 1.0).abs() < 1e-6 && far[2].is_nan(),
            "{isa:?}: {far:?}"
        );
    }
}

#[test]
fn softmax_handles_extreme_rows() {
    for isa in supported_sets("rows", Isa::LANES) {
        let run = |row: &[f32]| {
            let mut row = row.to_vec();
            softmax(isa, 1.0, row.len(), &mut row);
            row
        };
        // Large values do not overflow, minus infinity takes no share, denormals are equal to zero.
        assert_eq!(run(&[1e30, 1e30]), [0.5, 0.5]);
        assert_eq!(
            run(&[f32::NEG_INFINITY, 3.0, f32::NEG_INFINITY]),
            [0.0, 1.0, 0.0]
        );
        assert_eq!(run(&[1e-42, 0.0]), [0.5, 0.5]);
        for width in [1, 15, 16, 17, 40] {
            let mut row = vec![1.0; width];
            row[width / 2] = f32::NAN;
            assert!(
                run(&row).iter().all(|share| share.is_nan()),
                "{isa:?} {width}"
            );
        }
    }
}

proptest! {
    #[test]
    fn layer_norm_matches_f64(width in 1usize..70, seed in any::<u32>(), shift in -3f32..3.0) {
        let mut state = seed;
        let mut numbers = |count: usize| -> Vec<f32> {
            (0..count)
                .map(|_| {
                    state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                    (state >> 8) as f32 / 8_388_608.0 - 1.0
                })
                .collect()
        };
        let (rows, gamma, beta) = (numbers(3 * width), numbers(width), numbers(width));
        let rows: Vec<f32> = rows.iter().map(|value| value + shift).collect();
        let epsilon = 1e-3;
        for isa in supported_sets("rows", Isa::LANES) {
            let mut found = rows.clone();
            layer_norm(
                isa,
                Norm {
                    gamma: &gamma,
                    beta: &beta,
                    epsilon,
                },
                width,
                &mut found,
            );
            let mut shares = rows.clone();
            softmax(isa, 0.7, width, &mut shares);
            for (at, row) in rows.chunks_exact(width).enumerate() {
                let doubles: Vec<f64> = row.iter().map(|value| f64::from(*value)).collect();
                let mean = doubles.iter().sum::<f64>() / width as f64;
                let variance = doubles
                    .iter()
                    .map(|value| (value - mean).powi(2))
                    .sum::<f64>()
                    / width as f64;
                let total: f64 = doubles.iter().map(|value| (0.7 * value).exp()).sum();
                for (column, value) in doubles.iter().enumerate() {
                    let normal = (value - mean) / (variance + f64::from(epsilon)).sqrt();
                    let expected = normal * f64::from(gamma[column]) + f64::from(beta[column]);
                    prop_assert!((f64::from(found[at * width + column]) - expected).abs() < 2e-5);
                    prop_assert!(
                        (f64::from(shares[at * width + column]) - (0.7 * value).exp() / total)
                            .abs()
                            < 2e-6
                    );
                }
            }
        }
    }
}
