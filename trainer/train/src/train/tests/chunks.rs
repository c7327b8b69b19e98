//! Batches in chunks and on several replicas: the loss and the gradients of the whole batch.

use super::super::batch::{AlignBatch, align_batch};
use super::super::config::{Config, LossKind, NegativeKind, Task};
use super::super::examples;
use super::super::log::{Event, read};
use super::super::optimiser::Optimiser;
use super::super::replicas::Replicas;
use super::super::step::Learned;
use super::steps::Start;
use super::{ended_and_resumed, outcome, run, world};
use pel_io::interrupt;
use pel_kb::error::Result;
use pel_kb::score::Scorer;
use pel_model::tokens::View;
use std::path::Path;

/// Learns from a batch, whose gradients the optimiser accumulates.
type Learns<'a> = &'a dyn Fn(&Start, &mut Optimiser) -> Result<Learned>;

/// The loss of a batch and the gradient of each parameter.
fn learn(start: &Start, batch: Learns<'_>) -> (Learned, Vec<Vec<f32>>) {
    let Start {
        config,
        model,
        device,
        ..
    } = start;
    let mut optimiser = Optimiser::new(&config.optimiser, &model.towers, device);
    let learned = batch(start, &mut optimiser).expect("the device works");
    (learned, optimiser.accumulated())
}

fn value(learned: &Learned) -> f64 {
    learned.loss.value().expect("it is known")
}

/// Asserts that a batch in parts has the loss and the gradients of the whole, within this share of
/// their norm.
fn same(what: &str, mut start: Start, off: f64, whole: Learns<'_>, in_parts: Learns<'_>) {
    let (expected, gradients) = learn(&start, whole);
    let norm = |all: &[Vec<f32>]| {
        let squares = all.iter().flatten().map(|value| f64::from(*value).powi(2));
        squares.sum::<f64>().sqrt()
    };
    let size = norm(&gradients);
    assert!(size > 1e-3, "{what}: {size}");
    for (chunk, replicas) in [(1, 1), (3, 1), (1000, 1), (0, 2), (0, 4), (3, 2)] {
        let options = &mut start.config.optimiser;
        (options.chunk, options.replicas) = (chunk, replicas);
        let what = format!("{what} in chunks of {chunk} on {replicas} replicas");
        let (found, others) = learn(&start, in_parts);
        let [loss, of_whole] = [&found, &expected].map(value);
        assert!(
            (loss - of_whole).abs() <= off * of_whole.abs(),
            "{what}: {loss}, the whole {of_whole}"
        );
        assert_eq!(found.tokens, expected.tokens, "{what}");
        let differences: Vec<Vec<f32>> = gradients
            .iter()
            .zip(&others)
            .map(|(whole, parts)| {
                assert_eq!(whole.len(), parts.len(), "{what}");
                whole.iter().zip(parts).map(|(a, b)| a - b).collect()
            })
            .collect();
        let far = norm(&differences);
        assert!(
            far <= off * size,
            "{what}: gradients of norm {size} are off by {far}"
        );
    }
}

fn batched(folder: &Path) -> Config {
    let mut config = world(folder);
    config.model.dropout = 0.0;
    (config.negatives.kind, config.negatives.in_batch) = (NegativeKind::Random, true);
    config
}

fn linked(what: &str, config: Config, off: f64) {
    same(what, Start::new(config), off, &link_whole, &link_in_parts);
}

fn link_whole(start: &Start, optimiser: &mut Optimiser) -> Result<Learned> {
    let outcome = start.step().link(&start.batch(), None)?;
    outcome.hand_on(&mut |gradients| optimiser.add(&start.model.towers, gradients))
}

fn link_in_parts(start: &Start, optimiser: &mut Optimiser) -> Result<Learned> {
    let batch = start.batch();
    let replicas = Replicas::open(&start.config, &start.device)?;
    replicas.learn(&start.step(), optimiser, |step, rank, sink| {
        step.link_in_chunks(&batch, rank, sink)
    })
}

#[test]
fn chunks_have_the_gradients_of_the_whole_batch() {
    let root = tempfile::tempdir().expect("a folder");
    for kind in [LossKind::CrossEntropy, LossKind::Proxy] {
        for (scorer, tied) in [
            (Scorer::Dual, false),
            (Scorer::Dual, true),
            (Scorer::SumOfMax, false),
        ] {
            let mut config = batched(root.path());
            (config.loss.kind, config.model.scorer, config.model.tied) = (kind, scorer, tied);
            linked(&format!("{kind:?}, {scorer:?}, tied: {tied}"), config, 1e-4);
        }
    }
}

#[test]
fn chunks_of_perturbed_pairs_have_the_gradients_of_the_whole_batch() {
    let root = tempfile::tempdir().expect("a folder");
    for kind in [LossKind::CrossEntropy, LossKind::Proxy] {
        let mut config = batched(root.path());
        config.loss.kind = kind;
        (config.fgsm.lambda, config.fgsm.absolute_epsilon) = (1.0, 0.01);
        // The sign of a gradient near 0 may differ in f32.
        linked(&format!("{kind:?} with FGSM"), config, 5e-3);
    }
}

#[test]
fn chunks_of_distilled_scores_have_the_gradients_of_the_whole_batch() {
    let root = tempfile::tempdir().expect("a folder");
    let mut config = batched(root.path());
    config.view.concepts = View::Template;
    config.data.candidates = super::methods::lists(
        root.path(),
        "train",
        r#", "teacher": [0.5, 2.0, -1.0, 0.0]"#,
    );
    config.distillation.own_share = 0.5;
    linked("distillation", config, 1e-4);
}

#[test]
fn chunks_of_names_have_the_gradients_of_the_whole_batch() {
    let root = tempfile::tempdir().expect("a folder");
    let mut config = batched(root.path());
    (config.data.task, config.model.tied) = (Task::Align, true);
    config.view.concepts = View::Names;
    fn batch(start: &Start) -> Result<AlignBatch> {
        let pairs = examples::pairs(&start.entity_inputs)?;
        let pairs: Vec<_> = pairs.into_iter().enumerate().collect();
        Ok(align_batch(&start.config, &start.entity_inputs, &pairs))
    }
    same(
        "alignment",
        Start::new(config),
        1e-4,
        &|start, optimiser| {
            let outcome = start.step().align(&batch(start)?)?;
            outcome.hand_on(&mut |gradients| optimiser.add(&start.model.towers, gradients))
        },
        &|start, optimiser| {
            let batch = batch(start)?;
            let replicas = Replicas::open(&start.config, &start.device)?;
            replicas.learn(&start.step(), optimiser, |step, rank, sink| {
                step.align_in_chunks(&batch, rank, sink)
            })
        },
    );
}

#[test]
fn both_passes_of_a_chunk_have_the_same_dropout() {
    let root = tempfile::tempdir().expect("a folder");
    let mut config = batched(root.path());
    config.model.dropout = 0.3;
    let mut start = Start::new(config);
    let whole = learn(&start, &link_whole);
    // A single chunk: the second pass meets the gradients of the first one's vectors.
    start.config.optimiser.chunk = 1000;
    let chunked = learn(&start, &link_in_parts);
    let [loss, in_chunks] = [&whole.0, &chunked.0].map(value);
    assert!((loss - in_chunks).abs() <= 1e-5 * loss);
    for (whole, chunked) in whole.1.iter().flatten().zip(chunked.1.iter().flatten()) {
        assert!(
            (whole - chunked).abs() <= 1e-4 * (1.0 + whole.abs()),
            "{whole} {chunked}"
        );
    }
}

#[test]
fn runs_in_parts_resume_and_begin_with_the_loss_of_the_whole_batch() {
    let root = tempfile::tempdir().expect("a folder");
    let mut config = batched(root.path());
    config.optimiser.micro_batch = 0;
    let losses = |config: &Config, name: &str| {
        let out = root.path().join(name);
        run(config, &out).expect("it trains");
        let events = read(&out.join(super::super::METRICS)).expect("whole");
        let losses = events.into_iter().filter_map(|event| match event {
            Event::Step { loss, .. } => Some(loss),
            _ => None,
        });
        losses.collect::<Vec<f64>>()
    };
    let whole = losses(&config, "whole");
    config.optimiser.chunk = 3;
    let chunked = losses(&config, "chunked");
    config.optimiser.replicas = 2;
    let replicated = losses(&config, "replicated");
    for found in [&chunked, &replicated] {
        assert_eq!(found.len(), 5);
        assert!((whole[0] - found[0]).abs() < 1e-4 * whole[0].abs());
    }
    // Also stopped in the middle of a step, between two chunks.
    let expected = outcome(&root.path().join("replicated"));
    for end in [interrupt::kill_after, interrupt::interrupt_after] {
        let deaths = ended_and_resumed(end, &config, root.path(), "ended", 11, |out, checks| {
            assert!(outcome(out) == expected, "ended at check {checks}");
        });
        assert!(deaths > 2, "{deaths}");
    }
}
