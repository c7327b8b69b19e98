//! The loop over tiles, for any register of sixteen floats.
//!
//! Registers are values of the processor's own types. Arrays of floats were as fast in small
//! functions and 40 times slower in large ones, where the compiler left them in memory.

// A loop over rows and panels by number is unrolled into registers; one over iterators is not
// always.
#![allow(clippy::needless_range_loop)]

use super::{LANES, Lane, Matrix, MatrixMut, Start};
use crate::tiling::{Tiled, for_each_tile};
use std::marker::PhantomData;

/// Sixteen floats in registers; its functions must be `#[inline(always)]`.
pub trait Vector {
    /// The registers.
    type Sixteen: Copy;
    /// Rows of the register tile, at most eight.
    const ROWS: usize;
    /// Panels of the register tile, at most three.
    const PANELS: usize;
    /// Whether a product and a sum are one instruction.
    const FUSED: bool;
    /// Reads them.
    fn load(from: &Lane) -> Self::Sixteen;
    /// Writes them.
    fn store(value: Self::Sixteen, to: &mut Lane);
    /// sum + x × b
    fn add(sum: Self::Sixteen, x: f32, b: Self::Sixteen) -> Self::Sixteen;
}

/// Plain Rust, for other targets and as the reference of tests.
pub struct Plain;

impl Vector for Plain {
    type Sixteen = Lane;
    const ROWS: usize = 1;
    const PANELS: usize = 1;
    const FUSED: bool = false;

    #[inline(always)]
    fn load(from: &Lane) -> Lane {
        *from
    }

    #[inline(always)]
    fn store(value: Lane, to: &mut Lane) {
        *to = value;
    }

    #[inline(always)]
    fn add(mut sum: Lane, x: f32, b: Lane) -> Lane {
        for lane in 0..LANES {
            sum[lane] += x * b[lane];
        }
        sum
    }
}

/// The whole product; inlined into a function that is compiled for the registers of `V`.
#[inline(always)]
pub fn multiply<V: Vector>(a: Matrix<'_>, panels: &[f32], start: Start<'_>, out: MatrixMut<'_>) {
    let (rows, cols) = (a.rows, out.cols());
    let mut product = Product {
        a,
        panels,
        start,
        out,
        registers: PhantomData::<V>,
    };
    for_each_tile(&mut product, rows, cols);
}

struct Product<'a, V> {
    a: Matrix<'a>,
    panels: &'a [f32],
    start: Start<'a>,
    out: MatrixMut<'a>,
    registers: PhantomData<V>,
}

impl<V: Vector> Tiled for Product<'_, V> {
    const ROWS: usize = V::ROWS;
    const PANELS: usize = V::PANELS;

    #[inline(always)]
    fn tile<const R: usize, const P: usize>(&mut self, row: usize, panel: usize) {
        let Self {
            a,
            panels,
            start,
            out,
            ..
        } = self;
        let body = &panels[panel * a.cols * LANES..][..P * a.cols * LANES];
        tile::<V, R, P>(a, row, body, panel, *start, out);
    }
}

#[inline(always)]
fn tile<V: Vector, const R: usize, const P: usize>(
    a: &Matrix<'_>,
    row: usize,
    body: &[f32],
    first: usize,
    start: Start<'_>,
    out: &mut MatrixMut<'_>,
) {
    let (k, left) = (a.cols, first * LANES);
    let right = out.cols().min(left + P * LANES);
    let mut values = [[[0.0f32; LANES]; P]; R];
    match start {
        Start::Zero => {}
        Start::Bias(bias) => values.fill(read(&bias[left..right])),
        Start::Sum => {
            for (r, values) in values.iter_mut().enumerate() {
                *values = read(&out.row(row + r)[left..right]);
            }
        }
    }
    let panels: [&[Lane]; P] = std::array::from_fn(|p| {
        &body[p * k * LANES..(p + 1) * k * LANES]
            .as_chunks::<LANES>()
            .0[..k]
    });
    if a.col_stride == 1 {
        let rows: [&[f32]; R] = std::array::from_fn(|r| &a.data[(row + r) * a.row_stride..][..k]);
        let mut sums: [[V::Sixteen; P]; R] = load::<V, R, P>(&values);
        for at in 0..k {
            let b = panel_row::<V, P>(&panels, at);
            for r in 0..R {
                for p in 0..P {
                    sums[r][p] = V::add(sums[r][p], rows[r][at], b[p]);
                }
            }
        }
        store::<V, R, P>(sums, &mut values);
    } else {
        let mut sums: [[V::Sixteen; P]; R] = load::<V, R, P>(&values);
        for at in 0..k {
            let column: &[f32] = &a.data[at * a.col_stride + row..][..R];
            let b = panel_row::<V, P>(&panels, at);
            for r in 0..R {
                for p in 0..P {
                    sums[r][p] = V::add(sums[r][p], column[r], b[p]);
                }
            }
        }
        store::<V, R, P>(sums, &mut values);
    }
    for (r, values) in values.iter().enumerate() {
        let to = &mut out.row(row + r)[left..right];
        if to.len() == P * LANES
            && let Ok(whole) = <&mut [Lane; P]>::try_from(to.as_chunks_mut::<LANES>().0)
        {
            *whole = *values;
        } else {
            to.copy_from_slice(&values.as_flattened()[..to.len()]);
        }
    }
}

/// Row `at` of each panel. It is read before the rows of A, so that at most one of their values is
/// in a register.
#[inline(always)]
fn panel_row<V: Vector, const P: usize>(panels: &[&[Lane]; P], at: usize) -> [V::Sixteen; P] {
    let mut b = [V::load(&panels[0][at]); P];
    for p in 1..P {
        b[p] = V::load(&panels[p][at]);
    }
    b
}

/// The values, padded with zeros.
#[inline(always)]
fn read<const P: usize>(from: &[f32]) -> [Lane; P] {
    // A few instructions copy whole panels, a call copies a part of one.
    if let Ok(whole) = <&[Lane; P]>::try_from(from.as_chunks::<LANES>().0)
        && from.len() == P * LANES
    {
        return *whole;
    }
    let mut values = [[0.0; LANES]; P];
    values.as_flattened_mut()[..from.len()].copy_from_slice(from);
    values
}

#[inline(always)]
pub fn load<V: Vector, const R: usize, const P: usize>(
    values: &[[Lane; P]; R],
) -> [[V::Sixteen; P]; R] {
    let mut sums = [[V::load(&[0.0; LANES]); P]; R];
    for r in 0..R {
        for p in 0..P {
            sums[r][p] = V::load(&values[r][p]);
        }
    }
    sums
}

#[inline(always)]
pub fn store<V: Vector, const R: usize, const P: usize>(
    sums: [[V::Sixteen; P]; R],
    values: &mut [[Lane; P]; R],
) {
    for r in 0..R {
        for p in 0..P {
            V::store(sums[r][p], &mut values[r][p]);
        }
    }
}
