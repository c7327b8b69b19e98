//! Adds links to nodes that a search does not find.
//!
//! Among many nearly equal nodes all links may stay within the group, and a search that enters it
//! does not leave it. Therefore each node is searched for once. A node that is not found gets a
//! link from the nearest nodes at which its search ended.

use super::greedy_search::{GreedySearch, Near, SearchGraph, SearchPool};
use super::links::{Links, WIDTH};
use super::nodes::Nodes;
use crate::vectors::{PairwiseSimilarity, Vectors};

/// The nodes that a thread searches for at a time.
const CHUNK: usize = 256;

/// The most passes over all nodes: a link that is replaced may have led to another node.
const ROUNDS: usize = 8;

/// The links of a node that may be replaced: the last ones, so that the nearest stay.
const PLACES: usize = WIDTH / 2;

/// The relative difference below which two similarities are equal but for rounding.
const SAME: f32 = 1e-6;

/// The nodes that get a link to a lost node: a search near it may end at only one of them.
const FROM: usize = 3;

/// Adds links so that a search with `ef` candidates finds every node, as far as there are places
/// for links.
pub fn repaired(links: &mut Links, nodes: &Nodes, vectors: &Vectors, dim: usize, ef: usize) {
    let all: Vec<u32> = (0..nodes.len() as u32).collect();
    repaired_among(&all, links, nodes, vectors, dim, ef);
}

/// As [`repaired`], but only some nodes are searched for.
pub fn repaired_among(
    some: &[u32],
    links: &mut Links,
    nodes: &Nodes,
    vectors: &Vectors,
    dim: usize,
    ef: usize,
) {
    let pairs = PairwiseSimilarity::new(vectors, dim);
    let similarity = |node: u32| {
        let row = nodes.first(node) as usize;
        pairs.of(row, row)
    };
    // For each node, the number of links that were added.
    let mut taken = vec![0u8; nodes.len()];
    let mut search = GreedySearch::default();
    for _ in 0..ROUNDS {
        let lost = lost(
            some,
            SearchGraph {
                links,
                nodes,
                vectors,
                dim,
            },
            ef,
            &similarity,
        );
        if lost.is_empty() {
            return;
        }
        for node in lost {
            // A link that was added for another node may lead to it.
            let near = search.near_node(
                SearchGraph {
                    links,
                    nodes,
                    vectors,
                    dim,
                },
                node,
                ef,
            );
            if !is_lost(near, node, similarity(node)) {
                continue;
            }
            // Those with the fewest added links, the nearest first.
            let mut from: Vec<(u8, usize, u32)> = near
                .iter()
                .enumerate()
                .map(|(at, near)| (taken[near.node() as usize], at, near.node()))
                .collect();
            from.sort_unstable();
            for (used, _, from) in from
                .into_iter()
                .filter(|(used, ..)| usize::from(*used) < PLACES)
                .take(FROM)
            {
                let own = links.of(from).len();
                // A free place, else one of the last.
                let place = if own < WIDTH {
                    own
                } else {
                    WIDTH - 1 - usize::from(used)
                };
                links.link(from, place, node);
                taken[from as usize] += 1;
            }
        }
    }
}

/// The nodes of some that a search for them does not find, in their order. `similarity` is that of
/// a node with itself.
fn lost(
    some: &[u32],
    graph: SearchGraph,
    ef: usize,
    similarity: &(dyn Fn(u32) -> f32 + Sync),
) -> Vec<u32> {
    let pool = SearchPool::default();
    let lost = pel_kernels::for_each_chunk(some, CHUNK, |_, nodes| {
        pool.with(|search| {
            let mut found =
                |node: u32| is_lost(search.near_node(graph, node, ef), node, similarity(node));
            let lost = nodes.iter().copied().filter(|node| found(*node));
            lost.collect::<Vec<u32>>()
        })
    });
    lost.into_iter().flatten().collect()
}

/// Whether a search for a node did not find it, although it is more similar to itself than the last
/// node found. A node is not lost if all found nodes are as similar to it as itself.
fn is_lost(near: &[Near], node: u32, similarity: f32) -> bool {
    let as_similar = near
        .last()
        .is_some_and(|last| last.similarity() >= similarity - SAME * similarity.abs());
    !similarity.is_nan() && !as_similar && near.iter().all(|near| near.node() != node)
}
