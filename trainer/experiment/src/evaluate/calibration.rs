//! The choice of the NIL threshold on a split: by the best F1 of NIL as in the PEL paper, or by the
//! precision of links.

use super::nil_figures::{Chosen, NilFigures, answers, rejects_all, tops};
use super::outcomes::Outcome;
use pel_corpora::split::{NilOf, Split};
use pel_index::metrics::{CurvePoint, best_f1, nil_curve, thinned, widest_at_precision};
use pel_io::files::io_error;
use pel_io::text_tables::percent;
use pel_kb::error::{Error, Result};
use pel_kb::score::Candidate;
use pel_model::nil::{NilPolicy, ProbabilityModel, SetLimits};
use serde::Serialize;
use std::path::Path;

/// The criterion of a threshold.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Rule {
    /// The highest F1 of NIL.
    BestF1,
    /// The most links of at least this precision.
    LinkPrecision(f64),
    /// The least expected cost, if a wrong link costs this much and a right one brings 1: links
    /// from the probability cost / (1 + cost) on.
    Cost(f64),
}

/// A threshold, the split that it was chosen on, and its figures there.
#[derive(Clone, Debug, Serialize)]
pub struct Calibration {
    /// The name of the corpus folder.
    pub corpus: String,
    /// The split.
    pub split: String,
    /// A hash of its documents and mentions
    /// ([`SplitCounts::blake3`](pel_corpora::split::SplitCounts::blake3)).
    pub blake3: String,
    /// The criterion.
    pub rule: Rule,
    /// The protocol of the retriever.
    pub protocol: String,
    /// The model of the probability that is compared with the threshold.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub probability: Option<Probabilities>,
    /// The threshold and its figures on that split. They are optimistic, because the threshold was
    /// chosen there.
    pub figures: NilFigures,
    /// The whole precision-recall curve of NIL.
    #[serde(skip)]
    pub curve: Vec<CurvePoint>,
}

/// The probabilities that a calibration has fitted.
#[derive(Clone, Debug, Serialize)]
pub struct Probabilities {
    /// The model.
    pub model: ProbabilityModel,
    /// The limits of sets of answers.
    pub sets: Vec<SetLimits>,
    /// The corpora and splits with their hashes, in words.
    pub samples: Vec<String>,
    /// The mentions of all samples.
    pub mentions: usize,
    /// The expected calibration error over all samples, on which it is optimistic.
    pub calibration_error: Option<f64>,
    /// The Brier score over all samples.
    pub brier: Option<f64>,
}

impl Calibration {
    /// Checks that a threshold can be chosen on a split.
    ///
    /// # Errors
    /// If it has no NIL mention of the kind, or no mention with a concept.
    pub fn check(split: &Split, nil: NilOf) -> Result<()> {
        let name = &split.counts.split;
        if !split.has_nil(nil) {
            let kind = if nil == NilOf::All {
                String::new()
            } else {
                format!(" of the kind `{}`", nil.words())
            };
            return Err(Error::input(format!(
                "the split {name} has no NIL mention{kind} to choose a threshold by"
            )));
        }
        match split.counts.in_kb {
            0 => Err(Error::input(format!(
                "the split {name} has no mention whose concept the knowledge base has"
            ))),
            _ => Ok(()),
        }
    }

    /// Chooses a threshold by the best [`TOP`] concepts of each mention of a split; the corpus is
    /// that in a folder.
    ///
    /// # Errors
    /// As [`Calibration::check`], or if no threshold reaches the precision.
    pub fn choose(
        ranked: &[Vec<Candidate>],
        corpus: &Path,
        split: &Split,
        nil: NilOf,
        rule: Rule,
    ) -> Result<Self> {
        if !matches!(rule, Rule::Cost(_)) {
            Self::check(split, nil)?;
        }
        let name = &split.counts.split;
        let outcomes = Outcome::all(split, ranked);
        let tops = tops(&outcomes, nil);
        let threshold = match rule {
            Rule::BestF1 => best_f1(&tops).map(|(threshold, _)| threshold),
            Rule::Cost(cost) => Some((cost / (1.0 + cost)) as f32),
            Rule::LinkPrecision(wished) => {
                let widest = widest_at_precision(
                    &answers(&outcomes, nil),
                    wished,
                    split.counts.in_kb / FEWEST,
                );
                Some(
                    widest
                        .map(|(threshold, _)| threshold)
                        .map_err(|best| unreachable(wished, best))?,
                )
            }
        };
        let threshold = threshold.ok_or_else(|| {
            Error::input(format!(
                "the split {name} has no mention that a threshold decides on: each bears the name \
                 of its best concept, which is linked at any score"
            ))
        })?;
        let rejects_all = rejects_all(&tops, threshold);
        let chosen = Chosen {
            nil,
            threshold,
            on: name.clone(),
            oracle: true,
            rejects_all,
        };
        let folder = corpus
            .canonicalize()
            .map_err(|cause| io_error("reading the folder", corpus, cause))?;
        Ok(Self {
            corpus: folder
                .file_name()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned(),
            split: name.clone(),
            blake3: split.counts.blake3.clone(),
            rule,
            protocol: String::new(),
            probability: None,
            figures: NilFigures::new(&outcomes, &chosen, &[1, TOP]),
            curve: nil_curve(&tops),
        })
    }

    /// The policy for a bundle: the threshold, and a description of its calibration.
    pub fn policy(&self) -> NilPolicy {
        let Self {
            corpus,
            split,
            blake3,
            rule,
            figures,
            probability,
            ..
        } = self;
        let NilFigures {
            nil,
            mentions,
            counts,
            threshold,
            ..
        } = figures;
        let nils = counts.found + counts.missed;
        let kind = if *nil == NilOf::All {
            String::new()
        } else {
            format!(" ({} only)", nil.words())
        };
        let rule = match rule {
            Rule::BestF1 => "best F1 of NIL".to_owned(),
            Rule::LinkPrecision(wished) => {
                format!("most links with at least {:.1} % right", 100.0 * wished)
            }
            Rule::Cost(cost) => {
                format!("least cost if a wrong link costs {cost} of what a right one brings")
            }
        };
        let by = match probability {
            Some(_) => "probabilities",
            None => "scores",
        };
        let [precision, recall, f1, au_pr] =
            [figures.precision, figures.recall, figures.f1, figures.au_pr].map(percent);
        let right = percent(figures.links_right);
        let words = format!(
            "corpus {corpus}, split {split}: {mentions} mentions, {nils} NIL{kind}, blake3 \
             {blake3}; {rule} by {by}; there NIL has precision {precision}, recall {recall}, F1 \
             {f1}, auPR {au_pr} %, and {right} % of the links are right"
        );
        let fitted = probability.as_ref().map_or(String::new(), |fitted| {
            format!(
                "; probabilities fitted on {} mentions of {}",
                fitted.mentions,
                fitted.samples.join(" and ")
            )
        });
        let words = words + &fitted;
        let curve = thinned(&self.curve, CURVE);
        NilPolicy {
            threshold: Some(*threshold),
            probability: probability.as_ref().map(|fitted| fitted.model.clone()),
            sets: probability
                .as_ref()
                .map_or(Vec::new(), |fitted| fitted.sets.clone()),
            calibrated_on: Some(words),
            curve,
        }
    }
}

/// Points of the curve in a bundle.
const CURVE: usize = 64;

/// A threshold must link at least one in this number of mentions with a concept.
const FEWEST: usize = 20;

/// Candidates of a mention: the largest k of PEL's table 4.
pub const TOP: usize = 64;

fn unreachable(wished: f64, best: Option<(f32, pel_index::metrics::LinkCounts)>) -> Error {
    let best = match best {
        None => "no mention has a candidate".to_owned(),
        Some((threshold, links)) => {
            let (right, count) = (percent(links.precision()), links.right + links.wrong);
            format!("the most is {right} % of {count} links, at {threshold}")
        }
    };
    let few = format!("that links at least one in {FEWEST} of the mentions that can be linked");
    Error::input(format!(
        "at no threshold {few} are {} % of the links right; {best}",
        percent(Some(wished))
    ))
}
