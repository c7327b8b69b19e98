//! One transformer layer over the concatenated rows of several sequences, without padding.

use super::attention::{self, Heads, sized};
use super::linear::{self, Linear};
use crate::kernels::Isa;
use crate::kernels::int8::Codes;
use crate::kernels::matrix::{Matrix, MatrixMut};
use crate::kernels::rows::{Activation, Norm, layer_norm};
use crate::kernels::sums::add;

/// γ, β and ε of a LayerNorm.
#[derive(Clone, Debug)]
pub struct NormWeights {
    /// γ
    pub gamma: Vec<f32>,
    /// β
    pub beta: Vec<f32>,
    /// ε
    pub epsilon: f32,
}

impl NormWeights {
    /// A view for the kernels.
    pub fn view(&self) -> Norm<'_> {
        Norm { gamma: &self.gamma, beta: &self.beta, epsilon: self.epsilon }
    }
}

/// The weights of a layer.
#[derive(Clone, Debug)]
pub struct Layer {
    /// Queries.
    pub query: Linear,
    /// Keys.
    pub key: Linear,
    /// Values.
    pub value: Linear,
    /// The output projection of the attention.
    pub attended: Linear,
    /// The LayerNorm after the attention.
    pub attended_norm: NormWeights,
    /// `[intermediate, hidden]`
    pub wide: Linear,
    /// `[hidden, intermediate]`
    pub narrow: Linear,
    /// The LayerNorm after the feed-forward sublayer.
    pub norm: NormWeights,
    /// The number of attention heads.
    pub heads: usize,
    /// The activation after `wide`.
    pub activation: Activation,
}

/// Buffers of one group of sequences, and one more for each thread.
#[derive(Debug, Default)]
pub struct Scratch {
    /// The hidden states, `[rows, hidden]`.
    pub hidden: Vec<f32>,
    qkv: Vec<f32>,
    mixed: Vec<f32>,
    wide: Vec<f32>,
    heads: Vec<attention::Scratch>,
    codes: Codes,
}

impl Layer {
    /// See [`Linear::round`].
    pub fn round(&mut self) {
        let Self { query, key, value, attended, wide, narrow, .. } = self;
        [query, key, value, attended, wide, narrow].into_iter().for_each(Linear::round);
    }

    /// Runs the layer in place, on `team` threads.
    ///
    /// # Shapes
    /// `scratch.hidden` `[rows, hidden]`, where `rows` is the sum of `lengths`
    pub fn forward(&self, isa: Isa, team: usize, lengths: &[usize], scratch: &mut Scratch) {
        let rows: usize = lengths.iter().sum();
        let width = self.attended.outputs();
        let Scratch { hidden, qkv, mixed, wide, heads, codes } = scratch;
        let hidden = sized(hidden, rows * width);
        heads.resize_with(team.max(heads.len()), Default::default);

        let qkv = sized(qkv, rows * 3 * width);
        linear::forward([&self.query, &self.key, &self.value], isa, team, hidden, qkv, None, codes);
        let mixed = sized(mixed, rows * width);
        let (mut left, mut first) = (MatrixMut::new(mixed, rows, width), 0);
        for seq in lengths {
            let (mine, rest) = left.split_rows(*seq);
            left = rest;
            let qkv = Matrix::new(qkv, rows, 3 * width).part(first, *seq, 0, 3 * width);
            Heads { qkv, count: self.heads }.forward(isa, &mut heads[..team], mine);
            first += seq;
        }

        // The queries, keys and values are no longer needed. Their buffer takes the outputs of the linear layers.
        let given = &mut qkv[..rows * width];
        linear::forward([&self.attended], isa, team, mixed, given, None, codes);
        add(hidden, given);
        layer_norm(isa, self.attended_norm.view(), width, hidden);

        let wide = sized(wide, rows * self.wide.outputs());
        linear::forward([&self.wide], isa, team, hidden, wide, Some(self.activation), codes);
        linear::forward([&self.narrow], isa, team, wide, given, None, codes);
        add(hidden, given);
        layer_norm(isa, self.norm.view(), width, hidden);
    }
}
