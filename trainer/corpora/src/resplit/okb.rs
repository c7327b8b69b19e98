//! Holds out concepts and writes the data set.

use super::{Material, SemanticType, Statistics};
use crate::corpus::NIL_LABEL;
use pel_artifacts::concept_table;
use pel_io::files::{for_each_line, io_error};
use pel_io::outputs::{OutputFolder, write_line};
use pel_io::provenance::Run;
use pel_kb::error::{Error, Result};
use pel_linker::bundle::names::LICENCES;
use pel_terminologies::import::report::Report;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};

/// The arguments of `pel split okb`.
#[derive(Clone, Debug)]
pub struct Okb {
    /// The folder of the corpus.
    pub corpus: PathBuf,
    /// The concept table.
    pub kb: PathBuf,
    /// The types to hold out, as given by the user.
    pub types: Vec<String>,
    /// The folder to write into.
    pub out: PathBuf,
}

/// The result, also the content of `okb.json`.
#[derive(Clone, Debug, Serialize)]
pub struct OkbReport {
    /// The program and machine.
    pub run: Run,
    /// The held-out types.
    pub types: Vec<SemanticType>,
    /// BLAKE3 of the lines of the input knowledge base.
    pub kb_blake3: String,
    /// Number of concepts in the input.
    pub concepts_before: usize,
    /// Number of held-out concepts.
    pub concepts_held_out: usize,
    /// BLAKE3 of the lines of the output knowledge base, as in `pel index` and `pel evaluate`.
    pub kb_without_blake3: String,
    /// Statistics of the data set.
    pub statistics: Statistics,
    /// Records skipped while reading the corpus, by split.
    pub skipped: BTreeMap<String, Report>,
}

/// Removes the concepts of some types from the knowledge base, labels their mentions NIL in every
/// split, and writes both with statistics.
///
/// Writes `kb.jsonl`, `held_out.jsonl` (the removed concepts), `documents.jsonl`,
/// `mentions.{split}.jsonl` for each split, `okb.json` and `okb.txt`. They appear together or not
/// at all. A concept is held out if any of its types is.
///
/// # Errors
/// If a type is unknown or has no concept, no mention stays linkable or becomes NIL, or the output
/// folder is the corpus or has files of these names from elsewhere. Also if a file cannot be read
/// or written.
pub fn hold_out(material: &Material, okb: &Okb) -> Result<OkbReport> {
    let chosen = material
        .types
        .choose(&okb.types, &material.types_of_mentions())?;
    let held: Vec<bool> = material
        .types
        .of_concept
        .iter()
        .map(|own| own.iter().any(|at| chosen.contains(at)))
        .collect();
    let statistics = Statistics::new(material, &chosen, &held);
    refuse_useless(material, &held, &statistics)?;
    let mut output = OutputFolder::new(
        &okb.out,
        "okb.json",
        [okb.corpus.as_path(), okb.kb.as_path()],
    )?;
    let kb_without_blake3 = write_kb(material, okb, &held, &mut output)?;
    write_corpus(material, &held, &mut output)?;
    let report = OkbReport {
        run: Run::here(),
        types: chosen
            .iter()
            .map(|at| material.types.all[*at].clone())
            .collect(),
        kb_blake3: material.kb.blake3.clone(),
        concepts_before: held.len(),
        concepts_held_out: held.iter().filter(|held| **held).count(),
        kb_without_blake3,
        statistics,
        skipped: material
            .splits
            .iter()
            .map(|split| (split.name.clone(), split.report.clone()))
            .collect(),
    };
    let text = report.text();
    output.write("okb.txt", |out| {
        writeln!(out, "{text}").map_err(|cause| Error::io("writing okb.txt").caused_by(cause))
    })?;
    output.commit(&report)?;
    Ok(report)
}

/// Refuses types that leave nothing to link or hold out nothing.
fn refuse_useless(material: &Material, held: &[bool], statistics: &Statistics) -> Result<()> {
    if held.iter().all(|held| *held) {
        return Err(Error::input(
            "expected concepts of other types, found that every concept has one of these types",
        ));
    }
    if statistics.held_out.hits == 0 {
        return Err(Error::input(
            "expected mentions with concepts of these types, found none: nothing would become NIL",
        ));
    }
    for (split, statistics) in material.splits.iter().zip(&statistics.splits) {
        if statistics.whole.mentions > 0
            && statistics.held_out.mentions == statistics.whole.mentions
        {
            return Err(Error::input(format!(
                "expected linkable mentions in the split {}, found that all {} with a concept \
                 would become NIL",
                split.name, statistics.whole.mentions
            )));
        }
    }
    Ok(())
}

/// Writes kept and held-out lines of the concept table unchanged. Returns the hash of the kept
/// lines.
fn write_kb(
    material: &Material,
    okb: &Okb,
    held: &[bool],
    output: &mut OutputFolder,
) -> Result<String> {
    #[derive(Deserialize)]
    struct Row {
        id: String,
    }
    let held: HashSet<&str> = (material.kb.kb.iter())
        .filter(|(at, _)| held[at.index()])
        .map(|(_, concept)| concept.id.as_str())
        .collect();
    let mut hash = blake3::Hasher::new();
    for (name, wanted) in [("kb.jsonl", false), ("held_out.jsonl", true)] {
        output.write(name, |out| {
            for_each_line(&okb.kb, |_, line| {
                if line.trim().is_empty() {
                    return Ok(());
                }
                let row: Row = serde_json::from_str(line)
                    .map_err(|cause| Error::input("expected a concept as JSON").caused_by(cause))?;
                if held.contains(row.id.as_str()) != wanted {
                    return Ok(());
                }
                if !wanted {
                    hash.update(line.as_bytes()).update(b"\n");
                }
                writeln!(out, "{line}")
                    .map_err(|cause| Error::io("writing the concepts").caused_by(cause))
            })
        })?;
    }
    if let Some((_, text)) = concept_table::licences(&okb.kb)? {
        output.write(LICENCES, |out| {
            out.write_all(text.as_bytes())
                .map_err(|cause| io_error("writing", Path::new(LICENCES), cause))
        })?;
    }
    Ok(hash.finalize().to_hex().to_string())
}

/// Writes documents and mentions; a held-out mention gets the NIL label.
fn write_corpus(material: &Material, held: &[bool], output: &mut OutputFolder) -> Result<()> {
    output.write("documents.jsonl", |out| {
        // A document without a split is in each of them.
        let mut written = HashSet::new();
        for document in material.splits.iter().flat_map(|split| &split.documents) {
            if written.insert(document.doc_id.as_str()) {
                write_line(out, document)?;
            }
        }
        Ok(())
    })?;
    for split in &material.splits {
        output.write(&format!("mentions.{}.jsonl", split.name), |out| {
            for (mention, concept) in &split.mentions {
                let mut mention = mention.clone();
                let is_held = |id: &String| {
                    let concept = material.kb.kb.find(id);
                    concept.is_some_and(|concept| held[concept.index()])
                };
                // The remaining concepts stay correct.
                mention.other_ids.retain(|id| !is_held(id));
                for part in &mut mention.parts {
                    part.retain(|id| {
                        !is_held(id)
                            || mention.id.as_ref() == Some(id)
                            || mention.kb_ids.contains(id)
                    });
                }
                mention.parts.retain(|part| !part.is_empty());
                if mention.parts.len() < 2 {
                    mention.parts.clear();
                }
                if concept.is_some_and(|concept| held[concept.index()])
                    && let Some(id) = &mut mention.id
                {
                    let label = format!("{NIL_LABEL}{id}");
                    for own in mention
                        .parts
                        .iter_mut()
                        .flatten()
                        .filter(|own| **own == *id)
                    {
                        own.clone_from(&label);
                    }
                    *id = label;
                }
                write_line(out, &mention)?;
            }
            Ok(())
        })?;
    }
    Ok(())
}
