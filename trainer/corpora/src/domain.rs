//! Domains of concepts and mentions, for negatives, splits and filtered search.

use clap::ValueEnum;
use pel_kb::Concept;
use pel_kb::KnowledgeBase;
use pel_kb::error::Error;
use serde::Deserialize;
use serde::Serialize;
use std::collections::HashMap;
use std::collections::HashSet;

/// What defines the domain of a concept (T-Biencoder, section 3.4). ZESHEL's worlds are sources.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum DomainOf {
    /// Its first source.
    #[default]
    Source,
    /// Its first semantic type.
    Type,
}

/// The domain of a concept; empty if it has none.
pub fn domain_of(concept: &Concept, by: DomainOf) -> &str {
    let all = match by {
        DomainOf::Source => &concept.sources,
        DomainOf::Type => &concept.types,
    };
    all.first().map_or("", String::as_str)
}

/// What defines the domain of a mention.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum OwnDomain {
    /// The `domain` of its document; concepts of the domain have it as a source
    Document,
    /// The first source of its gold concept (an oracle)
    Source,
    /// The first semantic type of its gold concept (an oracle)
    Type,
}

impl OwnDomain {
    /// The concept's property that defines the domain, if the gold concept does.
    pub fn of_concept(self) -> Option<DomainOf> {
        match self {
            Self::Document => None,
            Self::Source => Some(DomainOf::Source),
            Self::Type => Some(DomainOf::Type),
        }
    }

    /// Describes the filter of the search.
    pub fn words(self) -> &'static str {
        match self {
            Self::Document => "only among concepts of the document's domain",
            Self::Source => "only among concepts of the gold concept's source (ORACLE)",
            Self::Type => "only among concepts of the gold concept's type (ORACLE)",
        }
    }

    /// The concepts of each domain.
    pub(crate) fn members(self, kb: &KnowledgeBase) -> HashMap<&str, HashSet<u32>> {
        let mut members: HashMap<&str, HashSet<u32>> = HashMap::new();
        for (id, concept) in kb.iter() {
            match self.of_concept() {
                Some(by) => drop(
                    members
                        .entry(domain_of(concept, by))
                        .or_default()
                        .insert(id.0),
                ),
                None => concept.sources.iter().for_each(|source| {
                    members.entry(source).or_default().insert(id.0);
                }),
            }
        }
        members
    }
}

/// The error for a domain without concepts.
pub fn missing_domain_error(domain: &str) -> Error {
    Error::input(format!(
        "expected concepts with the source {domain}, the domain of a document, found none"
    ))
}
