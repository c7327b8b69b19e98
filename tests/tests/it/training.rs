//! Training across the crates: losses compared with PyTorch, adversarial examples, and equal runs
//! on every device.

use burn::module::Module;
use burn::tensor::{Device, Tensor, TensorData};
use bytes::Bytes;
use pel_artifacts::device::OpenDevice;
use pel_kb::score::Similarity;
use pel_model::burn::bert::{BertInput, Pass, multiplies_in};
use pel_model::burn::biencoder::Tower;
use pel_model::burn::sum_of_max::{TokenVectors, sum_of_max};
use pel_model::layer::Precision;
use pel_model::losses::fgsm::{Towards, fgsm};
use pel_model::losses::objectives;
use pel_model::losses::objectives::{MultiSimilarity, Proxy, Targets};
use pel_model::tokens::Tokens;
use pel_model::tokens::View;
use pel_model::tower::{Pooling, Reduction, TowerBytes};
use pel_tests::{devices, golden, model, model_bytes};
use pel_trainer::train::config::{Config, LossKind, NegativeKind};
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

#[derive(Deserialize)]
struct Methods {
    distillation: Distillation,
    sum_of_max: SumOfMax,
}

#[derive(Deserialize)]
struct Distillation {
    student: Vec<Vec<f32>>,
    teacher: Vec<Vec<f32>>,
    listed: Vec<Vec<f32>>,
    cases: Vec<AtTemperature>,
}

#[derive(Deserialize)]
struct AtTemperature {
    temperature: f64,
    #[serde(flatten)]
    expected: Expected,
}

#[derive(Deserialize)]
struct SumOfMax {
    mentions: Vec<Vec<Vec<f32>>>,
    entities: Vec<Vec<Vec<f32>>>,
    lengths: [Vec<usize>; 2],
    scores: Vec<Vec<f32>>,
    factors: Vec<Vec<f32>>,
    of_mentions: Vec<Vec<Vec<f32>>>,
    of_entities: Vec<Vec<Vec<f32>>>,
}

fn floats<const D: usize>(tensor: Tensor<D>) -> Vec<f32> {
    tensor.into_data().try_to_vec().expect("floats")
}

fn near(what: &str, found: &[f32], expected: &[f32]) {
    assert_eq!(found.len(), expected.len(), "{what}");
    for (found, expected) in found.iter().zip(expected) {
        assert!(
            (found - expected).abs() <= 2e-5 * expected.abs().max(1.0),
            "{what}: {found}, by PyTorch {expected}"
        );
    }
}

#[test]
fn distillation_equals_pytorch() {
    let Methods { distillation, .. } = golden("methods.json");
    for (name, device) in devices() {
        let device = device.autodiff();
        let shape = [distillation.student.len(), distillation.student[0].len()];
        let matrix = |rows: &[Vec<f32>]| {
            Tensor::<2>::from_data(TensorData::new(rows.concat(), shape), &device)
        };
        for AtTemperature {
            temperature,
            expected,
        } in &distillation.cases
        {
            let student = matrix(&distillation.student).require_grad();
            let (teacher, listed) = (matrix(&distillation.teacher), matrix(&distillation.listed));
            let values = objectives::distillation(student.clone(), teacher, &listed, *temperature);
            let gradients = values.clone().sum().backward();
            near(
                &format!("{name}, T = {temperature}"),
                &floats(values),
                &expected.values,
            );
            let gradient = floats(student.grad(&gradients).expect("requested"));
            near(
                &format!("{name}, T = {temperature}, gradient"),
                &gradient,
                &expected.gradient.concat(),
            );
        }
    }
}

#[test]
fn sum_of_max_equals_pytorch() {
    let Methods {
        sum_of_max: golden, ..
    } = golden("methods.json");
    for (name, device) in devices() {
        let device = device.autodiff();
        let vectors = |rows: &[Vec<Vec<f32>>], lengths: &[usize]| {
            let shape = [rows.len(), rows[0].len(), rows[0][0].len()];
            let values = TensorData::new(rows.concat().concat(), shape);
            let mask = lengths
                .iter()
                .flat_map(|length| (0..shape[1]).map(move |at| f32::from(u8::from(at < *length))));
            let mask = TensorData::new(mask.collect::<Vec<_>>(), [shape[0], shape[1]]);
            let values = Tensor::<3>::from_data(values, &device).require_grad();
            TokenVectors {
                values,
                mask: Tensor::from_data(mask, &device),
            }
        };
        let mentions = vectors(&golden.mentions, &golden.lengths[0]);
        let entities = vectors(&golden.entities, &golden.lengths[1]);
        let scores = sum_of_max(&mentions, &entities);
        near(&name, &floats(scores.clone()), &golden.scores.concat());
        let factors = TensorData::new(
            golden.factors.concat(),
            [golden.factors.len(), golden.factors[0].len()],
        );
        let gradients = (scores * Tensor::from_data(factors, &device))
            .sum()
            .backward();
        let gradient = |of: &TokenVectors| floats(of.values.grad(&gradients).expect("requested"));
        near(
            &name,
            &gradient(&mentions),
            &golden.of_mentions.concat().concat(),
        );
        near(
            &name,
            &gradient(&entities),
            &golden.of_entities.concat().concat(),
        );
    }
}

#[test]
fn losses_and_gradients_equal_pytorch() {
    let Golden { losses } = golden("training.json");
    for (name, device) in devices() {
        let device = device.autodiff();
        let shape = [losses.scores.len(), losses.scores[0].len()];
        let matrix =
            |values: Vec<f32>| Tensor::<2>::from_data(TensorData::new(values, shape), &device);
        let mask = |wanted: u8| {
            matrix(
                losses
                    .pairing
                    .iter()
                    .flatten()
                    .map(|found| f32::from(u8::from(*found == wanted)))
                    .collect(),
            )
        };
        let targets = Targets {
            positive: mask(1),
            negative: mask(2),
        };
        let check = |what: &str, expected: &Expected, loss: &dyn Fn(Tensor<2>) -> Tensor<1>| {
            let scores = matrix(
                losses
                    .scores
                    .iter()
                    .flatten()
                    .map(|score| *score as f32)
                    .collect(),
            )
            .require_grad();
            let values = loss(scores.clone());
            let gradients = values.clone().sum().backward();
            let near = |found: &[f32], expected: &[f32]| {
                assert_eq!(found.len(), expected.len());
                for (found, expected) in found.iter().zip(expected) {
                    let off = (found - expected).abs() / expected.abs().max(1.0);
                    assert!(
                        off < 2e-5,
                        "{what} on {name}: {found}, by PyTorch {expected}"
                    );
                }
            };
            near(&floats(values), &expected.values);
            near(
                &floats(scores.grad(&gradients).expect("requested")),
                &expected.gradient.concat(),
            );
        };
        check("cross-entropy", &losses.cross_entropy, &|scores| {
            objectives::cross_entropy(scores * 5.0, &targets)
        });
        check("proxy", &losses.proxy, &|scores| {
            objectives::proxy(scores, &targets, Proxy::default())
        });
        check("proxy with a margin", &losses.proxy_margin, &|scores| {
            objectives::proxy(
                scores,
                &targets,
                Proxy {
                    alpha: 16.0,
                    delta: 0.1,
                },
            )
        });
        check("multi-similarity", &losses.multi_similarity, &|scores| {
            objectives::multi_similarity(
                scores,
                &targets.positive,
                &targets.negative,
                MultiSimilarity::default(),
            )
        });
    }
}

#[test]
fn perturbation_moves_positives_away_and_negatives_closer() {
    let tokens = Tokens::from_bytes(&model_bytes("tiny", "tokenizer.json")).expect("whole");
    let (config, weights) = (
        model_bytes("tiny", "config.json"),
        Bytes::from(model_bytes("tiny", "model.safetensors")),
    );
    for (name, device) in devices() {
        let device = device.autodiff();
        for score in [Similarity::Cosine, Similarity::Dot] {
            let reduction = Reduction {
                pooling: Pooling::Mean,
                score,
            };
            let tower = TowerBytes {
                config: &config,
                weights: &weights,
                projection: None,
            };
            let tower = Tower::from_bytes(tower, &tokens, &device)
                .expect("whole")
                .no_grad();
            let encoded = |text: &str| {
                tokens
                    .name(text, 32)
                    .expect("long enough")
                    .expect("letters are left")
            };
            let rows = |texts: &[&str]| {
                let rows: Vec<_> = texts.iter().map(|text| encoded(text)).collect();
                BertInput::new(&tokens.batch(&rows.iter().collect::<Vec<_>>()), &device)
            };
            // The same entity twice with two mentions: each pair has its own perturbation.
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
            let step = fgsm(
                tower.bert().embedding_sum(&entities),
                &towards,
                epsilon,
                |z| {
                    let hidden = tower
                        .bert()
                        .forward_from_sum(z, &entities.mask, &Pass::default());
                    (tower.reduce(hidden, &entities, reduction) * mentions.clone().detach())
                        .sum_dim(1)
                        .reshape([3])
                },
            );
            let after = scores(Some(step.clone()));
            for (at, towards) in towards.iter().enumerate() {
                let moved = after[at] - before[at];
                let right = if *towards == Towards::Lower {
                    moved < 0.0
                } else {
                    moved > 0.0
                };
                assert!(
                    right,
                    "{name} {score:?} {at}: from {} to {}",
                    before[at], after[at]
                );
            }
            let step = floats(step);
            assert!(
                step.iter()
                    .all(|value| *value == 0.0 || (value.abs() - epsilon).abs() < 1e-9),
                "{name}"
            );
            let width = step.len() / 3;
            assert_ne!(
                step[..width],
                step[width..2 * width],
                "{name}: equal perturbations of two pairs"
            );
        }
    }
}

/// 20 steps of the tiny model with mining and FGSM, on a corpus below `root`.
fn twenty_steps(root: &Path) -> Config {
    let kb: String = [
        "fever",
        "cough",
        "chest pain",
        "headache",
        "heart failure",
        "renal failure",
    ]
    .iter()
    .map(|name| {
        format!(
            "{{\"id\": \"{name}\", \"name\": \"{name}\", \"definition\": \"what is called \
             {name}\"}}\n"
        )
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
        documents += &format!(
            "{{\"doc_id\": \"{number}\", \"text\": \"since monday {text}\", \"split\": \
             \"train\"}}\n"
        );
        let end = 13 + text.len();
        mentions += &format!(
            "{{\"doc_id\": \"{number}\", \"start\": 13, \"end\": {end}, \"text\": \"{text}\", \
             \"id\": \"{id}\"}}\n"
        );
    }
    for (name, text) in [
        ("kb", kb),
        ("documents", documents),
        ("mentions.train", mentions),
    ] {
        std::fs::write(root.join(format!("{name}.jsonl")), text).expect("written");
    }
    let mut config = Config::default();
    (config.data.kb, config.data.corpus) = (root.join("kb.jsonl"), root.to_owned());
    config.model.encoder = model("tiny");
    config.model.dropout = 0.0;
    (
        config.view.concepts,
        config.view.mention_tokens,
        config.view.entity_tokens,
    ) = (View::Both, 16, 16);
    (
        config.negatives.count,
        config.negatives.mine_every,
        config.negatives.mine_top,
    ) = (2, 10, 3);
    (config.fgsm.lambda, config.fgsm.absolute_epsilon) = (0.5, 0.01);
    (config.optimiser.batch, config.optimiser.steps) = (4, Some(20));
    (config.validation.mentions, config.checkpoints.every) = (0, 20);
    config
}

/// The losses of a run.
fn losses(config: &Config, out: &Path, name: String, device: Device) -> Vec<f64> {
    let on_processor = device == Device::flex();
    train(config, out, &OpenDevice { device, name }).expect("it trains");
    let loss = |event| match event {
        Event::Step {
            loss, device_bytes, ..
        } => {
            // GPU memory is counted separately.
            assert_eq!(
                device_bytes.is_none_or(|bytes| bytes == 0),
                on_processor,
                "{device_bytes:?}"
            );
            Some(loss)
        }
        _ => None,
    };
    read(&out.join("metrics.jsonl"))
        .expect("whole")
        .into_iter()
        .filter_map(loss)
        .collect()
}

#[test]
fn first_twenty_steps_are_equal_on_every_device() {
    let root = tempfile::tempdir().expect("a folder");
    let mut config = twenty_steps(root.path());
    for kind in [LossKind::Proxy, LossKind::CrossEntropy] {
        config.loss.kind = kind;
        let all: Vec<Vec<f64>> = devices()
            .into_iter()
            .enumerate()
            .map(|(at, (name, device))| {
                losses(
                    &config,
                    &root.path().join(format!("{kind:?}-{at}")),
                    name,
                    device,
                )
            })
            .collect();
        assert_eq!(all[0].len(), 20);
        for other in &all[1..] {
            for (step, (one, other)) in all[0].iter().zip(other).enumerate() {
                let off = (one - other).abs() / one.abs().max(1.0);
                assert!(
                    off < 1e-3,
                    "{kind:?}, step {step}: {one} on the processor, {other} elsewhere"
                );
            }
        }
    }
}

#[test]
fn mixed_precision_equals_f32_approximately() {
    let root = tempfile::tempdir().expect("a folder");
    let mut exact = twenty_steps(root.path());
    // Software Vulkan is slow and recompiles kernels for other precisions.
    (
        exact.optimiser.steps,
        exact.checkpoints.every,
        exact.checkpoints.keep,
    ) = (Some(6), 3, 2);
    (
        exact.negatives.kind,
        exact.negatives.in_batch,
        exact.fgsm.lambda,
    ) = (NegativeKind::None, true, 0.0);
    for (at, (name, device)) in devices().into_iter().enumerate() {
        let run = |config: &Config, out: &Path| losses(config, out, name.clone(), device.clone());
        let in_floats = run(&exact, &root.path().join(format!("{at}-floats")));
        for precision in [Precision::Bf16, Precision::F16] {
            let out = root.path().join(format!("{at}-{precision:?}"));
            let mut rounded = exact.clone();
            rounded.model.precision = precision;
            if !multiplies_in(precision, &device) {
                let device = OpenDevice {
                    device: device.clone(),
                    name: name.clone(),
                };
                let refused = train(&rounded, &out, &device)
                    .expect_err("it cannot")
                    .to_string();
                assert!(
                    refused.contains("`model.precision`") && !out.exists(),
                    "{refused}"
                );
                continue;
            }
            let near = |found: &[f64]| {
                for (step, (found, exact)) in found.iter().zip(&in_floats).enumerate() {
                    let off = (found - exact).abs() / exact.abs().max(1.0);
                    assert!(
                        off < 0.05,
                        "{name}, {precision:?}, step {step}: {found}, in floats {exact}"
                    );
                }
            };
            let found = run(&rounded, &out);
            assert_ne!(found, in_floats, "{name}: nothing was rounded");
            near(&found);
            if precision.needs_scale() {
                // The largest scale that a checkpoint may have.
                let huge = 2f64.powi(24);
                set_scale(&out, huge);
                near(&run(&rounded, &out));
                let factor = state(&out, 6)["scale"]["factor"]
                    .as_f64()
                    .expect("a number");
                assert!(
                    (1.0..huge).contains(&factor),
                    "a scale that overflows is lowered, not kept: {factor}"
                );
            }
        }
    }
}

/// The state in a checkpoint.
fn state(run: &Path, step: usize) -> serde_json::Value {
    let text = std::fs::read(run.join(format!("checkpoints/step-{step:07}/state.json")))
        .expect("there is one");
    serde_json::from_slice(&text).expect("whole")
}

/// Resets a run of 6 steps to the third with another loss scale.
fn set_scale(run: &Path, factor: f64) {
    std::fs::remove_dir_all(run.join("checkpoints/step-0000006")).expect("there is one");
    let mut at_three = state(run, 3);
    at_three["scale"]["factor"] = factor.into();
    std::fs::write(
        run.join("checkpoints/step-0000003/state.json"),
        pel_tests::sealed(at_three),
    )
    .expect("written");
}
