//! The hierarchy of a bundle: `hierarchy.bin`.

use super::list::{HierarchyList, code_key};
use crate::ConceptId;
use crate::codes::CodeTable;
use crate::container::{self, Check, Container, Format};
use crate::error::{Error, Result};
use crate::leb128;
use bytes::Bytes;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::sync::OnceLock;

const FORMAT: Format = Format {
    magic: b"PELHIERA",
    version: 1,
    name: "hierarchy",
};

/// The section with the codes in the order of their texts: for each the bytes that it shares with
/// the one before, the number of further bytes, and these, the numbers in LEB128.
const CODES: &str = "codes";

/// The section with the parents of each node, concepts first: their number, and the distances
/// between them, in LEB128.
const PARENTS: &str = "parents";

/// The section with the names of the codes, in their order: the number of bytes in LEB128, and these.
/// A file without names lacks it.
const DISPLAYS: &str = "displays";

/// The header of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Sizes {
    concepts: usize,
    codes: usize,
    edges: usize,
}

/// A node of a hierarchy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Node<'a> {
    /// A concept of the bundle.
    Concept(ConceptId),
    /// A code with the prefix of its system, such as `ICD10CM:A00-A09`.
    Code(&'a str),
}

/// The parents of each node, or its children.
#[derive(Clone, Debug)]
struct Relatives {
    starts: Vec<u32>,
    all: Vec<u32>,
}

impl Relatives {
    fn of(&self, node: u32) -> &[u32] {
        let at = node as usize;
        let range = match self.starts.get(at..at.saturating_add(2)) {
            Some([start, end]) => *start as usize..*end as usize,
            _ => 0..0,
        };
        self.all.get(range).unwrap_or_default()
    }

    fn from_lists(lists: &[Vec<u32>]) -> Self {
        let (mut starts, mut all) = (vec![0], Vec::new());
        for own in lists {
            all.extend_from_slice(own);
            starts.push(all.len() as u32);
        }
        Self { starts, all }
    }

    fn reversed(&self) -> Self {
        let nodes = self.starts.len() - 1;
        let mut lists = vec![Vec::new(); nodes];
        for child in 0..nodes as u32 {
            for parent in self.of(child) {
                lists[*parent as usize].push(child);
            }
        }
        Self::from_lists(&lists)
    }
}

/// The parents of concepts and codes. Numbers of nodes are those of the concepts, then those of the
/// codes in the order of their texts.
#[derive(Debug)]
pub struct Hierarchy {
    concepts: usize,
    codes: Vec<String>,
    /// The names of the codes, or nothing; an unknown one is empty.
    displays: Vec<String>,
    /// The parents that the file has.
    stated: Relatives,
    /// These, and for each concept the nodes of its codes.
    parents: Relatives,
    children: OnceLock<Relatives>,
}

impl HierarchyList {
    /// The file of a knowledge base with so many concepts.
    ///
    /// # Errors
    /// If the header cannot be written.
    pub fn to_bytes(&self, concepts: usize) -> Result<Vec<u8>> {
        let (codes, parents) = self.in_order(concepts);
        let (mut names, mut before) = (Vec::new(), "");
        for code in &codes {
            let both = before.bytes().zip(code.bytes());
            let shared = both.take_while(|(a, b)| a == b).count();
            leb128::write(shared as u32, &mut names);
            leb128::write((code.len() - shared) as u32, &mut names);
            names.extend_from_slice(&code.as_bytes()[shared..]);
            before = code;
        }
        let mut edges = Vec::new();
        for own in &parents {
            leb128::write(own.len() as u32, &mut edges);
            let mut last = 0;
            for parent in own {
                leb128::write(parent - last, &mut edges);
                last = *parent;
            }
        }
        let sizes = Sizes {
            concepts,
            codes: codes.len(),
            edges: self.len(),
        };
        let mut displays = Vec::new();
        for display in codes.iter().map(|code| self.display(code)) {
            leb128::write(display.len() as u32, &mut displays);
            displays.extend_from_slice(display.as_bytes());
        }
        let mut sections: Vec<(&str, &[u8])> = vec![(CODES, &names), (PARENTS, &edges)];
        if displays.iter().any(|byte| *byte > 0) {
            sections.push((DISPLAYS, &displays));
        }
        container::write(FORMAT, &sizes, &sections)
    }
}

fn damaged(message: &str) -> Error {
    Error::artifact(format!("the hierarchy: {message}"))
}

fn read_codes(bytes: &[u8], count: usize) -> Result<Vec<String>> {
    let mut rest = bytes;
    let (mut codes, mut before) = (Vec::<String>::new(), Vec::<u8>::new());
    while !rest.is_empty() {
        let both = leb128::read(&mut rest).zip(leb128::read(&mut rest));
        let (shared, further) = both.ok_or_else(|| damaged("a code is truncated"))?;
        let (shared, further) = (shared as usize, further as usize);
        if shared > before.len() || further > rest.len() {
            return Err(damaged("a code is truncated"));
        }
        before.truncate(shared);
        let (own, others) = rest.split_at(further);
        before.extend_from_slice(own);
        rest = others;
        let code =
            String::from_utf8(before.clone()).map_err(|_| damaged("expected codes in UTF-8"))?;
        if codes.last().is_some_and(|last| *last >= code) {
            return Err(damaged("expected codes in ascending order, each once"));
        }
        codes.push(code);
    }
    match codes.len() == count {
        true => Ok(codes),
        false => {
            let found = codes.len();
            Err(damaged(&format!("expected {count} codes, found {found}")))
        }
    }
}

fn read_displays(bytes: &[u8], count: usize) -> Result<Vec<String>> {
    let mut rest = bytes;
    let mut displays = Vec::new();
    while !rest.is_empty() {
        let length = leb128::read(&mut rest).map(|length| length as usize);
        let own = length.and_then(|length| rest.split_at_checked(length));
        let (own, others) = own.ok_or_else(|| damaged("a name is truncated"))?;
        rest = others;
        let display = std::str::from_utf8(own).map_err(|_| damaged("expected names in UTF-8"))?;
        displays.push(display.to_owned());
    }
    match displays.len() == count {
        true => Ok(displays),
        false => {
            let found = displays.len();
            Err(damaged(&format!(
                "expected names of {count} codes, found {found}"
            )))
        }
    }
}

fn read_parents(bytes: &[u8], nodes: usize, edges: usize) -> Result<Vec<Vec<u32>>> {
    let mut rest = bytes;
    let (mut lists, mut found) = (Vec::new(), 0usize);
    while !rest.is_empty() {
        let count = leb128::read(&mut rest).ok_or_else(|| damaged("a node is truncated"))? as usize;
        found = found.saturating_add(count);
        if count > rest.len() || found > edges {
            return Err(damaged("a node has more parents than the file"));
        }
        let (mut own, mut last) = (Vec::with_capacity(count), 0u32);
        for _ in 0..count {
            let next = leb128::read(&mut rest).and_then(|away| last.checked_add(away));
            last = next.ok_or_else(|| damaged("a parent is truncated"))?;
            if last as usize >= nodes {
                return Err(damaged(&format!(
                    "expected nodes below {nodes}, found {last}"
                )));
            }
            own.push(last);
        }
        lists.push(own);
    }
    match lists.len() == nodes && found == edges {
        true => Ok(lists),
        false => {
            let count = lists.len();
            Err(damaged(&format!(
                "expected {edges} parents of {nodes} nodes, found {found} of {count}"
            )))
        }
    }
}

impl Hierarchy {
    /// Reads a hierarchy. The nodes of a concept's codes are parents of the concept; so are those of
    /// its parts.
    ///
    /// # Errors
    /// If the bytes are truncated, altered, of another version, or inconsistent.
    pub fn from_bytes(bytes: &Bytes, check: Check, codes: Option<&CodeTable>) -> Result<Self> {
        let container = Container::<Sizes>::read(FORMAT, bytes, check)?;
        let sizes = container.fields;
        let names = read_codes(&container.section(CODES)?, sizes.codes)?;
        let displays = match container.names().any(|name| name == DISPLAYS) {
            true => read_displays(&container.section(DISPLAYS)?, names.len())?,
            false => Vec::new(),
        };
        let nodes = sizes.concepts.saturating_add(names.len());
        let mut lists = read_parents(&container.section(PARENTS)?, nodes, sizes.edges)?;
        let mut hierarchy = Self {
            concepts: sizes.concepts,
            codes: names,
            displays,
            stated: Relatives::from_lists(&lists),
            parents: Relatives::from_lists(&[]),
            children: OnceLock::new(),
        };
        for (at, own) in (0..).map(ConceptId).zip(&mut lists[..sizes.concepts]) {
            for code in codes.iter().flat_map(|codes| codes.of(at)) {
                let key = format!("{}:{}", code.system.prefix(), code.code);
                if let Some(node) = hierarchy.find(&key).filter(|node| !own.contains(node)) {
                    own.push(node);
                }
            }
        }
        hierarchy.parents = Relatives::from_lists(&lists);
        Ok(hierarchy)
    }

    /// The number of concepts.
    pub fn concepts(&self) -> usize {
        self.concepts
    }

    /// The number of nodes that are codes.
    pub fn codes(&self) -> usize {
        self.codes.len()
    }

    /// The number of pairs of a child and a parent that the file has.
    pub fn edges(&self) -> usize {
        self.stated.all.len()
    }

    /// The number of the node of a code, such as `ICD10CM:E11`; `None` without one.
    pub fn find(&self, code: &str) -> Option<u32> {
        let at = |code: &str| self.codes.binary_search_by(|own| own.as_str().cmp(code));
        let found = at(code).ok().or_else(|| at(&code_key(code)?).ok())?;
        u32::try_from(self.concepts + found).ok()
    }

    /// The name of a code with the prefix of its system, such as `ICD10CM:E08-E13`, if it is known.
    pub fn display(&self, code: &str) -> Option<&str> {
        let at = (self.find(code)? as usize).checked_sub(self.concepts)?;
        let display = self.displays.get(at)?;
        Some(display.as_str()).filter(|display| !display.is_empty())
    }

    /// What a number stands for; `None` if there is no such node.
    pub fn node(&self, number: u32) -> Option<Node<'_>> {
        match (number as usize).checked_sub(self.concepts) {
            None => Some(Node::Concept(ConceptId(number))),
            Some(at) => self.codes.get(at).map(|code| Node::Code(code)),
        }
    }

    /// The parents of a node, with the codes of a concept.
    pub fn parents(&self, node: u32) -> &[u32] {
        self.parents.of(node)
    }

    /// The parents of a node that the file has.
    pub(super) fn stated(&self, node: u32) -> &[u32] {
        self.stated.of(node)
    }

    /// The children of a node.
    pub fn children(&self, node: u32) -> &[u32] {
        self.children
            .get_or_init(|| self.parents.reversed())
            .of(node)
    }

    /// The nodes above a node, the nearest first.
    pub fn ancestors(&self, node: u32) -> Vec<u32> {
        self.reached(&[node], |node| self.parents(node))
    }

    /// The nodes below some nodes, the nearest first, without these.
    pub fn below(&self, nodes: &[u32]) -> Vec<u32> {
        self.reached(nodes, |node| self.children(node))
    }

    fn reached<'h>(&'h self, from: &[u32], next: impl Fn(u32) -> &'h [u32]) -> Vec<u32> {
        let mut is_seen = vec![false; self.concepts + self.codes.len()];
        let mut queue = VecDeque::new();
        for node in from {
            if let Some(seen) = is_seen.get_mut(*node as usize) {
                *seen = true;
                queue.push_back(*node);
            }
        }
        let mut found = Vec::new();
        while let Some(node) = queue.pop_front() {
            for other in next(node) {
                if !std::mem::replace(&mut is_seen[*other as usize], true) {
                    found.push(*other);
                    queue.push_back(*other);
                }
            }
        }
        found
    }

    /// The hierarchy for concepts at other positions. `now` has the concept that each became; that of
    /// a retired one is not there, and neither are its children's pairs with it.
    ///
    /// # Errors
    /// If merged concepts make a circle.
    pub fn kept(&self, now: impl Fn(ConceptId) -> Option<ConceptId>) -> Result<HierarchyList> {
        let nodes = 0..(self.concepts + self.codes.len()) as u32;
        let parents = nodes.map(|node| (node, self.stated(node)));
        let list =
            HierarchyList::renumbered(self.concepts, &self.codes, &self.displays, parents, now);
        list.check()?;
        Ok(list)
    }
}

#[cfg(test)]
mod tests {
    use super::super::HierarchyReader;
    use super::*;
    use crate::codes::{CodeList, Match, System};
    use proptest::prelude::*;

    fn list(lines: &[(String, String)]) -> HierarchyList {
        let mut reader = HierarchyReader::new();
        let mut find = |id: &str| {
            let number = id.strip_prefix('D').and_then(|digits| digits.parse().ok());
            Ok(number.map(ConceptId))
        };
        let mut read = |line: &str| reader.read_line(line, &mut find).expect("a line");
        read("child\tparent");
        lines
            .iter()
            .for_each(|(one, other)| read(&format!("{one}\t{other}")));
        reader.finish().expect("no circle")
    }

    fn pairs(lines: &[(&str, &str)]) -> Vec<(String, String)> {
        let own = lines.iter();
        own.map(|(one, other)| ((*one).to_owned(), (*other).to_owned()))
            .collect()
    }

    fn opened(lines: &[(&str, &str)], concepts: usize, codes: Option<&CodeTable>) -> Hierarchy {
        let bytes = list(&pairs(lines)).to_bytes(concepts).expect("written");
        Hierarchy::from_bytes(&bytes.into(), Check::Checksums, codes).expect("whole")
    }

    #[test]
    fn ancestors_are_nearest_first_and_below_is_their_inverse() {
        let h = opened(
            &[
                ("D0", "D1"),
                ("D1", "ICD10CM:E11"),
                ("ICD10CM:E11", "ICD10CM:E08-E13"),
                ("D0", "D2"),
                ("D2", "ICD10CM:E08-E13"),
            ],
            4,
            None,
        );
        let (block, category) = (4, 5);
        assert_eq!(h.find("ICD10CM:E08-E13"), Some(block));
        assert_eq!(h.find("icd-10-cm:E11"), Some(category));
        assert_eq!(h.find("ICD10CM:E12"), None);
        assert_eq!(h.node(5), Some(Node::Code("ICD10CM:E11")));
        assert_eq!(h.node(6), None);
        assert_eq!(h.ancestors(0), [1, 2, category, block]);
        assert_eq!(h.below(&[block]), [2, category, 0, 1]);
        assert_eq!(h.below(&[3]), [0u32; 0]);
        assert_eq!((h.concepts(), h.codes(), h.edges()), (4, 2, 5));
    }

    #[test]
    fn codes_of_a_concept_are_above_it() {
        let mut codes = CodeList::new();
        codes.push(ConceptId(1), System::Icd10Cm, "E11", Match::Broader);
        codes.push(ConceptId(1), System::Icd10Cm, "Z99", Match::Exact);
        let codes = CodeTable::build(&codes, 2).expect("built");
        let codes = CodeTable::from_bytes(&codes.into(), Check::Checksums).expect("whole");
        let h = opened(
            &[("D0", "D1"), ("ICD10CM:E11", "ICD10CM:E08")],
            2,
            Some(&codes),
        );
        assert_eq!(h.ancestors(0), [1, 3, 2]);
        assert_eq!(h.edges(), 2);
    }

    #[test]
    fn merged_concepts_keep_their_parents() {
        let h = opened(&[("D0", "D1"), ("D2", "MEDRT:N1"), ("D1", "D3")], 4, None);
        // D2 is merged into D0, D3 is retired, D1 gets another number.
        let now = [Some(1), Some(0), Some(1), None].map(|own| own.map(ConceptId));
        let list = h.kept(|own| now[own.index()]).expect("no circle");
        let bytes = list.to_bytes(2).expect("written");
        let kept = Hierarchy::from_bytes(&bytes.into(), Check::Checksums, None).expect("whole");
        assert_eq!(kept.ancestors(1), [0, 2]);
        assert_eq!(kept.ancestors(0), [0u32; 0]);
        let circle = h.kept(|own| Some(ConceptId(own.0 % 2)));
        assert!(circle.is_ok(), "a concept is not its own parent");
        let circle = opened(&[("D0", "D1"), ("D1", "D2")], 3, None);
        let said = circle
            .kept(|own| Some(ConceptId(own.0 % 2)))
            .expect_err("a circle");
        assert!(
            said.to_string().contains("concept 0 -> concept 1"),
            "{said}"
        );
    }

    #[test]
    fn names_of_codes_are_read_back_and_kept() {
        let mut reader = HierarchyReader::new();
        let mut find = |id: &str| Ok((id == "D0").then_some(ConceptId(0)));
        for line in [
            "child\tparent\tparent_name",
            "D0\tICD10CM:E11\t",
            "ICD10CM:E11\tICD10CM:E08-E13\tDiabetes mellitus",
        ] {
            reader.read_line(line, &mut find).expect("a line");
        }
        let bytes = reader
            .finish()
            .expect("no circle")
            .to_bytes(1)
            .expect("written");
        let h = Hierarchy::from_bytes(&bytes.into(), Check::Checksums, None).expect("whole");
        assert_eq!(h.display("ICD10CM:E08-E13"), Some("Diabetes mellitus"));
        assert_eq!(
            [h.display("ICD10CM:E11"), h.display("ICD10CM:A00")],
            [None, None]
        );
        let kept = h.kept(|_| Some(ConceptId(1))).expect("no circle");
        let bytes = kept.to_bytes(2).expect("written");
        let kept = Hierarchy::from_bytes(&bytes.into(), Check::Checksums, None).expect("whole");
        assert_eq!(kept.display("icd-10-cm:E08-E13"), Some("Diabetes mellitus"));
        for (bytes, expected) in [
            (&[5, b'x'][..], "a name is truncated"),
            (&[1, 0xff, 0], "names in UTF-8"),
            (&[0], "expected names of 2 codes, found 1"),
        ] {
            let said = read_displays(bytes, 2).expect_err("damaged").to_string();
            assert!(said.contains(expected), "{expected}: {said}");
        }
    }

    #[test]
    fn damaged_file_is_refused() {
        let write = |concepts, codes, edges, names: &[u8], parents: &[u8]| {
            let sizes = Sizes {
                concepts,
                codes,
                edges,
            };
            let sections = [(CODES, names), (PARENTS, parents)];
            let bytes = container::write(FORMAT, &sizes, &sections).expect("written");
            Hierarchy::from_bytes(&bytes.into(), Check::Checksums, None)
        };
        // A concept below the code `A`.
        assert!(write(1, 1, 1, &[0, 1, b'A'], &[1, 1, 0]).is_ok());
        for (codes, edges, names, parents, expected) in [
            (
                1,
                1,
                &[0, 2, b'A'][..],
                &[1, 1, 0][..],
                "a code is truncated",
            ),
            (1, 1, &[1, 1, b'A'], &[1, 1, 0], "a code is truncated"),
            (2, 1, &[0, 1, b'A'], &[1, 1, 0], "expected 2 codes, found 1"),
            (1, 1, &[0, 1, 0xff], &[1, 1, 0], "UTF-8"),
            (
                2,
                1,
                &[0, 1, b'A', 0, 1, b'A'],
                &[1, 1, 0, 0],
                "ascending order",
            ),
            (
                1,
                1,
                &[0, 1, b'A'],
                &[1, 2, 0],
                "expected nodes below 2, found 2",
            ),
            (
                1,
                0,
                &[0, 1, b'A'],
                &[1, 1, 0],
                "more parents than the file",
            ),
            (
                1,
                9,
                &[0, 1, b'A'],
                &[9, 1, 0],
                "more parents than the file",
            ),
            (
                1,
                2,
                &[0, 1, b'A'],
                &[1, 1, 0],
                "expected 2 parents of 2 nodes, found 1 of 2",
            ),
            (1, 1, &[0, 1, b'A'], &[1, 1], "found 1 of 1"),
        ] {
            let said = write(1, codes, edges, names, parents)
                .expect_err("damaged")
                .to_string();
            assert!(said.contains(expected), "{expected}: {said}");
        }
    }

    proptest! {
        #[test]
        fn hierarchy_is_read_back(edges in prop::collection::btree_set((0u32..30, 0u32..30), 0..80)) {
            // Parents have smaller numbers, so there is no circle. The last third are codes.
            let id = |node: u32| match node < 20 {
                true => format!("D{node}"),
                false => format!("MEDRT:N{node}"),
            };
            let edges: Vec<(u32, u32)> = edges.into_iter().filter(|(a, b)| a > b).collect();
            let lines: Vec<_> = edges.iter().map(|(a, b)| (id(*a), id(*b))).collect();
            let bytes = list(&lines).to_bytes(20).expect("written");
            let h = Hierarchy::from_bytes(&bytes.into(), Check::Checksums, None).expect("whole");
            prop_assert_eq!(h.edges(), edges.len());
            let number = |node: u32| match node < 20 {
                true => Some(node),
                false => h.find(&id(node)),
            };
            for (child, parent) in &edges {
                let (child, parent) = (number(*child).expect("there"), number(*parent).expect("there"));
                prop_assert!(h.parents(child).contains(&parent));
                prop_assert!(h.children(parent).contains(&child));
                prop_assert!(h.ancestors(child).contains(&parent));
                prop_assert!(h.below(&[parent]).contains(&child));
            }
        }
    }
}
