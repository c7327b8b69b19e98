//! Self-attention of one sequence with dropout, and its gradient.

use super::drop_values;
use crate::cpu::attention::{Heads, sized};
use crate::layer::{LayerOptions, Site};
use pel_kernels::Isa;
use pel_kernels::gemm::{Start, gemm, pack, packed_len};
use pel_kernels::matrix::{Matrix, MatrixMut};
use pel_kernels::rows::softmax_backward;

/// Buffers of one thread.
#[derive(Debug, Default)]
pub struct Scratch {
    panels: Vec<f32>,
    probabilities: Vec<f32>,
    dropped: Vec<f32>,
    grads: Vec<f32>,
}

/// Applies dropout to the probabilities of a head, or to their gradients.
fn drop_probabilities(
    isa: Isa,
    options: &LayerOptions,
    row: usize,
    head: usize,
    probabilities: &mut [f32],
) {
    let part = row * options.heads + head;
    drop_values(
        isa,
        options,
        Site::AttentionProbabilities,
        part,
        probabilities,
    );
}

/// # Shapes
/// qkv `[seq, 3 hidden]` -> out `[seq, hidden]`; `row` is the sequence's first row in the batch
pub fn forward(
    isa: Isa,
    options: &LayerOptions,
    row: usize,
    qkv: Matrix<'_>,
    scratch: &mut Scratch,
    out: MatrixMut<'_>,
) {
    let (seq, heads) = (
        qkv.rows,
        Heads {
            qkv,
            count: options.heads,
        },
    );
    let mut out = out;
    for head in 0..options.heads {
        let probabilities = sized(&mut scratch.probabilities, seq * seq);
        heads.probabilities(isa, head, &mut scratch.panels, probabilities);
        drop_probabilities(isa, options, row, head, probabilities);
        let values = heads.part(2, head);
        let panels = sized(&mut scratch.panels, packed_len(seq, values.cols));
        pack(values, panels);
        let (mine, rest) = out.split_cols(values.cols);
        out = rest;
        gemm(
            isa,
            Matrix::new(probabilities, seq, seq),
            panels,
            Start::Zero,
            mine,
        );
    }
}

/// The gradient of queries, keys and values.
///
/// # Shapes
/// qkv `[seq, 3 hidden]`, grads of the output `[seq, hidden]` -> out `[seq, 3 hidden]`
pub fn backward(
    isa: Isa,
    options: &LayerOptions,
    row: usize,
    qkv: Matrix<'_>,
    grads: Matrix<'_>,
    scratch: &mut Scratch,
    out: MatrixMut<'_>,
) {
    let (seq, heads) = (
        qkv.rows,
        Heads {
            qkv,
            count: options.heads,
        },
    );
    let (mut queries, rest) = out.split_cols(grads.cols);
    let (mut keys, mut values) = rest.split_cols(grads.cols);
    let width = grads.cols / options.heads;
    for head in 0..options.heads {
        let Scratch {
            panels,
            probabilities,
            dropped,
            grads: probability_grads,
        } = &mut *scratch;
        let grad = grads.part(0, seq, head * width, width);
        let probabilities = sized(probabilities, seq * seq);
        heads.probabilities(isa, head, panels, probabilities);
        let dropped = sized(dropped, seq * seq);
        dropped.copy_from_slice(probabilities);
        drop_probabilities(isa, options, row, head, dropped);

        // dV = Pᵀ dO
        let (mine, rest) = values.split_cols(width);
        values = rest;
        product(
            isa,
            Matrix::new(dropped, seq, seq).transposed(),
            grad,
            panels,
            mine,
        );
        // dP = dO Vᵀ, through dropout and softmax
        let probability_grads = sized(probability_grads, seq * seq);
        let value = heads.part(2, head).transposed();
        product(
            isa,
            grad,
            value,
            panels,
            MatrixMut::new(probability_grads, seq, seq),
        );
        drop_probabilities(isa, options, row, head, probability_grads);
        softmax_backward(isa, heads.scale(), seq, probabilities, probability_grads);
        // dQ = dS K, dK = dSᵀ Q
        let (mine, rest) = queries.split_cols(width);
        queries = rest;
        product(
            isa,
            Matrix::new(probability_grads, seq, seq),
            heads.part(1, head),
            panels,
            mine,
        );
        let (mine, rest) = keys.split_cols(width);
        keys = rest;
        product(
            isa,
            Matrix::new(probability_grads, seq, seq).transposed(),
            heads.part(0, head),
            panels,
            mine,
        );
    }
}

fn product(isa: Isa, a: Matrix<'_>, b: Matrix<'_>, panels: &mut Vec<f32>, out: MatrixMut<'_>) {
    let panels = sized(panels, packed_len(b.rows, b.cols));
    pack(b, panels);
    gemm(isa, a, panels, Start::Zero, out);
}
