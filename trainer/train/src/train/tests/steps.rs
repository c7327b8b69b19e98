//! Single steps of BLINK's and T-Biencoder's methods: by PyTorch, and by what the papers say of
//! them.

use super::super::batch::{HardNegatives, LinkBatch, link_batch, rank_batch};
use super::super::config::{Config, LossKind, NegativeKind, Task};
use super::super::examples::{self, Example};
use super::super::model::Model;
use super::super::optimiser::Optimiser;
use super::super::step::Step;
use super::super::step::perturbation::Perturbation;
use super::methods::lists;
use super::world;
use crate::train::entity_inputs::EntityInputs;
use burn::module::{Module, ModuleMapper, Param};
use burn::tensor::{DType, Device, Distribution, Gradients, Tensor};
use pel_artifacts::tensors::{NamedTensor, to_bytes};
use pel_corpora::domain::DomainOf;
use pel_kb::error::Kind;
use pel_kb::{Concept, ConceptId, KnowledgeBase};
use pel_model::losses::transformation::{Ball, Norm};
use pel_model::tokens::{MentionTemplate, View};
use pel_model::tower::Side;
use serde::Deserialize;
use std::path::Path;

/// The parts of a run, before its first step.
pub(super) struct Start {
    pub config: Config,
    pub entity_inputs: EntityInputs,
    pub model: Model,
    pub examples: Vec<Example>,
    pub device: Device,
}

impl Start {
    pub fn new(config: Config) -> Self {
        let device = Device::flex().autodiff();
        let model = Model::begin(&config, &device).expect("whole");
        let view = config.view_options();
        let kb = pel_artifacts::concept_table::read(&config.data.kb)
            .expect("whole")
            .kb;
        let entity_inputs = EntityInputs::new(kb, &model.tokens, &view, config.data.domains)
            .expect("names are left");
        let (examples, _) = examples::mentions(&config, &entity_inputs, &model.tokens, &view)
            .expect("there are some");
        Self {
            config,
            entity_inputs,
            model,
            examples,
            device,
        }
    }

    pub fn batch(&self) -> LinkBatch<'_> {
        let places: Vec<_> = self
            .examples
            .iter()
            .take(4)
            .enumerate()
            .map(|(at, example)| (at, at, example))
            .collect();
        link_batch(
            &self.config,
            &self.entity_inputs,
            &places,
            &HardNegatives::new(),
        )
    }

    pub fn step(&self) -> Step<'_> {
        let Self {
            config,
            entity_inputs,
            model,
            device,
            ..
        } = self;
        Step {
            config,
            entity_inputs,
            model,
            towers: &model.towers,
            device,
            number: 0,
            scale: 1.0,
        }
    }

    pub fn loss(&self, perturbation: Option<&mut Perturbation>) -> f64 {
        self.step()
            .link(&self.batch(), perturbation)
            .expect("the device works")
            .loss
            .value()
            .expect("it is known")
    }
}

fn transformed(folder: &Path, norm: Norm) -> Config {
    let mut config = world(folder);
    config.model.dropout = 0.0;
    (config.negatives.kind, config.negatives.in_batch) = (NegativeKind::Random, true);
    (
        config.transformation.weight,
        config.transformation.norm,
        config.transformation.epsilon,
    ) = (1.0, norm, 3.0);
    config.transformation.rate = 0.1;
    config
}

#[test]
fn zero_transformation_gives_the_plain_loss() {
    let root = tempfile::tempdir().expect("a folder");
    let start = Start::new(transformed(root.path(), Norm::Frobenius));
    let mut perturbation = Perturbation::begin(&start.model, &start.config, &start.device)
        .expect("a layer")
        .expect("asked for");
    let (plain, both) = (start.loss(None), start.loss(Some(&mut perturbation)));
    assert!(
        (both - 2.0 * plain).abs() < 1e-4 * plain,
        "{both}, twice {plain}"
    );
    let mut ablation = start;
    ablation.config.transformation.plain = false;
    let mut perturbation = Perturbation::begin(&ablation.model, &ablation.config, &ablation.device)
        .expect("a layer")
        .expect("asked for");
    let alone = ablation.loss(Some(&mut perturbation));
    assert!(
        (alone - plain).abs() < 1e-4 * plain,
        "{alone}, plain {plain}"
    );
}

/// A norm in f64, without the crate's own: the root of the sum of squares, or the longest image of
/// a unit vector.
fn length(matrix: &Tensor<2>, kind: Norm) -> f64 {
    let [size, _] = matrix.dims();
    let values: Vec<f32> = matrix.clone().into_data().try_to_vec().expect("floats");
    let values: Vec<f64> = values.into_iter().map(f64::from).collect();
    let of = |values: &[f64]| values.iter().map(|value| value * value).sum::<f64>().sqrt();
    if kind == Norm::Frobenius {
        return of(&values);
    }
    let (mut vector, mut longest) = (vec![1.0; size], 0.0);
    for _ in 0..2000 {
        let own = of(&vector);
        vector.iter_mut().for_each(|value| *value /= own);
        let image: Vec<f64> = values
            .chunks(size)
            .map(|row| row.iter().zip(&vector).map(|(a, b)| a * b).sum())
            .collect();
        longest = of(&image);
        vector = (0..size)
            .map(|at| {
                image
                    .iter()
                    .zip(values.chunks(size))
                    .map(|(a, row)| a * row[at])
                    .sum()
            })
            .collect();
    }
    longest
}

#[test]
fn learned_transformation_exceeds_random_ones_within_its_ball() {
    let root = tempfile::tempdir().expect("a folder");
    for kind in [Norm::Frobenius, Norm::Spectral] {
        let mut start = Start::new(transformed(root.path(), kind));
        start.config.transformation.rate = Config::default().transformation.rate;
        let options = start.config.transformation.clone();
        let mut perturbation = Perturbation::begin(&start.model, &start.config, &start.device)
            .expect("a layer")
            .expect("asked for");
        let within = |perturbation: &Perturbation| {
            let found = perturbation
                .matrices()
                .each_ref()
                .map(|matrix| length(matrix, kind));
            assert!(
                found
                    .iter()
                    .all(|norm| *norm <= options.epsilon * (1.0 + 1e-5)),
                "{kind:?}: {found:?}"
            );
        };
        start.config.transformation.plain = false;
        // At the default rate, until the bound is reached.
        for _ in 0..(1.2 / options.rate) as usize {
            start.loss(Some(&mut perturbation));
            perturbation.ascend_once().expect("the device works");
            within(&perturbation);
        }
        let found = start.loss(Some(&mut perturbation.clone()));
        start.device.seed(7);
        let ball = Ball {
            norm: kind,
            epsilon: options.epsilon,
            rate: 1.0,
        };
        for _ in 0..10 {
            let random = || {
                let size = start.model.towers.tower(Side::Mention).bert().hidden();
                let far = Distribution::Normal(0.0, 100.0);
                ball.inside(Tensor::random([size, size], far, &Device::flex()))
                    .expect("the device works")
            };
            let mut other =
                Perturbation::from_matrices(&options, [random(), random()], &start.device);
            let other = start.loss(Some(&mut other));
            assert!(found > other, "{kind:?}: {found}, a random one {other}");
        }
    }
}

#[test]
fn the_transformation_ascends_once_per_step() {
    let root = tempfile::tempdir().expect("a folder");
    let mut start = Start::new(transformed(root.path(), Norm::Frobenius));
    start.config.negatives.in_batch = false;
    let mut whole = Perturbation::begin(&start.model, &start.config, &start.device)
        .expect("a layer")
        .expect("asked for");
    let mut parts = whole.clone();
    let link = |places: std::ops::Range<usize>, perturbation: &mut Perturbation| {
        let places: Vec<_> = places.map(|at| (at, at, &start.examples[at])).collect();
        let batch = link_batch(
            &start.config,
            &start.entity_inputs,
            &places,
            &HardNegatives::new(),
        );
        start
            .step()
            .link(&batch, Some(perturbation))
            .expect("the device works");
    };
    link(0..4, &mut whole);
    (0..4).for_each(|at| link(at..at + 1, &mut parts));
    whole.ascend_once().expect("the device works");
    parts.ascend_once().expect("the device works");
    for (whole, parts) in whole.matrices().iter().zip(parts.matrices()) {
        let off = length(&(whole.clone() - parts.clone()), Norm::Frobenius);
        assert!(off < 1e-3 * length(whole, Norm::Frobenius), "{off}");
    }
}

#[test]
fn unreadable_or_overflowing_matrices_are_reported() {
    let root = tempfile::tempdir().expect("a folder");
    let start = Start::new(transformed(root.path(), Norm::Frobenius));
    let mut perturbation = Perturbation::begin(&start.model, &start.config, &start.device)
        .expect("a layer")
        .expect("asked for");
    let size = perturbation.matrices()[0].dims()[0];
    let unreadable = Tensor::<2>::eye(size, &Device::flex()).cast(DType::F64);
    let options = &start.config.transformation;
    let error =
        Perturbation::from_matrices(options, [unreadable.clone(), unreadable], &start.device)
            .norms();
    assert_eq!(error.expect_err("it cannot be read").kind(), Kind::Device);
    // The loss times a scale that no gradient bears.
    let step = Step {
        scale: f32::MAX,
        ..start.step()
    };
    step.link(&start.batch(), Some(&mut perturbation))
        .expect("the device works");
    perturbation.ascend_once().expect("the device works");
    assert!(perturbation.overflowed());
    assert_eq!(perturbation.norms().expect("the device works"), [0.0, 0.0]);
}

#[test]
fn distillation_loss_is_the_weighted_mean_of_both_losses() {
    let root = tempfile::tempdir().expect("a folder");
    let mut config = world(root.path());
    (config.model.dropout, config.view.concepts) = (0.0, View::Template);
    config.data.candidates = lists(
        root.path(),
        "train",
        r#", "teacher": [0.5, 2.0, -1.0, 0.0]"#,
    );
    let loss = |own_share: f64, kind: LossKind| {
        let mut config = config.clone();
        (config.distillation.own_share, config.loss.kind) = (own_share, kind);
        Start::new(config).loss(None)
    };
    for kind in [LossKind::CrossEntropy, LossKind::Proxy] {
        let (own, half, taught) = (loss(1.0, kind), loss(0.5, kind), loss(0.0, kind));
        assert!(
            (half - (own + taught) / 2.0).abs() < 1e-5 * half.abs(),
            "{own} {half} {taught}"
        );
        assert!((own - taught).abs() > 1e-3, "{own} {taught}");
    }
}

#[derive(Deserialize)]
struct Golden {
    names: Vec<String>,
    mentions: Vec<(String, usize)>,
    candidates: Vec<Vec<u32>>,
    fgsm_epsilon: f64,
    rank: Vec<GoldenRank>,
    epsilon: f64,
    climb: f64,
    transformation: GoldenTransformation,
}

#[derive(Deserialize)]
struct GoldenRank {
    lambda: f64,
    loss: f64,
    gradient_norm: f64,
}

#[derive(Deserialize)]
struct GoldenTransformation {
    loss: f64,
    transformed: f64,
    gradient_norm: f64,
    climbed: Vec<Vec<f32>>,
}

impl Golden {
    fn read() -> Self {
        serde_json::from_str(include_str!("../../../../../tests/goldens/methods.json"))
            .expect("the golden is whole")
    }

    /// The tiny model over the golden's names and mentions, by cross-entropy on the processor,
    /// before its first step.
    fn start(&self, mut config: Config) -> Start {
        (config.model.dropout, config.loss.kind) = (0.0, LossKind::CrossEntropy);
        (config.view.concepts, config.view.mention) = (View::Template, MentionTemplate::Bare);
        (config.view.mention_tokens, config.view.entity_tokens) = (32, 32);
        (config.negatives.kind, config.negatives.in_batch) = (NegativeKind::None, true);
        let device = Device::flex().autodiff();
        let model = Model::begin(&config, &device).expect("whole");
        let mut kb = KnowledgeBase::new();
        for name in &self.names {
            kb.push(Concept {
                id: name.clone(),
                name: name.clone(),
                ..Concept::default()
            })
            .expect("new");
        }
        let entity_inputs =
            EntityInputs::new(kb, &model.tokens, &config.view_options(), DomainOf::Source)
                .expect("names are left");
        let example = |((text, place), candidates): (&(String, usize), &Vec<u32>)| Example {
            mention: model
                .tokens
                .name(text, 32)
                .expect("long enough")
                .expect("letters are left"),
            concept: ConceptId(*place as u32),
            place: text.clone(),
            candidates: (config.data.task == Task::Rank).then(|| examples::Candidates {
                concepts: candidates.iter().copied().map(ConceptId).collect(),
                teacher: Vec::new(),
            }),
        };
        let examples = self
            .mentions
            .iter()
            .zip(&self.candidates)
            .map(example)
            .collect();
        Start {
            config,
            entity_inputs,
            model,
            examples,
            device,
        }
    }
}

/// The norm of the gradients of all parameters.
fn gradient_norm(start: &mut Start, mut gradients: Gradients) -> f64 {
    let mut optimiser = Optimiser::new(&start.config.optimiser, &start.model.towers, &start.device);
    optimiser
        .add(&start.model.towers, &mut gradients)
        .expect("the device works");
    optimiser
        .step(&mut start.model.towers, 0, 1, 1)
        .expect("the device works")
        .gradient_norm
        .value()
        .expect("it is known")
}

/// Moves parameters along their gradients.
struct Along<'a> {
    gradients: &'a Gradients,
    by: f64,
}

impl ModuleMapper for Along<'_> {
    fn map_float<const D: usize>(&mut self, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
        param.map(|tensor| match tensor.grad(self.gradients) {
            Some(gradient) => (tensor.inner() + gradient * self.by)
                .autodiff()
                .require_grad(),
            None => tensor,
        })
    }
}

/// How steeply a loss rises along gradients, by finite differences. Where that is the gradients'
/// norm, and the norm is the right one, every one of them is right.
fn slope(start: &mut Start, gradients: &Gradients, norm: f64, loss: impl Fn(&Start) -> f64) -> f64 {
    let (towers, far) = (start.model.towers.clone(), 0.01);
    let [up, down] = [far, -far].map(|by| {
        start.model.towers = towers.clone().map(&mut Along {
            gradients,
            by: by / norm,
        });
        loss(start)
    });
    start.model.towers = towers;
    (up - down) / (2.0 * far)
}

fn near(what: &str, found: f64, expected: f64, off: f64) {
    assert!(
        (found - expected).abs() <= off * expected.abs().max(1e-3),
        "{what}: {found}, by PyTorch {expected}"
    );
}

#[test]
fn ranking_loss_equals_pytorch() {
    let golden = Golden::read();
    // The tiny model with the golden's linear layer.
    let folder = tempfile::tempdir().expect("a folder");
    for name in ["config.json", "model.safetensors", "tokenizer.json"] {
        std::fs::copy(super::tiny().join(name), folder.path().join(name)).expect("copied");
    }
    let weight: Vec<f32> = (0..32)
        .map(|at| 0.5 * ((at * 37 % 101) as f32 / 50.5 - 1.0))
        .collect();
    let tensors = [
        NamedTensor::floats("weight", vec![1, 32], &weight),
        NamedTensor::floats("bias", vec![1], &[0.0]),
    ];
    std::fs::write(
        folder.path().join("projection.safetensors"),
        to_bytes(&tensors).expect("written"),
    )
    .expect("written");
    for expected in &golden.rank {
        let mut config = Config::default();
        (config.data.task, config.model.tied) = (Task::Rank, true);
        config.model.encoder = folder.path().to_owned();
        (config.fgsm.lambda, config.fgsm.absolute_epsilon) = (expected.lambda, golden.fgsm_epsilon);
        let mut start = golden.start(config);
        let examples: Vec<&Example> = start.examples.iter().collect();
        let batch = rank_batch(&start.entity_inputs, &examples).expect("they have candidates");
        let outcome = start.step().rank(&batch).expect("the device works");
        if expected.lambda == 0.0 {
            let rank = |start: &Start| {
                let examples: Vec<&Example> = start.examples.iter().collect();
                let batch =
                    rank_batch(&start.entity_inputs, &examples).expect("they have candidates");
                let outcome = start.step().rank(&batch).expect("the device works");
                outcome.loss.value().expect("it is known")
            };
            let slope = slope(&mut start, &outcome.gradients, expected.gradient_norm, rank);
            near("slope", slope, expected.gradient_norm, 1e-2);
        }
        // The sign of a gradient near 0 may differ in f32.
        let off = if expected.lambda > 0.0 { 5e-3 } else { 1e-4 };
        let loss = outcome.loss.value().expect("it is known");
        near("loss", loss, expected.loss, off);
        near(
            "norm",
            gradient_norm(&mut start, outcome.gradients),
            expected.gradient_norm,
            off,
        );
    }
}

#[test]
fn transformation_equals_pytorch() {
    let golden = Golden::read();
    let expected = &golden.transformation;
    let mut config = Config::default();
    config.model.encoder = super::tiny();
    config.fgsm.lambda = 0.0;
    let options = &mut config.transformation;
    (options.weight, options.layer, options.epsilon, options.rate) =
        (1.0, 1, golden.epsilon, golden.climb);
    let mut start = golden.start(config);
    let wave = |size: f32| {
        let values: Vec<f32> = (0..32 * 32)
            .map(|at| size * ((at * 37 % 101) as f32 / 50.5 - 1.0))
            .collect();
        Tensor::<1>::from_floats(&values[..], &Device::flex()).reshape([32, 32])
    };
    let mut perturbation = Perturbation::from_matrices(
        &start.config.transformation,
        [wave(0.04), wave(-0.03)],
        &start.device,
    );
    let link = |start: &Start, perturbation: &mut Perturbation| {
        let places: Vec<_> = start
            .examples
            .iter()
            .enumerate()
            .map(|(at, example)| (at, at, example))
            .collect();
        let batch = link_batch(
            &start.config,
            &start.entity_inputs,
            &places,
            &HardNegatives::new(),
        );
        start
            .step()
            .link(&batch, Some(perturbation))
            .expect("the device works")
    };
    let before = perturbation.clone();
    let outcome = link(&start, &mut perturbation);
    perturbation.ascend_once().expect("the device works");
    let slope = slope(
        &mut start,
        &outcome.gradients,
        expected.gradient_norm,
        |start| {
            let outcome = link(start, &mut before.clone());
            outcome.loss.value().expect("it is known")
        },
    );
    near("slope", slope, expected.gradient_norm, 1e-2);
    near(
        "loss",
        outcome.loss.value().expect("it is known"),
        expected.loss + expected.transformed,
        1e-4,
    );
    near(
        "norm",
        gradient_norm(&mut start, outcome.gradients),
        expected.gradient_norm,
        1e-3,
    );
    for (matrix, expected) in perturbation.matrices().iter().zip(&expected.climbed) {
        let found: Vec<f32> = matrix.clone().into_data().try_to_vec().expect("floats");
        for (found, expected) in found.iter().zip(expected) {
            assert!(
                (found - expected).abs() < 1e-4,
                "{found}, by PyTorch {expected}"
            );
        }
    }
}
