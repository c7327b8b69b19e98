//! Quantisation: vectors as int8 or int4 codes with one scale each.

/// The largest int8 code.
const INT8: f32 = 127.0;

/// The largest int4 code.
const INT4: f32 = 7.0;

/// Quantises a vector to int8 and appends its codes. Returns the scale.
///
/// The largest magnitude becomes 127. The scale preserves the norm of the vector, so that the
/// similarity of a vector with itself is exact and no cosine exceeds 1. A zero vector has scale 0,
/// and one with a value that is not finite has scale NaN.
pub fn quantise(vector: &[f32], codes: &mut Vec<i8>) -> f32 {
    match largest(vector) {
        Some(largest) => quantise_to(INT8, largest, vector, codes),
        None => not_finite(vector, codes),
    }
}

/// As [`quantise`], with codes from -7 to 7. Values above a limit are clipped, at the limit with
/// the largest dot product of the vector and its codes.
pub fn quantise_to_half(vector: &[f32], codes: &mut Vec<i8>) -> f32 {
    let Some(largest) = largest(vector) else {
        return not_finite(vector, codes);
    };
    let first = codes.len();
    let mut best: Option<(f64, f32, Vec<i8>)> = None;
    // For a vector of 64 values the best limit is rarely below 0.6 of the largest value.
    for tenths in 6..=10 {
        let mut tried = Vec::with_capacity(vector.len());
        let scale = quantise_to(INT4, largest * tenths as f32 / 10.0, vector, &mut tried);
        let along: f64 = vector
            .iter()
            .zip(&tried)
            .map(|(value, code)| f64::from(*value) * f64::from(*code))
            .sum();
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

/// The largest magnitude; `None` if a value is not finite.
fn largest(vector: &[f32]) -> Option<f32> {
    let largest = vector.iter().fold(0.0f32, |largest, value| {
        if value.is_nan() {
            f32::NAN
        } else {
            largest.max(value.abs())
        }
    });
    largest.is_finite().then_some(largest)
}

/// Codes and scale of a vector with a value that is not finite.
fn not_finite(vector: &[f32], codes: &mut Vec<i8>) -> f32 {
    codes.extend(std::iter::repeat_n(0, vector.len()));
    f32::NAN
}

fn quantise_to(most: f32, limit: f32, vector: &[f32], codes: &mut Vec<i8>) -> f32 {
    let inverse = if limit > 0.0 { most / limit } else { 0.0 };
    let first = codes.len();
    codes.extend(
        vector
            .iter()
            .map(|value| (value * inverse).round().clamp(-most, most) as i8),
    );
    let length = vector
        .iter()
        .map(|value| f64::from(*value) * f64::from(*value))
        .sum::<f64>()
        .sqrt();
    let coded = codes[first..]
        .iter()
        .map(|code| f64::from(*code) * f64::from(*code))
        .sum::<f64>()
        .sqrt();
    if coded > 0.0 {
        (length / coded) as f32
    } else {
        0.0
    }
}

/// Packs codes from -7 to 7 two to a byte, the first in the lower half. There is no padding between
/// rows.
pub fn pack(codes: &[i8]) -> Vec<u8> {
    let half = |code: Option<&i8>| code.map_or(0, |code| (*code as u8) & 15);
    codes
        .chunks(2)
        .map(|pair| half(pair.first()) | (half(pair.get(1)) << 4))
        .collect()
}

/// Unpacks `count` codes to one byte each, as the search reads them.
pub fn unpack(halves: &[u8], count: usize) -> Vec<i8> {
    // The arithmetic shift extends the sign of the half.
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
    fn largest_value_becomes_127() {
        let mut codes = Vec::new();
        // The length of (3, 4) is 5; the codes 95 and 127 have the length 158.6.
        let scale = quantise(&[3.0, -4.0, 0.0, 0.01], &mut codes);
        assert_eq!(codes, [95, -127, 0, 0]);
        assert!((scale - 5.0 / 158.6).abs() < 1e-5, "{scale}");
    }

    #[test]
    fn zero_vector_has_scale_zero_and_infinite_values_scale_nan() {
        let mut codes = Vec::new();
        assert_eq!(quantise(&[0.0, 0.0], &mut codes), 0.0);
        assert!(quantise(&[1.0, f32::NAN], &mut codes).is_nan());
        assert!(quantise(&[f32::NEG_INFINITY, 2.0], &mut codes).is_nan());
        assert_eq!(codes, [0; 6]);
    }

    #[test]
    fn packing_is_lossless_and_scales_preserve_norms() {
        // An odd number of values: the last byte has one code.
        let vectors = [0.7f32, -0.7, 0.1, -0.02, 0.3, 0.0, 1.0, -1.0, 0.5];
        let mut codes = Vec::new();
        let scales: Vec<f32> = vectors
            .chunks(3)
            .map(|vector| quantise_to_half(vector, &mut codes))
            .collect();
        let halves = pack(&codes);
        assert_eq!((halves.len(), unpack(&halves, 9)), (5, codes.clone()));
        assert_eq!((&codes[..2], &codes[6..8]), (&[7, -7][..], &[7, -7][..]));
        for ((vector, codes), scale) in vectors.chunks(3).zip(codes.chunks(3)).zip(&scales) {
            let length =
                |values: &[f32]| values.iter().map(|value| value * value).sum::<f32>().sqrt();
            let values: Vec<f32> = codes.iter().map(|code| f32::from(*code) * scale).collect();
            assert!(
                (length(&values) - length(vector)).abs() < 1e-5,
                "{vector:?} {values:?}"
            );
            let along: f32 = values.iter().zip(vector).map(|(a, b)| a * b).sum();
            assert!(
                along > 0.98 * length(vector).powi(2),
                "{vector:?} {values:?}"
            );
        }
    }

    proptest! {
        #[test]
        fn quantisation_error_is_at_most_1_2_steps(
            vector in prop::collection::vec(-3.0f32..3.0, 1..64),
        ) {
            let mut codes = Vec::new();
            let scale = quantise(&vector, &mut codes);
            for (value, code) in vector.iter().zip(&codes) {
                prop_assert!((value - f32::from(*code) * scale).abs() <= scale * 1.2 + 1e-7);
            }
        }
    }
}
