//! The hierarchy of a bundle's concepts: `hierarchy.bin`, read when it is first asked for.

use super::{Bundle, Parts, Resolved, names};
use pel_kb::ConceptId;
use pel_kb::codes::System;
use pel_kb::container::Check;
use pel_kb::error::{Context, Error, Result};
use pel_kb::hierarchy::{Hierarchy, HierarchyList, Node};
use std::collections::BTreeSet;

/// Puts a hierarchy in the place of the one that a bundle has. An empty list leaves it without.
pub(super) fn insert(parts: &mut Parts, list: &HierarchyList, concepts: usize) -> Result<()> {
    parts.0.remove(names::HIERARCHY);
    if !list.is_empty() {
        let bytes = list.to_bytes(concepts)?;
        parts.0.insert(names::HIERARCHY.into(), bytes.into());
    }
    Ok(())
}

impl Bundle {
    /// The hierarchy, if the bundle has one.
    ///
    /// # Errors
    /// If its file is damaged, or is of another number of concepts.
    pub fn hierarchy(&self) -> Result<Option<&Hierarchy>> {
        if !self.manifest.files.contains_key(names::HIERARCHY) {
            return Ok(None);
        }
        if let Some(hierarchy) = self.hierarchy.get() {
            return Ok(Some(hierarchy));
        }
        let read = || {
            let bytes = self.parts.get(names::HIERARCHY)?;
            let hierarchy = Hierarchy::from_bytes(bytes, Check::Trusted, self.codes.as_ref())?;
            let (expected, found) = (self.concepts.len(), hierarchy.concepts());
            match expected == found {
                true => Ok(hierarchy),
                false => Err(Error::artifact(format!(
                    "expected the parents of {expected} concepts, found those of {found}"
                ))),
            }
        };
        let hierarchy = read().context(|| names::HIERARCHY.to_owned())?;
        Ok(Some(self.hierarchy.get_or_init(|| hierarchy)))
    }

    /// The hierarchy of a bundle that must have one.
    ///
    /// # Errors
    /// If it has none; as [`Bundle::hierarchy`].
    pub fn needed_hierarchy(&self) -> Result<&Hierarchy> {
        self.hierarchy()?.ok_or_else(|| {
            Error::input(
                "expected a bundle with a hierarchy, found one without; `pel update --hierarchy \
                 FILE` gives it one",
            )
        })
    }

    /// The concepts that an identifier or a code stands for, and those below: a concept of the
    /// bundle, a retired identifier, a code of the hierarchy such as `ICD10CM:E08-E13`, or a code
    /// that concepts have. The concepts are in their order.
    ///
    /// # Errors
    /// If the bundle has no hierarchy, or knows neither such a concept nor such a code.
    pub fn under(&self, id: &str) -> Result<BTreeSet<ConceptId>> {
        let hierarchy = self.needed_hierarchy()?;
        let resolved = self.resolve(id)?;
        if let Resolved::Retired(redirect) = &resolved {
            return Err(Error::input(format!(
                "{id} is retired without a successor ({}); take it out",
                redirect.reason
            )));
        }
        let mut nodes = BTreeSet::new();
        nodes.extend(resolved.concept().map(|concept| concept.0));
        nodes.extend(hierarchy.find(id));
        nodes.extend(self.coded(id).into_iter().map(|concept| concept.0));
        if nodes.is_empty() {
            return Err(Error::input(format!(
                "expected the identifier of a concept, or a code of the bundle with its system, \
                 such as ICD10CM:E11 or SNOMEDCT:73211009, found {id:?}; `pel inspect BUNDLE --name \
                 NAME` shows identifiers and codes"
            )));
        }
        let nodes: Vec<u32> = nodes.into_iter().collect();
        let below = hierarchy.below(&nodes);
        let all = nodes.into_iter().chain(below);
        Ok(all
            .filter_map(|node| match hierarchy.node(node) {
                Some(Node::Concept(concept)) => Some(concept),
                Some(Node::Code(_)) | None => None,
            })
            .collect())
    }

    /// The concepts that have a code, such as `SNOMEDCT:73211009`.
    fn coded(&self, id: &str) -> Vec<ConceptId> {
        let Some((system, code)) = id.split_once(':') else {
            return Vec::new();
        };
        let (Ok(system), Some(codes)) = (system.parse::<System>(), &self.codes) else {
            return Vec::new();
        };
        let all = (0..self.concepts.len()).map(|at| ConceptId(at as u32));
        all.filter(|concept| {
            let mut own = codes.of(*concept);
            own.any(|own| own.system == system && own.code == code.trim())
        })
        .collect()
    }

    /// The official name of a code with its system, such as `ICD10CM:E11`, if it is known: that of a
    /// code of a concept, or of a node of the hierarchy.
    pub fn display(&self, id: &str) -> Option<&str> {
        let of_concept = || {
            let (system, code) = id.split_once(':')?;
            let codes = self.codes.as_ref()?;
            codes.display(System::of_prefix(system)?, code)
        };
        let of_node = || self.hierarchy().ok().flatten()?.display(id);
        of_concept().or_else(of_node)
    }

    /// The concepts and codes above a concept, the nearest first; empty without a hierarchy.
    ///
    /// # Errors
    /// As [`Bundle::hierarchy`].
    pub fn ancestors(&self, concept: ConceptId) -> Result<Vec<Node<'_>>> {
        let Some(hierarchy) = self.hierarchy()? else {
            return Ok(Vec::new());
        };
        let above = hierarchy.ancestors(concept.0).into_iter();
        Ok(above.filter_map(|node| hierarchy.node(node)).collect())
    }
}
