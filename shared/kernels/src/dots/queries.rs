//! Several queries, packed once and multiplied with many rows.

use super::loops::{Dots, Packed, tiles, with_dots};
use super::pick::{self, Hit};
use super::query::{check, sum};
use super::rows::Consecutive;
#[cfg(target_arch = "x86_64")]
use super::{avx2, avx512_panel};
use crate::int8;
use crate::isa::Isa;
use crate::lanes::LANES;

/// Fewer queries than these are multiplied one by one.
const FEW: usize = 4;

/// Rows of a block: their sums fit into the level-1 cache beside the queries.
const ROWS: usize = 48;

/// What raises an int4 code to 0 or more.
const HALF: i8 = 8;

/// The codes that the rows of a search have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowCodes {
    /// Any.
    Int8,
    /// From -8 to 7: products of two need few enough bits to be added in 16.
    Int4,
}

/// Several quantised queries.
#[derive(Clone, Debug)]
pub struct QueriesI8 {
    isa: Isa,
    dim: usize,
    count: usize,
    /// `[count, dim]`
    codes: Vec<i8>,
    /// `[lanes]`
    sums: Vec<i32>,
    /// `[lanes]`
    scales: Vec<f32>,
    packed: Packed,
}

/// Buffers for sums, reused between calls.
#[derive(Debug, Default)]
pub struct Scratch {
    ints: Vec<i32>,
    floats: Vec<f32>,
    thresholds: Vec<f32>,
    codes: int8::Codes,
    #[cfg(target_arch = "x86_64")]
    bytes: Vec<u8>,
}

impl QueriesI8 {
    /// `rows` are the codes of all rows that the queries will meet.
    ///
    /// # Shapes
    /// codes `[n, dim]`, scales `[n]`
    ///
    /// # Panics
    /// If the sizes disagree.
    pub fn new(codes: Vec<i8>, scales: &[f32], dim: usize, rows: RowCodes) -> Self {
        Self::on(Isa::best(), codes, scales, dim, rows)
    }

    pub(super) fn on(isa: Isa, codes: Vec<i8>, scales: &[f32], dim: usize, rows: RowCodes) -> Self {
        let count = scales.len();
        check(dim, codes.len(), count);
        let lanes = count.next_multiple_of(LANES);
        let mut sums: Vec<i32> = codes.chunks_exact(dim).map(sum).collect();
        sums.resize(lanes, 0);
        let mut padded = scales.to_vec();
        padded.resize(lanes, 0.0);
        let packed = if count < FEW {
            Packed::None
        } else if rows == RowCodes::Int4 && !isa.supported().includes(Isa::Avx512Vnni) {
            Packed::Half(int8::pack(&codes, dim).0)
        } else {
            let codes = &codes;
            with_dots!(isa, pack(codes: &[i8], dim: usize, lanes: usize) -> Packed)
        };
        Self {
            isa,
            dim,
            count,
            codes,
            sums,
            scales: padded,
            packed,
        }
    }

    /// The number of queries.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Appends the scores that exceed their query's threshold, and NaN scores. A score is
    /// `dot product × row scale × query scale`. Rows of one query come in ascending order.
    ///
    /// # Shapes
    /// rows `[n, dim]`, row_scales `[n]`, thresholds `[queries]`
    ///
    /// # Panics
    /// If the sizes disagree.
    pub fn hits(
        &self,
        rows: &[i8],
        row_scales: &[f32],
        thresholds: &[f32],
        scratch: &mut Scratch,
        hits: &mut Vec<Hit>,
    ) {
        check(self.dim, rows.len(), row_scales.len());
        assert_eq!(
            thresholds.len(),
            self.count,
            "expected one threshold for each query"
        );
        let queries = self;
        with_dots!(
            self.isa,
            byte_hits(
                queries: &QueriesI8, rows: &[i8], row_scales: &[f32], thresholds: &[f32], scratch: &mut Scratch,
                hits: &mut Vec<Hit>
            )
        );
    }
}

#[inline(always)]
fn pack<D: Dots>(codes: &[i8], dim: usize, lanes: usize) -> Packed {
    D::pack(codes, dim, lanes)
}

#[inline(always)]
fn byte_hits<D: Dots>(
    queries: &QueriesI8,
    rows: &[i8],
    row_scales: &[f32],
    thresholds: &[f32],
    scratch: &mut Scratch,
    hits: &mut Vec<Hit>,
) {
    let QueriesI8 {
        dim,
        codes,
        sums,
        scales,
        packed,
        ..
    } = queries;
    let Scratch {
        ints,
        thresholds: padded,
        ..
    } = scratch;
    padded.clear();
    padded.extend_from_slice(thresholds);
    padded.resize(sums.len(), f32::INFINITY);
    for (block, (rows, row_scales)) in rows
        .chunks(ROWS * dim)
        .zip(row_scales.chunks(ROWS))
        .enumerate()
    {
        let first = hits.len();
        ints.resize(ROWS * sums.len(), 0);
        let products = &mut ints[..row_scales.len() * sums.len()];
        match packed {
            Packed::None => {
                let out = &mut ints[..row_scales.len()];
                for (query, codes) in codes.chunks_exact(*dim).enumerate() {
                    D::bytes(
                        codes,
                        sums[query],
                        Consecutive {
                            values: rows,
                            dim: *dim,
                        },
                        out,
                    );
                    pick::along(
                        out,
                        Some(row_scales),
                        scales[query],
                        thresholds[query],
                        query,
                        hits,
                    );
                }
            }
            Packed::Half(panels) => {
                scratch.codes.fill_raised(rows, HALF, *dim);
                int8::sums(queries.isa, &scratch.codes, panels, products);
                for products in products.chunks_exact_mut(sums.len()) {
                    for (product, sum) in products.iter_mut().zip(sums) {
                        *product -= i32::from(HALF) * sum;
                    }
                }
            }
            #[cfg(target_arch = "x86_64")]
            Packed::Wide(wide) => {
                avx2::tiles_i8(wide, *dim, rows, products);
            }
            #[cfg(target_arch = "x86_64")]
            Packed::Panels(panels) => {
                avx512_panel::tiles_i8(panels, sums, *dim, rows, &mut scratch.bytes, ints);
            }
        }
        if !matches!(packed, Packed::None) {
            pick::across(
                &ints[..row_scales.len() * sums.len()],
                Some(row_scales),
                scales,
                padded,
                queries.count,
                hits,
            );
        }
        hits[first..]
            .iter_mut()
            .for_each(|hit| hit.row += (block * ROWS) as u32);
    }
}

/// Several float queries.
#[derive(Clone, Debug)]
pub struct QueriesF32 {
    isa: Isa,
    dim: usize,
    count: usize,
    /// `[count, dim]`, padded with zeros to a multiple of 16 queries if there are [`FEW`] or more
    values: Vec<f32>,
}

impl QueriesF32 {
    /// # Shapes
    /// values `[n, dim]`
    ///
    /// # Panics
    /// If the sizes disagree.
    pub fn new(values: &[f32], dim: usize) -> Self {
        Self::on(Isa::best(), values, dim)
    }

    pub(super) fn on(isa: Isa, values: &[f32], dim: usize) -> Self {
        let count = values.len() / dim.max(1);
        check(dim, values.len(), count);
        let mut values = values.to_vec();
        if count >= FEW {
            values.resize(count.next_multiple_of(LANES) * dim, 0.0);
        }
        Self {
            isa,
            dim,
            count,
            values,
        }
    }

    /// The number of queries.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Appends the scores that exceed their query's threshold, and NaN scores. Rows of one query
    /// come in ascending order.
    ///
    /// # Shapes
    /// rows `[n, dim]`, thresholds `[queries]`
    ///
    /// # Panics
    /// If the sizes disagree.
    pub fn hits(
        &self,
        rows: &[f32],
        thresholds: &[f32],
        scratch: &mut Scratch,
        hits: &mut Vec<Hit>,
    ) {
        check(self.dim, rows.len(), rows.len() / self.dim);
        assert_eq!(
            thresholds.len(),
            self.count,
            "expected one threshold for each query"
        );
        let queries = self;
        with_dots!(
            self.isa,
            float_hits(
                queries: &QueriesF32, rows: &[f32], thresholds: &[f32], scratch: &mut Scratch, hits: &mut Vec<Hit>
            )
        );
    }
}

#[inline(always)]
fn float_hits<D: Dots>(
    queries: &QueriesF32,
    rows: &[f32],
    thresholds: &[f32],
    scratch: &mut Scratch,
    hits: &mut Vec<Hit>,
) {
    let QueriesF32 {
        dim, count, values, ..
    } = queries;
    let Scratch {
        floats,
        thresholds: padded,
        ..
    } = scratch;
    let lanes = count.next_multiple_of(LANES);
    padded.clear();
    padded.extend_from_slice(thresholds);
    padded.resize(lanes, f32::INFINITY);
    for (block, rows) in rows.chunks(ROWS * dim).enumerate() {
        let first = hits.len();
        floats.resize(ROWS * lanes, 0.0);
        if D::ROWS > 0 && *count >= FEW {
            let sums = &mut floats[..rows.len() / dim * lanes];
            tiles::<D>(values, *dim, rows, sums);
            pick::across(sums, None, padded, padded, queries.count, hits);
        } else {
            let out = &mut floats[..rows.len() / dim];
            for (query, values) in values.chunks_exact(*dim).take(*count).enumerate() {
                D::floats(
                    values,
                    Consecutive {
                        values: rows,
                        dim: *dim,
                    },
                    out,
                );
                pick::along(out, None, 1.0, thresholds[query], query, hits);
            }
        }
        hits[first..]
            .iter_mut()
            .for_each(|hit| hit.row += (block * ROWS) as u32);
    }
}
