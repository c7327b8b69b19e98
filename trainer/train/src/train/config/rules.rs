//! The rules that the values of a configuration must meet, by subject.

use super::{Config, Loss, LossKind, NegativeKind, Negatives, Task};
use pel_kb::error::{Error, Result};
use pel_kb::score::Scorer;
use pel_model::losses::objectives::MultiSimilarity;
use pel_model::tokens::View;
use std::borrow::Cow;

/// A rule that the values of a configuration must meet.
pub(super) struct Rule {
    met: bool,
    key: &'static str,
    expected: Cow<'static, str>,
    found: String,
}

fn rule(
    met: bool,
    key: &'static str,
    expected: impl Into<Cow<'static, str>>,
    found: impl ToString,
) -> Rule {
    Rule {
        met,
        key,
        expected: expected.into(),
        found: found.to_string(),
    }
}

/// The rules of each subject, in the order in which they are checked.
pub(super) const SUBJECTS: [fn(&Config) -> Vec<Rule>; 13] = [
    ranking,
    candidates,
    distillation,
    alignment,
    multi_similarity,
    transformation,
    model,
    loss,
    fgsm,
    negatives,
    optimiser,
    chunks,
    length,
];

/// Checks rules in their order.
///
/// # Errors
/// If one is not met; the error names its key.
pub(super) fn check(rules: Vec<Rule>) -> Result<()> {
    let Some(Rule {
        key,
        expected,
        found,
        ..
    }) = rules.into_iter().find(|rule| !rule.met)
    else {
        return Ok(());
    };
    Err(Error::input(format!(
        "the configuration: `{key}`: expected {expected}, found {found}"
    )))
}

fn is_share(value: f64) -> bool {
    (0.0..=1.0).contains(&value)
}

fn is_positive(value: f64) -> bool {
    value > 0.0 && value.is_finite()
}

fn is_from_zero(value: f64) -> bool {
    value >= 0.0 && value.is_finite()
}

/// What a cross-encoder needs.
fn ranking(config: &Config) -> Vec<Rule> {
    let Config {
        data,
        model,
        view,
        loss,
        ..
    } = config;
    if data.task != Task::Rank {
        return Vec::new();
    }
    vec![
        rule(
            loss.kind == LossKind::CrossEntropy,
            "loss.kind",
            "cross-entropy, the loss of a cross-encoder",
            "proxy",
        ),
        rule(
            view.concepts == View::Template,
            "view.concepts",
            "template, because a pair holds one text of the concept",
            "names",
        ),
        rule(
            model.scorer == Scorer::Dual,
            "model.scorer",
            "dual, because a pair has one score",
            "sum-of-max",
        ),
        rule(
            model.tied,
            "model.tied",
            "true, because one encoder reads the pair",
            false,
        ),
    ]
}

fn candidates(config: &Config) -> Vec<Rule> {
    let data = &config.data;
    vec![
        rule(data.top != 0, "data.top", "at least 1 candidate", 0),
        rule(
            data.task != Task::Rank || data.top != 1,
            "data.top",
            "at least 2 candidates to rank",
            1,
        ),
    ]
}

/// The settings of distillation, and that only a bi-encoder has these and a transformation.
fn distillation(config: &Config) -> Vec<Rule> {
    let distillation = &config.distillation;
    let is_link = config.data.task == Task::Link;
    let of_bi_encoder = |is_set: bool, key| {
        rule(
            !is_set || is_link,
            key,
            "no setting, because it applies only to the bi-encoder",
            "something",
        )
    };
    vec![
        rule(
            is_share(distillation.own_share),
            "distillation.own_share",
            "a share from 0 to 1",
            distillation.own_share,
        ),
        rule(
            is_positive(distillation.temperature),
            "distillation.temperature",
            "a positive number",
            distillation.temperature,
        ),
        of_bi_encoder(distillation.own_share < 1.0, "distillation"),
        of_bi_encoder(config.transformation.weight > 0.0, "transformation"),
    ]
}

/// The settings that alignment does not use.
fn alignment(config: &Config) -> Vec<Rule> {
    let aligns = config.data.task == Task::Align;
    let unused = |is_set: bool, key| {
        rule(
            !is_set || !aligns,
            key,
            "no setting, because alignment uses whole vectors and the multi-similarity loss",
            "something",
        )
    };
    vec![
        unused(config.fgsm.lambda > 0.0, "fgsm.lambda"),
        unused(config.model.scorer != Scorer::Dual, "model.scorer"),
        unused(config.loss.kind != Loss::default().kind, "loss.kind"),
        unused(config.negatives != Negatives::default(), "negatives"),
    ]
}

fn multi_similarity(config: &Config) -> Vec<Rule> {
    let MultiSimilarity { alpha, beta, .. } = config.loss.multi_similarity;
    vec![rule(
        is_positive(alpha) && is_positive(beta),
        "loss.multi_similarity",
        "alpha and beta above 0",
        format!("{alpha} and {beta}"),
    )]
}

fn transformation(config: &Config) -> Vec<Rule> {
    let Config {
        transformation,
        optimiser,
        ..
    } = config;
    let distils = config.data.task == Task::Link && config.distillation.own_share < 1.0;
    vec![
        rule(
            is_from_zero(transformation.weight),
            "transformation.weight",
            "a number from 0",
            transformation.weight,
        ),
        rule(
            transformation.weight != 0.0 || transformation.plain,
            "transformation.plain",
            "true, because there is no other loss",
            false,
        ),
        rule(
            transformation.plain || !distils,
            "transformation.plain",
            "true, because distillation uses the plain loss",
            false,
        ),
        rule(
            is_positive(transformation.epsilon),
            "transformation.epsilon",
            "a positive number",
            transformation.epsilon,
        ),
        rule(
            transformation.rate > 0.0 && transformation.rate <= 2.0,
            "transformation.rate",
            "a share of ε above 0 and at most 2",
            transformation.rate,
        ),
        rule(
            transformation.ascents == 0 || optimiser.micro() >= optimiser.batch,
            "transformation.ascents",
            "0 with micro-batches, because the ascent needs the whole batch",
            transformation.ascents,
        ),
    ]
}

/// The encoder and the texts that it reads.
fn model(config: &Config) -> Vec<Rule> {
    let Config { model, view, .. } = config;
    vec![
        rule(
            !model.tied || model.entity_encoder.is_none(),
            "model.tied",
            "false, because there is an entity encoder",
            true,
        ),
        rule(
            (0.0..1.0).contains(&model.dropout),
            "model.dropout",
            "a share from 0 to less than 1",
            model.dropout,
        ),
        rule(
            is_share(view.template_share),
            "view.template_share",
            "a share from 0 to 1",
            view.template_share,
        ),
    ]
}

fn loss(config: &Config) -> Vec<Rule> {
    let loss = &config.loss;
    vec![
        rule(
            is_positive(loss.alpha),
            "loss.alpha",
            "a positive number",
            loss.alpha,
        ),
        // Cosines are at most 1, so no pair can reach a larger margin.
        rule(
            (0.0..1.0).contains(&loss.delta),
            "loss.delta",
            "a margin from 0 to less than 1",
            loss.delta,
        ),
        rule(
            is_positive(loss.scale),
            "loss.scale",
            "a positive number",
            loss.scale,
        ),
    ]
}

fn fgsm(config: &Config) -> Vec<Rule> {
    let fgsm = &config.fgsm;
    let perturbs_by_zero = fgsm.lambda > 0.0 && fgsm.resolved(1.0) == 0.0;
    vec![
        rule(
            (0.0..=10.0).contains(&fgsm.absolute_epsilon),
            "fgsm.absolute_epsilon",
            "a small positive number, or 0 for that of fgsm.epsilon",
            fgsm.absolute_epsilon,
        ),
        rule(
            (0.0..=10.0).contains(&fgsm.epsilon) && !perturbs_by_zero,
            "fgsm.epsilon",
            "a small positive number, a multiple of the deviation of the input embeddings",
            fgsm.epsilon,
        ),
        rule(
            is_from_zero(fgsm.lambda),
            "fgsm.lambda",
            "a number from 0",
            fgsm.lambda,
        ),
    ]
}

fn negatives(config: &Config) -> Vec<Rule> {
    let Config {
        data, negatives, ..
    } = config;
    let drawn = negatives.kind != NegativeKind::None && negatives.count > 0;
    // Listed candidates are the negatives.
    let listed = !data.candidates.as_os_str().is_empty();
    let hard = negatives.hard_count();
    vec![
        rule(
            is_share(negatives.hard_share),
            "negatives.hard_share",
            "a share from 0 to 1",
            negatives.hard_share,
        ),
        rule(
            data.task != Task::Link || listed || drawn || negatives.in_batch,
            "negatives",
            "a count, or in_batch = true",
            "no negatives at all",
        ),
        rule(
            listed || !negatives.mines() || negatives.mine_top >= hard,
            "negatives.mine_top",
            format!("at least the {hard} hard ones of a mention"),
            negatives.mine_top,
        ),
    ]
}

fn optimiser(config: &Config) -> Vec<Rule> {
    let optimiser = &config.optimiser;
    vec![
        rule(
            optimiser.learning_rate > 0.0 && optimiser.learning_rate < 1.0,
            "optimiser.learning_rate",
            "a small positive number",
            optimiser.learning_rate,
        ),
        rule(
            is_share(optimiser.warmup),
            "optimiser.warmup",
            "a share from 0 to 1",
            optimiser.warmup,
        ),
        rule(
            optimiser.betas.iter().all(|beta| (0.0..1.0).contains(beta)),
            "optimiser.betas",
            "two shares below 1",
            format!("{:?}", optimiser.betas),
        ),
        rule(
            optimiser.epsilon != 0.0
                && [optimiser.epsilon, optimiser.clip, optimiser.weight_decay]
                    .into_iter()
                    .all(is_from_zero),
            "optimiser",
            "epsilon above 0, clip and weight_decay from 0",
            "something else",
        ),
        rule(optimiser.batch != 0, "optimiser.batch", "at least 1", 0),
        rule(
            optimiser.batch.is_multiple_of(optimiser.micro()),
            "optimiser.micro_batch",
            "a divisor of the batch",
            optimiser.micro_batch,
        ),
        rule(
            (1..=optimiser.micro()).contains(&optimiser.replicas),
            "optimiser.replicas",
            "at least 1, and at most the examples of a micro-batch",
            optimiser.replicas,
        ),
    ]
}

/// Which trainings may split a micro-batch.
fn chunks(config: &Config) -> Vec<Rule> {
    let optimiser = &config.optimiser;
    if !optimiser.in_chunks() {
        return Vec::new();
    }
    let (key, expected, found) = match optimiser.chunk {
        0 => ("optimiser.replicas", "1", optimiser.replicas),
        chunk => ("optimiser.chunk", "0", chunk),
    };
    let why = match config.data.task {
        Task::Rank | Task::Detect => "this task learns from each example alone",
        _ if config.transformation.weight > 0.0 => {
            "the learned transformation needs the whole micro-batch"
        }
        _ => return Vec::new(),
    };
    vec![rule(
        false,
        key,
        format!("{expected}, because {why}"),
        found,
    )]
}

/// The length of a training.
fn length(config: &Config) -> Vec<Rule> {
    let optimiser = &config.optimiser;
    vec![rule(
        optimiser.epochs != 0.0 && is_from_zero(optimiser.epochs) && optimiser.steps != Some(0),
        "optimiser",
        "epochs above 0, or at least one step",
        "none",
    )]
}

/// The options of a detector exist, and checkpoints are saved.
pub(super) fn detector_and_checkpoints(config: &Config) -> Vec<Rule> {
    let checkpoints = &config.checkpoints;
    vec![
        rule(
            config.data.task != Task::Detect || config.detect.is_some(),
            "detect",
            "the options of a detector",
            "none",
        ),
        rule(
            checkpoints.every != 0 && checkpoints.keep != 0,
            "checkpoints",
            "every and keep of at least 1",
            0,
        ),
    ]
}
