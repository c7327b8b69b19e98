//! The vectors of an index, as floats or as int8 codes with one scale per vector, read in place.

use super::codes::{pack, quantise, quantise_to_half};
use super::{Precision, RowSource};
use pel_kb::numbers::Numbers;
use pel_kernels::{Hit, Isa, QueriesF32, QueriesI8, QueryI8, RowCodes, Scratch, Supported};
use std::ops::Range;

/// `[rows, dim]` vectors.
#[derive(Clone, Debug)]
pub enum Vectors {
    /// 4 bytes per value.
    F32 {
        /// `[rows, dim]`
        values: Numbers<f32>,
    },
    /// 1 byte per value: value = code × scale, codes from -127 to 127.
    Int8 {
        /// `[rows, dim]`
        codes: Numbers<i8>,
        /// `[rows]`
        scales: Numbers<f32>,
        /// Which codes these are.
        kind: RowCodes,
    },
}

/// A query in the precision of the vectors.
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
        /// `[dim]`: the residual of the query, without its part along the codes
        rest: QueryI8,
        /// The scale of the residual.
        rest_scale: f32,
        /// The norm of the codes.
        length: f32,
    },
}

/// Several queries in the precision of the vectors.
#[derive(Clone, Debug)]
pub enum Queries {
    /// For float vectors.
    F32(QueriesF32),
    /// For quantised vectors.
    Int8(QueriesI8),
}

impl Queries {
    /// Queries that were converted one by one, at least one.
    pub fn of<'a>(queries: impl Iterator<Item = &'a Query>, dim: usize) -> Self {
        let (mut values, mut all_codes, mut scales) = (Vec::new(), Vec::new(), Vec::new());
        for query in queries {
            match query {
                Query::F32(query) => values.extend_from_slice(query),
                Query::Int8 { codes, scale, .. } => {
                    all_codes.extend_from_slice(codes.codes());
                    scales.push(*scale);
                }
            }
        }
        match scales.is_empty() {
            true => Self::F32(QueriesF32::new(&values, dim)),
            false => Self::Int8(QueriesI8::new(all_codes, &scales, dim, RowCodes::Int8)),
        }
    }
}

impl Vectors {
    /// Converts a query to the precision of these vectors.
    pub fn query(&self, vector: &[f32]) -> Query {
        match self {
            Self::F32 { .. } => Query::F32(vector.to_vec()),
            Self::Int8 { .. } => {
                let mut codes = Vec::with_capacity(vector.len());
                let scale = quantise(vector, &mut codes);
                let mut rest_codes = Vec::with_capacity(vector.len());
                let rest_scale = quantise(&rest(vector, &codes, scale), &mut rest_codes);
                let (length, codes, rest) = (
                    length(&codes),
                    QueryI8::new(codes),
                    QueryI8::new(rest_codes),
                );
                Query::Int8 {
                    codes,
                    scale,
                    rest,
                    rest_scale,
                    length,
                }
            }
        }
    }

    /// Converts queries `[n, dim]` to the precision of these vectors.
    pub fn queries(&self, vectors: &[f32], dim: usize) -> Queries {
        match self {
            Self::F32 { .. } => Queries::F32(QueriesF32::new(vectors, dim)),
            Self::Int8 { kind, .. } => {
                let mut codes = Vec::with_capacity(vectors.len());
                let scales: Vec<f32> = vectors
                    .chunks_exact(dim)
                    .map(|vector| quantise(vector, &mut codes))
                    .collect();
                Queries::Int8(QueriesI8::new(codes, &scales, dim, *kind))
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
            Self::Int8 { codes, scales, .. } => at(codes.get(), row, dim)
                .iter()
                .map(|code| f32::from(*code) * scales.get()[row])
                .collect(),
        }
    }

    /// The sections of a file with rows of these vectors, bit for bit, and new rows: names and
    /// bodies.
    ///
    /// # Shapes
    /// new `[new rows, dim]`, sources `[rows]`
    ///
    /// # Panics
    /// If a source is no row.
    pub fn gathered(
        &self,
        new: &[f32],
        sources: &[RowSource],
        dim: usize,
        precision: Precision,
    ) -> Vec<(&'static str, Vec<u8>)> {
        match self {
            Self::F32 { values } => {
                let mut all = Vec::with_capacity(sources.len() * dim);
                for source in sources {
                    all.extend_from_slice(match *source {
                        RowSource::Old(row) => at(values.get(), row, dim),
                        RowSource::New(row) => at(new, row, dim),
                    });
                }
                vec![("values", bytemuck::cast_slice(&all).to_vec())]
            }
            Self::Int8 { codes, scales, .. } => {
                let (mut all, mut own) = (
                    Vec::with_capacity(sources.len() * dim),
                    Vec::with_capacity(sources.len()),
                );
                for source in sources {
                    own.push(match *source {
                        RowSource::Old(row) => {
                            all.extend_from_slice(at(codes.get(), row, dim));
                            scales.get()[row]
                        }
                        RowSource::New(row) if precision == Precision::Int4 => {
                            quantise_to_half(at(new, row, dim), &mut all)
                        }
                        RowSource::New(row) => quantise(at(new, row, dim), &mut all),
                    });
                }
                let scales = ("scales", bytemuck::cast_slice(&own).to_vec());
                match precision {
                    Precision::Int4 => vec![("halves", pack(&all)), scales],
                    _ => vec![("codes", bytemuck::cast_slice(&all).to_vec()), scales],
                }
            }
        }
    }

    /// The stored form of a row. No query distinguishes rows with the same form.
    pub fn identity(&self, row: usize, dim: usize) -> (&[u8], u32) {
        match self {
            Self::F32 { values } => (bytemuck::cast_slice(at(values.get(), row, dim)), 0),
            Self::Int8 { codes, scales, .. } => (
                bytemuck::cast_slice(at(codes.get(), row, dim)),
                scales.get()[row].to_bits(),
            ),
        }
    }

    /// The similarities of queries with the rows of a range, without those at or below the query's
    /// threshold.
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
            (Self::Int8 { codes, scales, .. }, Queries::Int8(queries)) => {
                queries.hits(
                    &codes.get()[values],
                    &scales.get()[rows],
                    thresholds,
                    scratch,
                    hits,
                );
            }
            _ => unreachable!("queries are made by the vectors that they are scored with"),
        }
    }

    /// The similarities of a query with some rows, as [`Vectors::hits`] computes them. It allocates
    /// nothing.
    ///
    /// # Shapes
    /// rows `[n]`, out `[n]`
    ///
    /// # Panics
    /// If there is no such row, or the sizes disagree.
    pub fn near(&self, query: &Query, rows: &[u32], out: &mut [f32]) {
        match (self, query) {
            (Self::F32 { values }, Query::F32(query)) => {
                pel_kernels::dot_f32_at(query, values.get(), rows, out)
            }
            (
                Self::Int8 { codes, scales, .. },
                Query::Int8 {
                    codes: query,
                    scale,
                    ..
                },
            ) => {
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

    /// Prefetches a row into the cache.
    #[inline]
    pub fn prefetch(&self, row: u32, dim: usize) {
        match self {
            Self::F32 { values } => pel_kernels::prefetch(at(values.get(), row as usize, dim)),
            Self::Int8 { codes, scales, .. } => {
                pel_kernels::prefetch(at(codes.get(), row as usize, dim));
                pel_kernels::prefetch(at(scales.get(), row as usize, 1));
            }
        }
    }

    /// Whether [`Vectors::score`] is finer than [`Vectors::near`].
    pub fn has_finer_scores(&self) -> bool {
        matches!(self, Self::Int8 { .. })
    }

    /// The number of rows to take by [`Vectors::near`] so that the best k by [`Vectors::score`] are
    /// among them.
    pub fn taken(&self, k: usize) -> usize {
        if self.has_finer_scores() {
            k.saturating_add(k / 4 + 16)
        } else {
            k
        }
    }

    /// The reported similarity of a query with one row. For quantised vectors it uses about 15 bits
    /// of each value of the query. It never exceeds the product of the norms, and a query with the
    /// row's codes equals the row.
    pub fn score(&self, query: &Query, row: usize) -> f32 {
        match (self, query) {
            (Self::F32 { values }, Query::F32(query)) => {
                one_f32(query, at(values.get(), row, query.len()))
            }
            (
                Self::Int8 { codes, scales, .. },
                Query::Int8 {
                    codes: query,
                    scale,
                    rest,
                    rest_scale,
                    length: query_length,
                },
            ) => {
                let (row, row_scale) =
                    (at(codes.get(), row, query.codes().len()), scales.get()[row]);
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

/// The norm of a row of codes. The sum of squares is exact.
fn length(codes: &[i8]) -> f32 {
    (codes
        .iter()
        .map(|code| i32::from(*code).pow(2))
        .sum::<i32>() as f32)
        .sqrt()
}

/// The residual of a vector after quantisation, without its part along the codes, so that the
/// similarity of a vector with itself is that of its codes.
fn rest(vector: &[f32], codes: &[i8], scale: f32) -> Vec<f32> {
    let left: Vec<f32> = vector
        .iter()
        .zip(codes)
        .map(|(value, code)| value - f32::from(*code) * scale)
        .collect();
    let along: f64 = left
        .iter()
        .zip(codes)
        .map(|(value, code)| f64::from(*value) * f64::from(*code))
        .sum();
    let square: f64 = codes.iter().map(|code| f64::from(*code).powi(2)).sum();
    let share = if square > 0.0 {
        (along / square) as f32
    } else {
        0.0
    };
    left.iter()
        .zip(codes)
        .map(|(value, code)| value - share * f32::from(*code))
        .collect()
}

fn at<T>(rows: &[T], row: usize, dim: usize) -> &[T] {
    &rows[row * dim..(row + 1) * dim]
}

fn one_f32(query: &[f32], row: &[f32]) -> f32 {
    let mut out = [0.0];
    pel_kernels::dot_f32(query, row, &mut out);
    out[0]
}

/// The similarities between the rows of an index.
pub struct PairwiseSimilarity<'a> {
    dim: usize,
    isa: Supported,
    values: Values<'a>,
}

enum Values<'a> {
    F32(&'a [f32]),
    Int8 {
        codes: &'a [i8],
        sums: Vec<i32>,
        scales: &'a [f32],
    },
}

impl<'a> PairwiseSimilarity<'a> {
    /// Prepares the comparison of all rows.
    ///
    /// # Shapes
    /// vectors `[rows, dim]`
    pub fn new(vectors: &'a Vectors, dim: usize) -> Self {
        let values = match vectors {
            Vectors::F32 { values } => Values::F32(values.get()),
            Vectors::Int8 { codes, scales, .. } => {
                let (codes, scales) = (codes.get(), scales.get());
                let sum = |row: &[i8]| row.iter().map(|code| i32::from(*code)).sum();
                Values::Int8 {
                    codes,
                    sums: codes.chunks_exact(dim).map(sum).collect(),
                    scales,
                }
            }
        };
        Self {
            dim,
            isa: Isa::best().supported(),
            values,
        }
    }

    /// The similarity of two rows. It allocates nothing.
    pub fn of(&self, one: usize, other: usize) -> f32 {
        match &self.values {
            Values::F32(values) => one_f32(at(values, one, self.dim), at(values, other, self.dim)),
            Values::Int8 {
                codes,
                sums,
                scales,
            } => {
                let (a, b) = (at(codes, one, self.dim), at(codes, other, self.dim));
                pel_kernels::dot_i8_row(self.isa, a, sums[one], b) as f32
                    * scales[other]
                    * scales[one]
            }
        }
    }
}

/// The sections of a file for float vectors in a given precision: names and bodies.
///
/// # Shapes
/// vectors: `[dim]` each
pub fn sections<V: AsRef<[f32]>>(
    vectors: impl Iterator<Item = V>,
    precision: Precision,
) -> Vec<(&'static str, Vec<u8>)> {
    let mut codes = Vec::new();
    match precision {
        Precision::F32 => {
            let mut bytes = Vec::new();
            vectors
                .for_each(|vector| bytes.extend_from_slice(bytemuck::cast_slice(vector.as_ref())));
            vec![("values", bytes)]
        }
        Precision::Int8 => {
            let scales: Vec<f32> = vectors
                .map(|vector| quantise(vector.as_ref(), &mut codes))
                .collect();
            vec![
                ("codes", bytemuck::cast_slice(&codes).to_vec()),
                ("scales", bytemuck::cast_slice(&scales).to_vec()),
            ]
        }
        Precision::Int4 => {
            let scales: Vec<f32> = vectors
                .map(|vector| quantise_to_half(vector.as_ref(), &mut codes))
                .collect();
            vec![
                ("halves", pack(&codes)),
                ("scales", bytemuck::cast_slice(&scales).to_vec()),
            ]
        }
    }
}
