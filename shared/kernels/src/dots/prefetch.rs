//! Prefetching of rows. `unsafe` because the instruction takes a pointer.
#![cfg_attr(target_arch = "x86_64", allow(unsafe_code))]

/// Prefetches a slice into the level-1 cache on x86; does nothing on other processors.
#[inline(always)]
pub fn prefetch<T>(values: &[T]) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        let start = values.as_ptr().cast::<i8>();
        for at in (0..size_of_val(values)).step_by(64) {
            // SAFETY: a prefetch reads nothing that the program sees; the place is within the slice
            // all the same.
            unsafe { _mm_prefetch::<_MM_HINT_T0>(start.add(at)) };
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = values;
}
