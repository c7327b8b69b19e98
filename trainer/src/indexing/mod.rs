//! Builds a bundle with [`BundleBuilder`]: files, progress, resumed runs and the recall of the
//! index.

pub mod recall;
pub mod source;
pub mod update;
mod vectors;

use crate::io::device::OpenDevice;
use crate::io::interrupt;
use crate::io::progress::Progress;
use crate::io::resume::WorkFolder;
use bytes::Bytes;
use pel_shared::bundle::{
    BuiltBundle, BundleBuilder, ConceptRows, EncoderInfo, KbInfo, Manifest, Parts, TruncatedTexts,
};
use pel_shared::container::Check;
use pel_shared::error::Result;
use pel_shared::index::{HnswOptions, Index, IndexInfo, Precision};
use pel_shared::kb::redirects::Redirect;
use pel_shared::kb::{ConceptId, KnowledgeBase};
use pel_shared::model::layer::Precision as ComputePrecision;
use pel_shared::nil::NilPolicy;
use pel_shared::score::Scorer;
use pel_shared::tokens::{Tokens, ViewOptions};
use recall::{Against, Floor, K, QUERIES};
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
    /// The least recall of the graph.
    pub floor: Floor,
    /// The rule for NIL.
    pub nil: NilPolicy,
    /// Tokens of one encoder batch, padding included.
    pub batch_tokens: usize,
    /// Whether concepts are encoded in bfloat16 where the processor can.
    pub bf16: bool,
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
}

/// The recall@[`K`] of an index over [`QUERIES`] of its own vectors as queries, or as many as there
/// are.
#[derive(Clone, Copy, Debug)]
pub struct Found {
    /// Against the exact search over the stored vectors.
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
        floor,
        batch_tokens,
        bf16,
        ..
    } = recipe;
    let (reduction, concepts) = (encoder.reduction, kb.len());
    let redirects = recipe.redirects.len();
    let builder = BundleBuilder::new(kb, files)
        .encoder(encoder)
        .kb_info(kb_info)
        .licence_text(recipe.licence_text)
        .redirects(recipe.redirects)
        .view(view)
        .precision(recipe.precision)
        .scorer(scorer)
        .hnsw(hnsw)
        .nil(recipe.nil)
        .compute_precision(if bf16 {
            ComputePrecision::Bf16
        } else {
            ComputePrecision::F32
        });
    let mut tokenized = builder.tokenize(&device.device, tick(concepts))?;
    let sequences = &tokenized.rows().sequences;
    eprintln!(
        "{concepts} concepts, {} different texts, on {}",
        sequences.len(),
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
        bf16,
        scorer,
    };
    let encoded = vectors::encode(&encoding, sequences, work, &key)?;
    let vectors = tokenized.spread(encoded)?;
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

/// The recall of an index ([`Built::found`]). For a graph below the floor, `ef_search` is doubled
/// until it is reached.
fn measure(
    vectors: &[f32],
    concepts: &[ConceptId],
    info: &mut IndexInfo,
    bytes: &mut Bytes,
    floor: Floor,
    mix: f32,
) -> Result<Option<Found>> {
    if info.precision == Precision::F32 && info.hnsw.is_none() {
        return Ok(None);
    }
    let (index, recall) = stored_recall(info, bytes, floor, mix)?;
    let before_rounding = match info.precision {
        Precision::F32 => None,
        Precision::Int8 | Precision::Int4 => Some(
            Against::of(vectors, concepts.iter().copied(), info, QUERIES, mix)?.recall(&index, K),
        ),
    };
    Ok(Some(Found {
        recall,
        before_rounding,
    }))
}

/// An index and its recall against the exact search over its stored vectors. For a graph below the
/// floor, `ef_search` is doubled until it is reached.
fn stored_recall(
    info: &mut IndexInfo,
    bytes: &mut Bytes,
    floor: Floor,
    mix: f32,
) -> Result<(Index, f64)> {
    let mut index = Index::from_bytes(bytes, Check::Trusted)?;
    if mix > 0.0 {
        index.set_mix(mix);
    }
    let own = Against::own(&index, QUERIES, mix)?;
    let recall = match &mut info.hnsw {
        None => own.recall(&index, K),
        Some(options) => {
            let (recall, ef) = own.reached(&mut index, options.ef_search, floor)?;
            if ef != options.ef_search {
                eprintln!(
                    "ef_search is {ef} instead of {}, for recall@{K} of at least {}",
                    options.ef_search, floor.least
                );
                options.ef_search = ef;
                *bytes = Index::with_ef_search(bytes, ef)?.into();
            }
            recall
        }
    };
    Ok((index, recall))
}
