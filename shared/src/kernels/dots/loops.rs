//! What each set of instructions brings to the loops, and the loop over tiles that they share.

/// Dot products by one set of instructions; its functions must be `#[inline(always)]`, and are called only where the set is
/// there.
pub trait Dots {
    /// Products of a query with rows of its length, one for each place of `out`.
    fn floats<'a>(query: &[f32], rows: impl Iterator<Item = &'a [f32]>, out: &mut [f32]);

    /// The same in bytes; `sum` is the sum of the query's codes.
    fn bytes<'a>(query: &[i8], sum: i32, rows: impl Iterator<Item = &'a [i8]>, out: &mut [i32]);

    /// One product of bytes.
    #[inline(always)]
    fn byte_row(query: &[i8], sum: i32, row: &[i8]) -> i32 {
        let mut out = [0];
        Self::bytes(query, sum, std::iter::once(row), &mut out);
        out[0]
    }

    /// Several queries of bytes in the form that the loops for them read, `lanes` of them.
    #[inline(always)]
    fn pack(_codes: &[i8], _dim: usize, _lanes: usize) -> Packed {
        Packed::None
    }

    /// Rows of a tile of floats, at most four; 0 if queries are taken one by one.
    const ROWS: usize = 0;

    /// Products of four queries with at most [`Dots::ROWS`] rows: four for each row, and zeros. A product is summed as in
    /// [`Dots::floats`].
    #[inline(always)]
    fn tile(_queries: &[f32], _rows: &[f32], _dim: usize) -> [[f32; QUERIES]; 4] {
        [[0.0; QUERIES]; 4]
    }
}

/// What the loops for several queries of bytes read.
#[derive(Clone, Debug)]
pub enum Packed {
    /// Nothing: the queries are taken one by one.
    None,
    /// `[lanes, dim]` widened to 16 bits: AVX2.
    #[cfg(target_arch = "x86_64")]
    Wide(Vec<i16>),
    /// Panels: AVX-512.
    #[cfg(target_arch = "x86_64")]
    Panels(Vec<i8>),
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
    assert!(lanes.is_multiple_of(SET) && out.len() == rows.len() / dim * lanes, "room for every product");
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
