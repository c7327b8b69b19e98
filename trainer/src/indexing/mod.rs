//! From a knowledge base and an encoder to a bundle.

mod vectors;

pub use vectors::{Rows, rows};

use crate::device::OpenDevice;
use crate::work::WorkFolder;
use bytes::Bytes;
use pel_shared::bert::{BertConfig, Precision as InPrecision};
use pel_shared::bundle::{EncoderInfo, FORMAT_VERSION, KbInfo, Manifest, Parts, ViewOptions, names};
use pel_shared::concepts::ConceptTable;
use pel_shared::container::Check;
use pel_shared::cpu;
use pel_shared::detect::Dictionary;
use pel_shared::encoder::Encoder;
use pel_shared::error::{Context, Error, Result};
use pel_shared::index::{
    HnswOptions, Index, IndexInfo, Precision, TokenCodes, TokenStore, TokenStoreBuilder, TokenStoreInfo,
};
use pel_shared::kb::{ConceptId, KnowledgeBase};
use pel_shared::nil::NilPolicy;
use pel_shared::score::Scorer;
use pel_shared::text::Span;
use pel_shared::tokens::Tokens;
use vectors::{Encoding, Vectors};

/// Vectors of an index that it is searched for, to see what it finds of the exact search's best.
pub const QUERIES: usize = 256;

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
    /// Texts that did not fit into their window.
    pub cut: usize,
    /// The share of the exact f32 search's best 64 concepts that the index finds, over [`QUERIES`] of its own vectors as queries, or as many as there are;
    /// nothing where the index is that search.
    pub kept: Option<f64>,
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

    let index_info = IndexInfo {
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
    let index = Bytes::from(Index::build(&vectors, &rows.concepts, &index_info)?);
    let kept = measure(&vectors, &rows, &index_info, &index)?;
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
    Ok(Built { parts, manifest, without_rows: rows.without_rows, cut: rows.cut, kept })
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

/// See [`Built::kept`].
fn measure(vectors: &[f32], rows: &Rows, info: &IndexInfo, index: &Bytes) -> Result<Option<f64>> {
    if info.precision == Precision::F32 && info.hnsw.is_none() {
        return Ok(None);
    }
    let exact = IndexInfo { precision: Precision::F32, hnsw: None, ..info.clone() };
    let exact = Index::from_bytes(&Index::build(vectors, &rows.concepts, &exact)?.into(), Check::Trusted)?;
    let index = Index::from_bytes(index, Check::Trusted)?;
    let step = (rows.concepts.len() / QUERIES).max(1);
    let queries: Vec<f32> = vectors.chunks_exact(info.dim).step_by(step).take(QUERIES).flatten().copied().collect();
    let (mut hits, mut wanted) = (0, 0);
    for (found, expected) in index.search(&queries, 64).iter().zip(exact.search(&queries, 64)) {
        wanted += expected.len();
        hits += expected.iter().filter(|e| found.iter().any(|f| f.concept == e.concept)).count();
    }
    Ok(Some(hits as f64 / wanted.max(1) as f64))
}
