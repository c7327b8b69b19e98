//! Sums of products of bytes by AVX2, AVX-VNNI and AVX-512 VNNI. `unsafe` because the processor
//! must have the instructions, which `dispatch!` checks.
#![allow(unsafe_code)]

use super::tile::Dot;
use super::{Code, GROUP};
use crate::lanes::LANES;
use std::arch::x86_64::*;

/// Two registers, and products of 16 bits on the way.
pub struct Avx2;
/// Two registers.
pub struct AvxVnni;
/// One register.
pub struct Avx512Vnni;

#[inline(always)]
fn halves(columns: &[i8; LANES * GROUP]) -> [__m256i; 2] {
    let from: *const __m256i = columns.as_ptr().cast();
    // SAFETY: 64 bytes are two loads of 32, unaligned ones; called only where AVX2 is there.
    unsafe { [_mm256_loadu_si256(from), _mm256_loadu_si256(from.add(1))] }
}

#[inline(always)]
fn joined(sums: [__m256i; 2]) -> [i32; LANES] {
    // SAFETY: both are sixteen integers of 32 bits.
    unsafe { std::mem::transmute::<[__m256i; 2], [i32; LANES]>(sums) }
}

impl Dot for Avx2 {
    type Sums = [__m256i; 2];
    const ROWS: usize = 4;
    const PANELS: usize = 1;

    #[inline(always)]
    fn zero() -> Self::Sums {
        // SAFETY: called only where AVX2 is there.
        unsafe { [_mm256_setzero_si256(); 2] }
    }

    #[inline(always)]
    fn add(
        sums: Self::Sums,
        row: &[Code; GROUP],
        columns: &[i8; LANES * GROUP],
        _: usize,
    ) -> Self::Sums {
        let columns = halves(columns);
        // SAFETY: called only where AVX2 is there. Two products are at most 2 * 127 * 127, which 16
        // bits hold.
        unsafe {
            let row = _mm256_set1_epi32(i32::from_le_bytes(*row));
            let ones = _mm256_set1_epi16(1);
            let pairs = [
                _mm256_maddubs_epi16(row, columns[0]),
                _mm256_maddubs_epi16(row, columns[1]),
            ];
            [
                _mm256_add_epi32(sums[0], _mm256_madd_epi16(pairs[0], ones)),
                _mm256_add_epi32(sums[1], _mm256_madd_epi16(pairs[1], ones)),
            ]
        }
    }

    #[inline(always)]
    fn lanes(sums: Self::Sums, _: usize, to: &mut [i32; LANES]) {
        *to = joined(sums);
    }
}

impl Dot for AvxVnni {
    type Sums = [__m256i; 2];
    const ROWS: usize = 6;
    const PANELS: usize = 1;

    #[inline(always)]
    fn zero() -> Self::Sums {
        Avx2::zero()
    }

    #[inline(always)]
    fn add(
        sums: Self::Sums,
        row: &[Code; GROUP],
        columns: &[i8; LANES * GROUP],
        _: usize,
    ) -> Self::Sums {
        let columns = halves(columns);
        // SAFETY: called only where AVX-VNNI is there.
        unsafe {
            let row = _mm256_set1_epi32(i32::from_le_bytes(*row));
            [
                _mm256_dpbusd_avx_epi32(sums[0], row, columns[0]),
                _mm256_dpbusd_avx_epi32(sums[1], row, columns[1]),
            ]
        }
    }

    #[inline(always)]
    fn lanes(sums: Self::Sums, _: usize, to: &mut [i32; LANES]) {
        *to = joined(sums);
    }
}

impl Dot for Avx512Vnni {
    type Sums = __m512i;
    const ROWS: usize = 8;
    const PANELS: usize = 3;

    #[inline(always)]
    fn zero() -> Self::Sums {
        // SAFETY: called only where AVX-512 is there.
        unsafe { _mm512_setzero_si512() }
    }

    #[inline(always)]
    fn add(
        sums: Self::Sums,
        row: &[Code; GROUP],
        columns: &[i8; LANES * GROUP],
        _: usize,
    ) -> Self::Sums {
        // SAFETY: called only where AVX-512 VNNI is there; 64 bytes are one load, an unaligned one.
        unsafe {
            let columns = _mm512_loadu_si512(columns.as_ptr().cast());
            _mm512_dpbusd_epi32(sums, _mm512_set1_epi32(i32::from_le_bytes(*row)), columns)
        }
    }

    #[inline(always)]
    fn lanes(sums: Self::Sums, _: usize, to: &mut [i32; LANES]) {
        // SAFETY: both are sixteen integers of 32 bits.
        *to = unsafe { std::mem::transmute::<__m512i, [i32; LANES]>(sums) };
    }
}
