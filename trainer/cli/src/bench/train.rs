//! Training: a forward and backward pass, and whole steps of pairs including the optimiser.

use crate::bench::options::Shape;
use crate::bench::{Options, Random, milliseconds, timed};
use burn::tensor::{Device, Tensor, TensorData};
use pel_artifacts::device::OpenDevice;
use pel_artifacts::memory;
use pel_kb::error::{Context, Error, Result};
use pel_kb::score::Similarity;
use pel_kernels::{Isa, bf16, gemm};
use pel_linker::bundle::{Bundle, names};
use pel_model::burn::bert::{BertInput, Pass, multiplies_in};
use pel_model::burn::biencoder::{BiEncoder, Tower, pool};
use pel_model::config::BertConfig;
use pel_model::cpu::train::allocated;
use pel_model::layer::Precision;
use pel_model::losses::objectives::{Targets, cross_entropy};
use pel_model::tokens::TokenBatch;
use pel_model::tower::{Pooling, Reduction, Side, TowerBytes};
use pel_trainer::train::config;
use pel_trainer::train::optimiser::Optimiser;
use serde::Serialize;
use std::time::Instant;

/// The scale of cosines in the steps.
const SCALE: f64 = 20.0;

/// What is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum TrainKind {
    /// Forward and backward of one batch through the mention tower, without the optimiser.
    Backward,
    /// A step over mentions and as many entities: in-batch cross-entropy, gradients, clipping,
    /// AdamW.
    Step,
}

/// The time and memory of one step.
#[derive(Serialize)]
pub(crate) struct TrainRow {
    pub kind: TrainKind,
    pub precision: Precision,
    pub batch: usize,
    pub seq: usize,
    pub median_ms: f64,
    pub runs: usize,
    /// Pairs per second; `None` without the optimiser.
    pub pairs_per_s: Option<f64>,
    /// Floating-point operations of all products.
    pub operations: f64,
    /// The proportion of the CPU's peak in this precision, measured on registers with all threads;
    /// `None` on a GPU.
    pub peak_share: Option<f64>,
    /// Layer buffers that a step allocates; the others are reused.
    pub allocations: f64,
    /// The peak memory of this process so far.
    pub peak_bytes: Option<u64>,
}

/// Measures training in floats, and in the 16-bit formats that the device multiplies.
pub(crate) fn train(
    options: &Options,
    bundle: &Bundle,
    device: &OpenDevice,
) -> Result<Vec<TrainRow>> {
    let config = BertConfig::from_bytes(bundle.parts().get(names::CONFIG)?)?;
    let mut bench = TrainBench {
        options,
        bundle,
        device: &device.device,
        config,
        peak: None,
        rows: Vec::new(),
    };
    for precision in [Precision::F32, Precision::Bf16, Precision::F16] {
        if !multiplies_in(precision, &device.device) {
            continue;
        }
        bench.peak = match device.device == Device::flex() {
            true => peak(precision, options.seconds)?,
            false => None,
        };
        for &shape in &options.train_shapes {
            if shape.seq <= bench.config.max_position_embeddings {
                bench.backward(shape, precision)?;
                bench.step(shape, precision)?;
            }
        }
    }
    Ok(bench.rows)
}

/// Floating-point operations per second on all threads, with the instructions that products use in
/// a precision, measured on registers: the fastest run, because other work only slows one. `None`
/// without such instructions.
fn peak(precision: Precision, seconds: f64) -> Result<Option<f64>> {
    let rounds = 1 << 20;
    let work = || match precision {
        Precision::F32 => Some(gemm::multiply_add(Isa::best(), rounds)),
        Precision::Bf16 => bf16::multiply_add(bf16::best(), rounds),
        Precision::F16 => None,
    };
    let threads = vec![(); pel_kernels::threads()];
    let mut most = 0.0f64;
    timed(seconds, || {
        let began = Instant::now();
        let done = pel_kernels::for_each_chunk(&threads, 1, |_, _| std::hint::black_box(work()));
        let operations: f64 = done
            .iter()
            .flatten()
            .map(|(operations, _)| operations)
            .sum();
        most = most.max(1000.0 * operations / milliseconds(began));
        Ok(())
    })?;
    Ok((most > 0.0).then_some(most))
}

struct TrainBench<'a> {
    options: &'a Options,
    bundle: &'a Bundle,
    device: &'a Device,
    config: BertConfig,
    peak: Option<f64>,
    rows: Vec<TrainRow>,
}

impl TrainBench<'_> {
    fn tower(&self, device: &Device) -> Result<Tower> {
        let parts = self.bundle.parts();
        let bytes = TowerBytes {
            config: parts.get(names::CONFIG)?,
            weights: parts.get(names::WEIGHTS)?,
            projection: parts.0.get(names::PROJECTION).map(|bytes| &bytes[..]),
        };
        Tower::from_bytes(bytes, &self.bundle.tokens, device)
            .context(|| self.options.bundle.display().to_string())
    }

    fn tokens(&self, shape: Shape, seed: u64) -> TokenBatch {
        let Shape { batch, seq } = shape;
        let mut random = Random(seed);
        let ids = (0..batch * seq).map(|_| (random.next() % self.config.vocab_size as u64) as i32);
        TokenBatch::full(seq, ids.collect())
    }

    /// Loss: the sum of squares of the mean-pooled vectors, no dropout, gradients of every weight.
    fn backward(&mut self, shape: Shape, precision: Precision) -> Result<()> {
        let device = self.device.clone().autodiff();
        let (tower, tokens) = (self.tower(&device)?, self.tokens(shape, 2));
        let pass = Pass {
            precision,
            ..Pass::default()
        };
        self.measure(TrainKind::Backward, shape, precision, || {
            let input = BertInput::new(&tokens, &device);
            let pooled = pool(tower.bert().forward(&input, &pass), &input, Pooling::Mean);
            drop(pooled.powi_scalar(2).sum().backward());
            Ok(())
        })
    }

    /// Loss: cross-entropy of the scaled cosines of each mention with all entities of the batch, no
    /// dropout.
    fn step(&mut self, shape: Shape, precision: Precision) -> Result<()> {
        let device = self.device.clone().autodiff();
        let mut towers = BiEncoder::new(self.tower(&device)?, None)?;
        let (mentions, entities) = (self.tokens(shape, 2), self.tokens(shape, 3));
        let batch = shape.batch;
        let one = |wanted: bool| {
            let places = (0..batch * batch)
                .map(|at| f32::from(u8::from((at / batch == at % batch) == wanted)));
            Tensor::<2>::from_data(
                TensorData::new(places.collect::<Vec<_>>(), [batch, batch]),
                &device,
            )
        };
        let targets = Targets {
            positive: one(true),
            negative: one(false),
        };
        let options = config::Optimiser {
            schedule: config::Schedule::Constant,
            warmup: 0.0,
            ..Default::default()
        };
        let mut optimiser = Optimiser::new(&options, &towers, &device);
        let pass = Pass {
            precision,
            ..Pass::default()
        };
        let reduction = Reduction {
            pooling: Pooling::Mean,
            score: Similarity::Cosine,
        };
        let mut steps = 0;
        self.measure(TrainKind::Step, shape, precision, || {
            let encode = |side: Side, tokens: &TokenBatch| {
                towers
                    .tower(side)
                    .forward_pass(&BertInput::new(tokens, &device), reduction, &pass)
            };
            let scores = encode(Side::Mention, &mentions)
                .matmul(encode(Side::Entity, &entities).transpose());
            let mut gradients = cross_entropy(scores * SCALE, &targets).sum().backward();
            optimiser.add(&towers, &mut gradients)?;
            drop(gradients);
            let stepped = optimiser.step(&mut towers, steps, usize::MAX, batch)?;
            steps += 1;
            // On a GPU this waits for the step.
            if stepped.gradient_norm.value()?.is_finite() {
                Ok(())
            } else {
                Err(Error::device(
                    "the gradients of a training step are NaN or infinite",
                ))
            }
        })
    }

    fn measure(
        &mut self,
        kind: TrainKind,
        shape: Shape,
        precision: Precision,
        mut run: impl FnMut() -> Result<()>,
    ) -> Result<()> {
        run()?;
        run()?;
        let before = allocated();
        let (median_ms, runs) = timed(self.options.seconds, run)?;
        let allocations = (allocated() - before) as f64 / (runs + 1) as f64;
        let Shape { batch, seq } = shape;
        let sequences = if kind == TrainKind::Step {
            2 * batch
        } else {
            batch
        };
        let operations = self.operations(sequences, seq);
        let seconds = median_ms / 1000.0;
        self.rows.push(TrainRow {
            kind,
            precision,
            batch,
            seq,
            median_ms,
            runs,
            pairs_per_s: (kind == TrainKind::Step).then_some(batch as f64 / seconds),
            operations,
            peak_share: self.peak.map(|peak| operations / seconds / peak),
            allocations,
            peak_bytes: memory::peak(),
        });
        Ok(())
    }

    /// Floating-point operations, two for each multiply-add: linear layers and attention forward,
    /// and twice as many backward.
    fn operations(&self, sequences: usize, seq: usize) -> f64 {
        let BertConfig {
            hidden_size,
            intermediate_size,
            num_hidden_layers,
            ..
        } = self.config;
        let linear = 4 * hidden_size * hidden_size + 2 * hidden_size * intermediate_size;
        let attention = 2 * seq * hidden_size;
        6.0 * (sequences * seq * num_hidden_layers * (linear + attention)) as f64
    }
}
