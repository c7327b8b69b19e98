//! The domain of a concept or of a mention: what the negatives of training, the worlds of a split and a filtered search keep to.

use clap::ValueEnum;
use pel_shared::error::Error;
use pel_shared::kb::Concept;
use pel_shared::kb::KnowledgeBase;
use serde::Deserialize;
use serde::Serialize;
use std::collections::HashMap;
use std::collections::HashSet;

/// What the domain of a concept is (T-Biencoder, section 3.4): ZESHEL's worlds are sources.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum DomainOf {
    /// The first of its sources.
    #[default]
    Source,
    /// The first of its semantic types.
    Type,
}

/// The primary domain of a concept, by name; concepts without one have an empty one together.
pub fn domain_of(concept: &Concept, by: DomainOf) -> &str {
    let all = match by {
        DomainOf::Source => &concept.sources,
        DomainOf::Type => &concept.types,
    };
    all.first().map_or("", String::as_str)
}

/// Which domain is a mention's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum OwnDomain {
    /// That of its document (the field `domain`); its concepts have it as a source
    Document,
    /// The first source of its right concept, which is so known beforehand (an oracle)
    Source,
    /// The first semantic type of its right concept, which is so known beforehand (an oracle)
    Type,
}

impl OwnDomain {
    /// What makes the domain, where it is the right concept's.
    pub fn of_concept(self) -> Option<DomainOf> {
        match self {
            Self::Document => None,
            Self::Source => Some(DomainOf::Source),
            Self::Type => Some(DomainOf::Type),
        }
    }

    /// Where mentions are searched, in words.
    pub fn words(self) -> &'static str {
        match self {
            Self::Document => "among the concepts of the mention's domain alone",
            Self::Source => "among the concepts of the right concept's source alone (ORACLE)",
            Self::Type => "among the concepts of the right concept's type alone (ORACLE)",
        }
    }

    /// The concepts of each domain.
    pub(crate) fn members(self, kb: &KnowledgeBase) -> HashMap<&str, HashSet<u32>> {
        let mut members: HashMap<&str, HashSet<u32>> = HashMap::new();
        for (id, concept) in kb.iter() {
            match self.of_concept() {
                Some(by) => drop(members.entry(domain_of(concept, by)).or_default().insert(id.0)),
                None => concept.sources.iter().for_each(|source| {
                    members.entry(source).or_default().insert(id.0);
                }),
            }
        }
        members
    }
}

/// The error of a domain without concepts.
pub fn without_concept(domain: &str) -> Error {
    Error::input(format!("the domain {domain} of a document has no concept: no source is called so"))
}
