//! A linear model over features of a mention and its candidates, which improves NIL prediction.
//!
//! The best score alone rejects too many short mentions and too many that are spelled like a name.
//! A large margin to the second candidate makes a link more likely to be right. Some semantic types
//! are rarely in a knowledge base, which the mention's vector shows. A logistic regression on a
//! calibration split weighs these features. Its weights are divided by the score's weight, so the
//! threshold keeps the unit of the score.

use super::logistic::DesignMatrix;
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
pub struct NilFeatures {
    /// The score of the best candidate.
    pub score: f32,
    /// The difference to the score of the second candidate, or the score itself without one.
    pub margin: f32,
    /// Whether the mention has fewer than 5 characters.
    pub short_mention: bool,
    /// The largest Dice coefficient of character 3-grams between the mention and a name of the best
    /// candidate, 0 to 1.
    pub ngram_overlap: f32,
    /// Whether the mention is a name of the best candidate after normalisation.
    pub exact_match: bool,
    /// The mention's vector `[dim]`, of unit length.
    pub vector: Vec<f32>,
}

/// The weights of the features, in units of the score.
///
/// Manifests of formats 3 and 4 name the fields `brief`, `overlap`, `named`, `direction` and
/// `base`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NilModel {
    /// Of the margin.
    pub margin: f32,
    /// Of a short mention.
    #[serde(alias = "brief")]
    pub short_mention: f32,
    /// Of the overlap of character 3-grams.
    #[serde(alias = "overlap")]
    pub ngram_overlap: f32,
    /// Of an exact match with a name.
    #[serde(default, alias = "named")]
    pub exact_match: f32,
    /// Of each value of the mention's vector `[dim]`. Empty if the data had too few mentions.
    #[serde(default, skip_serializing_if = "Vec::is_empty", alias = "direction")]
    pub vector: Vec<f32>,
    /// The intercept. It makes the mean offset over the calibration split zero.
    #[serde(alias = "base")]
    pub intercept: f32,
}

impl NilFeatures {
    /// Computes the features of a mention.
    ///
    /// `vector` is the mention's vector `[dim]`. `candidates` are in descending order of scores.
    /// `names` are the names of the best candidate, and `exact_match` says whether the mention is
    /// one of them. `None` without a candidate.
    pub fn new<'a>(
        mention: &str,
        vector: &[f32],
        candidates: &[Candidate],
        names: impl IntoIterator<Item = &'a str>,
        exact_match: bool,
    ) -> Option<Self> {
        let score = candidates.first()?.score;
        let margin = candidates
            .get(1)
            .map_or(score, |second| score - second.score);
        let ngram_overlap = Spelling::new(mention).nearest(names);
        let norm = vector
            .iter()
            .map(|value| value * value)
            .sum::<f32>()
            .sqrt()
            .max(f32::MIN_POSITIVE);
        let vector = vector.iter().map(|value| value / norm).collect();
        let short_mention = mention.chars().count() < SHORT_BELOW;
        Some(Self {
            score,
            margin,
            short_mention,
            ngram_overlap,
            exact_match,
            vector,
        })
    }

    fn scalars(&self) -> [f32; SCALARS] {
        let [short, exact] =
            [self.short_mention, self.exact_match].map(|yes| if yes { 1.0 } else { 0.0 });
        [self.score, self.margin, short, self.ngram_overlap, exact]
    }
}

impl NilModel {
    /// The offset that is added to the best score before it is compared with the threshold.
    pub fn offset(&self, features: &NilFeatures) -> f32 {
        let [_, margin, short, overlap, exact] = features.scalars();
        let projection: f32 = self
            .vector
            .iter()
            .zip(&features.vector)
            .map(|(weight, value)| weight * value)
            .sum();
        self.margin * margin
            + self.short_mention * short
            + self.ngram_overlap * overlap
            + self.exact_match * exact
            + projection
            + self.intercept
    }

    /// Fits the weights that separate mentions with a concept in the knowledge base (`true`) from
    /// NIL mentions: those of an L2-regularised logistic regression, divided by the score's weight.
    ///
    /// The vector is left out if the rarer class has fewer than 20 mentions for each of its values.
    /// `None` if a class has no mention, or a higher score does not make a concept more likely.
    ///
    /// # Panics
    /// If the vectors differ in length.
    pub fn fit(mentions: &[(NilFeatures, bool)]) -> Option<Self> {
        let known = mentions.iter().filter(|(_, known)| *known).count();
        let dim = mentions.first()?.0.vector.len();
        let enough = known.min(mentions.len() - known) >= MENTIONS_PER_VALUE * dim;
        let dim = if enough { dim } else { 0 };
        let mut matrix = DesignMatrix::new(SCALARS + dim);
        for (features, known) in mentions {
            let vector = if enough { &features.vector[..] } else { &[] };
            matrix.push(
                features.scalars().into_iter().chain(vector.iter().copied()),
                *known,
            );
        }
        let means = matrix.means()?;
        let weights = matrix.fit()?.weights;
        let score_weight = weights[0];
        let scaled: Vec<f64> = weights[1..]
            .iter()
            .map(|weight| weight / score_weight)
            .collect();
        let intercept = -scaled
            .iter()
            .zip(&means[1..])
            .map(|(weight, mean)| weight * mean)
            .sum::<f64>();
        let weight = |at: usize| scaled[at] as f32;
        let vector = scaled[SCALARS - 1..]
            .iter()
            .map(|weight| *weight as f32)
            .collect();
        (score_weight > 0.0 && intercept.is_finite()).then(|| Self {
            margin: weight(0),
            short_mention: weight(1),
            ngram_overlap: weight(2),
            exact_match: weight(3),
            vector,
            intercept: intercept as f32,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kb::ConceptId;

    #[derive(Deserialize)]
    struct Golden {
        nil_models: Vec<Case>,
    }

    #[derive(Deserialize)]
    struct Case {
        /// Score, margin, short mention, overlap, exact match, vector.
        features: Vec<(f32, f32, bool, f32, bool, Vec<f32>)>,
        known: Vec<bool>,
        /// Weights of margin, short mention, overlap, exact match and the vector's values; the
        /// intercept. All in units of the score.
        weights: Vec<f64>,
    }

    fn features(values: (f32, f32, bool, f32, bool, Vec<f32>)) -> NilFeatures {
        let (score, margin, short_mention, ngram_overlap, exact_match, vector) = values;
        NilFeatures {
            score,
            margin,
            short_mention,
            ngram_overlap,
            exact_match,
            vector,
        }
    }

    #[test]
    fn fit_equals_scikit_learn() {
        let golden: Golden = serde_json::from_str(include_str!("../../tests/goldens/nil.json"))
            .expect("the golden file");
        let mut dims = Vec::new();
        for case in golden.nil_models {
            let mentions: Vec<(NilFeatures, bool)> = case
                .features
                .into_iter()
                .map(features)
                .zip(case.known)
                .collect();
            let model = NilModel::fit(&mentions).expect("both classes have mentions");
            dims.push(model.vector.len());
            let scalars = [
                model.margin,
                model.short_mention,
                model.ngram_overlap,
                model.exact_match,
            ];
            let found: Vec<f32> = scalars
                .into_iter()
                .chain(model.vector.clone())
                .chain([model.intercept])
                .collect();
            assert_eq!(found.len(), case.weights.len());
            for (found, expected) in found.iter().zip(case.weights) {
                assert!(
                    (f64::from(*found) - expected).abs() < 1e-4,
                    "{model:?} is not {expected}"
                );
            }
        }
        // A vector of 2 values needs 40 mentions of the rarer class; the first case has fewer.
        assert_eq!(dims, [0, 2]);
    }

    #[test]
    fn fit_needs_both_classes_and_a_positive_score_weight() {
        let mention = |score, known| {
            (
                NilFeatures {
                    score,
                    margin: 0.25,
                    ngram_overlap: 0.5,
                    ..NilFeatures::default()
                },
                known,
            )
        };
        assert_eq!(NilModel::fit(&[]), None);
        assert_eq!(
            NilModel::fit(&[mention(0.5, true), mention(0.75, true)]),
            None
        );
        let against = [
            mention(0.25, true),
            mention(0.75, false),
            mention(0.5, true),
            mention(0.5, false),
        ];
        assert_eq!(NilModel::fit(&against), None);
        // Constant features have weight 0. Separable data have finite weights.
        let model = NilModel::fit(&[mention(0.25, false), mention(0.75, true)])
            .expect("a higher score is a concept");
        assert_eq!(model, NilModel::default());
        assert_eq!(
            NilModel::fit(&[
                mention(f32::NAN, true),
                mention(0.25, false),
                mention(0.75, true)
            ]),
            Some(model)
        );
    }

    #[test]
    fn features_describe_the_best_candidate() {
        let candidate = |id, score| Candidate {
            concept: ConceptId(id),
            score,
        };
        let candidates = [candidate(3, 0.75), candidate(1, 0.5)];
        let found = NilFeatures::new("FeVer", &[3.0, -4.0], &candidates, ["heat", "fevers"], true);
        let vector = vec![0.6, -0.8];
        let expected = NilFeatures {
            score: 0.75,
            margin: 0.25,
            short_mention: false,
            ngram_overlap: 8.0 / 11.0,
            exact_match: true,
            vector,
        };
        assert_eq!(found, Some(expected));
        let single = NilFeatures::new("RAS", &[0.0], &candidates[..1], [], false);
        let expected = NilFeatures {
            score: 0.75,
            margin: 0.75,
            short_mention: true,
            vector: vec![0.0],
            ..NilFeatures::default()
        };
        assert_eq!(single, Some(expected));
        assert_eq!(NilFeatures::new("RAS", &[1.0], &[], ["ras"], true), None);
    }

    #[test]
    fn offset_is_the_weighted_sum_of_the_features() {
        let model = NilModel {
            margin: 0.5,
            short_mention: -0.25,
            ngram_overlap: 1.0,
            exact_match: 0.125,
            vector: vec![0.5, 2.0],
            intercept: 2.0,
        };
        let vector = vec![1.0, -0.5];
        let features = NilFeatures {
            score: 9.0,
            margin: 0.5,
            short_mention: true,
            ngram_overlap: 0.25,
            exact_match: true,
            vector,
        };
        // 0.25 - 0.25 + 0.25 + 0.125 + (0.5 - 1) + 2
        assert_eq!(model.offset(&features), 2.375 - 0.5);
    }
}
