//! The rows of each node of a graph. Rows with equal stored values share a node.
//!
//! Otherwise the links of equal rows would lead only to each other. If no two rows are equal, each
//! row is a node, and the file has no section for it. Otherwise it has two:
//!
//! ```text
//! graph.members  all rows, node by node, ascending within a node
//! graph.starts   the position of each node's first row in graph.members, then the number of rows
//! ```
//!
//! All numbers are u32. Nodes are numbered in the order of their first rows.

use crate::vectors::Vectors;
use bytes::Bytes;
use pel_kb::error::{Error, Result};
use pel_kb::numbers::Numbers;
use std::collections::HashMap;

/// The sections' names, in the order of [`Nodes::new`].
pub const SHARED_SECTIONS: [&str; 2] = ["graph.members", "graph.starts"];

/// The nodes of a graph.
#[derive(Debug)]
pub enum Nodes {
    /// Each row is a node. The value is the number of rows.
    Single(usize),
    /// Equal rows share a node.
    Shared {
        /// All rows, node by node.
        members: Numbers<u32>,
        /// `[nodes + 1]`: the position of each node's first row in `members`, and the end.
        starts: Numbers<u32>,
    },
}

impl Nodes {
    /// Reads the nodes of `rows` rows from the sections of [`SHARED_SECTIONS`].
    ///
    /// # Errors
    /// If a row belongs to no node or to two, or the order is another one.
    pub fn new(sections: [Bytes; 2], rows: usize) -> Result<Self> {
        let [members, starts] = sections.map(Numbers::<u32>::new);
        let (all, firsts) = (members.get(), starts.get());
        let rising = firsts.is_sorted_by(|a, b| a < b);
        let whole =
            firsts.first() == Some(&0) && firsts.last().is_some_and(|last| *last as usize == rows);
        if all.len() != rows || !rising || !whole {
            return Err(wrong(&format!(
                "expected `graph.starts` in ascending order from 0 to {rows}, the number of rows"
            )));
        }
        let mut seen = vec![false; rows];
        let mut before = None;
        for node in firsts.windows(2) {
            let own = &all[node[0] as usize..node[1] as usize];
            if !own.is_sorted_by(|a, b| a < b) || before >= own.first() {
                return Err(wrong(
                    "expected the rows of a node in ascending order, and nodes in the order of \
                     their first rows",
                ));
            }
            before = own.first();
            for row in own {
                match seen.get_mut(*row as usize) {
                    Some(seen) if !*seen => *seen = true,
                    _ => {
                        return Err(wrong(&format!(
                            "expected each of the {rows} rows in one node, found row {row} in none \
                             or in two"
                        )));
                    }
                }
            }
        }
        Ok(Self::Shared { members, starts })
    }

    /// Groups equal rows.
    pub fn of(vectors: &Vectors, dim: usize, rows: usize) -> Self {
        let mut numbers: HashMap<(&[u8], u32), u32> = HashMap::with_capacity(rows);
        let node_of: Vec<u32> = (0..rows)
            .map(|row| {
                let next = numbers.len() as u32;
                *numbers.entry(vectors.identity(row, dim)).or_insert(next)
            })
            .collect();
        let nodes = numbers.len();
        if nodes == rows {
            return Self::Single(rows);
        }
        let mut starts = vec![0u32; nodes + 1];
        node_of
            .iter()
            .for_each(|node| starts[*node as usize + 1] += 1);
        (0..nodes).for_each(|node| starts[node + 1] += starts[node]);
        let (mut places, mut members) = (starts.clone(), vec![0u32; rows]);
        for (row, node) in node_of.iter().enumerate() {
            members[places[*node as usize] as usize] = row as u32;
            places[*node as usize] += 1;
        }
        Self::Shared {
            members: Numbers::Copied(members),
            starts: Numbers::Copied(starts),
        }
    }

    /// The bodies of [`SHARED_SECTIONS`]; `None` if each row is a node.
    pub fn sections(&self) -> Option<[Vec<u8>; 2]> {
        match self {
            Self::Single(_) => None,
            Self::Shared { members, starts } => {
                Some([members, starts].map(|numbers| bytemuck::cast_slice(numbers.get()).to_vec()))
            }
        }
    }

    /// The number of nodes.
    pub fn len(&self) -> usize {
        match self {
            Self::Single(rows) => *rows,
            Self::Shared { starts, .. } => starts.get().len() - 1,
        }
    }

    /// The first row of a node. The others are equal to it.
    #[inline]
    pub fn first(&self, node: u32) -> u32 {
        match self {
            Self::Single(_) => node,
            Self::Shared { members, starts } => members.get()[starts.get()[node as usize] as usize],
        }
    }

    /// The rows of a node, ascending.
    pub fn rows(&self, node: u32) -> impl Iterator<Item = u32> + '_ {
        let (single, shared) = match self {
            Self::Single(_) => (Some(node), &[][..]),
            Self::Shared { members, starts } => {
                let (starts, node) = (starts.get(), node as usize);
                (
                    None,
                    &members.get()[starts[node] as usize..starts[node + 1] as usize],
                )
            }
        };
        single.into_iter().chain(shared.iter().copied())
    }
}

fn wrong(what: &str) -> Error {
    Error::artifact(format!("the HNSW graph: {what}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use pel_kernels::RowCodes;

    fn bytes(numbers: &[u32]) -> Bytes {
        Bytes::copy_from_slice(bytemuck::cast_slice(numbers))
    }

    #[test]
    fn equal_rows_share_a_node() {
        let values = [1.0f32, 0.0, 0.0, 1.0, 1.0, 0.0, 0.5, 0.5];
        let vectors = Vectors::F32 {
            values: Numbers::Copied(values.to_vec()),
        };
        let nodes = Nodes::of(&vectors, 2, 4);
        assert_eq!(nodes.len(), 3);
        assert_eq!(
            (0..3).map(|node| nodes.first(node)).collect::<Vec<_>>(),
            [0, 1, 3]
        );
        assert_eq!(nodes.rows(0).collect::<Vec<_>>(), [0, 2]);
        let again =
            Nodes::new(nodes.sections().expect("shared").map(Bytes::from), 4).expect("whole");
        assert_eq!(
            again.rows(0).chain(again.rows(2)).collect::<Vec<_>>(),
            [0, 2, 3]
        );
        assert!(matches!(Nodes::of(&vectors, 2, 2), Nodes::Single(2)));
    }

    #[test]
    fn equal_codes_with_another_scale_are_another_node() {
        let vectors = |scales: [f32; 2]| Vectors::Int8 {
            codes: Numbers::Copied(vec![3, 4, 3, 4]),
            scales: Numbers::Copied(scales.to_vec()),
            kind: RowCodes::Int8,
        };
        assert_eq!(Nodes::of(&vectors([0.5, 0.5]), 2, 2).len(), 1);
        assert_eq!(Nodes::of(&vectors([0.5, 0.25]), 2, 2).len(), 2);
    }

    #[test]
    fn rows_in_no_node_or_in_two_are_refused() {
        let read = |members: &[u32], starts: &[u32]| {
            Nodes::new([bytes(members), bytes(starts)], 3).is_ok()
        };
        assert!(read(&[0, 2, 1], &[0, 2, 3]));
        for (members, starts) in [
            (&[0, 2, 2][..], &[0, 2, 3][..]),
            (&[0, 2, 3], &[0, 2, 3]),
            (&[2, 0, 1], &[0, 2, 3]),
            (&[1, 2, 0], &[0, 2, 3]),
            (&[0, 2, 1], &[0, 2]),
            (&[0, 2, 1], &[0, 0, 3]),
            (&[0, 2, 1], &[1, 3]),
            (&[0, 2], &[0, 2]),
            (&[], &[]),
        ] {
            assert!(!read(members, starts), "{members:?} {starts:?}");
        }
    }
}
