//! Builds a graph: equal rows become one node, `instant-distance` inserts the nodes, then the links
//! are completed.
//!
//! The crate selects a node's neighbours again whenever one is added, not only when there are too
//! many. Most nodes have 8 or 9 links, and many links have no counterpart in the other direction.
//! Here each link gets its counterpart as far as there are places.

use super::HnswOptions;
use super::built_graph::{BuiltGraph, NONE};
use super::greedy_search::{SearchGraph, SearchPool};
use super::links::{Links, MOST_NODES, UPPER_WIDTH, WIDTH};
use super::nodes::Nodes;
use super::repair::repaired;
use crate::Sections;
use crate::vectors::{PairwiseSimilarity, Vectors};
use bytes::Bytes;
use instant_distance::{Builder, Heuristic, Point};
use pel_kb::error::{Error, Result};
use serde::Serialize;

/// The nodes whose neighbours a thread selects at a time.
const CHUNK: usize = 256;

/// How often the neighbours of all nodes are selected again. The second time searches find more of
/// them: among 300,000 means and names the same recall needs half as many candidates.
const REFINEMENTS: usize = 2;

/// The metric space of the nodes of a graph under construction.
pub(super) struct Space<'a> {
    pairs: PairwiseSimilarity<'a>,
    nodes: &'a Nodes,
    /// The extra coordinate of each node.
    extra: Vec<f32>,
    /// The squared norm of every node, extra coordinate included.
    length: f32,
}

/// A node of a graph under construction.
#[derive(Clone, Serialize)]
struct Inserted<'a> {
    node: u32,
    #[serde(skip)]
    space: &'a Space<'a>,
}

impl Point for Inserted<'_> {
    fn distance(&self, other: &Self) -> f32 {
        let distance = 2.0 * (self.space.length - self.space.similarity(self.node, other.node));
        // NaN would break the order of the search.
        if distance.is_nan() {
            f32::MAX
        } else {
            distance
        }
    }
}

impl<'a> Space<'a> {
    pub(super) fn new(pairs: PairwiseSimilarity<'a>, nodes: &'a Nodes) -> Self {
        let square = |node: u32| {
            let row = nodes.first(node) as usize;
            pairs.of(row, row)
        };
        let squares: Vec<f32> = (0..nodes.len() as u32).map(square).collect();
        let length = squares
            .iter()
            .copied()
            .filter(|square| square.is_finite())
            .fold(0.0f32, f32::max);
        let extra = squares
            .iter()
            .map(|square| (length - square).max(0.0).sqrt())
            .collect();
        Self {
            pairs,
            nodes,
            extra,
            length,
        }
    }

    /// The dot product, extra coordinates included. It is `length` for a node with itself, and less
    /// for two different nodes.
    fn similarity(&self, a: u32, b: u32) -> f32 {
        let row = |node: u32| self.nodes.first(node) as usize;
        self.pairs.of(row(a), row(b)) + self.extra[a as usize] * self.extra[b as usize]
    }
}

/// The sections of a graph over `rows` vectors, by name: those of [`super::SECTIONS`], and of
/// [`super::SHARED_SECTIONS`] if rows are equal.
///
/// # Errors
/// If there are more than [`MOST_NODES`] nodes, or `instant-distance` serialises its graph in
/// another form.
pub fn sections(
    vectors: &Vectors,
    dim: usize,
    rows: usize,
    options: HnswOptions,
) -> Result<Vec<(&'static str, Vec<u8>)>> {
    let nodes = Nodes::of(vectors, dim, rows);
    let count = nodes.len();
    if count > MOST_NODES {
        return Err(Error::artifact(format!(
            "the HNSW graph: expected at most {MOST_NODES} different vectors, found {count}"
        )));
    }
    let space = Space::new(PairwiseSimilarity::new(vectors, dim), &nodes);
    let graph = inserted(&space, options)?;
    let entries = &graph.points[..graph.layers.first().map_or(count.min(1), Vec::len)];
    let mut upper = Vec::new();
    for layer in &graph.layers {
        upper.push(layer.len() as u32);
        for (rank, links) in layer.iter().enumerate() {
            upper.extend(filled::<UPPER_WIDTH>(rank as u32, links));
        }
    }
    let entries: Vec<u8> = bytemuck::cast_slice(entries).to_vec();
    let upper: Vec<u8> = bytemuck::cast_slice(&upper).to_vec();
    let read = |links: &[[u32; WIDTH]]| {
        let sections = [
            bytemuck::cast_slice(links).to_vec(),
            entries.clone(),
            upper.clone(),
        ];
        Links::new(sections.map(Bytes::from), count)
    };
    let mut links = read(&completed(&space, lists(&graph)))?;
    for _ in 0..REFINEMENTS {
        let search_graph = SearchGraph {
            links: &links,
            nodes: &nodes,
            vectors,
            dim,
        };
        let lists = refined(&space, search_graph, options.ef_construction);
        links = read(&completed(&space, lists))?;
    }
    repaired(&mut links, &nodes, vectors, dim, options.ef_search);
    Ok(named_sections(&links, entries, upper, &nodes))
}

/// The sections of a graph by name: those of [`super::SECTIONS`], and of
/// [`super::SHARED_SECTIONS`] if rows are equal. `links` gives the lowest layer only.
pub(super) fn named_sections(
    links: &Links,
    entries: Vec<u8>,
    upper: Vec<u8>,
    nodes: &Nodes,
) -> Sections {
    let lowest = bytemuck::cast_slice(links.lowest()).to_vec();
    let mut sections: Sections = super::SECTIONS
        .into_iter()
        .zip([lowest, entries, upper])
        .collect();
    sections.extend(
        nodes
            .sections()
            .into_iter()
            .flat_map(|bodies| super::SHARED_SECTIONS.into_iter().zip(bodies)),
    );
    sections
}

/// The neighbours of each node, selected among the nodes that a search of the whole graph finds
/// near it. The crate selected them while the graph was still small.
fn refined(space: &Space, graph: SearchGraph, ef: usize) -> Vec<Vec<u32>> {
    let nodes: Vec<u32> = (0..space.nodes.len() as u32).collect();
    neighbours(space, graph, &nodes, ef, CHUNK)
}

/// The neighbours of some nodes, selected among those that a search finds near them and those to
/// which they are linked. A thread searches for `chunk` nodes at a time.
pub(super) fn neighbours(
    space: &Space,
    graph: SearchGraph,
    nodes: &[u32],
    ef: usize,
    chunk: usize,
) -> Vec<Vec<u32>> {
    let pool = SearchPool::default();
    let chunks = pel_kernels::for_each_chunk(nodes, chunk, |_, nodes| {
        pool.with(|search| {
            let select = |node: &u32| {
                let mut near: Vec<u32> = search
                    .near_node(graph, *node, ef)
                    .iter()
                    .map(|near| near.node())
                    .collect();
                near.extend_from_slice(graph.links.of(*node));
                near.sort_unstable();
                near.dedup();
                near.retain(|other| other != node);
                selected(space, *node, &near)
            };
            nodes.iter().map(select).collect::<Vec<_>>()
        })
    });
    chunks.into_iter().flatten().collect()
}

/// Inserts every node, on one thread: several threads would give different graphs for one seed.
fn inserted(space: &Space, options: HnswOptions) -> Result<BuiltGraph> {
    let nodes = (0..space.nodes.len() as u32)
        .map(|node| Inserted { node, space })
        .collect();
    // Pruned links would fill every node up to 64 links, and the build would take 5 times as long.
    // The crate's own level factor of 1 / ln M would give many layers, each of which costs time.
    let builder = Builder::default()
        .ef_construction(options.ef_construction)
        .select_heuristic(Some(Heuristic {
            extend_candidates: false,
            keep_pruned: false,
        }))
        .ml(1.0 / 32.0)
        .seed(options.seed);
    BuiltGraph::of(&pel_kernels::on_one_thread(|| builder.build_hnsw(nodes).0))
}

/// The links of each node in the crate's graph.
fn lists(graph: &BuiltGraph) -> Vec<Vec<u32>> {
    let mut lists = vec![Vec::new(); graph.points.len()];
    for (node, links) in graph.points.iter().zip(&graph.zero) {
        let links = links.0.iter().take_while(|link| **link != NONE);
        lists[*node as usize] = links.map(|link| graph.points[*link as usize]).collect();
    }
    lists
}

/// Adds the counterpart of each link, then selects each node's neighbours among its links.
fn completed(space: &Space, mut lists: Vec<Vec<u32>>) -> Vec<[u32; WIDTH]> {
    let own: Vec<usize> = lists.iter().map(Vec::len).collect();
    for (node, own_links) in own.iter().enumerate() {
        for at in 0..*own_links {
            let other = lists[node][at] as usize;
            if !lists[other][..own[other]].contains(&(node as u32)) {
                lists[other].push(node as u32);
            }
        }
    }
    let chunks = pel_kernels::for_each_chunk(&lists, CHUNK, |chunk, lists| {
        let nodes = lists
            .iter()
            .enumerate()
            .map(|(at, list)| ((chunk * CHUNK + at) as u32, list));
        nodes
            .map(|(node, list)| filled(node, &selected(space, node, list)))
            .collect::<Vec<_>>()
    });
    chunks.into_iter().flatten().collect()
}

/// Selects at most [`WIDTH`] neighbours of a node by the heuristic of algorithm 4 (Malkov and
/// Yashunin, 2016): nearest first, without those that are nearer to a selected one than to the
/// node. The nearest of the others fill the places that remain. Of several nodes at the same place
/// one is selected, so that links lead away from it. Ties are in the order of node numbers from the
/// node's own on, so that tied nodes link to different ones.
pub(super) fn selected(space: &Space, node: u32, list: &[u32]) -> Vec<u32> {
    let count = space.nodes.len() as u32;
    let from_here = |other: u32| {
        if other > node {
            other - node
        } else {
            count - node + other
        }
    };
    let mut near: Vec<(f32, u32)> = list
        .iter()
        .map(|other| (space.similarity(node, *other), *other))
        .collect();
    near.sort_unstable_by(|a, b| {
        b.0.total_cmp(&a.0)
            .then(from_here(a.1).cmp(&from_here(b.1)))
    });
    let (mut links, mut others) = (Vec::with_capacity(WIDTH), Vec::new());
    for (similarity, other) in near {
        let beside = |link: &u32| {
            let between = space.similarity(*link, other);
            between > similarity || between >= space.length
        };
        if links.len() == WIDTH {
            break;
        }
        if links.iter().any(beside) {
            others.push(other)
        } else {
            links.push(other)
        }
    }
    let free = WIDTH - links.len();
    links.extend(others.into_iter().take(free));
    links
}

/// The links before the crate's mark of no link, filled up with `own`.
pub(super) fn filled<const N: usize>(own: u32, links: &[u32]) -> [u32; N] {
    let mut filled = [own; N];
    filled
        .iter_mut()
        .zip(links)
        .take_while(|(_, link)| **link != NONE)
        .for_each(|(place, link)| *place = *link);
    filled
}

#[cfg(test)]
mod tests {
    use super::*;
    use pel_kb::numbers::Numbers;

    #[test]
    fn neighbours_are_selected_by_the_heuristic() {
        // Positions on a line that is bent to a circle: node 0 at 0, nodes 1 and 2 at 1, node 3 at
        // 2, node 4 at -3.
        let points: Vec<f32> = [0.0f32, 1.0, 1.0, 2.0, -3.0]
            .iter()
            .flat_map(|x| [(x / 9.0).sin(), (x / 9.0).cos()])
            .collect();
        let vectors = Vectors::F32 {
            values: Numbers::Copied(points),
        };
        let nodes = Nodes::Single(5);
        let space = Space::new(PairwiseSimilarity::new(&vectors, 2), &nodes);
        // 2 is at the place of 1, and 3 is nearer to 1 than to 0. Both come after 4, nearest first.
        assert_eq!(selected(&space, 0, &[4, 3, 2, 1]), [1, 4, 2, 3]);
        // From 2 on the numbers are 3, 4, 0, 1.
        assert_eq!(selected(&space, 2, &[0, 1, 3])[0], 1);
        assert_eq!(
            completed(&space, vec![vec![1], vec![], vec![1], vec![1], vec![0]])[1][..4],
            [2, 3, 0, 1]
        );
    }

    #[test]
    fn neighbours_are_selected_again_in_the_whole_graph() {
        // 41 places on a circle, each linked to the seventh before and after it.
        let places = 41u32;
        let points: Vec<f32> = (0..places)
            .map(|row| row as f32 * std::f32::consts::TAU / places as f32)
            .flat_map(|angle| [angle.sin(), angle.cos()])
            .collect();
        let vectors = Vectors::F32 {
            values: Numbers::Copied(points),
        };
        let nodes = Nodes::Single(places as usize);
        let space = Space::new(PairwiseSimilarity::new(&vectors, 2), &nodes);
        let far: Vec<[u32; WIDTH]> = (0..places)
            .map(|row| filled(row, &[(row + 7) % places, (row + places - 7) % places]))
            .collect();
        let sections = [
            bytemuck::cast_slice(&far),
            bytemuck::cast_slice(&[0u32]),
            &[],
        ]
        .map(Bytes::copy_from_slice);
        let links = Links::new(sections, places as usize).expect("a graph");
        let lists = refined(
            &space,
            SearchGraph {
                links: &links,
                nodes: &nodes,
                vectors: &vectors,
                dim: 2,
            },
            places as usize,
        );
        for (row, list) in (0..places).zip(&lists) {
            let mut nearest = list[..2].to_vec();
            nearest.sort_unstable();
            let mut beside = [(row + 1) % places, (row + places - 1) % places];
            beside.sort_unstable();
            assert_eq!(nearest, beside, "row {row}");
        }
    }
}
