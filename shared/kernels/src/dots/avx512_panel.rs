//! Several byte queries against rows with AVX-512 VNNI: a register holds sixteen queries, so that
//! no sum is ever added up across lanes.
//!
//! Queries are packed in panels of at most 64 (four registers): for every four values of the
//! vectors, these four values of each query. A tile is a panel times as many rows as leave 24 sums
//! in registers; each four values of a row are spread over a register and serve the whole panel. As
//! in [`super::avx512`] rows go in as r + 128.
#![allow(unsafe_code)]
// A tile is indexed by row and query.
#![allow(clippy::needless_range_loop)]

use crate::lanes::LANES;
use std::arch::x86_64::*;

/// Registers of a panel.
const GROUPS: usize = 4;

/// A register of a panel: four values of sixteen queries. It fills a cache line: a load across two
/// lines takes twice as long, and where an allocation begins differs from one process to the next.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub struct Line([i8; 4 * LANES]);

/// Packs queries.
///
/// # Shapes
/// codes `[n, dim]`, n at most lanes -> for each panel `[dim / 4, panel lanes, 4]`, padded with
/// zeros
pub fn packed(codes: &[i8], dim: usize, lanes: usize) -> Vec<Line> {
    let (steps, groups) = (dim.div_ceil(4), lanes / LANES);
    let mut packed = vec![Line([0; 4 * LANES]); groups * steps];
    for (query, codes) in codes.chunks_exact(dim).enumerate() {
        let first = query / LANES / GROUPS * GROUPS;
        let width = (groups - first).min(GROUPS);
        for (at, code) in codes.iter().enumerate() {
            let line = &mut packed[first * steps + at / 4 * width + query / LANES - first];
            line.0[query % LANES * 4 + at % 4] = *code;
        }
    }
    packed
}

/// Products of packed queries with rows. Call only where AVX-512 F and VNNI are there.
///
/// # Shapes
/// sums `[lanes]`, each query's codes added up; rows `[n, dim]`, out `[n up to a multiple of 48,
/// lanes]` at least; `bytes` is any buffer, reused between calls
pub fn tiles_i8(
    panels: &[Line],
    sums: &[i32],
    dim: usize,
    rows: &[i8],
    bytes: &mut Vec<u8>,
    out: &mut [i32],
) {
    let (lanes, width) = (sums.len(), dim.div_ceil(4) * 4);
    let lines = lanes * width / (4 * LANES);
    assert!(
        lanes.is_multiple_of(LANES) && panels.len() == lines,
        "panels of {lanes} queries"
    );
    let padded = (rows.len() / dim).next_multiple_of(48);
    assert!(
        out.len() >= padded * lanes,
        "expected {padded} rows of sums"
    );
    // Flipped rows, and rows of anything up to the end of the last tile.
    bytes.resize(bytes.len().max(padded * width), 0);
    for (row, flipped) in rows.chunks_exact(dim).zip(bytes.chunks_exact_mut(width)) {
        row.iter()
            .zip(flipped)
            .for_each(|(code, flipped)| *flipped = code.cast_unsigned() ^ 0x80);
    }
    let tiles = |height: usize| (rows.len() / dim).div_ceil(height);
    for first in (0..lanes).step_by(GROUPS * LANES) {
        let groups = (lanes - first).min(GROUPS * LANES) / LANES;
        let panel = &panels[first / LANES * (width / 4)..][..groups * (width / 4)];
        let sums = &sums[first..first + groups * LANES];
        // SAFETY: called only where the processor has the instructions. Every tile ends at or
        // before row `padded`, since its height divides 48, and so lies within `bytes` and `out`;
        // the panel has `groups` registers a step.
        unsafe {
            let out = out.as_mut_ptr().add(first);
            match groups {
                4 => (0..tiles(6)).for_each(|t| {
                    tile::<4, 6>(
                        panel,
                        sums,
                        &bytes[t * 6 * width..],
                        width,
                        out.add(t * 6 * lanes),
                        lanes,
                    )
                }),
                3 => (0..tiles(8)).for_each(|t| {
                    tile::<3, 8>(
                        panel,
                        sums,
                        &bytes[t * 8 * width..],
                        width,
                        out.add(t * 8 * lanes),
                        lanes,
                    )
                }),
                2 => (0..tiles(12)).for_each(|t| {
                    tile::<2, 12>(
                        panel,
                        sums,
                        &bytes[t * 12 * width..],
                        width,
                        out.add(t * 12 * lanes),
                        lanes,
                    )
                }),
                _ => (0..tiles(16)).for_each(|t| {
                    tile::<1, 16>(
                        panel,
                        sums,
                        &bytes[t * 16 * width..],
                        width,
                        out.add(t * 16 * lanes),
                        lanes,
                    )
                }),
            }
        }
    }
}

/// `R` rows times `G` registers of queries.
///
/// # Safety
/// AVX-512 F and VNNI; panel `[width / 4, G]`, sums `[G × 16]`, rows at least `[R, width]`, out
/// writable for `R` rows of `G × 16` at distances of `lanes`.
#[target_feature(enable = "avx512f,avx512vnni")]
unsafe fn tile<const G: usize, const R: usize>(
    panel: &[Line],
    sums: &[i32],
    rows: &[u8],
    width: usize,
    out: *mut i32,
    lanes: usize,
) {
    debug_assert!(
        panel.len() == width / 4 * G && sums.len() == G * LANES && rows.len() >= R * width
    );
    let mut totals = [[_mm512_setzero_si512(); G]; R];
    // SAFETY: as the caller promises; loads of lines are aligned, other loads and stores are
    // unaligned ones.
    unsafe {
        for group in 0..G {
            let sum = _mm512_loadu_si512(sums.as_ptr().add(group * LANES).cast());
            let start = _mm512_sub_epi32(_mm512_setzero_si512(), _mm512_slli_epi32::<7>(sum));
            (0..R).for_each(|row| totals[row][group] = start);
        }
        for step in 0..width / 4 {
            let queries: [__m512i; G] = std::array::from_fn(|group| {
                _mm512_load_si512(panel.as_ptr().add(step * G + group).cast())
            });
            for row in 0..R {
                let four = _mm512_set1_epi32(
                    rows.as_ptr()
                        .add(row * width + step * 4)
                        .cast::<i32>()
                        .read_unaligned(),
                );
                for group in 0..G {
                    totals[row][group] =
                        _mm512_dpbusd_epi32(totals[row][group], four, queries[group]);
                }
            }
        }
        for (row, totals) in totals.iter().enumerate() {
            for (group, total) in totals.iter().enumerate() {
                _mm512_storeu_si512(out.add(row * lanes + group * LANES).cast(), *total);
            }
        }
    }
}
