//! Products of matrices of floats: C = A B, plus a bias or the previous C.
//!
//! B is packed once into panels of sixteen columns, `[cols / 16, rows, 16]`, with zeros beyond the
//! last column. A is read in place. A tile of C stays in registers during the loop over a panel's
//! rows.

#[cfg(target_arch = "aarch64")]
mod neon;
mod peak;
mod tile;
#[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
mod wasm;
#[cfg(target_arch = "x86_64")]
mod x86;

use super::isa::{Isa, dispatch};
use super::lanes::{LANES, Lane};
use super::matrix::{Matrix, MatrixMut};
#[cfg(target_arch = "aarch64")]
use neon::Neon as Base;
use peak::chains;
#[cfg(not(any(
    target_arch = "x86_64",
    target_arch = "aarch64",
    all(target_arch = "wasm32", target_feature = "simd128")
)))]
use tile::Plain as Base;
use tile::multiply;
#[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
use wasm::Simd128 as Base;
#[cfg(target_arch = "x86_64")]
use x86::Sse2 as Base;

/// The initial value of C, to which the product is added.
#[derive(Clone, Copy, Debug)]
pub enum Start<'a> {
    /// Zero.
    Zero,
    /// One row for all rows of C.
    Bias(&'a [f32]),
    /// The previous C.
    Sum,
}

/// The length of a packed matrix of `rows` x `cols`.
pub fn packed_len(rows: usize, cols: usize) -> usize {
    cols.div_ceil(LANES) * LANES * rows
}

/// Packs B.
///
/// # Shapes
/// b `[k, n]` -> `[n / 16, k, 16]`
///
/// # Panics
/// If the length of `panels` is not that of [`packed_len`].
pub fn pack(b: Matrix<'_>, panels: &mut [f32]) {
    assert_eq!(panels.len(), packed_len(b.rows, b.cols));
    if b.rows == 0 {
        return;
    }
    for (at, panel) in panels.chunks_exact_mut(LANES * b.rows).enumerate() {
        let left = at * LANES;
        let width = LANES.min(b.cols - left);
        let (rows, _) = panel.as_chunks_mut::<LANES>();
        if b.col_stride == 1 {
            for (k, row) in rows.iter_mut().enumerate() {
                let from = k * b.row_stride + left;
                row[..width].copy_from_slice(&b.data[from..from + width]);
                row[width..].fill(0.0);
            }
        } else {
            // Columns are contiguous (a transposed matrix). Blocks of sixteen rows stay in the
            // cache.
            if width < LANES {
                rows.as_flattened_mut().fill(0.0);
            }
            for (block, rows) in rows.chunks_mut(LANES).enumerate() {
                for lane in 0..width {
                    let from = (left + lane) * b.col_stride + block * LANES * b.row_stride;
                    let column = b.data[from..].iter().step_by(b.row_stride);
                    for (row, value) in rows.iter_mut().zip(column) {
                        row[lane] = *value;
                    }
                }
            }
        }
    }
}

/// Undoes [`pack`].
///
/// # Panics
/// If the length of `panels` is not that of [`packed_len`].
pub fn unpack(panels: &[f32], mut b: MatrixMut<'_>) {
    assert_eq!(panels.len(), packed_len(b.rows(), b.cols()));
    let (lines, _) = panels.as_chunks::<LANES>();
    for k in 0..b.rows() {
        let rows = b.rows();
        for (at, part) in b.row(k).chunks_mut(LANES).enumerate() {
            part.copy_from_slice(&lines[at * rows + k][..part.len()]);
        }
    }
}

/// C = A B + start.
///
/// # Shapes
/// a `[m, k]` (its rows or its columns contiguous), panels of b `[k, n]`, out `[m, n]`
///
/// # Panics
/// If the sizes disagree, or neither rows nor columns of A are contiguous.
pub fn gemm(isa: Isa, a: Matrix<'_>, panels: &[f32], start: Start<'_>, out: MatrixMut<'_>) {
    let (m, k, n) = (a.rows, a.cols, out.cols());
    assert_eq!(out.rows(), m, "the product has as many rows as A");
    assert_eq!(panels.len(), packed_len(k, n), "B is {k} x {n}");
    assert!(
        a.col_stride == 1 || a.row_stride == 1 || m * k == 0,
        "A is read along its rows or its columns"
    );
    if let Start::Bias(bias) = start {
        assert_eq!(bias.len(), n, "expected one bias for each column");
    }
    dispatch!(
        isa,
        [Avx512: x86::Avx512, Avx2: x86::Avx2, Base: Base; tile::Plain],
        multiply(a: Matrix<'_>, panels: &[f32], start: Start<'_>, out: MatrixMut<'_>)
    );
}

/// Multiplies and adds from registers alone, as fast as the instructions of [`gemm`] allow, with as
/// many independent sums as a tile of a product. Each sum adds a product of ones in each round.
/// Returns the number of operations, two for a product and its sum, and the total of the sums: half
/// of the operations, up to 2²⁴ rounds.
pub fn multiply_add(isa: Isa, rounds: usize) -> (f64, f64) {
    dispatch!(
        isa,
        [Avx512: x86::Avx512, Avx2: x86::Avx2, Base: Base; tile::Plain],
        chains(rounds: usize) -> (f64, f64)
    )
}

/// The sets with a loop of their own.
pub const SETS: &[Isa] = &[Isa::Scalar, Isa::Base, Isa::Avx2, Isa::Avx512];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tested::supported_sets;
    use proptest::prelude::*;

    fn sets() -> Vec<Isa> {
        supported_sets("products of floats", SETS)
    }

    fn product(isa: Isa, a: Matrix<'_>, b: Matrix<'_>, start: Start<'_>, out: &mut [f32]) {
        let mut panels = vec![f32::NAN; packed_len(b.rows, b.cols)];
        pack(b, &mut panels);
        gemm(isa, a, &panels, start, MatrixMut::new(out, a.rows, b.cols));
    }

    #[test]
    fn product_matches_hand_computed_values() {
        let (a, b) = ([1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]);
        for isa in sets() {
            let mut out = [100.0; 4];
            product(
                isa,
                Matrix::new(&a, 2, 2),
                Matrix::new(&b, 2, 2),
                Start::Zero,
                &mut out,
            );
            assert_eq!(out, [19.0, 22.0, 43.0, 50.0]);
            product(
                isa,
                Matrix::new(&a, 2, 2),
                Matrix::new(&b, 2, 2),
                Start::Sum,
                &mut out,
            );
            assert_eq!(out, [38.0, 44.0, 86.0, 100.0]);
            product(
                isa,
                Matrix::new(&a, 2, 2).transposed(),
                Matrix::new(&b, 2, 2).transposed(),
                Start::Bias(&[1.0, 2.0]),
                &mut out,
            );
            assert_eq!(out, [24.0, 33.0, 35.0, 48.0]);
        }
    }

    #[test]
    fn unpack_inverts_pack() {
        let values: Vec<f32> = (0..60u8).map(f32::from).collect();
        let mut panels = vec![f32::NAN; packed_len(3, 20)];
        pack(Matrix::new(&values, 3, 20), &mut panels);
        let mut found = vec![0.0; 60];
        unpack(&panels, MatrixMut::new(&mut found, 3, 20));
        assert_eq!(found, values);
    }

    #[test]
    fn the_sums_count_the_operations_of_the_peak() {
        for isa in sets() {
            let (operations, total) = multiply_add(isa, 5);
            // Two operations add a product of ones to a sum, which therefore counts them.
            assert_eq!(operations, 2.0 * total, "{isa:?}");
            // Five rounds of sixteen lanes: one sum has 160 operations, eight rows of three 3,840.
            assert!((160.0..=3840.0).contains(&operations), "{isa:?}");
        }
    }

    /// A product does the same operations, and reads its factors too.
    #[test]
    fn no_product_is_faster_than_the_peak() {
        let (m, k, n) = (48, 256, 48);
        let (a, b) = (vec![1.0; m * k], vec![1.0; k * n]);
        let mut panels = vec![0.0; packed_len(k, n)];
        pack(Matrix::new(&b, k, n), &mut panels);
        // The plain loop is no product that is shipped, and its one sum waits for itself.
        for isa in sets().into_iter().filter(|isa| *isa != Isa::Scalar) {
            let mut out = vec![0.0; m * n];
            let mut product = || {
                let (a, out) = (Matrix::new(&a, m, k), MatrixMut::new(&mut out, m, n));
                gemm(isa, a, &panels, Start::Zero, out);
                (2 * m * k * n) as f64
            };
            let peak = || std::hint::black_box(multiply_add(isa, 4096)).0;
            // The best of alternating runs, because other work on the processor only slows.
            let (mut best, mut most) = (0.0f64, 0.0f64);
            for _ in 0..100 {
                best = best.max(rate(&mut product));
                most = most.max(rate(peak));
            }
            assert!(
                best <= 1.5 * most,
                "{isa:?}: {best:.3e} of {most:.3e} a second"
            );
            assert!(out.iter().all(|value| *value == k as f32), "{isa:?}");
        }
    }

    /// Operations a second.
    fn rate(mut work: impl FnMut() -> f64) -> f64 {
        let began = std::time::Instant::now();
        let operations = work();
        operations / began.elapsed().as_secs_f64()
    }

    #[test]
    fn nan_infinity_and_denormals_propagate() {
        for isa in sets() {
            for (value, expected) in [
                (f32::NAN, f32::NAN),
                (f32::INFINITY, f32::INFINITY),
                (1e-40, 1e-40),
            ] {
                let mut a = [0.0; 17];
                a[16] = value;
                let mut out = [0.0];
                product(
                    isa,
                    Matrix::new(&a, 1, 17),
                    Matrix::new(&[1.0; 17], 17, 1),
                    Start::Zero,
                    &mut out,
                );
                assert!(
                    out[0].total_cmp(&expected).is_eq() || (out[0].is_nan() && expected.is_nan()),
                    "{isa:?}: {}",
                    out[0]
                );
            }
        }
    }

    proptest! {
        #[test]
        fn every_set_equals_the_sum_of_products(
            m in 1usize..20,
            k in 1usize..40,
            n in 1usize..70,
            across in any::<bool>(),
            packed_across in any::<bool>(),
            kind in 0usize..3,
            seed in any::<u32>(),
        ) {
            let mut state = seed;
            let mut values = |count: usize| -> Vec<f32> {
                (0..count)
                    .map(|_| {
                        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                        (state >> 8) as f32 / 8_388_608.0 - 1.0
                    })
                    .collect()
            };
            let (a, b, bias, before) = (values(m * k), values(k * n), values(n), values(m * n));
            let a_view = if across {
                Matrix::new(&a, k, m).transposed()
            } else {
                Matrix::new(&a, m, k)
            };
            let b_view = if packed_across {
                Matrix::new(&b, n, k).transposed()
            } else {
                Matrix::new(&b, k, n)
            };
            let start = [Start::Zero, Start::Bias(&bias), Start::Sum][kind];
            for isa in sets() {
                let mut out = before.clone();
                product(isa, a_view, b_view, start, &mut out);
                for r in 0..m {
                    for c in 0..n {
                        let first = [0.0, f64::from(bias[c]), f64::from(before[r * n + c])][kind];
                        let products = (0..k).map(|i| {
                            let (x, y) = (
                                a_view.part(r, 1, i, 1).data[0],
                                b_view.part(i, 1, c, 1).data[0],
                            );
                            f64::from(x) * f64::from(y)
                        });
                        let expected = products.sum::<f64>() + first;
                        prop_assert!(
                            (f64::from(out[r * n + c]) - expected).abs() < 1e-5,
                            "{isa:?} row {r} column {c}"
                        );
                    }
                }
            }
        }
    }
}
