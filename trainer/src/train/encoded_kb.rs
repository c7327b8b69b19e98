//! Looking at the whole knowledge base with the towers as they are: hard negatives for the examples to come, and candidates for a
//! held-out split.

use super::batch::HardNegatives;
use super::config::{Config, Domain};
use super::examples::Example;
use super::model::Model;
use crate::io::interrupt;
use crate::io::progress::Progress;
use crate::train::entity_inputs::{Catalogue, DomainId, SequenceId};
use crate::train::validation::{CANDIDATES, HeldOut, Validated};
use burn::tensor::Device;
use bytes::Bytes;
use pel_shared::container::Check;
use pel_shared::error::Result;
use pel_shared::index::{FIRST_PASS_TRAINING, Index, IndexInfo, Precision, TokenStore, TokenStoreBuilder};
use pel_shared::kb::ConceptId;
use pel_shared::linker::Queries;
use pel_shared::model::encode::{BatchSize, Encoder};
use pel_shared::model::tower::Side;
use pel_shared::score::{Candidate, Scorer};
use pel_shared::tokens::Encoded;
use rayon::prelude::*;
use std::collections::{BTreeMap, HashSet};

/// Tokens of one encoder batch, padding included.
const BATCH_TOKENS: usize = 2048;
/// Mentions that are encoded and searched together: it bounds the memory that their tokens take.
const AT_ONCE: usize = 1024;

/// The vectors of all sequences.
pub struct Survey {
    encoder: Encoder,
    /// `[sequences, dim]`
    vectors: Vec<f32>,
    dim: usize,
    /// The tokens of all sequences, which stand for themselves, where Sum-of-Max compares them.
    tokens: Option<TokenStore>,
}

/// Encodes sequences in batches of similar length.
pub(super) fn encode(
    encoder: &Encoder,
    scorer: Scorer,
    side: Side,
    rows: &[&Encoded],
    doing: &'static str,
) -> Result<Queries> {
    let mut progress = Progress::new(doing, rows.len() as u64, "texts");
    interrupt::check()?;
    Queries::encode(encoder, scorer, side, rows, BatchSize::of_tokens(BATCH_TOKENS), |done| {
        progress.advance(done as u64);
        interrupt::check()
    })
}

impl Survey {
    /// Encodes every sequence of the catalogue.
    ///
    /// # Errors
    /// If the device fails, or the user stops the work.
    pub fn new(model: &Model, catalogue: &Catalogue, device: &Device) -> Result<Self> {
        let encoder = model.encoder(&device.clone().inner())?;
        let rows: Vec<&Encoded> = catalogue.rows().sequences.iter().collect();
        let Queries { pooled, tokens } =
            encode(&encoder, model.scorer, Side::Entity, &rows, "encoding the knowledge base")?;
        let dim = encoder.dim();
        let tokens = match model.scorer {
            Scorer::Dual => None,
            Scorer::SumOfMax => {
                let mut store = TokenStoreBuilder::new(dim);
                tokens.iter().enumerate().for_each(|(at, own)| store.push_codes(ConceptId(at as u32), own));
                Some(TokenStore::from_bytes(&Bytes::from(store.finish()?), Check::Trusted)?)
            }
        };
        Ok(Self { encoder, vectors: pooled, dim, tokens })
    }

    /// The best candidates of mentions in an index of this survey: by their vectors, or by Sum-of-Max among the best of these. `sequences`
    /// gives the sequences of what the index finds.
    ///
    /// # Errors
    /// If the device fails, or the user stops the work.
    pub fn search<I: IntoIterator<Item = SequenceId>>(
        &self,
        index: &Index,
        mentions: &[&Encoded],
        k: usize,
        sequences: impl Fn(ConceptId) -> I + Sync,
    ) -> Result<Vec<Vec<Candidate>>> {
        let scorer = if self.tokens.is_some() { Scorer::SumOfMax } else { Scorer::Dual };
        let mut found = Vec::with_capacity(mentions.len());
        for mentions in mentions.chunks(AT_ONCE) {
            let Queries { pooled, tokens } =
                encode(&self.encoder, scorer, Side::Mention, mentions, "encoding mentions")?;
            let Some(store) = &self.tokens else {
                found.extend(index.search(&pooled, k));
                continue;
            };
            let first = index.search(&pooled, k.max(FIRST_PASS_TRAINING));
            let ranked = tokens.par_iter().zip(first).map(|(query, first)| {
                let score = |candidate: Candidate| {
                    let own = sequences(candidate.concept).into_iter().map(|sequence| ConceptId(sequence.0));
                    let best = store.rank(query, own).first().map(|best| best.score)?;
                    Some(Candidate { concept: candidate.concept, score: best })
                };
                let mut ranked: Vec<Candidate> = first.into_iter().filter_map(score).collect();
                ranked.sort_by(Candidate::rank);
                ranked.truncate(k);
                ranked
            });
            found.extend(ranked.collect::<Vec<_>>());
        }
        Ok(found)
    }

    /// An index of the concepts.
    ///
    /// # Errors
    /// If it cannot be made.
    pub fn by_concept(&self, model: &Model, catalogue: &Catalogue) -> Result<Index> {
        let rows = catalogue.rows();
        self.index(&rows.spread(&self.vectors), &rows.concepts, model)
    }

    /// An index of some of the concepts.
    ///
    /// # Errors
    /// If it cannot be made.
    pub fn by_some_concepts(&self, model: &Model, catalogue: &Catalogue, some: &HashSet<u32>) -> Result<Index> {
        let rows = catalogue.rows();
        let vectors = rows.spread(&self.vectors);
        let kept = rows.concepts.iter().zip(vectors.chunks(self.dim)).filter(|(concept, _)| some.contains(&concept.0));
        let (concepts, vectors): (Vec<ConceptId>, Vec<&[f32]>) = kept.unzip();
        self.index(&vectors.concat(), &concepts, model)
    }

    /// The vectors of all sequences, and their width.
    pub fn vectors(&self) -> (&[f32], usize) {
        (&self.vectors, self.dim)
    }

    /// The whole vectors of mentions.
    ///
    /// # Shapes
    /// -> `[mentions, dim]`
    ///
    /// # Errors
    /// If the device fails, or the user stops the work.
    pub fn mentions(&self, mentions: &[&Encoded]) -> Result<Vec<f32>> {
        Ok(encode(&self.encoder, Scorer::Dual, Side::Mention, mentions, "encoding mentions")?.pooled)
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
        let mentions: Vec<&Encoded> = examples.iter().map(|(_, example)| &example.mention).collect();
        let top = config.negatives.mine_top;
        let mut found = HardNegatives::with_capacity(examples.len());
        let mut progress = Progress::new("mining hard negatives", examples.len() as u64, "mentions");
        for (domain, places) in by_domain(config, catalogue, examples) {
            let members = match (domain, config.negatives.domain) {
                (Some(domain), _) => Some(catalogue.members(domain)),
                (None, Domain::Trained) => catalogue.trained(),
                (None, _) => None,
            };
            let index = self.sequences(members, model, catalogue)?;
            for places in places.chunks(AT_ONCE) {
                // Some of the nearest are the right concept's own names.
                let own: Vec<&Encoded> = places.iter().map(|at| mentions[*at]).collect();
                let itself = |sequence: ConceptId| [SequenceId(sequence.0)];
                let found_here = self.search(&index, &own, 2 * top + 16, itself)?;
                for (at, candidates) in places.iter().zip(found_here) {
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

    /// An index of the sequences of some concepts, or of all; sequences stand for themselves in it.
    fn sequences(&self, members: Option<&[ConceptId]>, model: &Model, catalogue: &Catalogue) -> Result<Index> {
        let Some(members) = members else {
            let all: Vec<ConceptId> = (0..catalogue.rows().sequences.len() as u32).map(ConceptId).collect();
            return self.index(&self.vectors, &all, model);
        };
        let mut own: Vec<u32> =
            members.iter().flat_map(|concept| catalogue.sequences_of(*concept)).map(|own| own.0).collect();
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
        let (mentions, index) = (held_out.encoded(), self.by_concept(model, catalogue)?);
        let of_concept = |concept| catalogue.sequences_of(concept);
        Ok(held_out.judge(&self.search(&index, &mentions, CANDIDATES, of_concept)?))
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
