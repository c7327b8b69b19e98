//! The products of a layer's linear parts, in floats or in mixed precision.

use super::Buffer;
use crate::layer::Precision;
use pel_kernels::gemm;
use pel_kernels::gemm::Start;
use pel_kernels::matrix::{Matrix, MatrixMut};
use pel_kernels::{Isa, LANES, bf16, for_each, threads};

/// Rows of a block of a weight gradient: they stay in the cache.
const BLOCK: usize = 256;

/// A packed weight.
#[derive(Clone, Debug)]
pub struct Panels {
    inputs: usize,
    outputs: usize,
    values: Buffer,
}

/// Packs weights on all threads.
pub fn pack_all<const N: usize>(precision: Precision, weights: [Matrix<'_>; N]) -> [Panels; N] {
    let len = |Matrix { rows, cols, .. }: Matrix<'_>| match precision {
        Precision::Bf16 => bf16::packed_len(cols, rows),
        _ => gemm::packed_len(rows, cols),
    };
    let mut panels = weights.map(|weight| Panels {
        inputs: weight.rows,
        outputs: weight.cols,
        values: Buffer::new(len(weight)),
    });
    for_each(
        weights.into_iter().zip(&mut panels).collect(),
        |(weight, panels)| match precision {
            Precision::Bf16 => bf16::pack_columns(bf16::best(), weight, words(&mut panels.values)),
            _ => gemm::pack(weight, &mut panels.values),
        },
    );
    panels
}

/// The same bits as unsigned integers.
fn words(values: &mut [f32]) -> &mut [u32] {
    bytemuck::cast_slice_mut(values)
}

/// The input of linear layers.
#[derive(Debug)]
pub struct Input<'a> {
    x: Matrix<'a>,
    packed: Option<Buffer>,
}

impl<'a> Input<'a> {
    /// # Shapes
    /// x `[rows, in]`
    pub fn new(precision: Precision, x: Matrix<'a>) -> Self {
        let packed = (precision == Precision::Bf16).then(|| {
            let mut rows = Buffer::new(bf16::packed_len(x.rows, x.cols));
            bf16::pack_rows(bf16::best(), x, words(&mut rows));
            rows
        });
        Self { x, packed }
    }

    /// `[rows, in]`
    pub fn x(&self) -> Matrix<'a> {
        self.x
    }
}

impl Panels {
    /// out = x W + start
    ///
    /// # Shapes
    /// W `[in, out]`, out `[rows, out]`
    pub fn multiply(&self, input: &Input<'_>, start: Start<'_>, out: MatrixMut<'_>) {
        self.multiply_columns(input, 0, start, out);
    }

    /// As [`Panels::multiply`], for the columns of W from `first` on, as many as `out` has.
    ///
    /// # Panics
    /// If `first` is not a multiple of [`bf16::STEP`].
    pub fn multiply_columns(
        &self,
        input: &Input<'_>,
        first: usize,
        start: Start<'_>,
        out: MatrixMut<'_>,
    ) {
        match &input.packed {
            None => {
                let panels = &self.values[first * self.inputs..]
                    [..gemm::packed_len(self.inputs, out.cols())];
                gemm::gemm(Isa::best(), input.x, panels, start, out);
            }
            Some(rows) => {
                let rows =
                    bf16::Packed::new(bytemuck::cast_slice(rows), input.x.rows, input.x.cols);
                let columns = bf16::Packed::new(
                    bytemuck::cast_slice(&self.values),
                    self.outputs,
                    self.inputs,
                );
                bf16::gemm(
                    bf16::best(),
                    rows,
                    columns.part(first, out.cols()),
                    start,
                    out,
                );
            }
        }
    }
}

/// An input of a linear layer and the gradient of its output.
pub type Pair<'a> = (Matrix<'a>, Matrix<'a>);

/// The gradients of weights, dW = Xᵀ dY. Their columns are distributed over the threads.
///
/// # Shapes
/// x `[rows, in]`, y `[rows, out]` -> `[in, out]`
pub fn weight_gradients<const N: usize>(
    precision: Precision,
    pairs: [Pair<'_>; N],
) -> [Vec<f32>; N] {
    match precision {
        Precision::Bf16 => in_bf16(pairs),
        _ => in_floats(pairs),
    }
}

/// Columns of one thread, a multiple of the step.
fn share(columns: usize, step: usize) -> usize {
    columns.div_ceil(step).div_ceil(threads()) * step
}

fn in_floats<const N: usize>(pairs: [Pair<'_>; N]) -> [Vec<f32>; N] {
    let mut weights = pairs.map(|(x, grad)| vec![0.0; x.cols * grad.cols]);
    let mut parts = Vec::new();
    for ((x, grad), weight) in pairs.into_iter().zip(&mut weights) {
        let width = share(grad.cols, LANES);
        let mut left = MatrixMut::new(weight, x.cols, grad.cols);
        for first in (0..grad.cols).step_by(width) {
            let (mine, rest) = left.split_cols(width.min(grad.cols - first));
            left = rest;
            parts.push((x, grad.part(0, grad.rows, first, mine.cols()), mine));
        }
    }
    for_each(parts, |(x, grad, mut out)| {
        for first in (0..x.rows).step_by(BLOCK) {
            let count = BLOCK.min(x.rows - first);
            let mut panels = Buffer::new(gemm::packed_len(count, grad.cols));
            gemm::pack(grad.part(first, count, 0, grad.cols), &mut panels);
            let start = if first == 0 { Start::Zero } else { Start::Sum };
            let x = x.part(first, count, 0, x.cols).transposed();
            gemm::gemm(Isa::best(), x, &panels, start, out.borrow());
        }
    });
    weights
}

fn in_bf16<const N: usize>(pairs: [Pair<'_>; N]) -> [Vec<f32>; N] {
    let isa = bf16::best();
    let buffer = |side: Matrix<'_>| Buffer::new(bf16::packed_len(side.cols, side.rows));
    let mut packed = pairs.map(|(x, grad)| [buffer(x), buffer(grad)]);
    let sides = pairs
        .into_iter()
        .zip(&mut packed)
        .flat_map(|((x, grad), [rows, columns])| {
            [(true, x, &mut rows[..]), (false, grad, &mut columns[..])]
        });
    for_each(sides.collect(), |(rows, side, values)| match rows {
        true => bf16::pack_rows(isa, side.transposed(), words(values)),
        false => bf16::pack_columns(isa, side, words(values)),
    });
    let mut weights = pairs.map(|(x, grad)| vec![0.0; x.cols * grad.cols]);
    let mut parts = Vec::new();
    for (((x, grad), weight), [rows, columns]) in pairs.into_iter().zip(&mut weights).zip(&packed) {
        let rows = bf16::Packed::new(bytemuck::cast_slice(rows), x.cols, x.rows);
        let columns = bf16::Packed::new(bytemuck::cast_slice(columns), grad.cols, grad.rows);
        let width = share(grad.cols, bf16::STEP);
        let mut left = MatrixMut::new(weight, x.cols, grad.cols);
        for first in (0..grad.cols).step_by(width) {
            let (mine, rest) = left.split_cols(width.min(grad.cols - first));
            left = rest;
            parts.push((rows, columns.part(first, mine.cols()), mine));
        }
    }
    for_each(parts, |(rows, columns, out)| {
        bf16::gemm(isa, rows, columns, Start::Zero, out)
    });
    weights
}
