//! Searches candidates: by pooled vectors, or by Sum-of-Max among the best of such a search
//! (T-Biencoder, eq. 5).

use super::Proposals;
use crate::added::AddedConcepts;
use crate::bundle::Queries;
use crate::linker::{Linker, Steps};
use crate::options::LinkOptions;
use pel_index::{FIRST_PASS, TokenCodes, TokenStore};
use pel_kb::ConceptId;
use pel_kb::score::{Candidate, Scorer};

impl<'l> Steps<'l> {
    /// The best `k` concepts of each sequence, best first, ties in concept order.
    ///
    /// # Panics
    /// If the number of queries is not that of the sequences, or they were encoded for another
    /// scorer.
    pub fn search(&self, sequences: usize, queries: &Queries, k: usize) -> Vec<Vec<Candidate>> {
        let (pooled, dim) = (&queries.pooled, self.linker.bundle.index.info().dim);
        assert_eq!(
            pooled.len(),
            sequences * dim,
            "a vector of {dim} values for each of {sequences} sequences"
        );
        let first = self
            .linker
            .bundle
            .index
            .search(pooled, self.linker.first_pass(k));
        self.linker.rank_first_pass(queries, first, k)
    }

    /// As [`Steps::search`], but over every row of the bundle, without a first pass, a graph or
    /// added concepts: its ground truth.
    ///
    /// # Panics
    /// As [`Steps::search`].
    pub fn search_exact(
        &self,
        sequences: usize,
        queries: &Queries,
        k: usize,
    ) -> Vec<Vec<Candidate>> {
        let (Queries { pooled, tokens }, dim) = (queries, self.linker.bundle.index.info().dim);
        match self
            .linker
            .bundle
            .token_vectors
            .as_ref()
            .filter(|_| self.linker.scorer == Scorer::SumOfMax)
        {
            None => {
                assert_eq!(
                    pooled.len(),
                    sequences * dim,
                    "a vector of {dim} values for each of {sequences} sequences"
                );
                self.linker.bundle.index.search_exact(pooled, k)
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

    /// The number of concepts to propose for each sequence ([`Steps::finish_with`]): the best ones
    /// of the bundle by their best rows.
    pub fn proposals(&self, options: &LinkOptions) -> usize {
        let k = self
            .linker
            .first_pass(self.linker.searched(options.candidates()));
        self.linker.bundle.index.first_pass(k)
    }
}

impl Linker {
    /// As [`Steps::search`], but among concepts that were proposed for each sequence.
    ///
    /// # Panics
    /// As [`Steps::search`], or if there is not one list for each sequence.
    pub(crate) fn search_among(
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
    pub(crate) fn has_type(&self, concept: ConceptId, types: &[String]) -> bool {
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
    pub(crate) fn score(
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
