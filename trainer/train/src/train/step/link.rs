//! The bi-encoder's loss: the losses of PEL, BLINK and T-Biencoder combined.
//!
//! ```text
//! L  plain scores ──────────────── CE or Pb ─┬─ with a teacher: α L + (1 - α) L_dist (BLINK, eq. 10)
//! L' transformed at layer K ────── CE or Pb ─┤  (T-Biencoder, eq. 10)
//! λ L over perturbed entities ──── CE or Pb ─┘  (PEL, eq. 8)
//! ```

use super::clock::{Clock, Phase};
use super::perturbation::Perturbation;
use super::{Outcome, Step, tokens_in, towards};
use crate::train::batch::{LinkBatch, Pairing, tokens_of};
use crate::train::config::LossKind;
use burn::module::Module;
use burn::tensor::{Int, Tensor};
use pel_kb::error::Result;
use pel_model::burn::bert::{BertInput, Pass};
use pel_model::burn::biencoder::{BiEncoder, Tower};
use pel_model::burn::sum_of_max::{TokenVectors, sum_of_max, sum_of_max_by_row};
use pel_model::losses::fgsm::{Towards, fgsm};
use pel_model::losses::objectives;
use pel_model::losses::objectives::Targets;
use pel_model::losses::transformation::transform;
use pel_model::tokens::Encoded;
use pel_model::tower::Side;

/// Pairs of a mention and an entity that FGSM perturbs.
pub(super) struct Pairs {
    /// The entity of each pair.
    input: BertInput,
    /// The position of its mention.
    mentions: Tensor<1, Int>,
    towards: Vec<Towards>,
    /// The tokens of the entities.
    pub tokens: usize,
}

impl Step<'_> {
    /// The loss of a batch of mentions and entities. `perturbation` is the learned transformation,
    /// which accumulates its own gradients.
    ///
    /// # Errors
    /// If the device fails.
    pub fn link(
        &self,
        batch: &LinkBatch<'_>,
        perturbation: Option<&mut Perturbation>,
    ) -> Result<Outcome> {
        let mentions: Vec<&Encoded> = batch
            .mentions
            .iter()
            .map(|example| &example.mention)
            .collect();
        let entities = tokens_of(self.entity_inputs, batch.entities.iter().copied());
        let width = entities.len();
        let targets = self.targets(&batch.pairing, width);
        let mut clock = self.clock()?;
        let inputs = [self.input(&mentions), self.input(&entities)];
        let mut tokens = tokens_in(mentions.into_iter().chain(entities));
        let Some(perturbation) = perturbation else {
            let vectors = [Side::Mention, Side::Entity].map(|side| {
                let (tower, input) = (self.towers.tower(side), &inputs[side as usize]);
                self.read(
                    tower,
                    tower.bert().forward(input, &self.pass(side as u64)),
                    input,
                )
            });
            let mut loss = self.plain(scores(&vectors), &targets, batch);
            clock.end(Phase::Plain)?;
            if self.config.fgsm.lambda > 0.0 {
                let (perturbed, more) = self.perturbed(batch, &vectors[0], &targets, &mut clock)?;
                loss = loss + perturbed * self.config.fgsm.lambda;
                tokens += more;
            }
            return self.outcome(loss.sum(), tokens, clock);
        };
        // Both losses share the layers below K (T-Biencoder, figure 2).
        let z = self.below(&inputs);
        clock.end(Phase::Plain)?;
        let options = &self.config.transformation;
        perturbation.ascend(options.ascents, |matrices| {
            let frozen = self.towers.clone().no_grad();
            let z = z.clone().map(Tensor::detach);
            self.loss(
                scores(&self.above(&frozen, z, &inputs, Some(matrices))),
                &targets,
            )
            .sum()
                * self.scale
        })?;
        clock.end(Phase::Other)?;
        let matrices = perturbation.tracked();
        let transformed = self.above(self.towers, z.clone(), &inputs, Some(matrices.clone()));
        let mut loss = self.loss(scores(&transformed), &targets) * options.weight;
        if options.plain || self.config.fgsm.lambda > 0.0 {
            let vectors = self.above(self.towers, z, &inputs, None);
            if options.plain {
                loss = loss + self.plain(scores(&vectors), &targets, batch);
                tokens *= 2;
            }
            clock.end(Phase::Plain)?;
            if self.config.fgsm.lambda > 0.0 {
                let (perturbed, more) = self.perturbed(batch, &vectors[0], &targets, &mut clock)?;
                loss = loss + perturbed * self.config.fgsm.lambda;
                tokens += more;
            }
        }
        let mut outcome = self.outcome(loss.sum(), tokens, clock)?;
        perturbation.add(&matrices, &mut outcome.gradients);
        Ok(outcome)
    }

    /// L: the loss of the unperturbed scores, mixed with the distillation loss if there is a
    /// teacher.
    ///
    /// # Shapes
    /// scores `[mentions, entities]` -> `[mentions]`
    pub(super) fn plain(
        &self,
        scores: Tensor<2>,
        targets: &Targets,
        batch: &LinkBatch<'_>,
    ) -> Tensor<1> {
        let own = self.loss(scores.clone(), targets);
        let options = &self.config.distillation;
        if options.own_share == 1.0 {
            return own;
        }
        let width = batch.entities.len();
        let teacher = self.matrix(
            batch
                .teacher
                .iter()
                .map(|score| score.unwrap_or(0.0))
                .collect(),
            width,
        );
        let listed = batch
            .teacher
            .iter()
            .map(|score| f32::from(u8::from(score.is_some())))
            .collect();
        // Cosines are not logits: scale them as the loss does, the proxy-based loss by α.
        let student = scores
            * match self.config.loss.kind {
                LossKind::CrossEntropy => self.config.loss.scale,
                LossKind::Proxy => self.config.loss.alpha,
            };
        let distilled = objectives::distillation(
            student,
            teacher,
            &self.matrix(listed, width),
            options.temperature,
        );
        own * options.own_share + distilled * (1.0 - options.own_share)
    }

    /// The loss with the entity of every pair perturbed by FGSM, and the tokens that were encoded
    /// for it.
    ///
    /// # Shapes
    /// -> `[mentions]`
    ///
    /// # Errors
    /// If the device fails.
    fn perturbed(
        &self,
        batch: &LinkBatch<'_>,
        mentions: &TokenVectors,
        targets: &Targets,
        clock: &mut Clock,
    ) -> Result<(Tensor<1>, usize)> {
        let pairs: Vec<(usize, usize, Pairing)> = batch.pairs().collect();
        let pairs = self.pairs(batch, &pairs);
        let tower = self.towers.tower(Side::Entity);
        let scores = self.perturbed_scores(&pairs, mentions, tower, &self.pass(2), clock)?;
        let spread = self.spread(scores, &batch.pairing, batch.entities.len());
        let loss = self.loss(spread, targets);
        clock.end(Phase::Perturbed)?;
        Ok((loss, pairs.tokens))
    }

    /// The inputs of pairs of a batch.
    pub(super) fn pairs(&self, batch: &LinkBatch<'_>, pairs: &[(usize, usize, Pairing)]) -> Pairs {
        let rows = tokens_of(
            self.entity_inputs,
            pairs.iter().map(|(_, entity, _)| batch.entities[*entity]),
        );
        let mentions = pairs.iter().map(|(mention, _, _)| *mention as i32);
        Pairs {
            input: self.input(&rows),
            mentions: self.numbers(mentions.collect()),
            towards: pairs
                .iter()
                .map(|(_, _, pairing)| towards(*pairing))
                .collect(),
            tokens: tokens_in(rows),
        }
    }

    /// The score of each pair with its entity perturbed by FGSM. The direction is that of the
    /// tower as it is; `tower` reads the perturbed entity, and may be frozen.
    ///
    /// # Shapes
    /// -> `[pairs]`
    ///
    /// # Errors
    /// If the device fails.
    pub(super) fn perturbed_scores(
        &self,
        pairs: &Pairs,
        mentions: &TokenVectors,
        tower: &Tower,
        pass: &Pass,
        clock: &mut Clock,
    ) -> Result<Tensor<1>> {
        let input = &pairs.input;
        let of_pairs = mentions.select(pairs.mentions.clone());
        let frozen = self.towers.tower(Side::Entity).clone().no_grad();
        let step = fgsm(
            frozen.bert().embedding_sum(input),
            &pairs.towards,
            self.config.fgsm.absolute_epsilon as f32,
            |z| {
                let hidden = frozen
                    .bert()
                    .forward_from_sum(z, &input.mask, &Pass::default());
                sum_of_max_by_row(
                    &of_pairs.clone().detach(),
                    &self.read(&frozen, hidden, input),
                )
            },
        );
        clock.end(Phase::Direction)?;
        let z = tower.bert().embedding_sum(input) + step;
        let hidden = tower.bert().forward_from_sum(z, &input.mask, pass);
        Ok(sum_of_max_by_row(
            &of_pairs,
            &self.read(tower, hidden, input),
        ))
    }

    /// Continues from layer K to the vectors of both sides, transformed if there are matrices (eq.
    /// 8 and 9).
    ///
    /// # Shapes
    /// z `[batch, seq, hidden]`
    fn above(
        &self,
        towers: &BiEncoder,
        z: [Tensor<3>; 2],
        inputs: &[BertInput; 2],
        matrices: Option<[Tensor<2>; 2]>,
    ) -> [TokenVectors; 2] {
        let layer = self.config.transformation.layer;
        let [z_m, z_e] = z;
        let (a_m, a_e) = matrices.map_or((None, None), |[a_m, a_e]| (Some(a_m), Some(a_e)));
        [(Side::Mention, z_m, a_m), (Side::Entity, z_e, a_e)].map(|(side, z, a)| {
            let (tower, input) = (towers.tower(side), &inputs[side as usize]);
            let z = a.map_or(z.clone(), |a| transform(z, a));
            let hidden =
                tower
                    .bert()
                    .forward_from_layer(z, &input.mask, layer, &self.pass(side as u64));
            self.read(tower, hidden, input)
        })
    }

    /// The output of layer K on both sides.
    fn below(&self, inputs: &[BertInput; 2]) -> [Tensor<3>; 2] {
        let layer = self.config.transformation.layer;
        [Side::Mention, Side::Entity].map(|side| {
            let bert = self.towers.tower(side).bert();
            bert.hidden_at(&inputs[side as usize], layer, &self.pass(side as u64))
        })
    }
}

/// # Shapes
/// -> `[mentions, entities]`
fn scores([mentions, entities]: &[TokenVectors; 2]) -> Tensor<2> {
    sum_of_max(mentions, entities)
}
