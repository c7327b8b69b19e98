//! The loop over tiles, for any way to add up products of bytes, and the plain way.

// A loop over rows and panels by number is unrolled into registers; one over iterators is not always.
#![allow(clippy::needless_range_loop)]

use super::{Code, Codes, GROUP, Weights};
use crate::kernels::lanes::LANES;
use crate::kernels::matrix::MatrixMut;

/// A way to add up products of bytes; its functions must be `#[inline(always)]`.
pub trait Dot {
    /// The sums of one part of a panel's columns.
    type Sums: Copy;
    /// Parts that a panel's columns are worked on in, where there are few registers.
    const PARTS: usize = 1;
    /// Rows of the register tile, at most eight.
    const ROWS: usize;
    /// Panels of the register tile, at most three.
    const PANELS: usize;
    /// Sums of nothing.
    fn zero() -> Self::Sums;
    /// Adds four products to each sum of a part; codes of activations are at most 127.
    fn add(sums: Self::Sums, row: &[Code; GROUP], columns: &[i8; LANES * GROUP], part: usize) -> Self::Sums;
    /// Puts the sums of a part into their places.
    fn lanes(sums: Self::Sums, part: usize, to: &mut [i32; LANES]);
}

/// Plain Rust.
pub struct Plain;

impl Dot for Plain {
    type Sums = [i32; LANES];
    const ROWS: usize = 1;
    const PANELS: usize = 1;

    #[inline(always)]
    fn zero() -> Self::Sums {
        [0; LANES]
    }

    #[inline(always)]
    fn add(mut sums: Self::Sums, row: &[Code; GROUP], columns: &[i8; LANES * GROUP], _: usize) -> Self::Sums {
        for lane in 0..LANES {
            for at in 0..GROUP {
                sums[lane] += i32::from(row[at]) * i32::from(columns[lane * GROUP + at]);
            }
        }
        sums
    }

    #[inline(always)]
    fn lanes(sums: Self::Sums, _: usize, to: &mut [i32; LANES]) {
        *to = sums;
    }
}

/// The whole product; inlined into a function that is compiled for the instructions of `D`.
#[inline(always)]
pub fn multiply<D: Dot>(a: &Codes, weights: Weights<'_>, mut out: MatrixMut<'_>) {
    let panels = out.cols().div_ceil(LANES);
    let mut first = 0;
    while first < panels {
        let left = panels - first;
        let take = if left == 4 { D::PANELS.min(2) } else { D::PANELS.min(left) };
        match take {
            3 => columns::<D, 3>(a, weights, first, &mut out),
            2 => columns::<D, 2>(a, weights, first, &mut out),
            _ => columns::<D, 1>(a, weights, first, &mut out),
        }
        first += take;
    }
}

#[inline(always)]
fn columns<D: Dot, const P: usize>(a: &Codes, weights: Weights<'_>, first: usize, out: &mut MatrixMut<'_>) {
    if P > D::PANELS {
        return;
    }
    let mut row = 0;
    while row < a.rows.len() {
        let left = a.rows.len() - row;
        let take = if left > D::ROWS && left < 2 * D::ROWS { left.div_ceil(2) } else { left.min(D::ROWS) };
        match take {
            1 => tile::<D, 1, P>(a, row, weights, first, out),
            2 => tile::<D, 2, P>(a, row, weights, first, out),
            3 => tile::<D, 3, P>(a, row, weights, first, out),
            4 => tile::<D, 4, P>(a, row, weights, first, out),
            5 => tile::<D, 5, P>(a, row, weights, first, out),
            6 => tile::<D, 6, P>(a, row, weights, first, out),
            7 => tile::<D, 7, P>(a, row, weights, first, out),
            _ => tile::<D, 8, P>(a, row, weights, first, out),
        }
        row += take;
    }
}

#[inline(always)]
fn tile<D: Dot, const R: usize, const P: usize>(
    a: &Codes,
    row: usize,
    weights: Weights<'_>,
    first: usize,
    out: &mut MatrixMut<'_>,
) {
    if R > D::ROWS {
        return;
    }
    let size = a.groups * LANES * GROUP;
    let rows: [&[[Code; GROUP]]; R] = std::array::from_fn(|r| &a.row(row + r)[..a.groups]);
    let panels: [&[[i8; LANES * GROUP]]; P] =
        std::array::from_fn(|p| &weights.panels[(first + p) * size..][..size].as_chunks().0[..a.groups]);
    let mut lanes = [[[0; LANES]; P]; R];
    for part in 0..D::PARTS {
        let mut sums = [[D::zero(); P]; R];
        for at in 0..a.groups {
            for r in 0..R {
                let codes = &rows[r][at];
                for p in 0..P {
                    sums[r][p] = D::add(sums[r][p], codes, &panels[p][at], part);
                }
            }
        }
        for r in 0..R {
            for p in 0..P {
                D::lanes(sums[r][p], part, &mut lanes[r][p]);
            }
        }
    }
    for r in 0..R {
        let codes = a.rows[row + r];
        for p in 0..P {
            let lanes = &lanes[r][p];
            let left = (first + p) * LANES;
            let right = out.cols().min(left + LANES);
            let to = &mut out.row(row + r)[left..right];
            let (scales, sums) = (&weights.scales[left..right], &weights.sums[left..right]);
            let bias = &weights.bias[left..right];
            for at in 0..to.len() {
                to[at] = scales[at] * (codes.step * lanes[at] as f32 + codes.low * sums[at]) + bias[at];
            }
        }
    }
}
