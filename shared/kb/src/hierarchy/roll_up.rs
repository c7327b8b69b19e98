//! Counts concepts by codes above them: chapters of ICD-10-CM, for example.

use super::table::{Hierarchy, Node};
use crate::ConceptId;
use crate::codes::System;
use crate::error::{Error, Result};
use std::collections::BTreeSet;
use std::str::FromStr;

/// A level of a code system: 1 for its top, such as the chapters of ICD-10-CM, 2 for the nodes
/// below these, and so on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RollUp {
    /// The system.
    pub system: System,
    /// The level, 1 or more.
    pub level: u32,
}

impl FromStr for RollUp {
    type Err = Error;

    /// A system, or a system and a level: `ICD10CM`, `ICD10CM:2`.
    fn from_str(text: &str) -> Result<Self> {
        let (system, level) = match text.split_once(':') {
            None => (text, 1),
            Some((system, level)) => {
                let level = level.parse().ok().filter(|level| (1..=99).contains(level));
                let level = level.ok_or_else(|| {
                    Error::input(format!(
                        "expected a code system with a level from 1 to 99, such as ICD10CM:2, found \
                         {text:?}"
                    ))
                })?;
                (system, level)
            }
        };
        Ok(Self {
            system: system.parse()?,
            level,
        })
    }
}

/// The nodes of a level, and what leads to them.
#[derive(Debug)]
pub struct Levels<'h> {
    hierarchy: &'h Hierarchy,
    /// The codes of the nodes of the system, those of concepts that have one as identifier too.
    codes: Vec<Option<String>>,
    /// The level of each node of the system by its shortest way from the top; 0 for others.
    levels: Vec<u32>,
    level: u32,
}

impl Hierarchy {
    /// Prepares for counts at a level. `id` has the identifier of a concept, since it can be a code
    /// of the system.
    ///
    /// # Errors
    /// If the hierarchy has no node of this level, or `id` fails.
    pub fn levels(
        &self,
        roll_up: RollUp,
        mut id: impl FnMut(ConceptId) -> Result<String>,
    ) -> Result<Levels<'_>> {
        let prefix = format!("{}:", roll_up.system.prefix());
        let own = |text: &str| text.strip_prefix(&prefix).map(str::to_owned);
        let nodes = self.concepts() + self.codes();
        let mut codes = Vec::with_capacity(nodes);
        for node in (0..nodes as u32).filter_map(|node| self.node(node)) {
            codes.push(match node {
                Node::Concept(concept) => own(&id(concept)?),
                Node::Code(code) => own(code),
            });
        }
        let is_of_system = |node: u32| codes.get(node as usize).is_some_and(Option::is_some);
        let mut current: Vec<u32> = (0..nodes as u32)
            .filter(|node| {
                let mut parents = self.parents(*node).iter();
                is_of_system(*node) && !parents.any(|parent| is_of_system(*parent))
            })
            .collect();
        let (mut levels, mut level) = (vec![0; nodes], 1);
        while !current.is_empty() {
            let mut next = BTreeSet::new();
            for node in current {
                levels[node as usize] = level;
                let children = self.children(node).iter().copied();
                next.extend(children.filter(|child| is_of_system(*child)));
            }
            level += 1;
            current = next
                .into_iter()
                .filter(|node| levels[*node as usize] == 0)
                .collect();
        }
        if !levels.contains(&roll_up.level) {
            return Err(Error::input(format!(
                "the hierarchy of the bundle has no nodes of {} at level {}; it has {} levels of it",
                roll_up.system.name(),
                roll_up.level,
                levels.iter().max().copied().unwrap_or(0)
            )));
        }
        Ok(Levels {
            hierarchy: self,
            codes,
            levels,
            level: roll_up.level,
        })
    }
}

impl Levels<'_> {
    /// The nodes of the level above a concept, in the order of their texts: those of its own codes
    /// in the system, or else those of the nearest concepts above it that have such codes.
    pub fn of(&self, concept: ConceptId) -> Vec<&str> {
        let (mut seen, mut current) = (BTreeSet::new(), vec![concept.0]);
        let found = match self.levels.get(concept.index()) {
            Some(0) | None => BTreeSet::new(),
            Some(_) => self.above(current.clone()),
        };
        if !found.is_empty() {
            return found.into_iter().collect();
        }
        while !current.is_empty() {
            let (mut coded, mut next) = (Vec::new(), Vec::new());
            for node in current {
                for parent in self.hierarchy.parents(node) {
                    match self.levels.get(*parent as usize) {
                        Some(0) | None if seen.insert(*parent) => next.push(*parent),
                        Some(0) | None => {}
                        Some(_) => coded.push(*parent),
                    }
                }
            }
            let found = self.above(coded);
            if !found.is_empty() {
                return found.into_iter().collect();
            }
            current = next;
        }
        Vec::new()
    }

    /// The nodes of the level above nodes of the system, and these nodes themselves.
    fn above(&self, mut nodes: Vec<u32>) -> BTreeSet<&str> {
        let (mut found, mut seen) = (BTreeSet::new(), BTreeSet::new());
        while let Some(node) = nodes.pop() {
            if !seen.insert(node) {
                continue;
            }
            let level = self.levels.get(node as usize).copied().unwrap_or(0);
            if level == self.level {
                let code = self.codes.get(node as usize);
                found.extend(code.and_then(Option::as_deref));
            } else if level > self.level {
                nodes.extend(self.hierarchy.parents(node));
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::super::HierarchyReader;
    use super::*;
    use crate::container::Check;

    fn hierarchy(lines: &str) -> Hierarchy {
        let mut reader = HierarchyReader::new();
        let mut find = |id: &str| {
            let number = id.strip_prefix('D').and_then(|digits| digits.parse().ok());
            Ok(number.map(ConceptId))
        };
        for line in lines.lines() {
            reader.read_line(line, &mut find).expect("a line");
        }
        let bytes = reader
            .finish()
            .expect("no circle")
            .to_bytes(9)
            .expect("written");
        Hierarchy::from_bytes(&bytes.into(), Check::Checksums, None).expect("whole")
    }

    fn of(hierarchy: &Hierarchy, roll_up: &str, concept: u32) -> Vec<String> {
        let roll_up = roll_up.parse().expect("a level");
        let id = |concept: ConceptId| {
            Ok(match concept.0 {
                8 => "ICD10CM:E12".to_owned(),
                other => format!("D{other}"),
            })
        };
        let levels = hierarchy.levels(roll_up, id).expect("there");
        levels
            .of(ConceptId(concept))
            .into_iter()
            .map(str::to_owned)
            .collect()
    }

    #[test]
    fn own_codes_count_before_those_of_nearer_looking_ancestors() {
        let h = hierarchy(
            "child\tparent\nICD10CM:E11.9\tICD10CM:E11\nICD10CM:E11\tICD10CM:E08-E13\n\
             ICD10CM:E08-E13\tICD10CM:E00-E89\nICD10CM:A00\tICD10CM:A00-B99\nD1\tICD10CM:E11.9\n\
             D1\tD2\nD2\tICD10CM:A00-B99\nD3\tD1\nD3\tD2\nD4\tD5\nD6\tMEDRT:N1\n\
             ICD10CM:E12.1\tD8\nD8\tICD10CM:E08-E13\nD7\tICD10CM:E12.1\n",
        );
        // The identifier of D8 is a code of the system.
        assert_eq!(of(&h, "ICD10CM", 8), ["E00-E89"]);
        assert_eq!(of(&h, "ICD10CM:3", 7), ["E12"]);
        assert_eq!(of(&h, "ICD10CM", 1), ["E00-E89"]);
        assert_eq!(of(&h, "ICD10CM", 2), ["A00-B99"]);
        assert_eq!(of(&h, "ICD10CM", 3), ["A00-B99", "E00-E89"]);
        assert!(of(&h, "ICD10CM", 4).is_empty());
        assert_eq!(of(&h, "ICD10CM:2", 1), ["E08-E13"]);
        assert!(of(&h, "ICD10CM:2", 2).is_empty());
        assert_eq!(of(&h, "MED-RT", 6), ["N1"]);
        let said = h.levels("ICD10CM:9".parse().expect("a level"), |_| Ok(String::new()));
        let said = said.expect_err("none");
        assert!(said.to_string().contains("it has 4 levels"), "{said}");
    }

    #[test]
    fn level_is_a_system_and_a_number() {
        let read = |text: &str| text.parse::<RollUp>().map(|own| (own.system, own.level));
        assert_eq!(read("icd-10-cm").expect("a system"), (System::Icd10Cm, 1));
        assert_eq!(read("ICD10CM:3").expect("a level"), (System::Icd10Cm, 3));
        for bad in ["ICD10CM:0", "ICD10CM:x", "OPCS4", "ICD10CM:"] {
            assert!(read(bad).is_err(), "{bad}");
        }
    }
}
