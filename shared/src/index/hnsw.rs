//! Approximate search through `instant-distance` (HNSW; Malkov and Yashunin, 2016; BLINK, section 5.2.2).
//!
//! The graph knows rows only; vectors stay where the index keeps them. HNSW wants a distance, so a raw dot product is
//! reduced to one by an extra coordinate that makes all rows equally long: with M the longest norm, a row x gets
//! e = √(M² - |x|²) and a query gets 0; then |x' - q'|² = M² + |q|² - 2 q·x falls as the dot product rises. Unit vectors
//! need no such coordinate.

use super::top::best_per_concept;
use super::vectors::{Query, Rows, Vectors};
use crate::error::{Error, Result};
use crate::kb::ConceptId;
use crate::kernels;
use crate::score::Candidate;
use instant_distance::{Builder, Heuristic, Hnsw, Point, Search};
use serde::{Deserialize, Serialize};
use std::sync::{Arc, Mutex};

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

/// What the nodes of a graph under construction share.
struct Space<'a> {
    rows: Rows<'a>,
    /// For each row the extra coordinate.
    extra: Vec<f32>,
    /// For each row its squared length, extra coordinate included.
    length: f32,
}

/// A node of a graph under construction.
#[derive(Clone, Serialize)]
struct Inserted<'a> {
    row: u32,
    #[serde(skip)]
    space: &'a Space<'a>,
}

impl Point for Inserted<'_> {
    fn distance(&self, other: &Self) -> f32 {
        let (space, a, b) = (self.space, self.row as usize, other.row as usize);
        let score = space.rows.pair(a, b) + space.extra[a] * space.extra[b];
        finite(2.0 * (space.length - score))
    }
}

/// A node of a finished graph, or a query.
#[derive(Clone, Serialize, Deserialize)]
struct Node {
    row: u32,
    #[serde(skip)]
    query: Option<Box<(Query, Arc<Vectors>)>>,
}

impl Point for Node {
    fn distance(&self, other: &Self) -> f32 {
        // The search measures from the query; a constant is left out, and half of the rest, which changes no order.
        match &self.query {
            Some(query) => finite(-query.1.near(&query.0, other.row as usize)),
            None => f32::MAX,
        }
    }
}

/// NaN would break the order of the search.
fn finite(distance: f32) -> f32 {
    if distance.is_nan() { f32::MAX } else { distance }
}

/// A graph over the rows of an index.
pub struct Graph {
    hnsw: Hnsw<Node>,
    vectors: Arc<Vectors>,
    /// What searches remember, kept for the next ones.
    idle: Mutex<Vec<Search>>,
}

impl<'a> Space<'a> {
    fn new(rows: Rows<'a>) -> Self {
        let squares: Vec<f32> = (0..rows.len()).map(|row| rows.pair(row, row)).collect();
        let length = squares.iter().copied().filter(|square| square.is_finite()).fold(0.0f32, f32::max);
        let extra = squares.iter().map(|square| (length - square).max(0.0).sqrt()).collect();
        Self { rows, extra, length }
    }
}

/// The bytes of a graph over vectors, without the vectors. It is built on one thread: with several, the same seed would
/// not give the same graph.
///
/// # Errors
/// If it cannot be encoded.
pub fn build(vectors: &Vectors, dim: usize, options: HnswOptions) -> Result<Vec<u8>> {
    let space = Space::new(Rows::new(vectors, dim));
    let nodes = (0..space.extra.len() as u32).map(|row| Inserted { row, space: &space }).collect();
    // Pruned links would fill every node up to 64: that takes five times as long to build, and at equal recall it is
    // no faster to search. With the crate's own share of 1 / ln M there would be many layers, each a detour.
    let builder = Builder::default()
        .ef_construction(options.ef_construction)
        .ef_search(options.ef_search)
        .select_heuristic(Some(Heuristic { extend_candidates: false, keep_pruned: false }))
        .ml(1.0 / 32.0)
        .seed(options.seed);
    let hnsw = kernels::on_one_thread(|| builder.build_hnsw(nodes).0);
    postcard::to_stdvec(&hnsw).map_err(|cause| Error::artifact("encoding the HNSW graph").caused_by(cause))
}

impl Graph {
    /// Reads a graph and joins it with its vectors.
    ///
    /// # Errors
    /// If the bytes are no graph over `rows` rows.
    pub fn from_bytes(bytes: &[u8], vectors: Vectors, rows: usize) -> Result<Self> {
        let hnsw: Hnsw<Node> =
            postcard::from_bytes(bytes).map_err(|cause| Error::artifact("decoding the HNSW graph").caused_by(cause))?;
        let mut seen = vec![false; rows];
        for (_, node) in hnsw.iter() {
            match seen.get_mut(node.row as usize) {
                Some(seen) if !*seen => *seen = true,
                _ => return Err(Error::artifact(format!("the HNSW graph names row {} wrongly", node.row))),
            }
        }
        match seen.iter().position(|seen| !seen) {
            Some(row) => Err(Error::artifact(format!("the HNSW graph lacks row {row}"))),
            None => Ok(Self { hnsw, vectors: Arc::new(vectors), idle: Mutex::default() }),
        }
    }

    /// Searches with so many nodes kept from now on.
    ///
    /// # Errors
    /// If the graph cannot be encoded and decoded again, which is the only way to reach the number.
    pub fn set_ef_search(&mut self, ef_search: usize) -> Result<()> {
        let failed = |cause| Error::artifact("changing the HNSW graph").caused_by(cause);
        let bytes = postcard::to_stdvec(&self.hnsw).map_err(failed)?;
        // It is the first number of the encoding.
        let (_, rest) = postcard::take_from_bytes::<usize>(&bytes).map_err(failed)?;
        let mut changed = postcard::to_stdvec(&ef_search).map_err(failed)?;
        changed.extend_from_slice(rest);
        self.hnsw = postcard::from_bytes(&changed).map_err(failed)?;
        Ok(())
    }

    /// The best k concepts for each query among the rows that the graph finds, with their exact scores.
    pub fn search(&self, queries: &[&[f32]], concepts: &[u32], k: usize) -> Vec<Vec<Candidate>> {
        let share = queries.len().div_ceil(4 * kernels::threads()).max(1);
        let found = kernels::for_each_chunk(queries, share, |_, queries| {
            let mut search = self.idle.lock().ok().and_then(|mut idle| idle.pop()).unwrap_or_default();
            let find = |query: &&[f32]| self.find(query, &mut search, concepts, k);
            let found: Vec<_> = queries.iter().map(find).collect();
            if let Ok(mut idle) = self.idle.lock() {
                idle.push(search);
            }
            found
        });
        found.into_iter().flatten().collect()
    }

    fn find(&self, query: &[f32], search: &mut Search, concepts: &[u32], k: usize) -> Vec<Candidate> {
        let node = Node { row: u32::MAX, query: Some(Box::new((self.vectors.query(query), self.vectors.clone()))) };
        let Some(query) = &node.query else { return Vec::new() };
        let found = self.hnsw.search(&node, search).map(|item| {
            let row = item.point.row as usize;
            Candidate { concept: ConceptId(concepts[row]), score: self.vectors.score(&query.0, row) }
        });
        best_per_concept(found.collect(), k)
    }
}
