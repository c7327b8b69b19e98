//! What tells, beside the best score, whether the knowledge base has a mention's concept.
//!
//! Scores are too strict with very short mentions and with those that are spelled like a name; and a best candidate far before the
//! second is more often right. A logistic regression over a calibration split says how much each of these is worth in units of
//! the score, so that the threshold stays one on the scale of scores.

use crate::lexical::overlap;
use crate::score::Candidate;
use serde::{Deserialize, Serialize};

/// A mention of fewer characters is brief; most are short forms.
const BRIEF: usize = 5;

/// The strength of the ridge, with features of deviation 1: scikit-learn's `C = 1`.
const RIDGE: f64 = 1.0;

/// Steps of Newton's method at most; six or seven are usual.
const STEPS: usize = 50;

/// The weights: the score's, the signs', and the constant.
const WEIGHTS: usize = 5;

/// What a mention and its candidates show.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Signs {
    /// The best score.
    pub score: f32,
    /// How far it is before that of the second concept; the score itself where there is none.
    pub margin: f32,
    /// Whether the mention has fewer than five characters.
    pub brief: bool,
    /// The largest share of character 3-grams that the mention has in common with a name of the best candidate, 0 to 1.
    pub overlap: f32,
}

/// What each sign adds to the best score, in units of the score.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lift {
    /// For a margin of 1.
    pub margin: f32,
    /// For a brief mention.
    pub brief: f32,
    /// For an overlap of 1.
    pub overlap: f32,
    /// For every mention: the others taken together add nothing to the average mention of the calibration split.
    pub base: f32,
}

impl Signs {
    /// The signs of a mention, of its candidates, best first, and of the names of the best; nothing without a candidate.
    pub fn new<'a>(mention: &str, candidates: &[Candidate], names: impl IntoIterator<Item = &'a str>) -> Option<Self> {
        let score = candidates.first()?.score;
        let margin = candidates.get(1).map_or(score, |second| score - second.score);
        let overlap = names.into_iter().map(|name| overlap(mention, name)).fold(0.0, f32::max);
        Some(Self { score, margin, brief: mention.chars().count() < BRIEF, overlap })
    }

    fn features(&self) -> [f64; WEIGHTS] {
        let brief = if self.brief { 1.0 } else { 0.0 };
        [self.score, self.margin, brief, self.overlap, 1.0].map(f64::from)
    }
}

impl Lift {
    /// What is added to the best score.
    pub fn of(&self, signs: &Signs) -> f32 {
        let brief = if signs.brief { self.brief } else { 0.0 };
        self.margin * signs.margin + brief + self.overlap * signs.overlap + self.base
    }

    /// The lift by which mentions whose concept is known (`true`) are best told from the others: the weights of a logistic
    /// regression, divided by the score's. `None` if only one of the kinds is there, or a higher score does not speak for a concept.
    pub fn fit(mentions: &[(Signs, bool)]) -> Option<Self> {
        let rows: Vec<([f64; WEIGHTS], f64)> = mentions
            .iter()
            .filter(|(signs, _)| signs.features().iter().all(|value| value.is_finite()))
            .map(|(signs, known)| (signs.features(), if *known { 1.0 } else { 0.0 }))
            .collect();
        let [score, weights @ .., _] = logistic(&rows)?;
        let worths = weights.map(|weight| weight / score);
        let added =
            rows.iter().map(|([_, signs @ .., _], _)| signs.iter().zip(worths).map(|(sign, worth)| sign * worth));
        let base = -added.flatten().sum::<f64>() / rows.len() as f64;
        let [margin, brief, overlap] = worths.map(|worth| worth as f32);
        (score > 0.0 && base.is_finite()).then_some(Self { margin, brief, overlap, base: base as f32 })
    }
}

/// The weights of a logistic regression with a ridge on all but the constant, by Newton's method; those of features of deviation 1 are
/// sought, those of the features as they are returned.
fn logistic(rows: &[([f64; WEIGHTS], f64)]) -> Option<[f64; WEIGHTS]> {
    let mut rows = rows.to_vec();
    let count = rows.len() as f64;
    let known = rows.iter().map(|(_, known)| known).sum::<f64>();
    if known == 0.0 || known == count {
        return None;
    }
    let mut deviations = [1.0; WEIGHTS];
    for (at, deviation) in deviations.iter_mut().enumerate().take(WEIGHTS - 1) {
        let mean = rows.iter().map(|(row, _)| row[at]).sum::<f64>() / count;
        let spread = (rows.iter().map(|(row, _)| (row[at] - mean).powi(2)).sum::<f64>() / count).sqrt();
        *deviation = if spread > 0.0 { spread } else { 1.0 };
        rows.iter_mut().for_each(|(row, _)| row[at] = (row[at] - mean) / *deviation);
    }
    let mut weights = [0.0; WEIGHTS];
    let mut loss = loss_of(&rows, &weights);
    for _ in 0..STEPS {
        let (gradient, hessian) = derivatives(&rows, &weights);
        let step = solve(hessian, gradient)?;
        // Half a step where a whole one overshoots.
        let shorter = |half: i32| {
            let mut next = weights;
            next.iter_mut().zip(step).for_each(|(weight, step)| *weight -= step / 2f64.powi(half));
            (loss_of(&rows, &next), next)
        };
        let Some((next_loss, next)) = (0..30).map(shorter).find(|(next, _)| *next < loss) else { break };
        let settled = loss - next_loss <= 1e-12 * loss;
        (loss, weights) = (next_loss, next);
        if settled {
            break;
        }
    }
    let unscaled = std::array::from_fn(|at| weights[at] / deviations[at]);
    Some(unscaled)
}

fn dot(a: &[f64; WEIGHTS], b: &[f64; WEIGHTS]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn loss_of(rows: &[([f64; WEIGHTS], f64)], weights: &[f64; WEIGHTS]) -> f64 {
    // ln(1 + e^-z) for a known concept, ln(1 + e^z) for another, without overflow.
    let of = |(row, known): &([f64; WEIGHTS], f64)| {
        let z = dot(row, weights) * (1.0 - 2.0 * known);
        z.max(0.0) + (-z.abs()).exp().ln_1p()
    };
    let ridge = weights[..WEIGHTS - 1].iter().map(|weight| weight * weight).sum::<f64>();
    rows.iter().map(of).sum::<f64>() + RIDGE * ridge / 2.0
}

fn derivatives(
    rows: &[([f64; WEIGHTS], f64)],
    weights: &[f64; WEIGHTS],
) -> ([f64; WEIGHTS], [[f64; WEIGHTS]; WEIGHTS]) {
    let (mut gradient, mut hessian) = ([0.0; WEIGHTS], [[0.0; WEIGHTS]; WEIGHTS]);
    for at in 0..WEIGHTS - 1 {
        gradient[at] = RIDGE * weights[at];
        hessian[at][at] = RIDGE;
    }
    for (row, known) in rows {
        let likely = 1.0 / (1.0 + (-dot(row, weights)).exp());
        for at in 0..WEIGHTS {
            gradient[at] += (likely - known) * row[at];
            for other in 0..WEIGHTS {
                hessian[at][other] += likely * (1.0 - likely) * row[at] * row[other];
            }
        }
    }
    (gradient, hessian)
}

/// The solution of a positive definite system, by elimination.
fn solve(mut matrix: [[f64; WEIGHTS]; WEIGHTS], mut right: [f64; WEIGHTS]) -> Option<[f64; WEIGHTS]> {
    for at in 0..WEIGHTS {
        let pivot = matrix[at][at];
        if pivot.abs() < f64::MIN_POSITIVE || !pivot.is_finite() {
            return None;
        }
        for below in at + 1..WEIGHTS {
            let factor = matrix[below][at] / pivot;
            let upper = matrix[at];
            matrix[below].iter_mut().zip(upper).skip(at).for_each(|(value, upper)| *value -= factor * upper);
            right[below] -= factor * right[at];
        }
    }
    for at in (0..WEIGHTS).rev() {
        let rest: f64 = (at + 1..WEIGHTS).map(|column| matrix[at][column] * right[column]).sum();
        right[at] = (right[at] - rest) / matrix[at][at];
    }
    Some(right)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kb::ConceptId;

    #[derive(Deserialize)]
    struct Golden {
        lift: Vec<Case>,
    }

    #[derive(Deserialize)]
    struct Case {
        /// Score, margin, brief, overlap.
        signs: Vec<(f32, f32, bool, f32)>,
        known: Vec<bool>,
        /// Of margin, brief, overlap and the average mention, in units of the score.
        lift: [f64; 4],
    }

    fn signs((score, margin, brief, overlap): (f32, f32, bool, f32)) -> Signs {
        Signs { score, margin, brief, overlap }
    }

    #[test]
    fn the_lift_is_scikit_learns() {
        let golden: Golden =
            serde_json::from_str(include_str!("../../../tests/goldens/nil.json")).expect("the golden file");
        assert!(!golden.lift.is_empty());
        for case in golden.lift {
            let mentions: Vec<(Signs, bool)> = case.signs.into_iter().map(signs).zip(case.known).collect();
            let lift = Lift::fit(&mentions).expect("both kinds are there");
            for (found, expected) in [lift.margin, lift.brief, lift.overlap, lift.base].iter().zip(case.lift) {
                assert!((f64::from(*found) - expected).abs() < 1e-4, "{lift:?} is not {expected}");
            }
        }
    }

    #[test]
    fn nothing_is_learned_from_one_kind_or_against_the_score() {
        let of = |score, known| (signs((score, 0.25, false, 0.5)), known);
        assert_eq!(Lift::fit(&[]), None);
        assert_eq!(Lift::fit(&[of(0.5, true), of(0.75, true)]), None);
        assert_eq!(Lift::fit(&[of(0.25, true), of(0.75, false), of(0.5, true), of(0.5, false)]), None);
        // What does not vary is worth nothing; what can be told apart without error still has finite weights.
        let lift = Lift::fit(&[of(0.25, false), of(0.75, true)]).expect("the score speaks");
        assert_eq!(lift, Lift { margin: 0.0, brief: 0.0, overlap: 0.0, base: 0.0 });
        let broken = (signs((f32::NAN, 0.0, false, 0.0)), true);
        assert_eq!(Lift::fit(&[broken, of(0.25, false), of(0.75, true)]), Some(lift));
    }

    #[test]
    fn signs_are_those_of_the_best_candidate() {
        let candidate = |id, score| Candidate { concept: ConceptId(id), score };
        let found = Signs::new("FeVer", &[candidate(3, 0.75), candidate(1, 0.5)], ["heat", "fevers"]);
        // " fe", "fev", "eve", "ver" of five and six.
        let expected = Signs { score: 0.75, margin: 0.25, brief: false, overlap: 8.0 / 11.0 };
        assert_eq!(found, Some(expected));
        let alone = Signs::new("RAS", &[candidate(3, 0.75)], []);
        assert_eq!(alone, Some(Signs { score: 0.75, margin: 0.75, brief: true, overlap: 0.0 }));
        assert_eq!(Signs::new("RAS", &[], ["ras"]), None);
        let lift = Lift { margin: 0.5, brief: -0.25, overlap: 1.0, base: 2.0 };
        assert_eq!(lift.of(&Signs { score: 9.0, margin: 0.5, brief: true, overlap: 0.25 }), 2.25);
    }
}
