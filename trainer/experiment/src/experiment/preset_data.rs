//! The data of presets: finds the files of a release in a folder, and imports them.

use super::preset_part::{Data, Part};
use pel_corpora::domain::DomainOf;
use pel_corpora::import::splits::SplitFiles;
use pel_corpora::import::tac::{QuerySet, TaskFiles};
use pel_corpora::import::{Source, TextFiles, import};
use pel_corpora::resplit::{Material, Okb, Worlds, by_domain, hold_out};
use pel_io::files::entries;
use pel_io::text_encoding::TextEncoding;
use pel_kb::error::{Context, Error, Result};
use std::path::{Path, PathBuf};

/// The endings of compressed files, and that of plain ones.
const ENDINGS: [&str; 5] = ["", ".gz", ".bz2", ".xz", ".zst"];

/// A corpus and its concepts.
#[derive(Clone, Debug)]
pub struct Prepared {
    /// The folder of the corpus.
    pub corpus: PathBuf,
    /// The concept table.
    pub kb: PathBuf,
}

/// Imports the data of a part from the folder `data` into `out`, and makes its splits. What an
/// earlier call has imported is not imported again.
///
/// # Errors
/// If a file is missing (the error names it), or as importing and splitting.
pub fn prepare(part: &Part, data: &Path, out: &Path) -> Result<Prepared> {
    let Prepared { corpus, kb } = imported(part.data, data, out)?;
    if !part.hold_out.is_empty() {
        let folder = out.join("okb");
        if !folder.join("okb.json").is_file() {
            let okb = Okb {
                corpus: corpus.clone(),
                kb: kb.clone(),
                types: part.hold_out.clone(),
                out: folder.clone(),
            };
            hold_out(&Material::read(&corpus, &kb, "train")?, &okb)
                .map(drop)
                .context(|| "removing the types of appendix D".to_owned())?;
        }
        return Ok(Prepared {
            kb: folder.join("kb.jsonl"),
            corpus: folder,
        });
    }
    if !part.dev_domains.is_empty() {
        let folder = out.join("domains");
        if !folder.join("domains.json").is_file() {
            let worlds = Worlds {
                corpus: corpus.clone(),
                kb: kb.clone(),
                by: DomainOf::Type,
                dev: part.dev_domains.clone(),
                test: part.test_domains.clone(),
                out: folder.clone(),
            };
            by_domain(&Material::read(&corpus, &kb, "train")?, &worlds)
                .map(drop)
                .context(|| "assigning types to splits".to_owned())?;
        }
        return Ok(Prepared { corpus: folder, kb });
    }
    Ok(Prepared { corpus, kb })
}

fn imported(data: Data, from: &Path, out: &Path) -> Result<Prepared> {
    let name = match data {
        Data::Medmentions => "medmentions",
        Data::Zeshel => "zeshel",
        Data::Wikipedia => "wikipedia",
        Data::Tac => "tac",
        Data::Wikilinks => "wikilinks",
    };
    let corpus = out.join(name);
    let source = source(data, from)?;
    if !corpus.join("import.json").is_file() {
        eprintln!("importing {name}");
        let report = import(&source, None, &corpus)?;
        if report.skipped_in_all() > 0 {
            eprintln!("skipped: {}", report.reasons());
        }
    }
    let kb = match data {
        Data::Medmentions => file(from, &["kb.jsonl"])?,
        Data::Wikilinks => imported(Data::Wikipedia, from, out)?.kb,
        Data::Zeshel | Data::Wikipedia | Data::Tac => corpus.join("kb.jsonl"),
    };
    Ok(Prepared { corpus, kb })
}

/// The files of a release.
fn source(data: Data, from: &Path) -> Result<Source> {
    Ok(match data {
        Data::Medmentions => {
            let list = |split: &str| -> Result<Option<PathBuf>> {
                let name = format!("corpus_pubtator_pmids_{split}.txt");
                file(from, &[name.as_str()]).map(Some)
            };
            Source::Pubtator {
                texts: TextFiles {
                    paths: vec![file(from, &["corpus_pubtator.txt"])?],
                    encoding: TextEncoding::default(),
                },
                lists: SplitFiles {
                    train: list("trng")?,
                    dev: list("dev")?,
                    test: list("test")?,
                },
                prefix: "UMLS:".into(),
            }
        }
        Data::Zeshel => {
            folder(from, "documents")?;
            folder(from, "mentions")?;
            Source::Zeshel {
                folder: from.to_owned(),
            }
        }
        Data::Wikipedia => {
            let from = folder(from, "wikipedia")?;
            Source::Blink {
                entities: vec![file(&from, &["entity.jsonl"])?],
                mentions: SplitFiles {
                    train: Some(file(&from, &["train.jsonl"])?),
                    dev: Some(file(&from, &["valid.jsonl"])?),
                    test: None,
                },
            }
        }
        Data::Tac => {
            let questions = |split: &'static str, name: &str| -> Result<QuerySet> {
                Ok(QuerySet {
                    split,
                    queries: ending(from, &format!("{name}_queries.xml"))?,
                    answers: ending(from, &format!("{name}_KB_links.tab"))?,
                })
            };
            Source::Tac(TaskFiles {
                kb: vec![folder(from, "kb")?],
                documents: vec![folder(from, "source")?],
                questions: vec![
                    questions("train", "training")?,
                    questions("test", "evaluation")?,
                ],
            })
        }
        Data::Wikilinks => {
            let split = |name: &str| -> Result<Option<PathBuf>> {
                let [lines, json] = ["jsonl", "json"].map(|end| format!("{name}.{end}"));
                file(from, &[lines.as_str(), json.as_str()]).map(Some)
            };
            Source::Wikilinks {
                mentions: SplitFiles {
                    train: split("train")?,
                    dev: split("dev")?,
                    test: split("test")?,
                },
            }
        }
    })
}

/// The file with one of these names, plain or compressed.
fn file(folder: &Path, names: &[&str]) -> Result<PathBuf> {
    names
        .iter()
        .flat_map(|name| ENDINGS.map(|ending| folder.join(format!("{name}{ending}"))))
        .find(|path| path.is_file())
        .ok_or_else(|| missing(folder, &names.join(" or ")))
}

/// The only file whose name ends so.
fn ending(folder: &Path, end: &str) -> Result<PathBuf> {
    let found: Vec<String> = entries(folder)?
        .into_iter()
        .filter(|name| name.ends_with(end))
        .collect();
    match found.as_slice() {
        [name] => Ok(folder.join(name)),
        [] => Err(missing(folder, &format!("a file *{end}"))),
        several => Err(Error::input(format!(
            "{}: expected one file *{end}, found {}",
            folder.display(),
            several.join(", ")
        ))),
    }
}

fn folder(parent: &Path, name: &str) -> Result<PathBuf> {
    let path = parent.join(name);
    if path.is_dir() {
        Ok(path)
    } else {
        Err(missing(parent, &format!("the folder {name}")))
    }
}

fn missing(folder: &Path, what: &str) -> Error {
    Error::input(format!(
        "{}: {what} is missing; docs/reproduce.md lists the files of each preset",
        folder.display()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_file_is_named() {
        let folder = tempfile::tempdir().expect("a folder");
        let from = folder.path();
        let error = |data| source(data, from).expect_err("incomplete").to_string();
        for (data, said) in [
            (Data::Medmentions, "corpus_pubtator.txt is missing"),
            (Data::Zeshel, "the folder documents is missing"),
            (Data::Wikipedia, "the folder wikipedia is missing"),
            (Data::Tac, "the folder kb is missing"),
            (Data::Wikilinks, "train.jsonl or train.json is missing"),
        ] {
            assert!(error(data).contains(said), "{}", error(data));
        }
        std::fs::create_dir(from.join("kb")).expect("made");
        std::fs::create_dir(from.join("source")).expect("made");
        assert!(error(Data::Tac).contains("a file *training_queries.xml is missing"));
        for year in ["2009", "2010"] {
            std::fs::write(from.join(format!("{year}_training_queries.xml")), "").expect("written");
        }
        let said =
            "expected one file *training_queries.xml, found 2009_training_queries.xml, 2010_";
        assert!(error(Data::Tac).contains(said), "{}", error(Data::Tac));
    }

    #[test]
    fn compressed_file_is_found() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("corpus_pubtator.txt.gz");
        std::fs::write(&path, "").expect("written");
        assert_eq!(
            file(folder.path(), &["corpus_pubtator.txt"]).expect("there"),
            path
        );
    }
}
