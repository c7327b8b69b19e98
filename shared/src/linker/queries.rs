//! Encodes token sequences and searches candidates: by pooled vectors, or by Sum-of-Max among the best of such a search
//! (T-Biencoder, eq. 5).

use super::{AddedConcepts, Linker, Prepared, Queries};
use crate::bundle::names;
use crate::error::{Error, Result};
use crate::index::{FIRST_PASS, TokenCodes, TokenStore, best_per_concept};
use crate::kb::ConceptId;
use crate::kernels;
use crate::model::encode::BatchSize;
use crate::model::tower::Side;
use crate::nil::NilPolicy;
use crate::score::{Candidate, Scorer};
use crate::tokens::Encoded;

impl Linker {
    /// The vectors of a mention and a concept that are compared.
    pub fn scorer(&self) -> Scorer {
        self.scorer
    }

    /// Sets which vectors are compared. With another scorer than the bundle's, the NIL policy becomes the default one: its
    /// threshold does not hold for other scores.
    ///
    /// # Errors
    /// If the bundle has no token vectors for Sum-of-Max, or concepts were added, which may have none.
    pub fn set_scorer(&mut self, scorer: Scorer) -> Result<()> {
        if self.added.concepts().len() > 0 {
            return Err(Error::input(
                "expected a linker without added concepts, found some; set the scorer before concepts are added",
            ));
        }
        if scorer == Scorer::SumOfMax && self.bundle.token_vectors.is_none() {
            return Err(Error::input(format!(
                "the scorer sum-of-max compares the vectors of all tokens: expected `{}` in the bundle, found none; `pel index \
                 --scorer sum-of-max` writes it",
                names::TOKEN_VECTORS
            )));
        }
        if scorer != self.bundle.scorer() {
            self.bundle.manifest.nil = NilPolicy::default();
        }
        self.scorer = scorer;
        if let Some(options) = self.bundle.manifest.index.hnsw {
            // A concept has several rows. With a smaller list the search would be repeated until it has enough concepts.
            let least = if scorer == Scorer::SumOfMax { 2 * FIRST_PASS } else { 0 };
            self.bundle.index.set_ef_search(options.ef_search.max(least));
        }
        Ok(())
    }

    /// Encodes the sequences of mentions. After each step `tick` gets the number of sequences that the step encoded. Its error
    /// stops the work.
    ///
    /// # Errors
    /// As [`Encoder::encode_batches`](crate::model::encode::Encoder::encode_batches).
    pub fn encode(&self, prepared: &Prepared, tick: impl FnMut(usize) -> Result<()>) -> Result<Queries> {
        let rows: Vec<&Encoded> = prepared.sequences.iter().collect();
        Queries::encode(&self.encoder, self.scorer, Side::Mention, &rows, BatchSize::default(), tick)
    }

    /// The best `k` concepts of each sequence, best first, ties in concept order.
    ///
    /// # Panics
    /// If the number of queries is not that of the sequences, or they were encoded for another scorer.
    pub fn search(&self, sequences: usize, queries: &Queries, k: usize) -> Vec<Vec<Candidate>> {
        let (Queries { pooled, tokens }, dim) = (queries, self.bundle.index.info().dim);
        assert_eq!(pooled.len(), sequences * dim, "a vector of {dim} values for each of {sequences} sequences");
        let store = self.bundle.token_vectors.as_ref().filter(|_| self.scorer == Scorer::SumOfMax);
        let taken = if store.is_some() { k.max(FIRST_PASS) } else { k };
        let mut first = self.bundle.index.search(pooled, taken);
        self.added.search(pooled, taken, &mut first);
        let Some(store) = store else { return first };
        assert_eq!(tokens.len(), sequences, "the tokens of each of {sequences} sequences");
        let both: Vec<(&TokenCodes, Vec<Candidate>)> = tokens.iter().zip(first).collect();
        // Not the whole linker: the threads of a page must not share its GPU.
        let added = &self.added;
        let ranked = kernels::for_each_chunk(&both, 1, |_, both| {
            both.iter().map(|(tokens, first)| by_tokens(store, added, tokens, first, k)).collect::<Vec<_>>()
        });
        ranked.into_iter().flatten().collect()
    }

    /// The scores of some concepts with a sequence, in no order.
    pub(super) fn score(&self, queries: &Queries, sequence: usize, concepts: Vec<ConceptId>) -> Vec<Candidate> {
        let (dim, added) = (self.bundle.index.info().dim, &self.added);
        let (others, own): (Vec<_>, Vec<_>) = concepts.into_iter().partition(|concept| added.has(*concept));
        let store = self.bundle.token_vectors.as_ref().filter(|_| self.scorer == Scorer::SumOfMax);
        let (mut scored, further) = match store {
            Some(store) => {
                let tokens = &queries.tokens[sequence];
                (store.rank(tokens, own), added.rank(tokens, others))
            }
            None => {
                let vector = queries.vector(sequence, dim);
                (self.bundle.index.score(vector, own), added.score(vector, others))
            }
        };
        scored.extend(further);
        scored
    }

    /// As [`Linker::search`], but over every row of the bundle, without a first pass, a graph or added concepts: its ground
    /// truth.
    ///
    /// # Panics
    /// As [`Linker::search`].
    pub fn search_exact(&self, sequences: usize, queries: &Queries, k: usize) -> Vec<Vec<Candidate>> {
        let (Queries { pooled, tokens }, dim) = (queries, self.bundle.index.info().dim);
        match self.bundle.token_vectors.as_ref().filter(|_| self.scorer == Scorer::SumOfMax) {
            None => {
                assert_eq!(pooled.len(), sequences * dim, "a vector of {dim} values for each of {sequences} sequences");
                self.bundle.index.search_exact(pooled, k)
            }
            Some(store) => {
                assert_eq!(tokens.len(), sequences, "the tokens of each of {sequences} sequences");
                let found = kernels::for_each_chunk(tokens, 1, |_, tokens| {
                    tokens.iter().map(|tokens| store.search(tokens, k)).collect::<Vec<_>>()
                });
                found.into_iter().flatten().collect()
            }
        }
    }
}

/// Orders the candidates of the first pass by Sum-of-Max.
fn by_tokens(
    store: &TokenStore,
    added: &AddedConcepts,
    tokens: &TokenCodes,
    first: &[Candidate],
    k: usize,
) -> Vec<Candidate> {
    let (others, own): (Vec<_>, Vec<_>) =
        first.iter().map(|candidate| candidate.concept).partition(|concept| added.has(*concept));
    let mut ranked = store.rank(tokens, own);
    ranked.extend(added.rank(tokens, others));
    best_per_concept(ranked, k)
}
