//! The index: the vectors of all concepts, searched exactly, through HNSW or through cells.
//!
//! A concept has one row for its template and one for each of its names, depending on the view.
//! Rows are numbered by concept. A search returns each concept once, with the score of its best
//! row. The exact search is the ground truth of the approximate ones.

mod cells;
mod codes;
mod concept_map;
mod exact;
mod hnsw;
pub mod lexical;
pub mod metrics;
mod mixed_rows;
#[cfg(test)]
mod tests;
mod token_store;
mod top;
mod vectors;

pub use cells::CellOptions;
pub use concept_map::ConceptMap;
pub use hnsw::HnswOptions;
pub use mixed_rows::{MixedRows, mixed_rows};
pub use token_store::{
    FIRST_PASS, FIRST_PASS_TRAINING, TokenCodes, TokenStore, TokenStoreBuilder, TokenStoreInfo,
    TokenStoreLayout,
};
pub use top::best_per_concept;

use bytes::Bytes;
use cells::{CellOrder, CellQuery, CellRows, Cells};
use hnsw::{Graph, Nodes};
use pel_kb::ConceptId;
use pel_kb::container;
use pel_kb::container::{Check, Container, Format};
use pel_kb::error::{Error, Result};
use pel_kb::numbers::{Numbers, check_finite};
use pel_kb::score::{Candidate, Similarity};
use pel_kernels::RowCodes;
use serde::{Deserialize, Serialize};
use std::ops::Range;
use std::sync::Arc;
use vectors::{Query, Vectors};

const FORMAT: Format = Format {
    magic: b"PELINDEX",
    version: 3,
    name: "index",
};

/// The format of an index with a graph in which equal rows share a node. Builds that do not know
/// such graphs refuse it.
const FORMAT_SHARED: Format = Format {
    version: 4,
    ..FORMAT
};

/// The format of an index with cells or mixed rows. Builds that do not know them refuse it.
const FORMAT_CELLS: Format = Format {
    version: 5,
    ..FORMAT
};

/// The precision of stored values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Precision {
    /// 4 bytes per value.
    F32,
    /// 1 byte per value and one scale per vector.
    Int8,
    /// Half a byte per value and one scale per vector. In memory a value has 1 byte.
    Int4,
}

/// The description of an index: the header of its file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct IndexInfo {
    /// The number of vectors.
    pub rows: usize,
    /// The dimension of a vector.
    pub dim: usize,
    /// The precision of stored values.
    pub precision: Precision,
    /// The similarity that the vectors are compared by.
    pub score: Similarity,
    /// The options of the HNSW graph; `None` without a graph.
    pub hnsw: Option<HnswOptions>,
    /// The options of the cells; `None` without cells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cells: Option<CellOptions>,
    /// The weight of the template in each row of a name ([`mixed_rows`]); 0 if templates and names
    /// have rows of their own.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub mixed: f32,
    /// The cosine similarity with another row of its concept from which on a mixed row is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub distinct: Option<f32>,
}

/// Whether the field can be left out, so that older builds can read the file.
fn is_zero(share: &f32) -> bool {
    *share == 0.0
}

impl IndexInfo {
    /// An index for exact search, with the rows as they are given.
    pub fn exact(rows: usize, dim: usize, precision: Precision, score: Similarity) -> Self {
        Self {
            rows,
            dim,
            precision,
            score,
            hnsw: None,
            cells: None,
            mixed: 0.0,
            distinct: None,
        }
    }

    /// The depth of a search: [`HnswOptions::ef_search`] or [`CellOptions::probes`]; `None` for an
    /// exact search.
    pub fn depth(&self) -> Option<usize> {
        let ef = self.hnsw.map(|options| options.ef_search);
        ef.or(self.cells.map(|options| options.probes))
    }

    /// Sets the depth of a search, if it has one.
    pub fn set_depth(&mut self, depth: usize) {
        if let Some(options) = &mut self.hnsw {
            options.ef_search = depth;
        }
        if let Some(options) = &mut self.cells {
            options.probes = depth;
        }
    }

    /// The same rows as floats, for exact search.
    #[must_use]
    pub fn as_exact_floats(&self) -> Self {
        Self {
            precision: Precision::F32,
            hnsw: None,
            cells: None,
            ..self.clone()
        }
    }
}

/// The source of a row of an updated index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowSource {
    /// A row of the earlier index.
    Old(usize),
    /// A new row.
    New(usize),
}

/// How an update treats the HNSW graph of an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum GraphUpdate {
    /// Links of removed and new rows are repaired. A graph of which more than a tenth changes is
    /// rebuilt.
    Repair,
    /// It is rebuilt, with the links that [`Index::build`] gives.
    Rebuild,
}

/// An index that was updated.
#[derive(Clone, Debug)]
pub struct UpdatedIndex {
    /// Its description.
    pub info: IndexInfo,
    /// Its bytes.
    pub bytes: Bytes,
    /// How its graph came about; `None` without one.
    pub graph: Option<GraphUpdate>,
}

/// The vectors of concepts.
pub struct Index {
    info: IndexInfo,
    /// In the order of rows, or of cells.
    vectors: Vectors,
    /// The concept of each vector.
    concepts: Numbers<u32>,
    graph: Option<Graph>,
    cells: Option<Cells>,
    /// The first row of each concept. Empty unless the template has a weight of its own.
    firsts: Vec<u32>,
    mix: f32,
    /// The concepts that the numbers of the rows stand for, if they are not these numbers.
    map: Option<Arc<ConceptMap>>,
}

/// The fewest concepts that a search with a weight for the template scores.
const MIXED: usize = 64;

impl Index {
    /// The bytes of an index.
    ///
    /// # Shapes
    /// vectors `[rows, dim]`, of unit length for cosine similarity; rows `[rows]`: the concept of
    /// each vector, ascending
    ///
    /// # Errors
    /// If the sizes disagree, the concepts are not ascending, or a value is not finite.
    pub fn build(vectors: &[f32], rows: &[ConceptId], info: &IndexInfo) -> Result<Vec<u8>> {
        let dim = info.dim;
        if dim == 0 || info.rows != rows.len() || vectors.len() != rows.len() * dim {
            let (rows, values) = (rows.len(), vectors.len());
            return Err(Error::artifact(format!(
                "the index: expected {rows} vectors of {dim} values, found {values} values in all"
            )));
        }
        if !rows.is_sorted() {
            return Err(Error::artifact(
                "the index: its rows are not in ascending order of concepts; build the bundle \
                 again",
            ));
        }
        check_finite("the vectors of an index", vectors)?;
        match (info.cells, info.hnsw) {
            (None, _) => Self::build_by_concept(vectors, rows, info),
            (Some(cells), None) => Self::build_by_cell(vectors, rows, info, cells),
            (Some(_), Some(_)) => Err(Error::input(
                "an index has a graph (HNSW) or cells for the approximate search, not both",
            )),
        }
    }

    fn build_by_concept(vectors: &[f32], rows: &[ConceptId], info: &IndexInfo) -> Result<Vec<u8>> {
        let dim = info.dim;
        let bodies = vectors::sections(vectors.chunks_exact(dim), info.precision);
        assembled(&bodies, rows, info, |vectors, options| {
            hnsw::sections(vectors, dim, rows.len(), options)
        })
    }

    fn build_by_cell(
        vectors: &[f32],
        rows: &[ConceptId],
        info: &IndexInfo,
        options: CellOptions,
    ) -> Result<Vec<u8>> {
        if info.precision == Precision::Int4 {
            return Err(Error::input(
                "an index with cells needs int8 or f32 vectors; int4 vectors go with exact search \
                 or a graph",
            ));
        }
        let order = CellOrder::of(vectors, info.dim, options.cells)?;
        let differences = order.differences(vectors);
        let bodies = vectors::sections(differences, info.precision);
        in_cells(&order, &bodies, rows, info)
    }

    /// An index with rows of this one, bit for bit, and new rows. Equal rows in equal order give
    /// the bytes of [`Index::build`], unless there is a graph that is repaired. Cells stay as they
    /// are, and new rows go to the nearest.
    ///
    /// # Shapes
    /// new `[new rows, dim]`, sources `[rows]`, concepts `[rows]`: the concept of each row,
    /// ascending
    ///
    /// # Errors
    /// As [`Index::build`]; if a source is no row.
    pub fn updated(
        &self,
        new: &[f32],
        sources: &[RowSource],
        concepts: &[ConceptId],
        graph: GraphUpdate,
    ) -> Result<UpdatedIndex> {
        let dim = self.info.dim;
        check_finite("the vectors of an index", new)?;
        let is_row = |source: &RowSource| match *source {
            RowSource::Old(row) => row < self.info.rows,
            RowSource::New(row) => row < new.len() / dim,
        };
        if sources.len() != concepts.len()
            || !new.len().is_multiple_of(dim)
            || !sources.iter().all(is_row)
            || !concepts.is_sorted()
        {
            return Err(Error::artifact(
                "the index: expected a row and a concept for each row, concepts ascending",
            ));
        }
        let info = IndexInfo {
            rows: sources.len(),
            ..self.info.clone()
        };
        if let Some(cells) = &self.cells {
            let (order, sources, differences) = cells.updated(new, sources);
            let bodies = self
                .vectors
                .gathered(&differences, &sources, dim, info.precision);
            let bytes = in_cells(&order, &bodies, concepts, &info)?;
            return Ok(UpdatedIndex {
                info,
                bytes: bytes.into(),
                graph: None,
            });
        }
        let bodies = self.vectors.gathered(new, sources, dim, info.precision);
        let mut done = None;
        let bytes = assembled(&bodies, concepts, &info, |vectors, options| {
            if let (GraphUpdate::Repair, Some(old)) = (graph, &self.graph) {
                let rows = self.info.rows;
                let repaired = hnsw::updated_sections(old, rows, vectors, dim, sources, options)?;
                if let Some(sections) = repaired {
                    done = Some(GraphUpdate::Repair);
                    return Ok(sections);
                }
            }
            done = Some(GraphUpdate::Rebuild);
            hnsw::sections(vectors, dim, sources.len(), options)
        })?;
        Ok(UpdatedIndex {
            info,
            bytes: bytes.into(),
            graph: done,
        })
    }

    /// Reads an index. Its vectors stay in `bytes`.
    ///
    /// # Errors
    /// If the bytes are truncated, altered, of another version, or inconsistent.
    pub fn from_bytes(bytes: &Bytes, check: Check) -> Result<Self> {
        let format = format_of(bytes);
        let container = Container::<IndexInfo>::read(format, bytes, check)?;
        let info = container.fields.clone();
        if info.dim == 0 {
            return Err(Error::artifact(
                "the index: expected a dimension above 0, found 0",
            ));
        }
        let concepts = Numbers::<u32>::new(container.section_of("concepts", sized(info.rows, 4)?)?);
        if info.cells.is_none() && !concepts.get().is_sorted() {
            return Err(Error::artifact(
                "the index: its rows are not in ascending order of concepts; build the bundle \
                 again",
            ));
        }
        let vectors = read_vectors(&container, &info)?;
        let graph = match info.hnsw {
            None => None,
            Some(_) => {
                let shared = container
                    .names()
                    .any(|name| name == hnsw::SHARED_SECTIONS[0]);
                let nodes = match shared {
                    false => Nodes::Single(info.rows),
                    true => {
                        let [members, starts] =
                            hnsw::SHARED_SECTIONS.map(|name| container.section(name));
                        Nodes::new([members?, starts?], info.rows)?
                    }
                };
                let [links, entries, upper] = hnsw::SECTIONS.map(|name| container.section(name));
                Some(Graph::new([links?, entries?, upper?], nodes)?)
            }
        };
        let cells = match info.cells {
            None => None,
            Some(_) => {
                let [means, starts, rows] = cells::SECTIONS.map(|name| container.section(name));
                Some(Cells::new([means?, starts?, rows?], info.dim, info.rows)?)
            }
        };
        Ok(Self {
            info,
            vectors,
            concepts,
            graph,
            cells,
            firsts: Vec::new(),
            mix: 0.0,
            map: None,
        })
    }

    /// Sets the concepts that the numbers of the rows stand for. By default a number is the position
    /// of its concept.
    ///
    /// # Errors
    /// If the map lacks a number of a row.
    pub fn set_concepts(&mut self, map: Arc<ConceptMap>) -> Result<()> {
        if let Some(last) = self.last_concept().filter(|last| last.index() >= map.len()) {
            let (last, count) = (last.0, map.len());
            return Err(Error::artifact(format!(
                "the concept map: expected a concept for number {last} of the index, found \
                 {count} numbers"
            )));
        }
        self.map = Some(map);
        Ok(())
    }

    /// The concepts that the numbers of the rows stand for, if they are not these numbers.
    pub fn concept_map(&self) -> Option<&Arc<ConceptMap>> {
        self.map.as_ref()
    }

    /// The description of the index.
    pub fn info(&self) -> &IndexInfo {
        &self.info
    }

    /// Sets the depth of a search, [`HnswOptions::ef_search`] or [`CellOptions::probes`]. An exact
    /// search has none.
    pub fn set_depth(&mut self, depth: usize) {
        self.info.set_depth(depth);
    }

    /// The vector of a row, in the precision of the index.
    ///
    /// # Panics
    /// If there is no such row.
    pub fn vector(&self, row: usize) -> Vec<f32> {
        let at = self.place(row);
        let mut vector = self.vectors.row(at, self.info.dim);
        if let Some(cells) = &self.cells {
            vector
                .iter_mut()
                .zip(cells.mean(at))
                .for_each(|(value, mean)| *value += mean);
        }
        vector
    }

    /// The number of each row's concept in the index, ascending ([`Index::concept_of`]).
    pub fn concepts(&self) -> impl Iterator<Item = ConceptId> + '_ {
        (0..self.info.rows).map(|row| self.concept(row))
    }

    /// The place of a row's vector.
    fn place(&self, row: usize) -> usize {
        match &self.cells {
            None => row,
            Some(cells) => cells.by_concept()[row] as usize,
        }
    }

    fn concept(&self, row: usize) -> ConceptId {
        ConceptId(self.concepts.get()[self.place(row)])
    }

    /// The concept that a number stands for; `None` if it was retired without a successor.
    pub fn concept_of(&self, number: ConceptId) -> Option<ConceptId> {
        match &self.map {
            None => Some(number),
            Some(map) => map.concept(number),
        }
    }

    /// The rows of a concept, ascending.
    pub fn rows_of(&self, concept: ConceptId) -> impl Iterator<Item = usize> + '_ {
        let numbers = self.numbers_of(concept);
        numbers.flat_map(|number| self.rows_of_number(number))
    }

    /// The numbers that stand for a concept, ascending.
    fn numbers_of(&self, concept: ConceptId) -> impl Iterator<Item = ConceptId> + '_ {
        numbers_of(self.map.as_deref(), concept)
    }

    fn rows_of_number(&self, concept: ConceptId) -> Range<usize> {
        let bound = |after: bool| {
            let (mut low, mut high) = (0, self.info.rows);
            while low < high {
                let middle = low.midpoint(high);
                let other = self.concept(middle);
                if other < concept || after && other == concept {
                    low = middle + 1;
                } else {
                    high = middle;
                }
            }
            low
        };
        bound(false)..bound(true)
    }

    /// The bytes of an index with another depth ([`Index::set_depth`]). Nothing else changes.
    ///
    /// # Errors
    /// As [`Index::from_bytes`].
    pub fn with_depth(bytes: &Bytes, depth: usize) -> Result<Vec<u8>> {
        let format = format_of(bytes);
        let container = Container::<IndexInfo>::read(format, bytes, Check::Trusted)?;
        let mut info = container.fields.clone();
        info.set_depth(depth);
        let sections: Vec<(&str, &[u8])> = container.sections().collect();
        container::write(format, &info, &sections)
    }

    /// The highest number of a row.
    pub fn last_concept(&self) -> Option<ConceptId> {
        self.concepts
            .get()
            .iter()
            .max()
            .map(|concept| ConceptId(*concept))
    }

    /// Sets the weight of the template, a concept's first row: `score = (1 - mix) × best row + mix
    /// × first row`. A search computes it for the best 2 k concepts by their best rows, at least
    /// 64.
    pub fn set_mix(&mut self, mix: f32) {
        self.mix = mix;
        self.firsts.clear();
        for row in 0..self.info.rows {
            // A concept without rows gets the row of the next one, which no search reads.
            let concepts = (self.concept(row).index() + 1).max(self.firsts.len());
            self.firsts.resize(concepts, self.place(row) as u32);
        }
    }

    /// The best `k` concepts of each query, best first, ties in concept order. The search uses the
    /// graph or the cells if there are any.
    ///
    /// # Shapes
    /// queries `[n, dim]` -> n lists
    ///
    /// # Panics
    /// If the number of values is no multiple of the dimension.
    pub fn search(&self, queries: &[f32], k: usize) -> Vec<Vec<Candidate>> {
        self.of_concepts(queries, k, |queries, k| {
            self.mixed(queries, k, |k| self.by_best_row(queries, k))
        })
    }

    /// The best `k` concepts, given a search for numbers.
    fn of_concepts(
        &self,
        queries: &[f32],
        k: usize,
        search: impl Fn(&[f32], usize) -> Vec<Vec<Candidate>>,
    ) -> Vec<Vec<Candidate>> {
        match &self.map {
            None => search(queries, k),
            Some(map) => {
                self.check(queries);
                map.search(queries, self.info.dim, k, search)
            }
        }
    }

    fn by_best_row(&self, queries: &[f32], k: usize) -> Vec<Vec<Candidate>> {
        if let Some(options) = self.info.cells {
            return self.in_cells(queries, k, options.probes);
        }
        match (&self.graph, self.info.hnsw) {
            (Some(graph), Some(options)) => {
                self.check(queries);
                let rows = hnsw::ConceptVectors {
                    vectors: &self.vectors,
                    dim: self.info.dim,
                    concepts: self.concepts.get(),
                };
                graph.search(rows, queries, k, options.ef_search)
            }
            _ => self.exact_by_best_row(queries, k),
        }
    }

    fn mixed(
        &self,
        queries: &[f32],
        k: usize,
        search: impl FnOnce(usize) -> Vec<Vec<Candidate>>,
    ) -> Vec<Vec<Candidate>> {
        if self.mix == 0.0 {
            return search(k);
        }
        let mut found = search(self.first_pass(k));
        for (query, found) in queries.chunks_exact(self.info.dim).zip(&mut found) {
            let query = self.query(query);
            for candidate in found.iter_mut() {
                let first = self.scored(&query, self.firsts[candidate.concept.index()] as usize);
                candidate.score = (1.0 - self.mix) * candidate.score + self.mix * first + 0.0;
            }
            found.sort_unstable_by(Candidate::rank);
            found.truncate(k);
        }
        found
    }

    /// The scores of some concepts with a query, as a search computes them. Concepts without a row
    /// are left out.
    ///
    /// # Shapes
    /// query `[dim]`
    ///
    /// # Panics
    /// If the query has another dimension than the index.
    pub fn score(
        &self,
        query: &[f32],
        concepts: impl IntoIterator<Item = ConceptId>,
    ) -> Vec<Candidate> {
        assert_eq!(
            query.len(),
            self.info.dim,
            "one query of the index's dimension"
        );
        let query = self.query(query);
        let (mut places, mut near) = (Vec::new(), Vec::new());
        let mut score = |number: ConceptId| {
            places.clear();
            let rows = self.rows_of_number(number);
            places.extend(rows.map(|row| self.place(row) as u32));
            let first = *places.first()?;
            let best = self.best_row(&query, &places, &mut near);
            Some(if self.mix > 0.0 {
                let first = self.scored(&query, first as usize) + 0.0;
                (1.0 - self.mix) * best + self.mix * first + 0.0
            } else {
                best
            })
        };
        let scored = concepts.into_iter().filter_map(|concept| {
            let scores = self.numbers_of(concept).filter_map(&mut score);
            let candidates = scores.map(|score| Candidate { concept, score });
            candidates.min_by(Candidate::rank)
        });
        scored.collect()
    }

    /// The reported similarity of a query with the best of some rows. The exact search over
    /// quantised rows chooses the best row of a concept by coarse scores and reports its finer one,
    /// so that is the score of a concept everywhere, even if another row has a higher finer one.
    fn best_row(&self, query: &IndexQuery, places: &[u32], near: &mut Vec<f32>) -> f32 {
        let scored = |place: &u32| self.scored(query, *place as usize) + 0.0;
        let IndexQuery::Rows(coarse) = query else {
            return places.iter().map(scored).fold(f32::NEG_INFINITY, f32::max);
        };
        near.clear();
        near.resize(places.len(), 0.0);
        self.vectors.near(coarse, places, near);
        let both = places.iter().zip(near.iter());
        // Of equals the first.
        let best = both.reduce(|best, other| if other.1 > best.1 { other } else { best });
        best.map_or(f32::NEG_INFINITY, |(place, _)| scored(place))
    }

    /// The number of concepts that a search for `k` takes by their best rows, before it orders them
    /// with the weight of the template ([`Index::set_mix`]).
    pub fn first_pass(&self, k: usize) -> usize {
        match self.mix == 0.0 {
            true => k,
            false => k.saturating_mul(2).max(MIXED),
        }
    }

    /// Orders concepts that a search elsewhere proposed, for example in a database with the same
    /// rows. If each list has the best [`Index::first_pass`] concepts by their best rows, the
    /// result is that of [`Index::search_exact`].
    ///
    /// # Shapes
    /// queries `[n, dim]`, proposed `[n]` -> n lists of at most `k`
    ///
    /// # Panics
    /// If there is not one list for each query.
    pub fn rank(
        &self,
        queries: &[f32],
        proposed: &[Vec<ConceptId>],
        k: usize,
    ) -> Vec<Vec<Candidate>> {
        self.check(queries);
        let queries: Vec<&[f32]> = queries.chunks_exact(self.info.dim).collect();
        assert_eq!(queries.len(), proposed.len(), "one list for each query");
        let both: Vec<(&[f32], &Vec<ConceptId>)> = queries.into_iter().zip(proposed).collect();
        let ranked = pel_kernels::for_each_chunk(&both, 1, |_, both| {
            let one = |(query, proposed): &(&[f32], &Vec<ConceptId>)| {
                best_per_concept(self.score(query, proposed.iter().copied()), k)
            };
            both.iter().map(one).collect::<Vec<_>>()
        });
        ranked.into_iter().flatten().collect()
    }

    /// As [`Index::search`], but over every row.
    pub fn search_exact(&self, queries: &[f32], k: usize) -> Vec<Vec<Candidate>> {
        self.of_concepts(queries, k, |queries, k| {
            self.mixed(queries, k, |k| self.exact_by_best_row(queries, k))
        })
    }

    fn exact_by_best_row(&self, queries: &[f32], k: usize) -> Vec<Vec<Candidate>> {
        if self.cells.is_some() {
            return self.in_cells(queries, k, usize::MAX);
        }
        self.check(queries);
        exact::search(
            &self.vectors,
            self.info.dim,
            self.concepts.get(),
            queries,
            k,
        )
    }

    fn in_cells(&self, queries: &[f32], k: usize, probes: usize) -> Vec<Vec<Candidate>> {
        self.check(queries);
        let rows = CellRows {
            vectors: &self.vectors,
            concepts: self.concepts.get(),
        };
        let found = self
            .cells
            .as_ref()
            .map(|cells| cells.search(rows, queries, k, probes));
        found.unwrap_or_default()
    }

    /// Prepares a query for [`Index::scored`].
    fn query(&self, query: &[f32]) -> IndexQuery {
        match &self.cells {
            None => IndexQuery::Rows(self.vectors.query(query)),
            Some(cells) => IndexQuery::Cells(cells.query(&self.vectors, query)),
        }
    }

    /// The reported similarity of a query with the vector at a place.
    fn scored(&self, query: &IndexQuery, place: usize) -> f32 {
        match (query, &self.cells) {
            (IndexQuery::Rows(query), _) => self.vectors.score(query, place),
            (IndexQuery::Cells(query), Some(cells)) => cells.score(&self.vectors, query, place),
            (IndexQuery::Cells(_), None) => unreachable!("a query is made by its index"),
        }
    }

    fn check(&self, queries: &[f32]) {
        let (dim, found) = (self.info.dim, queries.len());
        assert!(
            found.is_multiple_of(dim),
            "expected queries of {dim} values, found {found} values"
        );
    }
}

/// The numbers that stand for a concept: those of the map, or its position without one.
fn numbers_of(
    map: Option<&ConceptMap>,
    concept: ConceptId,
) -> impl Iterator<Item = ConceptId> + '_ {
    let own = map.is_none().then_some(concept);
    let mapped = map.into_iter().flat_map(move |map| map.numbers(concept));
    own.into_iter().chain(mapped)
}

/// A query in the form that an index scores.
enum IndexQuery {
    Rows(Query),
    Cells(CellQuery),
}

/// The bytes of an index with cells.
fn in_cells(
    order: &CellOrder,
    bodies: &[(&'static str, Vec<u8>)],
    rows: &[ConceptId],
    info: &IndexInfo,
) -> Result<Vec<u8>> {
    let concepts: Vec<u32> = order.given().map(|row| rows[row].0).collect();
    let cells = order.sections();
    let mut sections: Vec<(&str, &[u8])> = vec![("concepts", bytemuck::cast_slice(&concepts))];
    sections.extend(bodies.iter().map(|(name, body)| (*name, body.as_slice())));
    sections.extend(
        cells::SECTIONS
            .into_iter()
            .zip(cells.iter().map(Vec::as_slice)),
    );
    container::write(FORMAT_CELLS, info, &sections)
}

/// The names and bodies of sections.
pub(crate) type Sections = Vec<(&'static str, Vec<u8>)>;

/// The bytes of an index with the sections of its vectors. `graph` gives those of a graph.
fn assembled(
    bodies: &[(&'static str, Vec<u8>)],
    rows: &[ConceptId],
    info: &IndexInfo,
    graph: impl FnOnce(&Vectors, HnswOptions) -> Result<Sections>,
) -> Result<Vec<u8>> {
    let concepts: Vec<u32> = rows.iter().map(|concept| concept.0).collect();
    let mut sections: Vec<(&str, &[u8])> = vec![("concepts", bytemuck::cast_slice(&concepts))];
    sections.extend(bodies.iter().map(|(name, body)| (*name, body.as_slice())));
    let graph = match info.hnsw {
        None => Vec::new(),
        Some(options) => {
            let plain = container::write(FORMAT, info, &sections)?;
            let vectors = read_vectors(
                &Container::read(FORMAT, &Bytes::from(plain), Check::Trusted)?,
                info,
            )?;
            graph(&vectors, options)?
        }
    };
    sections.extend(graph.iter().map(|(name, body)| (*name, body.as_slice())));
    let shared = graph.len() > hnsw::SECTIONS.len();
    let format = match (info.mixed > 0.0, shared) {
        (true, _) => FORMAT_CELLS,
        (false, true) => FORMAT_SHARED,
        (false, false) => FORMAT,
    };
    container::write(format, info, &sections)
}

/// The format of the bytes of an index; the newest one if this build does not read theirs.
fn format_of(bytes: &Bytes) -> Format {
    let has = |format: &Format| bytes.get(8..12) == Some(&format.version.to_le_bytes());
    [FORMAT, FORMAT_SHARED]
        .into_iter()
        .find(has)
        .unwrap_or(FORMAT_CELLS)
}

fn sized(count: usize, width: usize) -> Result<usize> {
    count
        .checked_mul(width)
        .ok_or_else(|| Error::artifact("the index: its sizes are too large"))
}

fn read_vectors(container: &Container<IndexInfo>, info: &IndexInfo) -> Result<Vectors> {
    let values = sized(info.rows, info.dim)?;
    let floats = |name: &str, count: usize| -> Result<Numbers<f32>> {
        let numbers = Numbers::new(container.section_of(name, sized(count, 4)?)?);
        check_finite(&format!("the index: `{name}`"), numbers.get())?;
        Ok(numbers)
    };
    Ok(match info.precision {
        Precision::F32 => Vectors::F32 {
            values: floats("values", values)?,
        },
        Precision::Int8 => Vectors::Int8 {
            codes: Numbers::new(container.section_of("codes", values)?),
            scales: floats("scales", info.rows)?,
            kind: RowCodes::Int8,
        },
        Precision::Int4 => Vectors::Int8 {
            codes: Numbers::Copied(codes::unpack(
                &container.section_of("halves", values.div_ceil(2))?,
                values,
            )),
            scales: floats("scales", info.rows)?,
            kind: RowCodes::Int4,
        },
    })
}

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
