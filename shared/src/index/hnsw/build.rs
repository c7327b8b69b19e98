//! Building a graph: equal rows become one node, `instant-distance` inserts the nodes, then their links are completed.
//!
//! The crate chooses a node's links anew whenever one is added, not only when there are too many: most nodes keep eight or
//! nine, and many a node that names another is not named by it. Here each link gets its counterpart as long as there is room.

use super::HnswOptions;
use super::links::{Links, MOST_NODES, UPPER_WIDTH, WIDTH};
use super::mirror::{Mirror, NONE};
use super::nodes::Nodes;
use super::repair::repaired;
use super::walk::{Ground, Walk};
use crate::error::{Error, Result};
use crate::index::vectors::{Rows, Vectors};
use crate::kernels;
use bytes::Bytes;
use instant_distance::{Builder, Heuristic, Point};
use serde::Serialize;
use std::sync::Mutex;

/// Nodes whose links are chosen at a time.
const CHUNK: usize = 256;

/// What the nodes of a graph under construction share.
struct Space<'a> {
    rows: Rows<'a>,
    nodes: &'a Nodes,
    /// For each node the extra coordinate.
    extra: Vec<f32>,
    /// For each node its squared length, extra coordinate included.
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
        if distance.is_nan() { f32::MAX } else { distance }
    }
}

impl<'a> Space<'a> {
    fn new(rows: Rows<'a>, nodes: &'a Nodes) -> Self {
        let square = |node: u32| {
            let row = nodes.first(node) as usize;
            rows.pair(row, row)
        };
        let squares: Vec<f32> = (0..nodes.len() as u32).map(square).collect();
        let length = squares.iter().copied().filter(|square| square.is_finite()).fold(0.0f32, f32::max);
        let extra = squares.iter().map(|square| (length - square).max(0.0).sqrt()).collect();
        Self { rows, nodes, extra, length }
    }

    /// The dot product, extra coordinates included: `length` of a node with itself, less with any other.
    fn similarity(&self, a: u32, b: u32) -> f32 {
        let row = |node: u32| self.nodes.first(node) as usize;
        self.rows.pair(row(a), row(b)) + self.extra[a as usize] * self.extra[b as usize]
    }
}

/// The sections of a graph over `rows` vectors, by name: those of [`super::SECTIONS`], and of [`super::SHARED_SECTIONS`] where rows
/// are equal.
///
/// # Errors
/// If there are too many rows, or `instant-distance` writes something else than was expected.
pub fn sections(
    vectors: &Vectors,
    dim: usize,
    rows: usize,
    options: HnswOptions,
) -> Result<Vec<(&'static str, Vec<u8>)>> {
    let nodes = Nodes::of(vectors, dim, rows);
    let count = nodes.len();
    if count > MOST_NODES {
        return Err(Error::artifact(format!("an HNSW graph has {MOST_NODES} nodes at most, not {count}")));
    }
    let space = Space::new(Rows::new(vectors, dim), &nodes);
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
        let sections = [bytemuck::cast_slice(links).to_vec(), entries.clone(), upper.clone()];
        Links::new(sections.map(Bytes::from), count)
    };
    let links = read(&completed(&space, lists(&graph)))?;
    let ground = Ground { links: &links, nodes: &nodes, vectors, dim };
    let mut links = read(&completed(&space, refined(&space, ground, options.ef_construction)))?;
    repaired(&mut links, &nodes, vectors, dim, options.ef_search);
    let lowest = bytemuck::cast_slice(links.lowest()).to_vec();
    let mut sections: Vec<_> = super::SECTIONS.into_iter().zip([lowest, entries, upper]).collect();
    sections.extend(nodes.sections().into_iter().flat_map(|bodies| super::SHARED_SECTIONS.into_iter().zip(bodies)));
    Ok(sections)
}

/// For each node the links that are chosen among the nodes which a walk through the graph finds near it: the crate chose while
/// the graph was still small.
fn refined(space: &Space, ground: Ground, ef: usize) -> Vec<Vec<u32>> {
    let idle: Mutex<Vec<Walk>> = Mutex::default();
    let nodes: Vec<u32> = (0..space.nodes.len() as u32).collect();
    let chunks = kernels::for_each_chunk(&nodes, CHUNK, |_, nodes| {
        let mut walk = idle.lock().ok().and_then(|mut idle| idle.pop()).unwrap_or_default();
        let refine = |node: &u32| {
            let mut near: Vec<u32> = walk.near_node(ground, *node, ef).iter().map(|near| near.node()).collect();
            near.extend_from_slice(ground.links.of(*node));
            near.sort_unstable();
            near.dedup();
            near.retain(|other| other != node);
            chosen(space, *node, &near)
        };
        let lists: Vec<Vec<u32>> = nodes.iter().map(refine).collect();
        if let Ok(mut idle) = idle.lock() {
            idle.push(walk);
        }
        lists
    });
    chunks.into_iter().flatten().collect()
}

/// Inserts every node, on one thread: with several, the same seed would not give the same graph.
fn inserted(space: &Space, options: HnswOptions) -> Result<Mirror> {
    let nodes = (0..space.nodes.len() as u32).map(|node| Inserted { node, space }).collect();
    // Links that were not chosen would fill every node up to 64, which takes five times as long to build. With the crate's
    // own share of 1 / ln M there would be many layers, each a detour.
    let builder = Builder::default()
        .ef_construction(options.ef_construction)
        .select_heuristic(Some(Heuristic { extend_candidates: false, keep_pruned: false }))
        .ml(1.0 / 32.0)
        .seed(options.seed);
    Mirror::of(&kernels::on_one_thread(|| builder.build_hnsw(nodes).0))
}

/// For each node the nodes to which the crate has linked it.
fn lists(graph: &Mirror) -> Vec<Vec<u32>> {
    let mut lists = vec![Vec::new(); graph.points.len()];
    for (node, links) in graph.points.iter().zip(&graph.zero) {
        let links = links.0.iter().take_while(|link| **link != NONE);
        lists[*node as usize] = links.map(|link| graph.points[*link as usize]).collect();
    }
    lists
}

/// Gives each link its counterpart and chooses each node's links among what it then has.
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
    let chunks = kernels::for_each_chunk(&lists, CHUNK, |chunk, lists| {
        let nodes = lists.iter().enumerate().map(|(at, list)| ((chunk * CHUNK + at) as u32, list));
        nodes.map(|(node, list)| filled(node, &chosen(space, node, list))).collect::<Vec<_>>()
    });
    chunks.into_iter().flatten().collect()
}

/// The links of a node, [`WIDTH`] at most: nearest first, but none that is nearer to one of them than to the node; where there
/// are fewer, the nearest of the others. Of nodes that stand in one place one is taken, so that the links lead out of it.
/// Equally near are those in order of their numbers from the node's on, so that such nodes link to different ones.
fn chosen(space: &Space, node: u32, list: &[u32]) -> Vec<u32> {
    let count = space.nodes.len() as u32;
    let from_here = |other: u32| if other > node { other - node } else { count - node + other };
    let mut near: Vec<(f32, u32)> = list.iter().map(|other| (space.similarity(node, *other), *other)).collect();
    near.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(from_here(a.1).cmp(&from_here(b.1))));
    let (mut links, mut others) = (Vec::with_capacity(WIDTH), Vec::new());
    for (similarity, other) in near {
        let beside = |link: &u32| {
            let between = space.similarity(*link, other);
            between > similarity || between >= space.length
        };
        if links.len() == WIDTH {
            break;
        }
        if links.iter().any(beside) { others.push(other) } else { links.push(other) }
    }
    let room = WIDTH - links.len();
    links.extend(others.into_iter().take(room));
    links
}

/// Links up to the crate's mark of none, the places that are left filled with `own`.
fn filled<const N: usize>(own: u32, links: &[u32]) -> [u32; N] {
    let mut filled = [own; N];
    filled.iter_mut().zip(links).take_while(|(_, link)| **link != NONE).for_each(|(place, link)| *place = *link);
    filled
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numbers::Numbers;

    #[test]
    fn links_are_chosen_by_hand() {
        // Node 0 stands at 0, nodes 1 and 2 at 1, node 3 at 2, node 4 at -3, on a line that is bent to a circle.
        let points: Vec<f32> =
            [0.0f32, 1.0, 1.0, 2.0, -3.0].iter().flat_map(|x| [(x / 9.0).sin(), (x / 9.0).cos()]).collect();
        let vectors = Vectors::F32 { values: Numbers::Copied(points) };
        let nodes = Nodes::Single(5);
        let space = Space::new(Rows::new(&vectors, 2), &nodes);
        // 2 stands where 1 stands, and 3 is nearer to 1 than to 0: they come after 4, nearest first.
        assert_eq!(chosen(&space, 0, &[4, 3, 2, 1]), [1, 4, 2, 3]);
        // From 2 on the numbers are 3, 4, 0, 1.
        assert_eq!(chosen(&space, 2, &[0, 1, 3])[0], 1);
        assert_eq!(completed(&space, vec![vec![1], vec![], vec![1], vec![1], vec![0]])[1][..4], [2, 3, 0, 1]);
    }

    #[test]
    fn links_are_chosen_again_among_what_the_graph_finds() {
        // 41 places on a circle, each linked to the seventh before and after it.
        let places = 41u32;
        let points: Vec<f32> = (0..places)
            .map(|row| row as f32 * std::f32::consts::TAU / places as f32)
            .flat_map(|angle| [angle.sin(), angle.cos()])
            .collect();
        let vectors = Vectors::F32 { values: Numbers::Copied(points) };
        let nodes = Nodes::Single(places as usize);
        let space = Space::new(Rows::new(&vectors, 2), &nodes);
        let far: Vec<[u32; WIDTH]> =
            (0..places).map(|row| filled(row, &[(row + 7) % places, (row + places - 7) % places])).collect();
        let sections = [bytemuck::cast_slice(&far), bytemuck::cast_slice(&[0u32]), &[]].map(Bytes::copy_from_slice);
        let links = Links::new(sections, places as usize).expect("a graph");
        let lists =
            refined(&space, Ground { links: &links, nodes: &nodes, vectors: &vectors, dim: 2 }, places as usize);
        for (row, list) in (0..places).zip(&lists) {
            let mut nearest = list[..2].to_vec();
            nearest.sort_unstable();
            let mut beside = [(row + 1) % places, (row + places - 1) % places];
            beside.sort_unstable();
            assert_eq!(nearest, beside, "row {row}");
        }
    }
}
