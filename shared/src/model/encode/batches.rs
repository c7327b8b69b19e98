//! The one loop over batches: [`Encoder::steps`] for a caller that waits for a GPU without blocking, [`Encoder::encode_batches`]
//! and [`Encoder::encode_all`] for all others.

use super::{Encoder, Encodings, Engine, Vectors};
use crate::error::Result;
use crate::kernels;
use crate::model::tower::Side;
use crate::score::Scorer;
use crate::tokens::{Encoded, by_length};

/// The most rows and tokens of one batch, padding included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BatchSize {
    /// Sequences.
    pub rows: usize,
    /// Rows times the tokens of the longest. A longer sequence is a batch of its own.
    pub tokens: usize,
}

impl Default for BatchSize {
    fn default() -> Self {
        Self { rows: 64, tokens: 4096 }
    }
}

impl BatchSize {
    /// At most so many tokens: as many rows as a long encoding run takes.
    pub const fn of_tokens(tokens: usize) -> Self {
        Self { rows: 256, tokens }
    }

    /// Groups sequences of nearly equal lengths, the longest first. A batch holds positions in `rows`.
    pub fn batches(self, rows: &[&Encoded]) -> Vec<Vec<usize>> {
        let lengths: Vec<usize> = rows.iter().map(|row| row.ids.len()).collect();
        by_length(&lengths, self.rows, self.tokens)
    }
}

/// Batches that are encoded one after the other.
pub struct Steps<'a> {
    encoder: &'a Encoder,
    scorer: Scorer,
    side: Side,
    rows: &'a [&'a Encoded],
    waiting: &'a [Vec<usize>],
}

/// Batches whose encoding has begun.
pub struct Step<'a> {
    /// What a device computes.
    pub vectors: Vectors,
    /// What it computes them of.
    pub part: StepPart<'a>,
}

/// The sequences of a [`Step`].
pub struct StepPart<'a> {
    encoder: &'a Encoder,
    scorer: Scorer,
    rows: Vec<&'a Encoded>,
    batches: &'a [Vec<usize>],
}

impl StepPart<'_> {
    /// The batches: one on a GPU, on the processor as many as keep its threads busy.
    pub fn batches(&self) -> &[Vec<usize>] {
        self.batches
    }

    /// The positions of the sequences, batch after batch.
    pub fn places(&self) -> Vec<usize> {
        self.batches.concat()
    }

    /// The vectors in what the device gave back.
    ///
    /// # Shapes
    /// -> `[sequences]`, as [`StepPart::places`] orders them
    ///
    /// # Panics
    /// If the values are not those of this step.
    pub fn encodings(&self, values: Vec<f32>) -> Encodings {
        self.encoder.unpack(self.scorer, &self.rows, values)
    }
}

impl<'a> Iterator for Steps<'a> {
    type Item = Result<Step<'a>>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.waiting.is_empty() {
            return None;
        }
        let at_once = match self.encoder.engine {
            // The threads end together where each has several batches.
            Engine::Cpu { .. } => 2 * kernels::threads(),
            Engine::Burn { .. } => 1,
        };
        let (batches, waiting) = self.waiting.split_at(at_once.min(self.waiting.len()));
        self.waiting = waiting;
        let rows: Vec<&'a Encoded> = batches.iter().flatten().map(|at| self.rows[*at]).collect();
        let (encoder, scorer) = (self.encoder, self.scorer);
        let vectors = encoder.start(scorer, self.side, &rows);
        Some(vectors.map(|vectors| Step { vectors, part: StepPart { encoder, scorer, rows, batches } }))
    }
}

impl Encoder {
    /// Encodes batches, given as positions in `rows`, one after the other. Each is started when it is asked for.
    ///
    /// # Panics
    /// If a batch holds a position that `rows` has not.
    pub fn steps<'a>(
        &'a self,
        scorer: Scorer,
        side: Side,
        rows: &'a [&'a Encoded],
        batches: &'a [Vec<usize>],
    ) -> Steps<'a> {
        Steps { encoder: self, scorer, side, rows, waiting: batches }
    }

    /// Encodes batches, given as positions in `rows`, and gives `take` the vectors of each step, in its order. A GPU computes the next
    /// batch while the last one is read back.
    ///
    /// # Errors
    /// If a token has no row in the encoder's table, a sequence is longer than [`Encoder::max_positions`], the device fails,
    /// or `take` does.
    ///
    /// # Panics
    /// As [`Encoder::steps`].
    pub fn encode_batches(
        &self,
        scorer: Scorer,
        side: Side,
        rows: &[&Encoded],
        batches: &[Vec<usize>],
        mut take: impl FnMut(&StepPart<'_>, Encodings) -> Result<()>,
    ) -> Result<()> {
        let mut steps = self.steps(scorer, side, rows, batches);
        let mut started = steps.next();
        while let Some(step) = started {
            let Step { vectors, part } = step?;
            let found = match vectors {
                Vectors::Here(values) => {
                    take(&part, part.encodings(values))?;
                    started = steps.next();
                    continue;
                }
                on_device => {
                    started = steps.next();
                    on_device.read()?
                }
            };
            take(&part, part.encodings(found))?;
        }
        Ok(())
    }

    /// Encodes sequences, each by itself, in the order given. After each step `tick` is called with the number of sequences that are
    /// done; its error ends the work.
    ///
    /// # Errors
    /// As [`Encoder::encode_batches`].
    pub fn encode_all(
        &self,
        scorer: Scorer,
        side: Side,
        rows: &[&Encoded],
        size: BatchSize,
        mut tick: impl FnMut(usize) -> Result<()>,
    ) -> Result<Encodings> {
        let mut all = Encodings::zeros(scorer, rows.len(), self.dim());
        self.encode_batches(scorer, side, rows, &size.batches(rows), |part, found| {
            let places = part.places();
            all.put(&places, found);
            tick(places.len())
        })?;
        Ok(all)
    }
}
