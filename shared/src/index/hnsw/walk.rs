//! One walk through a graph, and what is remembered between walks.

use super::links::Links;
use super::nodes::Nodes;
use crate::index::vectors::{Query, Vectors};

/// A node with its similarity, as one number: the more similar node is the smaller number, and of equally similar nodes the
/// one whose first row comes first in the index. The lowest bit says whether the node's links have been followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Near(u64);

impl Near {
    /// `node` is below [`super::links::MOST_NODES`].
    fn new(node: u32, similarity: f32) -> Self {
        // What is no number is as far as can be. The bits of a float rise with it, those of one below zero fall.
        let bits = if similarity.is_nan() { f32::NEG_INFINITY } else { similarity + 0.0 }.to_bits();
        let falling = if bits >> 31 == 0 { !(bits | 1 << 31) } else { bits };
        Self(u64::from(falling) << 32 | u64::from(node) << 1)
    }

    /// The node.
    pub fn node(self) -> u32 {
        self.0 as u32 >> 1
    }

    /// Its similarity; what is no number is as far as can be.
    pub fn similarity(self) -> f32 {
        let falling = (self.0 >> 32) as u32;
        f32::from_bits(if falling >> 31 == 0 { !falling & !(1 << 31) } else { falling })
    }

    fn followed(self) -> bool {
        self.0 & 1 == 1
    }
}

/// Among what a walk goes.
#[derive(Clone, Copy)]
pub struct Ground<'a> {
    /// The graph.
    pub links: &'a Links,
    /// Its nodes.
    pub nodes: &'a Nodes,
    /// The rows.
    pub vectors: &'a Vectors,
    /// Values of a row.
    pub dim: usize,
}

/// What walks remember; kept between them, so that they allocate nothing.
#[derive(Default)]
pub struct Walk {
    /// For each node the number of the last walk that saw it.
    seen: Vec<u8>,
    walk: u8,
    /// The best nodes so far, best first.
    best: Vec<Near>,
    /// Nodes that are to be compared with the query.
    fresh: Vec<u32>,
    /// The rows that stand for them.
    rows: Vec<u32>,
    similarities: Vec<f32>,
}

impl Walk {
    /// The `ef` nodes nearest to the query among those that are met, best first.
    pub fn nearest(&mut self, ground: Ground, query: &Query, ef: usize) -> &[Near] {
        self.best.clear();
        let Some(start) = self.start(ground, query).filter(|_| ef > 0) else { return &self.best };
        self.begin(ground.links.nodes());
        self.seen[start.node() as usize] = self.walk;
        self.best.push(start);
        let mut at = 0;
        while let Some(node) = self.best.get_mut(at) {
            let at_node = node.node();
            node.0 |= 1;
            self.fresh.clear();
            for link in ground.links.of(at_node) {
                let seen = &mut self.seen[*link as usize];
                if *seen != self.walk {
                    *seen = self.walk;
                    ground.vectors.prefetch(ground.nodes.first(*link), ground.dim);
                    self.fresh.push(*link);
                }
            }
            self.compare(ground, query);
            let first = self.add(ef);
            at = if first <= at { first } else { at + 1 };
            while self.best.get(at).is_some_and(|near| near.followed()) {
                at += 1;
            }
            if let Some(next) = self.best.get(at) {
                ground.links.prefetch(next.node());
            }
        }
        &self.best
    }

    /// The `ef` nodes nearest to a node among those that are met from above, best first; the node itself is the best of them, if the
    /// graph leads to it.
    pub fn near_node(&mut self, ground: Ground, node: u32, ef: usize) -> &[Near] {
        let row = ground.nodes.first(node) as usize;
        let query = ground.vectors.query(&ground.vectors.row(row, ground.dim));
        self.nearest(ground, &query, ef)
    }

    /// Goes down the upper layers, in each from node to nearer node as long as there is one.
    fn start(&mut self, ground: Ground, query: &Query) -> Option<Near> {
        let links = ground.links;
        let mut rank = links.first()?;
        self.fresh.clear();
        self.fresh.push(links.node_of(rank));
        self.compare(ground, query);
        let mut near = Near::new(self.fresh[0], self.similarities[0]);
        for layer in links.upper() {
            loop {
                let ranks = links.of_upper(layer, rank);
                self.fresh.clear();
                self.fresh.extend(ranks.iter().map(|rank| links.node_of(*rank)));
                self.compare(ground, query);
                let nodes = self.fresh.iter().zip(&self.similarities).map(|(node, score)| Near::new(*node, *score));
                match nodes.zip(ranks).min() {
                    Some((better, next)) if better < near => (rank, near) = (*next, better),
                    _ => break,
                }
            }
        }
        Some(near)
    }

    /// A new walk: no node has been seen.
    fn begin(&mut self, nodes: usize) {
        if self.walk == u8::MAX || self.seen.len() != nodes {
            self.seen.clear();
            self.seen.resize(nodes, 0);
            self.walk = 0;
        }
        self.walk += 1;
    }

    fn compare(&mut self, ground: Ground, query: &Query) {
        self.similarities.resize(self.fresh.len(), 0.0);
        let rows = match ground.nodes {
            Nodes::Single(_) => &self.fresh,
            Nodes::Shared { .. } => {
                self.rows.clear();
                self.rows.extend(self.fresh.iter().map(|node| ground.nodes.first(*node)));
                &self.rows
            }
        };
        ground.vectors.near(query, rows, &mut self.similarities);
    }

    /// Puts the fresh nodes where they belong among the best; the place of the first of them, or one beyond all.
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
    fn the_more_similar_node_comes_first_and_of_equals_the_lower_one() {
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
        let mut near: Vec<Near> = expected.iter().map(|(node, similarity)| Near::new(*node, *similarity)).collect();
        near.reverse();
        near.sort_unstable();
        assert_eq!(near.iter().map(|near| near.node()).collect::<Vec<_>>(), expected.map(|(node, _)| node));
        assert_eq!(Near::new((1 << 31) - 1, 1.0).node(), (1 << 31) - 1);
        let similarities: Vec<f32> = near[..7].iter().map(|near| near.similarity()).collect();
        assert_eq!(similarities, [f32::INFINITY, 1.5, 0.25, 0.0, 0.0, -0.25, -7.0]);
        assert!(near[7..].iter().all(|near| near.similarity() == f32::NEG_INFINITY));
    }
}
