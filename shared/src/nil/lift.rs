//! What tells, beside the best score, whether the knowledge base has a mention's concept.
//!
//! Scores are too strict with very short mentions and with those that are spelled like a name; a best candidate far before the
//! second is more often right; and some kinds of things are seldom in a knowledge base at all, which the mention's vector knows. A
//! logistic regression over a calibration split says how much each of these is worth in units of the score, so that the threshold
//! stays one on the scale of scores.

use super::logistic::Rows;
use crate::lexical::Spelling;
use crate::score::Candidate;
use serde::{Deserialize, Serialize};

/// A mention of fewer characters is brief; most are short forms.
const BRIEF: usize = 5;

/// Mentions of the rarer kind that each value of a vector wants, so that a direction is learned and not remembered.
const MENTIONS_A_VALUE: usize = 20;

/// The signs that are single numbers, the score among them.
const NUMBERS: usize = 5;

/// What a mention and its candidates show.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Signs {
    /// The best score.
    pub score: f32,
    /// How far it is before that of the second concept; the score itself where there is none.
    pub margin: f32,
    /// Whether the mention has fewer than five characters.
    pub brief: bool,
    /// The largest share of character 3-grams that the mention has in common with a name of the best candidate, 0 to 1.
    pub overlap: f32,
    /// Whether the mention is a name of the best candidate, up to spelling.
    pub named: bool,
    /// The mention's vector, `[dim]`, of length 1.
    pub meaning: Vec<f32>,
}

/// What each sign adds to the best score, in units of the score.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lift {
    /// For a margin of 1.
    pub margin: f32,
    /// For a brief mention.
    pub brief: f32,
    /// For an overlap of 1.
    pub overlap: f32,
    /// For a mention that is a name of the best candidate.
    #[serde(default)]
    pub named: f32,
    /// For each value of the mention's vector, `[dim]`; empty where there were too few mentions to learn it from.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub direction: Vec<f32>,
    /// For every mention: the others taken together add nothing to the average mention of the calibration split.
    pub base: f32,
}

impl Signs {
    /// The signs of a mention with its vector, of its candidates, best first, of the names of the best, and whether it is one of them;
    /// nothing without a candidate.
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
        let length = vector.iter().map(|value| value * value).sum::<f32>().sqrt().max(f32::MIN_POSITIVE);
        let meaning = vector.iter().map(|value| value / length).collect();
        Some(Self { score, margin, brief: mention.chars().count() < BRIEF, overlap, named, meaning })
    }

    fn numbers(&self) -> [f32; NUMBERS] {
        let [brief, named] = [self.brief, self.named].map(|yes| if yes { 1.0 } else { 0.0 });
        [self.score, self.margin, brief, self.overlap, named]
    }
}

impl Lift {
    /// What is added to the best score.
    pub fn of(&self, signs: &Signs) -> f32 {
        let [_, margin, brief, overlap, named] = signs.numbers();
        let along: f32 = self.direction.iter().zip(&signs.meaning).map(|(weight, value)| weight * value).sum();
        self.margin * margin + self.brief * brief + self.overlap * overlap + self.named * named + along + self.base
    }

    /// The lift by which mentions whose concept is known (`true`) are best told from the others: the weights of a logistic
    /// regression, divided by the score's. With fewer than twenty mentions of either kind for each value of their vectors, these are
    /// left out. `None` if only one of the kinds is there, or a higher score does not speak for a concept.
    ///
    /// # Panics
    /// If the vectors differ in length.
    pub fn fit(mentions: &[(Signs, bool)]) -> Option<Self> {
        let known = mentions.iter().filter(|(_, known)| *known).count();
        let dim = mentions.first()?.0.meaning.len();
        let enough = known.min(mentions.len() - known) >= MENTIONS_A_VALUE * dim;
        let dim = if enough { dim } else { 0 };
        let mut rows = Rows::new(NUMBERS + dim);
        for (signs, known) in mentions {
            let meaning = if enough { &signs.meaning[..] } else { &[] };
            rows.push(signs.numbers().into_iter().chain(meaning.iter().copied()), *known);
        }
        let means = rows.means()?;
        let weights = rows.weights()?;
        let score = weights[0];
        let worths: Vec<f64> = weights[1..].iter().map(|weight| weight / score).collect();
        let base = -worths.iter().zip(&means[1..]).map(|(worth, mean)| worth * mean).sum::<f64>();
        let worth = |at: usize| worths[at] as f32;
        let direction = worths[NUMBERS - 1..].iter().map(|worth| *worth as f32).collect();
        (score > 0.0 && base.is_finite()).then(|| Self {
            margin: worth(0),
            brief: worth(1),
            overlap: worth(2),
            named: worth(3),
            direction,
            base: base as f32,
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
        /// Score, margin, brief, overlap, named, meaning.
        signs: Vec<(f32, f32, bool, f32, bool, Vec<f32>)>,
        known: Vec<bool>,
        /// Of margin, brief, overlap, named, the values of the vector and the average mention, in units of the score.
        lift: Vec<f64>,
    }

    fn signs((score, margin, brief, overlap, named, meaning): (f32, f32, bool, f32, bool, Vec<f32>)) -> Signs {
        Signs { score, margin, brief, overlap, named, meaning }
    }

    #[test]
    fn the_lift_is_scikit_learns() {
        let golden: Golden =
            serde_json::from_str(include_str!("../../tests/goldens/nil.json")).expect("the golden file");
        let mut dims = Vec::new();
        for case in golden.lift {
            let mentions: Vec<(Signs, bool)> = case.signs.into_iter().map(signs).zip(case.known).collect();
            let lift = Lift::fit(&mentions).expect("both kinds are there");
            dims.push(lift.direction.len());
            let numbers = [lift.margin, lift.brief, lift.overlap, lift.named];
            let found: Vec<f32> = numbers.into_iter().chain(lift.direction.clone()).chain([lift.base]).collect();
            assert_eq!(found.len(), case.lift.len());
            for (found, expected) in found.iter().zip(case.lift) {
                assert!((f64::from(*found) - expected).abs() < 1e-4, "{lift:?} is not {expected}");
            }
        }
        // Two values want forty mentions of the rarer kind; the first case has fewer.
        assert_eq!(dims, [0, 2]);
    }

    #[test]
    fn nothing_is_learned_from_one_kind_or_against_the_score() {
        let of = |score, known| (Signs { score, margin: 0.25, overlap: 0.5, ..Signs::default() }, known);
        assert_eq!(Lift::fit(&[]), None);
        assert_eq!(Lift::fit(&[of(0.5, true), of(0.75, true)]), None);
        assert_eq!(Lift::fit(&[of(0.25, true), of(0.75, false), of(0.5, true), of(0.5, false)]), None);
        // What does not vary is worth nothing; what can be told apart without error still has finite weights.
        let lift = Lift::fit(&[of(0.25, false), of(0.75, true)]).expect("the score speaks");
        assert_eq!(lift, Lift::default());
        assert_eq!(Lift::fit(&[of(f32::NAN, true), of(0.25, false), of(0.75, true)]), Some(lift));
    }

    #[test]
    fn signs_are_those_of_the_best_candidate() {
        let candidate = |id, score| Candidate { concept: ConceptId(id), score };
        let candidates = [candidate(3, 0.75), candidate(1, 0.5)];
        let found = Signs::new("FeVer", &[3.0, -4.0], &candidates, ["heat", "fevers"], true);
        let meaning = vec![0.6, -0.8];
        let expected = Signs { score: 0.75, margin: 0.25, brief: false, overlap: 8.0 / 11.0, named: true, meaning };
        assert_eq!(found, Some(expected));
        let alone = Signs::new("RAS", &[0.0], &candidates[..1], [], false);
        let expected = Signs { score: 0.75, margin: 0.75, brief: true, meaning: vec![0.0], ..Signs::default() };
        assert_eq!(alone, Some(expected));
        assert_eq!(Signs::new("RAS", &[1.0], &[], ["ras"], true), None);
        let (margin, brief, overlap, named) = (0.5, -0.25, 1.0, 0.125);
        let lift = Lift { margin, brief, overlap, named, direction: vec![0.5, 2.0], base: 2.0 };
        let meaning = vec![1.0, -0.5];
        let signs = Signs { score: 9.0, margin: 0.5, brief: true, overlap: 0.25, named: true, meaning };
        assert_eq!(lift.of(&signs), 2.375 - 0.5);
    }
}
