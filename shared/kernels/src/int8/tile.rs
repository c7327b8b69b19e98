//! The loop over tiles, for any way to add up products of bytes, and the plain way.

// A loop over rows and panels by number is unrolled into registers; one over iterators is not
// always.
#![allow(clippy::needless_range_loop)]

use super::{Code, Codes, GROUP, Weights};
use crate::lanes::LANES;
use crate::matrix::MatrixMut;
use crate::tiling::{Tiled, for_each_tile};
use std::marker::PhantomData;

/// A way to add up products of bytes; its functions must be `#[inline(always)]`.
pub trait Dot {
    /// The sums of one part of a panel's columns.
    type Sums: Copy;
    /// Parts into which a panel's columns are divided if there are few registers.
    const PARTS: usize = 1;
    /// Rows of the register tile, at most eight.
    const ROWS: usize;
    /// Panels of the register tile, at most three.
    const PANELS: usize;
    /// Zero sums.
    fn zero() -> Self::Sums;
    /// Adds four products to each sum of a part; codes of activations are at most 127.
    fn add(
        sums: Self::Sums,
        row: &[Code; GROUP],
        columns: &[i8; LANES * GROUP],
        part: usize,
    ) -> Self::Sums;
    /// Writes the sums of a part to their lanes.
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
    fn add(
        mut sums: Self::Sums,
        row: &[Code; GROUP],
        columns: &[i8; LANES * GROUP],
        _: usize,
    ) -> Self::Sums {
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
pub fn multiply<D: Dot>(a: &Codes, weights: Weights<'_>, out: MatrixMut<'_>) {
    let (rows, cols) = (a.rows.len(), out.cols());
    for_each_tile(
        &mut Product {
            a,
            weights,
            out,
            dot: PhantomData::<D>,
        },
        rows,
        cols,
    );
}

struct Product<'a, D> {
    a: &'a Codes,
    weights: Weights<'a>,
    out: MatrixMut<'a>,
    dot: PhantomData<D>,
}

impl<D: Dot> Tiled for Product<'_, D> {
    const ROWS: usize = D::ROWS;
    const PANELS: usize = D::PANELS;

    #[inline(always)]
    fn tile<const R: usize, const P: usize>(&mut self, row: usize, panel: usize) {
        tile::<D, R, P>(self.a, row, self.weights, panel, &mut self.out);
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
    let lanes = sums::<D, R, P>(a, row, weights.panels, first);
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
                to[at] =
                    scales[at] * (codes.step * lanes[at] as f32 + codes.low * sums[at]) + bias[at];
            }
        }
    }
}

/// The sums of `R` rows from `row` on with the columns of `P` panels from `first` on.
#[inline(always)]
fn sums<D: Dot, const R: usize, const P: usize>(
    a: &Codes,
    row: usize,
    panels: &[i8],
    first: usize,
) -> [[[i32; LANES]; P]; R] {
    let size = a.groups * LANES * GROUP;
    let rows: [&[[Code; GROUP]]; R] = std::array::from_fn(|r| &a.row(row + r)[..a.groups]);
    let panels: [&[[i8; LANES * GROUP]]; P] =
        std::array::from_fn(|p| &panels[(first + p) * size..][..size].as_chunks().0[..a.groups]);
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
    lanes
}

/// The sums alone; inlined into a function that is compiled for the instructions of `D`.
///
/// # Shapes
/// panels `[lanes / 16, groups, 16, 4]`, out `[rows, lanes]`
#[inline(always)]
pub fn sum_up<D: Dot>(a: &Codes, panels: &[i8], out: &mut [i32]) {
    let (rows, lanes) = (a.rows.len(), panels.len() / (a.groups * GROUP));
    assert!(
        lanes.is_multiple_of(LANES) && out.len() == rows * lanes,
        "expected one place for each sum"
    );
    for_each_tile(
        &mut Sums {
            a,
            panels,
            lanes,
            out,
            dot: PhantomData::<D>,
        },
        rows,
        lanes,
    );
}

struct Sums<'a, D> {
    a: &'a Codes,
    panels: &'a [i8],
    lanes: usize,
    out: &'a mut [i32],
    dot: PhantomData<D>,
}

impl<D: Dot> Tiled for Sums<'_, D> {
    const ROWS: usize = D::ROWS;
    const PANELS: usize = D::PANELS;

    #[inline(always)]
    fn tile<const R: usize, const P: usize>(&mut self, row: usize, panel: usize) {
        let sums = sums::<D, R, P>(self.a, row, self.panels, panel);
        for r in 0..R {
            let to = (row + r) * self.lanes + panel * LANES;
            self.out[to..to + P * LANES].copy_from_slice(sums[r].as_flattened());
        }
    }
}
