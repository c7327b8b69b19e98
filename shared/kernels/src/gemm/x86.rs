//! Registers of SSE2, AVX2 and AVX-512. `unsafe` because the processor must have the instructions,
//! which `dispatch!` checks.
#![allow(unsafe_code)]

use super::Lane;
use super::tile::Vector;
use std::arch::x86_64::*;

/// Four registers, which every x86-64 processor has.
pub struct Sse2;
/// Two registers.
pub struct Avx2;
/// One register.
pub struct Avx512;

impl Vector for Sse2 {
    type Sixteen = [__m128; 4];
    const ROWS: usize = 3;
    const PANELS: usize = 1;
    const FUSED: bool = false;

    #[inline(always)]
    fn load(from: &Lane) -> [__m128; 4] {
        let from = from.as_ptr();
        // SAFETY: sixteen floats are four loads, unaligned ones.
        unsafe {
            [
                _mm_loadu_ps(from),
                _mm_loadu_ps(from.add(4)),
                _mm_loadu_ps(from.add(8)),
                _mm_loadu_ps(from.add(12)),
            ]
        }
    }

    #[inline(always)]
    fn store(value: [__m128; 4], to: &mut Lane) {
        let to = to.as_mut_ptr();
        for (at, four) in value.into_iter().enumerate() {
            // SAFETY: sixteen floats are four stores, unaligned ones.
            unsafe { _mm_storeu_ps(to.add(4 * at), four) }
        }
    }

    #[inline(always)]
    fn add(sum: [__m128; 4], x: f32, b: [__m128; 4]) -> [__m128; 4] {
        let add = |at: usize| {
            // SAFETY: every x86-64 processor has SSE2.
            unsafe { _mm_add_ps(sum[at], _mm_mul_ps(_mm_set1_ps(x), b[at])) }
        };
        [add(0), add(1), add(2), add(3)]
    }
}

impl Vector for Avx2 {
    type Sixteen = [__m256; 2];
    const ROWS: usize = 6;
    const PANELS: usize = 1;
    const FUSED: bool = true;

    #[inline(always)]
    fn load(from: &Lane) -> [__m256; 2] {
        // SAFETY: sixteen floats are two loads, unaligned ones; called only where AVX2 is there.
        unsafe {
            [
                _mm256_loadu_ps(from.as_ptr()),
                _mm256_loadu_ps(from.as_ptr().add(8)),
            ]
        }
    }

    #[inline(always)]
    fn store(value: [__m256; 2], to: &mut Lane) {
        // SAFETY: sixteen floats are two stores, unaligned ones; called only where AVX2 is there.
        unsafe {
            _mm256_storeu_ps(to.as_mut_ptr(), value[0]);
            _mm256_storeu_ps(to.as_mut_ptr().add(8), value[1]);
        }
    }

    #[inline(always)]
    fn add(sum: [__m256; 2], x: f32, b: [__m256; 2]) -> [__m256; 2] {
        // SAFETY: called only where AVX2 and FMA are there.
        unsafe {
            let x = _mm256_set1_ps(x);
            [
                _mm256_fmadd_ps(x, b[0], sum[0]),
                _mm256_fmadd_ps(x, b[1], sum[1]),
            ]
        }
    }
}

impl Vector for Avx512 {
    type Sixteen = __m512;
    const ROWS: usize = 8;
    const PANELS: usize = 3;
    const FUSED: bool = true;

    #[inline(always)]
    fn load(from: &Lane) -> __m512 {
        // SAFETY: sixteen floats are one load, an unaligned one; called only where AVX-512 is
        // there.
        unsafe { _mm512_loadu_ps(from.as_ptr()) }
    }

    #[inline(always)]
    fn store(value: __m512, to: &mut Lane) {
        // SAFETY: sixteen floats are one store, an unaligned one; called only where AVX-512 is
        // there.
        unsafe { _mm512_storeu_ps(to.as_mut_ptr(), value) }
    }

    #[inline(always)]
    fn add(sum: __m512, x: f32, b: __m512) -> __m512 {
        // SAFETY: called only where AVX-512 is there.
        unsafe { _mm512_fmadd_ps(_mm512_set1_ps(x), b, sum) }
    }
}
