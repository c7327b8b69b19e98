//! A hierarchy before it is written, and the reader of its table.
//!
//! The table has text with tabs and a header with the columns `child` and `parent`. Both are
//! identifiers of concepts, or codes with the prefix of their system. A column `parent_name` may have
//! the name of a parent that is a code. Other columns are ignored.

use crate::ConceptId;
use crate::clean;
use crate::codes::{NameReader, System};
use crate::error::{Error, Result};
use std::collections::{BTreeMap, HashMap};

/// The members of a circle that a message lists.
const LISTED: usize = 12;

/// A node before it has a number.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Key {
    /// A concept.
    Concept(ConceptId),
    /// A code with the prefix of its system.
    Code(String),
}

/// Children with their parents.
#[derive(Clone, Debug, Default)]
pub struct HierarchyList {
    nodes: Vec<Key>,
    numbers: HashMap<Key, u32>,
    /// The identifiers of the nodes in messages.
    ids: Vec<String>,
    /// The pairs, each with the line that it was read from; 0 without one.
    edges: HashMap<(u32, u32), u32>,
    /// The names of codes, by the code with the prefix of its system.
    displays: BTreeMap<String, String>,
}

impl HierarchyList {
    /// Without a node.
    pub fn new() -> Self {
        Self::default()
    }

    /// Whether there is no child.
    pub fn is_empty(&self) -> bool {
        self.edges.is_empty()
    }

    /// The number of pairs of a child and a parent.
    pub fn len(&self) -> usize {
        self.edges.len()
    }

    fn number(&mut self, key: Key, id: &str) -> u32 {
        let next = self.nodes.len() as u32;
        let number = *self.numbers.entry(key.clone()).or_insert(next);
        if number == next {
            self.nodes.push(key);
            self.ids.push(id.to_owned());
        }
        number
    }

    /// Adds a parent of a child, of a line of a file, or 0. A node is not its own parent.
    pub(super) fn push(&mut self, child: (Key, &str), parent: (Key, &str), line: u32) {
        let child = self.number(child.0, child.1);
        let parent = self.number(parent.0, parent.1);
        if child != parent {
            self.edges.entry((child, parent)).or_insert(line);
        }
    }

    /// Adds a parent of a child, both with numbers of the caller, and the line that says so, or 0.
    pub fn push_concepts(
        &mut self,
        child: (ConceptId, &str),
        parent: (ConceptId, &str),
        line: u32,
    ) {
        let (one, other) = (Key::Concept(child.0), Key::Concept(parent.0));
        self.push((one, child.1), (other, parent.1), line);
    }

    /// Gives the codes among the nodes the names that were read.
    pub fn set_names(&mut self, names: &NameReader) {
        for node in &self.nodes {
            let Key::Code(code) = node else { continue };
            let own = code
                .split_once(':')
                .and_then(|(prefix, local)| names.display(System::of_prefix(prefix)?, local));
            if let Some(display) = own {
                self.displays.insert(code.clone(), display.to_owned());
            }
        }
    }

    /// The name of a code with the prefix of its system; empty without one.
    pub(super) fn display(&self, code: &str) -> &str {
        self.displays.get(code).map_or("", String::as_str)
    }

    /// The codes, in the order of their texts, and the parents of each node: of the concepts, then
    /// of the codes. Parents are numbers in this order, ascending.
    pub(super) fn in_order(&self, concepts: usize) -> (Vec<&str>, Vec<Vec<u32>>) {
        let mut codes: Vec<&str> = Vec::new();
        for node in &self.nodes {
            if let Key::Code(code) = node {
                codes.push(code);
            }
        }
        codes.sort_unstable();
        let places: HashMap<&str, u32> = codes.iter().copied().zip(concepts as u32..).collect();
        let place = |number: u32| match self.nodes.get(number as usize) {
            Some(Key::Concept(concept)) => Some(concept.0),
            Some(Key::Code(code)) => places.get(code.as_str()).copied(),
            None => None,
        };
        let mut parents = vec![Vec::new(); concepts + codes.len()];
        for (child, parent) in self.edges.keys() {
            if let (Some(child), Some(parent)) = (place(*child), place(*parent))
                && let Some(own) = parents.get_mut(child as usize)
            {
                own.push(parent);
            }
        }
        parents.iter_mut().for_each(|own| own.sort_unstable());
        (codes, parents)
    }

    /// Checks that no node is above itself.
    ///
    /// # Errors
    /// If one is. The message names the members of the circle.
    pub fn check(&self) -> Result<()> {
        let mut parents = vec![Vec::new(); self.nodes.len()];
        for (child, parent) in self.edges.keys() {
            parents[*child as usize].push(*parent);
        }
        // The message must not depend on the order of a hash table.
        parents.iter_mut().for_each(|own| own.sort_unstable());
        let (mut is_done, mut is_open) = (vec![false; parents.len()], vec![false; parents.len()]);
        for start in 0..parents.len() {
            // The path from `start`, each node with the number of its parents that were followed.
            let mut path = vec![(start, 0)];
            while let Some((node, next)) = path.last_mut() {
                let at = *node;
                if is_done[at] {
                    path.pop();
                    continue;
                }
                is_open[at] = true;
                match parents[at].get(*next) {
                    Some(parent) => {
                        *next += 1;
                        let parent = *parent as usize;
                        if is_open[parent] {
                            return Err(self.circle(path.iter().map(|(node, _)| *node), parent));
                        }
                        if !is_done[parent] {
                            path.push((parent, 0));
                        }
                    }
                    None => {
                        is_done[at] = true;
                        is_open[at] = false;
                        path.pop();
                    }
                }
            }
        }
        Ok(())
    }

    fn circle(&self, path: impl Iterator<Item = usize>, back: usize) -> Error {
        let nodes: Vec<usize> = path
            .skip_while(|node| *node != back)
            .chain([back])
            .collect();
        let count = nodes.len() - 1;
        let more = match nodes.len() > LISTED {
            true => " -> …",
            false => "",
        };
        let nodes = &nodes[..nodes.len().min(LISTED)];
        let members: Vec<&str> = nodes.iter().map(|node| self.ids[*node].as_str()).collect();
        let lines = nodes.windows(2).filter_map(|pair| {
            let edge = (*pair.first()? as u32, *pair.last()? as u32);
            self.edges.get(&edge).filter(|line| **line > 0)
        });
        let lines: Vec<String> = lines.map(u32::to_string).collect();
        let place = match lines.is_empty() {
            true => String::new(),
            false => format!(" (lines {})", lines.join(", ")),
        };
        Error::input(format!(
            "expected a hierarchy without circles, found one of {count} members: {}{more}{place}; \
             take one of these lines out",
            members.join(" -> ")
        ))
    }
}

/// Reads a table of children and parents.
#[derive(Debug, Default)]
pub struct HierarchyReader {
    list: HierarchyList,
    places: Option<([usize; 2], Option<usize>)>,
    line: u32,
    unknown: usize,
    first_unknown: Option<String>,
}

impl HierarchyReader {
    /// A reader before its first line.
    pub fn new() -> Self {
        Self::default()
    }

    /// Reads a line; the first one is the header. Blank lines are skipped. `find` finds the concept
    /// of an identifier. Rows with an identifier that is neither a concept nor a code of a known
    /// system are counted ([`HierarchyReader::unknown`]).
    ///
    /// # Errors
    /// If a column is missing, an identifier has blanks or is its own parent, or `find` fails.
    pub fn read_line(
        &mut self,
        line: &str,
        find: &mut dyn FnMut(&str) -> Result<Option<ConceptId>>,
    ) -> Result<()> {
        self.line = self.line.saturating_add(1);
        let line = line.trim_end_matches(['\r', '\n']);
        if line.trim().is_empty() {
            return Ok(());
        }
        let all: Vec<&str> = line.split('\t').collect();
        let Some(([child, parent], name)) = self.places else {
            let place = |name: &str| all.iter().position(|column| column.trim() == name);
            let (Some(child), Some(parent)) = (place("child"), place("parent")) else {
                return Err(Error::input(format!(
                    "expected a header with the columns child, parent between tabs, found {line:?}"
                )));
            };
            self.places = Some(([child, parent], place("parent_name")));
            return Ok(());
        };
        let field = |at: usize| {
            let field = all.get(at).copied().ok_or_else(|| {
                let (expected, found) = (child.max(parent) + 1, all.len());
                Error::input(format!(
                    "expected at least {expected} fields between tabs, found {found}; complete the \
                     line or take it out"
                ))
            })?;
            check_id(field)?;
            Ok(field)
        };
        let (child, parent) = (field(child)?, field(parent)?);
        if child == parent {
            return Err(Error::input(format!(
                "expected another parent than the child itself, found {child} twice; take the line \
                 out"
            )));
        }
        let mut key = |id: &str| -> Result<Option<Key>> {
            Ok(match find(id)? {
                Some(concept) => Some(Key::Concept(concept)),
                None => code_key(id).map(Key::Code),
            })
        };
        match (key(child)?, key(parent)?) {
            (Some(one), Some(other)) => {
                let display = name
                    .and_then(|at| all.get(at))
                    .map_or("", |name| name.trim());
                if let (Key::Code(code), false) = (&other, display.is_empty()) {
                    check_name(display)?;
                    self.list.displays.insert(code.clone(), display.to_owned());
                }
                self.list.push((one, child), (other, parent), self.line);
            }
            (one, _) => {
                let id = if one.is_none() { child } else { parent };
                self.unknown += 1;
                self.first_unknown.get_or_insert_with(|| id.to_owned());
            }
        }
        Ok(())
    }

    /// The number of rows with an identifier that is neither a concept nor a code, and the first
    /// such identifier.
    pub fn unknown(&self) -> Option<(usize, &str)> {
        let first = self.first_unknown.as_deref()?;
        Some((self.unknown, first))
    }

    /// The hierarchy.
    ///
    /// # Errors
    /// If no header was read, or there is a circle.
    pub fn finish(self) -> Result<HierarchyList> {
        if self.places.is_none() {
            return Err(Error::input(
                "expected a header with the columns child, parent between tabs, found an empty file",
            ));
        }
        self.list.check()?;
        Ok(self.list)
    }
}

fn check_id(id: &str) -> Result<()> {
    if id.is_empty() || id.contains(|c: char| c.is_whitespace() || clean::breaks_line(c)) {
        return Err(Error::input(format!(
            "expected an identifier without blanks, found {id:?}; correct it or take the line out"
        )));
    }
    Ok(())
}

fn check_name(name: &str) -> Result<()> {
    match name.contains(clean::breaks_line) {
        false => Ok(()),
        true => Err(Error::input(format!(
            "expected a name without control characters, found {name:?}"
        ))),
    }
}

/// A code with the prefix of its system: `ICD10CM:E11` of `icd-10-cm:E11`.
pub(super) fn code_key(id: &str) -> Option<String> {
    let (system, code) = id.split_once(':')?;
    let system: System = system.parse().ok()?;
    let code = code.trim();
    (!code.is_empty()).then(|| format!("{}:{code}", system.prefix()))
}

/// The hierarchy of an earlier version of a knowledge base.
impl HierarchyList {
    /// The nodes of another hierarchy with other concepts. `now` has the concept that each of the
    /// earlier ones became; `parents` and `codes` are those of [`HierarchyList::in_order`], `displays`
    /// the names of the codes, or nothing.
    pub(super) fn renumbered<'p>(
        concepts: usize,
        codes: &[String],
        displays: &[String],
        parents: impl Iterator<Item = (u32, &'p [u32])>,
        now: impl Fn(ConceptId) -> Option<ConceptId>,
    ) -> Self {
        let key = |node: u32| -> Option<Key> {
            match (node as usize).checked_sub(concepts) {
                None => now(ConceptId(node)).map(Key::Concept),
                Some(at) => codes.get(at).cloned().map(Key::Code),
            }
        };
        let (mut list, mut names) = (Self::new(), BTreeMap::new());
        for (child, own) in parents {
            for parent in own {
                if let (Some(one), Some(other)) = (key(child), key(*parent)) {
                    let mut name = |key: &Key| -> String {
                        let next = match key {
                            Key::Concept(concept) => format!("concept {}", concept.0),
                            Key::Code(code) => code.clone(),
                        };
                        names.entry(key.clone()).or_insert(next).clone()
                    };
                    let (child, parent) = (name(&one), name(&other));
                    list.push((one, &child), (other, &parent), 0);
                }
            }
        }
        for (code, display) in codes.iter().zip(displays) {
            if !display.is_empty() && list.numbers.contains_key(&Key::Code(code.clone())) {
                list.displays.insert(code.clone(), display.clone());
            }
        }
        list
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Concepts D1 to D9 by their digits.
    fn find(id: &str) -> Result<Option<ConceptId>> {
        let digit = id.strip_prefix('D').and_then(|digit| digit.parse().ok());
        Ok(digit.map(ConceptId))
    }

    fn read(text: &str) -> Result<HierarchyReader> {
        let mut reader = HierarchyReader::new();
        for line in text.lines() {
            reader.read_line(line, &mut find)?;
        }
        Ok(reader)
    }

    #[test]
    fn concepts_and_codes_are_nodes() {
        let reader = read(
            "source\tchild\tparent\nx\tD2\tD1\nx\tD1\tICD10CM:E11\nx\tICD10CM:E11\ticd-10-cm:E08-E13\n\
             \nx\tD2\tOTHER:1\nx\tD2\tD1\n",
        )
        .expect("whole");
        assert_eq!(reader.unknown(), Some((1, "OTHER:1")));
        let list = reader.finish().expect("no circle");
        assert_eq!(list.len(), 3);
        let (codes, parents) = list.in_order(3);
        assert_eq!(codes, ["ICD10CM:E08-E13", "ICD10CM:E11"]);
        assert_eq!(parents, [vec![], vec![4], vec![1], vec![], vec![3]]);
    }

    #[test]
    fn circle_is_refused_with_its_members() {
        let list = read("child\tparent\nD1\tD2\nD5\tD2\nD2\tMEDRT:N1\nMEDRT:N1\tD3\nD3\tD2\n");
        let said = list
            .expect("read")
            .finish()
            .expect_err("a circle")
            .to_string();
        assert!(
            said.contains("one of 3 members: D2 -> MEDRT:N1 -> D3 -> D2 (lines 4, 5, 6); take"),
            "{said}"
        );
        // Two ways to one ancestor are no circle.
        let list = read("child\tparent\nD1\tD2\nD1\tD3\nD2\tD4\nD3\tD4\n").expect("read");
        assert_eq!(list.finish().expect("no circle").len(), 4);
    }

    #[test]
    fn codes_have_names_of_a_column_or_of_tables() {
        let mut names = NameReader::new();
        for line in [
            "system\tcode\tdisplay",
            "ICD10CM\tE11\tType 2 diabetes",
            "ICD10CM\tA00\tCholera",
        ] {
            names.read_line(line).expect("a line");
        }
        let text = "child\tparent\tparent_name\nD1\tICD10CM:E11\nICD10CM:E11\tICD10CM:E08-E13\tDiabetes\nD1\tD2\tx\n";
        let mut list = read(text).expect("read").finish().expect("no circle");
        list.set_names(&names);
        assert_eq!(list.display("ICD10CM:E11"), "Type 2 diabetes");
        assert_eq!(list.display("ICD10CM:E08-E13"), "Diabetes");
        assert_eq!(
            list.displays.len(),
            2,
            "no name of a concept, or of a code that is no node"
        );
        let said = read("child\tparent\tparent_name\nD1\tICD10CM:E11\ta\u{7}b\n");
        let said = said.expect_err("a control character").to_string();
        assert!(said.contains("without control characters"), "{said}");
    }

    #[test]
    fn bad_lines_are_refused() {
        for (text, expected) in [
            ("child\tother\n", "columns child, parent"),
            (
                "child\tparent\nD1\n",
                "at least 2 fields between tabs, found 1",
            ),
            ("child\tparent\nD1\tD 2\n", "without blanks, found \"D 2\""),
            ("child\tparent\nD1\t\n", "without blanks, found \"\""),
            ("child\tparent\nD1\tD1\n", "found D1 twice"),
        ] {
            let said = read(text).expect_err("bad").to_string();
            assert!(said.contains(expected), "{expected}: {said}");
        }
        let said = read("").expect("nothing").finish().expect_err("empty");
        assert!(said.to_string().contains("an empty file"), "{said}");
    }
}
