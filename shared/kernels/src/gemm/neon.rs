//! Registers of NEON, which every 64-bit ARM processor has.
#![allow(unsafe_code)]

use super::Lane;
use super::tile::Vector;
use std::arch::aarch64::*;

/// Four registers.
pub struct Neon;

impl Vector for Neon {
    type Sixteen = [float32x4_t; 4];
    const ROWS: usize = 6;
    const PANELS: usize = 1;
    const FUSED: bool = true;

    #[inline(always)]
    fn load(from: &Lane) -> [float32x4_t; 4] {
        let from = from.as_ptr();
        // SAFETY: sixteen floats are four loads.
        unsafe {
            [
                vld1q_f32(from),
                vld1q_f32(from.add(4)),
                vld1q_f32(from.add(8)),
                vld1q_f32(from.add(12)),
            ]
        }
    }

    #[inline(always)]
    fn store(value: [float32x4_t; 4], to: &mut Lane) {
        let to = to.as_mut_ptr();
        for (at, four) in value.into_iter().enumerate() {
            // SAFETY: sixteen floats are four stores.
            unsafe { vst1q_f32(to.add(4 * at), four) }
        }
    }

    #[inline(always)]
    fn add(sum: [float32x4_t; 4], x: f32, b: [float32x4_t; 4]) -> [float32x4_t; 4] {
        let add = |at: usize| {
            // SAFETY: every 64-bit ARM processor has NEON.
            unsafe { vfmaq_n_f32(sum[at], b[at], x) }
        };
        [add(0), add(1), add(2), add(3)]
    }
}
