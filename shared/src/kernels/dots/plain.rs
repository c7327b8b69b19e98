//! The loops in plain Rust, written so that a compiler can vectorise them for any target.

use super::loops::Dots;
use crate::kernels::lanes::LANES;

/// Any target.
pub struct Plain;

impl Dots for Plain {
    #[inline(always)]
    fn floats<'a>(query: &[f32], rows: impl Iterator<Item = &'a [f32]>, out: &mut [f32]) {
        for (row, out) in rows.zip(out) {
            let mut sums = [0.0f32; LANES];
            let (query_lanes, row_lanes) = (query.chunks_exact(LANES), row.chunks_exact(LANES));
            let rest: f32 = query_lanes.remainder().iter().zip(row_lanes.remainder()).map(|(q, r)| q * r).sum();
            for (q, r) in query_lanes.zip(row_lanes) {
                for lane in 0..LANES {
                    sums[lane] += q[lane] * r[lane];
                }
            }
            *out = sums.iter().sum::<f32>() + rest;
        }
    }

    #[inline(always)]
    fn bytes<'a>(query: &[i8], _: i32, rows: impl Iterator<Item = &'a [i8]>, out: &mut [i32]) {
        for (row, out) in rows.zip(out) {
            *out = query.iter().zip(row).map(|(q, r)| i32::from(*q) * i32::from(*r)).sum();
        }
    }
}
