//! How well the probabilities of a system say how often its best candidate is right, and what its
//! sets of answers cover.

use super::outcomes::{At, Outcome, RESAMPLES, SEED};
use pel_corpora::mention_domains::Domains;
use pel_index::metrics::{
    BINS, Bin, Forecast, Interval, RiskPoint, area_under_risk, brier, calibration_error,
    coverage_at_precision, reliability, resample, risk_coverage,
};
use pel_kb::score::Candidate;
use pel_model::nil::SetLimits;
use serde::Serialize;
use std::collections::BTreeMap;

/// The precision of links at which coverage is given.
const PRECISION: f64 = 0.95;

/// The points of a risk-coverage curve in a report.
const POINTS: usize = 100;

/// The figures of the probabilities of one system.
#[derive(Clone, Debug, Serialize)]
pub struct ProbabilityFigures {
    /// Groups of mentions: all, those with seen and with zero-shot concepts, and each domain of the
    /// first `--by`. NIL mentions are in `all` alone.
    pub groups: Vec<GroupForecasts>,
    /// The sets of answers, narrowest first.
    pub sets: Vec<SetFigures>,
    /// The risk-coverage curve of all mentions, thinned to 100 points.
    pub risk_coverage: Vec<RiskPoint>,
}

/// The figures of a group of mentions.
#[derive(Clone, Debug, Serialize)]
pub struct GroupForecasts {
    /// `all`, `seen`, `zero-shot` or the name of a domain.
    pub mentions: String,
    /// The mean probability.
    pub probability: f64,
    /// The share of mentions whose best candidate is right.
    pub right: At,
    /// The expected calibration error over bins with an equal number of mentions.
    pub calibration_error: Option<f64>,
    /// Its bootstrap interval over documents (95 %).
    pub interval: Option<Interval>,
    /// The Brier score.
    pub brier: Option<f64>,
    /// The area under the risk-coverage curve.
    pub area_under_risk: Option<f64>,
    /// The share of mentions that can be linked with 95 % of the links right.
    pub coverage_at_95: Option<f64>,
    /// The reliability diagram.
    pub reliability: Vec<Bin>,
}

/// What the sets of one coverage hold.
#[derive(Clone, Debug, Serialize)]
pub struct SetFigures {
    /// The coverage that they promise.
    pub coverage: f32,
    /// The mentions whose set holds the right answer.
    pub all: At,
    /// Of the mentions with a concept, those whose set holds it.
    pub with_concept: At,
    /// Of the NIL mentions, those whose set holds NIL.
    pub without_concept: At,
    /// The mean number of concepts in a set.
    pub mean_concepts: f64,
    /// The median number of concepts in a set.
    pub median_concepts: usize,
    /// The share of sets with NIL.
    pub with_nil: f64,
}

impl ProbabilityFigures {
    /// The figures of mentions whose judged scores are probabilities.
    pub(super) fn new(
        outcomes: &[Outcome<'_>],
        ranked: &[Vec<Candidate>],
        limits: &[SetLimits],
        domains: Option<&Domains>,
    ) -> Self {
        let all = || outcomes.iter().collect::<Vec<_>>();
        let seen = |seen: bool| {
            let own = outcomes.iter();
            own.filter(|one| one.gold.concept.is_some() && one.gold.seen == Some(seen))
                .collect::<Vec<_>>()
        };
        let mut groups = vec![
            ("all".to_owned(), all()),
            ("seen".to_owned(), seen(true)),
            ("zero-shot".to_owned(), seen(false)),
        ];
        if let Some(domains) = domains {
            let mut members: Vec<Vec<&Outcome<'_>>> = vec![Vec::new(); domains.names.len()];
            for (outcome, places) in outcomes.iter().zip(&domains.of_mention) {
                places
                    .iter()
                    .for_each(|place| members[*place].push(outcome));
            }
            groups.extend(domains.names.iter().cloned().zip(members));
        }
        let curve = risk_coverage(&forecasts(&all()));
        let step = curve.len().div_ceil(POINTS).max(1);
        let last = curve.len().saturating_sub(1);
        let kept =
            |(at, point): (usize, &RiskPoint)| (at % step == 0 || at == last).then_some(*point);
        Self {
            groups: groups
                .into_iter()
                .filter(|(_, outcomes)| !outcomes.is_empty())
                .map(|(name, outcomes)| GroupForecasts::new(name, &outcomes))
                .collect(),
            sets: limits
                .iter()
                .map(|limits| SetFigures::new(limits, outcomes, ranked))
                .collect(),
            risk_coverage: curve.iter().enumerate().filter_map(kept).collect(),
        }
    }
}

fn forecast(outcome: &Outcome<'_>) -> Forecast {
    Forecast {
        probability: outcome.score.unwrap_or(0.0),
        right: outcome.rank == Some(0),
    }
}

fn forecasts(outcomes: &[&Outcome<'_>]) -> Vec<Forecast> {
    outcomes.iter().map(|outcome| forecast(outcome)).collect()
}

impl GroupForecasts {
    fn new(mentions: String, outcomes: &[&Outcome<'_>]) -> Self {
        let all = forecasts(outcomes);
        let bins = reliability(&all, BINS);
        let curve = risk_coverage(&all);
        let sum: f64 = all.iter().map(|one| f64::from(one.probability)).sum();
        let mut documents: BTreeMap<usize, Vec<Forecast>> = BTreeMap::new();
        for outcome in outcomes {
            let own = documents.entry(outcome.gold.document).or_default();
            own.push(forecast(outcome));
        }
        let documents: Vec<Vec<Forecast>> = documents.into_values().collect();
        let interval = resample(documents.len(), RESAMPLES, SEED, |drawn| {
            let drawn: Vec<Forecast> = drawn
                .iter()
                .flat_map(|document| documents[*document].iter().copied())
                .collect();
            calibration_error(&reliability(&drawn, BINS))
        });
        let hits = outcomes
            .iter()
            .map(|outcome| (outcome.gold.document, outcome.rank == Some(0)));
        Self {
            mentions,
            probability: sum / all.len().max(1) as f64,
            right: At::new(1, hits),
            calibration_error: calibration_error(&bins),
            interval,
            brier: brier(&all),
            area_under_risk: area_under_risk(&curve),
            coverage_at_95: coverage_at_precision(&curve, PRECISION),
            reliability: bins,
        }
    }
}

impl SetFigures {
    fn new(limits: &SetLimits, outcomes: &[Outcome<'_>], ranked: &[Vec<Candidate>]) -> Self {
        let mut sizes = Vec::with_capacity(outcomes.len());
        let mut with_nil = 0;
        let mut covered = Vec::with_capacity(outcomes.len());
        for (outcome, candidates) in outcomes.iter().zip(ranked) {
            let answers = limits.answers(candidates, outcome.score.unwrap_or(0.0));
            sizes.push(answers.concepts.len());
            with_nil += usize::from(answers.nil);
            let hit = match outcome.gold.concept {
                Some(concept) => answers.concepts.contains(&concept),
                None => answers.nil,
            };
            covered.push((outcome.gold.document, outcome.gold.concept.is_some(), hit));
        }
        let of = |known: bool| {
            let own = covered
                .iter()
                .filter(move |(_, is_known, _)| *is_known == known);
            At::new(1, own.map(|(document, _, hit)| (*document, *hit)))
        };
        let count = sizes.len().max(1) as f64;
        let mean_concepts = sizes.iter().sum::<usize>() as f64 / count;
        sizes.sort_unstable();
        Self {
            coverage: limits.coverage,
            all: At::new(
                1,
                covered.iter().map(|(document, _, hit)| (*document, *hit)),
            ),
            with_concept: of(true),
            without_concept: of(false),
            mean_concepts,
            median_concepts: sizes.get(sizes.len() / 2).copied().unwrap_or(0),
            with_nil: with_nil as f64 / count,
        }
    }
}
