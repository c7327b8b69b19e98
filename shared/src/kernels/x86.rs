//! AVX2 and FMA loops; `unsafe` because the instructions must be there, which [`available`] has checked.
#![allow(unsafe_code)]

use std::arch::x86_64::*;

/// Whether this processor has AVX2 and FMA.
pub fn available() -> bool {
    is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma")
}

/// See [`super::dot_f32`]. Call only when [`available`].
pub fn dot_f32(query: &[f32], rows: &[f32], out: &mut [f32]) {
    debug_assert!(available());
    for (row, out) in rows.chunks_exact(query.len()).zip(out) {
        // SAFETY: the processor has AVX2 and FMA; both slices have the same length.
        *out = unsafe { dot_f32_row(query, row) };
    }
}

/// See [`super::dot_i8`]. Call only when [`available`].
pub fn dot_i8(query: &[i8], rows: &[i8], out: &mut [i32]) {
    debug_assert!(available());
    for (row, out) in rows.chunks_exact(query.len()).zip(out) {
        // SAFETY: the processor has AVX2; both slices have the same length.
        *out = unsafe { dot_i8_row(query, row) };
    }
}

#[target_feature(enable = "avx2,fma")]
unsafe fn dot_f32_row(query: &[f32], row: &[f32]) -> f32 {
    let whole = query.len() / 16 * 16;
    let (mut low, mut high) = (_mm256_setzero_ps(), _mm256_setzero_ps());
    for at in (0..whole).step_by(16) {
        // SAFETY: at + 16 <= whole <= the length of both slices; the loads are unaligned ones.
        unsafe {
            let (q, r) = (query.as_ptr().add(at), row.as_ptr().add(at));
            low = _mm256_fmadd_ps(_mm256_loadu_ps(q), _mm256_loadu_ps(r), low);
            high = _mm256_fmadd_ps(_mm256_loadu_ps(q.add(8)), _mm256_loadu_ps(r.add(8)), high);
        }
    }
    let mut lanes = [0.0f32; 8];
    // SAFETY: eight floats fit into the array.
    unsafe { _mm256_storeu_ps(lanes.as_mut_ptr(), _mm256_add_ps(low, high)) };
    let rest: f32 = query[whole..].iter().zip(&row[whole..]).map(|(q, r)| q * r).sum();
    lanes.iter().sum::<f32>() + rest
}

#[target_feature(enable = "avx2")]
unsafe fn dot_i8_row(query: &[i8], row: &[i8]) -> i32 {
    let whole = query.len() / 32 * 32;
    let mut sum = _mm256_setzero_si256();
    for at in (0..whole).step_by(16) {
        // SAFETY: at + 16 <= whole <= the length of both slices; the loads are unaligned ones.
        let (q, r) = unsafe {
            let load = |slice: &[i8]| _mm256_cvtepi8_epi16(_mm_loadu_si128(slice.as_ptr().add(at).cast()));
            (load(query), load(row))
        };
        sum = _mm256_add_epi32(sum, _mm256_madd_epi16(q, r));
    }
    let mut lanes = [0i32; 8];
    // SAFETY: eight integers fit into the array.
    unsafe { _mm256_storeu_si256(lanes.as_mut_ptr().cast(), sum) };
    let rest: i32 = query[whole..].iter().zip(&row[whole..]).map(|(q, r)| i32::from(*q) * i32::from(*r)).sum();
    lanes.iter().sum::<i32>() + rest
}
