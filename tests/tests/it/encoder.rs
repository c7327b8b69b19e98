//! Hidden states and vectors compared with PyTorch (goldens of `python/vectors.py`), on the CPU and
//! through wgpu.

use burn::tensor::{Device, Tensor};
use bytes::Bytes;
use pel_kb::score::Similarity;
use pel_model::burn::bert::{Bert, BertInput, Pass};
use pel_model::burn::biencoder::{Tower, pool};
use pel_model::config::BertConfig;
use pel_model::cpu;
use pel_model::cpu::Sequence;
use pel_model::encode::Encoder;
use pel_model::layer::Precision;
use pel_model::tokens::{Cut, Encoded, TokenBatch, Tokens};
use pel_model::tower::{Pooling, Reduction, Side, TowerBytes};
use pel_tests::{devices, golden, model};
use serde::Deserialize;

const TOLERANCE: f32 = 1e-5;
const REDUCTION: Reduction = Reduction {
    pooling: Pooling::Mean,
    score: Similarity::Cosine,
};

#[derive(Deserialize)]
struct Golden {
    model: String,
    states: Option<States>,
    rows: Vec<Row>,
}

/// A padded batch with the states of every layer.
#[derive(Deserialize)]
struct States {
    ids: Vec<Vec<i32>>,
    mask: Vec<Vec<u8>>,
    segments: Vec<Vec<i32>>,
    embedding_sum: Values,
    hidden: Vec<Values>,
    mean: Values,
    cls: Values,
    normalized: Values,
}

#[derive(Deserialize)]
struct Row {
    text: String,
    ids: Vec<i32>,
    normalized: Values,
}

#[derive(Deserialize)]
struct Values {
    values: Vec<f32>,
}

fn floats<const D: usize>(tensor: Tensor<D>) -> Vec<f32> {
    tensor.into_data().try_to_vec().expect("floats")
}

/// Compares values where `real` is true; `real` has one entry per `width` values.
fn near(what: &str, found: &[f32], expected: &[f32], real: &[bool]) {
    assert_eq!(found.len(), expected.len(), "{what}");
    let width = expected.len() / real.len();
    for (at, (found, expected)) in found.iter().zip(expected).enumerate() {
        let close = (found - expected).abs() <= TOLERANCE * expected.abs().max(1.0);
        assert!(
            close || !real[at / width],
            "{what}: value {at}: found {found}, by PyTorch {expected}"
        );
    }
}

struct Model {
    tokens: Tokens,
    config: Vec<u8>,
    weights: Bytes,
}

impl Model {
    fn read(name: &str) -> Self {
        let read = |file: &str| std::fs::read(model(name).join(file)).expect(file);
        let tokens = Tokens::from_bytes(&read("tokenizer.json")).expect("it is a tokenizer");
        Self {
            tokens,
            config: read("config.json"),
            weights: read("model.safetensors").into(),
        }
    }

    fn bert(&self, device: &Device) -> Bert {
        let config = BertConfig::from_bytes(&self.config).expect("it is whole");
        Bert::from_bytes(&config, &self.weights, device).expect("it is whole")
    }

    fn bytes(&self) -> TowerBytes<'_> {
        TowerBytes {
            config: &self.config,
            weights: &self.weights,
            projection: None,
        }
    }

    fn tower(&self, device: &Device) -> Tower {
        Tower::from_bytes(self.bytes(), &self.tokens, device).expect("it is whole")
    }

    fn encoder(&self, device: &Device) -> Encoder {
        Encoder::new(self.bytes(), None, &self.tokens, REDUCTION, device).expect("it is whole")
    }

    /// The model with int8 weights.
    fn quantised(self) -> Self {
        let config = BertConfig::from_bytes(&self.config).expect("it is whole");
        let weights = cpu::quantise(&config, &self.weights)
            .expect("it is whole")
            .into();
        Self { weights, ..self }
    }
}

fn check_states(name: &str, model: &Model, states: &States, device: &Device) {
    let (batch, seq) = (states.ids.len(), states.ids[0].len());
    let mask: Vec<bool> = states.mask.concat().iter().map(|real| *real == 1).collect();
    let tokens = TokenBatch {
        batch,
        seq,
        ids: states.ids.concat(),
        segments: states.segments.concat(),
        mask: mask.clone(),
        own: mask.clone(),
    };
    let (bert, input) = (model.bert(device), BertInput::new(&tokens, device));
    let whole_rows = vec![true; batch];
    near(
        &format!("{name}: embedding sum"),
        &floats(bert.embedding_sum(&input)),
        &states.embedding_sum.values,
        &mask,
    );
    let last = states.hidden.last().expect("there are layers");
    for (k, expected) in states.hidden.iter().enumerate() {
        let hidden = bert.hidden_at(&input, k, &Pass::default());
        near(
            &format!("{name}: layer {k}"),
            &floats(hidden.clone()),
            &expected.values,
            &mask,
        );
        // A forward pass that starts at any layer ends in the same state.
        let entered = bert.forward_from_layer(hidden, &input.mask, k, &Pass::default());
        near(
            &format!("{name}: entered at {k}"),
            &floats(entered),
            &last.values,
            &mask,
        );
    }
    assert_eq!(states.hidden.len(), bert.depth() + 1);
    let entered = bert.forward_from_sum(bert.embedding_sum(&input), &input.mask, &Pass::default());
    near(
        &format!("{name}: entered at the sum"),
        &floats(entered),
        &last.values,
        &mask,
    );
    for (pooling, expected) in [(Pooling::Mean, &states.mean), (Pooling::Cls, &states.cls)] {
        let pooled = pool(bert.forward(&input, &Pass::default()), &input, pooling);
        near(
            &format!("{name}: {pooling:?}"),
            &floats(pooled),
            &expected.values,
            &whole_rows,
        );
    }
    let vectors = floats(model.tower(device).forward(&tokens, REDUCTION, device));
    near(
        &format!("{name}: unit vectors"),
        &vectors,
        &states.normalized.values,
        &whole_rows,
    );
}

fn check_rows(name: &str, model: &Model, rows: &[Row], device: &Device) {
    let tower = model.tower(device);
    for row in rows {
        let batch = TokenBatch::full(row.ids.len(), row.ids.clone());
        let vector = floats(tower.forward(&batch, REDUCTION, device));
        near(
            &format!("{name}: {:?}", row.text),
            &vector,
            &row.normalized.values,
            &[true],
        );
    }
}

/// The states' sequences without padding, through the CPU encoder.
fn check_states_without_padding(name: &str, model: &Model, states: &States) {
    let tower = cpu::Tower::from_bytes(model.bytes(), &model.tokens).expect("it is whole");
    let real = |values: &[i32], mask: &[u8]| -> Vec<u32> {
        values
            .iter()
            .zip(mask)
            .filter(|(_, real)| **real == 1)
            .map(|(value, _)| *value as u32)
            .collect()
    };
    let cut = |rows: &[Vec<i32>]| -> Vec<Vec<u32>> {
        rows.iter()
            .zip(&states.mask)
            .map(|(row, mask)| real(row, mask))
            .collect()
    };
    let (ids, segments) = (cut(&states.ids), cut(&states.segments));
    let sequences: Vec<_> = ids
        .iter()
        .zip(&segments)
        .map(|(ids, segments)| Sequence {
            ids,
            segments,
            own: &(0..0),
        })
        .collect();
    let (seq, last) = (
        states.ids[0].len(),
        states.hidden.last().expect("there are layers"),
    );
    let rows = tower.encoder().forward(&sequences, |_, rows| rows.to_vec());
    for (at, (rows, ids)) in rows.iter().zip(&ids).enumerate() {
        let expected = &last.values[at * seq * tower.dim()..][..ids.len() * tower.dim()];
        near(
            &format!("{name}: sequence {at} without padding"),
            rows,
            expected,
            &[true],
        );
    }
    for (pooling, score, expected) in [
        (Pooling::Mean, Similarity::Dot, &states.mean),
        (Pooling::Cls, Similarity::Dot, &states.cls),
        (Pooling::Mean, Similarity::Cosine, &states.normalized),
    ] {
        let vectors = tower.forward(&sequences, Reduction { pooling, score });
        near(
            &format!("{name}: {pooling:?} {score:?} without padding"),
            &vectors,
            &expected.values,
            &[true],
        );
    }
}

fn encoded(row: &Row) -> Encoded {
    Encoded::whole(
        row.ids.iter().map(|id| *id as u32).collect(),
        Cut::default(),
    )
}

/// All rows in one call, with different lengths, then each alone.
fn check_encoder(name: &str, encoder: &Encoder, rows: &[Row]) {
    let sequences: Vec<Encoded> = rows.iter().map(encoded).collect();
    let together = encoder
        .encode(Side::Mention, &sequences.iter().collect::<Vec<_>>())
        .expect("the device works");
    for ((row, sequence), together) in rows
        .iter()
        .zip(&sequences)
        .zip(together.chunks_exact(encoder.dim()))
    {
        near(
            &format!("{name}: {:?} among others", row.text),
            together,
            &row.normalized.values,
            &[true],
        );
        let alone = encoder
            .encode(Side::Entity, &[sequence])
            .expect("the device works");
        near(
            &format!("{name}: {:?} alone", row.text),
            &alone,
            &row.normalized.values,
            &[true],
        );
    }
}

#[test]
fn tiny_models_equal_pytorch_on_every_device() {
    for (device_name, device) in devices() {
        for file in ["tiny.json", "tiny-cased.json"] {
            let golden: Golden = golden(file);
            let (model, name) = (
                Model::read(&golden.model),
                format!("{} on {device_name}", golden.model),
            );
            check_states(
                &name,
                &model,
                golden
                    .states
                    .as_ref()
                    .expect("the tiny goldens have states"),
                &device,
            );
            check_rows(&name, &model, &golden.rows, &device);
            check_encoder(&name, &model.encoder(&device), &golden.rows);
        }
    }
}

#[test]
fn minilm_equals_pytorch_on_every_device() {
    let golden: Golden = golden("minilm.json");
    let model = Model::read(&golden.model);
    for (at, (device_name, device)) in devices().into_iter().enumerate() {
        // Software Vulkan is slow; 3 sentences suffice there.
        let rows = if at == 0 {
            &golden.rows[..]
        } else {
            &golden.rows[..3]
        };
        if at == 0 {
            check_rows(&format!("MiniLM on {device_name}"), &model, rows, &device);
        }
        check_encoder(
            &format!("MiniLM on {device_name}"),
            &model.encoder(&device),
            rows,
        );
    }
}

#[test]
fn sequences_without_padding_equal_pytorch() {
    for file in ["tiny.json", "tiny-cased.json"] {
        let golden: Golden = golden(file);
        let states = golden
            .states
            .as_ref()
            .expect("the tiny goldens have states");
        check_states_without_padding(&golden.model, &Model::read(&golden.model), states);
    }
}

#[test]
fn bfloat16_weights_are_close_to_pytorch() {
    for file in ["tiny.json", "minilm.json"] {
        let golden: Golden = golden(file);
        let model = Model::read(&golden.model);
        let sequences: Vec<Encoded> = golden.rows.iter().map(encoded).collect();
        let encode = |encoder: &Encoder| {
            encoder
                .encode(Side::Mention, &sequences.iter().collect::<Vec<_>>())
                .expect("the device works")
        };
        let encoder = model.encoder(&Device::flex()).in_precision(Precision::Bf16);
        let together = encode(&encoder);
        assert_eq!(
            together != encode(&model.encoder(&Device::flex())),
            Precision::Bf16.is_supported()
        );
        for ((row, sequence), together) in golden
            .rows
            .iter()
            .zip(&sequences)
            .zip(together.chunks_exact(encoder.dim()))
        {
            // A single sequence is divided differently among the threads.
            let alone = encoder
                .encode(Side::Mention, &[sequence])
                .expect("the device works");
            for vector in [together, &alone] {
                let cosine: f32 = vector
                    .iter()
                    .zip(&row.normalized.values)
                    .map(|(a, b)| a * b)
                    .sum();
                assert!(
                    cosine > 0.999,
                    "{}: {:?}: cosine {cosine}",
                    golden.model,
                    row.text
                );
            }
        }
    }
}

#[test]
fn int8_weights_are_close_to_pytorch_on_every_device() {
    for file in ["tiny.json", "tiny-cased.json", "minilm.json"] {
        let golden: Golden = golden(file);
        let model = Model::read(&golden.model).quantised();
        // Software Vulkan is slow; a small model suffices there.
        let count = if golden.model.starts_with("tiny") {
            usize::MAX
        } else {
            1
        };
        for (device_name, device) in devices().into_iter().take(count) {
            let sequences: Vec<Encoded> = golden.rows.iter().map(encoded).collect();
            let encoder = model.encoder(&device);
            let found = encoder
                .encode(Side::Mention, &sequences.iter().collect::<Vec<_>>())
                .expect("the device works");
            for (row, vector) in golden.rows.iter().zip(found.chunks_exact(encoder.dim())) {
                let cosine: f32 = vector
                    .iter()
                    .zip(&row.normalized.values)
                    .map(|(a, b)| a * b)
                    .sum();
                assert!(
                    cosine > 0.98,
                    "{} on {device_name}: {:?}: cosine {cosine}",
                    golden.model,
                    row.text
                );
            }
        }
    }
}
