//! Sums of products of bytes by NEON, which every 64-bit ARM processor has.
#![allow(unsafe_code)]

use super::tile::Dot;
use super::{Code, GROUP};
use crate::lanes::LANES;
use std::arch::aarch64::*;

/// Two columns to a register, each as two sums of two products.
pub struct Neon;

impl Dot for Neon {
    type Sums = [int32x4_t; 8];
    const ROWS: usize = 2;
    const PANELS: usize = 1;

    #[inline(always)]
    fn zero() -> [int32x4_t; 8] {
        // SAFETY: every 64-bit ARM processor has NEON.
        unsafe { [vdupq_n_s32(0); 8] }
    }

    #[inline(always)]
    fn add(
        mut sums: [int32x4_t; 8],
        row: &[Code; GROUP],
        columns: &[i8; LANES * GROUP],
        _: usize,
    ) -> [int32x4_t; 8] {
        for (at, sum) in sums.iter_mut().enumerate() {
            // SAFETY: 64 bytes are eight loads of 8; every 64-bit ARM processor has NEON.
            unsafe {
                let row = vreinterpret_s8_s32(vdup_n_s32(i32::from_le_bytes(*row)));
                let columns = vld1_s8(columns.as_ptr().add(8 * at));
                *sum = vpadalq_s16(*sum, vmull_s8(columns, row));
            }
        }
        sums
    }

    #[inline(always)]
    fn lanes(sums: [int32x4_t; 8], _: usize, to: &mut [i32; LANES]) {
        for at in 0..4 {
            // SAFETY: sixteen integers are four stores; every 64-bit ARM processor has NEON.
            unsafe {
                vst1q_s32(
                    to.as_mut_ptr().add(4 * at),
                    vpaddq_s32(sums[2 * at], sums[2 * at + 1]),
                )
            }
        }
    }
}
