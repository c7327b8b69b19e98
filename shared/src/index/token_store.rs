//! The vectors of every token of every row, a byte a value: what Sum-of-Max compares (T-Biencoder, eq. 5).
//!
//! A search by Sum-of-Max over all rows is the oracle; in use the best few hundred concepts of a search over whole vectors are
//! scored so.

use super::codes::quantise;
use super::top::best_per_concept;
use super::{Index, rows_of};
use crate::container::{self, Check, Container, Format};
use crate::error::{Error, Result};
use crate::kb::ConceptId;
use crate::kernels::dot_i8;
use crate::numbers::{Numbers, check_finite};
use crate::score::Candidate;
use bytes::Bytes;
use serde::{Deserialize, Serialize};
use std::ops::Range;

const FORMAT: Format = Format { magic: b"PELTOKEN", version: 1, name: "token store" };

/// Concepts of a search over whole vectors that Sum-of-Max puts into order, at least: of a bundle.
pub const FIRST_PASS: usize = 256;

/// The same while a model is trained or measured before it is a bundle. Training on tokens alone leaves whole vectors behind,
/// and a few milliseconds a mention count for little there.
pub const FIRST_PASS_TRAINING: usize = 4096;

/// What a store is; the header of its file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
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
    mix: f32,
}

/// A store while rows come in.
pub struct TokenStoreBuilder {
    dim: usize,
    starts: Vec<usize>,
    concepts: Vec<u32>,
    codes: Vec<i8>,
    scales: Vec<f32>,
}

/// The tokens of a text, quantised: a row of a store, or what it is searched with.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TokenCodes {
    /// `[tokens, dim]`: value = code × scale, codes from -127 to 127.
    pub codes: Vec<i8>,
    /// `[tokens]`
    pub scales: Vec<f32>,
}

/// Room for what is computed on the way, kept from concept to concept.
#[derive(Default)]
struct Room {
    /// `[tokens of the concept]`
    dots: Vec<i32>,
    /// `[rows of the concept]`
    sums: Vec<f32>,
}

impl TokenCodes {
    /// Quantises the tokens of a text.
    ///
    /// # Shapes
    /// tokens `[tokens, dim]`
    pub fn new(dim: usize, tokens: &[f32]) -> Self {
        let mut codes = Vec::with_capacity(tokens.len());
        let scales = tokens.chunks_exact(dim.max(1)).map(|token| quantise(token, &mut codes)).collect();
        Self { codes, scales }
    }
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
        self.push_codes(concept, &TokenCodes::new(self.dim, tokens));
    }

    /// Adds a row that is quantised already.
    pub fn push_codes(&mut self, concept: ConceptId, tokens: &TokenCodes) {
        self.codes.extend_from_slice(&tokens.codes);
        self.scales.extend_from_slice(&tokens.scales);
        self.starts.push(self.scales.len());
        self.concepts.push(concept.0);
    }

    /// The bytes of the store.
    ///
    /// # Errors
    /// If the rows of a concept do not stand together, there are more tokens than the file can count, or the header cannot be
    /// written.
    pub fn finish(self) -> Result<Vec<u8>> {
        if !self.concepts.is_sorted() {
            return Err(Error::artifact("the rows of a token store have to stand in the order of their concepts"));
        }
        let starts: std::result::Result<Vec<u32>, _> = self.starts.iter().map(|start| u32::try_from(*start)).collect();
        let starts = starts.map_err(|_| {
            let (most, found) = (u32::MAX, self.scales.len());
            Error::artifact(format!("a token store holds at most {most} tokens, found {found}"))
        })?;
        let info = TokenStoreInfo { rows: self.concepts.len(), tokens: self.scales.len(), dim: self.dim };
        let sections: [(&str, &[u8]); 4] = [
            ("starts", bytemuck::cast_slice(&starts)),
            ("concepts", bytemuck::cast_slice(&self.concepts)),
            ("codes", bytemuck::cast_slice(&self.codes)),
            ("scales", bytemuck::cast_slice(&self.scales)),
        ];
        container::write(FORMAT, &info, &sections)
    }
}

impl TokenStore {
    /// Reads a store; vectors are used where the bytes lie.
    ///
    /// # Errors
    /// If it is another kind of file, of another version, cut short or altered, or its parts do not fit together.
    pub fn from_bytes(bytes: &Bytes, check: Check) -> Result<Self> {
        let container = Container::<TokenStoreInfo>::read(FORMAT, bytes, check)?;
        let info = container.fields.clone();
        if info.dim == 0 {
            return Err(Error::artifact("the token store: expected a dimension above 0, found 0"));
        }
        let sized = |count: usize, width: usize| {
            count.checked_mul(width).ok_or_else(|| Error::artifact("the token store: its sizes are too large"))
        };
        let section = |name: &str, count: usize, width: usize| container.section_of(name, sized(count, width)?);
        let starts: Numbers<u32> = Numbers::new(section("starts", info.rows.saturating_add(1), 4)?);
        let concepts: Numbers<u32> = Numbers::new(section("concepts", info.rows, 4)?);
        let codes: Numbers<i8> = Numbers::new(section("codes", info.tokens, info.dim)?);
        let scales: Numbers<f32> = Numbers::new(section("scales", info.tokens, 4)?);
        check_finite("the token store: `scales`", scales.get())?;
        if !concepts.get().is_sorted() {
            return Err(Error::artifact("the token store: its rows are not in concept order"));
        }
        let [first, last] = [starts.get().first(), starts.get().last()].map(|start| start.map(|at| *at as usize));
        if !starts.get().is_sorted() || (first, last) != (Some(0), Some(info.tokens)) {
            let tokens = info.tokens;
            return Err(Error::artifact(format!(
                "the token store: `starts` does not go from 0 to its {tokens} tokens in ascending order"
            )));
        }
        Ok(Self { info, starts, concepts, codes, scales, mix: 0.0 })
    }

    /// What it is.
    pub fn info(&self) -> &TokenStoreInfo {
        &self.info
    }

    /// Checks that its rows are those of an index.
    ///
    /// # Errors
    /// If they are not.
    pub fn check_beside(&self, index: &Index) -> Result<()> {
        let (own, other) = (&self.info, index.info());
        if (own.rows, own.dim) != (other.rows, other.dim) {
            return Err(Error::artifact(format!(
                "expected the index's {} rows of {} values, found {} of {}",
                other.rows, other.dim, own.rows, own.dim
            )));
        }
        match self.concepts.get() == index.concepts.get() {
            true => Ok(()),
            false => Err(Error::artifact("its rows stand for other concepts than the index's")),
        }
    }

    /// Lets a concept's first row, its template, make up so much of its score, as [`Index::set_mix`] does.
    pub fn set_mix(&mut self, mix: f32) {
        self.mix = mix;
    }

    /// Brings the tokens of a mention into the form of these.
    ///
    /// # Shapes
    /// tokens `[tokens, dim]`
    pub fn query(&self, tokens: &[f32]) -> TokenCodes {
        TokenCodes::new(self.info.dim, tokens)
    }

    /// `Σ_t max_u h_t · h_u` of a mention and the best of a concept's rows, mixed with its first; nothing if there is no token.
    fn score(&self, query: &TokenCodes, rows: Range<usize>, room: &mut Room) -> Option<f32> {
        let (dim, starts) = (self.info.dim, self.starts.get().get(rows.start..=rows.end)?);
        let [first, end] = [starts.first()?, starts.last()?].map(|start| *start as usize);
        let (codes, scales) = (&self.codes.get()[first * dim..end * dim], &self.scales.get()[first..end]);
        room.dots.resize(end - first, 0);
        room.sums.clear();
        room.sums.resize(rows.len(), 0.0);
        let within = |bounds: &[u32]| bounds[0] as usize - first..bounds[1] as usize - first;
        // A token meets all rows of the concept in one call; its largest product is then looked for row by row.
        for (token, scale) in query.codes.chunks_exact(dim).zip(&query.scales) {
            dot_i8(token, codes, &mut room.dots);
            for (sum, bounds) in room.sums.iter_mut().zip(starts.windows(2)) {
                let own = within(bounds);
                let scored = room.dots[own.clone()].iter().zip(&scales[own]).map(|(dot, own)| *dot as f32 * own);
                *sum += scored.fold(f32::NEG_INFINITY, f32::max) * scale;
            }
        }
        let whole = room.sums.iter().zip(starts.windows(2)).filter(|(_, bounds)| !within(bounds).is_empty());
        let best = whole.clone().map(|(sum, _)| *sum).reduce(f32::max)?;
        let template = whole.map(|(sum, _)| *sum).next()?;
        Some(if self.mix > 0.0 { (1.0 - self.mix) * best + self.mix * template } else { best })
    }

    /// The score of each of these concepts, best first; a concept without a token is left out.
    pub fn rank(&self, query: &TokenCodes, concepts: impl IntoIterator<Item = ConceptId>) -> Vec<Candidate> {
        let mut room = Room::default();
        let scored = concepts.into_iter().filter_map(|concept| {
            let score = self.score(query, rows_of(self.concepts.get(), concept), &mut room)?;
            Some(Candidate { concept, score })
        });
        let mut ranked: Vec<Candidate> = scored.collect();
        ranked.sort_by(Candidate::rank);
        ranked
    }

    /// The best `k` concepts of all: exact, a concept at a time.
    pub fn search(&self, query: &TokenCodes, k: usize) -> Vec<Candidate> {
        let mut concepts = self.concepts.get().to_vec();
        concepts.dedup();
        best_per_concept(self.rank(query, concepts.into_iter().map(ConceptId)), k)
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

    #[test]
    fn a_template_shares_in_a_score() {
        let mut store = store(&[(0, vec![[1.0, 0.0, 0.0, 0.0]]), (0, vec![[0.0, 1.0, 0.0, 0.0]])]);
        let query = store.query(&[0.0, 1.0, 0.0, 0.0]);
        let score = |store: &TokenStore| store.search(&query, 1)[0].score;
        assert!((score(&store) - 1.0).abs() < 1e-6);
        // The name scores 1, the template before it 0: a quarter of 0 and three of 1.
        store.set_mix(0.25);
        assert!((score(&store) - 0.75).abs() < 1e-6);
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
