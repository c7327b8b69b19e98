//! The loops in plain Rust, written so that a compiler can vectorise them for any target.

use super::loops::Dots;
use crate::lanes::LANES;

/// Any target.
pub struct Plain;

impl Dots for Plain {
    #[inline(always)]
    fn float_row(query: &[f32], row: &[f32]) -> f32 {
        let mut sums = [0.0f32; LANES];
        let (query_lanes, row_lanes) = (query.chunks_exact(LANES), row.chunks_exact(LANES));
        let rest: f32 = query_lanes
            .remainder()
            .iter()
            .zip(row_lanes.remainder())
            .map(|(q, r)| q * r)
            .sum();
        for (q, r) in query_lanes.zip(row_lanes) {
            for lane in 0..LANES {
                sums[lane] += q[lane] * r[lane];
            }
        }
        sums.iter().sum::<f32>() + rest
    }

    #[inline(always)]
    fn byte_row(query: &[i8], _: i32, row: &[i8]) -> i32 {
        query
            .iter()
            .zip(row)
            .map(|(q, r)| i32::from(*q) * i32::from(*r))
            .sum()
    }
}
