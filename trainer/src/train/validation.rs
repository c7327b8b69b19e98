//! The mentions of a held-out split, and what a model's candidates for them are worth.

use super::config::{Config, Task};
use super::model::Model;
use crate::data::candidate_lists::{CandidateList, CandidateLists};
use crate::data::split::{Gold, Split, TrainingSplit};
use crate::train::encoded_kb::encode;
use crate::train::entity_inputs::Catalogue;
use burn::tensor::Device;
use pel_shared::error::{Context, Error, Result};
use pel_shared::kb::ConceptId;
use pel_shared::metrics::{Top, average_precision, nil_curve, recall_at, thinned};
use pel_shared::model::cross_encoder::reorder;
use pel_shared::model::tower::Side;
use pel_shared::score::{Candidate, Scorer};
use pel_shared::tokens::Encoded;
use serde::{Deserialize, Serialize};

/// Candidates that validation looks at.
pub const CANDIDATES: usize = 64;

/// Candidates that a ranker sees by default.
const RANKED: usize = 16;
/// Points that are kept of a curve.
const CURVE: usize = 100;

/// The mentions of a held-out split.
pub struct HeldOut {
    mentions: Vec<(Encoded, Gold)>,
    /// For ranking: the candidates of each.
    lists: Vec<Vec<ConceptId>>,
}

/// What validation found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Validated {
    /// Mentions that were looked at.
    pub mentions: usize,
    /// Of the mentions in the knowledge base, those whose concept is first.
    pub recall_1: Option<f64>,
    /// Of these, those whose concept is among the first 16, which a ranker sees (PEL, appendix B).
    #[serde(default)]
    pub recall_16: Option<f64>,
    /// Of these, those whose concept is among the first 64.
    pub recall_64: Option<f64>,
    /// A ranker's: of these, those whose list has their concept at all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recall_listed: Option<f64>,
    /// As `recall_1`, for concepts that training does not have.
    pub zero_shot_1: Option<f64>,
    /// As `recall_64`, for concepts that training does not have.
    pub zero_shot_64: Option<f64>,
    /// The area under the precision-recall curve of NIL.
    pub nil_aupr: Option<f64>,
    /// That curve, as recall and precision, thinned.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub nil_curve: Vec<(f64, f64)>,
}

impl Validated {
    /// A ranker's accuracy on the mentions whose list has their concept (BLINK, section 5.2).
    pub fn normalised(&self) -> Option<f64> {
        self.recall_1.zip(self.recall_listed.filter(|listed| *listed > 0.0)).map(|(first, listed)| first / listed)
    }
}

impl HeldOut {
    /// Reads mentions of the validation split at equal steps; nothing if none are wanted.
    ///
    /// # Errors
    /// If the split cannot be read, or is empty.
    pub fn read(config: &Config, model: &Model, catalogue: &Catalogue) -> Result<Option<Self>> {
        let wanted = config.validation.mentions;
        let ranks = config.data.task == Task::Rank;
        let listed = &config.validation.candidates;
        if !config.validates() {
            return Ok(None);
        }
        let lists = if ranks { Some(CandidateLists::read(listed, &catalogue.kb)?) } else { None };
        let (folder, split) = (&config.data.corpus, &config.validation.split);
        let training = TrainingSplit::read(folder, &config.data.split)?;
        let without = || format!("validation on the split {split} (`--set validation.mentions=0` trains without)");
        let read = Split::read(folder, split, 1, &catalogue.kb, Some(&training)).context(without)?;
        let listed_of = match &lists {
            Some(lists) => lists.of_split(&read, &catalogue.kb)?,
            None => vec![None; read.mentions.len()],
        };
        let known = read.mentions.iter().zip(listed_of).filter(|(_, list)| !ranks || list.is_some());
        // As in training: none of several concepts alone is what the words say.
        let known = known.filter(|(gold, _)| read.other_concepts_of(gold).is_empty());
        let known: Vec<(&Gold, Option<&CandidateList>)> = known.collect();
        if known.is_empty() {
            let (folder, listed) = (folder.display(), listed.display());
            return Err(Error::input(match ranks {
                true => format!("{listed}: expected the candidates of the split {split}, found none of its mentions"),
                false => format!("{folder}: the split {split} has no mention"),
            }));
        }
        let view = config.view_options();
        let (mut reader, mut mentions, mut candidates) = (view.reader(), Vec::new(), Vec::new());
        let count = wanted.min(known.len());
        for (gold, list) in (0..count).map(|at| known[(at as u128 * known.len() as u128 / count as u128) as usize]) {
            let text = &read.documents[gold.document].text;
            // A mention of which nothing is left has no candidate, whatever the model.
            if let Some(mention) = view.mention(&model.tokens, &reader.mention(text, gold.span)?)? {
                mentions.push((mention, *gold));
                candidates.extend(list.map(|list| {
                    let has_text = |concept: &&ConceptId| catalogue.sequences_of(**concept).len() > 0;
                    list.candidates.iter().filter(has_text).take(config.data.top).copied().collect()
                }));
            }
        }
        Ok(Some(Self { mentions, lists: candidates }))
    }

    /// Ranks the candidates of each mention: recall@1 is the unnormalised accuracy. Recall at more is the retriever's, whatever the
    /// ranker says, and is given for whole lists alone.
    ///
    /// # Errors
    /// If the device fails, or the user stops the work.
    pub fn ranked(&self, model: &Model, catalogue: &Catalogue, device: &Device) -> Result<Validated> {
        let encoder = model.encoder(&device.clone().inner())?;
        let of_concept = |concept: &ConceptId| catalogue.sequences_of(*concept).next();
        let pairs = self.mentions.iter().zip(&self.lists).flat_map(|((mention, _), list)| {
            let entities = list.iter().filter_map(of_concept).map(|entity| catalogue.tokens(entity));
            entities.map(move |entity| Encoded::pair(mention, entity))
        });
        let pairs: Vec<Encoded> = pairs.collect();
        let pairs: Vec<&Encoded> = pairs.iter().collect();
        let scores = encode(&encoder, Scorer::Dual, Side::Mention, &pairs, "ranking candidates")?.pooled;
        let mut rest = &scores[..];
        let found = self.lists.iter().map(|list| {
            let (own, others) = rest.split_at(list.len());
            rest = others;
            let mut found: Vec<Candidate> =
                list.iter().zip(own).map(|(concept, score)| Candidate { concept: *concept, score: *score }).collect();
            reorder(&mut found, own);
            found
        });
        let found: Vec<Vec<Candidate>> = found.collect();
        let recall_listed = self.recall(&found, usize::MAX);
        let judged = self.judge(&found);
        Ok(Validated { recall_listed, recall_16: None, recall_64: None, zero_shot_64: None, ..judged })
    }

    /// The mentions, as a tower reads them.
    pub fn encoded(&self) -> Vec<&Encoded> {
        self.mentions.iter().map(|(mention, _)| mention).collect()
    }

    /// Recall at k of the candidates of each mention, of those whose concept the knowledge base has.
    pub fn recall(&self, found: &[Vec<Candidate>], k: usize) -> Option<f64> {
        self.recall_of(found, k, |_| true)
    }

    fn recall_of(&self, found: &[Vec<Candidate>], k: usize, wanted: impl Fn(&Gold) -> bool) -> Option<f64> {
        let rank = |gold: &Gold, found: &[Candidate]| found.iter().position(|one| Some(one.concept) == gold.concept);
        let golds = self.mentions.iter().map(|(_, gold)| gold).zip(found);
        let golds = golds.filter(|(gold, _)| gold.concept.is_some() && wanted(gold));
        recall_at(golds.map(|(gold, found)| rank(gold, found)), k).value()
    }

    /// What the candidates of each mention, [`CANDIDATES`] at most, say.
    pub fn judge(&self, found: &[Vec<Candidate>]) -> Validated {
        let recall = |k: usize, wanted: fn(&Gold) -> bool| self.recall_of(found, k, wanted);
        let zero_shot = |gold: &Gold| gold.seen == Some(false);
        let top = |(gold, found): (&Gold, &Vec<Candidate>)| Top {
            score: found.first().map(|best| best.score),
            nil: gold.concept.is_none(),
        };
        let tops: Vec<Top> = self.mentions.iter().map(|(_, gold)| gold).zip(found).map(top).collect();
        Validated {
            mentions: self.mentions.len(),
            recall_1: recall(1, |_| true),
            recall_16: recall(RANKED, |_| true),
            recall_64: recall(CANDIDATES, |_| true),
            recall_listed: None,
            zero_shot_1: recall(1, zero_shot),
            zero_shot_64: recall(CANDIDATES, zero_shot),
            nil_aupr: average_precision(&tops),
            nil_curve: thinned(&nil_curve(&tops), CURVE).iter().map(|point| (point.recall, point.precision)).collect(),
        }
    }
}
