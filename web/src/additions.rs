//! Adding concepts batch by batch, so that notes are linked in between.

use crate::engine::{Engine, to_json};
use crate::failure::Outcome;
use crate::shapes::Rows;
use pel_shared::error::Error;
use pel_shared::kb::Concept;
use pel_shared::kb::import::concepts::{Concepts, Defaults};
use pel_shared::kb::import::delimited::Layout;
use pel_shared::kb::import::merging::ConceptTable;
use pel_shared::kb::import::obo::{Ontology, Scope, SynonymChoice};
use pel_shared::kb::import::report::Report;
use pel_shared::kb::import::{Input, Longest, delimited, jsonl};
use pel_shared::linker::{AddedChanges, TokenizedConcepts};
use pel_shared::model::encode::{BatchSize, Encodings};
use pel_shared::model::tower::Side;
use pel_shared::tokens::Encoded;
use serde::Serialize;
use wasm_bindgen::prelude::wasm_bindgen;

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

#[wasm_bindgen]
impl Engine {
    /// Begins to add concepts, given as JSON. With the name of a list they replace the concepts
    /// that were added under this name before; only new texts are encoded. Returns the number of
    /// texts of each batch: each batch is computed by [`Engine::encode_concepts`], or by
    /// [`Helper::encode_concepts`](crate::helper::Helper) and [`Engine::take_concepts`], in any
    /// order, before [`Engine::finish_concepts`]. Until then nothing is added, and the added
    /// concepts may not change.
    ///
    /// # Errors
    /// If the JSON is invalid, or no concept can be added.
    #[wasm_bindgen(js_name = beginConcepts)]
    pub fn begin_concepts(&mut self, concepts: &str, list: Option<String>) -> Outcome<Vec<u32>> {
        let concepts: Vec<Concept> = serde_json::from_str(concepts)?;
        self.begin_addition(list.as_deref(), concepts, Report::default())
    }

    /// As [`Engine::begin_concepts`], for the concepts of a file: `csv`, `tsv`, `obo` or `jsonl`.
    /// They replace the concepts of an earlier file of the same name.
    ///
    /// # Errors
    /// If the file cannot be read, or no concept can be added.
    #[wasm_bindgen(js_name = beginFile)]
    pub fn begin_file(&mut self, name: &str, format: &str, text: &str) -> Outcome<Vec<u32>> {
        let (concepts, report) = concepts_of(name, format, text)?;
        self.begin_addition(Some(name), concepts, report)
    }

    fn begin_addition(
        &mut self,
        list: Option<&str>,
        concepts: Vec<Concept>,
        mut report: Report,
    ) -> Outcome<Vec<u32>> {
        let tokenized = match list {
            Some(list) => self.linker.tokenize_list(list, concepts, &mut report)?,
            None => self.linker.tokenize_concepts(concepts, &mut report)?,
        };
        let (encoder, scorer) = (self.linker.encoder(), self.linker.scorer());
        let rows: Vec<&Encoded> = tokenized.rows.iter().collect();
        let batches = BATCH.batches(&rows);
        let vectors = Encodings::zeros(scorer, rows.len(), encoder.dim());
        let size = |batch: &Vec<usize>| u32::try_from(batch.len()).unwrap_or(u32::MAX);
        let sizes = batches.iter().map(size).collect();
        self.addition = Some(Addition {
            tokenized,
            batches,
            vectors,
            report,
        });
        Ok(sizes)
    }

    /// A batch for [`Helper::encode_concepts`](crate::helper::Helper).
    ///
    /// # Errors
    /// If there is no such batch.
    #[wasm_bindgen(js_name = conceptBatch)]
    pub fn concept_batch(&self, at: usize) -> Outcome<String> {
        to_json(&Rows::of(self.batch_rows(at)?.1))
    }

    /// Encodes a batch.
    ///
    /// # Errors
    /// If there is no such batch, or the device fails.
    #[wasm_bindgen(js_name = encodeConcepts)]
    pub async fn encode_concepts(&mut self, at: usize) -> Outcome<()> {
        let (places, rows) = self.batch_rows(at)?;
        let (places, found) = (places.to_vec(), self.vectors(Side::Entity, &rows).await?);
        self.put(&places, found)
    }

    /// Takes the values of a batch.
    ///
    /// # Errors
    /// If there is no such batch, or these are not its values.
    #[wasm_bindgen(js_name = takeConcepts)]
    pub fn take_concepts(&mut self, at: usize, values: Vec<f32>) -> Outcome<()> {
        let (places, rows) = self.batch_rows(at)?;
        let (encoder, scorer) = (self.linker.encoder(), self.linker.scorer());
        let (places, found) = (places.to_vec(), encoder.encodings(scorer, &rows, values)?);
        self.put(&places, found)
    }

    /// Adds the concepts whose batches were encoded. Returns what has changed, as JSON.
    ///
    /// # Errors
    /// If none are being added, or an identifier is taken.
    #[wasm_bindgen(js_name = finishConcepts)]
    pub fn finish_concepts(&mut self) -> Outcome<String> {
        let Addition {
            tokenized,
            vectors,
            report,
            ..
        } = self.addition.take().ok_or_else(nothing_begun)?;
        let changes = self.linker.add_concepts(tokenized, &vectors)?;
        to_json(&AddedReport { changes, report })
    }

    /// Ends an addition without adding anything.
    #[wasm_bindgen(js_name = dropConcepts)]
    pub fn drop_concepts(&mut self) {
        self.addition = None;
    }

    /// The positions and the rows of a batch.
    fn batch_rows(&self, at: usize) -> Outcome<(&[usize], Vec<&Encoded>)> {
        let addition = self.addition.as_ref().ok_or_else(nothing_begun)?;
        let missing = || Error::input(format!("the concepts have no batch {at}"));
        let places = addition.batches.get(at).ok_or_else(missing)?;
        let rows = places.iter().map(|row| &addition.tokenized.rows[*row]);
        Ok((places, rows.collect()))
    }

    fn put(&mut self, places: &[usize], found: Encodings) -> Outcome<()> {
        let addition = self.addition.as_mut().ok_or_else(nothing_begun)?;
        addition.vectors.put(places, found);
        Ok(())
    }
}

/// The concepts of a file, and what was skipped.
fn concepts_of(name: &str, format: &str, text: &str) -> Outcome<(Vec<Concept>, Report)> {
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

fn nothing_begun() -> Error {
    Error::input("no concepts are being added")
}
