//! The index: vectors of all concepts, searched exactly or through HNSW, behind one type.
//!
//! A concept has one row for each of its views (its template, its names); rows of one concept stand together, and a
//! search returns each concept once, with its best row's score. The exact search is the oracle of the approximate one.

mod hnsw;
mod top;
mod vectors;

pub use hnsw::HnswOptions;
pub use top::best_per_concept;
pub use vectors::Numbers;

use crate::container::{self, Check, Container, Format};
use crate::error::{Error, Result};
use crate::kb::ConceptId;
use crate::kernels;
use crate::score::{Candidate, Score};
use bytes::Bytes;
use hnsw::Graph;
use serde::{Deserialize, Serialize};
use top::Top;
use vectors::Vectors;

const FORMAT: Format = Format { magic: b"PELINDEX", version: 1, name: "index" };

/// Rows that one thread scores at a time: enough to pay for the hand-over, few enough to stay in the cache.
const BLOCK: usize = 2048;

/// How a value is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Precision {
    /// Four bytes a value.
    F32,
    /// One byte a value, one scale a vector.
    Int8,
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
    pub score: Score,
    /// The HNSW graph's options, if the index has a graph.
    pub hnsw: Option<HnswOptions>,
}

/// Vectors with the concepts that they stand for.
pub struct Index {
    info: IndexInfo,
    vectors: Vectors,
    concepts: Numbers<u32>,
    graph: Option<Graph>,
}

impl Index {
    /// The bytes of an index over `vectors` (`[rows, dim]`, of unit length where the score is cosine) and the concept of
    /// each row, in ascending order.
    ///
    /// # Errors
    /// If the sizes disagree or the rows of a concept do not stand together.
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
        let bodies = vectors::sections(vectors, dim, info.precision)?;
        let concepts: Vec<u32> = rows.iter().map(|concept| concept.0).collect();
        let mut sections: Vec<(&str, &[u8])> = vec![("concepts", bytemuck::cast_slice(&concepts))];
        sections.extend(bodies.iter().map(|(name, body)| (*name, body.as_slice())));
        let graph = match info.hnsw {
            None => Vec::new(),
            Some(options) => {
                let plain = container::write(FORMAT, info, &sections)?;
                let vectors = read_vectors(&Container::read(FORMAT, &Bytes::from(plain), Check::Trusted)?, info)?;
                Graph::build(vectors, rows.len(), dim, options).to_bytes()?
            }
        };
        if info.hnsw.is_some() {
            sections.push(("graph", &graph));
        }
        container::write(FORMAT, info, &sections)
    }

    /// Reads an index; vectors are used where the bytes lie.
    ///
    /// # Errors
    /// If the file is cut short, altered, of another version, or its parts do not fit together.
    pub fn from_bytes(bytes: &Bytes, check: Check) -> Result<Self> {
        let container = Container::<IndexInfo>::read(FORMAT, bytes, check)?;
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
            Some(_) => Some(Graph::from_bytes(&container.section("graph")?, vectors.clone(), info.rows, info.dim)?),
        };
        Ok(Self { info, vectors, concepts, graph })
    }

    /// What the index is.
    pub fn info(&self) -> &IndexInfo {
        &self.info
    }

    /// The vector of a row, as the index keeps it.
    ///
    /// # Panics
    /// If there is no such row.
    pub fn vector(&self, row: usize) -> Vec<f32> {
        match self.vectors.row(row, self.info.dim) {
            vectors::Query::F32(values) => values,
            vectors::Query::Int8 { codes, scale } => codes.iter().map(|code| f32::from(*code) * scale).collect(),
        }
    }

    /// The highest concept that a row stands for.
    pub fn last_concept(&self) -> Option<ConceptId> {
        self.concepts.get().last().map(|concept| ConceptId(*concept))
    }

    /// The best `k` concepts for each query, best first, ties in concept order: through the graph if there is one, else exactly.
    ///
    /// # Shapes
    /// queries `[n, dim]` -> n lists
    ///
    /// # Panics
    /// If the queries are no whole number of vectors.
    pub fn search(&self, queries: &[f32], k: usize) -> Vec<Vec<Candidate>> {
        match &self.graph {
            None => self.search_exact(queries, k),
            Some(graph) => {
                let queries: Vec<&[f32]> = self.split(queries).collect();
                let find =
                    |query: &[f32]| graph.search(&self.vectors, self.vectors.query(query), self.concepts.get(), k);
                let found = kernels::for_each_chunk(&queries, 1, |_, chunk| find(chunk[0]));
                found.into_iter().collect()
            }
        }
    }

    /// As [`Index::search`], but always over every row.
    pub fn search_exact(&self, queries: &[f32], k: usize) -> Vec<Vec<Candidate>> {
        let queries: Vec<_> = self.split(queries).map(|query| self.vectors.query(query)).collect();
        let blocks = kernels::for_each_chunk(self.concepts.get(), BLOCK, |block, concepts| {
            let (mut scores, mut scratch) = (vec![0.0; concepts.len()], Vec::new());
            let top = |query| {
                self.vectors.scores(query, block * BLOCK, &mut scores, &mut scratch);
                let mut top = Top::new(k);
                top.push_rows(concepts, &scores);
                top.sorted()
            };
            queries.iter().map(top).collect::<Vec<_>>()
        });
        let merge = |query: usize| best_per_concept(blocks.iter().flat_map(|block| block[query].clone()).collect(), k);
        (0..queries.len()).map(merge).collect()
    }

    fn split<'a>(&self, queries: &'a [f32]) -> impl Iterator<Item = &'a [f32]> {
        let dim = self.info.dim;
        assert!(queries.len().is_multiple_of(dim), "queries of {dim} values cannot make {} values", queries.len());
        queries.chunks_exact(dim)
    }
}

fn sized(count: usize, width: usize) -> Result<usize> {
    count.checked_mul(width).ok_or_else(|| Error::artifact("the index: its sizes are too large"))
}

fn read_vectors(container: &Container<IndexInfo>, info: &IndexInfo) -> Result<Vectors> {
    let values = sized(info.rows, info.dim)?;
    Ok(match info.precision {
        Precision::F32 => Vectors::F32 { values: Numbers::new(container.section_of("values", sized(values, 4)?)?) },
        Precision::Int8 => Vectors::Int8 {
            codes: Numbers::new(container.section_of("codes", values)?),
            scales: Numbers::new(container.section_of("scales", sized(info.rows, 4)?)?),
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn info(rows: usize, dim: usize, precision: Precision, score: Score, hnsw: Option<HnswOptions>) -> IndexInfo {
        IndexInfo { rows, dim, precision, score, hnsw }
    }

    fn index(vectors: &[f32], rows: &[u32], info: &IndexInfo) -> Index {
        let rows: Vec<_> = rows.iter().map(|concept| ConceptId(*concept)).collect();
        let bytes = Index::build(vectors, &rows, info).expect("sizes agree");
        Index::from_bytes(&Bytes::from(bytes), Check::Checksums).expect("whole")
    }

    fn random(count: usize, seed: u64) -> Vec<f32> {
        let mut state = seed;
        let mut next = || {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 40) as f32 / (1u64 << 24) as f32 - 0.5
        };
        (0..count).map(|_| next()).collect()
    }

    fn names(found: &[Candidate]) -> Vec<u32> {
        found.iter().map(|candidate| candidate.concept.0).collect()
    }

    #[test]
    fn a_search_by_hand() {
        // Concept 0 has two rows; its second one is the best for the query (0, 1).
        let vectors = [1.0, 0.0, 0.0, 1.0, 0.6, 0.8];
        for precision in [Precision::F32, Precision::Int8] {
            let index = index(&vectors, &[0, 0, 1], &info(3, 2, precision, Score::Cosine, None));
            let found = index.search(&[0.0, 1.0, 1.0, 0.0], 2);
            assert_eq!((names(&found[0]), names(&found[1])), (vec![0, 1], vec![0, 1]));
            assert!((found[0][1].score - 0.8).abs() < 0.01 && (found[1][1].score - 0.6).abs() < 0.01);
        }
    }

    #[test]
    fn equal_scores_come_in_concept_order() {
        let vectors = [1.0, 0.0].repeat(5000);
        let rows: Vec<u32> = (0..5000).collect();
        let index = index(&vectors, &rows, &info(5000, 2, Precision::F32, Score::Dot, None));
        assert_eq!(names(&index.search(&[1.0, 0.0], 4)[0]), [0, 1, 2, 3]);
    }

    #[test]
    fn hnsw_finds_what_the_exact_search_finds() {
        let (rows, dim) = (2000, 16);
        let concepts: Vec<u32> = (0..rows as u32).map(|row| row / 2).collect();
        for score in [Score::Dot, Score::Cosine] {
            let mut vectors = random(rows * dim, 7);
            if score == Score::Cosine {
                for vector in vectors.chunks_exact_mut(dim) {
                    let norm = vector.iter().map(|value| value * value).sum::<f32>().sqrt();
                    vector.iter_mut().for_each(|value| *value /= norm);
                }
            }
            let options = HnswOptions { ef_search: 200, ..HnswOptions::default() };
            let index = index(&vectors, &concepts, &info(rows, dim, Precision::F32, score, Some(options)));
            let queries = random(50 * dim, 9);
            let (found, exact) = (index.search(&queries, 10), index.search_exact(&queries, 10));
            let hits: usize =
                found.iter().zip(&exact).map(|(f, e)| f.iter().filter(|candidate| e.contains(candidate)).count()).sum();
            assert!(hits >= 475, "{score:?}: {hits} of 500 (seeds 7 and 9)");
        }
    }

    #[test]
    fn the_same_seed_gives_the_same_graph() {
        let vectors = random(300 * 8, 3);
        let rows: Vec<_> = (0..300).map(ConceptId).collect();
        let info = info(300, 8, Precision::Int8, Score::Dot, Some(HnswOptions::default()));
        let build = || Index::build(&vectors, &rows, &info).expect("sizes agree");
        assert_eq!(build(), build());
    }

    #[test]
    fn an_index_that_does_not_fit_together_is_refused() {
        let info = info(2, 2, Precision::F32, Score::Dot, None);
        assert!(Index::build(&[0.0; 4], &[ConceptId(1), ConceptId(0)], &info).is_err());
        assert!(Index::build(&[0.0; 3], &[ConceptId(0), ConceptId(1)], &info).is_err());
        let bytes = Index::build(&[0.0; 4], &[ConceptId(0), ConceptId(1)], &info).expect("sizes agree");
        let mut altered = bytes.clone();
        let last = altered.len() - 60;
        altered[last] ^= 1;
        let said = Index::from_bytes(&Bytes::from(altered), Check::Checksums).err().expect("altered").to_string();
        assert!(said.contains("altered"), "{said}");
        assert!(Index::from_bytes(&Bytes::from(bytes[..bytes.len() / 2].to_vec()), Check::Checksums).is_err());
    }

    proptest! {
        #[test]
        fn blocks_and_threads_change_nothing(rows in 1usize..6000, seed in any::<u64>(), k in 1usize..20) {
            let vectors = random(rows * 4, seed);
            let concepts: Vec<u32> = (0..rows as u32).map(|row| row / 3).collect();
            let index = index(&vectors, &concepts, &info(rows, 4, Precision::F32, Score::Dot, None));
            let query = random(4, seed ^ 1);
            let mut all = Vec::new();
            for (row, vector) in vectors.chunks_exact(4).enumerate() {
                let mut score = [0.0];
                kernels::dot_f32(&query, vector, &mut score);
                all.push(Candidate { concept: ConceptId(concepts[row]), score: score[0] });
            }
            prop_assert_eq!(&index.search(&query, k)[0], &best_per_concept(all, k));
        }
    }
}
