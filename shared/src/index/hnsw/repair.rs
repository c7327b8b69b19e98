//! Links to nodes that a search does not find, from where it looks for them.
//!
//! In a crowd of nodes that are nearly equal all links stay within it, and a walk that begins there does not come out. So each node is
//! looked for once: one that is not found gets a link from the nearest nodes at which the walk for it has ended.

use super::links::{Links, WIDTH};
use super::nodes::Nodes;
use super::walk::{Ground, Near, Walk};
use crate::index::vectors::{Rows, Vectors};
use crate::kernels;
use std::sync::Mutex;

/// Nodes that are looked for at a time.
const CHUNK: usize = 256;

/// How often all nodes are looked for, at most: a link that makes room may have led to another node.
const ROUNDS: usize = 8;

/// Places of a node that links to lost nodes may take: the last ones, so that the nearest stay.
const PLACES: usize = WIDTH / 2;

/// Similarities that differ by less than this share are one but for rounding.
const SAME: f32 = 1e-6;

/// Nodes from which a lost node is linked: a walk for something near it may end at one of them alone.
const FROM: usize = 3;

/// Links every node so that a walk which keeps `ef` nodes finds it, as far as there is room.
pub fn repaired(links: &mut Links, nodes: &Nodes, vectors: &Vectors, dim: usize, ef: usize) {
    let rows = Rows::new(vectors, dim);
    let similarity = |node: u32| {
        let row = nodes.first(node) as usize;
        rows.pair(row, row)
    };
    // For each node, how many of its places are taken.
    let mut taken = vec![0u8; nodes.len()];
    let mut walk = Walk::default();
    for _ in 0..ROUNDS {
        let lost = lost(Ground { links, nodes, vectors, dim }, ef, &similarity);
        if lost.is_empty() {
            return;
        }
        for node in lost {
            // An earlier link may lead to it.
            let near = walk.near_node(Ground { links, nodes, vectors, dim }, node, ef);
            if !is_lost(near, node, similarity(node)) {
                continue;
            }
            // The nearest of those with the most room.
            let mut from: Vec<(u8, usize, u32)> =
                near.iter().enumerate().map(|(at, near)| (taken[near.node() as usize], at, near.node())).collect();
            from.sort_unstable();
            for (used, _, from) in from.into_iter().filter(|(used, ..)| usize::from(*used) < PLACES).take(FROM) {
                let own = links.of(from).len();
                // A free place first, else one of the last.
                let place = if own < WIDTH { own } else { WIDTH - 1 - usize::from(used) };
                links.link(from, place, node);
                taken[from as usize] += 1;
            }
        }
    }
}

/// The nodes that a walk for them does not find, ascending; `similarity` is that of a node with itself.
fn lost(ground: Ground, ef: usize, similarity: &(dyn Fn(u32) -> f32 + Sync)) -> Vec<u32> {
    let idle: Mutex<Vec<Walk>> = Mutex::default();
    let nodes: Vec<u32> = (0..ground.nodes.len() as u32).collect();
    let lost = kernels::for_each_chunk(&nodes, CHUNK, |_, nodes| {
        let mut walk = idle.lock().ok().and_then(|mut idle| idle.pop()).unwrap_or_default();
        let mut found = |node: u32| is_lost(walk.near_node(ground, node, ef), node, similarity(node));
        let lost: Vec<u32> = nodes.iter().copied().filter(|node| found(*node)).collect();
        if let Ok(mut idle) = idle.lock() {
            idle.push(walk);
        }
        lost
    });
    lost.into_iter().flatten().collect()
}

/// Whether a node is missing among those that a walk for it has kept, although it is more similar to itself than the last of them.
/// Among so many that are as similar as itself, it is not missed.
fn is_lost(near: &[Near], node: u32, similarity: f32) -> bool {
    let as_similar = near.last().is_some_and(|last| last.similarity() >= similarity - SAME * similarity.abs());
    !similarity.is_nan() && !as_similar && near.iter().all(|near| near.node() != node)
}
