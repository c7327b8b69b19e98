//! Arrays of numbers that are read from the bytes of a file without a copy where alignment allows.

use crate::error::{Error, Result};
use bytes::Bytes;

#[cfg(target_endian = "big")]
compile_error!("files are little-endian; reading them in place needs a little-endian target");

/// An array of numbers in a file. It is copied only if its bytes are not aligned for `T`.
#[derive(Clone, Debug)]
pub enum Numbers<T> {
    /// The bytes of the file, aligned for `T`.
    Within(Bytes),
    /// A copy, for bytes that are not aligned.
    Copied(Vec<T>),
}

impl<T: bytemuck::AnyBitPattern> Numbers<T> {
    /// Reinterprets bytes as numbers. A remainder shorter than one number is dropped.
    pub fn new(bytes: Bytes) -> Self {
        match bytemuck::try_cast_slice::<u8, T>(&bytes) {
            Ok(_) => Self::Within(bytes),
            Err(_) => Self::Copied(
                bytes
                    .chunks_exact(size_of::<T>())
                    .map(bytemuck::pod_read_unaligned)
                    .collect(),
            ),
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

/// Checks that all numbers are finite: one NaN or infinity would make every score NaN.
///
/// `what` names the numbers in the error message.
///
/// # Errors
/// If a number is NaN or infinite. The message gives the first one's position, counted from 0, and
/// how many there are.
pub fn check_finite(what: &str, values: &[f32]) -> Result<()> {
    // NaN and infinity have all exponent bits set. Without an early exit the loop is vectorised.
    const EXPONENT: u32 = 0x7f80_0000;
    let any = values.iter().fold(0, |any, value| {
        any | u32::from(value.to_bits() & EXPONENT == EXPONENT)
    });
    if any == 0 {
        return Ok(());
    }
    let broken = || {
        values
            .iter()
            .enumerate()
            .filter(|(_, value)| !value.is_finite())
    };
    let count = broken().count();
    let all = values.len();
    let first = broken().next().map_or(String::new(), |(at, value)| {
        format!("{value} at position {at}, ")
    });
    Err(Error::artifact(format!(
        "{what}: expected finite numbers, found {first}{count} of {all} that are not finite"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn check_finite_reports_the_first_position_and_the_count() {
        check_finite(
            "x",
            &[0.0, -0.0, f32::MAX, f32::MIN, f32::MIN_POSITIVE, 1e-45],
        )
        .expect("all are finite");
        check_finite("x", &[]).expect("nothing is wrong");
        let message = check_finite("the tensor `x`", &[1.0, f32::NAN, 2.0, f32::NEG_INFINITY])
            .expect_err("two are not finite")
            .to_string();
        assert_eq!(
            message,
            "the tensor `x`: expected finite numbers, found NaN at position 1, 2 of 4 that are not \
             finite"
        );
    }

    proptest! {
        #[test]
        fn check_finite_detects_a_value_at_any_position(
            bits in prop::collection::vec(any::<u32>(), 0..70)
        ) {
            let values: Vec<f32> = bits.iter().map(|bits| f32::from_bits(*bits)).collect();
            prop_assert_eq!(
                check_finite("x", &values).is_ok(),
                values.iter().all(|value| value.is_finite())
            );
        }
    }

    #[test]
    fn numbers_are_read_from_aligned_and_unaligned_bytes() {
        let floats = [1.5f32, -2.0, 3.25];
        let mut shifted = vec![0u8];
        shifted.extend_from_slice(bytemuck::cast_slice(&floats));
        for (bytes, from) in [(bytemuck::cast_slice(&floats).to_vec(), 0), (shifted, 1)] {
            let numbers = Numbers::<f32>::new(Bytes::from(bytes).slice(from..));
            assert_eq!(numbers.get(), floats);
        }
    }
}
