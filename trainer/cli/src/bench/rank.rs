//! Ranking: pairs of a mention and its candidates.

use super::encode::EncodeRow;
use crate::bench::{Options, Random, read_rows, timed};
use burn::tensor::Device;
use pel_artifacts::bundles;
use pel_artifacts::device::OpenDevice;
use pel_artifacts::models::{SETTINGS_FILE, open_ranker};
use pel_io::files::io_error;
use pel_kb::error::{Context, Error, Result};
use pel_linker::bundle::names;
use pel_model::config::BertConfig;
use pel_model::cpu;
use pel_model::cross_encoder::Ranker;
use pel_model::layer::Precision;
use pel_model::tokens::{Cut, Encoded};
use serde::Serialize;
use std::path::Path;
use tempfile::TempDir;

/// Candidates of a mention, and tokens of a pair, or the ranker's limit if that is lower.
const SHAPE: (usize, usize) = (16, 128);

/// The time of one batch of pairs.
#[derive(Serialize)]
pub(crate) struct RankRow {
    #[serde(flatten)]
    pub time: EncodeRow,
    /// The scores of the pairs.
    pub scores: Vec<f32>,
}

/// Measures a ranker in its own precision; on the CPU also in int8, and in bfloat16 if the CPU has
/// instructions for it.
pub(crate) fn rank(options: &Options, device: &OpenDevice) -> Result<Vec<RankRow>> {
    let Some(folder) = &options.ranker else {
        return Ok(Vec::new());
    };
    let ranker = open_ranker(folder, &device.device)?;
    let config = BertConfig::from_bytes(&bundles::map(&folder.join(names::CONFIG))?)?;
    let pairs = pairs(options, &config)?;
    let is_int8 = cpu::is_quantised(&bundles::map(&folder.join(names::WEIGHTS))?)?;
    let mut rows = vec![row(
        options,
        if is_int8 { "int8" } else { "f32" },
        &ranker,
        &pairs,
    )?];
    // A GPU computes in floats for any weights.
    if is_int8 || device.device != Device::flex() {
        return Ok(rows);
    }
    if Precision::Bf16.is_supported() {
        rows.push(row(
            options,
            "bf16",
            &ranker.in_precision(Precision::Bf16),
            &pairs,
        )?);
    }
    let copy = quantised(folder, &config)?;
    rows.push(row(
        options,
        "int8",
        &open_ranker(copy.path(), &device.device)?,
        &pairs,
    )?);
    Ok(rows)
}

fn row(options: &Options, precision: &str, ranker: &Ranker, pairs: &[Encoded]) -> Result<RankRow> {
    let scores = ranker.scores(pairs)?;
    let (median_ms, runs) = timed(options.seconds, || ranker.scores(pairs).map(drop))?;
    let (batch, seq) = (pairs.len(), pairs.first().map_or(0, |pair| pair.ids.len()));
    Ok(RankRow {
        time: EncodeRow {
            precision: precision.to_owned(),
            batch,
            seq,
            median_ms,
            runs,
        },
        scores,
    })
}

/// A copy of a ranker's folder with int8 weights. It is a file, so that weights are aligned to
/// cache lines as in a bundle.
fn quantised(folder: &Path, config: &BertConfig) -> Result<TempDir> {
    let copy = tempfile::tempdir()
        .map_err(|cause| Error::io("making a folder for an int8 ranker").caused_by(cause))?;
    for name in [
        SETTINGS_FILE,
        names::CONFIG,
        names::TOKENIZER,
        names::PROJECTION,
    ] {
        let from = folder.join(name);
        std::fs::copy(&from, copy.path().join(name))
            .map_err(|cause| io_error("copying", &from, cause))?;
    }
    let (from, to) = (
        folder.join(names::WEIGHTS),
        copy.path().join(names::WEIGHTS),
    );
    let weights =
        cpu::quantise(config, &bundles::map(&from)?).context(|| from.display().to_string())?;
    std::fs::write(&to, weights).map_err(|cause| io_error("writing", &to, cause))?;
    Ok(copy)
}

/// Pairs of token ids from the file, or of random ones. The first half of each is the mention.
fn pairs(options: &Options, config: &BertConfig) -> Result<Vec<Encoded>> {
    let (batch, seq) = (SHAPE.0, SHAPE.1.min(config.max_position_embeddings));
    let vocabulary = config.vocab_size;
    let ids = match &options.pairs_from {
        Some(path) => read(path, seq, vocabulary)?,
        None => {
            let mut random = Random(0);
            (0..batch * seq)
                .map(|_| (random.next() % vocabulary as u64) as u32)
                .collect()
        }
    };
    let mention = seq / 2;
    let pair = |ids: &[u32]| Encoded {
        ids: ids.to_vec(),
        own: 0..mention,
        second: mention,
        cut: Cut::default(),
    };
    Ok(ids.chunks_exact(seq).map(pair).collect())
}

/// Reads rows of token ids, and checks that the ranker has them.
fn read(path: &Path, seq: usize, vocabulary: usize) -> Result<Vec<u32>> {
    let ids: Vec<u32> = read_rows(path, seq, "u32 token ids")?
        .into_iter()
        .map(u32::from_le_bytes)
        .collect();
    if let Some(id) = ids.iter().find(|id| **id as usize >= vocabulary) {
        let path = path.display();
        return Err(Error::input(format!(
            "{path}: expected token ids below {vocabulary}, found {id}"
        )));
    }
    Ok(ids)
}
