//! The encoder on the processor, for inference: the arithmetic of [`crate::burn::bert`] on
//! packed weights, with reused buffers and without padding.
//!
//! Sequences are concatenated in one matrix. A thread runs a group of sequences through all layers,
//! so that the group's rows stay in its cache. With fewer sequences than threads, the threads share
//! the columns of each product.

mod attention;
mod layer;
mod linear;
mod load;
mod quantise;
mod table;
mod tower;
pub mod train;

pub use quantise::{is_quantised, quantise, quantise_layers};
pub use tower::Tower;

use layer::{Layer, NormWeights, Scratch};
use pel_kernels::rows::layer_norm;
use pel_kernels::{Isa, for_each};
use std::ops::Range;
use std::sync::Mutex;
use table::Table;

/// Rows of a group: enough to reuse each weight often, few enough to stay in the cache.
const GROUP: usize = 128;

/// A BERT encoder with packed weights.
#[derive(Debug)]
pub struct Encoder {
    words: Table,
    positions: Table,
    segments: Table,
    norm: NormWeights,
    layers: Vec<Layer>,
    hidden: usize,
    idle: Mutex<Vec<Scratch>>,
}

/// One sequence of token ids.
#[derive(Clone, Copy, Debug)]
pub struct Sequence<'a> {
    /// The token ids, without padding.
    pub ids: &'a [u32],
    /// The segment of each token.
    pub segments: &'a [u32],
    /// The tokens of the input itself.
    pub own: &'a Range<usize>,
}

impl Encoder {
    /// The hidden size.
    pub fn hidden(&self) -> usize {
        self.hidden
    }

    /// Rounds the linear layers' f32 weights to bfloat16, and their inputs. Quantised weights are
    /// unchanged.
    pub fn round(&mut self) {
        self.layers.iter_mut().for_each(Layer::round);
    }

    /// Runs the encoder and calls `take` for each sequence with its rows of the last layer.
    ///
    /// # Shapes
    /// rows `[seq, hidden]`
    ///
    /// # Panics
    /// If a sequence is longer than the encoder reads, or an id has no row in its table.
    pub fn forward<R: Send>(
        &self,
        sequences: &[Sequence<'_>],
        take: impl Fn(&Sequence<'_>, &[f32]) -> R + Sync,
    ) -> Vec<R> {
        let threads = pel_kernels::threads();
        let team = (threads / sequences.len().max(1)).max(1);
        let groups = groups(
            &sequences
                .iter()
                .map(|sequence| sequence.ids.len())
                .collect::<Vec<_>>(),
            threads,
        );
        let mut found: Vec<Vec<R>> = groups.iter().map(|_| Vec::new()).collect();
        for_each(
            groups.into_iter().zip(&mut found).collect(),
            |(group, found)| {
                let mut scratch = self
                    .idle
                    .lock()
                    .ok()
                    .and_then(|mut idle| idle.pop())
                    .unwrap_or_default();
                let sequences = &sequences[group];
                self.group(Isa::best(), team, sequences, &mut scratch);
                let mut first = 0;
                for sequence in sequences {
                    let end = first + sequence.ids.len() * self.hidden;
                    found.push(take(sequence, &scratch.hidden[first..end]));
                    first = end;
                }
                if let Ok(mut idle) = self.idle.lock() {
                    idle.push(scratch);
                }
            },
        );
        found.into_iter().flatten().collect()
    }

    /// Fills `scratch.hidden`.
    fn group(&self, isa: Isa, team: usize, sequences: &[Sequence<'_>], scratch: &mut Scratch) {
        let lengths: Vec<usize> = sequences
            .iter()
            .map(|sequence| sequence.ids.len())
            .collect();
        let (width, most) = (self.hidden, self.positions.rows());
        if let Some(seq) = lengths.iter().find(|seq| **seq > most) {
            panic!("expected at most {most} tokens in a sequence, found {seq}");
        }
        let hidden = attention::sized(&mut scratch.hidden, lengths.iter().sum::<usize>() * width);
        let tokens = sequences
            .iter()
            .flat_map(|sequence| sequence.ids.iter().zip(sequence.segments).enumerate());
        for ((position, (word, segment)), row) in tokens.zip(hidden.chunks_exact_mut(width)) {
            row.fill(0.0);
            self.words.add(*word as usize, row);
            self.segments.add(*segment as usize, row);
            self.positions.add(position, row);
        }
        layer_norm(isa, self.norm.view(), width, hidden);
        self.layers
            .iter()
            .for_each(|layer| layer.forward(isa, team, &lengths, scratch));
    }
}

/// Divides sequences into groups of nearly equal size, at least one for each thread if there are
/// enough sequences.
fn groups(lengths: &[usize], threads: usize) -> Vec<std::ops::Range<usize>> {
    let total: usize = lengths.iter().sum();
    let count = total.div_ceil(GROUP).div_ceil(threads).max(1) * threads;
    let (mut groups, mut first, mut seen) = (Vec::new(), 0, 0);
    for (at, length) in lengths.iter().enumerate() {
        seen += length;
        // The group ends where its share of all tokens ends.
        if seen * count >= total * (groups.len() + 1) {
            groups.push(first..at + 1);
            first = at + 1;
        }
    }
    if first < lengths.len() {
        groups.push(first..lengths.len());
    }
    groups
}
