//! How well probabilities say how often the best candidate is right.

use super::Share;
use serde::Serialize;

/// The bins of a reliability diagram.
pub const BINS: usize = 15;

/// The best candidate of a mention, with its probability. A mention without a candidate has
/// probability 0 and is not right.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Forecast {
    /// The probability that the best candidate is right.
    pub probability: f32,
    /// Whether it is.
    pub right: bool,
}

/// Mentions with similar probabilities.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Bin {
    /// The mean of their probabilities.
    pub probability: f64,
    /// How many of them are right.
    pub right: Share,
}

/// A point of the risk-coverage curve (El-Yaniv and Wiener, 2010): the mentions with the highest
/// probabilities are linked, the others are NIL.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct RiskPoint {
    /// The lowest probability that is linked.
    pub threshold: f32,
    /// The share of mentions that are linked.
    pub coverage: f64,
    /// The share of links that are wrong.
    pub risk: f64,
}

/// Bins with an equal number of mentions, in ascending order of probabilities. Equal probabilities
/// may fall into two bins. Empty without mentions.
pub fn reliability(forecasts: &[Forecast], bins: usize) -> Vec<Bin> {
    let ascending = ascending(forecasts);
    let bins = bins.min(ascending.len());
    let end = |bin: usize| bin * ascending.len() / bins;
    (0..bins)
        .map(|bin| {
            let own = &ascending[end(bin)..end(bin + 1)];
            let sum: f64 = own.iter().map(|one| f64::from(one.probability)).sum();
            Bin {
                probability: sum / own.len() as f64,
                right: own.iter().map(|one| one.right).collect(),
            }
        })
        .collect()
}

/// The expected calibration error: the mean difference between the probability and the share of
/// right candidates of each bin (Guo et al. 2017, eq. 3). `None` without mentions.
pub fn calibration_error(bins: &[Bin]) -> Option<f64> {
    let all: usize = bins.iter().map(|bin| bin.right.of).sum();
    let error = |bin: &Bin| {
        let right = bin.right.value().unwrap_or(0.0);
        bin.right.of as f64 * (bin.probability - right).abs()
    };
    (all > 0).then(|| bins.iter().map(error).sum::<f64>() / all as f64)
}

/// The Brier score: the mean squared difference between probability and outcome. `None` without
/// mentions.
pub fn brier(forecasts: &[Forecast]) -> Option<f64> {
    let square = |one: &Forecast| {
        let outcome = if one.right { 1.0 } else { 0.0 };
        (f64::from(one.probability) - outcome).powi(2)
    };
    let sum: f64 = forecasts.iter().map(square).sum();
    (!forecasts.is_empty()).then(|| sum / forecasts.len() as f64)
}

/// The probability that a wrong forecast has at least in [`log_loss`], so that it is finite.
const LEAST: f64 = 1e-6;

/// The log loss: the mean negative logarithm of the probability of what came true, which counts as
/// at least one in a million. `None` without mentions.
pub fn log_loss(forecasts: &[Forecast]) -> Option<f64> {
    let loss = |one: &Forecast| {
        let probability = f64::from(one.probability);
        let of_outcome = if one.right {
            probability
        } else {
            1.0 - probability
        };
        -of_outcome.max(LEAST).ln()
    };
    let sum: f64 = forecasts.iter().map(loss).sum();
    (!forecasts.is_empty()).then(|| sum / forecasts.len() as f64)
}

/// The risk-coverage curve, one point for each distinct probability, in ascending order of
/// coverage.
pub fn risk_coverage(forecasts: &[Forecast]) -> Vec<RiskPoint> {
    let mut descending = ascending(forecasts);
    descending.reverse();
    let (mut linked, mut wrong) = (0, 0);
    let equal = descending.chunk_by(|one, other| one.probability == other.probability);
    equal
        .map(|step| {
            linked += step.len();
            wrong += step.iter().filter(|one| !one.right).count();
            RiskPoint {
                threshold: step[0].probability,
                coverage: linked as f64 / forecasts.len() as f64,
                risk: wrong as f64 / linked as f64,
            }
        })
        .collect()
}

/// The area under the risk-coverage curve: the mean risk over all coverages; lower is better.
/// `None` without mentions.
pub fn area_under_risk(curve: &[RiskPoint]) -> Option<f64> {
    let mut before = 0.0;
    let step = |point: &RiskPoint| {
        let width = point.coverage - before;
        before = point.coverage;
        width * point.risk
    };
    (!curve.is_empty()).then(|| curve.iter().map(step).sum())
}

/// The largest coverage at which a share of the links is right; `None` if no threshold has it.
pub fn coverage_at_precision(curve: &[RiskPoint], precision: f64) -> Option<f64> {
    let reached = |point: &&RiskPoint| 1.0 - point.risk >= precision;
    curve.iter().rfind(reached).map(|point| point.coverage)
}

fn ascending(forecasts: &[Forecast]) -> Vec<Forecast> {
    let mut ascending = forecasts.to_vec();
    // Of equal probabilities the right ones come last: the order of the mentions says nothing.
    ascending.sort_by(|one, other| {
        let by_probability = one.probability.total_cmp(&other.probability);
        by_probability.then(one.right.cmp(&other.right))
    });
    ascending
}

#[cfg(test)]
mod tests {
    use super::*;

    fn forecasts(all: &[(f32, bool)]) -> Vec<Forecast> {
        all.iter()
            .map(|(probability, right)| Forecast {
                probability: *probability,
                right: *right,
            })
            .collect()
    }

    #[test]
    fn error_and_brier_score_by_hand() {
        let four = forecasts(&[(0.75, true), (0.25, false), (0.25, true), (0.75, true)]);
        let bins = reliability(&four, 2);
        let expected = [(0.25, 1), (0.75, 2)].map(|(probability, hits)| Bin {
            probability,
            right: Share { hits, of: 2 },
        });
        assert_eq!(bins, expected);
        // (|0.25 - 0.5| + |0.75 - 1|) / 2
        assert_eq!(calibration_error(&bins), Some(0.25));
        // (3 · 0.0625 + 0.5625) / 4
        assert_eq!(brier(&four), Some(0.1875));
        assert_eq!(reliability(&four, 9).len(), 4);
        assert_eq!(reliability(&[], 9), []);
        assert_eq!((calibration_error(&[]), brier(&[])), (None, None));
        // Three times the probability of the outcome is 0.75, once 0.25.
        let expected = -(3.0 * 0.75f64.ln() + 0.25f64.ln()) / 4.0;
        let loss = log_loss(&four).expect("a loss");
        assert!((loss - expected).abs() < 1e-12, "{loss}");
        let surely_wrong = forecasts(&[(1.0, false), (0.0, false)]);
        let loss = log_loss(&surely_wrong).expect("a loss");
        assert!((loss - 1e6f64.ln() / 2.0).abs() < 1e-9, "{loss}");
        assert_eq!(log_loss(&[]), None);
    }

    #[test]
    fn risk_grows_with_coverage_by_hand() {
        let four = forecasts(&[(0.9, true), (0.5, false), (0.5, true), (0.1, false)]);
        let curve = risk_coverage(&four);
        let points: Vec<(f64, f64)> = curve
            .iter()
            .map(|point| (point.coverage, point.risk))
            .collect();
        assert_eq!(points, [(0.25, 0.0), (0.75, 1.0 / 3.0), (1.0, 0.5)]);
        // 0.25 · 0 + 0.5 · 1/3 + 0.25 · 0.5
        let area = area_under_risk(&curve).expect("a curve");
        assert!((area - 7.0 / 24.0).abs() < 1e-12);
        assert_eq!(coverage_at_precision(&curve, 1.0), Some(0.25));
        assert_eq!(coverage_at_precision(&curve, 0.6), Some(0.75));
        assert_eq!(coverage_at_precision(&curve[1..], 0.9), None);
        assert_eq!(area_under_risk(&[]), None);
    }
}
