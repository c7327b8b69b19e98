//! Training across the crates: losses as PyTorch has them, adversarial examples, and the same run on every device.

use burn::module::Module;
use burn::tensor::{Device, Tensor, TensorData};
use bytes::Bytes;
use pel_shared::adversary::{Towards, fgsm};
use pel_shared::bert::{BertInput, Pass, Precision, multiplies_in};
use pel_shared::biencoder::{Pooling, Reduction, Tower, TowerBytes};
use pel_shared::bundle::View;
use pel_shared::loss::{self, MultiSimilarity, Proxy, Targets};
use pel_shared::score::Score;
use pel_shared::tokens::Tokens;
use pel_tests::{bytes, devices, golden, model};
use pel_trainer::device::OpenDevice;
use pel_trainer::train::config::{Config, LossKind};
use pel_trainer::train::log::{Event, read};
use pel_trainer::train::train;
use serde::Deserialize;
use std::path::Path;

#[derive(Deserialize)]
struct Golden {
    losses: Losses,
}

#[derive(Deserialize)]
struct Losses {
    scores: Vec<Vec<f64>>,
    /// 1 = positive, 2 = negative
    pairing: Vec<Vec<u8>>,
    cross_entropy: Expected,
    proxy: Expected,
    proxy_margin: Expected,
    multi_similarity: Expected,
}

#[derive(Deserialize)]
struct Expected {
    values: Vec<f32>,
    gradient: Vec<Vec<f32>>,
}

fn floats<const D: usize>(tensor: Tensor<D>) -> Vec<f32> {
    tensor.into_data().try_to_vec().expect("floats")
}

#[test]
fn losses_and_their_gradients_are_those_of_pytorch() {
    let Golden { losses } = golden("training.json");
    for (name, device) in devices() {
        let device = device.autodiff();
        let shape = [losses.scores.len(), losses.scores[0].len()];
        let matrix = |values: Vec<f32>| Tensor::<2>::from_data(TensorData::new(values, shape), &device);
        let mask = |wanted: u8| {
            matrix(losses.pairing.iter().flatten().map(|found| f32::from(u8::from(*found == wanted))).collect())
        };
        let targets = Targets { positive: mask(1), negative: mask(2) };
        let check = |what: &str, expected: &Expected, loss: &dyn Fn(Tensor<2>) -> Tensor<1>| {
            let scores = matrix(losses.scores.iter().flatten().map(|score| *score as f32).collect()).require_grad();
            let values = loss(scores.clone());
            let gradients = values.clone().sum().backward();
            let near = |found: &[f32], expected: &[f32]| {
                assert_eq!(found.len(), expected.len());
                for (found, expected) in found.iter().zip(expected) {
                    let off = (found - expected).abs() / expected.abs().max(1.0);
                    assert!(off < 2e-5, "{what} on {name}: {found}, PyTorch {expected}");
                }
            };
            near(&floats(values), &expected.values);
            near(&floats(scores.grad(&gradients).expect("asked for")), &expected.gradient.concat());
        };
        check("cross-entropy", &losses.cross_entropy, &|scores| loss::cross_entropy(scores * 5.0, &targets));
        check("proxy", &losses.proxy, &|scores| loss::proxy(scores, &targets, Proxy::default()));
        check("proxy with a margin", &losses.proxy_margin, &|scores| {
            loss::proxy(scores, &targets, Proxy { alpha: 16.0, delta: 0.1 })
        });
        check("multi-similarity", &losses.multi_similarity, &|scores| {
            loss::multi_similarity(scores, &targets.positive, &targets.negative, MultiSimilarity::default())
        });
    }
}

#[test]
fn along_a_perturbation_positives_go_away_and_negatives_come_nearer() {
    let tokens = Tokens::from_bytes(&bytes("fixtures/tiny/tokenizer.json")).expect("whole");
    let (config, weights) = (bytes("fixtures/tiny/config.json"), Bytes::from(bytes("fixtures/tiny/model.safetensors")));
    for (name, device) in devices() {
        let device = device.autodiff();
        for score in [Score::Cosine, Score::Dot] {
            let reduction = Reduction { pooling: Pooling::Mean, score };
            let tower = TowerBytes { config: &config, weights: &weights, projection: None };
            let tower = Tower::from_bytes(tower, &tokens, &device).expect("whole").no_grad();
            let encoded = |text: &str| tokens.name(text, 32).expect("long enough").expect("letters are left");
            let rows = |texts: &[&str]| {
                let rows: Vec<_> = texts.iter().map(|text| encoded(text)).collect();
                BertInput::new(&tokens.batch(&rows.iter().collect::<Vec<_>>()), &device)
            };
            // The same entity twice, against two mentions: each pair has a perturbation of its own.
            let entities = rows(&["chest pain", "chest pain", "a cough that does not end"]);
            let mentions = rows(&["pain", "kidney", "cough"]);
            let pass = Pass::default();
            let mentions = tower.forward_pass(&mentions, reduction, &pass);
            let towards = [Towards::Lower, Towards::Higher, Towards::Higher];
            let scores = |step: Option<Tensor<3>>| {
                let z = tower.bert().embedding_sum(&entities);
                let z = step.map_or(z.clone(), |step| z + step);
                let hidden = tower.bert().forward_from_sum(z, &entities.mask, &pass);
                floats((tower.reduce(hidden, &entities, reduction) * mentions.clone()).sum_dim(1))
            };
            let (before, epsilon) = (scores(None), 1e-3);
            let step = fgsm(&tower, &entities, mentions.clone(), &towards, epsilon, reduction);
            let after = scores(Some(step.clone()));
            for (at, towards) in towards.iter().enumerate() {
                let moved = after[at] - before[at];
                let right = if *towards == Towards::Lower { moved < 0.0 } else { moved > 0.0 };
                assert!(right, "{name} {score:?} {at}: from {} to {}", before[at], after[at]);
            }
            let step = floats(step);
            assert!(step.iter().all(|value| *value == 0.0 || (value.abs() - epsilon).abs() < 1e-9), "{name}");
            let width = step.len() / 3;
            assert_ne!(step[..width], step[width..2 * width], "{name}: one perturbation for two pairs");
        }
    }
}

/// A run of twenty steps of the tiny model, with mining and FGSM, over a corpus that is written below `root`.
fn twenty_steps(root: &Path) -> Config {
    let kb: String = ["fever", "cough", "chest pain", "headache", "heart failure", "renal failure"]
        .iter()
        .map(|name| {
            format!("{{\"id\": \"{name}\", \"name\": \"{name}\", \"definition\": \"what is called {name}\"}}\n")
        })
        .collect();
    let mut documents = String::new();
    let mut mentions = String::new();
    for (number, (text, id)) in [
        ("high fever", "fever"),
        ("a dry cough", "cough"),
        ("pain in the chest", "chest pain"),
        ("kidney failure", "renal failure"),
    ]
    .iter()
    .enumerate()
    {
        documents +=
            &format!("{{\"doc_id\": \"{number}\", \"text\": \"since monday {text}\", \"split\": \"train\"}}\n");
        let end = 13 + text.len();
        mentions += &format!(
            "{{\"doc_id\": \"{number}\", \"start\": 13, \"end\": {end}, \"text\": \"{text}\", \"id\": \"{id}\"}}\n"
        );
    }
    for (name, text) in [("kb", kb), ("documents", documents), ("mentions.train", mentions)] {
        std::fs::write(root.join(format!("{name}.jsonl")), text).expect("written");
    }
    let mut config = Config::default();
    (config.data.kb, config.data.corpus) = (root.join("kb.jsonl"), root.to_owned());
    config.model.encoder = model("tiny");
    config.model.dropout = 0.0;
    (config.view.concepts, config.view.mention_tokens, config.view.entity_tokens) = (View::Both, 16, 16);
    (config.negatives.count, config.negatives.mine_every, config.negatives.mine_top) = (2, 10, 3);
    config.fgsm.lambda = 0.5;
    (config.optimiser.batch, config.optimiser.steps) = (4, Some(20));
    (config.validation.mentions, config.checkpoints.every) = (0, 20);
    config
}

/// The losses of a run.
fn losses(config: &Config, out: &Path, name: String, device: Device) -> Vec<f64> {
    train(config, out, &OpenDevice { device, name }).expect("it trains");
    let loss = |event| if let Event::Step { loss, .. } = event { Some(loss) } else { None };
    read(&out.join("metrics.jsonl")).expect("whole").into_iter().filter_map(loss).collect()
}

#[test]
fn the_first_twenty_steps_are_the_same_on_every_device() {
    let root = tempfile::tempdir().expect("a folder");
    let mut config = twenty_steps(root.path());
    for kind in [LossKind::Proxy, LossKind::CrossEntropy] {
        config.loss.kind = kind;
        let all: Vec<Vec<f64>> = devices()
            .into_iter()
            .enumerate()
            .map(|(at, (name, device))| losses(&config, &root.path().join(format!("{kind:?}-{at}")), name, device))
            .collect();
        assert_eq!(all[0].len(), 20);
        for other in &all[1..] {
            for (step, (one, other)) in all[0].iter().zip(other).enumerate() {
                let off = (one - other).abs() / one.abs().max(1.0);
                assert!(off < 1e-3, "{kind:?}, step {step}: {one} on the processor, {other} elsewhere");
            }
        }
    }
}

#[test]
fn mixed_precision_learns_the_same_where_the_device_has_it() {
    let root = tempfile::tempdir().expect("a folder");
    let exact = twenty_steps(root.path());
    let mut rounded = exact.clone();
    rounded.model.precision = Precision::Bf16;
    for (at, (name, device)) in devices().into_iter().enumerate() {
        let out = root.path().join(format!("rounded-{at}"));
        if multiplies_in(Precision::Bf16, &device) {
            let found = losses(&rounded, &out, name.clone(), device.clone());
            let exact = losses(&exact, &root.path().join("exact"), name, device);
            assert_ne!(found, exact, "nothing was rounded");
            for (step, (found, exact)) in found.iter().zip(&exact).enumerate() {
                assert!((found - exact).abs() < 0.05 * exact.abs().max(1.0), "step {step}: {found}, in floats {exact}");
            }
        } else {
            let refused = train(&rounded, &out, &OpenDevice { device, name }).expect_err("it cannot").to_string();
            assert!(refused.contains("`model.precision`") && !out.exists(), "{refused}");
        }
    }
}
