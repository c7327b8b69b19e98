//! The loss of a micro-batch, and its gradients.

mod chunks;
mod clock;
mod link;
pub mod perturbation;
mod rank;

use super::batch::{AlignBatch, Pairing, tokens_of};
use super::config::{Config, LossKind};
use super::model::Model;
use super::random::{Purpose, stream};
use crate::train::differentiable::Figure;
use crate::train::entity_inputs::EntityInputs;
use burn::tensor::{Device, Gradients, Int, Tensor, TensorData};
pub(super) use clock::is_measured;
use clock::{Clock, Phase};
use pel_kb::error::Result;
use pel_kb::score::Scorer;
use pel_model::burn::bert::{BertInput, Pass};
use pel_model::burn::biencoder::{BiEncoder, Tower};
use pel_model::burn::sum_of_max::TokenVectors;
use pel_model::layer::Dropout;
use pel_model::losses::fgsm::Towards;
use pel_model::losses::objectives;
use pel_model::losses::objectives::{Proxy, Targets};
use pel_model::tokens::Encoded;
use pel_model::tower::Side;
use rand::RngCore;

/// The result of a micro-batch.
pub struct Outcome {
    /// The sum of its examples' losses.
    pub loss: Figure,
    /// The gradients of that sum, multiplied by the loss scale.
    pub gradients: Gradients,
    /// Tokens that went through an encoder with gradients.
    pub tokens: usize,
    /// Seconds that FGSM took; `None` without FGSM or if they were not measured.
    pub fgsm_seconds: Option<f64>,
}

/// The result of a micro-batch whose gradients have been handed on.
pub struct Learned {
    /// The sum of its examples' losses. If it is known not to be finite, no or not all gradients
    /// were handed on.
    pub loss: Figure,
    /// Tokens that went through an encoder with gradients.
    pub tokens: usize,
    /// Seconds that FGSM took; `None` without FGSM or if they were not measured.
    pub fgsm_seconds: Option<f64>,
}

/// What takes gradients, as soon as they are known.
pub type Sink<'a> = dyn FnMut(&mut Gradients) -> Result<()> + 'a;

impl Outcome {
    /// Hands the gradients on, unless the loss is known not to be finite.
    ///
    /// # Errors
    /// As `sink`.
    pub fn hand_on(mut self, sink: &mut Sink<'_>) -> Result<Learned> {
        if !self.loss.overflowed() {
            sink(&mut self.gradients)?;
        }
        Ok(Learned {
            loss: self.loss,
            tokens: self.tokens,
            fgsm_seconds: self.fgsm_seconds,
        })
    }
}

/// The context of a micro-batch.
pub struct Step<'a> {
    /// The run; ε of FGSM is `fgsm.absolute_epsilon`.
    pub config: &'a Config,
    /// The concepts.
    pub entity_inputs: &'a EntityInputs,
    /// The tokenizer and the options of the towers.
    pub model: &'a Model,
    /// The towers: those of the model, or a replica of them.
    pub towers: &'a BiEncoder,
    /// The device, with gradients.
    pub device: &'a Device,
    /// The number of the micro-batch in the run; it seeds dropout.
    pub number: u64,
    /// The loss scale.
    pub scale: f32,
}

impl Step<'_> {
    /// The options of a forward pass; `which` gives each pass of a micro-batch its own dropout.
    pub(super) fn pass(&self, which: u64) -> Pass {
        let Config { seed, model, .. } = self.config;
        let dropout = (model.dropout > 0.0).then(|| Dropout {
            rate: model.dropout as f32,
            seed: stream(*seed, Purpose::Dropout, 4 * self.number + which).next_u64(),
        });
        Pass {
            dropout,
            recompute: model.gradient_checkpointing,
            precision: model.precision,
        }
    }

    fn input(&self, rows: &[&Encoded]) -> BertInput {
        BertInput::new(&self.model.tokens.batch(rows), self.device)
    }

    /// The vectors to compare: one for each input, or those of all its tokens (Sum-of-Max).
    fn read(&self, tower: &Tower, hidden: Tensor<3>, input: &BertInput) -> TokenVectors {
        let reduction = self.model.reduction;
        match self.model.scorer {
            Scorer::Dual => TokenVectors::single(tower.reduce(hidden, input, reduction)),
            Scorer::SumOfMax => tower.token_vectors(hidden, input, reduction),
        }
    }

    fn encode(&self, side: Side, rows: &[&Encoded], pass: &Pass) -> Tensor<2> {
        self.towers
            .tower(side)
            .forward_pass(&self.input(rows), self.model.reduction, pass)
    }

    fn matrix(&self, values: Vec<f32>, width: usize) -> Tensor<2> {
        let shape = [values.len() / width, width];
        Tensor::from_data(TensorData::new(values, shape), self.device)
    }

    fn mask(&self, pairing: &[Pairing], width: usize, wanted: Pairing) -> Tensor<2> {
        self.matrix(
            pairing
                .iter()
                .map(|found| f32::from(u8::from(*found == wanted)))
                .collect(),
            width,
        )
    }

    fn targets(&self, pairing: &[Pairing], width: usize) -> Targets {
        Targets {
            positive: self.mask(pairing, width, Pairing::Positive),
            negative: self.mask(pairing, width, Pairing::Negative),
        }
    }

    fn numbers(&self, values: Vec<i32>) -> Tensor<1, Int> {
        let count = values.len();
        Tensor::from_data(TensorData::new(values, [count]), self.device)
    }

    /// Spreads the scores of the pairs that are not ignored into a matrix, row by row, with 0
    /// elsewhere.
    ///
    /// # Shapes
    /// scores `[pairs]` -> `[mentions, entities]`
    fn spread(&self, scores: Tensor<1>, pairing: &[Pairing], width: usize) -> Tensor<2> {
        let mut at = Vec::with_capacity(pairing.len());
        let mut next = 0;
        for found in pairing {
            let compared = *found != Pairing::Ignored;
            // Ignored entries take any score and are masked below.
            at.push(if compared { next } else { 0 });
            next += i32::from(compared);
        }
        let taken = pairing
            .iter()
            .map(|found| f32::from(u8::from(*found != Pairing::Ignored)))
            .collect();
        let shape = [pairing.len() / width, width];
        scores.select(0, self.numbers(at)).reshape(shape) * self.matrix(taken, width)
    }

    /// The loss of each mention.
    ///
    /// # Shapes
    /// scores `[mentions, entities]` -> `[mentions]`
    fn loss(&self, scores: Tensor<2>, targets: &Targets) -> Tensor<1> {
        let options = &self.config.loss;
        match options.kind {
            LossKind::Proxy => objectives::proxy(
                scores,
                targets,
                Proxy {
                    alpha: options.alpha,
                    delta: options.delta,
                },
            ),
            LossKind::CrossEntropy => objectives::cross_entropy(scores * options.scale, targets),
        }
    }

    /// The multi-similarity loss between the names of a batch.
    ///
    /// # Errors
    /// If the device fails.
    pub fn align(&self, batch: &AlignBatch) -> Result<Outcome> {
        let rows = tokens_of(
            self.entity_inputs,
            batch.names.iter().map(|(_, name)| *name),
        );
        let clock = self.clock()?;
        let vectors = self.encode(Side::Entity, &rows, &self.pass(0));
        self.outcome(self.similarity(vectors, batch), tokens_in(rows), clock)
    }

    /// The sum of the multi-similarity losses of the names of a batch.
    ///
    /// # Shapes
    /// vectors `[names, dim]` -> `[1]`
    fn similarity(&self, vectors: Tensor<2>, batch: &AlignBatch) -> Tensor<1> {
        let count = batch.names.len();
        let places = (0..count).flat_map(|one| (0..count).map(move |other| (one, other)));
        let pairing: Vec<Pairing> = places
            .map(|(one, other)| batch.pairing(one, other))
            .collect();
        let scores = vectors.clone().matmul(vectors.transpose());
        let (positive, negative) = (
            self.mask(&pairing, count, Pairing::Positive),
            self.mask(&pairing, count, Pairing::Negative),
        );
        let loss = objectives::multi_similarity(
            scores,
            &positive,
            &negative,
            self.config.loss.multi_similarity,
        );
        // An example has two names; its loss is their mean.
        loss.sum() / 2.0
    }
}

impl Step<'_> {
    fn outcome(&self, loss: Tensor<1>, tokens: usize, mut clock: Clock) -> Result<Outcome> {
        let value = self.figure(&loss)?;
        let gradients = self.backward(loss);
        clock.end(Phase::Backward)?;
        Ok(Outcome {
            loss: value,
            gradients,
            tokens,
            fgsm_seconds: clock.fgsm(),
        })
    }

    /// The value of a loss, which is known on the processor alone.
    fn figure(&self, loss: &Tensor<1>) -> Result<Figure> {
        let on_host = self.device.clone().inner() == Device::flex();
        Figure::of(loss.clone().inner(), on_host)
    }

    /// The gradients of a loss, multiplied by the loss scale.
    fn backward(&self, loss: Tensor<1>) -> Gradients {
        let scaled = if self.scale == 1.0 {
            loss
        } else {
            loss * self.scale
        };
        scaled.backward()
    }
}

/// The direction in which FGSM changes the similarity of a pair.
fn towards(pairing: Pairing) -> Towards {
    if pairing == Pairing::Positive {
        Towards::Lower
    } else {
        Towards::Higher
    }
}

fn tokens_in<'a>(rows: impl IntoIterator<Item = &'a Encoded>) -> usize {
    rows.into_iter().map(|row| row.ids.len()).sum()
}
