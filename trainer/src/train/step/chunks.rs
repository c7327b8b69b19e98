//! A large batch in chunks, in the memory of one chunk (GradCache; Gao et al., 2021).
//!
//! ```text
//! 1  chunk by chunk, without a graph: inputs ── encoder ── vectors, kept
//! 2  all vectors: loss ── gradients of the vectors, kept
//! 3  chunk by chunk, with a graph:    inputs ── encoder ── Σ vector · gradient ── gradients of the weights
//! ```
//!
//! The gradients are those of the whole batch. A chunk has the same dropout in both passes. Pairs
//! that FGSM perturbs are kept as their scores, and their perturbation is computed in both passes.

use super::clock::{Clock, Phase};
use super::{Learned, Scalar, Sink, Step, tokens_in};
use crate::io::interrupt;
use crate::train::batch::{AlignBatch, LinkBatch, Pairing, tokens_of};
use crate::train::differentiable::differentiable;
use burn::module::Module;
use burn::tensor::{Gradients, Tensor};
use pel_shared::error::Result;
use pel_shared::model::burn::bert::Pass;
use pel_shared::model::burn::biencoder::Tower;
use pel_shared::model::burn::sum_of_max::{TokenVectors, sum_of_max};
use pel_shared::model::tower::Side;
use pel_shared::tokens::Encoded;

/// The sequences of one side of a batch.
struct Rows<'a> {
    side: Side,
    /// The number of its pass, which gives it its own dropout.
    which: u64,
    rows: Vec<&'a Encoded>,
}

impl Step<'_> {
    /// As [`Step::link`] without a transformation, in chunks of `optimiser.chunk` sequences.
    ///
    /// # Errors
    /// If the device fails, the user stops the run, or as `sink`.
    pub fn link_in_chunks(&self, batch: &LinkBatch<'_>, sink: &mut Sink<'_>) -> Result<Learned> {
        let of_mentions = Rows {
            side: Side::Mention,
            which: Side::Mention as u64,
            rows: batch
                .mentions
                .iter()
                .map(|example| &example.mention)
                .collect(),
        };
        let of_entities = Rows {
            side: Side::Entity,
            which: Side::Entity as u64,
            rows: tokens_of(self.entity_inputs, batch.entities.iter().copied()),
        };
        let (width, lambda) = (batch.entities.len(), self.config.fgsm.lambda);
        let targets = self.targets(&batch.pairing, width);
        let mut tokens = of_mentions.tokens() + of_entities.tokens();
        let mut clock = self.clock()?;
        let (mentions, entities) = (self.vectors(&of_mentions)?, self.vectors(&of_entities)?);
        let mut loss = self
            .plain(sum_of_max(&mentions, &entities), &targets, batch)
            .sum();
        clock.end(Phase::Plain)?;
        let pairs: Vec<(usize, usize, Pairing)> = match lambda > 0.0 {
            true => batch.pairs().collect(),
            false => Vec::new(),
        };
        let mut perturbed = None;
        if !pairs.is_empty() {
            let scores = self.scores_of_pairs(batch, &pairs, &mentions, &mut clock)?;
            let spread = self.spread(scores.clone(), &batch.pairing, width);
            loss = loss + self.loss(spread, &targets).sum() * lambda;
            tokens += tokens_in(tokens_of(
                self.entity_inputs,
                pairs.iter().map(|(_, entity, _)| batch.entities[*entity]),
            ));
            perturbed = Some(scores);
            clock.end(Phase::Perturbed)?;
        }
        let value = loss.clone().inner().try_into_scalar_f32()?;
        if value.is_finite() {
            let mut gradients = self.backward(loss);
            let mut to_mentions = gradient(&mentions.values, &mut gradients);
            let to_entities = gradient(&entities.values, &mut gradients);
            clock.end(Phase::Backward)?;
            if let Some(scores) = perturbed {
                let to_scores = gradient(&scores, &mut gradients);
                to_mentions = to_mentions
                    + self.pairs_back(batch, &pairs, &mentions, to_scores, sink, &mut clock)?;
            }
            self.rows_back(&of_mentions, &to_mentions, sink, &mut clock)?;
            self.rows_back(&of_entities, &to_entities, sink, &mut clock)?;
        }
        Ok(Learned {
            loss: value,
            tokens,
            fgsm_seconds: clock.fgsm(),
        })
    }

    /// As [`Step::align`], in chunks of `optimiser.chunk` names.
    ///
    /// # Errors
    /// As [`Step::link_in_chunks`].
    pub fn align_in_chunks(&self, batch: &AlignBatch, sink: &mut Sink<'_>) -> Result<Learned> {
        let of_names = Rows {
            side: Side::Entity,
            which: 0,
            rows: tokens_of(
                self.entity_inputs,
                batch.names.iter().map(|(_, name)| *name),
            ),
        };
        let mut clock = self.clock()?;
        let names = self.vectors(&of_names)?;
        let [count, _, dim] = names.values.dims();
        let loss = self.similarity(names.values.clone().reshape([count, dim]), batch);
        let value = loss.clone().inner().try_into_scalar_f32()?;
        if value.is_finite() {
            let to_names = gradient(&names.values, &mut self.backward(loss));
            self.rows_back(&of_names, &to_names, sink, &mut clock)?;
        }
        Ok(Learned {
            loss: value,
            tokens: of_names.tokens(),
            fgsm_seconds: clock.fgsm(),
        })
    }

    /// Sequences of a chunk.
    fn chunk(&self) -> usize {
        match self.config.optimiser.chunk {
            0 => usize::MAX,
            chunk => chunk,
        }
    }

    /// The options of both forward passes of chunk `at`. The first chunk has those of a whole
    /// batch.
    fn chunk_pass(&self, which: u64, at: usize) -> Pass {
        let pass = self.pass(which);
        let dropout = pass.dropout.map(|dropout| match at as u64 {
            0 => dropout,
            // Layers have the low numbers.
            at => dropout.part(at << 32),
        });
        Pass { dropout, ..pass }
    }

    fn chunk_vectors(&self, tower: &Tower, chunk: &[&Encoded], pass: &Pass) -> TokenVectors {
        let input = self.input(chunk);
        self.read(tower, tower.bert().forward(&input, pass), &input)
    }

    /// A tensor with a gradient, whose graph begins here.
    fn leaf<const D: usize>(&self, values: Tensor<D>) -> Tensor<D> {
        differentiable(values, self.device.gradient_checkpointing_strategy()).require_grad()
    }

    /// The first pass: the vectors of all rows, whose graph begins with them.
    ///
    /// # Errors
    /// If the user stops the run.
    fn vectors(&self, rows: &Rows<'_>) -> Result<TokenVectors> {
        let frozen = self.model.towers.tower(rows.side).clone().no_grad();
        let mut chunks = Vec::new();
        for (at, chunk) in rows.rows.chunks(self.chunk()).enumerate() {
            interrupt::check()?;
            let pass = self.chunk_pass(rows.which, at);
            let TokenVectors { values, mask } = self.chunk_vectors(&frozen, chunk, &pass);
            chunks.push((values.inner(), mask.inner()));
        }
        let seqs = chunks.iter().map(|(values, _)| values.dims()[1]);
        let longest = seqs.max().unwrap_or(0);
        let (values, masks): (Vec<_>, Vec<_>) = chunks
            .into_iter()
            .map(|(values, mask)| {
                let [count, seq] = mask.dims();
                let mask = padded(mask.reshape([count, seq, 1]), longest);
                (padded(values, longest), mask.reshape([count, longest]))
            })
            .unzip();
        Ok(TokenVectors {
            values: self.leaf(Tensor::cat(values, 0)),
            mask: differentiable(
                Tensor::cat(masks, 0),
                self.device.gradient_checkpointing_strategy(),
            ),
        })
    }

    /// The first pass over pairs that FGSM perturbs: their scores, whose graph begins with them.
    ///
    /// # Shapes
    /// -> `[pairs]`
    ///
    /// # Errors
    /// If the device fails, or the user stops the run.
    fn scores_of_pairs(
        &self,
        batch: &LinkBatch<'_>,
        pairs: &[(usize, usize, Pairing)],
        mentions: &TokenVectors,
        clock: &mut Clock,
    ) -> Result<Tensor<1>> {
        let frozen = self.model.towers.tower(Side::Entity).clone().no_grad();
        let fixed = mentions.clone().detach();
        let mut scores = Vec::new();
        for (at, chunk) in pairs.chunks(self.chunk()).enumerate() {
            interrupt::check()?;
            let (chunk, pass) = (self.pairs(batch, chunk), self.chunk_pass(2, at));
            let found = self.perturbed_scores(&chunk, &fixed, &frozen, &pass, clock)?;
            scores.push(found.inner());
            clock.end(Phase::Perturbed)?;
        }
        Ok(self.leaf(Tensor::cat(scores, 0)))
    }

    /// The second pass over pairs: hands the gradients of the weights on, and returns those of the
    /// mentions' vectors.
    ///
    /// # Shapes
    /// gradient `[pairs]` -> `[mentions, seq, dim]`
    ///
    /// # Errors
    /// If the device fails, the user stops the run, or as `sink`.
    fn pairs_back(
        &self,
        batch: &LinkBatch<'_>,
        pairs: &[(usize, usize, Pairing)],
        mentions: &TokenVectors,
        to_scores: Tensor<1>,
        sink: &mut Sink<'_>,
        clock: &mut Clock,
    ) -> Result<Tensor<3>> {
        let tower = self.model.towers.tower(Side::Entity);
        let mut to_mentions = mentions.values.clone().inner().zeros_like();
        let mut start = 0;
        for (at, chunk) in pairs.chunks(self.chunk()).enumerate() {
            interrupt::check()?;
            let share = to_scores.clone().narrow(0, start, chunk.len());
            start += chunk.len();
            let (chunk, pass) = (self.pairs(batch, chunk), self.chunk_pass(2, at));
            let scores = self.perturbed_scores(&chunk, mentions, tower, &pass, clock)?;
            clock.end(Phase::Perturbed)?;
            let mut gradients = (scores * share).sum().backward();
            to_mentions = to_mentions + gradient(&mentions.values, &mut gradients);
            sink(&mut gradients)?;
            clock.end(Phase::Backward)?;
        }
        Ok(to_mentions)
    }

    /// The second pass: hands the gradients of the weights on, from those of the vectors.
    ///
    /// # Shapes
    /// gradient `[rows, seq, dim]`
    ///
    /// # Errors
    /// If the device fails, the user stops the run, or as `sink`.
    fn rows_back(
        &self,
        rows: &Rows<'_>,
        to_vectors: &Tensor<3>,
        sink: &mut Sink<'_>,
        clock: &mut Clock,
    ) -> Result<()> {
        let tower = self.model.towers.tower(rows.side);
        let mut start = 0;
        for (at, chunk) in rows.rows.chunks(self.chunk()).enumerate() {
            interrupt::check()?;
            let pass = self.chunk_pass(rows.which, at);
            let vectors = self.chunk_vectors(tower, chunk, &pass).values;
            let [count, seq, _] = vectors.dims();
            let share = to_vectors.clone().narrow(0, start, count);
            let share = share.narrow(1, 0, seq);
            start += count;
            clock.end(Phase::Plain)?;
            sink(&mut (vectors * share).sum().backward())?;
            clock.end(Phase::Backward)?;
        }
        Ok(())
    }
}

impl Rows<'_> {
    fn tokens(&self) -> usize {
        tokens_in(self.rows.iter().copied())
    }
}

/// The gradient of a leaf, on a device without gradients; zeros if nothing depends on it.
fn gradient<const D: usize>(leaf: &Tensor<D>, gradients: &mut Gradients) -> Tensor<D> {
    leaf.grad_remove(gradients)
        .unwrap_or_else(|| leaf.clone().inner().zeros_like())
}

/// Zeros behind the tokens of each row.
///
/// # Shapes
/// `[rows, seq, dim]` -> `[rows, longest, dim]`
fn padded(values: Tensor<3>, longest: usize) -> Tensor<3> {
    let [rows, seq, dim] = values.dims();
    if seq == longest {
        return values;
    }
    let rest = Tensor::zeros([rows, longest - seq, dim], &values.device());
    Tensor::cat(vec![values, rest], 1)
}
