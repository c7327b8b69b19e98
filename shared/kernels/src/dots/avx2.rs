//! AVX2 and FMA loops. `unsafe` because callers must check for the instructions, and for loads by
//! pointer.
//!
//! Floats are summed in eight lanes, which are added in one fixed order. Bytes are widened to 16
//! bits, so that every sum is exact.
#![allow(unsafe_code)]
// A tile is indexed by row and query.
#![allow(clippy::needless_range_loop)]

use super::loops::{Dots, Packed, QUERIES};
use std::arch::x86_64::*;

/// Processors with AVX2 and FMA.
pub struct Avx2;

impl Dots for Avx2 {
    #[inline(always)]
    fn float_row(query: &[f32], row: &[f32]) -> f32 {
        // SAFETY: called only where AVX2 and FMA are there; the lengths are compared.
        let sums = unsafe { tile_f32::<1, 1>(query, row, query.len()) };
        sums[0][0]
    }

    #[inline(always)]
    fn byte_row(query: &[i8], _: i32, row: &[i8]) -> i32 {
        // SAFETY: called only where AVX2 is there.
        unsafe { row_i8(query, row) }
    }

    #[inline(always)]
    fn pack(codes: &[i8], dim: usize, lanes: usize) -> Packed {
        Packed::Wide(widened(codes, dim, lanes))
    }

    const ROWS: usize = 2;

    #[inline(always)]
    fn tile(queries: &[f32], rows: &[f32], dim: usize) -> [[f32; QUERIES]; 4] {
        let mut sums = [[0.0; QUERIES]; 4];
        // SAFETY: called only where AVX2 and FMA are there; the lengths are compared.
        match rows.len() / dim {
            2 => sums[..2].copy_from_slice(&unsafe { tile_f32::<4, 2>(queries, rows, dim) }),
            _ => sums[..1].copy_from_slice(&unsafe { tile_f32::<4, 1>(queries, rows, dim) }),
        }
        sums
    }
}

/// `Q` queries (at most four) and `R` rows: for each row the products with the queries, and zeros.
///
/// # Shapes
/// queries `[Q, dim]`, rows `[R, dim]`
#[target_feature(enable = "avx2,fma")]
#[inline]
fn tile_f32<const Q: usize, const R: usize>(
    queries: &[f32],
    rows: &[f32],
    dim: usize,
) -> [[f32; 4]; R] {
    assert!(queries.len() == Q * dim && rows.len() == R * dim && Q <= 4);
    let whole = dim / 8 * 8;
    let mut sums = [[_mm256_setzero_ps(); 4]; R];
    for at in (0..whole).step_by(8) {
        for row in 0..R {
            // SAFETY: at + 8 <= dim, so both loads stay within a query and a row.
            unsafe {
                let r = _mm256_loadu_ps(rows.as_ptr().add(row * dim + at));
                for query in 0..Q {
                    let q = _mm256_loadu_ps(queries.as_ptr().add(query * dim + at));
                    sums[row][query] = _mm256_fmadd_ps(q, r, sums[row][query]);
                }
            }
        }
    }
    let mut out = [[0.0; 4]; R];
    for row in 0..R {
        let [a, b, c, d] = sums[row];
        let lanes = _mm256_hadd_ps(_mm256_hadd_ps(a, b), _mm256_hadd_ps(c, d));
        let sums = _mm_add_ps(
            _mm256_castps256_ps128(lanes),
            _mm256_extractf128_ps::<1>(lanes),
        );
        // SAFETY: four floats fit into the array.
        unsafe { _mm_storeu_ps(out[row].as_mut_ptr(), sums) };
        if whole < dim {
            let rest = &rows[row * dim + whole..(row + 1) * dim];
            for query in 0..Q {
                let queries = &queries[query * dim + whole..(query + 1) * dim];
                out[row][query] += queries.iter().zip(rest).map(|(q, r)| q * r).sum::<f32>();
            }
        }
    }
    out
}

/// Queries widened to 16 bits.
///
/// # Shapes
/// codes `[n, dim]`, n at most lanes -> `[lanes, dim up to a multiple of 16]`, padded with zeros
fn widened(codes: &[i8], dim: usize, lanes: usize) -> Vec<i16> {
    let width = dim.next_multiple_of(16);
    let mut wide = vec![0; lanes * width];
    for (codes, wide) in codes.chunks_exact(dim).zip(wide.chunks_exact_mut(width)) {
        codes
            .iter()
            .zip(wide)
            .for_each(|(code, wide)| *wide = i16::from(*code));
    }
    wide
}

/// Products of widened queries with rows. Call only where AVX2 is there.
///
/// # Shapes
/// wide as of [`widened`] with lanes a multiple of 4, rows `[n, dim]`, out `[n, lanes]`
pub fn tiles_i8(wide: &[i16], dim: usize, rows: &[i8], out: &mut [i32]) {
    let width = dim.next_multiple_of(16);
    let lanes = wide.len() / width;
    assert!(
        lanes.is_multiple_of(4) && out.len() == rows.len() / dim * lanes,
        "expected one place for each product"
    );
    for (pair, rows) in rows.chunks(2 * dim).enumerate() {
        for (quad, wide) in wide.chunks_exact(4 * width).enumerate() {
            let at = pair * 2 * lanes + quad * 4;
            // SAFETY: called only where AVX2 is there; there are four queries.
            let [one, other] = match rows.len() / dim {
                2 => unsafe { tile_i8::<2>(wide, rows, dim) },
                _ => [unsafe { tile_i8::<1>(wide, rows, dim) }[0], [0; 4]],
            };
            out[at..at + 4].copy_from_slice(&one);
            if rows.len() > dim {
                out[at + lanes..at + lanes + 4].copy_from_slice(&other);
            }
        }
    }
}

/// Four widened queries and `R` rows.
///
/// # Safety
/// AVX2; wide `[4, dim up to a multiple of 16]`, rows `[R, dim]`.
#[target_feature(enable = "avx2")]
#[inline]
unsafe fn tile_i8<const R: usize>(wide: &[i16], rows: &[i8], dim: usize) -> [[i32; 4]; R] {
    let width = dim.next_multiple_of(16);
    debug_assert!(wide.len() == 4 * width && rows.len() == R * dim);
    let mut sums = [[_mm256_setzero_si256(); 4]; R];
    for at in (0..width).step_by(16) {
        for row in 0..R {
            let codes = &rows[row * dim..(row + 1) * dim];
            let r = _mm256_cvtepi8_epi16(sixteen(codes, at));
            for query in 0..4 {
                // SAFETY: at + 16 <= width, so the load stays within a widened query.
                let q = unsafe { _mm256_loadu_si256(wide.as_ptr().add(query * width + at).cast()) };
                sums[row][query] = _mm256_add_epi32(sums[row][query], _mm256_madd_epi16(q, r));
            }
        }
    }
    let mut out = [[0; 4]; R];
    for row in 0..R {
        let [a, b, c, d] = sums[row];
        let lanes = _mm256_hadd_epi32(_mm256_hadd_epi32(a, b), _mm256_hadd_epi32(c, d));
        let sums = _mm_add_epi32(
            _mm256_castsi256_si128(lanes),
            _mm256_extracti128_si256::<1>(lanes),
        );
        // SAFETY: four integers fit into the array.
        unsafe { _mm_storeu_si128(out[row].as_mut_ptr().cast(), sums) };
    }
    out
}

/// The sixteen codes from `at` on, zeros behind the last.
#[target_feature(enable = "avx2")]
#[inline]
fn sixteen(codes: &[i8], at: usize) -> __m128i {
    if at + 16 <= codes.len() {
        // SAFETY: sixteen codes lie there.
        return unsafe { _mm_loadu_si128(codes.as_ptr().add(at).cast()) };
    }
    let mut padded = [0i8; 16];
    padded[..codes.len() - at].copy_from_slice(&codes[at..]);
    // SAFETY: the array has sixteen codes.
    unsafe { _mm_loadu_si128(padded.as_ptr().cast()) }
}

/// One product.
#[target_feature(enable = "avx2")]
#[inline]
fn row_i8(query: &[i8], row: &[i8]) -> i32 {
    assert!(query.len() == row.len(), "rows of one length");
    // SAFETY: called with at + 16 <= the length of both slices; the loads are unaligned ones.
    let load = |codes: &[i8], at: usize| unsafe { _mm_loadu_si128(codes.as_ptr().add(at).cast()) };
    let product = |q, r| _mm256_madd_epi16(_mm256_cvtepi8_epi16(q), _mm256_cvtepi8_epi16(r));
    // Two sums, so that one need not wait for the other.
    let (mut even, mut odd) = (_mm256_setzero_si256(), _mm256_setzero_si256());
    let whole = query.len() / 32 * 32;
    for at in (0..whole).step_by(32) {
        even = _mm256_add_epi32(even, product(load(query, at), load(row, at)));
        odd = _mm256_add_epi32(odd, product(load(query, at + 16), load(row, at + 16)));
    }
    for at in (whole..query.len()).step_by(16) {
        even = _mm256_add_epi32(even, product(sixteen(query, at), sixteen(row, at)));
    }
    let mut lanes = [0i32; 8];
    // SAFETY: eight integers fit into the array.
    unsafe { _mm256_storeu_si256(lanes.as_mut_ptr().cast(), _mm256_add_epi32(even, odd)) };
    lanes.iter().fold(0, |sum, lane| sum.wrapping_add(*lane))
}
