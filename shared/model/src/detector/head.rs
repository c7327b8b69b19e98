//! The span head on the processor: the arithmetic of [`crate::burn::span_head`] on plain
//! floats.

use super::DetectorInfo;
use super::features::{Features, MARKS, MATCHES, SHAPES};
use super::windows::Window;
use crate::weights::Weights;
use pel_kb::error::Result;
use pel_kernels::Isa;
use pel_kernels::gemm;
use pel_kernels::gemm::Start;
use pel_kernels::matrix::{Matrix, MatrixMut};
use std::ops::Range;

/// The weights of the head.
#[derive(Debug)]
pub struct Head {
    input: Linear,
    marks: Vec<f32>,
    shapes: Vec<f32>,
    start: Linear,
    end: Linear,
    /// `[labels, rank]`
    pair: Vec<f32>,
    first: Linear,
    last: Linear,
    inside: Linear,
    /// `[words, labels]`
    lengths: Vec<f32>,
    /// `[MATCHES, labels]`
    matches: Vec<f32>,
    labels: usize,
    words: usize,
}

/// The names of the head's tensors.
pub(crate) mod names {
    pub const INPUT: &str = "head.input";
    pub const MARKS: &str = "head.marks.weight";
    pub const SHAPES: &str = "head.shapes.weight";
    pub const START: &str = "head.start";
    pub const END: &str = "head.end";
    pub const PAIR: &str = "head.pair.weight";
    pub const FIRST: &str = "head.first";
    pub const LAST: &str = "head.last";
    pub const INSIDE: &str = "head.inside";
    pub const LENGTHS: &str = "head.lengths.weight";
    pub const MATCHES: &str = "head.matches.weight";
}

#[derive(Debug)]
struct Linear {
    inputs: usize,
    /// The weights `[inputs, outputs]`, packed.
    panels: Vec<f32>,
    bias: Vec<f32>,
}

impl Linear {
    fn take(weights: &mut Weights<'_>, name: &str, inputs: usize, outputs: usize) -> Result<Self> {
        let stored = weights.floats(&format!("{name}.weight"), &[outputs, inputs])?;
        let mut panels = vec![0.0; gemm::packed_len(inputs, outputs)];
        gemm::pack(
            Matrix::new(&stored, outputs, inputs).transposed(),
            &mut panels,
        );
        Ok(Self {
            inputs,
            panels,
            bias: weights.floats(&format!("{name}.bias"), &[outputs])?,
        })
    }

    /// # Shapes
    /// x `[rows, inputs]` -> `[rows, outputs]`
    fn forward(&self, x: &[f32]) -> Vec<f32> {
        let (rows, outputs) = (x.len() / self.inputs, self.bias.len());
        let mut all = vec![0.0; rows * outputs];
        gemm::gemm(
            Isa::best(),
            Matrix::new(x, rows, self.inputs),
            &self.panels,
            Start::Bias(&self.bias),
            MatrixMut::new(&mut all, rows, outputs),
        );
        all
    }
}

/// Adds `scale` times a row to another.
fn add_scaled(out: &mut [f32], scale: f32, row: &[f32]) {
    out.iter_mut()
        .zip(row)
        .for_each(|(out, value)| *out += scale * value);
}

impl Head {
    /// Takes the tensors of a head.
    ///
    /// # Errors
    /// If one is missing or of another shape; the error names it.
    pub fn take(weights: &mut Weights<'_>, info: &DetectorInfo, hidden: usize) -> Result<Self> {
        let (width, rank, labels) = (info.width, info.rank, info.labels());
        Ok(Self {
            input: Linear::take(weights, names::INPUT, hidden, width)?,
            marks: weights.floats(names::MARKS, &[MARKS, width])?,
            shapes: weights.floats(names::SHAPES, &[SHAPES, width])?,
            start: Linear::take(weights, names::START, width, rank)?,
            end: Linear::take(weights, names::END, width, rank)?,
            pair: weights.floats(names::PAIR, &[labels, rank])?,
            first: Linear::take(weights, names::FIRST, width, labels)?,
            last: Linear::take(weights, names::LAST, width, labels)?,
            inside: Linear::take(weights, names::INSIDE, width, labels)?,
            lengths: weights.floats(names::LENGTHS, &[info.words, labels])?,
            matches: weights.floats(names::MATCHES, &[MATCHES, labels])?,
            labels,
            words: info.words,
        })
    }

    /// The vectors of a window's words: the mean of the first and the last piece of each, through
    /// the input layer.
    ///
    /// # Shapes
    /// rows `[seq, hidden]` -> `[words, width]`
    fn words(&self, rows: &[f32], hidden: usize, window: &Input<'_>) -> Vec<f32> {
        let row = |at: usize| &rows[at * hidden..(at + 1) * hidden];
        let mut means = Vec::with_capacity(window.ends.len() * hidden);
        for [first, last] in window.ends {
            let both = row(*first).iter().zip(row(*last));
            means.extend(both.map(|(first, last)| (first + last) / 2.0));
        }
        let width = self.input.bias.len();
        let mut words = self.input.forward(&means);
        for (at, word) in words.chunks_exact_mut(width).enumerate() {
            let number = window.window.words.start + at;
            for (table, value) in [
                (&self.marks, window.features.marks[number]),
                (&self.shapes, window.features.shapes[number]),
            ] {
                let from = usize::from(value) * width;
                add_scaled(word, 1.0, &table[from..from + width]);
            }
            word.iter_mut().for_each(|value| *value = value.max(0.0));
        }
        words
    }

    /// Calls `take` with each span that begins at one of the window's own words: its first and last
    /// word and the logits of the labels in `columns`.
    pub fn spans(
        &self,
        rows: &[f32],
        hidden: usize,
        input: &Input<'_>,
        columns: Range<usize>,
        mut take: impl FnMut(usize, usize, &[f32]),
    ) {
        let words = self.words(rows, hidden, input);
        let count = input.ends.len();
        let (start, end) = (self.start.forward(&words), self.end.forward(&words));
        let [first, last, inside] =
            [&self.first, &self.last, &self.inside].map(|layer| layer.forward(&words));
        let (labels, rank) = (self.labels, self.start.bias.len());
        let row = |table: &[f32], at: usize| {
            let from = at * labels;
            Vec::from(&table[from + columns.start..from + columns.end])
        };
        let own = &input.window.own;
        let offset = input.window.words.start;
        let mut products = vec![0.0; rank];
        for begin in own.start - offset..own.end - offset {
            let mut sum = vec![0.0; columns.len()];
            let starts = &start[begin * rank..(begin + 1) * rank];
            for length in 0..self.words.min(count - begin) {
                let stop = begin + length;
                add_scaled(&mut sum, 1.0, &row(&inside, stop));
                let mut logits = row(&first, begin);
                add_scaled(&mut logits, 1.0, &row(&last, stop));
                add_scaled(&mut logits, 1.0 / (length + 1) as f32, &sum);
                add_scaled(&mut logits, 1.0, &row(&self.lengths, length));
                let matched = input.features.matched(offset + begin, offset + stop);
                add_scaled(&mut logits, 1.0, &row(&self.matches, usize::from(matched)));
                let ends = &end[stop * rank..(stop + 1) * rank];
                for ((product, start), end) in products.iter_mut().zip(starts).zip(ends) {
                    *product = start * end;
                }
                for (logit, label) in logits.iter_mut().zip(columns.clone()) {
                    let weights = &self.pair[label * rank..(label + 1) * rank];
                    *logit += products
                        .iter()
                        .zip(weights)
                        .map(|(product, weight)| product * weight)
                        .sum::<f32>();
                }
                take(offset + begin, offset + stop, &logits);
            }
        }
    }
}

/// A window with what the head reads of it beside the encoder's vectors.
#[derive(Clone, Copy, Debug)]
pub struct Input<'a> {
    /// The window.
    pub window: &'a Window,
    /// Its words' first and last tokens ([`Window::ends`]).
    pub ends: &'a [[usize; 2]],
    /// The features of the text's words.
    pub features: &'a Features,
}
