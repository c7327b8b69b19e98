//! The vectors of sequences and, for Sum-of-Max (T-Biencoder, eq. 5), those of their tokens, from
//! one forward pass.

use super::Encoder;
use crate::tokens::Encoded;
use crate::tower::{Pooling, Side};
use pel_kb::error::{Error, Result};
use pel_kb::score::Scorer;
use std::ops::Range;

/// The vectors of sequences that a scorer compares.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Encodings {
    /// `[sequences, dim]`
    pub pooled: Vec<f32>,
    /// `[tokens, dim]` of each sequence, those that are [compared](Encoder::compared); `None` if
    /// whole vectors are compared.
    pub tokens: Option<Vec<Vec<f32>>>,
}

impl Encodings {
    /// Zeros for a number of sequences.
    pub fn zeros(scorer: Scorer, sequences: usize, dim: usize) -> Self {
        let tokens = (scorer == Scorer::SumOfMax).then(|| vec![Vec::new(); sequences]);
        Self {
            pooled: vec![0.0; sequences * dim],
            tokens,
        }
    }

    /// Writes the vectors of some sequences to their positions.
    ///
    /// # Panics
    /// If a position is out of range.
    pub fn put(&mut self, places: &[usize], some: Self) {
        let dim = some.pooled.len() / places.len().max(1);
        for (at, vector) in places.iter().zip(some.pooled.chunks_exact(dim.max(1))) {
            self.pooled[at * dim..][..dim].copy_from_slice(vector);
        }
        if let (Some(all), Some(some)) = (&mut self.tokens, some.tokens) {
            places
                .iter()
                .zip(some)
                .for_each(|(at, tokens)| all[*at] = tokens);
        }
    }
}

impl Encoder {
    /// The vectors in the values of [`Vectors::Here`](super::Vectors::Here), which another encoder
    /// of the same bundle computed for these rows.
    ///
    /// # Errors
    /// If the number of values does not match the rows.
    pub fn encodings(
        &self,
        scorer: Scorer,
        rows: &[&Encoded],
        values: Vec<f32>,
    ) -> Result<Encodings> {
        let vectors = |row: &&Encoded| match scorer {
            Scorer::Dual => 1,
            Scorer::SumOfMax => 1 + row.ids.len(),
        };
        let expected = rows.iter().map(vectors).sum::<usize>() * self.dim;
        if values.len() != expected {
            let (rows, found) = (rows.len(), values.len());
            return Err(Error::input(format!(
                "{rows} sequences: expected {expected} values, found {found}"
            )));
        }
        Ok(self.unpack(scorer, rows, values))
    }

    /// The vectors in the values that a device computed for [`Encoder::start`], which may be
    /// padded.
    ///
    /// # Shapes
    /// values: for dual `[rows, dim]`, for Sum-of-Max `[1 + tokens, dim]` of each row, its own
    /// vector first
    ///
    /// # Panics
    /// If the number of values does not match the rows.
    pub(super) fn unpack(&self, scorer: Scorer, rows: &[&Encoded], values: Vec<f32>) -> Encodings {
        if scorer == Scorer::Dual {
            return Encodings {
                pooled: values,
                tokens: None,
            };
        }
        let longest = rows.iter().map(|row| row.ids.len()).max().unwrap_or(0);
        let padded = values.len() == rows.len() * (1 + longest) * self.dim;
        let dim = self.dim;
        let (mut pooled, mut tokens) = (
            Vec::with_capacity(rows.len() * dim),
            Vec::with_capacity(rows.len()),
        );
        let mut rest = &values[..];
        for row in rows {
            let length = if padded { longest } else { row.ids.len() };
            let (mine, others) = rest.split_at((1 + length) * dim);
            let compared = self.compared(row);
            pooled.extend_from_slice(&mine[..dim]);
            tokens.push(mine[(1 + compared.start) * dim..(1 + compared.end) * dim].to_vec());
            rest = others;
        }
        assert!(
            rest.is_empty(),
            "{} values too many for {} rows",
            rest.len(),
            rows.len()
        );
        Encodings {
            pooled,
            tokens: Some(tokens),
        }
    }

    /// The tokens of a sequence that Sum-of-Max compares: those that the pooling reads. With
    /// mention pooling these are the mention's own tokens.
    pub fn compared(&self, row: &Encoded) -> Range<usize> {
        match self.reduction.pooling {
            Pooling::Mention => row.own.clone(),
            Pooling::Mean | Pooling::Cls => 0..row.ids.len(),
        }
    }

    /// [`Encoder::encode_all`] in batches of [`Encoder::batch_size`].
    ///
    /// # Errors
    /// As [`Encoder::encode_batches`].
    pub fn encode_for(&self, scorer: Scorer, side: Side, rows: &[&Encoded]) -> Result<Encodings> {
        self.encode_all(scorer, side, rows, self.batch_size(), |_| Ok(()))
    }

    /// The vectors of whole sequences.
    ///
    /// # Shapes
    /// -> `[rows, dim]`
    ///
    /// # Errors
    /// As [`Encoder::encode_batches`].
    pub fn encode(&self, side: Side, rows: &[&Encoded]) -> Result<Vec<f32>> {
        Ok(self.encode_for(Scorer::Dual, side, rows)?.pooled)
    }

    /// The vectors of the tokens of sequences that are [compared](Encoder::compared), in the order
    /// given.
    ///
    /// # Shapes
    /// -> `[tokens, dim]` for each
    ///
    /// # Errors
    /// As [`Encoder::encode_batches`].
    pub fn encode_tokens(&self, side: Side, rows: &[&Encoded]) -> Result<Vec<Vec<f32>>> {
        Ok(self
            .encode_for(Scorer::SumOfMax, side, rows)?
            .tokens
            .unwrap_or_default())
    }
}
