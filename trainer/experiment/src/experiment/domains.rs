//! The domains of mentions, and a check that unseen domains are unseen: T-Biencoder's tables
//! measure on domains that training lacks (section 4.1).

use pel_corpora::domain::{DomainOf, domain_of};
use pel_corpora::mention_domains::{By, Domains};
use pel_corpora::split::{Split, TrainingSplit};
use pel_kb::KnowledgeBase;
use pel_kb::error::Result;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// The primary domain of each mention's concept.
pub fn primary(split: &Split, kb: &KnowledgeBase, by: DomainOf) -> Domains {
    let names: Vec<Option<&str>> = split
        .mentions
        .iter()
        .map(|gold| Some(domain_of(kb.get(gold.concept?)?, by)))
        .collect();
    let mut places: BTreeMap<&str, usize> = names.iter().flatten().map(|name| (*name, 0)).collect();
    places
        .values_mut()
        .enumerate()
        .for_each(|(at, place)| *place = at);
    let of_mention = names
        .iter()
        .map(|name| name.iter().map(|name| places[name]).collect())
        .collect();
    let by = match by {
        DomainOf::Source => By::Source,
        DomainOf::Type => By::Type,
    };
    Domains {
        by,
        names: places.into_keys().map(str::to_owned).collect(),
        of_mention,
    }
}

/// A warning if the second split has mentions of the training split's domains. The first split is
/// the training split.
///
/// # Errors
/// If the corpus cannot be read.
pub fn shared(
    corpus: &Path,
    splits: [&str; 2],
    by: DomainOf,
    kb: &KnowledgeBase,
) -> Result<Option<String>> {
    let domain = |id| kb.get(id).map(|concept| domain_of(concept, by));
    let training = TrainingSplit::read(corpus, splits[0])?;
    let trained: BTreeSet<&str> = training
        .concepts
        .iter()
        .filter_map(|id| domain(kb.find(id)?))
        .collect();
    let measured = Split::read(corpus, splits[1], 1, kb, None)?.mentions;
    let measured: Vec<&str> = measured
        .iter()
        .filter_map(|gold| domain(gold.concept?))
        .collect();
    let count = measured
        .iter()
        .filter(|domain| trained.contains(**domain))
        .count();
    let by = match by {
        DomainOf::Source => "source",
        DomainOf::Type => "type",
    };
    Ok((count > 0).then(|| {
        format!(
            "{count} of the {} mentions of {} are of domains (by {by}) that training has too, so \
             these are not figures of unseen domains; `pel split domains` makes splits that share \
             none.",
            measured.len(),
            splits[1]
        )
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use pel_io::files::write_jsonl;
    use pel_kb::Concept;
    use serde_json::json;

    #[test]
    fn shared_domains_are_counted() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut kb = KnowledgeBase::new();
        for (id, kind) in [("C1", "Sign"), ("C2", "Drug"), ("C3", "Drug")] {
            let concept = Concept {
                id: id.into(),
                name: id.into(),
                types: vec![kind.into()],
                sources: vec!["S".into()],
                ..Concept::default()
            };
            kb.push(concept).expect("new");
        }
        let write = |name: &str, lines: Vec<serde_json::Value>| {
            write_jsonl(&folder.path().join(name), lines).expect("written");
        };
        let mention =
            |id: &str| json!({"doc_id": "d", "start": 0, "end": 1, "text": "a", "id": id});
        write(
            "documents.jsonl",
            vec![json!({"doc_id": "d", "text": "a b"})],
        );
        write("mentions.train.jsonl", vec![mention("C1"), mention("C9")]);
        write(
            "mentions.test.jsonl",
            vec![mention("C2"), mention("C3"), mention("C9")],
        );
        let said = |splits, by| shared(folder.path(), splits, by, &kb).expect("read");
        assert_eq!(said(["train", "test"], DomainOf::Type), None);
        let by_source = said(["train", "test"], DomainOf::Source).expect("one source");
        assert!(
            by_source.starts_with("2 of the 2 mentions of test are of domains (by source)"),
            "{by_source}"
        );
        assert!(said(["test", "test"], DomainOf::Type).is_some());
    }
}
