//! How the output of a product is cut into tiles whose sums fit into the registers.

use super::lanes::LANES;

/// A product that is computed tile by tile.
pub trait Tiled {
    /// Rows of a tile, at most eight.
    const ROWS: usize;
    /// Panels of a tile, at most three.
    const PANELS: usize;
    /// Computes `R` rows from `row` on, of the columns of `P` panels from `panel` on. It must be
    /// `#[inline(always)]`.
    fn tile<const R: usize, const P: usize>(&mut self, row: usize, panel: usize);
}

/// Computes all tiles of an output; inlined into a function that is compiled for the instructions
/// of the product.
#[inline(always)]
pub fn for_each_tile<T: Tiled>(product: &mut T, rows: usize, cols: usize) {
    const {
        assert!(
            1 <= T::ROWS && T::ROWS <= 8 && 1 <= T::PANELS && T::PANELS <= 3,
            "a tile has at most eight rows and three panels"
        );
    }
    let panels = cols.div_ceil(LANES);
    let mut panel = 0;
    while panel < panels {
        let left = panels - panel;
        // Four are two and two, not three and one.
        let take = if left == 4 {
            T::PANELS.min(2)
        } else {
            T::PANELS.min(left)
        };
        match take {
            3 => for_each_row::<T, 3>(product, rows, panel),
            2 => for_each_row::<T, 2>(product, rows, panel),
            _ => for_each_row::<T, 1>(product, rows, panel),
        }
        panel += take;
    }
}

#[inline(always)]
fn for_each_row<T: Tiled, const P: usize>(product: &mut T, rows: usize, panel: usize) {
    if P > T::PANELS {
        return;
    }
    let mut row = 0;
    while row < rows {
        let left = rows - row;
        // The last two tiles are of equal height: a tile of one row waits for each sum.
        let take = if left > T::ROWS && left < 2 * T::ROWS {
            left.div_ceil(2)
        } else {
            left.min(T::ROWS)
        };
        match take {
            1 => tile::<T, 1, P>(product, row, panel),
            2 => tile::<T, 2, P>(product, row, panel),
            3 => tile::<T, 3, P>(product, row, panel),
            4 => tile::<T, 4, P>(product, row, panel),
            5 => tile::<T, 5, P>(product, row, panel),
            6 => tile::<T, 6, P>(product, row, panel),
            7 => tile::<T, 7, P>(product, row, panel),
            _ => tile::<T, 8, P>(product, row, panel),
        }
        row += take;
    }
}

/// A tile of a height that the product has; no code is generated for others.
#[inline(always)]
fn tile<T: Tiled, const R: usize, const P: usize>(product: &mut T, row: usize, panel: usize) {
    if R <= T::ROWS {
        product.tile::<R, P>(row, panel);
    }
}
