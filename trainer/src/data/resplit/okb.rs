//! Holds concepts out and writes the data set.

use super::{Material, SemanticType, Statistics};
use crate::data::concept_table;
use crate::data::corpus::NIL_LABEL;
use crate::io::files::{for_each_line, io_error};
use crate::io::outputs::{OutputFolder, write_line};
use crate::io::provenance::Run;
use pel_shared::bundle::names::LICENCES;
use pel_shared::error::{Error, Result};
use pel_shared::kb::import::report::Report;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};

/// What to make a data set of.
#[derive(Clone, Debug)]
pub struct Okb {
    /// The folder of the corpus.
    pub corpus: PathBuf,
    /// The concept table.
    pub kb: PathBuf,
    /// The types to hold out, as a user names them.
    pub types: Vec<String>,
    /// The folder to write into.
    pub out: PathBuf,
}

/// What was made; also the content of `okb.json`.
#[derive(Clone, Debug, Serialize)]
pub struct OkbReport {
    /// Where it was made.
    pub run: Run,
    /// The types that were held out.
    pub types: Vec<SemanticType>,
    /// blake3 of the lines of the knowledge base that was read.
    pub kb_blake3: String,
    /// Concepts before.
    pub concepts_before: usize,
    /// Concepts that were taken out.
    pub concepts_held_out: usize,
    /// blake3 of the lines of the knowledge base that was written, as `pel index` and `pel evaluate` know it.
    pub kb_without_blake3: String,
    /// The figures.
    pub statistics: Statistics,
    /// What was skipped in reading the corpus, by split.
    pub skipped: BTreeMap<String, Report>,
}

/// Takes the concepts of some types out of the knowledge base, gives their mentions the NIL label in every split, and
/// writes both, with the statistics, into a folder.
///
/// The folder holds `kb.jsonl`, `held_out.jsonl` (the concepts that were taken out), `documents.jsonl`, a
/// `mentions.{split}.jsonl` for each split, `okb.json` and `okb.txt`; all of them appear together, or none does. A concept
/// is held out if one of its types is.
///
/// # Errors
/// If a type is unknown or has no concept, nothing is left to link to or becomes NIL, the folder is the corpus' own or has
/// files of these names that are not of an earlier run, or something cannot be read or written.
pub fn hold_out(material: &Material, okb: &Okb) -> Result<OkbReport> {
    let chosen = material.types.choose(&okb.types, &material.types_of_mentions())?;
    let held: Vec<bool> =
        material.types.of_concept.iter().map(|own| own.iter().any(|at| chosen.contains(at))).collect();
    let statistics = Statistics::new(material, &chosen, &held);
    refuse_useless(material, &held, &statistics)?;
    let mut output = OutputFolder::new(&okb.out, "okb.json", [okb.corpus.as_path(), okb.kb.as_path()])?;
    let kb_without_blake3 = write_kb(material, okb, &held, &mut output)?;
    write_corpus(material, &held, &mut output)?;
    let report = OkbReport {
        run: Run::here(),
        types: chosen.iter().map(|at| material.types.all[*at].clone()).collect(),
        kb_blake3: material.kb.blake3.clone(),
        concepts_before: held.len(),
        concepts_held_out: held.iter().filter(|held| **held).count(),
        kb_without_blake3,
        statistics,
        skipped: material.splits.iter().map(|split| (split.name.clone(), split.report.clone())).collect(),
    };
    let text = report.text();
    output.write("okb.txt", |out| {
        writeln!(out, "{text}").map_err(|cause| Error::io("writing okb.txt").caused_by(cause))
    })?;
    output.commit(&report)?;
    Ok(report)
}

/// Refuses a choice that leaves nothing to link to, or changes nothing.
fn refuse_useless(material: &Material, held: &[bool], statistics: &Statistics) -> Result<()> {
    if held.iter().all(|held| *held) {
        return Err(Error::input("nothing is left of the knowledge base: every concept has one of these types"));
    }
    if statistics.held_out.hits == 0 {
        return Err(Error::input("no mention of the corpus has a concept of these types: nothing would become NIL"));
    }
    for (split, statistics) in material.splits.iter().zip(&statistics.splits) {
        if statistics.whole.mentions > 0 && statistics.held_out.mentions == statistics.whole.mentions {
            return Err(Error::input(format!(
                "nothing is left to link in the split {}: all its {} mentions with a concept would become NIL",
                split.name, statistics.whole.mentions
            )));
        }
    }
    Ok(())
}

/// Writes the lines of the concept table apart, as they are; gives the hash of those that stay.
fn write_kb(material: &Material, okb: &Okb, held: &[bool], output: &mut OutputFolder) -> Result<String> {
    #[derive(Deserialize)]
    struct Row {
        id: String,
    }
    let held: HashSet<&str> =
        (material.kb.kb.iter()).filter(|(at, _)| held[at.index()]).map(|(_, concept)| concept.id.as_str()).collect();
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
                writeln!(out, "{line}").map_err(|cause| Error::io("writing the concepts").caused_by(cause))
            })
        })?;
    }
    if let Some((_, text)) = concept_table::licences(&okb.kb)? {
        output.write(LICENCES, |out| {
            out.write_all(text.as_bytes()).map_err(|cause| io_error("writing", Path::new(LICENCES), cause))
        })?;
    }
    Ok(hash.finalize().to_hex().to_string())
}

/// Writes documents and mentions; a held-out mention gets the NIL label.
fn write_corpus(material: &Material, held: &[bool], output: &mut OutputFolder) -> Result<()> {
    output.write("documents.jsonl", |out| {
        // A document that belongs to no split stands in each of them.
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
                // What is left of several concepts is still right.
                mention.other_ids.retain(|id| material.kb.kb.find(id).is_none_or(|concept| !held[concept.index()]));
                if concept.is_some_and(|concept| held[concept.index()]) {
                    mention.id = mention.id.map(|id| format!("{NIL_LABEL}{id}"));
                }
                write_line(out, &mention)?;
            }
            Ok(())
        })?;
    }
    Ok(())
}
