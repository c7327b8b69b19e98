//! Views of matrices. Several threads write into one matrix by splitting it by rows or by columns.
//!
//! `unsafe` because Rust cannot split a slice by columns; [`MatrixMut`] holds a pointer, and its
//! parts never overlap.
#![allow(unsafe_code)]

use std::marker::PhantomData;

/// A read-only `[rows, cols]` view with any strides.
#[derive(Clone, Copy, Debug)]
pub struct Matrix<'a> {
    /// The numbers.
    pub data: &'a [f32],
    /// Rows.
    pub rows: usize,
    /// Columns.
    pub cols: usize,
    /// The distance between rows.
    pub row_stride: usize,
    /// The distance between columns.
    pub col_stride: usize,
}

impl<'a> Matrix<'a> {
    /// A row-major view.
    ///
    /// # Panics
    /// If there are too few numbers.
    pub fn new(data: &'a [f32], rows: usize, cols: usize) -> Self {
        Self::strided(data, rows, cols, cols, 1)
    }

    /// A view with the given strides.
    ///
    /// # Panics
    /// If the last number lies outside.
    pub fn strided(
        data: &'a [f32],
        rows: usize,
        cols: usize,
        row_stride: usize,
        col_stride: usize,
    ) -> Self {
        let down = rows.saturating_sub(1).checked_mul(row_stride);
        let across = cols.saturating_sub(1).checked_mul(col_stride);
        let last = down
            .zip(across)
            .and_then(|(down, across)| down.checked_add(across));
        let inside = rows == 0 || cols == 0 || last.is_some_and(|last| last < data.len());
        assert!(
            inside,
            "expected {rows} x {cols} values, found {}",
            data.len()
        );
        Self {
            data,
            rows,
            cols,
            row_stride,
            col_stride,
        }
    }

    /// Rows become columns.
    pub fn transposed(self) -> Self {
        let Self {
            data,
            rows,
            cols,
            row_stride,
            col_stride,
        } = self;
        Self {
            data,
            rows: cols,
            cols: rows,
            row_stride: col_stride,
            col_stride: row_stride,
        }
    }

    /// The rows from `first` on, the columns from `left` on.
    ///
    /// # Panics
    /// If the part does not lie inside.
    pub fn part(self, first: usize, rows: usize, left: usize, cols: usize) -> Self {
        assert!(
            first + rows <= self.rows && left + cols <= self.cols,
            "a part outside of the matrix"
        );
        let from = (first * self.row_stride + left * self.col_stride).min(self.data.len());
        Self {
            data: &self.data[from..],
            rows,
            cols,
            ..self
        }
    }
}

/// A mutable `[rows, cols]` view. The numbers of a row are contiguous.
#[derive(Debug)]
pub struct MatrixMut<'a> {
    first: *mut f32,
    rows: usize,
    cols: usize,
    stride: usize,
    life: PhantomData<&'a mut [f32]>,
}

// SAFETY: it is a `&mut [f32]` with gaps, and parts of one matrix have no number in common.
unsafe impl Send for MatrixMut<'_> {}

impl<'a> MatrixMut<'a> {
    /// A row-major view.
    ///
    /// # Panics
    /// If there are too few numbers.
    pub fn new(data: &'a mut [f32], rows: usize, cols: usize) -> Self {
        let inside = rows
            .checked_mul(cols)
            .is_some_and(|count| count <= data.len());
        assert!(
            inside,
            "expected {rows} x {cols} values, found {}",
            data.len()
        );
        Self {
            first: data.as_mut_ptr(),
            rows,
            cols,
            stride: cols,
            life: PhantomData,
        }
    }

    /// Rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Columns.
    pub fn cols(&self) -> usize {
        self.cols
    }

    /// A row.
    ///
    /// # Panics
    /// If there is no such row.
    #[inline(always)]
    pub fn row(&mut self, row: usize) -> &mut [f32] {
        assert!(row < self.rows);
        // SAFETY: the row lies inside, and no other view holds a number of it.
        unsafe { std::slice::from_raw_parts_mut(self.first.add(row * self.stride), self.cols) }
    }

    /// The same matrix with a shorter lifetime.
    pub fn borrow(&mut self) -> MatrixMut<'_> {
        MatrixMut {
            first: self.first,
            rows: self.rows,
            cols: self.cols,
            stride: self.stride,
            life: PhantomData,
        }
    }

    /// The rows before `at`, and those from it on.
    ///
    /// # Panics
    /// If there are fewer.
    pub fn split_rows(self, at: usize) -> (Self, Self) {
        assert!(at <= self.rows);
        // SAFETY: at most one row's distance behind the last row, where nothing is read.
        let below = self.first.wrapping_add(at * self.stride);
        let rows = self.rows - at;
        (
            Self { rows: at, ..self },
            Self {
                first: below,
                rows,
                ..self
            },
        )
    }

    /// The columns before `at`, and those from it on.
    ///
    /// # Panics
    /// If there are fewer.
    pub fn split_cols(self, at: usize) -> (Self, Self) {
        assert!(at <= self.cols);
        let right = self.first.wrapping_add(at);
        let cols = self.cols - at;
        (
            Self { cols: at, ..self },
            Self {
                first: right,
                cols,
                ..self
            },
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_do_not_overlap() {
        let mut data = vec![0.0; 12];
        let (left, right) = MatrixMut::new(&mut data, 3, 4).split_cols(1);
        let (mut top, mut bottom) = right.split_rows(2);
        let mut left = left;
        for row in 0..3 {
            left.row(row).fill(1.0);
        }
        for row in 0..2 {
            top.row(row).fill(2.0);
        }
        bottom.row(0).fill(3.0);
        assert_eq!(
            data,
            [1.0, 2.0, 2.0, 2.0, 1.0, 2.0, 2.0, 2.0, 1.0, 3.0, 3.0, 3.0]
        );
    }

    #[test]
    fn part_of_a_transposed_matrix_matches_hand_computed_values() {
        let data: Vec<f32> = (0..6u8).map(f32::from).collect();
        let part = Matrix::new(&data, 2, 3).transposed().part(1, 2, 1, 1);
        assert_eq!((part.data[0], part.data[part.row_stride]), (4.0, 5.0));
    }
}
