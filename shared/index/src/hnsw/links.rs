//! The links of a graph, read in place from the file.
//!
//! ```text
//! graph.links    the lowest layer: for each node WIDTH nodes to which it is linked
//! graph.entries  the nodes of the upper layers, highest layer first: a node's position here is its rank
//! graph.upper    for each upper layer, lowest first: its number n of nodes, which have the ranks 0 to n - 1, and for each
//!                of them UPPER_WIDTH ranks
//! ```
//!
//! All numbers are u32. A node with fewer links fills the other places with its own number.

use bytes::Bytes;
use pel_kb::error::{Error, Result};
use pel_kb::numbers::Numbers;
use std::ops::Range;

/// The most links of a node in the lowest layer: two cache lines. With half as many, a search among
/// a million rows takes nearly twice as long for the same recall.
pub const WIDTH: usize = 32;

/// The most links of a node in an upper layer.
pub const UPPER_WIDTH: usize = 32;

/// The most nodes of a graph: a node's number has 31 bits in [`super::greedy_search::Near`].
pub const MOST_NODES: usize = 1 << 31;

/// The sections' names, in the order of [`Links::new`].
pub const SECTIONS: [&str; 3] = ["graph.links", "graph.entries", "graph.upper"];

/// The links of a graph.
#[derive(Debug)]
pub struct Links {
    nodes: usize,
    lowest: Numbers<u32>,
    entries: Numbers<u32>,
    upper: Numbers<u32>,
    /// The range of each upper layer in `upper`, lowest first.
    layers: Vec<Range<usize>>,
}

impl Links {
    /// Reads a graph over `nodes` nodes.
    ///
    /// # Errors
    /// If a section has another size, or a link leads to no node.
    pub fn new(sections: [Bytes; 3], nodes: usize) -> Result<Self> {
        let [lowest, entries, upper] = sections.map(numbers);
        let (lowest, entries, upper) = (lowest?, entries?, upper?);
        if nodes > MOST_NODES || Some(lowest.get().len()) != nodes.checked_mul(WIDTH) {
            let (links, most) = (lowest.get().len(), MOST_NODES);
            return Err(wrong(&format!(
                "expected {WIDTH} links for each of {nodes} nodes (at most {most}), found {links} \
                 in all"
            )));
        }
        if entries.get().is_empty() != (nodes == 0) {
            return Err(wrong(&format!(
                "expected entries of upper layers if and only if there are nodes, found {} for \
                 {nodes} nodes",
                entries.get().len()
            )));
        }
        check(lowest.get(), nodes)?;
        check(entries.get(), nodes)?;
        let (mut layers, mut at, mut most) = (Vec::new(), 0, entries.get().len());
        while let Some(count) = upper.get().get(at) {
            let count = *count as usize;
            if count == 0 || count > most {
                return Err(wrong(&format!(
                    "expected 1 to {most} nodes in an upper layer, found {count}"
                )));
            }
            let range = at + 1..(at + 1).saturating_add(count.saturating_mul(UPPER_WIDTH));
            check(
                upper.get().get(range.clone()).ok_or_else(|| {
                    wrong("expected the links of all nodes of an upper layer, found fewer")
                })?,
                count,
            )?;
            (most, at) = (count, range.end);
            layers.push(range);
        }
        Ok(Self {
            nodes,
            lowest,
            entries,
            upper,
            layers,
        })
    }

    /// The number of nodes.
    pub fn nodes(&self) -> usize {
        self.nodes
    }

    /// The rank from which every search starts.
    pub fn first(&self) -> Option<u32> {
        (self.nodes > 0).then_some(0)
    }

    /// The node of a rank.
    pub fn node_of(&self, rank: u32) -> u32 {
        self.entries.get()[rank as usize]
    }

    /// The nodes of the upper layers, by rank.
    pub fn entries(&self) -> &[u32] {
        self.entries.get()
    }

    /// The number of ranks in an upper layer.
    pub fn count_of_upper(&self, layer: usize) -> usize {
        self.layers[layer].len() / UPPER_WIDTH
    }

    /// The upper layers, highest first.
    pub fn upper(&self) -> impl Iterator<Item = usize> + use<> {
        (0..self.layers.len()).rev()
    }

    /// The ranks to which a rank is linked in an upper layer.
    pub fn of_upper(&self, layer: usize, rank: u32) -> &[u32] {
        let links = &self.upper.get()[self.layers[layer].clone()];
        until(rank, &links[rank as usize * UPPER_WIDTH..][..UPPER_WIDTH])
    }

    /// The nodes to which a node is linked in the lowest layer.
    pub fn of(&self, node: u32) -> &[u32] {
        until(node, &self.lowest.get()[node as usize * WIDTH..][..WIDTH])
    }

    /// Sets a link of a node in the lowest layer.
    pub fn link(&mut self, node: u32, place: usize, to: u32) {
        if let Numbers::Within(_) = self.lowest {
            self.lowest = Numbers::Copied(self.lowest.get().to_vec());
        }
        if let Numbers::Copied(links) = &mut self.lowest {
            links[node as usize * WIDTH..][..WIDTH][place] = to;
        }
    }

    /// The lowest layer, as it is written.
    pub fn lowest(&self) -> &[u32] {
        self.lowest.get()
    }

    /// Prefetches the links of a node into the cache.
    pub fn prefetch(&self, node: u32) {
        pel_kernels::prefetch(&self.lowest.get()[node as usize * WIDTH..][..WIDTH]);
    }
}

fn until(own: u32, links: &[u32]) -> &[u32] {
    &links[..links
        .iter()
        .position(|link| *link == own)
        .unwrap_or(links.len())]
}

fn numbers(bytes: Bytes) -> Result<Numbers<u32>> {
    if bytes.len().is_multiple_of(4) {
        Ok(Numbers::new(bytes))
    } else {
        Err(wrong(
            "expected sections of whole 4-byte numbers, found a part of one",
        ))
    }
}

/// Checks that every link leads to one of the first `count`.
fn check(links: &[u32], count: usize) -> Result<()> {
    match links.iter().copied().max() {
        Some(most) if most as usize >= count => Err(wrong(&format!(
            "a link leads to {most}, expected less than {count}"
        ))),
        _ => Ok(()),
    }
}

fn wrong(what: &str) -> Error {
    Error::artifact(format!("the HNSW graph: {what}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn bytes(numbers: &[u32]) -> Bytes {
        Bytes::copy_from_slice(bytemuck::cast_slice(numbers))
    }

    fn padded<const N: usize>(own: u32, links: &[u32]) -> [u32; N] {
        std::array::from_fn(|at| links.get(at).copied().unwrap_or(own))
    }

    /// Three rows in a line, 1 - 0 - 2; the upper layer has the rows 2 and 0, the topmost row 2.
    fn line() -> [Vec<u32>; 3] {
        let lowest = [
            padded::<WIDTH>(0, &[1, 2]),
            padded(1, &[0]),
            padded(2, &[0]),
        ]
        .concat();
        let upper = [
            vec![2],
            padded::<UPPER_WIDTH>(0, &[1]).to_vec(),
            padded::<UPPER_WIDTH>(1, &[0]).to_vec(),
        ];
        let topmost = [vec![1], padded::<UPPER_WIDTH>(0, &[]).to_vec()];
        [
            lowest,
            vec![2, 0],
            [upper.concat(), topmost.concat()].concat(),
        ]
    }

    #[test]
    fn links_end_at_the_first_filler() {
        let links = Links::new(line().map(|numbers| bytes(&numbers)), 3).expect("a graph");
        assert_eq!(
            [links.of(0), links.of(1), links.of(2)],
            [&[1, 2][..], &[0], &[0]]
        );
        assert_eq!(links.upper().collect::<Vec<_>>(), [1, 0]);
        assert_eq!(
            (links.of_upper(0, 0), links.of_upper(0, 1)),
            (&[1][..], &[0][..])
        );
        assert!(links.of_upper(1, 0).is_empty());
        assert_eq!((links.node_of(0), links.node_of(1)), (2, 0));
    }

    #[test]
    fn empty_sections_are_a_graph_without_nodes() {
        assert_eq!(
            Links::new([Bytes::new(), Bytes::new(), Bytes::new()], 0)
                .expect("empty")
                .first(),
            None
        );
        assert!(Links::new([Bytes::new(), Bytes::new(), Bytes::new()], 1).is_err());
    }

    #[test]
    fn truncated_sections_are_refused() {
        for section in 0..3 {
            let whole = line().map(|numbers| bytes(&numbers));
            for length in 0..whole[section].len() {
                // The topmost layer may be missing, and so may all.
                if section == 2 && [0, 4 + 8 * UPPER_WIDTH].contains(&length) {
                    continue;
                }
                let mut cut = whole.clone();
                cut[section] = whole[section].slice(..length);
                let refused = Links::new(cut, 3).is_err();
                assert!(refused, "section {section}, {length} bytes");
            }
        }
    }

    proptest! {
        #[test]
        fn links_to_missing_nodes_are_refused(
            section in 0usize..3,
            at in any::<prop::sample::Index>(),
            wrong in 3u32..,
        ) {
            let mut graph = line();
            let at = at.index(graph[section].len());
            graph[section][at] = wrong;
            prop_assert!(Links::new(graph.map(|numbers| bytes(&numbers)), 3).is_err());
        }
    }
}
