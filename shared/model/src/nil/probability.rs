//! The probability that the best candidate of a mention is right.
//!
//! A logistic regression over stated features gives a first probability. It assumes the share of
//! right candidates of the mentions that it was calibrated on. This share differs between kinds of
//! text: of the mentions of some abstracts the knowledge base lacks half of the concepts, of those
//! of a clinical note a tenth. So the share of each text is estimated from its own mentions, by
//! expectation maximisation (Saerens, Latinne and Decaestecker 2002, eq. 2.6), with the share of
//! the calibration as a prior. The candidates of NIL mentions are never right, so the probability
//! covers NIL.
//!
//! Features were chosen one by one on development corpora. A vector of the mention is not among
//! them: it learns which kinds of mentions one corpus leaves out. Boosted trees over the same
//! features were no better on other corpora.

use super::NilReason;
use super::logistic::DesignMatrix;
use pel_kb::error::Result;
use pel_kb::numbers::check_finite;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A mention with fewer characters is short; most of these are abbreviations.
pub const SHORT_BELOW: usize = 6;

/// The number of mentions that the prior share of right candidates weighs as much as. It was chosen
/// among 10, 20 and 40 on development corpora.
const PRIOR_MENTIONS: f32 = 20.0;

/// The most iterations of the estimate of a text's share, and the change at which it ends.
const ITERATIONS: usize = 100;
const CONVERGED: f64 = 1e-6;

/// The smallest and largest share of right candidates, so that odds stay finite.
const SHARES: [f64; 2] = [1e-3, 1.0 - 1e-3];

/// What is known of a mention and its best candidate.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Evidence {
    /// The score of the best candidate, as a share of the highest possible score for cosine
    /// similarity. If the text has chosen a candidate that is not the most similar one, it is the
    /// score of the chosen one.
    pub score: f32,
    /// The difference to the highest score of the other candidates; negative if the text has chosen
    /// a less similar candidate. The score itself without others.
    pub margin: f32,
    /// Whether the mention is a name of the best candidate after normalisation.
    pub exact_match: bool,
    /// Whether it is its preferred name.
    pub preferred_name: bool,
    /// The number of concepts that bear the mention as a name.
    pub same_name: usize,
    /// The number of names of the best candidate.
    pub names: usize,
    /// How many of the other concepts of the text come from a source of the best candidate, against
    /// the most frequent source there: the logarithm of the ratio of the two counts, each plus one
    /// half. 0 is the best fit, and that of a text with one concept.
    pub source_fit: f32,
    /// The same for semantic types.
    pub type_fit: f32,
    /// 1 if the best candidate is of the kind that the detector has read, −1 if it is of another,
    /// 0 if one of them is unknown.
    pub kind_fit: f32,
    /// Whether the mention is an abbreviation that the text defines.
    pub expanded: bool,
    /// Whether the mention is one word of fewer than [`SHORT_BELOW`] characters.
    pub short_mention: bool,
    /// Whether the mention has a word that is neither in the knowledge base nor in general English,
    /// and is no misspelt name. `false` for a knowledge base with few words.
    pub unknown_word: bool,
    /// Whether the mention was found because it is a name. Such a mention says nothing about how
    /// many of the others the knowledge base has, so it does not count for the share of those.
    pub found_by_name: bool,
    /// Whether the mention is plainly a name of one concept, so that its name alone decides
    /// ([`ProbabilityModel::plain_names`]). Its score and margin may be unknown, and are then 0.
    pub plain_name: bool,
}

/// A feature of the regression.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Feature {
    /// [`Evidence::score`].
    Score,
    /// The score of a mention that is not a name of the candidate, else 0.
    InexactScore,
    /// [`Evidence::margin`].
    Margin,
    /// 1 if the mention is a name of the candidate.
    ExactMatch,
    /// 1 if it is its preferred name.
    PreferredName,
    /// ln(1 + number of concepts with this name) if the mention is a synonym of the candidate.
    SharedSynonym,
    /// ln(number of names of the candidate).
    Names,
    /// [`Evidence::source_fit`].
    SourceFit,
    /// The fit of sources of a mention that is not a name of the candidate, else 0.
    InexactSourceFit,
    /// The fit of types of a mention that is not a name of the candidate, else 0.
    InexactTypeFit,
    /// [`Evidence::kind_fit`].
    KindFit,
    /// 1 for an abbreviation that the text defines.
    Expanded,
    /// 1 for a short mention.
    ShortMention,
    /// 1 for a mention with an unknown word.
    UnknownWord,
}

impl Feature {
    /// All features.
    pub const ALL: [Self; 14] = [
        Self::Score,
        Self::InexactScore,
        Self::Margin,
        Self::ExactMatch,
        Self::PreferredName,
        Self::SharedSynonym,
        Self::Names,
        Self::SourceFit,
        Self::InexactSourceFit,
        Self::InexactTypeFit,
        Self::KindFit,
        Self::Expanded,
        Self::ShortMention,
        Self::UnknownWord,
    ];

    /// A description for users.
    pub fn words(self) -> &'static str {
        match self {
            Self::Score => "score",
            Self::InexactScore => "score without an exact name",
            Self::Margin => "margin to the next candidate",
            Self::ExactMatch => "exact name",
            Self::PreferredName => "preferred name",
            Self::SharedSynonym => "synonym, by the number of concepts with it",
            Self::Names => "number of names",
            Self::SourceFit => "sources of the text",
            Self::InexactSourceFit => "sources of the text, without an exact name",
            Self::InexactTypeFit => "types of the text, without an exact name",
            Self::KindFit => "kind that the detector has read",
            Self::Expanded => "abbreviation that the text defines",
            Self::ShortMention => "short mention",
            Self::UnknownWord => "unknown word",
        }
    }

    /// The reason for NIL that a low value of the feature gives.
    fn reason(self) -> NilReason {
        match self {
            Self::Margin => NilReason::Ambiguous,
            Self::SourceFit | Self::InexactSourceFit | Self::InexactTypeFit | Self::KindFit => {
                NilReason::TypeClash
            }
            _ => NilReason::UnlikeAnyName,
        }
    }
}

impl Evidence {
    /// The value of a feature.
    pub fn value(&self, feature: Feature) -> f32 {
        let flag = |yes: bool| if yes { 1.0 } else { 0.0 };
        let inexact = flag(!self.exact_match);
        match feature {
            Feature::Score => self.score,
            Feature::InexactScore => inexact * self.score,
            Feature::Margin => self.margin,
            Feature::ExactMatch => flag(self.exact_match),
            Feature::PreferredName => flag(self.preferred_name),
            Feature::SharedSynonym if self.exact_match && !self.preferred_name => {
                (1.0 + self.same_name as f32).ln()
            }
            Feature::SharedSynonym => 0.0,
            Feature::Names => (self.names.max(1) as f32).ln(),
            Feature::SourceFit => self.source_fit,
            Feature::InexactSourceFit => inexact * self.source_fit,
            Feature::InexactTypeFit => inexact * self.type_fit,
            Feature::KindFit => self.kind_fit,
            Feature::Expanded => flag(self.expanded),
            Feature::ShortMention => flag(self.short_mention),
            Feature::UnknownWord => flag(self.unknown_word),
        }
    }
}

/// A mention of a calibration: its evidence, and whether its best candidate is right.
#[derive(Clone, Copy, Debug)]
pub struct Labelled {
    /// The evidence.
    pub evidence: Evidence,
    /// Whether the best candidate is right. It never is for a NIL mention.
    pub right: bool,
    /// The weight of the mention.
    pub weight: f64,
}

/// The regression, with the share of right candidates that it assumes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProbabilityModel {
    /// The weights of the features; 0 for one that is missing.
    pub weights: BTreeMap<Feature, f32>,
    /// The intercept.
    pub intercept: f32,
    /// The share of right candidates of the calibration, above 0 and below 1.
    pub prior: f32,
    /// The number of mentions that the prior weighs as much as in the estimate of a text's share.
    pub prior_mentions: f32,
    /// The mean value of each feature over the right candidates of the calibration. The reason for
    /// NIL is the feature that falls short of it most.
    pub typical: BTreeMap<Feature, f32>,
    /// The regression for plain names, without their scores; `None` judges them as the others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plain_names: Option<NameModel>,
}

/// The regression for mentions that are plainly a name of one concept: nothing is known of their
/// similarity, because they were not encoded. It is fitted on plain names alone, so the share of
/// right candidates of their text does not change what it gives.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NameModel {
    /// The weights of [`NameModel::FEATURES`]; 0 for one that is missing.
    pub weights: BTreeMap<Feature, f32>,
    /// The intercept.
    pub intercept: f32,
}

impl NameModel {
    /// What is known of a name without its vector.
    pub const FEATURES: [Feature; 5] = [
        Feature::PreferredName,
        Feature::Names,
        Feature::SourceFit,
        Feature::KindFit,
        Feature::ShortMention,
    ];

    /// The fewest mentions to fit it on.
    const FEWEST: usize = 500;

    /// Fits the weights on the plain names among mentions. `None` if they are few, or all are right,
    /// or none is.
    fn fit(mentions: &[Labelled]) -> Option<Self> {
        let plain = || mentions.iter().filter(|one| one.evidence.plain_name);
        if plain().count() < Self::FEWEST {
            return None;
        }
        let (weights, intercept) = fit_weights(plain(), &Self::FEATURES)?;
        Some(Self { weights, intercept })
    }
}

impl ProbabilityModel {
    /// The log odds that the best candidate is right, in a text with the share of right candidates
    /// of the calibration.
    pub fn logit(&self, evidence: &Evidence) -> f32 {
        let (weights, intercept) = self.regression(evidence);
        let terms = weights
            .iter()
            .map(|(feature, weight)| weight * evidence.value(*feature));
        intercept + terms.sum::<f32>()
    }

    /// Whether the name of a mention alone decides.
    fn judges_by_name(&self, evidence: &Evidence) -> bool {
        self.plain_names.is_some() && evidence.plain_name
    }

    /// The weights and the intercept for a mention.
    fn regression(&self, evidence: &Evidence) -> (&BTreeMap<Feature, f32>, f32) {
        match &self.plain_names {
            Some(names) if evidence.plain_name => (&names.weights, names.intercept),
            _ => (&self.weights, self.intercept),
        }
    }

    /// The probabilities of the mentions of one text. `None` stays `None`.
    pub fn of_text(&self, evidence: &[Option<Evidence>]) -> Vec<Option<f32>> {
        let logits: Vec<Option<f64>> = evidence
            .iter()
            .map(|evidence| Some(f64::from(self.logit(evidence.as_ref()?))))
            .collect();
        let prior = bounded(f64::from(self.prior));
        let shift = |counted: &dyn Fn(&Evidence) -> bool| {
            let own = evidence.iter().zip(&logits);
            let own = own.filter(|(evidence, _)| evidence.as_ref().is_some_and(counted));
            let own: Vec<f64> = own.filter_map(|(_, logit)| *logit).collect();
            log_odds(self.share(&own, prior)) - log_odds(prior)
        };
        let of_all = shift(&|_| true);
        let of_others = shift(&|evidence| !evidence.found_by_name);
        let probability = |(evidence, logit): (&Option<Evidence>, &Option<f64>)| {
            let evidence = evidence.as_ref()?;
            let shift = match (self.judges_by_name(evidence), evidence.found_by_name) {
                (true, _) => 0.0,
                (false, true) => of_all,
                (false, false) => of_others,
            };
            Some(sigmoid((*logit)? + shift) as f32)
        };
        evidence.iter().zip(&logits).map(probability).collect()
    }

    /// The share of right candidates of a text.
    fn share(&self, logits: &[f64], prior: f64) -> f64 {
        let weight = f64::from(self.prior_mentions);
        let mut share = prior;
        for _ in 0..ITERATIONS {
            let shift = log_odds(share) - log_odds(prior);
            let right: f64 = logits.iter().map(|logit| sigmoid(logit + shift)).sum();
            let next = bounded((right + weight * prior) / (logits.len() as f64 + weight));
            let change = (next - share).abs();
            share = next;
            if change < CONVERGED {
                break;
            }
        }
        share
    }

    /// What each feature adds to the log odds against a typical right candidate, lowest first. Of
    /// equals the first of [`Feature::ALL`].
    pub fn shortfalls(&self, evidence: &Evidence) -> Vec<(Feature, f32)> {
        let mut all: Vec<(Feature, f32)> = self
            .regression(evidence)
            .0
            .iter()
            .map(|(feature, weight)| {
                let typical = self.typical.get(feature).copied().unwrap_or(0.0);
                (*feature, weight * (evidence.value(*feature) - typical))
            })
            .collect();
        all.sort_by(|(_, one), (_, other)| one.total_cmp(other));
        all
    }

    /// Why a mention with a low probability is NIL: the kind of evidence that falls short most of
    /// that of a typical right candidate.
    pub fn reason(&self, evidence: &Evidence) -> NilReason {
        let reasons = [
            NilReason::UnlikeAnyName,
            NilReason::Ambiguous,
            NilReason::TypeClash,
        ];
        let sums = reasons.map(|reason| {
            let own = self.shortfalls(evidence).into_iter();
            let own = own.filter(|(feature, _)| feature.reason() == reason);
            own.map(|(_, adds)| adds).sum::<f32>()
        });
        let lowest = (0..reasons.len()).reduce(|one, other| match sums[other] < sums[one] {
            true => other,
            false => one,
        });
        match lowest {
            Some(at) if sums[at] < 0.0 => reasons[at],
            _ => NilReason::BelowThreshold,
        }
    }

    /// Fits the weights of all features, and those of plain names. `None` if all candidates are
    /// right, or none is.
    pub fn fit(mentions: &[Labelled]) -> Option<Self> {
        Self::fit_with(mentions, &Feature::ALL)
    }

    /// As [`ProbabilityModel::fit`], with some of the features.
    pub fn fit_with(mentions: &[Labelled], features: &[Feature]) -> Option<Self> {
        let (weights, intercept) = fit_weights(mentions.iter(), features)?;
        Some(Self {
            typical: typical(mentions, &weights),
            weights,
            intercept,
            prior: share_right(mentions) as f32,
            prior_mentions: PRIOR_MENTIONS,
            plain_names: NameModel::fit(mentions),
        })
    }

    /// The model for other mentions with the same weights but for one factor, and another
    /// intercept: for too few mentions to fit all weights (Platt scaling). `None` if all candidates
    /// are right, or none is, or higher log odds do not make a candidate more likely to be right.
    pub fn rescaled(&self, mentions: &[Labelled]) -> Option<Self> {
        let mut matrix = DesignMatrix::new(1);
        for mention in mentions {
            matrix.push(
                [self.logit(&mention.evidence)],
                mention.right,
                mention.weight,
            );
        }
        let fitted = matrix.fit()?;
        let factor = fitted.weights[0] as f32;
        let weights = |weights: &BTreeMap<Feature, f32>| {
            let all = weights.iter();
            all.map(|(feature, weight)| (*feature, factor * weight))
                .collect()
        };
        let intercept = |intercept: f32| factor * intercept + fitted.intercept as f32;
        (factor > 0.0).then(|| Self {
            weights: weights(&self.weights),
            intercept: intercept(self.intercept),
            prior: share_right(mentions) as f32,
            prior_mentions: self.prior_mentions,
            typical: typical(mentions, &self.weights),
            plain_names: self.plain_names.as_ref().map(|names| NameModel {
                weights: weights(&names.weights),
                intercept: intercept(names.intercept),
            }),
        })
    }

    /// Checks the numbers of a model that was read.
    ///
    /// # Errors
    /// If one is not finite or out of range. The message names its field.
    pub fn check(&self) -> Result<()> {
        let Self {
            weights,
            intercept,
            prior,
            prior_mentions,
            typical,
            plain_names,
        } = self;
        let of_names = plain_names
            .iter()
            .map(|names| ("plain_names.weights", &names.weights));
        for (field, values) in [("weights", weights), ("typical", typical)]
            .into_iter()
            .chain(of_names)
        {
            let values: Vec<f32> = values.values().copied().collect();
            check_finite(&format!("`nil.probability.{field}`"), &values)?;
        }
        let of_names = plain_names.as_ref().map_or(0.0, |names| names.intercept);
        check_finite("`nil.probability.plain_names.intercept`", &[of_names])?;
        check_finite("`nil.probability`", &[*intercept, *prior, *prior_mentions])?;
        match *prior > 0.0 && *prior < 1.0 && *prior_mentions >= 0.0 {
            true => Ok(()),
            false => Err(pel_kb::error::Error::artifact(format!(
                "`nil.probability`: expected a prior above 0 and below 1 and prior_mentions of at \
                 least 0, found {prior} and {prior_mentions}"
            ))),
        }
    }
}

/// The weights of features that mentions have, and the intercept.
fn fit_weights<'m>(
    mentions: impl Iterator<Item = &'m Labelled>,
    features: &[Feature],
) -> Option<(BTreeMap<Feature, f32>, f32)> {
    let mut matrix = DesignMatrix::new(features.len());
    for mention in mentions {
        let values = features
            .iter()
            .map(|feature| mention.evidence.value(*feature));
        matrix.push(values, mention.right, mention.weight);
    }
    let fitted = matrix.fit()?;
    let weights = features
        .iter()
        .copied()
        .zip(fitted.weights)
        .map(|(feature, weight)| (feature, weight as f32))
        // A feature that no mention has learns nothing. Earlier versions read what is left.
        .filter(|(_, weight)| *weight != 0.0)
        .collect();
    Some((weights, fitted.intercept as f32))
}

/// The weighted share of right candidates.
fn share_right(mentions: &[Labelled]) -> f64 {
    let (mut right, mut all) = (0.0, 0.0);
    for mention in mentions {
        all += mention.weight;
        right += if mention.right { mention.weight } else { 0.0 };
    }
    bounded(right / all)
}

/// The mean values of the features that have a weight, over the right candidates.
fn typical(mentions: &[Labelled], weights: &BTreeMap<Feature, f32>) -> BTreeMap<Feature, f32> {
    let right = || mentions.iter().filter(|mention| mention.right);
    let total: f64 = right().map(|mention| mention.weight).sum();
    let mean = |feature: Feature| {
        let values =
            right().map(|mention| mention.weight * f64::from(mention.evidence.value(feature)));
        (values.sum::<f64>() / total.max(f64::MIN_POSITIVE)) as f32
    };
    weights
        .keys()
        .map(|feature| (*feature, mean(*feature)))
        .collect()
}

fn bounded(share: f64) -> f64 {
    share.clamp(SHARES[0], SHARES[1])
}

fn log_odds(share: f64) -> f64 {
    (share / (1.0 - share)).ln()
}

fn sigmoid(logit: f64) -> f64 {
    1.0 / (1.0 + (-logit).exp())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn model(weights: &[(Feature, f32)], intercept: f32, prior: f32) -> ProbabilityModel {
        ProbabilityModel {
            weights: weights.iter().copied().collect(),
            intercept,
            prior,
            prior_mentions: 2.0,
            typical: [(Feature::Score, 1.0)].into(),
            plain_names: None,
        }
    }

    fn scored(score: f32) -> Evidence {
        Evidence {
            score,
            exact_match: true,
            ..Evidence::default()
        }
    }

    #[test]
    fn logit_is_the_weighted_sum_of_the_features() {
        let all: Vec<(Feature, f32)> = Feature::ALL.into_iter().zip([1.0; 14]).collect();
        let model = model(&all, 0.5, 0.5);
        let synonym = Evidence {
            score: 0.75,
            margin: -0.25,
            exact_match: true,
            preferred_name: false,
            same_name: 3,
            names: 4,
            source_fit: -1.0,
            type_fit: -2.0,
            kind_fit: -1.0,
            expanded: true,
            short_mention: true,
            unknown_word: true,
            found_by_name: false,
            plain_name: false,
        };
        // Intercept, score, margin, exact, ln 4 for three concepts, ln 4 for four names, source
        // fit, kind fit, expanded, short, unknown word.
        let expected = 0.5 + 0.75 - 0.25 + 1.0 + 2.0 * 4f32.ln() - 1.0 - 1.0 + 1.0 + 1.0 + 1.0;
        assert!((model.logit(&synonym) - expected).abs() < 1e-6);
        let other = Evidence {
            exact_match: false,
            names: 0,
            ..synonym
        };
        let expected = 0.5 + 0.75 + 0.75 - 0.25 - 1.0 - 1.0 - 2.0 - 1.0 + 1.0 + 1.0 + 1.0;
        assert!((model.logit(&other) - expected).abs() < 1e-6);
    }

    #[test]
    fn the_share_of_a_text_is_a_fixed_point_with_its_prior() {
        // Log odds 0 at a prior of one half: the mention says nothing, and the prior stays.
        let plain = model(&[(Feature::Score, 1.0)], -0.5, 0.5);
        assert_eq!(plain.of_text(&[]), []);
        let found = plain.of_text(&[Some(scored(0.5)), None]);
        assert!((found[0].expect("a probability") - 0.5).abs() < 1e-6);
        assert_eq!(found[1], None);
        // Three sure mentions raise the share of the text, and so the probability of a fourth.
        let texts = [
            Some(scored(9.0)),
            Some(scored(9.0)),
            Some(scored(9.0)),
            Some(scored(0.5)),
        ];
        let found = plain.of_text(&texts);
        // With the share s: p = s, and s = (3 + p + 2 / 2) / 6, so p = 4 / 5.
        let last = found[3].expect("a probability");
        assert!((last - 0.8).abs() < 1e-3, "{last}");
        // Order does not matter.
        let turned = plain.of_text(&[texts[3], texts[0], texts[1], texts[2]]);
        assert_eq!(turned[0], found[3]);
        // Names that were looked for say nothing of the fourth.
        let named = texts.map(|evidence| {
            evidence.map(|evidence| Evidence {
                found_by_name: evidence.score > 1.0,
                ..evidence
            })
        });
        let last = plain.of_text(&named)[3].expect("a probability");
        assert!((last - 0.5).abs() < 1e-6, "{last}");
    }

    #[test]
    fn the_name_of_a_plain_name_alone_decides() {
        let names = NameModel {
            weights: [(Feature::KindFit, 1.0)].into(),
            intercept: 0.5,
        };
        let with_names = ProbabilityModel {
            plain_names: Some(names),
            ..model(&[(Feature::Score, 1.0)], -0.5, 0.5)
        };
        let plain = Evidence {
            kind_fit: 1.0,
            plain_name: true,
            ..scored(9.0)
        };
        assert_eq!(with_names.logit(&plain), 1.5);
        assert_eq!(with_names.logit(&scored(9.0)), 8.5);
        // Neither the score nor the other mentions of the text matter.
        let alone = with_names.of_text(&[Some(plain)])[0];
        let unsearched = Evidence {
            score: 0.0,
            ..plain
        };
        let among = with_names.of_text(&[Some(scored(-9.0)), Some(unsearched)])[1];
        assert_eq!(alone, among);
        // A model without a regression for names judges them as the others.
        let without = model(&[(Feature::Score, 1.0)], -0.5, 0.5);
        assert_eq!(without.logit(&plain), without.logit(&scored(9.0)));
    }

    #[test]
    fn plain_names_have_a_regression_of_their_own_if_there_are_enough() {
        let labelled = |at: usize, plain_name| Labelled {
            evidence: Evidence {
                kind_fit: if at.is_multiple_of(2) { 1.0 } else { -1.0 },
                plain_name,
                ..scored(0.5 + 0.1 * (at % 3) as f32)
            },
            // Of the kind that was read nine in ten are right, of another one in ten.
            right: at.is_multiple_of(2) != at.is_multiple_of(10),
            weight: 1.0,
        };
        let few: Vec<Labelled> = (0..600).map(|at| labelled(at, at < 400)).collect();
        let fitted = ProbabilityModel::fit(&few).expect("a model");
        assert_eq!(fitted.plain_names, None);
        let many: Vec<Labelled> = (0..600).map(|at| labelled(at, true)).collect();
        let fitted = ProbabilityModel::fit(&many).expect("a model");
        let names = fitted.plain_names.as_ref().expect("names");
        assert!(names.weights[&Feature::KindFit] > 0.5, "{names:?}");
        assert!(!names.weights.contains_key(&Feature::Score));
        let read = serde_json::to_string(&fitted).expect("JSON");
        assert_eq!(
            serde_json::from_str::<ProbabilityModel>(&read).expect("read"),
            fitted
        );
    }

    #[test]
    fn the_reason_is_the_kind_of_evidence_that_falls_short_most() {
        let weights = [
            (Feature::Score, 1.0),
            (Feature::Margin, 1.0),
            (Feature::SourceFit, 1.0),
        ];
        let model = model(&weights, 0.0, 0.5);
        let evidence = |score, margin, source_fit| Evidence {
            score,
            margin,
            source_fit,
            ..Evidence::default()
        };
        assert_eq!(
            model.reason(&evidence(0.0, -0.5, -0.5)),
            NilReason::UnlikeAnyName
        );
        assert_eq!(
            model.reason(&evidence(0.75, -0.5, 0.0)),
            NilReason::Ambiguous
        );
        assert_eq!(
            model.reason(&evidence(0.75, -0.5, -1.0)),
            NilReason::TypeClash
        );
        assert_eq!(
            model.reason(&evidence(2.0, 0.5, 0.0)),
            NilReason::BelowThreshold
        );
        assert_eq!(
            model.shortfalls(&evidence(0.5, -1.0, 0.0))[0],
            (Feature::Margin, -1.0)
        );
    }

    #[test]
    fn a_fit_has_the_share_of_its_mentions_and_both_outcomes() {
        let labelled = |score, right| Labelled {
            evidence: scored(score),
            right,
            weight: 1.0,
        };
        let mentions = [
            labelled(0.9, true),
            labelled(0.8, true),
            labelled(0.7, false),
            labelled(0.85, true),
            labelled(0.4, false),
            labelled(0.75, true),
        ];
        let model = ProbabilityModel::fit(&mentions).expect("both outcomes");
        model.check().expect("finite");
        assert!((model.prior - 4.0 / 6.0).abs() < 1e-6);
        let sum: f32 = mentions
            .iter()
            .map(|mention| sigmoid(model.logit(&mention.evidence).into()) as f32)
            .sum();
        assert!((sum - 4.0).abs() < 1e-4, "{sum}");
        assert!((model.typical[&Feature::Score] - 0.825).abs() < 1e-6);
        assert_eq!(ProbabilityModel::fit(&mentions[..2]), None);
        let some = [Feature::Margin, Feature::Score];
        let without = ProbabilityModel::fit_with(&mentions, &some).expect("both outcomes");
        let kept: Vec<Feature> = without.weights.into_keys().collect();
        // No mention has a margin, so its weight is left out.
        assert_eq!(kept, [Feature::Score]);
        // On the same mentions a second scaling changes little: the penalty is on both.
        let again = model.rescaled(&mentions).expect("both outcomes");
        assert!(again.weights[&Feature::Score] > 0.0);
        let turned: Vec<Labelled> = mentions
            .iter()
            .map(|mention| Labelled {
                right: !mention.right,
                ..*mention
            })
            .collect();
        assert_eq!(model.rescaled(&turned), None);
    }

    #[test]
    fn a_model_that_is_read_is_checked() {
        let plain = model(&[(Feature::Score, 1.0)], 0.0, 0.5);
        let json = serde_json::to_string(&plain).expect("JSON");
        assert!(json.contains("\"weights\":{\"score\":1.0}"), "{json}");
        assert_eq!(
            serde_json::from_str::<ProbabilityModel>(&json).expect("the model"),
            plain
        );
        for (prior, weight) in [(0.0, 1.0), (1.0, 1.0), (0.5, f32::INFINITY)] {
            assert!(
                model(&[(Feature::Score, weight)], 0.0, prior)
                    .check()
                    .is_err()
            );
        }
    }
}
