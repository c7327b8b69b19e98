//! The loops of each instruction set behind one trait, and the loop over tiles that they share.

#[cfg(target_arch = "aarch64")]
pub use super::neon::Neon as Base;
#[cfg(not(any(
    target_arch = "aarch64",
    all(target_arch = "wasm32", target_feature = "simd128")
)))]
pub use super::plain::Plain as Base;
use super::rows::Rows;
#[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
pub use super::wasm::Simd128 as Base;

/// The sets with loops of their own.
#[cfg(test)]
pub const SETS: &[crate::Isa] = {
    use crate::Isa;
    if cfg!(target_arch = "x86_64") {
        &[Isa::Scalar, Isa::Avx2, Isa::Avx512Vnni]
    } else {
        &[Isa::Scalar, Isa::Base]
    }
};

/// Calls a function with the loops of the best set that `isa` includes, as
/// [`dispatch!`](crate::isa::dispatch) does.
macro_rules! with_dots {
    ($isa:expr, $($call:tt)*) => {
        $crate::isa::dispatch!(
            $isa,
            [
                Avx512Vnni: $crate::dots::avx512::Avx512,
                Avx2: $crate::dots::avx2::Avx2,
                Base: $crate::dots::loops::Base;
                $crate::dots::plain::Plain
            ],
            $($call)*
        )
    };
}
pub(super) use with_dots;

/// Dot products by one instruction set. Its functions must be `#[inline(always)]` and are called
/// only if the processor has the set.
pub trait Dots {
    /// The product of a query with a row of its length.
    fn float_row(query: &[f32], row: &[f32]) -> f32;

    /// The same in bytes; `sum` is the sum of the query's codes.
    fn byte_row(query: &[i8], sum: i32, row: &[i8]) -> i32;

    /// Products of a query with rows, one for each place of `out`, each summed as by
    /// [`Dots::float_row`].
    #[inline(always)]
    fn floats<'a>(query: &[f32], rows: impl Rows<'a, f32>, out: &mut [f32]) {
        for (row, out) in rows.block(0, out.len()).zip(out) {
            *out = Self::float_row(query, row);
        }
    }

    /// The same in bytes.
    #[inline(always)]
    fn bytes<'a>(query: &[i8], sum: i32, rows: impl Rows<'a, i8>, out: &mut [i32]) {
        for (row, out) in rows.block(0, out.len()).zip(out) {
            *out = Self::byte_row(query, sum, row);
        }
    }

    /// Several queries of bytes in the form that the loops for them read, `lanes` of them.
    #[inline(always)]
    fn pack(_codes: &[i8], _dim: usize, _lanes: usize) -> Packed {
        Packed::None
    }

    /// Rows of a tile of floats, at most four; 0 if queries are taken one by one.
    const ROWS: usize = 0;

    /// Products of four queries with at most [`Dots::ROWS`] rows: four for each row, and zeros. A
    /// product is summed as in [`Dots::floats`].
    #[inline(always)]
    fn tile(_queries: &[f32], _rows: &[f32], _dim: usize) -> [[f32; QUERIES]; 4] {
        [[0.0; QUERIES]; 4]
    }
}

/// Packed queries of bytes.
#[derive(Clone, Debug)]
pub enum Packed {
    /// Nothing: the queries are taken one by one.
    None,
    /// `[lanes / 16, dim / 4, 16, 4]`, for rows of int4 codes.
    Half(Vec<i8>),
    /// `[lanes, dim]` widened to 16 bits: AVX2.
    #[cfg(target_arch = "x86_64")]
    Wide(Vec<i16>),
    /// Panels: AVX-512.
    #[cfg(target_arch = "x86_64")]
    Panels(Vec<super::avx512_panel::Line>),
}

/// Queries of a tile of floats.
pub const QUERIES: usize = 4;

/// Queries that stay in the level-1 cache while the rows pass.
const SET: usize = 4 * QUERIES;

/// Products of several queries with rows.
///
/// # Shapes
/// queries `[lanes, dim]` with lanes a multiple of 16, rows `[n, dim]`, out `[n, lanes]`
#[inline(always)]
pub fn tiles<D: Dots>(queries: &[f32], dim: usize, rows: &[f32], out: &mut [f32]) {
    let lanes = queries.len() / dim;
    assert!(
        lanes.is_multiple_of(SET) && out.len() == rows.len() / dim * lanes,
        "expected one place for each product"
    );
    for (set, queries) in queries.chunks_exact(SET * dim).enumerate() {
        for (tile, rows) in rows.chunks(D::ROWS.max(1) * dim).enumerate() {
            for (quad, queries) in queries.chunks_exact(QUERIES * dim).enumerate() {
                let first = tile * D::ROWS * lanes + set * SET + quad * QUERIES;
                let sums = D::tile(queries, rows, dim);
                for (row, sums) in sums.iter().take(rows.len() / dim).enumerate() {
                    let at = first + row * lanes;
                    out[at..at + QUERIES].copy_from_slice(sums);
                }
            }
        }
    }
}
