//! One query against rows that lie in order, or that are named by number.
//!
//! A search through a graph waits for memory: rows lie anywhere, and where there are registers for it sixteen of them are on
//! their way at once.

use super::dispatch::{DotWork, dots_with};
use super::loops::Dots;
use crate::kernels::isa::Isa;

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

/// Dot products of one quantised query with consecutive quantised rows; sums are exact in i32 up to a dimension of 131,071.
///
/// # Shapes
/// query `[dim]`, rows `[n, dim]`, out `[n]`
///
/// # Panics
/// If the sizes disagree.
pub fn dot_i8(query: &[i8], rows: &[i8], out: &mut [i32]) {
    bytes(Isa::best(), query, sum(query), rows, out);
}

/// Dot products of a query with the rows of these numbers, each as [`dot_f32`] has it.
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
pub fn dot_i8_row(isa: Isa, query: &[i8], sum: i32, row: &[i8]) -> i32 {
    assert_eq!(query.len(), row.len(), "rows of one length");
    dots_with(isa, ByteRow { query, sum, row })
}

/// One quantised query.
#[derive(Clone, Debug)]
pub struct QueryI8 {
    isa: Isa,
    codes: Vec<i8>,
    sum: i32,
}

impl QueryI8 {
    /// # Shapes
    /// codes `[dim]`
    pub fn new(codes: Vec<i8>) -> Self {
        Self { isa: Isa::best(), sum: sum(&codes), codes }
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

pub(super) fn floats(isa: Isa, query: &[f32], rows: &[f32], out: &mut [f32]) {
    check(query.len(), rows.len(), out.len());
    dots_with(isa, Floats { query, rows: rows.chunks_exact(query.len()), out });
}

pub(super) fn floats_at(isa: Isa, query: &[f32], rows: &[f32], numbers: &[u32], out: &mut [f32]) {
    check_numbers(query.len(), rows.len(), numbers, out.len());
    let rows = numbers.iter().map(|number| row(rows, *number, query.len()));
    dots_with(isa, Floats { query, rows, out });
}

pub(super) fn bytes(isa: Isa, query: &[i8], sum: i32, rows: &[i8], out: &mut [i32]) {
    check(query.len(), rows.len(), out.len());
    dots_with(isa, Bytes { query, sum, rows: rows.chunks_exact(query.len()), out });
}

pub(super) fn bytes_at(isa: Isa, query: &[i8], sum: i32, rows: &[i8], numbers: &[u32], out: &mut [i32]) {
    check_numbers(query.len(), rows.len(), numbers, out.len());
    let rows = numbers.iter().map(|number| row(rows, *number, query.len()));
    dots_with(isa, Bytes { query, sum, rows, out });
}

struct Floats<'a, R> {
    query: &'a [f32],
    rows: R,
    out: &'a mut [f32],
}

impl<'r, R: Iterator<Item = &'r [f32]>> DotWork for Floats<'_, R> {
    type Output = ();

    #[inline(always)]
    fn by<D: Dots>(self) {
        D::floats(self.query, self.rows, self.out);
    }
}

struct Bytes<'a, R> {
    query: &'a [i8],
    sum: i32,
    rows: R,
    out: &'a mut [i32],
}

impl<'r, R: Iterator<Item = &'r [i8]>> DotWork for Bytes<'_, R> {
    type Output = ();

    #[inline(always)]
    fn by<D: Dots>(self) {
        D::bytes(self.query, self.sum, self.rows, self.out);
    }
}

struct ByteRow<'a> {
    query: &'a [i8],
    sum: i32,
    row: &'a [i8],
}

impl DotWork for ByteRow<'_> {
    type Output = i32;

    #[inline(always)]
    fn by<D: Dots>(self) -> i32 {
        D::byte_row(self.query, self.sum, self.row)
    }
}

/// The sum of a query's codes.
pub(super) fn sum(codes: &[i8]) -> i32 {
    codes.iter().map(|code| i32::from(*code)).sum()
}

#[inline(always)]
fn row<T>(rows: &[T], number: u32, dim: usize) -> &[T] {
    &rows[number as usize * dim..][..dim]
}

pub(super) fn check(dim: usize, values: usize, rows: usize) {
    assert!(dim > 0 && values == dim * rows, "{rows} rows of {dim} values need {}, found {values}", dim * rows);
}

fn check_numbers(dim: usize, values: usize, numbers: &[u32], out: usize) {
    assert_eq!(numbers.len(), out, "room for every product");
    check(dim, values, values / dim.max(1));
}
