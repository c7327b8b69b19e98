//! Sums of products of bytes by wasm's SIMD; compiled only where the target has it.
#![allow(unsafe_code)]

use super::GROUP;
use super::tile::Dot;
use crate::kernels::lanes::LANES;
use std::arch::wasm32::*;

/// Sixteen-bit products, or relaxed SIMD's dot products of bytes where the target has them.
pub struct Simd128;

#[inline(always)]
fn load(columns: &[i8; LANES * GROUP], at: usize) -> v128 {
    // SAFETY: 64 bytes are four loads; wasm's need not be aligned.
    unsafe { v128_load(columns.as_ptr().cast::<v128>().add(at)) }
}

#[inline(always)]
fn out_of(sums: [v128; 4]) -> [i32; LANES] {
    let mut lanes = [0; LANES];
    for (at, four) in sums.into_iter().enumerate() {
        // SAFETY: sixteen integers are four stores; wasm's need not be aligned.
        unsafe { v128_store(lanes.as_mut_ptr().cast::<v128>().add(at), four) }
    }
    lanes
}

/// Four columns to a register.
#[cfg(target_feature = "relaxed-simd")]
impl Dot for Simd128 {
    type Sums = [v128; 4];
    const ROWS: usize = 2;
    const PANELS: usize = 1;

    #[inline(always)]
    fn zero() -> [v128; 4] {
        [i32x4_splat(0); 4]
    }

    #[inline(always)]
    fn add(sums: [v128; 4], row: [u8; GROUP], columns: &[i8; LANES * GROUP]) -> [v128; 4] {
        // Seven bits, so that every engine gives the same sum.
        let row = i32x4_splat(i32::from_le_bytes(row));
        let add = |at: usize| i32x4_relaxed_dot_i8x16_i7x16_add(load(columns, at), row, sums[at]);
        [add(0), add(1), add(2), add(3)]
    }

    #[inline(always)]
    fn lanes(sums: [v128; 4]) -> [i32; LANES] {
        out_of(sums)
    }
}

/// Two columns to a register, each as two sums of two products.
#[cfg(not(target_feature = "relaxed-simd"))]
impl Dot for Simd128 {
    type Sums = [v128; 8];
    const ROWS: usize = 1;
    const PANELS: usize = 1;

    #[inline(always)]
    fn zero() -> [v128; 8] {
        [i32x4_splat(0); 8]
    }

    #[inline(always)]
    fn add(mut sums: [v128; 8], row: [u8; GROUP], columns: &[i8; LANES * GROUP]) -> [v128; 8] {
        let row = i16x8_extend_low_i8x16(i32x4_splat(i32::from_le_bytes(row)));
        for at in 0..4 {
            let columns = load(columns, at);
            let (low, high) = (i16x8_extend_low_i8x16(columns), i16x8_extend_high_i8x16(columns));
            sums[2 * at] = i32x4_add(sums[2 * at], i32x4_dot_i16x8(low, row));
            sums[2 * at + 1] = i32x4_add(sums[2 * at + 1], i32x4_dot_i16x8(high, row));
        }
        sums
    }

    #[inline(always)]
    fn lanes(sums: [v128; 8]) -> [i32; LANES] {
        let pair = |at: usize| {
            let (low, high) = (sums[2 * at], sums[2 * at + 1]);
            i32x4_add(i32x4_shuffle::<0, 2, 4, 6>(low, high), i32x4_shuffle::<1, 3, 5, 7>(low, high))
        };
        out_of([pair(0), pair(1), pair(2), pair(3)])
    }
}
