//! The vectors of an index, as floats or as bytes with one scale a vector, used where they lie.

use crate::error::Result;
use crate::kernels::{self, Hit, QueriesF32, QueriesI8, QueryI8, Road, Scratch};
use crate::numbers::Numbers;
use std::ops::Range;

/// `[rows, dim]` vectors.
#[derive(Clone, Debug)]
pub enum Vectors {
    /// 4 bytes a value.
    F32 {
        /// `[rows, dim]`
        values: Numbers<f32>,
    },
    /// 1 byte a value: value = code × scale, codes from -127 to 127.
    Int8 {
        /// `[rows, dim]`
        codes: Numbers<i8>,
        /// `[rows]`
        scales: Numbers<f32>,
    },
}

/// A query in the form that the vectors want.
#[derive(Clone, Debug)]
pub enum Query {
    /// For float vectors.
    F32(Vec<f32>),
    /// For quantised vectors.
    Int8 {
        /// `[dim]`
        codes: QueryI8,
        /// value = code × scale
        scale: f32,
        /// `[dim]`, what the codes leave of the query, but for its part along them
        rest: QueryI8,
        /// value = code × scale, of the rest
        rest_scale: f32,
        /// Of the codes.
        length: f32,
    },
}

/// Several queries in the form that the vectors want.
#[derive(Clone, Debug)]
pub enum Queries {
    /// For float vectors.
    F32(QueriesF32),
    /// For quantised vectors.
    Int8(QueriesI8),
}

/// The largest code of a byte, and of half a byte.
const BYTE: f32 = 127.0;
const HALF: f32 = 7.0;

/// Quantises one vector: the largest magnitude becomes 127, and the scale keeps the vector's length, so that the score of
/// a vector with itself is exact (a cosine never rises above 1). A vector of zeros, or with a value that is not finite,
/// gets scale 0 or NaN, so that its scores are 0 or NaN and never look good.
pub fn quantise(vector: &[f32], codes: &mut Vec<i8>) -> f32 {
    match largest(vector) {
        Some(largest) => quantise_to(BYTE, largest, vector, codes),
        None => broken(vector, codes),
    }
}

/// As [`quantise`], with codes from -7 to 7: the values above the limit that costs least are cut down to it.
fn quantise_to_half(vector: &[f32], codes: &mut Vec<i8>) -> f32 {
    let Some(largest) = largest(vector) else { return broken(vector, codes) };
    let first = codes.len();
    let mut best: Option<(f64, f32, Vec<i8>)> = None;
    // A vector of 64 values rarely wants less than six tenths of its largest one.
    for tenths in 6..=10 {
        let mut tried = Vec::with_capacity(vector.len());
        let scale = quantise_to(HALF, largest * tenths as f32 / 10.0, vector, &mut tried);
        let along: f64 = vector.iter().zip(&tried).map(|(value, code)| f64::from(*value) * f64::from(*code)).sum();
        let along = along * f64::from(scale);
        if best.as_ref().is_none_or(|(before, ..)| along > *before) {
            best = Some((along, scale, tried));
        }
    }
    let (_, scale, tried) = best.unwrap_or_default();
    codes.extend(tried);
    codes.resize(first + vector.len(), 0);
    scale
}

/// The largest magnitude; nothing if a value is not finite.
fn largest(vector: &[f32]) -> Option<f32> {
    let largest =
        vector.iter().fold(0.0f32, |largest, value| if value.is_nan() { f32::NAN } else { largest.max(value.abs()) });
    largest.is_finite().then_some(largest)
}

fn broken(vector: &[f32], codes: &mut Vec<i8>) -> f32 {
    codes.extend(std::iter::repeat_n(0, vector.len()));
    f32::NAN
}

fn quantise_to(most: f32, limit: f32, vector: &[f32], codes: &mut Vec<i8>) -> f32 {
    let inverse = if limit > 0.0 { most / limit } else { 0.0 };
    let first = codes.len();
    codes.extend(vector.iter().map(|value| (value * inverse).round().clamp(-most, most) as i8));
    let length = vector.iter().map(|value| f64::from(*value) * f64::from(*value)).sum::<f64>().sqrt();
    let coded = codes[first..].iter().map(|code| f64::from(*code) * f64::from(*code)).sum::<f64>().sqrt();
    if coded > 0.0 { (length / coded) as f32 } else { 0.0 }
}

impl Vectors {
    /// Brings a query into the form of these vectors.
    pub fn query(&self, vector: &[f32]) -> Query {
        match self {
            Self::F32 { .. } => Query::F32(vector.to_vec()),
            Self::Int8 { .. } => {
                let mut codes = Vec::with_capacity(vector.len());
                let scale = quantise(vector, &mut codes);
                let mut rest_codes = Vec::with_capacity(vector.len());
                let rest_scale = quantise(&rest(vector, &codes, scale), &mut rest_codes);
                let (length, codes, rest) = (length(&codes), QueryI8::new(codes), QueryI8::new(rest_codes));
                Query::Int8 { codes, scale, rest, rest_scale, length }
            }
        }
    }

    /// Brings queries, `[n, dim]`, into the form of these vectors.
    pub fn queries(&self, vectors: &[f32], dim: usize) -> Queries {
        match self {
            Self::F32 { .. } => Queries::F32(QueriesF32::new(vectors, dim)),
            Self::Int8 { .. } => {
                let mut codes = Vec::with_capacity(vectors.len());
                let scales: Vec<f32> = vectors.chunks_exact(dim).map(|vector| quantise(vector, &mut codes)).collect();
                Queries::Int8(QueriesI8::new(codes, &scales, dim))
            }
        }
    }

    /// The values of a row.
    ///
    /// # Panics
    /// If there is no such row.
    pub fn row(&self, row: usize, dim: usize) -> Vec<f32> {
        match self {
            Self::F32 { values } => at(values.get(), row, dim).to_vec(),
            Self::Int8 { codes, scales } => {
                at(codes.get(), row, dim).iter().map(|code| f32::from(*code) * scales.get()[row]).collect()
            }
        }
    }

    /// The similarities of queries with the rows of a range, but for those that are at most their query's threshold.
    ///
    /// # Shapes
    /// thresholds `[queries]`; the hits' rows count from the start of the range
    pub fn hits(
        &self,
        queries: &Queries,
        rows: Range<usize>,
        dim: usize,
        thresholds: &[f32],
        scratch: &mut Scratch,
        hits: &mut Vec<Hit>,
    ) {
        let values = rows.start * dim..rows.end * dim;
        match (self, queries) {
            (Self::F32 { values: all }, Queries::F32(queries)) => {
                queries.hits(&all.get()[values], thresholds, scratch, hits);
            }
            (Self::Int8 { codes, scales }, Queries::Int8(queries)) => {
                queries.hits(&codes.get()[values], &scales.get()[rows], thresholds, scratch, hits);
            }
            _ => unreachable!("queries are made by the vectors that they are scored with"),
        }
    }

    /// The similarities of a query with some rows, as [`Vectors::hits`] has them; allocates nothing.
    ///
    /// # Shapes
    /// rows `[n]`, out `[n]`
    ///
    /// # Panics
    /// If there is no such row, or the sizes disagree.
    pub fn near(&self, query: &Query, rows: &[u32], out: &mut [f32]) {
        match (self, query) {
            (Self::F32 { values }, Query::F32(query)) => kernels::dot_f32_at(query, values.get(), rows, out),
            (Self::Int8 { codes, scales }, Query::Int8 { codes: query, scale, .. }) => {
                let (codes, scales, mut sums) = (codes.get(), scales.get(), [0; 64]);
                for (rows, out) in rows.chunks(sums.len()).zip(out.chunks_mut(sums.len())) {
                    let sums = &mut sums[..rows.len()];
                    query.dots_at(codes, rows, sums);
                    for ((out, sum), row) in out.iter_mut().zip(sums).zip(rows) {
                        *out = *sum as f32 * scales[*row as usize] * scale;
                    }
                }
            }
            _ => unreachable!("a query is made by the vectors that it is scored with"),
        }
    }

    /// Says that a row will be wanted soon.
    #[inline]
    pub fn prefetch(&self, row: u32, dim: usize) {
        match self {
            Self::F32 { values } => kernels::prefetch(at(values.get(), row as usize, dim)),
            Self::Int8 { codes, scales } => {
                kernels::prefetch(at(codes.get(), row as usize, dim));
                kernels::prefetch(at(scales.get(), row as usize, 1));
            }
        }
    }

    /// Whether [`Vectors::score`] is finer than [`Vectors::near`].
    pub fn has_finer_scores(&self) -> bool {
        matches!(self, Self::Int8 { .. })
    }

    /// How many rows are to be taken by [`Vectors::near`] so that the best k by [`Vectors::score`] are among them.
    pub fn taken(&self, k: usize) -> usize {
        if self.has_finer_scores() { k.saturating_add(k / 4 + 16) } else { k }
    }

    /// The similarity of a query and one row as it is reported. For quantised vectors it knows the query to about 15 bits;
    /// it never exceeds the product of the lengths, and a vector that has the row's codes is the row.
    pub fn score(&self, query: &Query, row: usize) -> f32 {
        match (self, query) {
            (Self::F32 { values }, Query::F32(query)) => one_f32(query, at(values.get(), row, query.len())),
            (
                Self::Int8 { codes, scales },
                Query::Int8 { codes: query, scale, rest, rest_scale, length: query_length },
            ) => {
                let (row, row_scale) = (at(codes.get(), row, query.codes().len()), scales.get()[row]);
                let coarse = query.dot(row) as f32 * row_scale * scale;
                if query.codes() == row {
                    return coarse;
                }
                let score = coarse + rest.dot(row) as f32 * row_scale * rest_scale;
                let most = length(row) * row_scale * query_length * scale;
                if score > most { most } else { score }
            }
            _ => unreachable!("a query is made by the vectors that it is scored with"),
        }
    }
}

/// The length of a row of codes; their squares add up exactly.
fn length(codes: &[i8]) -> f32 {
    (codes.iter().map(|code| i32::from(*code).pow(2)).sum::<i32>() as f32).sqrt()
}

/// What codes leave of a vector, but for its part along them: a vector's similarity with itself stays what its codes say.
fn rest(vector: &[f32], codes: &[i8], scale: f32) -> Vec<f32> {
    let left: Vec<f32> = vector.iter().zip(codes).map(|(value, code)| value - f32::from(*code) * scale).collect();
    let along: f64 = left.iter().zip(codes).map(|(value, code)| f64::from(*value) * f64::from(*code)).sum();
    let square: f64 = codes.iter().map(|code| f64::from(*code).powi(2)).sum();
    let share = if square > 0.0 { (along / square) as f32 } else { 0.0 };
    left.iter().zip(codes).map(|(value, code)| value - share * f32::from(*code)).collect()
}

fn at<T>(rows: &[T], row: usize, dim: usize) -> &[T] {
    &rows[row * dim..(row + 1) * dim]
}

fn one_f32(query: &[f32], row: &[f32]) -> f32 {
    let mut out = [0.0];
    kernels::dot_f32(query, row, &mut out);
    out[0]
}

/// The rows of an index, ready to be compared with each other.
pub struct Rows<'a> {
    dim: usize,
    road: Road,
    values: Values<'a>,
}

enum Values<'a> {
    F32(&'a [f32]),
    Int8 { codes: &'a [i8], sums: Vec<i32>, scales: &'a [f32] },
}

impl<'a> Rows<'a> {
    /// # Shapes
    /// vectors `[rows, dim]`
    pub fn new(vectors: &'a Vectors, dim: usize) -> Self {
        let values = match vectors {
            Vectors::F32 { values } => Values::F32(values.get()),
            Vectors::Int8 { codes, scales } => {
                let (codes, scales) = (codes.get(), scales.get());
                let sum = |row: &[i8]| row.iter().map(|code| i32::from(*code)).sum();
                Values::Int8 { codes, sums: codes.chunks_exact(dim).map(sum).collect(), scales }
            }
        };
        Self { dim, road: Road::best(), values }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        match &self.values {
            Values::F32(values) => values.len() / self.dim,
            Values::Int8 { scales, .. } => scales.len(),
        }
    }

    /// The similarity of two rows; allocates nothing.
    pub fn pair(&self, one: usize, other: usize) -> f32 {
        match &self.values {
            Values::F32(values) => one_f32(at(values, one, self.dim), at(values, other, self.dim)),
            Values::Int8 { codes, sums, scales } => {
                let (a, b) = (at(codes, one, self.dim), at(codes, other, self.dim));
                self.road.dot_i8(a, sums[one], b) as f32 * scales[other] * scales[one]
            }
        }
    }
}

/// The sections of a file for float vectors in a given precision: names and bodies.
pub fn sections(vectors: &[f32], dim: usize, precision: super::Precision) -> Result<Vec<(&'static str, Vec<u8>)>> {
    Ok(match precision {
        super::Precision::F32 => vec![("values", bytemuck::cast_slice(vectors).to_vec())],
        super::Precision::Int8 => {
            let mut codes = Vec::with_capacity(vectors.len());
            let scales: Vec<f32> = vectors.chunks_exact(dim).map(|vector| quantise(vector, &mut codes)).collect();
            vec![("codes", bytemuck::cast_slice(&codes).to_vec()), ("scales", bytemuck::cast_slice(&scales).to_vec())]
        }
        super::Precision::Int4 => {
            let mut codes = Vec::with_capacity(vectors.len());
            let scales: Vec<f32> =
                vectors.chunks_exact(dim).map(|vector| quantise_to_half(vector, &mut codes)).collect();
            // Two codes a byte, the first one in the lower half; rows follow each other without a gap.
            let half = |code: Option<&i8>| code.map_or(0, |code| (*code as u8) & 15);
            let packed = codes.chunks(2).map(|pair| half(pair.first()) | (half(pair.get(1)) << 4)).collect();
            vec![("halves", packed), ("scales", bytemuck::cast_slice(&scales).to_vec())]
        }
    })
}

/// Codes of half a byte as bytes; a search wants them so, and there are few of them.
pub fn unpack(halves: &[u8], count: usize) -> Vec<i8> {
    // Shifted up and down again, the sign of the half becomes that of the byte.
    let pair = |byte: &u8| [((byte << 4) as i8) >> 4, (*byte as i8) >> 4];
    let mut codes: Vec<i8> = halves.iter().flat_map(pair).collect();
    codes.truncate(count);
    codes
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_vector_is_quantised_by_its_largest_value() {
        let mut codes = Vec::new();
        // The length of (3, 4) is 5; the codes 95 and 127 have the length 158.6.
        let scale = quantise(&[3.0, -4.0, 0.0, 0.01], &mut codes);
        assert_eq!(codes, [95, -127, 0, 0]);
        assert!((scale - 5.0 / 158.6).abs() < 1e-5, "{scale}");
    }

    #[test]
    fn zeros_and_broken_vectors_never_look_good() {
        let mut codes = Vec::new();
        assert_eq!(quantise(&[0.0, 0.0], &mut codes), 0.0);
        assert!(quantise(&[1.0, f32::NAN], &mut codes).is_nan());
        assert!(quantise(&[f32::NEG_INFINITY, 2.0], &mut codes).is_nan());
        assert_eq!(codes, [0; 6]);
    }

    #[test]
    fn halves_come_back_and_keep_the_length() {
        // An odd number of values: the last byte has one code.
        let vectors = [0.7f32, -0.7, 0.1, -0.02, 0.3, 0.0, 1.0, -1.0, 0.5];
        let sections = sections(&vectors, 3, super::super::Precision::Int4).expect("written");
        let (halves, scales) = (&sections[0].1, &sections[1].1);
        assert_eq!((halves.len(), scales.len()), (5, 12));
        let codes = unpack(halves, 9);
        assert_eq!((codes.len(), codes[..2].to_vec(), codes[6..8].to_vec()), (9, vec![7, -7], vec![7, -7]));
        for ((vector, codes), scale) in vectors.chunks(3).zip(codes.chunks(3)).zip(scales.as_chunks::<4>().0) {
            let length = |values: &[f32]| values.iter().map(|value| value * value).sum::<f32>().sqrt();
            let values: Vec<f32> = codes.iter().map(|code| f32::from(*code) * f32::from_le_bytes(*scale)).collect();
            assert!((length(&values) - length(vector)).abs() < 1e-5, "{vector:?} {values:?}");
            let along: f32 = values.iter().zip(vector).map(|(a, b)| a * b).sum();
            assert!(along > 0.98 * length(vector).powi(2), "{vector:?} {values:?}");
        }
    }

    proptest! {
        #[test]
        fn the_error_of_a_value_is_little_more_than_half_a_step(vector in prop::collection::vec(-3.0f32..3.0, 1..64)) {
            let mut codes = Vec::new();
            let scale = quantise(&vector, &mut codes);
            for (value, code) in vector.iter().zip(&codes) {
                prop_assert!((value - f32::from(*code) * scale).abs() <= scale * 1.2 + 1e-7);
            }
        }
    }
}
