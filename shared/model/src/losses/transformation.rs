//! The learned transformation (T-Biencoder, section 3.3): the adversarial shift of an encoder's
//! hidden states within a ball.
//!
//! `Z' = Z + A Z` at the output of layer K (eq. 8), with one matrix for all tokens and examples of
//! a side and `‖A‖ ≤ ε` (eq. 10). The matrix persists between steps and ascends the gradient of L'.
//! Inference does not use it.

use crate::burn::floats;
use burn::tensor::{Device, Tensor};
use pel_kb::error::{Context, Error, Result};
use serde::{Deserialize, Serialize};

/// The norm that bounds the matrix. The paper names none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Norm {
    /// The Frobenius norm: the root of the sum of squares.
    #[default]
    Frobenius,
    /// The spectral norm: the largest singular value.
    Spectral,
}

/// The ball of a matrix, and the step of its ascent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ball {
    /// The norm.
    pub norm: Norm,
    /// ε: its radius.
    pub epsilon: f64,
    /// The length of an ascent step, relative to ε.
    pub rate: f64,
}

/// `Z' = Z + A Z` (eq. 8), for each token.
///
/// # Shapes
/// z `[batch, seq, hidden]`, a `[hidden, hidden]` -> `[batch, seq, hidden]`
pub fn transform(z: Tensor<3>, a: Tensor<2>) -> Tensor<3> {
    let [batch, seq, hidden] = z.dims();
    // Tokens are rows here, columns in the paper.
    let moved = z
        .clone()
        .reshape([batch * seq, hidden])
        .matmul(a.transpose());
    z + moved.reshape([batch, seq, hidden])
}

impl Ball {
    /// One step of projected gradient ascent: the step of this length with the steepest ascent in
    /// the norm, then the projection onto the ball. A zero gradient changes nothing.
    ///
    /// `None` if the gradient has values that are not finite.
    ///
    /// # Shapes
    /// a and its gradient `[hidden, hidden]` -> `[hidden, hidden]`
    ///
    /// # Errors
    /// If the matrix cannot be read from the device.
    pub fn ascend_once(&self, a: Tensor<2>, gradient: Tensor<2>) -> Result<Option<Tensor<2>>> {
        let length = frobenius(&gradient)?;
        if !length.is_finite() {
            return Ok(None);
        }
        if length == 0.0 {
            return Ok(Some(a));
        }
        let unit = gradient / length;
        let steepest = match self.norm {
            Norm::Frobenius => unit,
            Norm::Spectral => orthogonal(unit),
        };
        self.inside(a + steepest * (self.epsilon * self.rate))
            .map(Some)
    }

    /// The matrix, scaled down to the ball if it is outside.
    ///
    /// # Shapes
    /// `[hidden, hidden]` -> `[hidden, hidden]`
    ///
    /// # Errors
    /// If the matrix cannot be read from the device.
    pub fn inside(&self, a: Tensor<2>) -> Result<Tensor<2>> {
        let norm = norm(&a, self.norm)?;
        Ok(if norm.is_finite() && norm > self.epsilon {
            a * (self.epsilon / norm)
        } else {
            a
        })
    }
}

/// The norm of a matrix. It is not finite if a value is not.
///
/// # Shapes
/// `[rows, columns]`
///
/// # Errors
/// If the matrix cannot be read from the device.
pub fn norm(a: &Tensor<2>, norm: Norm) -> Result<f64> {
    match norm {
        Norm::Frobenius => frobenius(a),
        Norm::Spectral => spectral(a),
    }
}

fn frobenius(a: &Tensor<2>) -> Result<f64> {
    let sum = floats(a.clone().powi_scalar(2).sum().try_into_data())
        .context(|| "the norm of a matrix".into())?;
    match sum.first() {
        Some(sum) => Ok(f64::from(*sum).sqrt()),
        None => Err(Error::device(
            "the norm of a matrix: expected one number back from the device, found none",
        )),
    }
}

/// Squarings of `AᵀA`.
const SQUARINGS: i32 = 6;

/// An upper bound of the largest singular value σ: `‖(AᵀA)^64‖_F^(1/128)`, at most `n^(1/256)` σ
/// (1.024 σ for 384 columns). A matrix scaled by it is inside the ball, which a lower bound would
/// not ensure.
fn spectral(a: &Tensor<2>) -> Result<f64> {
    let whole = frobenius(a)?;
    if whole == 0.0 || !whole.is_finite() {
        return Ok(whole);
    }
    let mut power = a.clone().transpose().matmul(a.clone());
    let mut log = 0.0;
    for squaring in 0..=SQUARINGS {
        if squaring > 0 {
            (power, log) = (power.clone().matmul(power), 2.0 * log);
        }
        let length = frobenius(&power)?;
        if length == 0.0 || !length.is_finite() {
            // Too small or too large for f32. The Frobenius norm is a bound, too.
            return Ok(whole);
        }
        // Powers are of matrices of norm 1. The logarithm of the divisors is summed.
        (power, log) = (power / length, log + length.ln());
    }
    let above = (log / f64::from(1 << (SQUARINGS + 1))).exp();
    // At most the Frobenius norm.
    Ok(above.min(whole))
}

/// Steps of the Newton-Schulz iteration.
const NEWTON: usize = 30;

/// The orthogonal factor of a matrix of Frobenius norm 1, all of whose singular values are 1 (those
/// near 0 stay small): the direction of steepest ascent in the spectral norm.
fn orthogonal(unit: Tensor<2>) -> Tensor<2> {
    let mut x = unit;
    for _ in 0..NEWTON {
        let square = x.clone().matmul(x.clone().transpose());
        x = x.clone() * 1.5 - square.matmul(x) * 0.5;
    }
    x
}

/// The zero matrix: no transformation.
///
/// # Shapes
/// -> `[hidden, hidden]`
pub fn none(hidden: usize, device: &Device) -> Tensor<2> {
    Tensor::zeros([hidden, hidden], device)
}

#[cfg(test)]
mod tests {
    use super::*;
    use burn::tensor::{DType, Distribution};
    use pel_kb::error::Kind;

    fn values<const D: usize>(tensor: Tensor<D>) -> Vec<f32> {
        tensor.into_data().try_to_vec().expect("floats")
    }

    #[test]
    fn the_transformation_is_equation_8() {
        let device = Device::flex();
        let z = Tensor::<3>::from_floats([[[1.0, 2.0], [0.0, 1.0]]], &device);
        // A (1, 2) = (2, 0) and A (0, 1) = (1, 0).
        let a = Tensor::<2>::from_floats([[0.0, 1.0], [0.0, 0.0]], &device);
        assert_eq!(values(transform(z.clone(), a)), [3.0, 2.0, 1.0, 1.0]);
        assert_eq!(values(transform(z.clone(), none(2, &device))), values(z));
    }

    #[test]
    fn norms_match_hand_computed_values() {
        let device = Device::flex();
        let a = Tensor::<2>::from_floats([[3.0, 0.0], [0.0, -4.0]], &device);
        assert_eq!(norm(&a, Norm::Frobenius).expect("the device works"), 5.0);
        let found = norm(&a, Norm::Spectral).expect("the device works");
        // From above, by at most the 256th root of the columns.
        assert!((4.0 - 1e-4..=4.02).contains(&found), "{found}");
        let rest = 63;
        let diagonal: Vec<f32> = std::iter::once(-1.0).chain(vec![0.98; rest]).collect();
        let close = Tensor::<2>::eye(64, &device)
            * Tensor::<1>::from_floats(&diagonal[..], &device).reshape([1, 64]);
        let found = norm(&close, Norm::Spectral).expect("the device works");
        assert!((1.0 - 1e-4..=1.02).contains(&found), "{found}");
        for kind in [Norm::Frobenius, Norm::Spectral] {
            assert_eq!(
                norm(&none(2, &device), kind).expect("the device works"),
                0.0
            );
            let infinite = none(2, &device) + f32::INFINITY;
            assert!(
                !norm(&infinite, kind).expect("the device works").is_finite(),
                "{kind:?}"
            );
        }
        // The squares of these values are too small for a float: the other norm, of which they are
        // a quarter, bounds the largest singular value.
        let small = Tensor::<2>::eye(16, &device) * 1e-12;
        let found = norm(&small, Norm::Spectral).expect("the device works");
        assert!((1e-12 - 1e-16..=4.001e-12).contains(&found), "{found}");
    }

    #[test]
    fn the_orthogonal_factor_has_unit_singular_values() {
        let device = Device::flex();
        // A rotation by 90° of (2, 3): the factor is the rotation.
        let a = Tensor::<2>::from_floats([[0.0, -3.0], [2.0, 0.0]], &device);
        for (found, expected) in values(orthogonal(a / 13f64.sqrt()))
            .iter()
            .zip([0.0, -1.0, 1.0, 0.0])
        {
            assert!(
                (found - expected).abs() < 1e-5,
                "{found}, expected {expected}"
            );
        }
    }

    #[test]
    fn ascent_stays_in_the_ball_and_raises_a_linear_function() {
        let device = Device::flex();
        device.seed(5);
        let random = || Tensor::<2>::random([6, 6], Distribution::Normal(0.0, 1.0), &device);
        for norm_kind in [Norm::Frobenius, Norm::Spectral] {
            let ball = Ball {
                norm: norm_kind,
                epsilon: 0.7,
                rate: 0.5,
            };
            let gradient = random();
            let value = |a: &Tensor<2>| values((a.clone() * gradient.clone()).sum())[0];
            let (mut a, mut before) = (none(6, &device), f32::MIN);
            for _ in 0..4 {
                a = ball
                    .ascend_once(a, gradient.clone())
                    .expect("the device works")
                    .expect("finite");
                let now = norm(&a, norm_kind).expect("the device works");
                assert!(now > 0.0, "{norm_kind:?}: expected a step");
                assert!(now <= 0.7 * 1.0001, "{norm_kind:?}: {now}");
                assert!(
                    value(&a) >= before - 1e-4,
                    "{norm_kind:?}: {} after {before}",
                    value(&a)
                );
                before = value(&a);
            }
            // It is the maximum of the linear function in the ball.
            for _ in 0..20 {
                let other = ball.inside(random() * 100.0).expect("the device works");
                assert!(value(&other) <= value(&a), "{norm_kind:?}");
            }
        }
    }

    #[test]
    fn failed_read_is_an_error() {
        let device = Device::flex();
        // Values that cannot be read as 32-bit floats fail as every read does.
        let unreadable = Tensor::<2>::eye(2, &device).cast(DType::F64);
        for kind in [Norm::Frobenius, Norm::Spectral] {
            let ball = Ball {
                norm: kind,
                epsilon: 1.0,
                rate: 0.5,
            };
            let errors = [
                norm(&unreadable, kind)
                    .map(drop)
                    .expect_err("it cannot be read"),
                ball.inside(unreadable.clone())
                    .map(drop)
                    .expect_err("it cannot be read"),
                ball.ascend_once(none(2, &device), unreadable.clone())
                    .map(drop)
                    .expect_err("it cannot be read"),
            ];
            for error in errors {
                assert_eq!(error.kind(), Kind::Device, "{error}");
                assert!(
                    error.to_string().contains("the norm of a matrix"),
                    "{error}"
                );
            }
        }
    }

    #[test]
    fn zero_gradient_changes_nothing_and_non_finite_gradient_is_reported() {
        let device = Device::flex();
        for kind in [Norm::Frobenius, Norm::Spectral] {
            let ball = Ball {
                norm: kind,
                epsilon: 1.0,
                rate: 0.5,
            };
            let a = Tensor::<2>::eye(2, &device) * 0.25;
            let stayed = ball
                .ascend_once(a.clone(), none(2, &device))
                .expect("the device works")
                .expect("finite");
            assert_eq!(values(stayed), [0.25, 0.0, 0.0, 0.25]);
            for value in [f32::NAN, f32::INFINITY] {
                let gradient = none(2, &device) + value;
                assert!(
                    ball.ascend_once(a.clone(), gradient)
                        .expect("the device works")
                        .is_none(),
                    "{kind:?} {value}"
                );
            }
        }
    }
}
