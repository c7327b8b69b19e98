//! A training step: forward and backward of one batch through the mention tower, without the optimiser's part.

use super::{BenchArgs, Random, timed};
use crate::device::OpenDevice;
use crate::memory;
use pel_shared::bert::{Bert, BertConfig, BertInput, Pass};
use pel_shared::biencoder::{Pooling, pool};
use pel_shared::bundle::{Bundle, names};
use pel_shared::cpu::train::allocated;
use pel_shared::error::{Context, Result};
use pel_shared::tokens::TokenBatch;
use serde::Serialize;

/// Rows and tokens of the batch.
const SHAPE: (usize, usize) = (16, 64);

/// The time and memory of one step.
#[derive(Serialize)]
pub(super) struct TrainRow {
    pub batch: usize,
    pub seq: usize,
    pub median_ms: f64,
    pub runs: usize,
    /// Buffers of the layers that a step had to allocate after the first ones; the others were used again.
    pub allocations: f64,
    /// Most memory of this process so far.
    pub peak_bytes: Option<u64>,
}

/// Loss: the sum of squares of the mean-pooled vectors, no dropout, gradients of every weight.
pub(super) fn train(args: &BenchArgs, bundle: &Bundle, device: &OpenDevice) -> Result<Vec<TrainRow>> {
    let parts = bundle.parts();
    let config = BertConfig::from_bytes(parts.get(names::CONFIG)?)?;
    let (batch, seq) = SHAPE;
    if seq > config.max_position_embeddings {
        return Ok(Vec::new());
    }
    let device = device.device.clone().autodiff();
    let bert =
        Bert::from_bytes(&config, parts.get(names::WEIGHTS)?, &device).context(|| args.bundle.display().to_string())?;
    let mut random = Random(2);
    let ids = (0..batch * seq).map(|_| (random.next() % config.vocab_size as u64) as i32).collect();
    let rows = TokenBatch::full(seq, ids);
    let step = || {
        let input = BertInput::new(&rows, &device);
        let pooled = pool(bert.forward(&input, &Pass::default()), &input, Pooling::Mean);
        let gradients = pooled.powi_scalar(2).sum().backward();
        drop(gradients);
        Ok(())
    };
    step()?;
    step()?;
    let before = allocated();
    let (median_ms, runs) = timed(args.seconds, step)?;
    let allocations = (allocated() - before) as f64 / (runs + 1) as f64;
    Ok(vec![TrainRow { batch, seq, median_ms, runs, allocations, peak_bytes: memory::peak() }])
}
