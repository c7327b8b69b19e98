//! The layout of both factors in tiles, and the writing of a block of C.

use crate::gemm::Start;
use crate::lanes::LANES;
#[cfg(target_arch = "x86_64")]
use crate::matrix::MatrixMut;

/// Pairs of neighbours in a row of a tile.
pub const PAIRS: usize = 16;
/// Steps of the sum in a tile.
pub const DEPTH: usize = 2 * PAIRS;
/// Numbers of 32 bits in a tile: sixteen rows of A by [`PAIRS`], or [`PAIRS`] by sixteen columns of
/// B.
pub const TILE: usize = 256;
/// Columns of C that are computed at once, and with AMX rows: two tiles.
pub const BLOCK: usize = 32;
/// Tiles along the sum after which C is written: so much of both sides stays in the cache.
#[cfg(target_arch = "x86_64")]
pub const RUN: usize = 16;

/// Two ones.
#[cfg(target_arch = "x86_64")]
pub const ONES: u32 = 0x3f80_3f80;

/// The total of sums.
#[cfg(target_arch = "x86_64")]
pub fn total(sums: &[f32]) -> f64 {
    sums.iter().map(|sum| f64::from(*sum)).sum()
}

/// One side, seen from the sum: `count` rows of A or columns of B, `k` steps.
#[derive(Clone, Copy)]
pub struct Side<'a> {
    pub data: &'a [f32],
    pub count: usize,
    pub k: usize,
    /// From one row of A (or column of B) to the next.
    pub stride: usize,
    /// From one step of the sum to the next.
    pub k_stride: usize,
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
    /// If the length of `tiles` is not that of [`packed_len`].
    pub fn new(tiles: &'a [u32], count: usize, k: usize) -> Self {
        assert_eq!(tiles.len(), packed_len(count, k), "{count} x {k} packed");
        Self { tiles, count, k }
    }

    /// The rows or columns from `first` on, a multiple of [`STEP`].
    ///
    /// # Panics
    /// If there are fewer.
    pub fn part(self, first: usize, count: usize) -> Self {
        assert!(
            first.is_multiple_of(BLOCK) && first + count <= self.count,
            "{count} from {first} of {}",
            self.count
        );
        let from = first / LANES * self.deep() * TILE;
        Self {
            tiles: &self.tiles[from..from + packed_len(count, self.k)],
            count,
            ..self
        }
    }

    /// Tiles along the sum.
    pub(super) fn deep(self) -> usize {
        self.k.div_ceil(DEPTH)
    }

    /// `deep` tiles from `(at, step)` on.
    pub(super) fn run(self, at: usize, step: usize, deep: usize) -> &'a [[u32; TILE]] {
        let (tiles, _) = self.tiles.as_chunks::<TILE>();
        &tiles[at * self.deep() + step..][..deep]
    }
}

/// The widths of parts that [`Packed::part`] can cut.
pub const STEP: usize = BLOCK;

/// Initialises a row of C before the products are added.
pub fn begin(start: Start<'_>, row: &mut [f32]) {
    match start {
        Start::Zero => row.fill(0.0),
        Start::Bias(bias) => row.copy_from_slice(bias),
        Start::Sum => {}
    }
}

/// Adds a block's sums to what C begins with, from row `first` and column `left` on.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub fn write(
    sums: &[[f32; BLOCK]],
    start: Start<'_>,
    out: &mut MatrixMut<'_>,
    first: usize,
    left: usize,
) {
    let right = out.cols().min(left + BLOCK);
    let mut before = [0.0; BLOCK];
    if let Start::Bias(bias) = start {
        before[..right - left].copy_from_slice(&bias[left..right]);
    }
    for (row, sums) in (first..out.rows()).zip(sums) {
        let to = &mut out.row(row)[left..right];
        // A whole row takes a few instructions, a part of one takes a loop.
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
        _ => to
            .iter_mut()
            .zip(sums)
            .zip(before)
            .for_each(|((to, sum), before)| *to = sum + before),
    }
}
