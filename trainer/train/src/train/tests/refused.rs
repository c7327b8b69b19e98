//! What cannot train, and what a run there cannot go on with, is said.

use super::super::config::{Config, LossKind};
use super::{run, world};
use std::path::PathBuf;

/// Asserts that a configuration is refused after a change, with all of these words.
pub(super) fn refused(config: &Config, change: &dyn Fn(&mut Config), said: &[&str]) {
    let mut config = config.clone();
    change(&mut config);
    let out = tempfile::tempdir().expect("a folder");
    let error = run(&config, out.path()).expect_err(said[0]).to_string();
    assert!(
        said.iter().all(|said| error.contains(said)),
        "expected {said:?}: {error}"
    );
}

#[test]
fn unusable_configurations_are_refused() {
    let root = tempfile::tempdir().expect("a folder");
    let config = world(root.path());
    let refused = |change: &dyn Fn(&mut Config), said: &[&str]| refused(&config, change, said);
    std::fs::write(root.path().join("mentions.empty.jsonl"), "").expect("written");
    refused(
        &|config| config.data.split = "empty".into(),
        &["split empty has no training mention"],
    );
    refused(
        &|config| config.validation.split = "empty".into(),
        &["split empty has no mention"],
    );
    refused(
        &|config| config.data.split = "missing".into(),
        &["mentions.missing"],
    );
    let unseen = |config: &mut Config| config.validation.split = "missing".into();
    refused(
        &unseen,
        &["mentions.missing", "`--set validation.mentions=0`"],
    );
    refused(
        &|config| config.data.kb = PathBuf::new(),
        &["`data.kb` is missing"],
    );
    refused(
        &|config| config.view.mention_tokens = 500,
        &["at most 128 tokens", "500"],
    );
    refused(
        &|config| config.model.encoder = root.path().join("nowhere"),
        &["nowhere", "config.json"],
    );
    // The error of a NaN loss names its step and its mentions.
    let diverging = |config: &mut Config| {
        config.loss.kind = LossKind::CrossEntropy;
        config.loss.scale = 1e38;
    };
    refused(
        &diverging,
        &["the loss became NaN or infinite at step", "train"],
    );
    // A run resumes with its own configuration only.
    let out = root.path().join("run");
    run(&config, &out).expect("it trains");
    let mut other = config.clone();
    other.loss.alpha = 16.0;
    let error = run(&other, &out).expect_err("another α").to_string();
    assert!(
        error.contains("alpha = 32.0") && error.contains("alpha = 16.0"),
        "{error}"
    );
    // A damaged checkpoint is named, and what to do without it.
    let last = out.join("checkpoints/step-0000005/optimiser.safetensors");
    let whole = std::fs::read(&last).expect("kept");
    std::fs::write(&last, &whole[..100]).expect("cut");
    let error = run(&config, &out).expect_err("it is cut").to_string();
    assert!(
        [
            "step-0000005: this",
            "the checkpoint before it: optimiser.safetensors"
        ]
        .iter()
        .all(|said| error.contains(said)),
        "{error}"
    );
    std::fs::write(&last, whole).expect("written");
    // And with its own data.
    let kb = std::fs::read_to_string(root.path().join("kb.jsonl")).expect("read");
    std::fs::write(
        root.path().join("kb.jsonl"),
        kb.replace("nausea", "vertigo"),
    )
    .expect("written");
    let error = run(&config, &out)
        .expect_err("another knowledge base")
        .to_string();
    assert!(error.contains("changed since the run began"), "{error}");
    std::fs::write(root.path().join("kb.jsonl"), kb).expect("written");
    let train = root.path().join("mentions.train.jsonl");
    let mentions = std::fs::read_to_string(&train).expect("read");
    std::fs::write(&train, mentions.replacen("\"D1\"", "\"D2\"", 1)).expect("written");
    let error = run(&config, &out).expect_err("another corpus").to_string();
    assert!(error.contains("changed since the run began"), "{error}");
}
