//! Quantisation: vectors as int8 or int4 codes with one scale each.

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
pub fn quantise_to_half(vector: &[f32], codes: &mut Vec<i8>) -> f32 {
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

/// Codes from -7 to 7 in half a byte each: the first of two in the lower half; rows follow each other without a gap.
pub fn pack(codes: &[i8]) -> Vec<u8> {
    let half = |code: Option<&i8>| code.map_or(0, |code| (*code as u8) & 15);
    codes.chunks(2).map(|pair| half(pair.first()) | (half(pair.get(1)) << 4)).collect()
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
        let mut codes = Vec::new();
        let scales: Vec<f32> = vectors.chunks(3).map(|vector| quantise_to_half(vector, &mut codes)).collect();
        let halves = pack(&codes);
        assert_eq!((halves.len(), unpack(&halves, 9)), (5, codes.clone()));
        assert_eq!((&codes[..2], &codes[6..8]), (&[7, -7][..], &[7, -7][..]));
        for ((vector, codes), scale) in vectors.chunks(3).zip(codes.chunks(3)).zip(&scales) {
            let length = |values: &[f32]| values.iter().map(|value| value * value).sum::<f32>().sqrt();
            let values: Vec<f32> = codes.iter().map(|code| f32::from(*code) * scale).collect();
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
