//! Batches in chunks: the loss and the gradients of the whole batch.

use super::super::batch::{AlignBatch, align_batch};
use super::super::config::{Config, LossKind, NegativeKind, Task};
use super::super::examples;
use super::super::log::{Event, read};
use super::super::step::Learned;
use super::steps::Start;
use super::{ended_and_resumed, outcome, run, world};
use crate::io::interrupt;
use crate::train::differentiable::floats;
use burn::module::{Module, ModuleVisitor, Param};
use burn::tensor::{Gradients, Tensor};
use pel_shared::error::Result;
use pel_shared::score::Scorer;
use pel_shared::tokens::View;
use std::path::Path;

/// Adds the gradients of each parameter to a sum.
struct Sum<'a> {
    sums: std::slice::IterMut<'a, Vec<f32>>,
    gradients: &'a Gradients,
}

impl ModuleVisitor for Sum<'_> {
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        let sum = self.sums.next().expect("one for each parameter");
        if let Some(gradient) = param.val().grad(self.gradients) {
            let values = floats(gradient).expect("the device works");
            sum.resize(values.len(), 0.0);
            for (sum, value) in sum.iter_mut().zip(values) {
                *sum += value;
            }
        }
    }
}

/// Counts parameters.
struct Count(usize);

impl ModuleVisitor for Count {
    fn visit_float<const D: usize>(&mut self, _: &Param<Tensor<D>>) {
        self.0 += 1;
    }
}

/// The loss and the gradient of each parameter of a batch, and how often gradients were handed on.
type Learns<'a> =
    &'a dyn Fn(&Start, &mut dyn FnMut(&mut Gradients) -> Result<()>) -> Result<Learned>;

fn learn(start: &Start, batch: Learns<'_>) -> (Learned, Vec<Vec<f32>>, usize) {
    let mut count = Count(0);
    start.model.towers.visit(&mut count);
    let (mut sums, mut parts) = (vec![Vec::new(); count.0], 0);
    let learned = batch(start, &mut |gradients| {
        parts += 1;
        start.model.towers.visit(&mut Sum {
            sums: sums.iter_mut(),
            gradients,
        });
        Ok(())
    });
    (learned.expect("the device works"), sums, parts)
}

/// Asserts that a batch in chunks of each size has the loss and the gradients of the whole, within
/// this share of their norm.
fn same(what: &str, mut start: Start, off: f64, whole: Learns<'_>, chunked: Learns<'_>) {
    let (expected, gradients, _) = learn(&start, whole);
    let norm = |all: &[Vec<f32>]| {
        let squares = all.iter().flatten().map(|value| f64::from(*value).powi(2));
        squares.sum::<f64>().sqrt()
    };
    let size = norm(&gradients);
    assert!(size > 1e-3, "{what}: {size}");
    for chunk in [1, 3, 1000] {
        start.config.optimiser.chunk = chunk;
        let (found, others, parts) = learn(&start, chunked);
        let (loss, tokens) = (found.loss, found.tokens);
        assert!(
            (loss - expected.loss).abs() <= off * expected.loss.abs(),
            "{what} in chunks of {chunk}: {loss}, the whole {}",
            expected.loss
        );
        assert_eq!(tokens, expected.tokens, "{what} in chunks of {chunk}");
        let differences: Vec<Vec<f32>> = gradients
            .iter()
            .zip(&others)
            .map(|(whole, parts)| {
                assert_eq!(whole.len(), parts.len(), "{what} in chunks of {chunk}");
                whole.iter().zip(parts).map(|(a, b)| a - b).collect()
            })
            .collect();
        let far = norm(&differences);
        assert!(
            far <= off * size,
            "{what} in chunks of {chunk}: gradients of norm {size} are off by {far}"
        );
        // Both sides, and with FGSM the pairs; one part for each chunk.
        assert!(chunk < 1000 || parts <= 3, "{what}: {parts}");
        assert!(chunk > 1 || parts >= 8, "{what}: {parts}");
    }
}

fn batched(folder: &Path) -> Config {
    let mut config = world(folder);
    config.model.dropout = 0.0;
    (config.negatives.kind, config.negatives.in_batch) = (NegativeKind::Random, true);
    config
}

fn linked(what: &str, config: Config, off: f64) {
    same(
        what,
        Start::new(config),
        off,
        &|start, sink| {
            let outcome = start.step().link(&start.batch(), None)?;
            outcome.hand_on(sink)
        },
        &|start, sink| start.step().link_in_chunks(&start.batch(), sink),
    );
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
        &|start, sink| start.step().align(&batch(start)?)?.hand_on(sink),
        &|start, sink| start.step().align_in_chunks(&batch(start)?, sink),
    );
}

#[test]
fn both_passes_of_a_chunk_have_the_same_dropout() {
    let root = tempfile::tempdir().expect("a folder");
    let mut config = batched(root.path());
    config.model.dropout = 0.3;
    let mut start = Start::new(config);
    let whole = learn(&start, &|start, sink| {
        start.step().link(&start.batch(), None)?.hand_on(sink)
    });
    // A single chunk: the second pass meets the gradients of the first one's vectors.
    start.config.optimiser.chunk = 1000;
    let chunked = learn(&start, &|start, sink| {
        start.step().link_in_chunks(&start.batch(), sink)
    });
    assert!((whole.0.loss - chunked.0.loss).abs() <= 1e-5 * whole.0.loss);
    for (whole, chunked) in whole.1.iter().flatten().zip(chunked.1.iter().flatten()) {
        assert!(
            (whole - chunked).abs() <= 1e-4 * (1.0 + whole.abs()),
            "{whole} {chunked}"
        );
    }
}

#[test]
fn a_run_in_chunks_resumes_and_begins_with_the_loss_of_the_whole_batch() {
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
    assert_eq!((whole.len(), chunked.len()), (5, 5));
    assert!((whole[0] - chunked[0]).abs() < 1e-4 * whole[0].abs());
    // Also stopped in the middle of a step, between two chunks.
    let expected = outcome(&root.path().join("chunked"));
    for end in [interrupt::kill_after, interrupt::interrupt_after] {
        let deaths = ended_and_resumed(end, &config, root.path(), "ended", 17, |out, checks| {
            assert!(outcome(out) == expected, "ended at check {checks}");
        });
        assert!(deaths > 2, "{deaths}");
    }
}
