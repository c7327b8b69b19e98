//! Tiles of AMX: eight registers of sixteen rows of 64 bytes, and one instruction that multiplies two of them.
//!
//! `unsafe`, and written as assembly, because the language has no stable way to say these instructions; the processor and
//! the system are asked first. The registers are set up and released in each call, so that nothing else sees them.
#![allow(unsafe_code)]

use super::pack::Side;
use super::{BLOCK, DEPTH, Packed, TILE};
use crate::kernels::gemm::Start;
use crate::kernels::lanes::LANES;
use crate::kernels::matrix::MatrixMut;
use std::arch::asm;
use std::arch::x86_64::*;
use std::sync::LazyLock;

/// Tiles along the sum after which C is written: so much of both sides stays in the cache.
const RUN: usize = 16;

/// What `ldtilecfg` reads: sixteen rows of 64 bytes in every register.
#[repr(C, align(64))]
struct Setup {
    palette: u8,
    start_row: u8,
    reserved: [u8; 14],
    bytes: [u16; 16],
    rows: [u8; 16],
}

static SETUP: Setup = {
    let (mut bytes, mut rows) = ([0; 16], [0; 16]);
    let mut at = 0;
    while at < 8 {
        bytes[at] = 64;
        rows[at] = 16;
        at += 1;
    }
    Setup { palette: 1, start_row: 0, reserved: [0; 14], bytes, rows }
};

/// Whether the processor has AMX with bfloat16 and the system lets this process use it.
pub fn is_here() -> bool {
    static HERE: LazyLock<bool> = LazyLock::new(|| {
        // Leaf 7 of CPUID: bit 22 of EDX is AMX-BF16, bit 24 the tiles.
        const BITS: u32 = 1 << 22 | 1 << 24;
        const REQUEST_PERMISSION: libc::c_long = 0x1023;
        const TILE_DATA: libc::c_long = 18;
        let vectors = is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512bf16");
        let tiles = __cpuid(0).eax >= 7 && __cpuid_count(7, 0).edx & BITS == BITS;
        // SAFETY: a system call that changes nothing in memory; a system that does not know it says no.
        vectors && tiles && unsafe { libc::syscall(libc::SYS_arch_prctl, REQUEST_PERMISSION, TILE_DATA) == 0 }
    });
    *HERE
}

/// Sums of a block, `[32, 32]`.
#[repr(C, align(64))]
struct Sums([[f32; BLOCK]; BLOCK]);

/// See [`super::gemm`].
pub fn gemm(a: Packed<'_>, b: Packed<'_>, start: Start<'_>, out: MatrixMut<'_>) {
    assert!(is_here());
    // SAFETY: the processor has the instructions, and the system allows them.
    unsafe { compiled(a, b, start, out) }
}

#[target_feature(enable = "avx512f")]
fn compiled(a: Packed<'_>, b: Packed<'_>, start: Start<'_>, mut out: MatrixMut<'_>) {
    // SAFETY: the 64 bytes that it reads are there.
    unsafe { asm!("ldtilecfg [{}]", in(reg) &raw const SETUP, options(nostack, readonly)) };
    let mut sums = Sums([[0.0; BLOCK]; BLOCK]);
    for step in (0..a.deep()).step_by(RUN) {
        let deep = RUN.min(a.deep() - step);
        let start = if step == 0 { start } else { Start::Sum };
        for col in (0..b.count).step_by(BLOCK) {
            for row in (0..a.count).step_by(BLOCK) {
                block(a, b, [row / LANES, col / LANES], step, deep, &mut sums);
                write(&sums, start, &mut out, row, col);
            }
        }
    }
    // SAFETY: it gives the registers back.
    unsafe { asm!("tilerelease", options(nostack, nomem)) };
}

/// The products of two tiles of rows and two of columns, summed over `deep` tiles; both sides are packed in whole blocks.
#[inline(always)]
fn block(a: Packed<'_>, b: Packed<'_>, at: [usize; 2], step: usize, deep: usize, sums: &mut Sums) {
    let [row, col] = at;
    let left = [a.run(row, step, deep).as_ptr(), a.run(row + 1, step, deep).as_ptr()];
    let right = [b.run(col, step, deep).as_ptr(), b.run(col + 1, step, deep).as_ptr()];
    let first = sums.0.as_mut_ptr();
    // SAFETY: each side has `deep` tiles of 1,024 bytes from its pointer on, as `run` has checked, and `sums` has
    // 32 rows of 128 bytes.
    unsafe {
        asm!(
            "tilezero tmm0",
            "tilezero tmm1",
            "tilezero tmm2",
            "tilezero tmm3",
            "2:",
            "tileloadd tmm4, [{a} + {line}*1]",
            "tileloadd tmm6, [{b} + {line}*1]",
            "tileloadd tmm7, [{d} + {line}*1]",
            "tdpbf16ps tmm0, tmm4, tmm6",
            "tileloadd tmm5, [{c} + {line}*1]",
            "tdpbf16ps tmm1, tmm4, tmm7",
            "tdpbf16ps tmm2, tmm5, tmm6",
            "tdpbf16ps tmm3, tmm5, tmm7",
            "add {a}, 1024",
            "add {b}, 1024",
            "add {c}, 1024",
            "add {d}, 1024",
            "dec {deep}",
            "jnz 2b",
            "tilestored [{sums} + {wide}*1], tmm0",
            "tilestored [{sums} + {wide}*1 + 64], tmm1",
            "tilestored [{lower} + {wide}*1], tmm2",
            "tilestored [{lower} + {wide}*1 + 64], tmm3",
            a = inout(reg) left[0] => _,
            c = inout(reg) left[1] => _,
            b = inout(reg) right[0] => _,
            d = inout(reg) right[1] => _,
            deep = inout(reg) deep => _,
            line = in(reg) 64usize,
            sums = in(reg) first,
            lower = in(reg) first.add(LANES),
            wide = in(reg) 4 * BLOCK,
            out("tmm0") _, out("tmm1") _, out("tmm2") _, out("tmm3") _,
            out("tmm4") _, out("tmm5") _, out("tmm6") _, out("tmm7") _,
            options(nostack),
        );
    }
}

/// Adds a block's sums to what C begins with.
#[inline(always)]
fn write(sums: &Sums, start: Start<'_>, out: &mut MatrixMut<'_>, first: usize, left: usize) {
    let right = out.cols().min(left + BLOCK);
    let mut before = [0.0; BLOCK];
    if let Start::Bias(bias) = start {
        before[..right - left].copy_from_slice(&bias[left..right]);
    }
    for (row, sums) in (first..out.rows()).zip(&sums.0) {
        let to = &mut out.row(row)[left..right];
        // A whole row is a few instructions, a part of one a loop.
        match <&mut [f32; BLOCK]>::try_from(&mut *to) {
            Ok(to) => add(sums, &before, start, to),
            Err(_) => add(sums, &before, start, to),
        }
    }
}

#[inline(always)]
fn add(sums: &[f32; BLOCK], before: &[f32; BLOCK], start: Start<'_>, to: &mut [f32]) {
    match start {
        Start::Sum => to.iter_mut().zip(sums).for_each(|(to, sum)| *to += sum),
        _ => to.iter_mut().zip(sums).zip(before).for_each(|((to, sum), before)| *to = sum + before),
    }
}

/// Packs a tile whose numbers lie side by side one way or the other, if the tile is whole that way; see
/// [`super::pack_rows`].
pub fn pack(side: Side<'_>, first: usize, step: usize, pairs_first: bool, tile: &mut [u32; TILE]) -> bool {
    let along = side.k_stride == 1 && step + DEPTH <= side.k;
    let across = side.stride == 1 && first + LANES <= side.count;
    if !is_here() || !(along || across) {
        return false;
    }
    // SAFETY: the processor has the instructions.
    unsafe { whole(side, first, step, along, along == pairs_first, tile) };
    true
}

#[target_feature(enable = "avx512f,avx512bw,avx512bf16")]
fn whole(side: Side<'_>, first: usize, step: usize, along: bool, turned: bool, tile: &mut [u32; TILE]) {
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
                *line = _mm512_or_si512(*line, _mm512_slli_epi32::<16>(_mm512_cvtepu16_epi32(second)));
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

/// Which lanes of two lines, the second's counted from 16 on, go into the first and the second line of a round in
/// [`transposed`].
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

/// Rows become columns: in each of four rounds, lines change places with those 1, 2, 4 and 8 below them, half by half.
#[target_feature(enable = "avx512f")]
#[inline]
fn transposed(mut lines: [__m512i; 16]) -> [__m512i; 16] {
    for (round, [upper, lower]) in ROUNDS.iter().enumerate() {
        // SAFETY: sixteen numbers are one load, an unaligned one.
        let (upper, lower) =
            unsafe { (_mm512_loadu_si512(upper.as_ptr().cast()), _mm512_loadu_si512(lower.as_ptr().cast())) };
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
