//! The knowledge base: an ordered list of concepts with unique identifiers.

pub mod changes;
pub mod clean;
pub mod codes;
pub mod container;
pub mod digest;
pub mod error;
pub mod group;
pub mod hierarchy;
pub mod leb128;
pub mod lines;
pub mod numbers;
pub mod redirects;
pub mod report;
pub mod score;
pub mod table;
pub mod tidy;

use crate::error::{Error, Result};
use changes::ById;
use redirects::Redirects;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

/// The position of a concept in its knowledge base. Tied scores are ordered by it, lower first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ConceptId(pub u32);

impl ConceptId {
    /// The position as an index.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A concept (entity) of the knowledge base. Its JSON form is a line of a concept table. Unknown
/// fields are ignored.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Concept {
    /// The identifier (a CUI, `MONDO:0005148` ...), unique in its knowledge base.
    pub id: String,
    /// The preferred name, the title of the papers' templates.
    pub name: String,
    /// Synonyms.
    #[serde(default)]
    pub synonyms: Vec<String>,
    /// The names of the semantic types, the primary one first.
    #[serde(default)]
    pub types: Vec<String>,
    /// The identifiers of the semantic types (TUIs), if the source has them.
    #[serde(default)]
    pub type_ids: Vec<String>,
    /// The description of the papers' templates.
    #[serde(default)]
    pub definition: Option<String>,
    /// Identifiers of the concept in other vocabularies (cross-references).
    #[serde(default)]
    pub xrefs: Vec<String>,
    /// The vocabularies that the concept comes from.
    #[serde(default)]
    pub sources: Vec<String>,
}

impl Concept {
    /// The preferred name, then the synonyms, without exact duplicates.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        let mut seen = HashSet::with_capacity(1 + self.synonyms.len());
        let all = std::iter::once(&self.name).chain(&self.synonyms);
        all.map(String::as_str)
            .filter(move |name| seen.insert(*name))
    }
}

/// Concepts by position and by identifier.
#[derive(Clone, Debug, Default)]
pub struct KnowledgeBase {
    concepts: Vec<Concept>,
    by_id: HashMap<String, ConceptId>,
    redirects: Option<Redirects>,
}

impl KnowledgeBase {
    /// An empty knowledge base.
    pub fn new() -> Self {
        Self::default()
    }

    /// Appends a concept.
    ///
    /// # Errors
    /// If its identifier exists already, or its identifier or name is blank.
    pub fn push(&mut self, concept: Concept) -> Result<ConceptId> {
        if concept.id.trim().is_empty() {
            return Err(Error::input(format!(
                "the concept {:?} has no `id`",
                concept.name
            )));
        }
        if concept.name.trim().is_empty() {
            return Err(Error::input(format!(
                "the concept {} has no `name`",
                concept.id
            )));
        }
        if self.by_id.contains_key(&concept.id) {
            return Err(Error::input(format!(
                "expected unique ids, found {} twice",
                concept.id
            )));
        }
        let at = u32::try_from(self.concepts.len())
            .map_err(|_| Error::input("expected at most 2^32 concepts, found more"))?;
        self.by_id.insert(concept.id.clone(), ConceptId(at));
        self.concepts.push(concept);
        Ok(ConceptId(at))
    }

    /// The number of concepts.
    pub fn len(&self) -> usize {
        self.concepts.len()
    }

    /// Whether there is no concept.
    pub fn is_empty(&self) -> bool {
        self.concepts.is_empty()
    }

    /// All concepts with their positions.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (ConceptId, &Concept)> {
        self.concepts
            .iter()
            .enumerate()
            .map(|(at, concept)| (ConceptId(at as u32), concept))
    }

    /// The concept at a position.
    pub fn get(&self, id: ConceptId) -> Option<&Concept> {
        self.concepts.get(id.index())
    }

    /// The concepts in the order of their identifiers.
    pub fn by_id(&self) -> ById<'_> {
        let mut order: Vec<(ConceptId, &Concept)> = self.iter().collect();
        order.sort_unstable_by(|(_, a), (_, b)| a.id.cmp(&b.id));
        let borrowed = |(at, concept)| Ok((at, Cow::Borrowed(concept)));
        Box::new(order.into_iter().map(borrowed))
    }

    /// The position of an identifier.
    pub fn find(&self, id: &str) -> Option<ConceptId> {
        self.by_id.get(id).copied()
    }

    /// Sets the retired identifiers that [`KnowledgeBase::successor`] follows.
    pub fn set_redirects(&mut self, redirects: Option<Redirects>) {
        self.redirects = redirects;
    }

    /// The retired identifiers, if there are any.
    pub fn redirects(&self) -> Option<&Redirects> {
        self.redirects.as_ref()
    }

    /// The position of the successor of a retired identifier. `None` for any other identifier.
    ///
    /// # Errors
    /// If a redirect that is read is damaged, or its successor is no concept.
    pub fn successor(&self, id: &str) -> Result<Option<ConceptId>> {
        let redirect = match &self.redirects {
            None => None,
            Some(redirects) => redirects.find(id)?,
        };
        let Some(successor) = redirect.and_then(|redirect| redirect.replaced_by) else {
            return Ok(None);
        };
        match self.find(&successor) {
            Some(at) => Ok(Some(at)),
            None => Err(redirects::no_successor(id, &successor)),
        }
    }
}

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

#[cfg(test)]
mod tests {
    use super::*;

    fn concept(id: &str, name: &str, synonyms: &[&str]) -> Concept {
        Concept {
            id: id.into(),
            name: name.into(),
            synonyms: synonyms.iter().map(|s| s.to_string()).collect(),
            ..Concept::default()
        }
    }

    #[test]
    fn names_are_in_order_without_duplicates() {
        let concept = concept("D1", "fever", &["pyrexia", "fever", "pyrexia", "Fever"]);
        assert_eq!(
            concept.names().collect::<Vec<_>>(),
            ["fever", "pyrexia", "Fever"]
        );
    }

    #[test]
    fn push_requires_unique_identifiers_and_names() {
        let mut kb = KnowledgeBase::new();
        assert_eq!(
            kb.push(concept("D1", "fever", &[])).expect("new"),
            ConceptId(0)
        );
        assert!(
            kb.push(concept("D1", "cough", &[]))
                .expect_err("taken")
                .to_string()
                .contains("found D1 twice")
        );
        assert!(
            kb.push(concept("D2", " ", &[]))
                .expect_err("no name")
                .to_string()
                .contains("the concept D2 has no `name`")
        );
        assert_eq!(
            (kb.len(), kb.find("D1"), kb.find("D2")),
            (1, Some(ConceptId(0)), None)
        );
    }
}
