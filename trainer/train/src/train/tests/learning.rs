//! That options of a run reach what it learns: dropout, weight decay, teachers, alignment.

use super::super::batch::{align_batch, link_batch};
use super::super::config::{Config, Domain, NegativeKind, Task};
use super::super::examples;
use super::super::optimiser::{Optimiser, learning_rate};
use super::super::random::{Purpose, stream};
use super::super::step::Step;
use super::super::step::perturbation::Perturbation;
use super::methods::lists;
use super::steps::Start;
use super::{cpu, outcome, run, tiny, world};
use crate::train::batch::HardNegatives;
use crate::train::encoded_kb::EncodedKb;
use crate::train::entity_inputs::EntityInputs;
use crate::train::log;
use crate::train::log::{Event, FgsmFigures};
use burn::tensor::Device;
use pel_kb::ConceptId;
use pel_kb::score::Similarity;
use pel_model::tokens::View;
use pel_model::tower::Side;
use std::collections::BTreeSet;

/// The loss of the first micro-batch, as the one of another number, with a share of what the step
/// multiplies it with.
fn loss(start: &Start, number: u64) -> f64 {
    let Start {
        config,
        entity_inputs,
        model,
        device,
        ..
    } = start;
    Step {
        config,
        entity_inputs,
        model,
        towers: &model.towers,
        device,
        number,
        scale: 1.0,
    }
    .link(&start.batch(), None)
    .expect("the device works")
    .loss
    .value()
    .expect("it is known")
}

#[test]
fn dropout_differs_between_steps_and_not_between_calls() {
    let root = tempfile::tempdir().expect("a folder");
    let mut config = world(root.path());
    config.model.dropout = 0.0;
    let still = Start::new(config.clone());
    assert_eq!(loss(&still, 0), loss(&still, 1));
    config.model.dropout = 0.2;
    let start = Start::new(config);
    let first = loss(&start, 0);
    assert_eq!(loss(&start, 0), first);
    assert!(
        (loss(&start, 1) - first).abs() > 1e-4 && (loss(&still, 0) - first).abs() > 1e-4,
        "{first}"
    );
}

#[test]
fn gradient_checkpointing_reaches_the_encoders() {
    let root = tempfile::tempdir().expect("a folder");
    for asked in [false, true] {
        let mut config = world(root.path());
        config.model.gradient_checkpointing = asked;
        let Start {
            config,
            entity_inputs,
            model,
            device,
            ..
        } = &Start::new(config);
        let step = Step {
            config,
            entity_inputs,
            model,
            towers: &model.towers,
            device,
            number: 0,
            scale: 1.0,
        };
        assert_eq!(
            [0, 1, 2].map(|which| step.pass(which).recompute),
            [asked; 3]
        );
    }
}

#[test]
fn weights_decay_and_biases_do_not() {
    let root = tempfile::tempdir().expect("a folder");
    let mut config = world(root.path());
    (
        config.optimiser.weight_decay,
        config.optimiser.learning_rate,
        config.model.tied,
    ) = (0.5, 0.1, true);
    let mut start = Start::new(config);
    let tensors = |start: &Start| {
        start
            .model
            .towers
            .tower(Side::Mention)
            .to_safetensors()
            .expect("read")
            .0
    };
    let before = tensors(&start);
    let mut optimiser = Optimiser::new(&start.config.optimiser, &start.model.towers, &start.device);
    // Gradients that are 0 everywhere.
    let mut nothing = {
        let Start {
            config,
            entity_inputs,
            model,
            device,
            ..
        } = &start;
        Step {
            config,
            entity_inputs,
            model,
            towers: &model.towers,
            device,
            number: 0,
            scale: 0.0,
        }
        .link(&start.batch(), None)
        .expect("the device works")
    };
    optimiser
        .add(&start.model.towers, &mut nothing.gradients)
        .expect("the device works");
    optimiser
        .step(&mut start.model.towers, 3, 4, 4)
        .expect("the device works");
    let after = tensors(&start);
    let left = 1.0 - (learning_rate(&start.config.optimiser, 3, 4) * 0.5) as f32;
    assert!(left < 0.99, "{left}");
    let read = |bytes: &'static [u8]| safetensors::SafeTensors::deserialize(bytes).expect("whole");
    let [before, after] = [before, after].map(|bytes| read(Box::leak(bytes.into_boxed_slice())));
    for (name, tensor) in before.tensors() {
        let values = |bytes: &[u8]| -> Vec<f32> {
            bytes
                .as_chunks::<4>()
                .0
                .iter()
                .map(|four| f32::from_le_bytes(*four))
                .collect()
        };
        let kept = if tensor.shape().len() >= 2 { left } else { 1.0 };
        let now = values(after.tensor(&name).expect("the same").data());
        for (was, is) in values(tensor.data()).into_iter().zip(now) {
            assert!(
                (was * kept - is).abs() <= 1e-5 * was.abs().max(1e-3),
                "{name}: {was} became {is}, expected {kept} of it"
            );
        }
    }
}

#[test]
fn teacher_scores_belong_to_their_concepts() {
    let root = tempfile::tempdir().expect("a folder");
    let mut config = world(root.path());
    (config.model.dropout, config.view.concepts) = (0.0, View::Template);
    config.data.candidates = lists(
        root.path(),
        "train",
        r#", "teacher": [0.5, 2.0, -1.0, 0.0]"#,
    );
    config.distillation.own_share = 0.0;
    let taught = |temperature: f64| {
        let mut config = config.clone();
        config.distillation.temperature = temperature;
        Start::new(config)
    };
    let start = taught(2.0);
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
    let width = batch.entities.len();
    for (at, (example, row)) in batch
        .mentions
        .iter()
        .zip(batch.teacher.chunks_exact(width))
        .enumerate()
    {
        assert_eq!(row.iter().flatten().count(), 4, "{}", example.place);
        for (next, score) in [(1, 0.5), (0, 2.0), (2, -1.0), (3, 0.0)] {
            let concept = ConceptId(((at + next) % 8) as u32);
            let place = batch
                .entities
                .iter()
                .position(|entity| start.entity_inputs.has(concept, *entity))
                .expect("in the batch");
            assert_eq!(row[place], Some(score), "{}: {concept:?}", example.place);
        }
    }
    let [cold, warm] = [1.0, 4.0].map(|temperature| loss(&taught(temperature), 0));
    assert!((cold - warm).abs() > 1e-2, "{cold} {warm}");
}

/// How much nearer the names of a concept are to each other than to those of others, in cosines.
fn apart(config: &Config, model: &std::path::Path) -> f32 {
    let device = Device::flex().autodiff();
    let config = Config {
        model: super::super::config::Model {
            encoder: model.to_owned(),
            ..config.model.clone()
        },
        ..config.clone()
    };
    let model = super::super::model::Model::begin(&config, &device).expect("whole");
    let kb = pel_artifacts::concept_table::read(&config.data.kb)
        .expect("whole")
        .kb;
    let entity_inputs = EntityInputs::new(
        kb,
        &model.tokens,
        &config.view_options(),
        config.data.domains,
    )
    .expect("names are left");
    let encoded_kb =
        EncodedKb::new(&model, &entity_inputs, &device, &std::env::temp_dir()).expect("encoded");
    let (vectors, dim) = encoded_kb.vectors();
    let pairs = examples::pairs(&entity_inputs).expect("synonyms");
    let batch = align_batch(
        &config,
        &entity_inputs,
        &pairs.into_iter().enumerate().collect::<Vec<_>>(),
    );
    let vector = |at: usize| &vectors[batch.names[at].1.0 as usize * dim..][..dim];
    let (mut same, mut other) = (Vec::new(), Vec::new());
    for one in 0..batch.names.len() {
        for two in 0..one {
            let cosine: f32 = vector(one)
                .iter()
                .zip(vector(two))
                .map(|(a, b)| a * b)
                .sum();
            if batch.names[one].0 == batch.names[two].0 {
                same.push(cosine)
            } else {
                other.push(cosine)
            }
        }
    }
    let mean = |values: &[f32]| values.iter().sum::<f32>() / values.len() as f32;
    mean(&same) - mean(&other)
}

#[test]
fn alignment_moves_names_of_a_concept_together() {
    let root = tempfile::tempdir().expect("a folder");
    let world = world(root.path());
    let mut config = Config::alignment();
    (config.data.kb, config.model.encoder) = (world.data.kb, tiny());
    (
        config.optimiser.batch,
        config.optimiser.steps,
        config.optimiser.learning_rate,
    ) = (8, Some(30), 1e-3);
    assert_eq!(config.data.task, Task::Align);
    let before = apart(&config, &tiny());
    let trained = run(&config, &root.path().join("run")).expect("it trains");
    let after = apart(&config, &trained.model);
    assert!(after > before + 0.1, "{before} before, {after} after");
}

#[test]
fn run_is_locked_by_one_process() {
    let root = tempfile::tempdir().expect("a folder");
    let (config, out) = (world(root.path()), root.path().join("run"));
    let alone = config.lock_run(&out).expect("nobody is there");
    let error = super::train(&config, &out, &cpu())
        .expect_err("somebody is")
        .to_string();
    assert!(
        error.contains("another process is training there"),
        "{error}"
    );
    drop(alone);
    run(&config, &out).expect("it trains");
}

#[test]
fn examples_follow_the_options() {
    let root = tempfile::tempdir().expect("a folder");
    let config = world(root.path());
    let Start {
        entity_inputs,
        examples,
        ..
    } = Start::new(config.clone());
    let mut random = stream(1, Purpose::Example, 0);
    let mut drawn = |share: f64| -> BTreeSet<u32> {
        (0..64)
            .filter_map(|_| entity_inputs.draw(ConceptId(0), share, &mut random))
            .map(|sequence| sequence.0)
            .collect()
    };
    let [names, template, all] = [0.0, 1.0, 0.5].map(&mut drawn);
    // "fever", "pyrexia", and the template of both.
    assert_eq!((names.len(), template.len(), all.len()), (2, 1, 3));
    assert!(names.is_disjoint(&template));

    let thrice = || {
        examples
            .iter()
            .take(2)
            .flat_map(|example| vec![example.clone(); 3])
            .collect::<Vec<_>>()
    };
    let kept = |most| examples::without_repeats(thrice(), most).len();
    assert_eq!([kept(0), kept(1), kept(2)], [6, 2, 4]);
    let places = |seed: u64, count: usize| -> Vec<String> {
        let config = Config {
            seed,
            ..config.clone()
        };
        let some = examples::subset(examples.clone(), count, &config);
        some.into_iter().map(|example| example.place).collect()
    };
    assert_eq!(
        (places(1, 3).len(), places(1, 0).len(), places(1, 99).len()),
        (3, 8, 8)
    );
    assert_eq!(places(1, 3), places(1, 3));
    assert!((2..9).any(|seed| places(seed, 3) != places(1, 3)));
    let mut few = config;
    (few.data.mentions, few.data.max_repeats) = (3, 1);
    assert_eq!(
        run(&few, &root.path().join("run"))
            .expect("it trains")
            .examples,
        3
    );
}

#[test]
fn paper_settings_are_the_start_configuration() {
    let of = |config: &Config| {
        (
            config.optimiser.learning_rate,
            config.optimiser.warmup,
            config.optimiser.batch,
            config.optimiser.epochs,
        )
    };
    // PEL, table 6; both columns.
    let pel = Config::default();
    assert_eq!(of(&pel), (1e-5, 0.25, 32, pel.optimiser.epochs));
    assert_eq!(
        (
            pel.view.mention_tokens,
            pel.optimiser.epsilon,
            pel.optimiser.clip
        ),
        (128, 1e-6, 1.0)
    );
    assert_eq!(
        (
            pel.loss.alpha,
            pel.loss.delta,
            pel.fgsm.lambda,
            pel.negatives.hard_share
        ),
        (32.0, 0.0, 1.0, 0.5)
    );
    let rank = Config::ranking();
    assert_eq!(
        (of(&rank), rank.data.top, rank.data.task),
        ((2e-5, 0.2, 4, 5.0), 16, Task::Rank)
    );
    let blink = Config::blink();
    assert_eq!(
        (
            blink.negatives.kind,
            blink.negatives.in_batch,
            blink.negatives.mine_top
        ),
        (NegativeKind::Hard, true, 10)
    );
    assert_eq!(
        (of(&blink), blink.negatives.domain),
        ((2e-5, 0.25, 128, 5.0), Domain::Trained)
    );
    let t = Config::t_biencoder();
    assert_eq!(t.negatives.mine_every, 0);
    assert_eq!(
        (
            t.negatives.count,
            t.optimiser.batch,
            t.optimiser.epochs,
            t.negatives.domain
        ),
        (15, 64, 5.0, Domain::Inside)
    );
    assert_eq!(
        (
            t.transformation.weight,
            t.transformation.layer,
            t.transformation.epsilon
        ),
        (1.0, 1, 32.0)
    );
    assert_eq!(
        (t.model.freeze_embeddings, t.reduction().score),
        (true, Similarity::Dot)
    );
    let align = Config::alignment();
    assert_eq!(
        (of(&align), align.data.task, align.model.tied),
        ((2e-5, 0.1, 256, 1.0), Task::Align, true)
    );
}

#[test]
fn several_ascents_per_step_enlarge_the_matrices() {
    let root = tempfile::tempdir().expect("a folder");
    let mut config = world(root.path());
    config.model.dropout = 0.0;
    (
        config.transformation.weight,
        config.transformation.epsilon,
        config.transformation.rate,
    ) = (1.0, 8.0, 0.002);
    config.optimiser.micro_batch = 0;
    let far = |ascents: usize| -> f32 {
        let mut config = config.clone();
        config.transformation.ascents = ascents;
        let start = Start::new(config);
        let mut perturbation = Perturbation::begin(&start.model, &start.config, &start.device)
            .expect("a layer")
            .expect("asked for");
        start.loss(Some(&mut perturbation));
        perturbation.ascend_once().expect("the device works");
        perturbation.matrices()[0]
            .clone()
            .powi_scalar(2)
            .sum()
            .into_scalar::<f32>()
            .sqrt()
    };
    let [once, thrice] = [far(0), far(2)];
    assert!(
        thrice > 1.5 * once,
        "{once} after one ascent, {thrice} after three"
    );
}

#[test]
fn epsilon_is_a_multiple_of_the_deviation_of_the_input_embeddings() {
    let root = tempfile::tempdir().expect("a folder");
    let mut config = world(root.path());
    (config.fgsm.lambda, config.fgsm.epsilon) = (0.5, 0.25);
    let relative = root.path().join("relative");
    let trained = run(&config, &relative).expect("it trains");
    assert!(
        trained
            .fgsm_share
            .is_some_and(|share| 0.0 < share && share < 1.0),
        "{:?}",
        trained.fgsm_share
    );
    let events = log::read(&relative.join("metrics.jsonl")).expect("whole");
    let figures: Vec<FgsmFigures> = events
        .into_iter()
        .filter_map(|event| match event {
            Event::Step { fgsm, .. } => fgsm,
            _ => None,
        })
        .collect();
    // Of the weights that the run began with, also when they have changed.
    let deviation = Start::new(config.clone())
        .model
        .towers
        .tower(Side::Entity)
        .bert()
        .embedding_deviation()
        .expect("read");
    assert_eq!(figures.len(), 5);
    for found in figures {
        assert_eq!(found.deviation, deviation);
        assert_eq!(found.epsilon, 0.25 * deviation);
        assert!(found.share.is_some(), "a processor measures every step");
    }
    // The same ε itself, and another.
    for (epsilon, same) in [(0.25 * deviation, true), (0.5 * deviation, false)] {
        config.fgsm.absolute_epsilon = epsilon;
        let absolute = root.path().join(format!("absolute-{same}"));
        run(&config, &absolute).expect("it trains");
        assert_eq!(outcome(&relative).0 == outcome(&absolute).0, same);
    }
}

#[test]
fn a_run_of_an_earlier_version_keeps_its_absolute_epsilon() {
    let root = tempfile::tempdir().expect("a folder");
    let mut config = world(root.path());
    for lambda in [0.5, 0.0] {
        (config.fgsm.lambda, config.fgsm.absolute_epsilon) = (lambda, 0.01);
        let out = root.path().join(format!("run-{lambda}"));
        run(&config, &out).expect("it trains");
        let text = std::fs::read_to_string(out.join("config.toml")).expect("read");
        let earlier = text.replace(
            "epsilon = 0.2\nabsolute_epsilon = 0.01\n",
            "epsilon = 0.01\n",
        );
        assert_ne!(text, earlier);
        std::fs::write(out.join("config.toml"), earlier).expect("written");
        run(&config, &out).expect("it goes on");
        // Without FGSM it does not matter.
        config.fgsm.absolute_epsilon = 0.0;
        let again = run(&config, &out);
        if lambda == 0.0 {
            again.expect("it goes on");
        } else {
            let error = again.expect_err("another ε").to_string();
            let said = "`absolute_epsilon = 0.01`, found `absolute_epsilon = 0.0`";
            assert!(error.contains(said), "{error}");
        }
    }
}
