//! A projection to the principal directions of the concepts' vectors. They are not centred, because
//! cosines are not.

use burn::linalg::svd;
use burn::tensor::{Device, Tensor, TensorData};
use pel_kb::error::{Error, Result};

/// The maximum number of sweeps of the decomposition.
const SWEEPS: usize = 100;

/// The matrix of the projection.
pub struct Projection {
    /// `[dim, hidden]`
    pub weight: Vec<f32>,
    /// The number of dimensions.
    pub dim: usize,
    /// The proportion of the vectors' squared length that it preserves.
    pub kept: f64,
}

/// The projection for vectors of unit length.
///
/// # Shapes
/// vectors `[n, hidden]`
///
/// # Errors
/// If the vectors have fewer than `dim` dimensions, or the decomposition fails.
pub fn principal(vectors: &[f32], hidden: usize, dim: usize) -> Result<Projection> {
    if dim == 0 || dim > hidden {
        return Err(Error::input(format!(
            "the number of dimensions: expected 1 to {hidden}, found {dim}"
        )));
    }
    let device = Device::flex();
    // The second moments, [hidden, hidden], in parts that fit into the cache.
    let mut moments = Tensor::<2>::zeros([hidden, hidden], &device);
    for part in vectors.chunks(4096 * hidden) {
        let rows = part.len() / hidden;
        let part = Tensor::<2>::from_data(TensorData::new(part.to_vec(), [rows, hidden]), &device);
        moments = moments
            + part.clone().transpose().matmul(part) / (vectors.len() / hidden).max(1) as f64;
    }
    let (_, values, directions) = svd::<2, 1>(moments, SWEEPS);
    let floats = |data: TensorData| {
        data.try_into_vec::<f32>()
            .map_err(|cause| Error::device("no 32-bit floats").caused_by(format!("{cause:?}")))
    };
    let values = floats(values.into_data())?;
    let mut weight = floats(directions.into_data())?;
    weight.truncate(dim * hidden);
    let sum = |values: &[f32]| values.iter().map(|value| f64::from(*value)).sum::<f64>();
    Ok(Projection {
        weight,
        dim,
        kept: sum(&values[..dim]) / sum(&values).max(f64::MIN_POSITIVE),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn projection_preserves_the_longest_directions() {
        // Three directions in four dimensions; the second moments are 4, 1 and 0.25 (times two of
        // six).
        let vectors = [
            [2.0f32, 0.0, 0.0, 0.0],
            [-2.0, 0.0, 0.0, 0.0],
            [0.0, 0.0, 1.0, 0.0],
            [0.0, 0.0, -1.0, 0.0],
            [0.0, 0.5, 0.0, 0.0],
            [0.0, -0.5, 0.0, 0.0],
        ];
        let Projection { weight, kept, .. } =
            principal(vectors.as_flattened(), 4, 2).expect("it converges");
        let expected = [1.0f32, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0];
        for (found, expected) in weight.iter().zip(expected) {
            assert!((found.abs() - expected).abs() < 1e-5, "{weight:?}");
        }
        assert!((kept - 5.0 / 5.25).abs() < 1e-6, "{kept}");
        assert!(principal(vectors.as_flattened(), 4, 5).is_err());
    }
}
