//! Sums of products of bytes by wasm's SIMD; compiled only where the target has it.
//!
//! An engine has sixteen registers on x86: a panel's columns are taken four at a time, for four
//! rows.
#![allow(unsafe_code)]

use super::tile::Dot;
use super::{Code, GROUP};
use crate::lanes::LANES;
use std::arch::wasm32::*;

/// Sixteen-bit products, or relaxed SIMD's dot products of bytes where the target has them.
pub struct Simd128;

/// Four columns.
#[inline(always)]
fn load(columns: &[i8; LANES * GROUP], part: usize) -> v128 {
    // SAFETY: 64 bytes are four loads; wasm's need not be aligned.
    unsafe { v128_load(columns.as_ptr().cast::<v128>().add(part)) }
}

#[inline(always)]
fn put(sums: v128, part: usize, to: &mut [i32; LANES]) {
    // SAFETY: sixteen integers are four stores; wasm's need not be aligned.
    unsafe { v128_store(to.as_mut_ptr().cast::<v128>().add(part), sums) }
}

#[cfg(target_feature = "relaxed-simd")]
impl Dot for Simd128 {
    type Sums = v128;
    const PARTS: usize = 4;
    // Engines spend up to three registers on an instruction; eight rows did not fit beside them.
    const ROWS: usize = 6;
    const PANELS: usize = 1;

    #[inline(always)]
    fn zero() -> v128 {
        i32x4_splat(0)
    }

    #[inline(always)]
    fn add(sums: v128, row: &[Code; GROUP], columns: &[i8; LANES * GROUP], part: usize) -> v128 {
        // Seven bits, so that every engine gives the same sum.
        i32x4_relaxed_dot_i8x16_i7x16_add(
            load(columns, part),
            i32x4_splat(i32::from_le_bytes(*row)),
            sums,
        )
    }

    #[inline(always)]
    fn lanes(sums: v128, part: usize, to: &mut [i32; LANES]) {
        put(sums, part, to);
    }
}

/// Each sum as two sums of two products.
#[cfg(not(target_feature = "relaxed-simd"))]
impl Dot for Simd128 {
    type Sums = [v128; 2];
    const PARTS: usize = 4;
    const ROWS: usize = 4;
    const PANELS: usize = 1;

    #[inline(always)]
    fn zero() -> [v128; 2] {
        [i32x4_splat(0); 2]
    }

    #[inline(always)]
    fn add(
        sums: [v128; 2],
        row: &[Code; GROUP],
        columns: &[i8; LANES * GROUP],
        part: usize,
    ) -> [v128; 2] {
        let columns = load(columns, part);
        // SAFETY: four numbers of 16 bits are one load of 64; wasm's need not be aligned.
        let row = unsafe { v128_load64_splat(row.as_ptr().cast()) };
        let (low, high) = (
            i16x8_extend_low_i8x16(columns),
            i16x8_extend_high_i8x16(columns),
        );
        [
            i32x4_add(sums[0], i32x4_dot_i16x8(low, row)),
            i32x4_add(sums[1], i32x4_dot_i16x8(high, row)),
        ]
    }

    #[inline(always)]
    fn lanes(sums: [v128; 2], part: usize, to: &mut [i32; LANES]) {
        let [low, high] = sums;
        put(
            i32x4_add(
                i32x4_shuffle::<0, 2, 4, 6>(low, high),
                i32x4_shuffle::<1, 3, 5, 7>(low, high),
            ),
            part,
            to,
        );
    }
}
