//! Approximate search through a graph (HNSW; Malkov and Yashunin, 2016; BLINK, section 5.2.2).
//!
//! The graph knows nodes only, each a row or several equal ones; vectors stay where the index keeps them. HNSW wants a distance, so a raw dot product is
//! reduced to one by an extra coordinate that makes all rows equally long: with M the longest norm, a row x gets
//! e = √(M² - |x|²) and a query gets 0; then |x' - q'|² = M² + |q|² - 2 q·x falls as the dot product rises. Unit vectors
//! need no such coordinate.

mod build;
mod links;
mod mirror;
mod nodes;
mod repair;
mod walk;

pub use build::sections;
pub use links::SECTIONS;
pub use nodes::{Nodes, SHARED_SECTIONS};

use super::top::best_per_concept;
use super::vectors::Vectors;
use crate::error::Result;
use crate::kb::ConceptId;
use crate::kernels;
use crate::score::Candidate;
use bytes::Bytes;
use links::Links;
use serde::{Deserialize, Serialize};
use std::collections::HashSet;
use std::sync::Mutex;
use walk::{Ground, Near, Walk};

/// How the graph is built and searched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HnswOptions {
    /// Nodes kept while a node is inserted.
    pub ef_construction: usize,
    /// Nodes kept while searching, unless [`super::Index::set_ef_search`] says another number; more where these hold fewer
    /// concepts than are asked for.
    pub ef_search: usize,
    /// Seed of the layers.
    pub seed: u64,
}

impl HnswOptions {
    /// Neighbours of a node at most, in the lowest layer.
    pub const NEIGHBOURS: usize = links::WIDTH;
}

impl Default for HnswOptions {
    fn default() -> Self {
        Self { ef_construction: 100, ef_search: 100, seed: 0 }
    }
}

/// The rows of an index.
#[derive(Clone, Copy)]
pub struct Rows<'a> {
    /// `[rows, dim]`
    pub vectors: &'a Vectors,
    /// Values of a row.
    pub dim: usize,
    /// `[rows]`
    pub concepts: &'a [u32],
}

/// A graph over the rows of an index.
pub struct Graph {
    links: Links,
    nodes: Nodes,
    /// What walks remember, kept for the next ones.
    idle: Mutex<Vec<Walk>>,
}

impl Graph {
    /// Reads a graph over nodes from the sections of [`SECTIONS`].
    ///
    /// # Errors
    /// If they are no such graph.
    pub fn new(sections: [Bytes; 3], nodes: Nodes) -> Result<Self> {
        Ok(Self { links: Links::new(sections, nodes.len())?, nodes, idle: Mutex::default() })
    }

    /// The best k concepts for each query among the rows of the `ef` nodes that are kept while searching, with their scores as the
    /// exact search has them; ties in concept order. Where these nodes hold fewer than k concepts, more are kept.
    ///
    /// # Shapes
    /// queries `[n, dim]`, concepts `[rows]` -> n lists
    pub fn search(&self, on: Rows, queries: &[f32], k: usize, ef: usize) -> Vec<Vec<Candidate>> {
        let queries: Vec<&[f32]> = queries.chunks_exact(on.dim).collect();
        let share = queries.len().div_ceil(4 * kernels::threads()).max(1);
        let found = kernels::for_each_chunk(&queries, share, |_, queries| {
            let mut walk = self.idle.lock().ok().and_then(|mut idle| idle.pop()).unwrap_or_default();
            let found: Vec<_> = queries.iter().map(|query| self.find(on, query, &mut walk, k, ef)).collect();
            if let Ok(mut idle) = self.idle.lock() {
                idle.push(walk);
            }
            found
        });
        found.into_iter().flatten().collect()
    }

    fn find(&self, on: Rows, query: &[f32], walk: &mut Walk, k: usize, ef: usize) -> Vec<Candidate> {
        let Rows { vectors, dim, concepts } = on;
        let query = vectors.query(query);
        let ground = Ground { links: &self.links, nodes: &self.nodes, vectors, dim };
        // As in the exact search, only some more than are asked for are told apart by the finer score.
        let (taken, mut ef) = (vectors.taken(k), ef.max(1));
        let mut found = loop {
            let near = walk.nearest(ground, &query, ef);
            let found = self.concepts_of(near, concepts, taken);
            // A walk that has kept fewer nodes than it might has met all.
            if found.len() >= k || near.len() < ef {
                break found;
            }
            ef = ef.saturating_mul(2);
        };
        found.sort_unstable_by(|(a, _), (b, _)| a.rank(b));
        found.truncate(taken);
        let scored = found.into_iter().map(|(candidate, row)| {
            // No score is -0, as in the exact search.
            Candidate { score: vectors.score(&query, row as usize) + 0.0, ..candidate }
        });
        best_per_concept(scored.collect(), k)
    }

    /// The concepts of the nearest nodes, each with its best row: as many as are taken, and those that are as near as the last.
    fn concepts_of(&self, near: &[Near], concepts: &[u32], taken: usize) -> Vec<(Candidate, u32)> {
        let (mut seen, mut found) = (HashSet::new(), Vec::<(Candidate, u32)>::new());
        for node in near {
            let score = node.similarity();
            if found.len() >= taken && found.last().is_some_and(|(last, _)| last.score > score) {
                break;
            }
            // Equally near rows come in concept order: of one node's, no more are wanted than of all.
            let before = found.len();
            for row in self.nodes.rows(node.node()) {
                let concept = concepts[row as usize];
                if seen.insert(concept) {
                    found.push((Candidate { concept: ConceptId(concept), score }, row));
                }
                if found.len() - before >= taken {
                    break;
                }
            }
        }
        found
    }
}
