//! Encoded sequences in the form in which an index stores or searches them.

use pel_index::{TokenCodes, best_per_concept};
use pel_kb::ConceptId;
use pel_kb::error::Result;
use pel_kb::score::{Candidate, Scorer};
use pel_model::encode::{BatchSize, Encoder, Encodings};
use pel_model::tokens::Encoded;
use pel_model::tower::Side;

/// The vectors of sequences: pooled vectors as floats, token vectors as int8 codes.
#[derive(Clone, Debug, Default)]
pub struct Queries {
    /// `[sequences, dim]`
    pub pooled: Vec<f32>,
    /// The token vectors of each sequence. Empty unless Sum-of-Max compares them.
    pub tokens: Vec<TokenCodes>,
}

impl Queries {
    /// Quantises the token vectors. `dim` is the dimension of a vector.
    pub fn new(dim: usize, encodings: Encodings) -> Self {
        let Encodings { pooled, tokens } = encodings;
        let tokens = tokens
            .unwrap_or_default()
            .iter()
            .map(|tokens| TokenCodes::new(dim, tokens))
            .collect();
        Self { pooled, tokens }
    }

    /// Encodes sequences batch by batch. Token vectors are quantised after each batch, because
    /// those of all sequences would need 4 times the memory as floats. After each step `tick` gets
    /// the number of sequences that the step encoded. Its error stops the work.
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
        let tokens = if scorer == Scorer::SumOfMax {
            rows.len()
        } else {
            0
        };
        let mut all = Self {
            pooled: vec![0.0; rows.len() * dim],
            tokens: vec![TokenCodes::default(); tokens],
        };
        encoder.encode_batches(scorer, side, rows, &size.batches(rows), |part, found| {
            let (places, found) = (part.places(), Self::new(dim, found));
            for (at, vector) in places.iter().zip(found.pooled.chunks_exact(dim)) {
                all.pooled[at * dim..][..dim].copy_from_slice(vector);
            }
            places
                .iter()
                .zip(found.tokens)
                .for_each(|(at, tokens)| all.tokens[*at] = tokens);
            tick(places.len())
        })?;
        Ok(all)
    }

    /// Orders the candidates of a first pass by Sum-of-Max (T-Biencoder, eq. 5), at most `k` for
    /// each query. `rank` scores some concepts with the tokens of one query.
    ///
    /// # Panics
    /// If there is not one list for each query.
    pub fn rank_by_tokens(
        &self,
        first_pass: Vec<Vec<Candidate>>,
        k: usize,
        rank: impl Fn(&TokenCodes, Vec<ConceptId>) -> Vec<Candidate> + Sync,
    ) -> Vec<Vec<Candidate>> {
        assert_eq!(
            self.tokens.len(),
            first_pass.len(),
            "one list of candidates for each query"
        );
        let both: Vec<(&TokenCodes, Vec<Candidate>)> = self.tokens.iter().zip(first_pass).collect();
        let ranked = pel_kernels::for_each_chunk(&both, 1, |_, both| {
            let one = |(tokens, first): &(&TokenCodes, Vec<Candidate>)| {
                let concepts = first.iter().map(|candidate| candidate.concept).collect();
                best_per_concept(rank(tokens, concepts), k)
            };
            both.iter().map(one).collect::<Vec<_>>()
        });
        ranked.into_iter().flatten().collect()
    }

    /// The pooled vector of a sequence, `[dim]`.
    ///
    /// # Panics
    /// If there is no such sequence.
    pub fn vector(&self, sequence: usize, dim: usize) -> &[f32] {
        &self.pooled[sequence * dim..(sequence + 1) * dim]
    }

    /// Appends the vectors of further sequences.
    pub fn extend(&mut self, further: Self) {
        self.pooled.extend(further.pooled);
        self.tokens.extend(further.tokens);
    }
}
