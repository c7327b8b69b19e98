//! Exact matching of surface forms with names.

use pel_kb::score::Candidate;
use pel_kb::{ConceptId, KnowledgeBase};
use std::collections::HashMap;

/// How names and surface forms are normalised before they are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Normal {
    /// Lower case.
    LowerCase,
    /// Lower case. Characters other than letters, digits and `_` separate words; one space joins
    /// them.
    Words,
}

impl Normal {
    /// Normalises a text.
    pub fn apply(self, text: &str) -> String {
        let lower = text.to_lowercase();
        match self {
            Normal::LowerCase => lower,
            Normal::Words => {
                let words = lower
                    .split(|c: char| !c.is_alphanumeric() && c != '_')
                    .filter(|word| !word.is_empty());
                words.collect::<Vec<_>>().join(" ")
            }
        }
    }
}

/// All names and synonyms of a knowledge base with their concepts.
#[derive(Clone, Debug)]
pub struct ExactNames {
    normal: Normal,
    /// For each normalised name, the concepts that have it, in concept order.
    concepts: HashMap<String, Vec<ConceptId>>,
}

impl ExactNames {
    /// Indexes all names. Names that are empty after normalisation are left out.
    pub fn new(kb: &KnowledgeBase, normal: Normal) -> Self {
        let mut concepts: HashMap<String, Vec<ConceptId>> = HashMap::new();
        for (id, concept) in kb.iter() {
            for name in concept.names() {
                let name = normal.apply(name);
                if name.is_empty() {
                    continue;
                }
                let with_name = concepts.entry(name).or_default();
                // Several names of a concept may be equal after normalisation.
                if with_name.last() != Some(&id) {
                    with_name.push(id);
                }
            }
        }
        Self { normal, concepts }
    }

    /// The normalisation of names.
    pub fn normal(&self) -> Normal {
        self.normal
    }

    /// The number of distinct normalised names.
    pub fn len(&self) -> usize {
        self.concepts.len()
    }

    /// Whether there is no name.
    pub fn is_empty(&self) -> bool {
        self.concepts.is_empty()
    }

    /// The concepts that have this name, in concept order.
    pub fn bearers(&self, surface: &str) -> &[ConceptId] {
        self.concepts
            .get(&self.normal.apply(surface))
            .map_or(&[], Vec::as_slice)
    }

    /// The first `k` concepts that have this name, each with score 1.
    pub fn search(&self, surface: &str, k: usize) -> Vec<Candidate> {
        self.bearers(surface)
            .iter()
            .take(k)
            .map(|id| Candidate::new(*id, 1.0))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pel_kb::Concept;

    fn kb() -> KnowledgeBase {
        let mut kb = KnowledgeBase::new();
        for (id, name, synonyms) in [
            ("D1", "Type-2 diabetes", vec!["T2D", "t2d"]),
            ("D2", "T2D", vec![]),
            ("D3", "--", vec!["type 2 diabetes"]),
        ] {
            let synonyms = synonyms.into_iter().map(str::to_owned).collect();
            kb.push(Concept {
                id: id.into(),
                name: name.into(),
                synonyms,
                ..Concept::default()
            })
            .expect("new");
        }
        kb
    }

    #[test]
    fn search_returns_each_concept_once_in_concept_order() {
        let names = ExactNames::new(&kb(), Normal::LowerCase);
        assert_eq!(
            names.search("t2D", 8),
            [
                Candidate::new(ConceptId(0), 1.0),
                Candidate::new(ConceptId(1), 1.0)
            ]
        );
        assert_eq!(names.search("t2D", 1), [Candidate::new(ConceptId(0), 1.0)]);
        assert_eq!(
            names.search("type 2 diabetes", 8),
            [Candidate::new(ConceptId(2), 1.0)]
        );
        assert_eq!(names.search("t2", 8), []);
        assert_eq!(names.len(), 4);
    }

    #[test]
    fn normal_words_ignores_punctuation() {
        let names = ExactNames::new(&kb(), Normal::Words);
        assert_eq!(
            names.bearers("(Type 2)  diabetes"),
            [ConceptId(0), ConceptId(2)]
        );
        assert_eq!(
            names.bearers("--"),
            [],
            "a name without words is not indexed"
        );
    }
}
