//! Each kernel with each instruction set of this processor, compared with the plain loop.

use crate::bench::timed;
use pel_kb::error::Result;
use pel_kernels::gemm;
use pel_kernels::gemm::Start;
use pel_kernels::int8;
use pel_kernels::int8::Codes;
use pel_kernels::matrix::{Matrix, MatrixMut};
use pel_kernels::rows::{
    Activation, Norm, activate, activate_backward, layer_norm, layer_norm_backward, softmax,
};
use pel_kernels::{Isa, bf16};
use serde::Serialize;

/// Rows, columns of A and columns of B: a group of sequences in the widest layer of MiniLM.
const SHAPE: (usize, usize, usize) = (128, 384, 1536);

/// The time of one kernel.
#[derive(Serialize)]
pub(crate) struct KernelRow {
    pub kernel: &'static str,
    pub instructions: String,
    pub median_us: f64,
    /// The time of the plain loop, divided by this one.
    pub gain: f64,
}

/// Measures all kernels on one thread.
pub(crate) fn kernels(seconds: f64) -> Result<Vec<KernelRow>> {
    let (m, k, n) = SHAPE;
    let numbers = |count: usize| -> Vec<f32> {
        (0..count)
            .map(|at| (at * 7919 % 2000) as f32 / 1000.0 - 1.0)
            .collect()
    };
    let (a, b, bias) = (numbers(m * k), numbers(k * n), numbers(n));
    let mut out = vec![0.0; m * n];
    let mut rows = Vec::new();

    let mut panels = vec![0.0; gemm::packed_len(k, n)];
    gemm::pack(Matrix::new(&b, n, k).transposed(), &mut panels);
    measure(
        &mut rows,
        "product of floats, 128 x 384 x 1536",
        Isa::LANES,
        seconds,
        |isa| {
            let a = Matrix::new(&a, m, k);
            gemm::gemm(
                isa,
                a,
                &panels,
                Start::Bias(&bias),
                MatrixMut::new(&mut out, m, n),
            );
        },
    )?;

    let mut columns = vec![0; bf16::packed_len(n, k)];
    bf16::pack_columns(
        bf16::best(),
        Matrix::new(&b, n, k).transposed(),
        &mut columns,
    );
    let columns = bf16::Packed::new(&columns, n, k);
    let mut packed = vec![0; bf16::packed_len(m, k)];
    measure(
        &mut rows,
        "the same in bfloat16, A rounded first",
        bf16::SETS,
        seconds,
        |isa| {
            bf16::pack_rows(isa, Matrix::new(&a, m, k), &mut packed);
            let rows = bf16::Packed::new(&packed, m, k);
            bf16::gemm(
                isa,
                rows,
                columns,
                Start::Bias(&bias),
                MatrixMut::new(&mut out, m, n),
            );
        },
    )?;

    let (mut codes, mut scales) = (Vec::new(), Vec::new());
    b.chunks_exact(k)
        .for_each(|column| scales.push(int8::quantise_column(column, &mut codes)));
    let (packed, sums) = int8::pack(&codes, k);
    let mut quantised = Codes::default();
    quantised.fill(Isa::best(), &a, k);
    let weights = int8::Weights {
        panels: &packed,
        scales: &scales,
        sums: &sums,
        bias: &bias,
    };
    measure(
        &mut rows,
        "product of bytes, 128 x 384 x 1536",
        int8::SETS,
        seconds,
        |isa| {
            int8::gemm(isa, &quantised, weights, MatrixMut::new(&mut out, m, n));
        },
    )?;
    measure(
        &mut rows,
        "quantising 128 x 384",
        Isa::LANES,
        seconds,
        |isa| quantised.fill(isa, &a, k),
    )?;

    let start = out.clone();
    measure(
        &mut rows,
        "GELU of 128 x 1536",
        Isa::LANES,
        seconds,
        |isa| {
            out.copy_from_slice(&start);
            activate(isa, Activation::Gelu, &mut out);
        },
    )?;
    measure(&mut rows, "gradient of GELU", Isa::LANES, seconds, |isa| {
        out.copy_from_slice(&start);
        activate_backward(isa, Activation::Gelu, &start, &mut out);
    })?;
    measure(
        &mut rows,
        "softmax of 1536 x 128",
        Isa::LANES,
        seconds,
        |isa| {
            out.copy_from_slice(&start);
            softmax(isa, 0.2, m, &mut out);
        },
    )?;
    let norm = Norm {
        gamma: &bias[..k],
        beta: &bias[..k],
        epsilon: 1e-12,
    };
    let mut hidden = a.clone();
    measure(
        &mut rows,
        "LayerNorm of 128 x 384",
        Isa::LANES,
        seconds,
        |isa| {
            hidden.copy_from_slice(&a);
            layer_norm(isa, norm, k, &mut hidden);
        },
    )?;
    let (mut gamma, mut beta) = (vec![0.0; k], vec![0.0; k]);
    measure(
        &mut rows,
        "gradient of LayerNorm",
        Isa::LANES,
        seconds,
        |isa| {
            hidden.copy_from_slice(&a);
            layer_norm_backward(isa, norm, &a, &mut hidden, &mut gamma, &mut beta);
        },
    )?;
    Ok(rows)
}

/// Measures one kernel with each available instruction set, the plain one first.
fn measure(
    rows: &mut Vec<KernelRow>,
    kernel: &'static str,
    sets: &[Isa],
    seconds: f64,
    mut run: impl FnMut(Isa),
) -> Result<()> {
    let mut plain = None;
    for set in sets.iter().copied().filter(|set| set.is_supported()) {
        let (median_ms, _) = timed(seconds, || {
            run(set);
            Ok(())
        })?;
        let first = *plain.get_or_insert(median_ms);
        let instructions = format!("{set:?}").to_lowercase();
        rows.push(KernelRow {
            kernel,
            instructions,
            median_us: 1000.0 * median_ms,
            gain: first / median_ms,
        });
    }
    Ok(())
}
