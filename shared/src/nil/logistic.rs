//! Logistic regression with a ridge: a few thousand rows, a few hundred features.

use crate::kernels::for_each_chunk;

/// The strength of the ridge, with features of deviation 1: scikit-learn's `C = 1`.
const RIDGE: f64 = 1.0;

/// Steps of Newton's method at most; six or seven are usual.
const STEPS: usize = 50;

/// Rows whose derivatives are added up together; their sums are added in order, so that threads change nothing.
const ROWS: usize = 1024;

/// Rows of features with their answers.
pub struct Rows {
    width: usize,
    /// `[rows, width]`; the last feature is 1, for the constant.
    values: Vec<f64>,
    answers: Vec<bool>,
}

impl Rows {
    /// None yet, of so many features; the constant's comes on top.
    pub fn new(features: usize) -> Self {
        Self { width: features + 1, values: Vec::new(), answers: Vec::new() }
    }

    /// Adds a row, unless a feature of it is no number.
    pub fn push(&mut self, features: impl IntoIterator<Item = f32>, answer: bool) {
        let before = self.values.len();
        self.values.extend(features.into_iter().map(f64::from).chain([1.0]));
        assert_eq!(self.values.len() - before, self.width, "all rows have the same features");
        match self.values[before..].iter().all(|value| value.is_finite()) {
            true => self.answers.push(answer),
            false => self.values.truncate(before),
        }
    }

    /// The mean of each feature; nothing without a row.
    pub fn means(&self) -> Option<Vec<f64>> {
        let mut sums = vec![0.0; self.width - 1];
        for row in self.values.chunks_exact(self.width) {
            sums.iter_mut().zip(row).for_each(|(sum, value)| *sum += value);
        }
        let count = self.answers.len() as f64;
        (count > 0.0).then(|| sums.into_iter().map(|sum| sum / count).collect())
    }

    /// The weights of the features, without the constant's, which the ridge leaves alone: by Newton's method, over features of
    /// deviation 1. `None` if all answers are the same.
    pub fn weights(mut self) -> Option<Vec<f64>> {
        let yes = self.answers.iter().filter(|answer| **answer).count();
        if yes == 0 || yes == self.answers.len() {
            return None;
        }
        let deviations = self.standardise()?;
        let mut weights = vec![0.0; self.width];
        let mut loss = self.loss(&weights);
        for _ in 0..STEPS {
            let (gradient, hessian) = self.derivatives(&weights);
            let step = solve(hessian, gradient)?;
            // Half a step where a whole one overshoots.
            let shorter = |half: i32| {
                let next: Vec<f64> =
                    weights.iter().zip(&step).map(|(weight, step)| weight - step / 2f64.powi(half)).collect();
                (self.loss(&next), next)
            };
            let Some((next_loss, next)) = (0..30).map(shorter).find(|(next, _)| *next < loss) else { break };
            let settled = loss - next_loss <= 1e-12 * loss;
            (loss, weights) = (next_loss, next);
            if settled {
                break;
            }
        }
        Some(weights.iter().zip(deviations).map(|(weight, deviation)| weight / deviation).collect())
    }

    /// Brings each feature to mean 0 and deviation 1, and gives what the deviations were; 1 for one that does not vary.
    fn standardise(&mut self) -> Option<Vec<f64>> {
        let (width, count, means) = (self.width, self.answers.len() as f64, self.means()?);
        let mut spreads = vec![0.0; width - 1];
        for row in self.values.chunks_exact(width) {
            spreads.iter_mut().zip(row).zip(&means).for_each(|((sum, value), mean)| *sum += (value - mean).powi(2));
        }
        let deviation = |spread: f64| if spread > 0.0 { (spread / count).sqrt() } else { 1.0 };
        let deviations: Vec<f64> = spreads.into_iter().map(deviation).collect();
        for row in self.values.chunks_exact_mut(width) {
            let scales = means.iter().zip(&deviations);
            row.iter_mut().zip(scales).for_each(|(value, (mean, deviation))| *value = (*value - mean) / deviation);
        }
        Some(deviations)
    }

    fn rows(&self) -> Vec<(&[f64], f64)> {
        let answers = self.answers.iter().map(|answer| if *answer { 1.0 } else { 0.0 });
        self.values.chunks_exact(self.width).zip(answers).collect()
    }

    fn loss(&self, weights: &[f64]) -> f64 {
        // ln(1 + e^-z) for yes, ln(1 + e^z) for no, without overflow.
        let of = |(row, answer): (&[f64], f64)| {
            let z = dot(row, weights) * (1.0 - 2.0 * answer);
            z.max(0.0) + (-z.abs()).exp().ln_1p()
        };
        let ridge = weights[..self.width - 1].iter().map(|weight| weight * weight).sum::<f64>();
        self.rows().into_iter().map(of).sum::<f64>() + RIDGE * ridge / 2.0
    }

    /// The gradient, and the lower half of the second derivatives `[width, width]`.
    fn derivatives(&self, weights: &[f64]) -> (Vec<f64>, Vec<f64>) {
        let width = self.width;
        let parts = for_each_chunk(&self.rows(), ROWS, |_, rows| {
            let (mut gradient, mut hessian) = (vec![0.0; width], vec![0.0; width * width]);
            for (row, answer) in rows {
                let likely = 1.0 / (1.0 + (-dot(row, weights)).exp());
                let curve = likely * (1.0 - likely);
                for (at, value) in row.iter().enumerate() {
                    gradient[at] += (likely - answer) * value;
                    let scaled = curve * value;
                    let lower = &mut hessian[at * width..=at * width + at];
                    lower.iter_mut().zip(*row).for_each(|(sum, other)| *sum += scaled * other);
                }
            }
            (gradient, hessian)
        });
        let (mut gradient, mut hessian) = (vec![0.0; width], vec![0.0; width * width]);
        for at in 0..width - 1 {
            gradient[at] = RIDGE * weights[at];
            hessian[at * width + at] = RIDGE;
        }
        for (own_gradient, own_hessian) in parts {
            gradient.iter_mut().zip(own_gradient).for_each(|(sum, own)| *sum += own);
            hessian.iter_mut().zip(own_hessian).for_each(|(sum, own)| *sum += own);
        }
        (gradient, hessian)
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// The solution of a symmetric positive definite system, whose lower half is given, by Cholesky's decomposition.
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
        right[..row].iter_mut().zip(lower).for_each(|(sum, factor)| *sum -= value * factor);
    }
    Some(right)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_system_is_solved() {
        // 4x + 2y = 10, 2x + 5y = 13; above the diagonal stands what nobody reads.
        let solved = solve(vec![4.0, f64::NAN, 2.0, 5.0], vec![10.0, 13.0]).expect("positive definite");
        assert!((solved[0] - 1.5).abs() < 1e-12 && (solved[1] - 2.0).abs() < 1e-12, "{solved:?}");
        assert_eq!(solve(vec![1.0, 0.0, 1.0, 1.0], vec![1.0, 1.0]), None, "singular");
        assert_eq!(solve(vec![f64::NAN], vec![1.0]), None);
    }

    #[test]
    fn derivatives_are_those_of_the_loss() {
        let mut rows = Rows::new(2);
        for (features, answer) in [([0.5, -1.0], true), ([2.0, 0.25], false), ([-1.0, 3.0], true)] {
            rows.push(features, answer);
        }
        rows.push([f32::NAN, 0.0], true);
        assert_eq!((rows.answers.len(), rows.means()), (3, Some(vec![0.5, 0.75])));
        let at = [0.3, -0.2, 0.1];
        let moved = |by: &[(usize, f64)]| {
            let mut weights = at;
            by.iter().for_each(|(place, step)| weights[*place] += step);
            rows.loss(&weights)
        };
        let (gradient, hessian) = rows.derivatives(&at);
        let step = 1e-4;
        for one in 0..3 {
            let slope = (moved(&[(one, step)]) - moved(&[(one, -step)])) / (2.0 * step);
            assert!((slope - gradient[one]).abs() < 1e-6, "{slope} is not {}", gradient[one]);
            for other in 0..=one {
                let both = |a: f64, b: f64| moved(&[(one, a * step), (other, b * step)]);
                let curve =
                    (both(1.0, 1.0) - both(1.0, -1.0) - both(-1.0, 1.0) + both(-1.0, -1.0)) / (4.0 * step * step);
                assert!((curve - hessian[one * 3 + other]).abs() < 1e-5, "{curve} at {one} and {other}");
            }
        }
    }
}
