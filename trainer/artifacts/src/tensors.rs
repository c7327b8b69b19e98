//! Writing safetensors files.

use pel_kb::error::{Error, Result};
use safetensors::SafeTensorError;
pub use safetensors::tensor::Dtype;
use safetensors::tensor::TensorView;

/// A tensor to be written.
#[derive(Clone, Debug)]
pub struct NamedTensor<'a> {
    /// Its name.
    pub name: String,
    /// The type of its values.
    pub dtype: Dtype,
    /// Its shape.
    pub shape: Vec<usize>,
    /// Its values, little-endian, row-major.
    pub bytes: &'a [u8],
}

impl<'a> NamedTensor<'a> {
    /// A tensor of floats.
    pub fn floats(name: impl Into<String>, shape: Vec<usize>, values: &'a [f32]) -> Self {
        Self {
            name: name.into(),
            dtype: Dtype::F32,
            shape,
            bytes: bytemuck::cast_slice(values),
        }
    }

    fn view(&self) -> Result<(&str, TensorView<'a>), SafeTensorError> {
        Ok((
            &self.name,
            TensorView::new(self.dtype, self.shape.clone(), self.bytes)?,
        ))
    }
}

/// Serialises tensors to the bytes of a safetensors file.
///
/// # Errors
/// If the bytes of a tensor do not match its shape.
pub fn to_bytes(tensors: &[NamedTensor<'_>]) -> Result<Vec<u8>> {
    let failed = |cause: SafeTensorError| Error::io("writing safetensors").caused_by(cause);
    let views = tensors
        .iter()
        .map(NamedTensor::view)
        .collect::<Result<Vec<_>, _>>()
        .map_err(failed)?;
    safetensors::serialize(views, None).map_err(failed)
}
