//! Numbers inside a file, used where they lie.

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

#[cfg(test)]
mod tests {
    use super::*;

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
