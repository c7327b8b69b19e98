//! Builds a bundle with [`BundleBuilder`]: files, progress, resumed runs and the recall of the
//! index.

pub mod recall;
pub mod source;
pub mod update;
mod vectors;

use bytes::Bytes;
use pel_artifacts::device::OpenDevice;
use pel_index::{CellOptions, HnswOptions, Index, IndexInfo, Precision};
use pel_io::files::{io_error, write_atomic};
use pel_io::interrupt;
use pel_io::progress::Progress;
use pel_io::resume::WorkFolder;
use pel_io::terminal::counted;
use pel_kb::codes::CodeList;
use pel_kb::container::Check;
use pel_kb::error::Result;
use pel_kb::hierarchy::HierarchyList;
use pel_kb::redirects::Redirect;
use pel_kb::score::Scorer;
use pel_kb::{ConceptId, KnowledgeBase};
use pel_linker::bundle::{
    BuiltBundle, BundleBuilder, ConceptRows, EncoderInfo, KbInfo, Manifest, Parts, TruncatedTexts,
};
use pel_model::detector::DetectorInfo;
use pel_model::layer::Precision as ComputePrecision;
use pel_model::nil::NilPolicy;
use pel_model::tokens::{Tokens, ViewOptions};
use recall::{Against, Floor, K, QUERIES};
use std::path::PathBuf;
use vectors::Encoding;

/// The inputs and options of `pel index`.
pub struct Recipe {
    /// The description of the model.
    pub encoder: EncoderInfo,
    /// The concepts.
    pub kb: KnowledgeBase,
    /// The description of the knowledge base.
    pub kb_info: KbInfo,
    /// The full text of its licences.
    pub licence_text: Option<String>,
    /// The retired identifiers and their successors.
    pub redirects: Vec<Redirect>,
    /// The codes of the concepts.
    pub codes: CodeList,
    /// Is-a between the concepts and codes.
    pub hierarchy: HierarchyList,
    /// The encoder's files and its tokenizer.
    pub files: Parts,
    /// The templates and window lengths of concepts and mentions.
    pub view: ViewOptions,
    /// The precision of the index.
    pub precision: Precision,
    /// What is compared. For Sum-of-Max the bundle has the vectors of all tokens too.
    pub scorer: Scorer,
    /// The options of the graph for approximate search; `None` builds no graph.
    pub hnsw: Option<HnswOptions>,
    /// The number of cells for approximate search, and of those that a search reads; `None` builds
    /// no cells.
    pub cells: Option<CellChoice>,
    /// How rows are mixed; `None` keeps a row for each template and each name.
    pub mixed_rows: Option<MixedRowsChoice>,
    /// The least recall of the graph or the cells.
    pub floor: Floor,
    /// The file for the vectors of the rows before quantisation, raw little-endian f32.
    pub export_vectors: Option<PathBuf>,
    /// The rule for NIL.
    pub nil: NilPolicy,
    /// The detector of mentions, if the encoder has one.
    pub detector: Option<DetectorInfo>,
    /// Whether names of the knowledge base are mentions whatever the detector says.
    pub every_name: bool,
    /// Tokens of one encoder batch, padding included; `None` chooses by device.
    pub batch_tokens: Option<usize>,
    /// The number format in which concepts are encoded, where the device has it.
    pub compute_precision: ComputePrecision,
}

/// The cells of an index.
#[derive(Clone, Copy, Debug)]
pub struct CellChoice {
    /// The number of cells; `None` takes [`CellOptions::cells_for`] the rows.
    pub cells: Option<usize>,
    /// The cells that a search reads, if [`Floor::raise`] does not raise it.
    pub probes: usize,
}

/// Rows that hold a name and its concept's template.
#[derive(Clone, Copy, Debug)]
pub struct MixedRowsChoice {
    /// The cosine similarity with another row of its concept from which on a name is left out.
    pub distinct: Option<f32>,
}

/// A bundle with the figures of its build.
pub struct Built {
    /// All files, the manifest among them.
    pub parts: Parts,
    /// The manifest.
    pub manifest: Manifest,
    /// Concepts without a row: all their names are empty after normalisation.
    pub without_rows: Vec<ConceptId>,
    /// The number of texts, and of those that were truncated to their window.
    pub cut: TruncatedTexts,
    /// The number of redirects.
    pub redirects: usize,
    /// The recall of the index; `None` for an exact search over floats.
    pub found: Option<Found>,
    /// The names without a row of their own, because another one of their concept is similar.
    pub similar: usize,
}

/// The recall@[`K`] of an index over [`QUERIES`] of its own vectors as queries, or as many as there
/// are.
#[derive(Clone, Copy, Debug)]
pub struct Found {
    /// Against the exact search over the stored vectors; with cells, over those before
    /// quantisation.
    pub recall: f64,
    /// Against the exact search over the vectors before quantisation, with these as queries; `None`
    /// for f32 vectors.
    pub before_rounding: Option<f64>,
}

/// Builds a bundle. `work` saves the vectors, so that an interrupted run can resume.
///
/// # Errors
/// If the parts do not fit together, the device fails, or the user interrupts the run.
pub fn build(recipe: Recipe, device: &OpenDevice, work: &WorkFolder) -> Result<Built> {
    let Recipe {
        encoder,
        kb,
        kb_info,
        files,
        view,
        scorer,
        hnsw,
        cells,
        mixed_rows,
        floor,
        batch_tokens,
        compute_precision,
        ..
    } = recipe;
    let compute_precision = vectors::supported(compute_precision, device);
    let (reduction, concepts) = (encoder.reduction, kb.len());
    let redirects = recipe.redirects.len();
    let builder = BundleBuilder::new(kb, files)
        .encoder(encoder)
        .kb_info(kb_info)
        .licence_text(recipe.licence_text)
        .redirects(recipe.redirects)
        .codes(recipe.codes)
        .hierarchy(recipe.hierarchy)
        .view(view)
        .precision(recipe.precision)
        .scorer(scorer)
        .hnsw(hnsw)
        .nil(recipe.nil)
        .detector(recipe.detector)
        .every_name(recipe.every_name)
        .compute_precision(compute_precision);
    let mut tokenized = builder.tokenize(&device.device, tick(concepts))?;
    let sequences = &tokenized.rows().sequences;
    eprintln!(
        "{}, {}, on {}",
        counted(concepts, "concept"),
        counted(sequences.len(), "different text"),
        device.name
    );
    let key = format!(
        "{reduction:?} {:?} {}",
        tokenized.files().file_infos(),
        device.name
    );
    let encoding = Encoding {
        encoder: tokenized.encoder(),
        batch_tokens,
        compute_precision,
        scorer,
    };
    let (pooled, tokens) = vectors::encode_rows(&encoding, tokenized.rows(), work, &key)?;
    let mut vectors = tokenized.rows().spread(&pooled);
    drop(pooled);
    if let Some(tokens) = tokens {
        tokenized.set_token_vectors(tokens)?;
    }
    let similar = match mixed_rows {
        Some(MixedRowsChoice { distinct }) => tokenized.mix_rows(&mut vectors, distinct)?,
        None => 0,
    };
    if let Some(path) = &recipe.export_vectors {
        write_atomic(path, |file| {
            file.write_all(bytemuck::cast_slice(&vectors))
                .map_err(|cause| io_error("writing", path, cause))
        })?;
    }
    if let Some(choice) = cells {
        let rows = tokenized.rows().concepts.len();
        let cells = choice
            .cells
            .unwrap_or(CellOptions::cells_for(rows))
            .min(rows);
        eprintln!("dividing {rows} vectors into {cells} cells");
        tokenized.set_cells(CellOptions {
            cells,
            probes: choice.probes.min(cells),
        });
    }
    if hnsw.is_some() {
        // A million vectors take an hour on two cores.
        eprintln!(
            "building a graph over {} vectors",
            tokenized.rows().concepts.len()
        );
    }
    let (mut index_info, mut index) = tokenized.index(&vectors)?;
    let found = measure(
        &vectors,
        &tokenized.rows().concepts,
        &mut index_info,
        &mut index,
        floor,
        view.mix,
    )?;
    let BuiltBundle {
        parts,
        manifest,
        without_rows,
        cut,
        ..
    } = tokenized.finish(index_info, index)?;
    Ok(Built {
        parts,
        manifest,
        without_rows,
        cut,
        redirects,
        found,
        similar,
    })
}

/// Tokenizes every view of every concept and shows the progress.
///
/// # Errors
/// As [`ConceptRows::tokenize`], or if the user interrupts the run.
pub fn tokenize(kb: &KnowledgeBase, tokens: &Tokens, view: &ViewOptions) -> Result<ConceptRows> {
    ConceptRows::tokenize(kb, tokens, view, tick(kb.len()))
}

/// Counts one more tokenized concept of so many with each call.
fn tick(concepts: usize) -> impl FnMut() -> Result<()> {
    let mut progress = Progress::new("tokenizing", concepts as u64, "concepts");
    move || {
        interrupt::check()?;
        progress.advance(1);
        Ok(())
    }
}

/// The recall of an index ([`Built::found`]). For an approximate search below the floor, its depth
/// is doubled until it is reached.
fn measure(
    vectors: &[f32],
    concepts: &[ConceptId],
    info: &mut IndexInfo,
    bytes: &mut Bytes,
    floor: Floor,
    mix: f32,
) -> Result<Option<Found>> {
    if info.precision == Precision::F32 && info.depth().is_none() {
        return Ok(None);
    }
    // Mixed rows hold the template.
    let mix = if info.mixed > 0.0 { 0.0 } else { mix };
    let floats =
        |info: &IndexInfo| Against::of(vectors, concepts.iter().copied(), info, QUERIES, mix);
    // Cells lose by what they do not read and by quantisation; the floor holds for both together.
    let exact = match info.cells {
        Some(_) => Some(floats(info)?),
        None => None,
    };
    let (index, recall) = reached_recall(info, bytes, exact, floor, mix)?;
    let before_rounding = match (info.precision, info.cells) {
        (Precision::F32, None) => None,
        (_, Some(_)) => Some(recall),
        (Precision::Int8 | Precision::Int4, None) => Some(floats(info)?.recall(&index, K)),
    };
    Ok(Some(Found {
        recall,
        before_rounding,
    }))
}

/// An index and its recall against an exact search, by default that over its stored vectors. For an
/// approximate search below the floor, its depth is doubled until it is reached.
fn reached_recall(
    info: &mut IndexInfo,
    bytes: &mut Bytes,
    exact: Option<Against>,
    floor: Floor,
    mix: f32,
) -> Result<(Index, f64)> {
    let mut index = Index::from_bytes(bytes, Check::Trusted)?;
    if mix > 0.0 {
        index.set_mix(mix);
    }
    let own = match exact {
        Some(exact) => exact,
        None => Against::own(&index, QUERIES, mix)?,
    };
    let recall = match info.depth() {
        None => own.recall(&index, K),
        Some(before) => {
            let (recall, depth) = own.reached(&mut index, floor)?;
            if depth != before {
                let name = if info.cells.is_some() {
                    "probes"
                } else {
                    "ef_search"
                };
                eprintln!(
                    "{name} is {depth} instead of {before}, for recall@{K} of at least {}",
                    floor.least
                );
                info.set_depth(depth);
                *bytes = Index::with_depth(bytes, depth)?.into();
            }
            recall
        }
    };
    Ok((index, recall))
}
