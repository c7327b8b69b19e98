//! Fits the probability that the best candidate is right, and the limits of sets of answers, on
//! annotated mentions.

use pel_corpora::retrieve::CandidateLists;
use pel_corpora::split::{Gold, NilOf, Split};
use pel_index::metrics::{Forecast, rank_of};
use pel_io::interrupt;
use pel_kb::error::{Error, Result};
use pel_kb::score::Candidate;
use pel_model::nil::{COVERAGES, Evidence, Feature, Labelled, ProbabilityModel, SetLimits};

/// The fewest mentions with a right and with a wrong best candidate for a model.
const FEWEST: usize = 30;

/// The fewest mentions to fit all weights on, if the bundle has a model already. With fewer, its
/// weights are scaled.
const REFIT_FROM: usize = 2_000;

/// The parts of the documents that are measured in turn.
pub const FOLDS: usize = 5;

/// A mention with the probability of its best candidate.
#[derive(Clone, Copy, Debug)]
pub struct Judged<'a> {
    /// The gold concept.
    pub gold: &'a Gold,
    /// The position of the right concept among the candidates.
    pub rank: Option<usize>,
    /// The probability that the first is right; `None` without a candidate.
    pub probability: Option<f32>,
}

/// The mentions of a split with what the linker knows of them.
pub struct Sample<'a> {
    split: &'a Split,
    /// The candidates of each mention, best first.
    searched: CandidateLists,
    evidence: Vec<Option<Evidence>>,
}

impl<'a> Sample<'a> {
    /// A sample. `searched` are all candidates of each mention, with any right concept in place of
    /// its gold concept.
    pub fn new(
        split: &'a Split,
        mut searched: CandidateLists,
        evidence: Vec<Option<Evidence>>,
    ) -> Self {
        split.unify_gold(&mut searched);
        Self {
            split,
            searched,
            evidence,
        }
    }

    /// The position of the right concept among the candidates of each mention.
    fn ranks(&self) -> impl Iterator<Item = Option<usize>> {
        self.split
            .mentions
            .iter()
            .zip(&self.searched)
            .map(|(gold, candidates)| rank_of(gold.concept?, candidates))
    }

    /// The mentions of some documents that have a candidate, each with this weight.
    fn labelled(
        &self,
        nil: NilOf,
        weight: f64,
        takes: impl Fn(usize) -> bool,
    ) -> impl Iterator<Item = Labelled> {
        let mentions = self.split.mentions.iter().zip(&self.evidence);
        mentions
            .zip(self.ranks())
            .filter(move |((gold, _), _)| nil.takes(gold) && takes(gold.document))
            .filter_map(move |((_, evidence), rank)| {
                Some(Labelled {
                    evidence: (*evidence)?,
                    right: rank == Some(0),
                    weight,
                })
            })
    }

    /// The probability of each mention; 0 without a candidate.
    fn probabilities(&self, model: &ProbabilityModel) -> Vec<f32> {
        let all = self.probabilities_by(|_| model).into_iter();
        all.map(|probability| probability.unwrap_or(0.0)).collect()
    }

    /// The probability of each mention by a model for its document; `None` without a candidate.
    fn probabilities_by<'m>(
        &self,
        model_of: impl Fn(usize) -> &'m ProbabilityModel,
    ) -> Vec<Option<f32>> {
        let mut all = Vec::with_capacity(self.evidence.len());
        let mentions = || self.split.mentions.iter().zip(&self.evidence);
        let mut rest = mentions().peekable();
        while let Some((gold, _)) = rest.peek() {
            let document = gold.document;
            let mut of_text = Vec::new();
            while let Some((_, evidence)) = rest.next_if(|(gold, _)| gold.document == document) {
                of_text.push(*evidence);
            }
            all.extend(model_of(document).of_text(&of_text));
        }
        all
    }

    /// The mentions with their probabilities by models of [`cross_fit`].
    pub fn cross_judged(&self, models: &[ProbabilityModel; FOLDS]) -> Vec<Judged<'_>> {
        let probabilities = self.probabilities_by(|document| &models[document % FOLDS]);
        let mentions = self.split.mentions.iter().zip(self.ranks());
        mentions
            .zip(probabilities)
            .map(|((gold, rank), probability)| Judged {
                gold,
                rank,
                probability,
            })
            .collect()
    }

    /// The candidates of each mention, the score of the first one its probability. All scores of a
    /// mention shift alike, so the order stays.
    pub fn judged(&self, model: &ProbabilityModel) -> CandidateLists {
        let shifted = |(candidates, probability): (&Vec<Candidate>, f32)| {
            let best = candidates.first().map_or(0.0, |best| best.score);
            let value = |score: f32| score - best + probability;
            candidates
                .iter()
                .map(|found| Candidate::new(found.concept, value(found.score)))
                .collect()
        };
        self.searched
            .iter()
            .zip(self.probabilities(model))
            .map(shifted)
            .collect()
    }

    /// The probability of each mention with its outcome.
    pub fn forecasts(&self, nil: NilOf, model: &ProbabilityModel) -> Vec<Forecast> {
        let outcomes = self.split.mentions.iter().zip(self.ranks());
        outcomes
            .zip(self.probabilities(model))
            .filter(|((gold, _), _)| nil.takes(gold))
            .map(|((_, rank), probability)| Forecast {
                probability,
                right: rank == Some(0),
            })
            .collect()
    }
}

/// Fits the model on samples, each with the same weight in all. With few mentions the weights of
/// the model of `before` are scaled.
///
/// # Errors
/// If too few candidates are right or wrong.
pub fn fit(
    samples: &[Sample<'_>],
    nil: NilOf,
    before: Option<&ProbabilityModel>,
) -> Result<ProbabilityModel> {
    let mentions = weighted(samples, nil, |_| true);
    let right = mentions.iter().filter(|mention| mention.right).count();
    let wrong = mentions.len() - right;
    if right.min(wrong) < FEWEST {
        return Err(Error::input(format!(
            "--by probability: expected at least {FEWEST} mentions whose best candidate is right \
             and {FEWEST} whose is not, found {right} and {wrong}"
        )));
    }
    let scaled = before
        .filter(|_| mentions.len() < REFIT_FROM)
        .and_then(|before| before.rescaled(&mentions));
    scaled
        .or_else(|| ProbabilityModel::fit(&mentions))
        .ok_or_else(|| Error::input("--by probability: no model fits these mentions"))
}

/// The mentions of some documents of samples, each sample with the same weight.
fn weighted(
    samples: &[Sample<'_>],
    nil: NilOf,
    takes: impl Fn(usize) -> bool + Copy,
) -> Vec<Labelled> {
    let total: usize = samples.iter().map(|sample| sample.evidence.len()).sum();
    let share = total as f64 / samples.len() as f64;
    samples
        .iter()
        .flat_map(|sample| {
            let weight = share / sample.evidence.len().max(1) as f64;
            sample.labelled(nil, weight, takes)
        })
        .collect()
}

/// Fits a model with some of the features for each fold, on the documents of the other folds. A
/// document belongs to the fold of its position.
///
/// # Errors
/// If the candidates outside of a fold are all right, or all wrong.
pub fn cross_fit(
    samples: &[Sample<'_>],
    nil: NilOf,
    features: &[Feature],
) -> Result<[ProbabilityModel; FOLDS]> {
    let mut models: [ProbabilityModel; FOLDS] = Default::default();
    for (fold, model) in models.iter_mut().enumerate() {
        interrupt::check()?;
        let mentions = weighted(samples, nil, |document| document % FOLDS != fold);
        *model = ProbabilityModel::fit_with(&mentions, features).ok_or_else(|| {
            Error::input(format!(
                "expected mentions whose best candidate is right and some whose is not in four \
                 fifths of the documents, found {} of one kind",
                mentions.len()
            ))
        })?;
    }
    Ok(models)
}

/// The limits of sets of answers for each coverage.
pub fn limits(samples: &[Sample<'_>], nil: NilOf, model: &ProbabilityModel) -> Vec<SetLimits> {
    let (mut behind, mut of_nil) = (Vec::new(), Vec::new());
    for sample in samples {
        let probabilities = sample.probabilities(model);
        let mentions = sample.split.mentions.iter().zip(&sample.searched);
        for ((gold, candidates), (rank, probability)) in
            mentions.zip(sample.ranks().zip(probabilities))
        {
            match gold.concept {
                Some(_) => behind.push(rank.map_or(f32::INFINITY, |rank| {
                    candidates[0].score - candidates[rank].score
                })),
                None if nil.takes(gold) => of_nil.push(probability),
                None => {}
            }
        }
    }
    COVERAGES
        .into_iter()
        .map(|coverage| SetLimits::fit(coverage, &behind, &of_nil))
        .collect()
}
