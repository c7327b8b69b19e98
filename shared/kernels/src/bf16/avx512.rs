//! AVX-512 BF16: an instruction that multiplies sixteen pairs of bfloat16 and adds both products to
//! sixteen floats, and the rounding and packing that AMX wants too.
//!
//! `unsafe` because the processor must have the instructions, and for loads by pointer.
#![allow(unsafe_code)]

use super::tiles::{BLOCK, DEPTH, ONES, PAIRS, Packed, RUN, Side, TILE, total, write};
use crate::Isa;
use crate::gemm::Start;
use crate::lanes::LANES;
use crate::matrix::MatrixMut;
use std::arch::x86_64::*;

/// Rows of C that are computed at once, beside [`BLOCK`] columns: half of the registers hold their
/// sums.
const ROWS: usize = 8;

/// See [`super::gemm`].
pub fn gemm(a: Packed<'_>, b: Packed<'_>, start: Start<'_>, out: MatrixMut<'_>) {
    assert!(Isa::Avx512Bf16.is_supported());
    // SAFETY: the processor has the instructions.
    unsafe { compiled(a, b, start, out) }
}

#[target_feature(enable = "avx512f,avx512bf16")]
fn compiled(a: Packed<'_>, b: Packed<'_>, start: Start<'_>, mut out: MatrixMut<'_>) {
    let mut sums = [[0.0; BLOCK]; ROWS];
    for step in (0..a.deep()).step_by(RUN) {
        let deep = RUN.min(a.deep() - step);
        let start = if step == 0 { start } else { Start::Sum };
        for col in (0..b.count).step_by(BLOCK) {
            let right = [0, 1].map(|tile| b.run(col / LANES + tile, step, deep));
            for row in (0..a.count).step_by(ROWS) {
                block(
                    a.run(row / LANES, step, deep),
                    row % LANES,
                    right,
                    &mut sums,
                );
                write(&sums, start, &mut out, row, col);
            }
        }
    }
}

/// The products of [`ROWS`] rows, of each tile those from `first` on, and two tiles of columns,
/// summed over all tiles.
#[target_feature(enable = "avx512f,avx512bf16")]
#[inline]
fn block(
    left: &[[u32; TILE]],
    first: usize,
    right: [&[[u32; TILE]]; 2],
    sums: &mut [[f32; BLOCK]; ROWS],
) {
    let mut lanes = [[_mm512_setzero_ps(); 2]; ROWS];
    for ((rows, one), other) in left.iter().zip(right[0]).zip(right[1]) {
        let (rows, _) = rows.as_chunks::<PAIRS>();
        let Some(rows) = rows
            .get(first..)
            .and_then(|rows| rows.first_chunk::<ROWS>())
        else {
            return;
        };
        let (one, other) = (one.as_chunks::<LANES>().0, other.as_chunks::<LANES>().0);
        for pair in 0..PAIRS {
            let columns = [one[pair], other[pair]].map(|columns| halves(load(&columns)));
            for (row, lanes) in rows.iter().zip(&mut lanes) {
                let value = halves(_mm512_set1_epi32(row[pair].cast_signed()));
                for (sum, columns) in lanes.iter_mut().zip(columns) {
                    *sum = _mm512_dpbf16_ps(*sum, value, columns);
                }
            }
        }
    }
    for (lanes, sums) in lanes.iter().zip(sums) {
        let (sums, _) = sums.as_chunks_mut::<LANES>();
        for (lane, to) in lanes.iter().zip(sums) {
            // SAFETY: sixteen floats are one store, an unaligned one.
            unsafe { _mm512_storeu_ps(to.as_mut_ptr(), *lane) };
        }
    }
}

#[target_feature(enable = "avx512f")]
#[inline]
fn load(numbers: &[u32; LANES]) -> __m512i {
    // SAFETY: sixteen numbers are one load, an unaligned one.
    unsafe { _mm512_loadu_si512(numbers.as_ptr().cast()) }
}

#[inline(always)]
fn halves(bits: __m512i) -> __m512bh {
    // SAFETY: both are 64 bytes.
    unsafe { std::mem::transmute::<__m512i, __m512bh>(bits) }
}

/// Sums of [`multiply_add`], more than the processor's latency times its throughput.
const SUMS: usize = 16;

/// See [`super::multiply_add`].
pub fn multiply_add(rounds: usize) -> (f64, f64) {
    assert!(Isa::Avx512Bf16.is_supported());
    // SAFETY: the processor has the instructions.
    unsafe { chains(rounds) }
}

#[target_feature(enable = "avx512f,avx512bf16")]
// A loop over sums by number is unrolled into registers.
#[allow(clippy::needless_range_loop)]
fn chains(rounds: usize) -> (f64, f64) {
    let ones = halves(load(&std::hint::black_box([ONES; LANES])));
    let mut sums = [_mm512_setzero_ps(); SUMS];
    for _ in 0..rounds {
        for at in 0..SUMS {
            sums[at] = _mm512_dpbf16_ps(sums[at], ones, ones);
        }
    }
    let mut values = [[0.0f32; LANES]; SUMS];
    for at in 0..SUMS {
        // SAFETY: sixteen floats are one store, an unaligned one.
        unsafe { _mm512_storeu_ps(values[at].as_mut_ptr(), sums[at]) };
    }
    // Each lane adds two products.
    let operations = (4 * LANES * SUMS * rounds) as f64;
    (operations, total(values.as_flattened()))
}

/// Packs a tile whose numbers lie side by side one way or the other, if the tile is whole that way;
/// see [`super::pack_rows`].
pub fn pack(
    side: Side<'_>,
    first: usize,
    step: usize,
    pairs_first: bool,
    tile: &mut [u32; TILE],
) -> bool {
    let along = side.k_stride == 1 && step + DEPTH <= side.k;
    let across = side.stride == 1 && first + LANES <= side.count;
    if !Isa::Avx512Bf16.is_supported() || !(along || across) {
        return false;
    }
    // SAFETY: the processor has the instructions.
    unsafe { whole(side, first, step, along, along == pairs_first, tile) };
    true
}

#[target_feature(enable = "avx512f,avx512bw,avx512bf16")]
fn whole(
    side: Side<'_>,
    first: usize,
    step: usize,
    along: bool,
    turned: bool,
    tile: &mut [u32; TILE],
) {
    let from = &side.data[first * side.stride + step * side.k_stride..];
    let read = |values: &[f32]| {
        let (sixteen, _) = values.as_chunks::<LANES>();
        // SAFETY: sixteen floats are one load, an unaligned one.
        unsafe { _mm512_loadu_ps(sixteen[0].as_ptr()) }
    };
    // Lines beyond the edge stay zero.
    let mut lines = [_mm512_setzero_si512(); 16];
    if along {
        for (at, line) in lines.iter_mut().enumerate().take(side.count - first) {
            let row = &from[at * side.stride..][..DEPTH];
            *line = bits(_mm512_cvtne2ps_pbh(read(&row[LANES..]), read(row)));
        }
    } else {
        let left = side.k - step;
        for (at, line) in lines.iter_mut().enumerate().take(left.div_ceil(2)) {
            let pair = &from[2 * at * side.k_stride..];
            *line = _mm512_cvtepu16_epi32(narrow(_mm512_cvtneps_pbh(read(pair))));
            if 2 * at + 1 < left {
                let second = narrow(_mm512_cvtneps_pbh(read(&pair[side.k_stride..])));
                *line = _mm512_or_si512(
                    *line,
                    _mm512_slli_epi32::<16>(_mm512_cvtepu16_epi32(second)),
                );
            }
        }
    }
    if turned {
        lines = transposed(lines);
    }
    let (rows, _) = tile.as_chunks_mut::<LANES>();
    for (row, line) in rows.iter_mut().zip(lines) {
        // SAFETY: sixteen numbers are one store, an unaligned one.
        unsafe { _mm512_storeu_si512(row.as_mut_ptr().cast(), line) };
    }
}

#[inline(always)]
fn bits(values: __m512bh) -> __m512i {
    // SAFETY: both are 64 bytes.
    unsafe { std::mem::transmute::<__m512bh, __m512i>(values) }
}

#[inline(always)]
fn narrow(values: __m256bh) -> __m256i {
    // SAFETY: both are 32 bytes.
    unsafe { std::mem::transmute::<__m256bh, __m256i>(values) }
}

/// Which lanes of two lines, the second's counted from 16 on, go into the first and the second line
/// of a round in [`transposed`].
const ROUNDS: [[[i32; 16]; 2]; 4] = {
    let mut rounds = [[[0; 16]; 2]; 4];
    let mut round = 0;
    while round < 4 {
        let width = 1 << round;
        let mut lane = 0;
        while lane < 16 {
            let stays = lane & width == 0;
            rounds[round][0][lane as usize] = if stays { lane } else { 16 + lane - width };
            rounds[round][1][lane as usize] = if stays { lane + width } else { 16 + lane };
            lane += 1;
        }
        round += 1;
    }
    rounds
};

/// Rows become columns: in each of four rounds, lines change places with those 1, 2, 4 and 8 below
/// them, half by half.
#[target_feature(enable = "avx512f")]
#[inline]
fn transposed(mut lines: [__m512i; 16]) -> [__m512i; 16] {
    for (round, [upper, lower]) in ROUNDS.iter().enumerate() {
        // SAFETY: sixteen numbers are one load, an unaligned one.
        let (upper, lower) = unsafe {
            (
                _mm512_loadu_si512(upper.as_ptr().cast()),
                _mm512_loadu_si512(lower.as_ptr().cast()),
            )
        };
        let width = 1 << round;
        for pair in 0..8 {
            let at = pair / width * 2 * width + pair % width;
            let (one, other) = (lines[at], lines[at + width]);
            lines[at] = _mm512_permutex2var_epi32(one, upper, other);
            lines[at + width] = _mm512_permutex2var_epi32(one, lower, other);
        }
    }
    lines
}
