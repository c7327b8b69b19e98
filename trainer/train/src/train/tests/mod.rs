//! Whole runs of the tiny model: against PyTorch, killed and resumed, and on input that cannot
//! teach.

mod batches;
mod best;
mod checkpoints;
mod chunks;
mod learning;
mod log_copies;
mod methods;
mod refused;
mod steps;

use super::batch::{HardNegatives, link_batch};
use super::config::{Config, LossKind, NegativeKind, Schedule};
use super::examples::Example;
use super::log::{self, Event};
use super::model::Model;
use super::optimiser::Optimiser;
use super::step::Step;
use super::{Trained, train};
use crate::train::entity_inputs::EntityInputs;
use burn::tensor::Device;
use pel_artifacts::device::{DeviceArgs, DeviceChoice, OpenDevice, Work};
use pel_io::interrupt;
use pel_kb::error::Result;
use pel_kb::{Concept, KnowledgeBase};
use pel_model::tokens::{Encoded, MentionTemplate, View};
use pel_model::tower::Side;
use serde::Deserialize;
use std::path::{Path, PathBuf};

fn tiny() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/tests/fixtures/tiny")
}

fn cpu() -> OpenDevice {
    DeviceArgs {
        device: DeviceChoice::Cpu,
        ..DeviceArgs::default()
    }
    .open(Work::Short)
    .expect("there is a processor")
}

#[derive(Deserialize)]
struct Golden {
    names: Vec<String>,
    mentions: Vec<(String, usize)>,
    epsilon: f64,
    rate: f64,
    runs: Vec<GoldenRun>,
}

#[derive(Deserialize)]
struct GoldenRun {
    kind: LossKind,
    lambda: f64,
    steps: Vec<GoldenStep>,
    vectors: Vec<Vec<f32>>,
}

#[derive(Deserialize)]
struct GoldenStep {
    loss: f64,
    gradient_norm: f64,
}

#[test]
fn step_losses_equal_pytorch() {
    let golden: Golden =
        serde_json::from_str(include_str!("../../../../../tests/goldens/training.json"))
            .expect("the golden is whole");
    let device = Device::flex().autodiff();
    for run in &golden.runs {
        let mut config = Config::default();
        config.model.encoder = tiny();
        config.model.dropout = 0.0;
        config.loss.kind = run.kind;
        (config.fgsm.lambda, config.fgsm.absolute_epsilon) = (run.lambda, golden.epsilon);
        (config.negatives.kind, config.negatives.in_batch) = (NegativeKind::None, true);
        config.view.concepts = View::Names;
        config.view.mention = MentionTemplate::Bare;
        config.optimiser.learning_rate = golden.rate;
        let mut model = Model::begin(&config, &device).expect("the fixture is whole");
        let mut optimiser = Optimiser::new(&config.optimiser, &model.towers, &device);
        let mut kb = KnowledgeBase::new();
        for name in &golden.names {
            kb.push(Concept {
                id: name.clone(),
                name: name.clone(),
                ..Concept::default()
            })
            .expect("new");
        }
        let entity_inputs = EntityInputs::new(
            kb,
            &model.tokens,
            &config.view_options(),
            config.data.domains,
        )
        .expect("names are left");
        let encode = |text: &str| {
            model
                .tokens
                .name(text, 32)
                .expect("long enough")
                .expect("letters are left")
        };
        let example = |(text, place): &(String, usize)| Example {
            mention: encode(text),
            concept: pel_kb::ConceptId(*place as u32),
            place: text.clone(),
            candidates: None,
        };
        let examples: Vec<Example> = golden.mentions.iter().map(example).collect();
        let mentions: Vec<Encoded> = examples
            .iter()
            .map(|example| example.mention.clone())
            .collect();
        let what = format!("{:?}, λ = {}", run.kind, run.lambda);
        // The sign of a gradient near 0 may differ in f32, which moves an embedding by 2ε.
        let near = if run.lambda > 0.0 { 5e-3 } else { 2e-4 };
        for (step, expected) in run.steps.iter().enumerate() {
            let mut loss = 0.0;
            for part in 0..2 {
                let places = 4 * step + 2 * part..4 * step + 2 * part + 2;
                let batch: Vec<_> = places.map(|at| (at, at, &examples[at])).collect();
                let batch = link_batch(&config, &entity_inputs, &batch, &HardNegatives::new());
                let number = (2 * step + part) as u64;
                let (config, entity_inputs, model, device) =
                    (&config, &entity_inputs, &model, &device);
                let outcome = Step {
                    config,
                    entity_inputs,
                    model,
                    towers: &model.towers,
                    device,
                    number,
                    scale: 1.0,
                }
                .link(&batch, None);
                let mut outcome = outcome.expect("the device works");
                optimiser
                    .add(&model.towers, &mut outcome.gradients)
                    .expect("the device works");
                loss += outcome.loss.value().expect("it is known") / 4.0;
            }
            let stepped = optimiser
                .step(&mut model.towers, step, run.steps.len(), 4)
                .expect("the device works");
            let off =
                |found: f64, expected: f64| (found - expected).abs() / expected.abs().max(1e-3);
            assert!(
                off(loss, expected.loss) < near,
                "{what}, step {step}: loss {loss}, {}",
                expected.loss
            );
            let norm = stepped.gradient_norm.value().expect("it is known");
            let expected = expected.gradient_norm;
            assert!(
                off(norm, expected) < 2.0 * near,
                "{what}, step {step}: norm {norm}, {expected}"
            );
        }
        let encoder = model.encoder(&Device::flex()).expect("whole");
        let found = encoder
            .encode(Side::Mention, &mentions.iter().collect::<Vec<_>>())
            .expect("encoded");
        for (found, expected) in found.iter().zip(run.vectors.iter().flatten()) {
            assert!(
                (found - expected).abs() < 10.0 * near as f32,
                "{what}: {found}, {expected}"
            );
        }
    }
}

/// A small corpus and knowledge base in a folder of their own.
fn world(folder: &Path) -> Config {
    let concepts = [
        ("D1", "fever", "pyrexia", "a high body temperature"),
        (
            "D2",
            "cough",
            "coughing",
            "air from the lungs, sudden and loud",
        ),
        (
            "D3",
            "chest pain",
            "pain in the chest",
            "pain between neck and belly",
        ),
        (
            "D4",
            "diabetes mellitus",
            "diabetes",
            "too much sugar in the blood",
        ),
        (
            "D5",
            "heart failure",
            "cardiac failure",
            "the heart pumps too little",
        ),
        (
            "D6",
            "renal failure",
            "kidney failure",
            "the kidneys filter too little",
        ),
        ("D7", "headache", "pain in the head", "pain above the neck"),
        ("D8", "nausea", "feeling sick", "an urge to vomit"),
    ];
    let kb: String = concepts
        .iter()
        .map(|(id, name, synonym, definition)| {
            let line = serde_json::json!({"id": id, "name": name, "synonyms": [synonym],
                "definition": definition, "types": ["Finding"]});
            format!("{line}\n")
        })
        .collect();
    std::fs::write(folder.join("kb.jsonl"), kb).expect("written");
    let (mut documents, mut train, mut dev) = (String::new(), String::new(), String::new());
    for (number, (id, name, synonym, _)) in concepts.iter().enumerate() {
        for (split, mentions, found) in [("train", &mut train, *synonym), ("dev", &mut dev, *name)]
        {
            let text = format!("the patient had {found} for {number} days");
            let document = serde_json::json!({"doc_id": format!("{split}{number}"), "text": text,
                "split": split});
            documents += &format!("{document}\n");
            let mention = serde_json::json!({"doc_id": format!("{split}{number}"), "start": 16,
                "end": 16 + found.len(), "text": found,
                "id": if number == 7 && split == "dev" { None } else { Some(id) }});
            *mentions += &format!("{mention}\n");
        }
    }
    // One mention that no concept answers.
    train += r#"{"doc_id": "train0", "start": 4, "end": 11, "text": "patient", "id": "D99"}"#;
    for (name, text) in [
        ("documents", documents),
        ("mentions.train", train),
        ("mentions.dev", dev),
    ] {
        std::fs::write(folder.join(format!("{name}.jsonl")), text).expect("written");
    }
    let mut config = Config {
        seed: 3,
        ..Config::default()
    };
    (config.data.kb, config.data.corpus) = (folder.join("kb.jsonl"), folder.to_owned());
    config.model.encoder = tiny();
    (
        config.view.concepts,
        config.view.mention_tokens,
        config.view.entity_tokens,
    ) = (View::Both, 24, 24);
    (
        config.negatives.count,
        config.negatives.mine_every,
        config.negatives.mine_top,
    ) = (2, 2, 4);
    // Tests of FGSM ask for it.
    config.fgsm.lambda = 0.0;
    config.optimiser.learning_rate = 1e-3;
    (
        config.optimiser.batch,
        config.optimiser.micro_batch,
        config.optimiser.steps,
    ) = (4, 2, Some(5));
    (config.validation.every, config.validation.mentions) = (2, 8);
    config.checkpoints.every = 1;
    config
}

fn run(config: &Config, out: &Path) -> Result<Trained> {
    train(config, out, &cpu())
}

/// Every file of the final model, and the metrics that do not depend on the clock.
fn outcome(out: &Path) -> (Vec<Vec<u8>>, Vec<String>) {
    let files = ["mention/model.safetensors", "entity/model.safetensors"];
    let files = files.map(|name| std::fs::read(out.join("model").join(name)).expect("written"));
    let events = log::read(&out.join("metrics.jsonl")).expect("whole");
    let lasting = events.into_iter().map(|event| match event {
        Event::Step {
            step,
            loss,
            gradient_norm,
            ..
        } => format!("{step} {loss} {gradient_norm}"),
        Event::Mining { step, examples, .. } => format!("{step} mined {examples}"),
        Event::Validation { step, found, .. } => format!("{step} {found:?}"),
        Event::Detection { step, found, .. } => format!("{step} {found:?}"),
        Event::Stopped {
            step,
            best,
            validations,
        } => format!("{step} stopped, {validations} since {best}"),
        Event::Kept { steps, kept } => format!("{steps} {kept:?}"),
    });
    (files.into(), lasting.collect())
}

#[test]
fn resumed_run_equals_uninterrupted_run() {
    let root = tempfile::tempdir().expect("a folder");
    let config = world(root.path());
    run(&config, &root.path().join("whole")).expect("it trains");
    let expected = outcome(&root.path().join("whole"));
    assert!(
        expected.1.iter().any(|line| line.contains("mined")) && expected.1.len() > 5 + 3 + 2,
        "{:?}",
        expected.1
    );
    // Each check for Ctrl-C is a place to die at: within accumulations, mining passes and
    // validations.
    for end in [interrupt::kill_after, interrupt::interrupt_after] {
        let deaths = ended_and_resumed(end, &config, root.path(), "ended", 5, |out, checks| {
            let found = outcome(out);
            assert_eq!(found.1, expected.1, "ended at check {checks}");
            assert!(
                found.0 == expected.0,
                "ended at check {checks}: other weights"
            );
        });
        assert!(deaths > 10, "{deaths}");
    }
}

/// Kills (`interrupt::kill_after`) or stops (`interrupt_after`) runs at every `stride`-th check for
/// Ctrl-C, lets each go on to its end, and has its folder compared; gives how many had been ended.
fn ended_and_resumed(
    end: fn(usize),
    config: &Config,
    root: &Path,
    name: &str,
    stride: usize,
    compare: impl Fn(&Path, usize),
) -> usize {
    let out = root.join(name);
    for (ends, checks) in (1..).step_by(stride).enumerate() {
        end(checks);
        let ended = run(config, &out).is_err();
        interrupt::reset();
        if ended {
            run(config, &out).expect("it goes on");
            compare(&out, checks);
        }
        std::fs::remove_dir_all(&out).expect("removed");
        if !ended {
            return ends;
        }
    }
    0
}

#[test]
fn interrupted_run_writes_a_checkpoint() {
    let root = tempfile::tempdir().expect("a folder");
    let mut config = world(root.path());
    // Without it nothing would be kept before the end.
    config.checkpoints.every = 100;
    let (out, mut kept) = (root.path().join("run"), Vec::new());
    for checks in (20..).step_by(9) {
        interrupt::interrupt_after(checks);
        let ended = run(&config, &out);
        interrupt::reset();
        if ended.is_ok() {
            break;
        }
        assert!(ended.is_err_and(|error| error.is_interrupted()));
        let events = log::read(&out.join("metrics.jsonl")).unwrap_or_default();
        let steps = events
            .iter()
            .filter(|event| matches!(event, Event::Step { .. }))
            .count();
        if steps > 0 {
            assert!(
                out.join(format!("checkpoints/step-{steps:07}")).is_dir(),
                "{steps} steps, at check {checks}"
            );
            kept.push(steps);
        }
        std::fs::remove_dir_all(&out).expect("removed");
    }
    assert!(
        kept.is_sorted() && kept.contains(&2) && kept.contains(&4),
        "{kept:?}"
    );
}

#[test]
fn run_learns_and_logs_its_losses() {
    let root = tempfile::tempdir().expect("a folder");
    let mut config = world(root.path());
    config.model.dropout = 0.0;
    (config.validation.split, config.validation.mentions) = ("train".into(), 9);
    config.optimiser.steps = Some(150);
    config.negatives.mine_every = 50;
    config.optimiser.schedule = Schedule::Constant;
    config.checkpoints.every = 150;
    config.validation.every = 150;
    let trained = run(&config, &root.path().join("run")).expect("it trains");
    assert_eq!(trained.examples, 8);
    assert_eq!(
        trained
            .report
            .skipped("mention whose concept is not in the knowledge base"),
        1
    );
    let events = log::read(&root.path().join("run/metrics.jsonl")).expect("whole");
    let losses: Vec<f64> = events
        .iter()
        .filter_map(|event| {
            if let Event::Step { loss, .. } = event {
                Some(*loss)
            } else {
                None
            }
        })
        .collect();
    let mean = |losses: &[f64]| losses.iter().sum::<f64>() / losses.len() as f64;
    assert!(
        mean(&losses[145..]) < 0.5 * mean(&losses[..5]),
        "{losses:?}"
    );
    let validated = trained.validated.expect("there is a dev split");
    assert_eq!(validated.mentions, 9);
    assert!(
        validated.recall_1.is_some_and(|recall| recall >= 0.7),
        "{validated:?}"
    );
    assert_eq!(
        (validated.recall_16, validated.recall_64),
        (Some(1.0), Some(1.0))
    );
    // The mention that no concept answers is NIL.
    assert_eq!(
        validated.nil_curve.last().map(|point| point.0),
        Some(1.0),
        "{:?}",
        validated.nil_curve
    );
    for plot in ["loss", "gradient-norm", "validation", "nil-curve"] {
        assert!(
            root.path().join(format!("run/plots/{plot}.svg")).is_file(),
            "{plot}"
        );
    }
}

#[test]
fn gradient_checkpointing_changes_nothing_but_memory() {
    let root = tempfile::tempdir().expect("a folder");
    for kind in ["plain", "fgsm", "transformed"] {
        let mut config = world(root.path());
        config.fgsm.lambda = if kind == "fgsm" { 0.5 } else { 0.0 };
        config.transformation.weight = if kind == "transformed" { 1.0 } else { 0.0 };
        let [kept, again] =
            ["kept", "again"].map(|name| root.path().join(format!("{kind}-{name}")));
        run(&config, &kept).expect("it trains");
        config.model.gradient_checkpointing = true;
        run(&config, &again).expect("it trains");
        assert!(outcome(&kept) == outcome(&again), "{kind}");
    }
}
