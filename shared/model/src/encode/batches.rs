//! The loop over batches: [`Encoder::steps`] for callers that await a GPU without blocking,
//! [`Encoder::encode_batches`] and [`Encoder::encode_all`] for all others.

use super::{Encoder, Encodings, Engine, Vectors};
use crate::tokens::{Encoded, by_length};
use crate::tower::Side;
use pel_kb::error::Result;
use pel_kb::score::Scorer;

/// The largest number of rows and tokens of a batch, padding included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BatchSize {
    /// Sequences.
    pub rows: usize,
    /// Rows times the length of the longest. A longer sequence is a batch of its own.
    pub tokens: usize,
}

impl Default for BatchSize {
    fn default() -> Self {
        Self {
            rows: 64,
            tokens: 4096,
        }
    }
}

impl BatchSize {
    /// A limit on tokens alone, for long encoding runs.
    pub const fn of_tokens(tokens: usize) -> Self {
        Self {
            rows: usize::MAX,
            tokens,
        }
    }

    /// Groups sequences of nearly equal lengths, the longest first. A batch has positions in
    /// `rows`.
    pub fn batches(self, rows: &[&Encoded]) -> Vec<Vec<usize>> {
        let lengths: Vec<usize> = rows.iter().map(|row| row.ids.len()).collect();
        by_length(&lengths, self.rows, self.tokens)
    }
}

/// Groups sequences, given by their lengths, into batches in their order: the first of at most
/// `first` tokens, the others of `most`. A longer sequence is a batch of its own.
pub(super) fn in_order(lengths: &[usize], first: usize, most: usize) -> Vec<Vec<usize>> {
    let (mut batches, mut tokens): (Vec<Vec<usize>>, usize) = (Vec::new(), 0);
    for (at, length) in lengths.iter().enumerate() {
        let limit = if batches.len() == 1 { first } else { most };
        match batches.last_mut() {
            Some(batch) if tokens + length <= limit => {
                batch.push(at);
                tokens += length;
            }
            _ => {
                batches.push(vec![at]);
                tokens = *length;
            }
        }
    }
    batches
}

/// Batches that are encoded one after the other.
pub struct Steps<'a> {
    encoder: &'a Encoder,
    scorer: Scorer,
    side: Side,
    rows: &'a [&'a Encoded],
    waiting: &'a [Vec<usize>],
}

/// Batches whose encoding has started.
pub struct Step<'a> {
    /// The values that the device computes.
    pub vectors: Vectors,
    /// Their sequences.
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
    /// The batches: one on a GPU, on the processor enough for all threads.
    pub fn batches(&self) -> &[Vec<usize>] {
        self.batches
    }

    /// The positions of the sequences, batch after batch.
    pub fn places(&self) -> Vec<usize> {
        self.batches.concat()
    }

    /// The vectors in the values read from the device.
    ///
    /// # Shapes
    /// -> `[sequences]`, in the order of [`StepPart::places`]
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
            // With several batches each, the threads finish at nearly the same time.
            Engine::Cpu { .. } => 2 * pel_kernels::threads(),
            Engine::Burn { .. } => 1,
        };
        let (batches, waiting) = self.waiting.split_at(at_once.min(self.waiting.len()));
        self.waiting = waiting;
        let rows: Vec<&'a Encoded> = batches.iter().flatten().map(|at| self.rows[*at]).collect();
        let (encoder, scorer) = (self.encoder, self.scorer);
        let vectors = encoder.start(scorer, self.side, &rows);
        Some(vectors.map(|vectors| Step {
            vectors,
            part: StepPart {
                encoder,
                scorer,
                rows,
                batches,
            },
        }))
    }
}

impl Encoder {
    /// Encodes batches of positions in `rows`, one after the other. Each starts when the iterator
    /// reaches it.
    ///
    /// # Panics
    /// If a position is out of range of `rows`.
    pub fn steps<'a>(
        &'a self,
        scorer: Scorer,
        side: Side,
        rows: &'a [&'a Encoded],
        batches: &'a [Vec<usize>],
    ) -> Steps<'a> {
        Steps {
            encoder: self,
            scorer,
            side,
            rows,
            waiting: batches,
        }
    }

    /// Encodes batches of positions in `rows` and calls `take` with the vectors of each step, in
    /// order. A GPU computes the next batch while the last one is read back.
    ///
    /// # Errors
    /// If a token has no row in the encoder's table, a sequence is longer than
    /// [`Encoder::max_positions`], the device fails, or `take` fails.
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

    /// Encodes sequences in the order given. After each step `tick` is called with the number of
    /// sequences of the step. Its error ends the encoding.
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

#[cfg(test)]
mod tests {
    use super::in_order;

    #[test]
    fn batches_in_order_are_full_and_the_first_is_small() {
        let batches = in_order(&[3, 3, 3, 9, 2, 5, 3, 40, 1], 6, 10);
        let expected: [&[usize]; 6] = [&[0, 1], &[2], &[3], &[4, 5, 6], &[7], &[8]];
        assert_eq!(batches, expected);
        assert!(in_order(&[], 6, 10).is_empty());
    }
}
