//! Hand-vectorised and parallel inner loops: the one room with `cfg(target_arch)`, `unsafe` and threads.
//!
//! Each has a plain fallback, and tests that both agree. Float sums are taken in lanes, so that the plain loop and the
//! vector loop add in nearly the same order; results may differ in the last bits between processors.

mod parallel;
mod plain;
#[cfg(target_arch = "x86_64")]
mod x86;

pub use parallel::{for_each_chunk, on_one_thread};

/// Dot products of one query with consecutive rows: `out[r] = rows[r] · query`.
///
/// # Shapes
/// query `[dim]`, rows `[n, dim]`, out `[n]`
///
/// # Panics
/// If the sizes disagree.
pub fn dot_f32(query: &[f32], rows: &[f32], out: &mut [f32]) {
    check(query.len(), rows.len(), out.len());
    #[cfg(target_arch = "x86_64")]
    if x86::available() {
        return x86::dot_f32(query, rows, out);
    }
    plain::dot_f32(query, rows, out);
}

/// Dot products of one quantised query with consecutive quantised rows; sums are exact in i32 up to a dimension of 133,000.
///
/// # Shapes
/// query `[dim]`, rows `[n, dim]`, out `[n]`
///
/// # Panics
/// If the sizes disagree.
pub fn dot_i8(query: &[i8], rows: &[i8], out: &mut [i32]) {
    check(query.len(), rows.len(), out.len());
    #[cfg(target_arch = "x86_64")]
    if x86::available() {
        return x86::dot_i8(query, rows, out);
    }
    plain::dot_i8(query, rows, out);
}

fn check(dim: usize, values: usize, rows: usize) {
    assert!(dim > 0 && values == dim * rows, "{rows} rows of {dim} values need {}, found {values}", dim * rows);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_dot_product_by_hand() {
        let (mut floats, mut ints) = ([0.0; 2], [0; 2]);
        dot_f32(&[1.0, 2.0, 3.0], &[4.0, 5.0, 6.0, -1.0, 0.0, 1.0], &mut floats);
        dot_i8(&[1, 2, 3], &[4, 5, 6, -127, 0, 127], &mut ints);
        assert_eq!((floats, ints), ([32.0, 2.0], [32, 254]));
    }

    #[test]
    fn extremes_do_not_overflow() {
        let mut out = [0];
        dot_i8(&[-127; 4096], &[127; 4096], &mut out);
        assert_eq!(out, [-127 * 127 * 4096]);
    }

    #[test]
    fn nan_and_infinity_come_through() {
        for bad in [f32::NAN, f32::INFINITY] {
            let mut row = vec![1.0; 37];
            row[36] = bad;
            let mut out = [0.0];
            dot_f32(&[1.0; 37], &row, &mut out);
            assert!(!out[0].is_finite());
        }
    }

    proptest! {
        #[test]
        fn fast_and_plain_agree(dim in 1usize..200, rows in 1usize..9, seed in any::<u64>()) {
            let mut state = seed;
            let mut next = || {
                state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                (state >> 33) as u32
            };
            let codes = |n: usize, next: &mut dyn FnMut() -> u32| (0..n).map(|_| (next() % 255) as i32 as u8 as i8).map(|c| c.max(-127)).collect::<Vec<i8>>();
            let (q, r) = (codes(dim, &mut next), codes(dim * rows, &mut next));
            let (mut fast, mut slow) = (vec![0; rows], vec![0; rows]);
            dot_i8(&q, &r, &mut fast);
            plain::dot_i8(&q, &r, &mut slow);
            prop_assert_eq!(fast, slow);

            let floats = |codes: &[i8]| codes.iter().map(|c| f32::from(*c) / 97.0).collect::<Vec<f32>>();
            let (q, r) = (floats(&q), floats(&r));
            let (mut fast, mut slow) = (vec![0.0; rows], vec![0.0; rows]);
            dot_f32(&q, &r, &mut fast);
            plain::dot_f32(&q, &r, &mut slow);
            for (fast, slow) in fast.iter().zip(&slow) {
                prop_assert!((fast - slow).abs() <= 1e-5 * dim as f32);
            }
        }
    }
}
