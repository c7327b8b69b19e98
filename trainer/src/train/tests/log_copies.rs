//! The copies of the log for TensorBoard and W&B.

use super::super::log::{self, Event};
use super::{run, world};
use crate::io::files::entries;
use serde_json::Value;
use std::path::Path;

fn event_files(out: &Path) -> Vec<String> {
    entries(out)
        .expect("listed")
        .into_iter()
        .filter(|name| name.starts_with("events.out.tfevents."))
        .collect()
}

#[test]
fn copies_have_the_numbers_of_the_log() {
    let root = tempfile::tempdir().expect("a folder");
    let mut config = world(root.path());
    config.log.wandb = true;
    config.checkpoints.every = 2;
    let out = root.path().join("run");
    run(&config, &out).expect("it trains");
    assert!(event_files(&out).is_empty());
    // A run can go on with other copies. A finished one adds nothing to them.
    config.log.tensorboard = true;
    run(&config, &out).expect("it is done");
    assert!(event_files(&out).is_empty());
    std::fs::remove_dir_all(out.join("checkpoints/step-0000005")).expect("removed");
    run(&config, &out).expect("it goes on from step 4");
    let files = event_files(&out);
    assert_eq!(files.len(), 1, "{files:?}");
    let bytes = std::fs::read(out.join(&files[0])).expect("there");
    let has = |tag: &str| bytes.windows(tag.len()).any(|part| part == tag.as_bytes());
    assert!(has("brain.Event:2") && has("train/loss") && has("validation/recall_64"));

    let text = std::fs::read_to_string(out.join("wandb/wandb-history.jsonl")).expect("there");
    let rows: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    let steps: Vec<_> = rows.iter().map(|row| row["_step"].as_u64()).collect();
    assert_eq!(steps, [1, 2, 3, 4, 5].map(Some));
    assert!(rows.is_sorted_by_key(|row| row["_runtime"].as_f64()));
    for event in log::read(&out.join("metrics.jsonl")).expect("whole") {
        match event {
            Event::Step { step, loss, .. } => {
                let found = rows[step - 1]["train/loss"].as_f64();
                assert!(found.is_some_and(|found| (found - loss).abs() < 1e-12));
            }
            Event::Validation { step, found, .. } => {
                let recall = rows[step - 1]["validation/recall_1"].as_f64();
                assert_eq!(recall, found.recall_1);
            }
            _ => {}
        }
    }
    let summary = std::fs::read_to_string(out.join("wandb/wandb-summary.json")).expect("there");
    let summary: Value = serde_json::from_str(&summary).expect("JSON");
    assert_eq!(summary["_step"], 5);
    assert!(out.join("wandb/config.json").is_file());
}
