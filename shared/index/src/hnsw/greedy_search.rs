//! Greedy search of a graph (algorithms 2 and 5 of Malkov and Yashunin, 2016), and its buffers.

use super::links::Links;
use super::nodes::Nodes;
use crate::vectors::{Query, Vectors};
use std::sync::Mutex;

/// A node with its similarity as one number. The more similar node is the smaller number. Of
/// equally similar nodes it is the one whose first row comes first in the index. The lowest bit
/// says whether the search has followed the node's links.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Near(u64);

impl Near {
    /// `node` is below [`super::links::MOST_NODES`].
    fn new(node: u32, similarity: f32) -> Self {
        // NaN ranks last. The bits of a positive float rise with it, those of a negative one fall.
        let bits = if similarity.is_nan() {
            f32::NEG_INFINITY
        } else {
            similarity + 0.0
        }
        .to_bits();
        let falling = if bits >> 31 == 0 {
            !(bits | 1 << 31)
        } else {
            bits
        };
        Self(u64::from(falling) << 32 | u64::from(node) << 1)
    }

    /// The node.
    pub fn node(self) -> u32 {
        self.0 as u32 >> 1
    }

    /// Its similarity; `-inf` for NaN.
    pub fn similarity(self) -> f32 {
        let falling = (self.0 >> 32) as u32;
        f32::from_bits(if falling >> 31 == 0 {
            !falling & !(1 << 31)
        } else {
            falling
        })
    }

    fn followed(self) -> bool {
        self.0 & 1 == 1
    }
}

/// The graph and the vectors that are searched.
#[derive(Clone, Copy)]
pub struct SearchGraph<'a> {
    /// The links.
    pub links: &'a Links,
    /// The rows of each node.
    pub nodes: &'a Nodes,
    /// `[rows, dim]`
    pub vectors: &'a Vectors,
    /// The dimension of a vector.
    pub dim: usize,
}

/// The most nodes of the lowest upper layer from which a search of the lowest layer begins. From
/// one alone, more searches end among nodes that are all farther than the nearest ones.
const STARTS: usize = 16;

/// Candidates of a search for each start: starts take a small part of its time.
const PER_START: usize = 4;

/// A greedy search with its buffers. Reuse it, so that searches allocate nothing.
#[derive(Default)]
pub struct GreedySearch {
    /// For each node the number of the last search that visited it.
    visited: Vec<u8>,
    search: u8,
    /// The nearest nodes so far, best first.
    best: Vec<Near>,
    /// Their ranks, in an upper layer.
    ranks: Vec<u32>,
    /// The ranks of the new nodes there.
    fresh_ranks: Vec<u32>,
    /// New nodes, to be compared with the query.
    fresh: Vec<u32>,
    /// Their first rows.
    rows: Vec<u32>,
    similarities: Vec<f32>,
}

/// Idle searches, whose buffers later searches reuse.
#[derive(Default)]
pub struct SearchPool(Mutex<Vec<GreedySearch>>);

impl SearchPool {
    /// Calls `work` with an idle search, or with a new one if none is idle.
    pub fn with<R>(&self, work: impl FnOnce(&mut GreedySearch) -> R) -> R {
        let idle = self.0.lock().ok().and_then(|mut idle| idle.pop());
        let mut search = idle.unwrap_or_default();
        let result = work(&mut search);
        if let Ok(mut idle) = self.0.lock() {
            idle.push(search);
        }
        result
    }
}

impl GreedySearch {
    /// The `ef` nodes nearest to the query among those that the search visits, best first.
    pub fn nearest(&mut self, graph: SearchGraph, query: &Query, ef: usize) -> &[Near] {
        self.best.clear();
        if ef == 0 {
            return &self.best;
        }
        self.enter(graph, query, (ef / PER_START).clamp(1, STARTS));
        self.begin(graph.links.nodes());
        let mut at = 0;
        while let Some(node) = self.best.get_mut(at) {
            let at_node = node.node();
            node.0 |= 1;
            self.fresh.clear();
            for link in graph.links.of(at_node) {
                let visited = &mut self.visited[*link as usize];
                if *visited != self.search {
                    *visited = self.search;
                    graph.vectors.prefetch(graph.nodes.first(*link), graph.dim);
                    self.fresh.push(*link);
                }
            }
            self.compare(graph, query);
            let first = self.add(ef);
            at = if first <= at { first } else { at + 1 };
            while self.best.get(at).is_some_and(|near| near.followed()) {
                at += 1;
            }
            if let Some(next) = self.best.get(at) {
                graph.links.prefetch(next.node());
            }
        }
        &self.best
    }

    /// The `ef` nodes nearest to a node's vector, best first. The node itself is the first of them,
    /// unless no link leads to it.
    pub fn near_node(&mut self, graph: SearchGraph, node: u32, ef: usize) -> &[Near] {
        let row = graph.nodes.first(node) as usize;
        let query = graph.vectors.query(&graph.vectors.row(row, graph.dim));
        self.nearest(graph, &query, ef)
    }

    /// Fills `best` with the nodes from which the search of the lowest layer begins: in each upper
    /// layer the search moves to the nearest node, in the lowest of them to the `starts` nearest.
    fn enter(&mut self, graph: SearchGraph, query: &Query, starts: usize) {
        let links = graph.links;
        let Some(first) = links.first() else {
            return;
        };
        self.fresh.clear();
        self.fresh.push(links.node_of(first));
        self.compare(graph, query);
        self.best
            .push(Near::new(self.fresh[0], self.similarities[0]));
        self.ranks.clear();
        self.ranks.push(first);
        for layer in links.upper() {
            let most = if layer == 0 { starts } else { 1 };
            self.begin(links.nodes());
            while let Some(at) = self.best.iter().position(|near| !near.followed()) {
                self.best[at].0 |= 1;
                self.follow_upper(graph, query, layer, self.ranks[at], most);
            }
        }
    }

    /// Compares the nodes to which a rank is linked in an upper layer, and keeps the `most` nearest
    /// of all.
    fn follow_upper(
        &mut self,
        graph: SearchGraph,
        query: &Query,
        layer: usize,
        rank: u32,
        most: usize,
    ) {
        self.fresh.clear();
        self.fresh_ranks.clear();
        for rank in graph.links.of_upper(layer, rank) {
            let node = graph.links.node_of(*rank);
            let visited = &mut self.visited[node as usize];
            if *visited != self.search {
                *visited = self.search;
                graph.vectors.prefetch(graph.nodes.first(node), graph.dim);
                self.fresh.push(node);
                self.fresh_ranks.push(*rank);
            }
        }
        self.compare(graph, query);
        for at in 0..self.fresh.len() {
            let near = Near::new(self.fresh[at], self.similarities[at]);
            let place = self.best.partition_point(|one| *one < near);
            if place < most {
                self.best.insert(place, near);
                self.ranks.insert(place, self.fresh_ranks[at]);
                self.best.truncate(most);
                self.ranks.truncate(most);
            }
        }
    }

    /// Begins the search of a layer: the nodes in `best` alone have been visited, and none was
    /// followed.
    fn begin(&mut self, nodes: usize) {
        if self.search == u8::MAX || self.visited.len() != nodes {
            self.visited.clear();
            self.visited.resize(nodes, 0);
            self.search = 0;
        }
        self.search += 1;
        for start in &mut self.best {
            start.0 &= !1;
            self.visited[start.node() as usize] = self.search;
        }
    }

    fn compare(&mut self, graph: SearchGraph, query: &Query) {
        self.similarities.resize(self.fresh.len(), 0.0);
        let rows = match graph.nodes {
            Nodes::Single(_) => &self.fresh,
            Nodes::Shared { .. } => {
                self.rows.clear();
                self.rows
                    .extend(self.fresh.iter().map(|node| graph.nodes.first(*node)));
                &self.rows
            }
        };
        graph.vectors.near(query, rows, &mut self.similarities);
    }

    /// Inserts the new nodes among the best. Returns the position of the first one, `usize::MAX`
    /// without one.
    fn add(&mut self, ef: usize) -> usize {
        let mut first = usize::MAX;
        for (node, similarity) in self.fresh.iter().zip(&self.similarities) {
            let near = Near::new(*node, *similarity);
            if self.best.len() >= ef {
                if self.best.last().is_some_and(|last| *last <= near) {
                    continue;
                }
                self.best.pop();
            }
            let at = self.best.partition_point(|one| *one < near);
            self.best.insert(at, near);
            first = first.min(at);
        }
        first
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hnsw::build::filled;
    use crate::hnsw::links::{UPPER_WIDTH, WIDTH};
    use bytes::Bytes;
    use pel_kb::numbers::Numbers;

    /// Two parts without a link between them: the nearest node of the upper layer is in one, the
    /// nearest node of all in the other.
    #[test]
    fn a_search_begins_from_several_nodes_of_the_upper_layer() {
        let points: Vec<f32> = [20f32, 25.0, -30.0, -5.0]
            .iter()
            .map(|degrees| degrees.to_radians())
            .flat_map(|angle| [angle.cos(), angle.sin()])
            .collect();
        let vectors = Vectors::F32 {
            values: Numbers::Copied(points),
        };
        let lowest = [(0, 1), (1, 0), (2, 3), (3, 2)].map(|(own, to)| filled::<WIDTH>(own, &[to]));
        let upper = [(0, 1), (1, 0)].map(|(own, to)| filled::<UPPER_WIDTH>(own, &[to]));
        let upper = [&[2], upper.as_flattened()].concat();
        let sections = [lowest.as_flattened(), &[0, 2], &upper]
            .map(|numbers| Bytes::copy_from_slice(bytemuck::cast_slice(numbers)));
        let (links, nodes) = (Links::new(sections, 4).expect("a graph"), Nodes::Single(4));
        let graph = SearchGraph {
            links: &links,
            nodes: &nodes,
            vectors: &vectors,
            dim: 2,
        };
        let mut search = GreedySearch::default();
        let query = vectors.query(&[1.0, 0.0]);
        let mut found = |ef| -> Vec<u32> {
            let near = search.nearest(graph, &query, ef);
            near.iter().map(|near| near.node()).collect()
        };
        assert_eq!(found(2 * PER_START), [3, 0, 1, 2]);
        // With one start the search stays in the part of the nearest.
        assert_eq!(found(2 * PER_START - 1), [0, 1]);
        assert_eq!(found(1), [0]);
        assert!(found(0).is_empty());
        // The numbers of searches begin again.
        for _ in 0..200 {
            assert_eq!(found(2 * PER_START), [3, 0, 1, 2]);
        }
    }

    #[test]
    fn nodes_are_ordered_by_similarity_then_number() {
        let expected = [
            (9, f32::INFINITY),
            (8, 1.5),
            (7, 0.25),
            (2, 0.0),
            (3, -0.0),
            (6, -0.25),
            (5, -7.0),
            (0, f32::NAN),
            (1, f32::NEG_INFINITY),
            (4, f32::NAN),
        ];
        let mut near: Vec<Near> = expected
            .iter()
            .map(|(node, similarity)| Near::new(*node, *similarity))
            .collect();
        near.reverse();
        near.sort_unstable();
        assert_eq!(
            near.iter().map(|near| near.node()).collect::<Vec<_>>(),
            expected.map(|(node, _)| node)
        );
        assert_eq!(Near::new((1 << 31) - 1, 1.0).node(), (1 << 31) - 1);
        let similarities: Vec<f32> = near[..7].iter().map(|near| near.similarity()).collect();
        assert_eq!(
            similarities,
            [f32::INFINITY, 1.5, 0.25, 0.0, 0.0, -0.25, -7.0]
        );
        assert!(
            near[7..]
                .iter()
                .all(|near| near.similarity() == f32::NEG_INFINITY)
        );
    }
}
