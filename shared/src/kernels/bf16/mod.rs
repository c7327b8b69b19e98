//! Products of matrices in bfloat16 with sums in floats: C = A B, for training in mixed precision.
//!
//! Both sides are cut into tiles of sixteen rows (of A) or columns (of B) by 32 steps of the sum, rounded to nearest, zeros
//! beyond the edges; two neighbours of a sum share 32 bits, as the tile registers of AMX want them.

#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
mod amx;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod pack;

pub use pack::{pack_columns, pack_rows};

use super::gemm::Start;
use super::lanes::LANES;
use super::matrix::MatrixMut;

/// Pairs of neighbours in a row of a tile.
const PAIRS: usize = 16;
/// Steps of the sum in a tile.
const DEPTH: usize = 2 * PAIRS;
/// Sixteen rows of A by [`PAIRS`], or [`PAIRS`] by sixteen columns of B.
type Tile = [[u32; 16]; 16];
/// Numbers of 32 bits in a tile.
const TILE: usize = 256;
/// Columns of C that are computed at once, and with AMX rows: two tiles.
const BLOCK: usize = 32;
/// Tiles along the sum after which C is written: so much of both sides stays in the cache.
#[cfg(target_arch = "x86_64")]
const RUN: usize = 16;

/// How it is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Road {
    /// Plain loops, which the others are tested against.
    Plain,
    /// AVX-512 with its instruction for pairs of bfloat16 (AMD since Zen 4, Intel's Cooper Lake and Sapphire Rapids).
    Avx512,
    /// The tile registers of Intel's AMX.
    Amx,
}

impl Road {
    /// All roads, the fastest last.
    pub const ALL: [Road; 3] = [Road::Plain, Road::Avx512, Road::Amx];

    /// Whether this processor, and its operating system, have it.
    pub fn is_here(self) -> bool {
        match self {
            Road::Plain => true,
            #[cfg(target_arch = "x86_64")]
            Road::Avx512 => avx512::is_here(),
            #[cfg(not(target_arch = "x86_64"))]
            Road::Avx512 => false,
            #[cfg(all(target_arch = "x86_64", target_os = "linux"))]
            Road::Amx => amx::is_here(),
            #[cfg(not(all(target_arch = "x86_64", target_os = "linux")))]
            Road::Amx => false,
        }
    }

    /// The fastest one.
    pub fn best() -> Self {
        Self::ALL.into_iter().rfind(|road| road.is_here()).unwrap_or(Road::Plain)
    }
}

/// Numbers of 32 bits in a packed side of `count` rows or columns by `k`.
pub fn packed_len(count: usize, k: usize) -> usize {
    count.div_ceil(BLOCK) * 2 * k.div_ceil(DEPTH) * TILE
}

/// A packed side.
#[derive(Clone, Copy, Debug)]
pub struct Packed<'a> {
    /// `[count / 16, k / 32]` tiles, the first rounded up to whole blocks.
    pub tiles: &'a [u32],
    /// Rows of A or columns of B.
    pub count: usize,
    /// Steps of the sum.
    pub k: usize,
}

impl<'a> Packed<'a> {
    /// # Panics
    /// If `tiles` has another length than [`packed_len`] says.
    pub fn new(tiles: &'a [u32], count: usize, k: usize) -> Self {
        assert_eq!(tiles.len(), packed_len(count, k), "{count} x {k} packed");
        Self { tiles, count, k }
    }

    /// The rows or columns from `first` on, a multiple of [`STEP`].
    ///
    /// # Panics
    /// If they are not there.
    pub fn part(self, first: usize, count: usize) -> Self {
        assert!(first.is_multiple_of(BLOCK) && first + count <= self.count, "{count} from {first} of {}", self.count);
        let from = first / LANES * self.deep() * TILE;
        Self { tiles: &self.tiles[from..from + packed_len(count, self.k)], count, ..self }
    }

    /// Tiles along the sum.
    fn deep(self) -> usize {
        self.k.div_ceil(DEPTH)
    }

    /// `deep` tiles from `(at, step)` on.
    fn run(self, at: usize, step: usize, deep: usize) -> &'a [[u32; TILE]] {
        let (tiles, _) = self.tiles.as_chunks::<TILE>();
        &tiles[at * self.deep() + step..][..deep]
    }
}

/// The widths of parts that [`Packed::part`] can cut.
pub const STEP: usize = BLOCK;

/// C = A B + start.
///
/// # Shapes
/// a `[m, k]`, b `[k, n]`, out `[m, n]`
///
/// # Panics
/// If the sizes disagree.
pub fn gemm(road: Road, a: Packed<'_>, b: Packed<'_>, start: Start<'_>, mut out: MatrixMut<'_>) {
    assert!(out.rows() == a.count && out.cols() == b.count && a.k == b.k, "the sizes of A, B and C agree");
    if let Start::Bias(bias) = start {
        assert_eq!(bias.len(), b.count, "a bias for each column");
    }
    if a.k == 0 {
        (0..out.rows()).for_each(|row| begin(start, out.row(row)));
        return;
    }
    match road {
        #[cfg(all(target_arch = "x86_64", target_os = "linux"))]
        Road::Amx if road.is_here() => amx::gemm(a, b, start, out),
        #[cfg(target_arch = "x86_64")]
        Road::Avx512 if road.is_here() => avx512::gemm(a, b, start, out),
        _ => plain(a, b, start, out),
    }
}

/// What a row of C holds before the products are added.
fn begin(start: Start<'_>, row: &mut [f32]) {
    match start {
        Start::Zero => row.fill(0.0),
        Start::Bias(bias) => row.copy_from_slice(bias),
        Start::Sum => {}
    }
}

/// Adds a block's sums to what C begins with, from row `first` and column `left` on.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn write(sums: &[[f32; BLOCK]], start: Start<'_>, out: &mut MatrixMut<'_>, first: usize, left: usize) {
    let right = out.cols().min(left + BLOCK);
    let mut before = [0.0; BLOCK];
    if let Start::Bias(bias) = start {
        before[..right - left].copy_from_slice(&bias[left..right]);
    }
    for (row, sums) in (first..out.rows()).zip(sums) {
        let to = &mut out.row(row)[left..right];
        // A whole row is a few instructions, a part of one a loop.
        match <&mut [f32; BLOCK]>::try_from(&mut *to) {
            Ok(to) => add(sums, &before, start, to),
            Err(_) => add(sums, &before, start, to),
        }
    }
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn add(sums: &[f32; BLOCK], before: &[f32; BLOCK], start: Start<'_>, to: &mut [f32]) {
    match start {
        Start::Sum => to.iter_mut().zip(sums).for_each(|(to, sum)| *to += sum),
        _ => to.iter_mut().zip(sums).zip(before).for_each(|((to, sum), before)| *to = sum + before),
    }
}

fn plain(a: Packed<'_>, b: Packed<'_>, start: Start<'_>, mut out: MatrixMut<'_>) {
    let halves = |pair: u32| (f32::from_bits(pair << 16), f32::from_bits(pair & 0xffff_0000));
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
    use crate::kernels::matrix::Matrix;
    use crate::kernels::tested::here;
    use half::bf16;
    use proptest::prelude::*;

    fn product(road: Road, a: Matrix<'_>, b: Matrix<'_>, start: Start<'_>, out: &mut [f32]) {
        let mut rows = vec![u32::MAX; packed_len(a.rows, a.cols)];
        let mut cols = vec![u32::MAX; packed_len(b.cols, b.rows)];
        pack_rows(road, a, &mut rows);
        pack_columns(road, b, &mut cols);
        let (rows, cols) = (Packed::new(&rows, a.rows, a.cols), Packed::new(&cols, b.cols, b.rows));
        gemm(road, rows, cols, start, MatrixMut::new(out, a.rows, b.cols));
    }

    #[test]
    fn a_product_by_hand() {
        let (a, b) = ([1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]);
        for road in here("products of bfloat16", &Road::ALL, Road::is_here) {
            let (a, b) = (Matrix::new(&a, 2, 2), Matrix::new(&b, 2, 2));
            let mut out = [100.0; 4];
            product(road, a, b, Start::Zero, &mut out);
            assert_eq!(out, [19.0, 22.0, 43.0, 50.0]);
            product(road, a, b, Start::Sum, &mut out);
            assert_eq!(out, [38.0, 44.0, 86.0, 100.0]);
            product(road, a.transposed(), b.transposed(), Start::Bias(&[1.0, 2.0]), &mut out);
            assert_eq!(out, [24.0, 33.0, 35.0, 48.0]);
        }
    }

    #[test]
    fn nan_and_infinity_come_through_and_nothing_is_a_sum_of_nothing() {
        for road in here("products of bfloat16", &Road::ALL, Road::is_here) {
            for (value, expected) in [(f32::NAN, f32::NAN), (f32::INFINITY, f32::INFINITY), (1e-40, 0.0)] {
                let (mut a, b) = ([0.0; 40], [1.0; 40]);
                a[39] = value;
                let mut out = [0.0];
                product(road, Matrix::new(&a, 1, 40), Matrix::new(&b, 40, 1), Start::Zero, &mut out);
                let near = (out[0] - expected).abs() < 1e-38;
                assert!(near || out[0] == expected || (out[0].is_nan() && expected.is_nan()), "{road:?}: {}", out[0]);
            }
            let mut out = [9.0; 2];
            product(road, Matrix::new(&[], 2, 0), Matrix::new(&[], 0, 1), Start::Bias(&[3.0]), &mut out);
            assert_eq!(out, [3.0, 3.0]);
        }
    }

    #[test]
    fn parts_are_columns_of_the_whole() {
        let values: Vec<f32> = (0..80u8).map(f32::from).collect();
        let b = Matrix::new(&values, 1, 80);
        let mut cols = vec![0; packed_len(80, 1)];
        pack_columns(Road::best(), b, &mut cols);
        let mut rows = vec![0; packed_len(1, 1)];
        pack_rows(Road::best(), Matrix::new(&[2.0], 1, 1), &mut rows);
        let mut out = [0.0; 10];
        let part = Packed::new(&cols, 80, 1).part(64, 10);
        gemm(Road::best(), Packed::new(&rows, 1, 1), part, Start::Zero, MatrixMut::new(&mut out, 1, 10));
        let expected: Vec<f32> = (64..74u8).map(|value| 2.0 * f32::from(value)).collect();
        assert_eq!(out[..], expected);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]
        #[test]
        fn all_roads_give_the_sum_of_rounded_products(
            m in 1usize..70, k in 1usize..700, n in 1usize..70, across in any::<bool>(), packed_across in any::<bool>(),
            kind in 0usize..3, seed in any::<u32>(),
        ) {
            let mut state = seed;
            let mut values = |count: usize| -> Vec<f32> {
                (0..count).map(|_| {
                    state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                    (state >> 8) as f32 / 8_388_608.0 - 1.0
                }).collect()
            };
            let (a, b, bias, before) = (values(m * k), values(k * n), values(n), values(m * n));
            let a_view = if across { Matrix::new(&a, k, m).transposed() } else { Matrix::new(&a, m, k) };
            let b_view = if packed_across { Matrix::new(&b, n, k).transposed() } else { Matrix::new(&b, k, n) };
            let start = [Start::Zero, Start::Bias(&bias), Start::Sum][kind];
            let rounded = |values: &[f32]| f64::from(bf16::from_f32(values[0]).to_f32());
            for road in here("products of bfloat16", &Road::ALL, Road::is_here) {
                let mut out = before.clone();
                product(road, a_view, b_view, start, &mut out);
                for r in 0..m {
                    for c in 0..n {
                        let first = [0.0, f64::from(bias[c]), f64::from(before[r * n + c])][kind];
                        let products = (0..k).map(|i| {
                            rounded(a_view.part(r, 1, i, 1).data) * rounded(b_view.part(i, 1, c, 1).data)
                        });
                        let expected = products.sum::<f64>() + first;
                        prop_assert!((f64::from(out[r * n + c]) - expected).abs() < 1e-3, "{road:?} row {r} column {c}");
                    }
                }
            }
        }
    }
}
