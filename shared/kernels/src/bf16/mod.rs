//! Products of matrices in bfloat16 with sums in floats: C = A B, for training in mixed precision.
//!
//! Both sides are cut into tiles of sixteen rows (of A) or columns (of B) by 32 steps of the sum,
//! rounded to nearest, zeros beyond the edges; two neighbours of a sum share 32 bits, as the tile
//! registers of AMX want them.

#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
mod amx;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod pack;
mod tiles;

pub use pack::{pack_columns, pack_rows};
pub use tiles::{Packed, STEP, packed_len};

use super::gemm::Start;
use super::isa::Isa;
use super::lanes::LANES;
use super::matrix::MatrixMut;
use tiles::{PAIRS, begin};

/// The sets with a loop of their own.
pub const SETS: &[Isa] = &[Isa::Scalar, Isa::Avx512Bf16, Isa::Amx];

/// The fastest of these sets that the processor and the operating system support.
pub fn best() -> Isa {
    Isa::best_of(SETS)
}

/// C = A B + start.
///
/// # Shapes
/// a `[m, k]`, b `[k, n]`, out `[m, n]`
///
/// # Panics
/// If the sizes disagree.
#[cfg_attr(not(target_arch = "x86_64"), allow(unused_variables))]
pub fn gemm(isa: Isa, a: Packed<'_>, b: Packed<'_>, start: Start<'_>, mut out: MatrixMut<'_>) {
    assert!(
        out.rows() == a.count && out.cols() == b.count && a.k == b.k,
        "the sizes of A, B and C agree"
    );
    if let Start::Bias(bias) = start {
        assert_eq!(bias.len(), b.count, "expected one bias for each column");
    }
    if a.k == 0 {
        (0..out.rows()).for_each(|row| begin(start, out.row(row)));
        return;
    }
    #[cfg(target_arch = "x86_64")]
    {
        let isa = isa.supported();
        #[cfg(target_os = "linux")]
        if isa.includes(Isa::Amx) {
            return amx::gemm(a, b, start, out);
        }
        if isa.includes(Isa::Avx512Bf16) {
            return avx512::gemm(a, b, start, out);
        }
    }
    plain(a, b, start, out);
}

/// Multiplies and adds from registers alone with the instructions of [`gemm`], `rounds` times for
/// each of several independent sums, products of ones. Returns the number of operations, two for a
/// product and its sum, and the total of the sums: half of the operations, as long as a sum is
/// below 2²⁴. `None` if the set has no such instructions.
#[cfg_attr(not(target_arch = "x86_64"), allow(unused_variables))]
pub fn multiply_add(isa: Isa, rounds: usize) -> Option<(f64, f64)> {
    #[cfg(target_arch = "x86_64")]
    {
        let isa = isa.supported();
        #[cfg(target_os = "linux")]
        if isa.includes(Isa::Amx) {
            return Some(amx::multiply_add(rounds));
        }
        if isa.includes(Isa::Avx512Bf16) {
            return Some(avx512::multiply_add(rounds));
        }
    }
    None
}

fn plain(a: Packed<'_>, b: Packed<'_>, start: Start<'_>, mut out: MatrixMut<'_>) {
    let halves = |pair: u32| {
        (
            f32::from_bits(pair << 16),
            f32::from_bits(pair & 0xffff_0000),
        )
    };
    for row in 0..a.count {
        begin(start, out.row(row));
        let lines = a.run(row / LANES, 0, a.deep());
        for (col, sum) in out.row(row).iter_mut().enumerate() {
            for (rows, cols) in lines.iter().zip(b.run(col / LANES, 0, b.deep())) {
                for pair in 0..PAIRS {
                    let (x, u) = halves(rows[row % LANES * PAIRS + pair]);
                    let (y, v) = halves(cols[pair * LANES + col % LANES]);
                    *sum += x * y + u * v;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matrix::Matrix;
    use crate::tested::supported_sets;
    use half::bf16;
    use proptest::prelude::*;

    fn product(isa: Isa, a: Matrix<'_>, b: Matrix<'_>, start: Start<'_>, out: &mut [f32]) {
        let mut rows = vec![u32::MAX; packed_len(a.rows, a.cols)];
        let mut cols = vec![u32::MAX; packed_len(b.cols, b.rows)];
        pack_rows(isa, a, &mut rows);
        pack_columns(isa, b, &mut cols);
        let (rows, cols) = (
            Packed::new(&rows, a.rows, a.cols),
            Packed::new(&cols, b.cols, b.rows),
        );
        gemm(isa, rows, cols, start, MatrixMut::new(out, a.rows, b.cols));
    }

    #[test]
    fn product_matches_hand_computed_values() {
        let (a, b) = ([1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]);
        for isa in supported_sets("products of bfloat16", SETS) {
            let (a, b) = (Matrix::new(&a, 2, 2), Matrix::new(&b, 2, 2));
            let mut out = [100.0; 4];
            product(isa, a, b, Start::Zero, &mut out);
            assert_eq!(out, [19.0, 22.0, 43.0, 50.0]);
            product(isa, a, b, Start::Sum, &mut out);
            assert_eq!(out, [38.0, 44.0, 86.0, 100.0]);
            product(
                isa,
                a.transposed(),
                b.transposed(),
                Start::Bias(&[1.0, 2.0]),
                &mut out,
            );
            assert_eq!(out, [24.0, 33.0, 35.0, 48.0]);
        }
    }

    #[test]
    fn the_sums_count_the_operations_of_the_peak() {
        assert_eq!(multiply_add(Isa::Scalar, 5), None);
        for isa in supported_sets("products of bfloat16", SETS) {
            if let Some((operations, total)) = multiply_add(isa, 5) {
                // Two operations add a product of ones to a sum, which therefore counts them.
                assert_eq!(operations, 2.0 * total, "{isa:?}");
                // Five rounds: AVX-512 has 16 sums of 16 pairs, AMX 32 x 32 sums of 32 products.
                let expected = if isa == Isa::Amx { 327_680.0 } else { 5_120.0 };
                assert_eq!(operations, expected, "{isa:?}");
            }
        }
    }

    #[test]
    fn nan_and_infinity_propagate_and_empty_sum_is_zero() {
        for isa in supported_sets("products of bfloat16", SETS) {
            for (value, expected) in [
                (f32::NAN, f32::NAN),
                (f32::INFINITY, f32::INFINITY),
                (1e-40, 0.0),
            ] {
                let (mut a, b) = ([0.0; 40], [1.0; 40]);
                a[39] = value;
                let mut out = [0.0];
                product(
                    isa,
                    Matrix::new(&a, 1, 40),
                    Matrix::new(&b, 40, 1),
                    Start::Zero,
                    &mut out,
                );
                let near = (out[0] - expected).abs() < 1e-38;
                assert!(
                    near || out[0] == expected || (out[0].is_nan() && expected.is_nan()),
                    "{isa:?}: {}",
                    out[0]
                );
            }
            let mut out = [9.0; 2];
            product(
                isa,
                Matrix::new(&[], 2, 0),
                Matrix::new(&[], 0, 1),
                Start::Bias(&[3.0]),
                &mut out,
            );
            assert_eq!(out, [3.0, 3.0]);
        }
    }

    #[test]
    fn part_equals_columns_of_the_matrix() {
        let values: Vec<f32> = (0..80u8).map(f32::from).collect();
        let b = Matrix::new(&values, 1, 80);
        let mut cols = vec![0; packed_len(80, 1)];
        pack_columns(best(), b, &mut cols);
        let mut rows = vec![0; packed_len(1, 1)];
        pack_rows(best(), Matrix::new(&[2.0], 1, 1), &mut rows);
        let mut out = [0.0; 10];
        let part = Packed::new(&cols, 80, 1).part(64, 10);
        gemm(
            best(),
            Packed::new(&rows, 1, 1),
            part,
            Start::Zero,
            MatrixMut::new(&mut out, 1, 10),
        );
        let expected: Vec<f32> = (64..74u8).map(|value| 2.0 * f32::from(value)).collect();
        assert_eq!(out[..], expected);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]
        #[test]
        fn all_sets_equal_the_sum_of_rounded_products(
            m in 1usize..70,
            k in 1usize..700,
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
            let rounded = |values: &[f32]| f64::from(bf16::from_f32(values[0]).to_f32());
            for isa in supported_sets("products of bfloat16", SETS) {
                let mut out = before.clone();
                product(isa, a_view, b_view, start, &mut out);
                for r in 0..m {
                    for c in 0..n {
                        let first = [0.0, f64::from(bias[c]), f64::from(before[r * n + c])][kind];
                        let products = (0..k).map(|i| {
                            rounded(a_view.part(r, 1, i, 1).data)
                                * rounded(b_view.part(i, 1, c, 1).data)
                        });
                        let expected = products.sum::<f64>() + first;
                        prop_assert!(
                            (f64::from(out[r * n + c]) - expected).abs() < 1e-3,
                            "{isa:?} row {r} column {c}"
                        );
                    }
                }
            }
        }
    }
}
