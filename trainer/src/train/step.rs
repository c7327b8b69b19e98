//! The loss of a micro-batch, and its gradients.

use super::batch::{AlignBatch, LinkBatch, Pairing, tokens_of};
use super::catalogue::Catalogue;
use super::config::{Config, LossKind};
use super::model::Model;
use super::random::{Purpose, stream};
use burn::module::Module;
use burn::tensor::{Device, Gradients, Int, Tensor, TensorData};
use pel_shared::adversary::{Towards, fgsm};
use pel_shared::bert::{BertInput, Dropout, Pass};
use pel_shared::biencoder::Side;
use pel_shared::error::{Error, Result};
use pel_shared::loss::{self, Proxy, Targets};
use pel_shared::tokens::Encoded;
use rand::RngCore;

/// What a micro-batch gave.
pub struct Outcome {
    /// The sum of its examples' losses.
    pub loss: f64,
    /// The gradients of that sum.
    pub gradients: Gradients,
    /// How many tokens went through an encoder with gradients.
    pub tokens: usize,
}

/// What a step needs besides the batch.
pub struct Step<'a> {
    /// The run.
    pub config: &'a Config,
    /// The concepts.
    pub catalogue: &'a Catalogue,
    /// The towers.
    pub model: &'a Model,
    /// The device, with gradients.
    pub device: &'a Device,
    /// The number of the micro-batch in the run: dropout derives from it.
    pub number: u64,
}

impl Step<'_> {
    /// The passes of a micro-batch have different dropout.
    fn pass(&self, which: u64) -> Pass {
        let Config { seed, model, .. } = self.config;
        let dropout = (model.dropout > 0.0).then(|| Dropout {
            rate: model.dropout as f32,
            seed: stream(*seed, Purpose::Dropout, 4 * self.number + which).next_u64(),
        });
        Pass { dropout, recompute: model.gradient_checkpointing, precision: model.precision }
    }

    fn input(&self, rows: &[&Encoded]) -> BertInput {
        BertInput::new(&self.model.tokens.batch(rows), self.device)
    }

    fn encode(&self, side: Side, rows: &[&Encoded], pass: &Pass) -> Tensor<2> {
        self.model.towers.tower(side).forward_pass(&self.input(rows), self.model.reduction, pass)
    }

    fn mask(&self, pairing: &[Pairing], width: usize, wanted: Pairing) -> Tensor<2> {
        let values = pairing.iter().map(|found| f32::from(u8::from(*found == wanted))).collect::<Vec<_>>();
        Tensor::from_data(TensorData::new(values, [pairing.len() / width, width]), self.device)
    }

    /// One value a mention.
    ///
    /// # Shapes
    /// scores `[mentions, entities]` -> `[mentions]`
    fn loss(&self, scores: Tensor<2>, targets: &Targets) -> Tensor<1> {
        let options = &self.config.loss;
        match options.kind {
            LossKind::Proxy => loss::proxy(scores, targets, Proxy { alpha: options.alpha, delta: options.delta }),
            LossKind::CrossEntropy => loss::cross_entropy(scores * options.scale, targets),
        }
    }

    /// Mentions against entities: `L(m, P) + λ L(m, P_adv)` (PEL, eq. 8), without the second part if λ is 0.
    ///
    /// # Errors
    /// If the device fails.
    pub fn link(&self, batch: &LinkBatch<'_>) -> Result<Outcome> {
        let mentions: Vec<&Encoded> = batch.mentions.iter().map(|example| &example.mention).collect();
        let entities = tokens_of(self.catalogue, batch.entities.iter().copied());
        let width = entities.len();
        let targets = Targets {
            positive: self.mask(&batch.pairing, width, Pairing::Positive),
            negative: self.mask(&batch.pairing, width, Pairing::Negative),
        };
        let mention_vectors = self.encode(Side::Mention, &mentions, &self.pass(0));
        let entity_vectors = self.encode(Side::Entity, &entities, &self.pass(1));
        let scores = mention_vectors.clone().matmul(entity_vectors.transpose());
        let mut loss = self.loss(scores, &targets);
        let mut rows = [mentions, entities].concat();
        if self.config.fgsm.lambda > 0.0 {
            let (scores, pairs) = self.perturbed(batch, mention_vectors);
            loss = loss + self.loss(scores, &targets) * self.config.fgsm.lambda;
            rows.extend(pairs);
        }
        outcome(loss.sum(), &rows)
    }

    /// The scores with every pair's entity perturbed against its mention; 0 where nothing is compared.
    ///
    /// # Shapes
    /// -> `[mentions, entities]`
    fn perturbed<'e>(&'e self, batch: &LinkBatch<'_>, mentions: Tensor<2>) -> (Tensor<2>, Vec<&'e Encoded>) {
        let (reduction, width) = (self.model.reduction, batch.entities.len());
        let pairs: Vec<(usize, usize, Pairing)> = batch.pairs().collect();
        let towards: Vec<Towards> = pairs
            .iter()
            .map(|(_, _, pairing)| if *pairing == Pairing::Positive { Towards::Lower } else { Towards::Higher })
            .collect();
        let rows = tokens_of(self.catalogue, pairs.iter().map(|(_, entity, _)| batch.entities[*entity]));
        let input = self.input(&rows);
        let numbers = |values: Vec<i32>| {
            let count = values.len();
            Tensor::<1, Int>::from_data(TensorData::new(values, [count]), self.device)
        };
        let of_pairs = mentions.select(0, numbers(pairs.iter().map(|(mention, _, _)| *mention as i32).collect()));
        let tower = self.model.towers.tower(Side::Entity);
        let frozen = tower.clone().no_grad();
        let step = fgsm(&frozen, &input, of_pairs.clone(), &towards, self.config.fgsm.epsilon as f32, reduction);
        let z = tower.bert().embedding_sum(&input) + step;
        let hidden = tower.bert().forward_from_sum(z, &input.mask, &self.pass(2));
        let vectors = tower.reduce(hidden, &input, reduction);
        let scores = (vectors * of_pairs).sum_dim(1).reshape([pairs.len()]);
        // From pairs to the matrix: each place takes its pair's score; the others take any, and are masked.
        let mut at = vec![0i32; batch.mentions.len() * width];
        let mut taken = vec![0.0f32; at.len()];
        for (pair, (mention, entity, _)) in pairs.iter().enumerate() {
            at[mention * width + entity] = pair as i32;
            taken[mention * width + entity] = 1.0;
        }
        let shape = [batch.mentions.len(), width];
        let taken = Tensor::<2>::from_data(TensorData::new(taken, shape), self.device);
        (scores.select(0, numbers(at)).reshape(shape) * taken, rows)
    }

    /// Names against names of the same batch, by the multi-similarity loss.
    ///
    /// # Errors
    /// If the device fails.
    pub fn align(&self, batch: &AlignBatch) -> Result<Outcome> {
        let rows = tokens_of(self.catalogue, batch.names.iter().map(|(_, name)| *name));
        let count = rows.len();
        let places = (0..count).flat_map(|one| (0..count).map(move |other| (one, other)));
        let pairing: Vec<Pairing> = places.map(|(one, other)| batch.pairing(one, other)).collect();
        let vectors = self.encode(Side::Entity, &rows, &self.pass(0));
        let scores = vectors.clone().matmul(vectors.transpose());
        let (positive, negative) =
            (self.mask(&pairing, count, Pairing::Positive), self.mask(&pairing, count, Pairing::Negative));
        let loss = loss::multi_similarity(scores, &positive, &negative, self.config.loss.multi_similarity);
        // Two names an example: the loss of an example is the mean of both.
        outcome(loss.sum() / 2.0, &rows)
    }
}

fn outcome(loss: Tensor<1>, rows: &[&Encoded]) -> Result<Outcome> {
    let value = loss.clone().inner().try_into_scalar_f32()?;
    let tokens = rows.iter().map(|row| row.ids.len()).sum();
    Ok(Outcome { loss: value, gradients: loss.backward(), tokens })
}

/// Reads a single number back.
trait Scalar {
    fn try_into_scalar_f32(self) -> Result<f64>;
}

impl Scalar for Tensor<1> {
    fn try_into_scalar_f32(self) -> Result<f64> {
        let data = self
            .try_into_data()
            .map_err(|cause| Error::device("reading the loss back").caused_by(cause.to_string()))?;
        let values = data
            .try_to_vec::<f32>()
            .map_err(|cause| Error::device("the device gave no 32-bit floats").caused_by(format!("{cause:?}")))?;
        Ok(values.first().copied().map_or(f64::NAN, f64::from))
    }
}
