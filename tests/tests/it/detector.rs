//! A detector of mentions compared with PyTorch (golden of `python/detector.py`): its probabilities
//! on the CPU; its logits, losses and gradients on every device.

use burn::module::{Module, ModuleVisitor, Param};
use burn::tensor::{Device, Gradients, Int, Tensor, TensorData};
use bytes::Bytes;
use pel_kb::container::Check;
use pel_kb::table::ConceptTable;
use pel_kb::{Concept, KnowledgeBase};
use pel_model::burn::bert::{BertInput, Pass};
use pel_model::burn::export::Exported;
use pel_model::burn::span_head::{SpanInput, SpanModel, read_span_model, span_loss};
use pel_model::config::BertConfig;
use pel_model::detector::{Detector, DetectorInfo, Features, windows};
use pel_model::tokens::{Cut, Encoded, Tokens, Words};
use pel_model::weights::Weights;
use pel_tests::{devices, golden, model_bytes};
use pel_text::detect::Dictionary;
use serde::Deserialize;
use std::collections::BTreeMap;

#[derive(Deserialize)]
struct Golden {
    model: String,
    info: DetectorInfo,
    /// The detector's layers, as layers of the model.
    layers: Vec<usize>,
    seed: u32,
    head: Vec<HeadTensor>,
    text: String,
    /// Names and types.
    concepts: Vec<(String, String)>,
    shapes: Vec<u8>,
    marks: Vec<u8>,
    /// First word, last word, group.
    matches: Vec<(usize, usize, u8)>,
    windows: Vec<GoldenWindow>,
    /// For each scheme: first word, last word, label, probability.
    spans: Vec<Vec<(usize, usize, usize, f32)>>,
    /// First word, last word, label of all schemes.
    mentions: Vec<(usize, usize, usize)>,
    losses: Vec<f32>,
    gradient_norm: f32,
    /// Of each tensor of the head.
    gradient_norms: BTreeMap<String, f32>,
}

#[derive(Deserialize)]
struct HeadTensor {
    name: String,
    shape: Vec<usize>,
    scale: f32,
}

#[derive(Deserialize)]
struct GoldenWindow {
    words: [usize; 2],
    own: [usize; 2],
    ids: Vec<u32>,
    ends: Vec<[usize; 2]>,
    /// 1 for labels that take part in the loss.
    covered: Vec<f32>,
    /// `[words, lengths, labels]`
    logits: Vec<Vec<Vec<f32>>>,
}

fn floats<const D: usize>(tensor: Tensor<D>) -> Vec<f32> {
    tensor.into_data().try_to_vec().expect("floats")
}

fn near(what: &str, found: f32, expected: f32) {
    assert!(
        (found - expected).abs() <= 1e-4 * expected.abs().max(1.0),
        "{what}: {found}, by PyTorch {expected}"
    );
}

/// A detector's files, and the text as it reads it.
struct Case {
    golden: Golden,
    config: Vec<u8>,
    embeddings: Bytes,
    weights: Bytes,
    tokens: Tokens,
    words: Words,
    features: Features,
}

impl Case {
    fn read() -> Self {
        let golden: Golden = golden("detector.json");
        let model = |file: &str| model_bytes(&golden.model, file);
        let mut config: serde_json::Value =
            serde_json::from_slice(&model("config.json")).expect("JSON");
        config["num_hidden_layers"] = golden.layers.len().into();
        let embeddings = Bytes::from(model("model.safetensors"));
        let tokens = Tokens::from_bytes(&model("tokenizer.json")).expect("whole");
        let words = tokens.words(&golden.text).expect("text");
        Self {
            config: config.to_string().into_bytes(),
            weights: weights(&golden, &embeddings),
            features: features(&golden, &words),
            golden,
            embeddings,
            tokens,
            words,
        }
    }

    fn network(&self, device: &Device) -> SpanModel {
        let config = BertConfig::from_bytes(&self.config).expect("whole");
        let (info, weights) = (&self.golden.info, &self.weights);
        read_span_model(info, &config, weights, &self.embeddings, device)
            .expect("whole")
            .freeze_embeddings()
    }

    /// All windows in one batch.
    fn batch(&self, device: &Device) -> Batch {
        let windows = &self.golden.windows;
        let (lengths, labels) = (self.golden.info.words, self.golden.info.labels());
        let rows: Vec<Encoded> = windows
            .iter()
            .map(|window| Encoded::whole(window.ids.clone(), Cut::default()))
            .collect();
        let tokens = self.tokens.batch(&rows.iter().collect::<Vec<_>>());
        let counts: Vec<usize> = windows.iter().map(|window| window.ends.len()).collect();
        let words = counts.iter().copied().max().expect("there are windows");
        let places = windows.len() * words;
        let mut ends = [vec![0; places], vec![0; places]];
        let (mut marks, mut shapes) = (vec![0; places], vec![0; places]);
        let mut matches = vec![0; places * lengths];
        let mut targets = vec![0f32; places * lengths * labels];
        let mut mask = targets.clone();
        for (row, window) in windows.iter().enumerate() {
            let [start, _] = window.words;
            for (at, [first, last]) in window.ends.iter().enumerate() {
                let place = row * words + at;
                ends[0][place] = (row * tokens.seq + first) as i32;
                ends[1][place] = (row * tokens.seq + last) as i32;
                marks[place] = i32::from(self.features.marks[start + at]);
                shapes[place] = i32::from(self.features.shapes[start + at]);
                for length in 0..lengths.min(window.ends.len() - at) {
                    let span = place * lengths + length;
                    let (first, last) = (start + at, start + at + length);
                    matches[span] = i32::from(self.features.matched(first, last));
                    for (label, covered) in window.covered.iter().enumerate() {
                        mask[span * labels + label] = *covered;
                        let is_mention = self.golden.mentions.contains(&(first, last, label));
                        targets[span * labels + label] = f32::from(u8::from(is_mention));
                    }
                }
            }
        }
        let ints = |values: Vec<i32>, width: usize| -> Tensor<2, Int> {
            Tensor::from_data(TensorData::new(values, [windows.len(), width]), device)
        };
        let of_spans = |values: Vec<f32>| -> Tensor<4> {
            let shape = [windows.len(), words, lengths, labels];
            Tensor::from_data(TensorData::new(values, shape), device)
        };
        let of_rows: Vec<f32> = counts.iter().map(|count| *count as f32).collect();
        Batch {
            input: SpanInput {
                bert: BertInput::new(&tokens, device),
                words,
                ends: ends
                    .map(|values| Tensor::from_data(TensorData::new(values, [places]), device)),
                marks: ints(marks, words),
                shapes: ints(shapes, words),
                matches: ints(matches, words * lengths),
            },
            targets: of_spans(targets),
            mask: of_spans(mask),
            counts: Tensor::from_data(TensorData::new(of_rows, [windows.len()]), device),
        }
    }
}

/// What [`SpanModel::forward`] and [`span_loss`] read.
struct Batch {
    input: SpanInput,
    targets: Tensor<4>,
    mask: Tensor<4>,
    counts: Tensor<1>,
}

/// The weights file: layers of the model in the golden's order, and a head from the golden's seed.
fn weights(golden: &Golden, model: &[u8]) -> Bytes {
    let mut all = Exported::default();
    let mut put = |name: &str, shape: &[usize], values: Vec<f32>| {
        let device = Device::flex();
        match *shape {
            [count] => all.put(
                name,
                Tensor::<1>::from_data(TensorData::new(values, [count]), &device),
            ),
            [rows, columns] => all.put(
                name,
                Tensor::<2>::from_data(TensorData::new(values, [rows, columns]), &device),
            ),
            _ => panic!("{name}: expected a vector or a matrix, found {shape:?}"),
        }
        .expect("the device works");
    };
    let mut tensors = Weights::from_bytes(model).expect("whole");
    for (name, shape) in tensors.left() {
        for (to, from) in golden.layers.iter().enumerate() {
            if let Some(part) = name.strip_prefix(&format!("encoder.layer.{from}.")) {
                let values = tensors.floats(&name, &shape).expect("floats");
                put(&format!("encoder.layer.{to}.{part}"), &shape, values);
            }
        }
    }
    let mut state = golden.seed;
    for HeadTensor { name, shape, scale } in &golden.head {
        let mut next = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            scale * ((state >> 8) as f32 / 8_388_608.0 - 1.0)
        };
        let values = (0..shape.iter().product::<usize>())
            .map(|_| next())
            .collect();
        put(name, shape, values);
    }
    all.into_bytes().expect("written").into()
}

/// The features with the golden's concepts as the knowledge base.
fn features(golden: &Golden, words: &Words) -> Features {
    let mut kb = KnowledgeBase::new();
    for (name, of_type) in &golden.concepts {
        kb.push(Concept {
            id: name.clone(),
            name: name.clone(),
            types: vec![of_type.clone()],
            ..Concept::default()
        })
        .expect("new");
    }
    let dictionary = Bytes::from(Dictionary::build(kb.iter()).expect("built"));
    let dictionary = Dictionary::from_bytes(dictionary).expect("whole");
    let concepts = Bytes::from(ConceptTable::build(&kb).expect("built"));
    let concepts = ConceptTable::from_bytes(&concepts, Check::Checksums).expect("whole");
    Features::new(&golden.text, words, &dictionary, |concept| {
        concepts.group(concept)
    })
    .expect("read")
}

#[test]
fn windows_and_features_equal_those_of_python() {
    let case = Case::read();
    let Golden { info, .. } = &case.golden;
    let found = windows(info, &case.words);
    assert_eq!(found.len(), case.golden.windows.len());
    for (window, expected) in found.iter().zip(&case.golden.windows) {
        assert_eq!([window.words.start, window.words.end], expected.words);
        assert_eq!([window.own.start, window.own.end], expected.own);
        let encoded = window.encoded(info, &case.words, &case.tokens);
        assert_eq!(encoded.ids, expected.ids);
        assert_eq!(window.ends(info, &case.words), expected.ends);
    }
    assert_eq!(case.features.shapes, case.golden.shapes);
    assert_eq!(case.features.marks, case.golden.marks);
    let count = case.words.words.len();
    let found: Vec<_> = (0..count)
        .flat_map(|first| (first..count).map(move |last| (first, last)))
        .map(|(first, last)| (first, last, case.features.matched(first, last)))
        .filter(|(_, _, group)| *group != 0)
        .collect();
    assert_eq!(found, case.golden.matches);
}

#[test]
fn probabilities_equal_pytorch() {
    let case = Case::read();
    let detector = Detector::from_bytes(
        case.golden.info.clone(),
        &case.config,
        &case.weights,
        &case.embeddings,
    )
    .expect("whole");
    assert_eq!(case.golden.spans.len(), case.golden.info.schemes.len());
    for (scheme, expected) in case.golden.spans.iter().enumerate() {
        let found = detector.spans(&case.tokens, &case.words, &case.features, scheme, 0.0);
        assert_eq!(found.len(), expected.len(), "scheme {scheme}");
        for (found, (first, last, label, probability)) in found.iter().zip(expected) {
            let what = format!("scheme {scheme}, words {first}..={last}");
            assert_eq!(
                (found.first, found.last, found.label),
                (*first, *last, *label),
                "{what}"
            );
            near(&what, found.probability, *probability);
        }
    }
}

/// Sums the squares of each parameter's gradient.
struct Squares<'a> {
    path: Vec<String>,
    gradients: &'a Gradients,
    found: BTreeMap<String, f32>,
}

impl ModuleVisitor for Squares<'_> {
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        if let Some(gradient) = param.val().grad(self.gradients) {
            let squares = floats(gradient).iter().map(|value| value * value).sum();
            self.found.insert(self.path.join("."), squares);
        }
    }

    fn enter_module(&mut self, name: &str, _: &str) {
        self.path.push(name.to_owned());
    }

    fn exit_module(&mut self, _: &str, _: &str) {
        self.path.pop();
    }
}

#[test]
fn logits_losses_and_gradients_equal_pytorch_on_every_device() {
    let case = Case::read();
    let golden = &case.golden;
    for (device_name, device) in devices() {
        let device = device.autodiff();
        let (network, batch) = (case.network(&device), case.batch(&device));
        let logits = network.forward(&batch.input, &Pass::default());
        let [_, words, lengths, labels] = logits.dims();
        let found = floats(logits.clone());
        for (row, window) in golden.windows.iter().enumerate() {
            for (at, of_word) in window.logits.iter().enumerate() {
                let inside = lengths.min(window.logits.len() - at);
                assert_eq!(of_word.len(), lengths);
                for (length, expected) in of_word[..inside].iter().enumerate() {
                    let from = ((row * words + at) * lengths + length) * labels;
                    let what = format!("{device_name}: window {row}, word {at}, length {length}");
                    assert_eq!(expected.len(), labels, "{what}");
                    for (found, expected) in found[from..].iter().zip(expected) {
                        near(&what, *found, *expected);
                    }
                }
            }
        }
        let losses = span_loss(logits, batch.targets, batch.mask, batch.counts);
        let found = floats(losses.clone());
        assert_eq!(found.len(), golden.losses.len());
        for (found, expected) in found.iter().zip(&golden.losses) {
            near(&format!("{device_name}: loss"), *found, *expected);
        }
        let gradients = losses.sum().backward();
        let mut squares = Squares {
            path: Vec::new(),
            gradients: &gradients,
            found: BTreeMap::new(),
        };
        network.visit(&mut squares);
        for (name, expected) in &golden.gradient_norms {
            let found = squares.found.get(name);
            let found = found.unwrap_or_else(|| panic!("{device_name}: {name}: no gradient"));
            let what = format!("{device_name}: the gradient of {name}");
            near(&what, found.sqrt(), *expected);
        }
        let norm = squares.found.values().sum::<f32>().sqrt();
        near(
            &format!("{device_name}: the gradient"),
            norm,
            golden.gradient_norm,
        );
    }
}
