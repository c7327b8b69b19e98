//! Greedy search of a graph (algorithms 2 and 5 of Malkov and Yashunin, 2016), and its buffers.

use super::links::Links;
use super::nodes::Nodes;
use crate::index::vectors::{Query, Vectors};
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

/// A greedy search with its buffers. Reuse it, so that searches allocate nothing.
#[derive(Default)]
pub struct GreedySearch {
    /// For each node the number of the last search that visited it.
    visited: Vec<u8>,
    search: u8,
    /// The nearest nodes so far, best first.
    best: Vec<Near>,
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
        let Some(start) = self.start(graph, query).filter(|_| ef > 0) else {
            return &self.best;
        };
        self.begin(graph.links.nodes());
        self.visited[start.node() as usize] = self.search;
        self.best.push(start);
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

    /// The entry point of the lowest layer: in each upper layer the search moves to a nearer node
    /// as long as there is one.
    fn start(&mut self, graph: SearchGraph, query: &Query) -> Option<Near> {
        let links = graph.links;
        let mut rank = links.first()?;
        self.fresh.clear();
        self.fresh.push(links.node_of(rank));
        self.compare(graph, query);
        let mut near = Near::new(self.fresh[0], self.similarities[0]);
        for layer in links.upper() {
            loop {
                let ranks = links.of_upper(layer, rank);
                self.fresh.clear();
                self.fresh
                    .extend(ranks.iter().map(|rank| links.node_of(*rank)));
                self.compare(graph, query);
                let nodes = self
                    .fresh
                    .iter()
                    .zip(&self.similarities)
                    .map(|(node, score)| Near::new(*node, *score));
                match nodes.zip(ranks).min() {
                    Some((better, next)) if better < near => (rank, near) = (*next, better),
                    _ => break,
                }
            }
        }
        Some(near)
    }

    /// Begins a search: no node has been visited.
    fn begin(&mut self, nodes: usize) {
        if self.search == u8::MAX || self.visited.len() != nodes {
            self.visited.clear();
            self.visited.resize(nodes, 0);
            self.search = 0;
        }
        self.search += 1;
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
