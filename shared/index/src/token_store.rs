//! The int8 vectors of every token of every row, which Sum-of-Max compares (T-Biencoder, eq. 5).
//!
//! A search over pooled vectors takes the best [`FIRST_PASS`] concepts, and Sum-of-Max orders them.
//! Sum-of-Max over all rows is the ground truth.
//!
//! Rows are encoded by length and stored by concept. The layout of the file is known first and its
//! header is written last, so rows are written in any order and need not be in memory.

use super::codes::quantise;
use super::concept_map::ConceptMap;
use super::top::best_per_concept;
use super::{Index, numbers_of};
use bytes::Bytes;
use pel_kb::ConceptId;
use pel_kb::container;
use pel_kb::container::{Check, Container, Format};
use pel_kb::error::{Error, Result};
use pel_kb::numbers::{Numbers, check_finite};
use pel_kb::score::Candidate;
use pel_kernels::dot_i8;
use serde::{Deserialize, Serialize};
use std::ops::Range;
use std::sync::Arc;

const FORMAT: Format = Format {
    magic: b"PELTOKEN",
    version: 1,
    name: "token store",
};

/// The fewest concepts of a search over pooled vectors that Sum-of-Max orders, for a bundle.
pub const FIRST_PASS: usize = 256;

/// The same for a model in training. Training by Sum-of-Max does not train pooled vectors, and a
/// few milliseconds per mention matter less there.
pub const FIRST_PASS_TRAINING: usize = 4096;

/// The description of a store: the header of its file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TokenStoreInfo {
    /// The number of rows, equal to that of the index.
    pub rows: usize,
    /// The number of tokens of all rows.
    pub tokens: usize,
    /// The dimension of a token's vector.
    pub dim: usize,
}

/// Token vectors, row by row. Rows of one concept are adjacent.
pub struct TokenStore {
    info: TokenStoreInfo,
    /// `[rows + 1]`: the position of each row's first token, and the end.
    starts: Numbers<u32>,
    /// `[rows]`
    concepts: Numbers<u32>,
    /// `[tokens, dim]`
    codes: Numbers<i8>,
    /// `[tokens]`
    scales: Numbers<f32>,
    mix: f32,
    /// As that of [`Index::set_concepts`].
    map: Option<Arc<ConceptMap>>,
}

/// Builds a store row by row.
pub struct TokenStoreBuilder {
    dim: usize,
    starts: Vec<usize>,
    concepts: Vec<u32>,
    codes: Vec<i8>,
    scales: Vec<f32>,
}

/// The file of a store whose rows are written later, in any order: what is where. It holds 8 bytes
/// a row and no vectors.
///
/// The file is [`TokenStoreLayout::bytes`] zeros at first. It gets its
/// [beginning](TokenStoreLayout::beginning), the codes and scales of each row at their
/// [places](TokenStoreLayout::places), and at last its [header](TokenStoreLayout::header).
#[derive(Clone, Debug)]
pub struct TokenStoreLayout {
    info: TokenStoreInfo,
    starts: Vec<u32>,
    concepts: Vec<u32>,
    /// The offsets of the sections of [`sections`].
    sections: [usize; 4],
    bytes: usize,
}

/// The quantised token vectors of a text: a row of a store, or a query.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TokenCodes {
    /// `[tokens, dim]`: value = code × scale, codes from -127 to 127.
    pub codes: Vec<i8>,
    /// `[tokens]`
    pub scales: Vec<f32>,
}

/// Buffers that are reused from concept to concept.
#[derive(Default)]
struct Buffers {
    /// `[tokens of the concept]`
    dots: Vec<i32>,
    /// `[rows of the concept]`
    sums: Vec<f32>,
}

impl TokenCodes {
    /// Quantises the token vectors of a text.
    ///
    /// # Shapes
    /// tokens `[tokens, dim]`
    pub fn new(dim: usize, tokens: &[f32]) -> Self {
        let mut codes = Vec::with_capacity(tokens.len());
        let scales = tokens
            .chunks_exact(dim.max(1))
            .map(|token| quantise(token, &mut codes))
            .collect();
        Self { codes, scales }
    }
}

impl TokenStoreBuilder {
    /// A store without rows. `dim` is the dimension of a token's vector.
    pub fn new(dim: usize) -> Self {
        Self {
            dim,
            starts: vec![0],
            concepts: Vec::new(),
            codes: Vec::new(),
            scales: Vec::new(),
        }
    }

    /// Adds a row.
    ///
    /// # Shapes
    /// tokens `[tokens, dim]`
    pub fn push(&mut self, concept: ConceptId, tokens: &[f32]) {
        self.push_codes(concept, &TokenCodes::new(self.dim, tokens));
    }

    /// Adds a quantised row.
    pub fn push_codes(&mut self, concept: ConceptId, tokens: &TokenCodes) {
        self.codes.extend_from_slice(&tokens.codes);
        self.scales.extend_from_slice(&tokens.scales);
        self.starts.push(self.scales.len());
        self.concepts.push(concept.0);
    }

    /// The bytes of the store.
    ///
    /// # Errors
    /// If the concepts are not ascending, there are more than 2^32 - 1 tokens, or the header cannot
    /// be written.
    pub fn finish(self) -> Result<Vec<u8>> {
        check_order(&self.concepts)?;
        let starts = self
            .starts
            .iter()
            .map(|start| u32::try_from(*start))
            .collect::<std::result::Result<Vec<u32>, _>>()
            .map_err(|_| too_many(self.scales.len()))?;
        let info = TokenStoreInfo {
            rows: self.concepts.len(),
            tokens: self.scales.len(),
            dim: self.dim,
        };
        let sections: [(&str, &[u8]); 4] = [
            ("starts", bytemuck::cast_slice(&starts)),
            ("concepts", bytemuck::cast_slice(&self.concepts)),
            ("codes", bytemuck::cast_slice(&self.codes)),
            ("scales", bytemuck::cast_slice(&self.scales)),
        ];
        container::write(FORMAT, &info, &sections)
    }
}

/// The sections of a store and their sizes in bytes.
fn sections(info: &TokenStoreInfo) -> [(&'static str, usize); 4] {
    [
        ("starts", (info.rows + 1) * 4),
        ("concepts", info.rows * 4),
        ("codes", info.tokens * info.dim),
        ("scales", info.tokens * 4),
    ]
}

fn check_order(concepts: &[u32]) -> Result<()> {
    match concepts.is_sorted() {
        true => Ok(()),
        false => Err(Error::artifact(
            "the token store: its rows are not in ascending order of concepts; build the bundle \
             again",
        )),
    }
}

fn too_many(tokens: usize) -> Error {
    let most = u32::MAX;
    Error::artifact(format!(
        "the token store: expected at most {most} tokens, found {tokens}"
    ))
}

impl TokenStoreLayout {
    /// A store with these rows, given by their concepts and numbers of tokens. `dim` is the
    /// dimension of a token's vector.
    ///
    /// # Errors
    /// As [`TokenStoreBuilder::finish`].
    pub fn new(dim: usize, rows: impl IntoIterator<Item = (ConceptId, usize)>) -> Result<Self> {
        let (mut starts, mut concepts, mut tokens) = (vec![0], Vec::new(), 0);
        for (concept, count) in rows {
            tokens += count;
            starts.push(u32::try_from(tokens).map_err(|_| too_many(tokens))?);
            concepts.push(concept.0);
        }
        check_order(&concepts)?;
        let info = TokenStoreInfo {
            rows: concepts.len(),
            tokens,
            dim,
        };
        let (places, bytes) = container::Layout::new(FORMAT, &info, &sections(&info))?.places();
        let mut offsets = [0; 4];
        offsets.copy_from_slice(&places);
        Ok(Self {
            info,
            starts,
            concepts,
            sections: offsets,
            bytes,
        })
    }

    /// The size of the file.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.info.rows
    }

    /// What is known of the file already, at its offsets: the positions of rows, and their
    /// concepts.
    pub fn beginning(&self) -> [(usize, &[u8]); 2] {
        let [starts, concepts, ..] = self.sections;
        [
            (starts, bytemuck::cast_slice(&self.starts)),
            (concepts, bytemuck::cast_slice(&self.concepts)),
        ]
    }

    /// The offsets of the codes and of the scales of a row.
    ///
    /// # Errors
    /// If there is no such row, or it has another number of tokens.
    pub fn places(&self, row: usize, tokens: &TokenCodes) -> Result<[usize; 2]> {
        let bounds = self.starts.get(row..).and_then(|from| from.get(..2));
        let Some(&[first, end]) = bounds else {
            let rows = self.info.rows;
            return Err(Error::artifact(format!(
                "the token store: it has {rows} rows, and no row {row}; build the bundle again"
            )));
        };
        let (dim, expected) = (self.info.dim, (end - first) as usize);
        let found = (tokens.scales.len(), tokens.codes.len());
        if found != (expected, expected * dim) {
            return Err(Error::artifact(format!(
                "the token store: row {row}: expected {expected} tokens of {dim} values, found {} \
                 of {} values in all",
                found.0, found.1
            )));
        }
        let [_, _, codes, scales] = self.sections;
        Ok([codes + first as usize * dim, scales + first as usize * 4])
    }

    /// What the file begins with, once all rows are in it.
    ///
    /// # Errors
    /// If the file has not [`TokenStoreLayout::bytes`], or the header cannot be written.
    pub fn header(&self, file: &[u8]) -> Result<Vec<u8>> {
        if file.len() != self.bytes {
            let (expected, found) = (self.bytes, file.len());
            return Err(Error::artifact(format!(
                "the token store: expected {expected} bytes, found {found}"
            )));
        }
        let own = sections(&self.info);
        let bodies = own.iter().zip(self.sections);
        let hashes: Vec<blake3::Hash> = bodies
            .map(|((_, bytes), at)| blake3::hash(&file[at..][..*bytes]))
            .collect();
        container::Layout::new(FORMAT, &self.info, &own)?.header(&hashes)
    }
}

impl TokenStore {
    /// Reads a store. Its vectors stay in `bytes`.
    ///
    /// # Errors
    /// If the bytes are another kind of file, truncated, altered, of another version, or
    /// inconsistent.
    pub fn from_bytes(bytes: &Bytes, check: Check) -> Result<Self> {
        let container = Container::<TokenStoreInfo>::read(FORMAT, bytes, check)?;
        let info = container.fields.clone();
        if info.dim == 0 {
            return Err(Error::artifact(
                "the token store: expected a dimension above 0, found 0",
            ));
        }
        let sized = |count: usize, width: usize| {
            count
                .checked_mul(width)
                .ok_or_else(|| Error::artifact("the token store: its sizes are too large"))
        };
        let section = |name: &str, count: usize, width: usize| {
            container.section_of(name, sized(count, width)?)
        };
        let starts: Numbers<u32> = Numbers::new(section("starts", info.rows.saturating_add(1), 4)?);
        let concepts: Numbers<u32> = Numbers::new(section("concepts", info.rows, 4)?);
        let codes: Numbers<i8> = Numbers::new(section("codes", info.tokens, info.dim)?);
        let scales: Numbers<f32> = Numbers::new(section("scales", info.tokens, 4)?);
        check_finite("the token store: `scales`", scales.get())?;
        check_order(concepts.get())?;
        let [first, last] =
            [starts.get().first(), starts.get().last()].map(|start| start.map(|at| *at as usize));
        if !starts.get().is_sorted() || (first, last) != (Some(0), Some(info.tokens)) {
            let tokens = info.tokens;
            return Err(Error::artifact(format!(
                "the token store: expected `starts` in ascending order from 0 to {tokens}, the \
                 number of its tokens"
            )));
        }
        Ok(Self {
            info,
            starts,
            concepts,
            codes,
            scales,
            mix: 0.0,
            map: None,
        })
    }

    /// The description of the store.
    pub fn info(&self) -> &TokenStoreInfo {
        &self.info
    }

    /// Checks that its rows are those of an index.
    ///
    /// # Errors
    /// If the number, the dimension or the concepts of the rows differ.
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
            false => Err(Error::artifact(
                "the rows are of other concepts than the rows of the index; build the bundle again",
            )),
        }
    }

    /// The token vectors of a row, as they are stored.
    ///
    /// # Panics
    /// If there is no such row.
    pub fn row(&self, row: usize) -> TokenCodes {
        let [first, end] = [row, row + 1].map(|at| self.starts.get()[at] as usize);
        TokenCodes {
            codes: self.codes.get()[first * self.info.dim..end * self.info.dim].to_vec(),
            scales: self.scales.get()[first..end].to_vec(),
        }
    }

    /// Sets the weight of the template as [`Index::set_mix`] does.
    pub fn set_mix(&mut self, mix: f32) {
        self.mix = mix;
    }

    /// Sets the concepts that the numbers of the rows stand for, as [`Index::set_concepts`] does.
    /// They are those of the index beside it ([`TokenStore::check_beside`]).
    pub fn set_concepts(&mut self, map: Arc<ConceptMap>) {
        self.map = Some(map);
    }

    /// Quantises the token vectors of a mention.
    ///
    /// # Shapes
    /// tokens `[tokens, dim]`
    pub fn query(&self, tokens: &[f32]) -> TokenCodes {
        TokenCodes::new(self.info.dim, tokens)
    }

    /// `Σ_t max_u h_t · h_u` of a mention with the best of a concept's rows, mixed with its first
    /// row; `None` without a token.
    fn score(&self, query: &TokenCodes, rows: Range<usize>, buffers: &mut Buffers) -> Option<f32> {
        let (dim, starts) = (self.info.dim, self.starts.get().get(rows.start..=rows.end)?);
        let [first, end] = [starts.first()?, starts.last()?].map(|start| *start as usize);
        let (codes, scales) = (
            &self.codes.get()[first * dim..end * dim],
            &self.scales.get()[first..end],
        );
        buffers.dots.resize(end - first, 0);
        buffers.sums.clear();
        buffers.sums.resize(rows.len(), 0.0);
        let within = |bounds: &[u32]| bounds[0] as usize - first..bounds[1] as usize - first;
        // One call multiplies a token with all rows of the concept; the largest product is then
        // taken per row.
        for (token, scale) in query.codes.chunks_exact(dim).zip(&query.scales) {
            dot_i8(token, codes, &mut buffers.dots);
            for (sum, bounds) in buffers.sums.iter_mut().zip(starts.windows(2)) {
                let own = within(bounds);
                let scored = buffers.dots[own.clone()]
                    .iter()
                    .zip(&scales[own])
                    .map(|(dot, own)| *dot as f32 * own);
                *sum += scored.fold(f32::NEG_INFINITY, f32::max) * scale;
            }
        }
        let whole = buffers
            .sums
            .iter()
            .zip(starts.windows(2))
            .filter(|(_, bounds)| !within(bounds).is_empty());
        let best = whole.clone().map(|(sum, _)| *sum).reduce(f32::max)?;
        let template = whole.map(|(sum, _)| *sum).next()?;
        Some(if self.mix > 0.0 {
            (1.0 - self.mix) * best + self.mix * template
        } else {
            best
        })
    }

    /// The scores of some concepts, best first. Concepts without a token are left out.
    pub fn rank(
        &self,
        query: &TokenCodes,
        concepts: impl IntoIterator<Item = ConceptId>,
    ) -> Vec<Candidate> {
        let mut buffers = Buffers::default();
        let scored = concepts.into_iter().filter_map(|concept| {
            let scores = numbers_of(self.map.as_deref(), concept).filter_map(|number| {
                self.score(query, rows_of(self.concepts.get(), number), &mut buffers)
            });
            let score = scores.reduce(f32::max)?;
            Some(Candidate { concept, score })
        });
        let mut ranked: Vec<Candidate> = scored.collect();
        ranked.sort_by(Candidate::rank);
        ranked
    }

    /// The best `k` of all concepts by an exact search.
    pub fn search(&self, query: &TokenCodes, k: usize) -> Vec<Candidate> {
        let mut concepts: Vec<ConceptId> =
            self.concepts.get().iter().copied().map(ConceptId).collect();
        concepts.dedup();
        if let Some(map) = &self.map {
            concepts = concepts
                .into_iter()
                .filter_map(|number| map.concept(number))
                .collect();
            concepts.sort_unstable();
            concepts.dedup();
        }
        best_per_concept(self.rank(query, concepts), k)
    }
}

/// The rows of a concept. `concepts` has the concept of each row, ascending.
fn rows_of(concepts: &[u32], concept: ConceptId) -> Range<usize> {
    concepts.partition_point(|other| *other < concept.0)
        ..concepts.partition_point(|other| *other <= concept.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn store(rows: &[(u32, Vec<[f32; 4]>)]) -> TokenStore {
        let mut builder = TokenStoreBuilder::new(4);
        rows.iter()
            .for_each(|(concept, tokens)| builder.push(ConceptId(*concept), tokens.as_flattened()));
        let bytes = Bytes::from(builder.finish().expect("in order"));
        TokenStore::from_bytes(&bytes, Check::Checksums).expect("whole")
    }

    fn by_loops(mention: &[[f32; 4]], row: &[[f32; 4]]) -> f32 {
        let dot = |a: &[f32; 4], b: &[f32; 4]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f32>();
        mention
            .iter()
            .map(|t| row.iter().map(|u| dot(t, u)).fold(f32::MIN, f32::max))
            .sum()
    }

    #[test]
    fn damaged_store_is_refused() {
        let mut builder = TokenStoreBuilder::new(4);
        builder.push(ConceptId(0), &[1.0; 8]);
        let bytes = builder.finish().expect("in order");
        for cut in [0, 7, 40, bytes.len() - 60] {
            assert!(
                TokenStore::from_bytes(&Bytes::from(bytes[..cut].to_vec()), Check::Checksums)
                    .is_err(),
                "{cut}"
            );
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
    fn rows_written_in_any_order_give_the_file_of_the_builder() {
        let rows = [(3, 2), (3, 0), (5, 1), (9, 3)];
        let own = |at: usize| {
            let values: Vec<f32> = (0..rows[at].1 * 4)
                .map(|of| (at + of) as f32 - 4.0)
                .collect();
            TokenCodes::new(4, &values)
        };
        let mut builder = TokenStoreBuilder::new(4);
        for (at, (concept, _)) in rows.iter().enumerate() {
            builder.push_codes(ConceptId(*concept), &own(at));
        }
        let layout = rows
            .iter()
            .map(|(concept, count)| (ConceptId(*concept), *count));
        let layout = TokenStoreLayout::new(4, layout).expect("in order");
        let mut file = vec![0; layout.bytes()];
        let mut put = |at: usize, bytes: &[u8]| file[at..][..bytes.len()].copy_from_slice(bytes);
        for (at, bytes) in layout.beginning() {
            put(at, bytes);
        }
        for row in [2, 0, 3, 1] {
            let tokens = own(row);
            let [codes, scales] = layout.places(row, &tokens).expect("as announced");
            put(codes, bytemuck::cast_slice(&tokens.codes));
            put(scales, bytemuck::cast_slice(&tokens.scales));
        }
        let header = layout.header(&file).expect("whole");
        file[..header.len()].copy_from_slice(&header);
        assert_eq!(file, builder.finish().expect("in order"));
        for (row, tokens) in [(4, 1), (0, 1), (1, 1)] {
            let tokens = TokenCodes::new(4, &vec![1.0; tokens * 4]);
            assert!(layout.places(row, &tokens).is_err(), "row {row}");
        }
        assert!(layout.header(&file[1..]).is_err());
        assert!(TokenStoreLayout::new(4, [(ConceptId(2), 1), (ConceptId(1), 1)]).is_err());
        let many = [
            (ConceptId(0), usize::try_from(u32::MAX).expect("64 bits")),
            (ConceptId(1), 1),
        ];
        assert!(TokenStoreLayout::new(4, many).is_err());
    }

    #[test]
    fn mix_weighs_the_template() {
        let mut store = store(&[
            (0, vec![[1.0, 0.0, 0.0, 0.0]]),
            (0, vec![[0.0, 1.0, 0.0, 0.0]]),
        ]);
        let query = store.query(&[0.0, 1.0, 0.0, 0.0]);
        let score = |store: &TokenStore| store.search(&query, 1)[0].score;
        assert!((score(&store) - 1.0).abs() < 1e-6);
        // The name scores 1, the template before it 0: a quarter of 0 and three of 1.
        store.set_mix(0.25);
        assert!((score(&store) - 0.75).abs() < 1e-6);
    }

    proptest! {
        #[test]
        fn scores_equal_plain_loops(
            rows in prop::collection::vec(prop::collection::vec([-1.0f32..1.0, -1.0..1.0, -1.0..1.0, -1.0..1.0], 0..5), 1..9),
            mention in prop::collection::vec([-1.0f32..1.0, -1.0..1.0, -1.0..1.0, -1.0..1.0], 1..4),
        ) {
            // Two rows for each concept.
            let rows: Vec<(u32, Vec<[f32; 4]>)> = rows
                .into_iter()
                .enumerate()
                .map(|(at, row)| (at as u32 / 2, row))
                .collect();
            let store = store(&rows);
            let query = store.query(mention.as_flattened());
            let found = store.search(&query, 99);
            for Candidate { concept, score } in &found {
                let own = rows
                    .iter()
                    .filter(|(other, tokens)| *other == concept.0 && !tokens.is_empty());
                let expected = own
                    .map(|(_, tokens)| by_loops(&mention, tokens))
                    .fold(f32::MIN, f32::max);
                prop_assert!(
                    (score - expected).abs() < 0.05 * mention.len() as f32,
                    "{score}, by loops {expected}"
                );
            }
            let all = rows
                .iter()
                .filter(|(_, tokens)| !tokens.is_empty())
                .map(|(concept, _)| *concept);
            prop_assert_eq!(
                found.len(),
                all.collect::<std::collections::BTreeSet<_>>().len()
            );
            prop_assert!(found.is_sorted_by(|a, b| a.score >= b.score));
            prop_assert_eq!(store.rank(&query, (0..9).map(ConceptId)), found);
        }
    }
}
