//! The index: vectors of all concepts, searched exactly or through HNSW, behind one type.
//!
//! A concept has one row for each of its views (its template, its names); rows of one concept stand together, and a
//! search returns each concept once, with its best row's score. The exact search is the oracle of the approximate one.

mod codes;
mod exact;
mod hnsw;
mod queries;
#[cfg(test)]
mod tests;
mod token_store;
mod top;
mod vectors;

pub use hnsw::HnswOptions;
pub use queries::Queries;
pub use token_store::{FIRST_PASS, FIRST_PASS_TRAINING, TokenCodes, TokenStore, TokenStoreBuilder, TokenStoreInfo};
pub use top::best_per_concept;

use crate::container::{self, Check, Container, Format};
use crate::error::{Error, Result};
use crate::kb::ConceptId;
use crate::numbers::{Numbers, check_finite};
use crate::score::{Candidate, Similarity};
use bytes::Bytes;
use hnsw::{Graph, Nodes};
use serde::{Deserialize, Serialize};
use std::ops::Range;
use vectors::Vectors;

const FORMAT: Format = Format { magic: b"PELINDEX", version: 3, name: "index" };

/// An index with a graph in which equal rows share a node, which a build that knows no such graph must not read.
const FORMAT_SHARED: Format = Format { version: 4, ..FORMAT };

/// How a value is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Precision {
    /// Four bytes a value.
    F32,
    /// One byte a value, one scale a vector.
    Int8,
    /// Half a byte a value, one scale a vector; a byte a value once it is read.
    Int4,
}

/// What an index is; the header of its file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct IndexInfo {
    /// Vectors.
    pub rows: usize,
    /// Values of a vector.
    pub dim: usize,
    /// How a value is kept.
    pub precision: Precision,
    /// How vectors are compared.
    pub score: Similarity,
    /// The HNSW graph's options, if the index has a graph.
    pub hnsw: Option<HnswOptions>,
}

/// Vectors with the concepts that they stand for.
pub struct Index {
    info: IndexInfo,
    vectors: Vectors,
    concepts: Numbers<u32>,
    graph: Option<Graph>,
    /// The first row of each concept, where it counts by itself.
    firsts: Vec<u32>,
    mix: f32,
}

/// Concepts whose first rows are looked at, at least, where these count by themselves.
const MIXED: usize = 64;

impl Index {
    /// The bytes of an index over `vectors` (`[rows, dim]`, of unit length where the score is cosine) and the concept of
    /// each row, in ascending order.
    ///
    /// # Errors
    /// If the sizes disagree, the rows of a concept do not stand together, or a value is not finite.
    pub fn build(vectors: &[f32], rows: &[ConceptId], info: &IndexInfo) -> Result<Vec<u8>> {
        let dim = info.dim;
        if dim == 0 || info.rows != rows.len() || vectors.len() != rows.len() * dim {
            let (rows, values) = (rows.len(), vectors.len());
            return Err(Error::artifact(format!(
                "an index of {rows} rows of {dim} values cannot be made of {values} values"
            )));
        }
        if !rows.is_sorted() {
            return Err(Error::artifact("the rows of an index must stand in concept order"));
        }
        check_finite("the vectors of an index", vectors)?;
        let bodies = vectors::sections(vectors, dim, info.precision)?;
        let concepts: Vec<u32> = rows.iter().map(|concept| concept.0).collect();
        let mut sections: Vec<(&str, &[u8])> = vec![("concepts", bytemuck::cast_slice(&concepts))];
        sections.extend(bodies.iter().map(|(name, body)| (*name, body.as_slice())));
        let graph = match info.hnsw {
            None => Vec::new(),
            Some(options) => {
                let plain = container::write(FORMAT, info, &sections)?;
                let vectors = read_vectors(&Container::read(FORMAT, &Bytes::from(plain), Check::Trusted)?, info)?;
                hnsw::sections(&vectors, dim, rows.len(), options)?
            }
        };
        sections.extend(graph.iter().map(|(name, body)| (*name, body.as_slice())));
        let shared = graph.len() > hnsw::SECTIONS.len();
        container::write(if shared { FORMAT_SHARED } else { FORMAT }, info, &sections)
    }

    /// Reads an index; vectors are used where the bytes lie.
    ///
    /// # Errors
    /// If the file is cut short, altered, of another version, or its parts do not fit together.
    pub fn from_bytes(bytes: &Bytes, check: Check) -> Result<Self> {
        let format = format_of(bytes);
        let shared = format.version == FORMAT_SHARED.version;
        let container = Container::<IndexInfo>::read(format, bytes, check)?;
        let info = container.fields.clone();
        if info.dim == 0 {
            return Err(Error::artifact("the index: expected a dimension above 0, found 0"));
        }
        let concepts = Numbers::<u32>::new(container.section_of("concepts", sized(info.rows, 4)?)?);
        if !concepts.get().is_sorted() {
            return Err(Error::artifact("the index: its rows are not in concept order"));
        }
        let vectors = read_vectors(&container, &info)?;
        let graph = match info.hnsw {
            None => None,
            Some(_) => {
                let nodes = match shared {
                    false => Nodes::Single(info.rows),
                    true => {
                        let [members, starts] = hnsw::SHARED_SECTIONS.map(|name| container.section(name));
                        Nodes::new([members?, starts?], info.rows)?
                    }
                };
                let [links, entries, upper] = hnsw::SECTIONS.map(|name| container.section(name));
                Some(Graph::new([links?, entries?, upper?], nodes)?)
            }
        };
        Ok(Self { info, vectors, concepts, graph, firsts: Vec::new(), mix: 0.0 })
    }

    /// What the index is.
    pub fn info(&self) -> &IndexInfo {
        &self.info
    }

    /// Searches the graph, if there is one, with so many nodes kept from now on.
    pub fn set_ef_search(&mut self, ef_search: usize) {
        if let Some(options) = &mut self.info.hnsw {
            options.ef_search = ef_search;
        }
    }

    /// The vector of a row, as the index keeps it.
    ///
    /// # Panics
    /// If there is no such row.
    pub fn vector(&self, row: usize) -> Vec<f32> {
        self.vectors.row(row, self.info.dim)
    }

    /// The concept of each row, ascending.
    pub fn concepts(&self) -> impl Iterator<Item = ConceptId> + '_ {
        self.concepts.get().iter().map(|concept| ConceptId(*concept))
    }

    /// The bytes of an index with another number of nodes kept while searching its graph; nothing else changes.
    ///
    /// # Errors
    /// As [`Index::from_bytes`].
    pub fn with_ef_search(bytes: &Bytes, ef_search: usize) -> Result<Vec<u8>> {
        let format = format_of(bytes);
        let container = Container::<IndexInfo>::read(format, bytes, Check::Trusted)?;
        let mut info = container.fields.clone();
        if let Some(options) = &mut info.hnsw {
            options.ef_search = ef_search;
        }
        let sections: Vec<(&str, &[u8])> = container.sections().collect();
        container::write(format, &info, &sections)
    }

    /// The highest concept that a row stands for.
    pub fn last_concept(&self) -> Option<ConceptId> {
        self.concepts.get().last().map(|concept| ConceptId(*concept))
    }

    /// Lets a concept's first row, its template, make up so much of its score: `(1 - mix) × best row + mix × first row`. The
    /// best 2 k concepts by their best rows, and 64 at least, are ordered by it.
    pub fn set_mix(&mut self, mix: f32) {
        self.mix = mix;
        self.firsts.clear();
        for (row, concept) in self.concepts.get().iter().enumerate() {
            // A concept without rows has the next one's; nobody asks for it.
            self.firsts.resize((*concept as usize + 1).max(self.firsts.len()), row as u32);
        }
    }

    /// The best `k` concepts for each query, best first, ties in concept order: through the graph if there is one, else exactly.
    ///
    /// # Shapes
    /// queries `[n, dim]` -> n lists
    ///
    /// # Panics
    /// If the queries are no whole number of vectors.
    pub fn search(&self, queries: &[f32], k: usize) -> Vec<Vec<Candidate>> {
        self.mixed(queries, k, |k| self.by_best_row(queries, k))
    }

    fn by_best_row(&self, queries: &[f32], k: usize) -> Vec<Vec<Candidate>> {
        match (&self.graph, self.info.hnsw) {
            (Some(graph), Some(options)) => {
                self.check(queries);
                let rows = hnsw::Rows { vectors: &self.vectors, dim: self.info.dim, concepts: self.concepts.get() };
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
        let mut found = search(k.saturating_mul(2).max(MIXED));
        for (query, found) in queries.chunks_exact(self.info.dim).zip(&mut found) {
            let query = self.vectors.query(query);
            for candidate in found.iter_mut() {
                let first = self.vectors.score(&query, self.firsts[candidate.concept.index()] as usize);
                candidate.score = (1.0 - self.mix) * candidate.score + self.mix * first + 0.0;
            }
            found.sort_unstable_by(Candidate::rank);
            found.truncate(k);
        }
        found
    }

    /// The score of some concepts with a query, as a search gives it; a concept without rows is left out.
    ///
    /// # Shapes
    /// query `[dim]`
    ///
    /// # Panics
    /// If the query is no vector of the index's dimension.
    pub fn score(&self, query: &[f32], concepts: impl IntoIterator<Item = ConceptId>) -> Vec<Candidate> {
        assert_eq!(query.len(), self.info.dim, "one query of the index's dimension");
        let (query, all) = (self.vectors.query(query), self.concepts.get());
        let scored = concepts.into_iter().filter_map(|concept| {
            let rows = rows_of(all, concept);
            let best = rows.clone().map(|row| self.vectors.score(&query, row) + 0.0).reduce(f32::max)?;
            let first = self.vectors.score(&query, rows.start);
            let score = if self.mix > 0.0 { (1.0 - self.mix) * best + self.mix * first + 0.0 } else { best };
            Some(Candidate { concept, score })
        });
        scored.collect()
    }

    /// As [`Index::search`], but always over every row.
    pub fn search_exact(&self, queries: &[f32], k: usize) -> Vec<Vec<Candidate>> {
        self.mixed(queries, k, |k| self.exact_by_best_row(queries, k))
    }

    fn exact_by_best_row(&self, queries: &[f32], k: usize) -> Vec<Vec<Candidate>> {
        self.check(queries);
        exact::search(&self.vectors, self.info.dim, self.concepts.get(), queries, k)
    }

    fn check(&self, queries: &[f32]) {
        assert!(queries.len().is_multiple_of(self.info.dim), "{} values are no whole number of queries", queries.len());
    }
}

/// The format that the bytes of an index say they have, the newest if it is none that this build reads.
fn format_of(bytes: &Bytes) -> Format {
    if bytes.get(8..12) == Some(&FORMAT.version.to_le_bytes()) { FORMAT } else { FORMAT_SHARED }
}

/// The rows of a concept, where `concepts` are those of all rows, ascending.
fn rows_of(concepts: &[u32], concept: ConceptId) -> Range<usize> {
    concepts.partition_point(|other| *other < concept.0)..concepts.partition_point(|other| *other <= concept.0)
}

fn sized(count: usize, width: usize) -> Result<usize> {
    count.checked_mul(width).ok_or_else(|| Error::artifact("the index: its sizes are too large"))
}

fn read_vectors(container: &Container<IndexInfo>, info: &IndexInfo) -> Result<Vectors> {
    let values = sized(info.rows, info.dim)?;
    let floats = |name: &str, count: usize| -> Result<Numbers<f32>> {
        let numbers = Numbers::new(container.section_of(name, sized(count, 4)?)?);
        check_finite(&format!("the index: `{name}`"), numbers.get())?;
        Ok(numbers)
    };
    Ok(match info.precision {
        Precision::F32 => Vectors::F32 { values: floats("values", values)? },
        Precision::Int8 => Vectors::Int8 {
            codes: Numbers::new(container.section_of("codes", values)?),
            scales: floats("scales", info.rows)?,
        },
        Precision::Int4 => Vectors::Int8 {
            codes: Numbers::Copied(codes::unpack(&container.section_of("halves", values.div_ceil(2))?, values)),
            scales: floats("scales", info.rows)?,
        },
    })
}
