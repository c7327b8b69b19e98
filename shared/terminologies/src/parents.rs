//! Is-a between the concepts of a release: the file `hierarchy.tsv`, which `pel index --hierarchy`
//! reads.

use crate::import::report::Report;
use pel_kb::ConceptId;
use pel_kb::clean::breaks_line;
use pel_kb::error::{Context, Error, Result};
use pel_kb::hierarchy::HierarchyList;
use std::collections::{HashMap, HashSet};
use std::io::Write;
use std::rc::Rc;

/// The name of the file.
pub const FILE: &str = "hierarchy.tsv";
/// The kind of record under which a report counts parents.
pub const PARENTS: &str = "parents";
/// The note on a parent or child that is no imported concept.
pub const NOT_IMPORTED: &str = "parent of or below a concept that is not imported (left out)";

/// Where something is stated: the file, and the line from 1, or 0 for a file without lines.
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
    /// The name of the file in messages.
    pub file: &'a str,
    /// The line.
    pub line: usize,
}

/// Children with their parents, collected while a terminology is read.
#[derive(Debug, Default)]
pub struct Parents {
    is_wanted: bool,
    numbers: HashMap<Rc<str>, u32>,
    nodes: Vec<Node>,
    edges: Vec<Edge>,
    /// The nodes by the places in a tree that they have.
    places: HashMap<String, u32>,
    /// Nodes that are below the node at a place in a tree.
    below: Vec<(u32, String, u32)>,
    files: Vec<String>,
}

#[derive(Debug)]
struct Node {
    id: Rc<str>,
    /// The name of a code that is no concept; `None` for a concept.
    code: Option<String>,
}

#[derive(Clone, Copy, Debug)]
struct Edge {
    child: u32,
    parent: u32,
    line: u32,
}

impl Parents {
    /// Without a child. Unless parents are wanted, none are collected.
    #[must_use]
    pub fn new(is_wanted: bool) -> Self {
        Self {
            is_wanted,
            ..Self::default()
        }
    }

    /// Whether parents are collected.
    #[must_use]
    pub fn is_wanted(&self) -> bool {
        self.is_wanted
    }

    fn number(&mut self, id: &str) -> u32 {
        if let Some(known) = self.numbers.get(id) {
            return *known;
        }
        let number = self.nodes.len() as u32;
        let id: Rc<str> = Rc::from(id);
        self.numbers.insert(Rc::clone(&id), number);
        self.nodes.push(Node { id, code: None });
        number
    }

    fn begin(&mut self, place: Place<'_>) -> u32 {
        if self.files.last().is_none_or(|last| last != place.file) {
            self.files.push(place.file.to_owned());
        }
        u32::try_from(place.line).unwrap_or(0)
    }

    /// Adds a parent of a child, if parents are wanted. Blanks around identifiers are removed.
    pub fn add(&mut self, child: &str, parent: &str, place: Place<'_>) {
        let (child, parent) = (child.trim(), parent.trim());
        if self.is_wanted && !child.is_empty() && !parent.is_empty() {
            let line = self.begin(place);
            let (child, parent) = (self.number(child), self.number(parent));
            self.edges.push(Edge {
                child,
                parent,
                line,
            });
        }
    }

    /// States that an identifier is a code of a standard system that is no concept, with its name,
    /// which may be empty.
    pub fn code(&mut self, id: &str, name: &str) {
        if self.is_wanted {
            let number = self.number(id.trim()) as usize;
            if let Some(node) = self.nodes.get_mut(number) {
                let name = name.trim();
                let known = node.code.take().filter(|known| !known.is_empty());
                node.code = Some(known.unwrap_or_else(|| name.to_owned()));
            }
        }
    }

    /// Adds a place in a tree, such as `C14.280.067`: its node is below the one at `C14.280`.
    pub fn add_place(&mut self, id: &str, tree: &str, place: Place<'_>) {
        let tree = tree.trim();
        if self.is_wanted && !tree.is_empty() {
            let line = self.begin(place);
            let node = self.number(id.trim());
            self.places.insert(tree.to_owned(), node);
            if let Some((above, _)) = tree.rsplit_once('.') {
                self.below.push((node, above.to_owned(), line));
            }
        }
    }

    /// Leaves out what is not among the imported concepts, and checks that no node is above itself.
    /// `merged` has the identifiers that became others. `exists` says whether a concept has an
    /// identifier.
    ///
    /// # Errors
    /// If there is a circle. The error names its members and, where the release has lines, these.
    pub fn finish(
        &mut self,
        merged: &HashMap<String, String>,
        exists: impl Fn(&str) -> bool,
        report: &mut Report,
    ) -> Result<()> {
        for (child, above, line) in std::mem::take(&mut self.below) {
            if let Some(parent) = self.places.get(&above).copied() {
                self.edges.push(Edge {
                    child,
                    parent,
                    line,
                });
            }
        }
        let all = self.nodes.iter();
        let ids: Vec<Rc<str>> = all.map(|node| Rc::clone(&node.id)).collect();
        let mut now = Vec::with_capacity(ids.len());
        for (at, id) in ids.iter().enumerate() {
            let own = match merged.get(&**id) {
                Some(other) => self.number(other),
                None => at as u32,
            };
            let node = &self.nodes[own as usize];
            let is_valid = !node
                .id
                .contains(|c: char| c.is_whitespace() || breaks_line(c));
            let is_known = node.code.is_some() || exists(&node.id);
            now.push(Some(own).filter(|_| is_valid && is_known));
        }
        let mut seen = HashSet::new();
        let mut kept = Vec::new();
        let mut list = HierarchyList::new();
        for edge in std::mem::take(&mut self.edges) {
            let of = |node: u32| now.get(node as usize).copied().flatten();
            let (Some(child), Some(parent)) = (of(edge.child), of(edge.parent)) else {
                let place = || format!("{} below {}", self.id(edge.child), self.id(edge.parent));
                report.note(NOT_IMPORTED, place);
                continue;
            };
            if child != parent && seen.insert((child, parent)) {
                let (one, other) = (self.id(child), self.id(parent));
                list.push_concepts(
                    (ConceptId(child), one),
                    (ConceptId(parent), other),
                    edge.line,
                );
                kept.push(Edge {
                    child,
                    parent,
                    line: edge.line,
                });
            }
        }
        list.check().context(|| self.files.join(", "))?;
        if !kept.is_empty() {
            report.keep(PARENTS, kept.len());
        }
        self.edges = kept;
        Ok(())
    }

    fn id(&self, node: u32) -> &str {
        self.nodes.get(node as usize).map_or("", |node| &node.id)
    }

    /// Whether there is no child.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.edges.is_empty()
    }

    /// Writes the file: child, parent, and the name of a parent that is a code.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn write(&self, out: &mut dyn Write) -> Result<()> {
        let failed = |cause| Error::io(format!("writing {FILE}")).caused_by(cause);
        writeln!(out, "child\tparent\tparent_name").map_err(failed)?;
        for edge in &self.edges {
            let parent = self.nodes.get(edge.parent as usize);
            let name = parent.and_then(|parent| parent.code.as_deref());
            let name = name.unwrap_or_default().replace(breaks_line, " ");
            let (child, parent) = (self.id(edge.child), self.id(edge.parent));
            writeln!(out, "{child}\t{parent}\t{name}").map_err(failed)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLACE: Place<'static> = Place {
        file: "a.txt",
        line: 7,
    };

    fn written(parents: &Parents) -> String {
        let mut out = Vec::new();
        parents.write(&mut out).expect("written");
        String::from_utf8(out).expect("a text")
    }

    #[test]
    fn concepts_codes_and_merged_concepts_are_nodes() {
        let mut parents = Parents::new(true);
        for (child, parent) in [
            ("A", "B"),
            ("A", "B"),
            ("B", "X"),
            ("C", "B"),
            ("A", "A"),
            ("D", "A"),
        ] {
            parents.add(child, parent, PLACE);
        }
        parents.add("B", "ICD10CM:A00-B99", PLACE);
        parents.code("ICD10CM:A00-B99", "Infections");
        let merged = HashMap::from([("D".to_owned(), "C".to_owned())]);
        let mut report = Report::default();
        parents
            .finish(&merged, |id| "ABC".contains(id), &mut report)
            .expect("no circle");
        assert_eq!(
            written(&parents),
            "child\tparent\tparent_name\nA\tB\t\nC\tB\t\nC\tA\t\nB\tICD10CM:A00-B99\tInfections\n"
        );
        assert_eq!([report.kept(PARENTS), report.noted[NOT_IMPORTED]], [4, 1]);
    }

    #[test]
    fn places_in_a_tree_give_parents() {
        let mut parents = Parents::new(true);
        for (id, tree) in [
            ("D2", "C01.150"),
            ("D1", "C01"),
            ("D3", "C01.150.9"),
            ("D3", "C23.1"),
        ] {
            parents.add_place(id, tree, PLACE);
        }
        let mut report = Report::default();
        parents
            .finish(&HashMap::new(), |_| true, &mut report)
            .expect("no circle");
        assert_eq!(
            written(&parents),
            "child\tparent\tparent_name\nD2\tD1\t\nD3\tD2\t\n"
        );
    }

    #[test]
    fn circle_is_refused_with_its_lines() {
        let mut parents = Parents::new(true);
        for (line, child, parent) in [(3, "A", "B"), (9, "B", "C"), (12, "C", "A")] {
            let place = Place {
                file: "a.txt",
                line,
            };
            parents.add(child, parent, place);
        }
        let said = parents
            .finish(&HashMap::new(), |_| true, &mut Report::default())
            .expect_err("a circle")
            .to_string();
        assert!(
            said.contains("a.txt: expected a hierarchy without circles")
                && said.contains("A -> B -> C -> A (lines 3, 9, 12)"),
            "{said}"
        );
    }

    #[test]
    fn nothing_is_collected_unless_it_is_wanted() {
        let mut parents = Parents::default();
        parents.add("A", "B", PLACE);
        parents.code("B", "b");
        parents.add_place("A", "C01.1", PLACE);
        assert!(parents.nodes.is_empty() && parents.is_empty());
    }
}
