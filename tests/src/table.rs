//! The test table `pipeline.json` and bundles of it with the tiny model.

use crate::{bytes, model};
use bytes::Bytes;
use pel_artifacts::device::OpenDevice;
use pel_corpora::indexing::recall::Floor;
use pel_corpora::indexing::{Recipe, build};
use pel_index::Precision;
use pel_io::resume::WorkFolder;
use pel_kb::codes::CodeList;
use pel_kb::hierarchy::HierarchyList;
use pel_kb::score::{Scorer, Similarity};
use pel_kb::{Concept, KnowledgeBase};
use pel_linker::bundle::{Bundle, EncoderInfo, KbInfo, Parts, names};
use pel_linker::{LinkOptions, Linker};
use pel_model::nil::NilPolicy;
use pel_model::tokens::ViewOptions;
use pel_model::tower::{Pooling, Reduction};
use pel_notes::link::link;
use pel_output::Record;
use serde::Deserialize;

/// Texts with expected decisions.
#[derive(Deserialize)]
pub struct Table {
    /// The NIL threshold.
    pub threshold: f32,
    /// The knowledge base.
    pub concepts: Vec<Concept>,
    /// The texts.
    pub rows: Vec<Row>,
}

/// A text with its decisions.
#[derive(Deserialize)]
pub struct Row {
    /// The text.
    pub text: String,
    /// Given spans, in bytes.
    #[serde(default)]
    pub spans: Vec<(usize, usize)>,
    /// Start and end of each mention in bytes with its concept, if any.
    pub links: Vec<(usize, usize, Option<String>)>,
}

impl Table {
    /// Reads the table.
    ///
    /// # Panics
    /// If it cannot be read.
    pub fn read() -> Self {
        serde_json::from_slice(&bytes("pipeline.json")).expect("the table has its form")
    }
}

/// The recipe of a bundle of the table.
///
/// # Panics
/// If a file is missing.
pub fn recipe(table: &Table, precision: Precision) -> Recipe {
    let mut kb = KnowledgeBase::new();
    for concept in &table.concepts {
        kb.push(concept.clone())
            .expect("the table's ids are unique");
    }
    let mut files = Parts::default();
    for name in [names::CONFIG, names::WEIGHTS, names::TOKENIZER] {
        let bytes = std::fs::read(model("tiny").join(name)).expect(name);
        files.0.insert(name.into(), Bytes::from(bytes));
    }
    Recipe {
        encoder: EncoderInfo {
            name: "tiny".into(),
            licence: "MIT OR Apache-2.0".into(),
            tied: true,
            reduction: Reduction {
                pooling: Pooling::Mean,
                score: Similarity::Cosine,
            },
            precision,
        },
        kb_info: KbInfo {
            name: "table".into(),
            concepts: kb.len(),
            names: 7,
            blake3: String::new(),
            licences: Vec::new(),
        },
        kb,
        licence_text: None,
        redirects: Vec::new(),
        codes: CodeList::new(),
        hierarchy: HierarchyList::new(),
        files,
        view: ViewOptions::names(),
        precision: Precision::Int8,
        scorer: Scorer::Dual,
        every_name: false,
        cells: None,
        mixed_rows: None,
        export_vectors: None,
        hnsw: None,
        floor: Floor::default(),
        detector: None,
        nil: NilPolicy {
            threshold: Some(table.threshold),
            ..NilPolicy::default()
        },
        batch_tokens: Some(2048),
        compute_precision: pel_model::layer::Precision::F32,
    }
}

/// Builds the files of a bundle.
///
/// # Panics
/// If its parts do not fit.
pub fn built(recipe: Recipe, device: &OpenDevice) -> Parts {
    let folder = tempfile::tempdir().expect("a folder");
    let work = WorkFolder::beside(&folder.path().join("bundle"));
    build(recipe, device, &work)
        .expect("it fits together")
        .parts
}

/// A linker for a recipe.
///
/// # Panics
/// If its parts do not fit.
pub fn linker(mut recipe: Recipe, device: &OpenDevice) -> Linker {
    // Tests may replace the concepts of the recipe.
    recipe.kb_info.concepts = recipe.kb.len();
    let bundle = Bundle::read(built(recipe, device)).expect("a built bundle can be read");
    Linker::new(bundle, &device.device).expect("the encoder fits")
}

/// The records of the mentions that a linker detects in a text.
///
/// # Panics
/// If the text cannot be linked.
pub fn records(linker: &Linker, text: &str) -> Vec<Record> {
    let options = LinkOptions::default();
    let found = linker.detect(text, &options).expect("detected");
    let links = link(linker, text, found, &options).expect("linked");
    links
        .iter()
        .map(|link| Record::new(linker, link).expect("whole"))
        .collect()
}
