//! NEON loops, for every 64-bit ARM processor. `unsafe` for loads by pointer.
//!
//! Floats are summed in sixteen lanes, which are added in one fixed order. Bytes are multiplied
//! into 16 bits and added into 32, so that every sum is exact; the one instruction for this
//! (`sdot`) is not stable in Rust yet.
#![allow(unsafe_code)]

use super::loops::Dots;
use std::arch::aarch64::*;

/// Every 64-bit ARM processor.
pub struct Neon;

impl Dots for Neon {
    #[inline(always)]
    fn float_row(query: &[f32], row: &[f32]) -> f32 {
        let whole = query.len() / 16 * 16;
        // SAFETY: every 64-bit ARM has NEON; at + 16 <= the length of both slices.
        let sum = unsafe {
            let mut sums = [vdupq_n_f32(0.0); 4];
            for at in (0..whole).step_by(16) {
                for (part, sum) in sums.iter_mut().enumerate() {
                    let from = at + 4 * part;
                    *sum = vfmaq_f32(
                        *sum,
                        vld1q_f32(query.as_ptr().add(from)),
                        vld1q_f32(row.as_ptr().add(from)),
                    );
                }
            }
            vaddvq_f32(vaddq_f32(
                vaddq_f32(sums[0], sums[1]),
                vaddq_f32(sums[2], sums[3]),
            ))
        };
        sum + query[whole..]
            .iter()
            .zip(&row[whole..])
            .map(|(q, r)| q * r)
            .sum::<f32>()
    }

    #[inline(always)]
    fn byte_row(query: &[i8], _: i32, row: &[i8]) -> i32 {
        let whole = query.len() / 16 * 16;
        // SAFETY: every 64-bit ARM has NEON; at + 16 <= the length of both slices.
        let sum = unsafe {
            let mut sums = [vdupq_n_s32(0); 2];
            for at in (0..whole).step_by(16) {
                let (q, r) = (
                    vld1q_s8(query.as_ptr().add(at)),
                    vld1q_s8(row.as_ptr().add(at)),
                );
                sums[0] = vpadalq_s16(sums[0], vmull_s8(vget_low_s8(q), vget_low_s8(r)));
                sums[1] = vpadalq_s16(sums[1], vmull_high_s8(q, r));
            }
            vaddvq_s32(vaddq_s32(sums[0], sums[1]))
        };
        let rest: i32 = query[whole..]
            .iter()
            .zip(&row[whole..])
            .map(|(q, r)| i32::from(*q) * i32::from(*r))
            .sum();
        sum.wrapping_add(rest)
    }
}
