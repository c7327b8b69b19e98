//! From a knowledge base and an encoder to a bundle.

pub mod recall;
pub mod source;
mod vectors;

pub use vectors::{CutTexts, Rows, rows};

use crate::io::device::OpenDevice;
use crate::io::resume::WorkFolder;
use bytes::Bytes;
use pel_shared::bundle::{EncoderInfo, FORMAT_VERSION, KbInfo, Manifest, Parts, names};
use pel_shared::container::Check;
use pel_shared::error::{Context, Error, Result};
use pel_shared::index::{
    HnswOptions, Index, IndexInfo, Precision, TokenCodes, TokenStore, TokenStoreBuilder, TokenStoreInfo,
};
use pel_shared::kb::table::ConceptTable;
use pel_shared::kb::{ConceptId, KnowledgeBase};
use pel_shared::model::config::BertConfig;
use pel_shared::model::cpu;
use pel_shared::model::encode::Encoder;
use pel_shared::model::layer::Precision as InPrecision;
use pel_shared::nil::NilPolicy;
use pel_shared::score::Scorer;
use pel_shared::text::Span;
use pel_shared::text::detect::Dictionary;
use pel_shared::tokens::Tokens;
use pel_shared::tokens::ViewOptions;
use recall::{Against, Floor, K, QUERIES};
use vectors::{Encoding, Vectors};

/// What a bundle is made of.
pub struct Recipe {
    /// The model, for the manifest.
    pub encoder: EncoderInfo,
    /// The concepts.
    pub kb: KnowledgeBase,
    /// The knowledge base, for the manifest.
    pub kb_info: KbInfo,
    /// Its licences in full.
    pub licence_text: Option<String>,
    /// The encoder's files and its tokenizer.
    pub files: Parts,
    /// How concepts and mentions are written.
    pub view: ViewOptions,
    /// How values are kept.
    pub precision: Precision,
    /// What is compared: for Sum-of-Max the bundle holds the vectors of all tokens too.
    pub scorer: Scorer,
    /// A graph for approximate search.
    pub hnsw: Option<HnswOptions>,
    /// What the graph must find.
    pub floor: Floor,
    /// When a mention is NIL.
    pub nil: NilPolicy,
    /// Tokens of one encoder batch, padding included.
    pub batch_tokens: usize,
    /// Encode concepts in bfloat16 where the processor can.
    pub bf16: bool,
}

/// A bundle that was built, and what there is to say about it.
pub struct Built {
    /// All files, the manifest among them.
    pub parts: Parts,
    /// The manifest.
    pub manifest: Manifest,
    /// Concepts of which nothing is left after normalising.
    pub without_rows: Vec<ConceptId>,
    /// Texts, and how many did not fit into their window.
    pub cut: CutTexts,
    /// What the index finds, where it is not the exact search over floats itself.
    pub found: Option<Found>,
}

/// What an index finds: recall@[`K`] over [`QUERIES`] of its own vectors as queries, or as many as there are.
#[derive(Clone, Copy, Debug)]
pub struct Found {
    /// Against the exact search over the vectors that it keeps.
    pub recall: f64,
    /// Against the exact search over the vectors before they were rounded, with these as queries; nothing where they are not.
    pub before_rounding: Option<f64>,
}

/// Builds a bundle; `work` keeps the vectors of a run that was stopped.
///
/// # Errors
/// If the parts do not fit together, the device fails, or the user stops the work.
pub fn build(recipe: Recipe, device: &OpenDevice, work: &WorkFolder) -> Result<Built> {
    let Recipe {
        encoder: info,
        kb,
        kb_info,
        licence_text,
        files: mut parts,
        view,
        precision,
        scorer,
        hnsw,
        floor,
        nil,
        batch_tokens,
        bf16,
    } = recipe;
    let tokens = Tokens::from_bytes(parts.get(names::TOKENIZER)?)?;
    let encoder = encoder(&parts, &tokens, &info, &view, device)?;
    // Said before all concepts are encoded.
    view.mention(&tokens, &view.reader().mention("x", Span::new(0, 1))?).context(|| "mentions".into())?;
    let rows = rows(&kb, &tokens, &view)?;
    if rows.concepts.is_empty() {
        return Err(Error::input("no concept can be indexed: nothing is left of any name after normalising"));
    }
    eprintln!("{} concepts, {} different texts, on {}", kb.len(), rows.sequences.len(), device.name);
    let reduction = info.reduction;
    let key = format!("{reduction:?} {:?} {}", parts.file_infos(), device.name);
    let encoder = if bf16 { encoder.in_precision(InPrecision::Bf16) } else { encoder };
    let encoding = Encoding { encoder: &encoder, batch_tokens, bf16, scorer };
    let Vectors { pooled, tokens } = vectors::vectors(&encoding, &rows.sequences, work, &key)?;
    let token_vectors = match tokens {
        None => None,
        Some(tokens) => Some(store(&rows, tokens, encoder.dim(), &mut parts)?),
    };
    let vectors = rows.spread(&pooled);

    let mut index_info = IndexInfo {
        rows: rows.concepts.len(),
        dim: vectors.len() / rows.concepts.len(),
        precision,
        score: reduction.score,
        hnsw,
    };
    if hnsw.is_some() {
        // A million vectors take an hour on two cores.
        eprintln!("building a graph over {} vectors", index_info.rows);
    }
    let mut index = Bytes::from(Index::build(&vectors, &rows.concepts, &index_info)?);
    let found = measure(&vectors, &rows.concepts, &mut index_info, &mut index, floor, view.mix)?;
    // After the concepts: their vectors are better from floats, and made only once.
    for (config, weights) in [(names::CONFIG, names::WEIGHTS), (names::ENTITY_CONFIG, names::ENTITY_WEIGHTS)] {
        if let (Precision::Int8, Some(floats)) = (info.precision, parts.0.get(weights)) {
            let quantised = quantise(parts.get(config)?, floats).context(|| weights.into())?;
            parts.0.insert(weights.into(), quantised);
        }
    }
    parts.0.insert(names::INDEX.into(), index);
    parts.0.insert(names::CONCEPTS.into(), ConceptTable::build(&kb)?.into());
    parts.0.insert(names::DICTIONARY.into(), Dictionary::build(kb.iter())?.into());
    if let Some(text) = licence_text {
        parts.0.insert(names::LICENCES.into(), text.into());
    }
    let manifest = Manifest {
        format: FORMAT_VERSION,
        written_by: format!("pel {}", env!("CARGO_PKG_VERSION")),
        encoder: info,
        kb: kb_info,
        view,
        index: index_info,
        token_vectors,
        nil,
        files: parts.file_infos(),
        digest: None,
    };
    let (manifest, written) = manifest.sealed()?;
    parts.0.insert(names::MANIFEST.into(), written.into());
    Ok(Built { parts, manifest, without_rows: rows.without_rows, cut: rows.cut, found })
}

/// Puts the token vectors of all rows among the files.
fn store(rows: &Rows, tokens: Vec<TokenCodes>, dim: usize, parts: &mut Parts) -> Result<TokenStoreInfo> {
    let mut store = TokenStoreBuilder::new(dim);
    for (concept, at) in rows.concepts.iter().zip(&rows.sequence_of) {
        store.push_codes(*concept, &tokens[*at]);
    }
    drop(tokens);
    let bytes = Bytes::from(store.finish()?);
    let info = TokenStore::from_bytes(&bytes, Check::Trusted)?.info().clone();
    parts.0.insert(names::TOKEN_VECTORS.into(), bytes);
    Ok(info)
}

fn encoder(
    parts: &Parts,
    tokens: &Tokens,
    info: &EncoderInfo,
    view: &ViewOptions,
    device: &OpenDevice,
) -> Result<Encoder> {
    if info.precision == Precision::F32 && cpu::is_quantised(parts.get(names::WEIGHTS)?)? {
        return Err(Error::input("the encoder's weights are int8 already: choose --encoder-precision int8"));
    }
    let encoder = parts.encoder(tokens, info, &device.device)?;
    let limit = encoder.max_positions();
    view.check_mix()?;
    view.check_spelling(info.reduction.score)?;
    if [view.entity_tokens, view.mention_tokens, view.name_tokens].iter().any(|tokens| *tokens > limit) {
        return Err(Error::input(format!("the encoder reads at most {limit} tokens; choose shorter windows")));
    }
    Ok(encoder)
}

/// Weights with one byte for each; those that have one already stay as they are.
fn quantise(config: &[u8], weights: &Bytes) -> Result<Bytes> {
    if cpu::is_quantised(weights)? {
        return Ok(weights.clone());
    }
    Ok(cpu::quantise(&BertConfig::from_bytes(config)?, weights)?.into())
}

/// See [`Built::found`]. A graph that needs more nodes kept while searching for the floor gets them.
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
                    "the graph keeps {ef} nodes while searching, not {}, for recall@{K} of at least {}",
                    options.ef_search, floor.least
                );
                options.ef_search = ef;
                *bytes = Index::with_ef_search(bytes, ef)?.into();
            }
            recall
        }
    };
    drop(own);
    let before_rounding = match info.precision {
        Precision::F32 => None,
        Precision::Int8 | Precision::Int4 => {
            Some(Against::of(vectors, concepts.iter().copied(), info, QUERIES, mix)?.recall(&index, K))
        }
    };
    Ok(Some(Found { recall, before_rounding }))
}
