//! Looking at the whole knowledge base with the towers as they are: hard negatives for the examples to come, and recall on
//! a held-out split.

use super::batch::HardNegatives;
use super::catalogue::{Catalogue, DomainId, SequenceId};
use super::config::{Config, Domain, Task};
use super::examples::Example;
use super::model::Model;
use crate::candidates::Lists;
use crate::evaluate::{Gold, Split, TrainingSplit};
use crate::interrupt;
use crate::progress::Progress;
use burn::tensor::Device;
use bytes::Bytes;
use pel_shared::biencoder::Side;
use pel_shared::container::Check;
use pel_shared::encoder::Encoder;
use pel_shared::error::{Error, Result};
use pel_shared::index::{Index, IndexInfo, Precision};
use pel_shared::kb::ConceptId;
use pel_shared::metrics::{Top, average_precision, recall_at};
use pel_shared::ranker::reorder;
use pel_shared::score::Candidate;
use pel_shared::tokens::{Encoded, by_length};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Tokens of one encoder batch, padding included.
const BATCH_TOKENS: usize = 2048;
/// Candidates that validation looks at.
pub const CANDIDATES: usize = 64;

/// The vectors of all sequences.
pub struct Survey {
    encoder: Encoder,
    /// `[sequences, dim]`
    vectors: Vec<f32>,
    dim: usize,
}

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
    /// Of these, those whose concept is among the first 64.
    pub recall_64: Option<f64>,
    /// As `recall_1`, for concepts that training does not have.
    pub zero_shot_1: Option<f64>,
    /// As `recall_64`, for concepts that training does not have.
    pub zero_shot_64: Option<f64>,
    /// The area under the precision-recall curve of NIL.
    pub nil_aupr: Option<f64>,
}

/// Encodes sequences in batches of similar length.
fn encode(encoder: &Encoder, side: Side, rows: &[&Encoded], doing: &'static str) -> Result<Vec<f32>> {
    let dim = encoder.dim();
    let lengths: Vec<usize> = rows.iter().map(|row| row.ids.len()).collect();
    let mut vectors = vec![0.0; rows.len() * dim];
    let mut progress = Progress::new(doing, rows.len() as u64, "texts");
    for group in by_length(&lengths, 256, BATCH_TOKENS).chunks(2 * rayon::current_num_threads()) {
        interrupt::check()?;
        let places = group.concat();
        let found = encoder.encode(side, &places.iter().map(|at| rows[*at]).collect::<Vec<_>>())?;
        for (at, vector) in places.iter().zip(found.chunks_exact(dim)) {
            vectors[at * dim..][..dim].copy_from_slice(vector);
        }
        progress.advance(places.len() as u64);
    }
    Ok(vectors)
}

impl Survey {
    /// Encodes every sequence of the catalogue.
    ///
    /// # Errors
    /// If the device fails, or the user stops the work.
    pub fn new(model: &Model, catalogue: &Catalogue, device: &Device) -> Result<Self> {
        let encoder = model.encoder(&device.clone().inner())?;
        let rows: Vec<&Encoded> = catalogue.rows().sequences.iter().collect();
        let vectors = encode(&encoder, Side::Entity, &rows, "encoding the knowledge base")?;
        let dim = encoder.dim();
        Ok(Self { encoder, vectors, dim })
    }

    /// An index of the concepts.
    ///
    /// # Errors
    /// If it cannot be made.
    pub fn by_concept(&self, model: &Model, catalogue: &Catalogue) -> Result<Index> {
        let rows = catalogue.rows();
        self.index(&rows.spread(&self.vectors), &rows.concepts, model)
    }

    /// The vectors of all sequences, and their width.
    pub fn vectors(&self) -> (&[f32], usize) {
        (&self.vectors, self.dim)
    }

    /// Encodes mentions.
    ///
    /// # Shapes
    /// -> `[mentions, dim]`
    ///
    /// # Errors
    /// If the device fails, or the user stops the work.
    pub fn mentions(&self, mentions: &[&Encoded]) -> Result<Vec<f32>> {
        encode(&self.encoder, Side::Mention, mentions, "encoding mentions")
    }

    fn index(&self, vectors: &[f32], concepts: &[ConceptId], model: &Model) -> Result<Index> {
        let (rows, dim, score) = (concepts.len(), self.dim, model.reduction.score);
        let info = IndexInfo { rows, dim, precision: Precision::Int8, score, hnsw: None };
        Index::from_bytes(&Bytes::from(Index::build(vectors, concepts, &info)?), Check::Trusted)
    }

    /// The nearest wrong sequences of examples, at most `mine_top` for each.
    ///
    /// # Errors
    /// If the device fails, or the user stops the work.
    pub fn mine(
        &self,
        config: &Config,
        model: &Model,
        catalogue: &Catalogue,
        examples: &[(usize, &Example)],
    ) -> Result<HardNegatives> {
        let vectors = self.mentions(&examples.iter().map(|(_, example)| &example.mention).collect::<Vec<_>>())?;
        let top = config.negatives.mine_top;
        let mut found = HardNegatives::with_capacity(examples.len());
        let mut progress = Progress::new("mining hard negatives", examples.len() as u64, "mentions");
        for (domain, places) in by_domain(config, catalogue, examples) {
            let index = self.sequences(domain, model, catalogue)?;
            for places in places.chunks(1024) {
                interrupt::check()?;
                let queries: Vec<f32> =
                    places.iter().flat_map(|at| &vectors[at * self.dim..][..self.dim]).copied().collect();
                // Some of the nearest are the right concept's own names.
                for (at, candidates) in places.iter().zip(index.search(&queries, 2 * top + 16)) {
                    let (number, example) = examples[*at];
                    let own: Vec<SequenceId> = catalogue.sequences_of(example.concept).collect();
                    let wrong = candidates.iter().map(|candidate| SequenceId(candidate.concept.0));
                    found.insert(number, wrong.filter(|sequence| !own.contains(sequence)).take(top).collect());
                }
                progress.advance(places.len() as u64);
            }
        }
        Ok(found)
    }

    /// An index of the sequences of a domain, or of all; sequences stand for themselves in it.
    fn sequences(&self, domain: Option<DomainId>, model: &Model, catalogue: &Catalogue) -> Result<Index> {
        let Some(domain) = domain else {
            let all: Vec<ConceptId> = (0..catalogue.rows().sequences.len() as u32).map(ConceptId).collect();
            return self.index(&self.vectors, &all, model);
        };
        let members = catalogue.members(domain).iter();
        let mut own: Vec<u32> = members.flat_map(|concept| catalogue.sequences_of(*concept)).map(|own| own.0).collect();
        own.sort_unstable();
        own.dedup();
        let vectors: Vec<f32> =
            own.iter().flat_map(|at| &self.vectors[*at as usize * self.dim..][..self.dim]).copied().collect();
        self.index(&vectors, &own.into_iter().map(ConceptId).collect::<Vec<_>>(), model)
    }

    /// Links the mentions of a held-out split.
    ///
    /// # Errors
    /// If the device fails, or the user stops the work.
    pub fn validate(&self, model: &Model, catalogue: &Catalogue, held_out: &HeldOut) -> Result<Validated> {
        let vectors = self.mentions(&held_out.encoded())?;
        Ok(held_out.judge(&self.by_concept(model, catalogue)?.search(&vectors, CANDIDATES)))
    }
}

/// The positions of examples by the domain that their negatives come from: one for all unless they stay inside their own.
fn by_domain(
    config: &Config,
    catalogue: &Catalogue,
    examples: &[(usize, &Example)],
) -> BTreeMap<Option<DomainId>, Vec<usize>> {
    let mut all: BTreeMap<_, Vec<usize>> = BTreeMap::new();
    for (at, (_, example)) in examples.iter().enumerate() {
        let inside = config.negatives.domain == Domain::Inside;
        all.entry(inside.then(|| catalogue.domain(example.concept))).or_default().push(at);
    }
    all
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
        if wanted == 0 || (ranks && listed.as_os_str().is_empty()) {
            return Ok(None);
        }
        let lists = if ranks { Some(Lists::read(listed, &catalogue.kb)?) } else { None };
        let (folder, split) = (&config.data.corpus, &config.validation.split);
        let training = TrainingSplit::read(folder, &config.data.split)?;
        let read = Split::read(folder, split, 1, &catalogue.kb, Some(&training))?;
        let of_mention = |gold: &Gold| lists.as_ref()?.of_gold(&read, gold);
        let known = read.mentions.iter().filter(|gold| !ranks || of_mention(gold).is_some());
        let known: Vec<&Gold> = known.collect();
        if known.is_empty() {
            let (folder, listed) = (folder.display(), listed.display());
            return Err(Error::input(match ranks {
                true => format!("{listed}: expected the candidates of the split {split}, found none of its mentions"),
                false => format!("{folder}: the split {split} has no mention"),
            }));
        }
        let view = config.view_options();
        let (mut reader, mut mentions, mut candidates) = (view.reader(), Vec::new(), Vec::new());
        for gold in known.iter().step_by((known.len() / wanted).max(1)) {
            let text = &read.documents[gold.document].text;
            // A mention of which nothing is left has no candidate, whatever the model.
            if let Some(mention) = view.mention(&model.tokens, &reader.mention(text, gold.span)?)? {
                mentions.push((mention, **gold));
                candidates.extend(of_mention(gold).map(|list| {
                    let has_text = |concept: &&ConceptId| catalogue.sequences_of(**concept).len() > 0;
                    list.candidates.iter().filter(has_text).take(config.data.top).copied().collect()
                }));
            }
        }
        Ok(Some(Self { mentions, lists: candidates }))
    }

    /// Ranks the candidates of each mention: recall@1 is the unnormalised accuracy, recall@64 the retriever's.
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
        let scores = encode(&encoder, Side::Mention, &pairs.iter().collect::<Vec<_>>(), "ranking candidates")?;
        let mut rest = &scores[..];
        let found = self.lists.iter().map(|list| {
            let (own, others) = rest.split_at(list.len());
            rest = others;
            let mut found: Vec<Candidate> =
                list.iter().zip(own).map(|(concept, score)| Candidate { concept: *concept, score: *score }).collect();
            reorder(&mut found, own);
            found
        });
        Ok(self.judge(&found.collect::<Vec<_>>()))
    }

    /// The mentions, as a tower reads them.
    pub fn encoded(&self) -> Vec<&Encoded> {
        self.mentions.iter().map(|(mention, _)| mention).collect()
    }

    /// What the candidates of each mention, [`CANDIDATES`] at most, say.
    pub fn judge(&self, found: &[Vec<Candidate>]) -> Validated {
        let golds = || self.mentions.iter().map(|(_, gold)| gold).zip(found);
        let rank = |gold: &Gold, found: &[Candidate]| found.iter().position(|one| Some(one.concept) == gold.concept);
        let recall = |k: usize, wanted: fn(&Gold) -> bool| -> Option<f64> {
            let golds = golds().filter(|(gold, _)| gold.concept.is_some() && wanted(gold));
            recall_at(golds.map(|(gold, found)| rank(gold, found)), k).value()
        };
        let zero_shot = |gold: &Gold| gold.seen == Some(false);
        let top = |(gold, found): (&Gold, &Vec<Candidate>)| Top {
            score: found.first().map(|best| best.score),
            nil: gold.concept.is_none(),
        };
        Validated {
            mentions: self.mentions.len(),
            recall_1: recall(1, |_| true),
            recall_64: recall(CANDIDATES, |_| true),
            zero_shot_1: recall(1, zero_shot),
            zero_shot_64: recall(CANDIDATES, zero_shot),
            nil_aupr: average_precision(&golds().map(top).collect::<Vec<_>>()),
        }
    }
}
