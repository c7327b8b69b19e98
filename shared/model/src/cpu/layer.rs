//! One transformer layer over the concatenated rows of several sequences, without padding.

use super::attention::{self, Heads, sized};
use super::linear::{self, Linear};
use pel_kernels::Isa;
use pel_kernels::int8::Codes;
use pel_kernels::matrix::{Matrix, MatrixMut};
use pel_kernels::rows::{Activation, Norm, layer_norm};
use pel_kernels::sums::add;

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
        Norm {
            gamma: &self.gamma,
            beta: &self.beta,
            epsilon: self.epsilon,
        }
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
    pub attention_output: Linear,
    /// The LayerNorm after the attention.
    pub attention_norm: NormWeights,
    /// `[intermediate, hidden]`
    pub intermediate: Linear,
    /// `[hidden, intermediate]`
    pub output: Linear,
    /// The LayerNorm after the feed-forward sublayer.
    pub norm: NormWeights,
    /// The number of attention heads.
    pub heads: usize,
    /// The activation after `intermediate`.
    pub activation: Activation,
}

/// Buffers of one group of sequences, and one more for each thread.
#[derive(Debug, Default)]
pub struct Scratch {
    /// The hidden states, `[rows, hidden]`.
    pub hidden: Vec<f32>,
    qkv: Vec<f32>,
    mixed: Vec<f32>,
    intermediate: Vec<f32>,
    heads: Vec<attention::Scratch>,
    codes: Codes,
}

impl Layer {
    /// See [`Linear::round`].
    pub fn round(&mut self) {
        let Self {
            query,
            key,
            value,
            attention_output,
            intermediate,
            output,
            ..
        } = self;
        [query, key, value, attention_output, intermediate, output]
            .into_iter()
            .for_each(Linear::round);
    }

    /// Runs the layer in place, on `team` threads.
    ///
    /// # Shapes
    /// `scratch.hidden` `[rows, hidden]`, where `rows` is the sum of `lengths`
    pub fn forward(&self, isa: Isa, team: usize, lengths: &[usize], scratch: &mut Scratch) {
        let rows: usize = lengths.iter().sum();
        let width = self.attention_output.outputs();
        let Scratch {
            hidden,
            qkv,
            mixed,
            intermediate,
            heads,
            codes,
        } = scratch;
        let hidden = sized(hidden, rows * width);
        heads.resize_with(team.max(heads.len()), Default::default);

        let qkv = sized(qkv, rows * 3 * width);
        linear::forward(
            [&self.query, &self.key, &self.value],
            isa,
            team,
            hidden,
            qkv,
            None,
            codes,
        );
        let mixed = sized(mixed, rows * width);
        let (mut left, mut first) = (MatrixMut::new(mixed, rows, width), 0);
        for seq in lengths {
            let (mine, rest) = left.split_rows(*seq);
            left = rest;
            let qkv = Matrix::new(qkv, rows, 3 * width).part(first, *seq, 0, 3 * width);
            Heads {
                qkv,
                count: self.heads,
            }
            .forward(isa, &mut heads[..team], mine);
            first += seq;
        }

        // The queries, keys and values are no longer needed. Their buffer takes the outputs of the
        // linear layers.
        let given = &mut qkv[..rows * width];
        linear::forward(
            [&self.attention_output],
            isa,
            team,
            mixed,
            given,
            None,
            codes,
        );
        add(hidden, given);
        layer_norm(isa, self.attention_norm.view(), width, hidden);

        let intermediate = sized(intermediate, rows * self.intermediate.outputs());
        linear::forward(
            [&self.intermediate],
            isa,
            team,
            hidden,
            intermediate,
            Some(self.activation),
            codes,
        );
        linear::forward([&self.output], isa, team, intermediate, given, None, codes);
        add(hidden, given);
        layer_norm(isa, self.norm.view(), width, hidden);
    }
}
