//! AVX-512 loops. `unsafe` because callers must check for the instructions, and for loads by
//! pointer.
//!
//! A product is summed in sixteen lanes, which are added in one fixed order at the end
//! ([`reduced_f32`]), sixteen products at once where there are as many. The processor multiplies
//! unsigned by signed bytes: a row's code r goes in as r + 128 (its sign bit flipped), and 128
//! times the sum of the query's codes is subtracted at the end.
#![allow(unsafe_code)]

use super::avx512_panel::packed;
use super::loops::{Dots, Packed, QUERIES};
use super::rows::Rows;
use std::arch::x86_64::*;

/// Processors with AVX-512 F, BW and VNNI.
pub struct Avx512;

impl Dots for Avx512 {
    #[inline(always)]
    fn float_row(query: &[f32], row: &[f32]) -> f32 {
        // SAFETY: called only where the processor has the instructions.
        unsafe { sum_f32(row_f32(query, row)) }
    }

    #[inline(always)]
    fn byte_row(query: &[i8], sum: i32, row: &[i8]) -> i32 {
        // SAFETY: called only where the processor has the instructions.
        unsafe { _mm512_reduce_add_epi32(row_i8(query, row)) }.wrapping_sub(sum.wrapping_mul(128))
    }

    #[inline(always)]
    fn floats<'a>(query: &[f32], rows: impl Rows<'a, f32>, out: &mut [f32]) {
        // SAFETY: called only where the processor has the instructions.
        unsafe { dots_f32(query, rows, out) }
    }

    #[inline(always)]
    fn bytes<'a>(query: &[i8], sum: i32, rows: impl Rows<'a, i8>, out: &mut [i32]) {
        // SAFETY: called only where the processor has the instructions.
        unsafe { dots_i8(query, sum, rows, out) }
    }

    #[inline(always)]
    fn pack(codes: &[i8], dim: usize, lanes: usize) -> Packed {
        Packed::Panels(packed(codes, dim, lanes))
    }

    const ROWS: usize = 4;

    #[inline(always)]
    fn tile(queries: &[f32], rows: &[f32], dim: usize) -> [[f32; QUERIES]; 4] {
        // SAFETY: called only where the processor has the instructions; the lengths are compared.
        unsafe {
            match rows.len() / dim {
                4 => tile_f32::<4>(queries, rows, dim),
                3 => tile_f32::<3>(queries, rows, dim),
                2 => tile_f32::<2>(queries, rows, dim),
                _ => tile_f32::<1>(queries, rows, dim),
            }
        }
    }
}

/// Four queries and `R` rows: `[R, 4]` products, and zeros.
#[target_feature(enable = "avx512f")]
#[inline]
fn tile_f32<const R: usize>(queries: &[f32], rows: &[f32], dim: usize) -> [[f32; QUERIES]; 4] {
    assert!(queries.len() == 4 * dim && rows.len() == R * dim && R <= 4);
    let mut sums = [_mm512_setzero_ps(); 16];
    let mut at = 0;
    while at < dim {
        let mask = tail(dim - at);
        // SAFETY: the mask keeps the loads within the last of the `dim` values of each query and
        // row.
        unsafe {
            let load = |from: *const f32| _mm512_maskz_loadu_ps(mask, from.add(at));
            let query: [__m512; 4] = [0, 1, 2, 3].map(|q| load(queries.as_ptr().add(q * dim)));
            for r in 0..R {
                let row = load(rows.as_ptr().add(r * dim));
                for q in 0..4 {
                    sums[r * 4 + q] = _mm512_fmadd_ps(query[q], row, sums[r * 4 + q]);
                }
            }
        }
        at += 16;
    }
    let sums = lanes_of(reduced_f32(sums));
    std::array::from_fn(|row| std::array::from_fn(|query| sums[row * QUERIES + query]))
}

fn tail(left: usize) -> u16 {
    if left >= 16 {
        u16::MAX
    } else {
        (1 << left) - 1
    }
}

/// Sixteen rows share one reduction.
#[target_feature(enable = "avx512f")]
#[inline]
fn dots_f32<'a>(query: &[f32], rows: impl Rows<'a, f32>, out: &mut [f32]) {
    if let [out] = out {
        return rows
            .block(0, 1)
            .for_each(|row| *out = sum_f32(row_f32(query, row)));
    }
    for (block, out) in out.chunks_mut(16).enumerate() {
        let mut sums = [_mm512_setzero_ps(); 16];
        for (row, sum) in rows.block(block * 16, out.len()).zip(&mut sums) {
            *sum = row_f32(query, row);
        }
        out.copy_from_slice(&lanes_of(reduced_f32(sums))[..out.len()]);
    }
}

/// The sixteen partial sums of `query · row`.
#[target_feature(enable = "avx512f")]
#[inline]
fn row_f32(query: &[f32], row: &[f32]) -> __m512 {
    let dim = query.len();
    assert!(row.len() == dim, "rows of one length");
    let (mut sum, mut at) = (_mm512_setzero_ps(), 0);
    while at < dim {
        let mask = tail(dim - at);
        // SAFETY: the mask keeps the loads within the `dim` values of the query and of the row.
        let (q, r) = unsafe {
            (
                _mm512_maskz_loadu_ps(mask, query.as_ptr().add(at)),
                _mm512_maskz_loadu_ps(mask, row.as_ptr().add(at)),
            )
        };
        sum = _mm512_fmadd_ps(q, r, sum);
        at += 16;
    }
    sum
}

/// As [`dots_f32`]; `sum` is the sum of the query's codes.
#[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
#[inline]
fn dots_i8<'a>(query: &[i8], sum: i32, rows: impl Rows<'a, i8>, out: &mut [i32]) {
    let excess = sum.wrapping_mul(128);
    if let [out] = out {
        let product = |row| _mm512_reduce_add_epi32(row_i8(query, row)).wrapping_sub(excess);
        return rows.block(0, 1).for_each(|row| *out = product(row));
    }
    for (block, out) in out.chunks_mut(16).enumerate() {
        let mut sums = [_mm512_setzero_si512(); 16];
        for (row, sum) in rows.block(block * 16, out.len()).zip(&mut sums) {
            *sum = row_i8(query, row);
        }
        let mut all = [0i32; 16];
        let sums = _mm512_sub_epi32(reduced_i32(sums), _mm512_set1_epi32(excess));
        // SAFETY: sixteen integers fit into the array.
        unsafe { _mm512_storeu_si512(all.as_mut_ptr().cast(), sums) };
        out.copy_from_slice(&all[..out.len()]);
    }
}

/// The sixteen partial sums of `query · (row + 128)`.
#[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
#[inline]
fn row_i8(query: &[i8], row: &[i8]) -> __m512i {
    let (dim, flip) = (query.len(), _mm512_set1_epi8(i8::MIN));
    assert!(row.len() == dim, "rows of one length");
    let (mut even, mut odd) = (_mm512_setzero_si512(), _mm512_setzero_si512());
    let mut at = 0;
    while at + 128 <= dim {
        // SAFETY: at + 128 <= dim, the length of both slices; the loads are unaligned ones.
        unsafe {
            let load = |from: &[i8], at: usize| _mm512_loadu_si512(from.as_ptr().add(at).cast());
            even =
                _mm512_dpbusd_epi32(even, _mm512_xor_si512(load(row, at), flip), load(query, at));
            odd = _mm512_dpbusd_epi32(
                odd,
                _mm512_xor_si512(load(row, at + 64), flip),
                load(query, at + 64),
            );
        }
        at += 128;
    }
    while at < dim {
        let mask = if dim - at >= 64 {
            u64::MAX
        } else {
            (1 << (dim - at)) - 1
        };
        // SAFETY: the mask keeps the loads within `dim` codes; what it leaves out of the query is 0
        // and adds nothing.
        unsafe {
            let load = |from: &[i8]| _mm512_maskz_loadu_epi8(mask, from.as_ptr().add(at));
            even = _mm512_dpbusd_epi32(even, _mm512_xor_si512(load(row), flip), load(query));
        }
        at += 64;
    }
    _mm512_add_epi32(even, odd)
}

#[target_feature(enable = "avx512f")]
fn lanes_of(sums: __m512) -> [f32; 16] {
    let mut lanes = [0.0; 16];
    // SAFETY: sixteen floats fit into the array.
    unsafe { _mm512_storeu_ps(lanes.as_mut_ptr(), sums) };
    lanes
}

/// The sum of the lanes, in the order of [`reduced_f32`].
#[target_feature(enable = "avx512f")]
#[inline]
fn sum_f32(lanes: __m512) -> f32 {
    let twos = _mm512_add_ps(lanes, _mm512_permute_ps::<0b_01_00_11_10>(lanes));
    let fours = _mm512_add_ps(twos, _mm512_permute_ps::<0b_10_11_00_01>(twos));
    let eights = _mm512_add_ps(fours, _mm512_shuffle_f32x4::<0b_10_11_00_01>(fours, fours));
    _mm512_cvtss_f32(_mm512_add_ps(
        eights,
        _mm512_shuffle_f32x4::<0b_01_00_11_10>(eights, eights),
    ))
}

/// Lane n is the sum of the lanes of `sums[n]`: neighbours but one first, then neighbours, then
/// quarters of the register.
#[target_feature(enable = "avx512f")]
#[inline]
fn reduced_f32(sums: [__m512; 16]) -> __m512 {
    let twos: [__m512; 8] = std::array::from_fn(|n| {
        let (a, b) = (sums[2 * n], sums[2 * n + 1]);
        _mm512_add_ps(_mm512_unpacklo_ps(a, b), _mm512_unpackhi_ps(a, b))
    });
    let fours: [__m512; 4] = std::array::from_fn(|n| {
        let (a, b) = (
            _mm512_castps_pd(twos[2 * n]),
            _mm512_castps_pd(twos[2 * n + 1]),
        );
        _mm512_add_ps(
            _mm512_castpd_ps(_mm512_unpacklo_pd(a, b)),
            _mm512_castpd_ps(_mm512_unpackhi_pd(a, b)),
        )
    });
    let halves = |a: __m512, b: __m512| {
        _mm512_add_ps(
            _mm512_shuffle_f32x4::<0x88>(a, b),
            _mm512_shuffle_f32x4::<0xdd>(a, b),
        )
    };
    halves(halves(fours[0], fours[1]), halves(fours[2], fours[3]))
}

/// Lane n is the sum of the lanes of `sums[n]`.
#[target_feature(enable = "avx512f")]
#[inline]
fn reduced_i32(sums: [__m512i; 16]) -> __m512i {
    let twos: [__m512i; 8] = std::array::from_fn(|n| {
        let (a, b) = (sums[2 * n], sums[2 * n + 1]);
        _mm512_add_epi32(_mm512_unpacklo_epi32(a, b), _mm512_unpackhi_epi32(a, b))
    });
    let fours: [__m512i; 4] = std::array::from_fn(|n| {
        let (a, b) = (twos[2 * n], twos[2 * n + 1]);
        _mm512_add_epi32(_mm512_unpacklo_epi64(a, b), _mm512_unpackhi_epi64(a, b))
    });
    let halves = |a: __m512i, b: __m512i| {
        _mm512_add_epi32(
            _mm512_shuffle_i32x4::<0x88>(a, b),
            _mm512_shuffle_i32x4::<0xdd>(a, b),
        )
    };
    halves(halves(fours[0], fours[1]), halves(fours[2], fours[3]))
}
