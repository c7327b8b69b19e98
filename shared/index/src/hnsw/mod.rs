//! Approximate search through a graph (HNSW; Malkov and Yashunin, 2016; BLINK, section 5.2.2).
//!
//! The graph has nodes only, each of one row or several equal rows. The index has the vectors.
//!
//! HNSW needs a distance. An extra coordinate reduces the dot product to one: with M the largest
//! norm, a row x gets e = √(M² - |x|²) and a query gets 0. Then |x' - q'|² = M² + |q|² - 2 q·x
//! falls as the dot product rises. Unit vectors need no extra coordinate.
//!
//! One thread builds the graph: several threads would give different graphs for one seed.

mod build;
mod built_graph;
mod greedy_search;
mod links;
mod nodes;
mod repair;
mod update;

pub use build::sections;
pub use links::SECTIONS;
pub use nodes::{Nodes, SHARED_SECTIONS};
pub use update::updated_sections;

use super::top::best_per_concept;
use super::vectors::Vectors;
use bytes::Bytes;
use greedy_search::{GreedySearch, Near, SearchGraph, SearchPool};
use links::Links;
use pel_kb::ConceptId;
use pel_kb::error::Result;
use pel_kb::score::Candidate;
use serde::{Deserialize, Serialize};
use std::collections::HashSet;

/// Options for building and searching the graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HnswOptions {
    /// The size of the candidate list while a node is inserted.
    pub ef_construction: usize,
    /// The size of the candidate list of a search, unless [`super::Index::set_depth`] sets
    /// another one. A search doubles it until the list has as many concepts as were asked for.
    pub ef_search: usize,
    /// The seed of the random layers.
    pub seed: u64,
}

impl HnswOptions {
    /// The most neighbours of a node in the lowest layer.
    pub const NEIGHBOURS: usize = links::WIDTH;
}

impl Default for HnswOptions {
    fn default() -> Self {
        Self {
            ef_construction: 100,
            ef_search: 100,
            seed: 0,
        }
    }
}

/// The vectors of an index with their concepts.
#[derive(Clone, Copy)]
pub struct ConceptVectors<'a> {
    /// `[rows, dim]`
    pub vectors: &'a Vectors,
    /// The dimension of a vector.
    pub dim: usize,
    /// `[rows]`
    pub concepts: &'a [u32],
}

/// A graph over the rows of an index.
pub struct Graph {
    links: Links,
    nodes: Nodes,
    /// Buffers of earlier searches.
    pool: SearchPool,
}

impl Graph {
    /// Reads a graph over nodes from the sections of [`SECTIONS`].
    ///
    /// # Errors
    /// If a section has another size, or a link leads to no node.
    pub fn new(sections: [Bytes; 3], nodes: Nodes) -> Result<Self> {
        Ok(Self {
            links: Links::new(sections, nodes.len())?,
            nodes,
            pool: SearchPool::default(),
        })
    }

    /// The best k concepts of each query among the rows of the `ef` nearest nodes that a search
    /// finds. Scores are those of the exact search, ties are in concept order. `ef` is doubled
    /// while the nodes have fewer than k concepts.
    ///
    /// # Shapes
    /// queries `[n, dim]`, concepts `[rows]` -> n lists
    pub fn search(
        &self,
        on: ConceptVectors,
        queries: &[f32],
        k: usize,
        ef: usize,
    ) -> Vec<Vec<Candidate>> {
        let queries: Vec<&[f32]> = queries.chunks_exact(on.dim).collect();
        let share = queries.len().div_ceil(4 * pel_kernels::threads()).max(1);
        let found = pel_kernels::for_each_chunk(&queries, share, |_, queries| {
            self.pool.with(|search| {
                let found = queries
                    .iter()
                    .map(|query| self.find(on, query, search, k, ef));
                found.collect::<Vec<_>>()
            })
        });
        found.into_iter().flatten().collect()
    }

    fn find(
        &self,
        on: ConceptVectors,
        query: &[f32],
        search: &mut GreedySearch,
        k: usize,
        ef: usize,
    ) -> Vec<Candidate> {
        let ConceptVectors {
            vectors,
            dim,
            concepts,
        } = on;
        let query = vectors.query(query);
        let graph = SearchGraph {
            links: &self.links,
            nodes: &self.nodes,
            vectors,
            dim,
        };
        // As in the exact search, the finer score orders some more candidates than were asked for.
        let (taken, mut ef) = (vectors.taken(k), ef.max(1));
        let mut found = loop {
            let near = search.nearest(graph, &query, ef);
            let found = self.concepts_of(near, concepts, taken);
            // A search that returns fewer than `ef` nodes has visited all that it can reach.
            if found.len() >= k || near.len() < ef {
                break found;
            }
            ef = ef.saturating_mul(2);
        };
        found.sort_unstable_by(|(a, _), (b, _)| a.rank(b));
        found.truncate(taken);
        let scored = found.into_iter().map(|(candidate, row)| {
            // No score is -0, as in the exact search.
            Candidate {
                score: vectors.score(&query, row as usize) + 0.0,
                ..candidate
            }
        });
        best_per_concept(scored.collect(), k)
    }

    /// The first `taken` concepts of the nearest nodes, each with its best row, and those that tie
    /// with the last.
    fn concepts_of(&self, near: &[Near], concepts: &[u32], taken: usize) -> Vec<(Candidate, u32)> {
        let (mut seen, mut found) = (HashSet::new(), Vec::<(Candidate, u32)>::new());
        for node in near {
            let score = node.similarity();
            if found.len() >= taken && found.last().is_some_and(|(last, _)| last.score > score) {
                break;
            }
            // The rows of a node are in concept order, so no node needs more than `taken` of them.
            let before = found.len();
            for row in self.nodes.rows(node.node()) {
                let concept = concepts[row as usize];
                if seen.insert(concept) {
                    found.push((
                        Candidate {
                            concept: ConceptId(concept),
                            score,
                        },
                        row,
                    ));
                }
                if found.len() - before >= taken {
                    break;
                }
            }
        }
        found
    }
}
