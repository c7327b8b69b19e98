//! `pel split domains`: makes splits without common domains, such as ZESHEL's worlds, from a corpus
//! with common ones.
//!
//! Results on the other domains are zero-shot (T-Biencoder, section 4): training has no mention of
//! them.

use super::Material;
use super::types::listed;
use crate::corpus::CorpusMention;
use crate::domain::DomainOf;
use crate::domain::domain_of;
use pel_io::outputs::{OutputFolder, write_line};
use pel_io::text_tables;
use pel_kb::Concept;
use pel_kb::error::{Error, Result};
use serde::Serialize;
use std::collections::{BTreeMap, HashSet};
use std::path::PathBuf;

/// The split with mentions of training domains in documents outside training.
pub const HELD_OUT: &str = "heldout";

/// The arguments of `pel split domains`.
#[derive(Clone, Debug)]
pub struct Worlds {
    /// The folder of the corpus.
    pub corpus: PathBuf,
    /// The concept table.
    pub kb: PathBuf,
    /// The property that defines a domain: a concept's first source or first semantic type.
    pub by: DomainOf,
    /// The domains of the split `dev`.
    pub dev: Vec<String>,
    /// The domains of the split `test`.
    pub test: Vec<String>,
    /// The folder to write into.
    pub out: PathBuf,
}

/// The mentions of a domain by split.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct WorldCounts {
    /// The domain.
    pub domain: String,
    /// Its concepts.
    pub concepts: usize,
    /// Its mentions in the corpus splits `train`, `dev` and `test`.
    pub mentions: [usize; 3],
    /// The split that it is assigned to.
    pub split: String,
}

/// The result of `pel split domains`, also the content of `domains.json`.
#[derive(Clone, Debug, Serialize)]
pub struct WorldsReport {
    /// The domains, most mentions first.
    pub domains: Vec<WorldCounts>,
    /// Mentions of each new split.
    pub made: BTreeMap<&'static str, usize>,
    /// Mentions in no new split: their domain and document belong to different splits.
    pub left_out: usize,
    /// Mentions without a concept of the knowledge base, and so without a domain.
    pub without: usize,
}

const SPLITS: [&str; 3] = ["train", "dev", "test"];

/// Whether a name given by the user means a concept's domain. A type may be given by its
/// identifier.
fn is_called(concept: &Concept, by: DomainOf, requested: &str) -> bool {
    let id = concept.type_ids.first().filter(|_| by == DomainOf::Type);
    let names = [Some(domain_of(concept, by)), id.map(String::as_str)]
        .into_iter()
        .flatten();
    names
        .map(str::to_lowercase)
        .any(|name| !name.is_empty() && name == requested.to_lowercase())
}

/// Counts the domains and, if any are assigned to `dev` or `test`, writes the new corpus.
///
/// # Errors
/// If a domain is unknown or assigned twice, a split would have no mentions, or the corpus cannot
/// be written.
pub fn by_domain(material: &Material, worlds: &Worlds) -> Result<WorldsReport> {
    let mut domains = count(material, worlds.by);
    assign(material, worlds, &mut domains)?;
    let split_of: BTreeMap<&str, &str> = domains
        .iter()
        .map(|(name, counts)| (name.as_str(), counts.split.as_str()))
        .collect();
    let mut made: BTreeMap<&'static str, Vec<&CorpusMention>> = [SPLITS.as_slice(), &[HELD_OUT]]
        .concat()
        .into_iter()
        .map(|split| (split, Vec::new()))
        .collect();
    let (mut left_out, mut without) = (0, 0);
    for split in &material.splits {
        for (mention, concept) in &split.mentions {
            let Some(concept) = concept.and_then(|concept| material.kb.kb.get(concept)) else {
                without += 1;
                continue;
            };
            let goes_to = split_of[domain_of(concept, worlds.by)];
            let to = match () {
                () if goes_to == split.name => goes_to,
                // Training domains in unseen texts.
                () if goes_to == "train" && split.name == "test" => HELD_OUT,
                () => "",
            };
            match made.get_mut(to) {
                Some(mentions) => mentions.push(mention),
                None => left_out += 1,
            }
        }
    }
    let counts: BTreeMap<&'static str, usize> = made
        .iter()
        .map(|(split, mentions)| (*split, mentions.len()))
        .collect();
    let writes = !worlds.dev.is_empty() || !worlds.test.is_empty();
    if let Some(empty) = SPLITS.iter().find(|split| writes && counts[*split] == 0) {
        return Err(Error::input(format!(
            "the split {empty} gets no mentions: give --dev and --test domains with mentions in \
             these splits, and leave some for training"
        )));
    }
    let mut domains: Vec<WorldCounts> = domains
        .into_values()
        .filter(|domain| domain.mentions != [0; 3])
        .collect();
    domains.sort_by_key(|domain| {
        (
            std::cmp::Reverse(domain.mentions.iter().sum::<usize>()),
            domain.domain.clone(),
        )
    });
    let report = WorldsReport {
        domains,
        made: counts,
        left_out,
        without,
    };
    if writes {
        write(material, worlds, &made, &report)?;
    }
    Ok(report)
}

fn count(material: &Material, by: DomainOf) -> BTreeMap<String, WorldCounts> {
    let mut domains: BTreeMap<String, WorldCounts> = BTreeMap::new();
    for (_, concept) in material.kb.kb.iter() {
        let domain = domain_of(concept, by);
        let new = || WorldCounts {
            domain: domain.to_owned(),
            split: "train".into(),
            ..WorldCounts::default()
        };
        domains
            .entry(domain.to_owned())
            .or_insert_with(new)
            .concepts += 1;
    }
    for split in &material.splits {
        let Some(at) = SPLITS.iter().position(|name| *name == split.name) else {
            continue;
        };
        for concept in split
            .mentions
            .iter()
            .filter_map(|(_, concept)| material.kb.kb.get((*concept)?))
        {
            if let Some(counts) = domains.get_mut(domain_of(concept, by)) {
                counts.mentions[at] += 1;
            }
        }
    }
    domains
}

/// Assigns the given domains to their splits.
fn assign(
    material: &Material,
    worlds: &Worlds,
    domains: &mut BTreeMap<String, WorldCounts>,
) -> Result<()> {
    for (split, requested) in [("dev", &worlds.dev), ("test", &worlds.test)] {
        let named = |name: &str| {
            let (_, concept) = material
                .kb
                .kb
                .iter()
                .find(|(_, concept)| is_called(concept, worlds.by, name))?;
            Some(domain_of(concept, worlds.by))
        };
        let unknown = |requested: &str| {
            Error::input(format!(
                "--{split}: expected the first {} of a concept, found {requested:?}; run without \
                 --dev, --test and --out to list the domains",
                if worlds.by == DomainOf::Type {
                    "semantic type"
                } else {
                    "source"
                }
            ))
        };
        for domain in listed(requested, named, unknown)? {
            let Some(counts) = domains.get_mut(domain) else {
                continue;
            };
            if counts.split != "train" {
                return Err(Error::input(format!(
                    "--{split}: expected each domain once, but {domain:?} is already assigned to \
                     {}",
                    counts.split
                )));
            }
            counts.split = split.to_owned();
        }
    }
    Ok(())
}

fn write(
    material: &Material,
    worlds: &Worlds,
    made: &BTreeMap<&str, Vec<&CorpusMention>>,
    report: &WorldsReport,
) -> Result<()> {
    let mut output = OutputFolder::new(
        &worlds.out,
        "domains.json",
        [worlds.corpus.as_path(), worlds.kb.as_path()],
    )?;
    output.write("documents.jsonl", |out| {
        let mut written = HashSet::new();
        for document in material.splits.iter().flat_map(|split| &split.documents) {
            if written.insert(document.doc_id.as_str()) {
                // A document of the test split also has mentions of `heldout`, so it is assigned to
                // no split.
                write_line(
                    out,
                    &crate::corpus::Document {
                        split: None,
                        ..document.clone()
                    },
                )?;
            }
        }
        Ok(())
    })?;
    // The split `heldout` may be empty.
    for (split, mentions) in made.iter().filter(|(_, mentions)| !mentions.is_empty()) {
        output.write(&format!("mentions.{split}.jsonl"), |out| {
            // The training concepts have changed.
            let without = |mention: &&CorpusMention| CorpusMention {
                seen_in_train: None,
                ..(*mention).clone()
            };
            mentions
                .iter()
                .try_for_each(|mention| write_line(out, &without(mention)))
        })?;
    }
    output.commit(report)
}

impl WorldsReport {
    /// The report as a table.
    pub fn text(&self) -> String {
        let mut table = text_tables::table(["Domain", "Split", "Concepts", "train", "dev", "test"]);
        for domain in &self.domains {
            let [train, dev, test] = domain.mentions.map(|count| count.to_string());
            let name = if domain.domain.is_empty() {
                "(none)".to_owned()
            } else {
                domain.domain.clone()
            };
            table.add_row([
                name,
                domain.split.clone(),
                domain.concepts.to_string(),
                train,
                dev,
                test,
            ]);
        }
        let made = self
            .made
            .iter()
            .map(|(split, count)| format!("{split} {count}"))
            .collect::<Vec<_>>()
            .join(", ");
        format!(
            "{table}\nmentions: {made}; {} whose domain and document belong to different splits, \
             {} without a concept of the knowledge base",
            self.left_out, self.without
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::split::{Split, TrainingSplit};
    use std::path::Path;

    const KB: &str = r#"{"id":"D0","name":"fever","types":["Sign"],"type_ids":["T1"]}
{"id":"D1","name":"aspirin","types":["Drug"],"type_ids":["T2"]}
{"id":"D2","name":"heart","types":["Organ, or Part","Sign"],"type_ids":["T3","T1"]}"#;

    fn corpus(folder: &Path) -> Material {
        let put =
            |name: &str, text: &str| std::fs::write(folder.join(name), text).expect("written");
        put("kb.jsonl", KB);
        let (mut documents, all) = (String::new(), ["D0", "D1", "D2", "X"]);
        for (doc_id, split) in [("a", "train"), ("b", "dev"), ("c", "test")] {
            let text = "fever aspirin heart thing";
            documents +=
                &format!("{{\"doc_id\":\"{doc_id}\",\"split\":\"{split}\",\"text\":\"{text}\"}}\n");
            let places = [(0, 5), (6, 13), (14, 19), (20, 25)].iter().zip(all);
            let lines = places.map(|((start, end), id)| {
                format!(
                    "{{\"doc_id\":\"{doc_id}\",\"start\":{start},\"end\":{end},\"text\":\"{}\",\
                     \"id\":\"{id}\"}}\n",
                    &text[*start..*end]
                )
            });
            put(
                &format!("mentions.{split}.jsonl"),
                &lines.collect::<String>(),
            );
        }
        put("documents.jsonl", &documents);
        Material::read(folder, &folder.join("kb.jsonl"), "train").expect("sound")
    }

    #[test]
    fn every_domain_is_in_one_split() {
        let folder = tempfile::tempdir().expect("a folder");
        let material = corpus(folder.path());
        let out = folder.path().join("worlds");
        let words = |list: &[&str]| {
            list.iter()
                .map(|word| (*word).to_owned())
                .collect::<Vec<_>>()
        };
        let worlds = |dev: &[&str], test: &[&str]| Worlds {
            corpus: folder.path().to_owned(),
            kb: folder.path().join("kb.jsonl"),
            by: DomainOf::Type,
            dev: words(dev),
            test: words(test),
            out: out.clone(),
        };
        // Case-insensitive identifiers and names, also with commas. The heart's first type is
        // organ.
        let report = by_domain(&material, &worlds(&["T2"], &["organ, or part"])).expect("made");
        assert_eq!(
            report.made,
            BTreeMap::from([("dev", 1), ("heldout", 1), ("test", 1), ("train", 1)])
        );
        assert_eq!((report.left_out, report.without), (5, 3));
        assert!(report.text().contains("Organ"), "{}", report.text());
        let own = Worlds {
            out: folder.path().to_owned(),
            ..worlds(&["T2"], &["T3"])
        };
        assert!(
            by_domain(&material, &own)
                .expect_err("its own folder")
                .to_string()
                .contains("this folder is an input")
        );
        let record = std::fs::read_to_string(out.join("domains.json")).expect("the record");
        assert!(
            record.contains("\"left_out\": 5") && record.contains("mentions.heldout.jsonl"),
            "{record}"
        );
        let kb = &material.kb.kb;
        let training = TrainingSplit::read(&out, "train").expect("read");
        let read = |split: &str| Split::read(&out, split, 1, kb, Some(&training)).expect("read");
        let of = |split: &str| {
            read(split)
                .mentions
                .iter()
                .map(|gold| (gold.concept, gold.seen))
                .collect::<Vec<_>>()
        };
        assert_eq!(of("test"), [(kb.find("D2"), Some(false))]);
        assert_eq!(of("dev"), [(kb.find("D1"), Some(false))]);
        assert_eq!(of(HELD_OUT), [(kb.find("D0"), Some(true))]);

        // No training domain in unseen texts: the split is not written, and one of an earlier run
        // is removed.
        let mut few = corpus(folder.path());
        few.splits
            .iter_mut()
            .filter(|split| split.name == "test")
            .for_each(|split| {
                split.mentions.retain(|(_, concept)| {
                    concept.is_some_and(|at| kb.get(at).is_some_and(|one| one.id == "D2"))
                });
            });
        by_domain(&few, &worlds(&["T2"], &["T3"])).expect("made");
        assert!(
            out.join("mentions.test.jsonl").is_file()
                && !out.join("mentions.heldout.jsonl").exists()
        );

        for (dev, test, message) in [
            (
                &["T9"][..],
                &["T1"][..],
                "expected the first semantic type of a concept, found \"T9\"",
            ),
            (&["T1"], &["Sign"], "is already assigned to dev"),
            (&["T1"], &[], "the split test gets no mentions"),
        ] {
            let error = by_domain(&material, &worlds(dev, test))
                .expect_err("refused")
                .to_string();
            assert!(error.contains(message), "{error}");
        }
        // Without arguments domains are only counted.
        let report = by_domain(&material, &worlds(&[], &[])).expect("counted");
        assert_eq!(
            report
                .domains
                .iter()
                .map(|domain| domain.mentions)
                .collect::<Vec<_>>(),
            [[1, 1, 1]; 3]
        );
    }
}
