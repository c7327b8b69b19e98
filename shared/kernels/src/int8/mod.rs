//! Products of quantised matrices: activations of 7 bits, weights of 8, sums of 32.
//!
//! A row of activations x becomes codes q from 0 to 127 with x ≈ low + step × q; a column of
//! weights w becomes codes c from -127 to 127 with w ≈ scale × c. Then Σ x w ≈ scale × (step × Σ q
//! c + low × Σ c). With 7 bits, two products fit into the 16 bits in which AVX2, NEON and wasm add.
//! The sums are therefore the same on every processor.
//!
//! B is packed into panels of sixteen columns and groups of four rows, `[cols / 16, rows / 4, 16,
//! 4]`.

#[cfg(target_arch = "aarch64")]
mod neon;
mod tile;
#[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
mod wasm;
#[cfg(target_arch = "x86_64")]
mod x86;

use super::isa::{InstructionSet, Isa, dispatch, with_lanes};
use super::lanes::LANES;
use super::matrix::MatrixMut;
#[cfg(target_arch = "aarch64")]
use neon::Neon as Base;
#[cfg(not(any(
    target_arch = "aarch64",
    all(target_arch = "wasm32", target_feature = "simd128")
)))]
use tile::Plain as Base;
use tile::{multiply, sum_up};
#[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
use wasm::Simd128 as Base;

/// Rows of B that one step multiplies.
pub const GROUP: usize = 4;

/// A code of an activation. Wasm without relaxed SIMD multiplies numbers of 16 bits, so codes are
/// stored as such.
#[cfg(not(all(
    target_arch = "wasm32",
    target_feature = "simd128",
    not(target_feature = "relaxed-simd")
)))]
type Code = u8;
/// A code of an activation. Wasm without relaxed SIMD multiplies numbers of 16 bits, so codes are
/// stored as such.
#[cfg(all(
    target_arch = "wasm32",
    target_feature = "simd128",
    not(target_feature = "relaxed-simd")
))]
type Code = i16;

/// The highest code of an activation.
const LEVELS: f32 = 127.0;

/// The sets with a loop of their own.
#[cfg(target_arch = "x86_64")]
pub const SETS: &[Isa] = &[Isa::Scalar, Isa::Avx2, Isa::AvxVnni, Isa::Avx512Vnni];
/// The sets with a loop of their own.
#[cfg(not(target_arch = "x86_64"))]
pub const SETS: &[Isa] = &[Isa::Scalar, Isa::Base];

/// Quantised weights with the parameters of each column.
#[derive(Clone, Copy, Debug)]
pub struct Weights<'a> {
    /// `[cols / 16, rows / 4, 16, 4]`, zeros beyond the last row and column.
    pub panels: &'a [i8],
    /// The scale of each column: value = scale × code.
    pub scales: &'a [f32],
    /// The sum of each column's codes.
    pub sums: &'a [f32],
    /// The bias of each column.
    pub bias: &'a [f32],
}

/// Quantised activations.
#[derive(Clone, Debug, Default)]
pub struct Codes {
    codes: Vec<Code>,
    rows: Vec<Row>,
    groups: usize,
}

/// The quantisation of a row: value = low + step × code.
#[derive(Clone, Copy, Debug, Default)]
struct Row {
    low: f32,
    step: f32,
}

/// The length of a packed matrix of `rows` x `cols` in bytes.
pub fn packed_len(rows: usize, cols: usize) -> usize {
    cols.div_ceil(LANES) * LANES * rows.div_ceil(GROUP) * GROUP
}

/// Packs the codes of B, given column by column, and adds up those of each column.
///
/// # Shapes
/// columns `[n, k]` -> panels `[n / 16, k / 4, 16, 4]`, sums `[n]`
///
/// # Panics
/// If `rows` is zero.
pub fn pack(columns: &[i8], rows: usize) -> (Vec<i8>, Vec<f32>) {
    let (cols, groups) = (columns.len() / rows, rows.div_ceil(GROUP));
    let mut panels = vec![0; packed_len(rows, cols)];
    for (at, column) in columns.chunks_exact(rows).enumerate() {
        let panel = &mut panels[at / LANES * groups * GROUP * LANES..];
        for (group, codes) in column.chunks(GROUP).enumerate() {
            let to = (group * LANES + at % LANES) * GROUP;
            panel[to..to + codes.len()].copy_from_slice(codes);
        }
    }
    let sum = |column: &[i8]| column.iter().map(|code| i32::from(*code)).sum::<i32>() as f32;
    (panels, columns.chunks_exact(rows).map(sum).collect())
}

/// Quantises a column of weights and returns its scale: NaN if the column is not finite.
pub fn quantise_column(column: &[f32], codes: &mut Vec<i8>) -> f32 {
    let largest = column.iter().fold(0.0f32, |largest, value| {
        if value.is_nan() {
            f32::NAN
        } else {
            largest.max(value.abs())
        }
    });
    if !largest.is_finite() {
        codes.extend(std::iter::repeat_n(0, column.len()));
        return f32::NAN;
    }
    let inverse = if largest > 0.0 { 127.0 / largest } else { 0.0 };
    codes.extend(
        column
            .iter()
            .map(|value| (value * inverse).round_ties_even().clamp(-127.0, 127.0) as i8),
    );
    largest / 127.0
}

impl Codes {
    /// Quantises rows and reuses the buffers. A row with a value that is not finite becomes NaN.
    ///
    /// # Shapes
    /// rows `[n, width]`
    ///
    /// # Panics
    /// If `width` is zero or does not divide the values.
    pub fn fill(&mut self, isa: Isa, rows: &[f32], width: usize) {
        let count = rows.len() / width;
        assert_eq!(rows.len(), count * width);
        self.groups = width.div_ceil(GROUP);
        self.codes.resize(count * self.groups * GROUP, 0);
        self.rows.clear();
        let to = self;
        with_lanes!(isa, quantise(rows: &[f32], width: usize, to: &mut Codes));
    }

    /// Takes codes as they are, each raised by `by`: from 0 to 127 then. Reuses the buffers.
    ///
    /// # Shapes
    /// rows `[n, width]`
    ///
    /// # Panics
    /// If `width` is zero or does not divide the codes.
    pub fn fill_raised(&mut self, rows: &[i8], by: i8, width: usize) {
        let count = rows.len() / width;
        assert_eq!(rows.len(), count * width);
        self.groups = width.div_ceil(GROUP);
        let padded = self.groups * GROUP;
        self.codes.resize(count * padded, 0);
        self.rows.clear();
        self.rows.resize(count, Row::default());
        for (row, codes) in rows
            .chunks_exact(width)
            .zip(self.codes.chunks_exact_mut(padded))
        {
            for (code, value) in codes.iter_mut().zip(row) {
                *code = value.wrapping_add(by) as Code;
            }
            codes[width..].fill(0);
        }
    }

    fn row(&self, row: usize) -> &[[Code; GROUP]] {
        let width = self.groups * GROUP;
        self.codes[row * width..(row + 1) * width].as_chunks().0
    }
}

#[inline(always)]
fn quantise<I: InstructionSet>(rows: &[f32], width: usize, to: &mut Codes) {
    let padded = to.groups * GROUP;
    for (row, codes) in rows
        .chunks_exact(width)
        .zip(to.codes.chunks_exact_mut(padded))
    {
        let (low, high, finite) = range(row);
        let step = if finite {
            (high - low) / LEVELS
        } else {
            f32::NAN
        };
        // A row of equal values has step 0, and all its codes are 0.
        let inverse = if step > 0.0 { 1.0 / step } else { 0.0 };
        for (code, value) in codes.iter_mut().zip(row) {
            // Adding it rounds to a whole number in the lowest bits.
            const ROUND: f32 = 12_582_912.0;
            *code = (((*value - low) * inverse + ROUND).to_bits() & 0x7f) as Code;
        }
        codes[width..].fill(0);
        to.rows.push(Row {
            low: if finite { low } else { f32::NAN },
            step,
        });
    }
}

/// Lowest and highest value of a row, and whether all are finite.
#[inline(always)]
fn range(row: &[f32]) -> (f32, f32, bool) {
    let (mut low, mut high, mut spoilt) = ([row[0]; LANES], [row[0]; LANES], [0.0; LANES]);
    let (whole, rest) = row.as_chunks::<LANES>();
    for lane in whole {
        for at in 0..LANES {
            low[at] = if lane[at] < low[at] {
                lane[at]
            } else {
                low[at]
            };
            high[at] = if lane[at] > high[at] {
                lane[at]
            } else {
                high[at]
            };
            // Zero, but NaN for NaN and infinities.
            spoilt[at] += lane[at] * 0.0;
        }
    }
    for (at, value) in rest.iter().enumerate() {
        low[at] = if *value < low[at] { *value } else { low[at] };
        high[at] = if *value > high[at] { *value } else { high[at] };
        spoilt[at] += value * 0.0;
    }
    let (mut lowest, mut highest, mut finite) = (row[0], row[0], true);
    for at in 0..LANES {
        lowest = if low[at] < lowest { low[at] } else { lowest };
        highest = if high[at] > highest {
            high[at]
        } else {
            highest
        };
        finite &= spoilt[at] == 0.0;
    }
    (lowest, highest, finite && (highest - lowest).is_finite())
}

/// C = A B + bias, as floats.
///
/// # Shapes
/// a `[m, k]`, weights `[k, n]`, out `[m, n]`
///
/// # Panics
/// If the sizes disagree.
pub fn gemm(isa: Isa, a: &Codes, weights: Weights<'_>, out: MatrixMut<'_>) {
    let (m, n) = (a.rows.len(), weights.bias.len());
    assert!(
        out.rows() == m && out.cols() == n,
        "the product is {m} x {n}"
    );
    assert!(
        weights.scales.len() == n && weights.sums.len() == n,
        "expected one scale and one sum for each column"
    );
    assert_eq!(
        weights.panels.len(),
        packed_len(a.groups * GROUP, n),
        "B has {n} columns"
    );
    dispatch!(
        isa,
        [
            Avx512Vnni: x86::Avx512Vnni, AvxVnni: x86::AvxVnni, Avx2: x86::Avx2, Base: Base;
            tile::Plain
        ],
        multiply(a: &Codes, weights: Weights<'_>, out: MatrixMut<'_>)
    );
}

/// The sums of products of codes alone, exact.
///
/// # Shapes
/// a `[m, k]`, panels as of [`pack`] for `lanes` columns, a multiple of 16 -> out `[m, lanes]`
///
/// # Panics
/// If the sizes disagree.
pub fn sums(isa: Isa, a: &Codes, panels: &[i8], out: &mut [i32]) {
    dispatch!(
        isa,
        [
            Avx512Vnni: x86::Avx512Vnni, AvxVnni: x86::AvxVnni, Avx2: x86::Avx2, Base: Base;
            tile::Plain
        ],
        sum_up(a: &Codes, panels: &[i8], out: &mut [i32])
    );
}

/// A B + bias, with both factors quantised first: tests compare it on each processor and in each
/// wasm engine.
///
/// # Shapes
/// a `[m, k]`, columns `[n, k]`, bias `[n]` -> `[m, n]`
///
/// # Panics
/// If the sizes disagree or `k` is zero.
pub fn product(isa: Isa, a: &[f32], columns: &[f32], bias: &[f32], k: usize) -> Vec<f32> {
    let (mut codes, mut scales) = (Vec::new(), Vec::new());
    columns
        .chunks_exact(k)
        .for_each(|column| scales.push(quantise_column(column, &mut codes)));
    let (panels, sums) = pack(&codes, k);
    let mut rows = Codes::default();
    rows.fill(Isa::Base, a, k);
    let mut out = vec![f32::NAN; a.len() / k * bias.len()];
    let weights = Weights {
        panels: &panels,
        scales: &scales,
        sums: &sums,
        bias,
    };
    gemm(
        isa,
        &rows,
        weights,
        MatrixMut::new(&mut out, a.len() / k, bias.len()),
    );
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tested::supported_sets;
    use proptest::prelude::*;

    #[test]
    fn product_matches_hand_computed_values() {
        // The row (0, 127) has the codes 0 and 127 and the step 1; the column (-1, 1) the codes
        // -127 and 127.
        for isa in supported_sets("products of bytes", SETS) {
            let out = product(isa, &[0.0, 127.0], &[-1.0, 1.0], &[0.5], 2);
            assert!((out[0] - 127.5).abs() < 1e-4, "{isa:?}: {out:?}");
        }
    }

    #[test]
    fn extremes_do_not_overflow() {
        for isa in supported_sets("products of bytes", SETS) {
            let mut a = vec![1.0; 4096];
            a[0] = 0.0;
            for sign in [1.0, -1.0] {
                let out = product(isa, &a, &[sign; 4096], &[0.0], 4096);
                assert!((out[0] - sign * 4095.0).abs() < 0.1, "{isa:?}: {out:?}");
            }
        }
    }

    #[test]
    fn non_finite_rows_become_nan_and_denormals_are_accepted() {
        for isa in supported_sets("products of bytes", SETS) {
            for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
                for at in [0, 20, 36] {
                    let mut a = vec![1.0; 74];
                    a[at] = bad;
                    let out = product(isa, &a, &[1.0; 37], &[0.0], 37);
                    assert!(
                        out[0].is_nan() && (out[1] - 37.0).abs() < 1e-3,
                        "{isa:?}: {out:?}"
                    );
                }
            }
            let out = product(isa, &[1e-42, 2e-42], &[1.0, 1.0], &[1.0], 2);
            assert_eq!(out, [1.0]);
        }
    }

    proptest! {
        #[test]
        fn every_set_has_the_same_sums(
            m in 1usize..20,
            k in 1usize..70,
            n in 1usize..70,
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
            let (a, b, bias) = (values(m * k), values(k * n), values(n));
            let plain = product(Isa::Scalar, &a, &b, &bias, k);
            for isa in supported_sets("products of bytes", SETS) {
                let out = product(isa, &a, &b, &bias, k);
                for (one, other) in out.iter().zip(&plain) {
                    prop_assert!(
                        (one - other).abs() <= 1e-5 * k as f32,
                        "{isa:?}: {one} {other}"
                    );
                }
            }
            // Half a step of each factor, times the other's largest value.
            for r in 0..m {
                for c in 0..n {
                    let exact: f32 =
                        (0..k).map(|i| a[r * k + i] * b[c * k + i]).sum::<f32>() + bias[c];
                    prop_assert!(
                        (plain[r * n + c] - exact).abs() <= k as f32 * (1.01 / 127.0 + 0.6 / 127.0)
                    );
                }
            }
        }
    }
}
