//! One walk through a graph, and what is remembered between walks.

use super::links::Links;
use crate::index::vectors::{Query, Vectors};

/// A row with its similarity, as one number: the more similar row is the smaller number, and of equally similar rows the
/// one that comes first in the index. The lowest bit says whether the row's links have been followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Near(u64);

impl Near {
    /// `row` is below [`super::links::MOST_ROWS`].
    fn new(row: u32, similarity: f32) -> Self {
        // What is no number is as far as can be. The bits of a float rise with it, those of one below zero fall.
        let bits = if similarity.is_nan() { f32::NEG_INFINITY } else { similarity + 0.0 }.to_bits();
        let falling = if bits >> 31 == 0 { !(bits | 1 << 31) } else { bits };
        Self(u64::from(falling) << 32 | u64::from(row) << 1)
    }

    /// The row.
    pub fn row(self) -> u32 {
        self.0 as u32 >> 1
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
    /// Its rows.
    pub vectors: &'a Vectors,
    /// Values of a row.
    pub dim: usize,
}

/// What walks remember; kept between them, so that they allocate nothing.
#[derive(Default)]
pub struct Walk {
    /// For each row the number of the last walk that saw it.
    seen: Vec<u8>,
    walk: u8,
    /// The best rows so far, best first.
    best: Vec<Near>,
    /// Rows that are to be compared with the query.
    fresh: Vec<u32>,
    similarities: Vec<f32>,
}

impl Walk {
    /// The `ef` rows nearest to the query among those that are met, best first.
    pub fn nearest(&mut self, ground: Ground, query: &Query, ef: usize) -> &[Near] {
        self.best.clear();
        let Some(start) = self.start(ground, query).filter(|_| ef > 0) else { return &self.best };
        self.begin(ground.links.rows());
        self.seen[start.row() as usize] = self.walk;
        self.best.push(start);
        let mut at = 0;
        while let Some(node) = self.best.get_mut(at) {
            let row = node.row();
            node.0 |= 1;
            self.fresh.clear();
            for link in ground.links.of(row) {
                let seen = &mut self.seen[*link as usize];
                if *seen != self.walk {
                    *seen = self.walk;
                    ground.vectors.prefetch(*link, ground.dim);
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
                ground.links.prefetch(next.row());
            }
        }
        &self.best
    }

    /// Goes down the upper layers, in each from node to nearer node as long as there is one.
    fn start(&mut self, ground: Ground, query: &Query) -> Option<Near> {
        let links = ground.links;
        let mut rank = links.first()?;
        self.fresh.clear();
        self.fresh.push(links.row_of(rank));
        self.compare(ground, query);
        let mut near = Near::new(self.fresh[0], self.similarities[0]);
        for layer in links.upper() {
            loop {
                let ranks = links.of_upper(layer, rank);
                self.fresh.clear();
                self.fresh.extend(ranks.iter().map(|rank| links.row_of(*rank)));
                self.compare(ground, query);
                let nodes = self.fresh.iter().zip(&self.similarities).map(|(row, score)| Near::new(*row, *score));
                match nodes.zip(ranks).min() {
                    Some((better, next)) if better < near => (rank, near) = (*next, better),
                    _ => break,
                }
            }
        }
        Some(near)
    }

    /// A new walk: no row has been seen.
    fn begin(&mut self, rows: usize) {
        if self.walk == u8::MAX || self.seen.len() != rows {
            self.seen.clear();
            self.seen.resize(rows, 0);
            self.walk = 0;
        }
        self.walk += 1;
    }

    fn compare(&mut self, ground: Ground, query: &Query) {
        self.similarities.resize(self.fresh.len(), 0.0);
        ground.vectors.near(query, &self.fresh, &mut self.similarities);
    }

    /// Puts the fresh rows where they belong among the best; the place of the first of them, or one beyond all.
    fn add(&mut self, ef: usize) -> usize {
        let mut first = usize::MAX;
        for (row, similarity) in self.fresh.iter().zip(&self.similarities) {
            let near = Near::new(*row, *similarity);
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
    fn the_more_similar_row_comes_first_and_of_equals_the_lower_one() {
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
        let mut near: Vec<Near> = expected.iter().map(|(row, similarity)| Near::new(*row, *similarity)).collect();
        near.reverse();
        near.sort_unstable();
        assert_eq!(near.iter().map(|near| near.row()).collect::<Vec<_>>(), expected.map(|(row, _)| row));
        assert_eq!(Near::new((1 << 31) - 1, 1.0).row(), (1 << 31) - 1);
    }
}
