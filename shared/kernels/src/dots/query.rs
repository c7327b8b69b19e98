//! Dot products of one query with consecutive or numbered rows.
//!
//! A graph search is bound by the latency of memory. With AVX-512, sixteen rows are therefore in
//! flight at once.

use super::loops::{Dots, with_dots};
use super::rows::{Consecutive, Numbered, Rows};
use crate::isa::{Isa, Supported};

/// Dot products of one query with consecutive rows: `out[r] = rows[r] · query`.
///
/// # Shapes
/// query `[dim]`, rows `[n, dim]`, out `[n]`
///
/// # Panics
/// If the sizes disagree.
pub fn dot_f32(query: &[f32], rows: &[f32], out: &mut [f32]) {
    floats(Isa::best(), query, rows, out);
}

/// Dot products of one quantised query with consecutive quantised rows; sums are exact in i32 up to
/// a dimension of 131,071.
///
/// # Shapes
/// query `[dim]`, rows `[n, dim]`, out `[n]`
///
/// # Panics
/// If the sizes disagree.
pub fn dot_i8(query: &[i8], rows: &[i8], out: &mut [i32]) {
    bytes(Isa::best(), query, sum(query), rows, out);
}

/// Dot products of a query with the rows of these numbers, each equal to that of [`dot_f32`].
///
/// # Shapes
/// query `[dim]`, rows `[n, dim]`, numbers `[m]` below n, out `[m]`
///
/// # Panics
/// If the sizes disagree or there is no such row.
pub fn dot_f32_at(query: &[f32], rows: &[f32], numbers: &[u32], out: &mut [f32]) {
    floats_at(Isa::best(), query, rows, numbers, out);
}

/// The product of two rows of codes; `sum` is the sum of `query`'s.
///
/// # Panics
/// If the sizes disagree.
#[inline]
pub fn dot_i8_row(isa: Supported, query: &[i8], sum: i32, row: &[i8]) -> i32 {
    assert!(query.len() == row.len(), "rows of one length");
    with_dots!(isa, byte_row(query: &[i8], sum: i32, row: &[i8]) -> i32)
}

/// One quantised query.
#[derive(Clone, Debug)]
pub struct QueryI8 {
    isa: Supported,
    codes: Vec<i8>,
    sum: i32,
}

impl QueryI8 {
    /// # Shapes
    /// codes `[dim]`
    pub fn new(codes: Vec<i8>) -> Self {
        Self {
            isa: Isa::best().supported(),
            sum: sum(&codes),
            codes,
        }
    }

    /// The codes.
    pub fn codes(&self) -> &[i8] {
        &self.codes
    }

    /// The dot product with one row.
    ///
    /// # Panics
    /// If the sizes disagree.
    #[inline]
    pub fn dot(&self, row: &[i8]) -> i32 {
        dot_i8_row(self.isa, &self.codes, self.sum, row)
    }

    /// The dot products with the rows of these numbers.
    ///
    /// # Shapes
    /// rows `[n, dim]`, numbers `[m]` below n, out `[m]`
    ///
    /// # Panics
    /// If the sizes disagree or there is no such row.
    pub fn dots_at(&self, rows: &[i8], numbers: &[u32], out: &mut [i32]) {
        bytes_at(self.isa, &self.codes, self.sum, rows, numbers, out);
    }
}

pub(super) fn floats(isa: Isa, query: &[f32], values: &[f32], out: &mut [f32]) {
    check(query.len(), values.len(), out.len());
    let rows = Consecutive {
        values,
        dim: query.len(),
    };
    with_dots!(isa, float_rows(query: &[f32], rows: Consecutive<'_, f32>, out: &mut [f32]));
}

pub(super) fn floats_at(isa: Isa, query: &[f32], values: &[f32], numbers: &[u32], out: &mut [f32]) {
    check_numbers(query.len(), values.len(), numbers, out.len());
    let rows = Numbered {
        values,
        dim: query.len(),
        numbers,
    };
    with_dots!(isa, float_rows(query: &[f32], rows: Numbered<'_, f32>, out: &mut [f32]));
}

pub(super) fn bytes(isa: Isa, query: &[i8], sum: i32, values: &[i8], out: &mut [i32]) {
    check(query.len(), values.len(), out.len());
    let rows = Consecutive {
        values,
        dim: query.len(),
    };
    with_dots!(isa, byte_rows(query: &[i8], sum: i32, rows: Consecutive<'_, i8>, out: &mut [i32]));
}

pub(super) fn bytes_at(
    isa: Supported,
    query: &[i8],
    sum: i32,
    values: &[i8],
    numbers: &[u32],
    out: &mut [i32],
) {
    check_numbers(query.len(), values.len(), numbers, out.len());
    let rows = Numbered {
        values,
        dim: query.len(),
        numbers,
    };
    with_dots!(isa, byte_rows(query: &[i8], sum: i32, rows: Numbered<'_, i8>, out: &mut [i32]));
}

#[inline(always)]
fn float_rows<'a, D: Dots>(query: &[f32], rows: impl Rows<'a, f32>, out: &mut [f32]) {
    D::floats(query, rows, out);
}

#[inline(always)]
fn byte_rows<'a, D: Dots>(query: &[i8], sum: i32, rows: impl Rows<'a, i8>, out: &mut [i32]) {
    D::bytes(query, sum, rows, out);
}

#[inline(always)]
fn byte_row<D: Dots>(query: &[i8], sum: i32, row: &[i8]) -> i32 {
    D::byte_row(query, sum, row)
}

/// The sum of a query's codes.
pub(super) fn sum(codes: &[i8]) -> i32 {
    codes.iter().map(|code| i32::from(*code)).sum()
}

pub(super) fn check(dim: usize, values: usize, rows: usize) {
    assert!(
        dim > 0 && values == dim * rows,
        "{rows} rows of {dim} values need {}, found {values}",
        dim * rows
    );
}

fn check_numbers(dim: usize, values: usize, numbers: &[u32], out: usize) {
    assert_eq!(numbers.len(), out, "expected one place for each product");
    check(dim, values, values / dim.max(1));
}
