//! The rows that a query is multiplied with: consecutive ones, or those of given numbers.

/// Rows of equal length.
pub trait Rows<'a, T: 'a>: Copy {
    /// `count` rows from the position `first` on.
    fn block(self, first: usize, count: usize) -> impl Iterator<Item = &'a [T]>;
}

/// `[n, dim]` values, row after row.
#[derive(Clone, Copy)]
pub struct Consecutive<'a, T> {
    pub values: &'a [T],
    pub dim: usize,
}

impl<'a, T: Copy> Rows<'a, T> for Consecutive<'a, T> {
    #[inline(always)]
    fn block(self, first: usize, count: usize) -> impl Iterator<Item = &'a [T]> {
        self.values[first * self.dim..][..count * self.dim].chunks_exact(self.dim)
    }
}

/// The rows of `[n, dim]` values that have these numbers.
#[derive(Clone, Copy)]
pub struct Numbered<'a, T> {
    pub values: &'a [T],
    pub dim: usize,
    pub numbers: &'a [u32],
}

impl<'a, T: Copy> Rows<'a, T> for Numbered<'a, T> {
    #[inline(always)]
    fn block(self, first: usize, count: usize) -> impl Iterator<Item = &'a [T]> {
        let Self {
            values,
            dim,
            numbers,
        } = self;
        numbers[first..][..count]
            .iter()
            .map(move |number| &values[*number as usize * dim..][..dim])
    }
}
