//! Validation: the mentions of a split, and the figures of a model's candidates for them.

use super::config::{Config, Task};
use super::model::Model;
use crate::train::encoded_kb::{EncodedKb, encode};
use crate::train::entity_inputs::EntityInputs;
use burn::tensor::Device;
use pel_corpora::candidate_lists::{CandidateList, CandidateLists};
use pel_corpora::split::{Gold, Split, TrainingSplit};
use pel_index::metrics::{Top, average_precision, nil_curve, rank_of, recall_at, thinned};
use pel_kb::ConceptId;
use pel_kb::error::{Context, Error, Result};
use pel_kb::score::{Candidate, Scorer};
use pel_model::cross_encoder::{Pairs, reorder};
use pel_model::tokens::Encoded;
use pel_model::tower::Side;
use serde::{Deserialize, Serialize};

/// Candidates of a mention in validation.
pub const CANDIDATES: usize = 64;

/// Candidates that a ranker scores by default.
const RANKED: usize = 16;
/// Points of a stored curve.
const CURVE: usize = 100;

/// The mentions of a validation split.
pub struct Validation {
    mentions: Vec<(Encoded, Gold)>,
    /// For a ranker: the candidates of each mention.
    lists: Vec<Vec<ConceptId>>,
}

/// The figures of a validation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Validated {
    /// Mentions.
    pub mentions: usize,
    /// Recall@1, over the mentions whose concept is in the knowledge base.
    pub recall_1: Option<f64>,
    /// Recall@16: a ranker scores 16 candidates (PEL, appendix B).
    #[serde(default)]
    pub recall_16: Option<f64>,
    /// Recall@64.
    pub recall_64: Option<f64>,
    /// For a ranker: the recall of the whole candidate lists.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recall_listed: Option<f64>,
    /// Recall@1 over concepts that training lacks.
    pub zero_shot_1: Option<f64>,
    /// Recall@64 over concepts that training lacks.
    pub zero_shot_64: Option<f64>,
    /// The area under the precision-recall curve of NIL.
    pub nil_aupr: Option<f64>,
    /// Points of that curve: recall and precision.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub nil_curve: Vec<(f64, f64)>,
}

/// The figures of a detector on one corpus.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SpanFigures {
    /// The set of labels.
    pub scheme: String,
    /// Mentions in the texts.
    pub mentions: usize,
    /// The threshold with the highest F1.
    pub threshold: f32,
    /// Of the found spans, those that are mentions.
    pub precision: f64,
    /// Of the mentions, those that were found.
    pub recall: f64,
    /// Their harmonic mean.
    pub f1: f64,
    /// Of the found mentions, those with the right label.
    pub labelled: f64,
}

impl Validated {
    /// Normalised accuracy: a ranker's accuracy over the mentions whose list has their concept
    /// (BLINK, section 5.2).
    pub fn normalised(&self) -> Option<f64> {
        self.recall_1
            .zip(self.recall_listed.filter(|listed| *listed > 0.0))
            .map(|(first, listed)| first / listed)
    }
}

impl Validation {
    /// Reads mentions of the validation split, equally spaced. `None` if the configuration has no
    /// validation.
    ///
    /// # Errors
    /// If the split cannot be read, or is empty.
    pub fn read(config: &Config, model: &Model, inputs: &EntityInputs) -> Result<Option<Self>> {
        let wanted = config.validation.mentions;
        let ranks = config.data.task == Task::Rank;
        let listed = &config.validation.candidates;
        if !config.validates() {
            return Ok(None);
        }
        let lists = if ranks {
            Some(CandidateLists::read(listed, &inputs.kb)?)
        } else {
            None
        };
        let (folder, split) = (&config.data.corpus, &config.validation.split);
        let training = TrainingSplit::read(folder, &config.data.split)?;
        let without = || {
            format!(
                "validation on the split {split} (`--set validation.mentions=0` trains without)"
            )
        };
        let read = Split::read(folder, split, 1, &inputs.kb, Some(&training)).context(without)?;
        let listed_of = match &lists {
            Some(lists) => lists.of_split(&read, &inputs.kb)?,
            None => vec![None; read.mentions.len()],
        };
        let known = read
            .mentions
            .iter()
            .zip(listed_of)
            .filter(|(_, list)| !ranks || list.is_some());
        // As in training, mentions with several concepts are left out.
        let known = known.filter(|(gold, _)| read.other_concepts_of(gold).is_empty());
        let known: Vec<(&Gold, Option<&CandidateList>)> = known.collect();
        if known.is_empty() {
            let (folder, listed) = (folder.display(), listed.display());
            return Err(Error::input(match ranks {
                true => format!(
                    "{listed}: expected the candidates of the split {split}, found none of its \
                     mentions"
                ),
                false => format!("{folder}: the split {split} has no mention"),
            }));
        }
        let view = config.view_options();
        let (mut reader, mut mentions, mut candidates) = (view.reader(), Vec::new(), Vec::new());
        let count = wanted.min(known.len());
        for (gold, list) in
            (0..count).map(|at| known[(at as u128 * known.len() as u128 / count as u128) as usize])
        {
            let text = &read.documents[gold.document].text;
            // A mention that normalises to nothing has no candidates with any model.
            if let Some(mention) = view.mention(&model.tokens, &reader.mention(text, gold.span)?)? {
                mentions.push((mention, *gold));
                candidates.extend(list.map(|list| {
                    let has_text = |concept: &&ConceptId| inputs.sequences_of(**concept).len() > 0;
                    list.candidates
                        .iter()
                        .filter(has_text)
                        .take(config.data.top)
                        .copied()
                        .collect()
                }));
            }
        }
        Ok(Some(Self {
            mentions,
            lists: candidates,
        }))
    }

    /// Validates a bi-encoder by its search over the knowledge base.
    ///
    /// # Errors
    /// If the device fails, or the user interrupts.
    pub fn of_bi_encoder(&self, kb: &EncodedKb, inputs: &EntityInputs) -> Result<Validated> {
        let index = kb.concept_index(inputs, None)?;
        Ok(self.figures(&kb.candidates(&index, inputs, &self.encoded(), CANDIDATES)?))
    }

    /// Validates a ranker by its order of the candidate lists. Recall@1 is the unnormalised
    /// accuracy. Recall at larger k depends on the retriever alone, so only that of whole lists is
    /// given.
    ///
    /// # Errors
    /// If the device fails, or the user interrupts.
    pub fn of_ranker(
        &self,
        model: &Model,
        inputs: &EntityInputs,
        device: &Device,
    ) -> Result<Validated> {
        let encoder = model.encoder(&device.clone().inner())?;
        let mut pairs = Pairs::default();
        for ((mention, _), list) in self.mentions.iter().zip(&self.lists) {
            let entity =
                |concept: &ConceptId| Some(inputs.tokens(inputs.sequences_of(*concept).next()?));
            pairs.add(Some(mention), list.iter().map(entity));
        }
        let rows: Vec<&Encoded> = pairs.rows().iter().collect();
        let scores = encode(
            &encoder,
            Scorer::Dual,
            Side::Mention,
            &rows,
            "ranking candidates",
        )?
        .pooled;
        let found = self
            .lists
            .iter()
            .zip(pairs.by_mention(&scores))
            .map(|(list, scores)| {
                let candidates = list
                    .iter()
                    .zip(&scores)
                    .map(|(concept, score)| Candidate::new(*concept, *score));
                let mut candidates: Vec<Candidate> = candidates.collect();
                reorder(&mut candidates, &scores);
                candidates
            });
        let found: Vec<Vec<Candidate>> = found.collect();
        let recall_listed = self.recall(&found, usize::MAX);
        let figures = self.figures(&found);
        Ok(Validated {
            recall_listed,
            recall_16: None,
            recall_64: None,
            zero_shot_64: None,
            ..figures
        })
    }

    /// The tokens of the mentions.
    pub fn encoded(&self) -> Vec<&Encoded> {
        self.mentions.iter().map(|(mention, _)| mention).collect()
    }

    /// Recall@k over the mentions whose concept is in the knowledge base.
    pub fn recall(&self, found: &[Vec<Candidate>], k: usize) -> Option<f64> {
        self.recall_of(found, k, |_| true)
    }

    fn recall_of(
        &self,
        found: &[Vec<Candidate>],
        k: usize,
        wanted: impl Fn(&Gold) -> bool,
    ) -> Option<f64> {
        let golds = self
            .mentions
            .iter()
            .map(|(_, gold)| gold)
            .zip(found)
            .filter(|(gold, _)| wanted(gold));
        let ranks = golds.filter_map(|(gold, found)| Some(rank_of(gold.concept?, found)));
        recall_at(ranks, k).value()
    }

    /// The figures of each mention's first [`CANDIDATES`] candidates.
    pub fn figures(&self, found: &[Vec<Candidate>]) -> Validated {
        let recall = |k: usize, wanted: fn(&Gold) -> bool| self.recall_of(found, k, wanted);
        let zero_shot = |gold: &Gold| gold.seen == Some(false);
        let top = |(gold, found): (&Gold, &Vec<Candidate>)| Top {
            score: found.first().map(|best| best.score),
            nil: gold.concept.is_none(),
        };
        let tops: Vec<Top> = self
            .mentions
            .iter()
            .map(|(_, gold)| gold)
            .zip(found)
            .map(top)
            .collect();
        Validated {
            mentions: self.mentions.len(),
            recall_1: recall(1, |_| true),
            recall_16: recall(RANKED, |_| true),
            recall_64: recall(CANDIDATES, |_| true),
            recall_listed: None,
            zero_shot_1: recall(1, zero_shot),
            zero_shot_64: recall(CANDIDATES, zero_shot),
            nil_aupr: average_precision(&tops),
            nil_curve: thinned(&nil_curve(&tops), CURVE)
                .iter()
                .map(|point| (point.recall, point.precision))
                .collect(),
        }
    }
}
