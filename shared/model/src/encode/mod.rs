//! The encoder of a bundle on any device: [`crate::cpu`] on the processor, Burn's tensors on
//! a GPU.

mod batches;
mod encodings;
mod interner;

pub use batches::{BatchSize, Step, StepPart, Steps};
pub use encodings::Encodings;
pub use interner::SequenceInterner;

use crate::burn::bert::{BertInput, Pass, multiplies_in};
use crate::burn::biencoder::{BiEncoder, Tower};
use crate::burn::floats;
use crate::config::BertConfig;
use crate::cpu;
use crate::cpu::Sequence;
use crate::layer::Precision;
use crate::tokens::{Encoded, TokenBatch, Tokens, by_length};
use crate::tower::{Reduction, Side, TowerBytes, same_dim};
use batches::in_order;
use burn::tensor::{Device, Tensor};
use pel_kb::error::{Context, Error, Result};
use pel_kb::score::Scorer;

/// Tokens of a batch on the processor if batches are awaited one by one: enough to reuse each
/// weight often, few enough for the page to show its links as they come.
const TOKENS: usize = 256;

/// Tokens of the first of these batches, so that the first links are there early.
const FIRST_TOKENS: usize = 64;

/// Tokens of a batch on a GPU if nobody waits for single batches: starting its kernels takes about
/// 10 ms, in which a large card computes as many tokens.
const GPU_TOKENS: usize = 16_384;

/// Two towers, or one that reads both sides.
pub struct Encoder {
    engine: Engine,
    reduction: Reduction,
    dim: usize,
    limits: [Limits; 2],
}

/// The engine with its towers.
enum Engine {
    Cpu {
        mention: Box<cpu::Tower>,
        entity: Option<Box<cpu::Tower>>,
    },
    Burn {
        towers: Box<BiEncoder>,
        device: Device,
        pad: u32,
        pass: Pass,
    },
}

/// The vectors of a batch, `[rows, dim]`: in memory, or on a device, from which the caller reads
/// them.
pub enum Vectors {
    /// In memory.
    Here(Vec<f32>),
    /// On a GPU. [`floats`] reads the data.
    OnDevice(Box<Tensor<2>>),
}

/// The input of a tower.
#[derive(Clone, Copy)]
struct Limits {
    vocabulary: usize,
    positions: usize,
}

impl Limits {
    fn of(tower: TowerBytes<'_>) -> Result<Self> {
        let config = BertConfig::from_bytes(tower.config)?;
        Ok(Self {
            vocabulary: config.vocab_size,
            positions: config.max_position_embeddings,
        })
    }
}

impl Encoder {
    /// Builds the towers on a device. Without an entity tower, the mention tower reads both sides.
    ///
    /// # Errors
    /// If a tower's files do not fit together, or the towers' vectors have different dimensions.
    pub fn new(
        mention: TowerBytes<'_>,
        entity: Option<TowerBytes<'_>>,
        tokens: &Tokens,
        reduction: Reduction,
        device: &Device,
    ) -> Result<Self> {
        let of_entity = || "the entity tower".to_owned();
        let limits = [
            Limits::of(mention)?,
            entity
                .map_or(Ok(mention), Ok)
                .and_then(Limits::of)
                .context(of_entity)?,
        ];
        let (engine, dim) = if *device == Device::flex() {
            let read = |tower| cpu::Tower::from_bytes(tower, tokens);
            let (mention, entity) = (
                read(mention)?,
                entity.map(read).transpose().context(of_entity)?,
            );
            let dim = mention.dim();
            same_dim(dim, entity.as_ref().map_or(dim, cpu::Tower::dim))?;
            (
                Engine::Cpu {
                    mention: Box::new(mention),
                    entity: entity.map(Box::new),
                },
                dim,
            )
        } else {
            let read = |tower| Tower::from_bytes(tower, tokens, device);
            let (mention, entity) = (
                read(mention)?,
                entity.map(read).transpose().context(of_entity)?,
            );
            let dim = mention.dim();
            let towers = Box::new(BiEncoder::new(mention, entity)?);
            (
                Engine::Burn {
                    towers,
                    device: device.clone(),
                    pad: tokens.pad(),
                    pass: Pass::default(),
                },
                dim,
            )
        };
        Ok(Self {
            engine,
            reduction,
            dim,
            limits,
        })
    }

    /// The encoder with linear layers in this number format, if the device supports it
    /// ([`multiplies_in`]): several times faster. Values differ in the third digit.
    #[must_use]
    pub fn in_precision(mut self, precision: Precision) -> Self {
        match &mut self.engine {
            Engine::Cpu { mention, entity }
                if precision == Precision::Bf16 && precision.is_supported() =>
            {
                std::iter::once(mention)
                    .chain(entity)
                    .for_each(|tower| tower.round());
            }
            Engine::Burn { device, pass, .. } if multiplies_in(precision, device) => {
                pass.precision = precision
            }
            _ => {}
        }
        self
    }

    /// The dimension of the vectors.
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// The longest sequence that both sides read, in tokens.
    pub fn max_positions(&self) -> usize {
        self.limits[0].positions.min(self.limits[1].positions)
    }

    /// The size of a batch if the caller waits for all of them.
    pub fn batch_size(&self) -> BatchSize {
        match self.engine {
            Engine::Cpu { .. } => BatchSize::default(),
            Engine::Burn { .. } => BatchSize::of_tokens(GPU_TOKENS),
        }
    }

    /// The size of a batch in long encoding runs.
    pub fn long_run_batch(&self) -> BatchSize {
        match self.engine {
            Engine::Cpu { .. } => BatchSize::of_tokens(2048),
            Engine::Burn { .. } => BatchSize::of_tokens(GPU_TOKENS),
        }
    }

    /// Groups rows, given by their lengths in tokens, into batches that are awaited one by one. On
    /// a GPU, which computes on padding, lengths in a batch are nearly equal. On the processor,
    /// batches are in the order given.
    pub fn batches(&self, lengths: &[usize]) -> Vec<Vec<usize>> {
        if let Engine::Burn { .. } = self.engine {
            return by_length(
                lengths,
                BatchSize::default().rows,
                BatchSize::default().tokens,
            );
        }
        in_order(lengths, FIRST_TOKENS, TOKENS)
    }

    /// Whether a tower can read these rows.
    fn check(&self, side: Side, rows: &[&Encoded]) -> Result<()> {
        let Limits {
            vocabulary,
            positions,
        } = self.limits[side as usize];
        for row in rows {
            if row.ids.len() > positions {
                let found = row.ids.len();
                return Err(Error::artifact(format!(
                    "expected a sequence of at most the {positions} tokens that the encoder reads, \
                     found one of {found}: the windows are those of another encoder"
                )));
            }
            if let Some(id) = row.ids.iter().find(|id| **id as usize >= vocabulary) {
                return Err(Error::artifact(format!(
                    "the tokenizer gives token {id}, the encoder has {vocabulary}: they belong to \
                     different models"
                )));
            }
        }
        Ok(())
    }

    /// Encodes one batch, or starts it on a GPU. [`Encoder::unpack`] reads the result.
    ///
    /// # Errors
    /// If a token has no row in the encoder's table, or a sequence is longer than
    /// [`Encoder::max_positions`].
    fn start(&self, scorer: Scorer, side: Side, rows: &[&Encoded]) -> Result<Vectors> {
        self.check(side, rows)?;
        Ok(match &self.engine {
            Engine::Cpu { mention, entity } => {
                let tower = match side {
                    Side::Mention => mention,
                    Side::Entity => entity.as_ref().unwrap_or(mention),
                };
                let segments: Vec<Vec<u32>> =
                    rows.iter().map(|row| row.segments().collect()).collect();
                let sequences = sequences(rows, &segments);
                Vectors::Here(match scorer {
                    Scorer::Dual => tower.forward(&sequences, self.reduction),
                    Scorer::SumOfMax => tower.forward_all(&sequences, self.reduction).concat(),
                })
            }
            Engine::Burn {
                towers,
                device,
                pad,
                pass,
            } => {
                let (tower, input) = (
                    towers.tower(side),
                    BertInput::new(&TokenBatch::padded(rows, *pad), device),
                );
                Vectors::OnDevice(Box::new(match scorer {
                    Scorer::Dual => tower.forward_pass(&input, self.reduction, pass),
                    Scorer::SumOfMax => {
                        let hidden = tower.bert().forward(&input, pass);
                        let pooled = tower.reduce(hidden.clone(), &input, self.reduction);
                        let tokens = tower.token_vectors(hidden, &input, self.reduction).values;
                        let [batch, seq, dim] = tokens.dims();
                        // [batch, (1 + seq) dim]
                        Tensor::cat(vec![pooled, tokens.reshape([batch, seq * dim])], 1)
                    }
                }))
            }
        })
    }
}

fn sequences<'a>(rows: &[&'a Encoded], segments: &'a [Vec<u32>]) -> Vec<Sequence<'a>> {
    let rows = rows.iter().zip(segments);
    rows.map(|(row, segments)| Sequence {
        ids: &row.ids,
        segments,
        own: &row.own,
    })
    .collect()
}

impl Vectors {
    /// Waits for the values.
    ///
    /// # Errors
    /// If the device fails.
    pub fn read(self) -> Result<Vec<f32>> {
        match self {
            Self::Here(vectors) => Ok(vectors),
            Self::OnDevice(tensor) => floats(tensor.try_into_data()),
        }
    }
}
