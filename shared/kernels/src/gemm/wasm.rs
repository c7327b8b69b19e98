//! Registers of wasm's SIMD; compiled only where the target has it.
#![allow(unsafe_code)]

use super::Lane;
use super::tile::Vector;
use std::arch::wasm32::*;

/// Four registers.
pub struct Simd128;

impl Vector for Simd128 {
    type Sixteen = [v128; 4];
    // Eight sums, four columns and a row fit into the sixteen registers of x86-64. With three rows
    // some were in memory.
    const ROWS: usize = 2;
    const PANELS: usize = 1;
    const FUSED: bool = false;

    #[inline(always)]
    fn load(from: &Lane) -> [v128; 4] {
        let from: *const v128 = from.as_ptr().cast();
        // SAFETY: sixteen floats are four loads; wasm's need not be aligned.
        unsafe {
            [
                v128_load(from),
                v128_load(from.add(1)),
                v128_load(from.add(2)),
                v128_load(from.add(3)),
            ]
        }
    }

    #[inline(always)]
    fn store(value: [v128; 4], to: &mut Lane) {
        let to: *mut v128 = to.as_mut_ptr().cast();
        for (at, four) in value.into_iter().enumerate() {
            // SAFETY: sixteen floats are four stores; wasm's need not be aligned.
            unsafe { v128_store(to.add(at), four) }
        }
    }

    #[inline(always)]
    fn add(sum: [v128; 4], x: f32, b: [v128; 4]) -> [v128; 4] {
        let x = f32x4_splat(x);
        let add = |at: usize| f32x4_add(sum[at], f32x4_mul(x, b[at]));
        [add(0), add(1), add(2), add(3)]
    }
}
