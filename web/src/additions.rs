//! Concepts that are being added batch by batch, so that notes are linked in between.

use crate::failure::Outcome;
use pel_kb::Concept;
use pel_kb::error::Error;
use pel_linker::{AddedChanges, Linker, TokenizedConcepts};
use pel_model::encode::{BatchSize, Encodings};
use pel_model::tokens::Encoded;
use pel_terminologies::import::concepts::{Concepts, Defaults};
use pel_terminologies::import::delimited::Layout;
use pel_terminologies::import::merging::ConceptTable;
use pel_terminologies::import::obo::{Ontology, Scope, SynonymChoice};
use pel_terminologies::import::report::Report;
use pel_terminologies::import::{Input, Longest, delimited, jsonl};
use serde::Serialize;

/// The size of a batch: a note that is linked meanwhile waits for one.
const BATCH: BatchSize = BatchSize {
    rows: 16,
    tokens: 512,
};

/// Concepts that are being added.
pub struct Addition {
    tokenized: TokenizedConcepts,
    /// Positions in the rows of `tokenized`.
    batches: Vec<Vec<usize>>,
    /// The vectors of all rows; zeros until their batch is encoded.
    vectors: Encodings,
    report: Report,
}

/// What an addition has changed, and why concepts were skipped.
#[derive(Serialize)]
struct AddedReport {
    #[serde(flatten)]
    changes: AddedChanges,
    report: Report,
}

impl Addition {
    /// Tokenizes concepts. Those of a list replace the concepts that were added under its name.
    ///
    /// # Errors
    /// If no concept can be added.
    pub fn new(
        linker: &Linker,
        list: Option<&str>,
        concepts: Vec<Concept>,
        mut report: Report,
    ) -> Outcome<Self> {
        let tokenized = match list {
            Some(list) => linker.steps().tokenize_list(list, concepts, &mut report)?,
            None => linker.steps().tokenize_concepts(concepts, &mut report)?,
        };
        let rows: Vec<&Encoded> = tokenized.rows.iter().collect();
        let batches = BATCH.batches(&rows);
        let vectors = Encodings::zeros(
            linker.steps().scorer(),
            rows.len(),
            linker.steps().encoder().dim(),
        );
        Ok(Self {
            tokenized,
            batches,
            vectors,
            report,
        })
    }

    /// The number of texts of each batch.
    pub fn sizes(&self) -> Vec<u32> {
        let size = |batch: &Vec<usize>| u32::try_from(batch.len()).unwrap_or(u32::MAX);
        self.batches.iter().map(size).collect()
    }

    /// The texts of a batch.
    ///
    /// # Errors
    /// If there is no such batch.
    pub fn rows(&self, at: usize) -> Outcome<Vec<&Encoded>> {
        let rows = &self.tokenized.rows;
        Ok(self.places(at)?.iter().map(|row| &rows[*row]).collect())
    }

    /// Takes the vectors of a batch.
    ///
    /// # Errors
    /// If there is no such batch.
    pub fn put(&mut self, at: usize, found: Encodings) -> Outcome<()> {
        let places = self.places(at)?.to_vec();
        self.vectors.put(&places, found);
        Ok(())
    }

    /// Adds the concepts. Returns what has changed, as JSON.
    ///
    /// # Errors
    /// If an identifier is taken.
    pub fn finish(self, linker: &mut Linker) -> Outcome<String> {
        let changes = linker
            .settings()
            .add_concepts(self.tokenized, &self.vectors)?;
        let report = self.report;
        Ok(serde_json::to_string(&AddedReport { changes, report })?)
    }

    fn places(&self, at: usize) -> Outcome<&[usize]> {
        let missing = || Error::input(format!("the concepts have no batch {at}"));
        Ok(self.batches.get(at).ok_or_else(missing)?)
    }
}

/// The concepts of a file, and what was skipped.
///
/// # Errors
/// If the file cannot be read.
pub fn concepts_of(name: &str, format: &str, text: &str) -> Outcome<(Vec<Concept>, Report)> {
    let (mut concepts, mut report) = (Vec::new(), Report::default());
    let mut take = |concept| {
        concepts.push(concept);
        Ok(())
    };
    let mut out = Concepts::new(&mut take, Defaults::default(), &mut report);
    let (mut reader, mut tick) = (text.as_bytes(), || Ok(()));
    let input = Input {
        name,
        reader: &mut reader,
        tick: &mut tick,
        longest: Longest::default(),
    };
    let mut table = ConceptTable::default();
    match format {
        "csv" => delimited::read(input, &Layout::lenient(b','), &mut table, out.report)?,
        "tsv" => delimited::read(input, &Layout::lenient(b'\t'), &mut table, out.report)?,
        "jsonl" => jsonl::read(input, true, &mut table, out.report)?,
        "obo" => {
            let mut ontology = Ontology::default();
            ontology.read(input, &SynonymChoice::of(&[Scope::Exact]), out.report)?;
            ontology.finish(&mut out)?;
        }
        other => {
            return Err(
                Error::input(format!("expected csv, tsv, obo or jsonl, found {other:?}")).into(),
            );
        }
    }
    table.finish(&mut out)?;
    Ok((concepts, report))
}
