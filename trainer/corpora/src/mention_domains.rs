//! Domains of mentions, by which metrics are grouped and averaged.

use crate::split::Split;
use clap::ValueEnum;
use pel_io::corpus_files;
use pel_io::files::for_each_line;
use pel_kb::error::Result;
use pel_kb::{Concept, KnowledgeBase};
use pel_terminologies::import::records::record;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashMap};
use std::path::Path;

/// The property that defines a domain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum By {
    /// The semantic types of the gold concept
    Type,
    /// The sources of the gold concept
    Source,
    /// The field `domain` of the document
    Domain,
}

impl By {
    /// The domains' name in tables.
    pub fn plural(self) -> &'static str {
        match self {
            Self::Type => "types",
            Self::Source => "sources",
            Self::Domain => "domains",
        }
    }
}

/// The domains of a split's mentions with a concept of the knowledge base.
#[derive(Clone, Debug)]
pub struct Domains {
    /// The property that defines a domain.
    pub by: By,
    /// Names of the domains in alphabetical order.
    pub names: Vec<String>,
    /// Indices into `names` for each mention; a mention may have several or none.
    pub of_mention: Vec<Vec<usize>>,
}

impl Domains {
    /// Collects the domains of mentions; `of_document` maps document ids to domains.
    pub fn new(
        by: By,
        split: &Split,
        kb: &KnowledgeBase,
        of_document: &HashMap<String, String>,
    ) -> Self {
        let names_of = |concept: &Concept| match by {
            By::Type if concept.types.is_empty() => concept.type_ids.clone(),
            By::Type => concept.types.clone(),
            By::Source => concept.sources.clone(),
            By::Domain => Vec::new(),
        };
        let names_of_mention = |gold: &crate::split::Gold| {
            let Some(concept) = gold.concept.and_then(|concept| kb.get(concept)) else {
                return Vec::new();
            };
            let document = split
                .documents
                .get(gold.document)
                .map(|document| document.doc_id.as_str());
            let of_document = (by == By::Domain)
                .then(|| of_document.get(document?).cloned())
                .flatten();
            of_document.into_iter().chain(names_of(concept)).collect()
        };
        let texts: Vec<Vec<String>> = split.mentions.iter().map(names_of_mention).collect();
        let mut places: BTreeMap<&str, usize> = texts
            .iter()
            .flatten()
            .map(|name| (name.as_str(), 0))
            .collect();
        places
            .values_mut()
            .enumerate()
            .for_each(|(at, place)| *place = at);
        let places_of = |names: &Vec<String>| {
            let mut places: Vec<usize> = names
                .iter()
                .filter_map(|name| places.get(name.as_str()).copied())
                .collect();
            places.sort_unstable();
            places.dedup();
            places
        };
        let of_mention = texts.iter().map(places_of).collect();
        Self {
            by,
            names: places.into_keys().map(str::to_owned).collect(),
            of_mention,
        }
    }
}

/// The domain of each document that has one, by document id.
///
/// # Errors
/// If the documents cannot be read. The error names file, line and field.
pub fn of_documents(folder: &Path) -> Result<HashMap<String, String>> {
    #[derive(Deserialize)]
    struct Row {
        doc_id: String,
        domain: Option<String>,
    }
    let mut domains = HashMap::new();
    for file in corpus_files::existing(folder, "documents") {
        for_each_line(&file, |_, line| {
            if !line.trim().is_empty()
                && let Row {
                    doc_id,
                    domain: Some(domain),
                } = record(line)?
            {
                domains.insert(doc_id, domain);
            }
            Ok(())
        })?;
    }
    Ok(domains)
}
