//! Self-attention of one sequence: softmax(Q Kᵀ / √d) V for each head.

use pel_kernels::gemm::{Start, gemm, pack, packed_len};
use pel_kernels::matrix::{Matrix, MatrixMut};
use pel_kernels::rows::softmax;
use pel_kernels::{Isa, for_each};

/// Buffers of one thread.
#[derive(Debug, Default)]
pub struct Scratch {
    keys: Vec<f32>,
    values: Vec<f32>,
    probabilities: Vec<f32>,
}

/// The first `len` numbers of a buffer, which grows if necessary. Their values are unspecified.
pub fn sized(buffer: &mut Vec<f32>, len: usize) -> &mut [f32] {
    if buffer.len() < len {
        buffer.resize(len, 0.0);
    }
    &mut buffer[..len]
}

/// The heads' queries, keys and values in `[seq, 3 hidden]`.
#[derive(Clone, Copy, Debug)]
pub struct Heads<'a> {
    /// Queries, keys and values in one row.
    pub qkv: Matrix<'a>,
    /// Heads.
    pub count: usize,
}

impl<'a> Heads<'a> {
    fn width(&self) -> usize {
        self.qkv.cols / 3 / self.count
    }

    /// Queries (0), keys (1) or values (2) of a head: `[seq, head]`.
    pub fn part(&self, which: usize, head: usize) -> Matrix<'a> {
        let width = self.width();
        self.qkv
            .part(0, self.qkv.rows, (which * self.count + head) * width, width)
    }

    /// 1 / √d
    pub fn scale(&self) -> f32 {
        1.0 / (self.width() as f32).sqrt()
    }

    /// The attention probabilities of a head. Row i has the weights of all tokens for token i.
    ///
    /// # Shapes
    /// probabilities `[seq, seq]`
    pub fn probabilities(
        &self,
        isa: Isa,
        head: usize,
        keys: &mut Vec<f32>,
        probabilities: &mut [f32],
    ) {
        let seq = self.qkv.rows;
        let keys = sized(keys, packed_len(self.width(), seq));
        pack(self.part(1, head).transposed(), keys);
        gemm(
            isa,
            self.part(0, head),
            keys,
            Start::Zero,
            MatrixMut::new(probabilities, seq, seq),
        );
        softmax(isa, self.scale(), seq, probabilities);
    }

    /// Computes attention. The heads are distributed over as many threads as there are scratch
    /// buffers.
    ///
    /// # Shapes
    /// out `[seq, hidden]`
    pub fn forward(&self, isa: Isa, scratch: &mut [Scratch], out: MatrixMut<'_>) {
        let (seq, width) = (self.qkv.rows, self.width());
        let each = self.count.div_ceil(scratch.len());
        let (mut left, mut parts) = (out, Vec::with_capacity(scratch.len()));
        for (first, scratch) in (0..self.count).step_by(each).zip(scratch) {
            let count = each.min(self.count - first);
            let (mine, rest) = left.split_cols(count * width);
            left = rest;
            parts.push((first, scratch, mine));
        }
        for_each(parts, |(first, scratch, mut out)| {
            for head in first..first + out.cols() / width {
                let Scratch {
                    keys,
                    values,
                    probabilities,
                } = &mut *scratch;
                let probabilities = sized(probabilities, seq * seq);
                self.probabilities(isa, head, keys, probabilities);
                let values = sized(values, packed_len(seq, width));
                pack(self.part(2, head), values);
                let (mine, rest) = out.split_cols(width);
                out = rest;
                gemm(
                    isa,
                    Matrix::new(probabilities, seq, seq),
                    values,
                    Start::Zero,
                    mine,
                );
            }
        });
    }
}
