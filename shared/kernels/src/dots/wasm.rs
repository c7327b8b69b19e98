//! Loops for wasm's SIMD, used if the module is compiled with it. `unsafe` for loads by pointer.
//!
//! Floats are summed in sixteen lanes, which are added in one fixed order. Bytes are multiplied
//! into 16 bits and added into 32, so that every sum is exact.
#![allow(unsafe_code)]

use super::loops::Dots;
use std::arch::wasm32::*;

/// Modules that are compiled with it.
pub struct Simd128;

impl Dots for Simd128 {
    #[inline(always)]
    fn float_row(query: &[f32], row: &[f32]) -> f32 {
        let whole = query.len() / 16 * 16;
        let mut sums = [f32x4_splat(0.0); 4];
        for at in (0..whole).step_by(16) {
            for (part, sum) in sums.iter_mut().enumerate() {
                let from = at + 4 * part;
                // SAFETY: from + 4 <= whole <= the length of both slices; the loads are unaligned
                // ones.
                let (q, r) = unsafe {
                    (
                        v128_load(query.as_ptr().add(from).cast()),
                        v128_load(row.as_ptr().add(from).cast()),
                    )
                };
                *sum = f32x4_add(*sum, f32x4_mul(q, r));
            }
        }
        let sum = f32x4_add(f32x4_add(sums[0], sums[1]), f32x4_add(sums[2], sums[3]));
        let low = f32x4_extract_lane::<0>(sum) + f32x4_extract_lane::<1>(sum);
        let high = f32x4_extract_lane::<2>(sum) + f32x4_extract_lane::<3>(sum);
        low + high
            + query[whole..]
                .iter()
                .zip(&row[whole..])
                .map(|(q, r)| q * r)
                .sum::<f32>()
    }

    #[inline(always)]
    fn byte_row(query: &[i8], _: i32, row: &[i8]) -> i32 {
        let whole = query.len() / 16 * 16;
        let mut sums = [i32x4_splat(0); 2];
        for at in (0..whole).step_by(16) {
            // SAFETY: at + 16 <= whole <= the length of both slices; the loads are unaligned ones.
            let (q, r) = unsafe {
                (
                    v128_load(query.as_ptr().add(at).cast()),
                    v128_load(row.as_ptr().add(at).cast()),
                )
            };
            sums[0] = i32x4_add(
                sums[0],
                i32x4_extadd_pairwise_i16x8(i16x8_extmul_low_i8x16(q, r)),
            );
            sums[1] = i32x4_add(
                sums[1],
                i32x4_extadd_pairwise_i16x8(i16x8_extmul_high_i8x16(q, r)),
            );
        }
        let sum = i32x4_add(sums[0], sums[1]);
        let low = i32x4_extract_lane::<0>(sum).wrapping_add(i32x4_extract_lane::<1>(sum));
        let high = i32x4_extract_lane::<2>(sum).wrapping_add(i32x4_extract_lane::<3>(sum));
        let rest: i32 = query[whole..]
            .iter()
            .zip(&row[whole..])
            .map(|(q, r)| i32::from(*q) * i32::from(*r))
            .sum();
        low.wrapping_add(high).wrapping_add(rest)
    }
}
