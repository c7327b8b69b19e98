//! The domains of mentions: figures are told apart by them, and averaged over them so that each counts once.

use crate::data::split::Split;
use crate::io::files::for_each_line;
use clap::ValueEnum;
use pel_shared::error::Result;
use pel_shared::kb::import::records::record;
use pel_shared::kb::{Concept, KnowledgeBase};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashMap};
use std::path::Path;

/// What makes a domain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum By {
    /// The semantic types of the mention's concept
    Type,
    /// The vocabularies that the mention's concept comes from
    Source,
    /// The field `domain` of the mention's document
    Domain,
}

impl By {
    /// The domains as tables call them.
    pub fn plural(self) -> &'static str {
        match self {
            Self::Type => "types",
            Self::Source => "sources",
            Self::Domain => "domains",
        }
    }
}

/// The domains of the mentions of a split whose concept the knowledge base has.
#[derive(Clone, Debug)]
pub struct Domains {
    /// What makes a domain.
    pub by: By,
    /// Their names, in alphabetical order.
    pub names: Vec<String>,
    /// The positions of each mention's domains in `names`; a mention may have several or none.
    pub of_mention: Vec<Vec<usize>>,
}

impl Domains {
    /// Looks the domains of the mentions up; `of_document` has those of documents, by their id.
    pub fn new(by: By, split: &Split, kb: &KnowledgeBase, of_document: &HashMap<String, String>) -> Self {
        let names_of = |concept: &Concept| match by {
            By::Type if concept.types.is_empty() => concept.type_ids.clone(),
            By::Type => concept.types.clone(),
            By::Source => concept.sources.clone(),
            By::Domain => Vec::new(),
        };
        let names_of_mention = |gold: &crate::data::split::Gold| {
            let Some(concept) = gold.concept.and_then(|concept| kb.get(concept)) else { return Vec::new() };
            let document = split.documents.get(gold.document).map(|document| document.doc_id.as_str());
            let of_document = (by == By::Domain).then(|| of_document.get(document?).cloned()).flatten();
            of_document.into_iter().chain(names_of(concept)).collect()
        };
        let texts: Vec<Vec<String>> = split.mentions.iter().map(names_of_mention).collect();
        let mut places: BTreeMap<&str, usize> = texts.iter().flatten().map(|name| (name.as_str(), 0)).collect();
        places.values_mut().enumerate().for_each(|(at, place)| *place = at);
        let places_of = |names: &Vec<String>| {
            let mut places: Vec<usize> = names.iter().filter_map(|name| places.get(name.as_str()).copied()).collect();
            places.sort_unstable();
            places.dedup();
            places
        };
        let of_mention = texts.iter().map(places_of).collect();
        Self { by, names: places.into_keys().map(str::to_owned).collect(), of_mention }
    }
}

/// The domain of each document of a corpus that says it, by the document's id.
///
/// # Errors
/// If the documents cannot be read; file, line and field are named.
pub fn of_documents(folder: &Path) -> Result<HashMap<String, String>> {
    #[derive(Deserialize)]
    struct Row {
        doc_id: String,
        domain: Option<String>,
    }
    let mut domains = HashMap::new();
    let files = ["", ".xz", ".gz", ".zst"].map(|packed| folder.join(format!("documents.jsonl{packed}")));
    for file in files.iter().filter(|file| file.is_file()) {
        for_each_line(file, |_, line| {
            if !line.trim().is_empty()
                && let Row { doc_id, domain: Some(domain) } = record(line)?
            {
                domains.insert(doc_id, domain);
            }
            Ok(())
        })?;
    }
    Ok(domains)
}
