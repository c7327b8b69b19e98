//! A linear model over features of a mention and its candidates, which improves NIL prediction.
//!
//! The best score alone rejects too many short mentions and too many that are spelled like a name.
//! A large margin to the second candidate makes a link more likely to be right. Some semantic types
//! are rarely in a knowledge base, which the mention's vector shows. A logistic regression on a
//! calibration split weighs these features. Its weights are divided by the score's weight, so the
//! threshold keeps the unit of the score.

use super::logistic::Rows;
use crate::lexical::Spelling;
use crate::score::Candidate;
use serde::{Deserialize, Serialize};

/// A mention with fewer characters is short; most of these are abbreviations.
const SHORT_BELOW: usize = 5;

/// The fewest mentions of the rarer class for each value of the vector, against overfitting.
const MENTIONS_PER_VALUE: usize = 20;

/// The number of scalar features, the score included.
const SCALARS: usize = 5;

/// The features of a mention and its candidates.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Signs {
    /// The score of the best candidate.
    pub score: f32,
    /// The difference to the score of the second candidate, or the score itself without one.
    pub margin: f32,
    /// Whether the mention has fewer than 5 characters.
    pub brief: bool,
    /// The largest Dice coefficient of character 3-grams between the mention and a name of the best
    /// candidate, 0 to 1.
    pub overlap: f32,
    /// Whether the mention is a name of the best candidate after normalisation.
    pub named: bool,
    /// The mention's vector `[dim]`, of unit length.
    pub meaning: Vec<f32>,
}

/// The weights of the features, in units of the score.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lift {
    /// Of the margin.
    pub margin: f32,
    /// Of a short mention.
    pub brief: f32,
    /// Of the overlap.
    pub overlap: f32,
    /// Of an exact match with a name.
    #[serde(default)]
    pub named: f32,
    /// Of each value of the mention's vector `[dim]`. Empty if the data had too few mentions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub direction: Vec<f32>,
    /// The intercept. It makes the mean offset over the calibration split zero.
    pub base: f32,
}

impl Signs {
    /// Computes the features of a mention.
    ///
    /// `vector` is the mention's vector `[dim]`. `candidates` are in descending order of scores.
    /// `names` are the names of the best candidate, and `named` says whether the mention is one of
    /// them. `None` without a candidate.
    pub fn new<'a>(
        mention: &str,
        vector: &[f32],
        candidates: &[Candidate],
        names: impl IntoIterator<Item = &'a str>,
        named: bool,
    ) -> Option<Self> {
        let score = candidates.first()?.score;
        let margin = candidates.get(1).map_or(score, |second| score - second.score);
        let overlap = Spelling::new(mention).nearest(names);
        let norm = vector.iter().map(|value| value * value).sum::<f32>().sqrt().max(f32::MIN_POSITIVE);
        let meaning = vector.iter().map(|value| value / norm).collect();
        let brief = mention.chars().count() < SHORT_BELOW;
        Some(Self { score, margin, brief, overlap, named, meaning })
    }

    fn scalars(&self) -> [f32; SCALARS] {
        let [brief, named] = [self.brief, self.named].map(|yes| if yes { 1.0 } else { 0.0 });
        [self.score, self.margin, brief, self.overlap, named]
    }
}

impl Lift {
    /// The offset that is added to the best score before it is compared with the threshold.
    pub fn of(&self, signs: &Signs) -> f32 {
        let [_, margin, brief, overlap, named] = signs.scalars();
        let projection: f32 = self.direction.iter().zip(&signs.meaning).map(|(weight, value)| weight * value).sum();
        self.margin * margin + self.brief * brief + self.overlap * overlap + self.named * named + projection + self.base
    }

    /// Fits the weights that separate mentions with a concept in the knowledge base (`true`) from
    /// NIL mentions: those of an L2-regularised logistic regression, divided by the score's weight.
    ///
    /// The vector is left out if the rarer class has fewer than 20 mentions for each of its values.
    /// `None` if a class has no mention, or a higher score does not make a concept more likely.
    ///
    /// # Panics
    /// If the vectors differ in length.
    pub fn fit(mentions: &[(Signs, bool)]) -> Option<Self> {
        let known = mentions.iter().filter(|(_, known)| *known).count();
        let dim = mentions.first()?.0.meaning.len();
        let enough = known.min(mentions.len() - known) >= MENTIONS_PER_VALUE * dim;
        let dim = if enough { dim } else { 0 };
        let mut rows = Rows::new(SCALARS + dim);
        for (features, known) in mentions {
            let vector = if enough { &features.meaning[..] } else { &[] };
            rows.push(features.scalars().into_iter().chain(vector.iter().copied()), *known);
        }
        let means = rows.means()?;
        let weights = rows.weights()?;
        let score_weight = weights[0];
        let scaled: Vec<f64> = weights[1..].iter().map(|weight| weight / score_weight).collect();
        let intercept = -scaled.iter().zip(&means[1..]).map(|(weight, mean)| weight * mean).sum::<f64>();
        let weight = |at: usize| scaled[at] as f32;
        let direction = scaled[SCALARS - 1..].iter().map(|weight| *weight as f32).collect();
        (score_weight > 0.0 && intercept.is_finite()).then(|| Self {
            margin: weight(0),
            brief: weight(1),
            overlap: weight(2),
            named: weight(3),
            direction,
            base: intercept as f32,
        })
    }
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
        /// Score, margin, short mention, overlap, exact match, vector.
        signs: Vec<(f32, f32, bool, f32, bool, Vec<f32>)>,
        known: Vec<bool>,
        /// Weights of margin, short mention, overlap, exact match and the vector's values; the
        /// intercept. All in units of the score.
        #[serde(rename = "lift")]
        weights: Vec<f64>,
    }

    fn features((score, margin, brief, overlap, named, meaning): (f32, f32, bool, f32, bool, Vec<f32>)) -> Signs {
        Signs { score, margin, brief, overlap, named, meaning }
    }

    #[test]
    fn fit_equals_scikit_learn() {
        let golden: Golden =
            serde_json::from_str(include_str!("../../tests/goldens/nil.json")).expect("the golden file");
        let mut dims = Vec::new();
        for case in golden.lift {
            let mentions: Vec<(Signs, bool)> = case.signs.into_iter().map(features).zip(case.known).collect();
            let model = Lift::fit(&mentions).expect("both classes have mentions");
            dims.push(model.direction.len());
            let scalars = [model.margin, model.brief, model.overlap, model.named];
            let found: Vec<f32> = scalars.into_iter().chain(model.direction.clone()).chain([model.base]).collect();
            assert_eq!(found.len(), case.weights.len());
            for (found, expected) in found.iter().zip(case.weights) {
                assert!((f64::from(*found) - expected).abs() < 1e-4, "{model:?} is not {expected}");
            }
        }
        // A vector of 2 values needs 40 mentions of the rarer class; the first case has fewer.
        assert_eq!(dims, [0, 2]);
    }

    #[test]
    fn fit_needs_both_classes_and_a_positive_score_weight() {
        let mention = |score, known| (Signs { score, margin: 0.25, overlap: 0.5, ..Signs::default() }, known);
        assert_eq!(Lift::fit(&[]), None);
        assert_eq!(Lift::fit(&[mention(0.5, true), mention(0.75, true)]), None);
        let against = [mention(0.25, true), mention(0.75, false), mention(0.5, true), mention(0.5, false)];
        assert_eq!(Lift::fit(&against), None);
        // Constant features have weight 0. Separable data have finite weights.
        let model = Lift::fit(&[mention(0.25, false), mention(0.75, true)]).expect("a higher score is a concept");
        assert_eq!(model, Lift::default());
        assert_eq!(Lift::fit(&[mention(f32::NAN, true), mention(0.25, false), mention(0.75, true)]), Some(model));
    }

    #[test]
    fn features_describe_the_best_candidate() {
        let candidate = |id, score| Candidate { concept: ConceptId(id), score };
        let candidates = [candidate(3, 0.75), candidate(1, 0.5)];
        let found = Signs::new("FeVer", &[3.0, -4.0], &candidates, ["heat", "fevers"], true);
        let meaning = vec![0.6, -0.8];
        let expected = Signs { score: 0.75, margin: 0.25, brief: false, overlap: 8.0 / 11.0, named: true, meaning };
        assert_eq!(found, Some(expected));
        let single = Signs::new("RAS", &[0.0], &candidates[..1], [], false);
        let expected = Signs { score: 0.75, margin: 0.75, brief: true, meaning: vec![0.0], ..Signs::default() };
        assert_eq!(single, Some(expected));
        assert_eq!(Signs::new("RAS", &[1.0], &[], ["ras"], true), None);
    }

    #[test]
    fn offset_is_the_weighted_sum_of_the_features() {
        let model =
            Lift { margin: 0.5, brief: -0.25, overlap: 1.0, named: 0.125, direction: vec![0.5, 2.0], base: 2.0 };
        let meaning = vec![1.0, -0.5];
        let features = Signs { score: 9.0, margin: 0.5, brief: true, overlap: 0.25, named: true, meaning };
        // 0.25 - 0.25 + 0.25 + 0.125 + (0.5 - 1) + 2
        assert_eq!(model.of(&features), 2.375 - 0.5);
    }
}
