//! Ranking: the candidates of one mention, each in one sequence with it.

use super::encode::EncodeRow;
use crate::bench::{Options, Random, timed};
use crate::io::bundles;
use crate::io::device::OpenDevice;
use crate::io::files::io_error;
use crate::io::models::{SETTINGS_FILE, open_ranker};
use burn::tensor::Device;
use pel_shared::bundle::names;
use pel_shared::error::{Context, Error, Result};
use pel_shared::model::config::BertConfig;
use pel_shared::model::cpu;
use pel_shared::model::cross_encoder::Ranker;
use pel_shared::model::layer::Precision;
use pel_shared::tokens::{Cut, Encoded};
use serde::Serialize;
use std::path::Path;
use tempfile::TempDir;

/// Candidates of a mention, and tokens of a pair: fewer where the ranker reads fewer.
const SHAPE: (usize, usize) = (16, 128);

/// The time of one batch of pairs.
#[derive(Serialize)]
pub(crate) struct RankRow {
    #[serde(flatten)]
    pub time: EncodeRow,
    /// Of the pairs, in their order.
    pub scores: Vec<f32>,
}

/// The ranker as it is kept; on the processor also in bfloat16, if that has instructions for it, and in int8.
pub(crate) fn rank(options: &Options, device: &OpenDevice) -> Result<Vec<RankRow>> {
    let Some(folder) = &options.ranker else { return Ok(Vec::new()) };
    let ranker = open_ranker(folder, &device.device)?;
    let config = BertConfig::from_bytes(&bundles::map(&folder.join(names::CONFIG))?)?;
    let pairs = pairs(options, &config)?;
    let is_int8 = cpu::is_quantised(&bundles::map(&folder.join(names::WEIGHTS))?)?;
    let mut rows = vec![row(options, if is_int8 { "int8" } else { "f32" }, &ranker, &pairs)?];
    // A GPU computes in floats, whatever it was given.
    if is_int8 || device.device != Device::flex() {
        return Ok(rows);
    }
    if Precision::Bf16.is_supported() {
        rows.push(row(options, "bf16", &ranker.in_precision(Precision::Bf16), &pairs)?);
    }
    let copy = quantised(folder, &config)?;
    rows.push(row(options, "int8", &open_ranker(copy.path(), &device.device)?, &pairs)?);
    Ok(rows)
}

fn row(options: &Options, precision: &str, ranker: &Ranker, pairs: &[Encoded]) -> Result<RankRow> {
    let scores = ranker.scores(pairs)?;
    let (median_ms, runs) = timed(options.seconds, || ranker.scores(pairs).map(drop))?;
    let (batch, seq) = (pairs.len(), pairs.first().map_or(0, |pair| pair.ids.len()));
    Ok(RankRow { time: EncodeRow { precision: precision.to_owned(), batch, seq, median_ms, runs }, scores })
}

/// A copy of a ranker's folder with int8 weights, which `pel train` does not write. A file and not a buffer, so that panels of
/// weights begin with a line of the cache, as those of a bundle do.
fn quantised(folder: &Path, config: &BertConfig) -> Result<TempDir> {
    let copy = tempfile::tempdir().map_err(|cause| Error::io("making a folder for an int8 ranker").caused_by(cause))?;
    for name in [SETTINGS_FILE, names::CONFIG, names::TOKENIZER, names::PROJECTION] {
        let from = folder.join(name);
        std::fs::copy(&from, copy.path().join(name)).map_err(|cause| io_error("copying", &from, cause))?;
    }
    let (from, to) = (folder.join(names::WEIGHTS), copy.path().join(names::WEIGHTS));
    let weights = cpu::quantise(config, &bundles::map(&from)?).context(|| from.display().to_string())?;
    std::fs::write(&to, weights).map_err(|cause| io_error("writing", &to, cause))?;
    Ok(copy)
}

/// Pairs of the token ids in the file, or of random ones. The first half of each is the mention, all of it its own tokens.
fn pairs(options: &Options, config: &BertConfig) -> Result<Vec<Encoded>> {
    let (batch, seq) = (SHAPE.0, SHAPE.1.min(config.max_position_embeddings));
    let vocabulary = config.vocab_size;
    let ids = match &options.pairs_from {
        Some(path) => read(path, seq, vocabulary)?,
        None => {
            let mut random = Random(0);
            (0..batch * seq).map(|_| (random.next() % vocabulary as u64) as u32).collect()
        }
    };
    let mention = seq / 2;
    let pair = |ids: &[u32]| Encoded { ids: ids.to_vec(), own: 0..mention, second: mention, cut: Cut::default() };
    Ok(ids.chunks_exact(seq).map(pair).collect())
}

/// Whole rows of token ids that the ranker knows.
fn read(path: &Path, seq: usize, vocabulary: usize) -> Result<Vec<u32>> {
    let bytes = std::fs::read(path).map_err(|cause| io_error("reading", path, cause))?;
    if bytes.is_empty() || !bytes.len().is_multiple_of(4 * seq) {
        let (path, size) = (path.display(), bytes.len());
        return Err(Error::input(format!("{path}: expected rows of {seq} u32 token ids, found {size} bytes")));
    }
    let ids: Vec<u32> = bytes.as_chunks::<4>().0.iter().map(|id| u32::from_le_bytes(*id)).collect();
    if let Some(id) = ids.iter().find(|id| **id as usize >= vocabulary) {
        let path = path.display();
        return Err(Error::input(format!("{path}: expected token ids below {vocabulary}, found {id}")));
    }
    Ok(ids)
}
