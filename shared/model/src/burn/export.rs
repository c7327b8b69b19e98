//! Exports the encoder's weights in Hugging Face's format.

use super::layer::Layer;
use crate::burn::bert::Bert;
use crate::layer::{LINEAR_PARTS, NORM_PARTS, path};
use burn::nn::{LayerNorm, Linear};
use burn::tensor::Tensor;
use pel_kb::error::{Error, Result};
use safetensors::tensor::{Dtype, TensorView};

/// Tensors to be written, with names and shapes.
#[derive(Default)]
pub struct Exported(Vec<(String, Vec<usize>, Vec<f32>)>);

impl Exported {
    /// Adds a tensor under its name.
    ///
    /// # Errors
    /// If it cannot be read from the device.
    pub fn put<const D: usize>(&mut self, name: &str, tensor: Tensor<D>) -> Result<()> {
        let shape = tensor.dims().to_vec();
        let data = tensor.inner().try_into_data();
        let data = data.map_err(|cause| {
            Error::device(format!("reading `{name}` back")).caused_by(cause.to_string())
        })?;
        let values = data.try_into_vec::<f32>().map_err(|cause| {
            Error::device(format!("the tensor `{name}`: expected floats"))
                .caused_by(format!("{cause:?}"))
        })?;
        self.0.push((name.to_owned(), shape, values));
        Ok(())
    }

    /// Adds a linear layer. Hugging Face stores weights as `[out, in]`.
    ///
    /// # Errors
    /// As [`Exported::put`].
    pub fn linear(&mut self, name: &str, linear: &Linear) -> Result<()> {
        self.put(&dotted(name, "weight"), linear.weight.val().transpose())?;
        match &linear.bias {
            Some(bias) => self.put(&dotted(name, "bias"), bias.val()),
            None => Ok(()),
        }
    }

    fn norm(&mut self, name: &str, norm: &LayerNorm) -> Result<()> {
        self.put(&dotted(name, "weight"), norm.gamma.val())?;
        match &norm.beta {
            Some(beta) => self.put(&dotted(name, "bias"), beta.val()),
            None => Ok(()),
        }
    }

    /// The bytes of a safetensors file.
    ///
    /// # Errors
    /// If they cannot be written.
    pub fn into_bytes(self) -> Result<Vec<u8>> {
        let failed = |cause: safetensors::SafeTensorError| {
            Error::artifact("writing safetensors").caused_by(cause)
        };
        let views = self.0.iter().map(|(name, shape, values)| {
            Ok((
                name.as_str(),
                TensorView::new(Dtype::F32, shape.clone(), bytemuck::cast_slice(values))?,
            ))
        });
        let views = views.collect::<Result<Vec<_>, _>>().map_err(failed)?;
        safetensors::serialize(views, None).map_err(failed)
    }
}

fn dotted(name: &str, part: &str) -> String {
    if name.is_empty() {
        part.to_owned()
    } else {
        format!("{name}.{part}")
    }
}

impl Bert {
    /// The bytes of a `model.safetensors` from which [`Bert::from_bytes`] and Hugging Face's
    /// `BertModel` build this encoder.
    ///
    /// # Errors
    /// If the tensors cannot be read from the device.
    pub fn to_safetensors(&self) -> Result<Vec<u8>> {
        let mut all = Exported::default();
        for (name, table) in [
            ("word", &self.words),
            ("position", &self.positions),
            ("token_type", &self.segments),
        ] {
            all.put(
                &format!("embeddings.{name}_embeddings.weight"),
                table.weight.val(),
            )?;
        }
        all.norm("embeddings.LayerNorm", &self.norm)?;
        self.export_layers(&mut all)?;
        all.into_bytes()
    }

    /// Adds the tensors of all layers.
    ///
    /// # Errors
    /// If they cannot be read from the device.
    pub fn export_layers(&self, all: &mut Exported) -> Result<()> {
        for (at, layer) in self.layers.iter().enumerate() {
            layer.export(at, all)?;
        }
        Ok(())
    }
}

impl Layer {
    /// Adds the tensors that [`Layer::take`] takes for layer `at`.
    fn export(&self, at: usize, all: &mut Exported) -> Result<()> {
        let (linears, norms) = self.parts();
        for (part, linear) in LINEAR_PARTS.iter().zip(linears) {
            all.linear(&path(at, part.name), linear)?;
        }
        for (part, norm) in NORM_PARTS.iter().zip(norms) {
            all.norm(&path(at, part), norm)?;
        }
        Ok(())
    }
}
