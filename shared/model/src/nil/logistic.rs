//! L2-regularised logistic regression for some thousand rows of some hundred features.

use pel_kernels::for_each_chunk;

/// The L2 penalty on standardised features; equals scikit-learn's `C = 1`.
const RIDGE: f64 = 1.0;

/// The largest number of Newton steps; 6 or 7 are usual.
const STEPS: usize = 50;

/// The rows of a chunk. Chunk sums are added in order, so the result does not depend on threads.
const CHUNK: usize = 1024;

/// Rows of features, each with its class and its weight.
pub struct DesignMatrix {
    width: usize,
    /// `[rows, width]`; the last feature is 1, for the intercept.
    values: Vec<f64>,
    labels: Vec<bool>,
    /// The weight of each row in means and in the loss.
    row_weights: Vec<f64>,
}

/// What a regression has fitted, in units of the features as they were given.
pub struct Fitted {
    /// The weight of each feature.
    pub weights: Vec<f64>,
    /// The intercept.
    pub intercept: f64,
}

impl DesignMatrix {
    /// An empty matrix of `features` features. The intercept is added as a further one.
    pub fn new(features: usize) -> Self {
        Self {
            width: features + 1,
            values: Vec::new(),
            labels: Vec::new(),
            row_weights: Vec::new(),
        }
    }

    /// Adds a row with a weight, unless one of its features is NaN or infinite.
    ///
    /// # Panics
    /// If the row has another number of features.
    pub fn push(&mut self, features: impl IntoIterator<Item = f32>, label: bool, weight: f64) {
        let before = self.values.len();
        self.values
            .extend(features.into_iter().map(f64::from).chain([1.0]));
        let found = self.values.len() - before;
        assert_eq!(
            found,
            self.width,
            "expected {} features and 1, found {found} values",
            self.width - 1
        );
        if self.values[before..].iter().all(|value| value.is_finite()) {
            self.labels.push(label);
            self.row_weights.push(weight);
        } else {
            self.values.truncate(before);
        }
    }

    /// The mean of each feature; `None` without a row.
    fn means(&self) -> Option<Vec<f64>> {
        let mut sums = vec![0.0; self.width - 1];
        let rows = self.values.chunks_exact(self.width);
        for (row, weight) in rows.zip(&self.row_weights) {
            sums.iter_mut()
                .zip(row)
                .for_each(|(sum, value)| *sum += weight * value);
        }
        let total: f64 = self.row_weights.iter().sum();
        (total > 0.0).then(|| sums.into_iter().map(|sum| sum / total).collect())
    }

    /// Fits the weights of the features by Newton's method on standardised features. The intercept
    /// is not penalised. `None` if all rows have the same label.
    pub fn fit(mut self) -> Option<Fitted> {
        let positive = self.labels.iter().filter(|label| **label).count();
        if positive == 0 || positive == self.labels.len() {
            return None;
        }
        let means = self.means()?;
        let deviations = self.standardise(&means);
        let mut weights = vec![0.0; self.width];
        let mut loss = self.loss(&weights);
        for _ in 0..STEPS {
            let (gradient, hessian) = self.derivatives(&weights);
            let step = solve(hessian, gradient)?;
            // The step is halved until it reduces the loss.
            let halved = |times: i32| {
                let next: Vec<f64> = weights
                    .iter()
                    .zip(&step)
                    .map(|(weight, step)| weight - step / 2f64.powi(times))
                    .collect();
                (self.loss(&next), next)
            };
            let Some((next_loss, next)) = (0..30).map(halved).find(|(next, _)| *next < loss) else {
                break;
            };
            let converged = loss - next_loss <= 1e-12 * loss;
            loss = next_loss;
            weights = next;
            if converged {
                break;
            }
        }
        let own: Vec<f64> = weights
            .iter()
            .zip(deviations)
            .map(|(weight, deviation)| weight / deviation)
            .collect();
        let intercept = weights[self.width - 1] - dot(&own, &means);
        Some(Fitted {
            weights: own,
            intercept,
        })
    }

    /// Scales each feature to mean 0 and standard deviation 1. Returns the deviations it divided
    /// by: 1 for a constant feature.
    fn standardise(&mut self, means: &[f64]) -> Vec<f64> {
        let width = self.width;
        let total: f64 = self.row_weights.iter().sum();
        let mut sums = vec![0.0; width - 1];
        for (row, weight) in self.values.chunks_exact(width).zip(&self.row_weights) {
            sums.iter_mut()
                .zip(row)
                .zip(means)
                .for_each(|((sum, value), mean)| *sum += weight * (value - mean).powi(2));
        }
        let deviation = |sum: f64| if sum > 0.0 { (sum / total).sqrt() } else { 1.0 };
        let deviations: Vec<f64> = sums.into_iter().map(deviation).collect();
        for row in self.values.chunks_exact_mut(width) {
            let scales = means.iter().zip(&deviations);
            row.iter_mut()
                .zip(scales)
                .for_each(|(value, (mean, deviation))| *value = (*value - mean) / deviation);
        }
        deviations
    }

    /// Each row with its label as a number and its weight.
    fn rows(&self) -> Vec<(&[f64], f64, f64)> {
        let labels = self
            .labels
            .iter()
            .map(|label| if *label { 1.0 } else { 0.0 });
        self.values
            .chunks_exact(self.width)
            .zip(labels)
            .zip(&self.row_weights)
            .map(|((row, label), weight)| (row, label, *weight))
            .collect()
    }

    fn loss(&self, weights: &[f64]) -> f64 {
        // ln(1 + e^-z) for a positive row, ln(1 + e^z) for a negative one, without overflow.
        let row_loss = |(row, label, weight): (&[f64], f64, f64)| {
            let z = dot(row, weights) * (1.0 - 2.0 * label);
            weight * (z.max(0.0) + (-z.abs()).exp().ln_1p())
        };
        let squares = weights[..self.width - 1]
            .iter()
            .map(|weight| weight * weight)
            .sum::<f64>();
        self.rows().into_iter().map(row_loss).sum::<f64>() + RIDGE * squares / 2.0
    }

    /// The gradient `[width]` and the lower triangle of the Hessian `[width, width]`.
    fn derivatives(&self, weights: &[f64]) -> (Vec<f64>, Vec<f64>) {
        let width = self.width;
        let parts = for_each_chunk(&self.rows(), CHUNK, |_, rows| {
            let mut gradient = vec![0.0; width];
            let mut hessian = vec![0.0; width * width];
            for (row, label, weight) in rows {
                let probability = 1.0 / (1.0 + (-dot(row, weights)).exp());
                let variance = weight * probability * (1.0 - probability);
                for (at, value) in row.iter().enumerate() {
                    gradient[at] += weight * (probability - label) * value;
                    let scaled = variance * value;
                    let lower = &mut hessian[at * width..=at * width + at];
                    lower
                        .iter_mut()
                        .zip(*row)
                        .for_each(|(sum, other)| *sum += scaled * other);
                }
            }
            (gradient, hessian)
        });
        let mut gradient = vec![0.0; width];
        let mut hessian = vec![0.0; width * width];
        for at in 0..width - 1 {
            gradient[at] = RIDGE * weights[at];
            hessian[at * width + at] = RIDGE;
        }
        for (chunk_gradient, chunk_hessian) in parts {
            gradient
                .iter_mut()
                .zip(chunk_gradient)
                .for_each(|(sum, part)| *sum += part);
            hessian
                .iter_mut()
                .zip(chunk_hessian)
                .for_each(|(sum, part)| *sum += part);
        }
        (gradient, hessian)
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Solves a symmetric positive definite system by Cholesky decomposition. `matrix` holds the lower
/// triangle `[width, width]`. `None` if the matrix is not positive definite.
fn solve(mut matrix: Vec<f64>, mut right: Vec<f64>) -> Option<Vec<f64>> {
    let width = right.len();
    for row in 0..width {
        let (above, own) = matrix.split_at_mut(row * width);
        for column in 0..row {
            let other = &above[column * width..=column * width + column];
            own[column] = (own[column] - dot(&own[..column], &other[..column])) / other[column];
        }
        let pivot = own[row] - dot(&own[..row], &own[..row]);
        if !pivot.is_finite() || pivot < f64::MIN_POSITIVE {
            return None;
        }
        own[row] = pivot.sqrt();
        right[row] = (right[row] - dot(&own[..row], &right[..row])) / own[row];
    }
    for row in (0..width).rev() {
        right[row] /= matrix[row * width + row];
        let value = right[row];
        let lower = &matrix[row * width..row * width + row];
        right[..row]
            .iter_mut()
            .zip(lower)
            .for_each(|(sum, factor)| *sum -= value * factor);
    }
    Some(right)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Deserialize;

    #[derive(Deserialize)]
    struct Golden {
        regressions: Vec<Case>,
    }

    #[derive(Deserialize)]
    struct Case {
        /// Two numbers, yes or no, a number, yes or no, and two numbers that the first case does
        /// not have.
        features: Vec<(f32, f32, bool, f32, bool, Vec<f32>)>,
        known: Vec<bool>,
        /// The weights of all features but the first, divided by that of the first; the intercept
        /// that makes their mean zero.
        weights: Vec<f64>,
    }

    #[test]
    fn fit_equals_scikit_learn() {
        let golden: Golden = serde_json::from_str(include_str!("../../../tests/goldens/nil.json"))
            .expect("the golden file");
        for Case {
            features,
            known,
            weights,
        } in golden.regressions
        {
            let width = weights.len();
            let mut matrix = DesignMatrix::new(width);
            for ((one, two, three, four, five, more), known) in features.into_iter().zip(known) {
                let [three, five] = [three, five].map(|yes| f32::from(u8::from(yes)));
                let row = [one, two, three, four, five].into_iter().chain(more);
                matrix.push(row.take(width), known, 1.0);
            }
            let means = matrix.means().expect("there are rows");
            let fitted = matrix.fit().expect("both classes have rows");
            let scaled: Vec<f64> = fitted.weights[1..]
                .iter()
                .map(|weight| weight / fitted.weights[0])
                .collect();
            let intercept = -dot(&scaled, &means[1..]);
            for (found, expected) in scaled.iter().chain([&intercept]).zip(weights) {
                assert!((found - expected).abs() < 1e-4, "{found} is not {expected}");
            }
        }
    }

    #[test]
    fn solve_reads_only_the_lower_triangle() {
        // 4x + 2y = 10, 2x + 5y = 13.
        let solved =
            solve(vec![4.0, f64::NAN, 2.0, 5.0], vec![10.0, 13.0]).expect("positive definite");
        assert!(
            (solved[0] - 1.5).abs() < 1e-12 && (solved[1] - 2.0).abs() < 1e-12,
            "{solved:?}"
        );
        assert_eq!(
            solve(vec![1.0, 0.0, 1.0, 1.0], vec![1.0, 1.0]),
            None,
            "singular"
        );
        assert_eq!(solve(vec![f64::NAN], vec![1.0]), None);
    }

    #[test]
    fn a_row_of_weight_2_counts_as_two_rows() {
        let rows = [(0.5, true), (0.25, false), (1.0, true), (0.75, false)];
        let (mut weighted, mut repeated) = (DesignMatrix::new(1), DesignMatrix::new(1));
        for (at, (value, label)) in rows.into_iter().enumerate() {
            let times = if at == 3 { 2 } else { 1 };
            weighted.push([value], label, f64::from(times));
            (0..times).for_each(|_| repeated.push([value], label, 1.0));
        }
        let [weighted, repeated] =
            [weighted, repeated].map(|matrix| matrix.fit().expect("both classes"));
        assert!((weighted.weights[0] - repeated.weights[0]).abs() < 1e-9);
        assert!((weighted.intercept - repeated.intercept).abs() < 1e-9);
        // The mean probability is the share of positive rows, since the intercept is not penalised.
        let probability = |value: f32| {
            let logit = repeated.weights[0] * f64::from(value) + repeated.intercept;
            1.0 / (1.0 + (-logit).exp())
        };
        let sum: f64 = [0.5, 0.25, 1.0, 0.75, 0.75].map(probability).iter().sum();
        assert!((sum - 2.0).abs() < 1e-6, "{sum}");
    }

    #[test]
    fn derivatives_equal_finite_differences() {
        let mut matrix = DesignMatrix::new(2);
        for (features, label) in [
            ([0.5, -1.0], true),
            ([2.0, 0.25], false),
            ([-1.0, 3.0], true),
        ] {
            matrix.push(features, label, 1.0);
        }
        matrix.push([f32::NAN, 0.0], true, 1.0);
        assert_eq!(matrix.labels.len(), 3);
        assert_eq!(matrix.row_weights, [1.0; 3]);
        assert_eq!(matrix.means(), Some(vec![0.5, 0.75]));
        let at = [0.3, -0.2, 0.1];
        let moved = |by: &[(usize, f64)]| {
            let mut weights = at;
            by.iter().for_each(|(place, step)| weights[*place] += step);
            matrix.loss(&weights)
        };
        let (gradient, hessian) = matrix.derivatives(&at);
        let step = 1e-4;
        for one in 0..3 {
            let slope = (moved(&[(one, step)]) - moved(&[(one, -step)])) / (2.0 * step);
            assert!(
                (slope - gradient[one]).abs() < 1e-6,
                "{slope} is not {}",
                gradient[one]
            );
            for other in 0..=one {
                let both = |a: f64, b: f64| moved(&[(one, a * step), (other, b * step)]);
                let curve = (both(1.0, 1.0) - both(1.0, -1.0) - both(-1.0, 1.0) + both(-1.0, -1.0))
                    / (4.0 * step * step);
                assert!(
                    (curve - hessian[one * 3 + other]).abs() < 1e-5,
                    "{curve} at {one} and {other}"
                );
            }
        }
    }
}
