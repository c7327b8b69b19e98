//! The learned transformation (T-Biencoder, section 3.3): the worst shift of an encoder's hidden states within a ball, which
//! training then has to stand.
//!
//! `Z' = Z + A Z` at the output of layer K (eq. 8), with one matrix for all tokens and examples of a side and `‖A‖ ≤ ε` (eq. 10).
//! The matrix is kept from step to step and climbs the gradient of L'. Nothing of it is left at inference.

use burn::tensor::{Device, Tensor};
use serde::{Deserialize, Serialize};

/// Which norm bounds the matrix; the paper names none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Norm {
    /// The root of the sum of squares.
    #[default]
    Frobenius,
    /// The largest singular value.
    Spectral,
}

/// The ball that a matrix stays in, and how it climbs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ball {
    /// The norm.
    pub norm: Norm,
    /// ε: its radius.
    pub epsilon: f64,
    /// The length of a step of ascent, as a share of ε.
    pub rate: f64,
}

/// `Z' = Z + A Z` (eq. 8), a token at a time.
///
/// # Shapes
/// z `[batch, seq, hidden]`, a `[hidden, hidden]` -> `[batch, seq, hidden]`
pub fn transform(z: Tensor<3>, a: Tensor<2>) -> Tensor<3> {
    let [batch, seq, hidden] = z.dims();
    // Tokens are rows here, columns in the paper.
    let moved = z.clone().reshape([batch * seq, hidden]).matmul(a.transpose());
    z + moved.reshape([batch, seq, hidden])
}

impl Ball {
    /// One step of projected gradient ascent: the step of this length under which the loss, taken as linear, rises most; then
    /// back into the ball.
    ///
    /// # Shapes
    /// a and its gradient `[hidden, hidden]` -> `[hidden, hidden]`
    pub fn climb(&self, a: Tensor<2>, gradient: Tensor<2>) -> Tensor<2> {
        let steepest = match self.norm {
            Norm::Frobenius => frobenius(&gradient).map(|norm| gradient / norm),
            Norm::Spectral => orthogonal(gradient),
        };
        let Some(steepest) = steepest else { return a };
        self.inside(a + steepest * (self.epsilon * self.rate))
    }

    /// The matrix, scaled down to the ball if it is outside.
    ///
    /// # Shapes
    /// `[hidden, hidden]` -> `[hidden, hidden]`
    pub fn inside(&self, a: Tensor<2>) -> Tensor<2> {
        match norm(&a, self.norm) {
            Some(norm) if norm > self.epsilon => a * (self.epsilon / norm),
            _ => a,
        }
    }
}

/// The norm of a matrix; nothing for one of zeros, for one with values that are not finite, or if the device gives no numbers.
///
/// # Shapes
/// `[rows, columns]`
pub fn norm(a: &Tensor<2>, norm: Norm) -> Option<f64> {
    match norm {
        Norm::Frobenius => frobenius(a),
        Norm::Spectral => spectral(a),
    }
}

fn frobenius(a: &Tensor<2>) -> Option<f64> {
    number(a.clone().powi_scalar(2).sum()).map(f64::sqrt).filter(|norm| *norm > 0.0 && norm.is_finite())
}

/// Squarings of `AᵀA`.
const SQUARINGS: i32 = 6;

/// A bound of the largest singular value σ from above: `‖(AᵀA)^64‖_F^(1/128)`, at most `n^(1/256)` σ (1.024 σ for 384 columns). What is
/// scaled by it is inside the ball whatever its other singular values, which no iteration from below promises.
fn spectral(a: &Tensor<2>) -> Option<f64> {
    // Powers are of matrices of norm 1, and what was divided out is kept as a logarithm.
    let unit = |matrix: Tensor<2>| frobenius(&matrix).map(|norm| (matrix / norm, norm.ln()));
    let (mut power, mut log) = unit(a.clone().transpose().matmul(a.clone()))?;
    for _ in 0..SQUARINGS {
        let (square, own) = unit(power.clone().matmul(power))?;
        (power, log) = (square, 2.0 * log + own);
    }
    let above = (log / f64::from(1 << (SQUARINGS + 1))).exp();
    // Never more than the other norm.
    frobenius(a).map(|most| above.min(most))
}

/// Steps of the Newton-Schulz iteration.
const NEWTON: usize = 30;

/// The orthogonal factor of a matrix, all of whose singular values are 1 (those that are nearly 0 stay small): where a linear
/// function rises most within the spectral ball.
fn orthogonal(a: Tensor<2>) -> Option<Tensor<2>> {
    let norm = frobenius(&a)?;
    let mut x = a / norm;
    for _ in 0..NEWTON {
        let square = x.clone().matmul(x.clone().transpose());
        x = x.clone() * 1.5 - square.matmul(x) * 0.5;
    }
    Some(x)
}

fn number(tensor: Tensor<1>) -> Option<f64> {
    let values = tensor.try_into_data().ok()?.try_to_vec::<f32>().ok()?;
    values.first().copied().map(f64::from).filter(|value| value.is_finite())
}

/// A matrix of zeros: no transformation.
///
/// # Shapes
/// -> `[hidden, hidden]`
pub fn none(hidden: usize, device: &Device) -> Tensor<2> {
    Tensor::zeros([hidden, hidden], device)
}

#[cfg(test)]
mod tests {
    use super::*;
    use burn::tensor::Distribution;

    fn floats<const D: usize>(tensor: Tensor<D>) -> Vec<f32> {
        tensor.into_data().try_to_vec().expect("floats")
    }

    #[test]
    fn the_transformation_is_equation_8() {
        let device = Device::flex();
        let z = Tensor::<3>::from_floats([[[1.0, 2.0], [0.0, 1.0]]], &device);
        // A (1, 2) = (2, 0) and A (0, 1) = (1, 0).
        let a = Tensor::<2>::from_floats([[0.0, 1.0], [0.0, 0.0]], &device);
        assert_eq!(floats(transform(z.clone(), a)), [3.0, 2.0, 1.0, 1.0]);
        assert_eq!(floats(transform(z.clone(), none(2, &device))), floats(z));
    }

    #[test]
    fn norms_by_hand() {
        let device = Device::flex();
        let a = Tensor::<2>::from_floats([[3.0, 0.0], [0.0, -4.0]], &device);
        assert_eq!(norm(&a, Norm::Frobenius), Some(5.0));
        let found = norm(&a, Norm::Spectral).expect("it has one");
        // From above, by at most the 256th root of the columns.
        assert!((4.0 - 1e-4..=4.02).contains(&found), "{found}");
        let rest = 63;
        let diagonal: Vec<f32> = std::iter::once(-1.0).chain(vec![0.98; rest]).collect();
        let close = Tensor::<2>::eye(64, &device) * Tensor::<1>::from_floats(&diagonal[..], &device).reshape([1, 64]);
        let found = norm(&close, Norm::Spectral).expect("it has one");
        assert!((1.0 - 1e-4..=1.02).contains(&found), "{found}");
        assert_eq!(norm(&none(2, &device), Norm::Frobenius), None);
        assert_eq!(norm(&none(2, &device), Norm::Spectral), None);
    }

    #[test]
    fn the_orthogonal_factor_has_unit_singular_values() {
        let device = Device::flex();
        // A rotation by 90° of (2, 3): the factor is the rotation.
        let a = Tensor::<2>::from_floats([[0.0, -3.0], [2.0, 0.0]], &device);
        for (found, expected) in floats(orthogonal(a).expect("not zero")).iter().zip([0.0, -1.0, 1.0, 0.0]) {
            assert!((found - expected).abs() < 1e-5, "{found}, expected {expected}");
        }
    }

    #[test]
    fn climbing_stays_in_the_ball_and_raises_a_linear_function() {
        let device = Device::flex();
        device.seed(5);
        let random = || Tensor::<2>::random([6, 6], Distribution::Normal(0.0, 1.0), &device);
        for norm_kind in [Norm::Frobenius, Norm::Spectral] {
            let ball = Ball { norm: norm_kind, epsilon: 0.7, rate: 0.5 };
            let gradient = random();
            let value = |a: &Tensor<2>| floats((a.clone() * gradient.clone()).sum())[0];
            let (mut a, mut before) = (none(6, &device), f32::MIN);
            for _ in 0..4 {
                a = ball.climb(a, gradient.clone());
                let now = norm(&a, norm_kind).expect("it has moved");
                assert!(now <= 0.7 * 1.0001, "{norm_kind:?}: {now}");
                assert!(value(&a) >= before - 1e-4, "{norm_kind:?}: {} after {before}", value(&a));
                before = value(&a);
            }
            // No other matrix of the ball is higher: the linear maximum.
            for _ in 0..20 {
                let other = ball.inside(random() * 100.0);
                assert!(value(&other) <= value(&a), "{norm_kind:?}");
            }
        }
    }
}
