//! Queries in the form that the loops want, made once and held against many rows.

use super::gather;
use super::pick::{self, Hit};
#[cfg(target_arch = "x86_64")]
use super::{Kind, avx2, avx512, avx512_panel};
use super::{Road, check, one_f32, one_i8, sum};

/// Queries are padded with empty ones to a multiple of it.
const LANES: usize = 16;

/// Fewer queries than these are taken one by one.
const FEW: usize = 4;

/// Rows whose sums lie in the level-1 cache beside the queries.
const ROWS: usize = 48;

/// One quantised query.
#[derive(Clone, Debug)]
pub struct QueryI8 {
    road: Road,
    codes: Vec<i8>,
    sum: i32,
}

impl QueryI8 {
    /// # Shapes
    /// codes `[dim]`
    pub fn new(codes: Vec<i8>) -> Self {
        Self { road: Road::best(), sum: sum(&codes), codes }
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
        self.road.dot_i8(&self.codes, self.sum, row)
    }

    /// The dot products with the rows of these numbers.
    ///
    /// # Shapes
    /// rows `[n, dim]`, numbers `[m]` below n, out `[m]`
    ///
    /// # Panics
    /// If the sizes disagree or there is no such row.
    pub fn dots_at(&self, rows: &[i8], numbers: &[u32], out: &mut [i32]) {
        gather::i8_at(self.road, &self.codes, self.sum, rows, numbers, out);
    }
}

/// Several quantised queries.
#[derive(Clone, Debug)]
pub struct QueriesI8 {
    road: Road,
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

/// What the loops for several queries read.
#[derive(Clone, Debug)]
enum Packed {
    /// Nothing: the queries are taken one by one.
    None,
    /// `[lanes, dim]` widened to 16 bits.
    #[cfg(target_arch = "x86_64")]
    Wide(Vec<i16>),
    /// See [`avx512_panel`].
    #[cfg(target_arch = "x86_64")]
    Panels(Vec<i8>),
}

/// Room for sums, kept between calls.
#[derive(Debug, Default)]
pub struct Scratch {
    ints: Vec<i32>,
    floats: Vec<f32>,
    thresholds: Vec<f32>,
    #[cfg(target_arch = "x86_64")]
    bytes: Vec<u8>,
}

impl QueriesI8 {
    /// # Shapes
    /// codes `[n, dim]`, scales `[n]`
    ///
    /// # Panics
    /// If the sizes disagree.
    pub fn new(codes: Vec<i8>, scales: &[f32], dim: usize) -> Self {
        Self::on(Road::best(), codes, scales, dim)
    }

    pub(super) fn on(road: Road, codes: Vec<i8>, scales: &[f32], dim: usize) -> Self {
        let count = scales.len();
        check(dim, codes.len(), count);
        let lanes = count.next_multiple_of(LANES);
        let mut sums: Vec<i32> = codes.chunks_exact(dim).map(sum).collect();
        sums.resize(lanes, 0);
        let mut padded = scales.to_vec();
        padded.resize(lanes, 0.0);
        let packed = match road.0 {
            _ if count < FEW => Packed::None,
            #[cfg(target_arch = "x86_64")]
            Kind::Avx2 => Packed::Wide(avx2::widened(&codes, dim, lanes)),
            #[cfg(target_arch = "x86_64")]
            Kind::Avx512 => Packed::Panels(avx512_panel::packed(&codes, dim, lanes)),
            _ => Packed::None,
        };
        Self { road, dim, count, codes, sums, scales: padded, packed }
    }

    /// How many queries there are.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The scores that pass: all but those that are at most their query's threshold. A score is
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
        assert_eq!(thresholds.len(), self.count, "one threshold a query");
        let Scratch { ints, thresholds: padded, .. } = scratch;
        padded.clear();
        padded.extend_from_slice(thresholds);
        padded.resize(self.sums.len(), f32::INFINITY);
        for (block, (rows, row_scales)) in rows.chunks(ROWS * self.dim).zip(row_scales.chunks(ROWS)).enumerate() {
            let first = hits.len();
            match &self.packed {
                Packed::None => {
                    ints.resize(row_scales.len().max(ints.len()), 0);
                    let out = &mut ints[..row_scales.len()];
                    for (query, codes) in self.codes.chunks_exact(self.dim).enumerate() {
                        one_i8(self.road, codes, self.sums[query], rows, out);
                        let (scale, threshold) = (self.scales[query], thresholds[query]);
                        pick::along(out, Some(row_scales), scale, threshold, query, hits);
                    }
                }
                #[cfg(target_arch = "x86_64")]
                Packed::Wide(wide) => {
                    ints.resize(ROWS * self.sums.len(), 0);
                    let sums = &mut ints[..row_scales.len() * self.sums.len()];
                    avx2::tiles_i8(wide, self.dim, rows, sums);
                    avx2::across_i8(sums, row_scales, &self.scales, padded, self.count, hits);
                }
                #[cfg(target_arch = "x86_64")]
                Packed::Panels(panels) => {
                    ints.resize(ROWS * self.sums.len(), 0);
                    avx512_panel::tiles_i8(panels, &self.sums, self.dim, rows, &mut scratch.bytes, ints);
                    let sums = &ints[..row_scales.len() * self.sums.len()];
                    avx512::across_i8(sums, row_scales, &self.scales, padded, self.count, hits);
                }
            }
            hits[first..].iter_mut().for_each(|hit| hit.row += (block * ROWS) as u32);
        }
    }
}

/// Several float queries.
#[derive(Clone, Debug)]
pub struct QueriesF32 {
    road: Road,
    dim: usize,
    count: usize,
    /// `[count, dim]`, and zeros up to a multiple of 16 queries where the loops want them
    values: Vec<f32>,
}

impl QueriesF32 {
    /// # Shapes
    /// values `[n, dim]`
    ///
    /// # Panics
    /// If the sizes disagree.
    pub fn new(values: &[f32], dim: usize) -> Self {
        Self::on(Road::best(), values, dim)
    }

    pub(super) fn on(road: Road, values: &[f32], dim: usize) -> Self {
        let count = values.len() / dim.max(1);
        check(dim, values.len(), count);
        let mut values = values.to_vec();
        if tiled(road, count) {
            values.resize(count.next_multiple_of(LANES) * dim, 0.0);
        }
        Self { road, dim, count, values }
    }

    /// How many queries there are.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The scores that pass: all but those that are at most their query's threshold. Rows of one query come in ascending
    /// order.
    ///
    /// # Shapes
    /// rows `[n, dim]`, thresholds `[queries]`
    ///
    /// # Panics
    /// If the sizes disagree.
    pub fn hits(&self, rows: &[f32], thresholds: &[f32], scratch: &mut Scratch, hits: &mut Vec<Hit>) {
        check(self.dim, rows.len(), rows.len() / self.dim);
        assert_eq!(thresholds.len(), self.count, "one threshold a query");
        let Scratch { floats, thresholds: padded, .. } = scratch;
        let lanes = self.count.next_multiple_of(LANES);
        padded.clear();
        padded.extend_from_slice(thresholds);
        padded.resize(lanes, f32::INFINITY);
        for (block, rows) in rows.chunks(ROWS * self.dim).enumerate() {
            let (first, count) = (hits.len(), rows.len() / self.dim);
            floats.resize(ROWS * lanes, 0.0);
            match self.road.0 {
                #[cfg(target_arch = "x86_64")]
                Kind::Avx2 if tiled(self.road, self.count) => {
                    let sums = &mut floats[..count * lanes];
                    avx2::tiles_f32(&self.values, self.dim, rows, sums);
                    avx2::across_f32(sums, padded, self.count, hits);
                }
                #[cfg(target_arch = "x86_64")]
                Kind::Avx512 if tiled(self.road, self.count) => {
                    let sums = &mut floats[..count * lanes];
                    avx512::tiles_f32(&self.values, self.dim, rows, sums);
                    avx512::across_f32(sums, padded, self.count, hits);
                }
                _ => {
                    let out = &mut floats[..count];
                    for (query, values) in self.values.chunks_exact(self.dim).take(self.count).enumerate() {
                        one_f32(self.road, values, rows, out);
                        pick::along(out, None, 1.0, thresholds[query], query, hits);
                    }
                }
            }
            hits[first..].iter_mut().for_each(|hit| hit.row += (block * ROWS) as u32);
        }
    }
}

/// Whether there is a loop for several float queries.
#[cfg_attr(not(target_arch = "x86_64"), allow(unused_variables))]
fn tiled(road: Road, count: usize) -> bool {
    match road.0 {
        #[cfg(target_arch = "x86_64")]
        Kind::Avx2 | Kind::Avx512 => count >= FEW,
        _ => false,
    }
}
