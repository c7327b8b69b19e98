//! The vectors of every token of every row, a byte a value: what Sum-of-Max compares (T-Biencoder, eq. 5).
//!
//! A search by Sum-of-Max over all rows is the oracle; in use the best few hundred concepts of a search over whole vectors are
//! scored so.

use super::codes::quantise;
use super::top::best_per_concept;
use crate::container::{self, Check, Container, Format};
use crate::error::{Error, Result};
use crate::kb::ConceptId;
use crate::kernels::dot_i8;
use crate::numbers::Numbers;
use crate::score::Candidate;
use bytes::Bytes;
use serde::{Deserialize, Serialize};
use std::ops::Range;

const FORMAT: Format = Format { magic: b"PELTOKEN", version: 1, name: "token store" };

/// What a store is; the header of its file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TokenStoreInfo {
    /// Rows, as many as the index beside it has.
    pub rows: usize,
    /// Tokens of all rows.
    pub tokens: usize,
    /// Values of a token's vector.
    pub dim: usize,
}

/// Token vectors, row by row; rows of one concept stand together.
pub struct TokenStore {
    info: TokenStoreInfo,
    /// `[rows + 1]`: where the tokens of each row begin.
    starts: Numbers<u32>,
    /// `[rows]`
    concepts: Numbers<u32>,
    /// `[tokens, dim]`
    codes: Numbers<i8>,
    /// `[tokens]`
    scales: Numbers<f32>,
}

/// A store while rows come in.
pub struct TokenStoreBuilder {
    dim: usize,
    starts: Vec<u32>,
    concepts: Vec<u32>,
    codes: Vec<i8>,
    scales: Vec<f32>,
}

/// The tokens of a mention, quantised as those of a store.
pub struct TokenQuery {
    /// `[tokens, dim]`
    codes: Vec<i8>,
    /// `[tokens]`
    scales: Vec<f32>,
}

impl TokenStoreBuilder {
    /// No rows yet.
    pub fn new(dim: usize) -> Self {
        Self { dim, starts: vec![0], concepts: Vec::new(), codes: Vec::new(), scales: Vec::new() }
    }

    /// Adds a row.
    ///
    /// # Shapes
    /// tokens `[tokens, dim]`
    pub fn push(&mut self, concept: ConceptId, tokens: &[f32]) {
        for token in tokens.chunks_exact(self.dim) {
            self.scales.push(quantise(token, &mut self.codes));
        }
        self.starts.push(self.scales.len() as u32);
        self.concepts.push(concept.0);
    }

    /// The bytes of the store.
    ///
    /// # Errors
    /// If the rows of a concept do not stand together, or the header cannot be written.
    pub fn finish(self) -> Result<Vec<u8>> {
        if !self.concepts.is_sorted() {
            return Err(Error::artifact("the rows of a token store have to stand in the order of their concepts"));
        }
        let info = TokenStoreInfo { rows: self.concepts.len(), tokens: self.scales.len(), dim: self.dim };
        let sections: [(&str, &[u8]); 4] = [
            ("starts", bytemuck::cast_slice(&self.starts)),
            ("concepts", bytemuck::cast_slice(&self.concepts)),
            ("codes", bytemuck::cast_slice(&self.codes)),
            ("scales", bytemuck::cast_slice(&self.scales)),
        ];
        container::write(FORMAT, &info, &sections)
    }
}

impl TokenStore {
    /// Reads a store.
    ///
    /// # Errors
    /// If it is another kind of file, of another version, cut short or altered, or its parts do not fit together.
    pub fn from_bytes(bytes: &Bytes, check: Check) -> Result<Self> {
        let container = Container::<TokenStoreInfo>::read(FORMAT, bytes, check)?;
        let starts: Numbers<u32> = Numbers::new(container.section("starts")?);
        let concepts: Numbers<u32> = Numbers::new(container.section("concepts")?);
        let codes: Numbers<i8> = Numbers::new(container.section("codes")?);
        let scales: Numbers<f32> = Numbers::new(container.section("scales")?);
        let TokenStoreInfo { rows, tokens, dim } = container.fields;
        let whole = concepts.get().len() == rows
            && starts.get().len() == rows + 1
            && scales.get().len() == tokens
            && tokens.checked_mul(dim) == Some(codes.get().len())
            && starts.get().is_sorted()
            && concepts.get().is_sorted()
            && starts.get().first() == Some(&0)
            && starts.get().last() == Some(&(tokens as u32));
        match whole {
            true => Ok(Self { info: container.fields, starts, concepts, codes, scales }),
            false => Err(Error::artifact("the parts of the token store do not fit together")),
        }
    }

    /// What it is.
    pub fn info(&self) -> &TokenStoreInfo {
        &self.info
    }

    /// Brings the tokens of a mention into the form of these.
    ///
    /// # Shapes
    /// tokens `[tokens, dim]`
    pub fn query(&self, tokens: &[f32]) -> TokenQuery {
        let mut codes = Vec::with_capacity(tokens.len());
        let scales = tokens.chunks_exact(self.info.dim).map(|token| quantise(token, &mut codes)).collect();
        TokenQuery { codes, scales }
    }

    /// The rows of a concept.
    fn rows(&self, concept: ConceptId) -> Range<usize> {
        let all = self.concepts.get();
        all.partition_point(|other| *other < concept.0)..all.partition_point(|other| *other <= concept.0)
    }

    /// `Σ_t max_u h_t · h_u` of a mention and a row; nothing for a row without a token.
    fn score(&self, query: &TokenQuery, row: usize, dots: &mut Vec<i32>) -> Option<f32> {
        let starts = self.starts.get();
        let (first, end) = (starts[row] as usize, starts[row + 1] as usize);
        if first == end {
            return None;
        }
        let dim = self.info.dim;
        let (codes, scales) = (&self.codes.get()[first * dim..end * dim], &self.scales.get()[first..end]);
        dots.resize(end - first, 0);
        let tokens = query.codes.chunks_exact(dim).zip(&query.scales);
        let nearest = tokens.map(|(token, scale)| {
            dot_i8(token, codes, dots);
            let scored = dots.iter().zip(scales).map(|(dot, own)| *dot as f32 * own);
            scored.fold(f32::NEG_INFINITY, f32::max) * scale
        });
        Some(nearest.sum())
    }

    /// The score of each of these concepts, that of its best row, best first; a concept without a row is left out.
    pub fn rank(&self, query: &TokenQuery, concepts: impl IntoIterator<Item = ConceptId>) -> Vec<Candidate> {
        let mut dots = Vec::new();
        let best = |concept: ConceptId| {
            let scores = self.rows(concept).filter_map(|row| self.score(query, row, &mut dots));
            scores.reduce(f32::max).map(|score| Candidate { concept, score })
        };
        let mut ranked: Vec<Candidate> = concepts.into_iter().filter_map(best).collect();
        ranked.sort_by(Candidate::rank);
        ranked
    }

    /// The best `k` concepts of all: exact, a row at a time.
    pub fn search(&self, query: &TokenQuery, k: usize) -> Vec<Candidate> {
        let mut dots = Vec::new();
        let rows = self.concepts.get().iter().enumerate();
        let scored = rows.filter_map(|(row, concept)| {
            Some(Candidate { concept: ConceptId(*concept), score: self.score(query, row, &mut dots)? })
        });
        best_per_concept(scored.collect(), k)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn store(rows: &[(u32, Vec<[f32; 4]>)]) -> TokenStore {
        let mut builder = TokenStoreBuilder::new(4);
        rows.iter().for_each(|(concept, tokens)| builder.push(ConceptId(*concept), tokens.as_flattened()));
        let bytes = Bytes::from(builder.finish().expect("in order"));
        TokenStore::from_bytes(&bytes, Check::Checksums).expect("whole")
    }

    fn by_loops(mention: &[[f32; 4]], row: &[[f32; 4]]) -> f32 {
        let dot = |a: &[f32; 4], b: &[f32; 4]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f32>();
        mention.iter().map(|t| row.iter().map(|u| dot(t, u)).fold(f32::MIN, f32::max)).sum()
    }

    #[test]
    fn a_damaged_store_is_refused() {
        let mut builder = TokenStoreBuilder::new(4);
        builder.push(ConceptId(0), &[1.0; 8]);
        let bytes = builder.finish().expect("in order");
        for cut in [0, 7, 40, bytes.len() - 60] {
            assert!(TokenStore::from_bytes(&Bytes::from(bytes[..cut].to_vec()), Check::Checksums).is_err(), "{cut}");
        }
        let mut flipped = bytes;
        let at = flipped.len() - 64;
        flipped[at] ^= 1;
        assert!(TokenStore::from_bytes(&Bytes::from(flipped), Check::Checksums).is_err());
        let mut builder = TokenStoreBuilder::new(1);
        builder.push(ConceptId(2), &[1.0]);
        builder.push(ConceptId(1), &[1.0]);
        assert!(builder.finish().is_err());
    }

    proptest! {
        #[test]
        fn scores_are_those_of_loops(
            rows in prop::collection::vec(prop::collection::vec([-1.0f32..1.0, -1.0..1.0, -1.0..1.0, -1.0..1.0], 0..5), 1..9),
            mention in prop::collection::vec([-1.0f32..1.0, -1.0..1.0, -1.0..1.0, -1.0..1.0], 1..4),
        ) {
            // Two rows for each concept.
            let rows: Vec<(u32, Vec<[f32; 4]>)> = rows.into_iter().enumerate().map(|(at, row)| (at as u32 / 2, row)).collect();
            let store = store(&rows);
            let query = store.query(mention.as_flattened());
            let found = store.search(&query, 99);
            for Candidate { concept, score } in &found {
                let own = rows.iter().filter(|(other, tokens)| *other == concept.0 && !tokens.is_empty());
                let expected = own.map(|(_, tokens)| by_loops(&mention, tokens)).fold(f32::MIN, f32::max);
                prop_assert!((score - expected).abs() < 0.05 * mention.len() as f32, "{score}, by loops {expected}");
            }
            let all = rows.iter().filter(|(_, tokens)| !tokens.is_empty()).map(|(concept, _)| *concept);
            prop_assert_eq!(found.len(), all.collect::<std::collections::BTreeSet<_>>().len());
            prop_assert!(found.is_sorted_by(|a, b| a.score >= b.score));
            prop_assert_eq!(store.rank(&query, (0..9).map(ConceptId)), found);
        }
    }
}
