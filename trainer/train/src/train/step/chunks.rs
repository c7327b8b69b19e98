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
//!
//! With several replicas ([`crate::train::replicas`]) each has a share of the sequences in 1 and 3,
//! and all of them have all vectors in 2.
//!
//! The learned transformation is refused: it needs the gradient of the whole batch at layer K.

use super::clock::{Clock, Phase};
use super::{Learned, Sink, Step, tokens_in};
use crate::train::batch::{AlignBatch, LinkBatch, Pairing, tokens_of};
use crate::train::differentiable::differentiable;
use crate::train::rank::Rank;
use burn::module::Module;
use burn::tensor::{Gradients, Tensor};
use pel_io::interrupt;
use pel_kb::error::Result;
use pel_kb::score::Scorer;
use pel_model::burn::bert::Pass;
use pel_model::burn::biencoder::Tower;
use pel_model::burn::sum_of_max::{TokenVectors, sum_of_max};
use pel_model::tokens::Encoded;
use pel_model::tower::Side;
use std::ops::Range;

/// The sequences of one side of a batch.
struct Rows<'a> {
    side: Side,
    /// The number of its pass, which gives it its own dropout.
    which: u64,
    all: Vec<&'a Encoded>,
    /// The share of this replica.
    mine: Range<usize>,
}

/// A batch that a replica encodes in chunks.
struct Chunks<'a> {
    step: &'a Step<'a>,
    rank: &'a Rank<'a>,
    clock: Clock,
}

/// A pair of a mention and an entity, by their positions.
type Pair = (usize, usize, Pairing);

impl Step<'_> {
    /// As [`Step::link`] without a transformation, in chunks of `optimiser.chunk` sequences. The
    /// loss is that of the whole batch, the gradients those of this replica's share of it.
    ///
    /// # Errors
    /// If the device fails, the user stops the run, another replica fails, or as `sink`.
    pub fn link_in_chunks(
        &self,
        batch: &LinkBatch<'_>,
        rank: &Rank<'_>,
        sink: &mut Sink<'_>,
    ) -> Result<Learned> {
        let mentions = batch.mentions.iter().map(|example| &example.mention);
        let of_mentions = Rows::new(Side::Mention, 0, mentions.collect(), rank);
        let entities = tokens_of(self.entity_inputs, batch.entities.iter().copied());
        let of_entities = Rows::new(Side::Entity, 1, entities, rank);
        let (width, lambda) = (batch.entities.len(), self.config.fgsm.lambda);
        let targets = self.targets(&batch.pairing, width);
        let mut tokens = of_mentions.tokens() + of_entities.tokens();
        let mut chunks = Chunks {
            step: self,
            rank,
            clock: self.clock()?,
        };
        let mentions = chunks.vectors(&of_mentions)?;
        let entities = chunks.vectors(&of_entities)?;
        let mut loss = self
            .plain(sum_of_max(&mentions, &entities), &targets, batch)
            .sum();
        chunks.clock.end(Phase::Plain)?;
        let pairs: Vec<Pair> = match lambda > 0.0 {
            true => batch.pairs().collect(),
            false => Vec::new(),
        };
        let mut perturbed = None;
        if !pairs.is_empty() {
            let scores = chunks.scores(batch, &pairs, &mentions)?;
            let spread = self.spread(scores.clone(), &batch.pairing, width);
            loss = loss + self.loss(spread, &targets).sum() * lambda;
            tokens += tokens_in(tokens_of(
                self.entity_inputs,
                pairs.iter().map(|(_, entity, _)| batch.entities[*entity]),
            ));
            perturbed = Some(scores);
            chunks.clock.end(Phase::Perturbed)?;
        }
        let value = self.figure(&loss)?;
        if !value.overflowed() {
            let mut gradients = self.backward(loss);
            let mut to_mentions = gradient(&mentions.values, &mut gradients);
            let to_entities = gradient(&entities.values, &mut gradients);
            chunks.clock.end(Phase::Backward)?;
            if let Some(scores) = perturbed {
                let to_scores = gradient(&scores, &mut gradients);
                let more = chunks.scores_back(batch, &pairs, &mentions, &to_scores, sink)?;
                to_mentions = to_mentions + more;
            }
            chunks.vectors_back(&of_mentions, &to_mentions, sink)?;
            chunks.vectors_back(&of_entities, &to_entities, sink)?;
        }
        Ok(Learned {
            loss: value,
            tokens,
            fgsm_seconds: chunks.clock.fgsm(),
        })
    }

    /// As [`Step::align`], in chunks of `optimiser.chunk` names.
    ///
    /// # Errors
    /// As [`Step::link_in_chunks`].
    pub fn align_in_chunks(
        &self,
        batch: &AlignBatch,
        rank: &Rank<'_>,
        sink: &mut Sink<'_>,
    ) -> Result<Learned> {
        let names = batch.names.iter().map(|(_, name)| *name);
        let names = tokens_of(self.entity_inputs, names);
        let of_names = Rows::new(Side::Entity, 0, names, rank);
        let mut chunks = Chunks {
            step: self,
            rank,
            clock: self.clock()?,
        };
        let names = chunks.vectors(&of_names)?;
        let [count, _, dim] = names.values.dims();
        let loss = self.similarity(names.values.clone().reshape([count, dim]), batch);
        let value = self.figure(&loss)?;
        if !value.overflowed() {
            let to_names = gradient(&names.values, &mut self.backward(loss));
            chunks.vectors_back(&of_names, &to_names, sink)?;
        }
        Ok(Learned {
            loss: value,
            tokens: of_names.tokens(),
            fgsm_seconds: chunks.clock.fgsm(),
        })
    }
}

impl Chunks<'_> {
    /// Sequences of a chunk.
    fn size(&self) -> usize {
        match self.step.config.optimiser.chunk {
            0 => usize::MAX,
            chunk => chunk,
        }
    }

    /// The options of both forward passes of chunk `at`. The first chunk has those of a whole
    /// batch.
    fn pass(&self, which: u64, at: usize) -> Pass {
        let pass = self.step.pass(which);
        let number = ((self.rank.number() as u64) << 24) | at as u64;
        let dropout = pass.dropout.map(|dropout| match number {
            0 => dropout,
            // Layers have the low numbers.
            number => dropout.part(number << 32),
        });
        Pass { dropout, ..pass }
    }

    fn read(&self, tower: &Tower, chunk: &[&Encoded], pass: &Pass) -> TokenVectors {
        let input = self.step.input(chunk);
        let hidden = tower.bert().forward(&input, pass);
        self.step.read(tower, hidden, &input)
    }

    /// The rows of all replicas, from those of this one: zeros stand for the others, and all are
    /// summed.
    ///
    /// # Shapes
    /// `[some, seq, dim]` each -> `[rows, seq, dim]`
    ///
    /// # Errors
    /// As [`Rank::sum`].
    fn gather(
        &self,
        own: Vec<Tensor<3>>,
        mine: &Range<usize>,
        [rows, seq, dim]: [usize; 3],
    ) -> Result<Tensor<3>> {
        let device = self.step.device.clone().inner();
        let zeros = |count: usize| {
            let zeros = || Tensor::<3>::zeros([count, seq, dim], &device);
            (count > 0).then(zeros)
        };
        let parts: Vec<Tensor<3>> = zeros(mine.start)
            .into_iter()
            .chain(own)
            .chain(zeros(rows - mine.end))
            .collect();
        let whole = Tensor::cat(parts, 0).reshape([rows * seq * dim]);
        Ok(self.rank.sum(whole)?.reshape([rows, seq, dim]))
    }

    /// The first pass: the vectors of all rows, whose graph begins with them.
    ///
    /// # Errors
    /// If the user stops the run, or as [`Rank::sum`].
    fn vectors(&self, rows: &Rows<'_>) -> Result<TokenVectors> {
        let frozen = self.step.towers.tower(rows.side).clone().no_grad();
        let longest = match self.step.model.scorer {
            Scorer::Dual => 1,
            Scorer::SumOfMax => rows.longest(),
        };
        let (mut values, mut masks) = (Vec::new(), Vec::new());
        for (at, chunk) in rows.mine().chunks(self.size()).enumerate() {
            interrupt::check()?;
            let found = self.read(&frozen, chunk, &self.pass(rows.which, at));
            let [count, seq] = found.mask.dims();
            let mask = found.mask.inner().reshape([count, seq, 1]);
            values.push(padded(found.values.inner(), longest));
            masks.push(padded(mask, longest));
        }
        let (count, dim) = (rows.all.len(), frozen.dim());
        let values = self.gather(values, &rows.mine, [count, longest, dim])?;
        let masks = self.gather(masks, &rows.mine, [count, longest, 1])?;
        Ok(TokenVectors {
            values: self.differentiable(values).require_grad(),
            mask: self.differentiable(masks.reshape([count, longest])),
        })
    }

    fn differentiable<const D: usize>(&self, values: Tensor<D>) -> Tensor<D> {
        differentiable(values, self.step.device.gradient_checkpointing_strategy())
    }

    /// The first pass over pairs that FGSM perturbs: their scores, whose graph begins with them.
    ///
    /// # Shapes
    /// -> `[pairs]`
    ///
    /// # Errors
    /// If the device fails, the user stops the run, or as [`Rank::sum`].
    fn scores(
        &mut self,
        batch: &LinkBatch<'_>,
        pairs: &[Pair],
        mentions: &TokenVectors,
    ) -> Result<Tensor<1>> {
        let frozen = self.step.towers.tower(Side::Entity).clone().no_grad();
        let fixed = mentions.clone().detach();
        let mine = self.rank.share(pairs.len());
        let mut scores = Vec::new();
        for (at, chunk) in pairs[mine.clone()].chunks(self.size()).enumerate() {
            interrupt::check()?;
            let (input, pass) = (self.step.pairs(batch, chunk), self.pass(2, at));
            let clock = &mut self.clock;
            let found = self
                .step
                .perturbed_scores(&input, &fixed, &frozen, &pass, clock)?;
            scores.push(found.inner().reshape([chunk.len(), 1, 1]));
            self.clock.end(Phase::Perturbed)?;
        }
        let scores = self.gather(scores, &mine, [pairs.len(), 1, 1])?;
        let scores = scores.reshape([pairs.len()]);
        Ok(self.differentiable(scores).require_grad())
    }

    /// The second pass over pairs: hands the gradients of the weights on, and returns those of the
    /// mentions' vectors.
    ///
    /// # Shapes
    /// gradient `[pairs]` -> `[mentions, seq, dim]`
    ///
    /// # Errors
    /// If the device fails, the user stops the run, or as [`Rank::sum`] and `sink`.
    fn scores_back(
        &mut self,
        batch: &LinkBatch<'_>,
        pairs: &[Pair],
        mentions: &TokenVectors,
        to_scores: &Tensor<1>,
        sink: &mut Sink<'_>,
    ) -> Result<Tensor<3>> {
        let tower = self.step.towers.tower(Side::Entity);
        let shape = mentions.values.dims();
        let mut to_mentions = mentions.values.clone().inner().zeros_like();
        let mine = self.rank.share(pairs.len());
        let mut start = mine.start;
        for (at, chunk) in pairs[mine].chunks(self.size()).enumerate() {
            interrupt::check()?;
            let share = to_scores.clone().narrow(0, start, chunk.len());
            start += chunk.len();
            let (input, pass) = (self.step.pairs(batch, chunk), self.pass(2, at));
            let clock = &mut self.clock;
            let scores = self
                .step
                .perturbed_scores(&input, mentions, tower, &pass, clock)?;
            self.clock.end(Phase::Perturbed)?;
            let mut gradients = (scores * share).sum().backward();
            to_mentions = to_mentions + gradient(&mentions.values, &mut gradients);
            sink(&mut gradients)?;
            self.clock.end(Phase::Backward)?;
        }
        let values = shape.iter().product::<usize>();
        Ok(self.rank.sum(to_mentions.reshape([values]))?.reshape(shape))
    }

    /// The second pass: hands the gradients of the weights on, from those of the vectors.
    ///
    /// # Shapes
    /// gradient `[rows, seq, dim]`
    ///
    /// # Errors
    /// If the device fails, the user stops the run, or as `sink`.
    fn vectors_back(
        &mut self,
        rows: &Rows<'_>,
        to_vectors: &Tensor<3>,
        sink: &mut Sink<'_>,
    ) -> Result<()> {
        let tower = self.step.towers.tower(rows.side);
        let mut start = rows.mine.start;
        for (at, chunk) in rows.mine().chunks(self.size()).enumerate() {
            interrupt::check()?;
            let vectors = self.read(tower, chunk, &self.pass(rows.which, at)).values;
            let [count, seq, _] = vectors.dims();
            let share = to_vectors.clone().narrow(0, start, count);
            let share = share.narrow(1, 0, seq);
            start += count;
            self.clock.end(Phase::Plain)?;
            sink(&mut (vectors * share).sum().backward())?;
            self.clock.end(Phase::Backward)?;
        }
        Ok(())
    }
}

impl<'a> Rows<'a> {
    fn new(side: Side, which: u64, all: Vec<&'a Encoded>, rank: &Rank<'_>) -> Self {
        let mine = rank.share(all.len());
        Self {
            side,
            which,
            all,
            mine,
        }
    }

    fn mine(&self) -> &[&'a Encoded] {
        &self.all[self.mine.clone()]
    }

    fn tokens(&self) -> usize {
        tokens_in(self.all.iter().copied())
    }

    /// The most tokens of a sequence.
    fn longest(&self) -> usize {
        let lengths = self.all.iter().map(|row| row.ids.len());
        lengths.max().unwrap_or(0)
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
