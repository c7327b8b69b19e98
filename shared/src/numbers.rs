//! Numbers inside a file, used where they lie.

use crate::error::{Error, Result};
use bytes::Bytes;

#[cfg(target_endian = "big")]
compile_error!("files are little-endian and used where they lie");

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

/// Refuses numbers that are infinite or none: every score that they touch would be none. `what` names them in the error.
///
/// # Errors
/// If there is one; the first one's position, from 0, and how many there are, are named.
pub fn check_finite(what: &str, values: &[f32]) -> Result<()> {
    // All bits of the exponent are set in what is infinite or no number. Without a way out of the loop it is vectorised.
    const EXPONENT: u32 = 0x7f80_0000;
    let any = values.iter().fold(0, |any, value| any | u32::from(value.to_bits() & EXPONENT == EXPONENT));
    if any == 0 {
        return Ok(());
    }
    let broken = || values.iter().enumerate().filter(|(_, value)| !value.is_finite());
    let (count, all) = (broken().count(), values.len());
    let first = broken().next().map_or(String::new(), |(at, value)| format!("{value} at position {at}, "));
    Err(Error::artifact(format!("{what}: expected finite numbers, found {first}{count} of {all} that are not finite")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn numbers_that_are_not_finite_are_named_with_their_place() {
        check_finite("x", &[0.0, -0.0, f32::MAX, f32::MIN, f32::MIN_POSITIVE, 1e-45]).expect("all are finite");
        check_finite("x", &[]).expect("nothing is wrong");
        let said =
            check_finite("the tensor `x`", &[1.0, f32::NAN, 2.0, f32::NEG_INFINITY]).expect_err("two").to_string();
        assert_eq!(
            said,
            "the tensor `x`: expected finite numbers, found NaN at position 1, 2 of 4 that are not finite"
        );
    }

    proptest! {
        #[test]
        fn they_are_found_wherever_they_stand(bits in prop::collection::vec(any::<u32>(), 0..70)) {
            let values: Vec<f32> = bits.iter().map(|bits| f32::from_bits(*bits)).collect();
            prop_assert_eq!(check_finite("x", &values).is_ok(), values.iter().all(|value| value.is_finite()));
        }
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
}
