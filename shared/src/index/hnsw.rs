//! Approximate search through `instant-distance` (HNSW; Malkov and Yashunin, 2016; BLINK, section 5.2.2).
//!
//! The graph knows rows only; vectors stay where the index keeps them. HNSW wants a distance, so a raw dot product is
//! reduced to one by an extra coordinate that makes all rows equally long: with M the longest norm, a row x gets
//! e = √(M² - |x|²) and a query gets 0; then |x' - q'|² = M² + |q|² - 2 q·x falls as the dot product rises. Unit vectors
//! need no such coordinate.

use super::top::best_per_concept;
use super::vectors::{Query, Vectors};
use crate::error::{Error, Result};
use crate::kb::ConceptId;
use crate::kernels;
use crate::score::Candidate;
use instant_distance::{Builder, Hnsw, Point, Search};
use serde::{Deserialize, Serialize};
use std::sync::{Arc, OnceLock};

/// How the graph is built and searched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HnswOptions {
    /// Nodes kept while a node is inserted.
    pub ef_construction: usize,
    /// Nodes kept while searching; frozen into the graph. At most so many rows are found.
    pub ef_search: usize,
    /// Seed of the layers.
    pub seed: u64,
}

impl Default for HnswOptions {
    fn default() -> Self {
        Self { ef_construction: 100, ef_search: 100, seed: 0 }
    }
}

/// What the points of a graph share.
#[derive(Debug)]
struct Space {
    vectors: Vectors,
    dim: usize,
    /// For each row the extra coordinate.
    extra: Vec<f32>,
    /// For each row its squared length, extra coordinate included.
    length: f32,
}

/// A node, or a query.
#[derive(Clone, Serialize, Deserialize)]
struct Node {
    row: u32,
    #[serde(skip)]
    space: OnceLock<Arc<Space>>,
    #[serde(skip)]
    query: Option<Box<Query>>,
}

impl Point for Node {
    fn distance(&self, other: &Self) -> f32 {
        let (query, row) = if self.query.is_some() { (self, other) } else { (other, self) };
        let Some(space) = row.space.get() else { return f32::MAX };
        let row_at = row.row as usize;
        let (score, base) = match &query.query {
            Some(query) => (space.vectors.score(query, row_at), space.length),
            None => {
                let (a, b) = (query.row as usize, row_at);
                let score = space.vectors.pair(a, b, space.dim);
                (score + space.extra[a] * space.extra[b], 2.0 * space.length)
            }
        };
        let distance = base - 2.0 * score;
        // NaN would break the order of the search.
        if distance.is_nan() { f32::MAX } else { distance }
    }
}

/// A graph over the rows of an index.
pub struct Graph {
    hnsw: Hnsw<Node>,
    rows: usize,
}

impl Space {
    fn new(vectors: Vectors, rows: usize, dim: usize) -> Arc<Self> {
        let squares: Vec<f32> = (0..rows).map(|row| vectors.pair(row, row, dim)).collect();
        let length = squares.iter().copied().filter(|square| square.is_finite()).fold(0.0f32, f32::max);
        let extra = squares.iter().map(|square| (length - square).max(0.0).sqrt()).collect();
        Arc::new(Self { vectors, dim, extra, length })
    }
}

impl Graph {
    /// Builds the graph, on one thread: with several, the same seed would not give the same graph.
    pub fn build(vectors: Vectors, rows: usize, dim: usize, options: HnswOptions) -> Self {
        let space = Space::new(vectors, rows, dim);
        let nodes =
            (0..rows as u32).map(|row| Node { row, space: OnceLock::from(space.clone()), query: None }).collect();
        let builder =
            Builder::default().ef_construction(options.ef_construction).ef_search(options.ef_search).seed(options.seed);
        let hnsw = kernels::on_one_thread(|| builder.build_hnsw(nodes).0);
        Self { hnsw, rows }
    }

    /// The bytes of the graph, without vectors.
    ///
    /// # Errors
    /// If it cannot be encoded.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        postcard::to_stdvec(&self.hnsw).map_err(|cause| Error::artifact("encoding the HNSW graph").caused_by(cause))
    }

    /// Reads a graph and joins it with its vectors.
    ///
    /// # Errors
    /// If the bytes are no graph over `rows` rows.
    pub fn from_bytes(bytes: &[u8], vectors: Vectors, rows: usize, dim: usize) -> Result<Self> {
        let hnsw: Hnsw<Node> =
            postcard::from_bytes(bytes).map_err(|cause| Error::artifact("decoding the HNSW graph").caused_by(cause))?;
        let space = Space::new(vectors, rows, dim);
        let mut seen = vec![false; rows];
        for (_, node) in hnsw.iter() {
            match seen.get_mut(node.row as usize) {
                Some(seen) if !*seen => *seen = true,
                _ => return Err(Error::artifact(format!("the HNSW graph names row {} wrongly", node.row))),
            }
            if node.space.set(space.clone()).is_err() {
                return Err(Error::artifact("the HNSW graph names a node twice"));
            }
        }
        match seen.iter().position(|seen| !seen) {
            Some(row) => Err(Error::artifact(format!("the HNSW graph lacks row {row}"))),
            None => Ok(Self { hnsw, rows }),
        }
    }

    /// The best k concepts among the rows that the graph finds, with their exact scores.
    pub fn search(&self, vectors: &Vectors, query: Query, concepts: &[u32], k: usize) -> Vec<Candidate> {
        if self.rows == 0 {
            return Vec::new();
        }
        let node = Node { row: u32::MAX, space: OnceLock::new(), query: Some(Box::new(query.clone())) };
        let mut search = Search::default();
        let found = self.hnsw.search(&node, &mut search).map(|item| {
            let row = item.point.row as usize;
            Candidate { concept: ConceptId(concepts[row]), score: vectors.score(&query, row) }
        });
        best_per_concept(found.collect(), k)
    }
}
