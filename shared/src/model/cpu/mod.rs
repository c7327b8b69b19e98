//! The encoder on the processor, for inference: the same arithmetic as [`crate::model::burn::bert`], on packed weights, with buffers that
//! are used again and no padding.
//!
//! Sequences stand one after the other in one matrix. Groups of them go through all layers on a thread each, so that a
//! group's rows stay in that thread's cache; where there are fewer sequences than threads, the threads share the columns
//! of each product.

mod attention;
mod layer;
mod linear;
mod load;
mod quantise;
mod table;
mod tower;
pub mod train;

pub use quantise::{is_quantised, quantise};
pub use tower::Tower;

use crate::kernels;
use crate::kernels::rows::layer_norm;
use crate::kernels::{Isa, for_each};
use layer::{Layer, NormWeights, Scratch};
use std::ops::Range;
use std::sync::Mutex;
use table::Table;

/// Rows that go through a layer together: enough to use each weight often, few enough to stay in the cache.
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
    /// Ids, without padding.
    pub ids: &'a [u32],
    /// Segments, as many.
    pub segments: &'a [u32],
    /// The tokens that stand for the input.
    pub own: &'a Range<usize>,
}

impl Encoder {
    /// Values of a token's vector.
    pub fn hidden(&self) -> usize {
        self.hidden
    }

    /// Rounds the linear layers' weights to bfloat16; their inputs then are too. Quantised ones stay.
    pub fn round(&mut self) {
        self.layers.iter_mut().for_each(Layer::round);
    }

    /// Runs the encoder and gives `take` each sequence with its rows of the last layer.
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
        let threads = kernels::threads();
        let team = (threads / sequences.len().max(1)).max(1);
        let groups = groups(&sequences.iter().map(|sequence| sequence.ids.len()).collect::<Vec<_>>(), threads);
        let mut found: Vec<Vec<R>> = groups.iter().map(|_| Vec::new()).collect();
        for_each(groups.into_iter().zip(&mut found).collect(), |(group, found)| {
            let mut scratch = self.idle.lock().ok().and_then(|mut idle| idle.pop()).unwrap_or_default();
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
        });
        found.into_iter().flatten().collect()
    }

    /// Fills `scratch.hidden`.
    fn group(&self, isa: Isa, team: usize, sequences: &[Sequence<'_>], scratch: &mut Scratch) {
        let lengths: Vec<usize> = sequences.iter().map(|sequence| sequence.ids.len()).collect();
        let (width, most) = (self.hidden, self.positions.rows());
        if let Some(seq) = lengths.iter().find(|seq| **seq > most) {
            panic!("a sequence of {seq} tokens, at most {most} fit");
        }
        let hidden = attention::sized(&mut scratch.hidden, lengths.iter().sum::<usize>() * width);
        let tokens = sequences.iter().flat_map(|sequence| sequence.ids.iter().zip(sequence.segments).enumerate());
        for ((position, (word, segment)), row) in tokens.zip(hidden.chunks_exact_mut(width)) {
            row.fill(0.0);
            self.words.add(*word as usize, row);
            self.segments.add(*segment as usize, row);
            self.positions.add(position, row);
        }
        layer_norm(isa, self.norm.view(), width, hidden);
        self.layers.iter().for_each(|layer| layer.forward(isa, team, &lengths, scratch));
    }
}

/// Cuts sequences into groups of nearly equal size, at least one for each thread if there are as many sequences.
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
