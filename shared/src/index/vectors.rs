//! The vectors of an index, as floats or as bytes with one scale a vector, used where they lie.

use crate::error::Result;
use crate::kernels;
use bytes::Bytes;

#[cfg(target_endian = "big")]
compile_error!("index files are little-endian and used where they lie");

/// Numbers inside a file; copied once if they are not aligned for their type.
#[derive(Clone, Debug)]
pub enum Numbers<T> {
    /// They lie in the file.
    Within(Bytes),
    /// They were copied.
    Copied(Vec<T>),
}

impl<T: bytemuck::AnyBitPattern> Numbers<T> {
    /// Takes whole numbers; bytes that are no whole number at the end are dropped.
    pub fn new(bytes: Bytes) -> Self {
        match bytemuck::try_cast_slice::<u8, T>(&bytes) {
            Ok(_) => Self::Within(bytes),
            Err(_) => Self::Copied(bytes.chunks_exact(size_of::<T>()).map(bytemuck::pod_read_unaligned).collect()),
        }
    }

    /// The numbers.
    pub fn get(&self) -> &[T] {
        match self {
            Self::Within(bytes) => bytemuck::try_cast_slice(bytes).unwrap_or_default(),
            Self::Copied(numbers) => numbers,
        }
    }
}

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
        codes: Vec<i8>,
        /// value = code × scale
        scale: f32,
    },
}

/// Quantises one vector: the largest magnitude becomes 127, and the scale keeps the vector's length, so that the score of
/// a vector with itself is exact (a cosine never rises above 1). A vector of zeros, or with a value that is not finite,
/// gets scale 0 or NaN, so that its scores are 0 or NaN and never look good.
pub fn quantise(vector: &[f32], codes: &mut Vec<i8>) -> f32 {
    let largest =
        vector.iter().fold(0.0f32, |largest, value| if value.is_nan() { f32::NAN } else { largest.max(value.abs()) });
    if !largest.is_finite() {
        codes.extend(std::iter::repeat_n(0, vector.len()));
        return f32::NAN;
    }
    let inverse = if largest > 0.0 { 127.0 / largest } else { 0.0 };
    let first = codes.len();
    codes.extend(vector.iter().map(|value| (value * inverse).round().clamp(-127.0, 127.0) as i8));
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
                Query::Int8 { codes, scale }
            }
        }
    }

    /// Row `row` as a query.
    pub fn row(&self, row: usize, dim: usize) -> Query {
        match self {
            Self::F32 { values } => Query::F32(values.get()[row * dim..(row + 1) * dim].to_vec()),
            Self::Int8 { codes, scales } => {
                Query::Int8 { codes: codes.get()[row * dim..(row + 1) * dim].to_vec(), scale: scales.get()[row] }
            }
        }
    }

    /// Similarities of a query with consecutive rows from `first` on.
    ///
    /// # Shapes
    /// out `[n]`; `scratch` is any buffer, kept by the caller between calls.
    pub fn scores(&self, query: &Query, first: usize, out: &mut [f32], scratch: &mut Vec<i32>) {
        let (rows, end) = (out.len(), first + out.len());
        match (self, query) {
            (Self::F32 { values }, Query::F32(query)) => {
                let dim = query.len();
                kernels::dot_f32(query, &values.get()[first * dim..end * dim], out);
            }
            (Self::Int8 { codes, scales }, Query::Int8 { codes: query, scale }) => {
                let dim = query.len();
                scratch.clear();
                scratch.resize(rows, 0);
                kernels::dot_i8(query, &codes.get()[first * dim..end * dim], scratch);
                for ((out, sum), row_scale) in out.iter_mut().zip(scratch.iter()).zip(&scales.get()[first..end]) {
                    *out = *sum as f32 * row_scale * scale;
                }
            }
            _ => unreachable!("a query is made by the vectors that it is scored with"),
        }
    }

    /// The similarity of a query and one row, as [`Vectors::scores`] has it; allocates nothing.
    pub fn score(&self, query: &Query, row: usize) -> f32 {
        match (self, query) {
            (Self::F32 { values }, Query::F32(query)) => one_f32(query, at(values.get(), row, query.len())),
            (Self::Int8 { codes, scales }, Query::Int8 { codes: query, scale }) => {
                one_i8(query, at(codes.get(), row, query.len())) * scales.get()[row] * scale
            }
            _ => unreachable!("a query is made by the vectors that it is scored with"),
        }
    }

    /// The similarity of two rows; allocates nothing.
    pub fn pair(&self, one: usize, other: usize, dim: usize) -> f32 {
        match self {
            Self::F32 { values } => one_f32(at(values.get(), one, dim), at(values.get(), other, dim)),
            Self::Int8 { codes, scales } => {
                let sum = one_i8(at(codes.get(), one, dim), at(codes.get(), other, dim));
                sum * scales.get()[other] * scales.get()[one]
            }
        }
    }
}

fn at<T>(rows: &[T], row: usize, dim: usize) -> &[T] {
    &rows[row * dim..(row + 1) * dim]
}

fn one_f32(query: &[f32], row: &[f32]) -> f32 {
    let mut out = [0.0];
    kernels::dot_f32(query, row, &mut out);
    out[0]
}

fn one_i8(query: &[i8], row: &[i8]) -> f32 {
    let mut out = [0];
    kernels::dot_i8(query, row, &mut out);
    out[0] as f32
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
    })
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
    fn numbers_are_read_wherever_they_lie() {
        let floats = [1.5f32, -2.0, 3.25];
        let mut shifted = vec![0u8];
        shifted.extend_from_slice(bytemuck::cast_slice(&floats));
        for (bytes, from) in [(bytemuck::cast_slice(&floats).to_vec(), 0), (shifted, 1)] {
            let numbers = Numbers::<f32>::new(Bytes::from(bytes).slice(from..));
            assert_eq!(numbers.get(), floats);
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
