//! Target: the hierarchy of concepts, as a file of a bundle and as a table.

use crate::artifacts::{both, two};
use bytes::Bytes;
use pel_kb::ConceptId;
use pel_kb::codes::NameReader;
use pel_kb::container::Check;
use pel_kb::error::Result;
use pel_kb::hierarchy::{Hierarchy, HierarchyList, HierarchyReader, Node};

/// The most nodes that are looked at.
const MOST: u32 = 1 << 8;

/// The hierarchy file of a bundle. What is none is read as a table of children and parents, and a table
/// of names of codes, with a zero byte between them.
pub fn hierarchy(data: &[u8]) {
    let mut is_file = false;
    for bytes in both(data) {
        for check in [Check::Checksums, Check::Trusted] {
            if let Ok(hierarchy) = Hierarchy::from_bytes(&bytes, check, None) {
                is_file = true;
                check_hierarchy(&hierarchy);
            }
        }
    }
    if !is_file {
        let (rows, names) = two(data);
        if let (Ok(rows), Ok(names)) = (std::str::from_utf8(rows), std::str::from_utf8(names)) {
            read_rows(rows, names);
        }
    }
}

/// The parents of the first nodes, and the names of those that are codes.
fn known(hierarchy: &Hierarchy) -> Vec<(Option<Node<'_>>, &[u32], Option<&str>)> {
    let all = 0..MOST.min((hierarchy.concepts() + hierarchy.codes()) as u32);
    let of = |at| {
        let node = hierarchy.node(at);
        let display = match node {
            Some(Node::Code(code)) => hierarchy.display(code),
            _ => None,
        };
        (node, hierarchy.parents(at), display)
    };
    all.map(of).collect()
}

/// Checks that relatives are nodes, that children are the inverse of parents, and that a hierarchy
/// that was written reads back equal. A damaged file may have a circle, which is no reason to fail
/// here: what is above and below is still finite.
fn check_hierarchy(hierarchy: &Hierarchy) {
    let nodes = hierarchy.concepts() + hierarchy.codes();
    let all = 0..MOST.min(nodes as u32);
    for node in all {
        for parent in hierarchy.parents(node) {
            assert!((*parent as usize) < nodes);
            assert!(hierarchy.children(*parent).contains(&node));
        }
        assert!(hierarchy.ancestors(node).len() <= nodes);
        assert!(hierarchy.below(&[node]).len() <= nodes);
    }
    for outside in [nodes as u32, u32::MAX] {
        assert_eq!(hierarchy.node(outside), None);
        assert!(hierarchy.parents(outside).is_empty());
    }
    if let Ok(list) = hierarchy.kept(Some) {
        let once = written(&list, hierarchy.concepts());
        let again = once.kept(Some).expect("it has no circle");
        let twice = written(&again, hierarchy.concepts());
        assert_eq!(
            known(&once),
            known(&twice),
            "a written file reads back differently"
        );
    }
}

fn written(list: &HierarchyList, concepts: usize) -> Hierarchy {
    let bytes = Bytes::from(list.to_bytes(concepts).expect("what was read is written"));
    Hierarchy::from_bytes(&bytes, Check::Checksums, None).expect("what was written is read")
}

/// Reads tables of parents and of names, and writes what they have.
fn read_rows(rows: &str, names: &str) {
    let concepts = 4;
    let mut find = |id: &str| -> Result<Option<ConceptId>> {
        let number = id.strip_prefix('C').and_then(|at| at.parse::<u32>().ok());
        Ok(number.filter(|at| (*at as usize) < concepts).map(ConceptId))
    };
    let (mut reader, mut name_reader) = (HierarchyReader::new(), NameReader::new());
    name_reader.begin();
    let read = rows
        .lines()
        .try_for_each(|line| reader.read_line(line, &mut find))
        .and_then(|()| {
            names
                .lines()
                .try_for_each(|line| name_reader.read_line(line))
        });
    let Ok(mut list) = read.and_then(|()| reader.finish()) else {
        return;
    };
    list.set_names(&name_reader);
    let hierarchy = written(&list, concepts);
    assert_eq!(hierarchy.edges(), list.len(), "a parent is lost");
    for node in 0..hierarchy.concepts() as u32 {
        let above = hierarchy.ancestors(node);
        let is_circle = |other: &u32| hierarchy.ancestors(*other).contains(&node);
        assert!(!above.iter().any(is_circle), "a circle was read");
    }
    check_hierarchy(&hierarchy);
}
