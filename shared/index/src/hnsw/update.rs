//! Brings a graph to an index from which rows were removed and to which rows were added.
//!
//! Rows with equal stored values are one node in both indexes, so a node keeps its links. A node
//! that loses neighbours gets the neighbours of these to choose from. A new node is linked to the
//! nodes that a search finds near it, and these to it, as in the construction. Nodes enter no upper
//! layer: these only give the place where a search starts. The result differs from a graph that is
//! rebuilt, so the caller measures its recall.

use super::build::{Space, filled, named_sections, neighbours, selected};
use super::greedy_search::SearchGraph;
use super::links::{Links, UPPER_WIDTH, WIDTH};
use super::nodes::Nodes;
use super::repair::repaired_among;
use super::{Graph, HnswOptions};
use crate::vectors::{PairwiseSimilarity, Vectors};
use crate::{RowSource, Sections};
use bytes::Bytes;
use pel_kb::error::Result;
use std::collections::{BTreeMap, BTreeSet};

/// The largest share of a graph's nodes that may be new or removed. Beyond it the graph has to be
/// rebuilt: its upper layers have no new nodes.
pub const MOST_CHANGED: f64 = 0.1;

/// The mark of no node.
const NONE: u32 = u32::MAX;

/// The nodes that a thread searches for at a time.
const CHUNK: usize = 64;

/// The nodes of two graphs over indexes with common rows.
struct Matched {
    /// For each new node its old one, or [`NONE`].
    to_old: Vec<u32>,
    /// For each old node its new one, or [`NONE`].
    to_new: Vec<u32>,
}

impl Matched {
    fn of(old: &Nodes, new: &Nodes, old_rows: usize, sources: &[RowSource]) -> Self {
        let mut node_of = vec![NONE; old_rows];
        for node in 0..old.len() as u32 {
            for row in old.rows(node) {
                node_of[row as usize] = node;
            }
        }
        let mut matched = Self {
            to_old: vec![NONE; new.len()],
            to_new: vec![NONE; old.len()],
        };
        for node in 0..new.len() as u32 {
            let old_row = new.rows(node).find_map(|row| match sources[row as usize] {
                RowSource::Old(row) => Some(row),
                RowSource::New(_) => None,
            });
            if let Some(old) = old_row.map(|row| node_of[row]) {
                matched.to_old[node as usize] = old;
                matched.to_new[old as usize] = node;
            }
        }
        matched
    }

    /// The number of nodes that one of the graphs lacks.
    fn changed(&self) -> usize {
        let lacks = |nodes: &[u32]| nodes.iter().filter(|node| **node == NONE).count();
        lacks(&self.to_old) + lacks(&self.to_new)
    }

    fn new_of(&self, old: u32) -> Option<u32> {
        Some(self.to_new[old as usize]).filter(|new| *new != NONE)
    }
}

/// The sections of an updated graph, as [`super::sections`]; `None` if so many nodes change that it
/// has to be rebuilt ([`MOST_CHANGED`]).
///
/// # Shapes
/// vectors `[rows, dim]`, sources `[rows]`
///
/// # Errors
/// If the links are inconsistent.
pub fn updated_sections(
    old: &Graph,
    old_rows: usize,
    vectors: &Vectors,
    dim: usize,
    sources: &[RowSource],
    options: HnswOptions,
) -> Result<Option<Sections>> {
    let nodes = Nodes::of(vectors, dim, sources.len());
    let matched = Matched::of(&old.nodes, &nodes, old_rows, sources);
    if matched.changed() as f64 > MOST_CHANGED * nodes.len() as f64 {
        return Ok(None);
    }
    let space = Space::new(PairwiseSimilarity::new(vectors, dim), &nodes);
    let (lowest, mut changed) = kept_links(old, &matched, &space);
    let [entries, upper] = kept_layers(&old.links, &matched);
    let sections = [lowest, entries, upper].map(|numbers| bytemuck::cast_slice(&numbers).to_vec());
    let [_, entries, upper] = sections.clone();
    let mut links = Links::new(sections.map(Bytes::from), nodes.len())?;
    let fresh: Vec<u32> = (0..nodes.len() as u32)
        .filter(|node| matched.to_old[*node as usize] == NONE)
        .collect();
    // The second time a search finds the new nodes too.
    for _ in 0..2 {
        let graph = SearchGraph {
            links: &links,
            nodes: &nodes,
            vectors,
            dim,
        };
        let found = neighbours(&space, graph, &fresh, options.ef_construction, CHUNK);
        insert(&space, &mut links, &fresh, &found, &mut changed);
    }
    changed.extend(&fresh);
    let changed: Vec<u32> = changed.into_iter().collect();
    repaired_among(
        &changed,
        &mut links,
        &nodes,
        vectors,
        dim,
        options.ef_search,
    );
    Ok(Some(named_sections(&links, entries, upper, &nodes)))
}

/// The links of the lowest layer among the nodes that stay, and the nodes that lost neighbours.
fn kept_links(old: &Graph, matched: &Matched, space: &Space<'_>) -> (Vec<u32>, BTreeSet<u32>) {
    let mut lowest = Vec::with_capacity(matched.to_old.len() * WIDTH);
    let mut damaged = BTreeSet::new();
    for (node, before) in (0u32..).zip(&matched.to_old) {
        if *before == NONE {
            lowest.extend([node; WIDTH]);
            continue;
        }
        let links = old.links.of(*before);
        let mut kept: Vec<u32> = links
            .iter()
            .filter_map(|link| matched.new_of(*link))
            .collect();
        if kept.len() < links.len() {
            damaged.insert(node);
            let gone = links.iter().filter(|link| matched.new_of(**link).is_none());
            kept.extend(
                gone.flat_map(|link| old.links.of(*link))
                    .filter_map(|link| matched.new_of(*link)),
            );
            kept.sort_unstable();
            kept.dedup();
            kept.retain(|other| *other != node);
            kept = selected(space, node, &kept);
        }
        lowest.extend(filled::<WIDTH>(node, &kept));
    }
    (lowest, damaged)
}

/// The entries and upper layers among the nodes that stay. Without any, the first node is the only
/// entry.
fn kept_layers(old: &Links, matched: &Matched) -> [Vec<u32>; 2] {
    let (mut entries, mut ranks) = (Vec::new(), Vec::new());
    for node in old.entries() {
        let new = matched.new_of(*node);
        ranks.push(new.map_or(NONE, |_| entries.len() as u32));
        entries.extend(new);
    }
    if entries.is_empty() {
        return [vec![0], Vec::new()];
    }
    let mut upper = Vec::new();
    for layer in 0..old.upper().count() {
        let count = old.count_of_upper(layer);
        let stays = |rank: &u32| ranks[*rank as usize] != NONE;
        let kept: Vec<u32> = (0..count as u32).filter(stays).collect();
        if kept.is_empty() {
            break;
        }
        upper.push(kept.len() as u32);
        for rank in kept {
            let links = old.of_upper(layer, rank);
            let of_gone = links
                .iter()
                .filter(|link| !stays(link))
                .flat_map(|link| old.of_upper(layer, *link));
            let mut own: Vec<u32> = Vec::with_capacity(UPPER_WIDTH);
            for link in links.iter().chain(of_gone).filter(|link| stays(link)) {
                if *link != rank && own.len() < UPPER_WIDTH {
                    let link = ranks[*link as usize];
                    if !own.contains(&link) {
                        own.push(link);
                    }
                }
            }
            upper.extend(filled::<UPPER_WIDTH>(ranks[rank as usize], &own));
        }
    }
    [entries, upper]
}

/// Links nodes to their neighbours and these to them. `changed` gets every node that a link of
/// another node no longer leads to.
fn insert(
    space: &Space<'_>,
    links: &mut Links,
    nodes: &[u32],
    neighbours: &[Vec<u32>],
    changed: &mut BTreeSet<u32>,
) {
    let mut from: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for (node, list) in nodes.iter().zip(neighbours) {
        set(links, *node, list);
        for other in list {
            from.entry(*other).or_default().push(*node);
        }
    }
    let from: Vec<(u32, Vec<u32>)> = from.into_iter().collect();
    let read: &Links = links;
    let lists = pel_kernels::for_each_chunk(&from, CHUNK, |_, from| {
        let of = |(node, new): &(u32, Vec<u32>)| {
            let before = read.of(*node);
            let mut all: Vec<u32> = before.iter().chain(new).copied().collect();
            all.sort_unstable();
            all.dedup();
            if all.len() == before.len() {
                return None;
            }
            Some(selected(space, *node, &all))
        };
        from.iter().map(of).collect::<Vec<_>>()
    });
    for ((node, _), list) in from.iter().zip(lists.into_iter().flatten()) {
        let Some(list) = list else { continue };
        let dropped = links.of(*node).iter().filter(|link| !list.contains(link));
        changed.extend(dropped);
        set(links, *node, &list);
    }
}

/// Replaces the links of a node.
fn set(links: &mut Links, node: u32, list: &[u32]) {
    for (place, to) in filled::<WIDTH>(node, list).into_iter().enumerate() {
        links.link(node, place, to);
    }
}
