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
    let (m, _, n) = SHAPE;
    let mut bench = Bench {
        seconds,
        operands: Operands::new(),
        out: vec![0.0; m * n],
        rows: Vec::new(),
    };
    bench.products_of_floats()?;
    bench.products_in_bfloat16()?;
    bench.products_of_bytes()?;
    bench.activations()?;
    bench.norms()?;
    Ok(bench.rows)
}

/// The operands of the kernels.
struct Operands {
    a: Vec<f32>,
    b: Vec<f32>,
    bias: Vec<f32>,
}

impl Operands {
    fn new() -> Self {
        let (m, k, n) = SHAPE;
        let numbers = |count: usize| -> Vec<f32> {
            (0..count)
                .map(|at| (at * 7919 % 2000) as f32 / 1000.0 - 1.0)
                .collect()
        };
        Self {
            a: numbers(m * k),
            b: numbers(k * n),
            bias: numbers(n),
        }
    }
}

/// The measurements so far.
struct Bench {
    seconds: f64,
    operands: Operands,
    /// The result of the last kernel.
    out: Vec<f32>,
    rows: Vec<KernelRow>,
}

impl Bench {
    fn products_of_floats(&mut self) -> Result<()> {
        let (m, k, n) = SHAPE;
        let Self {
            seconds,
            operands: Operands { a, b, bias },
            out,
            rows,
        } = self;
        let mut panels = vec![0.0; gemm::packed_len(k, n)];
        gemm::pack(Matrix::new(b, n, k).transposed(), &mut panels);
        let kernel = "product of floats, 128 x 384 x 1536";
        measure(rows, kernel, Isa::LANES, *seconds, |isa| {
            gemm::gemm(
                isa,
                Matrix::new(a, m, k),
                &panels,
                Start::Bias(bias),
                MatrixMut::new(out, m, n),
            );
        })
    }

    fn products_in_bfloat16(&mut self) -> Result<()> {
        let (m, k, n) = SHAPE;
        let Self {
            seconds,
            operands: Operands { a, b, bias },
            out,
            rows,
        } = self;
        let mut columns = vec![0; bf16::packed_len(n, k)];
        let transposed = Matrix::new(b, n, k).transposed();
        bf16::pack_columns(bf16::best(), transposed, &mut columns);
        let columns = bf16::Packed::new(&columns, n, k);
        let mut packed = vec![0; bf16::packed_len(m, k)];
        let kernel = "the same in bfloat16, A rounded first";
        measure(rows, kernel, bf16::SETS, *seconds, |isa| {
            bf16::pack_rows(isa, Matrix::new(a, m, k), &mut packed);
            bf16::gemm(
                isa,
                bf16::Packed::new(&packed, m, k),
                columns,
                Start::Bias(bias),
                MatrixMut::new(out, m, n),
            );
        })
    }

    /// The products of bytes, and the quantising of A for them.
    fn products_of_bytes(&mut self) -> Result<()> {
        let (m, k, n) = SHAPE;
        let Self {
            seconds,
            operands: Operands { a, b, bias },
            out,
            rows,
        } = self;
        let (mut codes, mut scales) = (Vec::new(), Vec::new());
        b.chunks_exact(k)
            .for_each(|column| scales.push(int8::quantise_column(column, &mut codes)));
        let (packed, sums) = int8::pack(&codes, k);
        let mut quantised = Codes::default();
        quantised.fill(Isa::best(), a, k);
        let weights = int8::Weights {
            panels: &packed,
            scales: &scales,
            sums: &sums,
            bias,
        };
        let kernel = "product of bytes, 128 x 384 x 1536";
        measure(rows, kernel, int8::SETS, *seconds, |isa| {
            int8::gemm(isa, &quantised, weights, MatrixMut::new(out, m, n));
        })?;
        let kernel = "quantising 128 x 384";
        measure(rows, kernel, Isa::LANES, *seconds, |isa| {
            quantised.fill(isa, a, k);
        })
    }

    /// GELU of the last product, its gradient, and softmax.
    fn activations(&mut self) -> Result<()> {
        let m = SHAPE.0;
        let Self {
            seconds, out, rows, ..
        } = self;
        let start = out.clone();
        measure(rows, "GELU of 128 x 1536", Isa::LANES, *seconds, |isa| {
            out.copy_from_slice(&start);
            activate(isa, Activation::Gelu, out);
        })?;
        measure(rows, "gradient of GELU", Isa::LANES, *seconds, |isa| {
            out.copy_from_slice(&start);
            activate_backward(isa, Activation::Gelu, &start, out);
        })?;
        measure(rows, "softmax of 1536 x 128", Isa::LANES, *seconds, |isa| {
            out.copy_from_slice(&start);
            softmax(isa, 0.2, m, out);
        })
    }

    /// LayerNorm of A, and its gradient.
    fn norms(&mut self) -> Result<()> {
        let k = SHAPE.1;
        let Self {
            seconds,
            operands: Operands { a, bias, .. },
            rows,
            ..
        } = self;
        let norm = Norm {
            gamma: &bias[..k],
            beta: &bias[..k],
            epsilon: 1e-12,
        };
        let mut hidden = a.clone();
        let kernel = "LayerNorm of 128 x 384";
        measure(rows, kernel, Isa::LANES, *seconds, |isa| {
            hidden.copy_from_slice(a);
            layer_norm(isa, norm, k, &mut hidden);
        })?;
        let (mut gamma, mut beta) = (vec![0.0; k], vec![0.0; k]);
        let kernel = "gradient of LayerNorm";
        measure(rows, kernel, Isa::LANES, *seconds, |isa| {
            hidden.copy_from_slice(a);
            layer_norm_backward(isa, norm, a, &mut hidden, &mut gamma, &mut beta);
        })
    }
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
