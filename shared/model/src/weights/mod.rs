//! Tensors of a `model.safetensors`, taken by name, each exactly once.
//!
//! Names are those of Hugging Face's `BertModel`. A prefix `bert.` (checkpoints with a head) is
//! dropped, the old names `gamma` and `beta` become `weight` and `bias`, and tensors that no
//! sentence encoder uses are ignored: `pooler.*`, `cls.*`, `classifier.*`, `qa_outputs.*` and
//! `embeddings.position_ids`.
//!
//! A quantised file (see [`crate::cpu::quantise`]) has, for the floats of `X.weight`:
//!
//! | | `X.weight` | with it |
//! | --- | --- | --- |
//! | linear layer `[out, in]` | I8, packed: `[out / 16, in / 4, 16, 4]`, rounded up | `X.weight_scale`, `X.weight_sum` F32 `[out]` |
//! | table `[rows, hidden]` | I8 `[rows, hidden]` | `X.weight_scale` F32 `[rows]` |

mod codes;

use burn::tensor::{Device, Tensor, TensorData};
use bytes::Bytes;
use pel_kb::error::{Error, Result};
use pel_kb::numbers::{Numbers, check_finite};
use safetensors::tensor::{Dtype, SafeTensors, TensorView};
use std::collections::BTreeMap;

/// The tensors that were not yet taken.
pub struct Weights<'a> {
    left: BTreeMap<String, TensorView<'a>>,
    file: Option<&'a Bytes>,
}

impl<'a> Weights<'a> {
    /// Reads the header of a safetensors file. Tensors are read when they are taken.
    ///
    /// # Errors
    /// If the file is truncated or not a safetensors file.
    pub fn from_bytes(bytes: &'a [u8]) -> Result<Self> {
        let file = SafeTensors::deserialize(bytes).map_err(|cause| {
            Error::artifact("expected a complete safetensors file").caused_by(cause)
        })?;
        let left = file
            .tensors()
            .into_iter()
            .filter_map(|(name, view)| Some((encoder_name(&name)?, view)))
            .collect();
        Ok(Self { left, file: None })
    }

    /// As [`Weights::from_bytes`]; `Numbers` share the file's bytes.
    ///
    /// # Errors
    /// As [`Weights::from_bytes`].
    pub fn within(file: &'a Bytes) -> Result<Self> {
        Ok(Self {
            file: Some(file),
            ..Self::from_bytes(file)?
        })
    }

    /// Takes the tensor `name`, converted to f32.
    ///
    /// # Errors
    /// If it is missing, has another shape or type, or a value that is not finite.
    pub fn take<const D: usize>(
        &mut self,
        name: &str,
        shape: [usize; D],
        device: &Device,
    ) -> Result<Tensor<D>> {
        let data = TensorData::new(self.floats(name, &shape)?, shape);
        Ok(Tensor::from_data(data, device))
    }

    /// Takes the tensor `name` as floats. Codes are dequantised.
    ///
    /// # Errors
    /// As [`Weights::take`].
    pub fn floats(&mut self, name: &str, shape: &[usize]) -> Result<Vec<f32>> {
        match (self.is_quantised(name), shape) {
            (true, [outputs, inputs])
                if self
                    .left
                    .get(name)
                    .is_some_and(|view| view.shape().len() == 4) =>
            {
                Ok(self
                    .quantised_linear(name, *outputs, *inputs)?
                    .values(*inputs))
            }
            (true, [rows, width]) => Ok(self.quantised_table(name, *rows, *width)?.values(*width)),
            _ => floats(name, &self.shaped(name, shape)?),
        }
    }

    /// Takes the tensor `name` as floats: in place if they are f32, else converted.
    ///
    /// # Errors
    /// As [`Weights::take`].
    pub fn numbers(&mut self, name: &str, shape: &[usize]) -> Result<Numbers<f32>> {
        let view = self.shaped(name, shape)?;
        if view.dtype() != Dtype::F32 {
            return Ok(Numbers::Copied(floats(name, &view)?));
        }
        let numbers = Numbers::new(self.lying(&view));
        check_finite(&tensor(name), numbers.get())?;
        Ok(numbers)
    }

    /// The bytes of a tensor, shared with the file if possible.
    fn lying(&self, view: &TensorView<'a>) -> Bytes {
        self.file.map_or_else(
            || Bytes::copy_from_slice(view.data()),
            |file| file.slice_ref(view.data()),
        )
    }

    fn shaped(&mut self, name: &str, shape: &[usize]) -> Result<TensorView<'a>> {
        let view = self
            .left
            .remove(name)
            .ok_or_else(|| Error::artifact(format!("the tensor `{name}` is missing")))?;
        if view.shape() != shape {
            let found = view.shape();
            return Err(Error::artifact(format!(
                "the tensor `{name}`: expected shape {shape:?}, found {found:?}"
            )));
        }
        Ok(view)
    }

    /// Whether the tensor `name` is there and was not taken.
    pub fn has(&self, name: &str) -> bool {
        self.left.contains_key(name)
    }

    /// The names and shapes of the tensors that were not yet taken.
    pub fn left(&self) -> Vec<(String, Vec<usize>)> {
        self.left
            .iter()
            .map(|(name, view)| (name.clone(), view.shape().to_vec()))
            .collect()
    }

    /// Whether the tensor `name` holds codes of one byte.
    pub fn is_quantised(&self, name: &str) -> bool {
        self.left
            .get(name)
            .is_some_and(|view| view.dtype() == Dtype::I8)
    }

    /// The first size of a tensor.
    ///
    /// # Errors
    /// If it is missing or a single number.
    pub fn rows(&self, name: &str) -> Result<usize> {
        let rows = self
            .left
            .get(name)
            .and_then(|view| view.shape().first().copied());
        rows.ok_or_else(|| Error::artifact(format!("the tensor `{name}` is missing")))
    }

    /// Checks that all tensors were taken.
    ///
    /// # Errors
    /// If a tensor was not taken, because the file is of another model.
    pub fn finish(self) -> Result<()> {
        match self.left.len() {
            0 => Ok(()),
            count => {
                let names: Vec<_> = self
                    .left
                    .keys()
                    .take(3)
                    .map(|name| format!("`{name}`"))
                    .collect();
                let more = if count > names.len() { ", ..." } else { "" };
                Err(Error::artifact(format!(
                    "{count} tensors that BERT does not have: {}{more}",
                    names.join(", ")
                )))
            }
        }
    }
}

/// The normalised name of a tensor; `None` for one that is ignored.
pub fn encoder_name(name: &str) -> Option<String> {
    let name = name.strip_prefix("bert.").unwrap_or(name);
    let aside = ["pooler.", "cls.", "classifier.", "qa_outputs."];
    if aside.iter().any(|prefix| name.starts_with(prefix)) || name == "embeddings.position_ids" {
        return None;
    }
    Some(
        name.replace("LayerNorm.gamma", "LayerNorm.weight")
            .replace("LayerNorm.beta", "LayerNorm.bias"),
    )
}

fn floats(name: &str, view: &TensorView<'_>) -> Result<Vec<f32>> {
    let bytes = view.data();
    let read =
        |width, float: fn(&[u8]) -> f32| bytes.chunks_exact(width).map(float).collect::<Vec<f32>>();
    let values = match view.dtype() {
        Dtype::F32 => read(4, |b| f32::from_le_bytes([b[0], b[1], b[2], b[3]])),
        Dtype::F64 => read(8, |b| {
            f64::from_le_bytes([b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7]]) as f32
        }),
        Dtype::F16 => read(2, |b| half::f16::from_le_bytes([b[0], b[1]]).to_f32()),
        Dtype::BF16 => read(2, |b| half::bf16::from_le_bytes([b[0], b[1]]).to_f32()),
        other => {
            return Err(Error::artifact(format!(
                "the tensor `{name}`: expected floats, found {other:?}"
            )));
        }
    };
    // After the conversion, because an f64 may exceed the range of f32.
    check_finite(&tensor(name), &values)?;
    Ok(values)
}

/// A tensor's name in errors.
fn tensor(name: &str) -> String {
    format!("the tensor `{name}`")
}

#[cfg(test)]
mod tests {
    use super::*;
    use safetensors::serialize;

    fn file(tensors: &[(&str, Dtype, Vec<usize>, Vec<u8>)]) -> Vec<u8> {
        let views = tensors.iter().map(|(name, dtype, shape, bytes)| {
            (
                *name,
                TensorView::new(*dtype, shape.clone(), bytes).expect("sizes agree"),
            )
        });
        serialize(views, None).expect("it can be written")
    }

    #[test]
    fn each_tensor_is_taken_once_for_any_float_type() {
        let half = half::f16::from_f32(1.5).to_le_bytes();
        let bytes = file(&[
            (
                "bert.a",
                Dtype::F32,
                vec![2],
                [1f32.to_le_bytes(), 2f32.to_le_bytes()].concat(),
            ),
            ("b.LayerNorm.gamma", Dtype::F16, vec![1], half.to_vec()),
            (
                "bert.pooler.dense.bias",
                Dtype::F32,
                vec![1],
                9f32.to_le_bytes().to_vec(),
            ),
        ]);
        let device = Device::flex();
        let mut weights = Weights::from_bytes(&bytes).expect("whole");
        let a = weights.take::<1>("a", [2], &device).expect("there");
        let b = weights
            .take::<1>("b.LayerNorm.weight", [1], &device)
            .expect("there");
        assert_eq!(
            a.into_data().try_to_vec::<f32>().expect("floats"),
            [1.0, 2.0]
        );
        assert_eq!(b.into_data().try_to_vec::<f32>().expect("floats"), [1.5]);
        assert!(
            weights
                .take::<1>("a", [2], &device)
                .expect_err("gone")
                .to_string()
                .contains("`a` is missing")
        );
        weights.finish().expect("nothing left");
    }

    #[test]
    fn non_finite_values_are_refused_by_tensor_and_position() {
        let f32s = |values: &[f32]| bytemuck::cast_slice(values).to_vec();
        let bf16 = half::bf16::NEG_INFINITY.to_le_bytes();
        let f16 = half::f16::NAN.to_le_bytes();
        let half_one = half::f16::ONE.to_le_bytes();
        let device = Device::flex();
        for (dtype, shape, bytes, found) in [
            (
                Dtype::F32,
                vec![2, 2],
                f32s(&[1.0, 2.0, f32::NAN, f32::NAN]),
                "NaN at position 2, 2 of 4",
            ),
            (
                Dtype::F32,
                vec![1, 2],
                f32s(&[f32::INFINITY, 0.0]),
                "inf at position 0, 1 of 2",
            ),
            (
                Dtype::F16,
                vec![1, 2],
                [half_one, f16].concat(),
                "NaN at position 1, 1 of 2",
            ),
            (
                Dtype::BF16,
                vec![1, 1],
                bf16.to_vec(),
                "-inf at position 0, 1 of 1",
            ),
            (
                Dtype::F64,
                vec![1, 1],
                1e300f64.to_le_bytes().to_vec(),
                "inf at position 0, 1 of 1",
            ),
        ] {
            let bytes = Bytes::from(file(&[("x", dtype, shape.clone(), bytes)]));
            let weights = || Weights::within(&bytes).expect("whole");
            for error in [
                weights().floats("x", &shape).expect_err("broken"),
                weights().numbers("x", &shape).expect_err("broken"),
                weights()
                    .take::<2>("x", [shape[0], shape[1]], &device)
                    .expect_err("broken"),
            ] {
                let said = error.to_string();
                assert!(
                    said.contains("`x`") && said.contains(found),
                    "{dtype:?}: {said}"
                );
            }
        }
    }

    #[test]
    fn non_finite_scales_are_refused() {
        let bytes = file(&[
            ("x", Dtype::I8, vec![2, 2], vec![1; 4]),
            (
                "x_scale",
                Dtype::F32,
                vec![2],
                bytemuck::cast_slice(&[1.0f32, f32::INFINITY]).to_vec(),
            ),
        ]);
        let said = Weights::from_bytes(&bytes)
            .expect("whole")
            .floats("x", &[2, 2])
            .expect_err("broken")
            .to_string();
        assert!(
            said.contains("`x_scale`") && said.contains("inf at position 1"),
            "{said}"
        );
    }

    #[test]
    fn wrong_shape_unexpected_tensor_and_truncated_file_are_errors() {
        let bytes = file(&[
            ("x", Dtype::F32, vec![2, 1], vec![0; 8]),
            ("y", Dtype::I64, vec![1], vec![0; 8]),
        ]);
        let mut weights = Weights::from_bytes(&bytes).expect("whole");
        let device = Device::flex();
        let said = weights
            .take::<2>("x", [1, 2], &device)
            .expect_err("shape")
            .to_string();
        assert!(
            said.contains("`x`") && said.contains("[1, 2]") && said.contains("[2, 1]"),
            "{said}"
        );
        assert!(
            weights
                .take::<1>("y", [1], &device)
                .expect_err("type")
                .to_string()
                .contains("I64")
        );
        let spare = Weights::from_bytes(&bytes)
            .expect("whole")
            .finish()
            .expect_err("spare")
            .to_string();
        assert!(spare.contains("`x`, `y`"), "{spare}");
        assert!(Weights::from_bytes(&bytes[..bytes.len() - 3]).is_err());
    }
}
