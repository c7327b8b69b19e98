//! Encodes token sequences and searches candidates: by pooled vectors, or by Sum-of-Max among the
//! best of such a search (T-Biencoder, eq. 5).

use super::{AddedConcepts, LinkOptions, Linker, Prepared, Proposals, Queries};
use crate::bundle::names;
use pel_index::{FIRST_PASS, TokenCodes, TokenStore};
use pel_kb::ConceptId;
use pel_kb::error::{Error, Result};
use pel_kb::score::{Candidate, Scorer};
use pel_model::nil::NilPolicy;
use pel_model::tokens::Encoded;
use pel_model::tower::Side;

impl Linker {
    /// The vectors of a mention and a concept that are compared.
    pub fn scorer(&self) -> Scorer {
        self.scorer
    }

    /// Sets which vectors are compared. With another scorer than the bundle's, the NIL policy
    /// becomes the default one: its threshold does not hold for other scores.
    ///
    /// # Errors
    /// If the bundle has no token vectors for Sum-of-Max, or concepts were added, which may have
    /// none.
    pub fn set_scorer(&mut self, scorer: Scorer) -> Result<()> {
        if self.added.concepts().len() > 0 {
            return Err(Error::input(
                "expected a linker without added concepts, found some; set the scorer before \
                 concepts are added",
            ));
        }
        if scorer == Scorer::SumOfMax && self.bundle.token_vectors.is_none() {
            return Err(Error::input(format!(
                "the scorer sum-of-max compares the vectors of all tokens: expected `{}` in the \
                 bundle, found none; `pel index --scorer sum-of-max` writes it",
                names::TOKEN_VECTORS
            )));
        }
        if scorer != self.bundle.scorer() {
            self.bundle.manifest.nil = NilPolicy::default();
        }
        self.scorer = scorer;
        if let Some(options) = self.bundle.manifest.index.hnsw {
            // A concept has several rows. With a smaller list the search would be repeated until it
            // has enough concepts.
            let least = if scorer == Scorer::SumOfMax {
                2 * FIRST_PASS
            } else {
                0
            };
            self.bundle.index.set_depth(options.ef_search.max(least));
        }
        Ok(())
    }

    /// Encodes the sequences of mentions. After each step `tick` gets the number of sequences that
    /// the step encoded. Its error stops the work.
    ///
    /// # Errors
    /// As [`Encoder::encode_batches`](pel_model::encode::Encoder::encode_batches).
    pub fn encode(
        &self,
        prepared: &Prepared,
        tick: impl FnMut(usize) -> Result<()>,
    ) -> Result<Queries> {
        let rows: Vec<&Encoded> = prepared.sequences.iter().collect();
        Queries::encode(
            &self.encoder,
            self.scorer,
            Side::Mention,
            &rows,
            self.encoder.batch_size(),
            tick,
        )
    }

    /// The best `k` concepts of each sequence, best first, ties in concept order.
    ///
    /// # Panics
    /// If the number of queries is not that of the sequences, or they were encoded for another
    /// scorer.
    pub fn search(&self, sequences: usize, queries: &Queries, k: usize) -> Vec<Vec<Candidate>> {
        let (pooled, dim) = (&queries.pooled, self.bundle.index.info().dim);
        assert_eq!(
            pooled.len(),
            sequences * dim,
            "a vector of {dim} values for each of {sequences} sequences"
        );
        let first = self.bundle.index.search(pooled, self.first_pass(k));
        self.rank_first_pass(queries, first, k)
    }

    /// As [`Linker::search`], but among concepts that were proposed for each sequence.
    ///
    /// # Panics
    /// As [`Linker::search`], or if there is not one list for each sequence.
    pub(super) fn search_among(
        &self,
        queries: &Queries,
        proposals: &Proposals,
        k: usize,
    ) -> Vec<Vec<Candidate>> {
        let index = &self.bundle.index;
        let first = index.rank(&queries.pooled, &proposals.concepts, self.first_pass(k));
        let mut found = self.rank_first_pass(queries, first, k);
        if !proposals.types.is_empty() {
            let fits = |candidate: &Candidate| self.has_type(candidate.concept, &proposals.types);
            found.iter_mut().for_each(|found| found.retain(fits));
        }
        found
    }

    /// Whether a concept has one of these types. One with a damaged record has none.
    pub(super) fn has_type(&self, concept: ConceptId, types: &[String]) -> bool {
        let found = self.concept(concept).map(|concept| concept.types);
        found.is_ok_and(|found| found.iter().any(|own| types.contains(own)))
    }

    /// The number of concepts that the first pass of a search for `k` takes.
    fn first_pass(&self, k: usize) -> usize {
        match self.scorer {
            Scorer::Dual => k,
            Scorer::SumOfMax => k.max(FIRST_PASS),
        }
    }

    /// The number of concepts to propose for each sequence ([`Linker::finish_with`]): the best ones
    /// of the bundle by their best rows.
    pub fn proposals(&self, options: &LinkOptions) -> usize {
        let k = self.first_pass(self.searched(options.candidates()));
        self.bundle.index.first_pass(k)
    }

    /// Adds the candidates among added concepts, and orders all by Sum-of-Max if that is the
    /// scorer.
    fn rank_first_pass(
        &self,
        queries: &Queries,
        mut first: Vec<Vec<Candidate>>,
        k: usize,
    ) -> Vec<Vec<Candidate>> {
        let taken = self.first_pass(k);
        self.added.search(&queries.pooled, taken, &mut first);
        let Some(store) = self
            .bundle
            .token_vectors
            .as_ref()
            .filter(|_| self.scorer == Scorer::SumOfMax)
        else {
            return first;
        };
        // Not the whole linker: threads of a page cannot share its GPU.
        let added = &self.added;
        queries.rank_by_tokens(first, k, |tokens, concepts| {
            sum_of_max(store, added, tokens, concepts)
        })
    }

    /// The scores of some concepts with a sequence, in no order.
    pub(super) fn score(
        &self,
        queries: &Queries,
        sequence: usize,
        concepts: Vec<ConceptId>,
    ) -> Vec<Candidate> {
        let (dim, added) = (self.bundle.index.info().dim, &self.added);
        if let Some(store) = self
            .bundle
            .token_vectors
            .as_ref()
            .filter(|_| self.scorer == Scorer::SumOfMax)
        {
            return sum_of_max(store, added, &queries.tokens[sequence], concepts);
        }
        let (others, own): (Vec<_>, Vec<_>) = concepts
            .into_iter()
            .partition(|concept| added.has(*concept));
        let vector = queries.vector(sequence, dim);
        let mut scored = self.bundle.index.score(vector, own);
        scored.extend(added.score(vector, others));
        scored
    }

    /// As [`Linker::search`], but over every row of the bundle, without a first pass, a graph or
    /// added concepts: its ground truth.
    ///
    /// # Panics
    /// As [`Linker::search`].
    pub fn search_exact(
        &self,
        sequences: usize,
        queries: &Queries,
        k: usize,
    ) -> Vec<Vec<Candidate>> {
        let (Queries { pooled, tokens }, dim) = (queries, self.bundle.index.info().dim);
        match self
            .bundle
            .token_vectors
            .as_ref()
            .filter(|_| self.scorer == Scorer::SumOfMax)
        {
            None => {
                assert_eq!(
                    pooled.len(),
                    sequences * dim,
                    "a vector of {dim} values for each of {sequences} sequences"
                );
                self.bundle.index.search_exact(pooled, k)
            }
            Some(store) => {
                assert_eq!(
                    tokens.len(),
                    sequences,
                    "the tokens of each of {sequences} sequences"
                );
                let found = pel_kernels::for_each_chunk(tokens, 1, |_, tokens| {
                    tokens
                        .iter()
                        .map(|tokens| store.search(tokens, k))
                        .collect::<Vec<_>>()
                });
                found.into_iter().flatten().collect()
            }
        }
    }
}

/// The Sum-of-Max scores of some concepts, in no order.
fn sum_of_max(
    store: &TokenStore,
    added: &AddedConcepts,
    tokens: &TokenCodes,
    concepts: Vec<ConceptId>,
) -> Vec<Candidate> {
    let (others, own): (Vec<_>, Vec<_>) = concepts
        .into_iter()
        .partition(|concept| added.has(*concept));
    let mut scored = store.rank(tokens, own);
    scored.extend(added.rank(tokens, others));
    scored
}
