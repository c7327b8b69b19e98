//! Dot products of one query with rows named by number, and fetching such rows before they are wanted.
//!
//! A search through a graph waits for memory: rows lie anywhere, sixteen of them are on their way at once here.
//! `unsafe` because the instructions must be there, which [`super::Road`] has checked.
#![cfg_attr(target_arch = "x86_64", allow(unsafe_code))]

#[cfg(target_arch = "x86_64")]
use super::{Kind, avx512};
use super::{Road, check, one_f32, one_i8};

/// Dot products of a quantised query with the rows of these numbers; `sum` is the sum of the query's codes.
///
/// # Shapes
/// query `[dim]`, rows `[n, dim]`, numbers `[m]` below n, out `[m]`
///
/// # Panics
/// If the sizes disagree or there is no such row.
pub(super) fn i8_at(road: Road, query: &[i8], sum: i32, rows: &[i8], numbers: &[u32], out: &mut [i32]) {
    check_numbers(query.len(), rows.len(), numbers, out.len());
    #[cfg(target_arch = "x86_64")]
    if road.0 == Kind::Avx512 {
        return avx512::dot_i8_at(query, sum, rows, numbers, out);
    }
    for (number, out) in numbers.iter().zip(out) {
        one_i8(road, query, sum, row(rows, *number, query.len()), std::slice::from_mut(out));
    }
}

/// Dot products of a query with the rows of these numbers, each as [`super::dot_f32`] has it.
///
/// # Shapes
/// query `[dim]`, rows `[n, dim]`, numbers `[m]` below n, out `[m]`
///
/// # Panics
/// If the sizes disagree or there is no such row.
pub fn dot_f32_at(query: &[f32], rows: &[f32], numbers: &[u32], out: &mut [f32]) {
    f32_at(Road::best(), query, rows, numbers, out);
}

pub(super) fn f32_at(road: Road, query: &[f32], rows: &[f32], numbers: &[u32], out: &mut [f32]) {
    check_numbers(query.len(), rows.len(), numbers, out.len());
    #[cfg(target_arch = "x86_64")]
    if road.0 == Kind::Avx512 {
        return avx512::dot_f32_at(query, rows, numbers, out);
    }
    for (number, out) in numbers.iter().zip(out) {
        one_f32(road, query, row(rows, *number, query.len()), std::slice::from_mut(out));
    }
}

/// Asks the processor to fetch a slice into its nearest cache, where it can be asked; changes nothing else.
#[inline(always)]
pub fn prefetch<T>(values: &[T]) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        let start = values.as_ptr().cast::<i8>();
        for at in (0..size_of_val(values)).step_by(64) {
            // SAFETY: a prefetch reads nothing that the program sees; the place is within the slice all the same.
            unsafe { _mm_prefetch::<_MM_HINT_T0>(start.add(at)) };
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = values;
}

fn row<T>(rows: &[T], number: u32, dim: usize) -> &[T] {
    &rows[number as usize * dim..][..dim]
}

fn check_numbers(dim: usize, values: usize, numbers: &[u32], out: usize) {
    assert_eq!(numbers.len(), out, "room for every product");
    check(dim, values, values / dim.max(1));
}
