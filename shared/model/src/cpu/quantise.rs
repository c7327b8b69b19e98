//! Quantises the weights of an encoder to one byte each, in the format of
//! [`crate::weights::Weights`].

use crate::config::BertConfig;
use crate::weights::Weights;
use bytes::Bytes;
use pel_kb::error::{Error, Result};
use pel_kernels::int8::{pack, quantise_column};
use safetensors::tensor::{Dtype, TensorInfo};
use std::collections::BTreeMap;

/// The alignment of panels in bytes, so that no vector of a panel crosses a cache line.
const ALIGN: usize = 64;

/// Tensors to be written to a file.
#[derive(Default)]
struct Tensors(Vec<(String, Dtype, Vec<usize>, Vec<u8>)>);

impl Tensors {
    fn floats(&mut self, name: String, shape: &[usize], values: &[f32]) {
        self.0.push((
            name,
            Dtype::F32,
            shape.to_vec(),
            bytemuck::cast_slice(values).to_vec(),
        ));
    }

    fn codes(&mut self, name: String, shape: &[usize], codes: &[i8]) {
        self.0.push((
            name,
            Dtype::I8,
            shape.to_vec(),
            bytemuck::cast_slice(codes).to_vec(),
        ));
    }

    /// The file, panels first and each aligned to a cache line. The writer of the `safetensors`
    /// crate aligns less.
    fn file(mut self) -> Result<Vec<u8>> {
        self.0
            .sort_by_key(|(_, dtype, shape, _)| match (dtype, shape.len()) {
                (Dtype::I8, 4) => 0,
                (Dtype::I8, _) => 2,
                _ => 1,
            });
        let (mut table, mut end) = (BTreeMap::new(), 0);
        for (name, dtype, shape, bytes) in &self.0 {
            let data_offsets = (end, end + bytes.len());
            end = data_offsets.1;
            table.insert(
                name,
                TensorInfo {
                    dtype: *dtype,
                    shape: shape.clone(),
                    data_offsets,
                },
            );
        }
        let mut header = serde_json::to_vec(&table)
            .map_err(|cause| Error::artifact("writing quantised weights").caused_by(cause))?;
        header.resize((8 + header.len()).next_multiple_of(ALIGN) - 8, b' ');
        let mut file = Vec::with_capacity(8 + header.len() + end);
        file.extend_from_slice(&(header.len() as u64).to_le_bytes());
        file.extend_from_slice(&header);
        self.0
            .iter()
            .for_each(|(.., bytes)| file.extend_from_slice(bytes));
        Ok(file)
    }
}

/// Quantises the weights of an encoder: each linear layer by outputs, each table by rows. Small
/// tensors stay f32.
///
/// # Errors
/// If a tensor is missing, unexpected, not finite, or its shape differs from `config`. The error
/// names it.
pub fn quantise(config: &BertConfig, safetensors: &Bytes) -> Result<Vec<u8>> {
    let hidden = config.hidden_size;
    let mut weights = Weights::within(safetensors)?;
    let mut tensors = Tensors::default();
    for (name, rows) in [
        ("word", config.vocab_size),
        ("position", config.max_position_embeddings),
        ("token_type", config.type_vocab_size),
    ] {
        table(
            &mut weights,
            &mut tensors,
            format!("embeddings.{name}_embeddings.weight"),
            rows,
            hidden,
        )?;
    }
    norm(&mut weights, &mut tensors, "embeddings.LayerNorm", hidden)?;
    layers(config, &mut weights, &mut tensors)?;
    weights.finish()?;
    tensors.file()
}

/// Quantises the layers in the weights of a detector. All other tensors stay f32.
///
/// # Errors
/// As [`quantise`].
pub fn quantise_layers(config: &BertConfig, safetensors: &Bytes) -> Result<Vec<u8>> {
    let mut weights = Weights::within(safetensors)?;
    let mut tensors = Tensors::default();
    layers(config, &mut weights, &mut tensors)?;
    for (name, shape) in weights.left() {
        let values = weights.floats(&name, &shape)?;
        tensors.floats(name, &shape, &values);
    }
    tensors.file()
}

fn layers(config: &BertConfig, weights: &mut Weights<'_>, tensors: &mut Tensors) -> Result<()> {
    let (hidden, inner) = (config.hidden_size, config.intermediate_size);
    for at in 0..config.num_hidden_layers {
        for (name, inputs, outputs) in [
            ("attention.self.query", hidden, hidden),
            ("attention.self.key", hidden, hidden),
            ("attention.self.value", hidden, hidden),
            ("attention.output.dense", hidden, hidden),
            ("intermediate.dense", hidden, inner),
            ("output.dense", inner, hidden),
        ] {
            let name = format!("encoder.layer.{at}.{name}");
            linear(weights, tensors, &name, inputs, outputs)?;
        }
        for name in ["attention.output.LayerNorm", "output.LayerNorm"] {
            let name = format!("encoder.layer.{at}.{name}");
            norm(weights, tensors, &name, hidden)?;
        }
    }
    Ok(())
}

/// Whether weights are quantised.
///
/// # Errors
/// If the bytes are not a complete safetensors file.
pub fn is_quantised(safetensors: &[u8]) -> Result<bool> {
    Ok(Weights::from_bytes(safetensors)?.is_quantised("embeddings.word_embeddings.weight"))
}

fn table(
    weights: &mut Weights<'_>,
    to: &mut Tensors,
    name: String,
    rows: usize,
    width: usize,
) -> Result<()> {
    let (codes, scales) = by_rows(&weights.floats(&name, &[rows, width])?, width);
    to.floats(format!("{name}_scale"), &[rows], &scales);
    to.codes(name, &[rows, width], &codes);
    Ok(())
}

fn linear(
    weights: &mut Weights<'_>,
    to: &mut Tensors,
    name: &str,
    inputs: usize,
    outputs: usize,
) -> Result<()> {
    let (weight, bias) = (format!("{name}.weight"), format!("{name}.bias"));
    let (codes, scales) = by_rows(&weights.floats(&weight, &[outputs, inputs])?, inputs);
    let (panels, sums) = pack(&codes, inputs);
    to.floats(format!("{weight}_scale"), &[outputs], &scales);
    to.floats(format!("{weight}_sum"), &[outputs], &sums);
    to.codes(weight, &Weights::packed_shape(outputs, inputs), &panels);
    to.floats(
        bias.clone(),
        &[outputs],
        &weights.floats(&bias, &[outputs])?,
    );
    Ok(())
}

fn norm(weights: &mut Weights<'_>, to: &mut Tensors, name: &str, size: usize) -> Result<()> {
    for part in ["weight", "bias"] {
        let name = format!("{name}.{part}");
        let values = weights.floats(&name, &[size])?;
        to.floats(name, &[size], &values);
    }
    Ok(())
}

fn by_rows(values: &[f32], width: usize) -> (Vec<i8>, Vec<f32>) {
    let mut codes = Vec::with_capacity(values.len());
    let scales = values
        .chunks_exact(width)
        .map(|row| quantise_column(row, &mut codes))
        .collect();
    (codes, scales)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::burn::bert::{Bert, BertInput, Pass};
    use crate::cpu::Encoder;
    use crate::tokens::TokenBatch;
    use burn::tensor::Device;
    use safetensors::SafeTensors;

    const CONFIG: &[u8] = include_bytes!("../../../tests/fixtures/tiny/config.json");
    const FLOATS: &[u8] = include_bytes!("../../../tests/fixtures/tiny/model.safetensors");

    fn config() -> BertConfig {
        BertConfig::from_bytes(CONFIG).expect("whole")
    }

    fn quantised() -> Bytes {
        quantise(&config(), &Bytes::from_static(FLOATS))
            .expect("whole")
            .into()
    }

    /// The floats that codes stand for, under the names and shapes of the float file.
    fn dequantised(codes: &Bytes) -> Bytes {
        let mut weights = Weights::within(codes).expect("whole");
        let mut tensors = Tensors::default();
        for (name, view) in SafeTensors::deserialize(FLOATS).expect("whole").tensors() {
            if let Ok(values) = weights.floats(&name, view.shape()) {
                tensors.floats(name, view.shape(), &values);
            }
        }
        weights.finish().expect("every code has its floats");
        tensors.file().expect("it can be written").into()
    }

    fn forward(weights: &[u8]) -> Vec<f32> {
        let device = Device::flex();
        let bert = Bert::from_bytes(&config(), weights, &device).expect("whole");
        let batch = TokenBatch::full(5, vec![2, 9, 7, 300, 3]);
        bert.forward(&BertInput::new(&batch, &device), &Pass::default())
            .into_data()
            .try_to_vec()
            .expect("floats")
    }

    #[test]
    fn burn_dequantises_codes() {
        let codes = quantised();
        let floats = dequantised(&codes);
        assert_eq!(forward(&codes), forward(&floats));
        assert!(is_quantised(&codes).expect("whole") && !is_quantised(&floats).expect("whole"));
    }

    #[test]
    fn panels_are_aligned_to_cache_lines() {
        let file = quantised();
        let start = file.as_ptr() as usize;
        for (name, view) in SafeTensors::deserialize(&file).expect("whole").tensors() {
            let at = view.data().as_ptr() as usize - start;
            assert!(
                view.shape().len() != 4 || at.is_multiple_of(ALIGN),
                "{name} begins at {at}"
            );
        }
    }

    #[test]
    fn mismatched_tensor_is_named_in_the_error() {
        type Change = fn(&mut Vec<(String, Dtype, Vec<usize>, Vec<u8>)>, usize);
        let query = "encoder.layer.1.attention.self.query.weight";
        let words = "embeddings.word_embeddings.weight";
        let remove: Change = |tensors, at| drop(tensors.remove(at));
        let flat: Change = |tensors, at| tensors[at].2 = vec![32, 32];
        let turned: Change = |tensors, at| tensors[at].2 = vec![2, 8, 4, 16];
        let bytes: Change = |tensors, at| tensors[at].1 = Dtype::U8;
        let short: Change = |tensors, at| {
            let (_, _, shape, bytes) = &mut tensors[at];
            shape[0] -= 1;
            bytes.truncate(4 * shape[0]);
        };
        for (name, change, said) in [
            (query.to_owned(), remove, "is missing"),
            (format!("{query}_scale"), remove, "is missing"),
            (format!("{query}_sum"), remove, "is missing"),
            (format!("{words}_scale"), remove, "is missing"),
            (query.to_owned(), turned, "[2, 8, 16, 4]"),
            (
                query.to_owned(),
                bytes,
                "expected shape [32, 32], found [2, 8, 16, 4]",
            ),
            (
                format!("{query}_scale"),
                short,
                "expected shape [32], found [31]",
            ),
            (
                format!("{query}_sum"),
                short,
                "expected shape [32], found [31]",
            ),
            (
                format!("{words}_scale"),
                short,
                "expected shape [401], found [400]",
            ),
            (query.to_owned(), flat, query),
        ] {
            let file = quantised();
            let read = SafeTensors::deserialize(&file).expect("whole");
            let mut tensors = Tensors::default();
            for (name, view) in read.tensors() {
                tensors.0.push((
                    name,
                    view.dtype(),
                    view.shape().to_vec(),
                    view.data().to_vec(),
                ));
            }
            let at = tensors
                .0
                .iter()
                .position(|(found, ..)| *found == name)
                .expect("there");
            change(&mut tensors.0, at);
            let file = Bytes::from(tensors.file().expect("it can be written"));
            let on_cpu = Weights::within(&file).and_then(|mut weights| {
                Encoder::from_weights(&config(), &mut weights)?;
                weights.finish()
            });
            let by_burn = Bert::from_bytes(&config(), &file, &Device::flex()).map(drop);
            for outcome in [on_cpu, by_burn] {
                let error = outcome.expect_err(&name).to_string();
                assert!(
                    error.contains(&name) && error.contains(said),
                    "{name}: {error}"
                );
            }
        }
    }
}
