//! Encoded sequences in the form in which an index keeps or searches them.

use super::{TokenCodes, best_per_concept};
use crate::error::Result;
use crate::kb::ConceptId;
use crate::kernels;
use crate::model::encode::{BatchSize, Encoder, Encodings};
use crate::model::tower::Side;
use crate::score::{Candidate, Scorer};
use crate::tokens::Encoded;

/// The vectors of sequences: whole vectors as they are, those of tokens as bytes.
#[derive(Clone, Debug, Default)]
pub struct Queries {
    /// `[sequences, dim]`
    pub pooled: Vec<f32>,
    /// For each sequence; empty where whole vectors are compared.
    pub tokens: Vec<TokenCodes>,
}

impl Queries {
    /// Rounds the vectors of tokens to bytes.
    pub fn new(dim: usize, encodings: Encodings) -> Self {
        let Encodings { pooled, tokens } = encodings;
        let tokens = tokens.unwrap_or_default().iter().map(|tokens| TokenCodes::new(dim, tokens)).collect();
        Self { pooled, tokens }
    }

    /// Encodes sequences batch by batch. Tokens are rounded at once: as floats, those of all sequences would take much memory. After
    /// each step `tick` is called with the number of sequences that are done; its error ends the work.
    ///
    /// # Errors
    /// As [`Encoder::encode_batches`].
    pub fn encode(
        encoder: &Encoder,
        scorer: Scorer,
        side: Side,
        rows: &[&Encoded],
        size: BatchSize,
        mut tick: impl FnMut(usize) -> Result<()>,
    ) -> Result<Self> {
        let dim = encoder.dim();
        let tokens = if scorer == Scorer::SumOfMax { rows.len() } else { 0 };
        let mut all = Self { pooled: vec![0.0; rows.len() * dim], tokens: vec![TokenCodes::default(); tokens] };
        encoder.encode_batches(scorer, side, rows, &size.batches(rows), |part, found| {
            let (places, found) = (part.places(), Self::new(dim, found));
            for (at, vector) in places.iter().zip(found.pooled.chunks_exact(dim)) {
                all.pooled[at * dim..][..dim].copy_from_slice(vector);
            }
            places.iter().zip(found.tokens).for_each(|(at, tokens)| all.tokens[*at] = tokens);
            tick(places.len())
        })?;
        Ok(all)
    }

    /// Orders the candidates of a first pass by Sum-of-Max (T-Biencoder, eq. 5), at most `k` for each query. `rank` scores some
    /// concepts with the tokens of one query.
    ///
    /// # Panics
    /// If there is not one list for each query.
    pub fn rank_by_tokens(
        &self,
        first_pass: Vec<Vec<Candidate>>,
        k: usize,
        rank: impl Fn(&TokenCodes, Vec<ConceptId>) -> Vec<Candidate> + Sync,
    ) -> Vec<Vec<Candidate>> {
        assert_eq!(self.tokens.len(), first_pass.len(), "one list of candidates for each query");
        let both: Vec<(&TokenCodes, Vec<Candidate>)> = self.tokens.iter().zip(first_pass).collect();
        let ranked = kernels::for_each_chunk(&both, 1, |_, both| {
            let one = |(tokens, first): &(&TokenCodes, Vec<Candidate>)| {
                let concepts = first.iter().map(|candidate| candidate.concept).collect();
                best_per_concept(rank(tokens, concepts), k)
            };
            both.iter().map(one).collect::<Vec<_>>()
        });
        ranked.into_iter().flatten().collect()
    }

    /// The whole vector of a sequence.
    ///
    /// # Panics
    /// If there is no such sequence.
    pub fn vector(&self, sequence: usize, dim: usize) -> &[f32] {
        &self.pooled[sequence * dim..(sequence + 1) * dim]
    }

    /// Adds those of further sequences.
    pub fn extend(&mut self, further: Self) {
        self.pooled.extend(further.pooled);
        self.tokens.extend(further.tokens);
    }
}
