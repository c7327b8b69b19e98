//! The knowledge base encoded by a model: for mining hard negatives, for validation, and for
//! measuring a model.

use super::batch::HardNegatives;
use super::config::{Config, Domain};
use super::examples::Example;
use super::model::Model;
use crate::train::entity_inputs::{DomainId, EntityInputs, SequenceId};
use burn::tensor::Device;
use bytes::Bytes;
use pel_artifacts::token_file::TokenFile;
use pel_index::{FIRST_PASS_TRAINING, Index, IndexInfo, Precision, TokenStore, TokenStoreLayout};
use pel_io::interrupt;
use pel_io::progress::Progress;
use pel_kb::ConceptId;
use pel_kb::container::Check;
use pel_kb::error::Result;
use pel_kb::score::{Candidate, Scorer, Similarity};
use pel_linker::Queries;
use pel_model::encode::Encoder;
use pel_model::tokens::Encoded;
use pel_model::tower::Side;
use std::collections::{BTreeMap, HashSet};
use std::path::Path;

/// Mentions that are encoded and searched together. It bounds the memory of their token vectors.
const AT_ONCE: usize = 1024;

/// The vectors of all entity sequences, with the encoder of mentions.
pub struct EncodedKb {
    /// The towers.
    pub encoder: Encoder,
    /// Which vectors are compared.
    pub scorer: Scorer,
    score: Similarity,
    /// `[sequences, dim]`
    vectors: Vec<f32>,
    /// The token vectors of each sequence, for Sum-of-Max.
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
    Queries::encode(
        encoder,
        scorer,
        side,
        rows,
        encoder.long_run_batch(),
        |done| {
            progress.advance(done as u64);
            interrupt::check()
        },
    )
}

impl EncodedKb {
    /// Encodes every entity sequence. The token vectors of Sum-of-Max are written to a temporary
    /// file in `folder` ([`TokenFile`]).
    ///
    /// # Errors
    /// If the device fails, the file cannot be written, or the user interrupts.
    pub fn new(
        model: &Model,
        inputs: &EntityInputs,
        device: &Device,
        folder: &Path,
    ) -> Result<Self> {
        let encoder = model.encoder(&device.clone().inner())?;
        let dim = encoder.dim();
        let rows: Vec<&Encoded> = inputs.rows().sequences.iter().collect();
        let mut file = match model.scorer {
            Scorer::Dual => None,
            Scorer::SumOfMax => {
                let lengths = (0..).zip(&rows).map(|(at, row)| {
                    let compared = encoder.compared(row);
                    (ConceptId(at), compared.len())
                });
                let layout = TokenStoreLayout::new(dim, lengths)?;
                Some(TokenFile::new(folder, layout)?)
            }
        };
        let mut vectors = vec![0.0; rows.len() * dim];
        let mut progress = Progress::new("encoding the knowledge base", rows.len() as u64, "texts");
        interrupt::check()?;
        let batches = encoder.long_run_batch().batches(&rows);
        let scorer = model.scorer;
        encoder.encode_batches(scorer, Side::Entity, &rows, &batches, |part, found| {
            let (places, found) = (part.places(), Queries::new(dim, found));
            for (at, vector) in places.iter().zip(found.pooled.chunks_exact(dim)) {
                vectors[at * dim..][..dim].copy_from_slice(vector);
            }
            if let Some(file) = &mut file {
                for (at, tokens) in places.iter().zip(&found.tokens) {
                    file.write(*at, tokens)?;
                }
            }
            progress.advance(places.len() as u64);
            interrupt::check()
        })?;
        let tokens = match file {
            None => None,
            Some(file) => Some(TokenStore::from_bytes(&file.finish()?, Check::Trusted)?),
        };
        Ok(Self {
            encoder,
            scorer: model.scorer,
            score: model.reduction.score,
            vectors,
            tokens,
        })
    }

    /// The vectors of all sequences, and their width.
    ///
    /// # Shapes
    /// `[sequences, dim]`
    pub fn vectors(&self) -> (&[f32], usize) {
        (&self.vectors, self.encoder.dim())
    }

    /// Encodes mentions.
    ///
    /// # Errors
    /// If the device fails, or the user interrupts.
    pub fn encode_mentions(&self, scorer: Scorer, mentions: &[&Encoded]) -> Result<Queries> {
        encode(
            &self.encoder,
            scorer,
            Side::Mention,
            mentions,
            "encoding mentions",
        )
    }

    /// The best `k` candidates of each mention in an index of these vectors. With Sum-of-Max, it
    /// reorders the best of a first pass. `sequences` gives the sequences of an entry of the index.
    pub fn search<I: IntoIterator<Item = SequenceId>>(
        &self,
        index: &Index,
        mentions: &Queries,
        k: usize,
        sequences: impl Fn(ConceptId) -> I + Sync,
    ) -> Vec<Vec<Candidate>> {
        let Some(store) = &self.tokens else {
            return index.search(&mentions.pooled, k);
        };
        let first_pass = index.search(&mentions.pooled, k.max(FIRST_PASS_TRAINING));
        mentions.rank_by_tokens(first_pass, k, |tokens, concepts| {
            let best = |concept: ConceptId| {
                let own = sequences(concept)
                    .into_iter()
                    .map(|sequence| ConceptId(sequence.0));
                Some(Candidate {
                    concept,
                    ..*store.rank(tokens, own).first()?
                })
            };
            concepts.into_iter().filter_map(best).collect()
        })
    }

    /// [`EncodedKb::search`] for encoded mentions among concepts, some thousands of mentions at a
    /// time.
    ///
    /// # Errors
    /// If the device fails, or the user interrupts.
    pub fn candidates(
        &self,
        index: &Index,
        inputs: &EntityInputs,
        mentions: &[&Encoded],
        k: usize,
    ) -> Result<Vec<Vec<Candidate>>> {
        let mut found = Vec::with_capacity(mentions.len());
        for mentions in mentions.chunks(AT_ONCE) {
            let mentions = self.encode_mentions(self.scorer, mentions)?;
            found.extend(self.search(index, &mentions, k, |concept| inputs.sequences_of(concept)));
        }
        Ok(found)
    }

    /// An index of the concepts, or of some of them.
    ///
    /// # Errors
    /// If it cannot be built.
    pub fn concept_index(
        &self,
        inputs: &EntityInputs,
        some: Option<&HashSet<u32>>,
    ) -> Result<Index> {
        let rows = inputs.rows();
        let vectors = rows.spread(&self.vectors);
        let Some(some) = some else {
            return self.index(&vectors, &rows.concepts);
        };
        let vectors = rows.concepts.iter().zip(vectors.chunks(self.encoder.dim()));
        let (concepts, vectors): (Vec<ConceptId>, Vec<&[f32]>) = vectors
            .filter(|(concept, _)| some.contains(&concept.0))
            .unzip();
        self.index(&vectors.concat(), &concepts)
    }

    /// An index of the sequences of some concepts, or of all. An entry is a sequence.
    fn sequence_index(
        &self,
        members: Option<&[ConceptId]>,
        inputs: &EntityInputs,
    ) -> Result<Index> {
        let Some(members) = members else {
            let all: Vec<ConceptId> = (0..inputs.rows().sequences.len() as u32)
                .map(ConceptId)
                .collect();
            return self.index(&self.vectors, &all);
        };
        let mut own: Vec<u32> = members
            .iter()
            .flat_map(|concept| inputs.sequences_of(*concept))
            .map(|own| own.0)
            .collect();
        own.sort_unstable();
        own.dedup();
        let dim = self.encoder.dim();
        let vectors: Vec<f32> = own
            .iter()
            .flat_map(|at| &self.vectors[*at as usize * dim..][..dim])
            .copied()
            .collect();
        self.index(
            &vectors,
            &own.into_iter().map(ConceptId).collect::<Vec<_>>(),
        )
    }

    fn index(&self, vectors: &[f32], concepts: &[ConceptId]) -> Result<Index> {
        let (rows, dim, score) = (concepts.len(), self.encoder.dim(), self.score);
        let info = IndexInfo::exact(rows, dim, Precision::Int8, score);
        Index::from_bytes(
            &Bytes::from(Index::build(vectors, concepts, &info)?),
            Check::Trusted,
        )
    }

    /// Mines hard negatives: the nearest wrong sequences of examples, at most `mine_top` for each.
    ///
    /// # Errors
    /// If the device fails, or the user interrupts.
    pub fn mine(
        &self,
        config: &Config,
        inputs: &EntityInputs,
        examples: &[(usize, &Example)],
    ) -> Result<HardNegatives> {
        let top = config.negatives.mine_top;
        let mut found = HardNegatives::with_capacity(examples.len());
        let mut progress =
            Progress::new("mining hard negatives", examples.len() as u64, "mentions");
        for (domain, examples) in by_domain(config, inputs, examples) {
            let members = match (domain, config.negatives.domain) {
                (Some(domain), _) => Some(inputs.members(domain)),
                (None, Domain::Trained) => inputs.trained(),
                (None, _) => None,
            };
            let index = self.sequence_index(members, inputs)?;
            for examples in examples.chunks(AT_ONCE) {
                let mentions: Vec<&Encoded> = examples
                    .iter()
                    .map(|(_, example)| &example.mention)
                    .collect();
                let mentions = self.encode_mentions(self.scorer, &mentions)?;
                // Some of the nearest are names of the right concept.
                let nearest = self.search(&index, &mentions, 2 * top + 16, |sequence| {
                    [SequenceId(sequence.0)]
                });
                for ((number, example), nearest) in examples.iter().zip(nearest) {
                    let own: Vec<SequenceId> = inputs.sequences_of(example.concept).collect();
                    let wrong = nearest
                        .iter()
                        .map(|candidate| SequenceId(candidate.concept.0));
                    found.insert(
                        *number,
                        wrong
                            .filter(|sequence| !own.contains(sequence))
                            .take(top)
                            .collect(),
                    );
                }
                progress.advance(examples.len() as u64);
            }
        }
        Ok(found)
    }
}

/// Examples by the domain of their negatives. It is `None` unless negatives are of the example's
/// own domain.
fn by_domain<'a>(
    config: &Config,
    inputs: &EntityInputs,
    examples: &[(usize, &'a Example)],
) -> BTreeMap<Option<DomainId>, Vec<(usize, &'a Example)>> {
    let mut all: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for (number, example) in examples {
        let inside = config.negatives.domain == Domain::Inside;
        all.entry(inside.then(|| inputs.domain(example.concept)))
            .or_default()
            .push((*number, *example));
    }
    all
}
