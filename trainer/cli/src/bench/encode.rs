//! Encoding: batches of several sizes.

use crate::bench::options::Shape;
use crate::bench::{Options, Random, timed};
use burn::tensor::Device;
use pel_artifacts::bundles;
use pel_artifacts::device::OpenDevice;
use pel_kb::error::{Context, Result};
use pel_linker::bundle::Bundle;
use pel_model::burn::bert::multiplies_in;
use pel_model::encode::Encoder;
use pel_model::layer::Precision;
use pel_model::tokens::{Cut, Encoded};
use pel_model::tower::Side;
use serde::Serialize;
use std::path::Path;

/// The time of one batch.
#[derive(Serialize)]
pub(crate) struct EncodeRow {
    /// The precision of the weights; on a GPU, where weights are floats, that of the products.
    pub precision: String,
    pub batch: usize,
    pub seq: usize,
    pub median_ms: f64,
    pub runs: usize,
}

impl EncodeRow {
    pub fn tokens_per_s(&self) -> f64 {
        1000.0 * (self.batch * self.seq) as f64 / self.median_ms
    }
}

/// Measures the bundle's encoder, and that of a second bundle if one is given.
pub(crate) fn encode(
    options: &Options,
    bundle: &Bundle,
    device: &OpenDevice,
) -> Result<Vec<EncodeRow>> {
    let mut rows = one(options, &options.bundle, bundle, device)?;
    if let Some(path) = &options.int8_bundle {
        rows.extend(one(options, path, &bundles::open(path)?, device)?);
    }
    Ok(rows)
}

fn one(
    options: &Options,
    path: &Path,
    bundle: &Bundle,
    device: &OpenDevice,
) -> Result<Vec<EncodeRow>> {
    let open = || {
        bundle
            .encoder(&device.device)
            .context(|| path.display().to_string())
    };
    let mut rows = Vec::new();
    if device.device == Device::flex() {
        let weights = format!("{:?}", bundle.manifest.encoder.precision).to_lowercase();
        measure(options, bundle, &open()?, &weights, &mut rows)?;
        return Ok(rows);
    }
    for precision in [Precision::F32, Precision::Bf16, Precision::F16] {
        if multiplies_in(precision, &device.device) {
            let name = format!("{precision:?}").to_lowercase();
            let encoder = open()?.in_precision(precision);
            measure(options, bundle, &encoder, &name, &mut rows)?;
        }
    }
    Ok(rows)
}

/// Measures one encoder on all shapes.
fn measure(
    options: &Options,
    bundle: &Bundle,
    encoder: &Encoder,
    precision: &str,
    rows: &mut Vec<EncodeRow>,
) -> Result<()> {
    for &Shape { batch, seq } in &options.encode_shapes {
        if seq > encoder.max_positions() {
            continue;
        }
        let sequences = sequences(bundle, Shape { batch, seq });
        let sequences: Vec<&Encoded> = sequences.iter().collect();
        let (median_ms, runs) = timed(options.seconds, || {
            encoder.encode(Side::Mention, &sequences).map(drop)
        })?;
        rows.push(EncodeRow {
            precision: precision.to_owned(),
            batch,
            seq,
            median_ms,
            runs,
        });
    }
    Ok(())
}

/// A batch of random tokens, the same in every run.
pub(super) fn sequences(bundle: &Bundle, shape: Shape) -> Vec<Encoded> {
    let mut random = Random(0);
    let mut id = || (random.next() % bundle.tokens.size() as u64) as u32;
    let sequence = |_| Encoded::whole((0..shape.seq).map(|_| id()).collect(), Cut::default());
    (0..shape.batch).map(sequence).collect()
}
